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

static void set_views(nf2_t *fs, const struct nf2_config *config)
{
    uint32_t pages = NF2_LOG_PAGE + nf2_chip_page(fs), first = NF2_VIEW_BYTES(NF2_INNER_SLOTS);
    uint8_t *at = (uint8_t *)config->buffer + pages;
    uint32_t shift = (0u - (uint32_t)(uintptr_t)at) & 3u;
    uint32_t room = config->buffer_size - pages - shift;

    fs->views = at + shift;
    fs->view_count = (uint8_t)nf2_min(1u + (room - first) / NF2_VIEW_BYTES(NF2_LEAF_SLOTS), 64);
    nf2_views_begin(fs);
}

static int begin(nf2_t *fs)
{
    const struct nf2_config *config = fs->config;

    NF2_TRY(nf2_flash_validate(config));
    fs->flash = config->flash;
    fs->block_bytes = fs->flash->block_size;
    fs->drive.offset = config->offset;
    uint32_t size = config->size != 0 ? config->size : fs->flash->chip_size - config->offset;
    fs->blocks = size / nf2_block_bytes(fs);
    fs->log_bytes = (uint16_t)nf2_min(NF2_LOG_BYTES_MAX, nf2_block_bytes(fs));
    fs->read_buffer = config->buffer;
    fs->write_buffer = fs->read_buffer + NF2_LOG_PAGE;
    if (fs->blocks < NF2_BLOCKS_MIN) {
        return NF2_ERR_NOSPC;
    }
    if (fs->blocks > 65536u) {
        return NF2_ERR_GEOMETRY;
    }
    (void)nf2_regions_begin(fs, 15, 0); /* until the anchor says */
    set_views(fs, config);
    return NF2_OK;
}

/* ---- format ---------------------------------------------------------------------------------- */

/* More than the anchors of a page: with another program unit the first one of each is found. */
#define UNSEEN 512u

/*
 * On a chip that was used an anchor that names no log makes the older volume void: from here on it
 * does not mount. It goes to another block than that of the last anchor. The new volume goes on
 * with its sequence, since a block that cannot be erased keeps its anchors. It gets an id other
 * than any there, so that stale logs are not taken for this one's: what each block begins with is
 * taken in. That ends in front of the check of an anchor or a CHECKPOINT, with which a CRC is the
 * same for all of them. Each super block is erased before it takes an anchor, so that what a cut
 * leaves of a blank chip is blank. Returns how many anchors are new.
 */
static unsigned void_super(nf2_t *fs)
{
    struct nf2_root *root = &fs->root;

    NF2_NEAR(root);
    bool used = nf2_super_find(fs) != NF2_ERR_BLANK;
    uint32_t last = fs->super_block;
    fs->epoch = 12u << 12;      /* of number 0; a scan would end early with it */
    fs->root_head = 0;
    fs->root_end = (uint16_t)nf2_log_bytes(fs); /* the log begins in another block */
    root->volume_id = 0x4E463246u;
    for (uint32_t i = 0; i < fs->blocks; i++) {
        const uint8_t *old = nf2_peek(fs, i, 0, 24);
        if (old != NULL) {
            root->volume_id = nf2_crc(root->volume_id, old, 24);
        }
    }
    fs->super_block = NF2_SUPER_BLOCKS;
    if (!used) {
        return 0;
    }
    root->sequence = root->anchor + UNSEEN;
    fs->bad_flags = (uint8_t)NF2_BAD_SUPER(last);
    bool written = nf2_super_write(fs) == NF2_OK; /* not if that alone is not bad */
    fs->bad_flags &= (uint8_t)~NF2_BAD_SUPER(last);
    return written;
}

/*
 * All regions are free but those with the super blocks and the log's first block; nodes go on
 * behind that. The log has no block yet: it begins with a turn.
 */
static void begin_space(nf2_t *fs)
{
    struct nf2_claim *nodes = &fs->space.claim[NF2_FOR_NODES];
    uint32_t log = nf2_region_log_for(fs);

    (void)nf2_regions_begin(fs, log, nf2_region_shift(fs, log));
    memset(fs->space.state, 0, sizeof fs->space.state);
    for (uint32_t region = nf2_region_of(fs, NF2_SUPER_BLOCKS) + 1; region < fs->space.regions;
         region++) {
        nf2_region_set(fs, region, NF2_REGION_FREE);
    }
    nodes->start = NF2_SUPER_BLOCKS + 1u;
    fs->root_next = NF2_SUPER_BLOCKS;
    fs->next_suspect = true;
}

