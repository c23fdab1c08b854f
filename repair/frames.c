/* SPDX-License-Identifier: BSD-2-Clause */
/* frames.c - small appends to files: FORMAT.md, section 6. */
#include "log.h"
#include "inside.h"

static void add(struct rep_frames *frames, const uint8_t *data, uint32_t length)
{
    struct rep_part part = {frames->end, length, data, data == NULL, true};

    if (length > 0) {
        frames->part = rep_grow(frames->part, frames->parts, &frames->room, sizeof part);
        frames->part[frames->parts++] = part;
        frames->end += length;
    }
}

static void damaged(struct rep_frames *frames, uint32_t at)
{
    frames->place = frames->damaged ? frames->place : at;
    frames->damaged = true;
}

/* Is this a frame whose data begin at `*place`, and did what is in front of it end there? */
static bool in_order(const struct rep_frames *frames, const struct rep_record *record,
                     uint32_t *place)
{
    bool frame = record->type == NF2_FRAME && record->length >= 2;

    *place = frame ? rep_get16(record->payload) : 0;
    return frame && *place == frames->end;
}

/* Takes the records of a log in their order; what is missing between them is lost. */
static void take_records(struct rep_frames *frames, const struct rep_log *log, uint32_t most)
{
    uint32_t place;

    frames->parts = 0;
    frames->end = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct rep_record *record = &log->record[i];
        if (!in_order(frames, record, &place)) {
            damaged(frames, record->at);
            if (place <= frames->end || place > most) {
                continue;
            }
            add(frames, NULL, place - frames->end);
        }
        add(frames, record->payload + 2, record->length - 2u);
    }
    frames->none = log->count == 0;
}

static void note_log(struct rep_frames *frames, const struct rep_log *log)
{
    frames->torns = log->torns;
    frames->torn = log->first_torn;
    frames->torn_epoch = log->bad_epoch;
    frames->mended_heads = log->mended_heads;
    if (log->damaged) {
        damaged(frames, log->damage);
    }
}

const struct rep_frames *rep_frames_read(struct repair *repair, uint32_t block, uint32_t base)
{
    struct rep_frames *frames = &repair->frames;
    struct rep_image *image = &repair->image;
    struct rep_log log;

    if (frames->part != NULL && frames->block == block && frames->base == base) {
        return frames;
    }
    *frames = (struct rep_frames){.part = frames->part, .room = frames->room, .block = block,
                                  .base = base, .none = true};
    if (image->frames_budget < image->log_bytes) {
        return frames;
    }
    image->frames_budget -= image->log_bytes;
    bool clean = image->clean;
    image->clean = clean && !rep_is_bad(repair, block); /* a write that fails ends a block's use */
    rep_log_read(image, block, false, &log);
    note_log(frames, &log);
    take_records(frames, &log, image->log_bytes);
    if (frames->damaged) {
        rep_log_free(&log);
        rep_log_read(image, block, true, &log);
        take_records(frames, &log, image->log_bytes);
    }
    image->clean = clean;
    rep_log_free(&log);
    return frames;
}
