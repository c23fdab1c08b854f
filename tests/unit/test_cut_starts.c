/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cut_starts.c - a device that loses power in the first change of each session: each one takes blocks of which the next
 * does not know whether they are free. At any moment the block that the log goes on in may turn out to be bad, and the next
 * session writes all the same.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define KEPT_BYTES 3000u

struct device {
    const char *chip;
    uint32_t size;              /* of the volume, in bytes */
    uint32_t rests;             /* bytes of a file that is never changed */
    unsigned sessions, most;    /* operations of a session until the cut */
};

static struct volume volume;

static void begin(const struct device *device)
{
    struct vflash_chip chip = *vflash_chip_find(device->chip);

    chip.size = device->size;
    volume_new_on(&volume, &chip);
    volume_format(&volume);
    CHECK_EQ(put(&volume, "kept", KEPT_BYTES, 1), NF2_OK);
    CHECK_EQ(put(&volume, "rests", device->rests, 2), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
}

/* The power goes off in, or behind, its first change. */
static void session(unsigned number, unsigned operation)
{
    struct vflash_cut cut = { .operation = operation, .byte = number * 7 % 97, .seed = number };

    cut.erase = (enum vflash_erase_cut)(number % 5);
    vflash_cut_at(volume.flash, &cut);
    (void)nf2_mkdir(&volume.fs, "dir");
    (void)nf2_remove(&volume.fs, "dir");
    vflash_cut_at(volume.flash, NULL);
    vflash_power_on(volume.flash);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
}

/* The log's next block fails: what each call of two more sessions is asked for succeeds. */
static bool writes(const struct device *device, bool idle_first)
{
    bool right = true;

    vflash_break_block(volume.flash, volume.fs.root_next, false);
    for (unsigned i = 0; i < 2; i++) {
        int more = idle_first;
        for (unsigned steps = 0; more > 0 && steps < 100; steps++) {
            more = nf2_maintain(&volume.fs, 1000000);
        }
        right = CHECK_EQ(more, 0) && right;
        right = (!idle_first || CHECK(volume.fs.opened)) && right; /* it looks for blocks, too */
        right = CHECK_EQ(put(&volume, "new", KEPT_BYTES, i), NF2_OK) && right;
        if (!CHECK_EQ(volume_again(&volume, i == 0), NF2_OK)) {
            return false;
        }
        right = CHECK(holds(&volume, "new", KEPT_BYTES, i)) && right;
    }
    right = CHECK(holds(&volume, "kept", KEPT_BYTES, 1)) && right;
    right = CHECK(holds(&volume, "rests", device->rests, 2)) && right;
    return CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0) && right;
}

/* All sessions are cut at the same operation. */
static void cut_at(const struct device *device, unsigned operation)
{
    bool right = true;

    begin(device);
    for (unsigned i = 0; i < device->sessions && right; i++) {
        session(i, operation);
        struct vflash_checkpoint *before = vflash_save(volume.flash);
        if (CHECK(before != NULL)) {
            right = writes(device, i % 2 != 0);
            vflash_restore(volume.flash, before);
            vflash_release(before);
        }
        right = CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK) && right;
        if (!right) {
            printf("  %s, %u bytes: session %u, cut at operation %u\n", device->chip, (unsigned)device->size, i, operation);
        }
    }
    volume_down(&volume, true);
}

TEST(next_block_fails)
{
    static const struct device devices[] = {
        { "ecc16-256m", 1u << 20, 0, 100, 8 },
        { "ecc32-256m", 4u << 20, 0, 100, 8 },
        { "ecc32-256m", 4u << 20, 3u << 20, 100, 8 },
        { "tiny256k", 256u << 10, 0, 600, 8 },
        { "tiny128k", 128u << 10, 0, 1500, 6 },
        { "tiny128k", 128u << 10, 40u << 10, 1500, 6 },
    };

    for (unsigned i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        for (unsigned operation = 1; operation <= devices[i].most; operation++) {
            cut_at(&devices[i], operation);
        }
    }
}

/* A name of 208 bytes; they come in no order. */
static const char *name_of(unsigned number)
{
    static char names[2][256];
    char *name = names[number % 2];

    snprintf(name, sizeof names[0], "%08lx%0200u", (unsigned long)((number + 1) * 2654435761u & 0xFFFFFFFFu), number);
    return name;
}

/*
 * A full volume: the block that the log goes on in fails in the middle of a session, and no other one is known to be free. No
 * call fails, other than for lack of space.
 */
static bool goes_on(unsigned files)
{
    int status = NF2_OK;

    vflash_break_block(volume.flash, volume.fs.root_next, false);
    for (unsigned i = 0; i < 40 && status == NF2_OK; i++) {
        char old[256];
        strcpy(old, name_of(files - 1 - i));
        status = nf2_rename(&volume.fs, old, name_of(5000 + i * 7919));
    }
    bool right = CHECK(status == NF2_OK || status == NF2_ERR_NOSPC);
    for (unsigned i = 0; i < 3; i++) {
        right = CHECK_EQ(nf2_remove(&volume.fs, name_of(70 + i)), NF2_OK) && right;
        right = CHECK_EQ(volume_again(&volume, i != 1), NF2_OK) && right;
    }
    return CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0) && right;
}

static void full_volume(unsigned operation, uint32_t size)
{
    unsigned files = 0;
    bool right = true;

    volume_up(&volume, "tiny256k");
    while (put(&volume, name_of(files), size, files) == NF2_OK) {
        files++;
    }
    CHECK(files > 120);         /* the first 60 are renamed in sessions that are cut */
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    for (unsigned i = 0; i < 60 && right; i++) {
        struct vflash_cut cut = { .operation = operation, .byte = 30 };
        struct vflash_checkpoint *before = vflash_save(volume.flash);
        char old[256];

        if (CHECK(before != NULL)) {
            right = goes_on(files);
            vflash_restore(volume.flash, before);
            vflash_release(before);
        }
        if (!right) {
            printf("  full of files of %u bytes: session %u, cut at operation %u\n", (unsigned)size, i, operation);
        }
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        vflash_cut_at(volume.flash, &cut);
        strcpy(old, name_of(i % files));
        if (nf2_rename(&volume.fs, old, name_of(7000 + i)) == NF2_OK) {
            (void)nf2_rename(&volume.fs, name_of(7000 + i), old);
        }
        vflash_cut_at(volume.flash, NULL);
        vflash_power_on(volume.flash);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    }
    volume_down(&volume, true);
}

TEST(next_block_fails_on_a_full_volume)
{
    for (unsigned operation = 1; operation <= 12; operation++) {
        for (uint32_t size = 100; size <= 500; size += 200) {
            full_volume(operation, size);
        }
    }
}

int main(void)
{
    RUN(next_block_fails);
    RUN(next_block_fails_on_a_full_volume);
    return check_done();
}
