/* SPDX-License-Identifier: BSD-2-Clause */
#include "contents.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "frames_read.h"
#include "index.h"
#include "node.h"

#define RUNS_MAX 8u

struct reading {
    const struct rep_tree *tree;
    const struct rep_entries *entries;
    const struct rep_owners *owners;
    struct rep_content *content;
};

/* Adds a part at the end; equal neighbours become one. */
static void add(struct rep_content *content, uint32_t length, const uint8_t *data, bool lost, bool checked)
{
    struct rep_part *last = content->parts > 0 ? &content->part[content->parts - 1] : NULL;

    if (length == 0) {
        return;
    }
    content->lost += lost ? length : 0;
    if (last != NULL && last->lost == lost && last->checked == checked && (data == NULL ? last->data == NULL : last->data != NULL && last->data + last->length == data)) {
        last->length += length;
    } else {
        content->part = rep_grow(content->part, content->parts, sizeof *content->part);
        content->part[content->parts++] = (struct rep_part){content->size, length, data, lost, checked};
    }
    content->size += length;
}

/* Does the block belong to this entry (or, for an indexed file, to its id)? Where nobody else has a better claim it may. */
static bool is_own(const struct reading *r, uint32_t block, const struct rep_entry *entry, uint32_t id)
{
    const struct rep_entry *owner;

    if (block < 2 || block >= r->tree->image->blocks || r->tree->meta->is_meta[block] || r->tree->role[block] >= REP_FOUND_NODE) {
        return false;
    }
    if (r->owners->owner[block] == 0 || r->owners->owner[block] == NF2_NONE) { /* of an entry that only a copy says of, or of one that is lost */
        return r->tree->meta->state[block] == REP_USED || r->tree->meta->state[block] == REP_UNKNOWN;
    }
    owner = &r->entries->entry[r->owners->owner[block] - 1];
    return !r->owners->shared[block] && (entry != NULL ? rep_key_compare(&owner->key, &entry->key) == 0 : owner->key.id == id && owner->kind == NF2_BODY_OWN);
}

/* Data as they are, from `within` of a block on: block by block, as each may belong to somebody else. */
static void add_raw(const struct reading *r, uint32_t block, uint32_t within, uint32_t length, const struct rep_entry *entry, uint32_t id)
{
    const struct rep_image *image = r->tree->image;

    block += within / image->block_size;
    within %= image->block_size;
    while (length > 0) {
        uint32_t n = nf2_min(length, image->block_size - within);
        bool own = is_own(r, block, entry, id);
        add(r->content, n, own ? rep_block(image, block) + within : NULL, !own, false);
        length -= n;
        within = 0;
        block++;
    }
}

static void read_flat(const struct reading *r, const struct rep_entry *entry)
{
    struct rep_run runs[RUNS_MAX];
    unsigned count = rep_entry_runs(entry, runs);
    uint32_t left = entry->body_length >= 5 ? nf2_min(nf2_get32(entry->body + 1), NF2_FILE_MAX) : 0;

    for (unsigned i = 0; i < count && left > 0; i++) {
        uint32_t bytes = nf2_min(left, runs[i].count * r->tree->image->block_size);
        add_raw(r, runs[i].start, 0, bytes, entry, 0);
        left -= bytes;
    }
    if (left > 0) {
        r->content->lost_end = true;
    }
}

/* What lies in the frames of a block from file offset `at` up to `limit`. */
static void read_frames(const struct reading *r, const struct rep_entry *entry, uint32_t at, uint32_t limit)
{
    struct rep_content *content = r->content;
    uint32_t block = nf2_get24(entry->body + 1), base = nf2_get32(entry->body + 4);
    struct rep_frames *frames;

    content->frames = rep_grow(content->frames, content->frame_blocks, sizeof *content->frames);
    frames = &content->frames[content->frame_blocks++];
    memset(frames, 0, sizeof *frames);
    if (is_own(r, block, NULL, entry->key.id)) {
        rep_frames_read(r->tree->image, entry->key.id, block, base, frames);
    }
    content->mended += frames->mended;
    for (unsigned i = 0; i < frames->frames && at < limit; i++) {
        const struct rep_frame *frame = &frames->frame[i];
        uint32_t from = base + frame->at, to = nf2_min(from + frame->length, limit);
        if (to <= at) {
            continue;
        }
        if (from > at) {
            add(content, from - at, NULL, true, false);
            at = from;
        }
        add(content, to - at, frame->data + (at - from), false, true);
        at = to;
    }
    if (at < limit && limit != NF2_NONE) { /* frames go on to what follows them */
        add(content, limit - at, NULL, true, false);
    } else if (limit == NF2_NONE) {
        content->lost_end = frames->lost_end || frames->frames == 0;
        content->unfinished = content->unfinished || frames->unfinished;
    }
}

static bool is_mapping(const struct rep_entry *entry)
{
    return entry->key.length == 5 && entry->key.bytes[0] == NF2_INDEX_MAP &&
           ((entry->kind == NF2_BODY_PIECE && entry->body_length == NF2_PIECE_BODY) ||
            (entry->kind == NF2_BODY_FRAMES && entry->body_length == NF2_FRAMES_BODY));
}

