/* SPDX-License-Identifier: BSD-2-Clause */
/* group_ops.c - see group_ops.h. */
#include "group_ops.h"

#include <string.h>

#define SMALL_FILES 12u
#define SMALL_HANDLE 4              /* for files that are written, replaced, appended to and removed in between */
#define SMALL_READER 5
#define WINDOW_STEPS 400u           /* the part that is overwritten more often moves */
#define TAIL_MOST 6000u

static const char *const names[GROUP_FILES] = { "data", "more" };

static uint32_t pick(struct group_ops *ops, uint32_t below)
{
    return random_number(&ops->state, below);
}

static bool chance(struct group_ops *ops, uint32_t percent)
{
    return pick(ops, 100) < percent;
}

void group_ops_init(struct group_ops *ops, uint64_t seed, uint64_t capacity)
{
    static const uint32_t fills[] = { 1000, 4096, 16384 };
    uint32_t percent;

    memset(ops, 0, sizeof *ops);
    ops->state = seed * 0x2545F4914F6CDD1Du + 991;
    ops->capacity = capacity;
    percent = 45 + pick(ops, 30);
    ops->files = 1 + (pick(ops, 3) == 0);
    for (uint32_t i = 0; i < ops->files; i++) {
        ops->target[i] = (uint32_t)(capacity * percent / 100 / ops->files);
    }
    ops->fill = fills[pick(ops, 3)];
    ops->skew = pick(ops, 3) * 35;
    ops->small = 30 + pick(ops, 3) * 30;
    ops->append_in = 20 + pick(ops, 2) * pick(ops, 300);
}

void group_ops_full(struct group_ops *ops)
{
    ops->full_seen++;
}

/* ---- large files --------------------------------------------------------------------------------- */

static int writer_of(uint32_t file)
{
    return (int)(2 * file);
}

static int reader_of(uint32_t file)
{
    return (int)(2 * file + 1);
}

/* The file's size as its writer sees it. */
static uint32_t size_of(const struct model *model, uint32_t file)
{
    const struct handle *handle = &model->handle[writer_of(file)];

    return handle->open && handle->node ? model_view(handle)->size : 0;
}

static void sync_file(struct group_ops *ops, struct call_list *list, uint32_t file)
{
    calls_add(list, OP_SYNC, writer_of(file), 0, 0, NULL, NULL);
    ops->unsynced[file] = 0;
}

static void write_at(struct group_ops *ops, struct call_list *list, uint32_t file, uint32_t at, uint32_t length)
{
    calls_add(list, OP_SEEK, writer_of(file), at, NF2_SEEK_SET, NULL, NULL);
    calls_add(list, OP_WRITE, writer_of(file), length, pick(ops, 1u << 30), NULL, NULL);
    ops->unsynced[file]++;
}

static void fill_on(struct group_ops *ops, struct call_list *list, uint32_t file, uint32_t size)
{
    write_at(ops, list, file, size, ops->fill);
    if (ops->fill <= 1000 ? chance(ops, 90) : chance(ops, 30)) {
        sync_file(ops, list, file);
    }
}

static uint32_t overwrite_length(struct group_ops *ops, uint32_t *align)
{
    uint32_t kind = pick(ops, 100);

    *align = 1;
    if (chance(ops, ops->small)) {
        return *align = 256;
    }
    if (kind < 20) {
        return *align = 1024u << pick(ops, 3);
    }
    return 64 + pick(ops, kind < 85 ? 700 : 4033);
}

/* Anywhere, in the window, or beside the last one: in front of it, so that pieces come to lie in an order of their own. */
static void overwrite(struct group_ops *ops, struct call_list *list, uint32_t file, uint32_t size)
{
    uint32_t align, length = overwrite_length(ops, &align), kind = pick(ops, 100), at, room = size / 8;

    if (ops->steps % WINDOW_STEPS == 0) {
        ops->window[file] = pick(ops, size - room);
    }
    if (kind < 8 && ops->last[file] >= length) {
        at = ops->last[file] - length;
    } else if (kind < 12) {
        at = ops->last[file] + length;
    } else {
        at = chance(ops, ops->skew) ? ops->window[file] + pick(ops, room) : pick(ops, size);
        at -= at % align;
    }
    if (at + length > size) {
        at = (size - length) / align * align;
    }
    ops->last[file] = at;
    write_at(ops, list, file, at, length);
    if (chance(ops, 75) || ops->unsynced[file] >= 6) {
        sync_file(ops, list, file);
    }
}

