/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.h - one node of the tree: a log in one block. A sorted base, written in one go, is searched
 * by bisection; behind it the tail has changes in order of time, of which a view in RAM knows what
 * is alive.
 */
#ifndef NF2FS_CORE_NODE_H
#define NF2FS_CORE_NODE_H

#include "format.h"
#include "log.h"

struct nf2_view {
    uint16_t end;               /* where the next record goes */
    uint16_t block;             /* NF2_NO_BLOCK: none */
    uint16_t base_end;
    uint16_t epoch;             /* of the pages of the base */
    struct nf2_spot near;       /* where the last search ended: a record of the base, or 0 */
    uint8_t alive, dead;        /* how many of the slots */
    uint8_t slots;
    uint8_t used;               /* when: see nf2_node_view */
    uint16_t slot[];            /* from the front: alive records of the tail by their keys;
                                   from the end: killed records of the base */
};

struct nf2_entry {
    struct nf2_key key;
    struct nf2_span body;       /* in a record of the same node */
    uint16_t record;            /* place of the record with the key */
    struct nf2_spot spot;       /* of what a search found: behind it, or (of one below) behind the
                                   key that was asked for */
};

/* odd: or the key itself */
enum nf2_seek { NF2_BELOW = 0, NF2_AT_OR_BELOW = 1, NF2_ABOVE = 2, NF2_AT_OR_ABOVE = 3 };

/* Is an entry with the key itself below the gap that such a search leads to? */
static inline int nf2_seek_at(enum nf2_seek how)
{
    return how == NF2_AT_OR_BELOW || how == NF2_ABOVE;
}

#define NF2_OP_SPANS 2u

/* A change of an entry, or the removal of those of a range. */
struct nf2_op {
    const struct nf2_key *key;  /* of a name; else `nf2_op_own` */
    union {
        /*
         * Of PUT, one behind the other: rest of a long name, content; or first byte, data; or all
         * in the first.
         */
        struct nf2_span body[NF2_OP_SPANS];
        struct {
            uint16_t none[2];   /* the first one's length is 0 */
            uint32_t to;        /* of RANGE: entries of the map from the key on up to this
                                   offset are removed; above NF2_FILE_MAX: all from the key on,
                                   whatever their keys are; NF2_NONE: those in one leaf */
        };
    };
    uint8_t own[6];
    enum { NF2_OP_PUT, NF2_OP_DEL, NF2_OP_RANGE } type;
};

/*
 * Room for a short key in a change, from where the second span's bytes would lie, of which there
 * are none then.
 */
#define NF2_OWN_BYTES (offsetof(struct nf2_key, bytes) + 5u)
#define NF2_OWN_AT \
    (offsetof(struct nf2_op, body) + sizeof(struct nf2_span) + offsetof(struct nf2_span, at))
_Static_assert(offsetof(struct nf2_op, type) >= NF2_OWN_AT + NF2_OWN_BYTES,
               "a number's key fits there");
static inline struct nf2_key *nf2_op_own(struct nf2_op *op)
{
    return (struct nf2_key *)(void *)&op->body[1].at;
}

/* Does the change replace or remove an entry with this key? */
bool nf2_op_covers(const struct nf2_op *op, const struct nf2_key *key);

/* Which changes do so with the entry at a place: a bit each, or an error. */
int nf2_ops_cover(nf2_t *fs, uint32_t block, uint32_t place, const struct nf2_op *ops,
                  unsigned count);

/*
 * An offset in a map; or, with a kind in front, what lies under id 0. No byte behind these is
 * written.
 */
void nf2_key_make(struct nf2_key *key, uint32_t id, uint8_t kind, uint32_t number);
uint32_t nf2_key_value(const struct nf2_key *key);              /* the number at its end */

/* Is the rest of a long name in front of the body: with such a key, or one behind a number? */
static inline bool nf2_key_has_rest(const struct nf2_key *key)
{
    _Static_assert((NF2_NAME_KEY | 4u) == NF2_NAME_KEY + 4u && NF2_NAME_KEY + 4u == NF2_KEY_MAX,
                   "one bit tells them apart");
    return (key->length | 4u) == NF2_KEY_MAX;
}

/* Of the bytes only those that count. To another place. */
void nf2_key_copy(struct nf2_key *to, const struct nf2_key *from);

/* The order of a key to another: below 0, 0, above 0. */
int nf2_key_order(uint32_t id, const uint8_t *bytes, uint32_t length, const struct nf2_key *key);
int nf2_key_compare(const struct nf2_key *a, const struct nf2_key *b);

/* Stores a key as records have it; returns the place behind it. At most NF2_KEY_BYTES. */
#define NF2_KEY_BYTES (5u + 1u + NF2_KEY_MAX)
uint8_t *nf2_key_store(uint8_t *p, const struct nf2_key *key);

