/* SPDX-License-Identifier: BSD-2-Clause */
#include "content.h"

bool nf2_content_whole(const nf2_file_t *file)
{
    return file->pieces == 0 && file->shadow == 0 && file->buffer_at == 0 &&
           file->buffered == file->size &&
           (file->fresh || file->kind == 0 || file->kind == NF2_BODY_INLINE);
}

bool nf2_has_front(const nf2_file_t *file)
{
    return nf2_key_has_rest(&file->key) || file->fields != NF2_FIELDS_NONE;
}

uint32_t nf2_inline_max(const nf2_file_t *file)
{
    uint32_t used = NF2_PAGE_HEAD + NF2_RECORD_OVERHEAD + 5u + 1u + NF2_NAME_KEY + 3u;

    return nf2_has_front(file) ? 0 : NF2_LOG_PAGE - used;
}

int nf2_list_next(nf2_t *fs, struct nf2_refs *refs, struct nf2_piece *piece)
{
    int found = nf2_refs_next(fs, refs, piece);

    if (found > 0 && piece->open) {
        NF2_TRY(nf2_frames_open(fs, piece, &refs->offset));
        refs->offset = piece->offset + piece->length;
    }
    return found;
}

/* What a LIST has at an offset; kind 0: it ends at piece->offset. */
static NF2_APART int find_in_list(nf2_t *fs, const struct nf2_entry *entry, uint32_t offset,
                                  struct nf2_piece *piece)
{
    struct nf2_refs refs;
    int found;

    NF2_TRY(nf2_refs_begin(fs, &entry->key, &entry->body, &refs));
    while ((found = nf2_list_next(fs, &refs, piece)) > 0) {
        if (offset < refs.offset) {
            return NF2_OK;
        }
    }
    piece->kind = 0;
    piece->offset = refs.offset;
    piece->length = 0;
    return found;
}

int nf2_content_size(nf2_t *fs, const struct nf2_entry *entry, const struct nf2_content *content,
                     uint32_t *size)
{
    struct nf2_piece end;

    *size = 0;
    switch (content->kind) {
    case NF2_BODY_DIR:
        return NF2_TYPE_DIR;
    case NF2_BODY_INLINE:
        *size = (uint32_t)entry->body.length - content->at - 1u;
        break;
    case NF2_BODY_LIST:
        NF2_TRY(find_in_list(fs, entry, NF2_NONE, &end));
        *size = end.offset;
        break;
    case NF2_BODY_MAP:
        NF2_TRY(nf2_map_end(fs, content->id, size));
        break;
    default:                    /* new: nothing is committed */
        break;
    }
    return NF2_TYPE_FILE;
}

int nf2_content_entry(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry,
                      struct nf2_content *content)
{
    NF2_TRY(nf2_tree_get(fs, key, entry));
    return nf2_entry_content(fs, entry, content);
}

int nf2_op_content(nf2_t *fs, struct nf2_op *op)
{
    struct nf2_entry entry;
    struct nf2_content content;

    NF2_TRY(nf2_content_entry(fs, op->key, &entry, &content));
    if (content.at > 0) {
        op->body[1] = op->body[0];
        op->body[0] = nf2_body_span(&entry, 0, content.at);
    }
    return NF2_OK;
}

int nf2_content_load(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_entry entry;
    struct nf2_content content;

    NF2_TRY(nf2_content_entry(fs, &file->key, &entry, &content));
    int type = nf2_content_size(fs, &entry, &content, &file->size);
    NF2_TRY(type == NF2_TYPE_DIR ? NF2_ERR_IO : type);
    file->kind = content.kind;
    file->id = content.id;
    file->fields = content.fields;
    file->synced = file->size;
    file->here.length = 0;
    file->moves = fs->moves;
    return NF2_OK;
}

int nf2_content_base(nf2_t *fs, nf2_file_t *file, uint32_t offset, struct nf2_piece *piece)
{
    struct nf2_entry entry;
    struct nf2_content content;

    *piece = file->here;
    if (file->moves == fs->moves && offset - piece->offset < piece->length) {
        return NF2_OK;
    }
    if (file->kind == NF2_BODY_MAP) {
        NF2_TRY(nf2_map_find(fs, file->id, offset, piece));
    } else if (file->kind == NF2_BODY_LIST) {
        NF2_TRY(nf2_content_entry(fs, &file->key, &entry, &content));
        NF2_TRY(find_in_list(fs, &entry, offset, piece));
    } else {
        *piece = (struct nf2_piece){0, file->synced, 0, 0, NF2_PIECE_INLINE, false};
    }
    file->here = *piece;
    file->moves = fs->moves;
    return NF2_OK;
}

int nf2_content_find(nf2_t *fs, nf2_file_t *file, uint32_t offset, int lowest,
                     struct nf2_piece *piece)
{
    uint32_t high = nf2_content_limit(file, lowest);

    for (int layer = file->pieces + 1; layer >= lowest; layer--) { /* the newest first */
        if (layer > 1) {
            *piece = file->piece[layer - 2];
        } else if (layer == 1 && file->shadow != 0) {
            NF2_TRY(nf2_map_find(fs, file->shadow, offset, piece));
        } else if (layer == 0 && !file->fresh && offset < file->synced) {
            high = nf2_min(high, file->synced);
            NF2_TRY(nf2_content_base(fs, file, offset, piece));
        } else {
            continue;
        }
        uint32_t end = piece->offset + piece->length;
        if (offset < end) {
            high = nf2_min(high, offset < piece->offset ? piece->offset : end);
            if (offset >= piece->offset && piece->kind != 0) {
                nf2_piece_part(fs, piece, offset - piece->offset, high - offset);
                return NF2_OK;
            }
        }
    }
    memset(piece, 0, sizeof *piece);
    piece->offset = offset;
    piece->length = high - offset;
    /* a file has no holes: they are pieces of zeros */
    return lowest > NF2_COMMITTED ? NF2_OK : NF2_ERR_IO;
}

int nf2_content_read(nf2_t *fs, const nf2_file_t *file, const struct nf2_piece *piece,
                     uint32_t offset, void *data, uint32_t length)
{
    struct nf2_entry entry;
    struct nf2_content content;

    switch (piece->kind) {
    case NF2_PIECE_ZEROS:
        memset(data, 0, length);
        return NF2_OK;
    case NF2_PIECE_FRAMES:
        return nf2_frames_read(fs, piece, offset, data, length);
    case NF2_PIECE_INLINE:
        NF2_TRY(nf2_content_entry(fs, &file->key, &entry, &content));
        return nf2_body_read(fs, &entry, content.at + 1u + offset, data, length);
    default:
        return nf2_flash_read(fs, piece->block, piece->within + (offset - piece->offset), data,
                              length);
    }
}

int nf2_content_some(nf2_t *fs, const nf2_file_t *file, const struct nf2_piece *piece,
                     uint32_t offset, uint8_t *to, uint32_t length)
{
    uint32_t within = offset - piece->offset;

    length = nf2_min(length, piece->length - within);
    if (piece->kind == NF2_PIECE_BUFFER) {
        memcpy(to, file->buffer + within, length);
        return (int)length;
    }
    NF2_TRY(piece->kind != 0 ? nf2_content_read(fs, file, piece, offset, to, length) : NF2_ERR_IO);
    return (int)length;
}