static void add_maintain(struct group_ops *ops, struct call_list *list)
{
    uint32_t budget = chance(ops, 6) ? 1000000u : chance(ops, 15) ? 60000u : pick(ops, 8000); /* little most often: what is under way stays so */

    calls_add(list, OP_MAINTAIN, 0, budget, 0, NULL, NULL);
}

/* A line at the file's end, and now and then idle time behind it. */
static void append(struct group_ops *ops, const struct model *model, struct call_list *list)
{
    uint32_t file = ops->append_to;

    if (chance(ops, 15)) {          /* by a handle that has to find the end of the file first */
        calls_add(list, OP_CLOSE, writer_of(file), 0, 0, NULL, NULL);
        ops->appends++;
        ops->unsynced[file] = 0;
    } else {
        write_at(ops, list, file, size_of(model, file), 10 + pick(ops, 51));
        sync_file(ops, list, file);
        if (chance(ops, 40)) {
            add_maintain(ops, list);
        }
    }
    ops->appends--;
}

static void shorten(struct group_ops *ops, const struct model *model, struct call_list *list, uint32_t file)
{
    uint32_t size = size_of(model, file), tail = size - (size < ops->target[file] ? size : ops->target[file]);
    uint32_t by = chance(ops, 50) ? tail : pick(ops, chance(ops, 50) ? 100 : 5000);

    calls_add(list, OP_TRUNCATE, writer_of(file), size - (by < size ? by : size), 0, NULL, NULL);
    if (chance(ops, 80)) {
        sync_file(ops, list, file);
    }
}

/* ---- what else happens --------------------------------------------------------------------------- */

static void read_some(struct group_ops *ops, const struct model *model, struct call_list *list, uint32_t file)
{
    int handle = reader_of(file);
    uint32_t size = size_of(model, file), kind = pick(ops, 10);

    if (!model->handle[handle].open) {
        calls_add(list, OP_OPEN, handle, NF2_O_RDONLY, 0, names[file], NULL);
    }
    calls_add(list, OP_SEEK, handle, kind < 3 ? size - (size < 500 ? size : 500) : kind < 5 ? ops->last[file] : pick(ops, size + 1), NF2_SEEK_SET, NULL, NULL);
    calls_add(list, OP_READ, handle, 1 + pick(ops, 4000), 0, NULL, NULL);
    if (chance(ops, 15)) {
        calls_add(list, OP_CLOSE, handle, 0, 0, NULL, NULL);
    }
}

static void small_file(struct group_ops *ops, const struct model *model, struct call_list *list)
{
    char name[] = "s00";
    uint32_t number = pick(ops, SMALL_FILES), kind = pick(ops, 100);

    name[1] = (char)('0' + number / 10);
    name[2] = (char)('0' + number % 10);
    if (model->handle[SMALL_HANDLE].open) {
        if (kind < 50) {
            calls_add(list, OP_WRITE, SMALL_HANDLE, 1 + pick(ops, kind < 35 ? 60 : 9000), pick(ops, 1u << 30), NULL, NULL);
            calls_add(list, chance(ops, 70) ? OP_SYNC : OP_CLOSE, SMALL_HANDLE, 0, 0, NULL, NULL);
        } else {
            calls_add(list, OP_CLOSE, SMALL_HANDLE, 0, 0, NULL, NULL);
        }
    } else if (kind < 40) {
        int flags = NF2_O_RDWR | NF2_O_CREAT | (chance(ops, 50) ? NF2_O_TRUNC : NF2_O_APPEND);

        calls_add(list, OP_OPEN, SMALL_HANDLE, flags, 0, name, NULL);
        calls_add(list, OP_WRITE, SMALL_HANDLE, 1 + pick(ops, chance(ops, 60) ? 600 : 20000), pick(ops, 1u << 30), NULL, NULL);
    } else if (kind < 75) {
        calls_add(list, OP_REMOVE, 0, 0, 0, name, NULL);
    } else if (kind < 85) {
        calls_add(list, OP_RENAME, 0, 0, 0, name, number % 2 ? "s00" : "s01");
    } else if (model->handle[SMALL_READER].open) {
        calls_add(list, OP_READ, SMALL_READER, 20000, 0, NULL, NULL);
        calls_add(list, OP_CLOSE, SMALL_READER, 0, 0, NULL, NULL);
    } else {
        calls_add(list, OP_OPEN, SMALL_READER, NF2_O_RDONLY, 0, name, NULL);
    }
}

