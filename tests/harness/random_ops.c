/* SPDX-License-Identifier: BSD-2-Clause */
/* random_ops.c - see random_ops.h. */
#include "random_ops.h"

#include <string.h>

#define PATH_SIZE 4096u
#define DEPTH_MAX 12u

const char *const profile_names[PROFILE_COUNT] = { "mix", "small", "logs", "random", "full", "dirs" };

static uint32_t pick(struct generator *g, uint32_t below)
{
    return random_number(&g->state, below);
}

static bool chance(struct generator *g, uint32_t percent)
{
    return pick(g, 100) < percent;
}

void generator_init(struct generator *g, uint64_t seed, enum profile profile, uint64_t capacity, uint32_t page_size,
                    uint32_t block_size)
{
    memset(g, 0, sizeof *g);
    g->state = seed * 0x2545F4914F6CDD1Du + 77;
    g->profile = profile;
    g->capacity = capacity;
    g->page_size = page_size;
    g->block_size = block_size;
}

void generator_full(struct generator *g)
{
    if (++g->full_seen >= 5) {
        g->full_seen = 0;
        g->emptying = true;
    }
}

/* ---- names --------------------------------------------------------------------------------------- */

static void name_of_bytes(struct generator *g, char *name, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        do {
            name[i] = (char)(1 + pick(g, 255));
        } while (name[i] == '/' || (name[i] == '.' && length <= 2));
    }
    name[length] = 0;
}

static void name_of_letters(struct generator *g, char *name, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        name[i] = (char)('a' + pick(g, 26));
    }
    name[length] = 0;
}

static void new_name(struct generator *g, char *name)
{
    uint32_t kind = pick(g, 100);

    if (g->profile == PROFILE_DIRS && kind < 50) {
        uint32_t number = pick(g, 400);

        strcpy(name, "entry-000");
        name[6] = (char)('0' + number / 100);
        name[7] = (char)('0' + number / 10 % 10);
        name[8] = (char)('0' + number % 10);
    } else if (kind < 60) {
        name[0] = (char)('a' + pick(g, 16));
        name[1] = (char)('0' + pick(g, 3));
        name[kind < 30 ? 1 : 2] = 0;
    } else if (kind < 88) {
        name_of_letters(g, name, 3 + pick(g, 20));
    } else if (kind < 94) {
        name_of_letters(g, name, chance(g, 10) ? NF2_NAME_MAX : 100 + pick(g, 156));
    } else {
        name_of_bytes(g, name, 1 + pick(g, 40));
    }
}

/* A directory or file, reached by random steps from the root; NULL: none of the type was met. */
static struct node *some_node(struct generator *g, struct model *model, enum nf2_type type)
{
    for (unsigned attempt = 0; attempt < 4; attempt++) {
        struct node *node = model->root;

        while (node->type == NF2_TYPE_DIR && node->children) {
            if (type == NF2_TYPE_DIR && chance(g, 40)) {
                break;
            }
            node = node->child[pick(g, node->children)];
        }
        if (node->type == NF2_TYPE_FILE && type == NF2_TYPE_DIR) {
            node = node->parent;
        }
        if (node->type == type) {
            return node;
        }
    }
    return type == NF2_TYPE_DIR ? model->root : NULL;
}

static uint32_t depth_of(const struct node *node)
{
    uint32_t depth = 0;

    for (; node->parent; node = node->parent) {
        depth++;
    }
    return depth;
}

/* Now and then the same path by a detour. */
static void decorate(struct generator *g, char *path)
{
    size_t length = strlen(path);
    char *slash = strchr(path, '/');

    if (length + 300 > PATH_SIZE || chance(g, 92)) {
        return;
    }
    if (chance(g, 30)) {
        memmove(path + 1, path, length + 1);
        path[0] = '/';
    } else if (chance(g, 40)) {
        memmove(path + 2, path, length + 1);
        memcpy(path, "./", 2);
    } else if (slash && slash != path) {
        size_t first = (size_t)(slash - path);
        char head[NF2_NAME_MAX + 1];

        if (first > NF2_NAME_MAX) {
            return;
        }
        memcpy(head, path, first);      /* a/b: a/../a/b */
        memmove(path + first + 4, path, length + 1);
        memcpy(path, head, first);
        memcpy(path + first, "/../", 4);
    } else {
        memmove(path + 3, path, length + 1);
        memcpy(path, "../", 3);
    }
}

