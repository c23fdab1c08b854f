/* SPDX-License-Identifier: BSD-2-Clause */
/* spi_chip.c - commands of a serial NOR chip, byte by byte. */
#include "spi_chip.h"

#include <stdlib.h>
#include <string.h>

#include "spi_state.h"

#define CLOCK_NS 20u            /* 50 MHz */
#define BUSY 0x01u
#define QUAD_ENABLE 0x02u       /* in register 2 */
#define SUSPENDED 0x80u
#define READY_FLAG 0x80u

#define W25Q_ERASES                                                                                \
    {                                                                                              \
        {4096, 0x20, 0x21, 50000}, {32768, 0x52, 0, 120000},                                       \
        {                                                                                          \
            65536, 0xD8, 0xDC, 150000                                                              \
        }                                                                                          \
    }

const struct spi_chip_kind spi_chip_w25q256 = {
    .id = {0xEF, 0x40, 0x19}, .size = 32u << 20, .page_size = 256, .erase = W25Q_ERASES,
    .program_us = 400, .four_opcodes = true, .four_mode = true, .sfdp = true, .quad = true,
    .suspend_us = 20, .resume_gap_us = 100, .wake_us = 3,
};

const struct spi_chip_kind spi_chip_w25q128 = {
    .id = {0xEF, 0x40, 0x18}, .size = 16u << 20, .page_size = 256, .erase = W25Q_ERASES,
    .program_us = 400, .sfdp = true, .quad = true, .suspend_us = 20, .resume_gap_us = 100,
    .wake_us = 3,
};

const struct spi_chip_kind spi_chip_old = {
    .id = {0xC2, 0x20, 0x16}, .size = 4u << 20, .page_size = 256,
    .erase = {{4096, 0x20, 0, 60000}, {65536, 0xD8, 0, 700000}}, .program_us = 1400,
};

struct spi_chip *spi_chip_new(const struct spi_chip_kind *kind)
{
    struct spi_chip *chip = calloc(1, sizeof(*chip));
    if (chip == NULL || (chip->memory = malloc(kind->size)) == NULL) {
        free(chip);
        return NULL;
    }
    chip->kind = *kind;
    memset(chip->memory, 0xFF, kind->size);
    spi_sfdp_build(kind, chip->sfdp);
    return chip;
}

void spi_chip_free(struct spi_chip *chip)
{
    if (chip != NULL) {
        free(chip->memory);
        free(chip);
    }
}

uint64_t spi_chip_now_ns(const struct spi_chip *chip)
{
    return chip->now_ns;
}

uint8_t *spi_chip_memory(struct spi_chip *chip)
{
    return chip->memory;
}

const struct spi_chip_counts *spi_chip_counts(const struct spi_chip *chip)
{
    return &chip->counts;
}

bool spi_chip_is_busy(const struct spi_chip *chip)
{
    return chip->operation != SPI_IDLE && !chip->suspended;
}

uint32_t spi_chip_clock_ns(const struct spi_chip *chip)
{
    (void)chip;
    return CLOCK_NS;
}

void spi_chip_cut_at(struct spi_chip *chip, uint64_t ns, enum spi_chip_cut kind, uint64_t seed)
{
    chip->cut_set = true;
    chip->cut_ns = ns;
    chip->cut_kind = kind;
    chip->cut_seed = seed;
}

bool spi_chip_is_cut(const struct spi_chip *chip)
{
    return chip->cut;
}

void spi_chip_protect(struct spi_chip *chip, bool on)
{
    chip->protected = on;
}

void spi_chip_fail_next(struct spi_chip *chip)
{
    chip->fail_next = true;
}

/* ---- commands -------------------------------------------------------------------------------- */

static const struct spi_chip_erase *erase_of(const struct spi_chip *chip, uint8_t opcode)
{
    for (uint32_t i = 0; i < SPI_CHIP_ERASES; i++) {
        const struct spi_chip_erase *erase = &chip->kind.erase[i];
        if (erase->size != 0
            && (opcode == erase->opcode || (erase->opcode4 != 0 && opcode == erase->opcode4))) {
            return erase;
        }
    }
    return NULL;
}

static bool always_four(const struct spi_chip *chip, uint8_t opcode)
{
    const struct spi_chip_erase *erase = erase_of(chip, opcode);
    return (erase != NULL && opcode != erase->opcode) || opcode == 0x12 || opcode == 0x13
           || opcode == 0x0C || opcode == 0x6C || opcode == 0xEC;
}

static bool is_program(uint8_t opcode)
{
    return opcode == 0x02 || opcode == 0x12;
}

static bool is_quad(uint8_t opcode)
{
    return opcode == 0x6B || opcode == 0x6C || opcode == 0xEB || opcode == 0xEC;
}

