/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made.h - images made by hand, from docs/FORMAT.md: a tree of one inner node and two leaves, or whatever a test
 * makes of it. 64 blocks of 4 KiB, pages of 256 bytes.
 */
#ifndef MADE_H
#define MADE_H

#include <stdbool.h>
#include <stdint.h>

#include "repair/repair.h"

#define MADE_BLOCKS 64u
#define MADE_BLOCK 4096u
#define MADE_PAGE 256u
#define MADE_VOLUME 0xC0FFEE11u
#define MADE_STATE 120u         /* bytes of a CHECKPOINT */
enum { MADE_HEAD = 3, MADE_NEXT = 4, MADE_INNER = 5, MADE_LEAF = 6, MADE_OTHER = 7, MADE_DATA = 8, MADE_FRAMES = 12, MADE_USED = 16 };

struct made_entry {
    uint32_t id;
    uint8_t length, key[28];
    uint16_t body_length;
    uint8_t body[600];
};

struct made {
    uint8_t *bytes;
    struct made_entry entry[60];    /* in order; those from `bound` on are in the second leaf */
    unsigned entries, bound;
    uint32_t child[2];              /* blocks of the leaves, as the inner node says */
    int child_base;                 /* is added to the end of their bases */
    unsigned again;                 /* how often the inner node has the second leaf once more */
    unsigned bound_key;             /* the entry whose key the second leaf has there; 0: its first one */
    uint32_t end[MADE_BLOCKS];      /* of each log: where the next group goes */
    uint16_t epoch;
    uint32_t serial;                /* of the next node or block of frames */
    uint8_t level_bits[2];          /* beside the level, in the heads of leaves and of the inner node */
    uint8_t frames_head[9];         /* 'F', serial, volume; 0: none */
    /* CHECKPOINT */
    uint8_t level;
    bool clean;
    uint8_t bad_flags;
    uint32_t id_limit, erased, erased_count, group_at, root;
    uint16_t unclean;
    uint8_t bits[64];
};

void made_begin(struct made *made);     /* entries and all else as they are right */
void made_build(struct made *made);     /* the image of it: erased, then written */
void made_end(struct made *made);

uint32_t made_crc(uint32_t crc, const void *data, uint32_t length);

/* Adds an entry in its order. */
struct made_entry *made_add(struct made *made, uint32_t id, const void *key, uint8_t length, const void *body, uint16_t body_length);
struct made_entry *made_name(struct made *made, uint32_t id, const char *name, const void *body, uint16_t body_length);
struct made_entry *made_piece(struct made *made, uint32_t id, uint32_t offset, uint32_t block, uint32_t within, uint32_t length);

/* Appends a record, a group of its own unless `more`; returns its place. */
uint32_t made_record(struct made *made, uint32_t block, uint8_t type, bool more, const void *payload, uint32_t length);
uint32_t made_key(uint8_t *to, uint32_t id, const void *key, uint8_t length);

/* Place of the record in a leaf that has this key in it; 0: none. */
uint32_t made_find(const struct made *made, uint32_t block, const char *name);

#endif
