/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * campaign_large.c - how long a mount after a cut takes on large volumes, empty to full, with as much open and unsettled as there
 * can be, and after sessions of a few operations: at most 10 ms. There is no model here: some files that are never written again
 * must stay as they are, and at the end of a history the check must find nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "campaign.h"

#define HANDLES 4u
#define CUTS 30u                    /* in one history */
#define BRIEF 100u                  /* more, each a few operations after the mount */
#define KEPT 20u                    /* files that stay */
#define KEPT_SIZE 5000u
#define LARGE_SIZE (4u << 20)       /* bytes: smaller chips are no subject of this */

static const char *const large_chips[] = { "w25q256", "is25le01g" };
static const unsigned fills[] = { 90, 0, 50, 97, 25, 75 };      /* percent of the space for data */
#define FILLS ((unsigned)(sizeof fills / sizeof fills[0]))

struct large {
    struct rig *rig;                /* its model stays empty */
    struct explorer *explorer;
    struct tally *tally;
    uint64_t random;
    bool open[HANDLES];
    unsigned names;                 /* files made so far */
    uint8_t data[64 * 1024];
};

static uint32_t pick(struct large *large, uint32_t below)
{
    return random_number(&large->random, below);
}

/* Reports what the rig found wrong. */
static bool failed(struct large *large)
{
    struct explorer *explorer = large->explorer;

    large->tally->failures++;
    (void)explorer->failed(explorer->context, explorer);
    return false;
}

static bool wrong(struct large *large, const char *what, int status)
{
    snprintf(large->rig->failure, sizeof large->rig->failure, "large volume: %s: %d %s", what, status, status < 0 ? nf2_error_text(status) : "");
    return failed(large);
}

static bool fine(int status)
{
    return status >= 0 || status == NF2_ERR_NOSPC;
}

/* ---- filling ------------------------------------------------------------------------------------- */

static int put(struct large *large, const char *path, uint32_t size)
{
    struct rig *rig = large->rig;
    int status = nf2_open(&rig->fs, &rig->file[0], path, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, rig->page[0]);

    if (status < 0) {
        return status;
    }
    for (uint32_t at = 0; at < size && fine(status) && status != NF2_ERR_NOSPC;) {
        uint32_t n = size - at < sizeof large->data ? size - at : (uint32_t)sizeof large->data;

        status = (int)nf2_write(&rig->fs, &rig->file[0], large->data, n);
        at += n;
    }
    int closed = nf2_close(&rig->fs, &rig->file[0]);
    return status < 0 ? status : closed;
}

static const char *kept_name(char *name, size_t size, unsigned number)
{
    snprintf(name, size, "kept %02u", number);
    return name;
}

/* Files that stay, directories of small files, large files, until so much of the space is taken; then gaps in it. */
static int fill(struct large *large, unsigned percent)
{
    struct nf2_statfs stat;
    char name[64];
    int status = NF2_OK;

    for (unsigned i = 0; i < KEPT && status >= 0; i++) {
        call_data(large->data, KEPT_SIZE, 16 * i + 5);
        status = put(large, kept_name(name, sizeof name, i), KEPT_SIZE);
    }
    if (status < 0 || (status = nf2_statfs(&large->rig->fs, &stat)) < 0) {
        return status;
    }
    uint32_t all = stat.blocks_available;
    call_data(large->data, sizeof large->data, 5);
    while (status >= 0 && (uint64_t)(all - stat.blocks_available) * 100 < (uint64_t)all * percent) {
        unsigned number = large->names++;

        if (number % 100 == 0) {
            snprintf(name, sizeof name, "dir %04u", number / 100);
            status = nf2_mkdir(&large->rig->fs, name);
        }
        snprintf(name, sizeof name, "dir %04u/file %02u", number / 100, number % 100);
        uint32_t size = number % 5 == 0 ? 300000 + pick(large, 600000) : pick(large, 2) ? pick(large, 200) : pick(large, 20000);
        status = status < 0 ? status : put(large, name, size);
        status = status < 0 ? status : nf2_statfs(&large->rig->fs, &stat);
    }
    for (unsigned i = 3; i < large->names && fine(status); i += 7) {
        snprintf(name, sizeof name, "dir %04u/file %02u", i / 100, i % 100);
        status = nf2_remove(&large->rig->fs, name);
    }
    return fine(status) ? NF2_OK : status;
}

