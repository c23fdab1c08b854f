/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * journal.h - the root log: the state that a mount begins with (CHECKPOINT), and changes of several
 * leaves since (GROUP). It lies in one block; when that is full it turns to the next one, which an
 * anchor names.
 */
#ifndef NF2FS_CORE_JOURNAL_H
#define NF2FS_CORE_JOURNAL_H

#include "super.h"

/* Reads the root log at a mount. CORRUPT: it is damaged. */
int nf2_journal_read(nf2_t *fs);

/*
 * The first record of a session, before anything else is programmed: the volume is not clean any
 * more. NF2_NEED_SPACE: it needs a block, next to none is known to be free, and the log's next one
 * may be bad.
 */
int nf2_journal_open(nf2_t *fs);

/* A CHECKPOINT; and (`clean`) the last one of the session. */
int nf2_journal_state(nf2_t *fs, bool clean);
static inline int nf2_journal_checkpoint(nf2_t *fs)
{
    return nf2_journal_state(fs, false);
}
static inline int nf2_journal_close(nf2_t *fs)
{
    return nf2_journal_state(fs, true);
}

/* A CHECKPOINT in the log's present block, in which there is room for it. NF2_FAILED_BLOCK. */
int nf2_journal_here(nf2_t *fs);

/* A record that the caller fills: makes room for it, and programs what was written. */
int nf2_journal_room(nf2_t *fs, uint32_t length);
int nf2_journal_end(nf2_t *fs, struct nf2_writer *writer);

/* A new id, never used before. */
int nf2_journal_id(nf2_t *fs, uint32_t *id);

/* So many blocks may turn out to be bad, one after the other, until something gives up. */
static inline uint32_t nf2_journal_tries(const nf2_t *fs)
{
    return fs->blocks / 16 + 10; /* one that was freed takes two */
}

#endif
