/* SPDX-License-Identifier: BSD-2-Clause */
/* volume.c - format, mount, unmount, and what a volume says of itself: the public calls. */
#include "batch.h"
#include "flash.h"
#include "names.h"
#include "recover.h"
#include "region.h"
#include "repack.h"
#include "space.h"

/* Blocks of an empty volume, in this order: super log, head of the meta log, its next, root of the tree; the stock, some for the tree to grow. */
enum { FORMAT_META = NF2_SUPER_BLOCKS, FORMAT_NEXT, FORMAT_ROOT, FORMAT_STOCK, FORMAT_TREE = 4 };

static int begin(nf2_t *fs, const struct nf2_config *config)
{
    NF2_TRY(nf2_flash_validate(config));
    memset(fs, 0, sizeof *fs);
    fs->config = config;
    fs->flash = config->flash;
    uint32_t size = config->size != 0 ? config->size : fs->flash->chip_size - config->offset;
    fs->blocks = size / fs->flash->block_size;
    fs->node_pages = (uint8_t)nf2_min(NF2_LOG_PAGES, fs->flash->block_size / fs->flash->page_size);
    fs->read_buffer = config->buffer;
    fs->write_buffer = fs->read_buffer + fs->flash->page_size;
    fs->tree_buffer = fs->write_buffer + fs->flash->page_size;
    memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
    fs->window_address = NF2_NONE;
    fs->region = NF2_NONE;
    fs->redo_block = NF2_NO_BLOCK;
    return fs->blocks <= NF2_REGIONS_MAX * NF2_REGION_BLOCKS ? NF2_OK : NF2_ERR_GEOMETRY;
}

/* ---- format ------------------------------------------------------------------------------------- */

/* Erases blocks [from, to), with large erases where they fit. */
static int erase_range(nf2_t *fs, uint32_t from, uint32_t to)
{
    uint32_t large = nf2_large_blocks(fs), shift = fs->config->offset / nf2_block_bytes(fs);

    while (from < to) {
        uint32_t count = large > 0 && (from + shift) % large == 0 && from + large <= to ? large : 1;
        NF2_TRY(nf2_flash_erase(fs, from, count));
        from += count;
    }
    return NF2_OK;
}

/* An id for the volume, other than that of a volume formatted before it: stale logs of that one are not taken for this one's. */
static void choose_volume_id(nf2_t *fs)
{
    uint8_t old[64];
    uint32_t crc = 0x4E463246u;

    if (nf2_flash_read(fs, 0, 0, old, sizeof old) == NF2_OK) {
        crc = nf2_crc(crc, old, sizeof old);
    }
    if (nf2_flash_read(fs, 1, 0, old, sizeof old) == NF2_OK) {
        crc = nf2_crc(crc, old, sizeof old);
    }
    fs->volume_id = crc;
}

static int write_root(nf2_t *fs)
{
    struct nf2_writer writer;

    nf2_repack_begin(fs, &writer, FORMAT_ROOT, 0);
    return nf2_repack_end(fs, &writer);
}

static int do_format(nf2_t *fs, const struct nf2_config *config, int flags)
{
    NF2_TRY(begin(fs, config));
    if (fs->blocks < NF2_BLOCKS_MIN) {
        return NF2_ERR_NOSPC;
    }
    if ((flags & ~NF2_FORMAT_ERASE) != 0) {
        return NF2_ERR_INVAL;
    }
    choose_volume_id(fs);
    fs->blank_erased = (flags & NF2_FORMAT_ERASE) != 0;
    NF2_TRY(erase_range(fs, 0, NF2_SUPER_BLOCKS)); /* alone and first: from here on no older volume mounts */
    uint32_t tree = FORMAT_STOCK + nf2_space_stock_size(fs), claimed = tree + FORMAT_TREE;
    NF2_TRY(erase_range(fs, NF2_SUPER_BLOCKS, fs->blank_erased ? fs->blocks : claimed));
    fs->meta_head = fs->meta_tail = FORMAT_META;
    fs->meta_next = FORMAT_NEXT;
    fs->root = FORMAT_ROOT;
    fs->meta_sequence = fs->meta_tail_sequence = 1;
    fs->next_id = NF2_FIRST_ID;
    fs->epoch = nf2_epoch_code(0);
    for (uint32_t block = FORMAT_STOCK; block < tree; block++) {
        fs->stock[fs->stock_count++] = (uint16_t)block;
    }
    struct nf2_slot *slot = &fs->slot[NF2_TREE_SLOT];
    slot->run[slot->runs].start = tree;
    slot->run[slot->runs++].count = FORMAT_TREE;
    fs->free_blocks = fs->blocks - claimed;
    fs->erased_blocks = fs->blank_erased ? fs->free_blocks : 0;
    NF2_TRY(write_root(fs));
    return nf2_meta_format(fs, claimed);
}