static void node_path(struct generator *g, const struct node *node, char *path)
{
    if (!model_path(node, path, PATH_SIZE)) {
        strcpy(path, "/");
    }
    if (!path[0]) {
        strcpy(path, "/");
    }
    decorate(g, path);
}

/* A path that most often does not exist yet, in a directory that does. */
static void new_path(struct generator *g, struct model *model, char *path)
{
    struct node *parent = some_node(g, model, NF2_TYPE_DIR);
    char name[NF2_NAME_MAX + 100];
    size_t length;

    while (depth_of(parent) > DEPTH_MAX) {
        parent = parent->parent;
    }
    if (g->profile == PROFILE_DIRS && chance(g, 40)) {
        parent = model->root;
    }
    if (!model_path(parent, path, PATH_SIZE - 2 * sizeof name)) {
        path[0] = 0;
    }
    length = strlen(path);
    if (length) {
        path[length++] = '/';
    }
    new_name(g, name);
    strcpy(path + length, name);
    decorate(g, path);
}

/* A path that is wrong in some way. */
static void bad_path(struct generator *g, struct model *model, char *path)
{
    struct node *file = some_node(g, model, NF2_TYPE_FILE);

    switch (pick(g, 5)) {
    case 0: strcpy(path, "no such directory/x"); break;
    case 1: name_of_letters(g, path, NF2_NAME_MAX + 1 + pick(g, 50)); break;
    case 2: strcpy(path, chance(g, 50) ? "/" : ".."); break;
    case 3: new_path(g, model, path); strcat(path, "/x"); break;
    default:
        if (!file || !model_path(file, path, PATH_SIZE - 8)) {
            strcpy(path, "nothing");
        }
        strcat(path, "/x");
        break;
    }
}

/* A path for a call that wants one that exists (mostly). */
static void old_path(struct generator *g, struct model *model, enum nf2_type type, char *path)
{
    struct node *node = some_node(g, model, type);

    if (chance(g, 3)) {
        bad_path(g, model, path);
    } else if (!node || chance(g, 3)) {
        new_path(g, model, path);
    } else {
        node_path(g, node, path);
    }
}

/* ---- files --------------------------------------------------------------------------------------- */

static int free_handle(struct generator *g, const struct model *model)
{
    unsigned first = pick(g, 6);

    for (unsigned i = 0; i < 6; i++) {
        if (!model->handle[(first + i) % 6].open) {
            return (int)((first + i) % 6);
        }
    }
    return -1;
}

/* An open handle (mostly), for writing if asked. */
static int some_handle(struct generator *g, const struct model *model, bool writing)
{
    unsigned first = pick(g, 6);

    for (unsigned i = 0; i < 6; i++) {
        const struct handle *handle = &model->handle[(first + i) % 6];

        if (handle->open && (!writing || (handle->flags & NF2_O_WRONLY))) {
            return (int)((first + i) % 6);
        }
    }
    return chance(g, 5) ? (int)first : -1;
}

static int open_flags(struct generator *g, bool create)
{
    int flags = chance(g, 75) ? NF2_O_RDWR : chance(g, 50) ? NF2_O_WRONLY : NF2_O_RDONLY;

    if (flags == NF2_O_RDONLY) {
        return flags;
    }
    flags |= create || chance(g, 20) ? NF2_O_CREAT : 0;
    flags |= chance(g, 5) ? NF2_O_EXCL : 0;
    flags |= chance(g, 12) ? NF2_O_TRUNC : 0;
    flags |= chance(g, g->profile == PROFILE_LOGS ? 50 : 12) ? NF2_O_APPEND : 0;
    flags |= chance(g, 8) ? NF2_O_SYNC : 0;
    if ((flags & NF2_O_EXCL) && !(flags & NF2_O_CREAT)) {
        flags &= ~NF2_O_EXCL;
    }
    return chance(g, 1) ? 0 : flags;
}

