/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - the framed tail of a file: a log in which each small synced append is one record
 * (docs/FORMAT.md, "Frames"; the idea is HFFS's log block).
 */
#ifndef NF2FS_CORE_FRAMES_H
#define NF2FS_CORE_FRAMES_H

#include "log.h"

/*
 * Finds how far the frames of a piece go, which becomes its length, and where in the block the next
 * one goes (the log's end: nowhere). NF2_ERR_IO if there are none: the first one is written before
 * the block is referenced.
 */
int nf2_frames_open(nf2_t *fs, struct nf2_piece *piece, uint32_t *append_at);

/* Reads `length` bytes at file offset `at`, all of which must lie in the piece's block. */
int nf2_frames_read(nf2_t *fs, const struct nf2_piece *piece, uint32_t at, void *data,
                    uint32_t length);

/* Appends the handle's buffer, less than a page, to its frames: 1, 0 without room, or a failure. */
int nf2_frames_append(nf2_t *fs, nf2_file_t *file);

#endif
