/* SPDX-License-Identifier: BSD-2-Clause */
/* compact.h - garbage in the blocks of indexed files: blocks that hold nothing live are freed, sparse ones are emptied first. */
#ifndef NF2FS_SRC_COMPACT_H
#define NF2FS_SRC_COMPACT_H

#include "core.h"

/*
 * One step: goes on to the next blocks of an indexed file that has something to do. Frees the runs of blocks that
 * no map needs, or moves the live data out of the emptiest block if at most `live` of 16 parts of it are live. 1 if it did
 * something, 0 if the last indexed file has been looked at, or an error.
 */
#define NF2_COMPACT_IDLE 4u
#define NF2_COMPACT_ALL 15u
int nf2_compact_step(nf2_t *fs, uint32_t live);

/*
 * A step of idle time. Blocks that hold nothing live are freed at once. Those that are live in part are emptied only where blocks run
 * short: what still changes leaves more of them to be won later, with less to be copied. `programs` > 0: a small step of about so many,
 * and an erase where nf2_clean_erases(), on maps that are not large. 0: nothing is left for it.
 */
int nf2_compact_idle(nf2_t *fs, uint32_t programs);

/* Has idle time something to do, that is worth while now? */
bool nf2_compact_waits(nf2_t *fs);

/*
 * For calls that write, `need` blocks: while few are left a part of the work, about `programs` at most, so that no call has to do all
 * of it: on groups of blocks that large erases take, else on removed files, else on single blocks. `late`: the call has taken long already,
 * and does its part only where very few are left.
 */
int nf2_compact_ahead(nf2_t *fs, uint32_t need, uint32_t programs, bool late);

/* Do erased blocks run short? */
bool nf2_compact_hurries(const nf2_t *fs);

/* Before blocks of a file (NF2_NONE: of any) are emptied: handles start a new run of blocks, as the present one may lose some. */
int nf2_compact_handles(nf2_t *fs, uint32_t id);

#endif