/* An empty leaf is the root. */
static int write_root(nf2_t *fs)
{
    struct nf2_writer writer;
    uint32_t block;
    int result = NF2_FAILED_BLOCK;

    while (result == NF2_FAILED_BLOCK) {
        NF2_TRY(nf2_alloc_node(fs, &block));
        nf2_writer_begin(&writer, block, 0);
        nf2_node_head(fs, &writer, 0);
        result = nf2_writer_end(fs, &writer);
        if (result == NF2_FAILED_BLOCK) {
            nf2_space_bad(fs, block);
        }
    }
    fs->root_node = (uint16_t)block;
    fs->root_base = (uint16_t)writer.position;
    return result;
}

/* Erases all free regions, the rest of the one for nodes, and the log's next block. */
static int erase_rest(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    struct nf2_claim *nodes = &space->claim[NF2_FOR_NODES];

    for (uint32_t region = 0; region < space->regions; region++) {
        if (nf2_region_state(fs, region) == NF2_REGION_FREE) {
            int more = 1;
            space->ahead_region = (uint16_t)region;
            space->ahead = 0;
            while (more > 0 && space->ahead_region != NF2_NO_REGION) {
                more = nf2_alloc_ahead(fs, UINT32_MAX);
            }
            NF2_TRY(more);
            NF2_TRY(nf2_bad_record(fs));
        }
    }
    for (uint32_t rest = nf2_claim_rest(fs, nodes); nodes->erased < rest;) {
        uint32_t at = (uint32_t)nodes->start + nodes->erased, large = nf2_large_blocks(fs);
        bool fits = nf2_large_begins(fs, at) && nodes->erased + large <= rest;
        int erased = nf2_alloc_erase(fs, at, fits ? large : 1);
        if (erased == NF2_FAILED_BLOCK) {
            break;
        }
        NF2_TRY(erased);
        nodes->erased = (uint8_t)(nodes->erased + (uint32_t)erased);
    }
    if (fs->next_suspect) {
        int erased = nf2_alloc_erase(fs, fs->root_next, 1);
        NF2_TRY(erased != NF2_FAILED_BLOCK ? erased : 0);
        fs->next_suspect = erased <= 0;
    }
    return NF2_OK;
}

/*
 * Until the last CHECKPOINT the log names no root: what was cut before that does not mount. On a
 * blank chip the first super block stays blank until the second one has an anchor.
 */
static int do_format(nf2_t *fs, int flags)
{
    NF2_TRY(begin(fs));
    if ((flags & ~NF2_FORMAT_ERASE) != 0) {
        return NF2_ERR_INVAL;
    }
    fs->root.next_id = NF2_FIRST_ID;
    unsigned anchors = void_super(fs) + 1u;
    begin_space(fs);
    NF2_TRY(nf2_journal_checkpoint(fs));
    NF2_TRY(write_root(fs));
    NF2_TRY(flags != 0 ? erase_rest(fs) : NF2_OK);
    /* in each super block, so that one that is bad is known */
    for (; anchors < NF2_SUPER_BLOCKS; anchors++) {
        nf2_super_reserve(fs);
        (void)nf2_super_write(fs);
    }
    /* last: behind a cut anchor the log must tell of it */
    NF2_TRY(nf2_journal_close(fs));
    /* a driver that does nothing is found here */
    return nf2_super_find(fs) == NF2_OK ? NF2_OK : NF2_ERR_IO;
}

/* ---- mount and unmount ----------------------------------------------------------------------- */

static int usable(const nf2_t *fs, uint32_t block)
{
    return nf2_space_usable(fs, block) ? NF2_OK : NF2_ERR_BLANK;
}

static int do_mount(nf2_t *fs)
{
    int result = begin(fs);

    NF2_TRY(result == NF2_ERR_NOSPC ? NF2_ERR_GEOMETRY : result);
    NF2_TRY(nf2_super_find(fs));
    /* no log, or no root: a format was cut */
    NF2_TRY(usable(fs, fs->root_head));
    NF2_TRY(nf2_journal_read(fs));
    NF2_TRY(usable(fs, fs->root_node));
    NF2_TRY(usable(fs, fs->root_next));
    bool waits = fs->group_at != 0 && !NF2_BROKEN(NF2_FAULT_REDO);
    fs->group_busy = waits ? NF2_GROUP_LATER : NF2_GROUP_NONE;
    NF2_TRY(waits ? nf2_group_known(fs) : NF2_OK);
    fs->walk.need = NF2_NEED_NONE;
    fs->moves = 1;              /* no search for blocks was in vain so far */
    fs->read_only = fs->mounted = true;
    return NF2_OK;
}

