/* SPDX-License-Identifier: BSD-2-Clause */
/* file.c - open files: the public calls. */
#include "commit.h"
#include "lock.h"
#include "collect.h"
#include "writing.h"

#define WRITABLE(file) (((file)->flags & NF2_O_WRONLY) != 0)
#define READER_FLAGS (NF2_O_RDONLY | NF2_O_EXCL | NF2_O_SYNC)
#define WRITER_FLAGS \
    (NF2_O_RDWR | NF2_O_CREAT | NF2_O_EXCL | NF2_O_TRUNC | NF2_O_APPEND | NF2_O_SYNC)

/* ---- handles --------------------------------------------------------------------------------- */

/* Where the list of open handles names this one; NULL if it is not open. */
static nf2_file_t **link_of(nf2_t *fs, const nf2_file_t *file)
{
    for (nf2_file_t **link = &fs->files; *link != NULL; link = &(*link)->link) {
        if (*link == file) {
            return link;
        }
    }
    return NULL;
}

/* A reader sees what was synced last. */
static int refresh(nf2_t *fs, nf2_file_t *file)
{
    if (WRITABLE(file) || file->moves == fs->moves) {
        return NF2_OK;
    }
    const nf2_file_t *writer = nf2_handle_of(fs, &file->key, NF2_O_WRONLY);
    /* not synced yet: empty */
    return writer != NULL && writer->created ? NF2_OK : nf2_content_load(fs, file);
}

/*
 * Takes the lock. Is the handle open, for what is to be done with it: reading, writing, or anything
 * (0)?
 */
static NF2_APART int enter(nf2_t *fs, nf2_file_t *file, uint32_t access)
{
    nf2_enter(fs);
    if (link_of(fs, file) == NULL || (file->flags & access) != access) {
        return NF2_ERR_BADF;
    }
    if (access == NF2_O_WRONLY) {
        return file->failed ? NF2_ERR_IO : NF2_OK;
    }
    return refresh(fs, file);
}

/* Brings what lies in the entry into the buffer, where it can be changed. */
static NF2_APART int load_inline(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_piece piece;

    if (file->kind != NF2_BODY_INLINE) {
        return NF2_OK;
    }
    if (file->size > NF2_LOG_PAGE) {
        return NF2_ERR_IO;
    }
    file->buffered = (uint16_t)file->size;
    piece.kind = NF2_PIECE_INLINE; /* it has no other fields */
    return nf2_content_read(fs, file, &piece, 0, file->buffer, file->size);
}

/* Content that replaces all that there was. */
static NF2_APART void begin_anew(nf2_file_t *file)
{
    file->size = file->buffer_at = 0;
    file->buffered = 0;
    file->pieces = 0;
    file->shadow = 0;
    file->spilled = 0;
    file->fresh = file->changed = true;
    file->dirty = false;
}

/* ---- opening and closing --------------------------------------------------------------------- */

int nf2_file_begin(nf2_t *fs, nf2_file_t *file, const char *path)
{
    static const uint8_t body = NF2_BODY_INLINE;

    if (file->kind == 0 && nf2_key_has_rest(&file->key)) {
        /* made at once: a handle has no room for the name */
        NF2_TRY(nf2_data_name(fs));
        NF2_TRY(nf2_put_name(fs, path, &body, 1));
        file->kind = NF2_BODY_INLINE;
    }
    if (file->kind == 0) {
        file->created = file->changed = true; /* nobody else writes it */
    }
    if ((file->flags & NF2_O_TRUNC) != 0 && file->size > 0) {
        begin_anew(file);
        return NF2_OK;
    }
    return load_inline(fs, file);
}

void nf2_file_end(nf2_t *fs, nf2_file_t *file)
{
    fs->promised -= file->promised;
    nf2_data_release(fs, file);
}

