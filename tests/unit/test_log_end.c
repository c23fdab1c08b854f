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

int main(void)
{
    RUN(flips);
    return check_done();
}
