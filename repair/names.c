/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - the tree of names: from the root on, and /lost+found for what no name leads to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "names.h"
#include "salvage.h"

#define SUFFIX ".damaged"
#define LOST_FOUND "lost+found"

struct dir {
    uint32_t id;
    int entry;                  /* that names it best; -1: none */
    bool seen;
};

struct finding {
    struct repair *repair;
    struct dir *dir;            /* all ids of directories, in order */
    unsigned dirs;
    struct dir *file;           /* all ids of indexed files that are named */
    unsigned files;
    char *lost_found;           /* its path; NULL: not there yet */
    uint32_t lost_found_id;     /* where a directory of that name was there before; 0: none */
};

/* ---- ids ----------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct dir *left = a, *right = b;

    return left->id < right->id ? -1 : left->id > right->id;
}

static bool is_name(const struct rep_entry *entry)
{
    return entry->kind <= NF2_BODY_INDEXED || entry->body == NULL;
}

static void add_id(struct dir **list, unsigned *count, uint32_t id, int entry)
{
    *list = rep_grow(*list, *count, sizeof **list);
    (*list)[(*count)++] = (struct dir){id, entry, false};
}

/* One place for each id is left, with the entry that can be trusted most. */
static void settle_ids(const struct repair *repair, struct dir *list, unsigned *count)
{
    unsigned kept = 0;

    rep_sort(list, *count, sizeof *list, by_id);
    for (unsigned i = 0; i < *count; i++) {
        if (kept == 0 || list[kept - 1].id != list[i].id) {
            list[kept++] = list[i];
            continue;
        }
        struct dir *best = &list[kept - 1];
        const struct rep_entry *a = best->entry >= 0 ? &repair->entries.entry[best->entry] : NULL;
        const struct rep_entry *b = list[i].entry >= 0 ? &repair->entries.entry[list[i].entry] : NULL;
        if (b != NULL && (a == NULL || b->rank > a->rank || (b->rank == a->rank && b->trust < a->trust) ||
                          (b->rank == a->rank && b->trust == a->trust && rep_entry_newer(&repair->tree, b, a)))) {
            best->entry = list[i].entry;
        }
    }
    *count = kept;
}

static void find_ids(struct finding *f)
{
    const struct rep_entries *entries = &f->repair->entries;

    add_id(&f->dir, &f->dirs, NF2_ROOT_ID, -1);
    for (unsigned i = 0; i < entries->count; i++) {
        const struct rep_entry *entry = &entries->entry[i];
        uint32_t id = rep_body_id(entry);
        if (is_name(entry)) {
            add_id(&f->dir, &f->dirs, entry->key.id, -1);
        }
        if (id != 0 && entry->kind == NF2_BODY_DIR) {
            add_id(&f->dir, &f->dirs, id, (int)i);
        } else if (id != 0) {
            add_id(&f->file, &f->files, id, (int)i);
        }
    }
    settle_ids(f->repair, f->dir, &f->dirs);
    settle_ids(f->repair, f->file, &f->files);
}

static struct dir *find_id(struct dir *list, unsigned count, uint32_t id)
{
    struct dir key = {id, 0, false};

    return count > 0 ? bsearch(&key, list, count, sizeof *list, by_id) : NULL;
}

/* ---- paths --------------------------------------------------------------------------------------- */

static char *join(const char *directory, const uint8_t *name, uint32_t length, const char *suffix, unsigned number)
{
    char end[24] = "";
    uint32_t room = NF2_NAME_MAX - (uint32_t)strlen(suffix) - (number > 0 ? 12u : 0u);

    if (number > 0) {
        snprintf(end, sizeof end, ".%u", number);
    }
    length = nf2_min(length, room);
    size_t front = strlen(directory);
    char *path = rep_alloc(front + 1 + length + strlen(suffix) + strlen(end) + 1);
    memcpy(path, directory, front);
    path[front] = '/';
    for (uint32_t i = 0; i < length; i++) {
        path[front + 1 + i] = (char)(name[i] == '\0' || name[i] == '/' ? '_' : name[i]);
    }
    strcpy(path + front + 1 + length, suffix);
    strcat(path, end);
    return path;
}

