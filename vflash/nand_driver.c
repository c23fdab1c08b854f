/* SPDX-License-Identifier: BSD-2-Clause */
/* nand_driver.c - the driver of nf2fs/nand.h: a page buffer, reads that say what was mended, marks of bad blocks. */
#include <string.h>

#include "state.h"

static uint32_t pages_of(const struct vflash *chip)
{
    return chip->chip.size >> chip->page_shift;
}

static uint32_t address_of(const struct vflash *chip, uint32_t page)
{
    return page << chip->page_shift;
}

static bool inside_page(const struct vflash *chip, uint32_t column, uint32_t length)
{
    return length != 0 && column < chip->chip.page_size && length <= chip->chip.page_size - column;
}

void nand_forget(struct vflash *chip)
{
    chip->state.buffered = 0;
    chip->state.loaded = 0;
}

/* ---- reads ---------------------------------------------------------------------------------------- */

static const char *read_fault(const struct vflash *chip, uint32_t page)
{
    if (page >= pages_of(chip)) {
        return "the read leaves the chip";
    }
    return chip->state.loaded != 0 ? "a read comes between a load and its program" : NULL;
}

/* From the cells into the chip's buffer. */
static void fetch(struct vflash *chip, uint32_t page)
{
    uint32_t block = nand_block_of(chip, page);
    memcpy(chip->page_buffer, chip->memory + address_of(chip, page), chip->chip.page_size);
    count_array_read(chip, page);
    if (chip->block_reads[block] < UINT32_MAX) {
        chip->block_reads[block]++;
    }
    chip->state.buffer_result = nand_errors(chip, page, chip->page_buffer);
    if (chip->marks[block] & MARK_UNSTABLE) {
        fault_disturb_read(chip, address_of(chip, page), chip->page_buffer, chip->chip.page_size);
        chip->state.buffer_result = NF2_NAND_LOST;
    }
    chip->state.buffered = page + 1;
}

static int nand_read(void *context, uint32_t page, uint32_t column, void *data, uint32_t length)
{
    struct vflash *chip = context;
    if (chip->state.off) {
        return VFLASH_OFF;
    }
    uint32_t address = address_of(chip, page) + column;
    if (fault_call_fails(chip)) {
        return chip_done(chip, "read", address, length, NULL, VFLASH_FAILED);
    }
    const char *wrong = inside_page(chip, column, length) ? read_fault(chip, page) : "the read leaves its page";
    if (chip_refuses(chip, wrong) || !inside_page(chip, column, length) || page >= pages_of(chip)) {
        return chip_done(chip, "read", address, length, wrong, VFLASH_VIOLATION);
    }
    if (chip->state.buffered != page + 1) {
        nand_forget(chip);
        fetch(chip, page);
    }
    count_transfer(chip, length);
    memcpy(data, chip->page_buffer + column, length);
    return chip_done(chip, "read", address, length, wrong, chip->state.buffer_result);
}

/* ---- programs ------------------------------------------------------------------------------------- */

static int nand_load(void *context, uint32_t column, const void *data, uint32_t length)
{
    struct vflash *chip = context;
    if (chip->state.off) {
        return VFLASH_OFF;
    }
    if (fault_call_fails(chip)) {
        return chip_done(chip, "load", column, length, NULL, VFLASH_FAILED);
    }
    const char *wrong = NULL;
    if (!inside_page(chip, column, length)) {
        wrong = "the load leaves the page";
    } else if (column != 0 && column < chip->state.loaded) {
        wrong = "the load goes back";
    } else if (column != 0 && chip->state.loaded == 0) {
        wrong = "the load does not begin a page";
    }
    if (chip_refuses(chip, wrong) || !inside_page(chip, column, length)) {
        return chip_done(chip, "load", column, length, wrong, VFLASH_VIOLATION);
    }
    if (column == 0) {
        memset(chip->page_buffer, 0xFF, chip->chip.page_size);
    }
    memcpy(chip->page_buffer + column, data, length);
    chip->state.buffered = 0;
    chip->state.loaded = column + length;
    count_bus(chip, length);
    return chip_done(chip, "load", column, length, wrong, 0);
}

static const char *program_fault(const struct vflash *chip, uint32_t page)
{
    if (page >= pages_of(chip)) {
        return "the program leaves the chip";
    }
    if (chip->page_errors[page] == NAND_GARBAGE && !units_any(chip, address_of(chip, page), 1)) {
        return "the program hits a page that a torn erase left";
    }
    if (units_any(chip, address_of(chip, page), chip->chip.page_size)) {
        return "the program hits a unit that was programmed since its erase";
    }
    return nand_program_fault(chip, address_of(chip, page), chip->chip.page_size);
}

