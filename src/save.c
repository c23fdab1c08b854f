/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * save.c - a whole file is replaced in one call. Small content goes into the entry of the name: one
 * program. Longer content goes to the chip from the caller's memory first; then one change puts it
 * in the place of the old.
 */
#include "collect.h"
#include "commit.h"
#include "load.h"
#include "lock.h"
#include "save.h"
#include "writing.h"

/* Does the file hold just this? One that cannot be read does not. */
static NF2_APART bool same_content(nf2_t *fs, nf2_file_t *file, const uint8_t *data,
                                   uint32_t length)
{
    uint8_t bytes[32];

    if (file->size != length) {
        return false;
    }
    for (uint32_t at = 0; at < length;) {
        uint32_t most = nf2_min(length - at, sizeof bytes);
        int n = nf2_load_some(fs, file, at, bytes, most);
        if (n <= 0 || memcmp(bytes, data + at, (uint32_t)n) != 0) {
            return false;
        }
        at += (uint32_t)n;
    }
    return true;
}

static void put_in_buffer(nf2_file_t *file, const uint8_t *data, uint32_t at, uint32_t length)
{
    file->buffer = (uint8_t *)(uintptr_t)data; /* it is only read */
    file->buffer_at = at;
    file->buffered = (uint16_t)length;
    file->size = at + length;
    file->dirty = true;
}

/* All of the content goes to the chip, from where it lies in memory. */
static NF2_APART int program_all(nf2_t *fs, nf2_file_t *file, const uint8_t *data, uint32_t length)
{
    for (uint32_t at = 0; at < length; at = file->size) {
        put_in_buffer(file, data + at, at, nf2_min(length - at, 0x8000u));
        NF2_TRY(nf2_data_flush(fs, file));
    }
    return NF2_OK;
}

/*
 * A long name that is new: a handle has no room for the rest of it, so what the handle holds goes
 * into the entry here.
 */
static NF2_APART int put_long(nf2_t *fs, const nf2_file_t *file, const char *path)
{
    uint8_t bytes[NF2_LIST_BYTES], *p = bytes + 1;
    struct nf2_found found;
    struct nf2_op ops[2];

    _Static_assert(NF2_LIST_MAX >= NF2_PIECES_MAX, "what a handle holds fits in a list");
    bytes[0] = file->size == 0 ? NF2_BODY_INLINE : NF2_BODY_LIST;
    for (unsigned i = 0; i < file->pieces; i++) {
        p = nf2_piece_store(p, &file->piece[i]);
    }
    if (file->shadow != 0) {
        bytes[0] = NF2_BODY_MAP;
        p = nf2_put32(bytes + 1, file->shadow);
    }
    NF2_TRY(nf2_find(fs, path, 0, &found));
    nf2_op_name(&ops[0], &found, bytes, (uint32_t)(p - bytes));
    nf2_op_delete_orphan(&ops[1], file->shadow);
    return nf2_change_ahead(fs, ops, 1u + (file->shadow != 0));
}

/* The change for it takes much stack, and so does the room: that is made here. */
static int commit_long(nf2_t *fs, nf2_file_t *file, const char *path)
{
    NF2_TRY(file->shadow != 0 ? nf2_data_spill(fs, file) : NF2_OK);
    NF2_TRY(file->shadow != 0 ? nf2_collect_ready(fs, false) : nf2_data_name(fs));
    return put_long(fs, file, path);
}

/*
 * Behind the look at what was there. What the handle holds is committed as in a sync; a long name
 * is made before that.
 */
static int replace_whole(nf2_t *fs, nf2_file_t *file, const char *path,
                         const struct nf2_saved *saved)
{
    bool is_new = file->kind == 0, long_name = is_new && nf2_key_has_rest(&file->key);

    file->size = 0;
    file->fresh = file->changed = true;
    file->created = is_new && !long_name;
    NF2_TRY(nf2_data_prepare(fs, file, 0, saved->length));
    if (long_name || saved->length > NF2_LOG_PAGE) {
        NF2_TRY(program_all(fs, file, saved->data, saved->length));
    } else {                    /* that may fit in the entry */
        put_in_buffer(file, saved->data, 0, saved->length);
    }
    if (long_name) {
        NF2_TRY(nf2_group_end(fs, commit_long(fs, file, path)));
        (void)nf2_committed(fs, file);
        NF2_TRY(nf2_content_load(fs, file));
        file->flags |= NF2_TIME_DUE;
    }
    return saved->way != NULL ? saved->way->commit(fs, file) : fs->writing->commit(fs, file);
}

int nf2_save_by(nf2_t *fs, nf2_file_t *file, const char *path, const struct nf2_saved *saved)
{
    if ((saved->data == NULL && saved->length > 0) || saved->length > NF2_FILE_MAX) {
        return NF2_ERR_INVAL;
    }
    if (fs->read_only) {
        return NF2_ERR_ROFS;
    }
    int there = nf2_load_find(fs, path, true, file);
    NF2_TRY(there);
    if (there > 0 && same_content(fs, file, saved->data, saved->length)) {
        return 1;
    }
    file->flags = NF2_O_WRONLY;
    file->link = fs->files;     /* so walks know what it holds */
    fs->files = file;
    int result = replace_whole(fs, file, path, saved);
    fs->writing->end(fs, file);
    fs->files = file->link;
    fs->moves++;
    return result < 0 ? result : NF2_OK;
}

static int do_save(nf2_t *fs, const char *path, const void *data, uint32_t length)
{
    nf2_file_t file;
    struct nf2_saved saved = {data, length, NULL};

    int result = nf2_save_by(fs, &file, path, &saved);
    return result < 0 ? result : NF2_OK;
}

int nf2_save(nf2_t *fs, const char *path, const void *data, uint32_t length)
{
    NF2_LOCKED(fs, do_save(fs, path, data, length));
}
