/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inside.h - the inside of struct repair: the image, the state on record, the entries of the tree,
 * and what comes of them.
 */
#ifndef REPAIR_INSIDE_H
#define REPAIR_INSIDE_H

#include "log.h"

struct rep_claim {
    uint32_t start, count, erased;
};

/* What the root log says. */
struct rep_state {
    bool found;                 /* there is a CHECKPOINT */
    bool clean, fresh, now_fresh;
    bool bad_keys;              /* the tree may have keys of bad blocks */
    bool suspect;               /* the next block of the log may hold something */
    uint16_t epoch;
    uint32_t head, next;
    uint32_t root, base_end, level;
    uint32_t id_limit, free, erases, unclean_mounts, window, erased_groups;
    uint32_t group_block, group_at;
    struct rep_claim claim[2];
    unsigned bads;
    uint32_t bad[NF2_BAD_MAX];
    uint8_t bits[NF2_WINDOW_BLOCKS / 8];
    uint32_t end;               /* of the log */
    bool torn;                  /* something that is no record is in it */
    unsigned records;           /* behind the log's first group */
    unsigned broken;            /* records and places that make no sense */
};

struct rep_entry {
    struct rep_key key;
    const uint8_t *body;
    uint16_t body_length, at;   /* at: of its record in the block */
    uint32_t block;
    uint8_t trust;              /* enum repair_state: WHOLE, UNSURE, DOUBTFUL or COPY */
};

/* Keys of which the nodes are lost, or may be. */
struct rep_range {
    struct rep_key lower, upper;
    bool bounded;               /* else there is no upper end */
    /* one leaf, whose block is known: other leaves with these keys are older */
    bool leaf;
};

/* A piece of a file as an entry has it; the length of an open one is not known yet. */
struct rep_piece {
    uint8_t kind;               /* NF2_PIECE_*, 0: a hole */
    bool open;
    uint32_t at, length;        /* in the file */
    uint32_t block, within;     /* of FRAMES: base */
    const struct rep_entry *entry;
};

/* What a file consists of. */
struct rep_part {
    uint32_t at, length;
    const uint8_t *data;        /* NULL: zeros */
    bool lost, checked;
};
struct rep_content {
    struct rep_part *part;
    size_t parts, room;
    uint32_t size;
    bool lost_end;
    uint8_t trust;              /* of the piece that can be trusted least */
};

/* What the frames of a block hold. */
struct rep_frames {
    /* in order; `at` from the base on; lost ones where some are missing */
    struct rep_part *part;
    size_t parts, room;
    uint32_t end;               /* behind the last one */
    uint32_t block, base;
    bool damaged, none;         /* none: there is no valid frame at all */
    uint32_t place;             /* of the first damage */
    unsigned torns;
    uint32_t torn;              /* the first place that looks like an unfinished write, */
    uint16_t torn_epoch;        /* and its page's epoch */
    unsigned mended_heads;      /* pages of which a bit of the epoch was turned over */
};

struct item {
    struct repair_item out;
    const char *path;
    const struct rep_entry *entry;  /* NULL: the root, or found without a name */
    uint32_t id;                /* of a directory or a map */
};

struct note {
    struct repair_note out;
    struct rep_key from, to;
    bool has_from, has_to;      /* they become texts when the names are known */
};

struct repair {
    struct rep_image image;
    struct rep_state state;
    struct rep_entry *entry;    /* in order of their keys */
    size_t entries, entries_room;
    struct rep_range *lost;
    size_t losts, losts_room;
    uint8_t *use;               /* enum repair_use of each block */
    struct item *item;
    size_t items, items_room;
    struct rep_map directory, file, orphan;     /* by id: number of the item, and 1 */
    struct rep_map paths;
    struct rep_map torn;        /* by epoch: block of an unfinished write, and 1 */
    struct repair_finding *finding;
    size_t findings, findings_room;
    struct note *note;
    size_t notes, notes_room;
    unsigned wrong;
    bool lossy;
    /* what is found now was found before, or is no part of the volume */
    bool quiet;
    uint32_t window_blocks, windows;
    struct repair_summary summary;
    struct rep_frames frames;   /* that were read last */
    struct rep_content *cache;  /* of the item that was read last */
    unsigned cached;
};

