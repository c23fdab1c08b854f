/* SPDX-License-Identifier: BSD-2-Clause */
/* vflash.c - the chip itself: its making, its memory, and the driver's three functions. */
#include "vflash.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* ---- the end of a call ---------------------------------------------------------------------------- */

static const char *result_text(int result)
{
    switch (result) {
    case VFLASH_OFF:
        return " power cut";
    case VFLASH_VIOLATION:
        return " refused";
    case VFLASH_FAILED:
        return " failed";
    default:
        return "";
    }
}

int chip_done(struct vflash *chip, const char *operation, uint32_t address, uint32_t length, const char *wrong, int result)
{
    if (chip->trace != NULL) {
        fprintf(chip->trace, "%s 0x%08" PRIx32 " %" PRIu32 "%s%s%s\n", operation, address, length, result_text(result),
                wrong != NULL ? ": " : "", wrong != NULL ? wrong : "");
    }
    return result;
}

bool chip_refuses(struct vflash *chip, const char *wrong)
{
    if (wrong == NULL) {
        return false;
    }
    chip->state.counts.violations++;
    chip->state.violation = wrong;
    return chip->strict;
}

int chip_off(struct vflash *chip)
{
    return chip->state.off ? VFLASH_OFF : fault_power_off(chip);
}

/* ---- read --------------------------------------------------------------------------------------- */

static void copy_out(struct vflash *chip, uint32_t address, uint8_t *data, uint32_t length)
{
    while (length > 0) {        /* once, unless the address wraps at the end of the chip */
        address %= chip->chip.size;
        uint32_t left = chip->chip.size - address;
        uint32_t part = length < left ? length : left;
        memcpy(data, chip->memory + address, part);
        if (chip->state.marked != 0) {
            fault_disturb_read(chip, address, data, part);
        }
        address = 0;
        data += part;
        length -= part;
    }
}

static int driver_read(void *context, uint32_t address, void *data, uint32_t length)
{
    struct vflash *chip = context;
    if (chip->state.off || background_cut(chip)) {
        return chip_off(chip);
    }
    if (fault_call_fails(chip)) {
        return chip_done(chip, "read", address, length, NULL, VFLASH_FAILED);
    }
    const char *wrong = rules_read(chip, address, length);
    if (chip_refuses(chip, wrong)) {
        return chip_done(chip, "read", address, length, wrong, VFLASH_VIOLATION);
    }
    background_give_way(chip);
    count_read(chip, address, length);
    count_bus(chip, length);
    copy_out(chip, address, data, length);
    return chip_done(chip, "read", address, length, wrong, 0);
}

/* ---- program ------------------------------------------------------------------------------------ */

/* How a chip takes the call: its address counter wraps in the page, and of too many bytes the last ones stay. */
static struct program make_program(const struct vflash *chip, uint32_t address, const uint8_t *data, uint32_t length)
{
    uint32_t page = chip->chip.page_size;
    uint32_t lost = length > page ? length - page : 0;
    uint32_t start = address % chip->chip.size & ~(page - 1);
    uint32_t inside = (address + lost) & (page - 1);
    struct program program = {.address = start + inside, .data = data + lost, .length = length - lost};
    program.straight = program.length < page - inside ? program.length : page - inside;
    return program;
}

static void clear_bits(uint8_t *memory, const uint8_t *data, uint32_t length)
{
    for (; length >= 8; length -= 8, memory += 8, data += 8) {
        uint64_t old, asked;
        memcpy(&old, memory, 8);
        memcpy(&asked, data, 8);
        old &= asked;
        memcpy(memory, &old, 8);
    }
    for (; length > 0; length--) {
        *memory++ &= *data++;
    }
}

static int program_page(struct vflash *chip, const struct program *program, bool cut)
{
    uint32_t page_start = program->address & ~(chip->chip.page_size - 1);
    uint32_t wrapped = program->length - program->straight;
    uint8_t marks = chip->marks[program->address >> chip->block_shift];
    count_program(chip, program);
    count_bus(chip, program->length);
    nand_forget(chip);
    units_set(chip, program->address, program->straight);
    units_set(chip, page_start, wrapped);
    if (marks & MARK_BROKEN) {
        return marks & MARK_SILENT ? 0 : NF2_FLASH_BAD;
    }
    if (cut) {
        fault_tear_program(chip, program);
    } else if (marks != 0) {
        fault_weak_program(chip, program);
    } else {
        clear_bits(chip->memory + program->address, program->data, program->straight);
        clear_bits(chip->memory + page_start, program->data + program->straight, wrapped);
    }
    return 0;
}

