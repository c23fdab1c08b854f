/* SPDX-License-Identifier: BSD-2-Clause */
/* node.h - a node of the tree: a log of entries in one block. Keys, entries, look-up inside a node. docs/FORMAT.md, section 4. */
#ifndef NF2FS_SRC_NODE_H
#define NF2FS_SRC_NODE_H

#include "log.h"

enum nf2_node_type {
    NF2_NODE_HEAD = 1,
    NF2_NODE_PUT = 2,
    NF2_NODE_PUTK = 3,
    NF2_NODE_DEL = 4,
    NF2_NODE_MOV = 5,
    NF2_NODE_REN = 6
};

enum nf2_body {
    NF2_BODY_DIR = 0,
    NF2_BODY_INLINE = 1,
    NF2_BODY_FLAT = 2,
    NF2_BODY_INDEXED = 3,
    NF2_BODY_PIECE = 4,
    NF2_BODY_FRAMES = 5,
    NF2_BODY_OWN = 6,
    NF2_BODY_CHILD = 7
};

#define NF2_NODE_LEVELS 8u
#define NF2_ROOT_ID 1u
#define NF2_NODE_HEAD_PAYLOAD 9u
#define NF2_KILL_BYTES (NF2_LOG_PAGES * NF2_PAGE_MAX / 64u)     /* a bit for each 8 bytes: no record is shorter */

/*
 * A key in memory (position 0), on flash (`length` bytes at `position` of a record), or of a file's map: a number (position
 * NF2_KEY_NUMBER).
 */
struct nf2_key {
    uint32_t id;
    union {
        const uint8_t *bytes;
        uint32_t block;
        uint32_t number;
    } at;
    uint16_t offset;            /* of the record; of a number its kind */
    uint8_t position, length;
};
#define NF2_KEY_NUMBER 0xFFu
#define NF2_NUMBER_LENGTH 5u    /* bytes of such a key: kind, and the number, big endian */

struct nf2_entry {
    uint32_t node;
    uint16_t offset;            /* of the record that makes the entry */
    uint8_t type;
    bool more;                  /* of the record: its group goes on */
    uint16_t kill;              /* offset; of REN: the source */
    union {
        uint16_t victim;        /* of REN: offset */
        uint16_t child;         /* of a CHILD that a search found: its block; 0: not known */
    };
    uint32_t id;                /* MOV: the sequence */
    uint8_t key_position;       /* of the key's bytes in the record; 0: it has none */
    uint8_t key_length;
    uint16_t body_offset, body_position, body_length;   /* where the body is; REN: in the source, see nf2_entry_body */
};

struct nf2_key nf2_key_of(uint32_t id, const void *bytes, uint32_t length);
struct nf2_key nf2_lowest_key(uint32_t id);     /* no key of this id is below it */

static inline struct nf2_key nf2_number_key(uint32_t id, uint8_t kind, uint32_t number)
{
    struct nf2_key key = {id, {NULL}, kind, NF2_KEY_NUMBER, NF2_NUMBER_LENGTH};
    key.at.number = number;
    return key;
}

static inline bool nf2_key_on_flash(const struct nf2_key *key)
{
    return key->position != 0 && key->position != NF2_KEY_NUMBER;
}

/* The number that is an entry's key, and its kind. */
int nf2_entry_number(nf2_t *fs, const struct nf2_entry *entry, uint8_t *kind, uint32_t *number);

struct nf2_key nf2_entry_key(const struct nf2_entry *entry);

/* The bytes of a key that is a number: NF2_NUMBER_LENGTH of them, to `to`, which it returns. */
const uint8_t *nf2_key_put_number(uint8_t *to, const struct nf2_key *key);

/* Copies `length` of a key's bytes from `at` on. */
int nf2_key_bytes(nf2_t *fs, const struct nf2_key *key, uint32_t at, uint8_t *to, uint32_t length);

/* A hash of id and bytes. */
int nf2_key_hash(nf2_t *fs, const struct nf2_key *key, uint32_t *hash);

/* <0, 0, >0 as for memcmp in `*order`. */
int nf2_key_compare(nf2_t *fs, const struct nf2_key *a, const struct nf2_key *b, int *order);

