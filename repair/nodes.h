/* SPDX-License-Identifier: BSD-2-Clause */
/* nodes.h - the nodes of the tree in a damaged image: their live entries, and how much can be said of them. */
#ifndef REPAIR_NODES_H
#define REPAIR_NODES_H

#include "tolerant.h"

#define REP_NO_LEVEL 0xFFu
#define REP_CHANGES_MAX 6u      /* changes that a new node may hold beside what it copied */

struct rep_key {
    uint32_t id;
    const uint8_t *bytes;
    uint32_t length;
};

int rep_key_compare(const struct rep_key *a, const struct rep_key *b);

/* How sure it is that an entry is the newest of its key. Ordered. */
enum rep_trust {
    REP_SURE,
    REP_UNSURE,                 /* what is newer may be lost without a trace: the meta log is damaged, or there is an unfinished write behind it */
    REP_DOUBTFUL,               /* a record behind it is lost: it may have replaced, renamed or removed this entry */
    REP_OUTDATED,               /* the record that replaced it is there, and cannot be read */
    REP_COPY                    /* from a node that was given up: the newest is lost with the node that followed */
};

struct rep_entry {
    struct rep_key key;
    uint8_t *body;              /* NULL: lost, of a renamed entry */
    uint32_t body_length;
    uint32_t node;
    uint16_t offset;            /* of the record with the key */
    uint8_t kind;               /* first byte of the body */
    uint8_t type;               /* of the record */
    uint8_t trust;              /* enum rep_trust */
    uint8_t rank;               /* entries of one key: the highest counts */
    bool batch;                 /* it comes from a batch: `node` is a block of that */
    uint32_t hash;              /* of key and body */
    bool other;                 /* the entry in front of it has the same key, and may be newer or older */
    uint16_t source[8];         /* records that the body came through; 0: none */
};

struct rep_node {
    uint32_t block;
    uint8_t level;              /* REP_NO_LEVEL: not known */
    bool headed;                /* it has a sound head of this volume */
    bool begun;                 /* a cut may have left it before it was whole: nothing leads to it then */
    bool changed;               /* it has records that replace or remove entries */
    struct rep_log log;
    struct rep_entry *entry;    /* live ones, in the order of the log */
    unsigned entries;
    struct rep_entry *dead;     /* replaced or removed ones, for what they owned */
    unsigned deads;
    struct rep_entry *made;     /* of all PUT records, in the order of the log: what the node began with is in front */
    unsigned mades;
    unsigned packed;            /* so many of them are in one group with the head */
    unsigned first;             /* so many came before anything was replaced or removed */
    unsigned lost;              /* places where records are lost */
    uint32_t *mark;             /* batches that were applied to their end in this node */
    unsigned marks;
    uint32_t last_id;           /* the highest that its records name */
    const struct rep_key *low, *high, *made_low, *made_high;    /* of `entry` and `made`; NULL where these are empty */
    uint32_t *entry_hash, *made_hash;       /* of keys and bodies, in order: which nodes have something in common */
    uint16_t *derived;                      /* from the nodes of other blocks, as far as it was asked for (packed); NULL: not yet */
    struct rep_image *image;
    unsigned refuted;           /* entries that name blocks in which something else is, or nothing: of an older time (rep_tree_fill) */
    uint8_t **memory;           /* keys and bodies */
    unsigned memories;
};

/* Does the block look like a log of nodes' records or of the meta log, as far as one sound record says? */
bool rep_is_log(const struct rep_image *image, uint32_t block);

/* Does it begin with the head of a node (`type` 'N') or of a meta block ('M') at this place? The volume's id. */
bool rep_head(const struct rep_image *image, uint32_t block, uint8_t type, uint32_t *volume);

void rep_node_read(struct rep_image *image, uint32_t block, uint32_t volume, struct rep_node *node);
void rep_node_free(struct rep_node *node);

/* The operations of a block of a batch: `made`, in order. Returns the block that the batch goes on in, or NF2_NONE. */
uint32_t rep_batch_read(struct rep_image *image, uint32_t block, struct rep_node *batch);

/* Was `newer` made of entries of `older`? How many were copied; 0: no. And: is that beyond doubt? */
unsigned rep_derived(struct rep_node *newer, const struct rep_node *older);
bool rep_surely_derived(struct rep_node *newer, struct rep_node *older);

/* Was something changed in a node after it was made of another one? Then it was in use: a cut did not leave it unfinished. */
bool rep_in_use(const struct rep_node *node, const struct rep_node *older);

/* Is a node newer than another one, as far as can be told? And: do their keys overlap? */
bool rep_newer(struct rep_node *a, struct rep_node *b);
bool rep_overlap(const struct rep_node *a, const struct rep_node *b);

/* The block that an entry of an inner node names. */
uint32_t rep_child(const struct rep_entry *entry);

/* The id of a directory's or an indexed file's body, 0: none. */
uint32_t rep_body_id(const struct rep_entry *entry);

/* Decodes a key of five bytes. */
uint32_t rep_number(const struct rep_key *key);

#endif