static void add_open(struct generator *g, struct model *model, struct call_list *list)
{
    static char path[PATH_SIZE];
    static const uint8_t create_percent[PROFILE_COUNT] = { 40, 60, 15, 10, 60, 60 };
    int handle = free_handle(g, model);
    bool create = chance(g, create_percent[g->profile]);

    if (handle < 0) {
        calls_add(list, OP_CLOSE, (int)pick(g, 6), 0, 0, NULL, NULL);
        return;
    }
    if (create) {
        new_path(g, model, path);
    } else {
        old_path(g, model, NF2_TYPE_FILE, path);
    }
    calls_add(list, OP_OPEN, handle, open_flags(g, create), 0, path, NULL);
}

static uint32_t write_size(struct generator *g)
{
    uint32_t kind = pick(g, 100);

    switch (g->profile) {
    case PROFILE_SMALL: case PROFILE_DIRS: return kind < 70 ? 1 + pick(g, 64) : pick(g, 300);
    case PROFILE_LOGS: return kind < 80 ? 1 + pick(g, 64) : kind < 95 ? pick(g, 600) : pick(g, 5000);
    case PROFILE_FULL: return kind < 40 ? pick(g, 20000) : kind < 70 ? 4096u * (1 + pick(g, 3)) : pick(g, 2000);
    default: break;
    }
    if (kind < 40) {
        return 1 + pick(g, 64);
    }
    if (kind < 60) {
        return pick(g, 512);
    }
    if (kind < 80) {
        return pick(g, 4097);
    }
    return kind < 92 ? 4096u * (1 + pick(g, 2)) : pick(g, 20001);
}

static void add_seek(struct generator *g, const struct model *model, struct call_list *list, int handle)
{
    const struct handle *h = &model->handle[handle];
    uint32_t size = h->open && h->node ? model_view(h)->size : 100;
    uint32_t kind = pick(g, 100);
    int64_t offset = pick(g, size + 1);
    uint32_t whence = NF2_SEEK_SET;

    if (kind < 25) {
        offset &= ~(int64_t)4095;
    } else if (kind < 35) {
        offset &= ~(int64_t)(g->page_size - 1);
    } else if (kind < 50) {
        offset = 0;
        whence = NF2_SEEK_END;
    } else if (kind < 54) {
        offset = size + pick(g, chance(g, 90) ? 3000 : 30000);      /* past the end */
    } else if (kind < 60) {
        whence = NF2_SEEK_CUR;
        offset = (int64_t)pick(g, 2000) - 1000;
    } else if (kind < 62) {
        offset = chance(g, 50) ? -1 - (int64_t)pick(g, 100) : 0x7FFFFFFF;
        whence = pick(g, 4);
        if (whence == NF2_SEEK_SET && offset > 0) {
            offset = size;      /* a write there would fill the gap with 2 GiB */
        } else if (whence == NF2_SEEK_CUR && offset > 0) {
            offset = 1;
        }
    }
    calls_add(list, OP_SEEK, handle, offset, whence, NULL, NULL);
}

static void add_write(struct generator *g, struct model *model, struct call_list *list)
{
    int handle = some_handle(g, model, chance(g, 98));
    bool sync = chance(g, g->profile == PROFILE_LOGS || g->profile == PROFILE_RANDOM ? 50 : 10);

    if (handle < 0) {
        add_open(g, model, list);
        return;
    }
    if (chance(g, g->profile == PROFILE_RANDOM ? 90 : g->profile == PROFILE_LOGS ? 5 : 30)) {
        add_seek(g, model, list, handle);
    }
    calls_add(list, OP_WRITE, handle, write_size(g), pick(g, 1u << 30), NULL, NULL);
    if (sync) {
        calls_add(list, OP_SYNC, handle, 0, 0, NULL, NULL);
    }
}

static void add_truncate(struct generator *g, struct model *model, struct call_list *list)
{
    int handle = some_handle(g, model, true);
    const struct handle *h;
    uint32_t size, to;

    if (handle < 0) {
        return;
    }
    h = &model->handle[handle];
    size = h->open && h->node ? model_view(h)->size : 100;
    to = chance(g, 70) ? pick(g, size + 1) : size + pick(g, 9000);
    if (chance(g, 15)) {
        to = chance(g, 50) ? 0 : size;
    }
    calls_add(list, chance(g, 80) ? OP_TRUNCATE : OP_PREALLOCATE, handle, to, 0, NULL, NULL);
}

