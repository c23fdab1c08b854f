/* SPDX-License-Identifier: BSD-2-Clause */
/* file.c - open files: the public calls. */
#include "commit.h"
#include "lock.h"
#include "sweep.h"
#include "writing.h"

#define WRITABLE(file) (((file)->flags & NF2_O_WRONLY) != 0)
#define ALL_FLAGS (NF2_O_RDWR | NF2_O_CREAT | NF2_O_EXCL | NF2_O_TRUNC | NF2_O_APPEND | NF2_O_SYNC)
#define READABLE(file) (((file)->flags & NF2_O_RDONLY) != 0)

/* ---- handles ------------------------------------------------------------------------------------ */

static bool is_open(const nf2_t *fs, const nf2_file_t *file)
{
    const nf2_file_t *open = fs->mounted ? fs->files : NULL;

    while (open != NULL && open != file) {
        open = open->link;
    }
    return open != NULL;
}

static void unlink_handle(nf2_t *fs, nf2_file_t *file)
{
    nf2_file_t **link = &fs->files;

    while (*link != file) {
        link = &(*link)->link;
    }
    *link = file->link;
}

/* A reader sees what was synced last. */
static int refresh(nf2_t *fs, nf2_file_t *file)
{
    if (WRITABLE(file) || file->moves == fs->moves) {
        return NF2_OK;
    }
    for (const nf2_file_t *other = fs->files; other != NULL; other = other->link) {
        if (other->created && nf2_key_compare(&other->key, &file->key) == 0) {
            return NF2_OK; /* created, not synced yet: empty */
        }
    }
    return nf2_content_load(fs, file);
}

/* Brings what lies in the entry into the buffer, where it can be changed. */
static int load_inline(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_piece piece;

    if (file->kind != NF2_BODY_INLINE || file->size > nf2_page(fs)) {
        return NF2_OK;
    }
    if (file->size > 0) {
        NF2_TRY(nf2_content_base(fs, file, 0, &piece));
        NF2_TRY(nf2_content_read(fs, file, &piece, 0, file->buffer, file->size));
    }
    file->buffered = (uint16_t)file->size;
    return NF2_OK;
}

/* Content that replaces all that there was. */
static NF2_APART void begin_anew(nf2_file_t *file)
{
    file->size = file->buffer_at = 0;
    file->buffered = 0;
    file->pieces = 0;
    file->shadow = 0;
    file->fresh = file->changed = true;
    file->dirty = false;
}

static int check_flags(const nf2_t *fs, int flags, const void *buffer)
{
    bool writes = (flags & NF2_O_WRONLY) != 0;
    bool reads = (flags & NF2_O_RDONLY) != 0;

    if ((flags & ~ALL_FLAGS) != 0 || !(reads || writes) || (writes && buffer == NULL) ||
        (!writes && (flags & (NF2_O_CREAT | NF2_O_TRUNC | NF2_O_APPEND)) != 0)) {
        return NF2_ERR_INVAL;
    }
    return writes && fs->io.read_only ? NF2_ERR_ROFS : NF2_OK;
}

/* Another handle that writes this file, or has created it. */
static nf2_file_t *writer_of(const nf2_t *fs, const struct nf2_key *key)
{
    nf2_file_t *file = fs->files;

    while (file != NULL && !(WRITABLE(file) && nf2_key_compare(&file->key, key) == 0)) {
        file = file->link;
    }
    return file;
}

/* The entry of a long name is made at once: a handle has no room for it. */
static NF2_APART int put_long(nf2_t *fs, nf2_file_t *file, const struct nf2_place *place)
{
    static const uint8_t kind = NF2_BODY_INLINE;
    struct nf2_op op;

    nf2_op_put(&op, &file->key, &kind, 1);
    nf2_op_rest(&op, nf2_place_rest(place));
    NF2_TRY(nf2_change(fs, &op, 1));
    file->kind = NF2_BODY_INLINE;
    file->created = file->changed = false;
    return NF2_OK;
}

