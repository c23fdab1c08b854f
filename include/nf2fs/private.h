/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2fs/private.h - the contents of nf2_t, nf2_file_t and nf2_dir_t. Included by nf2fs.h so that you
 * can allocate them; nothing here is for use by applications.
 */
#ifndef NF2FS_PRIVATE_H
#define NF2FS_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#define NF2_SLOTS (NF2_WRITERS + 1u)    /* one allocation slot a writer, the last one for the tree and the logs */
#define NF2_SLOT_RUNS 4u
#define NF2_FREED_MAX 9u
#define NF2_TOUCHED_MAX 8u
#define NF2_ORPHANS_MAX (NF2_WRITERS + 4u)  /* new content of each writer, what is being removed, two to spare in recovery */
#define NF2_STOCK_MAX 3u
#define NF2_BAD_MAX 3u                  /* bad blocks that something still lies in, or that are not on record yet */
#define NF2_REGION_BLOCKS 128u
#define NF2_MERGE_KEY 24u
#define NF2_EXTENTS_MAX 4u              /* extents of a flat file */
#define NF2_NAME_KEPT 24u               /* bytes of a new file's name kept in the handle */
#define NF2_CLEAN_BINS 8u               /* groups of blocks that one walk over a map counts */
#define NF2_CLEAN_GROUPS 8u             /* of which so many are kept in mind */
#define NF2_PIECES_MAX 4u               /* unsynced pieces of an indexed file kept in memory */
#define NF2_INLINE_MORE 128u            /* bytes of an inline file's content beside the page in its buffer */

struct nf2_run {                /* consecutive blocks */
    uint32_t start;
    uint32_t count;
};

struct nf2_slot {               /* blocks claimed for one writer */
    uint8_t runs;
    uint8_t logged_runs;        /* as a reader of the meta log would list them */
    bool busy;                  /* a file is open for writing on it */
    uint16_t used;              /* blocks of the last run that were handed out */
    uint16_t ready;             /* blocks of the last run that are erased */
    uint32_t logged_end;        /* behind the last of the logged runs */
    struct nf2_run run[NF2_SLOT_RUNS];  /* not known to be committed; blocks are handed out from the last one */
};

struct nf2_touched {            /* a node whose records behind `logged` may have effects on space */
    uint16_t node;              /* its block */
    uint16_t logged;            /* end of the node at the last STATE or TOUCH */
    uint16_t end;               /* its end now */
};

struct nf2_bad {                /* a block that does not program or erase any more */
    uint16_t block;
    uint16_t by;                /* what it should hold lies there; the block itself: it holds nothing */
};

struct nf2_piece {              /* part of an indexed file that is on flash and not committed */
    uint32_t offset;            /* in the file */
    uint32_t length;
    uint32_t block;
    uint32_t within;            /* byte in the block where it begins */
};

struct nf2_group {              /* blocks that one large erase takes */
    uint16_t number;
    uint8_t live;               /* of 256 parts, when it was counted */
    uint8_t state;              /* NF2_GROUP_* */
};

struct nf2_file;