static void add_read(struct generator *g, struct model *model, struct call_list *list)
{
    int handle = some_handle(g, model, false);

    if (handle < 0) {
        add_open(g, model, list);
        return;
    }
    if (chance(g, 70)) {
        add_seek(g, model, list, handle);
    }
    if (chance(g, 20)) {
        calls_add(list, chance(g, 50) ? OP_TELL : OP_SIZE, handle, 0, 0, NULL, NULL);
    }
    calls_add(list, OP_READ, handle, write_size(g), 0, NULL, NULL);
}

/* ---- names and listings -------------------------------------------------------------------------- */

static void add_rename(struct generator *g, struct model *model, struct call_list *list)
{
    static char from[PATH_SIZE], to[PATH_SIZE];
    enum nf2_type type = chance(g, 65) ? NF2_TYPE_FILE : NF2_TYPE_DIR;

    old_path(g, model, type, from);
    if (chance(g, 55)) {
        new_path(g, model, to);
    } else if (chance(g, 10) && strlen(from) + 300 < PATH_SIZE) {
        strcpy(to, from);           /* into itself */
        strcat(to, "/");
        new_name(g, to + strlen(to));
    } else if (chance(g, 5)) {
        strcpy(to, from);
    } else {
        old_path(g, model, chance(g, 85) ? type : NF2_TYPE_FILE, to);
    }
    calls_add(list, OP_RENAME, 0, 0, 0, from, to);
}

static void add_listing(struct generator *g, struct model *model, struct call_list *list)
{
    static char path[PATH_SIZE];
    int index = (int)pick(g, MODEL_LISTS);

    if (!model->list[index].open && chance(g, 97)) {
        if (chance(g, 40)) {
            strcpy(path, "/");
        } else {
            old_path(g, model, NF2_TYPE_DIR, path);
        }
        calls_add(list, OP_OPENDIR, index, 0, 0, path, NULL);
    } else if (chance(g, 65)) {
        calls_add(list, OP_READDIR, index, 1 + pick(g, chance(g, 80) ? 8 : 500), 0, NULL, NULL);
    } else {
        calls_add(list, chance(g, 20) ? OP_REWINDDIR : OP_CLOSEDIR, index, 0, 0, NULL, NULL);
    }
}

static void add_remove(struct generator *g, struct model *model, struct call_list *list)
{
    static char path[PATH_SIZE];

    old_path(g, model, chance(g, 80) ? NF2_TYPE_FILE : NF2_TYPE_DIR, path);
    calls_add(list, OP_REMOVE, 0, 0, 0, path, NULL);
}

static void add_stat(struct generator *g, struct model *model, struct call_list *list)
{
    static char path[PATH_SIZE];

    old_path(g, model, chance(g, 80) ? NF2_TYPE_FILE : NF2_TYPE_DIR, path);
    calls_add(list, OP_STAT, 0, 0, 0, path, NULL);
}

static void add_other(struct generator *g, struct call_list *list)
{
    uint32_t kind = pick(g, 1000);

    if (kind < 600) {
        uint32_t budget = chance(g, 30) ? 1000000u : chance(g, 50) ? 60000u : pick(g, 2000);

        calls_add(list, OP_MAINTAIN, 0, budget, 0, NULL, NULL);
    } else if (kind < 850) {
        calls_add(list, OP_STATFS, 0, 0, 0, NULL, NULL);
    } else if (kind < 900) {
        calls_add(list, OP_CHECK, 0, 0, 0, NULL, NULL);
    } else if (kind < 925) {
        calls_add(list, OP_VERIFY, 0, 0, 0, NULL, NULL);
    } else if (kind < 965) {
        calls_add(list, chance(g, 60) ? OP_UNMOUNT : OP_ABANDON, 0, 0, 0, NULL, NULL);
        calls_add(list, OP_VERIFY, 0, 0, 0, NULL, NULL);
    } else {
        calls_add(list, OP_MAINTAIN, 0, pick(g, 100), 0, NULL, NULL);
    }
}

