/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor_command.h - single commands, waiting and the memory window: between spinor's own files. */
#ifndef SPINOR_COMMAND_H
#define SPINOR_COMMAND_H

#include "spinor.h"

enum {
    WRITE_STATUS = 0x01, PROGRAM = 0x02, WRITE_DISABLE = 0x04, READ_STATUS = 0x05,
    WRITE_ENABLE = 0x06, FAST_READ = 0x0B, WRITE_STATUS_2 = 0x31, READ_STATUS_2 = 0x35,
    WRITE_CONTROL = 0x3E, READ_CONTROL = 0x3F,
    CLEAR_FLAGS = 0x50, RESET_ENABLE = 0x66, READ_FLAGS = 0x70, RESET = 0x99, READ_ID = 0x9F,
    WAKE = 0xAB, ENTER_FOUR = 0xB7
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
int spinor_window(struct spinor *chip, bool on);

/* One transfer. */
int spinor_send(struct spinor *chip, const struct spinor_transfer *transfer);

#endif