/* What a cut leaves of the page; where all of it landed, and in no order, its cells hold little. */
static void tear(struct vflash *chip, const struct program *program, uint32_t page)
{
    const struct vflash_cut *cut = &chip->state.cut;
    fault_tear_program(chip, program);
    if (cut->byte < program->length) {
        bool untouched = cut->byte == 0 && cut->last_byte_mask == 0;
        chip->page_errors[page] = untouched ? 0 : NAND_GARBAGE;
    } else if (cut->shuffle) {
        chip->page_errors[page] = chip->chip.ecc_bits == 0 ? NAND_GARBAGE : (uint8_t)chip->chip.ecc_weak;
    }
}

/* Whether this program is one that reports success and stores something else. */
static bool stores_garbage(struct vflash *chip)
{
    return chip->state.garbage_in != 0 && --chip->state.garbage_in == 0;
}

/* The content of the buffer into a page's cells. */
static int program_page(struct vflash *chip, uint32_t page, bool cut)
{
    struct program program = {.address = address_of(chip, page), .data = chip->page_buffer,
                              .length = chip->chip.page_size, .straight = chip->chip.page_size};
    uint8_t marks = chip->marks[nand_block_of(chip, page)];
    uint8_t *cells = chip->memory + program.address;
    count_program(chip, &program);
    units_set(chip, program.address, program.length);
    if (marks & MARK_BROKEN) {
        chip->page_errors[page] = marks & MARK_SILENT ? chip->page_errors[page] : NAND_GARBAGE;
        return marks & MARK_SILENT ? 0 : NF2_FLASH_BAD;
    }
    if (cut) {
        tear(chip, &program, page);
    } else if (stores_garbage(chip)) {
        chip->page_buffer[chip->state.garbage_byte] ^= 0x55;
        memcpy(cells, chip->page_buffer, program.length);
        chip->page_errors[page] = chip->state.garbage_is_fine ? 0 : NAND_GARBAGE;
    } else if (marks & (MARK_WEAK | MARK_UNSTABLE)) {
        fault_weak_program(chip, &program);
        chip->page_errors[page] = memcmp(cells, program.data, program.length) != 0 ? NAND_GARBAGE : 0;
    } else {
        memcpy(cells, program.data, program.length);
    }
    return 0;
}

/* The end of a program or an erase. */
static int finish(struct vflash *chip, const char *operation, uint32_t address, uint32_t length, const char *wrong, bool cut, int result)
{
    nand_forget(chip);
    (void)chip_done(chip, operation, address, length, wrong, cut ? VFLASH_OFF : result);
    return cut ? fault_power_off(chip) : result;
}

#define NO_CHANGE "the image is open for reading only"

static int nand_program(void *context, uint32_t page)
{
    struct vflash *chip = context;
    uint32_t address = address_of(chip, page), length = chip->chip.page_size;
    if (chip->state.off) {
        return VFLASH_OFF;
    }
    if (chip->read_only) {
        return chip_done(chip, "program", address, length, NO_CHANGE, VFLASH_FAILED);
    }
    bool fails = fault_call_fails(chip), loaded = chip->state.loaded != 0;
    bool cut = fault_operation_cut(chip, false, address, length);
    if (fails) {
        return finish(chip, "program", address, length, NULL, cut, VFLASH_FAILED);
    }
    const char *wrong = loaded ? program_fault(chip, page) : "the program has no load before it";
    int result = VFLASH_VIOLATION;
    if (!chip_refuses(chip, wrong) && loaded && page < pages_of(chip)) {
        result = program_page(chip, page, cut);
    }
    return finish(chip, "program", address, length, wrong, cut, result);
}

static int nand_copy(void *context, uint32_t from, uint32_t to)
{
    struct vflash *chip = context;
    uint32_t address = address_of(chip, to), length = chip->chip.page_size;
    if (chip->state.off) {
        return VFLASH_OFF;
    }
    if (chip->read_only) {
        return chip_done(chip, "copy", address, length, NO_CHANGE, VFLASH_FAILED);
    }
    bool fails = fault_call_fails(chip);
    bool cut = fault_operation_cut(chip, false, address, length);
    if (fails) {
        return finish(chip, "copy", address, length, NULL, cut, VFLASH_FAILED);
    }
    const char *wrong = read_fault(chip, from);
    wrong = wrong != NULL ? wrong : program_fault(chip, to);
    int result = VFLASH_VIOLATION;
    if (!chip_refuses(chip, wrong) && from < pages_of(chip) && to < pages_of(chip)) {
        fetch(chip, from);
        int mended = chip->state.buffer_result;
        result = mended < 0 ? mended : program_page(chip, to, cut);
        result = result == 0 ? mended : result;
    }
    return finish(chip, "copy", address, length, wrong, cut, result);
}

/* ---- erases and marks ----------------------------------------------------------------------------- */

static bool is_marked(const struct vflash *chip, uint32_t block)
{
    return *nand_spare(chip, block * nand_pages_per_block(chip)) != 0xFF;
}

