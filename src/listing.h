/* SPDX-License-Identifier: BSD-2-Clause */
/* listing.h - the entries of a directory in the order of their names, some at a time from one pass over a leaf. */
#ifndef NF2FS_SRC_LISTING_H
#define NF2FS_SRC_LISTING_H

#include "tree.h"

/* The entry (body resolved) behind the last name listed: 1, 0 if there is none, or an error. */
int nf2_listing_next(nf2_t *fs, nf2_dir_t *dir, struct nf2_entry *entry);

/* Makes this name the last one listed; `entry` is the one that nf2_listing_next found, NULL: the name is not on the chip. */
int nf2_listing_take(nf2_t *fs, nf2_dir_t *dir, const struct nf2_key *name, const struct nf2_entry *entry);

#endif
