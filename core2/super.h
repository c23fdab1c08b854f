/* SPDX-License-Identifier: BSD-2-Clause */
/* super.h - the anchors in the first blocks of the volume: what it is, and where the root log's head lies. */
#ifndef NF2FS_CORE_SUPER_H
#define NF2FS_CORE_SUPER_H

#include "log.h"
#include "space.h"

/* Finds the last anchor; `last` is the scan of its block: it tells root.super_end, when the epoch is known. Errors: BLANK, FOREIGN, VERSION, GEOMETRY, IO. */
int nf2_super_find(nf2_t *fs, struct nf2_scan *last);

/* The next anchor goes to another block, erased first. */
void nf2_super_full(nf2_t *fs);

/* Writes an anchor that names the root log's head; durable when it returns. */
int nf2_super_write(nf2_t *fs);

/* Is there room for a record of these bytes at a log's end? */
bool nf2_log_takes(const nf2_t *fs, uint32_t at, uint32_t length);

#endif
