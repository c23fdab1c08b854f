/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_refused_middle.c - there is room for a write when it begins. Blocks fail under it, and then there is not: it is refused,
 * and the file, with what was written before and not synced, is as it was.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define BLOCKS 256u
#define BAD_MOST 15u            /* a sixteenth, less one for whatever else is tried */
#define AVAILABLE 8u            /* blocks, when the write begins */
#define WRITTEN (8u * 4096u)
#define BEFORE 6000u            /* bytes of the file in front */
#define UNSYNCED 700u

static uint8_t content[BEFORE + UNSYNCED + WRITTEN], new[WRITTEN];

/* Blocks fail in a program of what is written, so many of them. */
static struct failing {
    const struct nf2_flash *chip;
    uint32_t bad[BAD_MOST];
    unsigned count, most;
} failing;

static bool is_bad(uint32_t address)
{
    for (unsigned i = 0; i < failing.count; i++) {
        if (address / 4096 == failing.bad[i]) {
            return true;
        }
    }
    return false;
}

static int failing_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    return failing.chip->read(failing.chip->context, address, data, length);
}

static int failing_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context;
    const uint8_t *from = data;

    if (!is_bad(address) && failing.count < failing.most && from >= new && from < new + WRITTEN) {
        failing.bad[failing.count++] = address / 4096;
    }
    return is_bad(address) ? NF2_FLASH_BAD : failing.chip->program(failing.chip->context, address, data, length);
}

static int failing_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    return is_bad(address) ? NF2_FLASH_BAD : failing.chip->erase(failing.chip->context, address, length);
}

/* A volume with `file`, and next to no room left. */
static void begin(struct volume *volume)
{
    struct vflash_chip chip = *vflash_chip_find("w25q80");
    struct nf2_statfs stat;

    volume_new_on(volume, &chip);
    failing.chip = vflash_driver(volume->flash);
    failing.count = failing.most = 0;
    volume->driver = *failing.chip;
    volume->driver.read = failing_read;
    volume->driver.program = failing_program;
    volume->driver.erase = failing_erase;
    volume->config.flash = &volume->driver;
    volume_format(volume);
    CHECK_EQ(put(volume, "file", BEFORE, 1), NF2_OK);
    CHECK_EQ(nf2_statfs(&volume->fs, &stat), NF2_OK);
    CHECK_EQ(put(volume, "rest", (stat.blocks_available - AVAILABLE) * 4096, 2), NF2_OK);
    CHECK(maintain_all(volume) == 0);
}

/* The file has this content, of `size` bytes. */
static bool has(struct volume *volume, uint32_t size)
{
    static uint8_t read[sizeof content];
    nf2_file_t file;

    if (!CHECK_EQ(nf2_open(&volume->fs, &file, "file", NF2_O_RDONLY, volume->page), NF2_OK)) {
        return false;
    }
    bool right = CHECK_EQ(nf2_read(&volume->fs, &file, read, sizeof read), (int32_t)size) &&
                 CHECK(memcmp(read, content, size) == 0);
    return CHECK_EQ(nf2_close(&volume->fs, &file), NF2_OK) && right;
}

/* What the file should be, before a write at `at`: the bytes of it that are synced, and then some that are not. */
static uint32_t open_file(struct volume *volume, nf2_file_t *file, uint8_t *buffer, uint32_t *at, bool unsynced)
{
    uint32_t size = BEFORE;

    for (uint32_t i = 0; i < sizeof content; i++) {
        content[i] = content_byte(i < BEFORE ? 1 : 7, i);
    }
    CHECK_EQ(nf2_open(&volume->fs, file, "file", NF2_O_RDWR, buffer), NF2_OK);
    if (unsynced) {
        CHECK_EQ(nf2_seek(&volume->fs, file, 0, NF2_SEEK_END), (int32_t)BEFORE);
        CHECK_EQ(nf2_write(&volume->fs, file, content + BEFORE, UNSYNCED), (int32_t)UNSYNCED);
        size += UNSYNCED;
    }
    *at = *at > size ? size : *at;
    CHECK_EQ(nf2_seek(&volume->fs, file, (int32_t)*at, NF2_SEEK_SET), (int32_t)*at);
    for (uint32_t i = 0; i < sizeof new; i++) {
        new[i] = content_byte(9, i);
    }
    return size;
}

/*
 * Blocks fail under a write at the end, or over what is there. 1: it was refused, 0: not. Over older content the handle may
 * fail with it: then the file is as it was synced. An append loses nothing: if a sync is refused, too, it works when there
 * is room again.
 */
static unsigned refused(unsigned bad, uint32_t at, bool unsynced)
{
    struct volume volume;
    uint8_t buffer[NF2_PAGE_MAX];
    nf2_file_t file;
    bool over = at < BEFORE;

    begin(&volume);
    uint32_t size = open_file(&volume, &file, buffer, &at, unsynced);
    failing.most = bad;
    int32_t result = nf2_write(&volume.fs, &file, new, WRITTEN);
    failing.most = failing.count;
    if (result == (int32_t)WRITTEN) {
        memcpy(content + at, new, WRITTEN);
        size = at + WRITTEN;
    } else {
        CHECK_EQ(result, NF2_ERR_NOSPC);
        CHECK_EQ(nf2_size(&volume.fs, &file), (int32_t)size);
        CHECK_EQ(nf2_tell(&volume.fs, &file), (int32_t)at);
        int kept = nf2_sync(&volume.fs, &file); /* nothing of what was meant to be more */
        CHECK(kept == NF2_ERR_NOSPC || (over && kept == NF2_ERR_IO));
        CHECK_EQ(nf2_write(&volume.fs, &file, NULL, 0), kept == NF2_ERR_IO ? NF2_ERR_IO : 0);
    }
    int synced = nf2_sync(&volume.fs, &file);
    if (synced == NF2_ERR_NOSPC) {
        CHECK_EQ(nf2_remove(&volume.fs, "rest"), NF2_OK);
        synced = nf2_sync(&volume.fs, &file);
    }
    if (synced != NF2_OK) {
        CHECK(result == NF2_ERR_NOSPC && over && synced == NF2_ERR_IO);
        size = BEFORE;
    }
    CHECK_EQ(nf2_close(&volume.fs, &file), synced);
    CHECK(has(&volume, size));
    if (!CHECK_EQ(volume_again(&volume, true), NF2_OK)) {
        volume_down(&volume, false);
        return 0;
    }
    CHECK(has(&volume, size));
    (void)nf2_remove(&volume.fs, "rest");
    CHECK_EQ(put(&volume, "more", 20 * 4096, 3), NF2_OK);
    CHECK(holds(&volume, "more", 20 * 4096, 3));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
    return result == NF2_ERR_NOSPC;
}

TEST(blocks_fail_under_it)
{
    unsigned refusals[2] = { 0, 0 };

    for (unsigned bad = 0; bad <= BAD_MOST; bad++) {
        for (unsigned way = 0; way < 4; way++) {
            bool over = way / 2 != 0;
            refusals[over] += refused(bad, over ? 1000 : UINT32_MAX, way % 2 != 0);
        }
    }
    printf("refused: %u at the end, %u over older content\n", refusals[0], refusals[1]);
    CHECK(refusals[0] > 0 && refusals[1] > 0);
}

int main(void)
{
    RUN(blocks_fail_under_it);
    return check_done();
}
