/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - the framed tail of a file: a block in which each small synced append is one frame, header, data and
 * check in one program (docs/core2/FORMAT.md, "Frames"; the idea is HFFS's log block).
 */
#ifndef NF2FS_CORE_FRAMES_H
#define NF2FS_CORE_FRAMES_H

#include "log.h"

struct nf2_frames {
    uint32_t block, base;
    uint32_t end;               /* file offset behind the last frame that counts */
    uint32_t append_at;         /* place in the block for the next frame; the block's end if there is none */
};

/* Finds the end of the frames in a block. NF2_ERR_IO if it holds none (the first is written before the block is referenced). */
int nf2_frames_open(nf2_t *fs, uint32_t block, uint32_t base, struct nf2_frames *frames);

/* Reads `length` bytes at file offset `at`, all of which must lie in the block's frames. */
int nf2_frames_read(nf2_t *fs, uint32_t block, uint32_t base, uint32_t at, void *data, uint32_t length);

/* Appends data as one frame, or as two where a page ends in between; 1 if the block has no room (nothing is written). */
int nf2_frames_append(nf2_t *fs, struct nf2_frames *frames, const void *data, uint32_t length);

#endif