/* ---- mount and unmount -------------------------------------------------------------------------- */

static int do_mount(nf2_t *fs, const struct nf2_config *config, int flags)
{
    NF2_TRY(begin(fs, config));
    if ((flags & ~NF2_MOUNT_RDONLY) != 0) {
        return NF2_ERR_INVAL;
    }
    if (fs->blocks < NF2_BLOCKS_MIN) {
        return NF2_ERR_GEOMETRY;
    }
    NF2_TRY(nf2_meta_load(fs));
    if (fs->root >= fs->blocks || nf2_node_level(fs, fs->root) < 0) {
        return fs->read_failed ? NF2_ERR_IO : NF2_ERR_CORRUPT;
    }
    if (flags & NF2_MOUNT_RDONLY) {
        bool applied = true;
        fs->read_only = true;
        fs->redo_logged = nf2_batch_is_applied(fs, &applied) == NF2_OK && nf2_batch_waits(fs) && !applied; /* what was applied may be changed since; one that is damaged is for the check */
        NF2_TRY(fs->read_failed ? NF2_ERR_IO : NF2_OK); /* half of a batch would be seen */
    } else if (!fs->clean) {
        NF2_TRY(nf2_recover(fs));
    }
    fs->compact_sparse = true; /* for all that is known */
    fs->mounted = true;
    return NF2_OK;
}

static int do_unmount(nf2_t *fs)
{
    int result = NF2_OK;

    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    result = nf2_batch_finish(fs);
    while (fs->files != NULL) {
        nf2_file_t *file = fs->files;
        fs->files = file->next;
        if ((file->flags & NF2_O_WRONLY) && fs->opened && !fs->broken && result >= 0) {
            result = nf2_space_abandon(fs, file->slot, 0);
        }
        memset(file, 0, sizeof *file);
    }
    if (fs->opened && !fs->read_only && !fs->broken && result >= 0) {
        for (unsigned s = 0; s < NF2_SLOTS; s++) {
            fs->slot[s].busy = false;
        }
        result = nf2_space_abandon(fs, NF2_TREE_SLOT, 0); /* what a failed change took */
        const struct nf2_slot *tree = &fs->slot[NF2_TREE_SLOT];
        bool keep = tree->runs > 0 && tree->ready == tree->run[0].count; /* erased: the next session goes on with them */
        result = result >= 0 && NF2_BROKEN(NF2_FAULT_CLEAN) ? nf2_meta_state(fs, true) : result;
        result = result < 0 ? result : nf2_space_return_unused(fs, keep ? NF2_TREE_SLOT : NF2_SLOTS);
        if (result >= 0) {
            result = nf2_meta_state(fs, true);
        }
    }
    fs->mounted = false;
    return fs->broken ? NF2_ERR_IO : result;
}

/* ---- statistics --------------------------------------------------------------------------------- */

