/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_log_end.c - where a log ends: one bit that turned over hides the last change of a log at most, and says so otherwise.
 */
#include <stdlib.h>

#include "api_volume.h"
#include "check.h"

#define NAMES 7u
#define STEPS 18u
#define LINE "a line of the log\n"
#define LINE_BYTES ((int32_t)sizeof LINE - 1)

/* What the names hold after a step: 0 is no file, else the seed of the content. */
struct names {
    uint8_t seed[NAMES];
};

static struct names history[STEPS];

/* What is found: names as they are, as they were before their last change, or an error. */
enum outcome { NEWEST, BEFORE, REPORTED, WRONG, OUTCOMES };

static const char *path_of(unsigned i)
{
    static const char *const paths[NAMES] = {"a", "b", "c", "d", "e", "f", "a name of more than twenty-four bytes"};

    return paths[i];
}

static uint32_t size_by(unsigned seed)
{
    return 5u + seed * 7u % 60u;
}

/* ---- a volume with a short history ----------------------------------------------------------- */

static void append_line(struct volume *volume)
{
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "log", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, volume->page), NF2_OK);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, LINE, (uint32_t)LINE_BYTES), LINE_BYTES);
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
}

/* A log in frames, then changes of names in one leaf, with a line of the log between them. */
static unsigned make_volume(struct volume *volume, const char *chip)
{
    struct names now = {{0}};
    unsigned lines = 0;

    volume_up(volume, chip);
    CHECK_EQ(put(volume, "log", 0, 0), NF2_OK);
    for (; lines < 20; lines++) {
        append_line(volume);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = step * 5u % NAMES, other = (i + 3u) % NAMES;
        if (step % 6 == 4 && now.seed[i] != 0) {
            CHECK_EQ(nf2_remove(&volume->fs, path_of(i)), NF2_OK);
            now.seed[i] = 0;
        } else if (step % 6 == 5 && now.seed[i] != 0) {
            CHECK_EQ(nf2_rename(&volume->fs, path_of(i), path_of(other)), NF2_OK);
            now.seed[other] = now.seed[i];
            now.seed[i] = 0;
        } else {
            CHECK_EQ(put(volume, path_of(i), size_by(step + 1u), step + 1u), NF2_OK);
            now.seed[i] = (uint8_t)(step + 1u);
        }
        history[step] = now;
        append_line(volume);
        lines++;
    }
    return lines;
}

/* ---- what is found --------------------------------------------------------------------------- */

/* Reads the names: false if there was an error. */
static bool read_names(struct volume *volume, struct names *found)
{
    for (unsigned i = 0; i < NAMES; i++) {
        uint32_t size;
        int result = size_of(volume, path_of(i), &size);
        found->seed[i] = 0;
        for (unsigned seed = 1; result == NF2_OK && seed <= STEPS && found->seed[i] == 0; seed++) {
            bool same = size == size_by(seed) && holds(volume, path_of(i), size, seed);
            found->seed[i] = (uint8_t)(same ? seed : 0);
        }
        if (result != NF2_OK ? result != NF2_ERR_NOENT : found->seed[i] == 0) {
            return false;
        }
    }
    return true;
}

/* Lines in the log, or an error. Its front is data without a check: one bit of that may differ. */
static int read_lines(struct volume *volume)
{
    static char data[64 * sizeof LINE];
    nf2_file_t file;
    unsigned differ = 0;
    int opened = nf2_open(&volume->fs, &file, "log", NF2_O_RDONLY, NULL);
    int32_t got = opened == NF2_OK ? nf2_read(&volume->fs, &file, data, sizeof data) : opened;

    if (opened == NF2_OK) {
        CHECK_EQ(nf2_close(&volume->fs, &file), NF2_OK);
    }
    if (got < 0) {
        return (int)got;
    }
    for (int32_t i = 0; i < got; i++) {
        for (unsigned bits = (unsigned char)(data[i] ^ LINE[i % LINE_BYTES]); bits != 0; bits &= bits - 1u) {
            differ++;
        }
    }
    return differ <= 1 && got % LINE_BYTES == 0 ? (int)(got / LINE_BYTES) : NF2_ERR_INVAL;
}

