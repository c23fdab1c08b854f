/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_flips.c - a bit of a volume at rest turns over. What is read then is what was synced last, an error, or (RELIABILITY.md, known
 * defects) what was synced before; data have no check, so that there the bit itself may show. Never anything else, and never a crash.
 * `--long` looks at more of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "inspect/inspect.h"

#define FILES 9u
#define VERSIONS 40u
#define MOST 20000u

struct version {
    uint8_t *data;              /* NULL: no such file */
    uint32_t size;
};

static struct history {
    struct version version[VERSIONS];
    unsigned count;             /* the last one is what is there */
} history[FILES];

enum found { NEWEST, REPORTED, OLDER, ITS_BIT, WRONG, KINDS };

static uint32_t state;

static uint32_t below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

static const char *path_of(unsigned i)
{
    static const char *const paths[FILES] = {"a", "b", "log", "d/a", "d/b", "d/log", "d/e/a", "d/e/b", "d/e/log"};

    return paths[i];
}

/* ---- a volume with a history --------------------------------------------------------------------- */

static struct version *present(unsigned i)
{
    return &history[i].version[history[i].count - 1u];
}

static void note(unsigned i, const uint8_t *data, uint32_t size)
{
    struct version *version = &history[i].version[history[i].count++];

    version->data = data ? malloc(MOST) : NULL;
    version->size = size;
    if (data) {
        memcpy(version->data, data, size);
    }
}

static void forget_all(void)
{
    for (unsigned i = 0; i < FILES; i++) {
        for (unsigned v = 0; v < history[i].count; v++) {
            free(history[i].version[v].data);
        }
        history[i].count = 0;
    }
}

static void noise(uint8_t *data, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        data[i] = (uint8_t)below(256);
    }
}

/* Writes `length` bytes at `at`, and syncs: one more version. */
static void change(struct volume *volume, unsigned i, uint32_t at, uint32_t length, bool anew)
{
    static uint8_t data[MOST];
    const struct version *old = present(i);
    uint32_t size = old->data && !anew ? old->size : 0;

    memset(data, 0, sizeof data);
    if (size > 0) {
        memcpy(data, old->data, size);
    }
    noise(data + at, length);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, path_of(i), NF2_O_WRONLY | NF2_O_CREAT | (anew ? NF2_O_TRUNC : 0), volume->page), NF2_OK);
    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, data + at, length), (int32_t)length);
    CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
    note(i, data, at + length > size ? at + length : size);
    for (unsigned n = below(6); n > 0 && history[i].count < VERSIONS; n--) { /* a line, as a log gets it: a framed tail */
        uint32_t end = present(i)->size, line = 1u + below(60);
        if (end + line > MOST) {
            break;
        }
        noise(data + end, line);
        CHECK_EQ(nf2_seek(&volume->fs, &volume->file, 0, NF2_SEEK_END), (int32_t)end);
        CHECK_EQ(nf2_write(&volume->fs, &volume->file, data + end, line), (int32_t)line);
        CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
        note(i, data, end + line);
    }
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
}

static void change_some(struct volume *volume)
{
    unsigned i = below(FILES);
    const struct version *now = present(i);

    if (history[i].count + 1u >= VERSIONS) {
        return;
    }
    if (now->data && below(8) == 0) {
        CHECK_EQ(nf2_remove(&volume->fs, path_of(i)), NF2_OK);
        note(i, NULL, 0);
    } else if (!now->data || below(4) == 0) {
        change(volume, i, 0, below(3) == 0 ? 1u + below(MOST - 1u) : 1u + below(200), true);
    } else {
        uint32_t at = below(now->size + 1u), length = 1u + below(below(2) ? 300 : 5000);
        change(volume, i, at, at + length > MOST ? MOST - at : length, false);
    }
}

static void make_volume(struct volume *volume, const char *chip, uint32_t seed)
{
    state = seed;
    volume_up(volume, chip);
    CHECK_EQ(nf2_mkdir(&volume->fs, "d"), NF2_OK);
    CHECK_EQ(nf2_mkdir(&volume->fs, "d/e"), NF2_OK);
    for (unsigned i = 0; i < FILES; i++) {
        note(i, NULL, 0);
    }
    for (unsigned n = 0; n < 90; n++) {
        change_some(volume);
        if (below(30) == 0) {
            CHECK_EQ(volume_again(volume, true), NF2_OK);
        }
    }
    CHECK_EQ(nf2_unmount(&volume->fs), NF2_OK);
}

