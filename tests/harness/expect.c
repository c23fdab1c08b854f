/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.c - which answers the header allows for a call. Where several errors apply at once, or the
 * header leaves it open, each of them is right.
 */
#include <string.h>

#include "core_traits.h"
#include "model.h"
#include "model_tree.h"

static void allow(struct expect *expect, int error)
{
    if (expect->error_count < sizeof expect->errors / sizeof expect->errors[0]) {
        expect->errors[expect->error_count++] = error;
    }
}

static void allow_place(struct expect *expect, const struct place *place)
{
    for (unsigned i = 0; i < place->error_count; i++) {
        allow(expect, place->errors[i]);
    }
}

static void succeed(struct expect *expect, int32_t value)
{
    if (expect->error_count == 0) {
        expect->success = true;
        expect->value = expect->value_max = value;
    }
}

/* The call takes space: `data` bytes of file data at worst, and its share of metadata. */
static void takes_space(const struct model *model, struct expect *expect, uint64_t data)
{
    expect->nospc = true;
    expect->need = data + 2u * model->block_size;
}

/* ---- files --------------------------------------------------------------------------------------- */

static void expect_open_there(const struct node *node, int flags, struct expect *expect)
{
    bool exclusive = (flags & NF2_O_CREAT) && (flags & NF2_O_EXCL);

    if (exclusive) {
        allow(expect, NF2_ERR_EXIST);
    }
    if (node->type == NF2_TYPE_DIR) {
        allow(expect, NF2_ERR_ISDIR);
    } else if ((flags & NF2_O_WRONLY) && node->writer) {
        allow(expect, NF2_ERR_BUSY);
    }
}

static void expect_open(struct model *model, const struct call *call, struct expect *expect)
{
    int flags = (int)call->number;
    struct place place;

    if (model->handle[call->handle].open) {
        expect->skip = true;
        return;
    }
    if (!(flags & NF2_O_RDWR)) {
        allow(expect, NF2_ERR_INVAL);
        return;
    }
    if (!(flags & NF2_O_WRONLY) && (flags & (NF2_O_CREAT | NF2_O_TRUNC))) {
        expect->skip = true;    /* the header does not say what it means: tested apart */
        return;
    }
    place_find(model, call->path, &place);
    allow_place(expect, &place);
    if (place.node) {
        expect_open_there(place.node, flags, expect);
    } else if (place.error_count == 0) {
        if (!(flags & NF2_O_CREAT)) {
            allow(expect, NF2_ERR_NOENT);
        }
        takes_space(model, expect, 0);
    }
    succeed(expect, 0);
}

static void expect_write(struct model *model, struct handle *handle, const struct call *call, struct expect *expect)
{
    uint32_t length = (uint32_t)call->number;
    uint32_t size = model_view(handle)->size;
    uint64_t from = (handle->flags & NF2_O_APPEND) ? size : handle->position;
    uint64_t end = from + length;

    if (!(handle->flags & NF2_O_WRONLY)) {
        allow(expect, NF2_ERR_BADF);
        return;
    }
    if (length && end > NF2_FILE_MAX) {
        allow(expect, NF2_ERR_FBIG);
    }
    if (length && !(from == size && from >= handle->promised_from && end <= handle->promised)) {
        uint64_t gap = from > size ? from - size : 0;

        takes_space(model, expect, length + gap + 2u * model->block_size);
    } else if (!length && (handle->flags & NF2_O_SYNC) && (handle->dirty || handle->dirty_maybe)) {
        takes_space(model, expect, 0);  /* it is a sync, of a new name for one */
    }
    succeed(expect, (int32_t)length);
}

static void expect_seek(const struct handle *handle, const struct call *call, struct expect *expect)
{
    int64_t base = call->extra == NF2_SEEK_SET ? 0 : call->extra == NF2_SEEK_CUR ? handle->position : model_view(handle)->size;

    base += call->number;
    if (call->extra > NF2_SEEK_END || base < 0 || base > (int64_t)NF2_FILE_MAX) {
        allow(expect, NF2_ERR_INVAL);
    }
    succeed(expect, (int32_t)base);
}

static void expect_size_change(struct model *model, const struct handle *handle, const struct call *call, struct expect *expect)
{
    uint32_t size = model_view(handle)->size;

    if (!(handle->flags & NF2_O_WRONLY)) {
        allow(expect, NF2_ERR_BADF);
        return;
    }
    if (call->number > (int64_t)NF2_FILE_MAX) {
        allow(expect, NF2_ERR_FBIG);
        allow(expect, NF2_ERR_INVAL);
    }
    takes_space(model, expect, call->number > size ? (uint64_t)call->number - size : 0);
    if (call->op == OP_PREALLOCATE) {
        expect->need += size;   /* it may take what overwriting will need as well */
    }
    succeed(expect, 0);
}