int nf2_volume_leave(nf2_t *fs)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        nf2_file_end(fs, file);
    }
    if (fs->cut) {              /* it is left cleanly, unless that takes a search for blocks */
        (void)nf2_journal_open(fs);
    }
    if (!fs->opened) {          /* nothing was changed */
        return fs->broken ? NF2_ERR_IO : NF2_OK;
    }
    if (fs->group_busy == NF2_GROUP_NONE) {
        fs->group_at = 0;
    } else { /* the next session finishes it; behind the last CHECKPOINT it would tell of a cut */
        NF2_TRY(nf2_journal_room(fs, NF2_STATE_BYTES));
    }
    nf2_victims_stay(fs);       /* a walk that is on is not gone on with */
    return nf2_journal_close(fs);
}

static int do_unmount(nf2_t *fs)
{
    int result = fs->writing != NULL ? fs->writing->leave(fs) : NF2_OK;
    fs->files = NULL;           /* their handles are known no more */
    fs->mounted = false;
    return result;
}

const struct nf2_writing nf2_writing_plain = {
    .begin = nf2_file_begin,
    .commit = nf2_file_sync,
    .end = nf2_file_end,
    .find = nf2_data_find,
    .leave = nf2_volume_leave,
};

/* ---- what a volume says of itself ------------------------------------------------------------ */

static int do_statfs(nf2_t *fs, struct nf2_statfs *out)
{
    const struct nf2_space *space = &fs->space;

    if (out == NULL) {
        return NF2_ERR_INVAL;
    }
    out->block_size = nf2_block_bytes(fs);
    out->blocks = fs->blocks;
    out->blocks_free = nf2_space_stock(fs);
    out->blocks_available = nf2_space_available(fs);
    out->blocks_erased = space->hand_count;
    for (uint32_t region = 0; region < space->regions; region++) {
        if (nf2_region_state(fs, region) == NF2_REGION_ERASED) {
            out->blocks_erased += nf2_region_size(fs, region);
        }
    }
    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        out->blocks_erased += space->claim[i].erased;
    }
    return nf2_bad_count(fs, &out->blocks_bad);
}

static int do_health(nf2_t *fs, struct nf2_health *out)
{
    if (out == NULL) {
        return NF2_ERR_INVAL;
    }
    out->erases_total = fs->erases;
    out->erases_mean = fs->erases / fs->blocks;
    nf2_wear_range(fs, &out->erases_min, &out->erases_max);
    out->mounts_unclean = fs->root.unclean_mounts;
    return nf2_bad_count(fs, &out->blocks_bad);
}

/* ---- public ---------------------------------------------------------------------------------- */

/* Takes the lock of a volume that is not mounted yet. */
static NF2_APART int enter_new(nf2_t *fs, const struct nf2_config *config)
{
    if (fs == NULL || config == NULL) {
        return NF2_ERR_INVAL;
    }
    memset(fs, 0, sizeof *fs);
    fs->config = config;
    (void)nf2_enter(fs);
    return NF2_OK;
}

/* Gives it back; one that is still not mounted has no lock from then on. */
static int leave_new(nf2_t *fs, int result)
{
    result = (int)nf2_leave(fs, result);
    if (!fs->mounted) {
        fs->config = NULL;
    }
    return result;
}

int nf2_format(nf2_t *fs, const struct nf2_config *config, int flags)
{
    NF2_TRY(enter_new(fs, config));
    return leave_new(fs, do_format(fs, flags));
}

int nf2_mount_rdonly(nf2_t *fs, const struct nf2_config *config)
{
    NF2_TRY(enter_new(fs, config));
    return leave_new(fs, do_mount(fs));
}

int nf2_mount(nf2_t *fs, const struct nf2_config *config, int flags)
{
    if ((flags & ~NF2_MOUNT_RDONLY) != 0) {
        return NF2_ERR_INVAL;
    }
    NF2_TRY(nf2_mount_rdonly(fs, config));
    if (flags == NF2_MOUNT_RDWR) {
        if ((fs->root.classes & NF2_FIELD_READ) != 0) {
            fs->mounted = false;
            fs->config = NULL;
            return NF2_ERR_VERSION;
        }
        fs->writing = &nf2_writing_plain;
        fs->read_only = fs->root.serial >= NF2_SERIAL_MOST;
    }
    return NF2_OK;
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

int nf2_maintain(nf2_t *fs, uint32_t budget_us)
{
    NF2_LOCKED(fs, nf2_idle(fs, budget_us));
}
