/* SPDX-License-Identifier: BSD-2-Clause */
/* file.c - open files: the public calls. */
#include "batch.h"
#include "content.h"
#include "flash.h"
#include "frames.h"
#include "names.h"
#include "reclaim.h"
#include "space.h"

static bool is_open(const nf2_t *fs, const nf2_file_t *file)
{
    for (const nf2_file_t *at = fs->files; at != NULL; at = at->next) {
        if (at == file) {
            return true;
        }
    }
    return false;
}

/* Brings a handle up to date that another handle has overtaken. */
static int refresh(nf2_t *fs, nf2_file_t *file)
{
    return file->stale && !file->changed && file->leaf != 0 ? nf2_content_load(fs, file) : NF2_OK;
}

static int check_handle(nf2_t *fs, nf2_file_t *file, int need)
{
    if (!fs->mounted || !is_open(fs, file) || (file->flags & need) != need) {
        return NF2_ERR_BADF;
    }
    return refresh(fs, file);
}

/* For changes: not on a handle whose content is half old and half new, since the driver failed in a change before. */
static int check_writer(nf2_t *fs, nf2_file_t *file)
{
    NF2_TRY(check_handle(fs, file, NF2_O_WRONLY));
    return file->failed ? NF2_ERR_IO : NF2_OK;
}

/* ---- open --------------------------------------------------------------------------------------- */

static int take_slot(nf2_t *fs, nf2_file_t *file)
{
    for (unsigned s = 0; s < NF2_WRITERS; s++) {
        if (!fs->slot[s].busy) {
            fs->slot[s].busy = true;
            file->slot = (uint8_t)s;
            return NF2_OK;
        }
    }
    return NF2_ERR_MFILE;
}

static void begin_empty(nf2_file_t *file)
{
    nf2_content_begin(file, NF2_BODY_INLINE);
    file->size = file->buffer_at = 0;
    file->buffered = 0;
    file->fresh = file->loaded = file->changed = true;
    file->committed_size = file->committed_blocks = 0;
}

/* A new file: its name is kept in the handle, or, if long, at the buffer's end, until the first commit. */
static int open_new(nf2_t *fs, nf2_file_t *file, const struct nf2_place *place)
{
    NF2_TRY(nf2_space_begin(fs));
    if (nf2_space_free_blocks(fs) <= nf2_space_reserve(fs) / 2 + 1 || nf2_space_available(fs) < nf2_promised(fs, NULL)) {
        return NF2_ERR_NOSPC; /* nf2_open reclaims: from out there the stack is short */
    }
    file->directory = place->directory;
    file->name_length = place->length;
    begin_empty(file);
    memcpy(nf2_new_name(fs, file), place->name, place->length);
    if (place->length > NF2_NAME_KEPT && nf2_buffer_room(fs, file) < 64) {
        NF2_TRY(nf2_entry_write(fs, file, NULL));
        file->fresh = file->changed = false;
    }
    return NF2_OK;
}

/* Is there a writer for the entry that `file` is on (or, not on flash yet, for its name)? */
static int other_writer(nf2_t *fs, const nf2_file_t *file)
{
    for (const nf2_file_t *at = fs->files; at != NULL; at = at->next) {
        if (at->leaf != 0 && at->leaf == file->leaf && at->entry == file->entry && nf2_file_writes(at) && nf2_file_writes(file)) {
            return NF2_ERR_BUSY;
        }
    }
    return NF2_OK;
}

static int open_existing(nf2_t *fs, nf2_file_t *file, const struct nf2_entry *entry)
{
    if ((file->flags & NF2_O_EXCL) && (file->flags & NF2_O_CREAT)) {
        return NF2_ERR_EXIST;
    }
    int kind = nf2_entry_kind(fs, entry);
    if (kind == NF2_BODY_DIR || kind < 0) {
        return kind < 0 ? kind : NF2_ERR_ISDIR;
    }
    file->leaf = entry->node;
    file->entry = entry->offset;
    NF2_TRY(other_writer(fs, file));
    NF2_TRY(nf2_content_load(fs, file));
    if (file->flags & NF2_O_TRUNC) {
        begin_empty(file);
    }
    return NF2_OK;
}