int nf2_file_begin(nf2_t *fs, nf2_file_t *file, const struct nf2_place *place)
{
    if (file->created && file->key.length == NF2_KEY_MAX) {
        NF2_TRY(nf2_sweep_name(fs));
        NF2_TRY(put_long(fs, file, place));
    }
    file->moves = fs->moves;
    if ((file->flags & NF2_O_TRUNC) != 0 && file->size > 0) {
        begin_anew(file);
    }
    return file->fresh ? NF2_OK : load_inline(fs, file);
}

void nf2_file_end(nf2_t *fs, nf2_file_t *file)
{
    fs->space.promised -= file->promised;
    nf2_data_release(fs, file);
}

static int open_found(nf2_t *fs, nf2_file_t *file, bool found, const struct nf2_place *place)
{
    if (found) {
        NF2_TRY(nf2_content_load(fs, file));
    } else {
        file->created = file->changed = writer_of(fs, &file->key) == NULL;
    }
    file->moves = fs->moves;
    return WRITABLE(file) ? fs->writing->begin(fs, file, place) : NF2_OK;
}

static NF2_APART int do_open(nf2_t *fs, nf2_file_t *file, const char *path, int flags, void *buffer)
{
    struct nf2_place place;
    struct nf2_entry entry;
    struct nf2_content content;
    struct nf2_key key;

    if (!fs->mounted || file == NULL || is_open(fs, file)) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(check_flags(fs, flags, buffer));
    NF2_TRY(nf2_path_resolve(fs, path, 0, &place));
    if (place.length == 0) {
        return NF2_ERR_ISDIR;
    }
    int found = nf2_place_find(fs, &place, &key, &entry);
    NF2_TRY(found);
    bool known = found || nf2_handle_of(fs, &key) != NULL;
    if (found) {
        NF2_TRY(nf2_entry_content(fs, &entry, &content));
        if (content.kind == NF2_BODY_DIR) {
            return (flags & NF2_O_EXCL) != 0 && (flags & NF2_O_CREAT) != 0 ? NF2_ERR_EXIST : NF2_ERR_ISDIR;
        }
    }
    if (place.slash) {
        return known ? NF2_ERR_NOTDIR : (flags & NF2_O_CREAT) != 0 ? NF2_ERR_ISDIR : NF2_ERR_NOENT;
    }
    if (!known && (flags & NF2_O_CREAT) == 0) {
        return NF2_ERR_NOENT;
    }
    if (known && (flags & NF2_O_CREAT) != 0 && (flags & NF2_O_EXCL) != 0) {
        return NF2_ERR_EXIST;
    }
    if ((flags & NF2_O_WRONLY) != 0 && writer_of(fs, &key) != NULL) {
        return NF2_ERR_BUSY;
    }
    memset(file, 0, sizeof *file);
    file->key = key;
    file->flags = (uint16_t)flags;
    file->buffer = buffer;
    file->cut_to = NF2_NONE;
    NF2_TRY(open_found(fs, file, found > 0, &place));
    file->link = fs->files;
    fs->files = file;
    return NF2_OK;
}

/* There was no room: that fails no handle. */
static NF2_APART bool refused(int result)
{
    return result == NF2_ERR_NOSPC || result == NF2_NEED_SPACE;
}

/* What a call that changes a file came to. */
static NF2_APART int settled(nf2_file_t *file, int result)
{
    if (result < 0 && !refused(result)) {
        file->failed = true;
    }
    return result;
}

static int do_sync(nf2_t *fs, nf2_file_t *file)
{
    if (!is_open(fs, file)) {
        return NF2_ERR_BADF;
    }
    if (!WRITABLE(file)) {
        return NF2_OK;
    }
    if (file->failed) {
        return NF2_ERR_IO;
    }
    NF2_TRY(settled(file, fs->writing->commit(fs, file)));
    return NF2_OK;
}

