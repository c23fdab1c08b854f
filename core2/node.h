/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.h - one node of the tree: a log in one block. A sorted base, written in one go, is searched by bisection;
 * behind it the tail has changes in order of time, of which a view in RAM knows what is alive.
 */
#ifndef NF2FS_CORE_NODE_H
#define NF2FS_CORE_NODE_H

#include "format.h"
#include "log.h"

struct nf2_child {              /* a reference to a node */
    uint32_t block;
    uint16_t base_end;          /* end of its base */
};

struct nf2_view {
    uint32_t block;             /* NF2_NONE: none */
    uint16_t end;               /* where the next record goes */
    uint16_t base_end;
    uint16_t epoch;             /* of the pages of the base */
    uint8_t level;
    uint8_t alive, dead;        /* how many of the slots */
    uint8_t slots;
    uint8_t used;               /* when: see nf2_node_view */
    uint8_t near;               /* where the last search in the tail ended: the next one often does, too */
    uint16_t slot[];            /* from the front: alive records of the tail by their keys; from the end: killed records of the base */
};

struct nf2_entry {
    uint32_t block;
    uint16_t record;            /* place of the record with the key */
    uint16_t length;            /* of that record */
    uint16_t body_record;       /* place of the record with the body, */
    uint16_t body_position;     /* and where in that record it begins */
    uint16_t body_length;
    struct nf2_key key;
};

enum nf2_seek { NF2_AT_OR_BELOW, NF2_BELOW, NF2_AT_OR_ABOVE, NF2_ABOVE };

#define NF2_OP_SPANS 2u

/* A change of an entry, or the removal of those of a range. */
struct nf2_op {
    enum { NF2_OP_PUT, NF2_OP_DEL, NF2_OP_RANGE, NF2_OP_REN } type;
    uint32_t to;                /* of RANGE: entries of the map from the key on up to this offset are removed */
    struct nf2_key key;
    struct nf2_span body[NF2_OP_SPANS]; /* of PUT, one behind the other: rest of a long name, content; or first byte, data; or all in the first */
    const struct nf2_key *from; /* of REN: the entry that gets the key `key`, and keeps its body */
};

/* Does a RANGE take this key? */
bool nf2_op_covers(const struct nf2_op *op, const struct nf2_key *key);

struct nf2_key nf2_key_number(uint32_t id, uint32_t number);    /* an offset in a map */
struct nf2_key nf2_key_system(uint8_t kind, uint32_t number);
uint32_t nf2_key_value(const struct nf2_key *key);              /* the number at its end */

int nf2_key_compare(const struct nf2_key *a, const struct nf2_key *b);

/* Stores a key as records have it; returns the place behind it. At most NF2_KEY_BYTES. */
#define NF2_KEY_BYTES (5u + 1u + NF2_KEY_MAX)
uint8_t *nf2_key_store(uint8_t *p, const struct nf2_key *key);

/* A record's front in the read window: it holds until the next read. */
struct nf2_front {
    const uint8_t *bytes;
    uint16_t length;            /* of the record */
    uint8_t type;
    uint8_t key, key_length;    /* where the key's bytes begin, and how many they are; 0: a record without a key */
    uint32_t id;                /* of the key */
};
int nf2_front_of(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_front *front);
int nf2_front_in(const uint8_t *bytes, uint32_t room, struct nf2_front *front);
int nf2_front_order(const struct nf2_front *front, const struct nf2_key *key);
void nf2_front_key(const struct nf2_front *front, struct nf2_key *key);

/* The order of the key of the record at a place to `key`: below 0, 0, above 0. */
int nf2_compare_at(nf2_t *fs, uint32_t block, uint32_t place, const struct nf2_key *key, int *order);

/*
 * The places of the neighbours of a key in the base: of the last entry at or below it, and of the first one behind that; 0
 * where there is none. NF2_SIDE_BELOW: an entry with the key itself counts as above it. NF2_SIDE_EXACT: it is all that is asked for, and
 * both are its place.
 */
struct nf2_around {
    uint16_t below, above;
};
enum nf2_side { NF2_SIDE_AT, NF2_SIDE_BELOW, NF2_SIDE_EXACT };
int nf2_base_around(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, enum nf2_side side, struct nf2_around *around);