static int check_flags(const nf2_t *fs, uint32_t flags, const void *buffer)
{
    bool writes = (flags & NF2_O_WRONLY) != 0;

    if ((flags & ~(uint32_t)(writes ? WRITER_FLAGS : READER_FLAGS)) != 0 ||
        (flags & NF2_O_RDWR) == 0 ||
        (writes && buffer == NULL)) {
        return NF2_ERR_INVAL;
    }
    return writes && fs->read_only ? NF2_ERR_ROFS : NF2_OK;
}

/* May what was found be opened so? */
static int check_found(const nf2_t *fs, const struct nf2_found *found, uint32_t flags)
{
    bool create = (flags & NF2_O_CREAT) != 0, directory = *found->behind != '\0';

    if (found->content.kind == 0) {
        return !create ? NF2_ERR_NOENT : directory ? NF2_ERR_ISDIR : NF2_OK;
    }
    if (create && (flags & NF2_O_EXCL) != 0) {
        return NF2_ERR_EXIST;
    }
    if (found->content.kind == NF2_BODY_DIR || directory) {
        return found->content.kind == NF2_BODY_DIR ? NF2_ERR_ISDIR : NF2_ERR_NOTDIR;
    }
    bool writes = (flags & NF2_O_WRONLY) != 0;
    uint32_t refused = NF2_FIELD_REFUSE | (writes ? NF2_FIELD_READ : 0);
    if ((found->content.classes & refused) != 0) {
        return NF2_ERR_VERSION;
    }
    bool busy = writes && nf2_handle_of(fs, &found->key, NF2_O_WRONLY) != NULL;
    return busy ? NF2_ERR_BUSY : NF2_OK;
}

/* The handle of what the path leads to. */
static NF2_APART int find_file(nf2_t *fs, nf2_file_t *file, const char *path, uint32_t flags)
{
    struct nf2_found found;

    NF2_TRY(nf2_find(fs, path, 0, &found));
    NF2_TRY(check_found(fs, &found, flags));
    memset(file, 0, sizeof *file);
    nf2_key_copy(&file->key, &found.key);
    file->flags = (uint16_t)flags;
    bool entry = found.content.kind != 0 && found.content.kind != NF2_BODY_NEW;
    return entry ? nf2_content_load(fs, file) : NF2_OK;
}

static int do_open(nf2_t *fs, nf2_file_t *file, const char *path, uint32_t flags, void *buffer)
{
    if (file == NULL || link_of(fs, file) != NULL) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(check_flags(fs, flags, buffer));
    NF2_TRY(find_file(fs, file, path, flags));
    file->buffer = buffer;
    NF2_TRY(WRITABLE(file) ? fs->writing->begin(fs, file, path) : NF2_OK);
    file->link = fs->files;
    fs->files = file;
    return NF2_OK;
}

/* What a call that changes a file came to: all errors but NOSPC fail the handle. */
static NF2_APART int settled(nf2_file_t *file, int result)
{
    if (result == NF2_NEED_SPACE || result == NF2_ERR_NOSPC) {
        return NF2_ERR_NOSPC;
    }
    if (result < 0) {
        file->failed = true;
    }
    return result;
}

/* Notes whether a write, or a change of the size, was refused for lack of space. */
static int32_t noted(nf2_file_t *file, int32_t result)
{
    if (result == NF2_ERR_NOSPC) {
        file->flags |= NF2_REFUSED;
    } else if (result >= 0) {
        file->flags &= (uint16_t)~NF2_REFUSED;
    }
    return result;
}

