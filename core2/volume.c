/* SPDX-License-Identifier: BSD-2-Clause */
/* volume.c - format, mount, unmount, and what a volume says of itself: the public calls. */
#include "bad.h"
#include "commit.h"
#include "lock.h"
#include "maintain.h"
#include "super.h"
#include "walk.h"
#include "wear.h"
#include "writing.h"

#define FORMAT_NODES 4u         /* blocks that a new tree has for its first nodes */

static void set_windows(nf2_t *fs)
{
    uint32_t windows = (fs->io.blocks + NF2_WINDOW_BLOCKS - 1) / NF2_WINDOW_BLOCKS;
    uint32_t blocks = (fs->io.blocks + windows - 1) / windows;

    fs->space.window_blocks = windows > 1 ? (blocks + 15u) & ~15u : blocks;
    fs->space.cell_blocks = 1;
}

static void set_views(nf2_t *fs, const struct nf2_config *config)
{
    uint32_t pages = 2u * nf2_page(fs), first = NF2_VIEW_BYTES(NF2_INNER_SLOTS);
    uint8_t *at = (uint8_t *)config->buffer + pages;
    uint32_t shift = (uint32_t)((4u - ((uintptr_t)at & 3u)) & 3u);
    uint32_t room = config->buffer_size - pages - shift;

    fs->views = at + shift;
    fs->view_count = (uint8_t)nf2_min(1u + (room - first) / NF2_VIEW_BYTES(NF2_LEAF_SLOTS), 64);
    nf2_views_begin(fs);
}

static int begin(nf2_t *fs, const struct nf2_config *config)
{
    NF2_TRY(nf2_flash_validate(config));
    memset(fs, 0, sizeof *fs);
    fs->config = config;
    fs->io.flash = config->flash;
    fs->io.offset = config->offset;
    uint32_t size = config->size != 0 ? config->size : fs->io.flash->chip_size - config->offset;
    fs->io.blocks = size / nf2_block_bytes(fs);
    fs->io.page = (uint16_t)fs->io.flash->page_size;
    fs->io.log_bytes = (uint16_t)nf2_min(NF2_LOG_PAGES * nf2_page(fs), nf2_block_bytes(fs));
    fs->io.read_buffer = config->buffer;
    fs->io.write_buffer = fs->io.read_buffer + nf2_page(fs);
    fs->io.window_address = NF2_NONE;
    fs->root.group_block = NF2_NO_BLOCK;
    if (fs->io.blocks < NF2_BLOCKS_MIN || fs->io.blocks > 65536u) {
        return fs->io.blocks > 65536u ? NF2_ERR_GEOMETRY : NF2_ERR_NOSPC;
    }
    set_windows(fs);
    set_views(fs, config);
    return NF2_OK;
}

/* ---- format ------------------------------------------------------------------------------------- */

/*
 * An id other than that of a volume formatted before, so that its stale logs are not taken for this one's. Its anchor is
 * taken in up to the id, without its check: with that a CRC is the same for each anchor.
 */
static void choose_volume_id(nf2_t *fs)
{
    uint8_t old[24];
    uint32_t crc = 0x4E463246u;

    for (uint32_t block = 0; block < nf2_super_blocks(fs); block++) {
        if (nf2_flash_read(fs, block, 0, old, sizeof old) == NF2_OK) {
            crc = nf2_crc(crc, old, sizeof old);
        }
    }
    fs->root.volume_id = crc;
}

/* The next block from `*at` on that erases. */
static int take_block(nf2_t *fs, uint32_t *at, uint32_t *block)
{
    int result = NF2_FAILED_BLOCK;

    while (result == NF2_FAILED_BLOCK) {
        if (*at >= fs->io.blocks) {
            return NF2_ERR_IO;
        }
        *block = (*at)++;
        nf2_space_use(fs, *block, 1);
        result = nf2_flash_erase(fs, *block, 1);
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, *block);
        }
    }
    return result;
}