/* Number of the first alive record of the tail whose key is not below `key`. */
int nf2_view_position(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key);

/* A program failed in the node, or only a part of a group was programmed: it is to be written anew from this view. */
static inline bool nf2_view_torn(const nf2_t *fs, const struct nf2_view *view)
{
    return view->end > nf2_log_bytes(fs);
}

/* Is this record of the base not alive any more? */
bool nf2_view_dead(const struct nf2_view *view, uint32_t place);

/* A record at `place` of the tail counts from now on; `kill` are the two bytes integers in front of its key. */
int nf2_view_apply(nf2_t *fs, struct nf2_view *view, uint32_t place, unsigned type, const uint16_t kill[3],
                   const struct nf2_key *key);

/* Forgets all views, or that of a block. */
void nf2_views_begin(nf2_t *fs);
void nf2_view_forget(nf2_t *fs, uint32_t block);

/* The view of a node, read from the chip if it is not known. It holds until the next call of this. */
int nf2_node_view(nf2_t *fs, struct nf2_child node, unsigned level, struct nf2_view **view);

/* The entry with this key, or the next one in a direction: 1, 0 if there is none, or an error. */
int nf2_node_find(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, struct nf2_entry *entry);
int nf2_node_seek(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, enum nf2_seek how,
                  struct nf2_entry *entry);

/* The same in the whole node. */
int nf2_node_around(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, enum nf2_side side, struct nf2_around *around);

/* The entry at a place. */
int nf2_entry_at(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_entry *entry);

/* A hint is where an entry lies, until it is killed or its node is given up. */
static inline uint32_t nf2_hint_of(uint32_t block, uint32_t place)
{
    return block << 13 | place;
}
#define NF2_HINT_BITS 29u       /* above them: a part of the key */

/* The place of the first record of the base, or of the last page that it has. */
uint32_t nf2_base_end(const nf2_t *fs, const struct nf2_view *view, bool last);

/* Does the node have entries on both sides of a key, as far as two looks tell? */
int nf2_node_spans(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key);

/* The leaf that was asked for last, if its view is still there. */
struct nf2_view *nf2_view_at_hand(const nf2_t *fs);

/* All entries in order of their keys, from the first one at or above `from` (NULL: all). Nothing changes meanwhile. */
struct nf2_iterator {
    struct nf2_view *view;
    uint16_t base;              /* place of the next record of the base */
    uint8_t tail;               /* number of the next alive record of the tail */
};
int nf2_iterate(nf2_t *fs, struct nf2_view *view, const struct nf2_key *from, struct nf2_iterator *iterator);
int nf2_iterate_next(nf2_t *fs, struct nf2_iterator *iterator, struct nf2_entry *entry);

/* Reads of an entry's body. */
int nf2_body_read(nf2_t *fs, const struct nf2_entry *entry, uint32_t at, void *data, uint32_t length);
struct nf2_span nf2_body_span(const struct nf2_entry *entry, uint32_t at, uint32_t length);

/*
 * Appends a group of changes, the commit of them. NF2_NODE_FULL: there is no room (nothing was written).
 * Deleting what is not there is no change.
 */
#define NF2_NODE_FULL (-1008)
#define NF2_NODE_HALF (-1020)   /* an error in the middle: the node is to be written anew from the view, as after NF2_FAILED_BLOCK */
int nf2_node_append(nf2_t *fs, struct nf2_view *view, const struct nf2_op *ops, unsigned count);

/* ---- writing a node anew: begin, entries in order, end; then changes behind the base ---- */

uint32_t nf2_key_bytes(const struct nf2_key *key);      /* that it takes in a record */
uint32_t nf2_op_body(const struct nf2_op *op);          /* bytes of its body */
uint32_t nf2_op_bytes(const struct nf2_op *op);         /* of the record that puts it */
uint32_t nf2_entry_bytes(const struct nf2_entry *entry);
void nf2_node_begin(nf2_t *fs, struct nf2_writer *writer, uint32_t block, unsigned level, bool empty);
void nf2_node_copy(nf2_t *fs, struct nf2_writer *writer, const struct nf2_entry *entry, bool more);
void nf2_node_put(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op, bool more);

#endif
