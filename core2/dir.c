/* SPDX-License-Identifier: BSD-2-Clause */
/* dir.c - directories and names: the public calls. */
#include "commit.h"
#include "lock.h"
#include "sweep.h"
#include "writing.h"

/* A name that was looked up. */
struct found {
    struct nf2_place place;
    struct nf2_key key;
    struct nf2_entry entry;
    struct nf2_content content; /* kind 0: no entry */
    struct nf2_file *handle;    /* an open one */
};

static int look_up(nf2_t *fs, const char *path, uint32_t within, struct found *found)
{
    memset(found, 0, sizeof *found);
    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(nf2_path_resolve(fs, path, within, &found->place));
    if (found->place.length == 0) {
        found->content.kind = NF2_BODY_DIR;
        found->content.id = NF2_ROOT_ID;
        return NF2_OK;
    }
    int result = nf2_place_find(fs, &found->place, &found->key, &found->entry);
    NF2_TRY(result);
    NF2_TRY(result ? nf2_entry_content(fs, &found->entry, &found->content) : NF2_OK);
    found->handle = nf2_handle_of(fs, &found->key);
    bool file = found->content.kind != NF2_BODY_DIR && (result || found->handle != NULL);
    return found->place.slash && file ? NF2_ERR_NOTDIR : NF2_OK;
}

/* ---- stat and mkdir ----------------------------------------------------------------------------- */

static int do_stat(nf2_t *fs, const char *path, struct nf2_stat *out)
{
    struct found found;

    if (out == NULL) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(look_up(fs, path, 0, &found));
    if (found.content.kind == 0 && found.handle == NULL) {
        return NF2_ERR_NOENT;
    }
    out->type = found.content.kind == NF2_BODY_DIR ? NF2_TYPE_DIR : NF2_TYPE_FILE;
    out->size = 0;
    bool file = found.content.kind > NF2_BODY_DIR;
    return file ? nf2_content_size(fs, &found.entry, &found.content, &out->size) : NF2_OK;
}

/* Does the path end with the name? 'n/.' is no place for a new `n`. */
static bool ends_with_name(const struct nf2_place *place)
{
    const char *behind = place->name + place->length;

    while (*behind == '/') {
        behind++;
    }
    return *behind == '\0';
}

/* May a directory be made here? */
static NF2_APART int look_for_room(nf2_t *fs, const char *path, struct found *found)
{
    int result = look_up(fs, path, 0, found);

    if (result == NF2_ERR_NOTDIR && found->place.slash && found->handle == NULL && found->content.kind == 0) {
        return result;
    }
    if (found->content.kind != 0 || (result == NF2_OK && found->handle != NULL)) {
        return result < 0 && result != NF2_ERR_NOTDIR ? result : NF2_ERR_EXIST;
    }
    return result == NF2_OK && !ends_with_name(&found->place) ? NF2_ERR_NOENT : result;
}

static NF2_APART int put_directory(nf2_t *fs, const struct found *found)
{
    uint8_t body[5] = {NF2_BODY_DIR};
    struct nf2_op op;
    uint32_t id;

    nf2_op_put(&op, &found->key, body, sizeof body);
    NF2_TRY(nf2_journal_id(fs, &id));
    nf2_put32(body + 1, id);
    nf2_op_rest(&op, nf2_place_rest(&found->place));
    return nf2_change(fs, &op, 1);
}

static int do_mkdir(nf2_t *fs, const char *path)
{
    struct found found;

    NF2_TRY(look_for_room(fs, path, &found));
    NF2_TRY(nf2_sweep_name(fs));
    NF2_TRY(nf2_sweep_room(fs, 1));
    return put_directory(fs, &found);
}

/* ---- remove ------------------------------------------------------------------------------------- */

static int directory_empty(nf2_t *fs, uint32_t id)
{
    struct nf2_key key = {id, 0, {0}};
    struct nf2_entry entry;
    int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);

    NF2_TRY(found);
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        if (file->created && file->key.id == id) {
            return NF2_ERR_NOTEMPTY;
        }
    }
    return found && entry.key.id == id ? NF2_ERR_NOTEMPTY : NF2_OK;
}

/* May what was found go (removed, or replaced by another)? */
static int check_removable(nf2_t *fs, const struct found *found)
{
    if (found->handle != NULL) {
        return NF2_ERR_BUSY;
    }
    return found->content.kind == NF2_BODY_DIR ? directory_empty(fs, found->content.id) : NF2_OK;
}