/* ---- work ---------------------------------------------------------------------------------------- */

static void any_name(struct large *large, char *name, size_t size)
{
    unsigned number = large->names ? pick(large, large->names) : 0;

    snprintf(name, size, "dir %04u/file %02u", number / 100, number % 100);
}

static int open_one(struct large *large, unsigned handle)
{
    struct rig *rig = large->rig;
    char name[64];

    any_name(large, name, sizeof name);
    if (large->names == 0 || pick(large, 3) == 0) {
        snprintf(name, sizeof name, "open %u", pick(large, 8));
    }
    int flags = NF2_O_WRONLY | NF2_O_CREAT | (pick(large, 4) == 0 ? NF2_O_TRUNC : 0);
    int status = nf2_open(&rig->fs, &rig->file[handle], name, flags, rig->page[handle]);
    large->open[handle] = status == NF2_OK;
    return status == NF2_ERR_BUSY || status == NF2_ERR_NOENT ? NF2_OK : status;
}

static int use_one(struct large *large, unsigned handle)
{
    nf2_t *fs = &large->rig->fs;
    nf2_file_t *file = &large->rig->file[handle];
    int32_t size = nf2_size(fs, file);
    int32_t status = size < 0 ? size : nf2_seek(fs, file, (int32_t)pick(large, (uint32_t)size + 1), NF2_SEEK_SET);

    switch (pick(large, 8)) {
    case 0: case 1:
        status = status < 0 ? status : nf2_seek(fs, file, 0, NF2_SEEK_END);
        status = status < 0 ? status : nf2_write(fs, file, large->data, 1 + pick(large, 60));
        break;
    case 2: case 3: case 4: status = status < 0 ? status : nf2_write(fs, file, large->data, 1 + pick(large, pick(large, 3) ? 1000 : 20000)); break;
    case 5: status = status < 0 ? status : nf2_truncate(fs, file, (uint32_t)size - pick(large, (uint32_t)size / 4 + 1)); break;
    case 6: status = nf2_sync(fs, file); break;
    default:
        status = nf2_close(fs, file);
        large->open[handle] = false;
        break;
    }
    if (status >= 0 && large->open[handle] && pick(large, 2)) {
        status = nf2_sync(fs, file);
    }
    return (int)status;
}

static int use_names(struct large *large)
{
    nf2_t *fs = &large->rig->fs;
    char name[64], other[64];
    int status;

    any_name(large, name, sizeof name);
    any_name(large, other, sizeof other);
    switch (pick(large, 4)) {
    case 0: status = nf2_remove(fs, name); break;
    case 1: status = nf2_rename(fs, name, other); break;
    case 2: status = put(large, "small", pick(large, 200)); break;
    default: status = nf2_maintain(fs, pick(large, 3) ? 20000 : 500000); break;
    }
    return status == NF2_ERR_NOENT || status == NF2_ERR_BUSY ? NF2_OK : status;
}

/* Calls until the power goes, or so many. Handle 0 is kept for `put`. False: one failed that should not. */
static bool work(struct large *large, unsigned calls)
{
    struct rig *rig = large->rig;

    for (unsigned i = 0; i < calls && !rig->off; i++) {
        unsigned handle = 1 + pick(large, HANDLES - 1);
        int status = pick(large, 4) == 0 ? use_names(large) : large->open[handle] ? use_one(large, handle) : open_one(large, handle);

        if (!rig->off && !fine(status)) {
            return wrong(large, "a call failed", status);
        }
    }
    return true;
}

/* ---- mounts -------------------------------------------------------------------------------------- */

static void arm(struct large *large, uint32_t within)
{
    struct vflash_cut cut = { .operation = 1 + pick(large, within), .byte = pick(large, 300), .shuffle = pick(large, 2) == 0,
                              .erase = (enum vflash_erase_cut)pick(large, VFLASH_ERASE_PREFIX + 1), .seed = pick(large, UINT32_MAX) };

    vflash_cut_at(large->rig->flash, &cut);
}

