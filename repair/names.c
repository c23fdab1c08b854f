/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - the tree of names: from the root on, and /lost+found for what no name leads to. */
#include "inside.h"

#define SUFFIX ".damaged"
#define LOST_FOUND "/lost+found"
#define SPREAD 2654435761u      /* ids that follow each other go to places far apart */
#define PATH_LONGEST 30000u     /* deeper directories go to lost+found */

/* ---- items ----------------------------------------------------------------------------------- */

/* The place of the item with a path; `path` NULL: with an id. It is 0 where there is none. */
static uint32_t *place_of(const struct repair *r, const char *path, uint32_t id)
{
    uint32_t at = path == NULL ? id * SPREAD :
                                 rep_crc(REP_CRC_START, (const uint8_t *)path,
                                         (uint32_t)strlen(path));

    for (;; at++) { /* not all places are taken */
        uint32_t *place = &r->places[at & (r->places_room - 1)];
        const struct item *item = *place != 0 ? &r->items.list[*place - 1] : NULL;
        if (item == NULL ||
            (path == NULL ? item->id == id : strcmp(item->out.path, path) == 0)) {
            return place;
        }
    }
}

const struct item *rep_item_of(const struct repair *r, uint32_t id)
{
    uint32_t number = id != 0 ? *place_of(r, NULL, id) : 0;
    return number != 0 ? &r->items.list[number - 1] : NULL;
}

/* Adds an item under this path, or one like it that is free. */
static void add_item(struct repair *r, const char *path, struct item item)
{
    const char *suffix = item.out.state >= REPAIR_COPY ? SUFFIX : "";
    uint32_t *place;

    item.out.path = rep_text(r, "%s%s", path, suffix);
    for (unsigned n = 2; *(place = place_of(r, item.out.path, 0)) != 0; n++) {
        item.out.path = rep_text(r, "%s%s~%u", path, suffix, n);
    }
    r->lossy = r->lossy || item.out.state != REPAIR_WHOLE;
    REP_ADD(r, &r->items, item);
    *place = (uint32_t)r->items.count;
    if (item.id != 0) {
        *place_of(r, NULL, item.id) = *place;
    }
}

/* What a name leads to, by the kind of its body; `entry` NULL: what no name leads to. */
static void add(struct repair *r, const char *path, const struct rep_entry *entry, uint32_t id,
                uint8_t kind)
{
    uint8_t trust = entry != NULL ? entry->trust : REPAIR_FOUND;
    struct item item = {.id = id, .trust = trust, .out = {.type = NF2_TYPE_FILE}};

    if (kind == NF2_BODY_MAP && rep_is_orphan(r, id)) {
        item.trust = (uint8_t)rep_max(item.trust, REPAIR_DOUBTFUL); /* its name may be the older */
    }
    if (kind == NF2_BODY_DIR) {
        item.out.type = NF2_TYPE_DIR;
    } else if (kind != 0) {
        rep_content_read(r, entry, &item);
    }
    if (kind != 0 && entry != NULL) {
        rep_fields_read(entry, &item);
    }
    item.out.state = kind == 0                                ? REPAIR_LOST :
                     item.out.lost > 0 || item.out.lost_end ? REPAIR_DAMAGED :
                                                              (enum repair_state)item.trust;
    add_item(r, path, item);
}

/* ---- one name -------------------------------------------------------------------------------- */

/* The name as it is in an entry; its length. */
static uint32_t load_name(const struct rep_entry *entry, char *name)
{
    bool cut = rep_has_rest(&entry->key);
    uint32_t length = cut ? NF2_NAME_PART : entry->key.length,
             rest = cut && entry->body_length > 0 ? entry->body[0] : 0;

    rest = rest < entry->body_length ? rep_min(rest, NF2_NAME_MAX - length) : 0;
    memcpy(name, entry->key.bytes, length);
    memcpy(name + length, entry->body + 1, rest);
    name[length + rest] = '\0';
    return length + rest;
}

/* Is the key of an entry that of its name? */
static bool has_key(const struct rep_entry *entry, const char *name, uint32_t length)
{
    uint32_t sum = ~rep_crc(REP_CRC_START, (const uint8_t *)name, length) & 0xFFFFFFu;

    return entry->key.length < NF2_NAME_KEY ||
           (entry->key.length == NF2_NAME_KEY && length > NF2_NAME_WHOLE &&
            rep_get24(entry->key.bytes + NF2_NAME_PART) == sum &&
            entry->body[0] == length - NF2_NAME_PART);
}

