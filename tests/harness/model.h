/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - what a volume must look like: a file tree in plain memory, and what each call on it may answer.
 *
 * A file has its synced content (what other handles read and what survives a cut) and, in the handle
 * that writes it, its pending content. `model_expect` says which answers the header allows for a call in
 * the present state; `model_apply` does a call that succeeded; `model_failed` does what a failure changes.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/nf2fs.h"
#include "calls.h"

#define MODEL_HANDLES 8
#define MODEL_LISTS 3

struct bytes {
    uint8_t *data;
    uint32_t size, room;
};

enum durable { DURABLE_NO, DURABLE_YES };

struct node {
    enum nf2_type type;
    char *name;
    struct node *parent;            /* NULL: the root */
    struct node **child;            /* in the order of the names' bytes */
    uint32_t children, room;
    struct bytes synced;
    enum durable durable;           /* of the entry itself, for a file that was created */
    uint32_t opens;                 /* handles or listings that are open on it */
    struct handle *writer;
    uint64_t changed;               /* tick of the last change that a listing could see */
};

struct handle {
    bool open;
    struct node *node;              /* NULL: the file is gone (its creation failed at the writer's close) */
    int flags;
    uint32_t position;
    bool dirty;                     /* pending content exists, or the file was created and not synced */
    bool dirty_maybe;               /* a call was made that may or may not count as unsynced */
    bool refused;                   /* the last write, or change of the size: nothing is synced */
    bool own;                       /* `pending` holds the content */
    struct bytes pending;
    uint32_t promised;              /* bytes preallocated */
    uint32_t promised_from;         /* size of the file then */
};

struct list_name {
    char *name;
    bool gone;                      /* removed meanwhile: may be listed or not */
};

struct list {
    bool open;
    struct node *node;              /* NULL: the directory was removed meanwhile */
    struct list_name *name;         /* in order; those of opendir and those added meanwhile (gone from the start) */
    uint32_t count, room;
    char last[NF2_NAME_MAX + 1];    /* the name that was listed last */
    bool begun;
    uint64_t tick;
};

struct model {
    struct node *root;
    struct handle handle[MODEL_HANDLES];
    struct list list[MODEL_LISTS];
    uint32_t page_size, block_size;
    bool short_pieces;              /* files may have been written in pieces of 256 bytes: their maps take more */
    uint32_t nodes;
    uint64_t tick;
};

struct expect {
    bool skip;                      /* the call would misuse the interface (a handle that is open is opened): leave it out */
    bool anything;                  /* nothing is said about the answer */
    bool success;                   /* success is allowed */
    int32_t value;                  /* what it returns then */
    int32_t value_max;              /* ... or anything up to that */
    int errors[16];
    unsigned error_count;
    bool nospc;                     /* may fail with NOSPC where the volume is nearly full */
    uint64_t need;                  /* bytes that it may need at worst */
};

void model_init(struct model *model, uint32_t page_size, uint32_t block_size);
void model_free(struct model *model);
/* `to` is not initialized. */
void model_copy(struct model *to, const struct model *from);

void model_expect(struct model *model, const struct call *call, struct expect *expect);
bool expect_allows(const struct expect *expect, int32_t answer);    /* NOSPC not judged here */
void model_apply(struct model *model, const struct call *call);
void model_failed(struct model *model, const struct call *call, int answer);

/* The volume is left or cut: handles close without a sync, files that were not durable vanish. */
void model_lose_unsynced(struct model *model);

/* The node at `path`, or NULL. */
struct node *model_find(struct model *model, const char *path);
/* Writes the path of `node` into `path`; false where it is longer than `size`. */
bool model_path(const struct node *node, char *path, uint32_t size);
/* What reads through the handle see. */
const struct bytes *model_view(const struct handle *handle);
/* Judges an answer of nf2_readdir, and notes it. NULL: right; otherwise what is wrong. */
const char *model_listed(struct model *model, unsigned list, int answer, const struct nf2_dirent *entry);

/* An upper bound of the bytes that the content may occupy, with all that is pending, in whole blocks. */
uint64_t model_space(const struct model *model);

/* ---- images: a whole tree, flat ------------------------------------------------------------------ */

struct image_entry {
    char *path;
    enum nf2_type type;
    struct bytes content;
    bool size_free;                 /* the listed size may be that of unsynced data */
    uint32_t size_pending;
    uint32_t size_listed;
};

struct image {
    struct image_entry *entry;      /* depth first, names in order */
    uint32_t count, room;
};

/* Adds an entry; `content` is copied. */
struct image_entry *image_add(struct image *image, const char *path, enum nf2_type type, const uint8_t *content, uint32_t size);
void image_free(struct image *image);
/* The tree as other handles see it, or (`durable`) as it would be after a cut now. */
void model_image(const struct model *model, bool durable, struct image *image);
/* A model of a volume that holds exactly this. */
void model_from_image(struct model *model, const struct image *image);
/* Compares what was found with what is wanted; writes the first difference into `text`. */
bool image_matches(const struct image *found, const struct image *wanted, char *text, uint32_t text_size);

#endif