static int sync_file(nf2_t *fs, nf2_file_t *file)
{
    if ((file->flags & NF2_REFUSED) != 0 && !file->failed) {
        return NF2_ERR_NOSPC;   /* what was accepted is a part of what was meant */
    }
    return WRITABLE(file) ? fs->writing->commit(fs, file) : NF2_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads what lies in one place: the bytes, or an error. */
static int read_some(nf2_t *fs, nf2_file_t *file, uint32_t at, uint8_t *to, uint32_t length)
{
    struct nf2_piece piece;

    NF2_TRY(WRITABLE(file) ? fs->writing->find(fs, file, at, &piece)
            : nf2_content_base(fs, file, at, &piece));
    return nf2_content_some(fs, file, &piece, at, to, length);
}

static int32_t do_read(nf2_t *fs, nf2_file_t *file, uint8_t *to, uint32_t length)
{
    uint32_t start = file->position, at = start;

    if ((to == NULL && length > 0) || length > NF2_FILE_MAX) {
        return NF2_ERR_INVAL;
    }
    length = nf2_min(length, file->size - nf2_min(start, file->size));
    while (length > 0) {
        int n = read_some(fs, file, at, to, length);
        NF2_TRY(n);
        at += (uint32_t)n;
        to += n;
        length -= (uint32_t)n;
    }
    file->position = at;
    return (int32_t)(at - start);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What the file's map has from `at` to `end` is put anew, as far as there is room. */
static NF2_APART int put_anew(nf2_t *fs, nf2_file_t *file, uint32_t at, uint32_t end)
{
    end = nf2_min(end, file->synced);
    int result = at < end ? nf2_data_write(fs, file, at, NULL, end - at) : NF2_OK;
    return result == NF2_ERR_NOSPC || result == NF2_NEED_SPACE ? NF2_OK : result;
}

/*
 * Behind the last write, and in front of one at another place: what is written over a map grows to
 * whole grains, so that no pieces are left that are too short to be worth a move.
 */
static NF2_APART int grow(nf2_t *fs, nf2_file_t *file, uint32_t at)
{
    uint32_t mask = (1u << fs->walk.grain) - 1, end = file->synced;
    bool over = file->kind == NF2_BODY_MAP && !file->fresh;

    if (file->dirty) {
        end = file->buffer_at + file->buffered;
    } else if (file->pieces > 0) {
        const struct nf2_piece *last = &file->piece[file->pieces - 1u];
        end = last->offset + last->length;
    }
    if (!over || nf2_data_takes(fs, file, at) || at == end) {
        return NF2_OK;
    }
    NF2_TRY(put_anew(fs, file, end, (end + mask) & ~mask));
    if (at == NF2_NONE) {       /* a sync: what the buffer holds may become a frame */
        return NF2_OK;
    }
    NF2_TRY(nf2_data_flush(fs, file));
    if (mask + 1 >= nf2_block_bytes(fs)) {
        nf2_data_align(fs, file);
    }
    return put_anew(fs, file, at & ~mask, at);
}

int nf2_file_sync(nf2_t *fs, nf2_file_t *file)
{
    int result = file->failed ? NF2_ERR_IO : grow(fs, file, NF2_NONE);

    result = settled(file, result < 0 ? result : nf2_group_end(fs, nf2_commit(fs, file)));
    return result < 0 ? result : NF2_OK;
}

/* Does first what may be refused and cannot be put back, but leaves the content as it is. */
static int prepare_write(nf2_t *fs, nf2_file_t *file, uint32_t at, uint32_t length)
{
    uint32_t within = at - file->buffer_at;

    if (nf2_data_takes(fs, file, at)) {
        if (within + length <= nf2_data_room(fs, file)) {
            return NF2_OK;
        }
        if (within == file->buffered) {
            return nf2_data_ready(fs, file, file->buffer_at, within + length);
        }
    }
    NF2_TRY(nf2_data_flush(fs, file)); /* the write may replace what the buffer holds */
    return length >= nf2_data_room(fs, file) ? nf2_data_ready(fs, file, at, length) : NF2_OK;
}

/*
 * A write that finds no room in the middle leaves the file as it was. What it has in the buffer
 * stands behind what was there before.
 */
static NF2_APART int write_or_refuse(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data,
                                     uint32_t length)
{
    NF2_TRY(prepare_write(fs, file, at, length));
    struct nf2_kept kept = file->kept;
    struct nf2_piece *last = &file->piece[file->pieces - (file->pieces > 0 ? 1u : 0)];
    uint32_t last_length = last->length;
    uint16_t spilled = file->spilled;
    int result = at > file->size ? nf2_data_extend(fs, file, at) : NF2_OK;
    result = settled(file, result == NF2_OK ? nf2_data_write(fs, file, at, data, length) : result);
    if (result == NF2_ERR_NOSPC) {
        bool fresh = file->fresh;
        file->kept = kept;
        last->length = last_length;
        if (file->spilled != spilled) {
            /* all went to the shadow. There they stay: a sync cuts off what lies behind the end */
            file->pieces = 0;
            file->fresh = fresh;
            file->changed = true;
            if (at < file->size) {
                file->failed = true;
            }
        }
    }
    return result;
}

/* What was not synced is given up. */
static int give_up(nf2_t *fs, nf2_file_t *file)
{
    bool created = file->created;

    nf2_space_changed(fs);
    begin_anew(file);
    file->fresh = false;
    file->changed = created;
    file->cut = false;
    file->frames_block = 0;
    file->here.length = 0;
    NF2_TRY(created ? NF2_OK : nf2_content_load(fs, file));
    return load_inline(fs, file);
}

static int32_t do_write(nf2_t *fs, nf2_file_t *file, const void *data, uint32_t length)
{
    uint32_t at = (file->flags & NF2_O_APPEND) != 0 ? file->size : file->position;
    int result = NF2_OK;

    if ((data == NULL && length > 0) || length > NF2_FILE_MAX) {
        return NF2_ERR_INVAL;
    }
    if (at > NF2_FILE_MAX - length) {
        return NF2_ERR_FBIG;
    }
    if (length > 0) {
        result = nf2_data_prepare(fs, file, at, length);
        result = result == NF2_OK ? grow(fs, file, at) : result;
        result = result == NF2_OK ? write_or_refuse(fs, file, at, data, length) : result;
        result = settled(file, result);
    }
    if ((file->flags & NF2_O_SYNC) != 0) { /* all or nothing of it */
        result = result == NF2_OK ? nf2_file_sync(fs, file) : result;
        if (result == NF2_ERR_NOSPC) {
            int back = settled(file, give_up(fs, file));
            result = back < 0 ? back : result;
        }
    }
    NF2_TRY(result);
    if (length > 0) {
        file->position = at + length;
    }
    return (int32_t)length;
}

/* ---- size and position ----------------------------------------------------------------------- */

static int32_t do_seek(nf2_file_t *file, int32_t offset, int whence)
{
    if (whence < NF2_SEEK_SET || whence > NF2_SEEK_END) {
        return NF2_ERR_INVAL;
    }
    uint32_t base = whence == NF2_SEEK_CUR ? file->position : file->size;
    uint32_t position = (whence == NF2_SEEK_SET ? 0 : base) + (uint32_t)offset;
    if (position > NF2_FILE_MAX) { /* or below 0: neither sum passes 32 bits */
        return NF2_ERR_INVAL;
    }
    file->position = position;
    return (int32_t)position;
}

static int cut(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    nf2_space_changed(fs);
    file->changed = true;
    if (size == 0) {
        begin_anew(file);
    } else if (nf2_content_whole(file)) {
        file->buffered = (uint16_t)size;
        file->dirty = true;
    } else {
        NF2_TRY(nf2_data_flush(fs, file));
        NF2_TRY(nf2_commit_end(fs, file, size));
        nf2_data_cut(fs, file, size);
        if (size < file->synced) {
            file->cut = true;
            file->synced = size;
        }
    }
    file->size = size;
    return NF2_OK;
}

static int do_truncate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    if (size > NF2_FILE_MAX) {
        return NF2_ERR_FBIG;
    }
    if (size == file->size) {
        return NF2_OK;
    }
    int result = nf2_data_prepare(fs, file, 0, 0);
    if (result >= 0) {
        result = size > file->size ? nf2_data_extend(fs, file, size) : cut(fs, file, size);
    }
    return settled(file, nf2_group_end(fs, result));
}

static int do_preallocate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    uint32_t bytes = nf2_block_bytes(fs);

    if (size > NF2_FILE_MAX) {
        return NF2_ERR_FBIG;
    }
    uint32_t blocks = size > file->size ? (size - file->size + bytes - 1) / bytes : 0;
    /* each block may become a piece of its own, with an entry */
    uint32_t promised = blocks > 0 ? blocks + blocks / NF2_PIECES_A_LEAF + 1 : 0;
    if (promised > file->promised) {
        uint32_t more = promised - file->promised;
        uint32_t before = fs->promised;
        fs->promised += more;   /* what is kept back for promises comes with the first one */
        int result = nf2_data_prepare(fs, NULL, 0, 0);
        if (result == NF2_OK) {
            file->promised = (uint16_t)promised;
            return NF2_OK;
        }
        fs->promised = before;
        return result;
    }
    return NF2_OK;
}