static void on_cut(void *context)
{
    struct large *large = context;

    large->rig->off = true;
    large->tally->cuts++;
    tally_chip(large->tally, large->rig->chip->name)->cuts++;
}

/* Mounts, now and then with cuts in the mounts, and takes the time of the one that comes through. */
static bool mount_after_cut(struct large *large)
{
    struct rig *rig = large->rig;

    for (unsigned depth = 1;; depth++) {
        struct vflash_counts before = *vflash_counts(rig->flash);

        vflash_power_on(rig->flash);
        vflash_cut_at(rig->flash, NULL);
        rig->off = rig->left_clean = false;
        if (depth < large->explorer->deepest && pick(large, 3) == 0) {
            arm(large, 4);
        }
        bool right = rig_mount(rig, NF2_MOUNT_RDWR);
        if (rig->off) {
            continue;
        }
        if (!right) {
            return failed(large);
        }
        uint64_t us = tally_mount(large->tally, rig->chip->name, &before, vflash_counts(rig->flash));
        if (us > TALLY_MOUNT_US) {
            return wrong(large, "a mount after a cut took more than 10 ms", (int)(us / 1000));
        }
        vflash_cut_at(rig->flash, NULL);
        int status = put(large, "first", 32);
        if (!fine(status)) {
            return wrong(large, "the first write failed", status);
        }
        tally_first_write(large->tally, rig->chip->name, &before, vflash_counts(rig->flash));
        return true;
    }
}

static bool kept_files_are_there(struct large *large)
{
    struct rig *rig = large->rig;
    static uint8_t data[KEPT_SIZE];
    char name[64];

    for (unsigned i = 0; i < KEPT; i++) {
        int32_t status = nf2_open(&rig->fs, &rig->file[0], kept_name(name, sizeof name, i), NF2_O_RDONLY, NULL);

        status = status < 0 ? status : nf2_read(&rig->fs, &rig->file[0], data, KEPT_SIZE);
        (void)nf2_close(&rig->fs, &rig->file[0]);
        call_data(large->data, KEPT_SIZE, 16 * i + 5);
        if (status != (int32_t)KEPT_SIZE || memcmp(data, large->data, KEPT_SIZE) != 0) {
            return wrong(large, "a file that was not written has changed", status);
        }
    }
    return true;
}

static bool history(struct large *large, unsigned percent)
{
    int status = fill(large, percent);

    if (!fine(status)) {
        return wrong(large, "filling", status);
    }
    vflash_on_cut(large->rig->flash, on_cut, large);
    for (unsigned i = 0; i < CUTS + BRIEF; i++) {
        memset(large->open, 0, sizeof large->open); /* none is open behind a mount */
        arm(large, i < CUTS ? 4 + pick(large, 150) : 1 + pick(large, 12));
        while (!large->rig->off) {
            if (!work(large, 100)) {
                return false;
            }
        }
        if (!mount_after_cut(large)) {
            return false;
        }
        vflash_cut_at(large->rig->flash, NULL);
    }
    return kept_files_are_there(large) && (rig_check(large->rig) || failed(large));
}

/* Cells: each chip at each fill, over and over. */
bool large_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell)
{
    const struct vflash_chip *chip = vflash_chip_find(options->chip ? options->chip : large_chips[cell / FILLS % 2]);
    struct large *large;

    if (!chip || chip->size < LARGE_SIZE) {
        return false;
    }
    large = calloc(1, sizeof *large);
    if (!large) {
        abort();
    }
    large->rig = &explorer->session.rig;
    large->explorer = explorer;
    large->tally = tally;
    large->random = cell_seed(options, 3, cell);
    explorer->chip = chip;
    explorer->deepest = options->deepest;
    tally->histories++;
    if (!rig_init(large->rig, chip, cell % 5 == 4 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK)) {
        (void)failed(large);
    } else {
        (void)history(large, fills[cell % FILLS]);
    }
    rig_free(large->rig);
    free(large);
    return true;
}