/* The key of a file offset in the map; `bytes` holds it. */
static struct rep_key map_key(uint32_t id, uint32_t offset, uint8_t bytes[5])
{
    bytes[0] = NF2_INDEX_MAP;
    bytes[1] = (uint8_t)(offset >> 24);
    bytes[2] = (uint8_t)(offset >> 16);
    bytes[3] = (uint8_t)(offset >> 8);
    bytes[4] = (uint8_t)offset;
    return (struct rep_key){id, bytes, 5};
}

/* May entries of a file's map between two offsets be lost: 2 with a node, 1 with records, 0 not? */
static int is_open(const struct reading *r, uint32_t id, uint32_t from, uint32_t to)
{
    uint8_t first[5], last[5];
    struct rep_key low = map_key(id, from, first), high = map_key(id, to, last);
    const struct rep_hole *hole = rep_hole_between(r->tree, &low, &high);

    return hole == NULL ? 0 : hole->sure && r->tree->root != NF2_NONE ? 2 : 1; /* without a root all is a hole; what was found is taken for all */
}

/* Is a leaf that holds some of a file's map, or did, one with what looks like an unfinished write? */
static bool is_torn(const struct reading *r, uint32_t id)
{
    uint8_t first[5], last[5];
    struct rep_key low = map_key(id, 0, first), high = map_key(id, NF2_NONE, last);

    return rep_torn_between(r->tree, &low, &high);
}

static void read_map(const struct reading *r, uint32_t id, const struct rep_entry **map, unsigned count)
{
    struct rep_content *content = r->content;
    uint32_t behind = 0;

    content->unfinished = content->unfinished || is_torn(r, id);
    for (unsigned i = 0; i < count; i++) {
        const struct rep_entry *entry = map[i];
        if (!is_mapping(entry)) { /* OWN entries come behind: what is unfinished beside them may be a part of the map */
            content->unfinished = content->unfinished || entry->trust > REP_SURE;
            continue;
        }
        uint32_t at = rep_number(&entry->key), next = i + 1 < count && is_mapping(map[i + 1]) ? rep_number(&map[i + 1]->key) : NF2_NONE;
        if (at >= NF2_FILE_MAX) { /* no file is so long */
            content->lost_end = true;
            break;
        }
        behind = at + 1;
        if (at > content->size) {
            bool lost = is_open(r, id, content->size, at - 1) != 0;
            add(content, at - content->size, NULL, lost, !lost);
        }
        content->doubtful = content->doubtful || entry->trust > REP_UNSURE;
        content->unfinished = content->unfinished || entry->trust > REP_SURE;
        if (at < content->size) { /* they overlap: what begins later is newer, and nothing is sure */
            continue;
        }
        if (entry->kind == NF2_BODY_FRAMES) {
            read_frames(r, entry, at, next);
            continue;
        }
        uint32_t length = nf2_get32(entry->body + 6), block = nf2_get24(entry->body + 1);
        if (length > NF2_FILE_MAX - at) {
            length = 0;
            content->lost_end = true;
        }
        if (length > next - at) {
            length = next - at;
            content->doubtful = true;
        }
        if (block == NF2_NO_BLOCK) {
            add(content, length, NULL, false, true);
        } else {
            add_raw(r, block, nf2_get16(entry->body + 4), length, NULL, id);
        }
    }
    content->lost_end = content->lost_end || is_open(r, id, behind, NF2_NONE) == 2 || (count == 0 && is_open(r, id, 0, NF2_NONE) != 0);
    content->doubtful = content->doubtful || is_open(r, id, 0, NF2_NONE) != 0;
}

static void read_indexed(const struct reading *r, uint32_t id, uint32_t leaf)
{
    unsigned end, first = rep_entries_of(r->entries, id, &end);
    const struct rep_entry **map = rep_alloc((end - first) * sizeof(struct rep_entry *));

    read_map(r, id, map, rep_map_of(r->tree, r->entries, id, leaf, map));
    free(map);
}

void rep_content_read(const struct rep_tree *tree, const struct rep_entries *entries, const struct rep_owners *owners,
                      const struct rep_entry *entry, struct rep_content *content)
{
    struct reading r = {tree, entries, owners, content};

    memset(content, 0, sizeof *content);
    if (entry->body == NULL) {
        content->lost_end = true;
    } else if (entry->kind == NF2_BODY_INLINE) {
        add(content, entry->body_length - 1, entry->body + 1, false, true);
    } else if (entry->kind == NF2_BODY_FLAT) {
        read_flat(&r, entry);
    } else if (entry->kind == NF2_BODY_INDEXED) {
        read_indexed(&r, rep_body_id(entry), entry->key.bytes != NULL && !entry->batch ? entry->node : NF2_NONE);
    } else {
        content->lost_end = true;
    }
}

void rep_content_free(struct rep_content *content)
{
    for (unsigned i = 0; i < content->frame_blocks; i++) {
        rep_frames_free(&content->frames[i]);
    }
    free(content->frames);
    free(content->part);
    memset(content, 0, sizeof *content);
}