/* What a name stands for now, after a step of the walk. */
static int look_again(nf2_t *fs, struct found *found)
{
    if (found->content.kind == 0) {
        return NF2_OK;
    }
    int result = nf2_tree_find(fs, &found->key, &found->entry);
    NF2_TRY(result > 0 ? NF2_OK : result < 0 ? result : NF2_ERR_IO);
    return nf2_entry_content(fs, &found->entry, &found->content);
}

static NF2_APART int remove_entry(nf2_t *fs, const struct found *found)
{
    struct nf2_op ops[2];

    nf2_op_delete(&ops[0], &found->key);
    unsigned n = 1u + (unsigned)nf2_commit_orphan(&found->content, &ops[1]);
    return nf2_change(fs, ops, n);
}

static int do_remove(nf2_t *fs, const char *path)
{
    struct found found;

    NF2_TRY(look_up(fs, path, 0, &found));
    if (found.place.length == 0) {
        return NF2_ERR_INVAL;
    }
    if (found.content.kind == 0) {
        return found.handle != NULL ? NF2_ERR_BUSY : NF2_ERR_NOENT;
    }
    NF2_TRY(check_removable(fs, &found));
    NF2_TRY(nf2_sweep_ready(fs, true));
    NF2_TRY(look_again(fs, &found)); /* the walk may have made a map of a list */
    return remove_entry(fs, &found);
}

/* ---- rename ------------------------------------------------------------------------------------- */

static int check_target(nf2_t *fs, const struct found *from, const struct found *to)
{
    bool directory = from->content.kind == NF2_BODY_DIR;

    if (to->place.length == 0) {
        return directory ? NF2_ERR_NOTEMPTY : NF2_ERR_ISDIR;
    }
    if (to->content.kind == 0) {
        return to->handle != NULL ? NF2_ERR_BUSY : NF2_OK;
    }
    if ((to->content.kind == NF2_BODY_DIR) != directory) {
        return directory ? NF2_ERR_NOTDIR : NF2_ERR_ISDIR;
    }
    return check_removable(fs, to);
}

static void rename_handles(nf2_t *fs, const struct nf2_key *from, const struct nf2_key *to)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        if (nf2_key_compare(&file->key, from) == 0) {
            file->key = *to;
        }
    }
}

/* With long names the body changes, too: its front is the rest of the name. */
static NF2_APART int move_entry(nf2_t *fs, const struct found *from, const struct found *to)
{
    uint32_t at = from->content.at;
    struct nf2_op ops[3];

    nf2_op_put(&ops[0], &to->key, NULL, 0);
    ops[0].body[0] = nf2_body_span(&from->entry, at, from->entry.body_length - at);
    nf2_op_rest(&ops[0], nf2_place_rest(&to->place));
    nf2_op_delete(&ops[1], &from->key);
    unsigned n = 2u + (unsigned)nf2_commit_orphan(&to->content, &ops[2]);
    int result = nf2_change(fs, ops, n);
    if (result == NF2_OK || fs->group_busy != NF2_GROUP_NONE) { /* committed, if not applied */
        rename_handles(fs, &from->key, &to->key);
        fs->moves++;
    }
    return result;
}

static int do_rename(nf2_t *fs, const char *from_path, const char *to_path)
{
    struct found from, to;

    NF2_TRY(look_up(fs, from_path, 0, &from));
    if (from.place.length == 0) {
        return NF2_ERR_INVAL;
    }
    if (from.content.kind == 0 && from.handle == NULL) {
        return NF2_ERR_NOENT;
    }
    bool directory = from.content.kind == NF2_BODY_DIR;
    NF2_TRY(look_up(fs, to_path, directory ? from.content.id : 0, &to));
    if (from.content.kind == 0) {
        return NF2_ERR_BUSY; /* created and never synced: there is no entry to rename */
    }
    if (to.place.slash && !directory) {
        return NF2_ERR_NOTDIR;
    }
    if (to.content.kind == 0 && to.handle == NULL && !ends_with_name(&to.place)) {
        return NF2_ERR_NOENT;
    }
    if (to.place.length > 0 && nf2_key_compare(&from.key, &to.key) == 0) {
        return NF2_OK;
    }
    NF2_TRY(check_target(fs, &from, &to));
    NF2_TRY(to.content.kind != 0 ? nf2_sweep_ready(fs, true) : nf2_sweep_name(fs));
    NF2_TRY(look_again(fs, &from));
    NF2_TRY(look_again(fs, &to));
    return move_entry(fs, &from, &to);
}

