/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h - the bytes on the chip: shared by the core, the checker, repair and the tests.
 * docs/FORMAT.md explains them.
 */
#ifndef NF2FS_CORE_FORMAT_H
#define NF2FS_CORE_FORMAT_H

#define NF2_MAGIC 0x4632464Eu   /* "NF2F" */
#define NF2_SUPER_BLOCKS 3u     /* at a volume's start: with one of them bad, two take turns */

/* Limits that private.h has too, for the core's structures: both must say the same. */
#define NF2_REGIONS_MAX 256u
#define NF2_BAD_MAX 4u
#define NF2_KEY_MAX 28u
#define NF2_LEVELS 8u           /* of the tree */
#define NF2_LIST_MAX 4u         /* pieces in a LIST */

/* A log: pages of a block, records in them. */
#define NF2_LOG_PAGE 256u       /* bytes of such a page: those of the chip may be longer */
#define NF2_LOG_BYTES_MAX 8192u /* of a block that a log uses at most */
#define NF2_PAGE_HEAD 2u        /* epoch */
#define NF2_EPOCHS 4096u        /* their numbers come round */
#define NF2_RECORD_OVERHEAD 6u  /* header and check */
#define NF2_RECORD_MAX 4000u
#define NF2_RECORD_MORE 0x1000u /* in a header: the group goes on behind this record */
#define NF2_LOG_BLANK 0xFFFFu
#define NF2_CONTINUED 0x0004u   /* header of a page that a long record goes on in */
#define NF2_CONTINUED_HEAD 4u   /* epoch and that header */

/* Frames: logs of small appends to a file. */
enum {
    NF2_FRAMES_HEAD = 1,        /* 'F', serial 4, volume id 4: in one group with the first frame */
    NF2_FRAME = 6               /* place 2: of the data, from the block's base on; data */
};
#define NF2_FRAMES_HEAD_BYTES 9u
#define NF2_FRAME_DATA 4u       /* what is in front of the data: header and place */
#define NF2_FRAME_OVERHEAD 8u   /* and the check */

/* Records of the super blocks. */
enum { NF2_SUPER_ANCHOR = 1 };
enum {                          /* an anchor: words of 4 bytes */
    NF2_ANCHOR_MAGIC = 0,
    NF2_ANCHOR_VERSION = 4,     /* of the format */
    NF2_ANCHOR_GEOMETRY = 8,    /* the sum of the bytes of a block, of a page of a log, and
                                   of a program unit, all below 1 << 17; from bit 24 on the
                                   blocks of a region as a power of two, from bit 28 on by how
                                   many blocks the first one begins before the volume; bit 23:
                                   NF2_ANCHOR_DOUBT */
    NF2_ANCHOR_BLOCKS = 12,     /* 2: how many, less one */
    NF2_ANCHOR_HEAD = 14,       /* 2: block of the root log */
    NF2_ANCHOR_VOLUME = 16,     /* id */
    NF2_ANCHOR_SEQUENCE = 20,
    NF2_ANCHOR_BYTES = 24
};
/* The log goes on in a block of which no record tells: nothing that is free counts as erased. */
#define NF2_ANCHOR_DOUBT (1u << 23)
#define NF2_SLOT_BYTES 32u      /* of a super block for each anchor: an epoch, and its record */

/* Records of the root log. */
enum {
    NF2_ROOT_CHECKPOINT = 2,    /* all that a mount must know */
    NF2_ROOT_VOLUME = 3,        /* fields of the volume */
    NF2_ROOT_GROUP = 4          /* operations on the tree: see group.c */
};
#define NF2_GROUP_BYTES_MAX 1000u       /* of the payload of a GROUP, */
#define NF2_VOLUME_BYTES_MAX 500u       /* and of a VOLUME */

/*
 * Changes in a GROUP: kind 1, bytes of the body 2, the key, the body. See group.c. Reserved:
 * 3 OVER, 4 SHELF, 5 CLEAR.
 */
enum { NF2_GROUP_PUT = 0, NF2_GROUP_DEL = 1, NF2_GROUP_RANGE = 2 };

/* CHECKPOINT: places of its fields. Two of them fit in a page of 256 bytes. */
enum {
    NF2_STATE_VOLUME = 0,       /* id 4 */
    NF2_STATE_ID_LIMIT = 4,     /* 4 */
    NF2_STATE_NEXT = 8,         /* block 2 where the log goes on */
    NF2_STATE_ROOT = 10,        /* block 2 of the tree's root */
    NF2_STATE_BASE = 12,        /* end 2 of the root's base */
    NF2_STATE_GROUP_AT = 14,    /* place 2 of a GROUP that may not be applied, 0: none */
    NF2_STATE_UNCLEAN = 16,     /* mounts 2 */
    NF2_STATE_BAD = 18,         /* bad blocks 2 each, NF2_BAD_MAX of them */
    NF2_STATE_LEVEL = 26,       /* 1: of the root; from bit 4 on how many bad blocks are listed */
    NF2_STATE_FLAGS = 27,       /* 1: NF2_FLAG_* */
    NF2_STATE_SERIAL = 28,      /* 4 of the last node or block of frames; the next CHECKPOINT comes
                                   before NF2_SERIALS_AHEAD more of them */
    NF2_STATE_ERASES = 32,      /* of blocks 4 */
    NF2_STATE_REGIONS = 36,     /* 64: two bits for each region, the lowest ones first: 0 in use,
                                   1 being emptied, 2 free, 3 free and erased */
    NF2_STATE_CLAIMS = 100,     /* of nodes, data, moved data: next block 2, how many from there on
                                   are claimed 1, and erased 1 */
    NF2_STATE_TAKEN = 112,      /* regions 1 each whose erase no WEAR entry has yet, 4 of them; then
                                   how many they are 1 */
    NF2_STATE_GEOMETRY = 117,   /* 1: blocks of a region as a power of two; from bit 4 on by how
                                   many blocks the first one begins before the volume */
    NF2_STATE_SEQUENCE = 118,   /* 2, the lower half of the last anchor's sequence that was given
                                   out */
    NF2_STATE_BYTES = 120
};