static enum outcome judge(struct volume *volume, int lines)
{
    struct names found;

    if (nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDONLY) != NF2_OK) {
        return REPORTED;
    }
    int read = read_lines(volume);
    bool names = read_names(volume, &found), checked = nf2_check(&volume->fs, NULL, NULL) == 0;
    (void)nf2_unmount(&volume->fs);
    if (!names || read < 0 || !checked) {
        return read == NF2_ERR_INVAL ? WRONG : REPORTED;
    }
    bool newest = memcmp(&found, &history[STEPS - 1], sizeof found) == 0;
    bool before = memcmp(&found, &history[STEPS - 2], sizeof found) == 0;
    if (newest && read == lines) {
        return NEWEST;
    }
    return (newest || before) && read >= lines - 1 ? BEFORE : WRONG;
}

/* Each bit of what is programmed, and of the bytes behind it. */
static void flip_each(const char *chip, bool unmount)
{
    struct volume volume;
    unsigned long counts[OUTCOMES] = {0};
    unsigned lines = make_volume(&volume, chip), behind = 0, wrong = 0;

    CHECK_EQ(unmount ? nf2_unmount(&volume.fs) : NF2_OK, NF2_OK);
    CHECK_EQ(judge(&volume, (int)lines), NEWEST);
    for (uint32_t at = 0; at < vflash_chip_of(volume.flash)->size; at++) {
        behind = vflash_memory(volume.flash)[at] != 0xFF ? 8 : behind - (behind > 0);
        for (unsigned bit = 0; behind > 0 && bit < 8; bit++) {
            vflash_flip(volume.flash, at, (uint8_t)(1u << bit));
            enum outcome outcome = judge(&volume, (int)lines);
            counts[outcome]++;
            if (!CHECK(outcome != WRONG) && wrong++ < 10) {
                printf("  %s, bit %u of byte %lu\n", chip, bit, (unsigned long)at);
            }
            vflash_flip(volume.flash, at, (uint8_t)(1u << bit));
        }
    }
    printf("%s, %s: of the flips %lu show nothing, %lu hide the last change, %lu are reported\n", chip,
           unmount ? "unmounted" : "not unmounted", counts[NEWEST], counts[BEFORE], counts[REPORTED]);
    CHECK(counts[NEWEST] > 0 && counts[REPORTED] > 0);
    volume_down(&volume, false);
}

TEST(flips)
{
    flip_each("tiny256k", false);
    flip_each("tiny256k", true);
    flip_each("tinyecc16", false);
}

/* ---- reads that are wrong once --------------------------------------------------------------- */

static const struct nf2_flash *right;
static unsigned reads, wrong_read;
static uint8_t wrong_value;

static int read_wrong(void *context, uint32_t address, void *data, uint32_t length)
{
    int result = right->read(context, address, data, length);

    if (++reads == wrong_read) {
        memset(data, wrong_value, length);
    }
    return result;
}

#define LOOKED_AT 6u           /* names that the session looks at */

/* All that is there, as a number; 0: it cannot be read. */
static uint32_t all_of(struct volume *volume)
{
    static uint8_t data[6000];
    struct nf2_dirent entry;
    nf2_file_t file;
    nf2_dir_t dir;
    uint32_t sum = 1;
    int found = nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDONLY);

    found = found == NF2_OK ? nf2_opendir(&volume->fs, &dir, "") : found;
    while (found == NF2_OK && (found = nf2_readdir(&volume->fs, &dir, &entry)) > 0) {
        sum = nf2_crc(sum, entry.name, (uint32_t)strlen(entry.name));
        found = nf2_open(&volume->fs, &file, entry.name, NF2_O_RDONLY, NULL);
        int32_t got = found == NF2_OK ? nf2_read(&volume->fs, &file, data, sizeof data) : found;
        sum = nf2_crc(sum, data, got > 0 ? (uint32_t)got : 0);
        found = got < 0 ? (int)got : nf2_close(&volume->fs, &file);
    }
    found = found == 0 ? nf2_check(&volume->fs, NULL, NULL) : found;
    (void)nf2_unmount(&volume->fs);
    return found == 0 ? sum : 0;
}