static bool is_read(uint8_t opcode)
{
    return opcode == 0x03 || opcode == 0x13 || opcode == 0x0B || opcode == 0x0C || is_quad(opcode);
}

static uint32_t dummies_of(uint8_t opcode)
{
    switch (opcode) {
    case 0x0B:
    case 0x0C:
    case 0x6B:
    case 0x6C:
    case 0x5A:
        return 8;
    case 0xEB:
    case 0xEC:
        return 6;
    default:
        return 0;
    }
}

/* What a chip answers at any time. */
static bool is_status(uint8_t opcode)
{
    return opcode == 0x05 || opcode == 0x35 || opcode == 0x70;
}

static bool is_known(const struct spi_chip *chip, uint8_t opcode)
{
    if (always_four(chip, opcode) && !chip->kind.four_opcodes) {
        return false;
    }
    if (is_quad(opcode) && (!chip->kind.quad || (chip->status2 & QUAD_ENABLE) == 0)) {
        return false;
    }
    if ((opcode == 0xB7 || opcode == 0xE9) && !chip->kind.four_mode) {
        return false;
    }
    return opcode != 0x70 || chip->kind.flag_status;
}

static bool is_accepted(struct spi_chip *chip, uint8_t opcode)
{
    if (chip->asleep) {
        return opcode == 0xAB;
    }
    if (chip->operation == SPI_WAIT || !is_known(chip, opcode)) {
        return false;
    }
    if (spi_chip_is_busy(chip)) {
        return is_status(opcode) || opcode == 0x75;
    }
    if (chip->suspended && (is_program(opcode) || erase_of(chip, opcode) != NULL)) {
        return false;
    }
    return true;
}

static void receive_opcode(struct spi_chip *chip, uint8_t opcode)
{
    chip->opcode = opcode;
    chip->target = 0;
    chip->data = 0;
    chip->address_bytes = 0;
    chip->dummy_clocks = dummies_of(opcode);
    chip->dead = !is_accepted(chip, opcode);
    if (chip->dead) {
        chip->counts.ignored++;
        return;
    }
    if (is_read(opcode) || is_program(opcode) || erase_of(chip, opcode) != NULL) {
        chip->address_bytes = always_four(chip, opcode) || chip->four ? 4 : 3;
    } else if (opcode == 0x5A) {
        chip->address_bytes = 3;
    }
    if (is_program(opcode)) {
        memset(chip->touched, 0, sizeof(chip->touched));
    }
}

/* Lines on which a command's data goes; a driver that uses others reads nonsense. */
static unsigned lines_of(uint8_t opcode)
{
    return is_quad(opcode) ? 4 : 1;
}

static uint8_t answer(struct spi_chip *chip)
{
    uint8_t opcode = chip->opcode;
    if (is_read(opcode)) {
        return spi_array_read(chip, chip->target++);
    }
    switch (opcode) {
    case 0x05:
        return (uint8_t)(chip->status1 | (spi_chip_is_busy(chip) ? BUSY : 0)
                         | (chip->enabled ? 2u : 0));
    case 0x35:
        return (uint8_t)(chip->status2 | (chip->suspended ? SUSPENDED : 0));
    case 0x70:
        return (uint8_t)(chip->flags | (spi_chip_is_busy(chip) ? 0 : READY_FLAG));
    case 0x9F:
        return chip->kind.id[chip->data % 3u];
    case 0x5A:
        return chip->target < SPI_SFDP_SIZE ? chip->sfdp[chip->target++] : 0xFF;
    default:
        return 0xFF;
    }
}

static void take(struct spi_chip *chip, uint8_t byte)
{
    if (is_program(chip->opcode)) {
        uint32_t at = (chip->target + chip->data) % chip->kind.page_size;
        chip->counts.wrapped += at == 0 && chip->data > 0;
        chip->page[at] = byte;
        chip->touched[at] = true;
    } else if (chip->data < sizeof(chip->written)) {
        chip->written[chip->data] = byte;
    }
}

static uint8_t receive(struct spi_chip *chip, uint8_t out, unsigned lines)
{
    if (chip->received++ == 0) {
        receive_opcode(chip, out);
        return 0xFF;
    }
    if (chip->dead) {
        return 0xFF;
    }
    if (chip->address_bytes > 0) {
        chip->address_bytes--;
        chip->target = chip->target << 8 | out;
        return 0xFF;
    }
    if (chip->dummy_clocks > 0) {
        chip->dummy_clocks -= chip->dummy_clocks < 8u / lines ? chip->dummy_clocks : 8u / lines;
        return 0xFF;
    }
    uint8_t in = lines == lines_of(chip->opcode) ? answer(chip) : (uint8_t)(answer(chip) ^ 0x5Au);
    take(chip, out);
    chip->data++;
    return in;
}

