/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_findings.c - what independent trials broke once, or what a changed core got past the other
 * tests with: each in its smallest form.
 */
#include <stdlib.h>

#include "api_volume.h"
#include "check.h"
#include "core_traits.h"
#include "inspect/inspect.h"

static uint32_t state;

static uint32_t below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

static int open_file(struct volume *volume, const char *path, int flags)
{
    return nf2_open(&volume->fs, &volume->file, path, flags, volume->page);
}

/* ---- no error on a healthy chip ----------------------------------------------------- */

#define BUSY_FILES 40u
#define BUSY_CALLS 2500u

/* A few pieces written anywhere in a file, synced one by one. */
static int update(struct volume *volume, const char *path, uint32_t size)
{
    static uint8_t piece[600];
    int32_t status = open_file(volume, path, NF2_O_RDWR);

    for (unsigned i = 0; status == NF2_OK && i < 4; i++) {
        uint32_t length = 1u + below(sizeof piece);
        (void)nf2_seek(&volume->fs, &volume->file, (int32_t)below(size + 1u), NF2_SEEK_SET);
        status = nf2_write(&volume->fs, &volume->file, piece, length);
        status = status > 0 ? nf2_sync(&volume->fs, &volume->file) : status;
    }
    int closed = status == NF2_ERR_NOENT ? NF2_OK : nf2_close(&volume->fs, &volume->file);
    return status < 0 ? (int)status : closed;
}

static int busy_call(struct volume *volume)
{
    struct nf2_statfs stat;
    char path[24], other[24];

    (void)snprintf(path, sizeof path, "d%u/f%u", (unsigned)below(3), (unsigned)below(BUSY_FILES));
    (void)snprintf(other, sizeof other, "d%u/f%u", (unsigned)below(3), (unsigned)below(BUSY_FILES));
    CHECK_EQ(nf2_statfs(&volume->fs, &stat), NF2_OK);
    bool roomy = stat.blocks_available * 10u > stat.blocks * 2u;
    if (!roomy) {
        CHECK(nf2_maintain(&volume->fs, 300000) >= 0);
    }
    switch (below(8)) {
    case 0:
        return nf2_remove(&volume->fs, path);
    case 1:
        return nf2_rename(&volume->fs, path, other);
    case 2:
    case 3:
    case 4:
        return roomy ? put(volume, path, below(16000), below(1000)) : nf2_remove(&volume->fs, path);
    default:
        return update(volume, path, 9000);
    }
}

/* Thousands of calls at about 70% fill: a batch that touches a leaf several times gave up. */
TEST(busy_without_errors)
{
    struct vflash_chip chip = *vflash_chip_find("tiny512");
    struct volume volume;
    unsigned right = 0;

    chip.size = 128u * chip.block_size;
    chip.program_unit = 32;
    for (uint32_t seed = 1; seed <= 3; seed++) {
        state = seed;
        volume_new_on(&volume, &chip);
        volume_format(&volume);
        for (unsigned i = 0; i < 3; i++) {
            char path[4] = {'d', (char)('0' + (int)i), 0};
            CHECK_EQ(nf2_mkdir(&volume.fs, path), NF2_OK);
        }
        for (unsigned i = 0; i < BUSY_CALLS; i++) {
            int status = busy_call(&volume);
            right += status == NF2_OK;
            CHECK(status == NF2_OK || status == NF2_ERR_NOENT || status == NF2_ERR_NOSPC);
        }
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        volume_down(&volume, true);
    }
    printf("busy: %u of %u calls changed something\n", right, 3u * BUSY_CALLS);
    CHECK(right > BUSY_CALLS / 4u);
}

/* ---- bad blocks --------------------------------------------------------------------- */

#define RUN_BYTES 61000u

/* Reads the file with one call, from the middle of a block on. */
static bool read_at_once(struct volume *volume, const char *path, uint32_t seed)
{
    static uint8_t data[RUN_BYTES];
    bool right = true;

    CHECK_EQ(nf2_open(&volume->fs, &volume->file, path, NF2_O_RDONLY, NULL), NF2_OK);
    for (uint32_t from = 0; from < 6000; from += 1999) {
        uint32_t length = RUN_BYTES - from;
        CHECK_EQ(nf2_seek(&volume->fs, &volume->file, (int32_t)from, NF2_SEEK_SET), (int)from);
        CHECK_EQ(nf2_read(&volume->fs, &volume->file, data, length), (int32_t)length);
        for (uint32_t i = 0; i < length; i++) {
            right = right && data[i] == content_byte(seed, from + i);
        }
    }
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
    return right;
}

