/* SPDX-License-Identifier: BSD-2-Clause */
/* ids.h - ids of directories and indexed files: new ones, and those that no directory entry names (orphans). */
#ifndef NF2FS_SRC_IDS_H
#define NF2FS_SRC_IDS_H

#include "core.h"

int nf2_id_new(nf2_t *fs, uint32_t *id);

/* An id whose entries and blocks are to be freed unless a directory entry names it. */
int nf2_id_orphan(nf2_t *fs, uint32_t id);      /* durable */
void nf2_id_orphan_add(nf2_t *fs, uint32_t id); /* after a durable record that dropped it; needs room */
void nf2_id_adopt(nf2_t *fs, uint32_t id);

#endif
