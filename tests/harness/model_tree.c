/* SPDX-License-Identifier: BSD-2-Clause */
/* model_tree.c - see model_tree.h. */
#include "core_traits.h"
#include "model_tree.h"

#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
    if (!memory) {
        abort();
    }
    return memory;
}

void bytes_resize(struct bytes *bytes, uint32_t size)
{
    if (size > bytes->room) {
        bytes->room = size + size / 4 + 16;
        bytes->data = must(realloc(bytes->data, bytes->room));
    }
    if (size > bytes->size) {
        memset(bytes->data + bytes->size, 0, size - bytes->size);
    }
    bytes->size = size;
}

void bytes_copy(struct bytes *to, const struct bytes *from)
{
    bytes_resize(to, from->size);
    if (from->size) {
        memcpy(to->data, from->data, from->size);
    }
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

/* ---- nodes --------------------------------------------------------------------------------------- */

struct node *node_new(struct model *model, enum nf2_type type, const char *name)
{
    struct node *node = must(calloc(1, sizeof *node));

    node->type = type;
    node->name = must(malloc(strlen(name) + 1));
    strcpy(node->name, name);
    node->durable = DURABLE_YES;
    node->changed = model->tick;
    model->nodes++;
    return node;
}

/* Index of the first child that is not before `name`. */
static uint32_t child_index(const struct node *parent, const char *name)
{
    uint32_t low = 0, high = parent->children;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (core_name_order(parent->child[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct node *node_child(const struct node *parent, const char *name)
{
    uint32_t index = child_index(parent, name);

    return index < parent->children && strcmp(parent->child[index]->name, name) == 0 ? parent->child[index] : NULL;
}

/* Listings that are under way may list the name from now on. */
static void lists_added(struct model *model, const struct node *parent, const char *name)
{
    for (unsigned i = 0; i < MODEL_LISTS; i++) {
        struct list *list = &model->list[i];
        struct list_name *entry;

        if (!list->open || list->node != parent) {
            continue;
        }
        if (list->count == list->room) {
            list->room = list->room ? 2 * list->room : 64;
            list->name = must(realloc(list->name, list->room * sizeof *list->name));
        }
        entry = &list->name[list->count++];
        entry->name = must(malloc(strlen(name) + 1));
        strcpy(entry->name, name);
        entry->gone = true;
    }
}

static void lists_removed(struct model *model, const struct node *parent, const char *name)
{
    for (unsigned i = 0; i < MODEL_LISTS; i++) {
        struct list *list = &model->list[i];

        for (uint32_t j = 0; list->open && list->node == parent && j < list->count; j++) {
            if (strcmp(list->name[j].name, name) == 0) {
                list->name[j].gone = true;
            }
        }
    }
}

void node_attach(struct model *model, struct node *parent, struct node *node)
{
    uint32_t index = child_index(parent, node->name);

    if (parent->children == parent->room) {
        parent->room = parent->room ? 2 * parent->room : 8;
        parent->child = must(realloc(parent->child, parent->room * sizeof(struct node *)));
    }
    memmove(parent->child + index + 1, parent->child + index, (parent->children - index) * sizeof(struct node *));
    parent->child[index] = node;
    parent->children++;
    node->parent = parent;
    node->changed = model->tick;
    lists_added(model, parent, node->name);
}

void node_detach(struct model *model, struct node *node)
{
    struct node *parent = node->parent;
    uint32_t index = child_index(parent, node->name);

    memmove(parent->child + index, parent->child + index + 1, (parent->children - index - 1) * sizeof(struct node *));
    parent->children--;
    node->parent = NULL;
    lists_removed(model, parent, node->name);
}

void node_free(struct model *model, struct node *node)
{
    for (uint32_t i = 0; i < node->children; i++) {
        node_free(model, node->child[i]);
    }
    for (unsigned i = 0; i < MODEL_LISTS; i++) {
        if (model->list[i].open && model->list[i].node == node) {
            model->list[i].node = NULL;
        }
    }
    bytes_free(&node->synced);
    free(node->child);
    free(node->name);
    free(node);
    model->nodes--;
}

bool node_inside(const struct node *node, const struct node *ancestor)
{
    for (; node; node = node->parent) {
        if (node == ancestor) {
            return true;
        }
    }
    return false;
}

/* ---- paths --------------------------------------------------------------------------------------- */

static void place_error(struct place *place, int error)
{
    place->node = NULL;
    place->parent = NULL;
    if (place->error_count < 4) {
        place->errors[place->error_count++] = error;
    }
}

/* Length of the name at `*path`, which is moved to its first byte; 0 at the end of the path. */
static size_t next_name(const char **path)
{
    while (**path == '/') {
        (*path)++;
    }
    return strcspn(*path, "/");
}

/* The path leads nowhere; a name too long after that point may be reported instead. */
static void place_lost(struct place *place, int error, const char *rest)
{
    place_error(place, error);
    for (size_t length = next_name(&rest); length; rest += length, length = next_name(&rest)) {
        if (length > NF2_NAME_MAX) {
            place_error(place, NF2_ERR_NAMETOOLONG);
            return;
        }
    }
}

void place_find(struct model *model, const char *path, struct place *place)
{
    struct node *node = model->root;
    const char *name = path;

    memset(place, 0, sizeof *place);
    place->node = node;
    for (size_t length = next_name(&name); length; length = next_name(&name)) {
        const char *text = name;

        name += length;
        if (!node) {
            place_lost(place, NF2_ERR_NOENT, text);
            return;
        }
        if (node->type != NF2_TYPE_DIR) {
            place_lost(place, NF2_ERR_NOTDIR, text);
            return;
        }
        if (length > NF2_NAME_MAX) {
            place_error(place, NF2_ERR_NAMETOOLONG);
            next_name(&name);
            if (*name) {
                place_error(place, NF2_ERR_NOENT);
            }
            return;
        }
        place->parent = NULL;
        if (length == 1 && text[0] == '.') {
            continue;
        }
        if (length == 2 && text[0] == '.' && text[1] == '.') {
            node = node->parent ? node->parent : node;
            place->node = node;
            continue;
        }
        memcpy(place->name, text, length);
        place->name[length] = 0;
        place->parent = node;
        node = node_child(node, place->name);
        place->node = node;
    }
}

struct node *model_find(struct model *model, const char *path)
{
    struct place place;

    place_find(model, path, &place);
    return place.node;
}

bool model_path(const struct node *node, char *path, uint32_t size)
{
    uint32_t end = size - 1;

    path[end] = 0;
    for (; node->parent; node = node->parent) {
        uint32_t length = (uint32_t)strlen(node->name);

        if (length + 1 > end) {
            return false;
        }
        end -= length;
        memcpy(path + end, node->name, length);
        if (node->parent->parent) {
            path[--end] = '/';
        }
    }
    memmove(path, path + end, size - end);
    return true;
}
