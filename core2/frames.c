/* SPDX-License-Identifier: BSD-2-Clause */
#include "frames.h"

#define MORE NF2_FRAME_MORE
#define BLANK 0xFFFFu

/* Walks over the frames of a block that count. */
struct walk {
    struct nf2_frames *frames;
    uint32_t position;          /* in the block */
    uint16_t epoch;             /* of the page */
    uint32_t offset;            /* file offset of the data of the frame found, from the base */
    uint32_t running;           /* offset behind the last frame that counts */
    uint32_t data, length;      /* place and length of the frame's data */
    uint32_t used_end;          /* end of the last page that is not blank */
    uint32_t last_end;
    uint16_t last_epoch;
    bool dirty_end;
};

static uint32_t frame_crc(const nf2_t *fs, const struct walk *walk, uint32_t offset, const uint8_t *header)
{
    uint8_t seed[12];

    nf2_put16(seed, walk->epoch);
    nf2_put16(seed + 2, offset);
    nf2_put32(seed + 4, walk->frames->base);
    nf2_put32(seed + 8, fs->root.volume_id);
    return nf2_crc(nf2_crc(0xFFFFFFFFu, seed, sizeof seed), header, 2);
}

/* Is there a valid frame at `position` whose data begin at `offset`? 1, 0 blank, -1 invalid, or an error below that. */
static int look(nf2_t *fs, const struct walk *walk, uint32_t position, uint32_t offset, uint32_t *length, bool *more)
{
    uint32_t page = nf2_page(fs), end = (position & ~(page - 1)) + page;

    if (position + NF2_FRAME_OVERHEAD > end) {
        return 0;
    }
    const uint8_t *p = nf2_peek(fs, walk->frames->block, position, 2);
    if (p == NULL) {
        return NF2_ERR_IO;
    }
    uint32_t header = nf2_get16(p);
    if (header == BLANK) {
        return 0;
    }
    *length = header & ~MORE;
    *more = (header & MORE) != 0;
    if (*length == 0 || position + NF2_FRAME_OVERHEAD + *length > end) {
        return -1;
    }
    p = nf2_peek(fs, walk->frames->block, position, NF2_FRAME_OVERHEAD + *length);
    if (p == NULL) {
        return NF2_ERR_IO;
    }
    uint32_t crc = nf2_crc(frame_crc(fs, walk, offset, p), p + 2, *length);
    return nf2_get32(p + 2 + *length) == ~crc ? 1 : -1;
}

/* Enters the page at `position`: 1, 0 if it is blank, or an error. */
static int enter_page(nf2_t *fs, struct walk *walk, uint32_t *offset)
{
    const uint8_t *head = nf2_peek(fs, walk->frames->block, walk->position, NF2_FRAMES_HEAD);

    if (head == NULL) {
        return NF2_ERR_IO;
    }
    walk->epoch = nf2_get16(head);
    if (walk->epoch == BLANK) {
        bool ends = nf2_log_ends(fs, walk->position, walk->last_end, walk->used_end, walk->last_epoch);
        walk->position = ends ? nf2_log_bytes(fs) : walk->position + nf2_page(fs);
        return 0;
    }
    *offset = nf2_get16(head + 2);
    walk->used_end = walk->position + nf2_page(fs);
    walk->position += NF2_FRAMES_HEAD;
    return 1;
}

/* Does the second half of a frame that has more follow in the next page? */
static int second_half(nf2_t *fs, const struct walk *walk, uint32_t offset, uint32_t place)
{
    struct walk next = *walk;
    uint32_t at, length;
    bool more;

    next.position = place;
    if (place >= nf2_log_bytes(fs)) {
        return 0;
    }
    int found = enter_page(fs, &next, &at);
    if (found <= 0 || next.epoch != walk->epoch || at != (offset & 0xFFFFu)) {
        return found < 0 ? found : 0;
    }
    found = look(fs, &next, next.position, at, &length, &more);
    return found == -1 ? 0 : found;
}

