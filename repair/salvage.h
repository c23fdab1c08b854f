/* SPDX-License-Identifier: BSD-2-Clause */
/* salvage.h - the inside of struct repair: the image, what was read from it, and the tree of names that comes out. */
#ifndef REPAIR_SALVAGE_H
#define REPAIR_SALVAGE_H

#include "contents.h"
#include "repair.h"

struct item {
    struct repair_item out;
    char *path;
    uint32_t id;                /* of a directory or an indexed file, 0: none */
    int entry;                  /* number in the entries; -1: none (lost+found) */
    struct rep_entry made;      /* where there is none: a stand-in */
    uint32_t first_block, blocks;   /* a run of blocks as they are; 0: none */
};

struct repair {
    struct rep_image image;
    struct rep_meta meta;
    struct rep_tree tree;
    struct rep_entries entries;
    struct rep_owners owners;
    struct item *item;
    unsigned items;
    struct repair_note *note;
    unsigned notes;
    bool lossy;
    uint8_t *copy;              /* of the image, where bad blocks hold something */
};

/* The content of a file, to be freed. */
void rep_item_content(const struct repair *repair, const struct item *item, struct rep_content *content);

void rep_note(struct repair *repair, enum repair_note_kind kind, uint32_t block, uint32_t number, char *from, char *to);

/* The names: directories from the root on, what has none in /lost+found (names.c). */
void rep_names_find(struct repair *repair);

/* A name as text of a path; bytes that no name may have become '_'. To be freed. */
char *rep_key_path(const struct repair *repair, const struct rep_key *key);

#endif
