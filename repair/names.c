/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - the tree of names: from the root on, and /lost+found for what no name leads to. */
#include <stdio.h>

#include "inside.h"

#define SUFFIX ".damaged"
#define LOST_FOUND "/lost+found"
#define PATH_LONGEST 30000u     /* deeper directories go to lost+found */
#define PROBES 1000u            /* among paths with one hash */

static char *text_of(struct repair *repair, const char *a, const char *b, const char *c)
{
    size_t x = strlen(a), y = strlen(b), z = strlen(c);
    char *text = rep_take(&repair->image.arena, x + y + z + 1);

    memcpy(text, a, x);
    memcpy(text + x, b, y);
    memcpy(text + x + y, c, z + 1);
    return text;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* The place of a path among those that are taken: 0 in `*number` if it is free. */
static uint32_t path_slot(const struct repair *repair, const char *path, uint32_t *number)
{
    uint32_t hash = rep_crc(REP_CRC_START, (const uint8_t *)path, (uint32_t)strlen(path));

    for (unsigned tries = 0; tries < PROBES; tries++, hash++) {
        *number = rep_map_get(&repair->paths, hash);
        if (*number == 0 || strcmp(repair->item[*number - 1].path, path) == 0) {
            return hash;
        }
    }
    *number = 0; /* so many with one hash are made on purpose: taken for free */
    return hash;
}

/* Adds an item under this path, or one like it that is free. */
static struct item *add_item(struct repair *repair, const char *path, const struct rep_entry *entry,
                             enum nf2_type type, uint32_t id, enum repair_state state)
{
    uint32_t taken, hash;
    const char *free_path = state >= REPAIR_OUTDATED ? text_of(repair, path, SUFFIX, "") : path;

    for (unsigned n = 2; hash = path_slot(repair, free_path, &taken), taken != 0; n++) {
        char more[16];
        (void)snprintf(more, sizeof more, "~%u", n);
        free_path = text_of(repair, path, state >= REPAIR_OUTDATED ? SUFFIX : "", more);
    }
    repair->item = rep_grow(repair->item, repair->items, &repair->items_room, sizeof *repair->item);
    struct item *item = &repair->item[repair->items++];
    *item = (struct item){{.path = free_path, .type = type, .state = state}, free_path, entry, id};
    (void)rep_map_set(&repair->paths, hash, (uint32_t)repair->items);
    repair->lossy = repair->lossy || state != REPAIR_WHOLE;
    return item;
}

/* Reads a file, for what is lost of it. */
static void add_file(struct repair *repair, const char *path, const struct rep_entry *entry,
                     uint32_t id, enum repair_state state)
{
    struct rep_content content;
    uint32_t lost = 0;

    rep_content_read(repair, entry, id, &content);
    for (size_t i = 0; i < content.parts; i++) {
        const struct rep_part *part = &content.part[i];
        lost += part->lost ? part->length : 0;
    }
    state = content.trust > state ? (enum repair_state)content.trust : state;
    state = lost > 0 || content.lost_end ? REPAIR_DAMAGED : state;
    struct item *item = add_item(repair, path, entry, NF2_TYPE_FILE, id, state);
    item->out.size = content.size;
    item->out.lost = lost;
    item->out.lost_end = content.lost_end;
    rep_content_free(&content);
}

/* ---- one name -------------------------------------------------------------------------------- */

/*
 * The name of an entry as text, bytes that no name may have as '_'; its length, 0 where there is
 * none. `*right`: a call can reach it.
 */
static uint32_t name_of(const struct rep_entry *entry, char name[NF2_NAME_MAX + 1], bool *right)
{
    const struct rep_key *key = &entry->key;
    uint32_t length = key->length, rest = 0;

    if (key->length == NF2_KEY_MAX) {
        length = NF2_NAME_PART;
        rest = entry->body_length > 0 ? entry->body[0] : 0;
        rest = rest < entry->body_length ? rep_min(rest, NF2_NAME_MAX - length) : 0;
        memcpy(name + length, entry->body + 1, rest);
    }
    memcpy(name, key->bytes, length);
    length += rest;
    name[length] = '\0';
    *right = length > 0 && (length > NF2_NAME_WHOLE) == (key->length == NF2_KEY_MAX) &&
             strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    if (key->length == NF2_KEY_MAX) {
        uint32_t hash = ~rep_crc(REP_CRC_START, (const uint8_t *)name, length);
        *right = *right && rep_get24(key->bytes + NF2_NAME_PART) == (hash & 0xFFFFFFu) &&
                 entry->body[0] == rest;
    }
    for (uint32_t i = 0; i < length; i++) {
        if (name[i] == '/' || name[i] == '\0') {
            *right = false;
            name[i] = '_';
        }
    }
    if (!*right && (length == 0 || name[0] == '.')) {
        memcpy(name, "__", 3);
        length = 2;
    }
    return length;
}

/* The directory or map that the body of a name leads to; 0: none. */
static uint32_t id_of(const struct rep_entry *entry, uint8_t *kind)
{
    uint32_t length;
    const uint8_t *body = rep_body(entry, &length);

    *kind = body != NULL ? body[0] : 0;
    bool has = *kind == NF2_BODY_DIR || *kind == NF2_BODY_MAP;
    *kind = has && length < 5 ? 0 : *kind;
    return has && length >= 5 ? rep_get32(body + 1) : 0;
}

/* An id is taken by this name. False: another one has it. */
static bool take_id(struct repair *repair, const struct rep_entry *entry, uint32_t id,
                    bool directory)
{
    bool other = id <= NF2_ROOT_ID ||
                 rep_map_get(directory ? &repair->file : &repair->directory, id) != 0;

    if (repair->state.found && id >= repair->state.id_limit) {
        rep_find(repair, REPAIR_ID, entry->block, entry->at, id, entry->key.id,
                 "The id %u was never given out: it will be given to another one.", id);
    }
    if (!directory && rep_map_get(&repair->orphan, id) != 0) {
        rep_find(repair, REPAIR_REMOVED, entry->block, entry->at, id, entry->key.id,
                 "The file with map %u is on record as removed and has a name.", id);
    }
    if (!other && rep_map_set(directory ? &repair->directory : &repair->file, id,
                              (uint32_t)repair->items + 1)) {
        return true;
    }
    rep_find(repair, REPAIR_SHARED, entry->block, entry->at, id, entry->key.id,
             "This name leads to id %u, which has another name.", id);
    rep_note(repair, REPAIR_NOTE_SHARED, entry->block, id, &entry->key, NULL);
    repair->lossy = true;
    return false;
}

static void take_name(struct repair *repair, const struct rep_entry *entry, const char *parent)
{
    char name[NF2_NAME_MAX + 1];
    uint8_t kind;
    uint32_t id = id_of(entry, &kind), taken;
    bool right, known = kind >= NF2_BODY_DIR && kind <= NF2_BODY_MAP;
    uint32_t length = name_of(entry, name, &right);

    if (!right) {
        rep_find(repair, REPAIR_NAME, entry->block, entry->at, 0, entry->key.id,
                 "No call can reach this name.");
        rep_note(repair, REPAIR_NOTE_NAME, entry->block, 0, &entry->key, NULL);
    }
    if (!known) {
        rep_find(repair, REPAIR_ENTRY, entry->block, entry->at, kind, entry->key.id,
                 "The entry of this name is of no known form.");
    }
    if (entry->trust >= REPAIR_OUTDATED && length + sizeof SUFFIX > NF2_NAME_MAX) {
        name[NF2_NAME_MAX - sizeof SUFFIX] = '\0';
    }
    const char *path = text_of(repair, parent, "/", name);
    bool directory = kind == NF2_BODY_DIR;
    (void)path_slot(repair, path, &taken);
    if (taken != 0 && right && entry->trust < REPAIR_OUTDATED) {
        rep_find(repair, REPAIR_TWICE, entry->block, entry->at, 0, entry->key.id,
                 "This name is in its directory twice.");
    }
    if ((directory && strlen(path) > PATH_LONGEST) ||
        (known && id != 0 && !take_id(repair, entry, id, directory))) {
        return;
    }
    if (directory) {
        (void)add_item(repair, path, entry, NF2_TYPE_DIR, id, entry->trust);
    } else if (known) {
        add_file(repair, path, entry, id, entry->trust);
    } else {
        (void)add_item(repair, path, entry, NF2_TYPE_FILE, 0, REPAIR_LOST);
    }
}

/* ---- the tree -------------------------------------------------------------------------------- */

static size_t first_of(const struct repair *repair, uint32_t id)
{
    struct rep_key key = {id, 0, {0}};
    return rep_entry_at(repair, &key);
}

static void list(struct repair *repair, uint32_t id, const char *path)
{
    for (size_t i = first_of(repair, id); i < repair->entries && repair->entry[i].key.id == id;
         i++) {
        if (rep_is_piece(&repair->entry[i])) {
            rep_find(repair, REPAIR_ENTRY, repair->entry[i].block, repair->entry[i].at, 0, id,
                     "A piece of a file is in a directory.");
        } else {
            take_name(repair, &repair->entry[i], path);
        }
    }
}

/* All that is in the directories from item `from` on, and in those that this adds. */
static void list_from(struct repair *repair, size_t from)
{
    for (size_t i = from; i < repair->items; i++) {
        if (repair->item[i].out.type == NF2_TYPE_DIR && repair->item[i].id != 0) {
            list(repair, repair->item[i].id, repair->item[i].path);
        }
    }
}

/*
 * What no name leads to. `named`: ids that some name has, which may itself be in lost directories.
 */
static void find_unnamed(struct repair *repair, const struct rep_map *named, bool cycles)
{
    for (size_t i = first_of(repair, NF2_FIRST_ID), next; i < repair->entries; i = next) {
        const struct rep_entry *entry = &repair->entry[i];
        uint32_t id = entry->key.id;
        char name[24];
        bool file = rep_is_piece(entry);
        bool reached = rep_map_get(&repair->directory, id) != 0 ||
                       rep_map_get(&repair->file, id) != 0;
        next = id == UINT32_MAX ? repair->entries : first_of(repair, id + 1);
        if (reached || rep_map_get(&repair->orphan, id) != 0 ||
            (rep_map_get(named, id) != 0) != cycles) {
            continue;
        }
        rep_find(repair, cycles && !file ? REPAIR_CYCLE : REPAIR_UNNAMED, entry->block, entry->at,
                 id, id,
                 file ? "No name leads to the file with map %u." :
                        "The root does not lead to directory %u.",
                 id);
        (void)snprintf(name, sizeof name, "/%s-%u", file ? "file" : "dir", id);
        if (repair->items == 0 || rep_map_get(&repair->directory, 0) == 0) {
            (void)rep_map_set(&repair->directory, 0, (uint32_t)repair->items + 1);
            (void)add_item(repair, LOST_FOUND, NULL, NF2_TYPE_DIR, 0, REPAIR_FOUND);
        }
        const char *path = text_of(
            repair, repair->item[rep_map_get(&repair->directory, 0) - 1].path, name, "");
        (void)rep_map_set(file ? &repair->file : &repair->directory, id,
                          (uint32_t)repair->items + 1);
        if (file) {
            add_file(repair, path, NULL, id, REPAIR_FOUND);
        } else {
            (void)add_item(repair, path, NULL, NF2_TYPE_DIR, id, REPAIR_FOUND);
            list_from(repair, repair->items - 1);
        }
    }
}

static void take_system_key(struct repair *repair, const struct rep_entry *entry)
{
    const struct rep_key *key = &entry->key;
    uint32_t number = rep_key_value(key);
    bool known = key->length == 5 &&
                 (key->bytes[0] == NF2_KEY_BAD || key->bytes[0] == NF2_KEY_ORPHAN ||
                  key->bytes[0] == NF2_KEY_WEAR);

    if (!known) {
        rep_find(repair, REPAIR_ENTRY, entry->block, entry->at, 0, 0,
                 "An entry of the volume itself is of no known form.");
    } else if (key->bytes[0] == NF2_KEY_ORPHAN) {
        (void)rep_map_set(&repair->orphan, number, 1);
        if (repair->state.found && number >= repair->state.id_limit) {
            rep_find(repair, REPAIR_ID, entry->block, entry->at, number, 0,
                     "The removed file with map %u has an id that was never given out.", number);
        }
    } else if (key->bytes[0] == NF2_KEY_BAD && number < repair->image.blocks) {
        repair->summary.bad_blocks++;
        if (!repair->state.bad_keys && repair->summary.log_read) {
            rep_find(repair, REPAIR_LOG, repair->state.head, 0, number, 0,
                     "Block %u is listed as bad in the tree, and the root log says that none is.",
                     number);
        }
    }
}

/* What is left of removed files is looked at, too: its blocks are in use. */
static void check_orphans(struct repair *repair)
{
    for (size_t i = 0; i < repair->entries && repair->entry[i].key.id == NF2_SYSTEM_ID; i++) {
        struct rep_content content;
        if (repair->entry[i].key.bytes[0] == NF2_KEY_ORPHAN && repair->entry[i].key.length == 5) {
            rep_content_read(repair, NULL, rep_key_value(&repair->entry[i].key), &content);
            rep_content_free(&content);
        }
    }
}

void rep_names_find(struct repair *repair)
{
    struct rep_map named = {0};
    uint8_t kind;

    for (size_t i = 0; i < repair->entries; i++) {
        const struct rep_entry *entry = &repair->entry[i];
        uint32_t id = entry->key.id != NF2_SYSTEM_ID && !rep_is_piece(entry) ? id_of(entry, &kind) :
                                                                               0;
        if (entry->key.id == NF2_SYSTEM_ID) {
            take_system_key(repair, entry);
        }
        if (id != 0) {
            (void)rep_map_set(&named, id, 1);
        }
    }
    list(repair, NF2_ROOT_ID, "");
    list_from(repair, 0);
    find_unnamed(repair, &named, false);
    find_unnamed(repair, &named, true);
    check_orphans(repair);
    rep_map_free(&named);
}

const char *rep_key_text(struct repair *repair, const struct rep_key *key)
{
    const char *path = repair_path_of(repair, key->id);
    char id[16], name[NF2_KEY_MAX + 24];
    unsigned n = 0;

    (void)snprintf(id, sizeof id, "id %u", key->id);
    path = path != NULL ? path : id;
    if (key->length == 4 && key->id != NF2_SYSTEM_ID && rep_map_get(&repair->file, key->id) != 0) {
        (void)snprintf(name, sizeof name, " from byte %u on", rep_key_value(key));
        return text_of(repair, path, name, "");
    }
    name[n++] = '/';
    for (unsigned i = 0; i < key->length && i < NF2_KEY_MAX; i++) {
        name[n++] = key->bytes[i] < 32 || key->bytes[i] == '/' || key->bytes[i] == 127 ?
                        '_' :
                        (char)key->bytes[i];
    }
    name[n] = '\0';
    return text_of(repair, path, name, "");
}
