/* SPDX-License-Identifier: BSD-2-Clause */
/* rebuild.c - what was saved, handed out; and a new volume with all of it. */
#include "inside.h"

#define ATTRIBUTES_MOST 34u     /* ids that may be set */
#define SPREAD 2654435761u      /* odd: multiples of it reach all places of a power of two */

bool repair_lost_range(const struct repair *r, unsigned item, unsigned number, uint32_t *from,
                       uint32_t *to)
{
    const struct item *one = &r->items.list[item];

    for (size_t i = 0; i < one->parts.count; i++) {
        const struct rep_part *part = &one->parts.list[i];
        if (part->lost && number-- == 0) {
            *from = part->at;
            *to = part->at + part->length;
            return true;
        }
    }
    return false;
}

static int ends_behind(const void *one, const void *at)
{
    const struct rep_part *part = one;
    return part->at + part->length <= *(const uint32_t *)at ? -1 : 1;
}

uint32_t repair_read(const struct repair *r, unsigned item, uint32_t at, void *data,
                     uint32_t length)
{
    const struct item *one = &r->items.list[item];
    uint8_t *to = data;
    uint32_t done = 0;

    for (size_t i = REP_LOWER(&one->parts, &at, ends_behind);
         i < one->parts.count && done < length; i++) {
        const struct rep_part *part = &one->parts.list[i];
        uint32_t skip = at + done - part->at, n = rep_min(part->length - skip, length - done);
        if (part->data != NULL) {
            memcpy(to + done, part->data + skip, n);
        } else {
            memset(to + done, 0, n);
        }
        done += n;
    }
    return done;
}

/* ---- a new volume ---------------------------------------------------------------------------- */

/*
 * In writes of a page, which promise to take less than longer ones (nf2_write is refused as a
 * whole). Zeros that nobody wrote are a gap, which reads as zeros.
 */
static int write_part(nf2_t *fs, nf2_file_t *file, const struct rep_part *part)
{
    if (part->data == NULL) {
        return (int)nf2_seek(fs, file, (int32_t)(part->at + part->length), NF2_SEEK_SET);
    }
    for (uint32_t done = 0, n; done < part->length; done += n) {
        n = rep_min(part->length - done, NF2_LOG_PAGE);
        int32_t written = nf2_write(fs, file, part->data + done, n);
        if (written < 0) {
            return (int)written;
        }
    }
    return NF2_OK;
}

/* Where there is no room nothing of the file is left. */
static int write_file(nf2_t *fs, const struct item *item, void *page)
{
    nf2_file_t file;
    int result = nf2_open(fs, &file, item->out.path, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC,
                          page);

    if (result < 0) {
        return result;
    }
    for (size_t i = 0; i < item->parts.count && result >= 0; i++) {
        result = write_part(fs, &file, &item->parts.list[i]);
    }
    result = result < 0 ? result : nf2_truncate(fs, &file, item->out.size); /* a gap at the end */
    int closed = nf2_close(fs, &file);
    result = result < 0 ? result : closed;
    int removed = result == NF2_ERR_NOSPC ? nf2_remove(fs, item->out.path) : NF2_OK;
    return removed < 0 && removed != NF2_ERR_NOENT ? removed : result;
}

/* Ids that are in order, and may be set: of others a volume cannot be made. */
static bool may_be_set(uint8_t id)
{
    return id == NF2_ATTR_MODE || id == NF2_ATTR_TIME ||
           (id >= NF2_ATTR_USER && id <= NF2_ATTR_USER_LAST);
}

/* The fields in `p` become attributes that are set, each id once. */
static uint32_t add_fields(struct nf2_attr *list, uint32_t count, const uint8_t *p, uint32_t length)
{
    for (uint32_t at = 0; at + 2 <= length && at + 2 + p[at + 1] <= length; at += 2u + p[at + 1]) {
        uint32_t place = 0;
        while (place < count && list[place].id != p[at]) {
            place++;
        }
        if (place == count && count < ATTRIBUTES_MOST && may_be_set(p[at])) {
            list[count++] = (struct nf2_attr){p[at], p[at + 1], p + at + 2};
        }
    }
    return count;
}

