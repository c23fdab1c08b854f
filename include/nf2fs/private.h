/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2fs/private.h - the contents of nf2_t, nf2_file_t and nf2_dir_t. Included by nf2fs.h so that
 * you can allocate them; nothing here is for use by applications. In nf2_t the fields that are used
 * most stand first, bytes in front of longer ones: instructions are shorter for bytes up to offset
 * 31, for halfwords up to 62, for words up to 124. docs/DESIGN.md says who writes each of them. A
 * CHECKPOINT holds some of the fields as they stand here, in runs of one size ("a run": see `runs`
 * in journal.c).
 */
#ifndef NF2FS_PRIVATE_H
#define NF2FS_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

/* Views of tree nodes: one for inner nodes, one for leaves; a larger buffer holds more of them. */
#define NF2_VIEW_BYTES(slots) (16u + 2u * (slots))
#define NF2_INNER_SLOTS 40u
#define NF2_LEAF_SLOTS 70u
#define NF2_TREE_BUFFER_SIZE (NF2_VIEW_BYTES(NF2_INNER_SLOTS) + NF2_VIEW_BYTES(NF2_LEAF_SLOTS) + 3u)

#define NF2_REGIONS_MAX 256u            /* regions of a volume: see region.h */
#define NF2_STATE_MAP (NF2_REGIONS_MAX / 4u)    /* bytes: two bits for each region */
#define NF2_WRITERS 3u                  /* who takes blocks: enum nf2_writer_kind in space.h */
#define NF2_HOLE_REGIONS 16u            /* regions that a walk looks through for free blocks, */
#define NF2_HOLE_BYTES 32u              /* with a bit for each of their blocks */
#define NF2_HAND_MAX 4u                 /* erased holes that are kept in hand */
#define NF2_TAKEN_MAX 4u                /* regions whose erase is not in their WEAR entry yet */
#define NF2_FREED_MAX 8u
#define NF2_BAD_MAX 4u
#define NF2_PIECES_MAX 3u               /* unsynced pieces of a file kept in its handle */
#define NF2_KEY_MAX 28u
#define NF2_LEVELS 8u
#define NF2_HINTS 4u                    /* names of which the entry's place is known:
                                           half of them directories */

struct nf2_key {
    uint32_t id;
    uint8_t length;
    uint8_t bytes[NF2_KEY_MAX];
};

struct nf2_piece {              /* where a part of a file lies */
    uint32_t offset;            /* in the file, bytes */
    uint32_t length;            /* bytes */
    uint16_t block;
    uint16_t within;            /* where it begins: in the block; of frames: in their data */
    uint8_t kind;               /* NF2_PIECE_* */
    bool open;                  /* the frames at the file's end: it ends where they end */
};

struct nf2_run {                /* erased blocks that one writer fills in order */
    uint16_t block;
    uint16_t within;            /* next byte of the first block */
    uint16_t count;             /* blocks, the first one included; 0: none */
};

/*
 * Where a writer takes blocks, in order: the region that it has open. `count` blocks from `start`
 * on are on record as claimed, those behind them up to the region's end are not.
 */
struct nf2_claim {
    uint16_t start;
    uint8_t count;
    uint8_t erased;             /* blocks from `start` on that are erased, the ones behind the
                                   claim included; 255: 255 or more */
};

struct nf2_holes {              /* holes.c: blocks that nothing refers to, in regions in use */
    uint8_t count;              /* regions, */
    uint8_t region[NF2_HOLE_REGIONS];
    uint8_t used[NF2_HOLE_BYTES];       /* a bit for each block of these, in order */
};

struct nf2_drive {              /* used mostly by flash.c: so it need not be near the front */
    uint32_t offset;            /* bytes: where the volume begins on the chip */
    uint32_t window, window_end;    /* begin and end, on the chip, of the part of a page that the
                                   read buffer holds at its place in the page; end 0: nothing */
    uint32_t busy_us;           /* typical time of all operations of this mount */
};

struct nf2_root {               /* journal.c: the root log, and what it keeps for a mount */
    uint32_t volume_id;
    uint32_t id_limit;
    uint16_t unclean_mounts;
    uint16_t bad[NF2_BAD_MAX];  /* bad blocks that are in no entry yet */
    uint16_t group_bytes;       /* of the changes in the GROUP */
    uint16_t volume_at;         /* where a VOLUME lies in the head block; 0: there is none */
    uint16_t volume_bytes;      /* of its fields */
    uint8_t classes;            /* NF2_FIELD_REFUSE and NF2_FIELD_READ, of the first field; of the
                                   other bits none counts */
    uint32_t serial;            /* of the last node or block of frames that was written, */
    uint32_t serial_recorded;   /* and the one that the last CHECKPOINT has */
    uint32_t anchor;            /* sequence of the last ANCHOR, */
    uint32_t sequence;          /* and the last one that is on record as given out */
    uint32_t next_id;
    uint16_t last;              /* place of the last record in the head, as the mount has read it */
};