#define NF2_SERIALS_AHEAD 1024u
#define NF2_SERIAL_MOST 0xFFF00000u     /* past that a volume is only read */
#define NF2_LEVEL_SPARE 0x88u   /* bits of NF2_STATE_LEVEL that are 0, else VERSION */
#define NF2_FLAG_CLEAN 1u       /* the volume was left cleanly: nothing changed since */
#define NF2_FLAG_SUSPECT 2u     /* the block where the log goes on is to be erased first */
#define NF2_FLAG_LEAKY 4u       /* blocks may be free that the next walk has to find */
#define NF2_FLAG_BAD 8u         /* from this bit on four: NF2_BAD_KEYS, NF2_BAD_SUPER */

/* The tree may have keys of bad blocks; this super block failed. */
#define NF2_BAD_KEYS 1u
#define NF2_BAD_SUPER(block) (2u << (block))

/* Records of a node. */
enum {
    NF2_NODE_HEAD = 1,          /* 'N', level 1, own block 3, volume id 4, serial 4 */
    NF2_NODE_PUT = 2,           /* key, body: of the base, or what makes it grow */
    NF2_NODE_PUTK = 3,          /* kill 2, rank 1, key, body: replaces the entry at `kill`,
                                   which has this key */
    NF2_NODE_DEL = 4,           /* kill 2 */
    NF2_NODE_REN = 5,           /* body 2, source 2, victim 2, rank 1, key:
                                   gets the body of the record at `body` */
    NF2_NODE_ADD = 6            /* rank 1, key, body: a new entry anywhere else */
};
#define NF2_NODE_HEAD_BYTES 13u
#define NF2_NODE_KEEP 0x80u     /* of the level's byte: for snapshots; the bits from 3 to 6 are 0 */
#define NF2_NODE_FRONT 9u       /* what is in front of a key at most: header, places, rank */

/* Keys under id 0. */
#define NF2_SYSTEM_ID 0u
#define NF2_KEY_BAD 'B'         /* block 4, big endian: a bad block; no body */
#define NF2_KEY_ORPHAN 'O'      /* id 4, big endian: a map that no name leads to; no body */
#define NF2_KEY_WEAR 'W'        /* first region 4, big endian: erases of NF2_WEAR_REGIONS of them */
#define NF2_WEAR_REGIONS 32u
#define NF2_WEAR_BYTES 3u       /* of each region, behind a byte: its blocks as a power of two */
#define NF2_ROOT_ID 1u
#define NF2_FIRST_ID 2u

/*
 * Names: a longer one than NF2_NAME_WHOLE is cut to NF2_NAME_PART bytes and a hash; the rest is in
 * front of the body.
 */
#define NF2_NAME_WHOLE 23u
#define NF2_NAME_PART 20u
#define NF2_NAME_KEY 24u        /* bytes of its key then */

/* First byte of the body of a name, behind the rest of a long one. */
enum {
    NF2_BODY_DIR = 1,           /* id 4 */
    NF2_BODY_INLINE = 2,        /* the data */
    NF2_BODY_LIST = 3,          /* pieces: see refs.h */
    NF2_BODY_MAP = 4,           /* id 4: of the map's entries */
    NF2_BODY_FIELDS = 5         /* bytes of fields 1, fields, and then the content: one of these */
};

/*
 * A field of a name, or of the volume: tag 1, length 1, bytes. These bits of a tag say what a
 * library does that does not know it: it refuses to open; it only reads. With neither it ignores
 * the field and keeps it. The highest tag is first: it tells for all.
 */
#define NF2_FIELD_REFUSE 0x80u
#define NF2_FIELD_READ 0x40u

/* First byte of the body of an entry of a map, and of each piece in a LIST. */
enum {
    NF2_PIECE_DATA = 8,         /* block 3, within 2, length varint */
    NF2_PIECE_FRAMES = 9,       /* block 3, base 4, length varint (0: as far as the frames go) */
    NF2_PIECE_ZEROS = 10        /* length varint */
};

/*
 * The list of first bytes is closed, in leaves: these below 32 refer to no blocks (a bit each), nor
 * do those from 0x20 to 0x3F. 11: a long attribute; 13, 14: of transactions and of walks to come.
 */
#define NF2_BODIES_WITHOUT \
    (1u << NF2_BODY_DIR | 1u << NF2_BODY_INLINE | 1u << NF2_BODY_MAP | 1u << 11 | 3u << 13)

/* Body of an entry of an inner node: the key is the lower bound of the keys below. */
#define NF2_BODY_CHILD 12       /* block 3, end of its sorted part 2 */
#define NF2_CHILD_BYTES 6u

#endif