/* ---- what is found ------------------------------------------------------------------------------- */

static bool one_bit_apart(const uint8_t *a, const uint8_t *b, uint32_t size)
{
    unsigned bits = 0;

    for (uint32_t i = 0; i < size && bits < 2; i++) {
        for (unsigned differ = a[i] ^ b[i]; differ != 0; differ &= differ - 1u) {
            bits++;
        }
    }
    return bits == 1;
}

static enum found judge(struct volume *volume, unsigned i)
{
    static uint8_t data[MOST + 1u];
    nf2_file_t file;
    int status = nf2_open(&volume->fs, &file, path_of(i), NF2_O_RDONLY, NULL);
    int32_t got = status == NF2_OK ? nf2_read(&volume->fs, &file, data, sizeof data) : 0;

    if (status == NF2_OK && nf2_close(&volume->fs, &file) != NF2_OK) {
        return WRONG;
    }
    if ((status < 0 && status != NF2_ERR_NOENT) || got < 0) {
        return REPORTED;
    }
    for (unsigned v = history[i].count; v-- > 0;) {
        const struct version *version = &history[i].version[v];
        if (!version->data ? status == NF2_ERR_NOENT
                           : status == NF2_OK && version->size == (uint32_t)got && memcmp(version->data, data, version->size) == 0) {
            return v == history[i].count - 1u ? NEWEST : OLDER;
        }
    }
    const struct version *newest = present(i);
    return status == NF2_OK && newest->data && newest->size == (uint32_t)got && one_bit_apart(newest->data, data, newest->size) ? ITS_BIT : WRONG;
}

/* Mounts, reads all, changes something; what could be read before can be read then, too. */
static void look(struct volume *volume, unsigned long *counts, uint32_t address)
{
    enum found found[FILES];

    if (nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR) != NF2_OK) {
        counts[REPORTED]++;
        return;
    }
    for (unsigned i = 0; i < FILES; i++) {
        found[i] = judge(volume, i);
        counts[found[i]]++;
        if (!CHECK(found[i] != WRONG)) {
            printf("  byte %lu of the chip, file %s\n", (unsigned long)address, path_of(i));
        }
    }
    (void)nf2_check(&volume->fs, NULL, NULL);
    (void)put(volume, "new", 3000, address);
    for (unsigned n = 0; n < 20 && nf2_maintain(&volume->fs, 100000) > 0; n++) {
    }
    for (unsigned i = 0; i < FILES; i++) {
        enum found again = judge(volume, i);
        if (!CHECK(again == found[i] || again == REPORTED)) {
            printf("  byte %lu of the chip, file %s: %d, then %d\n", (unsigned long)address, path_of(i), found[i], again);
        }
    }
    (void)nf2_unmount(&volume->fs);
}

/* The errors that were answered: of the flips in one volume alone, none may meet what is in use and not mended. */
static unsigned long flip_bits(const char *chip, uint32_t seed, unsigned flips)
{
    struct volume volume;
    unsigned long counts[KINDS] = {0};

    make_volume(&volume, chip, seed);
    struct vflash_checkpoint *whole = vflash_save(volume.flash);
    uint32_t size = vflash_chip_of(volume.flash)->size;
    for (unsigned n = 0; n < flips; n++) {
        uint32_t address = below(size);
        while (vflash_memory(volume.flash)[address] == 0xFF) { /* what is programmed */
            address = (address + 1u) % size;
        }
        vflash_flip(volume.flash, address, (uint8_t)(1u << below(8)));
        look(&volume, counts, address);
        vflash_restore(volume.flash, whole);
    }
    printf("%s: of files looked at after a flip %lu new, %lu with the bit, %lu older, %lu errors\n", chip, counts[NEWEST], counts[ITS_BIT],
           counts[OLDER], counts[REPORTED]);
    CHECK(counts[ITS_BIT] > 0);
    vflash_release(whole);
    forget_all();
    volume_down(&volume, false);
    return counts[REPORTED];
}