extern const struct nf2_key nf2_key_lowest;     /* of all: it leads to the first leaf */

/* A record's front in the read window: it holds until the next read. */
struct nf2_front {
    uint32_t id;                /* of the key */
    uint32_t length;            /* of the record */
    uint32_t type;
    const uint8_t *bytes;
    uint32_t key, key_length;   /* where the key's bytes begin, and how many they are */
};
int nf2_front_of(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_front *front);
void nf2_front_key(const struct nf2_front *front, struct nf2_key *key);

/* The key of the record at a place. */
int nf2_key_at(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_key *key);

/* The key of the record at a place is below `key`: 0, is that: 1, above: 2, or an error. */
int nf2_compare_at(nf2_t *fs, uint32_t block, uint32_t place, const struct nf2_key *key);

/*
 * Is a quarter of the volume free? Then leaves get room for changes. Not on a small volume, where a
 * higher tree means that more is kept back (nf2_space_kept).
 */
static inline bool nf2_node_ample(const nf2_t *fs)
{
    return fs->blocks >= 64 && 4u * fs->space.free > fs->blocks;
}

/* How many alive records of the tail are below `key`, or (`at` 1) not above it. */
int nf2_view_position(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, int at);

/* Is this record of the base not alive any more? */
bool nf2_view_dead(const struct nf2_view *view, uint32_t place);

/* A record at `place` of the tail counts from now on. */
int nf2_view_apply(nf2_t *fs, struct nf2_view *view, uint32_t place);

/* Forgets all views, or that of a block. */
void nf2_views_begin(nf2_t *fs);
void nf2_view_forget(nf2_t *fs, uint32_t block);

/*
 * The view of a node, read from the chip if it is not known. It holds until the next call of this.
 */
int nf2_node_view(nf2_t *fs, struct nf2_child node, uint32_t level, struct nf2_view **view);

/* The entry at a place: 1, or an error; there is none at 0, and an error is passed on. */
int nf2_entry_at(nf2_t *fs, uint32_t block, int place, struct nf2_entry *entry);

/*
 * A hint is where an entry lies, until it is killed or its node is given up; above that, 3 bits of
 * its key, which save most of the looks at others.
 */
static inline uint32_t nf2_hint_of(uint32_t block, uint32_t place)
{
    return block << 13 | place;
}

/* Forgets the hints of so many places of a block from one on. */
void nf2_hints_forget(nf2_t *fs, uint32_t block, uint32_t place, uint32_t places);

/* A gap between the entries of a node, in order of their keys. */
struct nf2_iterator {
    uint16_t below;             /* place of the entry below it; 0: none */
    struct nf2_view *view;
    struct nf2_spot spot;       /* what is above it */
};

/* The gap in `gap->view` below a key, or (`at` 1) above an entry with that key. */
int nf2_node_gap(nf2_t *fs, const struct nf2_key *key, int at, struct nf2_iterator *gap);

/* The entry on one side of it: 1, 0 or an error. */
int nf2_gap_seek(nf2_t *fs, struct nf2_iterator *gap, enum nf2_seek how, struct nf2_entry *entry);

/*
 * All entries in order of their keys, or (if it is not NULL) from the first one at or above `from`.
 * Nothing changes meanwhile.
 */
int nf2_iterate(nf2_t *fs, struct nf2_view *view, const struct nf2_key *from,
                struct nf2_iterator *iterator);
int nf2_iterate_next(nf2_t *fs, struct nf2_iterator *iterator, struct nf2_entry *entry);

/* The same, but the place of the entry alone; 0: there is none. */
int nf2_iterate_place(nf2_t *fs, struct nf2_iterator *iterator);

/* Part of an entry's body. */
struct nf2_span nf2_body_span(const struct nf2_entry *entry, uint32_t at, uint32_t length);

/*
 * Appends a group of changes, the commit of them. NF2_NODE_FULL: there is no room (nothing was
 * written; or a new entry behind all others would leave less than an eighth of the node for later
 * changes, and space is ample). Deleting what is not there is no change. The PUT of a body that
 * lies in this node, and the DEL of its entry behind it, are a rename: the body stays where it is.
 */
#define NF2_NODE_FULL (-6)
#define NF2_NODE_HALF (-1)      /* an error in the middle: the node is to be written anew from
                                   the view, as after NF2_FAILED_BLOCK */
int nf2_node_append(nf2_t *fs, struct nf2_view *view, const struct nf2_op *ops, unsigned count);

/* The serial of a new node, or of a new block of frames: no other one has it. */
uint32_t nf2_serial_next(nf2_t *fs);

/* ---- writing a node anew: its head, entries in order, one group; then changes ---- */

uint32_t nf2_op_body(const struct nf2_op *op);          /* bytes of its body */
void nf2_node_head(nf2_t *fs, struct nf2_writer *writer, unsigned level);
void nf2_node_put(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op, int rank);

#endif
