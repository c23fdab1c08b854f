/* SPDX-License-Identifier: BSD-2-Clause */
#include "frames_read.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "frames.h"

#define MORE 0x8000u
#define BLANK 0xFFFFu

struct reading {
    struct rep_image *image;
    struct rep_frames *frames;
    uint32_t id, base;
    const uint8_t *bytes;       /* of the block */
    uint16_t epoch;             /* of the page */
};

static uint32_t page_end(const struct reading *r, uint32_t place)
{
    return (place & ~(r->image->page_size - 1)) + r->image->page_size;
}

/* The register of the check in front of a frame's header. */
static uint32_t seed(const struct reading *r, uint32_t at, uint16_t epoch)
{
    uint8_t bytes[12];

    nf2_put16(bytes, epoch);
    nf2_put16(bytes + 2, at);
    nf2_put32(bytes + 4, r->base);
    nf2_put32(bytes + 8, r->id);
    return nf2_crc(0xFFFFFFFFu, bytes, sizeof bytes);
}

/* Does a frame of this length end within its page? */
static bool possible(const struct reading *r, uint32_t place, uint32_t header)
{
    uint32_t length = header & ~MORE;

    return length > 0 && place + NF2_FRAME_OVERHEAD + length <= page_end(r, place);
}

/* Is there a frame whose data begin at `at`? With `mend` one bit may be turned. */
static bool frame_at(const struct reading *r, uint32_t place, uint32_t at, bool mend, struct rep_frame *frame, bool *mended)
{
    uint8_t copy[2 + NF2_PAGE_MAX + 4];
    const uint8_t *p = r->bytes + place;

    *mended = false;
    if (place + NF2_FRAME_OVERHEAD >= page_end(r, place)) {
        return false;
    }
    for (uint32_t i = 0; i < (mend ? 17u : 1u); i++) {
        uint32_t header = nf2_get16(p) ^ (i > 0 ? 1u << (i - 1) : 0), length = header & ~MORE;
        if (header == BLANK || !possible(r, place, header)) {
            continue;
        }
        memcpy(copy, p, 2 + length + 4);
        nf2_put16(copy, header);
        if (nf2_get32(copy + 2 + length) != ~nf2_crc(seed(r, at, r->epoch), copy, 2 + length)) {
            int32_t bit = mend && i == 0 ? rep_one_bit(seed(r, at, r->epoch), copy, 2 + length, nf2_get32(copy + 2 + length)) : -1;
            if (bit < 16) {
                continue;
            }
            copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
            *mended = true;
        }
        *mended = *mended || i > 0;
        *frame = (struct rep_frame){at, length, place, r->epoch, (header & MORE) != 0, rep_alloc(length)};
        memcpy(frame->data, copy + 2, length);
        return true;
    }
    return false;
}

/* The next frame in the page behind a place, wherever its data belong (at most as far on as the bytes between say). */
static bool next_frame(const struct reading *r, uint32_t place, uint32_t from, struct rep_frame *frame)
{
    bool mended;

    for (uint32_t next = place + 1; next + NF2_FRAME_OVERHEAD < page_end(r, place); next++) {
        if (!possible(r, next, nf2_get16(r->bytes + next))) {
            continue;
        }
        for (uint32_t at = from; at <= from + next - place; at++) {
            if (frame_at(r, next, at, false, frame, &mended)) {
                return true;
            }
        }
    }
    return false;
}

static void add_frame(struct reading *r, const struct rep_frame *frame)
{
    struct rep_frames *frames = r->frames;

    frames->frame = rep_grow(frames->frame, frames->frames, sizeof *frames->frame);
    frames->frame[frames->frames++] = *frame;
    frames->end = frame->at + frame->length;
}

/* Where the data of a page's first frame begin, and the page's epoch, one of which may be damaged. */
static bool enter(struct reading *r, uint32_t page, uint32_t *at, struct rep_frame *frame)
{
    uint16_t guesses[90];
    unsigned count = rep_epoch_guesses(r->image, nf2_get16(r->bytes + page), guesses);
    uint32_t offsets[2] = {nf2_get16(r->bytes + page + 2), r->frames->end};
    bool mended;

    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < 2; j++) {
            r->epoch = guesses[i];
            if (frame_at(r, page + NF2_FRAMES_HEAD, offsets[j], false, frame, &mended)) {
                free(frame->data);
                *at = offsets[j];
                return true;
            }
        }
    }
    r->epoch = guesses[0];
    *at = r->frames->end;
    for (unsigned j = 0; j < 2; j++) { /* the head is right, its first frame not: one that follows may be */
        if (next_frame(r, page + NF2_FRAMES_HEAD, offsets[j], frame)) {
            free(frame->data);
            *at = offsets[j];
            return true;
        }
    }
    return false;
}

