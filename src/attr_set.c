/* SPDX-License-Identifier: BSD-2-Clause */
/* attr_set.c - attributes are set, and committed together with content. */
#include "attr_set.h"

#include "collect.h"
#include "commit.h"
#include "lock.h"
#include "save.h"
#include "writing.h"

/* ---- fields ---------------------------------------------------------------------------------- */

static bool may_be_set(uint8_t id)
{
    return id == NF2_ATTR_MODE || id == NF2_ATTR_TIME ||
           (id >= NF2_ATTR_USER && id <= NF2_ATTR_USER_LAST);
}

static int check_given(const struct nf2_attr *list, uint32_t count)
{
    NF2_TRY(list != NULL || count == 0 ? NF2_OK : NF2_ERR_INVAL);
    for (uint32_t i = 0; i < count; i++) {
        bool right = may_be_set(list[i].id) && (list[i].data != NULL || list[i].length == 0);
        for (uint32_t j = 0; j < i; j++) {
            right = right && list[j].id != list[i].id;
        }
        NF2_TRY(right ? NF2_OK : NF2_ERR_INVAL);
    }
    return NF2_OK;
}

/* Sets one; the fields are in descending order of their tags afterwards, if they were before. */
static int put_field(struct nf2_fields *fields, const struct nf2_attr *attribute)
{
    uint32_t at = 0, bytes = 2u + attribute->length;

    nf2_fields_remove(fields, attribute->id);
    if (attribute->data == NULL) {
        return NF2_OK;
    }
    if (fields->length + bytes > NF2_ATTR_ROOM) {
        return NF2_ERR_FBIG;
    }
    while (at < fields->length && *nf2_fields_at(fields, at) > attribute->id) {
        at = nf2_fields_next(fields, at);
    }
    uint8_t *p = nf2_fields_at(fields, at);
    memmove(p + bytes, p, fields->length - at);
    fields->length = (uint16_t)(fields->length + bytes);
    p[0] = attribute->id;
    p[1] = attribute->length;
    memcpy(p + 2, attribute->data, attribute->length);
    return NF2_OK;
}

/* All that is given is there already. */
static bool has_all(struct nf2_fields *fields, const struct nf2_attr *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = nf2_fields_find(fields, list[i].id);
        bool there = at < fields->length;
        const uint8_t *p = nf2_fields_at(fields, at);
        if (there != (list[i].data != NULL) ||
            (there && (p[1] != list[i].length || memcmp(p + 2, list[i].data, p[1]) != 0))) {
            return false;
        }
    }
    return true;
}

static int put_given(struct nf2_fields *fields, const struct nf2_given *given)
{
    for (uint32_t i = 0; i < given->count; i++) { /* first all that goes: it makes room */
        nf2_fields_remove(fields, given->list[i].id);
    }
    for (uint32_t i = 0; i < given->count; i++) {
        NF2_TRY(put_field(fields, &given->list[i]));
    }
    /* no room for a time: there is none */
    if (given->stamp.id != 0 && put_field(fields, &given->stamp) < 0) {
        nf2_fields_remove(fields, NF2_ATTR_TIME);
    }
    return NF2_OK;
}

/* Where the body begins: with the head of the fields, if there are any. */
static uint8_t *fields_begin(struct nf2_fields *fields)
{
    fields->body[0] = NF2_BODY_FIELDS;
    fields->body[1] = (uint8_t)fields->length;
    return fields->body + (fields->length > 0 ? 0 : NF2_FIELDS_HEAD);
}