/* What is used most comes first, by size: small offsets make small code. */
typedef struct nf2 {
    bool urgent;                /* the change at hand must not fail for space: it may take the last blocks */
    uint8_t freed_count, touched_count, stock_count, orphan_count;
    bool mounted, broken, read_only, clean, blank_erased, opened; /* opened: this mount has written its opening STATE */
    bool next_suspect;          /* the meta log's next block is to be erased before use */
    bool redo_owned;            /* the committed batch lies in blocks of a file */
    bool clean_found : 1;       /* this round over the groups of a file has found some */
    bool clean_again : 1;       /* a file before this one had some */
    bool compact_sparse : 1;    /* there may be blocks that are live in part, that wait until blocks run short */
    uint8_t clean_price;        /* live parts of 256 that a group may have to be chosen */
    uint8_t clean_rounds;       /* over the groups of this file, that have found some */
    bool buffer_lent;           /* the tree buffer serves as scratch memory */
    bool after_cut;             /* the tree takes its next blocks from the stock */
    uint8_t node_pages;         /* pages of a block that a log uses */
    uint8_t merge_quiet;        /* NF2_MERGE_*: which leaves are still to be looked at for sparse ones */
    uint8_t compact_due;        /* NF2_COMPACT_*: which indexed files are still to be looked at for garbage */
    uint8_t logged_orphans, logged_touched;   /* as a reader of the meta log would list them */
    uint8_t changes;            /* begun in this mount, 255: or more */
    uint8_t merge_length, merge_skip;
    bool next_torn;             /* the session before may have been cut in a turn to it */
    bool redo_logged;           /* the meta log still names a batch, though it may be applied */
    bool recovered;             /* the session before this mount was cut */
    bool epoch_known;           /* no page is of a later one */
    uint8_t clean_wait;         /* steps until groups are looked for again */
    bool bad_news;              /* of a bad block, that is not on record */
    bool log_failed;            /* an operation on the super log or the meta log met a bad block */
    uint8_t bad_count;
    uint8_t bad_move;           /* so many of them are still to be looked for by idle work: what lies in them moves */
    uint8_t compact_live;       /* about how many of 16 parts of the last emptied block were live */
    uint8_t super_block;
    uint8_t renew_page;         /* of the meta log's head, that was the last one when a REGION page was written anew */
    uint8_t compact_wait;       /* small steps until single blocks are looked for again */
    uint8_t garbage;            /* blocks, about, in which nothing may be live since they were looked for */

    uint16_t epoch;
    uint16_t meta_end;
    uint16_t window_begin, window_end;  /* the part of the window's page that was read */
    uint16_t super_end;
    uint16_t region_next;       /* block of the region where the search goes on */
    uint16_t unclean_mounts;
    uint16_t renew_from;        /* regions from this one on are looked for in the meta log's oldest block */
    uint16_t clean_counted;     /* the walk counts in groups from this one on */
    uint16_t blocks_bad;        /* on record as such */

    const struct nf2_flash *flash;
    uint32_t blocks;            /* of the volume */
    uint8_t *tree_buffer;       /* fingerprints of recently used leaves; scratch of the space room */
    uint8_t *write_buffer;      /* one page: being programmed */
    uint8_t *read_buffer;       /* one page: a window on the flash */
    struct nf2_file *files;     /* open handles */
    uint32_t region;            /* that blocks are taken from; UINT32_MAX: none loaded */
    uint32_t root;
    uint32_t redo_sequence, redo_block;
    uint32_t free_blocks;
    uint32_t erased_blocks;     /* free blocks known to be erased */
    uint32_t meta_head, meta_next, meta_tail;   /* blocks */
    uint32_t window_address;    /* the page that the read buffer comes from; UINT32_MAX: nothing */
    uint32_t erases;
    const struct nf2_config *config;
    uint32_t meta_sequence, meta_tail_sequence;
    uint32_t volume_id;
    uint32_t next_id, id_limit;
    uint32_t programs;          /* programs and erases of this mount: while it stays, nothing changes on the chip */
    uint32_t busy_us;           /* their typical time, and that of reads */
    uint32_t super_sequence;
    uint32_t super_points_to;   /* sequence of the meta block that the anchor names */

    /* where idle work goes on */
    uint32_t merge_id;          /* key of the leaf that is looked at next, cut to its first bytes */
    uint32_t compact_id;        /* entries of this id are looked at next, */
    uint16_t compact_from;      /* blocks from this one on; */
    uint16_t compact_dead;      /* of those in front of this one none is left that holds nothing */
    uint32_t compact_owner, compact_block, compact_end; /* where moved data goes: the file, its block, the place in it */
    uint32_t clean_id;          /* an indexed file whose groups of blocks are being emptied for large erases; 0: none */
    uint32_t clean_from;        /* place of the walk over its map */
    uint16_t maintain_cursor;
    uint16_t kept_node;         /* not to be claimed, even if it is free: a change that is being made refers to it; 0: none */
    uint32_t worn;              /* the most erases of a block that were seen */
    uint16_t exchange_place;    /* the block from which on worn ones are looked for */
    uint16_t exchange_region;   /* the last one that was looked at for what rests there */
    uint16_t compact_victim;    /* a block of the file whose blocks are looked at that is to be emptied; 0: none */
    uint8_t even_at;            /* low byte of `worn` when all free blocks had been erased nearly as often */
    bool exchanging;            /* a walk is on for what rests in it */
    uint8_t merge_key[NF2_MERGE_KEY];
    uint8_t clean_bins[2u * NF2_CLEAN_BINS];    /* what it counts */
    struct nf2_group group[NF2_CLEAN_GROUPS];

    uint8_t region_used[NF2_REGION_BLOCKS / 8];
    uint8_t region_erased[NF2_REGION_BLOCKS / 8];

    /* the rest of what STATE holds */
    struct nf2_slot slot[NF2_SLOTS];
    struct nf2_touched touched[NF2_TOUCHED_MAX];
    struct nf2_run freed[NF2_FREED_MAX];
    uint32_t orphan[NF2_ORPHANS_MAX];
    struct nf2_bad bad[NF2_BAD_MAX];
    uint16_t stock[NF2_STOCK_MAX];  /* claimed and erased blocks, also for a mount after a cut */
    bool short_pieces : 1;      /* what was committed last was shorter than a block: as a rule no block is free of live data */
    bool read_failed : 1;       /* the driver failed in a read of this mount: what could not be read may be whole */
    uint8_t dirty_looked;       /* steps of free blocks not erased among which no large erase was found; 0: not known */
} nf2_t;