static int driver_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    struct vflash *chip = context;
    if (chip->state.off || background_cut(chip)) {
        return chip_off(chip);
    }
    if (chip->read_only) {
        return chip_done(chip, "program", address, length, "the image is open for reading only", VFLASH_FAILED);
    }
    bool fails = fault_call_fails(chip);
    bool cut = fault_operation_cut(chip, false, address, length);
    const char *wrong = NULL;
    int result = VFLASH_FAILED;
    if (!fails) {
        wrong = rules_program(chip, address, data, length);
        result = VFLASH_VIOLATION;
        if (!chip_refuses(chip, wrong)) {
            background_give_way(chip);
            struct program program = make_program(chip, address, data, length);
            result = program_page(chip, &program, cut);
        }
    }
    (void)chip_done(chip, "program", address, length, wrong, cut ? VFLASH_OFF : result);
    return cut ? fault_power_off(chip) : result;
}

/* ---- erase -------------------------------------------------------------------------------------- */

static void blank_blocks(struct vflash *chip, uint32_t first, uint32_t end)
{
    uint32_t start = first << chip->block_shift;
    uint32_t length = (end - first) << chip->block_shift;
    memset(chip->memory + start, 0xFF, length);
    units_clear(chip, start, length);
    nand_blank(chip, first, end);
}

int chip_erase_blocks(struct vflash *chip, uint32_t first, uint32_t end)
{
    if (chip->state.marked == 0 && chip->chip.worn_out_pct == 0) {
        blank_blocks(chip, first, end);
        return 0;
    }
    int result = 0;
    for (uint32_t block = first; block < end; block++) {
        if (nand_worn_out(chip, block)) {
            fault_mark(chip, block, MARK_BROKEN, 0);
        }
        if (chip->marks[block] & MARK_BROKEN) {
            result = chip->marks[block] & MARK_SILENT ? result : NF2_FLASH_BAD;
        } else {
            fault_mark(chip, block, 0, MARK_WEAK | MARK_UNSTABLE);
            blank_blocks(chip, block, block + 1);
        }
    }
    return result;
}

static int erase_range(struct vflash *chip, uint32_t address, uint32_t length, bool cut)
{
    uint32_t start = address % chip->chip.size;
    start -= start % length;
    uint32_t first = start >> chip->block_shift;
    uint32_t end = first + (length >> chip->block_shift);
    count_erase(chip, rules_erase_index(chip, length), first, end);
    if (!cut) {
        return chip_erase_blocks(chip, first, end);
    }
    fault_tear_erase(chip, first, end);
    return 0;
}

static int driver_erase(void *context, uint32_t address, uint32_t length)
{
    struct vflash *chip = context;
    if (chip->state.off || background_cut(chip)) {
        return chip_off(chip);
    }
    if (chip->read_only) {
        return chip_done(chip, "erase", address, length, "the image is open for reading only", VFLASH_FAILED);
    }
    bool fails = fault_call_fails(chip);
    bool cut = fault_operation_cut(chip, true, address, length);
    const char *wrong = NULL;
    int result = VFLASH_FAILED;
    if (!fails) {
        wrong = rules_erase(chip, address, length);
        result = VFLASH_VIOLATION;
        bool refused = chip_refuses(chip, wrong);
        if (!refused && rules_erase_index(chip, length) >= 0) {
            result = erase_range(chip, address, length, cut);
        }
    }
    (void)chip_done(chip, "erase", address, length, wrong, cut ? VFLASH_OFF : result);
    return cut ? fault_power_off(chip) : result;
}

/* ---- erases in the background --------------------------------------------------------------------- */

static int driver_erase_begin(void *context, uint32_t address, uint32_t length)
{
    struct vflash *chip = context;
    if (chip->state.off || background_cut(chip)) {
        return chip_off(chip);
    }
    if (chip->read_only) {
        return chip_done(chip, "erase begin", address, length, "the image is open for reading only", VFLASH_FAILED);
    }
    bool fails = fault_call_fails(chip);
    bool cut = fault_operation_cut(chip, true, address, length);
    const char *wrong = fails ? NULL : rules_erase(chip, address, length);
    int result = fails ? VFLASH_FAILED : 0;
    if (!fails && wrong != NULL) {          /* begun in a place that it does not fit: refused in any case */
        (void)chip_refuses(chip, wrong);
        result = VFLASH_VIOLATION;
    }
    if (result != 0 && cut) {
        (void)chip_done(chip, "erase begin", address, length, wrong, VFLASH_OFF);
        return fault_power_off(chip);
    }
    if (result == 0) {
        background_begin(chip, rules_erase_index(chip, length), address, length, cut);
    }
    return chip_done(chip, "erase begin", address, length, wrong, result);
}