/* A session that only looks, and unmounts; the read of this number gives one byte alone. How many reads there were. */
static unsigned look_with_a_wrong_read(struct volume *volume, unsigned number, uint8_t value)
{
    struct nf2_flash driver = *right;
    struct nf2_config config = volume->config;
    char name[16];

    driver.read = read_wrong;
    config.flash = &driver;
    reads = 0;
    wrong_read = number;
    wrong_value = value;
    if (nf2_mount(&volume->fs, &config, NF2_MOUNT_RDWR) == NF2_OK) {
        for (unsigned i = 0; i < LOOKED_AT; i++) {
            (void)snprintf(name, sizeof name, "name-%03u", i * 17u);
            (void)size_of(volume, name, NULL);
        }
        (void)nf2_unmount(&volume->fs);
    }
    return reads;
}

/* Behind that all is there: nothing was taken for the end of a log, and written over. The sessions in which it is not. */
static unsigned wrong_each(struct volume *volume, unsigned step, unsigned *tried)
{
    uint32_t all = all_of(volume);
    struct vflash_checkpoint *whole = vflash_save(volume->flash);
    unsigned lost = 0, most = look_with_a_wrong_read(volume, 0, 0);

    CHECK(all != 0);
    CHECK_EQ(all_of(volume), all);
    vflash_restore(volume->flash, whole);
    for (unsigned number = 1; number <= most; number++) {
        for (unsigned blank = 0; blank < 2; blank++, ++*tried) {
            (void)look_with_a_wrong_read(volume, number, blank ? 0xFF : 0);
            if (!CHECK_EQ(all_of(volume), all) && lost++ < 5) {
                printf("  step %u, read %u of %u\n", step, number, most);
            }
            vflash_restore(volume->flash, whole);
        }
    }
    vflash_release(whole);
    return lost;
}

/* Sessions that end in the middle, behind renames from leaf to leaf, new leaves, and turns of the root log. */
static void wrong_reads_on(const char *chip)
{
    struct volume volume;
    unsigned lost = 0, tried = 0;
    char name[16], other[16];

    volume_up(&volume, chip);
    right = volume.config.flash;
    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "name-%03u", i * 7u % 200u);
        CHECK_EQ(put(&volume, name, 40, i), NF2_OK);
    }
    for (unsigned step = 0; step < 22; step++) {
        (void)snprintf(name, sizeof name, "name-%03u", step);
        (void)snprintf(other, sizeof other, "other-%03u", step * 37u % 200u);
        CHECK_EQ(step % 3 == 2 ? put(&volume, other, 5000, step) : nf2_rename(&volume.fs, name, other), NF2_OK);
        bool unmounts = step % 16 == 7;
        CHECK_EQ(unmounts ? nf2_unmount(&volume.fs) : NF2_OK, NF2_OK);
        if (step % 4 == 3 || step == 21) {
            nf2_t kept = volume.fs;
            lost += wrong_each(&volume, step, &tried);
            volume.fs = kept;
        }
        CHECK_EQ(unmounts || step % 5 == 4 ? nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR) : NF2_OK, NF2_OK);
    }
    printf("%s: %u sessions with one wrong read: %u lost something\n", chip, tried, lost);
    volume_down(&volume, true);
}

TEST(wrong_reads)
{
    wrong_reads_on("tiny256k");
    wrong_reads_on("tinyecc16");
}

int main(void)
{
    RUN(wrong_reads);
    RUN(flips);
    return check_done();
}
