/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * super.h - the anchors in the first blocks of the volume: what it is, and where the root log's
 * head lies.
 */
#ifndef NF2FS_CORE_SUPER_H
#define NF2FS_CORE_SUPER_H

#include "log.h"
#include "space.h"

/*
 * What an anchor says of the chip: powers of two below 1 << 17, all different, as a sum; above that
 * the blocks of a region as a power of two, and by how many blocks the first region begins before
 * the volume.
 */
static inline uint32_t nf2_geometry(const nf2_t *fs)
{
    return fs->flash->block_size | NF2_LOG_PAGE | fs->flash->program_unit |
           (uint32_t)fs->space.region_log << 24 | (uint32_t)fs->space.shift << 28;
}

/*
 * Finds the last anchor. Errors: BLANK, FOREIGN, VERSION, GEOMETRY, IO. Of a volume of another
 * version or geometry, too, the last one's block and sequence are known then.
 */
int nf2_super_find(nf2_t *fs);

/*
 * The next anchor gets a number of its own, `fs->root.sequence`: a CHECKPOINT has it before the
 * anchor is written.
 */
void nf2_super_reserve(nf2_t *fs);

/* Writes an anchor that names the root log's head; durable when it returns. */
int nf2_super_write(nf2_t *fs);

/* Does the next anchor take an erase, as a rule? */
bool nf2_super_erases(const nf2_t *fs);

#endif