static int driver_erase_done(void *context)
{
    struct vflash *chip = context;
    if (chip->state.off || background_cut(chip)) {
        return chip_off(chip);
    }
    if (fault_call_fails(chip)) {
        chip->state.background.open = false;    /* it did nothing: as an erase that fails */
        return VFLASH_FAILED;
    }
    return background_end(chip);
}

void vflash_background(struct vflash *chip, bool on, uint32_t suspend_us)
{
    chip->driver.erase_begin = on ? driver_erase_begin : NULL;
    chip->driver.erase_done = on ? driver_erase_done : NULL;
    chip->suspend_us = suspend_us;
}

/* ---- making and freeing --------------------------------------------------------------------------- */

static unsigned shift_of(uint32_t power_of_two)
{
    unsigned shift = 0;
    while (power_of_two >> shift > 1) {
        shift++;
    }
    return shift;
}

static void make_driver(struct vflash *chip)
{
    const struct vflash_chip *facts = &chip->chip;
    chip->driver = (struct nf2_flash){
        .context = chip, .read = driver_read, .program = driver_program, .erase = driver_erase,
        .chip_size = facts->size, .block_size = facts->block_size, .page_size = facts->page_size,
        .program_unit = facts->program_unit, .read_unit = facts->read_unit, .read_page_us = facts->read_page_us,
        .program_page_us = facts->program_page_us, .erase_block_us = facts->erase_us[0],
    };
    for (int i = 1; i < 3; i++) {
        if (facts->erase_sizes[i] == 64u * 1024u) {
            chip->driver.large_erase_size = facts->erase_sizes[i];
            chip->driver.large_erase_us = facts->erase_us[i];
        }
    }
}

static bool make_arrays(struct vflash *chip)
{
    chip->wear = calloc(chip->blocks, sizeof(*chip->wear));
    chip->marks = calloc(chip->blocks, 1);
    if (chip->chip.program_unit > 1) {
        chip->programmed_bytes = (chip->chip.size >> chip->unit_shift) / 8;
        chip->programmed = calloc(chip->programmed_bytes, 1);
    }
    return chip->wear != NULL && chip->marks != NULL && (chip->programmed != NULL || chip->programmed_bytes == 0);
}

struct vflash *chip_make(const struct vflash_chip *facts, char *message, size_t message_size)
{
    if (vflash_chip_check(facts, message, message_size) != 0) {
        return NULL;
    }
    struct vflash *chip = calloc(1, sizeof(*chip));
    if (chip == NULL) {
        snprintf(message, message_size, "out of memory");
        return NULL;
    }
    chip->chip = *facts;
    chip->chip.read_unit = facts->read_unit != 0 ? facts->read_unit : 1;
    chip->blocks = facts->size / facts->block_size;
    chip->page_shift = shift_of(facts->page_size);
    chip->block_shift = shift_of(facts->block_size);
    chip->unit_shift = shift_of(facts->program_unit);
    chip->strict = true;
    make_driver(chip);
    if (!make_arrays(chip) || !nand_make(chip)) {
        snprintf(message, message_size, "out of memory");
        vflash_free(chip);
        return NULL;
    }
    return chip;
}

struct vflash *vflash_new(const struct vflash_chip *facts)
{
    struct vflash *chip = chip_make(facts, NULL, 0);
    if (chip == NULL) {
        return NULL;
    }
    chip->memory = malloc(facts->size);
    if (chip->memory == NULL) {
        vflash_free(chip);
        return NULL;
    }
    memset(chip->memory, 0xFF, facts->size);
    return chip;
}

void vflash_free(struct vflash *chip)
{
    if (chip == NULL) {
        return;
    }
    if (chip->mapped) {
        image_unmap(chip);
    } else {
        free(chip->memory);
    }
    free(chip->wear);
    free(chip->marks);
    free(chip->programmed);
    free(chip->page_reads);
    free(chip->page_programs);
    nand_free(chip);
    free(chip);
}

/* ---- settings and answers ------------------------------------------------------------------------- */

const struct nf2_flash *vflash_driver(struct vflash *chip)
{
    return &chip->driver;
}

void vflash_set_strict(struct vflash *chip, bool strict)
{
    chip->strict = strict;
}

const char *vflash_violation(const struct vflash *chip)
{
    return chip->state.violation;
}

const struct vflash_chip *vflash_chip_of(const struct vflash *chip)
{
    return &chip->chip;
}

uint32_t vflash_wear(const struct vflash *chip, uint32_t block)
{
    assert(block < chip->blocks);
    return chip->wear[block];
}

uint8_t *vflash_memory(struct vflash *chip)
{
    return chip->memory;
}

void vflash_trace(struct vflash *chip, FILE *trace)
{
    chip->trace = trace;
}
