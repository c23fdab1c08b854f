/* SPDX-License-Identifier: BSD-2-Clause */
/* rebuild.c - what was saved, handed out; and a new volume with all of it. */
#include "inside.h"

/* The content of a file; it stays until that of another one is asked for. */
static const struct rep_content *content_of(const struct repair *constant, unsigned number)
{
    struct repair *repair = (struct repair *)(uintptr_t)constant; /* the cache alone changes */
    const struct item *item = &repair->item[number];

    if (repair->cache != NULL && repair->cached == number) {
        return repair->cache;
    }
    if (repair->cache == NULL) {
        repair->cache = calloc(1, sizeof *repair->cache);
        if (repair->cache == NULL) {
            abort();
        }
    }
    rep_content_free(repair->cache);
    memset(repair->cache, 0, sizeof *repair->cache);
    repair->cached = number;
    if (item->out.type == NF2_TYPE_FILE && item->out.state != REPAIR_LOST) {
        repair->quiet = true; /* all was said */
        rep_content_read(repair, item->entry, item->id, repair->cache);
        repair->quiet = false;
    }
    return repair->cache;
}

bool repair_lost_range(const struct repair *repair, unsigned item, unsigned number, uint32_t *from,
                       uint32_t *to)
{
    const struct rep_content *content = content_of(repair, item);

    for (size_t i = 0; i < content->parts; i++) {
        if (content->part[i].lost && number-- == 0) {
            *from = content->part[i].at;
            *to = content->part[i].at + content->part[i].length;
            return true;
        }
    }
    return false;
}

