/* SPDX-License-Identifier: BSD-2-Clause */
/* attr.c - attributes are read and listed. */
#include "attr.h"

#include "lock.h"

/* Fields with these 16 tags are void when the content is a newer one. */
#define OF_CONTENT 0x10u

int nf2_attr_find(nf2_t *fs, const char *path, struct nf2_found *found)
{
    NF2_TRY(nf2_find(fs, path, 0, found));
    if (found->content.kind == 0) {
        return NF2_ERR_NOENT;
    }
    if (found->length == 0) {
        return NF2_ERR_INVAL;
    }
    bool file = found->content.kind != NF2_BODY_DIR;
    return file && *found->behind != '\0' ? NF2_ERR_NOTDIR : NF2_OK;
}

uint32_t nf2_fields_find(struct nf2_fields *fields, uint8_t tag)
{
    uint32_t at = 0;

    while (at < fields->length && *nf2_fields_at(fields, at) != tag) {
        at = nf2_fields_next(fields, at);
    }
    return at;
}

void nf2_fields_remove(struct nf2_fields *fields, uint8_t tag)
{
    uint32_t at = nf2_fields_find(fields, tag);

    if (at < fields->length) {
        uint8_t *p = nf2_fields_at(fields, at);
        uint32_t bytes = 2u + p[1];
        fields->length = (uint16_t)(fields->length - bytes);
        memmove(p, p + bytes, fields->length - at);
    }
}

/* Do whole fields take just so many bytes? */
static bool whole_fields(const uint8_t *p, uint32_t bytes)
{
    uint32_t at = 0;

    while (at + 2 <= bytes) {
        at += 2u + p[at + 1];
    }
    return at == bytes;
}

int nf2_fields_load(nf2_t *fs, const struct nf2_entry *entry, const struct nf2_content *content,
                    struct nf2_fields *fields)
{
    uint32_t at = content->rest;
    uint8_t head[2];

    fields->length = 0;
    while (at < content->at) {
        NF2_TRY(nf2_body_read(fs, entry, at, head, sizeof head));
        uint8_t *p = nf2_fields_at(fields, fields->length);
        at += 2u + head[1];
        if (fields->length + head[1] > NF2_ATTR_ROOM) {
            return NF2_ERR_VERSION;
        }
        NF2_TRY(nf2_body_read(fs, entry, at - head[1], p, head[1]));
        NF2_TRY(whole_fields(p, head[1]) ? NF2_OK : NF2_ERR_IO);
        fields->length = (uint16_t)(fields->length + head[1]);
        for (unsigned tag = OF_CONTENT; head[1] == 0 && tag <= (OF_CONTENT | 0xFu); tag++) {
            nf2_fields_remove(fields, (uint8_t)tag);
        }
    }
    return NF2_OK;
}

static NF2_APART int load_fields(nf2_t *fs, const char *path, struct nf2_fields *fields)
{
    struct nf2_found found;

    NF2_TRY(nf2_attr_find(fs, path, &found));
    fields->length = 0;         /* created, not synced: none */
    return found.content.kind != NF2_BODY_NEW ?
           nf2_fields_load(fs, &found.entry, &found.content, fields) : NF2_OK;
}

static int32_t get_attribute(nf2_t *fs, const char *path, uint8_t id, void *data, uint32_t room)
{
    struct nf2_fields fields;

    NF2_TRY(data != NULL || room == 0 ? NF2_OK : NF2_ERR_INVAL);
    NF2_TRY(load_fields(fs, path, &fields));
    uint32_t at = nf2_fields_find(&fields, id);
    if (at >= fields.length) {
        return NF2_ERR_NOENT;
    }
    const uint8_t *p = nf2_fields_at(&fields, at);
    if (room > 0) {
        memcpy(data, p + 2, nf2_min(p[1], room));
    }
    return p[1];
}

int32_t nf2_getattr(nf2_t *fs, const char *path, uint8_t id, void *data, uint32_t room)
{
    NF2_LOCKED(fs, get_attribute(fs, path, id, data, room));
}

static int list_attributes(nf2_t *fs, const char *path, uint8_t *ids, uint32_t room)
{
    struct nf2_fields fields;
    uint32_t count = 0;

    NF2_TRY(ids != NULL || room == 0 ? NF2_OK : NF2_ERR_INVAL);
    NF2_TRY(load_fields(fs, path, &fields));
    for (uint32_t at = 0; at < fields.length; at = nf2_fields_next(&fields, at), count++) {
        if (count < room) {
            ids[count] = *nf2_fields_at(&fields, at);
        }
    }
    return (int)count;
}

int nf2_listattr(nf2_t *fs, const char *path, uint8_t *ids, uint32_t room)
{
    NF2_LOCKED(fs, list_attributes(fs, path, ids, room));
}