/* ---- public ---------------------------------------------------------------------------------- */

/* A call with an open handle. */
#define WITH_FILE(fs, file, access, call)                              \
    do {                                                               \
        int entered_ = enter(fs, file, access);                        \
        return nf2_leave(fs, entered_ < 0 ? entered_ : (call));        \
    } while (0)

int nf2_open(nf2_t *fs, nf2_file_t *file, const char *path, int flags, void *buffer)
{
    NF2_LOCKED(fs, do_open(fs, file, path, (uint32_t)flags, buffer));
}

static int close_file(nf2_t *fs, nf2_file_t *file, bool sync)
{
    int result = NF2_ERR_BADF;

    nf2_enter(fs);
    nf2_file_t **link = link_of(fs, file);
    if (link != NULL) {
        result = sync ? sync_file(fs, file) : NF2_OK;
        if (WRITABLE(file)) {
            fs->writing->end(fs, file);
        }
        *link = file->link;
        fs->moves++;
    }
    return nf2_leave(fs, result);
}

int nf2_close(nf2_t *fs, nf2_file_t *file)
{
    return close_file(fs, file, true);
}

int nf2_discard(nf2_t *fs, nf2_file_t *file)
{
    return close_file(fs, file, false);
}

int32_t nf2_read(nf2_t *fs, nf2_file_t *file, void *data, uint32_t length)
{
    WITH_FILE(fs, file, NF2_O_RDONLY, do_read(fs, file, data, length));
}

int32_t nf2_write(nf2_t *fs, nf2_file_t *file, const void *data, uint32_t length)
{
    WITH_FILE(fs, file, NF2_O_WRONLY, noted(file, do_write(fs, file, data, length)));
}

int32_t nf2_seek(nf2_t *fs, nf2_file_t *file, int32_t offset, int whence)
{
    WITH_FILE(fs, file, 0, do_seek(file, offset, whence));
}

int32_t nf2_tell(nf2_t *fs, nf2_file_t *file)
{
    return nf2_seek(fs, file, 0, NF2_SEEK_CUR);
}

int32_t nf2_size(nf2_t *fs, nf2_file_t *file)
{
    WITH_FILE(fs, file, 0, (int32_t)file->size);
}

int nf2_truncate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    WITH_FILE(fs, file, NF2_O_WRONLY, noted(file, do_truncate(fs, file, size)));
}

int nf2_preallocate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    WITH_FILE(fs, file, NF2_O_WRONLY, do_preallocate(fs, file, size));
}

int nf2_sync(nf2_t *fs, nf2_file_t *file)
{
    WITH_FILE(fs, file, 0, NF2_BROKEN(NF2_FAULT_EARLY_SYNC) ? NF2_OK : sync_file(fs, file));
}
