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
#define ERASE_FAILED 0x20u      /* in `flags`, as 70h gives them; 2Bh and register 1: see answer */
#define PROGRAM_FAILED 0x10u
#define PROTECTED_FLAG 0x02u
#define FAILED (ERASE_FAILED | PROGRAM_FAILED)
#define CONTINUE_BITS 2u        /* the lower two of the first mode clock: no opcode comes next */

static void power_up(struct spi_chip *chip)
{
    chip->four = false;
    chip->enabled = false;
    chip->asleep = false;
    chip->flags = 0;
    chip->unread = 0;
    chip->mode = SPI_CHIP_PLAIN;
    chip->locked = chip->kind.locked;
    chip->powered_ns = chip->now_ns;
}

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
    power_up(chip);
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
    bool stuck = chip->kind.status_errors && (chip->flags & FAILED) != 0;
    return (chip->operation != SPI_IDLE && !chip->suspended) || chip->nested || stuck;
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

void spi_chip_set_mode(struct spi_chip *chip, enum spi_chip_mode mode)
{
    chip->mode = mode;
}

/* As power-up, for what the chip does and how it listens. */
void spi_chip_reset_pin(struct spi_chip *chip)
{
    spi_array_tear(chip);
    chip->mode = SPI_CHIP_PLAIN;
    chip->four = false;
    chip->enabled = false;
    chip->asleep = false;
    chip->flags = 0;
}

