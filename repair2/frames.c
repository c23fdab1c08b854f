/* SPDX-License-Identifier: BSD-2-Clause */
/* frames.c - small appends to files: FORMAT.md, section 6. */
#include "inside.h"

struct walk {
    struct rep_image *image;
    struct rep_frames *frames;
    uint32_t position, running; /* in the block; from the base on */
    uint32_t last_end, used_end;
    uint16_t epoch, last_epoch;
    bool bad;                   /* the block is on record as bad */
};

struct frame {
    const uint8_t *data;
    uint32_t length;
    bool more;
};

enum found { FRAME = 1, BLANK = 0, INVALID = -1 };

static uint32_t crc_start(const struct walk *walk, uint32_t offset)
{
    const uint32_t base = walk->frames->base, id = walk->image->volume_id;
    const uint8_t seed[12] = {(uint8_t)walk->epoch, (uint8_t)(walk->epoch >> 8), (uint8_t)offset, (uint8_t)(offset >> 8),
                              (uint8_t)base, (uint8_t)(base >> 8), (uint8_t)(base >> 16), (uint8_t)(base >> 24),
                              (uint8_t)id, (uint8_t)(id >> 8), (uint8_t)(id >> 16), (uint8_t)(id >> 24)};
    return rep_crc(REP_CRC_START, seed, sizeof seed);
}

/* Is there a frame at `at`, whose data begin at `offset`? */
static enum found look(const struct walk *walk, uint32_t at, uint32_t offset, struct frame *frame)
{
    uint32_t page = walk->image->page_size, end = (at & ~(page - 1)) + page;
    const uint8_t *p = rep_at(walk->image, walk->frames->block, at);

    frame->length = 0;
    if (at + NF2_FRAME_OVERHEAD > end || rep_get16(p) == NF2_LOG_BLANK) {
        return BLANK;
    }
    frame->length = rep_get16(p) & ~NF2_FRAME_MORE;
    frame->more = (rep_get16(p) & NF2_FRAME_MORE) != 0;
    frame->data = p + 2;
    if (frame->length == 0 || at + NF2_FRAME_OVERHEAD + frame->length > end) {
        return INVALID;
    }
    return rep_crc(crc_start(walk, offset), p, frame->length + NF2_FRAME_OVERHEAD) == REP_CRC_GOOD ? FRAME : INVALID;
}

/* The same with one bit turned over. */
static bool mend(struct walk *walk, uint32_t at, uint32_t offset, struct frame *frame)
{
    uint32_t page = walk->image->page_size, end = (at & ~(page - 1)) + page;
    const uint8_t *p = rep_at(walk->image, walk->frames->block, at);
    uint8_t bytes[NF2_PAGE_MAX];

    for (unsigned bit = 0; bit <= 16; bit++) {
        uint32_t header = rep_get16(p) ^ (bit < 16 ? 1u << bit : 0), length = header & ~NF2_FRAME_MORE & 0xFFFFu;
        uint32_t all = length + NF2_FRAME_OVERHEAD;
        if (length == 0 || at + all > end || all > sizeof bytes) {
            continue;
        }
        memcpy(bytes, p, all);
        bytes[0] = (uint8_t)header;
        bytes[1] = (uint8_t)(header >> 8);
        uint32_t crc = rep_crc(crc_start(walk, offset), bytes, all);
        int wrong = bit < 16 ? -1 : rep_crc_bit(crc, all);
        if (wrong >= 16) {
            bytes[wrong / 8] ^= (uint8_t)(1u << wrong % 8);
        }
        if (wrong >= 16 || crc == REP_CRC_GOOD) {
            uint8_t *copy = rep_take(&walk->image->arena, all);
            memcpy(copy, bytes, all);
            *frame = (struct frame){copy + 2, length, (header & NF2_FRAME_MORE) != 0};
            return true;
        }
    }
    return false;
}

static void add(struct walk *walk, const uint8_t *data, uint32_t length)
{
    struct rep_frames *frames = walk->frames;
    struct rep_part part = {walk->running, length, data, data == NULL, true};

    frames->part = rep_grow(frames->part, frames->parts, &frames->room, sizeof part);
    frames->part[frames->parts++] = part;
    walk->running += length;
}

static void damaged(struct walk *walk, uint32_t at)
{
    walk->frames->place = walk->frames->damaged ? walk->frames->place : at;
    walk->frames->damaged = true;
}

static void note_torn(struct walk *walk, uint32_t at)
{
    if (walk->frames->torns++ == 0) {
        walk->frames->torn = at;
        walk->frames->torn_epoch = walk->epoch;
    }
}

static uint32_t behind(const struct walk *walk, uint32_t length)
{
    uint32_t unit = walk->image->unit, page = walk->image->page_size;
    uint32_t end = (walk->position + NF2_FRAME_OVERHEAD + length + unit - 1) & ~(unit - 1);
    return rep_min(end, (walk->position & ~(page - 1)) + page);
}

/* Does the second half of a frame follow in the next page? */
static bool second_half(const struct walk *walk, uint32_t offset)
{
    struct walk next = *walk;
    uint32_t page = walk->image->page_size, at = (walk->position & ~(page - 1)) + page;
    struct frame frame;

    if (at >= walk->image->log_bytes) {
        return false;
    }
    const uint8_t *p = rep_at(walk->image, walk->frames->block, at);
    next.epoch = rep_get16(p);
    return next.epoch == walk->epoch && rep_get16(p + 2) == (offset & 0xFFFFu) &&
           look(&next, at + NF2_FRAMES_HEAD, offset, &frame) == FRAME;
}

