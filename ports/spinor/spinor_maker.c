/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor_maker.c - what no table tells: failures and protection, as the makers have them. */
#include "spinor.h"

#include <stddef.h>

#include "spinor_command.h"

#define SPANSION 0x01u
#define MICRON 0x20u
#define SST 0xBFu
#define MACRONIX 0xC2u
#define GIGADEVICE 0xC8u
#define WINBOND 0xEFu

#define FLAGS_READY 0x80u       /* 70h */
#define FLAGS_FAILED 0x30u
#define FLAGS_PROTECTED 0x02u
#define SECURITY_FAILED 0x60u   /* 2Bh */
#define STATUS_FAILED 0x60u     /* 05h, where the maker has it so */
#define COMPLEMENT 0x40u        /* 35h */
#define DIE_SIZE ((uint32_t)32 << 20)   /* the smallest of those that are stacked */
#define REGISTER_MAX_US 100000u

/* ---- which chip does it how ------------------------------------------------------------------ */

/* S25FL-P, S25FL-S and S25FS-S; others of that maker are like Winbond's. */
static bool is_s25fl(const struct spinor_part *part)
{
    return part->id[0] == SPANSION && (part->id[1] == 0x02u || part->id[1] == 0x20u);
}

void spinor_know_maker(struct spinor_part *part)
{
    uint32_t dies = part->size / DIE_SIZE;
    part->dies = part->failures == SPINOR_FLAGS && dies > 1u ? (uint8_t)(dies < 8u ? dies : 8u) : 1;
    part->protect_bits = 0x3C;
    part->protect_inverts = part->id[0] == WINBOND || part->id[0] == GIGADEVICE;
    if (is_s25fl(part)) {
        part->failures = SPINOR_STATUS;
        part->protect_bits = 0x1C;
    } else if (part->id[0] == MACRONIX && part->sfdp) {
        part->failures = SPINOR_SECURITY;
    } else if (part->id[0] == MICRON) {
        part->protect_bits = 0x5C;
    } else if (part->id[0] == GIGADEVICE && part->quad_enable != 2u) {
        part->protect_bits = 0x7C;
    } else if (part->id[0] == SST && part->id[1] == 0x26u) {
        part->protect_bits = 0;
        part->locks = true;
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Dies that are stacked answer in turn. What they said of failures is kept for spinor_judge. */
int spinor_is_ready(struct spinor *chip, bool *ready)
{
    *ready = true;
    chip->flags = 0;
    for (uint32_t i = 0; chip->part.failures == SPINOR_FLAGS && i < chip->part.dies; i++) {
        uint8_t flags = 0;
        int result = spinor_get(chip, READ_FLAGS, &flags, 1);
        if (result != 0) {
            return result;
        }
        *ready = *ready && (flags & FLAGS_READY) != 0;
        chip->flags |= flags;
    }
    return SPINOR_OK;
}

/* Not every chip tells a block that failed from one that is protected. */
static int blame(struct spinor *chip)
{
    uint8_t status = 0;
    int result = spinor_get(chip, READ_STATUS, &status, 1);
    bool protects = (status & chip->part.protect_bits) != 0;
    return result != 0 ? result : protects ? SPINOR_PROTECTED : NF2_FLASH_BAD;
}

static int judge_flags(struct spinor *chip)
{
    uint8_t flags = chip->flags;
    if ((flags & (FLAGS_FAILED | FLAGS_PROTECTED)) == 0) {
        return SPINOR_OK;
    }
    int result = spinor_command(chip, CLEAR_FLAGS);
    result = result != 0 ? result : spinor_command(chip, WRITE_DISABLE);
    return result != 0 ? result : (flags & FLAGS_PROTECTED) != 0 ? SPINOR_PROTECTED : NF2_FLASH_BAD;
}

int spinor_judge(struct spinor *chip)
{
    uint8_t security = 0;
    if (chip->part.failures == SPINOR_FLAGS) {
        return judge_flags(chip);
    }
    if (chip->part.failures != SPINOR_SECURITY) {
        return SPINOR_OK;
    }
    int result = spinor_get(chip, READ_SECURITY, &security, 1);
    return result != 0 || (security & SECURITY_FAILED) == 0 ? result : blame(chip);
}

bool spinor_has_failed(const struct spinor *chip, uint8_t status)
{
    return chip->part.failures == SPINOR_STATUS && (status & STATUS_FAILED) != 0;
}

int spinor_clear_failure(struct spinor *chip)
{
    int result = spinor_command(chip, CLEAR_STATUS);
    result = result != 0 ? result : spinor_command(chip, WRITE_DISABLE);
    return result != 0 ? result : blame(chip);
}

/* ---- protection ------------------------------------------------------------------------------ */

static bool has_register_2(const struct spinor_part *part)
{
    return part->quad_enable == 1u || (part->quad_enable >= 4u && part->quad_enable <= 6u);
}

static int read_protection(struct spinor *chip, uint8_t values[2], bool *on)
{
    struct spinor_part *part = &chip->part;
    values[1] = 0;
    int result = spinor_get(chip, READ_STATUS, &values[0], 1);
    if (result == 0 && has_register_2(part)) {
        result = spinor_get(chip, READ_STATUS_2, &values[1], 1);
    }
    *on = (values[0] & part->protect_bits) != 0
          || (part->protect_inverts && (values[1] & COMPLEMENT) != 0);
    return result;
}

int spinor_look_at_protection(struct spinor *chip)
{
    uint8_t values[2];
    bool on = false;
    int result = read_protection(chip, values, &on);
    chip->locked = chip->part.locks;
    chip->part.is_protected = on || chip->locked;
    return result;
}

/* Both registers where one write is for both: it would clear the other one else. */
static int write_protection(struct spinor *chip, uint8_t values[2])
{
    struct spinor_part *part = &chip->part;
    uint8_t method = part->quad_enable;
    bool both = method == 1u || method == 4u || method == 5u;
    values[0] &= (uint8_t)~(part->protect_bits | 3u);
    values[1] &= part->protect_inverts ? (uint8_t)~COMPLEMENT : 0xFFu;
    int result = spinor_write_enable(chip);
    result = result != 0 ? result : spinor_put(chip, WRITE_STATUS, values, both ? 2 : 1);
    result = result != 0 ? result : spinor_wait_idle(chip, 1000, REGISTER_MAX_US);
    if (result == 0 && method == 6u && part->protect_inverts) {
        result = spinor_write_enable(chip);
        result = result != 0 ? result : spinor_put(chip, WRITE_STATUS_2, &values[1], 1);
        result = result != 0 ? result : spinor_wait_idle(chip, 1000, REGISTER_MAX_US);
    }
    return result;
}

static int unprotect(struct spinor *chip)
{
    uint8_t values[2];
    bool on = false;
    int result = read_protection(chip, values, &on);
    if (result == 0 && on) {
        result = write_protection(chip, values);
        result = result != 0 ? result : read_protection(chip, values, &on);
    }
    if (result == 0 && chip->part.locks) {
        result = spinor_write_enable(chip);
        result = result != 0 ? result : spinor_command(chip, UNLOCK);
    }
    return result != 0 ? result : on ? SPINOR_PROTECTED : SPINOR_OK;
}

int spinor_unprotect(struct spinor *chip)
{
    if (!chip->part.is_protected) {
        return SPINOR_OK;
    }
    int result = spinor_enter(chip);
    result = result != 0 ? result : unprotect(chip);
    chip->locked = chip->locked && result != 0;
    chip->part.is_protected = result != 0;
    return spinor_leave(chip, result);
}
