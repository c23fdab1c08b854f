/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor_command.h - single commands, waiting and the memory window: between spinor's own files. */
#ifndef SPINOR_COMMAND_H
#define SPINOR_COMMAND_H

#include "spinor.h"

enum {
    WRITE_STATUS = 0x01, PROGRAM = 0x02, WRITE_DISABLE = 0x04, READ_STATUS = 0x05,
    WRITE_ENABLE = 0x06, FAST_READ = 0x0B, WRITE_STATUS_2 = 0x31, READ_STATUS_2 = 0x35,
    WRITE_CONTROL = 0x3E, READ_CONTROL = 0x3F,
    READ_SECURITY = 0x2B, CLEAR_STATUS = 0x30, RESUME = 0x7A, UNLOCK = 0x98, LEAVE_QPI = 0xF5,
    LEAVE_MODE = 0xFF, CLEAR_FLAGS = 0x50, RESET_ENABLE = 0x66, READ_FLAGS = 0x70, RESET = 0x99,
    READ_ID = 0x9F, WAKE = 0xAB, ENTER_FOUR = 0xB7
};

/* One command: alone, with bytes that come, with bytes that go. */
int spinor_command(struct spinor *chip, uint8_t opcode);
int spinor_get(struct spinor *chip, uint8_t opcode, uint8_t *in, uint32_t length);
int spinor_put(struct spinor *chip, uint8_t opcode, const uint8_t *out, uint32_t length);
int spinor_write_enable(struct spinor *chip);
void spinor_lock(struct spinor *chip);
void spinor_unlock(struct spinor *chip);
void spinor_claim(struct spinor *chip);
void spinor_release(struct spinor *chip);
void spinor_pause(struct spinor *chip, uint32_t us);
int spinor_hold(struct spinor *chip, uint32_t us);      /* at least that long, by every clock */
int spinor_wait_idle(struct spinor *chip, uint32_t step_us, uint32_t max_us);
/* With the bus locked all along, for an operation inside a suspended erase. */
int spinor_wait_locked(struct spinor *chip, uint32_t step_us, uint32_t max_us);
/* One look: what became of an operation. `ended` where it is over, well or not. */
int spinor_look(struct spinor *chip, bool *ended);
uint32_t spinor_now_us(struct spinor *chip);        /* 0 without a clock */
int spinor_window(struct spinor *chip, bool on);

/* A piece of work of one task: with the chip claimed, the bus locked and the chip awake. */
int spinor_enter(struct spinor *chip);
int spinor_leave(struct spinor *chip, int result);

/* ---- what makers do in their own way ---- */

void spinor_know_maker(struct spinor_part *part);       /* from its identification */
int spinor_look_at_protection(struct spinor *chip);     /* and whether it is on */
int spinor_is_ready(struct spinor *chip, bool *ready);  /* by 70h, where that is needed */
int spinor_judge(struct spinor *chip);                  /* whether the last operation failed */
bool spinor_has_failed(const struct spinor *chip, uint8_t status);  /* and waits for 30h */
int spinor_clear_failure(struct spinor *chip);          /* then this; returns what it was */

/* One transfer. */
int spinor_send(struct spinor *chip, const struct spinor_transfer *transfer);

#endif