/* A file that another handle created and has not synced: empty for readers until it does. */
static int open_unsynced(nf2_file_t *file, nf2_file_t *creator)
{
    if ((file->flags & NF2_O_EXCL) && (file->flags & NF2_O_CREAT)) {
        return NF2_ERR_EXIST;
    }
    if (nf2_file_writes(file)) {
        return NF2_ERR_BUSY;
    }
    begin_empty(file);
    file->fresh = file->changed = false;
    file->creator = creator;
    return NF2_OK;
}

static int open_place(nf2_t *fs, nf2_file_t *file, const struct nf2_place *place)
{
    struct nf2_entry entry;

    if (place->length == 0) {
        return NF2_ERR_ISDIR;
    }
    int found = nf2_place_find(fs, place, &entry);
    if (found != 0) {
        return found < 0 ? found : open_existing(fs, file, &entry);
    }
    nf2_file_t *creator = nf2_handle_named(fs, place);
    if (creator != NULL) {
        return open_unsynced(file, creator);
    }
    return file->flags & NF2_O_CREAT ? open_new(fs, file, place) : NF2_ERR_NOENT;
}

static NF2_APART int do_open(nf2_t *fs, nf2_file_t *file, const char *path, int flags, void *buffer)
{
    struct nf2_place place;
    int access = flags & NF2_O_RDWR;

    if (!fs->mounted || access == 0 || file == NULL || is_open(fs, file) || (flags & ~0x1F3) != 0 ||
        ((access & NF2_O_WRONLY) != 0 && buffer == NULL) ||
        ((access & NF2_O_WRONLY) == 0 && (flags & (NF2_O_CREAT | NF2_O_TRUNC | NF2_O_APPEND)) != 0)) {
        return NF2_ERR_INVAL;
    }
    if ((access & NF2_O_WRONLY) != 0 && (fs->read_only || fs->broken)) {
        return fs->read_only ? NF2_ERR_ROFS : NF2_ERR_IO;
    }
    memset(file, 0, sizeof *file);
    file->flags = (uint16_t)flags;
    file->buffer = buffer;
    NF2_TRY(nf2_path_resolve(fs, path, 0, &place));
    if ((access & NF2_O_WRONLY) != 0) {
        NF2_TRY(take_slot(fs, file));
    }
    int result = open_place(fs, file, &place);
    if (result != NF2_OK) {
        if ((access & NF2_O_WRONLY) != 0) {
            fs->slot[file->slot].busy = false;
        }
        memset(file, 0, sizeof *file);
        return result;
    }
    file->next = fs->files;
    fs->files = file;
    return NF2_OK;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* Reads what is at `at`, at most `length` bytes, from where the committed map says. Returns the bytes read. */
static int32_t read_mapped(nf2_t *fs, const nf2_file_t *file, uint32_t at, uint8_t *data, uint32_t length, struct nf2_stretch *stretch)
{
    struct nf2_item item;
    uint32_t n;

    NF2_TRY(nf2_index_at(fs, file->id, at, stretch, &item, &n));
    n = n == 0 ? length : nf2_min(n, length);
    if (item.kind == NF2_BODY_FRAMES) {
        NF2_TRY(nf2_frames_read(fs, file->id, item.block, item.base, at, data, n));
    } else if (item.block == NF2_NO_BLOCK) {
        memset(data, 0, n);
    } else {
        uint32_t within = item.within + (at - item.number);
        NF2_TRY(nf2_flash_read(fs, item.block, within, data, n));
    }
    return (int32_t)n;
}

static int32_t read_indexed(nf2_t *fs, const nf2_file_t *file, uint32_t at, uint8_t *data, uint32_t length, struct nf2_stretch *stretch)
{
    struct nf2_piece piece;
    uint32_t n;

    int pending = nf2_indexed_pending(fs, file, at, &piece, &n);
    NF2_TRY(pending);
    n = nf2_min(n, length);
    if (!pending) {
        return read_mapped(fs, file, at, data, n, stretch);
    }
    if (piece.block == NF2_NO_BLOCK) {
        memset(data, 0, n);
    } else {
        uint32_t within = piece.within + (at - piece.offset);
        NF2_TRY(nf2_flash_read(fs, piece.block, within, data, n));
    }
    return (int32_t)n;
}

static int32_t read_inline(nf2_t *fs, nf2_file_t *file, uint32_t at, uint8_t *data, uint32_t length)
{
    struct nf2_entry entry;

    if (file->buffered > 0) {
        const uint8_t *from = nf2_inline_at(fs, file, at, &length);
        memcpy(data, from, length);
        return (int32_t)length;
    }
    NF2_TRY(nf2_entry_at(fs, file->leaf, file->entry, &entry));
    NF2_TRY(nf2_body_read(fs, &entry, 1 + at, data, length));
    return (int32_t)length;
}

static int32_t read_flat(nf2_t *fs, const nf2_file_t *file, uint32_t at, uint8_t *data, uint32_t length)
{
    uint32_t block, within, room;

    NF2_TRY(nf2_flat_place(fs, file, at, &block, &within, &room));
    length = nf2_min(length, room);
    NF2_TRY(nf2_flash_read(fs, block, within, data, length));
    return (int32_t)length;
}

/* Reads some bytes at `at`: from the buffer if they are there, else up to where the buffer begins. */
static int32_t read_some(nf2_t *fs, nf2_file_t *file, uint32_t at, uint8_t *data, uint32_t length, struct nf2_stretch *stretch)
{
    if (file->kind == NF2_BODY_INLINE) {
        return read_inline(fs, file, at, data, length);
    }
    if (file->buffered > 0 && at >= file->buffer_at && at < file->buffer_at + file->buffered) {
        length = nf2_min(length, file->buffer_at + file->buffered - at);
        memcpy(data, file->buffer + (at - file->buffer_at), length);
        return (int32_t)length;
    }
    if (file->buffered > 0 && at < file->buffer_at) {
        length = nf2_min(length, file->buffer_at - at);
    }
    return file->kind == NF2_BODY_FLAT ? read_flat(fs, file, at, data, length) : read_indexed(fs, file, at, data, length, stretch);
}

#define READ_AHEAD 18u          /* entries of a map: those of 4 KiB in pieces of 256 bytes, and what lies at their ends */

static int32_t do_read(nf2_t *fs, nf2_file_t *file, void *data, uint32_t length)
{
    struct nf2_noted noted[READ_AHEAD];
    struct nf2_stretch stretch = nf2_stretch_of(noted, READ_AHEAD);
    uint8_t *to = data;
    uint32_t done = 0;

    NF2_TRY(check_handle(fs, file, NF2_O_RDONLY));
    if (length > NF2_FILE_MAX || (data == NULL && length > 0)) {
        return NF2_ERR_INVAL;
    }
    length = file->position < file->size ? nf2_min(length, file->size - file->position) : 0;
    if (file->kind == NF2_BODY_INDEXED && file->leaf != 0 && file->ahead.at == file->position && file->ahead.programs == fs->programs) {
        stretch.leaf = file->ahead.leaf; /* of this place: what is not committed may be read first */
        stretch.from = file->position;
    }
    while (done < length) {
        int32_t n = read_some(fs, file, file->position + done, to + done, length - done, &stretch);
        NF2_TRY(n);
        done += (uint32_t)n;
    }
    file->position += done;
    if (file->kind == NF2_BODY_INDEXED && file->leaf != 0 && stretch.count > 0) {
        file->ahead.at = file->position;
        file->ahead.programs = fs->programs;
        file->ahead.leaf = nf2_stretch_leaf(&stretch, file->position);
    }
    return (int32_t)done;
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* Inline content that outgrows its room goes to blocks. A file that is on flash stays committed as it is until the next sync. */
static int write_inline(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length, uint32_t *done)
{
    uint32_t room = nf2_inline_room(fs, file);

    NF2_TRY(nf2_content_load_inline(fs, file));
    *done = 0;
    if (at + length > room || at > room) {
        if (at < file->size) { /* what overlaps goes into the buffer, the rest is an append */
            *done = nf2_min(length, file->size - at);
            nf2_inline_put(fs, file, at, data, *done);
        }
        return nf2_content_to_flat(fs, file);
    }
    if (at > file->size) {
        nf2_inline_put(fs, file, file->size, NULL, at - file->size);
    }
    nf2_inline_put(fs, file, at, data, length);
    file->size = nf2_max(file->size, at + length);
    file->buffered = (uint16_t)file->size;
    *done = length;
    return NF2_OK;
}

/* Fills the gap behind the end of a flat file with zeros. */
static int fill_gap(nf2_t *fs, nf2_file_t *file, uint32_t to)
{
    static const uint8_t zeros[32] = {0};

    while (file->size < to) {
        int result = nf2_flat_append(fs, file, zeros, nf2_min(sizeof zeros, to - file->size));
        if (result != NF2_OK) {
            return result;
        }
    }
    return NF2_OK;
}

#define INDEX_BLOCKS 4u         /* that the tree may take for a new map, besides the reserve */

/* A file gets a map. Garbage is looked for where the tree turns out to be full. */
static int to_indexed(nf2_t *fs, nf2_file_t *file)
{
    int result = nf2_content_to_indexed(fs, file);

    if (result == NF2_ERR_NOSPC) {
        int more = nf2_reclaim(fs, nf2_space_available(fs) + INDEX_BLOCKS);
        result = more == NF2_OK || more == NF2_ERR_NOSPC ? nf2_content_to_indexed(fs, file) : more;
    }
    return result;
}

/* A flat file takes what is appended to its open end, and what lies in its buffer; anything else makes it an indexed one. */
static int write_flat(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    uint32_t before;
    int result = NF2_OK;

    if (at >= file->buffer_at && at < file->size && file->buffered > 0) {
        uint32_t n = nf2_min(length, file->size - at);
        memcpy(file->buffer + (at - file->buffer_at), data, n);
        at += n;
        data += n;
        length -= n;
    }
    if (length > 0 && at >= file->size && file->open_end && at - file->size <= nf2_page(fs)) {
        result = fill_gap(fs, file, at);
        before = file->size;
        if (result == NF2_OK) {
            result = nf2_flat_append(fs, file, data, length);
            uint32_t done = file->size - before;
            at += done;
            data += done;
            length -= done;
        }
        NF2_TRY(result);
    }
    if (length == 0 && result == NF2_OK) {
        return NF2_OK;
    }
    NF2_TRY(to_indexed(fs, file));
    return nf2_indexed_write(fs, file, at, data, length);
}

/* Blocks that a write at `at` of `length` bytes, with a gap in front of it, may take, so that it is refused as a whole where they are not there. */
static int check_space(nf2_t *fs, const nf2_file_t *file, uint32_t at, uint32_t end, uint32_t length)
{
    uint32_t bytes = nf2_block_bytes(fs), need;
    bool appends = file->open_end && at >= file->buffer_at && at - nf2_min(at, file->size) <= nf2_page(fs);

    if (length <= nf2_page(fs) && file->kind == NF2_BODY_INLINE) {
        need = 1;
    } else {
        need = length / bytes + 2;
    }
    if (file->kind == NF2_BODY_FLAT && appends) { /* room in the last block */
        uint32_t tail = (bytes - file->size % bytes) % bytes;
        need = length <= tail ? 0 : (length - tail + bytes - 1) / bytes;
    }
    if (end <= file->promised && nf2_space_free_blocks(fs) >= need) {
        return NF2_OK; /* if names and maps took more than they had, from the reserve */
    }
    need += nf2_promised(fs, file) + nf2_batch_growth(length / bytes); /* at worst each block is a piece of its own in the map */
    return nf2_space_available(fs) >= need ? NF2_OK : nf2_reclaim(fs, need);
}

static int write_at(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    uint32_t done;

    file->changed = true;
    if (file->kind == NF2_BODY_INLINE) {
        NF2_TRY(write_inline(fs, file, at, data, length, &done));
        at += done;
        data += done;
        length -= done;
    }
    if (length > 0 && file->kind == NF2_BODY_FLAT) {
        return write_flat(fs, file, at, data, length);
    }
    if (length > 0) {
        return nf2_indexed_write(fs, file, at, data, length);
    }
    return NF2_OK;
}

static int do_sync(nf2_t *fs, nf2_file_t *file, bool closing);

/* The driver failed while the content was being changed in memory: it is half old and half new. */
static int note_failure(nf2_file_t *file, int result)
{
    file->failed = file->failed || (result < 0 && result != NF2_ERR_NOSPC);
    return result;
}

#define AHEAD_PAGES 28u         /* programmed besides the data, for each block's length of them that is begun */
#define AHEAD_HURRY 14u         /* and where erased blocks run short for whole blocks */

#define AHEAD_READ 600u         /* pages: a call that has read more, or erased, is late */

/* After a call that wrote `length` bytes, begun at so many programs and microseconds: a part of the work that calls to come would have to do. */
static int work_ahead(nf2_t *fs, uint32_t length, uint32_t start, uint32_t start_us)
{
    uint32_t programs = fs->programs - start, us = fs->busy_us - start_us, other_us = us - nf2_min(us, programs * fs->flash->program_page_us);
    uint32_t bytes = nf2_block_bytes(fs), begun = nf2_max(1u, (length + bytes - 1u) / bytes);
    uint32_t pages = AHEAD_PAGES * begun + length / nf2_page(fs) + (nf2_compact_hurries(fs) && length > 0 && length % bytes == 0 ? AHEAD_HURRY : 0);
    bool late = length <= bytes && other_us > AHEAD_READ * fs->flash->read_page_us;
    int result = programs < pages ? nf2_compact_ahead(fs, length / bytes + 1u, pages - programs, late) : 0;

    return result < 0 && result != NF2_ERR_NOSPC ? result : NF2_OK;
}

static int32_t write_all(nf2_t *fs, nf2_file_t *file, const void *data, uint32_t length)
{
    if ((data == NULL && length > 0) || length > NF2_FILE_MAX) {
        return NF2_ERR_INVAL;
    }
    uint32_t at = file->flags & NF2_O_APPEND ? file->size : file->position;
    if (length > NF2_FILE_MAX - at) {
        return NF2_ERR_FBIG;
    }
    if (length > 0) {
        uint32_t start_us = fs->busy_us;
        NF2_TRY(nf2_space_begin(fs));
        uint32_t gap = at > file->size && file->kind != NF2_BODY_INDEXED ? nf2_min(at - file->size, nf2_page(fs)) : 0;
        NF2_TRY(check_space(fs, file, at, at + length, length + gap));
        uint32_t start = fs->programs;
        NF2_TRY(note_failure(file, write_at(fs, file, at, data, length)));
        NF2_TRY(note_failure(file, work_ahead(fs, length, start, start_us)));
    }
    NF2_TRY(file->flags & NF2_O_SYNC ? note_failure(file, do_sync(fs, file, false)) : NF2_OK);
    file->position = length > 0 ? at + length : file->position;
    return (int32_t)length;
}

/* The handle becomes what was synced last. */
static int go_back(nf2_t *fs, nf2_file_t *file)
{
    NF2_TRY(nf2_content_drop(fs, file));
    if (file->leaf != 0) {
        return nf2_content_load(fs, file);
    }
    begin_empty(file);
    return NF2_OK;
}

static int32_t do_write(nf2_t *fs, nf2_file_t *file, const void *data, uint32_t length)
{
    NF2_TRY(check_writer(fs, file));
    int32_t result = write_all(fs, file, data, length);
    if (result == NF2_ERR_NOSPC && (file->flags & NF2_O_SYNC) != 0) { /* the next sync would commit a write that was refused */
        NF2_TRY(go_back(fs, file));
    }
    return result;
}

/* ---- size --------------------------------------------------------------------------------------- */

static int shrink(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    if (file->kind == NF2_BODY_INLINE) {
        NF2_TRY(nf2_content_load_inline(fs, file));
        file->size = size;
        file->buffered = (uint16_t)size;
        return NF2_OK;
    }
    if (file->kind == NF2_BODY_FLAT && file->fresh && size == 0) { /* nothing of it is committed: its blocks are free at once */
        NF2_TRY(nf2_space_abandon(fs, file->slot, 0));
        begin_empty(file);
        return NF2_OK;
    }
    if (file->kind == NF2_BODY_FLAT) {
        NF2_TRY(nf2_flat_cut(fs, file, size));
        if (size < file->buffer_at || file->buffered == 0) {
            file->open_end = file->open_end && size == file->buffer_at;
            file->buffer_at = nf2_min(size, file->buffer_at);
            file->buffered = 0;
        } else {
            file->buffered = (uint16_t)(size - file->buffer_at);
        }
        file->size = size;
        return NF2_OK;
    }
    return nf2_indexed_cut(fs, file, size);
}

static int grow(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    static const uint8_t zero[1] = {0};

    NF2_TRY(check_space(fs, file, size - 1, size, nf2_min(size - file->size, nf2_page(fs) + 1u))); /* a gap of a page at most, and the last byte */
    return write_at(fs, file, size - 1, zero, 1);
}

static int do_truncate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    NF2_TRY(check_writer(fs, file));
    if (size > NF2_FILE_MAX) {
        return NF2_ERR_FBIG;
    }
    if (size == file->size) {
        return NF2_OK;
    }
    NF2_TRY(nf2_space_begin(fs));
    if (size > file->size) {
        return note_failure(file, grow(fs, file, size));
    }
    file->changed = true;
    return note_failure(file, shrink(fs, file, size));
}

static int do_preallocate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    NF2_TRY(check_handle(fs, file, NF2_O_WRONLY));
    if (size > NF2_FILE_MAX) {
        return NF2_ERR_FBIG;
    }
    NF2_TRY(nf2_space_begin(fs));
    uint32_t need = nf2_promised(fs, file);
    need += size > file->size ? nf2_promised_blocks(fs, size - file->size) : 0;
    NF2_TRY(nf2_reclaim(fs, need));
    file->promised = size;
    return NF2_OK;
}