static void tear_erase(struct vflash *chip, uint32_t block)
{
    enum vflash_erase_cut left = chip->state.cut.erase;
    fault_tear_erase(chip, block, block + 1);
    if (left == VFLASH_ERASE_PARTLY || left == VFLASH_ERASE_PREFIX || left == VFLASH_ERASE_UNSTABLE) {
        memset(chip->page_errors + (size_t)block * nand_pages_per_block(chip), NAND_GARBAGE, nand_pages_per_block(chip));
    } else if (left == VFLASH_ERASE_WEAK) {
        memset(chip->page_errors + (size_t)block * nand_pages_per_block(chip), 0, nand_pages_per_block(chip));
    }
}

static int nand_erase(void *context, uint32_t block)
{
    struct vflash *chip = context;
    uint32_t address = block << chip->block_shift, length = chip->chip.block_size;
    if (chip->state.off) {
        return VFLASH_OFF;
    }
    if (chip->read_only) {
        return chip_done(chip, "erase", address, length, NO_CHANGE, VFLASH_FAILED);
    }
    bool fails = fault_call_fails(chip);
    bool cut = fault_operation_cut(chip, true, address, length);
    if (fails) {
        return finish(chip, "erase", address, length, NULL, cut, VFLASH_FAILED);
    }
    bool inside = block < chip->blocks;
    const char *wrong = !inside ? "the erase leaves the chip" : is_marked(chip, block) ? "the erase hits a block that is marked bad" : NULL;
    int result = VFLASH_VIOLATION;
    if (!chip_refuses(chip, wrong) && inside) {
        count_erase(chip, 0, block, block + 1);
        if (is_marked(chip, block)) {
            *nand_spare(chip, block * nand_pages_per_block(chip)) = 0xFF;      /* a rule broken: nobody can tell any more */
        }
        result = 0;
        if (cut) {
            tear_erase(chip, block);
        } else {
            result = chip_erase_blocks(chip, block, block + 1);
        }
    }
    return finish(chip, "erase", address, length, wrong, cut, result);
}

static int read_mark(struct vflash *chip, uint32_t block)
{
    uint32_t page = block * nand_pages_per_block(chip);
    if (fault_call_fails(chip)) {
        return chip_done(chip, "read mark", address_of(chip, page), 1, NULL, VFLASH_FAILED);
    }
    nand_forget(chip);
    count_array_read(chip, page);
    count_transfer(chip, 1);
    return chip_done(chip, "read mark", address_of(chip, page), 1, NULL, is_marked(chip, block));
}

static int nand_mark(void *context, uint32_t block, bool set)
{
    struct vflash *chip = context;
    uint32_t address = block << chip->block_shift;
    if (chip->state.off) {
        return VFLASH_OFF;
    }
    if (block >= chip->blocks) {
        (void)chip_refuses(chip, "the mark leaves the chip");
        return chip_done(chip, "mark", address, 1, chip->state.violation, VFLASH_VIOLATION);
    }
    if (!set) {
        return read_mark(chip, block);
    }
    if (chip->read_only) {
        return chip_done(chip, "mark", address, 1, NO_CHANGE, VFLASH_FAILED);
    }
    bool fails = fault_call_fails(chip);
    bool cut = fault_operation_cut(chip, false, address, 1);
    if (!fails) {
        struct program program = {.address = address, .data = chip->page_buffer, .length = 1, .straight = 1};
        count_program(chip, &program);
        if (!cut || chip->state.cut.byte > 0) {
            *nand_spare(chip, block * nand_pages_per_block(chip)) = 0;
        }
    }
    return finish(chip, "mark", address, 1, NULL, cut, fails ? VFLASH_FAILED : 0);
}

/* ---- the structure -------------------------------------------------------------------------------- */

static bool fits(const struct vflash_chip *facts)
{
    uint32_t pages = facts->block_size / facts->page_size;
    return facts->nand != 0 && facts->spare_size != 0 && facts->page_size >= NAND_CODEWORD && pages >= 32 && pages <= 256;
}

const struct nf2_nand *vflash_nand_driver(struct vflash *chip)
{
    const struct vflash_chip *facts = &chip->chip;
    if (!fits(facts)) {
        return NULL;
    }
    uint32_t bus_us = (uint32_t)(((uint64_t)facts->page_size * facts->bus_byte_ns + 500) / 1000);
    chip->nand_driver = (struct nf2_nand){
        .context = chip, .read = nand_read, .load = nand_load, .program = nand_program, .erase = nand_erase, .mark = nand_mark,
        .copy = facts->ecc_bits != 0 ? nand_copy : NULL, .blocks = chip->blocks, .pages_per_block = (uint16_t)nand_pages_per_block(chip),
        .page_size = (uint16_t)facts->page_size, .cycles = facts->endurance, .read_page_us = facts->read_page_us + bus_us,
        .program_page_us = facts->program_page_us + bus_us, .erase_block_us = facts->erase_us[0],
    };
    return &chip->nand_driver;
}

void vflash_garbage_at(struct vflash *chip, uint64_t program, uint32_t byte, bool fine)
{
    chip->state.garbage_in = program;
    chip->state.garbage_byte = byte % chip->chip.page_size;
    chip->state.garbage_is_fine = fine;
}
