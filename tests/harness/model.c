/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - what calls do to the tree (model.h); what they may answer is in expect.c. */
#include "core_traits.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "model_tree.h"

void model_init(struct model *model, uint32_t page_size, uint32_t block_size)
{
    memset(model, 0, sizeof *model);
    model->page_size = page_size;
    model->block_size = block_size;
    model->root = node_new(model, NF2_TYPE_DIR, "");
}

static void list_clear(struct list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        free(list->name[i].name);
    }
    free(list->name);
    memset(list, 0, sizeof *list);
}

void model_free(struct model *model)
{
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        bytes_free(&model->handle[i].pending);
    }
    for (unsigned i = 0; i < MODEL_LISTS; i++) {
        list_clear(&model->list[i]);
    }
    node_free(model, model->root);
    memset(model, 0, sizeof *model);
}

const struct bytes *model_view(const struct handle *handle)
{
    return handle->own ? &handle->pending : &handle->node->synced;
}

/* ---- handles ------------------------------------------------------------------------------------- */

/* The handle's own content, made at the first change since the last sync. */
static struct bytes *handle_own(struct handle *handle)
{
    if (!handle->own) {
        bytes_copy(&handle->pending, &handle->node->synced);
        handle->own = true;
    }
    handle->dirty = true;
    return &handle->pending;
}

static void handle_commit(struct model *model, struct handle *handle)
{
    struct node *node = handle->node;

    if (handle->own) {
        bytes_free(&node->synced);
        node->synced = handle->pending;
        memset(&handle->pending, 0, sizeof handle->pending);
        node->changed = model->tick;
    }
    if (handle->flags & NF2_O_WRONLY) {
        node->durable = DURABLE_YES;
    }
    handle->own = handle->dirty = handle->dirty_maybe = false;
}

/* Gives up what is not synced. */
static void handle_go_back(struct handle *handle)
{
    bytes_free(&handle->pending);
    handle->own = false;
    handle->dirty = handle->node->durable != DURABLE_YES;
    handle->dirty_maybe = true;
}

/* Closes without a sync; a file that never became durable vanishes with its writer. */
static void handle_drop(struct model *model, struct handle *handle)
{
    struct node *node = handle->node;

    bytes_free(&handle->pending);
    if (!node) {
        memset(handle, 0, sizeof *handle);
        return;
    }
    node->opens--;
    if (node->writer == handle) {
        node->writer = NULL;
        if (node->durable == DURABLE_NO) {
            node_detach(model, node);
            for (unsigned i = 0; i < MODEL_HANDLES; i++) {
                if (model->handle[i].node == node && &model->handle[i] != handle) {
                    model->handle[i].node = NULL;   /* a reader of a file that is gone: may get any answer */
                }
            }
            node_free(model, node);
        }
    }
    memset(handle, 0, sizeof *handle);
}

static void apply_open(struct model *model, const struct call *call)
{
    struct handle *handle = &model->handle[call->handle];
    int flags = (int)call->number;
    struct place place;
    bool created = false;

    place_find(model, call->path, &place);
    if (!place.node) {
        uint32_t length = (uint32_t)strlen(place.name);

        place.node = node_new(model, NF2_TYPE_FILE, place.name);
        node_attach(model, place.parent, place.node);
        place.node->durable = DURABLE_NO;
        if (length > CORE_NAME_WAITS) {
            place.node->durable = DURABLE_YES;
        }
        created = true;
    }
    memset(handle, 0, sizeof *handle);
    handle->open = true;
    handle->node = place.node;
    handle->flags = flags;
    handle->node->opens++;
    if (!(flags & NF2_O_WRONLY)) {
        return;
    }
    handle->node->writer = handle;
    handle->dirty = created && place.node->durable == DURABLE_NO;
    if ((flags & NF2_O_TRUNC) && !created) {
        if (handle->node->synced.size) {
            bytes_resize(handle_own(handle), 0);
        }
        handle->dirty_maybe = true;
    }
    handle->dirty_maybe |= created;
}

static void apply_write(struct model *model, const struct call *call)
{
    struct handle *handle = &model->handle[call->handle];
    uint32_t length = (uint32_t)call->number;

    handle->refused = false;
    if (length) {
        struct bytes *bytes = handle_own(handle);
        uint32_t end;

        if (handle->flags & NF2_O_APPEND) {
            handle->position = bytes->size;
        }
        end = handle->position + length;
        if (end > bytes->size) {
            bytes_resize(bytes, end);
        }
        call_data(bytes->data + handle->position, length, call->extra);
        handle->position = end;
        handle->node->changed = model->tick;
    } else {
        handle->dirty_maybe = true;
    }
    if (handle->flags & NF2_O_SYNC) {
        handle_commit(model, handle);
    }
}

