/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include "batch.h"
#include "cache.h"
#include "index.h"

uint8_t *nf2_new_name(const nf2_t *fs, nf2_file_t *file)
{
    return file->name_length <= NF2_NAME_KEPT ? file->name : file->buffer + fs->flash->page_size - file->name_length;
}

struct nf2_key nf2_place_key(const struct nf2_place *place)
{
    return nf2_key_of(place->directory, place->name, place->length);
}

void nf2_lock_config(const struct nf2_config *config)
{
    if (config != NULL && config->lock != NULL) {
        config->lock(config->lock_context);
    }
}

void nf2_unlock_config(const struct nf2_config *config)
{
    if (config != NULL && config->unlock != NULL) {
        config->unlock(config->lock_context);
    }
}

void nf2_lock(nf2_t *fs)
{
    nf2_lock_config(fs->config);
}

void nf2_unlock(nf2_t *fs)
{
    nf2_unlock_config(fs->config);
}

/* ---- paths -------------------------------------------------------------------------------------- */

static const char *skip_slashes(const char *p)
{
    while (*p == '/') {
        p++;
    }
    return p;
}

static size_t name_length(const char *p)
{
    size_t n = 0;
    while (p[n] != '\0' && p[n] != '/') {
        n++;
    }
    return n;
}

static bool is_dot(const char *p, size_t n)
{
    return n == 1 && p[0] == '.';
}

static bool is_dots(const char *p, size_t n)
{
    return n == 2 && p[0] == '.' && p[1] == '.';
}

/* Behind the '..' that takes back the name in front of `p`, or NULL if none does. */
static const char *taken_back(const char *p)
{
    unsigned depth = 1;

    for (p = skip_slashes(p); *p != '\0'; p = skip_slashes(p)) {
        size_t n = name_length(p);
        if (is_dots(p, n)) {
            depth--;
        } else if (!is_dot(p, n)) {
            depth++;
        }
        p += n;
        if (depth == 0) {
            return p;
        }
    }
    return NULL;
}

/* The next name that counts, `*length` 0 at the end. */
static const char *next_name(const char *p, size_t *length)
{
    for (;;) {
        p = skip_slashes(p);
        *length = name_length(p);
        if (*length == 0) {
            return p;
        }
        if (is_dot(p, *length) || is_dots(p, *length)) { /* '..' left over: of the root, which is the root */
            p += *length;
            continue;
        }
        const char *behind = taken_back(p + *length);
        if (behind == NULL) {
            return p;
        }
        p = behind;
    }
}

/*
 * Directories that paths led through, the last one first: parent u16 (0: none), id u16, length u8, name. They lie at
 * the start of the tree buffer, so that a path into one that is in use reads nothing on the way.
 */
#define KNOWN_HEAD 5u

/* The id of a known directory, 0 if it is not known. */
static uint32_t known_directory(const nf2_t *fs, const struct nf2_place *place)
{
    const uint8_t *at = fs->tree_buffer, *end = at + NF2_KNOWN_BYTES;

    while (!fs->buffer_lent && end - at >= (int)KNOWN_HEAD && end - at >= (int)(KNOWN_HEAD + at[4]) && nf2_get16(at) != 0) {
        if (nf2_get16(at) == place->directory && at[4] == place->length && memcmp(at + KNOWN_HEAD, place->name, at[4]) == 0) {
            return nf2_get16(at + 2);
        }
        at += KNOWN_HEAD + at[4];
    }
    return 0;
}

/* A further known directory; the oldest ones leave at the end. */
static void know_directory(const nf2_t *fs, const struct nf2_place *place, uint32_t id)
{
    uint32_t size = KNOWN_HEAD + place->length;
    uint8_t *at = fs->tree_buffer;

    if (!fs->buffer_lent && size <= NF2_KNOWN_BYTES && id <= UINT16_MAX && place->directory <= UINT16_MAX) {
        memmove(at + size, at, NF2_KNOWN_BYTES - size);
        at = nf2_put16(nf2_put16(at, place->directory), id);
        *at = place->length;
        memcpy(at + 1, place->name, place->length);
    }
}

void nf2_directories_forget(const nf2_t *fs)
{
    if (!fs->buffer_lent) {
        memset(fs->tree_buffer, 0, NF2_KNOWN_BYTES);
    }
}

