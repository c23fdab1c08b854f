/* SPDX-License-Identifier: BSD-2-Clause */
/* image.c - whole trees, flat: of the model, of a volume, compared (model.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "model_tree.h"

struct image_entry *image_add(struct image *image, const char *path, enum nf2_type type, const uint8_t *content, uint32_t size)
{
    struct image_entry *entry;

    if (image->count == image->room) {
        image->room = image->room ? 2 * image->room : 64;
        image->entry = realloc(image->entry, image->room * sizeof *image->entry);
        if (!image->entry) {
            abort();
        }
    }
    entry = &image->entry[image->count++];
    memset(entry, 0, sizeof *entry);
    entry->path = malloc(strlen(path) + 1);
    if (!entry->path) {
        abort();
    }
    strcpy(entry->path, path);
    entry->type = type;
    entry->size_listed = size;
    bytes_resize(&entry->content, size);
    if (size) {
        memcpy(entry->content.data, content, size);
    }
    return entry;
}

void image_free(struct image *image)
{
    for (uint32_t i = 0; i < image->count; i++) {
        free(image->entry[i].path);
        bytes_free(&image->entry[i].content);
    }
    free(image->entry);
    memset(image, 0, sizeof *image);
}

static void add_node(const struct node *node, bool durable, struct image *image)
{
    static char path[64 * 1024];
    struct image_entry *entry;

    if (durable && node->durable == DURABLE_NO) {
        return;
    }
    if (node->parent && model_path(node, path, sizeof path)) {
        entry = image_add(image, path, node->type, node->synced.data, node->synced.size);
        if (node->writer && !durable) {
            entry->size_free = true;
            entry->size_pending = model_view(node->writer)->size;
        }
    }
    for (uint32_t i = 0; i < node->children; i++) {
        add_node(node->child[i], durable, image);
    }
}

void model_image(const struct model *model, bool durable, struct image *image)
{
    memset(image, 0, sizeof *image);
    add_node(model->root, durable, image);
}

void model_from_image(struct model *model, const struct image *image)
{
    for (uint32_t i = 0; i < image->count; i++) {
        const struct image_entry *entry = &image->entry[i];
        struct place place;
        struct node *node;

        place_find(model, entry->path, &place);
        node = node_new(model, entry->type, place.name);
        bytes_copy(&node->synced, &entry->content);
        node_attach(model, place.parent, node);
    }
}

static void say(char *text, uint32_t size, const char *what, const char *path)
{
    snprintf(text, size, "%s: %.100s", what, path);
}

static bool entry_matches(const struct image_entry *found, const struct image_entry *wanted, char *text, uint32_t size)
{
    uint32_t length = wanted->content.size;

    if (found->type != wanted->type) {
        say(text, size, "another type", wanted->path);
        return false;
    }
    if (found->size_listed != wanted->size_listed && !(wanted->size_free && found->size_listed == wanted->size_pending)) {
        snprintf(text, size, "listed size %lu, not %lu: %.100s", (unsigned long)found->size_listed,
                 (unsigned long)wanted->size_listed, wanted->path);
        return false;
    }
    if (found->content.size != length) {
        snprintf(text, size, "%lu bytes, not %lu: %.100s", (unsigned long)found->content.size, (unsigned long)length, wanted->path);
        return false;
    }
    for (uint32_t i = 0; i < length; i++) {
        if (found->content.data[i] != wanted->content.data[i]) {
            snprintf(text, size, "byte %lu of %lu is %02X, not %02X: %.100s", (unsigned long)i, (unsigned long)length,
                     found->content.data[i], wanted->content.data[i], wanted->path);
            return false;
        }
    }
    return true;
}

bool image_matches(const struct image *found, const struct image *wanted, char *text, uint32_t text_size)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < wanted->count; i++) {
        const struct image_entry *entry = &wanted->entry[i];
        bool there = at < found->count && strcmp(found->entry[at].path, entry->path) == 0;

        if (!there) {
            bool order = at < found->count;

            snprintf(text, text_size, "missing: %.100s (found %.100s)", entry->path, order ? found->entry[at].path : "the end");
            return false;
        }
        if (!entry_matches(&found->entry[at], entry, text, text_size)) {
            return false;
        }
        at++;
    }
    if (at < found->count) {
        say(text, text_size, "there is too much", found->entry[at].path);
        return false;
    }
    return true;
}
