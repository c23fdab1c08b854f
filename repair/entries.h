/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entries.h - all entries of the tree that are left, in order, one of each key (of a name also others, where it cannot be told
 * which is newer); a batch that was committed is applied.
 */
#ifndef REPAIR_ENTRIES_H
#define REPAIR_ENTRIES_H

#include "current.h"

struct rep_entries {
    struct rep_entry *entry;
    unsigned count;
    uint32_t *removed;          /* ids of files that records say were removed */
    unsigned removeds;
    unsigned batch_lost;        /* operations of a committed batch that cannot be read */
    struct rep_node *batch;     /* its blocks: they hold keys and bodies */
    unsigned batches;
    uint8_t **memory;
    unsigned memories;
};

enum { REP_RANK_COPY = 1, REP_RANK_HEADLESS, REP_RANK_FOUND, REP_RANK_TREE };

void rep_entries_collect(struct rep_tree *tree, struct rep_entries *entries);
void rep_entries_free(struct rep_entries *entries);

/* The first entry at or above a key; `count` if there is none. */
unsigned rep_entries_seek(const struct rep_entries *entries, const struct rep_key *key);

/* The entries of an id: from the result on, up to `*end`. */
unsigned rep_entries_of(const struct rep_entries *entries, uint32_t id, unsigned *end);

/*
 * The map of a file (and what it owns), in order, as one state of it: the one that `leaf` knows (NF2_NONE: the newest). `map` has room
 * for all entries of the id. How many.
 */
unsigned rep_map_of(const struct rep_tree *tree, const struct rep_entries *entries, uint32_t id, uint32_t leaf, const struct rep_entry **map);

/* Is the id one of a removed file? `named`: an entry names it; then the list of the last session does not count unless it was left cleanly. */
bool rep_is_removed(const struct rep_tree *tree, const struct rep_entries *entries, uint32_t id, bool named);

/* Is the node of one entry newer than that of another, as far as can be told? */
bool rep_entry_newer(const struct rep_tree *tree, const struct rep_entry *a, const struct rep_entry *b);

/* Marks the blocks that entries own. */
void rep_entries_own(const struct rep_tree *tree, const struct rep_entries *entries, bool *owned);

/* Runs of blocks of an entry (FLAT, OWN): how many; at most 8. */
struct rep_run {
    uint32_t start, count;
};
unsigned rep_entry_runs(const struct rep_entry *entry, struct rep_run *runs);

#endif