/* One block of a long run is replaced: that of the blocks behind it was taken for theirs. */
TEST(run_with_a_bad_block)
{
    struct volume volume;
    uint32_t bad = 0;

    for (uint32_t block = 2; block < 64; block++) {
        struct nf2_statfs stat;
        volume_up(&volume, "tiny256k");
        vflash_break_block(volume.flash, block, false);
        CHECK_EQ(put(&volume, "one", RUN_BYTES, 1), NF2_OK);
        CHECK_EQ(put(&volume, "two", RUN_BYTES, 2), NF2_OK);
        CHECK(read_at_once(&volume, "one", 1) && read_at_once(&volume, "two", 2));
        CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
        bad += stat.blocks_bad;
        CHECK_EQ(volume_again(&volume, block % 2 == 0), NF2_OK);
        CHECK(read_at_once(&volume, "one", 1) && read_at_once(&volume, "two", 2));
        volume_down(&volume, true);
    }
    CHECK(bad >= 20);
}

/* ---- a full volume ------------------------------------------------------------------ */

/* Files of 3,000 bytes until one is refused, then every `stride`th goes: how many. */
static unsigned fragment(struct volume *volume, unsigned stride)
{
    char path[12];
    unsigned files = 0, removed = 0;
    int status = NF2_OK;

    for (; files < 2000 && status == NF2_OK; files++) {
        (void)snprintf(path, sizeof path, "x%u", files);
        status = put(volume, path, 3000, files);
    }
    CHECK_EQ(status, NF2_ERR_NOSPC);
    for (unsigned i = 0; stride > 0 && i + 1 < files; i += stride) {
        (void)snprintf(path, sizeof path, "x%u", i);
        CHECK_EQ(nf2_remove(&volume->fs, path), NF2_OK);
        removed++;
    }
    return removed;
}

/*
 * A write that is accepted on a nearly full volume, or refused: what it reads is a few times the
 * volume's pages, what it erases no more than its blocks. It was fifty times the pages.
 */
TEST(cost_of_a_write_near_full)
{
    static uint8_t data[8192];
    struct volume volume;
    struct nf2_statfs stat;
    uint64_t reads = 0, erases = 0;
    int32_t status = 0;

    state = 12;
    volume_up(&volume, "w25q80");
    CHECK(fragment(&volume, 3) > 50);
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    uint32_t pages = stat.blocks * stat.block_size / volume.driver.page_size;
    CHECK_EQ(open_file(&volume, "large", NF2_O_RDWR | NF2_O_CREAT), NF2_OK);
    for (unsigned i = 0; i < 400; i++) {
        uint32_t size = (uint32_t)nf2_size(&volume.fs, &volume.file), length = 1u + below(8192);
        uint32_t at = below(3) == 0 ? below(size + 1u) : size;
        (void)nf2_seek(&volume.fs, &volume.file, (int32_t)at, NF2_SEEK_SET);
        vflash_counts_reset(volume.flash);
        status = nf2_write(&volume.fs, &volume.file, data, length);
        const struct vflash_counts *counts = vflash_counts(volume.flash);
        uint64_t erased = counts->erases[0] + counts->erases[1] + counts->erases[2];
        reads = counts->read_pages > reads ? counts->read_pages : reads;
        erases = erased > erases ? erased : erases;
        CHECK(status == (int32_t)length || status == NF2_ERR_NOSPC);
        CHECK(i % 8 != 0 || nf2_sync(&volume.fs, &volume.file) != NF2_ERR_IO);
    }
    printf("most in one write near full: %lu pages read of %lu, %lu erases\n", (unsigned long)reads,
           (unsigned long)pages, (unsigned long)erases);
    CHECK_EQ(status, NF2_ERR_NOSPC);
    CHECK(reads <= 8u * pages);
    CHECK(erases <= stat.blocks);
    volume_down(&volume, true);
}

