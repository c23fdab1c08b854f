/* SPDX-License-Identifier: BSD-2-Clause */
/* dir.c - directories and names: the public calls. */
#include "batch.h"
#include "content.h"
#include "ids.h"
#include "listing.h"
#include "names.h"
#include "reclaim.h"
#include "space.h"

/* ---- stat and mkdir ----------------------------------------------------------------------------- */

static int do_stat(nf2_t *fs, const char *path, struct nf2_stat *out)
{
    struct nf2_place place;
    struct nf2_entry entry;

    if (!fs->mounted || out == NULL) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(nf2_path_resolve(fs, path, 0, &place));
    if (place.length == 0) {
        out->type = NF2_TYPE_DIR;
        out->size = 0;
        return NF2_OK;
    }
    int found = nf2_place_find(fs, &place, &entry);
    if (found > 0) {
        return nf2_entry_stat(fs, &entry, out);
    }
    const nf2_file_t *file = nf2_handle_named(fs, &place);
    if (found < 0 || file == NULL) {
        return found < 0 ? found : NF2_ERR_NOENT;
    }
    out->type = NF2_TYPE_FILE; /* created, not synced: on the chip there is nothing yet */
    out->size = 0;
    return NF2_OK;
}

static int put_directory(nf2_t *fs, const struct nf2_place *place)
{
    struct nf2_key key = nf2_place_key(place);
    struct nf2_node_op change;
    uint32_t id;

    NF2_TRY(nf2_id_new(fs, &id));
    nf2_op_put(&change, &key, NF2_BODY_DIR, 5);
    nf2_put32(change.bytes + 1, id);
    return nf2_tree_change(fs, &change, 1);
}

static NF2_APART int do_mkdir(nf2_t *fs, const char *path)
{
    struct nf2_place place;
    struct nf2_entry entry;

    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(nf2_path_resolve(fs, path, 0, &place));
    if (place.length == 0) {
        return NF2_ERR_EXIST;
    }
    int found = nf2_place_find(fs, &place, &entry);
    if (found != 0 || nf2_handle_named(fs, &place) != NULL) {
        return found < 0 ? found : NF2_ERR_EXIST;
    }
    NF2_TRY(nf2_space_begin(fs));
    if (nf2_space_available(fs) < nf2_promised(fs, NULL)) {
        return NF2_ERR_NOSPC; /* of many names, what was preallocated would be theirs */
    }
    return put_directory(fs, &place);
}

/* ---- remove ------------------------------------------------------------------------------------- */

/* May this entry go (removed, or replaced by another)? */
static int check_removable(nf2_t *fs, const struct nf2_entry *entry)
{
    uint32_t id;
    bool empty;
    int kind = nf2_entry_kind(fs, entry);

    NF2_TRY(kind);
    if (nf2_handle_of(fs, entry->node, entry->offset) != NULL) {
        return NF2_ERR_BUSY;
    }
    if (kind == NF2_BODY_DIR) {
        NF2_TRY(nf2_entry_id(fs, entry, &id));
        NF2_TRY(nf2_directory_empty(fs, id, &empty));
        return empty ? kind : NF2_ERR_NOTEMPTY;
    }
    return kind;
}

static int do_remove(nf2_t *fs, const char *path)
{
    struct nf2_place place;
    struct nf2_entry entry;
    struct nf2_node_op change;

    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(nf2_path_resolve(fs, path, 0, &place));
    if (place.length == 0) {
        return NF2_ERR_INVAL;
    }
    int found = nf2_place_find(fs, &place, &entry);
    if (found <= 0) {
        return found < 0 ? found : nf2_handle_named(fs, &place) != NULL ? NF2_ERR_BUSY : NF2_ERR_NOENT;
    }
    int kind = check_removable(fs, &entry);
    NF2_TRY(kind);
    if (kind == NF2_BODY_DIR) {
        nf2_directories_forget(fs);
    }
    NF2_TRY(nf2_space_begin(fs));
    NF2_TRY(nf2_orphans_room(fs));
    memset(&change, 0, sizeof change);
    change.type = NF2_NODE_DEL;
    change.key = nf2_place_key(&place);
    fs->urgent = true;
    int result = nf2_tree_change(fs, &change, 1);
    fs->urgent = false;
    return result;
}

/* ---- rename ------------------------------------------------------------------------------------- */

/* The target may be replaced: it fits the type of what is moved, and nobody has it open. */
static int check_target(nf2_t *fs, const struct nf2_place *to, bool directory)
{
    struct nf2_entry entry;
    int found = nf2_place_find(fs, to, &entry);

    NF2_TRY(found);
    if (!found) {
        return nf2_handle_named(fs, to) != NULL ? NF2_ERR_BUSY : NF2_OK;
    }
    int kind = nf2_entry_kind(fs, &entry);
    NF2_TRY(kind);
    if ((kind == NF2_BODY_DIR) != directory) {
        return directory ? NF2_ERR_NOTDIR : NF2_ERR_ISDIR;
    }
    kind = check_removable(fs, &entry);
    return kind < 0 ? kind : NF2_OK;
}