/* ---- listing ------------------------------------------------------------------------------------ */

static int do_opendir(nf2_t *fs, nf2_dir_t *dir, const char *path)
{
    struct found found;

    if (dir == NULL) {
        return NF2_ERR_INVAL;
    }
    memset(dir, 0, sizeof *dir);
    NF2_TRY(look_up(fs, path, 0, &found));
    if (found.content.kind != NF2_BODY_DIR) {
        return found.content.kind == 0 && found.handle == NULL ? NF2_ERR_NOENT : NF2_ERR_NOTDIR;
    }
    dir->id = found.content.id;
    dir->last.id = found.content.id;
    return NF2_OK;
}

/* The created, unsynced file of the directory with the lowest key above the last one, if that is below `limit`. */
static const nf2_file_t *next_created(const nf2_t *fs, const nf2_dir_t *dir, const struct nf2_key *limit)
{
    const nf2_file_t *best = NULL;

    for (const nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        bool above = file->created && file->key.id == dir->id && nf2_key_compare(&file->key, &dir->last) > 0;
        const struct nf2_key *below = best != NULL ? &best->key : limit;
        if (above && (below == NULL || nf2_key_compare(&file->key, below) < 0)) {
            best = file;
        }
    }
    return best;
}

static int do_readdir(nf2_t *fs, nf2_dir_t *dir, struct nf2_dirent *out)
{
    struct nf2_entry entry;
    struct nf2_content content;

    if (!fs->mounted || dir->id == 0) {
        return NF2_ERR_BADF;
    }
    nf2_look(fs);
    int found = nf2_tree_next(fs, &dir->cursor, &dir->last, &entry);
    NF2_TRY(found);
    found = found && entry.key.id == dir->id;
    const nf2_file_t *file = next_created(fs, dir, found ? &entry.key : NULL);
    uint32_t block = dir->cursor.block;
    dir->cursor.block = 0;      /* an error leaves the listing where it was */
    out->size = 0;
    out->type = NF2_TYPE_FILE;
    if (file != NULL) {
        dir->last = file->key;
        memcpy(out->name, file->key.bytes, file->key.length);
        out->name[file->key.length] = '\0';
        return 1;
    }
    if (!found) {
        return 0;
    }
    NF2_TRY(nf2_entry_name(fs, &entry, out->name));
    NF2_TRY(nf2_entry_content(fs, &entry, &content));
    out->type = content.kind == NF2_BODY_DIR ? NF2_TYPE_DIR : NF2_TYPE_FILE;
    NF2_TRY(nf2_content_size(fs, &entry, &content, &out->size));
    dir->last = entry.key;
    dir->cursor.block = block;
    return 1;
}

static int do_rewinddir(const nf2_t *fs, nf2_dir_t *dir, uint32_t id)
{
    if (!fs->mounted || dir == NULL || dir->id == 0) {
        return NF2_ERR_BADF;
    }
    memset(dir, 0, sizeof *dir);
    dir->id = dir->last.id = id;
    return NF2_OK;
}

/* ---- public ------------------------------------------------------------------------------------- */

int nf2_stat(nf2_t *fs, const char *path, struct nf2_stat *out)
{
    NF2_LOCKED(fs, do_stat(fs, path, out));
}

int nf2_mkdir(nf2_t *fs, const char *path)
{
    NF2_LOCKED(fs, do_mkdir(fs, path));
}

int nf2_remove(nf2_t *fs, const char *path)
{
    NF2_LOCKED(fs, do_remove(fs, path));
}

int nf2_rename(nf2_t *fs, const char *from, const char *to)
{
    NF2_LOCKED(fs, do_rename(fs, from, to));
}

int nf2_opendir(nf2_t *fs, nf2_dir_t *dir, const char *path)
{
    NF2_LOCKED(fs, do_opendir(fs, dir, path));
}

int nf2_readdir(nf2_t *fs, nf2_dir_t *dir, struct nf2_dirent *out)
{
    if (dir == NULL || out == NULL) {
        return NF2_ERR_INVAL;
    }
    NF2_LOCKED(fs, do_readdir(fs, dir, out));
}

int nf2_rewinddir(nf2_t *fs, nf2_dir_t *dir)
{
    NF2_LOCKED(fs, do_rewinddir(fs, dir, dir != NULL ? dir->id : 0));
}

int nf2_closedir(nf2_t *fs, nf2_dir_t *dir)
{
    NF2_LOCKED(fs, do_rewinddir(fs, dir, 0));
}
