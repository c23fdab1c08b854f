/* SPDX-License-Identifier: BSD-2-Clause */
/* dir.c - directories and names: the public calls. */
#include "commit.h"
#include "lock.h"
#include "collect.h"
#include "writing.h"

/* What is there. NOTDIR: a file, where the path can only mean a directory. */
static int find_existing(nf2_t *fs, const char *path, struct nf2_found *found)
{
    NF2_TRY(nf2_find(fs, path, 0, found));
    if (found->content.kind == 0) {
        return NF2_ERR_NOENT;
    }
    return found->content.kind != NF2_BODY_DIR && *found->behind != '\0' ? NF2_ERR_NOTDIR : NF2_OK;
}

/* ---- stat and mkdir -------------------------------------------------------------------------- */

static int do_stat(nf2_t *fs, const char *path, struct nf2_stat *out)
{
    struct nf2_found found;

    if (out == NULL) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(find_existing(fs, path, &found));
    int type = nf2_content_size(fs, &found.entry, &found.content, &out->size);
    NF2_TRY(type);
    out->type = (enum nf2_type)type;
    return NF2_OK;
}

static int do_mkdir(nf2_t *fs, const char *path)
{
    uint8_t body[5] = {NF2_BODY_DIR};
    uint32_t id;

    NF2_TRY(nf2_put_name(fs, path, NULL, 0));
    NF2_TRY(nf2_data_prepare(fs, NULL, 0, 1));
    NF2_TRY(nf2_journal_id(fs, &id));
    nf2_put32(body + 1, id);
    return nf2_put_name(fs, path, body, sizeof body);
}

/* ---- remove and rename ----------------------------------------------------------------------- */

/* May what was found go (removed, or replaced by another)? */
static NF2_APART int check_removable(nf2_t *fs, const struct nf2_found *found)
{
    struct nf2_entry entry;
    struct nf2_key key;

    if (found->handle != NULL) {
        return NF2_ERR_BUSY;
    }
    /* what such fields refer to would be left behind */
    if ((found->content.classes & (NF2_FIELD_REFUSE | NF2_FIELD_READ)) != 0) {
        return NF2_ERR_VERSION;
    }
    if (found->content.kind != NF2_BODY_DIR) {
        return NF2_OK;
    }
    key.id = found->content.id;
    key.length = 0;
    int first = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);
    if (first > 0 && entry.key.id == key.id) {
        return NF2_ERR_NOTEMPTY;
    }
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        if (file->created && file->key.id == key.id) {
            return NF2_ERR_NOTEMPTY;
        }
    }
    return first < 0 ? first : NF2_OK;
}

static int remove_entry(nf2_t *fs, const struct nf2_found *found)
{
    struct nf2_op ops[2];

    nf2_op_delete(&ops[0], &found->key);
    return nf2_change_ahead(fs, ops, 1u + (unsigned)nf2_commit_orphan(&found->content, &ops[1]));
}

/* What is to be removed or renamed. */
static int find_movable(nf2_t *fs, const char *path, struct nf2_found *found)
{
    NF2_TRY(find_existing(fs, path, found));
    return found->length > 0 ? NF2_OK : NF2_ERR_INVAL;
}

/* May this be the new name? 1: it is the old one. */
static int check_target(nf2_t *fs, const struct nf2_found *from, const struct nf2_found *to)
{
    bool directory = from->content.kind == NF2_BODY_DIR;

    if (from->content.kind == NF2_BODY_NEW) {
        return NF2_ERR_BUSY;    /* created and never synced: there is no entry to rename */
    }
    if (!directory && *to->behind != '\0') {
        return NF2_ERR_NOTDIR;
    }
    if (to->content.kind == 0) {
        return nf2_ends_with_name(to) ? NF2_OK : NF2_ERR_NOENT;
    }
    if (nf2_key_compare(&from->key, &to->key) == 0) {
        return 1;
    }
    if (directory && to->content.kind != NF2_BODY_DIR) {
        return NF2_ERR_NOTDIR;
    }
    if (!directory && to->content.kind == NF2_BODY_DIR) {
        return NF2_ERR_ISDIR;
    }
    return check_removable(fs, to);
}

/* With long names the body changes, too: its front is the rest of the name. */
static int move_entry(nf2_t *fs, const struct nf2_found *from, const struct nf2_found *to)
{
    uint32_t at = from->content.rest; /* fields go along */
    struct nf2_op ops[3];

    nf2_op_name(&ops[0], to, NULL, 0);
    ops[0].body[ops[0].body[0].length > 0] = nf2_body_span(&from->entry, at,
                                                           from->entry.body.length - at);
    nf2_op_delete(&ops[1], &from->key);
    unsigned n = 2u + (unsigned)nf2_commit_orphan(&to->content, &ops[2]);
    NF2_TRY(nf2_change_ahead(fs, ops, n));
    for (nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        if (nf2_key_compare(&file->key, &from->key) == 0) {
            nf2_key_copy(&file->key, &to->key);
        }
    }
    fs->moves++;
    return NF2_OK;
}