static void apply_seek(struct handle *handle, const struct call *call)
{
    int64_t base = call->extra == NF2_SEEK_SET ? 0 : call->extra == NF2_SEEK_CUR ? handle->position : model_view(handle)->size;

    handle->position = (uint32_t)(base + call->number);
}

static void apply_read(struct handle *handle, const struct call *call)
{
    uint32_t size = model_view(handle)->size;
    uint32_t rest = handle->position < size ? size - handle->position : 0;

    handle->position += (uint32_t)call->number < rest ? (uint32_t)call->number : rest;
}

static void apply_truncate(struct model *model, struct handle *handle, uint32_t size)
{
    handle->refused = false;
    if (size != model_view(handle)->size) {
        bytes_resize(handle_own(handle), size);
        handle->node->changed = model->tick;
    }
    handle->dirty_maybe = true;
}

static void apply_save(struct model *model, const struct call *call)
{
    struct place place;

    place_find(model, call->path, &place);
    if (!place.node) {
        place.node = node_new(model, NF2_TYPE_FILE, place.name);
        node_attach(model, place.parent, place.node);
    }
    place.node->durable = DURABLE_YES;
    place.node->changed = model->tick;
    bytes_resize(&place.node->synced, (uint32_t)call->number);
    if (call->number > 0) {
        call_data(place.node->synced.data, (uint32_t)call->number, call->extra);
    }
}

/* ---- names --------------------------------------------------------------------------------------- */

static void apply_rename(struct model *model, const struct call *call)
{
    struct place from, to;

    place_find(model, call->path, &from);
    place_find(model, call->path2, &to);
    if (from.node == to.node) {
        return;
    }
    if (to.node) {
        node_detach(model, to.node);
        node_free(model, to.node);
    }
    node_detach(model, from.node);
    free(from.node->name);
    from.node->name = malloc(strlen(to.name) + 1);
    if (!from.node->name) {
        abort();
    }
    strcpy(from.node->name, to.name);
    node_attach(model, to.parent, from.node);
}

static void apply_remove(struct model *model, const struct call *call)
{
    struct node *node = model_find(model, call->path);

    node_detach(model, node);
    node_free(model, node);
}

static void apply_mkdir(struct model *model, const struct call *call)
{
    struct place place;

    place_find(model, call->path, &place);
    node_attach(model, place.parent, node_new(model, NF2_TYPE_DIR, place.name));
}

/* ---- listings ------------------------------------------------------------------------------------ */

static void list_begin(struct model *model, struct list *list, struct node *node)
{
    list_clear(list);
    list->open = true;
    list->node = node;
    list->tick = model->tick;
    if (!node) {
        return;
    }
    list->room = list->count = node->children;
    list->name = calloc(list->room ? list->room : 1, sizeof *list->name);
    if (!list->name) {
        abort();
    }
    for (uint32_t i = 0; i < node->children; i++) {
        const char *name = node->child[i]->name;

        list->name[i].name = malloc(strlen(name) + 1);
        if (!list->name[i].name) {
            abort();
        }
        strcpy(list->name[i].name, name);
    }
}

/* Whether listing `name` next leaves out one that was there all the time (NULL: the end). */
static const char *list_skips(const struct list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct list_name *entry = &list->name[i];

        if (!entry->gone && (!list->begun || core_name_order(entry->name, list->last) > 0) && (!name || core_name_order(entry->name, name) < 0)) {
            return "a name that was there all the time was left out";
        }
    }
    return NULL;
}

