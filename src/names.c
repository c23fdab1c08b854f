/* SPDX-License-Identifier: BSD-2-Clause */
#include "writing.h"

/* ---- entries --------------------------------------------------------------------------------- */

struct nf2_file *nf2_handle_of(const nf2_t *fs, const struct nf2_key *key, uint32_t flags)
{
    nf2_file_t *file = fs->files;

    while (file != NULL && ((file->flags & flags) != flags ||
                            nf2_key_compare(&file->key, key) != 0)) {
        file = file->link;
    }
    return file;
}

/* Is this the entry of just this long name? 1, 0 or an error. */
static int same_rest(nf2_t *fs, const struct nf2_found *found)
{
    const char *name = found->name + NF2_NAME_PART;
    uint32_t rest = found->length - NF2_NAME_PART;
    uint8_t byte, own = (uint8_t)rest; /* in front of them is how many there are */

    for (uint32_t at = 0; at <= rest; at++) {
        NF2_TRY(nf2_body_read(fs, &found->entry, at, &byte, 1));
        if (byte != own) {
            return 0;
        }
        own = (uint8_t)*name++;
    }
    return 1;
}

/*
 * The entry of a long name: of those that are alike in all but the last byte of the key the one
 * with the same rest.
 */
static int find_long(nf2_t *fs, struct nf2_found *found)
{
    struct nf2_key *key = &found->key;
    uint32_t number = 0;        /* the lowest that no entry has */

    nf2_put24(key->bytes + NF2_NAME_PART, ~nf2_crc(0xFFFFFFFFu, found->name, found->length));
    key->bytes[NF2_NAME_KEY - 1] = 0;
    int result = nf2_tree_seek(fs, key, NF2_AT_OR_ABOVE, &found->entry);
    while (result > 0 && memcmp(key, &found->entry.key,
                                offsetof(struct nf2_key, bytes) + NF2_NAME_KEY - 1) == 0) {
        nf2_key_copy(key, &found->entry.key);
        result = same_rest(fs, found);
        if (result != 0) {
            return result;
        }
        number += key->bytes[NF2_NAME_KEY - 1] == number;
        result = nf2_tree_seek(fs, key, NF2_ABOVE, &found->entry);
    }
    key->bytes[NF2_NAME_KEY - 1] = (uint8_t)number;
    return result < 0 ? result : number > 0xFF ? NF2_ERR_NOSPC : 0;
}

/* Looks the name up in its directory. */
static int look_up(nf2_t *fs, struct nf2_found *found)
{
    struct nf2_key *key = &found->key;
    uint32_t length = nf2_min(found->length, NF2_NAME_KEY);
    int result;

    key->length = (uint8_t)length;
    memcpy(key->bytes, found->name, length);
    result = length < NF2_NAME_KEY ? nf2_tree_find(fs, key, &found->entry) : find_long(fs, found);
    found->handle = nf2_handle_of(fs, key, 0);
    const nf2_file_t *writer = nf2_handle_of(fs, key, NF2_O_WRONLY);
    found->content.kind = writer != NULL && writer->created ? NF2_BODY_NEW : 0;
    return result > 0 ? nf2_entry_content(fs, &found->entry, &found->content) : result;
}

bool nf2_ends_with_name(const struct nf2_found *found)
{
    const char *behind = found->behind;

    while (*behind == '/') {
        behind++;
    }
    return *behind == '\0';
}

void nf2_op_name(struct nf2_op *op, const struct nf2_found *found, const void *body,
                 uint32_t length)
{
    nf2_op_put(op, &found->key, body, length);
    if (found->length >= NF2_NAME_KEY) {
        op->body[1] = op->body[0];
        op->body[0] = nf2_span_of(found->name + NF2_NAME_PART, found->length + 1u - NF2_NAME_PART);
        op->body[0].position = NF2_COUNTED;
    }
}

