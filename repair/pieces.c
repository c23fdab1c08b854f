/* SPDX-License-Identifier: BSD-2-Clause */
/* pieces.c - where files lie: FORMAT.md, section 5. */
#include "inside.h"

static bool valid(const struct repair *repair, const struct rep_piece *piece)
{
    const struct rep_image *image = &repair->image;

    if (piece->length > NF2_FILE_MAX) {
        return false;
    }
    if (piece->kind == NF2_PIECE_ZEROS) {
        return true;
    }
    if (piece->block >= image->blocks) {
        return false;
    }
    uint64_t room = (uint64_t)(image->blocks - piece->block) * image->block_size;
    return piece->kind == NF2_PIECE_FRAMES ||
           (piece->within < image->block_size && piece->length > 0 &&
            piece->length <= room - piece->within);
}

uint32_t rep_piece_load(const struct repair *repair, const uint8_t *p, uint32_t room,
                        struct rep_piece *piece)
{
    memset(piece, 0, sizeof *piece);
    if (room < 2 || p[0] < NF2_PIECE_DATA || p[0] > NF2_PIECE_ZEROS) {
        return 0;
    }
    uint32_t at = p[0] == NF2_PIECE_ZEROS ? 1 : p[0] == NF2_PIECE_DATA ? 6 : 8;
    piece->kind = p[0];
    if (room <= at) {
        return 0;
    }
    if (p[0] != NF2_PIECE_ZEROS) {
        piece->block = rep_get24(p + 1);
        piece->within = p[0] == NF2_PIECE_DATA ? rep_get16(p + 4) : rep_get32(p + 4);
    }
    uint32_t used = rep_varint(p + at, room - at, &piece->length);
    piece->open = used != 0 && p[0] == NF2_PIECE_FRAMES && piece->length == 0;
    return used != 0 && valid(repair, piece) ? at + used : 0;
}

const uint8_t *rep_body(const struct rep_entry *entry, uint32_t *length)
{
    uint32_t rest = 0;

    if (entry->key.length == NF2_KEY_MAX) {
        rest = entry->body_length > 0 ? 1u + entry->body[0] : 1;
    }
    if (rest >= entry->body_length) {
        *length = 0;
        return NULL;
    }
    *length = entry->body_length - rest;
    return entry->body + rest;
}

bool rep_is_piece(const struct rep_entry *entry)
{
    return entry->key.length == 4 && entry->key.id >= NF2_FIRST_ID && entry->body_length > 0 &&
           entry->body[0] >= NF2_PIECE_DATA && entry->body[0] <= NF2_PIECE_ZEROS;
}

/* How far open frames go. */
static uint32_t open_length(struct repair *repair, const struct rep_piece *piece)
{
    uint32_t end = rep_frames_read(repair, piece->block, piece->within)->end + piece->within;
    return end > piece->at ? end - piece->at : 0;
}

bool rep_map_piece(struct repair *repair, size_t number, struct rep_piece *piece, uint32_t *next)
{
    const struct rep_entry *entry = &repair->entry[number], *behind = entry + 1,
                           *end = repair->entry + repair->entries;

    while (entry->key.length == 4 && behind < end && behind->key.id == entry->key.id &&
           behind->key.length != 4) {
        behind++; /* no offset of a map */
    }
    bool more = behind < end && behind->key.id == entry->key.id && behind->key.length == 4;
    *next = more ? rep_key_value(&behind->key) : REP_NONE;
    if (!rep_is_piece(entry) ||
        rep_piece_load(repair, entry->body, entry->body_length, piece) == 0) {
        return false;
    }
    piece->entry = entry;
    piece->at = rep_key_value(&entry->key);
    if (piece->open && more) {
        piece->length = *next - piece->at;
        piece->open = false;
    } else if (piece->open) {
        piece->length = open_length(repair, piece);
    } else if (more) {
        piece->length = rep_min(piece->length, *next - piece->at);
    }
    return true;
}

bool rep_list_begin(const struct rep_entry *entry, struct rep_list *list)
{
    const uint8_t *body = rep_body(entry, &list->room);

    list->p = body;
    list->offset = 0;
    list->bad = false;
    if (body == NULL || body[0] != NF2_BODY_LIST) {
        return false;
    }
    list->p++;
    list->room--;
    return true;
}

bool rep_list_next(struct repair *repair, struct rep_list *list, struct rep_piece *piece)
{
    if (list->room == 0 || list->bad) {
        return false;
    }
    uint32_t used = rep_piece_load(repair, list->p, list->room, piece);
    if (used == 0) {
        list->bad = true;
        return false;
    }
    list->p += used;
    list->room -= used;
    piece->at = list->offset;
    if (piece->open) {
        list->bad = list->room > 0; /* only the last one may be open */
        piece->length = open_length(repair, piece);
    }
    list->bad = list->bad || piece->length > NF2_FILE_MAX - list->offset;
    piece->length = rep_min(piece->length, NF2_FILE_MAX - list->offset);
    list->offset += piece->length;
    return true;
}
