/* SPDX-License-Identifier: BSD-2-Clause */
/* board.h - what each board of this folder has. */
#ifndef BOARD_H
#define BOARD_H

#include "nf2fs/flash.h"

/*
 * The flash, ready for use, and where the volume begins; NULL: it was not found, and the board has
 * said why.
 */
const struct nf2_flash *board_flash(uint32_t *offset);

void board_put(const char *text);

#endif