static bool list_knows(const struct list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->name[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

const char *model_listed(struct model *model, unsigned index, int answer, const struct nf2_dirent *entry)
{
    struct list *list = &model->list[index];
    const struct node *node;

    if (!list->node) {
        return answer <= 0 ? NULL : "an entry of a directory that was removed";
    }
    if (answer == 0) {
        return list_skips(list, NULL);
    }
    if (answer != 1) {
        return "nf2_readdir failed";
    }
    if (list->begun && core_name_order(entry->name, list->last) <= 0) {
        return "names are not in order, or one came twice";
    }
    if (!list_knows(list, entry->name)) {
        return "a name that never was there";
    }
    if (list_skips(list, entry->name)) {
        return list_skips(list, entry->name);
    }
    strcpy(list->last, entry->name);
    list->begun = true;
    node = node_child(list->node, entry->name);
    if (node && node->changed <= list->tick) {
        uint32_t size = node->type == NF2_TYPE_FILE ? node->synced.size : 0;
        uint32_t pending = node->writer ? model_view(node->writer)->size : size;

        if (entry->type != node->type || (entry->size != size && entry->size != pending)) {
            return "type or size of a listed entry";
        }
    }
    return NULL;
}

/* ---- calls --------------------------------------------------------------------------------------- */

void model_apply(struct model *model, const struct call *call)
{
    struct handle *handle = &model->handle[call->handle % MODEL_HANDLES];
    struct list *list = &model->list[call->handle % MODEL_LISTS];

    model->tick++;
    if (call->op <= OP_SYNC && call->op > OP_CLOSE && !handle->node) {
        return;
    }
    switch (call->op) {
    case OP_OPEN: apply_open(model, call); break;
    case OP_CLOSE:
        if (handle->node && call->extra == 0) {
            handle_commit(model, handle);
        }
        handle_drop(model, handle);
        break;
    case OP_READ: apply_read(handle, call); break;
    case OP_WRITE: apply_write(model, call); break;
    case OP_SEEK: apply_seek(handle, call); break;
    case OP_TRUNCATE: apply_truncate(model, handle, (uint32_t)call->number); break;
    case OP_PREALLOCATE:
        if ((uint32_t)call->number > handle->promised) {    /* a smaller size takes nothing back */
            handle->promised = (uint32_t)call->number;
            handle->promised_from = model_view(handle)->size;
        }
        handle->dirty_maybe = true;
        break;
    case OP_SYNC: handle_commit(model, handle); break;
    case OP_SAVE: apply_save(model, call); break;
    case OP_MKDIR: apply_mkdir(model, call); break;
    case OP_REMOVE: apply_remove(model, call); break;
    case OP_RENAME: apply_rename(model, call); break;
    case OP_OPENDIR: {
        struct node *node = model_find(model, call->path);

        list_begin(model, list, node);
        node->opens++;
        break;
    }
    case OP_REWINDDIR: list_begin(model, list, list->node); break;
    case OP_CLOSEDIR:
        if (list->node) {
            list->node->opens--;
        }
        list_clear(list);
        break;
    case OP_UNMOUNT: case OP_ABANDON: model_lose_unsynced(model); break;
    default: break;
    }
}

void model_failed(struct model *model, const struct call *call, int answer)
{
    struct handle *handle = &model->handle[call->handle % MODEL_HANDLES];

    model->tick++;
    if (call->op == OP_CLOSE && handle->open) {
        handle_drop(model, handle);
    }
    if ((call->op == OP_WRITE || call->op == OP_TRUNCATE) && answer == NF2_ERR_NOSPC && handle->node) {
        handle->refused = true;
        if (call->op == OP_WRITE && (handle->flags & NF2_O_SYNC)) {
            handle_go_back(handle);
        }
    }
}

void model_lose_unsynced(struct model *model)
{
    for (unsigned i = 0; i < MODEL_LISTS; i++) {
        if (model->list[i].node) {
            model->list[i].node->opens--;
        }
        list_clear(&model->list[i]);
    }
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        if (model->handle[i].open) {
            handle_drop(model, &model->handle[i]);
        }
    }
}

/* ---- space --------------------------------------------------------------------------------------- */

/*
 * A file of more than half a page may take whole blocks, plus one for its framed tail; what is pending
 * takes the same again. Entries may stand in half empty blocks, twice (old and new copy).
 */
static void node_space(const struct model *model, const struct node *node, uint64_t *data, uint64_t *entries)
{
    uint32_t block = model->block_size;

    *entries += 64 + strlen(node->name);
    if (node->type == NF2_TYPE_FILE) {
        uint32_t inline_max = model->page_size / 2;
        uint32_t sizes[2] = { node->synced.size, 0 };

        if (node->writer) {
            const struct handle *writer = node->writer;

            sizes[1] = writer->own ? writer->pending.size : 0;
            if (writer->promised > sizes[1]) {
                sizes[1] = writer->promised;
            }
        }
        for (unsigned i = 0; i < 2; i++) {
            if (sizes[i] > inline_max) {
                *data += ((uint64_t)sizes[i] + block - 1) / block * block + block;
            } else {
                *entries += sizes[i];
            }
        }
        if (sizes[0] > inline_max) {
            *entries += 16u * (sizes[0] / (model->short_pieces ? 256u : block));    /* extents, where it is in pieces */
        }
    }
    for (uint32_t i = 0; i < node->children; i++) {
        node_space(model, node->child[i], data, entries);
    }
}

uint64_t model_space(const struct model *model)
{
    uint64_t data = 0, entries = 0;

    node_space(model, model->root, &data, &entries);
    return data + 2 * entries + model->block_size;
}