/* Nothing that is invalid here can be a write that was cut. A write that failed for good ends the use of its block. */
static bool no_cut(const struct walk *walk)
{
    const struct rep_image *image = walk->image;
    return image->never_cut || (image->epoch_known && image->clean && walk->epoch == image->epoch && !walk->bad);
}

/* One bit of the page's epoch turned over. */
static bool mend_epoch(struct walk *walk, uint32_t offset)
{
    uint16_t stored = walk->epoch;
    struct frame frame;

    for (unsigned bit = 0; bit < 16 && stored != rep_epoch_code(stored); bit++) {
        walk->epoch = (uint16_t)(stored ^ 1u << bit);
        if (walk->epoch == rep_epoch_code(walk->epoch) && look(walk, walk->position, offset, &frame) == FRAME) {
            return true;
        }
    }
    walk->epoch = stored;
    return false;
}

/* An invalid frame of a session that was left cleanly, or in front of a valid one: no cut left it. */
static bool is_damage(const struct walk *walk, uint32_t length, uint32_t *skip)
{
    const struct rep_image *image = walk->image;
    uint32_t page_end = (walk->position & ~(image->page_size - 1)) + image->page_size;
    struct frame next;

    *skip = 0;
    for (unsigned bit = 16; bit-- > 0;) {
        uint32_t n = bit == 15 ? length : length ^ 1u << bit;
        uint32_t at = (walk->position + NF2_FRAME_OVERHEAD + n + image->unit - 1) & ~(image->unit - 1);
        if (at < page_end && look(walk, at, walk->running + n, &next) == FRAME) {
            *skip = n;
            return true;
        }
    }
    return no_cut(walk);
}

static void leave_page(struct walk *walk)
{
    walk->position = (walk->position & ~(walk->image->page_size - 1)) + walk->image->page_size;
}

/* True: a frame was made of it after all. */
static bool look_at_invalid(struct walk *walk, struct frame *frame)
{
    uint32_t skip;

    if (!is_damage(walk, frame->length, &skip)) {
        note_torn(walk, walk->position);
        leave_page(walk);
        return false;
    }
    damaged(walk, walk->position);
    if (mend(walk, walk->position, walk->running, frame)) {
        return true;
    }
    if (skip > 0) {
        uint32_t at = behind(walk, skip);
        add(walk, NULL, skip);
        walk->position = at;
    } else {
        leave_page(walk);
    }
    return false;
}

static void take_frame(struct walk *walk, const struct frame *frame)
{
    uint32_t next = behind(walk, frame->length);

    add(walk, frame->data, frame->length);
    walk->position = walk->last_end = next;
    walk->last_epoch = walk->epoch;
}

/* False: nothing in this page is to be looked at. */
static bool enter_page(struct walk *walk)
{
    const struct rep_image *image = walk->image;
    const uint8_t *p = rep_at(image, walk->frames->block, walk->position);
    uint32_t page = image->page_size, start = walk->position, offset = rep_get16(p + 2);
    struct frame frame;

    walk->epoch = rep_get16(p);
    if (walk->epoch == NF2_LOG_BLANK) {
        uint32_t last = rep_max((walk->last_end + page - 1) & ~(page - 1), walk->used_end);
        uint32_t skip = rep_age(image, walk->last_epoch) * page;
        bool ends = image->epoch_known && walk->last_end != 0 && start >= last + skip;
        walk->position = ends ? image->log_bytes : start + page;
        return false;
    }
    walk->used_end = start + page;
    walk->position += NF2_FRAMES_HEAD;
    if (image->never_cut && mend_epoch(walk, offset)) {
        damaged(walk, start);
    }
    if (offset == (walk->running & 0xFFFFu)) {
        return true;
    }
    if (look(walk, walk->position, offset, &frame) == FRAME) { /* frames in front of it are lost */
        damaged(walk, start);
        add(walk, NULL, (offset - walk->running) & 0xFFFFu);
        return true;
    }
    if (look(walk, walk->position, walk->running, &frame) == FRAME) { /* the offset alone is wrong */
        damaged(walk, start);
        return true;
    }
    if (no_cut(walk)) {
        damaged(walk, start);
    } else {
        note_torn(walk, start);
    }
    walk->position = start + page;
    return false;
}

const struct rep_frames *rep_frames_read(struct repair *repair, uint32_t block, uint32_t base)
{
    struct rep_frames *frames = &repair->frames;
    struct walk walk = {.image = &repair->image, .frames = frames};
    struct frame frame;

    if (frames->part != NULL && frames->block == block && frames->base == base) {
        return frames;
    }
    walk.bad = rep_is_bad(repair, block);
    *frames = (struct rep_frames){.part = frames->part, .room = frames->room, .block = block, .base = base};
    bool hostile = repair->image.frames_budget < repair->image.log_bytes;
    repair->image.frames_budget -= hostile ? 0 : repair->image.log_bytes;
    while (!hostile && walk.position < repair->image.log_bytes) {
        if ((walk.position & (repair->image.page_size - 1)) == 0 && !enter_page(&walk)) {
            continue;
        }
        enum found found = look(&walk, walk.position, walk.running, &frame);
        if (found == FRAME && frame.more && !second_half(&walk, walk.running + frame.length)) {
            found = INVALID;
        }
        if (found == BLANK) {
            leave_page(&walk);
        } else if (found == FRAME || look_at_invalid(&walk, &frame)) {
            take_frame(&walk, &frame);
        }
    }
    frames->none = walk.last_end == 0;
    frames->end = walk.running;
    return frames;
}