static int do_close(nf2_t *fs, nf2_file_t *file)
{
    int result = do_sync(fs, file);

    if (is_open(fs, file)) {
        if (WRITABLE(file)) {
            fs->writing->end(fs, file);
        }
        unlink_handle(fs, file);
        fs->moves++;
    }
    return result;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* Reads what lies in one place: the bytes, or an error. */
static int read_some(nf2_t *fs, nf2_file_t *file, uint8_t *to, uint32_t length)
{
    uint32_t at = file->position, end = file->buffer_at + file->buffered;
    struct nf2_piece piece;

    if (at >= file->buffer_at && at < end) {
        uint32_t n = nf2_min(length, end - at);
        memcpy(to, file->buffer + (at - file->buffer_at), n);
        return (int)n;
    }
    if (file->buffered > 0 && at < file->buffer_at) {
        length = nf2_min(length, file->buffer_at - at);
    }
    NF2_TRY(WRITABLE(file) ? fs->writing->find(fs, file, at, &piece) : nf2_content_base(fs, file, at, &piece));
    NF2_TRY(piece.kind != 0 ? NF2_OK : NF2_ERR_IO);
    length = nf2_min(length, piece.offset + piece.length - at);
    NF2_TRY(nf2_content_read(fs, file, &piece, at, to, length));
    return (int)length;
}

static int32_t do_read(nf2_t *fs, nf2_file_t *file, void *data, uint32_t length)
{
    uint8_t *to = data;
    uint32_t done = 0, start;

    if (!is_open(fs, file) || !READABLE(file)) {
        return NF2_ERR_BADF;
    }
    if ((data == NULL && length > 0) || length > NF2_FILE_MAX) {
        return NF2_ERR_INVAL;
    }
    nf2_look(fs); /* half of a change is not to be seen */
    NF2_TRY(refresh(fs, file));
    if (file->position < file->size) {
        length = nf2_min(nf2_min(length, file->size - file->position), NF2_FILE_MAX);
    } else {
        length = 0;
    }
    start = file->position;
    while (done < length) {
        int n = read_some(fs, file, to + done, length - done);
        if (n < 0) {
            file->position = start;
            return n;
        }
        done += (uint32_t)n;
        file->position += (uint32_t)n;
    }
    return (int32_t)done;
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* Can the buffer take bytes at this place of the file? */
static bool buffer_takes(const nf2_t *fs, const nf2_file_t *file, uint32_t at)
{
    bool whole = nf2_content_whole(file);

    return (file->dirty || whole) && at >= file->buffer_at && at <= file->buffer_at + file->buffered &&
           at < file->buffer_at + nf2_data_room(fs, file);
}

/* Whole pages go to the chip at once, the rest waits in the buffer: bytes taken, or an error. */
static int write_some(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    uint32_t room = nf2_data_room(fs, file);

    if (!buffer_takes(fs, file, at)) {
        NF2_TRY(nf2_data_flush(fs, file));
        room = nf2_data_room(fs, file);
        if (length >= room) {
            uint32_t n = room + (length - room) / nf2_page(fs) * nf2_page(fs);
            NF2_TRY(nf2_data_put(fs, file, at, data, n));
            return (int)n;
        }
        file->buffer_at = at;
        file->buffered = 0;
    }
    uint32_t within = at - file->buffer_at, n = nf2_min(length, room - within);
    memcpy(file->buffer + within, data, n);
    file->buffered = (uint16_t)nf2_max(file->buffered, within + n);
    file->dirty = true;
    if (file->buffered == room && length > n) {
        file->size = nf2_max(file->size, at + n);
        NF2_TRY(nf2_data_flush(fs, file));
    }
    return (int)n;
}

static int write_all(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    NF2_TRY(at > file->size ? nf2_data_extend(fs, file, at) : NF2_OK);
    for (uint32_t done = 0; done < length;) {
        int n = write_some(fs, file, at + done, data + done, length - done);
        NF2_TRY(n);
        done += (uint32_t)n;
        file->size = nf2_max(file->size, at + done);
    }
    return NF2_OK;
}

/* What a refused write puts back. What it has in the buffer stands behind what was there before. */
struct before {
    uint32_t size, buffer_at, last_length;
    uint16_t buffered;
    uint8_t pieces, spills;
    bool dirty, changed, fresh;
};

static struct before remember(const nf2_file_t *file)
{
    uint32_t last = file->pieces > 0 ? file->piece[file->pieces - 1].length : 0;
    struct before before = {file->size, file->buffer_at, last, file->buffered, file->pieces, file->spills,
                            file->dirty, file->changed, file->fresh};
    return before;
}

static void put_back(nf2_file_t *file, const struct before *before)
{
    file->size = before->size;
    file->buffer_at = before->buffer_at;
    file->buffered = before->buffered;
    file->pieces = before->pieces;
    file->dirty = before->dirty;
    file->changed = before->changed;
    file->fresh = before->fresh;
    if (before->pieces > 0) {
        file->piece[before->pieces - 1].length = before->last_length;
    }
}

/* Does first what may be refused and cannot be put back, but leaves the content as it is. */
static int prepare_write(nf2_t *fs, nf2_file_t *file, uint32_t at, uint32_t length)
{
    bool takes = buffer_takes(fs, file, at), behind = at == file->buffer_at + file->buffered;

    if (takes && at - file->buffer_at + length <= nf2_data_room(fs, file)) {
        return NF2_OK;
    }
    if (takes && behind) {
        return nf2_data_ready(fs, file, file->buffer_at, file->buffered + length);
    }
    NF2_TRY(nf2_data_flush(fs, file)); /* the write may replace what the buffer holds */
    bool zeros = at > file->size && file->pieces + 2u > NF2_PIECES_MAX;
    NF2_TRY(zeros ? nf2_data_spill(fs, file) : NF2_OK);
    return length >= nf2_data_room(fs, file) ? nf2_data_ready(fs, file, at, length) : NF2_OK;
}

/* A write that finds no room in the middle leaves the file as it was. */
static int write_or_refuse(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    NF2_TRY(prepare_write(fs, file, at, length));
    struct before before = remember(file);
    int result = write_all(fs, file, at, data, length);
    if (refused(result) && file->spills == before.spills) {
        put_back(file, &before);
    } else {
        file->failed = result < 0;
    }
    return result;
}

/* What was not synced is given up. */
static NF2_APART int give_up(nf2_t *fs, nf2_file_t *file)
{
    bool created = file->created;

    nf2_space_changed(fs);
    begin_anew(file);
    file->fresh = false;
    file->changed = created;
    file->cut_to = NF2_NONE;
    file->frames_block = 0;
    file->here.length = 0;
    NF2_TRY(created ? NF2_OK : nf2_content_load(fs, file));
    return created ? NF2_OK : load_inline(fs, file);
}

static int write_in_room(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    NF2_TRY(nf2_sweep_ready(fs, false));
    NF2_TRY(nf2_data_room_for(fs, file, at, length));
    return write_or_refuse(fs, file, at, data, length);
}

/* The write, and its sync where the handle wants that: all or nothing of it. */
static int write_synced(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    bool synced = (file->flags & NF2_O_SYNC) != 0;
    int result = length > 0 ? write_in_room(fs, file, at, data, length) : NF2_OK;

    result = settled(file, result == NF2_OK && synced ? do_sync(fs, file) : result);
    if (synced && refused(result)) {
        file->failed = give_up(fs, file) < 0;
    }
    return result;
}

static int32_t do_write(nf2_t *fs, nf2_file_t *file, const void *data, uint32_t length)
{
    if (!is_open(fs, file) || !WRITABLE(file)) {
        return NF2_ERR_BADF;
    }
    if ((data == NULL && length > 0) || length > NF2_FILE_MAX) {
        return NF2_ERR_INVAL;
    }
    if (file->failed) {
        return NF2_ERR_IO;
    }
    uint32_t at = (file->flags & NF2_O_APPEND) != 0 ? file->size : file->position;
    if (at > NF2_FILE_MAX - length) {
        return NF2_ERR_FBIG;
    }
    NF2_TRY(write_synced(fs, file, at, data, length));
    file->position = length > 0 ? at + length : file->position;
    return (int32_t)length;
}

/* ---- size and position -------------------------------------------------------------------------- */

static int32_t do_seek(nf2_t *fs, nf2_file_t *file, int32_t offset, int whence)
{
    if (!is_open(fs, file)) {
        return NF2_ERR_BADF;
    }
    NF2_TRY(refresh(fs, file));
    if (whence < NF2_SEEK_SET || whence > NF2_SEEK_END) {
        return NF2_ERR_INVAL;
    }
    uint32_t base = whence == NF2_SEEK_SET ? 0 : whence == NF2_SEEK_CUR ? file->position : file->size;
    bool valid = offset < 0 ? base >= 0u - (uint32_t)offset : (uint32_t)offset <= NF2_FILE_MAX - base;
    if (!valid) {
        return NF2_ERR_INVAL;
    }
    file->position = base + (uint32_t)offset;
    return (int32_t)file->position;
}

static int cut(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    bool whole = nf2_content_whole(file);

    file->changed = true;
    nf2_space_changed(fs);
    if (size == 0) {
        begin_anew(file);
        return NF2_OK;
    }
    if (whole) {
        file->buffered = (uint16_t)size;
        file->dirty = true;
    } else {
        NF2_TRY(nf2_data_flush(fs, file));
        NF2_TRY(nf2_data_cut(fs, file, size));
        file->cut_to = file->fresh || size >= file->synced ? file->cut_to : nf2_min(file->cut_to, size);
    }
    file->size = size;
    return NF2_OK;
}

static int do_truncate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    if (!is_open(fs, file) || !WRITABLE(file)) {
        return NF2_ERR_BADF;
    }
    if (file->failed) {
        return NF2_ERR_IO;
    }
    if (size > NF2_FILE_MAX) {
        return NF2_ERR_FBIG;
    }
    if (size == file->size) {
        return NF2_OK;
    }
    int result = nf2_sweep_ready(fs, false);
    result = result == NF2_OK ? nf2_data_room_for(fs, file, 0, 0) : result;
    result = result < 0 ? result : size > file->size ? nf2_data_extend(fs, file, size) : cut(fs, file, size);
    return settled(file, result);
}

static int do_preallocate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    if (!is_open(fs, file) || !WRITABLE(file)) {
        return NF2_ERR_BADF;
    }
    if (size > NF2_FILE_MAX) {
        return NF2_ERR_FBIG;
    }
    uint32_t bytes = nf2_block_bytes(fs);
    uint32_t more = size > file->size ? (size - file->size + bytes - 1) / bytes + 1 : 0;
    if (more > file->promised) {
        NF2_TRY(nf2_sweep_ready(fs, false));
        NF2_TRY(nf2_sweep_room(fs, more - file->promised));
        fs->space.promised += more - file->promised;
        file->promised = more;
    }
    return NF2_OK;
}