int nf2_place_directory(nf2_t *fs, const struct nf2_place *place, uint32_t *id)
{
    struct nf2_entry entry;
    uint32_t known = place->length == 0 ? NF2_ROOT_ID : known_directory(fs, place);

    if (known != 0) {
        *id = known;
        return NF2_OK;
    }
    int found = nf2_place_find(fs, place, &entry);
    if (found <= 0) {
        return found < 0 ? found : nf2_handle_named(fs, place) != NULL ? NF2_ERR_NOTDIR : NF2_ERR_NOENT;
    }
    int kind = nf2_entry_kind(fs, &entry);
    if (kind != NF2_BODY_DIR) {
        return kind < 0 ? kind : NF2_ERR_NOTDIR;
    }
    NF2_TRY(nf2_entry_id(fs, &entry, &known));
    know_directory(fs, place, known);
    *id = known; /* it may be the place's own */
    return NF2_OK;
}

int nf2_path_resolve(nf2_t *fs, const char *path, uint32_t within, struct nf2_place *place)
{
    size_t length, next_length;
    bool inside = false;

    if (path == NULL) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(nf2_batch_finish(fs)); /* all calls that lead into the tree begin with a path */
    const char *name = next_name(path, &length);
    place->directory = NF2_ROOT_ID;
    for (;;) {
        if (length > NF2_NAME_MAX) {
            return NF2_ERR_NAMETOOLONG;
        }
        place->name = name;
        place->length = (uint8_t)length;
        if (length == 0) {
            return NF2_OK;
        }
        const char *next = next_name(name + length, &next_length);
        if (next_length == 0) {
            return inside ? NF2_ERR_INVAL : NF2_OK;
        }
        NF2_TRY(nf2_place_directory(fs, place, &place->directory));
        inside = inside || (within != 0 && place->directory == within);
        name = next;
        length = next_length;
    }
}

/* ---- entries ------------------------------------------------------------------------------------ */

int nf2_place_find(nf2_t *fs, const struct nf2_place *place, struct nf2_entry *entry)
{
    struct nf2_key key = nf2_place_key(place);
    int found = nf2_tree_find(fs, &key, entry);
    int moved = found > 0 ? nf2_batch_moved(fs, &key) : 0;

    return moved < 0 ? moved : moved > 0 ? 0 : found;
}

int nf2_entry_kind(nf2_t *fs, const struct nf2_entry *entry)
{
    uint8_t kind;

    NF2_TRY(nf2_body_read(fs, entry, 0, &kind, 1));
    return kind <= NF2_BODY_CHILD ? kind : NF2_ERR_IO;
}

int nf2_entry_id(nf2_t *fs, const struct nf2_entry *entry, uint32_t *id)
{
    uint8_t bytes[4];

    NF2_TRY(nf2_body_read(fs, entry, 1, bytes, sizeof bytes));
    *id = nf2_get32(bytes);
    return NF2_OK;
}

int nf2_entry_stat(nf2_t *fs, const struct nf2_entry *entry, struct nf2_stat *out)
{
    uint32_t value;
    int kind = nf2_entry_kind(fs, entry);

    NF2_TRY(kind);
    out->type = kind == NF2_BODY_DIR ? NF2_TYPE_DIR : NF2_TYPE_FILE;
    out->size = 0;
    if (kind == NF2_BODY_INLINE) {
        out->size = entry->body_length - 1u;
    } else if (kind == NF2_BODY_FLAT) {
        NF2_TRY(nf2_entry_id(fs, entry, &out->size)); /* the size has the place of an id */
    } else if (kind == NF2_BODY_INDEXED) {
        NF2_TRY(nf2_entry_id(fs, entry, &value));
        return nf2_batch_size(fs, value, &out->size);
    } else if (kind != NF2_BODY_DIR) {
        return NF2_ERR_IO;
    }
    return NF2_OK;
}

int nf2_directory_empty(nf2_t *fs, uint32_t id, bool *empty)
{
    struct nf2_key key = nf2_lowest_key(id);
    struct nf2_entry entry;
    int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);

    NF2_TRY(found);
    *empty = !found || entry.id != id;
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        *empty = *empty && !(nf2_is_new(file) && file->directory == id);
    }
    return NF2_OK;
}

struct nf2_file *nf2_handle_of(nf2_t *fs, uint32_t leaf, uint16_t offset)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->leaf == leaf && file->entry == offset) {
            return file;
        }
    }
    return NULL;
}

struct nf2_file *nf2_handle_named(nf2_t *fs, const struct nf2_place *place)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (nf2_is_new(file) && file->directory == place->directory && file->name_length == place->length &&
            memcmp(nf2_new_name(fs, file), place->name, place->length) == 0) {
            return file;
        }
    }
    return NULL;
}
