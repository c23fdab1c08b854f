/* SPDX-License-Identifier: BSD-2-Clause */
/* commit.h - makes what a handle has written the content of its file; new names. */
#ifndef NF2FS_CORE_COMMIT_H
#define NF2FS_CORE_COMMIT_H

#include "data.h"

/* All that was written since the last commit, or nothing of it: 0 or 1, durable, or an error. */
int nf2_commit(nf2_t *fs, nf2_file_t *file);

/* What the handle has written is what the file consists of now: 1. */
int nf2_committed(nf2_t *fs, nf2_file_t *file);

/* The shadow of a handle, if it has one, ends here: what was behind is free. */
int nf2_commit_end(nf2_t *fs, nf2_file_t *file, uint32_t size);

/*
 * Changes that go with an entry that is replaced or removed: its map is an orphan from then on. 0
 * or 1 of them.
 */
int nf2_commit_orphan(const struct nf2_content *content, struct nf2_op *op);

/*
 * A new name, with the body of its entry; without one (NULL) it is only looked up. EXIST: there is
 * one; NOENT: its directory is missing, or the path ends behind the name.
 */
int nf2_put_name(nf2_t *fs, const char *path, const void *body, uint32_t length);

#endif