typedef struct nf2_file {
    uint8_t kind;               /* of the content, unsynced state included: NF2_BODY_* */
    uint8_t extents, pieces;
    uint8_t slot;
    bool shadow;                /* indexed, under an id that no entry names yet */
    bool changed;               /* there is something to sync */
    bool open_end;              /* flat: this handle programmed the last page and may go on in it */
    bool fresh;                 /* the content replaces what is committed (new or emptied file) */
    bool stale;                 /* another handle changed the file: read the entry again */
    bool loaded;                /* inline: the buffer holds the content */
    bool failed;                /* a call failed half way: what is not synced is not to be used any more */
    uint8_t name_length;

    uint16_t buffered;          /* bytes in the buffer that are not on flash */
    uint16_t frames_at;         /* append position in the frames block; 0: none is open */
    uint16_t flags;
    uint16_t entry;             /* offset of the entry's record in the leaf */
    uint16_t spill_end;
    uint16_t before;            /* the same in the leaf that it followed from: to go back where that is not replaced after all */

    uint32_t leaf;              /* where the entry is; 0: not on flash yet */
    uint32_t position, size;    /* bytes; size with unsynced writes */
    uint32_t buffer_at;         /* file offset of the first byte in the buffer */
    uint8_t *buffer;
    uint32_t id;                /* of the indexed file */
    struct nf2_file *next;      /* of the volume's open handles */
    uint32_t directory;         /* of a file whose entry is not on flash yet */
    uint32_t promised;          /* bytes up to which writes have been preallocated */
    struct nf2_file *creator;   /* of a reader: the handle that created the file and has not synced it yet */
    union {
        uint8_t more[NF2_INLINE_MORE];  /* inline: what follows the first page of the content; no blocks, no use for the rest */
        struct {
            struct nf2_run own;         /* indexed: the run that new blocks extend; recorded up to own_recorded blocks */
            uint32_t own_recorded;
            uint32_t cut_to;            /* indexed: committed content ends here (unsynced truncate); NF2_NONE: no */
            uint32_t spill_first, spill;/* indexed: first and last block of older uncommitted operations; NF2_NONE: none */
            uint32_t spilled;           /* how many they are */
            uint32_t committed_size;    /* flat: what the entry says */
            uint32_t committed_blocks;
            uint32_t fragment_block;    /* indexed: where the next piece goes; NF2_NONE: nowhere yet */
            uint32_t fragment_end;      /* byte in that block */
            uint32_t frames, frames_base, frames_end;   /* block, file offsets of its first byte and of its end */
            union {
                struct nf2_run extent[NF2_EXTENTS_MAX];     /* flat */
                struct nf2_piece piece[NF2_PIECES_MAX];     /* indexed: not committed, oldest first */
            } u;
        };
    };
    union {
        uint8_t name[NF2_NAME_KEPT];    /* of a new file, if short; a longer one is at the buffer's end */
        struct {                        /* indexed, not new: reading goes on at `at`, in this leaf of the map if the volume has made so many programs; 0: not known */
            uint32_t at, programs;
            uint16_t leaf;
        } ahead;
    };
} nf2_file_t;

typedef struct nf2_dir {
    uint32_t id;
    uint32_t node, programs;    /* where the next entries lie, known when the volume had made so many programs */
    uint16_t next;              /* place in `last` of the offset of the first of them */
    uint8_t batch;              /* how many they are */
    bool whole;                 /* behind them the leaf has no more */
    uint8_t length;             /* of the last name listed; 0: none */
    uint8_t last[258];          /* that name; behind it two bytes for each of the next entries, for one at least */
} nf2_dir_t;

#endif