/* Appends of 16 bytes until one is refused: no block is available then. */
static void append_until_full(const char *chip, unsigned stride)
{
    static uint8_t piece[4096];
    struct nf2_statfs before, after;
    struct volume volume;
    int32_t status = 1;

    volume_up(&volume, chip);
    unsigned removed = stride > 0 ? fragment(&volume, stride) : 0;
    CHECK_EQ(nf2_statfs(&volume.fs, &before), NF2_OK);
    CHECK_EQ(open_file(&volume, "flat", NF2_O_RDWR | NF2_O_CREAT | NF2_O_APPEND), NF2_OK);
    status = nf2_write(&volume.fs, &volume.file, piece, 1000);
    for (unsigned i = 0; i < 300 && status > 0; i++) {
        status = nf2_write(&volume.fs, &volume.file, piece, sizeof piece);
    }
    status = 16;
    for (unsigned i = 0; i < 20000 && status == 16; i++) {
        status = nf2_write(&volume.fs, &volume.file, piece, 16);
    }
    CHECK_EQ(status, NF2_ERR_NOSPC);
    CHECK_EQ(nf2_statfs(&volume.fs, &after), NF2_OK);
    uint32_t size = (uint32_t)nf2_size(&volume.fs, &volume.file);
    uint32_t room = before.blocks_available * before.block_size;
    printf("%s, one of %u removed: %lu bytes where %lu were available, %lu blocks left\n", chip,
           stride, (unsigned long)size, (unsigned long)room, (unsigned long)after.blocks_available);
    CHECK_EQ(after.blocks_available, 0);
    CHECK(size > CORE_REGAINED(removed * 3000u, stride));
    if (stride == 0) { /* all that was promised, but for what waits in a page */
        CHECK(size + 16u + volume.driver.page_size > room);
    }
    (void)nf2_close(&volume.fs, &volume.file);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(last_block_is_filled)
{
    static const unsigned strides[] = {0, 2, 3, 7};

    for (unsigned i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        append_until_full("tiny256k", strides[i]);
        append_until_full("tinyecc16", strides[i]);
        append_until_full("w25q80", strides[i]);
    }
}

/* ---- paths -------------------------------------------------------------------------- */

/* A name of a path costs the way to it in the tree: a few pages, at any depth. */
TEST(deep_paths)
{
    static char path[600];
    struct volume volume;
    uint64_t most = 0;

    volume_up(&volume, "w25q80");
    for (unsigned depth = 1; depth <= 160; depth++) {
        strcat(path, depth > 1 ? "/ab" : "ab");
        uint64_t before = vflash_counts(volume.flash)->read_pages;
        CHECK_EQ(nf2_mkdir(&volume.fs, path), NF2_OK);
        uint64_t reads = vflash_counts(volume.flash)->read_pages - before;
        most = depth >= 120 && reads * 100u / depth > most ? reads * 100u / depth : most;
    }
    printf("pages read by a mkdir at depth 120 to 160: at most %lu hundredths a name\n",
           (unsigned long)most);
    CHECK(most > 0);
    CHECK(most <= 100u * CORE_PAGES_A_NAME);
    volume_down(&volume, true);
}

/* A '/' or '/.' at the end names a directory, or fails: what POSIX says. */
static void slash_refused(struct volume *volume, const char *file, const char *none)
{
    nf2_t *fs = &volume->fs;
    struct nf2_stat stat;
    nf2_dir_t dir;

    CHECK_EQ(open_file(volume, file, NF2_O_RDONLY), NF2_ERR_NOTDIR);
    CHECK_EQ(open_file(volume, file, NF2_O_RDWR | NF2_O_CREAT), NF2_ERR_NOTDIR);
    CHECK_EQ(nf2_stat(fs, file, &stat), NF2_ERR_NOTDIR);
    CHECK_EQ(nf2_remove(fs, file), NF2_ERR_NOTDIR);
    CHECK_EQ(nf2_rename(fs, file, "moved"), NF2_ERR_NOTDIR);
    CHECK(nf2_rename(fs, "file", none) < 0);
    CHECK_EQ(nf2_opendir(fs, &dir, file), NF2_ERR_NOTDIR);
    CHECK(open_file(volume, none, NF2_O_RDWR | NF2_O_CREAT) < 0);
    CHECK_EQ(open_file(volume, none, NF2_O_RDONLY), NF2_ERR_NOENT);
    CHECK_EQ(nf2_stat(fs, none, &stat), NF2_ERR_NOENT);
    CHECK_EQ(nf2_remove(fs, none), NF2_ERR_NOENT);
    CHECK_EQ(nf2_stat(fs, "none", &stat), NF2_ERR_NOENT);
    CHECK(holds(volume, "file", 100, 1));
}

TEST(slash_at_the_end)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    struct nf2_stat stat;
    nf2_dir_t dir;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(put(&volume, "file", 100, 1), NF2_OK);
    slash_refused(&volume, "file/", "none/");
    slash_refused(&volume, "file//", "none//");
    slash_refused(&volume, "file/.", "none/.");
    CHECK_EQ(nf2_mkdir(fs, "none/."), NF2_ERR_NOENT);
    CHECK_EQ(nf2_mkdir(fs, "none/./"), NF2_ERR_NOENT);
    CHECK_EQ(nf2_stat(fs, "none", &stat), NF2_ERR_NOENT);
    CHECK_EQ(nf2_mkdir(fs, "./d/"), NF2_OK);
    CHECK_EQ(nf2_rename(fs, "d", "none/."), NF2_ERR_NOENT);
    CHECK_EQ(nf2_remove(fs, "d/."), NF2_OK);
    CHECK_EQ(nf2_mkdir(fs, "d/"), NF2_OK);
    CHECK_EQ(nf2_stat(fs, "d/", &stat), NF2_OK);
    CHECK_EQ(nf2_stat(fs, "d/.", &stat), NF2_OK);
    CHECK_EQ(nf2_opendir(fs, &dir, "d/."), NF2_OK);
    CHECK_EQ(nf2_closedir(fs, &dir), NF2_OK);
    CHECK_EQ(nf2_rename(fs, "d/", "e/"), NF2_OK);
    CHECK_EQ(nf2_remove(fs, "e/"), NF2_OK);
    CHECK_EQ(nf2_open(fs, &volume.file, "file", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_sync(fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_close(fs, &volume.file), NF2_OK);
    volume_down(&volume, true);
}

/* ---- format ------------------------------------------------------------------------- */

static int no_read(void *context, uint32_t address, void *data, uint32_t length)
{
    const int *answer = context;

    (void)address;
    if (*answer >= 0) {
        memset(data, *answer, length);
    }
    return 0;
}

static int no_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context;
    (void)address;
    (void)data;
    (void)length;
    return 0;
}

static int no_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    (void)address;
    (void)length;
    return 0;
}