/* ---- public ------------------------------------------------------------------------------------- */

int nf2_open(nf2_t *fs, nf2_file_t *file, const char *path, int flags, void *buffer)
{
    NF2_LOCKED(fs, do_open(fs, file, path, flags, buffer));
}

int nf2_close(nf2_t *fs, nf2_file_t *file)
{
    NF2_LOCKED(fs, do_close(fs, file));
}

int32_t nf2_read(nf2_t *fs, nf2_file_t *file, void *data, uint32_t length)
{
    NF2_LOCKED(fs, do_read(fs, file, data, length));
}

int32_t nf2_write(nf2_t *fs, nf2_file_t *file, const void *data, uint32_t length)
{
    NF2_LOCKED(fs, do_write(fs, file, data, length));
}

int32_t nf2_seek(nf2_t *fs, nf2_file_t *file, int32_t offset, int whence)
{
    NF2_LOCKED(fs, do_seek(fs, file, offset, whence));
}

int32_t nf2_tell(nf2_t *fs, nf2_file_t *file)
{
    NF2_LOCKED(fs, is_open(fs, file) ? (int32_t)file->position : NF2_ERR_BADF);
}

static int32_t do_size(nf2_t *fs, nf2_file_t *file)
{
    if (!is_open(fs, file)) {
        return NF2_ERR_BADF;
    }
    NF2_TRY(refresh(fs, file));
    return (int32_t)file->size;
}

int32_t nf2_size(nf2_t *fs, nf2_file_t *file)
{
    NF2_LOCKED(fs, do_size(fs, file));
}

int nf2_truncate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    NF2_LOCKED(fs, do_truncate(fs, file, size));
}

int nf2_preallocate(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    NF2_LOCKED(fs, do_preallocate(fs, file, size));
}

int nf2_sync(nf2_t *fs, nf2_file_t *file)
{
    NF2_LOCKED(fs, do_sync(fs, file));
}