/* Nothing follows a torn frame in its page: else it is a damaged one. A bit of its length may be wrong. */
static int check_behind(nf2_t *fs, const struct walk *walk, uint32_t length, uint32_t page_end)
{
    for (unsigned bit = 0; bit <= 15; bit++) {
        uint32_t n = length ^ (1u << bit & 0x7FFFu), next;
        uint32_t behind = nf2_align_unit(fs, walk->position + NF2_FRAME_OVERHEAD + n);
        bool more;
        int beyond = behind < page_end ? look(fs, walk, behind, walk->running + n, &next, &more) : 0;
        if (beyond == 1 || beyond < -1) {
            return NF2_ERR_IO;
        }
    }
    return NF2_OK;
}

/* The next frame that counts: 1, 0 at the end, or an error. */
static int walk_next(nf2_t *fs, struct walk *walk)
{
    uint32_t page = nf2_page(fs), offset, length;
    bool more;

    while (walk->position < nf2_log_bytes(fs)) {
        if ((walk->position & (page - 1)) == 0) {
            int entered = enter_page(fs, walk, &offset);
            if (entered <= 0) {
                NF2_TRY(entered);
                continue;
            }
            if (offset != (walk->running & 0xFFFFu)) { /* a torn page head; or frames in front of it are damaged */
                int beyond = look(fs, walk, walk->position, offset, &length, &more);
                if (beyond == 1 || beyond < -1) {
                    return NF2_ERR_IO;
                }
                walk->position = walk->used_end;
                continue;
            }
        }
        int found = look(fs, walk, walk->position, walk->running, &length, &more);
        if (found < -1) {
            return found;
        }
        uint32_t page_end = (walk->position & ~(page - 1)) + page;
        if (found == 1 && more) {
            int whole = second_half(fs, walk, walk->running + length, page_end);
            NF2_TRY(whole);
            found = whole ? 1 : -1;
        }
        if (found == -1) {
            NF2_TRY(check_behind(fs, walk, length, page_end));
            walk->dirty_end = true;
        }
        if (found != 1) {
            walk->position = page_end;
            continue;
        }
        walk->offset = walk->running;
        walk->data = walk->position + 2;
        walk->length = length;
        walk->running += length;
        uint32_t end = nf2_align_unit(fs, walk->position + NF2_FRAME_OVERHEAD + length);
        walk->position = nf2_min(end, page_end);
        walk->last_end = walk->position;
        walk->last_epoch = walk->epoch;
        walk->dirty_end = false;
        return 1;
    }
    return 0;
}

static void walk_begin(struct walk *walk, struct nf2_frames *frames, uint32_t block, uint32_t base)
{
    NF2_ASSERT(frames != NULL);
    memset(walk, 0, sizeof *walk);
    frames->block = block;
    frames->base = base;
    walk->frames = frames;
}

int nf2_frames_open(nf2_t *fs, uint32_t block, uint32_t base, struct nf2_frames *frames)
{
    struct walk walk;
    uint32_t page = nf2_page(fs);
    int found;

    walk_begin(&walk, frames, block, base);
    while ((found = walk_next(fs, &walk)) > 0) {
    }
    NF2_TRY(found);
    if (walk.last_end == 0) {
        return NF2_ERR_IO;
    }
    frames->end = base + walk.running;
    uint32_t last_page_end = ((walk.last_end - 1) & ~(page - 1)) + page;
    if (walk.last_epoch == fs->io.epoch && !walk.dirty_end && last_page_end >= walk.used_end) {
        frames->append_at = walk.last_end;
    } else { /* the epoch rule, as for logs */
        uint32_t skip = nf2_epochs_between(walk.last_epoch, fs->io.epoch);
        frames->append_at = nf2_min(nf2_max(last_page_end, walk.used_end) + skip * page, nf2_log_bytes(fs));
    }
    return NF2_OK;
}

/* Goes on in the last page that begins at or before an offset with a frame that is valid there; else at the start. */
static void skip_pages(nf2_t *fs, struct walk *walk, uint32_t offset)
{
    uint32_t page = nf2_page(fs), most = page - NF2_FRAMES_HEAD - NF2_FRAME_OVERHEAD, first, length;
    struct walk next = *walk;
    bool more;

    for (next.position = offset / most * page; next.position < nf2_log_bytes(fs); next.position = next.used_end) {
        if (enter_page(fs, &next, &first) <= 0 || first > offset) {
            return;
        }
        if (look(fs, &next, next.position, first, &length, &more) == 1) {
            *walk = next;
            walk->running = first;
        }
    }
}