/* The entry of a record. Bad contents give NF2_ERR_IO. */
int nf2_entry_parse(nf2_t *fs, uint32_t node, const struct nf2_record *record, struct nf2_entry *entry);

/* Bytes of references in front of the key. */
uint32_t nf2_node_references(uint8_t type);

static inline bool nf2_node_has_key(uint8_t type)
{
    return type == NF2_NODE_PUT || type == NF2_NODE_PUTK || type == NF2_NODE_REN;
}

/* Follows REN to the record that holds the body; afterwards body_* are valid. */
int nf2_entry_body(nf2_t *fs, struct nf2_entry *entry);

/* The entry whose record is at `offset` of a node (known to be one). */
int nf2_entry_parse_at(nf2_t *fs, uint32_t node, uint32_t offset, struct nf2_entry *entry);

/* The same, body resolved. */
int nf2_entry_at(nf2_t *fs, uint32_t node, uint32_t offset, struct nf2_entry *entry);

/* The block that a CHILD names, unless the search that found the entry has seen it; 0: it is none. */
int nf2_entry_child(nf2_t *fs, const struct nf2_entry *entry, uint32_t *block);

/* Reads `length` bytes of the body at `at`. */
int nf2_body_read(nf2_t *fs, const struct nf2_entry *entry, uint32_t at, void *data, uint32_t length);

/* Is the block a node of this volume? Its level, or an error. */
int nf2_node_level(nf2_t *fs, uint32_t node);

/* Entries in the order of the log; 1, 0 at the end, or an error. */
int nf2_node_next(nf2_t *fs, struct nf2_scan *scan, struct nf2_entry *entry);

/*
 * A walk over the live entries in the order of the log; nf2_live_next: 1, 0 at the end, or an error. `killed`: NF2_KILL_BYTES,
 * or as much scratch memory; afterwards a bit for each 8 bytes of the node, clear where a live entry begins. NULL: no walk, but
 * what is known of the node then.
 */
struct nf2_live {
    struct nf2_scan scan;
    uint8_t *killed;
    uint16_t append_at;         /* where the next append to the node goes; 0: not known yet */
    uint16_t entries;           /* that are live, at most */
    bool glance;                /* set by nf2_live_glance: killed ones show, too, until the walk comes to what kills them */
};
int nf2_live_begin(nf2_t *fs, uint32_t node, uint8_t *killed, struct nf2_live *live);
int nf2_live_next(nf2_t *fs, struct nf2_live *live, struct nf2_entry *entry);
void nf2_live_again(struct nf2_live *live);    /* from the node's start */

/*
 * The same where a node that is not cached has few killed entries, as a rule: no pass looks for them first. Was it a right one
 * in the end? If not (false) it begins again, as the other kind.
 */
int nf2_live_glance(nf2_t *fs, uint32_t node, uint8_t *killed, struct nf2_live *live);
bool nf2_live_whole(const nf2_t *fs, struct nf2_live *live);

/* Returns where the next append goes, or an error; and how many live entries the node has at most (NULL: no matter). */
int nf2_node_tail(nf2_t *fs, uint32_t node, uint32_t *entries);

/* The live entry with this key: 1, 0 if there is none, or an error. */
int nf2_node_find(nf2_t *fs, uint32_t node, const struct nf2_key *key, struct nf2_entry *entry);

/* The same for several keys, in one pass: the places of their records, 0: there is none. Returns what nf2_node_tail does. */
struct nf2_sought {
    const struct nf2_key *key;
    uint32_t hash;
    uint16_t place;
};
int nf2_node_find_all(nf2_t *fs, uint32_t node, struct nf2_sought *sought, unsigned count, uint32_t *entries);

/* The live entry with the largest key below (or equal to) `key`, or the smallest above (or equal): 1, 0, or an error. */
enum nf2_seek { NF2_BELOW, NF2_AT_OR_BELOW, NF2_ABOVE, NF2_AT_OR_ABOVE };
int nf2_node_seek(nf2_t *fs, uint32_t node, const struct nf2_key *key, enum nf2_seek seek, struct nf2_entry *entry);
/* The same where only the entry's key matters, which may be the one that is sought from. */
int nf2_node_seek_key(nf2_t *fs, uint32_t node, const struct nf2_key *from, enum nf2_seek seek, struct nf2_key *key);