/* ---- sync and close ----------------------------------------------------------------------------- */

/* Body of a flat file: the extents that its size needs. Returns the number of blocks. */
static uint32_t encode_flat(const nf2_t *fs, const nf2_file_t *file, uint8_t *body, uint32_t *length)
{
    uint32_t bytes = nf2_block_bytes(fs), left = (file->size + bytes - 1) / bytes, blocks = left;
    uint8_t *p = body;

    *p++ = NF2_BODY_FLAT;
    p = nf2_put32(p, file->size);
    for (unsigned i = 0; i < file->extents && left > 0; i++) {
        uint32_t n = nf2_min(left, file->u.extent[i].count);
        p = nf2_put24(p, file->u.extent[i].start);
        p = nf2_put16(p, n);
        left -= n;
    }
    *length = (uint32_t)(p - body);
    return blocks;
}

static NF2_APART int sync_flat(nf2_t *fs, nf2_file_t *file)
{
    uint8_t body[NF2_FLAT_BODY_MAX];
    uint32_t length, blocks;

    blocks = encode_flat(fs, file, body, &length);
    struct nf2_span span = nf2_span_of(body, length);
    NF2_TRY(nf2_entry_write(fs, file, &span));
    nf2_space_settle(fs, file->slot);
    nf2_flat_keep(file, blocks);
    file->open_end = file->open_end && file->buffer_at % fs->flash->program_unit == 0;
    file->committed_size = file->size;
    file->committed_blocks = blocks;
    return NF2_OK;
}