/* The first part that does not end in front of an offset. */
static size_t part_at(const struct rep_content *content, uint32_t at)
{
    size_t low = 0, high = content->parts;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (content->part[middle].at + content->part[middle].length <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t repair_read(const struct repair *repair, unsigned item, uint32_t at, void *data,
                     uint32_t length)
{
    const struct rep_content *content = content_of(repair, item);
    uint8_t *to = data;
    uint32_t done = 0;

    for (size_t i = part_at(content, at); i < content->parts && done < length; i++) {
        const struct rep_part *part = &content->part[i];
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

uint32_t repair_unchecked(const struct repair *repair, unsigned item)
{
    const struct rep_content *content = content_of(repair, item);
    uint32_t sum = 0;

    for (size_t i = 0; i < content->parts; i++) {
        sum += content->part[i].checked ? 0 : content->part[i].length;
    }
    return sum;
}

/* ---- a new volume ---------------------------------------------------------------------------- */

/* `dense`: zeros that nobody wrote are written, too; else the gap reads as zeros. */
static int write_part(nf2_t *fs, nf2_file_t *file, const struct rep_part *part, uint32_t page_size,
                      bool dense)
{
    static const uint8_t zeros[NF2_PAGE_MAX];

    if (part->data == NULL && !dense) {
        return (int)nf2_seek(fs, file, (int32_t)(part->at + part->length), NF2_SEEK_SET);
    }
    for (uint32_t done = 0, n; done < part->length; done += n) {
        n = rep_min(part->length - done, page_size);
        int32_t written = nf2_write(fs, file, part->data != NULL ? part->data + done : zeros, n);
        if (written < 0) {
            return (int)written;
        }
    }
    return NF2_OK;
}

static int write_content(const struct repair *repair, nf2_t *fs, unsigned number, bool dense,
                         void *page)
{
    const struct rep_content *content = content_of(repair, number);
    nf2_file_t file;
    int result = nf2_open(fs, &file, repair->item[number].path,
                          NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, page);

    if (result < 0) {
        return result;
    }
    for (size_t i = 0; i < content->parts && result >= 0; i++) {
        result = write_part(fs, &file, &content->part[i], repair->image.page_size, dense);
    }
    if (result >= 0 && content->parts > 0 && content->part[content->parts - 1].data == NULL) {
        result = nf2_truncate(fs, &file, content->size);
    }
    int closed = nf2_close(fs, &file);
    return result < 0 ? result : closed;
}

/*
 * In writes of a page, which promise to take less than longer ones (nf2_write is refused as a
 * whole). Where there is no room: without gaps, since a file that has none is stored without a map.
 * Before that nothing of the file is left.
 */
static int write_file(const struct repair *repair, nf2_t *fs, unsigned number, void *page)
{
    int result = NF2_ERR_NOSPC;

    for (unsigned dense = 0; dense < 2 && result == NF2_ERR_NOSPC; dense++) {
        result = write_content(repair, fs, number, dense != 0, page);
        if (result == NF2_ERR_NOSPC) {
            int removed = nf2_remove(fs, repair->item[number].path);
            result = removed < 0 && removed != NF2_ERR_NOENT ? removed : result;
        }
    }
    return result;
}

/*
 * Is the new volume itself at fault? Else it is the item: there is no room for it, or it has no
 * form that a volume can have.
 */
static int note_left_out(struct repair *repair, unsigned number, int result)
{
    if (result >= 0 || result == NF2_ERR_IO || result == NF2_ERR_CORRUPT) {
        return result;
    }
    repair->item[number].out.left_out = true;
    repair->lossy = true;
    return NF2_OK;
}

int repair_write(struct repair *repair, nf2_t *fs, void *page, unsigned *failed)
{
    /* directories first, each behind the one that it is in */
    for (unsigned state = 0; state <= REPAIR_LOST; state++) {
        for (unsigned i = 0; i < repair->items; i++) {
            const struct repair_item *item = &repair->item[i].out;
            bool directory = item->type == NF2_TYPE_DIR;
            *failed = i;
            if (state == 0 ? !directory : directory || (unsigned)item->state != state - 1) {
                continue;
            }
            int result = directory ? nf2_mkdir(fs, item->path) : write_file(repair, fs, i, page);
            result = note_left_out(repair, i, result);
            if (result < 0) {
                return result;
            }
        }
    }
    return NF2_OK;
}

static int compare_part(nf2_t *fs, nf2_file_t *file, const struct rep_part *part)
{
    uint8_t bytes[4096];

    for (uint32_t done = 0, n; done < part->length; done += n) {
        n = rep_min(part->length - done, sizeof bytes);
        int32_t got = nf2_read(fs, file, bytes, n);
        if (got < 0) {
            return (int)got;
        }
        for (uint32_t i = 0; i < n; i++) {
            if ((uint32_t)got != n || bytes[i] != (part->data == NULL ? 0 : part->data[done + i])) {
                return NF2_ERR_CORRUPT;
            }
        }
    }
    return NF2_OK;
}

static int compare_file(const struct repair *repair, nf2_t *fs, unsigned number)
{
    const struct rep_content *content = content_of(repair, number);
    nf2_file_t file;
    int result = nf2_open(fs, &file, repair->item[number].path, NF2_O_RDONLY, NULL);

    if (result < 0) {
        return result;
    }
    for (size_t i = 0; i < content->parts && result == NF2_OK; i++) {
        result = compare_part(fs, &file, &content->part[i]);
    }
    if (result == NF2_OK && nf2_size(fs, &file) != (int32_t)content->size) {
        result = NF2_ERR_CORRUPT;
    }
    int closed = nf2_close(fs, &file);
    return result < 0 ? result : closed;
}

int repair_verify(const struct repair *repair, nf2_t *fs, unsigned *failed)
{
    int result = NF2_OK;

    for (unsigned i = 0; i < repair->items && result == NF2_OK; i++) {
        const struct repair_item *item = &repair->item[i].out;
        struct nf2_stat stat;
        *failed = i;
        if (item->left_out || (item->state == REPAIR_LOST && item->type == NF2_TYPE_FILE)) {
            continue;
        }
        result = nf2_stat(fs, item->path, &stat);
        if (result == NF2_OK) {
            result = stat.type != item->type     ? NF2_ERR_CORRUPT :
                     item->type == NF2_TYPE_FILE ? compare_file(repair, fs, i) :
                                                   NF2_OK;
        }
    }
    return result;
}
