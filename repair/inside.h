/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inside.h - what the files of repair share: integers, keys, arrays; struct repair, with the image,
 * what is on record in it, its entries, files and names, and what was found.
 */
#ifndef REPAIR_INSIDE_H
#define REPAIR_INSIDE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/format.h"
#include "repair.h"

#define REP_NONE UINT32_MAX

static inline uint32_t rep_min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t rep_max(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline int rep_order(uint64_t a, uint64_t b) { return (a > b) - (a < b); }
static inline uint16_t rep_get16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t rep_get24(const uint8_t *p) { return rep_get16(p) | (uint32_t)p[2] << 16; }
static inline uint32_t rep_get32(const uint8_t *p) { return rep_get24(p) | (uint32_t)p[3] << 24; }

/* ---- crc.c: checks --------------------------------------------------------------------------- */

#define REP_CRC_START 0xFFFFFFFFu
#define REP_CRC_GOOD 0xDEBB20E3u        /* of anything and its check behind it */

uint32_t rep_crc(uint32_t crc, const uint8_t *data, uint32_t length);
/* The bit of `length` bytes with this sum that is wrong if only one is; -1: more than one are. */
int rep_crc_bit(uint32_t crc, uint32_t length);

/* ---- common.c: memory, keys ------------------------------------------------------------------ */

/*
 * All memory lives as long as the repair. Where it runs out the process ends: a host has more than
 * an image needs.
 */
#define REP_LIST(type) struct { type *list; size_t count, room; }
#define REP_ADD(r, of, ...)                                                              \
    ((of)->list = rep_grow(r, (of)->list, (of)->count, &(of)->room, sizeof *(of)->list), \
     (of)->list[(of)->count++] = (__VA_ARGS__))
#define REP_SORT(of, order) rep_sort((of)->list, (of)->count, sizeof *(of)->list, order)
/* Number of the first one that is not in front of `key`. */
#define REP_LOWER(of, key, order) rep_lower((of)->list, (of)->count, sizeof *(of)->list, key, order)

void *rep_take(struct repair *r, size_t bytes);
void *rep_grow(struct repair *r, void *list, size_t count, size_t *room, size_t size);
void rep_sort(void *list, size_t count, size_t size, int (*order)(const void *, const void *));
size_t rep_lower(const void *list, size_t count, size_t size, const void *key,
                 int (*order)(const void *one, const void *key));

const char *rep_text(struct repair *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct rep_key {
    uint32_t id;
    uint8_t length, bytes[NF2_KEY_MAX + 1];     /* one more, for the key behind a longest one */
};
int rep_key_compare(const void *a, const void *b);  /* also of structures that begin with a key */
uint32_t rep_key_value(const struct rep_key *key);  /* the number that its last four bytes are */
static inline bool rep_has_rest(const struct rep_key *key)  /* of a long name, in front of a body */
{
    return key->length == NF2_NAME_KEY || key->length == NF2_KEY_MAX;
}
uint32_t rep_key_load(const uint8_t *p, uint32_t room, struct rep_key *key);    /* bytes, 0: none */
uint32_t rep_varint(const uint8_t *p, uint32_t room, uint32_t *value);          /* the same */

/* Keys from one on, below the other. */
struct rep_range {
    struct rep_key from, below;
};
typedef REP_LIST(struct rep_range) rep_ranges;
extern const struct rep_range rep_all_keys;
void rep_ranges_tidy(rep_ranges *ranges);    /* in order; those that touch become one */
bool rep_ranges_touch(const rep_ranges *ranges, const struct rep_key *from,
                      const struct rep_key *to);    /* one that is tidy: any key from ... to */

/* ---- log.c ----------------------------------------------------------------------------------- */

struct rep_record {
    const uint8_t *payload;     /* in one piece */
    uint16_t at, end, length;   /* in the block, with the head; of the payload */
    uint16_t epoch;
    uint8_t type;
    bool more, mended;
};

struct rep_log {
    REP_LIST(struct rep_record) records;
    uint32_t block;
    size_t whole;               /* how many of them are of whole groups */
    uint32_t last_end, used_end;    /* of the last record; of the last page that is not blank */
    uint16_t last_epoch, bad_epoch; /* of the last record, of the last page with an invalid place */
    bool bad, dirty_end;        /* there is such a page; something is behind the last record */
    /* the first place that no cuts leave, 0: none. The core refuses the log, as a rule */
    uint16_t damage;
    uint16_t first_torn, last_torn; /* invalid places */
    unsigned torns;
    /* read in spite of damage: places without a record; records of which a bit was turned over */
    unsigned lost, mended;
    uint16_t last_lost;         /* the last of these places */
    unsigned mended_heads;      /* pages of which a bit of the epoch was turned over */
    /* while it is read: where, and the epoch there; that of the last record before the bad page */
    struct repair *r;
    uint32_t at;
    uint16_t epoch, front_epoch;
    bool tolerant;
};

enum rep_place { REP_RECORD = 1, REP_BLANK = 0, REP_INVALID = -1 };

uint16_t rep_epoch_code(uint32_t number);
/* From one epoch to a later one; their numbers come round. */
static inline uint32_t rep_sessions(uint32_t from, uint32_t to) { return (to - from) & 0xFFFu; }
/* The epoch of a page, with one bit turned over where that makes sense of its first record. */
uint16_t rep_page_epoch(struct repair *r, uint32_t block, uint32_t page);
enum rep_place rep_record_at(struct repair *r, uint32_t block, uint32_t at, uint16_t epoch,
                             struct rep_record *record);
/* The record at a block's beginning, whose type and length must be these, mended where need be. */
bool rep_record_first(struct repair *r, uint32_t block, uint8_t type, uint32_t length,
                      struct rep_record *record);
uint32_t rep_record_next(const struct repair *r, const struct rep_record *record);
/* `tolerant`: also what is behind damage. It stays until the next call. */
const struct rep_log *rep_log_read(struct repair *r, uint32_t block, bool tolerant);

/* ---- root.c: anchors and root log ------------------------------------------------------------ */

struct rep_state {
    const uint8_t *record;      /* the last CHECKPOINT, NULL: none is left */
    uint32_t head, next, end;   /* the log's block, the one behind it; its end in the block */
    uint32_t group_at;          /* place of a GROUP that waits, 0: none does */
    uint32_t last_group;        /* of the last one in the log, 0: there is none */
    bool odd_group;             /* the CHECKPOINT has another place, or one behind itself */
    uint16_t epoch;             /* of the last record */
    bool clean;
    bool torn;                  /* something that is no record is in the log */
    unsigned groups;            /* behind the first one */
    unsigned broken;            /* records that make no sense */
};

/* A field of the CHECKPOINT. */
#define rep_state8(state, field) ((uint32_t)(state)->record[field])
#define rep_state16(state, field) ((uint32_t)rep_get16((state)->record + (field)))
#define rep_state32(state, field) rep_get32((state)->record + (field))
#define rep_state_flag(state, flag) (((state)->record[NF2_STATE_FLAGS] & (flag)) != 0)
#define rep_state_level(state) ((uint32_t)(state)->record[NF2_STATE_LEVEL] & 15u)
#define rep_state_bads(state) ((uint32_t)(state)->record[NF2_STATE_LEVEL] >> 4)

bool rep_root_find(struct repair *r);       /* false: nothing of a volume */
bool rep_root_has_room(const struct repair *r);     /* the next session's first record fits */

/* ---- node.c, tree.c, search.c, group.c: entries ---------------------------------------------- */

struct rep_entry {
    struct rep_key key;
    const uint8_t *body;
    uint16_t body_length, at;   /* at: of its record in the block */
    uint32_t block;
    uint8_t trust;              /* enum repair_state: WHOLE, UNSURE, DOUBTFUL or COPY */
};

typedef REP_LIST(struct rep_entry) rep_entries;

struct rep_slot {
    struct rep_entry entry;
    uint8_t type;
    bool base, alive;
};

struct rep_node {
    REP_LIST(struct rep_slot) slots;        /* records in order of their places */
    rep_entries alive;          /* in order of their keys */
    uint32_t block;
    uint16_t last_epoch;        /* of the last record */
    bool whole;                 /* as the core reads it, all is in order */
    unsigned lost;              /* places where records are lost */
    bool lost_tail;             /* some are lost among the changes */
    bool base_whole;            /* none is lost of its sorted part */
};

struct rep_leaf {
    struct rep_node node;
    struct rep_range span;      /* of its keys, or all that its parents leave to it */
    uint64_t rank;              /* the newer it is the lower */
    bool holds;                 /* no newer one has its place, and it is no old one on record */
    bool reached, sure;         /* the tree leads to it; and nothing newer can be lost */
};

/*
 * `base_end`: where the parent says that its base ends, 0: not known. False: there is no node of
 * this volume and level.
 */
bool rep_node_read(struct repair *r, uint32_t block, uint32_t level, uint32_t base_end,
                   struct rep_node *node);

struct rep_range rep_span(const struct rep_node *node);     /* of its keys: there is one */
void rep_tree_read(struct repair *r);
/* In order of their keys; of those with one key the one stays that can be trusted most. */
void rep_entries_sort(rep_entries *entries);
/* Number of the first entry whose key is not below. */
size_t rep_entry_at(const struct repair *r, const struct rep_key *key);
bool rep_entry_there(const struct repair *r, const struct rep_key *key);
void rep_search(struct repair *r);          /* leaves that nothing leads to, where some are lost */
void rep_group_apply(struct repair *r);     /* a committed change that waits */

/* ---- content.c: files ------------------------------------------------------------------------ */

struct rep_part {
    uint32_t at, length;
    const uint8_t *data;        /* NULL: zeros */
    bool lost;
};
/* A run of bytes that a piece of a file shows. */
struct rep_extent {
    uint64_t start, end;
    const struct rep_entry *entry;
    uint32_t base;              /* of frames */
    bool frames, orphan;
};

/* The directory or map that a name leads to, 0: none. `*kind`: NF2_BODY_*, 0 where it is none. */
uint32_t rep_name_id(const struct rep_entry *entry, uint8_t *kind);
bool rep_is_piece(const struct rep_entry *entry);
bool rep_is_orphan(const struct repair *r, uint32_t id);

/* ---- names.c, space.c, repair.c -------------------------------------------------------------- */

struct item {
    struct repair_item out;
    uint32_t id;                /* of a directory or a map */
    uint8_t trust;              /* of the piece that can be trusted least */
    REP_LIST(struct rep_part) parts;
    const uint8_t *fields;      /* in front of its content: FIELDS, one behind the other, */
    uint32_t fields_length;     /* bytes of all of them */
};
/* What an entry of a name has in front of its content, for the item. */
void rep_fields_read(const struct rep_entry *entry, struct item *item);
/* Reads the map with the item's id; where it has none what is in the entry. */
void rep_content_read(struct repair *r, const struct rep_entry *entry, struct item *item);

struct finding {
    struct repair_finding out;
    struct rep_range keys;      /* they become texts when the names are known */
    bool named;                 /* there are any */
};

/*
 * What is on record of a block. It is in use, too, where nothing is on record of it. Bad blocks may
 * be keys of the tree.
 */
enum { REP_USED = 1, REP_ERASED = 2, REP_CLAIMED = 4, REP_BAD = 8 };

struct rep_memory {
    struct rep_memory *next;
    max_align_t bytes[];
};

struct repair {
    const uint8_t *bytes;
    uint32_t block_size, unit, blocks, log_bytes;
    uint32_t volume_id;
    uint16_t epoch;             /* of the session that a mount begins, or that it ended cleanly */
    bool epoch_known;
    bool never_cut;             /* no cut explains an invalid place */
    bool older;                 /* what is on record says that the tree is of an older state */
    bool doubted;               /* that is known from a reading before */
    bool quiet;                 /* what is found is no part of the volume */
    struct rep_state state;
    rep_entries entries;        /* in order of their keys */
    /* where keys may be lost; where one leaf is, so that other ones with its keys are older */
    rep_ranges lost, lost_leaves;
    rep_ranges spans;           /* keys of the leaves that hold */
    REP_LIST(struct rep_leaf) leaves;
    REP_LIST(struct rep_extent) extents;
    uint8_t *use, *record;      /* enum repair_use of each block; REP_USED... */
    REP_LIST(struct item) items;
    REP_LIST(uint32_t) named;       /* ids that names lead to, in order */
    uint32_t *places, places_room;  /* numbers of items, and 1, by their paths and ids */
    uint32_t lost_found;        /* the same of /lost+found */
    uint32_t torn[4096];        /* by epoch: block of an unfinished write, and 1 */
    REP_LIST(struct finding) findings;
    struct finding unkept;      /* the last one that is no part of them */
    unsigned wrong;
    bool lossy, left_out;
    struct repair_summary summary;
    struct rep_log log;         /* that was read last */
    REP_LIST(struct repair_record) shown;
    struct rep_memory *memory;  /* the newest piece of it */
};

static inline const uint8_t *rep_at(const struct repair *r, uint32_t block, uint32_t offset)
{
    return r->bytes + (size_t)block * r->block_size + offset;
}

static inline bool rep_on_record(const struct repair *r, uint32_t block, uint8_t what)
{
    return (r->record[block] & what) != 0;
}

/* `text` as for printf; its numbers are %u. What it returns may be given names, until the next. */
struct finding *rep_find(struct repair *r, enum repair_kind kind, uint32_t block, uint32_t offset,
                         uint32_t number, uint32_t id, const char *text, ...)
    __attribute__((format(printf, 7, 8)));
#define REP_FIND_AT(r, kind, entry, number, ...) \
    rep_find(r, kind, (entry)->block, (entry)->at, number, (entry)->key.id, __VA_ARGS__)
/* What is wrong with a log. `damage`: the first place of it, 0: none. */
void rep_log_report(struct repair *r, const struct rep_log *log, enum repair_kind kind, uint32_t id,
                    uint32_t damage);

void rep_names_find(struct repair *r);      /* items and their paths */
/* The directory or mapped file with this id; NULL: there is none. */
const struct item *rep_item_of(const struct repair *r, uint32_t id);
const char *rep_key_text(struct repair *r, const struct rep_key *key);
void rep_space_load(struct repair *r);      /* what is on record of blocks */
void rep_space_check(struct repair *r);     /* which blocks are in use, and by whom */

#endif