static void expect_handle(struct model *model, const struct call *call, struct expect *expect)
{
    struct handle *handle = &model->handle[call->handle];
    uint32_t size, rest;

    if (!handle->open) {
        allow(expect, NF2_ERR_BADF);
        return;
    }
    if (!handle->node) {
        expect->anything = true;
        return;
    }
    size = model_view(handle)->size;
    rest = handle->position < size ? size - handle->position : 0;
    switch (call->op) {
    case OP_READ:
        if (!(handle->flags & NF2_O_RDONLY)) {
            allow(expect, NF2_ERR_BADF);
        }
        succeed(expect, (int32_t)((uint32_t)call->number < rest ? (uint32_t)call->number : rest));
        break;
    case OP_WRITE: expect_write(model, handle, call, expect); break;
    case OP_SEEK: expect_seek(handle, call, expect); break;
    case OP_TELL: succeed(expect, (int32_t)handle->position); break;
    case OP_SIZE: succeed(expect, (int32_t)size); break;
    case OP_TRUNCATE: case OP_PREALLOCATE: expect_size_change(model, handle, call, expect); break;
    default:    /* sync, close */
        if (call->op == OP_CLOSE && call->extra != 0) { /* a discard */
            succeed(expect, 0);
        } else if (handle->refused) {
            allow(expect, NF2_ERR_NOSPC);
        } else {
            succeed(expect, 0);
            if (handle->dirty || handle->dirty_maybe) {
                takes_space(model, expect, 0);
            }
        }
        break;
    }
}

/* ---- whole files --------------------------------------------------------------------------------- */

static void expect_save(struct model *model, const struct call *call, struct expect *expect)
{
    struct place place;

    place_find(model, call->path, &place);
    allow_place(expect, &place);
    if (place.node) {
        expect_open_there(place.node, NF2_O_WRONLY, expect);
    }
    takes_space(model, expect, (uint64_t)call->number + model->block_size);
    succeed(expect, 0);
}

static void expect_load(struct model *model, const struct call *call, struct expect *expect)
{
    struct place place;

    place_find(model, call->path, &place);
    allow_place(expect, &place);
    if (place.node) {
        expect_open_there(place.node, NF2_O_RDONLY, expect);
        if (place.node->synced.size > call->number) {
            allow(expect, NF2_ERR_FBIG);
        }
        succeed(expect, (int32_t)place.node->synced.size);
    } else if (place.error_count == 0) {
        allow(expect, NF2_ERR_NOENT);
    }
}

/* ---- names --------------------------------------------------------------------------------------- */

static void expect_mkdir(struct model *model, const struct call *call, struct expect *expect)
{
    struct place place;

    place_find(model, call->path, &place);
    allow_place(expect, &place);
    if (place.node) {
        allow(expect, NF2_ERR_EXIST);
        if (!place.parent) {
            allow(expect, NF2_ERR_INVAL);
        }
    }
    takes_space(model, expect, 0);
    succeed(expect, 0);
}

static void expect_remove(struct model *model, const struct call *call, struct expect *expect)
{
    struct place place;

    place_find(model, call->path, &place);
    allow_place(expect, &place);
    if (place.node && !place.node->parent) {
        allow(expect, NF2_ERR_INVAL);
    } else if (place.node) {
        if (place.node->children) {
            allow(expect, NF2_ERR_NOTEMPTY);
        }
        if (place.node->type == NF2_TYPE_FILE && place.node->opens) {
            allow(expect, NF2_ERR_BUSY);
        }
    } else if (place.error_count == 0) {
        allow(expect, NF2_ERR_NOENT);
    }
    succeed(expect, 0);
    if (place.node && place.node->type == NF2_TYPE_DIR && (place.node->opens || !place.parent)) {
        allow(expect, NF2_ERR_BUSY);    /* listed at the moment, or named by '.' or '..': open to the implementation */
        allow(expect, NF2_ERR_INVAL);
    }
}

/* Whether moving `node` at this moment must fail because it is open. */
static void expect_move(const struct node *node, struct expect *expect)
{
    if (node->type == NF2_TYPE_FILE && node->durable == DURABLE_NO) {
        allow(expect, NF2_ERR_BUSY);    /* created, and never synced */
    }
}