/* Across leaves: the value is put under the new name and taken out under the old one, as one batch. */
static NF2_APART int move_entry(nf2_t *fs, const struct nf2_entry *entry, const struct nf2_key *from, const struct nf2_key *to, struct nf2_batch *batch, struct nf2_entry *where)
{
    struct nf2_node_op changes[2];
    uint8_t body[NF2_FLAT_BODY_MAX];

    memset(changes, 0, sizeof changes);
    changes[0].type = NF2_NODE_PUT;
    changes[0].key = *to;
    changes[0].body = nf2_span_at(entry->node, entry->body_offset, entry->body_position, entry->body_length);
    if (entry->body_length <= sizeof body) {
        NF2_TRY(nf2_body_read(fs, entry, 0, body, entry->body_length));
        if (entry->body_length > NF2_TOOK_OVER && body[0] == NF2_BODY_INDEXED) {
            body[NF2_TOOK_OVER] = 0; /* said of what this key held before: the entry that it replaces now is another one */
        }
        changes[0].body = nf2_span_of(body, entry->body_length);
    }
    changes[1].type = NF2_NODE_MOV;
    changes[1].key = *from;
    return nf2_batch_change(fs, changes, 2, batch, where);
}

static int rename_across(nf2_t *fs, const struct nf2_key *from, const struct nf2_key *to)
{
    struct nf2_batch batch;
    struct nf2_entry entry;

    int result = nf2_tree_find(fs, from, &entry);
    if (result <= 0) {
        return result < 0 ? result : NF2_ERR_NOENT;
    }
    nf2_file_t *open = nf2_handle_of(fs, entry.node, entry.offset);
    result = move_entry(fs, &entry, from, to, &batch, &entry);
    NF2_TRY(result == NF2_SPANS_LEAVES ? nf2_batch_commit(fs, &batch, false, NF2_TREE_SLOT) : result);
    NF2_TRY(nf2_batch_apply(fs, &entry));
    if (open != NULL) { /* handles of the file go with it, wherever its old entry went meanwhile */
        nf2_tree_follow(fs, open->leaf, open->entry, entry.node, entry.offset, false);
    }
    return NF2_OK;
}

static NF2_APART int do_rename(nf2_t *fs, const char *from_path, const char *to_path)
{
    struct nf2_place from, to;
    struct nf2_entry entry;
    uint32_t id = 0;

    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(nf2_path_resolve(fs, from_path, 0, &from));
    if (from.length == 0) {
        return NF2_ERR_INVAL;
    }
    int found = nf2_place_find(fs, &from, &entry);
    if (found <= 0 && (found < 0 || nf2_handle_named(fs, &from) == NULL)) {
        return found < 0 ? found : NF2_ERR_NOENT;
    }
    int kind = found ? nf2_entry_kind(fs, &entry) : NF2_BODY_INLINE;
    NF2_TRY(kind);
    if (kind == NF2_BODY_DIR) {
        NF2_TRY(nf2_entry_id(fs, &entry, &id));
    }
    NF2_TRY(nf2_path_resolve(fs, to_path, id, &to));
    if (!found) {
        return NF2_ERR_BUSY; /* created and never synced: there is no entry to rename */
    }
    if (to.length == 0) {
        return kind == NF2_BODY_DIR ? NF2_ERR_NOTEMPTY : NF2_ERR_ISDIR;
    }
    struct nf2_key source = nf2_place_key(&from), target = nf2_place_key(&to);
    int order;
    NF2_TRY(nf2_key_compare(fs, &source, &target, &order));
    if (order == 0) {
        return NF2_OK;
    }
    NF2_TRY(check_target(fs, &to, kind == NF2_BODY_DIR));
    if (kind == NF2_BODY_DIR) {
        nf2_directories_forget(fs);
    }
    NF2_TRY(nf2_space_begin(fs));
    NF2_TRY(nf2_orphans_room(fs));
    int result = nf2_tree_rename(fs, &source, &target);
    return result == NF2_SPANS_LEAVES ? rename_across(fs, &source, &target) : result;
}

/* ---- listing ------------------------------------------------------------------------------------ */

static int do_opendir(nf2_t *fs, nf2_dir_t *dir, const char *path)
{
    struct nf2_place place;

    if (!fs->mounted || dir == NULL) {
        return NF2_ERR_INVAL;
    }
    memset(dir, 0, sizeof *dir);
    NF2_TRY(nf2_path_resolve(fs, path, 0, &place));
    return nf2_place_directory(fs, &place, &dir->id);
}

