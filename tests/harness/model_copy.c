/* SPDX-License-Identifier: BSD-2-Clause */
/* model_copy.c - a model once more, with its open handles and listings (model.h). */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "model_tree.h"

static void *must(void *memory)
{
    if (!memory) {
        abort();
    }
    return memory;
}

static char *copy_text(const char *text)
{
    return strcpy(must(malloc(strlen(text) + 1)), text);
}

/* Handles and listings of the copy that still point to `from` point to its copy from here on. */
static void follow(struct model *to, const struct model *model, const struct node *from, struct node *copy)
{
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        if (model->handle[i].node == from) {
            to->handle[i].node = copy;
        }
        if (from->writer == &model->handle[i]) {
            copy->writer = &to->handle[i];
        }
    }
    for (unsigned i = 0; i < MODEL_LISTS; i++) {
        if (model->list[i].node == from) {
            to->list[i].node = copy;
        }
    }
}

static struct node *copy_node(struct model *to, const struct model *model, const struct node *from, struct node *parent)
{
    struct node *copy = must(malloc(sizeof *copy));

    *copy = *from;
    copy->name = copy_text(from->name);
    copy->parent = parent;
    copy->writer = NULL;
    memset(&copy->synced, 0, sizeof copy->synced);
    bytes_copy(&copy->synced, &from->synced);
    copy->room = from->children;
    copy->child = from->children ? must(calloc(from->children, sizeof(struct node *))) : NULL;
    follow(to, model, from, copy);
    for (uint32_t i = 0; i < from->children; i++) {
        copy->child[i] = copy_node(to, model, from->child[i], copy);
    }
    return copy;
}

void model_copy(struct model *to, const struct model *from)
{
    *to = *from;
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        memset(&to->handle[i].pending, 0, sizeof to->handle[i].pending);
        bytes_copy(&to->handle[i].pending, &from->handle[i].pending);
    }
    for (unsigned i = 0; i < MODEL_LISTS; i++) {
        const struct list *list = &from->list[i];

        to->list[i].room = list->count;
        to->list[i].name = list->name ? must(calloc(list->count ? list->count : 1, sizeof *list->name)) : NULL;
        for (uint32_t j = 0; j < list->count; j++) {
            to->list[i].name[j].name = copy_text(list->name[j].name);
            to->list[i].name[j].gone = list->name[j].gone;
        }
    }
    to->root = copy_node(to, from, from->root, NULL);
}