/* A flat file that gets small synced appends goes on with a framed tail. */
static bool wants_frames(const nf2_t *fs, const nf2_file_t *file, bool closing)
{
    return !closing && !file->fresh && file->leaf != 0 && file->buffered > 0 && file->buffered < nf2_page(fs) &&
           file->buffer_at == file->committed_size && file->size == file->buffer_at + file->buffered;
}

static int sync_content(nf2_t *fs, nf2_file_t *file, bool closing)
{
    if (file->kind == NF2_BODY_INLINE) {
        return nf2_entry_write(fs, file, NULL);
    }
    if (file->kind == NF2_BODY_FLAT && !wants_frames(fs, file, closing)) {
        if (NF2_BROKEN(NF2_FAULT_DATA_LAST) && file->buffered > 0 && file->buffer_at % nf2_block_bytes(fs) != 0) {
            NF2_TRY(sync_flat(fs, file));
        }
        int result = nf2_flat_flush(fs, file);
        NF2_TRY(result);
        if (result == NF2_OK) {
            return sync_flat(fs, file);
        }
    }
    if (file->kind == NF2_BODY_FLAT) {
        NF2_TRY(to_indexed(fs, file));
    }
    return nf2_indexed_commit(fs, file);
}

static int do_sync(nf2_t *fs, nf2_file_t *file, bool closing)
{
    if (!file->changed) {
        return NF2_OK;
    }
    if (file->failed) {
        return NF2_ERR_IO;
    }
    if (NF2_BROKEN(NF2_FAULT_EARLY_SYNC) && !closing) {
        return NF2_OK;
    }
    uint32_t start_us = fs->busy_us;
    NF2_TRY(nf2_space_begin(fs));
    uint32_t start = fs->programs;
    int result;
    do { /* where there are too few blocks garbage goes */
        result = sync_content(fs, file, closing);
        result = result >= 0 ? nf2_batch_apply(fs, NULL) : result;
    } while (result == NF2_ERR_NOSPC && (result = nf2_reclaim(fs, nf2_space_available(fs) + 1u)) == NF2_OK);
    NF2_TRY(result);
    file->changed = file->fresh = false;
    file->loaded = file->kind == NF2_BODY_INLINE;
    return work_ahead(fs, 0, start, start_us);
}