struct nf2_space {              /* region.c, holes.c, space.c: which blocks may be taken */
    struct nf2_claim claim[NF2_WRITERS];
    uint8_t state[NF2_STATE_MAP];       /* enum nf2_region_state, two bits for each region */
    uint8_t live[NF2_REGIONS_MAX];      /* how much of a region is live, in parts of 256:
                                   NF2_LIVE_*; counted by the last walk, and by this one */
    uint32_t free;              /* blocks of free regions, erased ones included, */
    uint32_t victims;           /* and of victims */
    uint16_t regions;           /* of the volume */
    uint16_t shift;             /* blocks by which the first region begins before the volume */
    uint16_t carry;             /* bytes that are counted as live with the next ones */
    uint16_t erased_regions;    /* free regions that are erased */
    uint8_t region_log;         /* a region has 2 ^ region_log blocks */
    uint8_t taken[NF2_TAKEN_MAX];       /* regions that were erased since WEAR was written: */
    uint8_t taken_count;
    uint8_t hand_count;
    bool erased_ahead;          /* the last call erased something ahead of need */
    bool unrecorded;            /* a region was erased since the last CHECKPOINT */
    uint8_t claims;             /* made in this mount: 255: 255 or more */
    uint16_t hand[NF2_HAND_MAX];        /* holes that are erased */
    uint16_t freed[NF2_FREED_MAX];      /* blocks of replaced nodes and logs: free in this
                                   session, not erased */
    uint16_t resting;           /* the region that resting data moves to next, or NF2_NO_REGION:
                                   none was chosen, NF2_ALL_LEVEL: none is needed */
    uint16_t ahead;             /* blocks of the region that is being erased ahead: done */
    uint16_t ahead_region;
    uint16_t holes_found;       /* by the last walk that looked for them */
    struct nf2_holes ready;     /* holes that may be taken */
    struct nf2_holes marked;    /* those that the walk is looking for */
};

enum nf2_need {                 /* collect.c: how badly blocks are lacking */
    NF2_NEED_LITTLE,            /* idle time: what is nearly empty is emptied, else the chip wears
                                   sooner for it */
    NF2_NEED_NONE,              /* what wins much is emptied */
    NF2_NEED_SCARCE,            /* whatever wins something is emptied */
    NF2_NEED_LAST               /* and nodes are joined that half fill one */
};

struct nf2_walk {               /* walk.c, collect.c: the walk over the tree */
    bool active;
    bool moves;                 /* there are victims: what lies in them is moved */
    bool behind;                /* the entry at its cursor was visited */
    bool counted;               /* a whole walk counted what is live in each region */
    bool disturbed;             /* something was changed since it began */
    bool settled;               /* nothing was changed since a walk won nothing */
    uint8_t need;               /* enum nf2_need */
    uint8_t grain;              /* overwrites of a map grow to multiples of 2 ^ grain bytes */
    uint8_t joins;              /* of leaves that this call may still make */
    uint8_t new_levels;         /* levels below this one have other nodes than the last leaf had */
    uint8_t idle_walks;         /* begun by idle time since a call changed something */
    uint16_t bytes;             /* bytes of the entries of this leaf that were visited */
    uint32_t leaves, leaves_before;     /* visited in this walk, and in the last one */
    uint32_t to_move;           /* live pages that lie in victims still */
    uint32_t begin;             /* blocks in stock at which the next walk begins */
    uint32_t work, slack;       /* when this one began: what was to do, and what might be taken in
                                   all, in pages; */
    uint32_t allowed;           /* what may be taken until it has to be done */
    uint32_t vain;              /* fs->changes + fs->moves when a search won nothing; 0: never */
    struct nf2_run moved;       /* where moved data goes */
    struct nf2_key cursor;      /* what is visited next */
};

struct nf2_child {              /* a reference to a node */
    uint16_t block;
    uint16_t base_end;          /* end of its base */
};

struct nf2_spot {               /* a place between the entries of a node */
    uint16_t base;              /* place of the next record of the base */
    uint16_t tail;              /* number of the next living record of the tail */
};

struct nf2_way {                /* tree.c: from the root to the leaf that was asked for last */
    struct nf2_child node[NF2_LEVELS];  /* by level: 0 is the leaf */
    uint16_t below;             /* place of the leaf's entry in the node above it;
                                   0: there is none */
    uint16_t above;             /* place of the entry of what follows the leaf; 0: the leaf is the
                                   last one */
    uint8_t above_level;        /* level of the node on the way that has the entry `above` */
    bool known;                 /* the way holds: no node was written anew since it was found */
    uint16_t last;              /* place of the entry in the leaf that was found last; 0: not
                                   known */
    struct nf2_spot spot;       /* the place after `last`: often asked for next */
};

struct nf2_file;
struct nf2_writing;

