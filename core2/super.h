/* SPDX-License-Identifier: BSD-2-Clause */
/* super.h - the anchors in the first blocks of the volume: what it is, and where the root log's head lies. */
#ifndef NF2FS_CORE_SUPER_H
#define NF2FS_CORE_SUPER_H

#include "log.h"
#include "space.h"

/* Finds the last anchor; `scans` are those of the super blocks, NF2_SUPER_MOST of them. Errors: BLANK, FOREIGN, VERSION, GEOMETRY, IO. */
int nf2_super_find(nf2_t *fs, struct nf2_scan *scans);

/* Where each of them goes on, when the epoch and the head are known; `anchored`: the head that the last anchor names. */
void nf2_super_ends(nf2_t *fs, const struct nf2_scan *scan, uint32_t anchored);

/* A turn's block failed: a cut may have left a part of this turn's anchor that no mount would know of. Blocks are erased first. */
void nf2_super_forget(nf2_t *fs);

/* Writes an anchor that names the root log's head; durable when it returns. */
int nf2_super_write(nf2_t *fs);

#endif