void nf2_given_time(const nf2_t *fs, struct nf2_given *given)
{
    uint64_t now = fs->config->time_s != NULL ?
                   fs->config->time_s(fs->config->clock_context) : 0;

    given->stamp.id = 0;
    for (uint32_t i = 0; i < given->count; i++) {
        now = given->list[i].id == NF2_ATTR_TIME ? 0 : now;
    }
    if (now != 0 && now >> 40 == 0) {
        *nf2_put32(given->time, (uint32_t)now) = (uint8_t)(now >> 32);
        given->stamp = (struct nf2_attr){NF2_ATTR_TIME, sizeof given->time, given->time};
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

/*
 * Puts the entry with other fields; only to see whether that is a change, if not `ready`: 1 if so,
 * 0, or an error. Apart from the room for it.
 */
static NF2_APART int put_entry(nf2_t *fs, const struct nf2_key *key, const struct nf2_given *given,
                         bool ready)
{
    struct nf2_entry entry;
    struct nf2_content content;
    struct nf2_fields fields;
    struct nf2_op op;

    NF2_TRY(nf2_content_entry(fs, key, &entry, &content));
    NF2_TRY(nf2_fields_load(fs, &entry, &content, &fields));
    if (has_all(&fields, given->list, given->count) && has_all(&fields, &given->stamp,
                                                              given->stamp.id != 0)) {
        return 0;
    }
    NF2_TRY(put_given(&fields, given));
    uint32_t length = (uint32_t)entry.body.length - content.at;
    if (length > NF2_CONTENT_MOST) {
        return NF2_ERR_VERSION;
    }
    if (!ready) {
        return 1;
    }
    uint8_t *body = fields_begin(&fields), *behind = nf2_fields_at(&fields, fields.length);
    NF2_TRY(nf2_body_read(fs, &entry, content.at, behind, length));
    nf2_op_put(&op, key, body, (uint32_t)(behind - body) + length);
    if (content.rest > 0) {
        op.body[1] = op.body[0];
        op.body[0] = nf2_body_span(&entry, 0, content.rest);
    }
    NF2_TRY(nf2_change_one(fs, &op));
    fs->moves++;
    return 1;
}

int nf2_attr_put(nf2_t *fs, const struct nf2_key *key, const struct nf2_given *given)
{
    int changes = put_entry(fs, key, given, false);

    if (changes <= 0) {
        return changes;
    }
    NF2_TRY(nf2_data_name(fs));
    return nf2_group_end(fs, put_entry(fs, key, given, true));
}

/* The key of what a path leads to, if attributes of that may be set. */
static NF2_APART int find_key(nf2_t *fs, const char *path, struct nf2_key *key)
{
    struct nf2_found found;

    NF2_TRY(nf2_attr_find(fs, path, &found));
    if (nf2_handle_of(fs, &found.key, NF2_O_WRONLY) != NULL) {
        return NF2_ERR_BUSY;
    }
    if ((found.content.classes & (NF2_FIELD_REFUSE | NF2_FIELD_READ)) != 0) {
        return NF2_ERR_VERSION;
    }
    nf2_key_copy(key, &found.key);
    return NF2_OK;
}

static int set_given(nf2_t *fs, const char *path, const struct nf2_attr *list, uint32_t count)
{
    struct nf2_given given = {.list = list, .count = count};
    struct nf2_key key;

    NF2_TRY(fs->read_only ? NF2_ERR_ROFS : check_given(list, count));
    NF2_TRY(find_key(fs, path, &key));
    int result = nf2_attr_put(fs, &key, &given);
    return result < 0 ? result : NF2_OK;
}

int nf2_setattr(nf2_t *fs, const char *path, const struct nf2_attr *attributes, uint32_t count)
{
    NF2_LOCKED(fs, set_given(fs, path, attributes, count));
}

/* ---- with content ---------------------------------------------------------------------------- */

/* The fields that the file of a handle will have. */
static int fields_of(nf2_t *fs, const nf2_file_t *file, const struct nf2_given *given,
                     struct nf2_fields *fields)
{
    struct nf2_entry entry;
    struct nf2_content content;

    fields->length = 0;
    if (file->kind != 0) {
        NF2_TRY(nf2_content_entry(fs, &file->key, &entry, &content));
        NF2_TRY(nf2_fields_load(fs, &entry, &content, fields));
    }
    return put_given(fields, given);
}

static NF2_APART int check_room(nf2_t *fs, const nf2_file_t *file, const struct nf2_given *given)
{
    struct nf2_fields fields;

    return fields_of(fs, file, given, &fields);
}

/* All of a file that lies in the buffer goes into its entry: 1, 0 if it does not fit, an error. */
static NF2_APART int put_whole(nf2_t *fs, nf2_file_t *file, const struct nf2_given *given)
{
    struct nf2_content old = {.kind = file->kind, .id = file->id};
    struct nf2_fields fields;
    struct nf2_op ops[2];

    int result = fields_of(fs, file, given, &fields);
    if (result == NF2_ERR_VERSION || fields.length == 0 ||
        fields.length + file->size > NF2_ATTR_INLINE) {
        return 0;
    }
    NF2_TRY(result);
    uint8_t *body = fields_begin(&fields), *behind = nf2_fields_at(&fields, fields.length);
    *behind++ = NF2_BODY_INLINE;
    nf2_op_put(&ops[0], &file->key, body, (uint32_t)(behind - body));
    ops[0].body[1] = nf2_span_of(file->buffer, file->buffered);
    NF2_TRY(nf2_change_ahead(fs, ops, 1u + (unsigned)nf2_commit_orphan(&old, &ops[1])));
    file->frames_block = 0;
    file->kind = NF2_BODY_INLINE;
    file->fields = NF2_FIELDS_VALID;
    file->id = 0;
    return nf2_committed(fs, file);
}

static int commit_whole(nf2_t *fs, nf2_file_t *file, const struct nf2_given *given)
{
    bool name = file->created && file->promised == 0;

    if (!nf2_content_whole(file) || nf2_key_has_rest(&file->key)) {
        return 0;
    }
    int result = name ? nf2_data_name(fs) : nf2_collect_ready(fs, false);
    result = nf2_group_end(fs, result < 0 ? result : put_whole(fs, file, given));
    if (result == NF2_NEED_SPACE || result == NF2_ERR_NOSPC) {
        return NF2_ERR_NOSPC;
    }
    file->failed |= result < 0;
    return result;
}

/* Has the file fields now? */
static NF2_APART int learn_fields(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_entry entry;
    struct nf2_content content;

    NF2_TRY(nf2_content_entry(fs, &file->key, &entry, &content));
    file->fields = content.fields;
    return NF2_OK;
}

int nf2_attr_commit(nf2_t *fs, nf2_file_t *file, struct nf2_given *given)
{
    bool written = file->changed || file->dirty, due = (file->flags & NF2_TIME_DUE) != 0;
    bool frame = file->dirty && nf2_data_frame(file, file->buffered);
    bool entry = !frame && (file->kind != NF2_BODY_MAP || file->fresh);

    NF2_TRY(file->failed ? NF2_ERR_IO : NF2_OK);
    given->stamp.id = 0;
    if ((written || due) && fs->writing != &nf2_writing_plain) {
        nf2_given_time(fs, given);
    }
    bool timed = given->stamp.id != 0;
    int done = written && (timed || given->count > 0) ? commit_whole(fs, file, given) : 0;
    NF2_TRY(done);
    if (done == 0) {
        NF2_TRY(nf2_file_sync(fs, file));
        if (given->count == 0 && !(timed && entry)) { /* the time comes when it is closed */
            file->flags |= timed ? NF2_TIME_DUE : 0;
            return NF2_OK;
        }
        int result = nf2_attr_put(fs, &file->key, given);
        if ((result == NF2_ERR_NOSPC || result == NF2_ERR_VERSION) && given->count == 0) {
            return NF2_OK;      /* the content is durable, without its time */
        }
        NF2_TRY(result);
        NF2_TRY(learn_fields(fs, file));
    }
    file->flags &= (uint16_t)~NF2_TIME_DUE;
    return NF2_OK;
}

struct saving {
    nf2_file_t file;            /* first: the commit is given this */
    struct nf2_given given;
};

static int commit_saving(nf2_t *fs, nf2_file_t *file)
{
    struct saving *saving = (struct saving *)(void *)file;

    NF2_TRY(check_room(fs, file, &saving->given));
    return nf2_attr_commit(fs, file, &saving->given);
}

static int save_given(nf2_t *fs, const char *path, const struct nf2_saved *saved,
                      const struct nf2_attr *list, uint32_t count)
{
    struct saving saving;

    NF2_TRY(fs->read_only ? NF2_ERR_ROFS : check_given(list, count));
    saving.given = (struct nf2_given){.list = list, .count = count};
    saving.file.kind = 0;       /* alone, before anything is programmed */
    NF2_TRY(check_room(fs, &saving.file, &saving.given));
    int same = nf2_save_by(fs, &saving.file, path, saved);
    if (same <= 0) {
        return same;
    }
    same = nf2_attr_put(fs, &saving.file.key, &saving.given);
    return same < 0 ? same : NF2_OK;
}

int nf2_save_attr(nf2_t *fs, const char *path, const void *data, uint32_t length,
                  const struct nf2_attr *attributes, uint32_t count)
{
    static const struct nf2_save_way way = {.commit = commit_saving};
    struct nf2_saved saved = {data, length, &way};

    NF2_LOCKED(fs, save_given(fs, path, &saved, attributes, count));
}

static int sync_given(nf2_t *fs, nf2_file_t *file, const struct nf2_attr *list, uint32_t count)
{
    struct nf2_given given = {.list = list, .count = count};
    const nf2_file_t *open = fs->files;

    while (open != NULL && open != file) {
        open = open->link;
    }
    NF2_TRY(open != NULL && (file->flags & NF2_O_WRONLY) != 0 ? NF2_OK : NF2_ERR_BADF);
    NF2_TRY((file->flags & NF2_REFUSED) != 0 && !file->failed ? NF2_ERR_NOSPC : NF2_OK);
    NF2_TRY(check_given(list, count));
    NF2_TRY(check_room(fs, file, &given));
    return nf2_attr_commit(fs, file, &given);
}

int nf2_sync_attr(nf2_t *fs, nf2_file_t *file, const struct nf2_attr *attributes, uint32_t count)
{
    NF2_LOCKED(fs, sync_given(fs, file, attributes, count));
}