static bool path_taken(const struct finding *f, const char *path)
{
    for (unsigned i = 0; i < f->repair->items; i++) {
        if (strcmp(f->repair->item[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Is there an entry of this name in the directory? It gets its path before or after. */
static bool name_taken(const struct finding *f, uint32_t directory, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    struct rep_key key = {directory, (const uint8_t *)name, (uint32_t)strlen(name)};
    unsigned at = rep_entries_seek(&f->repair->entries, &key);

    return directory != 0 && at < f->repair->entries.count && rep_key_compare(&f->repair->entries.entry[at].key, &key) == 0;
}

static bool fine_name(const uint8_t *name, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if (name[i] == '\0' || name[i] == '/') {
            return false;
        }
    }
    return length > 0 && !(name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.')));
}

/* A path that is free: the name (`made_up`: there may be another one like it), with a suffix, numbered where need be. To be freed. */
static char *free_path(const struct finding *f, const char *directory, uint32_t id, const uint8_t *name, uint32_t length, const char *suffix,
                       bool made_up)
{
    bool fine = fine_name(name, length);
    char *path = fine || length > 2 ? join(directory, name, length, suffix, 0) : join(directory, (const uint8_t *)"_", 1, suffix, 0);

    for (unsigned number = 1; (!fine || made_up || suffix[0] != '\0') && (name_taken(f, id, path) || path_taken(f, path)); number++) {
        free(path);
        path = join(directory, fine || length > 2 ? name : (const uint8_t *)"_", fine || length > 2 ? length : 1, suffix, number);
    }
    return path;
}

/* ---- items --------------------------------------------------------------------------------------- */

static struct item *add_item(struct repair *repair, char *path, enum nf2_type type)
{
    repair->item = rep_grow(repair->item, repair->items, sizeof *repair->item);
    struct item *item = &repair->item[repair->items++];
    memset(item, 0, sizeof *item);
    item->path = path;
    item->out.type = type;
    item->entry = -1;
    return item;
}

/* What can be said of a file: its entry and its content. */
static enum repair_state state_of(const struct rep_entry *entry, const struct rep_content *content)
{
    if (entry->body == NULL || (content->size == content->lost && (content->lost > 0 || content->lost_end))) {
        return REPAIR_LOST;
    }
    if (content->lost > 0 || content->lost_end) {
        return REPAIR_DAMAGED;
    }
    if (entry->trust == REP_COPY && entry->kind == NF2_BODY_INLINE) {
        return REPAIR_COPY;
    }
    if (entry->trust == REP_OUTDATED) {
        return REPAIR_OUTDATED;
    }
    if (entry->other) {
        return REPAIR_COPY;
    }
    return entry->trust >= REP_DOUBTFUL || content->doubtful ? REPAIR_DOUBTFUL
           : entry->trust == REP_UNSURE || content->unfinished ? REPAIR_UNSURE : REPAIR_WHOLE;
}

static void add_file(struct finding *f, const char *directory, uint32_t directory_id, const uint8_t *name, uint32_t length, const struct item *from,
                     enum repair_state above)
{
    struct repair *repair = f->repair;
    struct rep_content content;

    rep_item_content(repair, from, &content);
    const struct rep_entry *entry = from->entry >= 0 ? &repair->entries.entry[from->entry] : &from->made;
    enum repair_state state = from->blocks > 0 ? REPAIR_FOUND : state_of(entry, &content);
    if (from->entry < 0 && state < REPAIR_FOUND) {
        state = REPAIR_FOUND;
    }
    state = state < above ? above : state;
    if (state == REPAIR_LOST && entry->other) { /* nothing is left of what may have been newer or older */
        rep_content_free(&content);
        return;
    }
    char *path = free_path(f, directory, directory_id, name, length, state >= REPAIR_OUTDATED ? SUFFIX : "", from->entry < 0);
    struct item *item = add_item(repair, path, NF2_TYPE_FILE);
    item->id = entry->kind == NF2_BODY_INDEXED ? rep_body_id(entry) : 0;
    item->entry = from->entry;
    item->made = from->made;
    item->first_block = from->first_block;
    item->blocks = from->blocks;
    item->out.state = state;
    item->out.size = content.size;
    item->out.lost = content.lost;
    item->out.lost_end = content.lost_end;
    rep_content_free(&content);
}

static void add_directory(struct finding *f, char *path, uint32_t id, int entry, enum repair_state above)
{
    struct item *item = add_item(f->repair, path, NF2_TYPE_DIR);
    uint8_t trust = entry >= 0 ? f->repair->entries.entry[entry].trust : REP_SURE;

    item->id = id;
    item->entry = entry;
    enum repair_state state = trust >= REP_DOUBTFUL ? REPAIR_DOUBTFUL : trust == REP_UNSURE ? REPAIR_UNSURE : REPAIR_WHOLE;
    item->out.state = state < above ? above : state;
}

/* Names of a directory. Where its own name is in doubt, so are the paths of what is in it. */
static void list(struct finding *f, const char *directory, uint32_t id, enum repair_state above)
{
    struct repair *repair = f->repair;
    unsigned end, first = rep_entries_of(&repair->entries, id, &end);

    for (unsigned i = first; i < end; i++) {
        const struct rep_entry *entry = &repair->entries.entry[i];
        uint32_t body_id = rep_body_id(entry);
        if (!is_name(entry)) {
            continue;
        }
        struct dir *known = body_id == 0 ? NULL : entry->kind == NF2_BODY_DIR ? find_id(f->dir, f->dirs, body_id) : find_id(f->file, f->files, body_id);
        char *path = free_path(f, directory, id, entry->key.bytes, entry->key.length, "", false);
        if (!fine_name(entry->key.bytes, entry->key.length)) {
            rep_note(repair, REPAIR_NOTE_NAME, NF2_NONE, 0, strcpy(rep_alloc(strlen(path) + 1), path), NULL);
        }
        if (known != NULL && known->entry != (int)i && entry->other && entry->kind == NF2_BODY_DIR) { /* one of two that may be newer */
            free(path);
            continue;
        }
        if (known != NULL && !entry->other && (known->seen || known->entry != (int)i)) {
            rep_note(repair, REPAIR_NOTE_SHARED, NF2_NONE, body_id, path, NULL);
            continue;
        }
        if (known != NULL) {
            known->seen = true;
        }
        if (entry->kind == NF2_BODY_DIR && body_id != 0) {
            if (entry->other) {
                free(path);
                path = free_path(f, directory, id, entry->key.bytes, entry->key.length, SUFFIX, false);
            }
            add_directory(f, path, body_id, (int)i, above);
            continue;
        }
        struct item from = {.entry = (int)i};
        add_file(f, directory, id, (const uint8_t *)strrchr(path, '/') + 1, (uint32_t)strlen(strrchr(path, '/') + 1), &from, above);
        free(path);
    }
}

/* ---- lost and found ------------------------------------------------------------------------------ */

static const char *lost_found(struct finding *f)
{
    for (unsigned i = 0; i < f->repair->items && f->lost_found == NULL; i++) {
        const struct item *item = &f->repair->item[i];
        if (strcmp(item->path, "/" LOST_FOUND) == 0 && item->out.type == NF2_TYPE_DIR) {
            f->lost_found = strcpy(rep_alloc(strlen(item->path) + 1), item->path);
            f->lost_found_id = item->id;
        }
    }
    if (f->lost_found == NULL) {
        char *path = join("", (const uint8_t *)LOST_FOUND, (uint32_t)strlen(LOST_FOUND), "", 0);
        for (unsigned number = 1; path_taken(f, path); number++) {
            free(path);
            path = join("", (const uint8_t *)LOST_FOUND, (uint32_t)strlen(LOST_FOUND), "", number);
        }
        f->lost_found = strcpy(rep_alloc(strlen(path) + 1), path);
        add_directory(f, path, 0, -1, REPAIR_WHOLE);
    }
    return f->lost_found;
}

static void name_of(char name[24], const char *what, uint32_t number)
{
    snprintf(name, 24, "%s-%lu", what, (unsigned long)number);
}

/* All directories that are items by now are listed, and those that this finds. */
static void list_from(struct finding *f, unsigned first)
{
    for (unsigned i = first; i < f->repair->items; i++) {
        const struct item *item = &f->repair->item[i];
        if (item->out.type == NF2_TYPE_DIR && item->id != 0) {
            list(f, item->path, item->id, item->out.state < REPAIR_FOUND ? item->out.state : REPAIR_WHOLE); /* the path stays where it is when the list moves */
        }
    }
}

static bool has_names(const struct finding *f, uint32_t id)
{
    unsigned end, first = rep_entries_of(&f->repair->entries, id, &end);

    while (first < end && !is_name(&f->repair->entries.entry[first])) {
        first++;
    }
    return first < end;
}

/* Directories that the root does not lead to: first those that nothing names, then one of each circle. */
static void find_directories(struct finding *f)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < f->dirs; i++) {
            struct dir *dir = &f->dir[i];
            if (dir->seen || dir->id <= NF2_ROOT_ID || (pass == 0 && dir->entry >= 0) || !has_names(f, dir->id)) {
                continue;
            }
            char name[24];
            const char *directory = lost_found(f);
            unsigned first = f->repair->items;
            name_of(name, "dir", dir->id);
            dir->seen = true;
            add_directory(f, free_path(f, directory, f->lost_found_id, (const uint8_t *)name, (uint32_t)strlen(name), "", true), dir->id, -1, REPAIR_FOUND);
            list_from(f, first);
        }
    }
}

/* Content of files that nothing names, unless they were removed. */
static void find_files(struct finding *f)
{
    const struct rep_entries *entries = &f->repair->entries;
    uint8_t *body;

    for (unsigned i = 0; i < entries->count; i++) {
        uint32_t id = entries->entry[i].key.id;
        struct dir *known = find_id(f->file, f->files, id);
        if (is_name(&entries->entry[i]) || entries->entry[i].other || (i > 0 && entries->entry[i - 1].key.id == id) || (known != NULL && known->seen) ||
            rep_is_removed(&f->repair->tree, entries, id, false)) {
            continue;
        }
        struct item from = {.entry = -1};
        char name[24];
        body = rep_alloc(5);
        body[0] = NF2_BODY_INDEXED;
        nf2_put32(body + 1, id);
        from.made = (struct rep_entry){.body = body, .body_length = 5, .kind = NF2_BODY_INDEXED};
        name_of(name, "file", id);
        add_file(f, lost_found(f), f->lost_found_id, (const uint8_t *)name, (uint32_t)strlen(name), &from, REPAIR_WHOLE);
    }
}

/* Blocks in use that nothing owns: as they are. */
static void find_blocks(struct finding *f)
{
    struct repair *repair = f->repair;

    for (uint32_t block = 0, count; block < repair->image.blocks; block += count + 1) {
        for (count = 0; block + count < repair->image.blocks && repair->tree.role[block + count] == REP_NONE &&
                        repair->owners.owner[block + count] == NF2_NONE; count++) {
        }
        if (count > 0) {
            struct item from = {.entry = -1, .first_block = block, .blocks = count};
            char name[24];
            name_of(name, "blocks", block);
            rep_note(repair, REPAIR_NOTE_BLOCKS, block, count, NULL, NULL);
            add_file(f, lost_found(f), f->lost_found_id, (const uint8_t *)name, (uint32_t)strlen(name), &from, REPAIR_WHOLE);
        }
    }
}

void rep_names_find(struct repair *repair)
{
    struct finding f = {.repair = repair};

    find_ids(&f);
    find_id(f.dir, f.dirs, NF2_ROOT_ID)->seen = true;
    list(&f, "", NF2_ROOT_ID, REPAIR_WHOLE);
    list_from(&f, 0);
    find_directories(&f);
    find_files(&f);
    find_blocks(&f);
    free(f.dir);
    free(f.file);
    free(f.lost_found);
    for (unsigned i = 0; i < repair->items; i++) {
        repair->item[i].out.path = repair->item[i].path;
    }
}

/* ---- for people ---------------------------------------------------------------------------------- */

char *rep_key_path(const struct repair *repair, const struct rep_key *key)
{
    const struct item *item = NULL;
    char number[24];

    for (unsigned i = 0; i < repair->items && item == NULL; i++) {
        item = repair->item[i].id == key->id && key->id > NF2_ROOT_ID ? &repair->item[i] : NULL;
    }
    snprintf(number, sizeof number, "#%lu", (unsigned long)key->id);
    const char *front = item != NULL ? item->path : key->id <= NF2_ROOT_ID ? "" : number;
    if (item != NULL && item->out.type == NF2_TYPE_FILE) { /* a part of its map */
        return strcpy(rep_alloc(strlen(front) + 1), front);
    }
    return join(front, key->bytes, key->length, "", 0);
}