void spi_chip_set_registers(struct spi_chip *chip, uint8_t first, uint8_t second)
{
    chip->status1 = first;
    chip->status2 = second;
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

/* Without regions every erase works everywhere. */
bool spi_chip_works_at(const struct spi_chip *chip, uint32_t erase, uint32_t address)
{
    bool other = (chip->kind.map_bit & chip->status2) != 0;
    const struct spi_chip_region *region = other ? chip->kind.other : chip->kind.regions;
    for (uint32_t i = 0; i < SPI_CHIP_REGIONS && region[i].size != 0; i++) {
        if (address < region[i].size) {
            return (region[i].erases & 1u << erase) != 0;
        }
        address -= region[i].size;
    }
    return region[0].size == 0;
}

/* Of several erases with one opcode the one that works there; NULL: none does. */
static const struct spi_chip_erase *erase_at(const struct spi_chip *chip)
{
    const struct spi_chip_erase *found = erase_of(chip, chip->opcode);
    bool with_four = found != NULL && chip->opcode != found->opcode;
    for (uint32_t i = 0; i < SPI_CHIP_ERASES; i++) {
        const struct spi_chip_erase *erase = &chip->kind.erase[i];
        if (erase->size != 0 && chip->opcode == (with_four ? erase->opcode4 : erase->opcode)
            && spi_chip_works_at(chip, i, chip->target % chip->kind.size)) {
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
    return opcode == 0x05 || opcode == 0x35 || opcode == 0x70 || opcode == 0x2B;
}

static bool quad_enabled(const struct spi_chip *chip)
{
    switch (chip->kind.quad_method) {
    case 2:
        return (chip->status1 & 0x40u) != 0;
    case SPI_CHIP_QUAD_ALWAYS:
        return true;
    default:
        return (chip->status2 & QUAD_ENABLE) != 0;
    }
}

static uint8_t suspend_opcode(const struct spi_chip *chip)
{
    return chip->kind.suspend != 0 ? chip->kind.suspend : 0x75;
}

static uint8_t resume_opcode(const struct spi_chip *chip)
{
    return chip->kind.resume != 0 ? chip->kind.resume : 0x7A;
}

static bool is_known(const struct spi_chip *chip, uint8_t opcode)
{
    if (always_four(chip, opcode) && !chip->kind.four_opcodes) {
        return false;
    }
    if (is_quad(opcode) && (!chip->kind.quad || !quad_enabled(chip))) {
        return false;
    }
    if ((opcode == 0xB7 || opcode == 0xE9) && !chip->kind.four_mode) {
        return false;
    }
    if (opcode == 0x2B) {
        return chip->kind.security;
    }
    return opcode != 0x70 || chip->kind.flag_status;
}

static bool is_powered(const struct spi_chip *chip, uint32_t us)
{
    return chip->now_ns - chip->powered_ns >= 1000u * (uint64_t)us;
}

static bool is_accepted(struct spi_chip *chip, uint8_t opcode)
{
    if (chip->asleep) {
        return opcode == 0xAB;
    }
    if (!is_powered(chip, chip->kind.power_up_us)
        || chip->opcode_on_four != (chip->mode == SPI_CHIP_QPI)) {
        return false;
    }
    if (chip->operation == SPI_WAIT || !is_known(chip, opcode)) {
        return false;
    }
    if (spi_chip_is_busy(chip)) {
        return is_status(opcode) || opcode == suspend_opcode(chip)
               || (opcode == 0x30 && chip->kind.status_errors);
    }
    if (chip->unread > 0 && (is_program(opcode) || erase_of(chip, opcode) != NULL)) {
        return false;           /* one of the dies has not been asked yet */
    }
    if (chip->suspended && is_program(opcode)) {
        return chip->kind.programs_meanwhile;
    }
    if (chip->suspended && erase_of(chip, opcode) != NULL) {
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
    uint8_t errors = 0;
    switch (opcode) {
    case 0x05:
        if (chip->kind.status_errors) {
            errors = (uint8_t)(((chip->flags & ERASE_FAILED) != 0 ? 0x20u : 0)
                               | ((chip->flags & PROGRAM_FAILED) != 0 ? 0x40u : 0));
        }
        return (uint8_t)(chip->status1 | (spi_chip_is_busy(chip) ? BUSY : 0)
                         | (chip->enabled ? 2u : 0) | errors);
    case 0x35:
        return (uint8_t)(chip->status2 | (chip->suspended ? SUSPENDED : 0));
    case 0x70:
        if (chip->data == 0 && chip->unread > 0 && !spi_chip_is_busy(chip)) {
            chip->unread--;
        }
        return (uint8_t)(chip->flags | (spi_chip_is_busy(chip) ? 0 : READY_FLAG));
    case 0x2B:
        return (uint8_t)(((chip->flags & ERASE_FAILED) != 0 ? 0x40u : 0)
                         | ((chip->flags & PROGRAM_FAILED) != 0 ? 0x20u : 0));
    case 0x9F:
        if (chip->kind.id_long && chip->data % 5u >= 3u) {
            return chip->kind.id_more[chip->data % 5u - 3u];
        }
        return chip->kind.id[chip->data % (chip->kind.id_long ? 5u : 3u)];
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

/*
 * What the lines say at one of the clocks of that byte. Those that the controller does not drive
 * are pulled up.
 */
static uint8_t nibble_at(uint8_t byte, unsigned lines, uint32_t clock)
{
    if (lines == 4) {
        return clock == 0 ? byte >> 4 : byte & 15u;
    }
    return (uint8_t)(14u | (byte >> (7u - clock) & 1u));
}

/* An address on four lines comes first, and two clocks that say whether it goes on like that. */
static void receive_continuous(struct spi_chip *chip, uint8_t out, unsigned lines)
{
    uint32_t mode_clock = chip->four ? 8 : 6;
    for (uint32_t clock = 0; clock < 8u / lines; clock++) {
        if (chip->clocks + clock == mode_clock
            && (nibble_at(out, lines, clock) & 3u) != CONTINUE_BITS) {
            chip->mode = SPI_CHIP_PLAIN;
        }
    }
    chip->dead = true;
}

/* On one line the opcode's two clocks take two bits of the byte. */
static uint8_t opcode_of(const struct spi_chip *chip, uint8_t out, unsigned lines)
{
    if (chip->mode != SPI_CHIP_QPI || lines == 4) {
        return out;
    }
    return (uint8_t)(nibble_at(out, 1, 0) << 4 | nibble_at(out, 1, 1));
}

static void receive_first(struct spi_chip *chip, uint8_t out, unsigned lines)
{
    chip->opcode_on_four = lines == 4 || chip->mode == SPI_CHIP_QPI;
    receive_opcode(chip, opcode_of(chip, out, lines));
    bool late = chip->mode == SPI_CHIP_QPI && lines == 1 && chip->opcode != chip->kind.qpi_exit;
    chip->dead |= late;         /* six clocks too many */
}

static uint8_t receive(struct spi_chip *chip, uint8_t out, unsigned lines)
{
    if (chip->mode == SPI_CHIP_OCTAL) {
        chip->dead = true;
        return 0xFF;
    }
    if (chip->mode == SPI_CHIP_CONTINUOUS || chip->clocks > 0) {
        receive_continuous(chip, out, lines);
        chip->clocks += 8u / lines;
        return 0xFF;
    }
    if (chip->received++ == 0) {
        receive_first(chip, out, lines);
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
    unsigned expected = chip->mode == SPI_CHIP_QPI ? 4 : lines_of(chip->opcode);
    uint8_t in = lines == expected ? answer(chip) : (uint8_t)(answer(chip) ^ 0x5Au);
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

static bool is_protected(const struct spi_chip *chip)
{
    bool inverts = chip->kind.protect_inverts && (chip->status2 & 0x40u) != 0;
    bool bits = (chip->status1 & chip->kind.protect_bits) != 0;
    return chip->protected || chip->locked || bits != inverts;
}

/* Refused: some chips say so, in the way that they tell of failures. */
static void refuse(struct spi_chip *chip, bool erases, bool protection)
{
    bool tells = chip->kind.flag_status || chip->kind.security || chip->kind.status_errors;
    chip->counts.ignored++;
    if (tells && !chip->protected && !chip->locked) {
        chip->flags |= erases ? ERASE_FAILED : PROGRAM_FAILED;
        chip->flags |= protection && chip->kind.flag_status ? PROTECTED_FLAG : 0;
    }
    chip->enabled = chip->kind.status_errors && (chip->flags & FAILED) != 0;
}

static void change(struct spi_chip *chip)
{
    bool erases = erase_of(chip, chip->opcode) != NULL;
    bool complete = chip->address_bytes == 0 && (erases ? chip->data == 0 : chip->data > 0);
    if (!chip->enabled || !complete) {
        chip->counts.ignored++;
        chip->enabled = false;
        return;
    }
    if (chip->kind.security) {
        chip->flags &= (uint8_t)~FAILED;        /* of the operation before this one */
    }
    bool held = chip->suspended && chip->target % chip->kind.size - chip->address < chip->length;
    const struct spi_chip_erase *erase = erases ? erase_at(chip) : NULL;
    if (held || is_protected(chip) || (erases && erase == NULL)) {
        refuse(chip, erases, is_protected(chip));
        return;
    }
    chip->unread = chip->kind.dies;
    if (erases) {
        spi_array_erase(chip, erase);
    } else {
        spi_array_program(chip);
    }
}

static void set_addressing(struct spi_chip *chip, bool four)
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
        chip->mode = SPI_CHIP_PLAIN;
        wait_for(chip, 30);
    }
}

static void finish(struct spi_chip *chip)
{
    if (chip->opcode == suspend_opcode(chip)) {
        spi_array_suspend(chip);
        return;
    }
    if (chip->opcode == resume_opcode(chip)) {
        spi_array_resume(chip);
        return;
    }
    switch (chip->opcode) {
    case 0x06:
        chip->enabled = is_powered(chip, chip->kind.power_up_write_us);
        chip->counts.ignored += !chip->enabled;
        break;
    case 0x30:
        chip->flags = chip->kind.status_errors ? 0 : chip->flags;
        chip->enabled = false;
        break;
    case 0x98:
        chip->locked = chip->locked && !chip->enabled;
        chip->enabled = false;
        break;
    case 0xFF:
    case 0xF5:
        chip->mode = chip->opcode == chip->kind.qpi_exit ? SPI_CHIP_PLAIN : chip->mode;
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
    case 0xB7:
    case 0xE9:
        set_addressing(chip, chip->opcode == 0xB7);
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
    chip->clocks = 0;
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
        power_up(chip);
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
        chip->clocks = 0;
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
