/* SPDX-License-Identifier: BSD-2-Clause */
/* rebuild.c - a new volume with all that was saved. */
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "salvage.h"

/* How a file is written: bytes a call, and whether zeros that nobody wrote are written too. */
struct way {
    uint32_t chunk;
    bool dense;
};

static int write_part(nf2_t *fs, nf2_file_t *file, const struct rep_part *part, const struct way *way)
{
    static const uint8_t zeros[4096];

    if (part->data == NULL && !way->dense) { /* the gap reads as zeros */
        int32_t at = nf2_seek(fs, file, (int32_t)(part->at + part->length), NF2_SEEK_SET);
        return at < 0 ? (int)at : NF2_OK;
    }
    for (uint32_t done = 0, n; done < part->length; done += n) {
        n = nf2_min(part->length - done, part->data != NULL ? way->chunk : nf2_min(way->chunk, sizeof zeros));
        int32_t written = nf2_write(fs, file, part->data != NULL ? part->data + done : zeros, n);
        NF2_TRY(written);
    }
    return NF2_OK;
}

static int write_content(nf2_t *fs, const char *path, const struct rep_content *content, const struct way *way, void *page)
{
    nf2_file_t file;
    int result = nf2_open(fs, &file, path, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, page);

    NF2_TRY(result);
    for (unsigned i = 0; i < content->parts && result == NF2_OK; i++) {
        result = write_part(fs, &file, &content->part[i], way);
    }
    if (result == NF2_OK && !way->dense && content->parts > 0 && content->part[content->parts - 1].data == NULL) {
        result = nf2_truncate(fs, &file, content->size);
    }
    int closed = nf2_close(fs, &file);
    return result < 0 ? result : closed;
}

/*
 * Where there is little room: a write of a page promises to take less than one of a megabyte (nf2_write is refused as a whole), and a
 * file without gaps is stored without a map. Before the next way is tried nothing of the file is left.
 */
static int write_file(const struct repair *repair, nf2_t *fs, const struct item *item, void *page)
{
    const struct way ways[] = {{1u << 20, false}, {repair->image.page_size, false}, {repair->image.page_size, true}};
    struct rep_content content;
    int result = NF2_ERR_NOSPC;

    rep_item_content(repair, item, &content);
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0] && result == NF2_ERR_NOSPC; i++) {
        result = write_content(fs, item->path, &content, &ways[i], page);
        if (result == NF2_ERR_NOSPC) {
            int removed = nf2_remove(fs, item->path);
            result = removed < 0 && removed != NF2_ERR_NOENT ? removed : result;
        }
    }
    rep_content_free(&content);
    return result;
}

/* Is the new volume itself at fault? Else it is the item that cannot be written: for want of room, or it has no form that a volume can have. */
static bool is_broken(int result)
{
    return result == NF2_ERR_IO || result == NF2_ERR_CORRUPT;
}

static int note_left_out(struct repair *repair, struct item *item, int result)
{
    if (result >= 0 || is_broken(result)) {
        return result;
    }
    item->out.left_out = true;
    repair->lossy = true;
    return NF2_OK;
}

int repair_write(struct repair *repair, nf2_t *fs, void *page, unsigned *failed)
{
    for (unsigned i = 0; i < repair->items; i++) {
        *failed = i;
        if (repair->item[i].out.type == NF2_TYPE_DIR) {
            NF2_TRY(note_left_out(repair, &repair->item[i], nf2_mkdir(fs, repair->item[i].path)));
        }
    }
    for (unsigned state = 0; state < REPAIR_LOST; state++) {
        for (unsigned i = 0; i < repair->items; i++) {
            struct item *item = &repair->item[i];
            *failed = i;
            if (item->out.type == NF2_TYPE_FILE && item->out.state == (enum repair_state)state) {
                NF2_TRY(note_left_out(repair, item, write_file(repair, fs, item, page)));
            }
        }
    }
    return NF2_OK;
}

static int compare_part(nf2_t *fs, nf2_file_t *file, const struct rep_part *part)
{
    uint8_t bytes[4096];

    for (uint32_t done = 0; done < part->length;) {
        uint32_t n = nf2_min(part->length - done, sizeof bytes);
        int32_t got = nf2_read(fs, file, bytes, n);
        NF2_TRY(got);
        for (uint32_t i = 0; i < n; i++) {
            if ((uint32_t)got != n || bytes[i] != (part->data == NULL ? 0 : part->data[done + i])) {
                return NF2_ERR_CORRUPT;
            }
        }
        done += n;
    }
    return NF2_OK;
}

static int compare_file(const struct repair *repair, nf2_t *fs, const struct item *item)
{
    struct rep_content content;
    nf2_file_t file;
    uint8_t byte;
    int result = nf2_open(fs, &file, item->path, NF2_O_RDONLY, NULL);

    NF2_TRY(result);
    rep_item_content(repair, item, &content);
    for (unsigned i = 0; i < content.parts && result == NF2_OK; i++) {
        result = compare_part(fs, &file, &content.part[i]);
    }
    if (result == NF2_OK && nf2_read(fs, &file, &byte, 1) != 0) {
        result = NF2_ERR_CORRUPT;
    }
    rep_content_free(&content);
    int closed = nf2_close(fs, &file);
    return result < 0 ? result : closed;
}

int repair_verify(const struct repair *repair, nf2_t *fs, unsigned *failed)
{
    struct nf2_stat stat;

    for (unsigned i = 0; i < repair->items; i++) {
        const struct item *item = &repair->item[i];
        *failed = i;
        if (item->out.left_out || (item->out.state == REPAIR_LOST && item->out.type == NF2_TYPE_FILE)) {
            continue;
        }
        NF2_TRY(nf2_stat(fs, item->path, &stat));
        if (stat.type != item->out.type) {
            return NF2_ERR_CORRUPT;
        }
        if (stat.type == NF2_TYPE_FILE) {
            NF2_TRY(compare_file(repair, fs, item));
        }
    }
    return NF2_OK;
}