/* What is still to be done: nothing; room is made, for a new name or not. */
enum { DONE, WITHOUT, WITH };

/*
 * Removes or renames; only to see whether it may be done, if not `ready`. What is known of names
 * takes much stack, and room takes much: so it is made in between, and they are looked up again.
 */
static NF2_APART int change_names(nf2_t *fs, const char *from_path, const char *to_path, bool ready)
{
    struct nf2_found from, to;

    NF2_TRY(find_movable(fs, from_path, &from));
    if (to_path == NULL) {
        NF2_TRY(check_removable(fs, &from));
        return ready ? remove_entry(fs, &from) : WITHOUT;
    }
    NF2_TRY(nf2_find(fs, to_path, from.content.kind == NF2_BODY_DIR ? from.content.id : 0, &to));
    int same = check_target(fs, &from, &to);
    if (same != 0) {
        return same < 0 ? same : DONE;
    }
    return ready ? move_entry(fs, &from, &to) : to.content.kind != 0 ? WITHOUT : WITH;
}

/* `to` NULL: removes. */
static int do_rename(nf2_t *fs, const char *from, const char *to)
{
    int left = change_names(fs, from, to, false);

    if (left <= DONE) {
        return left;
    }
    NF2_TRY(left == WITH ? nf2_data_name(fs) : nf2_collect_ready(fs, true));
    return nf2_group_end(fs, change_names(fs, from, to, true));
}

/* ---- listing --------------------------------------------------------------------------------- */

/* In front of the first entry of a directory; id 0: closed. */
static int begin_listing(nf2_dir_t *dir, uint32_t id)
{
    dir->last.id = id;
    dir->last.length = 0;
    return NF2_OK;
}

static int do_opendir(nf2_t *fs, nf2_dir_t *dir, const char *path)
{
    struct nf2_found found;

    if (dir == NULL) {
        return NF2_ERR_INVAL;
    }
    dir->last.id = 0;
    NF2_TRY(find_existing(fs, path, &found));
    NF2_TRY(found.content.kind == NF2_BODY_DIR ? NF2_OK : NF2_ERR_NOTDIR);
    return begin_listing(dir, found.content.id);
}

static int do_readdir(nf2_t *fs, nf2_dir_t *dir, struct nf2_dirent *out)
{
    struct nf2_entry entry;
    struct nf2_content content;

    content.kind = NF2_BODY_NEW;
    int found = nf2_tree_seek(fs, &dir->last, NF2_ABOVE, &entry);
    NF2_TRY(found);
    const struct nf2_key *next = found ? &entry.key : NULL;
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        /* the created ones, which have no entry */
        bool above = file->created && nf2_key_compare(&file->key, &dir->last) > 0;
        if (above && (next == NULL || nf2_key_compare(&file->key, next) < 0)) {
            next = &file->key;
        }
    }
    if (next == NULL || next->id != dir->last.id) {
        return 0;
    }
    if (next == &entry.key) {
        NF2_TRY(nf2_entry_content(fs, &entry, &content));
    }
    NF2_TRY(nf2_entry_name(fs, next, &entry, out->name));
    int type = nf2_content_size(fs, &entry, &content, &out->size);
    NF2_TRY(type);
    out->type = (enum nf2_type)type;
    nf2_key_copy(&dir->last, next);
    return 1;
}

/* ---- public ---------------------------------------------------------------------------------- */

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
    NF2_LOCKED(fs, do_rename(fs, path, NULL));
}

int nf2_rename(nf2_t *fs, const char *from, const char *to)
{
    NF2_LOCKED(fs, to != NULL ? do_rename(fs, from, to) : NF2_ERR_INVAL);
}

int nf2_opendir(nf2_t *fs, nf2_dir_t *dir, const char *path)
{
    NF2_LOCKED(fs, do_opendir(fs, dir, path));
}

/* Is this a listing that was opened? */
static int check_listing(const nf2_t *fs, const nf2_dir_t *dir)
{
    return dir != NULL && dir->last.id != 0 && fs->mounted ? NF2_OK : NF2_ERR_BADF;
}

int nf2_readdir(nf2_t *fs, nf2_dir_t *dir, struct nf2_dirent *out)
{
    nf2_enter(fs);
    int result = out == NULL ? NF2_ERR_INVAL : check_listing(fs, dir);
    return nf2_leave(fs, result < 0 ? result : do_readdir(fs, dir, out));
}

static int begin_again(nf2_t *fs, nf2_dir_t *dir, uint32_t mask)
{
    nf2_enter(fs);
    int result = check_listing(fs, dir);
    return nf2_leave(fs, result < 0 ? result : begin_listing(dir, dir->last.id & mask));
}

int nf2_rewinddir(nf2_t *fs, nf2_dir_t *dir)
{
    return begin_again(fs, dir, UINT32_MAX);
}

int nf2_closedir(nf2_t *fs, nf2_dir_t *dir)
{
    return begin_again(fs, dir, 0);
}
