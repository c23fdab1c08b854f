/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.h - the tree buffer: fingerprints of the entries of recently used nodes, so that a look-up reads one page and
 * not the node (the purpose of the paper's tree buffer, 5.4). Only a hint: what it finds is read and compared.
 */
#ifndef NF2FS_SRC_CACHE_H
#define NF2FS_SRC_CACHE_H

#include "node.h"

#define NF2_KNOWN_BYTES 48u     /* of the tree buffer, at its start: directories that paths led through */

/*
 * The way from the root to the leaf that was looked for last, which leads to it again while no node in front of the leaf changes. What
 * leads there are the keys from that of the last inner node's entry at `child` on, below that of its entry at `next` (0: no end).
 */
#define NF2_FINGER_NODES 4u

struct nf2_finger {
    uint16_t node[NF2_FINGER_NODES];    /* blocks */
    uint16_t child[NF2_FINGER_NODES];   /* places of entries in them */
    uint16_t next;
    uint16_t depth;             /* nodes on the way, 0: none is known */
};

/* What is known of a cached node. Valid until another one is loaded. */
struct nf2_cached {
    const uint8_t *slot;        /* NULL: not cached */
    uint16_t append_at;
    uint16_t live;              /* entries */
};

/* Is the node cached? */
bool nf2_cache_has(nf2_t *fs, uint32_t node, struct nf2_cached *cached);

/*
 * Takes a node in: begin, each of its records in the order of the log, end. Does nothing if the buffer is lent, or the
 * node has a slot already. After an error the caller drops the node.
 */
void nf2_cache_begin(nf2_t *fs, uint32_t node, int level);
int nf2_cache_take(nf2_t *fs, uint32_t node, const struct nf2_entry *entry);
void nf2_cache_end(nf2_t *fs, uint32_t node, uint32_t append_at);

/* The way that was set last, if it still leads where it did. */
bool nf2_cache_finger(const nf2_t *fs, struct nf2_finger *finger);
void nf2_cache_set_finger(nf2_t *fs, const struct nf2_finger *finger);

/* The node's level if it is known, else -1. */
int nf2_cache_level(const nf2_t *fs, uint32_t node);

/* Sets a bit for each 8 bytes of the node at which no live entry begins. */
void nf2_cache_dead(const nf2_t *fs, const struct nf2_cached *cached, uint8_t *bits);

/* Looks for a live entry with this key in a cached node, or (`node` NF2_NONE) in all cached leaves: 1, 0, or an error. */
int nf2_cache_find(nf2_t *fs, uint32_t node, const struct nf2_key *key, struct nf2_entry *entry);

/* Records were appended to a node. */
void nf2_cache_appended(nf2_t *fs, uint32_t node, const struct nf2_node_op *ops, unsigned count, uint32_t mark, uint32_t end);

void nf2_cache_drop(nf2_t *fs, uint32_t node);

/* The tree buffer serves as scratch memory from now on; its contents are lost. Ends with `in_use` false. */
void nf2_cache_lend(nf2_t *fs, bool in_use);

#endif
