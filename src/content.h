/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * content.h - the data of an open file: inline in its entry, flat (whole blocks in the order of the file), or
 * indexed (mapped by entries in the tree). Unsynced data is in the handle's buffer or in blocks that no
 * entry names yet; commit makes it the file's.
 */
#ifndef NF2FS_SRC_CONTENT_H
#define NF2FS_SRC_CONTENT_H

#include "batch.h"
#include "flash.h"
#include "index.h"

#define NF2_FLAT_BODY_MAX (5u + 5u * NF2_EXTENTS_MAX)

static inline bool nf2_file_writes(const nf2_file_t *file)
{
    return (file->flags & NF2_O_WRONLY) != 0;
}

/* Blocks that so many bytes more take, with their map where each block lies apart. */
static inline uint32_t nf2_promised_blocks(const nf2_t *fs, uint32_t bytes)
{
    return bytes / nf2_block_bytes(fs) + 2u + nf2_batch_growth(bytes / nf2_block_bytes(fs));
}

/* Blocks that open files (but `except`) may still take of what was preallocated for them, and all of them for their maps when they are synced. */
uint32_t nf2_promised(const nf2_t *fs, const nf2_file_t *except);

/* Bytes that the handle's buffer takes (a long name of a new file lives at its end). */
uint32_t nf2_buffer_room(const nf2_t *fs, const nf2_file_t *file);

/* Nothing is known of the content but its kind, and nothing is unsynced but what is in the buffer. */
void nf2_content_begin(nf2_file_t *file, uint8_t kind);

/* Reads what the entry says of the content. */
int nf2_content_load(nf2_t *fs, nf2_file_t *file);

/* Brings inline content into memory: a page into the buffer, what follows into the handle. */
int nf2_content_load_inline(nf2_t *fs, nf2_file_t *file);

/* So many bytes may inline content have: more than a page where it is written in one go, so that a small file needs no block of its own. */
uint32_t nf2_inline_room(const nf2_t *fs, const nf2_file_t *file);

/* Where inline content in memory has its byte `at`; `length` is cut to what follows there. */
uint8_t *nf2_inline_at(const nf2_t *fs, nf2_file_t *file, uint32_t at, uint32_t *length);

/* Writes to inline content in memory (`data` NULL: zeros). */
void nf2_inline_put(const nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length);

/* Place of a byte of a flat file: its block and how many bytes follow without a gap. */
int nf2_flat_place(const nf2_t *fs, const nf2_file_t *file, uint32_t at, uint32_t *block, uint32_t *within, uint32_t *length);

/* Appends to a flat file whose end is open. */
int nf2_flat_append(nf2_t *fs, nf2_file_t *file, const uint8_t *data, uint32_t length);
/* What is not committed loses its blocks behind `size`: nobody else would free them before the sync. */
int nf2_flat_cut(nf2_t *fs, nf2_file_t *file, uint32_t size);
/* The handle keeps the extents of its first `blocks` blocks. */
void nf2_flat_keep(nf2_file_t *file, uint32_t blocks);
/* Programs what is in a flat file's buffer. */
int nf2_flat_flush(nf2_t *fs, nf2_file_t *file);

/* Makes an inline file with new content a flat one: the buffer holds all of it, or what is behind the first page. */
int nf2_content_to_flat(nf2_t *fs, nf2_file_t *file);

/* What the entry of a flat file says. */
struct nf2_flat {
    struct nf2_run extent[NF2_EXTENTS_MAX];
    uint32_t size;
    uint8_t extents;
};
int nf2_flat_load(nf2_t *fs, const struct nf2_entry *entry, struct nf2_flat *flat);

/* The committed content gets an index under a new id; maybe as a batch that is still to be applied. `slot`: the writer's. */
int nf2_flat_convert(nf2_t *fs, uint32_t leaf, uint16_t entry, const struct nf2_flat *flat, unsigned slot, uint32_t id);

/* Makes a flat file an indexed one; what is committed stays as it is. */
int nf2_content_to_indexed(nf2_t *fs, nf2_file_t *file);

/* Writes to an indexed file, into the buffer or as pieces. */
int nf2_indexed_write(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length);
int nf2_indexed_flush(nf2_t *fs, nf2_file_t *file);

/* The uncommitted piece that covers `at`, if one does, and how far what is there goes on: 1, 0, or an error. */
int nf2_indexed_pending(nf2_t *fs, const nf2_file_t *file, uint32_t at, struct nf2_piece *piece, uint32_t *length);

/* Cuts the unsynced state of an indexed file to `size` bytes. */
int nf2_indexed_cut(nf2_t *fs, nf2_file_t *file, uint32_t size);

/* Makes the unsynced state of an indexed file durable; maybe as a batch that is still to be applied. */
int nf2_indexed_commit(nf2_t *fs, nf2_file_t *file);

/* Writes the file's entry with a body, or (NULL) with its inline content in memory; afterwards the entry is at file->leaf. */
int nf2_entry_write(nf2_t *fs, nf2_file_t *file, const struct nf2_span *body);

/* Records the blocks that an indexed file has taken (and the pieces, where its id is no name's yet), and starts a new run with the next one. */
int nf2_indexed_record(nf2_t *fs, nf2_file_t *file);
/* The same for the file `id`, before blocks of `run` are taken out of it, where its run has some of them. */
int nf2_indexed_part(nf2_t *fs, uint32_t id, const struct nf2_run *run);

/* Forgets unsynced content (blocks that it took are freed). */
int nf2_content_drop(nf2_t *fs, nf2_file_t *file);

/* Room for one more orphan: finishes one if the list is full. */
int nf2_orphans_room(nf2_t *fs);
/* Frees a part of an orphan's entries and blocks: 1 if there is more to do, 0 if no orphan is left. */
int nf2_orphan_step(nf2_t *fs);

#endif
