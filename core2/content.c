/* SPDX-License-Identifier: BSD-2-Clause */
#include "content.h"

bool nf2_content_whole(const nf2_file_t *file)
{
    return file->pieces == 0 && file->shadow == 0 && file->buffer_at == 0 && file->buffered == file->size &&
           (file->fresh || file->kind == 0 || file->kind == NF2_BODY_INLINE);
}

uint32_t nf2_inline_max(const nf2_t *fs, const struct nf2_key *key)
{
    uint32_t page = nf2_page(fs), used = NF2_PAGE_HEAD + NF2_RECORD_OVERHEAD + NF2_KEY_BYTES + 3u;

    return key->length == NF2_KEY_MAX ? 0 : page - used;
}

int nf2_list_next(nf2_t *fs, struct nf2_refs *refs, struct nf2_piece *piece)
{
    struct nf2_frames frames;
    int found = nf2_refs_next(fs, refs, piece);

    if (found > 0 && piece->open) {
        NF2_TRY(nf2_frames_open(fs, piece->block, piece->within, &frames));
        piece->length = frames.end > piece->offset ? frames.end - piece->offset : 0;
        refs->offset = piece->offset + piece->length;
    }
    return found;
}

static int list_begin(nf2_t *fs, const struct nf2_entry *entry, struct nf2_refs *refs)
{
    struct nf2_span body = nf2_body_span(entry, 0, entry->body_length);
    return nf2_refs_begin(fs, &entry->key, &body, refs);
}

int nf2_content_size(nf2_t *fs, const struct nf2_entry *entry, const struct nf2_content *content, uint32_t *size)
{
    struct nf2_refs refs;
    struct nf2_piece piece;
    int found;

    *size = 0;
    switch (content->kind) {
    case NF2_BODY_INLINE:
        *size = (uint32_t)entry->body_length - content->at - 1u;
        return NF2_OK;
    case NF2_BODY_LIST:
        NF2_TRY(list_begin(fs, entry, &refs));
        while ((found = nf2_list_next(fs, &refs, &piece)) > 0) {
        }
        *size = refs.offset;
        return found;
    case NF2_BODY_MAP:
        return nf2_map_end(fs, content->id, size);
    default:
        return NF2_OK;
    }
}

int nf2_content_load(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_entry entry;
    struct nf2_content content;
    int found = nf2_tree_find(fs, &file->key, &entry);

    NF2_TRY(found > 0 ? NF2_OK : found < 0 ? found : NF2_ERR_IO);
    NF2_TRY(nf2_entry_content(fs, &entry, &content));
    NF2_TRY(content.kind != NF2_BODY_DIR ? NF2_OK : NF2_ERR_IO);
    NF2_TRY(nf2_content_size(fs, &entry, &content, &file->size));
    file->kind = content.kind;
    file->id = content.id;
    file->synced = file->size;
    file->here.length = 0;
    file->moves = fs->moves;
    return NF2_OK;
}

/* What a LIST has at an offset. */
static int find_in_list(nf2_t *fs, const nf2_file_t *file, uint32_t offset, struct nf2_piece *piece)
{
    struct nf2_entry entry;
    struct nf2_refs refs;
    int found = nf2_tree_find(fs, &file->key, &entry);

    NF2_TRY(found > 0 ? NF2_OK : found < 0 ? found : NF2_ERR_IO);
    NF2_TRY(list_begin(fs, &entry, &refs));
    while ((found = nf2_list_next(fs, &refs, piece)) > 0 && offset >= refs.offset) {
    }
    NF2_TRY(found);
    if (found == 0) {
        memset(piece, 0, sizeof *piece);
        piece->offset = offset;
        piece->length = NF2_NONE - offset;
    }
    return NF2_OK;
}

int nf2_content_base(nf2_t *fs, nf2_file_t *file, uint32_t offset, struct nf2_piece *piece)
{
    bool known = file->moves == fs->moves && file->here.length > 0 && offset >= file->here.offset &&
                 offset - file->here.offset < file->here.length;

    if (known) {
        *piece = file->here;
        return NF2_OK;
    }
    memset(piece, 0, sizeof *piece);
    if (file->kind == NF2_BODY_LIST) {
        NF2_TRY(find_in_list(fs, file, offset, piece));
    } else if (file->kind == NF2_BODY_MAP) {
        NF2_TRY(nf2_map_find(fs, file->id, offset, piece));
    } else {
        bool inside = file->kind == NF2_BODY_INLINE && offset < file->synced;
        piece->kind = inside ? NF2_PIECE_INLINE : 0;
        piece->offset = inside ? 0 : offset;
        piece->length = inside ? file->synced : NF2_NONE - offset;
    }
    file->here = *piece;
    file->moves = fs->moves;
    return NF2_OK;
}

/* A piece that covers the offset, shortened to [*low, *high); or the bounds of the gap. */
static bool covers(const struct nf2_piece *piece, uint32_t offset, uint32_t *low, uint32_t *high)
{
    uint32_t end = piece->offset + piece->length;

    if (offset >= piece->offset && offset < end && piece->kind != 0) {
        return true;
    }
    if (piece->offset > offset) {
        *high = nf2_min(*high, piece->offset);
    } else if (piece->kind != 0) {
        *low = nf2_max(*low, end);
    } else {
        *high = nf2_min(*high, end);
    }
    return false;
}

int nf2_content_find(nf2_t *fs, nf2_file_t *file, uint32_t offset, struct nf2_piece *piece)
{
    uint32_t low = 0, high = file->size;
    bool found = false;

    for (unsigned i = file->pieces; i > 0 && !found; i--) {
        *piece = file->piece[i - 1];
        found = covers(piece, offset, &low, &high);
    }
    if (!found && file->shadow != 0) {
        NF2_TRY(nf2_map_find(fs, file->shadow, offset, piece));
        found = covers(piece, offset, &low, &high);
    }
    if (!found && !file->fresh && offset < file->cut_to) {
        high = nf2_min(high, file->cut_to);
        NF2_TRY(nf2_content_base(fs, file, offset, piece));
        found = covers(piece, offset, &low, &high);
    }
    if (!found) {
        return NF2_ERR_IO;      /* a file has no holes: they are pieces of zeros */
    }
    low = nf2_max(low, piece->offset);
    high = nf2_min(high, piece->offset + piece->length);
    *piece = nf2_piece_part(fs, piece, low - piece->offset, high - low);
    return NF2_OK;
}

int nf2_content_read(nf2_t *fs, const nf2_file_t *file, const struct nf2_piece *piece, uint32_t offset,
                     void *data, uint32_t length)
{
    struct nf2_entry entry;
    struct nf2_content content;
    int found;

    switch (piece->kind) {
    case NF2_PIECE_ZEROS:
        memset(data, 0, length);
        return NF2_OK;
    case NF2_PIECE_FRAMES:
        return nf2_frames_read(fs, piece->block, piece->within, offset, data, length);
    case NF2_PIECE_INLINE:
        found = nf2_tree_find(fs, &file->key, &entry);
        NF2_TRY(found > 0 ? NF2_OK : found < 0 ? found : NF2_ERR_IO);
        NF2_TRY(nf2_entry_content(fs, &entry, &content));
        return nf2_body_read(fs, &entry, content.at + 1u + offset, data, length);
    default:
        return nf2_flash_read(fs, piece->block, piece->within + (offset - piece->offset), data, length);
    }
}