static int do_statfs(nf2_t *fs, struct nf2_statfs *out)
{
    if (!fs->mounted || out == NULL) {
        return NF2_ERR_INVAL;
    }
    memset(out, 0, sizeof *out);
    out->block_size = nf2_block_bytes(fs);
    out->blocks = fs->blocks;
    out->blocks_free = nf2_space_free_blocks(fs);
    out->blocks_erased = nf2_space_erased_blocks(fs);
    out->blocks_available = nf2_space_available(fs);
    out->files_pending = fs->orphan_count;
    out->blocks_bad = fs->blocks_bad;
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        out->files_pending -= file->kind == NF2_BODY_INDEXED && file->shadow; /* new ones are in that list, too */
    }
    return NF2_OK;
}

static int do_health(nf2_t *fs, struct nf2_health *out)
{
    struct nf2_region region;

    if (!fs->mounted || out == NULL) {
        return NF2_ERR_INVAL;
    }
    memset(out, 0, sizeof *out);
    out->erases_min = NF2_NONE;
    for (uint32_t r = 0; r < nf2_regions(fs); r++) {
        NF2_TRY(nf2_region_read(fs, r, &region));
        for (uint32_t i = 0; i < NF2_REGION_BLOCKS && r * NF2_REGION_BLOCKS + i < fs->blocks; i++) {
            uint32_t erases = region.wear_base + region.wear[i];
            out->erases_min = nf2_min(out->erases_min, erases);
            out->erases_max = nf2_max(out->erases_max, erases);
            out->erases_total += erases;
            out->blocks_bad += nf2_region_state(&region, i) == NF2_BLOCK_BAD;
        }
    }
    out->erases_mean = (uint32_t)(out->erases_total / fs->blocks);
    out->mounts_unclean = fs->unclean_mounts;
    return NF2_OK;
}

static int do_block_state(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    struct nf2_region region;

    if (!fs->mounted || block >= fs->blocks) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(nf2_region_read(fs, block / NF2_REGION_BLOCKS, &region));
    int held = nf2_space_held(fs, block);
    if (held >= 0) { /* free, though the region says used: claimed and not handed out, or freed a moment ago */
        nf2_bit_set(region.state, block % NF2_REGION_BLOCKS * 2, held == NF2_BLOCK_ERASED);
        nf2_bit_set(region.state, block % NF2_REGION_BLOCKS * 2 + 1, false);
    }
    if (erases != NULL) {
        *erases = region.wear_base + region.wear[block % NF2_REGION_BLOCKS];
    }
    return (int)nf2_region_state(&region, block % NF2_REGION_BLOCKS);
}

/* ---- public ------------------------------------------------------------------------------------- */

/* Format and mount: on nonsense, `fs` is left as a volume that is not mounted. */
static int guarded(nf2_t *fs, const struct nf2_config *config, int flags, int (*call)(nf2_t *, const struct nf2_config *, int))
{
    if (fs != NULL) {
        memset(fs, 0, sizeof *fs);
    }
    if (fs == NULL || config == NULL) {
        return NF2_ERR_INVAL;
    }
    nf2_lock_config(config);
    int result = call(fs, config, flags);
    nf2_unlock_config(config);
    return result;
}

int nf2_format(nf2_t *fs, const struct nf2_config *config, int flags)
{
    return guarded(fs, config, flags, do_format);
}

int nf2_mount(nf2_t *fs, const struct nf2_config *config, int flags)
{
    return guarded(fs, config, flags, do_mount);
}

int nf2_mount_rdonly(nf2_t *fs, const struct nf2_config *config)
{
    return nf2_mount(fs, config, NF2_MOUNT_RDONLY);
}

#define LOCKED(call)            \
    do {                        \
        nf2_lock(fs);           \
        int result_ = (call);   \
        nf2_unlock(fs);         \
        return result_;         \
    } while (0)

int nf2_unmount(nf2_t *fs)
{
    LOCKED(do_unmount(fs));
}

int nf2_statfs(nf2_t *fs, struct nf2_statfs *out)
{
    LOCKED(do_statfs(fs, out));
}

int nf2_health(nf2_t *fs, struct nf2_health *out)
{
    LOCKED(do_health(fs, out));
}

int nf2_block_state(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    LOCKED(do_block_state(fs, block, erases));
}
