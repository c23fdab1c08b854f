/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_ids.c - the checker's view of ids: each that has entries has one name and the other way round, and the root leads to it.
 * As many ids as the scratch memory holds are looked at in one pass over the tree, the lowest ones first.
 */
#include "checker.h"
#include "names.h"

/* For each id: the id u32, for a directory one above it u32 and a mark u32, what is known u8. In order. */
#define ID_BYTES 13u
#define UP 4u
#define MARK 8u
#define KNOWN 12u
enum { ID_DIR = 1, ID_FILE = 2, ID_TWICE = 4, ID_NAMES = 8, ID_MAP = 16, ID_CYCLE = 32 };

/* The place of an id among those that are known, made where it is new; NULL: it belongs to a later pass, or an earlier one. */
static uint8_t *id_place(struct check *check, uint32_t id)
{
    uint32_t low = 0, high = check->count, most = check->room / ID_BYTES;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (nf2_get32(check->work + middle * ID_BYTES) < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint8_t *place = check->work + low * ID_BYTES;
    if (low < check->count && nf2_get32(place) == id) {
        return place;
    }
    if (id < check->first || low == most) {
        return NULL;
    }
    uint32_t behind = nf2_min(check->count, most - 1) - low; /* the largest one gives way */
    memmove(place + ID_BYTES, place, behind * ID_BYTES);
    memset(place, 0, ID_BYTES);
    nf2_put32(place, id);
    check->count = low + behind + 1;
    return place;
}

static void note(struct check *check, uint32_t id, uint8_t what, uint32_t up)
{
    uint8_t *place = id_place(check, id);

    if (place == NULL) {
        return;
    }
    if ((what & (ID_DIR | ID_FILE)) != 0) {
        place[KNOWN] |= (place[KNOWN] & (ID_DIR | ID_FILE)) != 0 ? ID_TWICE : 0;
        nf2_put32(place + UP, up);
        nf2_put32(place + MARK, id);
    }
    place[KNOWN] |= what;
}

static int note_entry(nf2_t *fs, struct check *check, const struct nf2_entry *entry)
{
    int kind = nf2_entry_kind(fs, entry);
    uint32_t id;

    if (kind < 0 || kind == NF2_BODY_CHILD) {
        return NF2_OK;
    }
    note(check, entry->id, kind >= NF2_BODY_PIECE ? ID_MAP : ID_NAMES, 0);
    if ((kind == NF2_BODY_DIR || kind == NF2_BODY_INDEXED) && nf2_entry_id(fs, entry, &id) == NF2_OK) {
        note(check, id, kind == NF2_BODY_DIR ? ID_DIR : ID_FILE, entry->id);
    }
    return NF2_OK;
}

static int note_node(nf2_t *fs, struct check *check, const struct nf2_path *path, int level)
{
    if (level == 0) {
        (void)nf2_check_each(fs, check, path->node[path->depth - 1], note_entry);
    }
    return NF2_OK;
}

/* ---- the way up ---------------------------------------------------------------------------------- */

/* Directories of which this entry names the one above that was reached last: its own directory is above that. */
static int climb_entry(nf2_t *fs, struct check *check, const struct nf2_entry *entry)
{
    uint32_t id;

    if (nf2_entry_kind(fs, entry) != NF2_BODY_DIR || nf2_entry_id(fs, entry, &id) < 0) {
        return NF2_OK;
    }
    for (uint32_t i = 0; i < check->count; i++) {
        uint8_t *place = check->work + i * ID_BYTES;
        if ((place[KNOWN] & (ID_DIR | ID_CYCLE)) == ID_DIR && nf2_get32(place + UP) == id && id != NF2_ROOT_ID) {
            nf2_put32(place + UP, entry->id);
            place[KNOWN] |= entry->id == nf2_get32(place + MARK) ? ID_CYCLE : 0;
            check->moved = true;
        }
    }
    return NF2_OK;
}

static int climb_node(nf2_t *fs, struct check *check, const struct nf2_path *path, int level)
{
    if (level == 0) {
        (void)nf2_check_each(fs, check, path->node[path->depth - 1], climb_entry);
    }
    return NF2_OK;
}

/* Goes up from all directories until none moves. One that comes to where it was is in a cycle; the mark moves on at powers of two. */
static int climb(nf2_t *fs, struct check *check)
{
    uint32_t pass = 0;

    do {
        check->moved = false;
        NF2_TRY(nf2_check_walk(fs, check, NF2_BELOW, false, climb_node)); /* most directories are younger than the one above */
        pass++;
        for (uint32_t i = 0; i < check->count && (pass & (pass - 1)) == 0; i++) {
            uint8_t *place = check->work + i * ID_BYTES;
            memcpy(place + MARK, place + UP, 4);
        }
    } while (check->moved);
    return NF2_OK;
}

/* ---- judgement ----------------------------------------------------------------------------------- */

static void judge(const nf2_t *fs, struct check *check, const uint8_t *place)
{
    uint32_t id = nf2_get32(place), known = place[KNOWN];
    bool named = (known & (ID_DIR | ID_FILE)) != 0 || id == NF2_ROOT_ID, orphan = nf2_is_orphan(fs, id);

    if (id < NF2_ROOT_ID || id >= fs->next_id) {
        nf2_complain(check, NF2_FOUND_ID, NF2_NONE, id, 0);
    }
    if (check->unsettled) {
        return; /* names are there twice while a rename is applied, and the list of orphans is not complete */
    }
    if ((known & ID_TWICE) != 0 || (id == NF2_ROOT_ID && (known & (ID_DIR | ID_FILE)) != 0) ||
        ((known & ID_DIR) != 0 && (known & ID_MAP) != 0) || ((known & ID_FILE) != 0 && (known & ID_NAMES) != 0)) {
        nf2_complain(check, NF2_FOUND_SHARED, NF2_NONE, id, 0);
    }
    if (!named && !orphan && !check->partial) {
        nf2_complain(check, NF2_FOUND_LOST, NF2_NONE, id, 0);
    }
    if (named && orphan) {
        nf2_complain(check, NF2_FOUND_REMOVED, NF2_NONE, id, 0);
    }
    if ((known & ID_CYCLE) != 0) {
        nf2_complain(check, NF2_FOUND_CYCLE, NF2_NONE, id, 0);
    }
}

int nf2_check_ids(nf2_t *fs, struct check *check)
{
    uint32_t most = check->room / ID_BYTES;

    check->first = 0;
    do {
        check->count = 0;
        NF2_TRY(nf2_check_walk(fs, check, NF2_ABOVE, false, note_node));
        NF2_TRY(climb(fs, check));
        for (uint32_t i = 0; i < check->count; i++) {
            judge(fs, check, check->work + i * ID_BYTES);
        }
        if (check->count > 0) {
            check->first = nf2_get32(check->work + (check->count - 1) * ID_BYTES) + 1;
        }
    } while (check->count == most && check->first != 0);
    return NF2_OK;
}
