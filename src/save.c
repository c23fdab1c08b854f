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
#include "writing.h"

/* Does the file hold just this? One that cannot be read does not. */
static NF2_APART bool same(nf2_t *fs, nf2_file_t *file, const uint8_t *data, uint32_t length)
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

/* All of the content goes to the chip, from where it lies in memory. */
static NF2_APART int put_data(nf2_t *fs, nf2_file_t *file, const uint8_t *data, uint32_t length)
{
    for (uint32_t at = 0; at < length; at = file->size) {
        uint32_t n = nf2_min(length - at, 0x8000u);
        file->buffer = (uint8_t *)(uintptr_t)(data + at); /* it is only read */
        file->buffer_at = at;
        file->buffered = (uint16_t)n;
        file->size = at + n;
        file->dirty = true;
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

/* Behind the look at what was there. The handle is in the list: so walks know what it holds. */
static int replace(nf2_t *fs, nf2_file_t *file, const char *path, const uint8_t *data,
                   uint32_t length)
{
    bool is_new = file->kind == 0, long_name = is_new && nf2_key_has_rest(&file->key);

    file->size = 0;
    file->fresh = file->changed = true;
    file->created = is_new && !long_name;
    NF2_TRY(nf2_data_prepare(fs, file, 0, length));
    if (long_name || length > nf2_inline_max(file)) {
        NF2_TRY(put_data(fs, file, data, length));
    } else {
        file->buffer = (uint8_t *)(uintptr_t)data;
        file->buffered = (uint16_t)length;
        file->size = length;
        file->dirty = true;
    }
    return nf2_group_end(fs, long_name ? commit_long(fs, file, path) : nf2_commit(fs, file));
}

static int do_save(nf2_t *fs, const char *path, const uint8_t *data, uint32_t length)
{
    nf2_file_t file;

    if ((data == NULL && length > 0) || length > NF2_FILE_MAX) {
        return NF2_ERR_INVAL;
    }
    if (fs->read_only) {
        return NF2_ERR_ROFS;
    }
    int there = nf2_load_find(fs, path, true, &file);
    NF2_TRY(there);
    if (there > 0 && same(fs, &file, data, length)) {
        return NF2_OK;
    }
    file.flags = NF2_O_WRONLY;
    file.link = fs->files;
    fs->files = &file;
    int result = replace(fs, &file, path, data, length);
    nf2_file_end(fs, &file);
    fs->files = file.link;
    fs->moves++;
    return result < 0 ? result : NF2_OK;
}

int nf2_save(nf2_t *fs, const char *path, const void *data, uint32_t length)
{
    NF2_LOCKED(fs, do_save(fs, path, data, length));
}
