/* SPDX-License-Identifier: BSD-2-Clause */
/* super.h - the anchors in the first blocks of the volume: what it is, and where the root log's head lies. */
#ifndef NF2FS_CORE_SUPER_H
#define NF2FS_CORE_SUPER_H

#include "log.h"
#include "space.h"

/* Finds the last anchor; `scans` are those of the super blocks, NF2_SUPER_MOST of them. Errors: BLANK, FOREIGN, VERSION, GEOMETRY, IO. */
int nf2_super_find(nf2_t *fs, struct nf2_scan *scans);

/* Where each of them goes on, when the epoch is known. */
void nf2_super_ends(nf2_t *fs, const struct nf2_scan *scan);

/* Writes an anchor that names the root log's head; durable when it returns. */
int nf2_super_write(nf2_t *fs);

#endif