/* The volume was full again and again: the large files become smaller, the small ones go. */
static void make_room(struct group_ops *ops, const struct model *model, struct call_list *list)
{
    char name[] = "s00";

    ops->full_seen = 0;
    calls_add(list, OP_CLOSE, SMALL_HANDLE, 0, 0, NULL, NULL);
    for (uint32_t i = 0; i < SMALL_FILES; i += 2) {
        name[1] = (char)('0' + i / 10);
        name[2] = (char)('0' + i % 10);
        calls_add(list, OP_REMOVE, 0, 0, 0, name, NULL);
    }
    for (uint32_t i = 0; i < ops->files; i++) {
        ops->target[i] -= ops->target[i] / 25;
        if (size_of(model, i) > ops->target[i]) {
            calls_add(list, OP_TRUNCATE, writer_of(i), ops->target[i], 0, NULL, NULL);
            sync_file(ops, list, i);
        }
    }
}

static void add_other(struct group_ops *ops, struct call_list *list)
{
    uint32_t kind = pick(ops, 1000);

    if (kind < 850) {
        add_maintain(ops, list);
    } else if (kind < 960) {
        calls_add(list, OP_STATFS, 0, 0, 0, NULL, NULL);
    } else if (kind < 985) {
        calls_add(list, OP_CHECK, 0, 0, 0, NULL, NULL);
    } else {
        calls_add(list, chance(ops, 60) ? OP_UNMOUNT : OP_ABANDON, 0, 0, 0, NULL, NULL);
        calls_add(list, OP_VERIFY, 0, 0, 0, NULL, NULL);
    }
}

void group_ops_next(struct group_ops *ops, const struct model *model, struct call_list *list)
{
    uint32_t file = pick(ops, ops->files), kind = pick(ops, 1000), size = size_of(model, file);

    ops->steps++;
    if (ops->full_seen >= 4) {
        make_room(ops, model, list);
        return;
    }
    if (ops->appends > 0) {
        file = ops->append_to;
        size = size_of(model, file);
    }
    if (!model->handle[writer_of(file)].open) {
        ops->unsynced[file] = 0;
        calls_add(list, OP_OPEN, writer_of(file), NF2_O_RDWR | NF2_O_CREAT, 0, names[file], NULL);
    } else if (size < ops->target[file]) {
        fill_on(ops, list, file, size);
    } else if (ops->appends > 0 && kind < 900) {
        append(ops, model, list);
    } else if (size > ops->target[file] + TAIL_MOST || kind < 4) {
        shorten(ops, model, list, file);
    } else if (pick(ops, ops->emptying ? 10 : ops->append_in) == 0) {
        ops->appends = 1 + pick(ops, 8);
        ops->append_to = file;
        append(ops, model, list);
    } else if (kind < 70) {
        read_some(ops, model, list, file);
    } else if (kind < 110) {
        small_file(ops, model, list);
    } else if (kind < 130) {
        add_other(ops, list);
    } else if (kind < 136) {
        calls_add(list, OP_CLOSE, writer_of(file), 0, 0, NULL, NULL);
    } else {
        overwrite(ops, list, file, size);
    }
}