/* Of a page's epoch no single bit is missed, also in a node's first page, which all that the node says hangs on. */
static void flip_epochs(const char *chip)
{
    struct volume volume;
    unsigned nodes = 0;

    make_volume(&volume, chip, 7);
    struct vflash_checkpoint *whole = vflash_save(volume.flash);
    uint32_t size = vflash_chip_of(volume.flash)->size, bytes = volume.driver.block_size;
    for (uint32_t at = 0; at < size; at += bytes) {
        const uint8_t *page = vflash_memory(volume.flash) + at;
        bool node = page[4] == 'N' && page[5] < 8u && ((uint32_t)page[6] | (uint32_t)page[7] << 8) == at / bytes && page[8] == 0;
        nodes += node;
        for (uint32_t bit = 0; node && bit < 16; bit++) {
            vflash_flip(volume.flash, at + bit / 8, (uint8_t)(1u << bit % 8));
            CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
            for (unsigned i = 0; i < 2 * FILES; i++) {
                if (i == FILES) {
                    CHECK_EQ(put(&volume, "new", 3000, at), NF2_OK);
                }
                if (!CHECK_EQ(judge(&volume, i % FILES), NEWEST)) {
                    printf("  block %lu, bit %u, file %s\n", (unsigned long)(at / bytes), (unsigned)bit, path_of(i % FILES));
                }
            }
            CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
            vflash_restore(volume.flash, whole);
        }
    }
    CHECK(nodes > 0);
    vflash_release(whole);
    forget_all();
    volume_down(&volume, false);
}

TEST(epochs)
{
    flip_epochs("tiny256k");
    flip_epochs("tinyecc16");
}

/* Names that are silently gone: each was there, and a volume that lost one says so where it is looked for. */
static unsigned names_gone(struct volume *volume, unsigned names)
{
    char name[32];
    unsigned gone = 0;

    for (unsigned i = 0; i < names; i++) {
        snprintf(name, sizeof name, "name-%03u", i);
        int result = size_of(volume, name, NULL);
        if (result == NF2_ERR_NOENT) {
            gone++;
        } else {
            CHECK(result == NF2_OK || result == NF2_ERR_IO);
        }
    }
    return gone;
}

/* Where the first group of a node's records ends: its base, as it was written. */
static uint32_t base_end(const uint8_t *node, uint32_t bytes)
{
    uint32_t at = 2, header = 0x1000;

    while ((header & 0x1000u) != 0 && at + 2u <= bytes) {
        header = node[at] | (uint32_t)node[at + 1u] << 8;
        if (header == 0xFFFF) { /* the rest of a page is padding */
            at = (at / 256u + 1u) * 256u + 2u;
            header = 0x1000;
        } else {
            at += header & 0xFFFu;
            at = at % 256u > 250u || at % 256u == 0 ? (at + 255u) / 256u * 256u + 2u : at;
        }
    }
    return at;
}

/* A page of a base that reads as blank, as if its program had never come to the chip. */
static void blank_pages(const char *chip, unsigned names)
{
    struct volume volume;
    char name[32];
    unsigned pages = 0;

    volume_up(&volume, chip);
    for (unsigned i = 0; i < names; i++) { /* in an order in which leaves are written anew */
        snprintf(name, sizeof name, "name-%03u", i * 7u % names);
        CHECK_EQ(put(&volume, name, 40, i), NF2_OK);
    }
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    struct vflash_checkpoint *whole = vflash_save(volume.flash);
    uint8_t *memory = vflash_memory(volume.flash);
    uint32_t size = vflash_chip_of(volume.flash)->size, bytes = volume.driver.block_size;
    for (uint32_t block = 0; block < size / bytes; block++) {
        uint8_t *node = memory + block * bytes;
        uint32_t end = node[4] == 'N' ? base_end(node, bytes) : 0;
        for (uint32_t at = 256; at + 256u < end; at += 256) {
            memset(node + at, 0xFF, 256);
            pages++;
            CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
            if (!CHECK_EQ(names_gone(&volume, names), 0)) {
                printf("  page %lu of block %lu\n", (unsigned long)(at / 256u), (unsigned long)block);
            }
            (void)nf2_unmount(&volume.fs);
            vflash_restore(volume.flash, whole);
        }
    }
    CHECK(pages > 20);
    vflash_release(whole);
    volume_down(&volume, false);
}