/* repair.c. `text` as for printf; its numbers are %u. */
void rep_find(struct repair *repair, enum repair_kind kind, uint32_t block, uint32_t offset,
              uint32_t number, uint32_t id, const char *text, ...)
    __attribute__((format(printf, 7, 8)));
void rep_note(struct repair *repair, enum repair_note_kind kind, uint32_t block, uint32_t number,
              const struct rep_key *from, const struct rep_key *to);

/*
 * Notes an unfinished write in a page of this epoch: a power cut leaves one, so that of two one is
 * damage.
 */
void rep_torn(struct repair *repair, uint32_t block, uint32_t offset, uint16_t epoch);

/* root.c: anchors and root log. False: nothing of a volume. */
bool rep_root_find(struct repair *repair);
/* In a state's window: the block's bit; true also where it lies elsewhere and may be in use. */
bool rep_state_used(const struct repair *repair, uint32_t block);
/* Is it on record as bad? When the tree is known, in keys, too. */
bool rep_is_bad(const struct repair *repair, uint32_t block);

/* tree.c: all entries of the tree. */
void rep_tree_read(struct repair *repair);
void rep_entries_add(struct repair *repair, const struct rep_entry *entry);
void rep_entries_sort(struct repair *repair);
/* Number of the first entry with a key not below. */
size_t rep_entry_at(const struct repair *repair, const struct rep_key *key);
struct rep_entry *rep_entry_find(const struct repair *repair, const struct rep_key *key);
void rep_lose(struct repair *repair, uint32_t block, const struct rep_range *range);

/*
 * Are there keys in [from, to] that may be lost? With `leaf`: that are, with the only leaf that had
 * them. After rep_search.
 */
bool rep_may_be_lost(const struct repair *repair, const struct rep_key *from,
                     const struct rep_key *to, bool leaf);

/* search.c: nodes that nothing leads to, where some are lost. */
void rep_search(struct repair *repair);

/* group.c: a committed change that waits is applied to the entries. */
void rep_group_apply(struct repair *repair);

/* pieces.c */
/* bytes, 0: none */
uint32_t rep_piece_load(const struct repair *repair, const uint8_t *p, uint32_t room,
                        struct rep_piece *piece);
/* behind the rest of a long name; NULL: no entry of a name */
const uint8_t *rep_body(const struct rep_entry *entry, uint32_t *length);
bool rep_is_piece(const struct rep_entry *entry);
/*
 * The piece of entry `number` as far as it is seen. `next`: where the map's next one begins,
 * REP_NONE: there is none. False: it is none.
 */
bool rep_map_piece(struct repair *repair, size_t number, struct rep_piece *piece, uint32_t *next);
/* Pieces of a LIST in order; false behind the last (`bad`: what follows is none). */
struct rep_list {
    const uint8_t *p;
    uint32_t room, offset;
    bool bad;
};
bool rep_list_begin(const struct rep_entry *entry, struct rep_list *list);
bool rep_list_next(struct repair *repair, struct rep_list *list, struct rep_piece *piece);

/* frames.c: what the frames of a block hold. It stays until the next call. */
const struct rep_frames *rep_frames_read(struct repair *repair, uint32_t block, uint32_t base);

/* content.c. `entry` NULL: the map `id`. To be freed. */
void rep_content_read(struct repair *repair, const struct rep_entry *entry, uint32_t id,
                      struct rep_content *content);
void rep_content_free(struct rep_content *content);

/* names.c: items and their paths. */
void rep_names_find(struct repair *repair);
const char *rep_key_text(struct repair *repair, const struct rep_key *key);

/* space.c: which blocks are in use, and by whom. */
void rep_space_check(struct repair *repair);

#endif
