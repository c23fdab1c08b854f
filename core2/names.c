/* SPDX-License-Identifier: BSD-2-Clause */
#include "writing.h"

/* ---- paths -------------------------------------------------------------------------------------- */

static const char *skip_slashes(const char *p)
{
    while (*p == '/') {
        p++;
    }
    return p;
}

static NF2_APART size_t name_length(const char *p)
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

/* Does the path name a directory by its end: '/' or '/.' (or '..')? */
static bool ends_as_directory(const char *path)
{
    size_t n = strlen(path);
    bool dot = n > 0 && path[n - 1] == '.';

    n -= dot && (n == 1 || path[n - 2] == '/') ? 1u : 0u;
    return n > 0 ? path[n - 1] == '/' : dot;
}

int nf2_path_resolve(nf2_t *fs, const char *path, uint32_t within, struct nf2_place *place)
{
    size_t length, next_length;
    bool inside = false;

    if (path == NULL) {
        return NF2_ERR_INVAL;
    }
    nf2_look(fs);
    const char *name = next_name(path, &length);
    place->directory = NF2_ROOT_ID;
    place->slash = ends_as_directory(path);
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

int nf2_place_directory(nf2_t *fs, const struct nf2_place *place, uint32_t *id)
{
    struct nf2_key key;
    struct nf2_entry entry;
    struct nf2_content content;

    if (place->length == 0) {
        *id = NF2_ROOT_ID;
        return NF2_OK;
    }
    int found = nf2_place_find(fs, place, &key, &entry);
    if (found <= 0) {
        return found < 0 ? found : nf2_handle_of(fs, &key) != NULL ? NF2_ERR_NOTDIR : NF2_ERR_NOENT;
    }
    NF2_TRY(nf2_entry_content(fs, &entry, &content));
    *id = content.id;
    return content.kind == NF2_BODY_DIR ? NF2_OK : NF2_ERR_NOTDIR;
}

struct nf2_file *nf2_handle_of(const nf2_t *fs, const struct nf2_key *key)
{
    nf2_file_t *file = fs->files;

    while (file != NULL && nf2_key_compare(&file->key, key) != 0) {
        file = file->link;
    }
    return file;
}

/* ---- entries ------------------------------------------------------------------------------------ */

/* The key of a short name; of a long one the first of those that it may have. */
static struct nf2_key name_key(const struct nf2_place *place)
{
    struct nf2_key key = {place->directory, place->length, {0}};
    uint32_t part = place->length;

    if (part > NF2_NAME_WHOLE) {
        uint32_t hash = ~nf2_crc(0xFFFFFFFFu, place->name, place->length);
        part = NF2_NAME_PART;
        key.length = NF2_KEY_MAX;
        nf2_put24(key.bytes + part, hash); /* the last byte counts names that are equal in all this */
    }
    memcpy(key.bytes, place->name, part);
    return key;
}

/* Is this the entry of just this long name? 1, 0 or an error. */
static int same_rest(nf2_t *fs, const struct nf2_place *place, const struct nf2_entry *entry)
{
    uint32_t rest = (uint32_t)place->length - NF2_NAME_PART;
    uint8_t bytes[16];

    NF2_TRY(nf2_body_read(fs, entry, 0, bytes, 1));
    bool same = bytes[0] == rest;
    for (uint32_t at = 0, n; same && at < rest; at += n) {
        n = nf2_min(rest - at, sizeof bytes);
        NF2_TRY(nf2_body_read(fs, entry, 1 + at, bytes, n));
        same = memcmp(bytes, place->name + NF2_NAME_PART + at, n) == 0;
    }
    return same;
}

int nf2_place_find(nf2_t *fs, const struct nf2_place *place, struct nf2_key *key, struct nf2_entry *entry)
{
    int found;

    *key = name_key(place);
    if (key->length < NF2_KEY_MAX) {
        return nf2_tree_find(fs, key, entry);
    }
    for (struct nf2_key next = *key;; next.bytes[NF2_KEY_MAX - 1]++) {
        found = nf2_tree_seek(fs, &next, NF2_AT_OR_ABOVE, entry);
        bool alike = found > 0 && entry->key.id == key->id && entry->key.length == NF2_KEY_MAX &&
                     memcmp(entry->key.bytes, key->bytes, NF2_KEY_MAX - 1) == 0;
        if (!alike) {
            return found < 0 ? found : 0;
        }
        if (entry->key.bytes[NF2_KEY_MAX - 1] == key->bytes[NF2_KEY_MAX - 1]) {
            key->bytes[NF2_KEY_MAX - 1]++; /* this one is taken */
        }
        next = entry->key;
        int same = same_rest(fs, place, entry);
        if (same != 0) {
            *key = entry->key;
            return same;
        }
        if (next.bytes[NF2_KEY_MAX - 1] == 0xFF) {
            return NF2_ERR_NOSPC;
        }
    }
}

struct nf2_span nf2_place_rest(const struct nf2_place *place)
{
    bool whole = place->length <= NF2_NAME_WHOLE;
    struct nf2_span rest = nf2_span_of(place->name + NF2_NAME_PART, place->length + 1u - NF2_NAME_PART);

    rest.offset = 1;            /* its length in front */
    return whole ? nf2_span_of(NULL, 0) : rest;
}

int nf2_entry_name(nf2_t *fs, const struct nf2_entry *entry, char *name)
{
    uint8_t rest = 0;
    uint32_t part = entry->key.length;

    if (part == NF2_KEY_MAX) {
        part = NF2_NAME_PART;
        NF2_TRY(nf2_body_read(fs, entry, 0, &rest, 1));
        NF2_TRY(part + rest <= NF2_NAME_MAX ? NF2_OK : NF2_ERR_IO);
        NF2_TRY(nf2_body_read(fs, entry, 1, name + part, rest));
    }
    memcpy(name, entry->key.bytes, part);
    name[part + rest] = '\0';
    return (int)(part + rest);
}

int nf2_entry_content(nf2_t *fs, const struct nf2_entry *entry, struct nf2_content *content)
{
    struct nf2_span body = nf2_body_span(entry, 0, entry->body_length);
    uint8_t bytes[5] = {0};
    uint32_t at;

    NF2_TRY(nf2_content_at(fs, &entry->key, &body, &at));
    NF2_TRY(at < body.length ? NF2_OK : NF2_ERR_IO);
    NF2_TRY(nf2_body_read(fs, entry, at, bytes, nf2_min(body.length - at, sizeof bytes)));
    content->kind = bytes[0];
    content->at = (uint8_t)at;
    content->id = nf2_get32(bytes + 1);
    uint32_t least = bytes[0] == NF2_BODY_DIR || bytes[0] == NF2_BODY_MAP ? 5 : 1;
    bool valid = bytes[0] >= NF2_BODY_DIR && bytes[0] <= NF2_BODY_MAP && body.length - at >= least;
    return valid ? NF2_OK : NF2_ERR_IO;
}