/* ---- at the end of a transaction ------------------------------------------------------------- */

static void wait_for(struct spi_chip *chip, uint32_t us)
{
    chip->operation = SPI_WAIT;
    chip->left_ns = (uint64_t)us * 1000u;
}

static void change(struct spi_chip *chip)
{
    const struct spi_chip_erase *erase = erase_of(chip, chip->opcode);
    bool complete = chip->address_bytes == 0 && (erase != NULL ? chip->data == 0 : chip->data > 0);
    if (!chip->enabled || chip->protected || !complete) {
        chip->counts.ignored++;
        chip->enabled = false;
    } else if (erase != NULL) {
        spi_array_erase(chip, erase);
    } else {
        spi_array_program(chip);
    }
}

static void set_mode(struct spi_chip *chip, bool four)
{
    if (chip->kind.four_mode_latched && !chip->enabled) {
        chip->counts.ignored++;
        return;
    }
    chip->four = four;
    chip->enabled = false;
}

static void write_status(struct spi_chip *chip)
{
    if (!chip->enabled) {
        chip->counts.ignored++;
        return;
    }
    if (chip->opcode == 0x31) {
        chip->status2 = chip->written[0] & 0x7F;
    } else {
        chip->status1 = chip->written[0] & 0xFC;
        chip->status2 = chip->data > 1 ? chip->written[1] & 0x7F : chip->status2;
    }
    chip->enabled = false;
}

static void reset(struct spi_chip *chip)
{
    if (chip->reset_armed) {
        if (chip->suspended) {
            spi_array_tear(chip);
        }
        chip->four = false;
        chip->enabled = false;
        chip->flags = 0;
        wait_for(chip, 30);
    }
}

static void finish(struct spi_chip *chip)
{
    switch (chip->opcode) {
    case 0x06:
        chip->enabled = true;
        break;
    case 0x04:
        chip->enabled = false;
        break;
    case 0x01:
    case 0x31:
        write_status(chip);
        break;
    case 0x50:
        chip->flags = 0;
        break;
    case 0x75:
        spi_array_suspend(chip);
        break;
    case 0x7A:
        spi_array_resume(chip);
        break;
    case 0xB7:
    case 0xE9:
        set_mode(chip, chip->opcode == 0xB7);
        break;
    case 0xB9:
        chip->asleep = chip->kind.wake_us != 0;
        break;
    case 0xAB:
        if (chip->asleep) {
            wait_for(chip, chip->kind.wake_us);
        }
        chip->asleep = false;
        break;
    case 0x99:
        reset(chip);
        break;
    default:
        if (is_program(chip->opcode) || erase_of(chip, chip->opcode) != NULL) {
            change(chip);
        }
    }
    chip->reset_armed = chip->opcode == 0x66;
}

static void end_transaction(struct spi_chip *chip)
{
    if (chip->selected && chip->received > 0 && !chip->dead) {
        finish(chip);
    }
    chip->selected = false;
    chip->received = 0;
}

/* ---- time and the bus ------------------------------------------------------------------------ */

static void fail_board(struct spi_chip *chip)
{
    chip->cut = true;
    chip->cut_set = false;
    if (chip->cut_kind == SPI_CHIP_CUT_RESET) {
        end_transaction(chip);
        return;
    }
    spi_array_tear(chip);
    chip->selected = false;
    chip->received = 0;
}

void spi_chip_wait(struct spi_chip *chip, uint64_t ns)
{
    if (chip->cut_set && chip->now_ns + ns >= chip->cut_ns) {
        uint64_t left = chip->cut_ns > chip->now_ns ? chip->cut_ns - chip->now_ns : 0;
        spi_array_pass(chip, left);
        chip->now_ns += left;
        ns -= left;
        fail_board(chip);
    }
    chip->now_ns += ns;
    spi_array_pass(chip, ns);
}

void spi_chip_start(struct spi_chip *chip)
{
    if (chip->cut && chip->cut_kind == SPI_CHIP_CUT_POWER) {
        chip->four = false;
        chip->enabled = false;
        chip->asleep = false;
        chip->flags = 0;
    }
    chip->cut = false;
}

void spi_chip_select(struct spi_chip *chip, bool low)
{
    if (chip->cut) {
        return;
    }
    if (low) {
        chip->selected = true;
        chip->received = 0;
    } else {
        end_transaction(chip);
    }
}

uint8_t spi_chip_exchange(struct spi_chip *chip, uint8_t out, unsigned lines)
{
    spi_chip_wait(chip, (uint64_t)CLOCK_NS * 8u / lines);
    if (chip->cut || !chip->selected) {
        return 0xFF;
    }
    return receive(chip, out, lines);
}
