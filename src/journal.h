/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal.h - the root log: the state that a mount begins with (CHECKPOINT), and changes of several
 * leaves since (GROUP). It lies in one block; when that is full it turns to the next one, which an
 * anchor names.
 */
#ifndef NF2FS_CORE_JOURNAL_H
#define NF2FS_CORE_JOURNAL_H

#include "super.h"

#define NF2_PUTS_OFF 4u         /* in fs->cut and fs->idle: an erase is put off */

/* Reads the root log at a mount. CORRUPT: it is damaged. */
int nf2_journal_read(nf2_t *fs);

/*
 * The first record of a session, before anything else is programmed: the volume is not clean any
 * more. NF2_NEED_SPACE: it needs a block, next to none is known to be free, and the log's next one
 * may be bad.
 */
int nf2_journal_open(nf2_t *fs);

/*
 * Before that: a session that was cut in a turn may have left something in the block that a turn
 * takes next, where `next` had failed. That is the last one of a claim, or the first free one,
 * which becomes a claim: it counts as not erased.
 */
void nf2_journal_prepare(nf2_t *fs);

/* A CHECKPOINT; and the last one of the session. */
int nf2_journal_checkpoint(nf2_t *fs);
int nf2_journal_close(nf2_t *fs);

/* A record that the caller fills: makes room for it, and programs what was written. */
int nf2_journal_room(nf2_t *fs, uint32_t length);
int nf2_journal_end(nf2_t *fs, struct nf2_writer *writer);

/* A new id, never used before. */
int nf2_journal_id(nf2_t *fs, uint32_t *id);

/* Notes a bad block: never used again. It goes on record with the next CHECKPOINT. */
void nf2_journal_bad(nf2_t *fs, uint32_t block);

/* It is on record elsewhere, the list need not hold it. */
void nf2_journal_bad_done(nf2_t *fs, uint32_t block);

/* So many blocks may turn out to be bad, one after the other, until something gives up. */
static inline uint32_t nf2_journal_tries(const nf2_t *fs)
{
    return fs->blocks / 16 + 10; /* one that was freed takes two */
}

#endif