/* ---- choice -------------------------------------------------------------------------------------- */

enum kind { KIND_OPEN, KIND_CLOSE, KIND_WRITE, KIND_READ, KIND_SYNC, KIND_TRUNCATE, KIND_STAT, KIND_MKDIR, KIND_REMOVE,
            KIND_RENAME, KIND_LIST, KIND_OTHER, KIND_COUNT };

static const uint8_t weights[PROFILE_COUNT][KIND_COUNT] = {
    /*              open close write read sync trunc stat mkdir remove rename list other */
    /* mix */     {  14,  10,   24,  14,   5,   4,    4,   3,    7,     5,     5,   4 },
    /* small */   {  24,  18,   20,  10,   4,   2,    3,   1,    8,     5,     3,   4 },
    /* logs */    {   7,   4,   50,  14,   8,   2,    1,   1,    3,     2,     1,   3 },
    /* random */  {   5,   3,   50,  25,   4,   3,    1,   1,    2,     1,     1,   3 },
    /* full */    {  18,  14,   38,   6,   4,   3,    1,   2,    3,     2,     2,   3 },
    /* dirs */    {  20,  16,    8,   4,   2,   1,    6,  10,   10,    12,    10,   3 }
};

static void add_kind(struct generator *g, struct model *model, struct call_list *list, enum kind kind)
{
    static char path[PATH_SIZE];

    switch (kind) {
    case KIND_OPEN: add_open(g, model, list); break;
    case KIND_CLOSE: /* or a discard: without another number, so that the sequence of a seed stays what it was */
        calls_add(list, OP_CLOSE, (int)pick(g, 6), 0, (g->state >> 40) % 6 == 0, NULL, NULL);
        break;
    case KIND_WRITE: add_write(g, model, list); break;
    case KIND_READ: add_read(g, model, list); break;
    case KIND_SYNC: {
        int handle = some_handle(g, model, chance(g, 90));

        if (handle >= 0) {
            calls_add(list, OP_SYNC, handle, 0, 0, NULL, NULL);
        }
        break;
    }
    case KIND_TRUNCATE: add_truncate(g, model, list); break;
    case KIND_STAT: add_stat(g, model, list); break;
    case KIND_MKDIR:
        new_path(g, model, path);
        calls_add(list, OP_MKDIR, 0, 0, 0, path, NULL);
        break;
    case KIND_REMOVE: add_remove(g, model, list); break;
    case KIND_RENAME: add_rename(g, model, list); break;
    case KIND_LIST: add_listing(g, model, list); break;
    default: add_other(g, list); break;
    }
}

static enum kind choose(struct generator *g)
{
    const uint8_t *weight = weights[g->profile];
    uint32_t total = 0, at;
    unsigned kind = 0;

    for (unsigned i = 0; i < KIND_COUNT; i++) {
        total += weight[i];
    }
    at = pick(g, total);
    while (at >= weight[kind]) {
        at -= weight[kind++];
    }
    return (enum kind)kind;
}

/* How full the volume may become before the generator removes: percent of the capacity. */
static uint32_t fill_limit(const struct generator *g)
{
    return g->profile == PROFILE_FULL ? 1000 : 60;
}

void generator_next(struct generator *g, struct model *model, struct call_list *list)
{
    unsigned before = list->count;

    if (g->calls++ % 16 == 0) {
        g->space = model_space(model);
        if (g->space * 100 > g->capacity * fill_limit(g) || (g->profile != PROFILE_FULL && model->nodes > 1200)) {
            g->emptying = true;
        } else if (g->space * 100 < g->capacity * 30 && model->nodes < 600) {
            g->emptying = false;
        }
    }
    while (list->count == before) {
        if (g->emptying && chance(g, 70)) {
            if (chance(g, 25)) {
                calls_add(list, OP_CLOSE, (int)pick(g, 6), 0, 0, NULL, NULL);
            }
            add_remove(g, model, list);
        } else {
            add_kind(g, model, list, choose(g));
        }
    }
}
