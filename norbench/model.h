/* SPDX-License-Identifier: BSD-2-Clause */
/* model.h - what must be on the volume: names and contents, in the host's memory. */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_BUCKETS 8192u

struct model_node {
    struct model_node *next;
    char *path;
    bool directory;
    bool uncertain;             /* a call on it failed by design: its content is not compared */
    uint8_t *data;
    uint32_t size, room;
    uint32_t unsynced;          /* open handles through which it was changed since their last sync */
    bool fresh;                 /* it was never synced: a file system need not show it */
    uint32_t children;          /* of a directory */
};

struct model {
    struct model_node root;
    struct model_node *buckets[MODEL_BUCKETS];
};

void model_open(struct model *model);
void model_close(struct model *model);

/* NULL where there is none; "/" is the root. */
struct model_node *model_find(struct model *model, const char *path);
/* Finds or makes; NULL without memory or parent. */
struct model_node *model_add(struct model *model, const char *path, bool directory);
void model_remove(struct model *model, const char *path);
/* Moves a file, over an existing one too. Returns 0, or -1 without memory. */
int model_rename(struct model *model, const char *from, const char *to);

/* All nodes but the root in the order of their paths, the same on every computer. NULL without memory; to be freed. */
const struct model_node **model_sorted(const struct model *model, uint32_t *count);

/* Both return 0, or -1 without memory. New bytes before `position` are zeros. */
int model_write(struct model_node *node, uint32_t position, const void *data, uint32_t length);
int model_resize(struct model_node *node, uint32_t size);

#endif