/* A driver that says OK and does nothing, as of a chip that is not connected: format finds out. */
TEST(format_on_nothing)
{
    static const int answers[] = {0, 255, -1};

    for (unsigned i = 0; i < 3; i++) {
        struct volume volume;
        int answer = answers[i];

        volume_new(&volume, "tiny256k");
        volume.driver.context = &answer;
        volume.driver.read = no_read;
        volume.driver.program = no_program;
        volume.driver.erase = no_erase;
        CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_ERR_IO);
        CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_ERASE), NF2_ERR_IO);
        volume_down(&volume, false);
    }
}

/* Volume ids of all anchors in the super blocks: 13 bytes behind the magic. */
static unsigned ids_of(struct volume *volume, uint32_t *ids, unsigned most)
{
    const uint8_t *memory = vflash_memory(volume->flash);
    unsigned count = 0;

    for (uint32_t at = 0; at < 2u * volume->driver.block_size - 20u && count < most; at++) {
        if (memcmp(memory + at, "NF2F", 4) == 0) {
            memcpy(&ids[count++], memory + at + 13, sizeof *ids);
        }
    }
    return count;
}

/* A volume made over another one has another id: nothing of the old one is taken for its own. */
TEST(other_id_after_format)
{
    struct volume volume;
    uint32_t old[20] = {0}, now[20] = {0};

    volume_new(&volume, "tiny256k");
    for (unsigned round = 0; round < 6; round++) {
        unsigned olds = ids_of(&volume, old, 20), fresh = 0;
        CHECK_EQ(nf2_format(&volume.fs, &volume.config, (int)(round % 2)), NF2_OK);
        unsigned nows = ids_of(&volume, now, 20);
        CHECK(nows > 0);
        for (unsigned i = 0; i < nows; i++) {
            unsigned same = 0;
            for (unsigned k = 0; k < olds; k++) {
                same += now[i] == old[k];
            }
            fresh += same == 0;
        }
        CHECK(fresh > 0);
    }
    volume_down(&volume, false);
}