/* Attributes; those of an older content than the last are left out, and what does not fit. */
static int write_attributes(nf2_t *fs, const struct item *item)
{
    struct nf2_attr list[ATTRIBUTES_MOST];
    uint32_t count = 0, at = 0;

    while (at + 2 <= item->fields_length) {
        uint32_t length = item->fields[at + 1];
        count = add_fields(list, count, item->fields + at + 2,
                           rep_min(length, item->fields_length - at - 2));
        for (uint32_t i = 0; length == 0 && i < count; i++) {
            if (list[i].id == NF2_ATTR_TIME) {
                list[i--] = list[--count];
            }
        }
        at += 2 + length;
    }
    int result = count > 0 ? nf2_setattr(fs, item->out.path, list, count) : NF2_OK;
    return result == NF2_ERR_FBIG || result == NF2_ERR_NOSPC ? NF2_OK : result;
}

static int write_item(struct repair *r, nf2_t *fs, struct item *item, void *page)
{
    int result = item->out.type == NF2_TYPE_DIR ? nf2_mkdir(fs, item->out.path) :
                                                  write_file(fs, item, page);

    result = result == NF2_OK ? write_attributes(fs, item) : result;
    if (result == NF2_ERR_IO || result == NF2_ERR_CORRUPT) {
        return result; /* the new volume is at fault; else there is no place for the item */
    }
    item->out.left_out = result < 0;
    r->left_out = r->left_out || result < 0;
    return NF2_OK;
}

/* Directories are first; then what can be trusted most. */
static unsigned turn_of(const struct item *item)
{
    return item->out.type == NF2_TYPE_DIR ? 0 : 1 + (unsigned)item->out.state;
}

/*
 * Each directory is behind the one that it is in. Files are not written in the order of their
 * names: scattered they fill the leaves of the new tree better.
 */
int repair_write(struct repair *r, nf2_t *fs, void *page, unsigned *failed)
{
    uint32_t room = 1;
    int result = NF2_OK;

    r->left_out = false;
    while (room < r->items.count) {
        room *= 2;
    }
    for (unsigned turn = 0; turn <= REPAIR_LOST; turn++) {
        for (uint32_t n = 0; n < room && result == NF2_OK; n++) {
            uint32_t i = turn == 0 ? n : n * SPREAD & (room - 1);
            if (i < r->items.count && turn_of(&r->items.list[i]) == turn) {
                *failed = i;
                result = write_item(r, fs, &r->items.list[i], page);
            }
        }
    }
    return result;
}

static int compare_file(const struct repair *r, nf2_t *fs, unsigned number)
{
    const struct repair_item *item = &r->items.list[number].out;
    uint8_t want[4096], is[4096];
    nf2_file_t file;
    int result = nf2_open(fs, &file, item->path, NF2_O_RDONLY, NULL);

    if (result < 0) {
        return result;
    }
    result = nf2_size(fs, &file) == (int32_t)item->size ? NF2_OK : NF2_ERR_CORRUPT;
    for (uint32_t at = 0, n; at < item->size && result == NF2_OK; at += n) {
        n = repair_read(r, number, at, want, sizeof want);
        int32_t got = nf2_read(fs, &file, is, n);
        bool same = got == (int32_t)n && memcmp(want, is, n) == 0;
        result = got < 0 ? (int)got : same ? NF2_OK : NF2_ERR_CORRUPT;
    }
    int closed = nf2_close(fs, &file);
    return result < 0 ? result : closed;
}

int repair_verify(const struct repair *r, nf2_t *fs, unsigned *failed)
{
    int result = NF2_OK;

    for (unsigned i = 0; i < r->items.count && result == NF2_OK; i++) {
        const struct repair_item *item = &r->items.list[i].out;
        struct nf2_stat stat;
        *failed = i;
        if (item->left_out || item->state == REPAIR_LOST) {
            continue;
        }
        result = nf2_stat(fs, item->path, &stat);
        if (result == NF2_OK && stat.type != item->type) {
            result = NF2_ERR_CORRUPT;
        } else if (result == NF2_OK && item->type == NF2_TYPE_FILE) {
            result = compare_file(r, fs, i);
        }
    }
    return result;
}