TEST(blank)
{
    blank_pages("tiny256k", 300);
    blank_pages("tiny512", 300);
    blank_pages("tinyecc16", 300);
}

/* Entries with counts of erases that cannot be read: figures say the mean of the volume instead. */
TEST(wear)
{
    static const uint8_t key[] = { 0, 5, 'W', 0, 0, 0, 0 };
    struct nf2_health health;
    struct volume volume;
    unsigned found = 0;

    volume_up(&volume, "tiny256k");
    for (unsigned i = 0; i < 40; i++) {
        CHECK_EQ(put(&volume, "a", 40000, i), NF2_OK);
    }
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    uint8_t *bytes = vflash_memory(volume.flash);
    for (uint32_t i = 0; i + 100 < vflash_chip_of(volume.flash)->size; i++) {
        if (memcmp(bytes + i, key, sizeof key) == 0) {
            memset(bytes + i + sizeof key + 4, 0, 20);
            found++;
        }
    }
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, 0), NF2_OK);
    CHECK_EQ(nf2_health(&volume.fs, &health), NF2_OK);
    CHECK(found > 0);
    CHECK_EQ(health.erases_min, health.erases_mean);
    CHECK_EQ(health.erases_max, health.erases_mean);
    volume_down(&volume, false);
}

/*
 * Each byte of a file's content gets a flipped bit, in a volume that was left cleanly. Is that reported wherever it is met? Else the content differs, which is noted.
 */
static bool is_checked(const char *path, uint32_t size)
{
    struct volume volume;
    static uint8_t content[MOST], found[MOST + 1u];
    unsigned reported = 0, shown = 0;
    nf2_file_t file;

    volume_up(&volume, "tiny256k");
    for (uint32_t i = 0; i < size; i++) {
        content[i] = content_byte(9, i);
    }
    CHECK_EQ(put(&volume, path, size, 9), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    uint8_t *memory = vflash_memory(volume.flash);
    uint32_t at = 0, most = vflash_chip_of(volume.flash)->size - size;
    while (at < most && memcmp(memory + at, content, size) != 0) {
        at++;
    }
    CHECK(at < most);
    for (uint32_t i = 0; i < size; i++) {
        vflash_flip(volume.flash, at + i, (uint8_t)(1u << i % 8));
        int status = nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY);
        status = status == NF2_OK ? nf2_open(&volume.fs, &file, path, NF2_O_RDONLY, NULL) : status;
        int32_t got = status == NF2_OK ? nf2_read(&volume.fs, &file, found, sizeof found) : status;
        reported += got == NF2_ERR_IO || got == NF2_ERR_CORRUPT;
        shown += got == (int32_t)size && one_bit_apart(found, content, size);
        (void)nf2_unmount(&volume.fs);
        vflash_flip(volume.flash, at + i, (uint8_t)(1u << i % 8));
    }
    CHECK_EQ(reported + shown, size);
    CHECK(reported == 0 || shown == 0);
    volume_down(&volume, false);
    return shown == 0;
}

/* What nf2fs.h says: files of up to 215 bytes with names of up to 23 have a check. */
TEST(where_data_is_checked)
{
    static const char *const short_name = "a name of 23 bytes, all", *const long_name = "a name of 24 bytes, just";

    CHECK_EQ(strlen(short_name), 23);
    CHECK_EQ(strlen(long_name), 24);
    for (uint32_t size = 20; size <= 215; size += 39) {
        CHECK(is_checked("f", size));
    }
    CHECK(is_checked("f", 215) && !is_checked("f", 216) && !is_checked("f", 300));
    CHECK(is_checked(short_name, 100) && !is_checked(long_name, 100) && !is_checked(long_name, 20));
}

static uint32_t seeds = 2;
static unsigned flips_each = 130;

TEST(flips)
{
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        unsigned long reported = flip_bits("tiny256k", seed, flips_each);
        reported += flip_bits("tiny512", seed, flips_each);
        CHECK(reported + flip_bits("tinyecc16", seed, flips_each) > 0);
    }
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "--long") == 0) {
        seeds = 20;
        flips_each = 2000;
    }
    RUN(flips);
    RUN(epochs);
    RUN(blank);
    RUN(wear);
    RUN(where_data_is_checked);
    return check_done();
}