/* Blocks from `from` on that one erase takes: those in use by now lie in the first window. */
static uint32_t blocks_to_erase(const nf2_t *fs, uint32_t from)
{
    uint32_t large = nf2_large_blocks(fs), window = fs->space.window_blocks;
    uint32_t count = nf2_large_begins(fs, from) && from + large <= fs->io.blocks ? large : 1;

    for (uint32_t block = from; block < from + count && block < window; block++) {
        if (nf2_bit(fs->space.now, block)) {
            count = 1;
        }
    }
    return from < window && nf2_bit(fs->space.now, from) ? 0 : count;
}

/* One block of the rest. A bad one that is not in the first window was counted as free. */
static int erase_single(nf2_t *fs, uint32_t block)
{
    int result = nf2_flash_erase(fs, block, 1);

    if (result == NF2_FAILED_BLOCK) {
        nf2_space_taken(fs, block >= fs->space.window_blocks);
        nf2_journal_bad(fs, block);
        return nf2_bad_record(fs);
    }
    return result;
}

/* Erases what nothing uses, with large erases where they fit. */
static int erase_rest(nf2_t *fs)
{
    for (uint32_t from = nf2_super_blocks(fs); from < fs->io.blocks;) {
        uint32_t count = blocks_to_erase(fs, from);
        int result = count > 1 ? nf2_flash_erase(fs, from, count) : NF2_FAILED_BLOCK;
        for (uint32_t i = 0; i < count && result == NF2_FAILED_BLOCK; i++) {
            NF2_TRY(erase_single(fs, from + i));
        }
        NF2_TRY(result == NF2_FAILED_BLOCK ? NF2_OK : result);
        from += nf2_max(count, 1);
    }
    return NF2_OK;
}

/* An empty leaf is the root. */
static int write_root(nf2_t *fs, uint32_t *at)
{
    struct nf2_writer writer;
    int result = NF2_FAILED_BLOCK;

    while (result == NF2_FAILED_BLOCK) {
        NF2_TRY(take_block(fs, at, &fs->root.node));
        nf2_writer_begin(&writer, fs->root.node, 0);
        nf2_node_head(fs, &writer, 0);
        result = nf2_writer_end(fs, &writer);
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, fs->root.node);
        }
    }
    fs->root.node_base = (uint16_t)writer.position;
    return result;
}

/* The log, which no anchor names yet. */
static int write_log(nf2_t *fs, uint32_t *at)
{
    int result = NF2_FAILED_BLOCK;

    while (result == NF2_FAILED_BLOCK) {
        NF2_TRY(take_block(fs, at, &fs->root.head));
        fs->space.free = nf2_space_count(fs, fs->space.now);
        for (uint32_t i = 1; i < nf2_windows(fs); i++) {
            uint32_t first = i * fs->space.window_blocks;
            fs->space.free += nf2_min(fs->space.window_blocks, fs->io.blocks - first);
        }
        result = nf2_journal_begin(fs, fs->root.head);
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, fs->root.head);
        }
    }
    fs->root.opened = true;
    return result;
}

/* Blocks that the tree grows into first. */
static int take_nodes(nf2_t *fs, uint32_t *at)
{
    struct nf2_claim *claim = &fs->space.nodes;
    uint32_t block;

    for (uint32_t n = 0; n < FORMAT_NODES; n++) {
        NF2_TRY(take_block(fs, at, &block));
        bool behind = block == claim->start + claim->count;
        claim->start = behind ? claim->start : block;
        claim->count = claim->erased = (uint16_t)(behind ? claim->count + 1 : 1);
    }
    return NF2_OK;
}

static NF2_APART int do_format(nf2_t *fs, const struct nf2_config *config, int flags)
{
    NF2_TRY(begin(fs, config));
    if ((flags & ~NF2_FORMAT_ERASE) != 0) {
        return NF2_ERR_INVAL;
    }
    uint32_t at = nf2_super_blocks(fs);
    bool erase = (flags & NF2_FORMAT_ERASE) != 0;
    choose_volume_id(fs);
    fs->io.epoch = nf2_epoch_code(0);
    fs->io.epoch_known = true;
    fs->root.next_id = NF2_FIRST_ID;
    fs->root.id_limit = NF2_FIRST_ID;
    nf2_space_clear(fs, fs->space.now, 0);
    NF2_TRY(nf2_super_erase(fs));   /* from here on no older volume mounts */
    NF2_TRY(write_root(fs, &at));
    NF2_TRY(take_block(fs, &at, &fs->root.next));
    NF2_TRY(take_nodes(fs, &at));
    NF2_TRY(write_log(fs, &at));
    NF2_TRY(erase ? erase_rest(fs) : nf2_bad_record(fs));
    fs->space.now_fresh = erase;
    fs->space.fresh = erase && nf2_windows(fs) > 1;
    NF2_TRY(nf2_journal_checkpoint(fs, true));
    NF2_TRY(nf2_super_write(fs));
    struct nf2_scan last;
    return nf2_super_find(fs, &last) == NF2_OK ? NF2_OK : NF2_ERR_IO; /* a driver that does nothing is found here */
}