/* Both next to a key: 1 if there is one at or below it, 2 if there is one above it, both together, or an error. */
int nf2_node_seek_both(nf2_t *fs, uint32_t node, const struct nf2_key *key, struct nf2_entry *below, struct nf2_entry *above);

/*
 * One pass over a node: the live entries, or (`reading`: the node was not cached, and is then) all records, those that are killed in front of what kills
 * them. `live`: the live ones in any case. No other pass or search until it ends (in the scratch of searches); a caller that gives up at an error says so.
 */
struct nf2_pass {
    struct nf2_live live;
    bool reading;
};
int nf2_pass_begin(nf2_t *fs, uint32_t node, bool live, struct nf2_pass *pass);
int nf2_pass_next(nf2_t *fs, struct nf2_pass *pass, struct nf2_entry *entry);
int nf2_pass_failed(nf2_t *fs, const struct nf2_pass *pass, int result);    /* returns `result` */

/* ---- writing ------------------------------------------------------------------------------------ */

/*
 * One record of a group that is to be appended. PUT with something to kill becomes PUTK; DEL and MOV of nothing are left out. Of a change in the making only type, key and body are set: what it kills depends on the leaf.
 * A PUT's body begins with its kind; in a change it is in memory if it owns something. A REN has none: in a change the key of its source is there.
 */
struct nf2_node_op {
    uint8_t type;
    uint8_t held;               /* so many bytes of the body are in `bytes`; 0: it is `body`; NF2_CONTENT: it is the content of the inline file (nf2_file_t) at `body` */
    uint16_t kill, victim;
    uint16_t offset;            /* afterwards: the place of its record */
    struct nf2_key key;
    union {
        struct nf2_span body;
        uint8_t bytes[10];
    };
};
#define NF2_CONTENT 0xFFu

/* A change that puts a body which begins with this kind, and is held; the caller fills in the rest of it. */
void nf2_op_put(struct nf2_node_op *op, const struct nf2_key *key, uint8_t kind, uint8_t length);

/* The body, if it is in memory as a whole; else NULL. */
static inline const uint8_t *nf2_op_body(const struct nf2_node_op *op, uint32_t *length)
{
    *length = op->held != 0 ? op->held : op->body.length;
    return op->held == NF2_CONTENT ? NULL : op->held != 0 ? op->bytes : op->body.position == 0 ? op->body.at.data : NULL;
}

/* Does it make an entry? */
static inline bool nf2_op_puts(const struct nf2_node_op *op)
{
    return op->type == NF2_NODE_PUT || op->type == NF2_NODE_REN;
}

/* Bytes of a PUT with such a key. */
uint32_t nf2_put_length(uint32_t id, uint32_t key_length, uint32_t body_length);
uint32_t nf2_node_op_length(const struct nf2_node_op *op);

/*
 * Where a group would end if appended at `at`; NF2_NONE if it does not fit below `limit`. `mark`: sequence of a last
 * record, a MOV that kills nothing (0: none).
 */
uint32_t nf2_node_fit(const nf2_t *fs, uint32_t at, const struct nf2_node_op *ops, unsigned count, uint32_t mark, uint32_t limit);

/* Appends the group at `at`; returns the node's new end, or an error. */
int nf2_node_append(nf2_t *fs, uint32_t node, uint32_t at, struct nf2_node_op *ops, unsigned count, uint32_t mark);

/* Writes one record with a writer (`more`: its group goes on): for new nodes. Returns its offset. */
uint32_t nf2_node_write(nf2_t *fs, struct nf2_writer *writer, const struct nf2_node_op *op, bool more);
/* A MOV that kills nothing. */
void nf2_node_write_mark(nf2_t *fs, struct nf2_writer *writer, uint32_t sequence);
void nf2_node_write_head(nf2_t *fs, struct nf2_writer *writer, uint32_t node, uint8_t level, bool more);

/* End of the part of a leaf with so many live entries that new ones may take: the rest is kept for records that only remove. */
uint32_t nf2_put_limit(const nf2_t *fs, uint32_t entries);

#endif