static void unlink_handle(nf2_t *fs, nf2_file_t *file)
{
    for (nf2_file_t **at = &fs->files; *at != NULL; at = &(*at)->next) {
        if (*at == file) {
            *at = file->next;
            break;
        }
    }
    for (nf2_file_t *at = fs->files; at != NULL; at = at->next) {
        if (at->creator == file) {
            at->creator = NULL; /* the file never came to be: it stays empty for this reader */
        }
    }
    if (nf2_file_writes(file)) {
        fs->slot[file->slot].busy = false;
    }
    memset(file, 0, sizeof *file);
}

static int do_close(nf2_t *fs, nf2_file_t *file)
{
    int result = NF2_OK;

    if (!fs->mounted || !is_open(fs, file)) {
        return NF2_ERR_BADF;
    }
    if (nf2_file_writes(file) && file->changed) {
        result = do_sync(fs, file, true);
        if (result < 0) {
            nf2_content_drop(fs, file);
        }
    }
    unlink_handle(fs, file);
    return result;
}

/* ---- public ------------------------------------------------------------------------------------- */

#define LOCKED(type, call)      \
    do {                        \
        nf2_lock(fs);           \
        type result_ = (call);  \
        nf2_unlock(fs);         \
        return result_;         \
    } while (0)

int nf2_open(nf2_t *fs, nf2_file_t *file, const char *path, int flags, void *buffer)
{
    nf2_lock(fs);
    int result = do_open(fs, file, path, flags, buffer);
    if (result == NF2_ERR_NOSPC && (result = nf2_reclaim(fs, nf2_max(1, nf2_promised(fs, NULL)))) == NF2_OK) {
        result = do_open(fs, file, path, flags, buffer);
    }
    nf2_unlock(fs);
    return result;
}