/* ---- mount and unmount -------------------------------------------------------------------------- */

static NF2_APART int do_mount(nf2_t *fs, const struct nf2_config *config)
{
    struct nf2_scan last;
    int result = begin(fs, config);

    NF2_TRY(result == NF2_ERR_NOSPC ? NF2_ERR_GEOMETRY : result);
    NF2_TRY(nf2_super_find(fs, &last));
    if (!nf2_space_usable(fs, fs->root.head)) {
        return NF2_ERR_CORRUPT;
    }
    NF2_TRY(nf2_journal_read(fs));
    fs->root.super_end = (uint16_t)nf2_scan_append_at(fs, &last);
    if (!nf2_space_usable(fs, fs->root.node) || !nf2_space_usable(fs, fs->root.next)) {
        return NF2_ERR_CORRUPT;
    }
    fs->group_busy = fs->root.group_block != NF2_NO_BLOCK ? NF2_GROUP_WAITS : NF2_GROUP_NONE;
    fs->space.mark_window = fs->walk.turn = fs->space.now_window;
    memset(fs->space.left, 0xFF, sizeof fs->space.left);
    fs->walk.stock = nf2_alloc_stock(fs);
    fs->mounted = true;
    return NF2_OK;
}

/* Nothing but a CHECKPOINT says that the session is over. */
static int leave(nf2_t *fs)
{
    if (!fs->root.opened && !fs->io.cut && !fs->io.broken) {
        return NF2_OK; /* nothing was changed since it was left cleanly */
    }
    NF2_TRY(nf2_journal_open(fs));
    int result = nf2_sweep_finish(fs);
    bool waits = result == NF2_ERR_NOSPC; /* the CHECKPOINT names the GROUP: the next session finishes it */

    NF2_TRY(waits ? NF2_OK : result);
    fs->root.group_block = waits ? fs->root.group_block : NF2_NO_BLOCK;
    nf2_space_return(fs);
    return nf2_journal_checkpoint(fs, true);
}

static int do_unmount(nf2_t *fs)
{
    for (nf2_file_t *file = fs->files; file != NULL && fs->writing != NULL; file = file->link) {
        fs->writing->end(fs, file);
    }
    fs->files = NULL;
    int result = fs->writing != NULL ? fs->writing->leave(fs) : NF2_OK;
    fs->mounted = false;
    return result;
}

static const struct nf2_writing writing = {
    .look = nf2_group_look,
    .begin = nf2_file_begin,
    .commit = nf2_commit,
    .end = nf2_file_end,
    .find = nf2_file_find,
    .leave = leave,
};

/* ---- what a volume says of itself --------------------------------------------------------------- */

static int do_statfs(nf2_t *fs, struct nf2_statfs *out)
{
    if (out == NULL) {
        return NF2_ERR_INVAL;
    }
    const struct nf2_space *space = &fs->space;
    memset(out, 0, sizeof *out);
    out->block_size = nf2_block_bytes(fs);
    out->blocks = fs->io.blocks;
    out->blocks_free = nf2_space_total(fs);
    out->blocks_available = nf2_space_available(fs);
    out->blocks_erased = (uint32_t)space->nodes.erased + space->data.erased + space->moved.erased;
    for (uint32_t group = 0; group < NF2_GROUPS && !space->now_fresh; group++) {
        out->blocks_erased += (space->erased_groups >> group & 1u) != 0 ? nf2_group_blocks(fs) : 0;
    }
    out->blocks_erased += space->now_fresh ? space->now_free : 0;
    return nf2_bad_count(fs, &out->blocks_bad);
}