static void expect_replace(const struct node *from, const struct node *to, struct expect *expect, bool *may_be_busy)
{
    if (from->type == NF2_TYPE_FILE && to->type == NF2_TYPE_DIR) {
        allow(expect, NF2_ERR_ISDIR);
    }
    if (from->type == NF2_TYPE_DIR && to->type == NF2_TYPE_FILE) {
        allow(expect, NF2_ERR_NOTDIR);
    }
    if (to->children) {
        allow(expect, NF2_ERR_NOTEMPTY);
    }
    if (to->type == NF2_TYPE_FILE && to->opens) {
        allow(expect, NF2_ERR_BUSY);
    } else if (to->opens) {
        *may_be_busy = true;
    }
}

/* The root, '.' or '..' at an end of a rename: refused, with a code that is not said. */
static void expect_rename_special(struct expect *expect)
{
    static const int codes[] = { NF2_ERR_INVAL, NF2_ERR_BUSY, NF2_ERR_EXIST, NF2_ERR_NOTEMPTY, NF2_ERR_ISDIR, NF2_ERR_NOTDIR };

    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        allow(expect, codes[i]);
    }
}

static void expect_rename(struct model *model, const struct call *call, struct expect *expect)
{
    struct place from, to;
    bool may_be_busy = false;

    place_find(model, call->path, &from);
    place_find(model, call->path2, &to);
    allow_place(expect, &from);
    allow_place(expect, &to);
    if (!from.node && from.error_count == 0) {
        allow(expect, NF2_ERR_NOENT);
    }
    if ((from.node && !from.parent) || (to.node && !to.parent)) {
        expect_rename_special(expect);
        return;
    }
    if (expect->error_count || from.node == to.node) {
        if (from.node && from.node == to.node) {
            may_be_busy = from.node->opens > 0;
            succeed(expect, 0);
        }
        if (may_be_busy) {
            allow(expect, NF2_ERR_BUSY);
        }
        return;
    }
    if (from.node->type == NF2_TYPE_DIR && node_inside(to.parent, from.node)) {
        allow(expect, NF2_ERR_INVAL);
    }
    if (to.node) {
        expect_replace(from.node, to.node, expect, &may_be_busy);
    }
    expect_move(from.node, expect);
    takes_space(model, expect, 0);
    succeed(expect, 0);
    if (may_be_busy) {
        allow(expect, NF2_ERR_BUSY);
    }
}

static void expect_named(struct model *model, const struct call *call, struct expect *expect)
{
    struct place place;

    place_find(model, call->path, &place);
    allow_place(expect, &place);
    if (!place.node && place.error_count == 0) {
        allow(expect, NF2_ERR_NOENT);
    }
    if (call->op == OP_OPENDIR && place.node && place.node->type != NF2_TYPE_DIR) {
        allow(expect, NF2_ERR_NOTDIR);
    }
    succeed(expect, 0);
}

static void expect_listing(struct model *model, const struct call *call, struct expect *expect)
{
    const struct list *list = &model->list[call->handle];

    if (!list->open) {
        allow(expect, NF2_ERR_BADF);
        return;
    }
    if (!list->node && call->op != OP_CLOSEDIR) {
        expect->anything = true;
        return;
    }
    succeed(expect, 0);
}

/* ---- all ----------------------------------------------------------------------------------------- */

void model_expect(struct model *model, const struct call *call, struct expect *expect)
{
    memset(expect, 0, sizeof *expect);
    switch (call->op) {
    case OP_OPEN: expect_open(model, call, expect); break;
    case OP_CLOSE: case OP_READ: case OP_WRITE: case OP_SEEK: case OP_TELL: case OP_SIZE: case OP_TRUNCATE:
    case OP_PREALLOCATE: case OP_SYNC: expect_handle(model, call, expect); break;
    case OP_STAT: expect_named(model, call, expect); break;
    case OP_OPENDIR:
        expect_named(model, call, expect);
        expect->skip = model->list[call->handle].open;
        break;
    case OP_MKDIR: expect_mkdir(model, call, expect); break;
    case OP_REMOVE: expect_remove(model, call, expect); break;
    case OP_RENAME: expect_rename(model, call, expect); break;
    case OP_READDIR: case OP_REWINDDIR: case OP_CLOSEDIR: expect_listing(model, call, expect); break;
    case OP_SAVE: expect_save(model, call, expect); break;
    case OP_LOAD: expect_load(model, call, expect); break;
    case OP_MAINTAIN:
        succeed(expect, 0);
        expect->value_max = 1;
        break;
    default: succeed(expect, 0); break;
    }
}

bool expect_allows(const struct expect *expect, int32_t answer)
{
    if (expect->anything || (expect->success && answer >= expect->value && answer <= expect->value_max)) {
        return true;
    }
    for (unsigned i = 0; i < expect->error_count; i++) {
        if (answer == expect->errors[i]) {
            return true;
        }
    }
    return answer == NF2_ERR_NOSPC && expect->nospc;
}