/* ---- large volumes ------------------------------------------------------------------ */

#define GUARD 256u

/* As many blocks as a volume can have: nothing behind the memory that was asked for is touched. */
TEST(most_blocks)
{
    struct vflash_chip large = *vflash_chip_find("w25q256");
    struct volume volume;
    struct nf2_health health;

    large.size = 65536u * large.block_size;
    volume_new_on(&volume, &large);
    uint32_t size = volume.config.buffer_size;
    uint8_t *memory = realloc(volume.config.buffer, size + GUARD);
    memset(memory, 0x5A, size + GUARD);
    volume.config.buffer = memory;
    volume_format(&volume);
    for (unsigned round = 0; round < 2; round++) {
        CHECK_EQ(put(&volume, "a", 30000, round), NF2_OK);
        CHECK_EQ(put(&volume, "b", 300, round), NF2_OK);
        CHECK_EQ(nf2_health(&volume.fs, &health), NF2_OK);
        for (uint32_t block = 0; block < 65536u; block += 4099u) {
            CHECK(nf2_block_state(&volume.fs, block, NULL) >= 0);
        }
        CHECK(nf2_block_state(&volume.fs, 65535u, NULL) >= 0);
        for (unsigned i = 0; i < 50; i++) {
            CHECK(nf2_maintain(&volume.fs, 1000000) >= 0);
        }
        CHECK_EQ(volume_again(&volume, round == 0), NF2_OK);
        CHECK(holds(&volume, "a", 30000, round) && holds(&volume, "b", 300, round));
    }
    for (unsigned i = 0; i < GUARD; i++) {
        CHECK_EQ(memory[size + i], 0x5A);
    }
    volume_down(&volume, true);
}

/* What calls below leave of the stack for the next one. */
static void fill_stack(void)
{
    volatile uint8_t bytes[8192];

    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = 0xFF;
    }
}