int nf2_frames_read(nf2_t *fs, uint32_t block, uint32_t base, uint32_t at, void *data, uint32_t length)
{
    struct nf2_frames frames;
    struct walk walk;
    uint8_t *to = data;
    int found;

    walk_begin(&walk, &frames, block, base);
    skip_pages(fs, &walk, at - base);
    while (length > 0 && (found = walk_next(fs, &walk)) != 0) {
        NF2_TRY(found);
        uint32_t start = base + walk.offset;
        if (at < start || at >= start + walk.length) {
            continue;
        }
        uint32_t n = nf2_min(length, start + walk.length - at);
        const uint8_t *from = nf2_peek(fs, block, walk.data + (at - start), n);
        if (from == NULL) {
            return NF2_ERR_IO;
        }
        memcpy(to, from, n);
        to += n;
        at += n;
        length -= n;
    }
    return length == 0 ? NF2_OK : NF2_ERR_IO;
}

/* One frame, with its page's head in front where it begins the page. */
static int write_frame(nf2_t *fs, struct nf2_frames *frames, uint32_t offset, const uint8_t *data, uint32_t length, bool more)
{
    struct walk walk = {.frames = frames, .epoch = fs->io.epoch};
    uint8_t *p = fs->io.write_buffer;
    uint32_t page = nf2_page(fs), page_offset = offset;

    NF2_ASSERT(length > 0 && frames->append_at + NF2_FRAME_OVERHEAD + length <= (frames->append_at & ~(page - 1)) + page);
    if ((frames->append_at & (page - 1)) == 0) {
        p = nf2_put16(p, fs->io.epoch);
        p = nf2_put16(p, page_offset);
    }
    uint8_t *frame = p;
    p = nf2_put16(p, length | (more ? MORE : 0u));
    memcpy(p, data, length);
    uint32_t crc = nf2_crc(frame_crc(fs, &walk, offset, frame), data, length);
    p = nf2_put32(p + length, ~crc);
    uint32_t bytes = (uint32_t)(p - fs->io.write_buffer), padded = nf2_align_unit(fs, bytes);
    memset(p, 0xFF, padded - bytes);
    NF2_TRY(nf2_flash_program(fs, frames->block, frames->append_at, fs->io.write_buffer, padded));
    frames->append_at += padded;
    return NF2_OK;
}

/* Data bytes that fit in the rest of the page at `at`. */
static uint32_t page_room(const nf2_t *fs, uint32_t at)
{
    uint32_t page = nf2_page(fs), used = at & (page - 1);
    uint32_t overhead = (used == 0 ? NF2_FRAMES_HEAD : used) + NF2_FRAME_OVERHEAD;

    return overhead < page ? page - overhead : 0;
}

int nf2_frames_append(nf2_t *fs, struct nf2_frames *frames, const void *data, uint32_t length)
{
    const uint8_t *from = data;
    uint32_t page = nf2_page(fs), room = page_room(fs, frames->append_at);

    NF2_ASSERT(length > 0 && length + NF2_FRAMES_HEAD + NF2_FRAME_OVERHEAD <= page && frames->end >= frames->base);
    if (frames->append_at >= nf2_log_bytes(fs)) {
        return 1;
    }
    uint32_t next = (frames->append_at & ~(page - 1)) + page, first = length;
    uint32_t fresh = page - NF2_FRAMES_HEAD - NF2_FRAME_OVERHEAD;
    if (length > room && length <= fresh) { /* whole in the next page: one program */
        frames->append_at = next;
    } else if (length > room) {
        first = room > length / 4 ? room : fresh;
        frames->append_at = room > length / 4 ? frames->append_at : next;
        next = (frames->append_at & ~(page - 1)) + page;
        if (length - first > fresh || next >= nf2_log_bytes(fs)) {
            frames->append_at = nf2_log_bytes(fs);
            return 1;
        }
    }
    if (frames->append_at >= nf2_log_bytes(fs)) {
        return 1;
    }
    uint32_t offset = frames->end - frames->base;
    NF2_TRY(write_frame(fs, frames, offset, from, first, first < length));
    if (first < length) {
        frames->append_at = next;
        NF2_TRY(write_frame(fs, frames, offset + first, from + first, length - first, false));
    }
    frames->end += length;
    return NF2_OK;
}
