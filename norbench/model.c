/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - what must be on the volume. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static uint32_t bucket_of(const char *path)
{
    uint32_t hash = 2166136261u;
    for (; *path != '\0'; path++) {
        hash = (hash ^ (uint8_t)*path) * 16777619u;
    }
    return hash % MODEL_BUCKETS;
}

void model_open(struct model *model)
{
    memset(model, 0, sizeof(*model));
    model->root.directory = true;
}

static void free_node(struct model_node *node)
{
    free(node->data);
    free(node->path);
    free(node);
}

void model_close(struct model *model)
{
    for (uint32_t i = 0; i < MODEL_BUCKETS; i++) {
        while (model->buckets[i] != NULL) {
            struct model_node *node = model->buckets[i];
            model->buckets[i] = node->next;
            free_node(node);
        }
    }
}

struct model_node *model_find(struct model *model, const char *path)
{
    if (strcmp(path, "/") == 0) {
        return &model->root;
    }
    struct model_node *node = model->buckets[bucket_of(path)];
    while (node != NULL && strcmp(node->path, path) != 0) {
        node = node->next;
    }
    return node;
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

static struct model_node *parent_of(struct model *model, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return &model->root;
    }
    char *parent = copy_text(path, (size_t)(slash - path));
    struct model_node *node = parent == NULL ? NULL : model_find(model, parent);
    free(parent);
    return node;
}

static void link_node(struct model *model, struct model_node *node)
{
    uint32_t bucket = bucket_of(node->path);
    node->next = model->buckets[bucket];
    model->buckets[bucket] = node;
}

static void unlink_node(struct model *model, struct model_node *node)
{
    struct model_node **link = &model->buckets[bucket_of(node->path)];
    while (*link != node) {
        link = &(*link)->next;
    }
    *link = node->next;
}

struct model_node *model_add(struct model *model, const char *path, bool directory)
{
    struct model_node *node = model_find(model, path);
    struct model_node *parent = parent_of(model, path);
    if (node != NULL || parent == NULL) {
        return node;
    }
    node = calloc(1, sizeof(*node));
    if (node == NULL) {
        return NULL;
    }
    node->path = copy_text(path, strlen(path));
    if (node->path == NULL) {
        free(node);
        return NULL;
    }
    node->directory = directory;
    parent->children++;
    link_node(model, node);
    return node;
}

void model_remove(struct model *model, const char *path)
{
    struct model_node *node = model_find(model, path);
    struct model_node *parent = parent_of(model, path);
    if (node == NULL || parent == NULL || node == &model->root) {
        return;
    }
    parent->children--;
    unlink_node(model, node);
    free_node(node);
}

int model_rename(struct model *model, const char *from, const char *to)
{
    struct model_node *node = model_find(model, from);
    struct model_node *old_parent = parent_of(model, from);
    struct model_node *new_parent = parent_of(model, to);
    char *path = copy_text(to, strlen(to));
    if (path == NULL || node == NULL || old_parent == NULL || new_parent == NULL) {
        free(path);
        return -1;
    }
    model_remove(model, to);
    unlink_node(model, node);
    free(node->path);
    node->path = path;
    old_parent->children--;
    new_parent->children++;
    link_node(model, node);
    return 0;
}

static int make_room(struct model_node *node, uint32_t size)
{
    if (size <= node->room) {
        return 0;
    }
    uint32_t room = node->room == 0 ? 64 : node->room;
    while (room < size) {
        room *= 2;
    }
    uint8_t *data = realloc(node->data, room);
    if (data == NULL) {
        return -1;
    }
    node->data = data;
    node->room = room;
    return 0;
}

int model_resize(struct model_node *node, uint32_t size)
{
    if (make_room(node, size) != 0) {
        return -1;
    }
    if (size > node->size) {
        memset(node->data + node->size, 0, size - node->size);
    }
    node->size = size;
    return 0;
}

int model_write(struct model_node *node, uint32_t position, const void *data, uint32_t length)
{
    uint32_t end = position + length;
    if (end > node->size && model_resize(node, end) != 0) {
        return -1;
    }
    if (length > 0) {
        memcpy(node->data + position, data, length);
    }
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const struct model_node *const *left = a;
    const struct model_node *const *right = b;
    return strcmp((*left)->path, (*right)->path);
}

static uint32_t count_nodes(const struct model *model)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MODEL_BUCKETS; i++) {
        for (const struct model_node *node = model->buckets[i]; node != NULL; node = node->next) {
            count++;
        }
    }
    return count;
}

const struct model_node **model_sorted(const struct model *model, uint32_t *count)
{
    *count = count_nodes(model);
    const struct model_node **nodes = malloc((*count + 1) * sizeof(*nodes));
    uint32_t filled = 0;
    for (uint32_t i = 0; i < MODEL_BUCKETS && nodes != NULL; i++) {
        for (const struct model_node *node = model->buckets[i]; node != NULL; node = node->next) {
            nodes[filled++] = node;
        }
    }
    if (nodes != NULL) {
        qsort(nodes, *count, sizeof(*nodes), by_path);
    }
    return nodes;
}