/* States of blocks in other windows: a look copied a key that the last leaf of the tree has not got, with as many bytes as stood there. */
TEST(states_behind_the_last_leaf)
{
    struct volume volume;

    volume_up(&volume, "w25q256");
    CHECK_EQ(put(&volume, "a", 30000, 1), NF2_OK);
    for (unsigned round = 0; round < 4; round++) { /* from here on no window counts as one that was never used */
        CHECK_EQ(put(&volume, "b", 300000, round), NF2_OK);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK_EQ(nf2_maintain(&volume.fs, 10000000) >= 0, true);
        for (uint32_t block = 0; block < 8192u; block += 500u) {
            fill_stack();
            CHECK(nf2_block_state(&volume.fs, block, NULL) >= 0);
        }
        CHECK_EQ(put(&volume, "c", 30000, round), NF2_OK);
        CHECK(nf2_maintain(&volume.fs, 1000000) >= 0);
        CHECK(holds(&volume, "a", 30000, 1) && holds(&volume, "c", 30000, round));
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* ---- damage at rest ----------------------------------------------------------------- */

#define RESTING 12u

static void make_resting(struct volume *volume, const char *chip)
{
    char path[12];

    volume_up(volume, chip);
    for (unsigned i = 0; i < RESTING; i++) {
        for (uint32_t round = 0; round < 5; round++) {
            (void)snprintf(path, sizeof path, "f%u", i);
            CHECK_EQ(put(volume, path, 20u + 150u * (i % 2u) + round, 10u * i + round), NF2_OK);
        }
    }
    CHECK_EQ(volume_again(volume, true), NF2_OK);
    CHECK_EQ(put(volume, "f0", 77, 99), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume->fs), NF2_OK);
}

/* What cannot be opened or read with an error; what is there is the newest: 1, an error: 0. */
static int newest(struct volume *volume, unsigned i)
{
    uint32_t size = i == 0 ? 77 : 20u + 150u * (i % 2u) + 4u, seed = i == 0 ? 99 : 10u * i + 4u;
    uint8_t data[300];
    char path[12];

    (void)snprintf(path, sizeof path, "f%u", i);
    int status = nf2_open(&volume->fs, &volume->file, path, NF2_O_RDONLY, NULL);
    if (status != NF2_OK) {
        return status == NF2_ERR_NOENT ? -1 : 0;
    }
    int32_t got = nf2_read(&volume->fs, &volume->file, data, sizeof data);
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
    bool right = got == (int32_t)size;
    for (uint32_t k = 0; right && k < size; k++) {
        right = data[k] == content_byte(seed, k);
    }
    return got < 0 ? 0 : right ? 1 : -1;
}

/*
 * Each bit of a page's epoch turns over on a volume that was left cleanly: all is there, and new,
 * but for an error where it is the first page of a node. No data is hit: it lies beside the names.
 */
TEST(epochs_are_mended)
{
    static const char *const chips[] = {"tiny256k", "tinyecc16", "tiny512"};

    for (unsigned c = 0; c < 3; c++) {
        struct volume volume;
        unsigned long good = 0, errors = 0, wrong = 0;
        make_resting(&volume, chips[c]);
        struct vflash_checkpoint *whole = vflash_save(volume.flash);
        uint32_t page = volume.driver.page_size, size = volume.driver.chip_size;
        for (uint32_t bit = 0; bit < size / page * 16u; bit++) {
            uint32_t address = bit / 16u * page + bit / 8u % 2u;
            const uint8_t *epoch = vflash_memory(volume.flash) + bit / 16u * page;
            if (epoch[0] == 0xFF && epoch[1] == 0xFF) {
                continue;
            }
            vflash_flip(volume.flash, address, (uint8_t)(1u << bit % 8u));
            int status = nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR);
            for (unsigned i = 0; i < RESTING; i++) {
                int seen = status == NF2_OK ? newest(&volume, i) : 0;
                good += seen == 1;
                errors += seen == 0;
                wrong += seen < 0;
            }
            (void)nf2_unmount(&volume.fs);
            vflash_restore(volume.flash, whole);
        }
        printf("%s: of files looked at after a flip in an epoch %lu new, %lu errors, %lu wrong\n",
               chips[c], good, errors, wrong);
        CHECK(good > 0);
        CHECK(errors * 20u < good);
        CHECK_EQ(wrong, 0);
        vflash_release(whole);
        volume_down(&volume, false);
    }
}

/*
 * The first page of a block is destroyed, and then so much is written that each log goes on in
 * another block: no file is lost or old without an error.
 */
TEST(damaged_head_then_turns)
{
    struct volume volume;
    unsigned refused = 0, turned = 0;

    make_resting(&volume, "tiny256k");
    struct vflash_checkpoint *whole = vflash_save(volume.flash);
    for (uint32_t block = 0; block < 64; block++) {
        uint8_t *head = vflash_memory(volume.flash) + block * volume.driver.block_size;
        if (head[0] == 0xFF && head[1] == 0xFF) {
            continue;
        }
        memset(head, 0, 40);
        int status = nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR);
        refused += status != NF2_OK;
        bool super = block < 3 && status == NF2_ERR_FOREIGN;
        CHECK(super || one_of(status, NF2_OK, NF2_ERR_CORRUPT, NF2_ERR_IO));
        int found[RESTING];
        for (unsigned i = 0; status == NF2_OK && i < RESTING; i++) {
            found[i] = newest(&volume, i);
            CHECK(found[i] >= 0);
        }
        int written = status;
        for (unsigned i = 0; written == NF2_OK && i < 400; i++) {
            written = put(&volume, "new", 300 + i % 7u, i);
        }
        turned += written == NF2_OK;
        CHECK(status != NF2_OK || one_of(written, NF2_OK, NF2_ERR_CORRUPT, NF2_ERR_IO));
        int again = status == NF2_OK ? volume_again(&volume, true) : status;
        for (unsigned i = 0; again == NF2_OK && i < RESTING; i++) {
            int seen = newest(&volume, i);
            CHECK(seen == found[i] || seen == 0);
        }
        (void)nf2_unmount(&volume.fs);
        vflash_restore(volume.flash, whole);
    }
    printf("of damaged heads %u refused the mount, %u let all be written\n", refused, turned);
    CHECK(refused > 0);
    vflash_release(whole);
    volume_down(&volume, false);
}