/* The name as text, with '_' for bytes that none may have. `*right`: a call can reach it. */
static uint32_t name_of(const struct rep_entry *entry, char name[NF2_NAME_MAX + 1], bool *right)
{
    uint32_t length = load_name(entry, name);

    *right = length > 0 && has_key(entry, name, length) && strcmp(name, ".") != 0 &&
             strcmp(name, "..") != 0;
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

static bool never_given(const struct repair *r, uint32_t id)
{
    return r->state.record != NULL && id >= rep_state32(&r->state, NF2_STATE_ID_LIMIT);
}

static void say_name(const struct rep_entry *entry, struct finding *finding)
{
    finding->keys = (struct rep_range){entry->key, rep_all_keys.below};
    finding->named = true;
}

/* May the next item have this id, by this name? Not if another one has it. */
static bool take_id(struct repair *r, const struct rep_entry *entry, uint32_t id, bool directory)
{
    if (never_given(r, id)) {
        REP_FIND_AT(r, REPAIR_ID, entry, id,
                    "The id %u was never given out: it will be given to another one.", id);
    }
    if (!directory && rep_is_orphan(r, id)) {
        REP_FIND_AT(r, REPAIR_REMOVED, entry, id,
                    "The file with map %u is on record as removed and has a name.", id);
        r->older = r->older || entry->trust == REPAIR_WHOLE;
    }
    if (id > NF2_ROOT_ID && rep_item_of(r, id) == NULL) {
        return true;
    }
    say_name(entry, REP_FIND_AT(r, REPAIR_SHARED, entry, id,
                                "This name leads to id %u, which has another name.", id));
    r->lossy = true;
    return false;
}

static void take_name(struct repair *r, const struct rep_entry *entry, const char *parent)
{
    char name[NF2_NAME_MAX + 1];
    uint8_t kind;
    uint32_t id = rep_name_id(entry, &kind);
    bool right, copy = entry->trust >= REPAIR_COPY, directory = kind == NF2_BODY_DIR;
    uint32_t length = name_of(entry, name, &right);

    if (!right) {
        say_name(entry, REP_FIND_AT(r, REPAIR_NAME, entry, 0, "No call can reach this name."));
    }
    if (kind == 0) {
        REP_FIND_AT(r, REPAIR_ENTRY, entry, 0,
                    "The entry of this name is of no known form.");
    }
    if (copy && length + sizeof SUFFIX > NF2_NAME_MAX) {
        name[NF2_NAME_MAX - sizeof SUFFIX] = '\0';
    }
    const char *path = rep_text(r, "%s/%s", parent, name);
    if (right && !copy && *place_of(r, path, 0) != 0) {
        REP_FIND_AT(r, REPAIR_TWICE, entry, 0, "This name is in its directory twice.");
    }
    if ((!directory || strlen(path) <= PATH_LONGEST) &&
        (id == 0 || take_id(r, entry, id, directory))) {
        add(r, path, entry, id, kind);
    }
}

/* ---- the tree -------------------------------------------------------------------------------- */

static size_t first_of(const struct repair *r, uint32_t id)
{
    const struct rep_key key = {id, 0, {0}};
    return rep_entry_at(r, &key);
}

static void list(struct repair *r, uint32_t id, const char *path)
{
    for (size_t i = first_of(r, id); i < r->entries.count && r->entries.list[i].key.id == id; i++) {
        const struct rep_entry *entry = &r->entries.list[i];
        if (rep_is_piece(entry)) {
            REP_FIND_AT(r, REPAIR_ENTRY, entry, 0, "A piece of a file is in a directory.");
        } else {
            take_name(r, entry, path);
        }
    }
}

/* All that is in the directories from item `from` on, and in those that this adds. */
static void list_from(struct repair *r, size_t from)
{
    for (size_t i = from; i < r->items.count; i++) {
        const struct item *item = &r->items.list[i];
        if (item->out.type == NF2_TYPE_DIR && item->id != 0) {
            list(r, item->id, item->out.path);
        }
    }
}

static void add_unnamed(struct repair *r, uint32_t id, bool file)
{
    if (r->lost_found == 0) {
        r->lost_found = (uint32_t)r->items.count + 1;
        add(r, LOST_FOUND, NULL, 0, NF2_BODY_DIR);
    }
    const char *path = rep_text(r, "%s/%s-%u", r->items.list[r->lost_found - 1].out.path,
                                file ? "file" : "dir", id);
    add(r, path, NULL, id, file ? NF2_BODY_MAP : NF2_BODY_DIR);
    list_from(r, r->items.count - 1);
}

static int by_number(const void *one, const void *other)
{
    return rep_order(*(const uint32_t *)one, *(const uint32_t *)other);
}

static bool is_named(const struct repair *r, uint32_t id)
{
    size_t i = REP_LOWER(&r->named, &id, by_number);
    return i < r->named.count && r->named.list[i] == id;
}

/*
 * What no name leads to; then, with `cycles`, what names lead to that are in such directories
 * alone.
 */
static void find_unnamed(struct repair *r, bool cycles)
{
    for (size_t i = first_of(r, NF2_FIRST_ID); i < r->entries.count; i++) {
        const struct rep_entry *entry = &r->entries.list[i];
        uint32_t id = entry->key.id;
        bool file = rep_is_piece(entry);
        if ((i > 0 && entry[-1].key.id == id) || rep_item_of(r, id) != NULL) {
            continue;
        }
        if (rep_is_orphan(r, id)) { /* what is left of a removed file: its blocks are in use */
            if (cycles) {
                struct item gone = {.id = id};
                rep_content_read(r, NULL, &gone);
            }
        } else if (is_named(r, id) == cycles) {
            rep_find(r, cycles && !file ? REPAIR_CYCLE : REPAIR_UNNAMED, entry->block, entry->at,
                     id, id,
                     file ? "No name leads to the file with map %u." :
                            "The root does not lead to directory %u.",
                     id);
            add_unnamed(r, id, file);
        }
    }
}

static void take_system_key(struct repair *r, const struct rep_entry *entry)
{
    const struct rep_key *key = &entry->key;
    uint32_t number = rep_key_value(key);
    uint8_t kind = key->length == 5 ? key->bytes[0] : 0;

    if (kind != NF2_KEY_BAD && kind != NF2_KEY_ORPHAN && kind != NF2_KEY_WEAR) {
        REP_FIND_AT(r, REPAIR_ENTRY, entry, 0,
                    "An entry of the volume itself is of no known form.");
    } else if (kind == NF2_KEY_ORPHAN && never_given(r, number)) {
        REP_FIND_AT(r, REPAIR_ID, entry, number,
                    "The removed file with map %u has an id that was never given out.", number);
    } else if (kind == NF2_KEY_BAD && number < r->blocks) {
        r->summary.bad_blocks++;
        r->record[number] |= REP_BAD;
        if (r->summary.log_read &&
            !rep_state_flag(&r->state, NF2_FLAG_BAD * NF2_BAD_KEYS)) {
            rep_find(r, REPAIR_LOG, r->state.head, 0, number, 0,
                     "Block %u is listed as bad in the tree, and the root log says that none is.",
                     number);
        }
    }
}

/* The ids that names lead to, and room for all places. */
static void prepare(struct repair *r)
{
    uint8_t kind;

    for (size_t i = 0; i < r->entries.count; i++) {
        REP_ADD(r, &r->named, rep_name_id(&r->entries.list[i], &kind));
    }
    REP_SORT(&r->named, by_number);
    for (r->places_room = 16; r->places_room < 8 * (r->entries.count + 1);) {
        r->places_room *= 2; /* each entry may be an item, and its id another one, all with ids */
    }
    r->places = rep_take(r, r->places_room * sizeof *r->places);
}

void rep_names_find(struct repair *r)
{
    prepare(r);
    for (size_t i = 0; i < r->entries.count && r->entries.list[i].key.id == NF2_SYSTEM_ID; i++) {
        take_system_key(r, &r->entries.list[i]);
    }
    list(r, NF2_ROOT_ID, "");
    list_from(r, 0);
    find_unnamed(r, false);
    find_unnamed(r, true);
}

const char *rep_key_text(struct repair *r, const struct rep_key *key)
{
    const char *path = repair_path_of(r, key->id);
    const struct item *item = rep_item_of(r, key->id);
    char name[NF2_KEY_MAX + 2] = ""; /* also of the key behind a longest one */

    if (key->id == NF2_SYSTEM_ID) {
        return "/"; /* these keys are in front of all names */
    }
    path = path != NULL ? path : rep_text(r, "id %u", key->id);
    if (key->length == 4 && item != NULL && item->out.type == NF2_TYPE_FILE) {
        return rep_text(r, "%s from byte %u on", path, rep_key_value(key));
    }
    for (unsigned i = 0; i < key->length; i++) {
        uint8_t c = key->bytes[i];
        name[i] = c < 32 || c == '/' || c == 127 ? '_' : (char)c;
    }
    return rep_text(r, "%s/%s", path, name);
}