/* The created, unsynced file of this directory with the smallest name above the last one listed, if that is below `limit` (NULL: none). */
static nf2_file_t *next_unsynced(nf2_t *fs, const nf2_dir_t *dir, const struct nf2_key *limit)
{
    nf2_file_t *best = NULL;
    struct nf2_key last = nf2_key_of(dir->id, dir->last, dir->length);

    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (!nf2_is_new(file) || file->directory != dir->id) {
            continue;
        }
        struct nf2_key own = nf2_key_of(dir->id, nf2_new_name(fs, file), file->name_length), other;
        int order;
        if (nf2_key_compare(fs, &own, &last, &order) < 0 || order <= 0) {
            continue;
        }
        if (limit != NULL && (nf2_key_compare(fs, &own, limit, &order) < 0 || order >= 0)) {
            continue;
        }
        if (best != NULL) {
            other = nf2_key_of(dir->id, nf2_new_name(fs, best), best->name_length);
            if (nf2_key_compare(fs, &own, &other, &order) < 0 || order >= 0) {
                continue;
            }
        }
        best = file;
    }
    return best;
}

static int do_readdir(nf2_t *fs, nf2_dir_t *dir, struct nf2_dirent *out)
{
    struct nf2_entry entry;
    struct nf2_stat stat = {NF2_TYPE_FILE, 0};
    struct nf2_key name;

    if (!fs->mounted || dir->id == 0) {
        return NF2_ERR_BADF;
    }
    int found, moved = 0;
    do {
        found = nf2_listing_next(fs, dir, &entry);
        NF2_TRY(found);
        if (found) {
            name = nf2_entry_key(&entry);
            moved = nf2_batch_moved(fs, &name);
            NF2_TRY(moved > 0 ? nf2_listing_take(fs, dir, &name, &entry) : moved);
        }
    } while (found && moved > 0);
    nf2_file_t *file = next_unsynced(fs, dir, found ? &name : NULL);
    if (file != NULL) {
        name = nf2_key_of(dir->id, nf2_new_name(fs, file), file->name_length);
    } else if (found) {
        NF2_TRY(nf2_entry_stat(fs, &entry, &stat));
    } else {
        return 0;
    }
    NF2_TRY(nf2_listing_take(fs, dir, &name, file == NULL ? &entry : NULL));
    memcpy(out->name, dir->last, dir->length);
    out->name[dir->length] = '\0';
    out->type = stat.type;
    out->size = stat.size;
    return 1;
}

/* ---- public ------------------------------------------------------------------------------------- */

/* Is the call to be made again? From out here, where the stack is short: reclaiming goes deep. */
static bool reclaimed(nf2_t *fs, int *result)
{
    if (*result == NF2_ERR_NOSPC) {
        *result = nf2_reclaim(fs, nf2_max(1, nf2_promised(fs, NULL)));
        return *result == NF2_OK;
    }
    return false;
}

#define LOCKED(call)            \
    do {                        \
        nf2_lock(fs);           \
        int result_ = (call);   \
        nf2_unlock(fs);         \
        return result_;         \
    } while (0)

int nf2_stat(nf2_t *fs, const char *path, struct nf2_stat *out)
{
    LOCKED(do_stat(fs, path, out));
}

int nf2_mkdir(nf2_t *fs, const char *path)
{
    nf2_lock(fs);
    int result = do_mkdir(fs, path);
    result = reclaimed(fs, &result) ? do_mkdir(fs, path) : result;
    nf2_unlock(fs);
    return result;
}

int nf2_remove(nf2_t *fs, const char *path)
{
    LOCKED(do_remove(fs, path));
}

int nf2_rename(nf2_t *fs, const char *from, const char *to)
{
    nf2_lock(fs);
    int result = do_rename(fs, from, to);
    result = reclaimed(fs, &result) ? do_rename(fs, from, to) : result;
    nf2_unlock(fs);
    return result;
}

int nf2_opendir(nf2_t *fs, nf2_dir_t *dir, const char *path)
{
    LOCKED(do_opendir(fs, dir, path));
}

int nf2_readdir(nf2_t *fs, nf2_dir_t *dir, struct nf2_dirent *out)
{
    if (dir == NULL || out == NULL) {
        return NF2_ERR_INVAL;
    }
    LOCKED(do_readdir(fs, dir, out));
}

static int do_rewinddir(nf2_t *fs, nf2_dir_t *dir, uint32_t id)
{
    if (!fs->mounted || dir == NULL || dir->id == 0) {
        return NF2_ERR_BADF;
    }
    memset(dir, 0, sizeof *dir);
    dir->id = id;
    return NF2_OK;
}

int nf2_rewinddir(nf2_t *fs, nf2_dir_t *dir)
{
    LOCKED(do_rewinddir(fs, dir, dir != NULL ? dir->id : 0));
}

int nf2_closedir(nf2_t *fs, nf2_dir_t *dir)
{
    LOCKED(do_rewinddir(fs, dir, 0));
}