/* ---- errors and splits -------------------------------------------------------------- */

/* Synced appends with a driver that fails once: what a sync said OK of is there after a cut. */
TEST(failed_append_is_told)
{
    static const char *const chips[] = {"tiny256k", "tinyecc16", "tiny512"};
    unsigned failed = 0;

    for (uint32_t at = 1; at < 200; at++) {
        struct volume volume;
        uint8_t line[50];
        uint32_t size = 2000, tried = 2000;
        int32_t status = NF2_OK;

        volume_up(&volume, chips[at % 3u]);
        CHECK_EQ(put(&volume, "log", size, 1), NF2_OK);
        CHECK_EQ(open_file(&volume, "log", NF2_O_RDWR | NF2_O_APPEND), NF2_OK);
        vflash_fail_at(volume.flash, at);
        for (unsigned n = 0; n < 60 && status >= 0; n++) {
            for (uint32_t i = 0; i < sizeof line; i++) {
                line[i] = content_byte(1, size + i);
            }
            status = nf2_write(&volume.fs, &volume.file, line, sizeof line);
            status = status > 0 ? nf2_sync(&volume.fs, &volume.file) : status;
            tried = size + (uint32_t)sizeof line;
            size = status == NF2_OK ? tried : size;
        }
        failed += status < 0;
        vflash_fail_at(volume.flash, 0);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK(holds(&volume, "log", size, 1) || holds(&volume, "log", tried, 1));
        volume_down(&volume, true);
    }
    CHECK(failed > 50);
}

/* Files with names that fill leaves, synced where few blocks are left: made, or refused. */
TEST(split_at_a_sync_near_full)
{
    unsigned refused = 0, made = 0;

    for (uint32_t left = 0; left < 12; left++) {
        struct volume volume;
        struct nf2_statfs stat;
        char path[80];

        volume_up(&volume, left % 2u ? "tiny256k" : "tinyecc16");
        CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
        uint32_t blocks = stat.blocks_available - left;
        CHECK_EQ(put(&volume, "fill", blocks * stat.block_size, 1), NF2_OK);
        int status = NF2_OK;
        unsigned count = 0;
        for (; status == NF2_OK && count < 2000; count++) {
            (void)snprintf(path, sizeof path, "%04u: a name that makes leaves full", count * 37u % 2000u);
            status = put(&volume, path, 100, count);
        }
        CHECK_EQ(status, NF2_ERR_NOSPC);
        refused++;
        made += count > 10;
        CHECK_EQ(volume_again(&volume, left % 3u == 0), NF2_OK);
        for (unsigned i = 0; i + 1 < count; i++) {
            (void)snprintf(path, sizeof path, "%04u: a name that makes leaves full", i * 37u % 2000u);
            CHECK(holds(&volume, path, 100, i));
        }
        CHECK_EQ(nf2_remove(&volume.fs, "fill"), NF2_OK);
        CHECK_EQ(put(&volume, "again", 20000, 5), NF2_OK);
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        volume_down(&volume, true);
    }
    CHECK(refused == 12 && made > 0);
}

int main(void)
{
    RUN(busy_without_errors);
    RUN(run_with_a_bad_block);
    RUN(cost_of_a_write_near_full);
    RUN(last_block_is_filled);
    RUN(deep_paths);
    RUN(slash_at_the_end);
    RUN(format_on_nothing);
    RUN(other_id_after_format);
    RUN(most_blocks);
    RUN(states_behind_the_last_leaf);
    RUN(epochs_are_mended);
    RUN(damaged_head_then_turns);
    RUN(failed_append_is_told);
    RUN(split_at_a_sync_near_full);
    return check_done();
}
