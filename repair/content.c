/* SPDX-License-Identifier: BSD-2-Clause */
/* content.c - what files consist of, piece by piece. */
#include "inside.h"

struct building {
    struct repair *repair;
    const struct rep_entry *entry;  /* that the piece at hand is in */
    struct rep_content *content;
    uint32_t id;
};

static void find(const struct building *b, enum repair_kind kind, uint32_t block, uint32_t offset,
                 uint32_t number, const char *text)
{
    rep_find(b->repair, kind, block, offset, number, b->id, "%s", text);
}

static void add(const struct building *b, uint32_t at, uint32_t length, const uint8_t *data,
                bool lost, bool checked)
{
    struct rep_content *content = b->content;
    struct rep_part *last = content->parts > 0 ? &content->part[content->parts - 1] : NULL;

    if (length == 0) {
        return;
    }
    if (last != NULL && last->lost && lost && last->at + last->length == at) {
        last->length += length;
    } else {
        struct rep_part part = {at, length, data, lost, checked};
        content->part = rep_grow(content->part, content->parts, &content->room, sizeof part);
        content->part[content->parts++] = part;
    }
    content->size = at + length;
}

/* The part [from, to) of what frames hold, counted from their base on. */
static void add_frames(const struct building *b, const struct rep_piece *piece,
                       const struct rep_frames *frames)
{
    uint32_t end = piece->at + piece->length, at = piece->at;

    for (size_t i = 0; i < frames->parts && at < end; i++) {
        const struct rep_part *part = &frames->part[i];
        uint32_t start = frames->base + part->at, stop = start + part->length;
        if (stop <= at || start > at || stop < start) {
            continue;
        }
        uint32_t n = rep_min(stop, end) - at;
        add(b, at, n, part->lost ? NULL : part->data + (at - start), part->lost, true);
        at += n;
    }
    if (at < end) {
        find(b, REPAIR_FRAMES, piece->block, 0, at,
             "The frames of this block end before the file's data do.");
        add(b, at, end - at, NULL, true, true);
    }
}

static void check_frames(const struct building *b, const struct rep_frames *frames)
{
    if (frames->mended_heads > 0) {
        find(b, REPAIR_MENDED, frames->block, 0, frames->mended_heads,
             "One bit of a page's epoch is wrong.");
    }
    if (frames->none) {
        find(b, REPAIR_FRAMES, frames->block, 0, 0, "There is no valid frame in this block.");
        b->content->lost_end = true;
    } else if (frames->damaged) {
        find(b, REPAIR_FRAMES, frames->block, frames->place, 0,
             "Frames of this block are damaged: no power cut leaves what is here.");
        b->content->lost_end = true;
    } else if (frames->torns > 0) {
        find(b, REPAIR_UNFINISHED, frames->block, frames->torn, frames->torns,
             "A frame was not written to its end.");
        rep_torn(b->repair, frames->block, frames->torn, frames->torn_epoch);
    }
}

static void add_piece(const struct building *b, const struct rep_piece *piece)
{
    const struct rep_image *image = &b->repair->image;

    if (piece->kind == NF2_PIECE_DATA) {
        add(b, piece->at, piece->length, rep_at(image, piece->block, piece->within), false, false);
    } else if (piece->kind == NF2_PIECE_FRAMES) {
        const struct rep_frames *frames = rep_frames_read(b->repair, piece->block, piece->within);
        check_frames(b, frames);
        add_frames(b, piece, frames);
    } else {
        add(b, piece->at, piece->length, NULL, false, true);
    }
}

static void read_list(struct building *b, const struct rep_entry *entry)
{
    struct rep_list list;
    struct rep_piece piece;
    unsigned count = 0;

    (void)rep_list_begin(entry, &list);
    while (rep_list_next(b->repair, &list, &piece)) {
        add_piece(b, &piece);
        count++;
    }
    if (list.bad || count == 0 || count > NF2_LIST_MAX) {
        find(b, REPAIR_PIECE, entry->block, entry->at, count,
             "A list of a file's pieces has a piece that is none, or a wrong number of them.");
        b->content->lost_end = b->content->lost_end || list.bad;
    }
}

/* A hole in a map: its bytes are lost. An orphan may have them. */
static void add_hole(const struct building *b, const struct rep_entry *entry, uint32_t to,
                     bool orphan)
{
    if (to > b->content->size) {
        if (!orphan) {
            find(b, REPAIR_HOLE, entry->block, entry->at, b->content->size,
                 "A file has a hole in front of this piece.");
        }
        add(b, b->content->size, to - b->content->size, NULL, true, true);
    }
}

static void read_map(struct building *b, uint32_t id)
{
    struct repair *repair = b->repair;
    struct rep_key first = rep_key_number(id, 0);
    bool orphan = rep_map_get(&repair->orphan, id) != 0;

    const struct rep_key last = rep_key_number(id, UINT32_MAX);
    b->content->lost_end = rep_may_be_lost(repair, &first, &last, true);
    b->content->trust = rep_may_be_lost(repair, &first, &last, false) ? REPAIR_UNSURE :
                                                                        REPAIR_WHOLE;
    first.length = 0;
    size_t i = rep_entry_at(repair, &first);
    if ((i == repair->entries || repair->entry[i].key.id != id) && !repair->summary.complete) {
        b->content->lost_end = true; /* a file without a piece has no map, as a rule */
    }
    for (; i < repair->entries && repair->entry[i].key.id == id; i++) {
        const struct rep_entry *entry = &repair->entry[i];
        struct rep_piece piece;
        uint32_t next;
        b->content->trust = (uint8_t)rep_max(b->content->trust, entry->trust);
        bool good = rep_map_piece(repair, i, &piece, &next);
        if (!good) {
            find(b, REPAIR_PIECE, entry->block, entry->at, 0,
                 "An entry of a file's map is no piece, or lies outside of the volume.");
            b->content->lost_end = b->content->lost_end || next == REP_NONE;
            continue;
        }
        if (piece.at > NF2_FILE_MAX || piece.length > NF2_FILE_MAX - piece.at) {
            find(b, REPAIR_HOLE, entry->block, entry->at, 0,
                 "A file is longer than a file can be.");
            break;
        }
        add_hole(b, entry, piece.at, orphan);
        add_piece(b, &piece);
    }
}

void rep_content_read(struct repair *repair, const struct rep_entry *entry, uint32_t id,
                      struct rep_content *content)
{
    struct building b = {repair, entry, content, id != 0 ? id : entry->key.id};
    uint32_t length = 0;
    const uint8_t *body = entry != NULL ? rep_body(entry, &length) : NULL;

    memset(content, 0, sizeof *content);
    if (entry == NULL || (body != NULL && body[0] == NF2_BODY_MAP && length >= 5)) {
        read_map(&b, entry == NULL ? id : rep_get32(body + 1));
    } else if (body != NULL && body[0] == NF2_BODY_INLINE) {
        add(&b, 0, length - 1, body + 1, false, true);
    } else if (body != NULL && body[0] == NF2_BODY_LIST) {
        read_list(&b, entry);
    }
}

void rep_content_free(struct rep_content *content)
{
    free(content->part);
    content->part = NULL;
}