int nf2_close(nf2_t *fs, nf2_file_t *file)
{
    LOCKED(int, do_close(fs, file));
}

int32_t nf2_read(nf2_t *fs, nf2_file_t *file, void *data, uint32_t length)
{
    LOCKED(int32_t, do_read(fs, file, data, length));
}

int32_t nf2_write(nf2_t *fs, nf2_file_t *file, const void *data, uint32_t length)
{
    LOCKED(int32_t, do_write(fs, file, data, length));
}

static int32_t do_seek(nf2_t *fs, nf2_file_t *file, int32_t offset, int whence)
{
    NF2_TRY(check_handle(fs, file, 0));
    int64_t base = whence == NF2_SEEK_SET ? 0 : whence == NF2_SEEK_CUR ? file->position : file->size;
    if (whence < NF2_SEEK_SET || whence > NF2_SEEK_END || base + offset < 0 || base + offset > (int64_t)NF2_FILE_MAX) {
        return NF2_ERR_INVAL;
    }
    file->position = (uint32_t)(base + offset);
    return (int32_t)file->position;
}

int32_t nf2_seek(nf2_t *fs, nf2_file_t *file, int32_t offset, int whence)
{
    LOCKED(int32_t, do_seek(fs, file, offset, whence));
}

static int32_t do_tell(nf2_t *fs, nf2_file_t *file)
{
    NF2_TRY(check_handle(fs, file, 0));
    return (int32_t)file->position;
}

int32_t nf2_tell(nf2_t *fs, nf2_file_t *file)
{
    LOCKED(int32_t, do_tell(fs, file));
}

static int32_t do_size(nf2_t *fs, nf2_file_t *file)
{
    NF2_TRY(check_handle(fs, file, 0));
    return (int32_t)file->size;
}

int32_t nf2_size(nf2_t *fs, nf2_file_t *file)
{
    LOCKED(int32_t, do_size(fs, file));
}

int nf2_truncate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    LOCKED(int, do_truncate(fs, file, size));
}

int nf2_preallocate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    LOCKED(int, do_preallocate(fs, file, size));
}

static int checked_sync(nf2_t *fs, nf2_file_t *file)
{
    NF2_TRY(check_handle(fs, file, NF2_O_WRONLY));
    return do_sync(fs, file, false);
}

int nf2_sync(nf2_t *fs, nf2_file_t *file)
{
    LOCKED(int, checked_sync(fs, file));
}
