/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c - a whole file is read in one call. */
#include "load.h"

#include "lock.h"

/* May what was found be used so? 1, 0 if nothing was found, or an error. */
static int check_found(const nf2_t *fs, const struct nf2_found *found, bool write)
{
    bool directory = *found->behind != '\0';

    if (found->content.kind == 0) {
        return !write ? NF2_ERR_NOENT : directory ? NF2_ERR_ISDIR : 0;
    }
    if (found->content.kind == NF2_BODY_DIR || directory) {
        return found->content.kind == NF2_BODY_DIR ? NF2_ERR_ISDIR : NF2_ERR_NOTDIR;
    }
    uint32_t refused = NF2_FIELD_REFUSE | (write ? NF2_FIELD_READ : 0);
    if ((found->content.classes & refused) != 0) {
        return NF2_ERR_VERSION;
    }
    bool busy = write && nf2_handle_of(fs, &found->key, NF2_O_WRONLY) != NULL;
    return busy ? NF2_ERR_BUSY : 1;
}

/* Apart from what follows: what is known of names takes much stack. */
NF2_APART int nf2_load_find(nf2_t *fs, const char *path, bool write, nf2_file_t *file)
{
    struct nf2_found found;

    NF2_TRY(nf2_find(fs, path, 0, &found));
    int there = check_found(fs, &found, write);
    NF2_TRY(there);
    memset(file, 0, sizeof *file);
    nf2_key_copy(&file->key, &found.key);
    if (there == 0 || found.content.kind == NF2_BODY_NEW) { /* created, not synced: empty */
        return there;
    }
    NF2_TRY(nf2_content_load(fs, file));
    return 1;
}

int nf2_load_some(nf2_t *fs, nf2_file_t *file, uint32_t at, uint8_t *to, uint32_t length)
{
    struct nf2_piece piece;

    NF2_TRY(nf2_content_base(fs, file, at, &piece));
    return nf2_content_some(fs, file, &piece, at, to, length);
}

static int32_t do_load(nf2_t *fs, const char *path, uint8_t *to, uint32_t room)
{
    nf2_file_t file;
    int n = 0;

    if (to == NULL && room > 0) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(nf2_load_find(fs, path, false, &file));
    if (file.size > room) {
        return NF2_ERR_FBIG;
    }
    for (uint32_t at = 0; at < file.size; at += (uint32_t)n) {
        n = nf2_load_some(fs, &file, at, to + at, file.size - at);
        NF2_TRY(n);
    }
    return (int32_t)file.size;
}

int32_t nf2_load(nf2_t *fs, const char *path, void *data, uint32_t room)
{
    NF2_LOCKED(fs, do_load(fs, path, data, room));
}