typedef struct nf2 {
    bool mounted;
    uint8_t group_busy;         /* a GROUP is committed and not applied: NF2_GROUP_* */
    uint8_t view_count;
    uint8_t view_turn;

    bool read_only, broken;     /* broken: a program or erase failed;
                                   nothing is written until the next mount */
    bool cut;                   /* the last session was not left cleanly */
    bool opened;                /* this session has written its first CHECKPOINT */
    bool anchor_due;            /* no ANCHOR names the head of the root log */
    bool in_doubt;              /* the last ANCHOR says so: NF2_ANCHOR_DOUBT */
    uint8_t super_block;        /* the super block that has the last ANCHOR */
    uint8_t root_level;         /* of the tree's root */
    uint8_t bads;
    uint8_t bad_flags;          /* 1: the tree may have keys of bad blocks;
                                   2, 4, 8: a super block failed */
    bool clean;                 /* nothing was changed after the last CHECKPOINT */
    bool next_suspect;          /* the root log's next block may hold something */
    bool leaky;                 /* blocks may be free that only a walk finds */
    uint8_t freed_count;
    uint8_t patience;           /* enum nf2_patience of the step or the change that is on */

    uint16_t log_bytes;         /* bytes of a block that a log uses */
    uint16_t epoch;             /* no page has a later one; 0: not known yet */
    uint16_t root_end;          /* where the next record goes in the root log; until that is read:
                                   the epoch of the anchor's page */
    uint16_t root_next;         /* block where that goes on */
    uint16_t root_node;         /* root of the tree */
    uint16_t root_base;         /* end of its sorted part */
    uint16_t group_at;          /* where in the head block a GROUP lies that may not be applied yet;
                                   0: none */

    const struct nf2_flash *flash;
    uint32_t block_bytes;
    uint32_t blocks;
    uint32_t changes;           /* programs and erases of this mount */
    uint32_t moves;             /* changes of where data lies that handles do not know of */
    struct nf2_file *files;     /* open handles */
    uint32_t erases;            /* of blocks, since the format */
    uint32_t promised;          /* blocks set aside by nf2_preallocate */
    uint8_t *write_buffer;      /* a page of the chip: being programmed */
    const struct nf2_config *config;
    uint32_t root_head;         /* block that holds the root log */
    const struct nf2_writing *writing;  /* NULL: the volume is mounted for reading alone */

    uint8_t *read_buffer;       /* a page of a log: a window on the flash */
    uint32_t call_began_us;     /* drive.busy_us when this call began */
    uint8_t *views;             /* memory for the views of nodes */
    struct nf2_space space;
    struct nf2_root root;
    struct nf2_drive drive;
    uint32_t check;             /* of a record in a page of `check_epoch`, as it begins */
    struct nf2_walk walk;
    struct nf2_run fragment;    /* the rest of the block that the last small write went to */
    uint16_t check_epoch;       /* see `check` */
    struct nf2_way way;
    uint32_t hint[NF2_HINTS];   /* where entries of names are: see tree.c; 0: none */
    uint32_t known_at;          /* where the record of the key `known` lies, in the form of a hint;
                                   0: no key is known */
    struct nf2_key known;
} nf2_t;

struct nf2_kept {               /* what a refused write puts back: all fields that share the union
                                   with it (see file.c) */
    uint32_t words[4];
};

typedef struct nf2_file {
    struct nf2_file *link;      /* of the volume's open handles */
    uint8_t *buffer;            /* one page */
    union {
        struct {
            uint32_t size;      /* bytes, with unsynced writes */
            uint32_t buffer_at; /* file offset of the first byte in the buffer */
            uint16_t buffered;  /* bytes in the buffer */
            uint8_t pieces;
            bool changed;       /* there is more to sync than what the buffer holds */
            bool dirty;         /* the buffer holds what is not on flash */
            bool failed;        /* a call failed half way: nothing can be synced any more */
            bool fresh;         /* the content replaces what is committed */
            bool created;       /* no entry is on flash yet */
        };
        struct nf2_kept kept;
    };
    uint8_t kind;               /* of the committed content: NF2_BODY_*; 0: none yet */
    bool cut;                   /* an unsynced truncation ends the committed content at `synced` */
    uint16_t flags;
    uint32_t position;
    uint32_t id;                /* of the committed map */
    uint32_t synced;            /* bytes of the committed content that count */
    uint32_t shadow;            /* of the map with uncommitted pieces; 0: none */
    uint32_t moves;             /* fs->moves when `here` was found */
    struct nf2_run run;         /* where data goes */
    uint16_t frames_block;      /* block of frames at the file's end that has room; 0: none */
    uint16_t frames_at;         /* where the next frame goes in that block */
    uint16_t frames_data;       /* bytes of data in the frames before it */
    uint16_t promised;          /* blocks set aside by nf2_preallocate */
    uint16_t spilled;           /* pieces that went to the shadow */
    struct nf2_key key;         /* of the entry */
    uint8_t fields;             /* in front of the committed content: NF2_FIELDS_* */
    struct nf2_piece here;      /* the committed piece that was looked for last */
    struct nf2_piece piece[NF2_PIECES_MAX];     /* pieces not committed, oldest first */
} nf2_file_t;

typedef struct nf2_dir {
    struct nf2_key last;        /* the last entry listed; id 0: closed */
} nf2_dir_t;

#endif