static int do_health(nf2_t *fs, struct nf2_health *out)
{
    if (out == NULL) {
        return NF2_ERR_INVAL;
    }
    memset(out, 0, sizeof *out);
    out->erases_total = fs->space.erases;
    out->erases_mean = fs->space.erases / fs->io.blocks;
    NF2_TRY(nf2_wear_range(fs, &out->erases_min, &out->erases_max));
    out->mounts_unclean = fs->root.unclean_mounts;
    return nf2_bad_count(fs, &out->blocks_bad);
}

static bool in_claim(const struct nf2_claim *claim, uint32_t block)
{
    return block - claim->start < claim->count;
}

static int do_block_state(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    if (block >= fs->io.blocks) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(erases != NULL ? nf2_wear_of(fs, block, erases) : NF2_OK);
    int bad = nf2_bad_is(fs, block);
    if (bad != 0) {
        return bad < 0 ? bad : NF2_BLOCK_BAD;
    }
    const struct nf2_claim *claims[] = {&fs->space.nodes, &fs->space.data, &fs->space.moved};
    for (unsigned i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        if (in_claim(claims[i], block)) {
            return block - claims[i]->start < claims[i]->erased ? NF2_BLOCK_ERASED : NF2_BLOCK_DIRTY;
        }
    }
    for (unsigned i = 0; i < fs->space.freed_count; i++) {
        if (fs->space.freed[i] == block) {
            return NF2_BLOCK_DIRTY;
        }
    }
    uint32_t size = fs->space.window_blocks, window = block / size;
    bool now = window == fs->space.now_window;
    if (!now && fs->space.fresh && window > fs->space.now_window) {
        return NF2_BLOCK_ERASED;
    }
    NF2_TRY(now ? NF2_OK : nf2_walk_look(fs, window));
    if (nf2_bit(now ? fs->space.now : fs->space.mark, block % size)) {
        return NF2_BLOCK_USED;
    }
    return now && nf2_space_erased(fs, block, 1) ? NF2_BLOCK_ERASED : NF2_BLOCK_DIRTY;
}

/* ---- public ------------------------------------------------------------------------------------- */

int nf2_format(nf2_t *fs, const struct nf2_config *config, int flags)
{
    if (fs == NULL || config == NULL) {
        return NF2_ERR_INVAL;
    }
    fs->config = config;
    fs->mounted = false;
    nf2_enter(fs);
    int result = (int)nf2_leave(fs, do_format(fs, config, flags));
    memset(fs, 0, sizeof *fs);
    return result;
}

static int mount(nf2_t *fs, const struct nf2_config *config, const struct nf2_writing *with)
{
    if (fs == NULL || config == NULL) {
        return NF2_ERR_INVAL;
    }
    fs->config = config;
    fs->mounted = false;
    nf2_enter(fs);
    int result = do_mount(fs, config);
    fs->writing = with;
    fs->io.read_only = with == NULL;
    result = (int)nf2_leave(fs, result);
    if (result < 0) {
        memset(fs, 0, sizeof *fs);
    }
    return result;
}

int nf2_mount(nf2_t *fs, const struct nf2_config *config, int flags)
{
    if ((flags & ~NF2_MOUNT_RDONLY) != 0) {
        return NF2_ERR_INVAL;
    }
    return mount(fs, config, (flags & NF2_MOUNT_RDONLY) != 0 ? NULL : &writing);
}

int nf2_mount_rdonly(nf2_t *fs, const struct nf2_config *config)
{
    return mount(fs, config, NULL);
}

int nf2_unmount(nf2_t *fs)
{
    NF2_LOCKED(fs, do_unmount(fs));
}

int nf2_statfs(nf2_t *fs, struct nf2_statfs *out)
{
    NF2_LOCKED(fs, do_statfs(fs, out));
}

int nf2_health(nf2_t *fs, struct nf2_health *out)
{
    NF2_LOCKED(fs, do_health(fs, out));
}

int nf2_block_state(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    NF2_LOCKED(fs, do_block_state(fs, block, erases));
}

int nf2_maintain(nf2_t *fs, uint32_t budget_us)
{
    NF2_LOCKED(fs, nf2_idle(fs, budget_us));
}