int nf2_entry_name(nf2_t *fs, const struct nf2_key *key, const struct nf2_entry *entry, char *name)
{
    uint32_t length = key->length;

    memcpy(name, key->bytes, length);
    if (nf2_key_has_rest(key)) { /* the rest goes over the hash */
        int behind = nf2_content_at(fs, key, &entry->body);
        NF2_TRY(behind);
        uint32_t rest = (uint32_t)behind - 1u;
        length = NF2_NAME_PART + rest;
        NF2_TRY(length <= NF2_NAME_MAX ? NF2_OK : NF2_ERR_IO);
        NF2_TRY(nf2_body_read(fs, entry, 1, name + NF2_NAME_PART, rest));
    }
    name[length] = '\0';
    return NF2_OK;
}

int nf2_entry_content(nf2_t *fs, const struct nf2_entry *entry, struct nf2_content *content)
{
    const struct nf2_span *body = &entry->body;
    uint8_t id[4];
    uint32_t place = body->at.record.offset + body->position;
    int at = 0;

    if (nf2_key_has_rest(&entry->key)) { /* else it follows the key in its page */
        at = nf2_content_at(fs, &entry->key, body);
        NF2_TRY(at);
        place = nf2_record_place(body->at.record.offset, body->position + (uint32_t)at);
    }
    const uint8_t *p = nf2_peek(fs, body->at.record.block, place, 1);
    if (p == NULL || at >= body->length) {
        return NF2_ERR_IO;
    }
    content->rest = content->at = (uint16_t)at;
    content->classes = content->fields = 0;
    content->kind = *p;
    while (content->kind == NF2_BODY_FIELDS) {
        uint8_t front[3];       /* that, their bytes, the first one's tag */
        NF2_TRY(nf2_body_read(fs, entry, content->at, front, sizeof front));
        content->classes |= front[1] > 0 ? front[2] : 0;
        content->fields = front[1] > 0 ? NF2_FIELDS_VALID : NF2_FIELDS_OLDER;
        content->at = (uint16_t)(content->at + 2 + front[1]);
        NF2_TRY(nf2_body_read(fs, entry, content->at, &content->kind, 1));
    }
    if (content->kind < NF2_BODY_DIR || content->kind > NF2_BODY_MAP) {
        return NF2_ERR_VERSION;
    }
    if (content->kind == NF2_BODY_DIR || content->kind == NF2_BODY_MAP) {
        NF2_TRY(nf2_body_read(fs, entry, content->at + 1u, id, sizeof id));
        content->id = nf2_get32(id);
    }
    return NF2_OK;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/*
 * The next name that no '..' behind it takes back; `*length` 0 at the end. '..' left over is of the
 * root, which is the root.
 */
static const char *next_name(const char *p, uint32_t *length)
{
    const char *name = p;
    uint32_t depth = 0, n;

    for (*length = 0;; p += n) {
        while (*p == '/') {
            p++;
        }
        for (n = 0; p[n] != '\0' && p[n] != '/'; n++) {
        }
        if (n == 0) {
            return name;
        }
        bool dots = n <= 2 && p[0] == '.' && p[n - 1] == '.';
        if (!dots && depth++ == 0) {
            name = p;
            *length = n;
        } else if (dots && n == 2 && depth > 0 && --depth == 0) {
            *length = 0;
        }
    }
}

int nf2_find(nf2_t *fs, const char *path, uint32_t within, struct nf2_found *found)
{
    bool inside = false;
    uint32_t length;

    if (path == NULL) {
        return NF2_ERR_INVAL;
    }
    memset(found, 0, sizeof *found);
    found->content.kind = NF2_BODY_DIR;
    found->content.id = NF2_ROOT_ID;
    for (;;) {
        const char *name = next_name(path, &length);
        found->behind = path;
        if (length == 0) {
            return inside ? NF2_ERR_INVAL : NF2_OK;
        }
        if (found->content.kind != NF2_BODY_DIR) {
            return found->content.kind != 0 ? NF2_ERR_NOTDIR : NF2_ERR_NOENT;
        }
        if (length > NF2_NAME_MAX) {
            return NF2_ERR_NAMETOOLONG;
        }
        inside = inside || found->content.id == within;
        found->key.id = found->content.id;
        found->name = name;
        found->length = (uint8_t)length;
        path = name + length;
        NF2_TRY(look_up(fs, found));
    }
}