/* Is more written behind this place, in the same session? Then what is here is lost, and no cut left it. */
static bool written_behind(const struct reading *r, uint32_t place)
{
    if (r->image->settled && r->epoch == r->image->epoch) {
        return true;
    }
    for (uint32_t page = page_end(r, place); page < r->image->log_bytes; page += r->image->page_size) {
        if (nf2_get16(r->bytes + page) == r->epoch) {
            return true;
        }
    }
    return false;
}

static void read_page(struct reading *r, uint32_t page)
{
    uint32_t place = page + NF2_FRAMES_HEAD, at, end = page + r->image->page_size;
    struct rep_frame frame;
    bool mended;

    bool entered = enter(r, page, &at, &frame);
    struct rep_frame *last = r->frames->frames > 0 ? &r->frames->frame[r->frames->frames - 1] : NULL;
    if (entered && last != NULL && last->more && at == last->at) { /* the first half of a frame whose second one was cut */
        free(last->data);
        r->frames->frames--;
        r->frames->end = at;
    }
    if (entered ? at < r->frames->end : !written_behind(r, page)) { /* a torn page */
        r->frames->unfinished = true;
        return;
    }
    while (place + NF2_FRAME_OVERHEAD < end && !rep_noise(r->bytes + place, end - place)) {
        bool found = frame_at(r, place, at, false, &frame, &mended);
        if (!found) {
            struct rep_frame next;
            bool proof = next_frame(r, place, at + 1, &next);
            bool mend = proof || written_behind(r, place);
            found = mend && frame_at(r, place, at, true, &frame, &mended);
            if (found && proof && place + NF2_FRAME_OVERHEAD + frame.length > next.place) {
                free(frame.data);
                found = false;
            }
            r->frames->mended += found;
            r->frames->unfinished = r->frames->unfinished || !mend;
            r->frames->lost_end = mend && !found;
            if (!found && proof) {
                frame = next;
                found = true;
                r->frames->lost_end = false;
            } else if (proof) {
                free(next.data);
            }
        }
        if (!found) {
            return;
        }
        add_frame(r, &frame);
        r->frames->lost_end = false;
        at = frame.at + frame.length;
        uint32_t behind = frame.place + NF2_FRAME_OVERHEAD + frame.length, unit = r->image->program_unit;
        place = nf2_min((behind + unit - 1) / unit * unit, end);
    }
}

/* A frame that goes on in the next page counts only with what follows. */
static void drop_half(struct reading *r)
{
    struct rep_frames *frames = r->frames;
    struct rep_frame *last = frames->frames > 0 ? &frames->frame[frames->frames - 1] : NULL;

    if (last == NULL || !last->more) {
        return;
    }
    r->epoch = last->epoch;
    if (written_behind(r, last->place)) {
        frames->lost_end = true;
        return;
    }
    free(last->data);
    frames->frames--;
    frames->end = last->at;
    frames->unfinished = true;
}

void rep_frames_read(struct rep_image *image, uint32_t id, uint32_t block, uint32_t base, struct rep_frames *frames)
{
    struct reading r = {image, frames, id, base, NULL, 0};

    memset(frames, 0, sizeof *frames);
    if (block >= image->blocks) {
        return;
    }
    r.bytes = rep_block(image, block);
    for (uint32_t page = 0; page < image->log_bytes; page += image->page_size) {
        if (!rep_noise(r.bytes + page, image->page_size)) {
            read_page(&r, page);
        }
    }
    drop_half(&r);
}

void rep_frames_free(struct rep_frames *frames)
{
    for (unsigned i = 0; i < frames->frames; i++) {
        free(frames->frame[i].data);
    }
    free(frames->frame);
    memset(frames, 0, sizeof *frames);
}
