/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bad_inside.c - blocks that fail for good, chosen by what the core has in them: a leaf, the head of the meta log, the last free
 * block. See unit/test_bad.c.
 */
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "src/space.h"

static uint32_t bad_blocks(struct volume *volume)
{
    struct nf2_statfs stat;
    struct nf2_health health;

    CHECK_EQ(nf2_statfs(&volume->fs, &stat), NF2_OK);
    CHECK_EQ(nf2_health(&volume->fs, &health), NF2_OK);
    CHECK_EQ(stat.blocks_bad, health.blocks_bad);
    return stat.blocks_bad;
}

/* What lies in a bad block for long is moved by idle work, and the block is on record as bad then, also for the next mount. */
TEST(idle_work_moves)
{
    struct volume volume;
    struct nf2_statfs before, after;
    uint8_t byte = 0x5A;

    volume_up(&volume, "tiny2m");
    CHECK_EQ(put(&volume, "kept", 50000, 3), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "log", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_OK);
    CHECK_EQ(nf2_write(&volume.fs, &volume.file, &byte, 1), 1);
    CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(nf2_statfs(&volume.fs, &before), NF2_OK);
    uint32_t leaf = volume.fs.root;
    vflash_break_block(volume.flash, leaf, false);
    CHECK_EQ(put(&volume, "small", 30, 4), NF2_OK);
    CHECK_EQ(volume.fs.root, leaf);
    CHECK_EQ(bad_blocks(&volume), 0);
    CHECK_EQ(nf2_block_state(&volume.fs, leaf, NULL), NF2_BLOCK_USED);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK(holds(&volume, "small", 30, 4) && holds(&volume, "kept", 50000, 3));
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(bad_blocks(&volume), 1);
    CHECK_EQ(nf2_block_state(&volume.fs, leaf, NULL), NF2_BLOCK_BAD);
    CHECK_EQ(nf2_statfs(&volume.fs, &after), NF2_OK);
    CHECK(after.blocks_free + 2 >= before.blocks_free); /* the bad one; the meta log may be longer by one */
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(bad_blocks(&volume), 1);
    CHECK(holds(&volume, "small", 30, 4) && holds(&volume, "kept", 50000, 3));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/*
 * The log's head turns out to be bad where blocks were erased and are to be on record as that: the log turns before they are, and takes
 * a free block. It was one of those, which was then on record as free.
 */
static void break_head(void *context, const struct vflash_operation *operation)
{
    const struct volume *volume = context;

    if (operation->erase) {
        vflash_break_block(volume->flash, volume->fs.meta_head, false);
        vflash_watch(volume->flash, NULL, NULL);
    }
}

TEST(head_behind_an_erase)
{
    struct volume volume;

    volume_new(&volume, "tiny256k");
    volume.driver.large_erase_size = 0;
    volume_format(&volume);
    CHECK_EQ(put(&volume, "kept", 30, 1), NF2_OK);
    CHECK_EQ(volume_again(&volume, false), NF2_OK); /* nothing is claimed, nor erased */
    vflash_watch(volume.flash, break_head, &volume);
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(put(&volume, "more", 50000, 2), NF2_OK);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK(holds(&volume, "kept", 30, 1) && holds(&volume, "more", 50000, 2));
    volume_down(&volume, true);
}

/*
 * The last free block, which the log keeps for its first turn, is lost, and then the log's head: what was to go on record was in memory
 * already, and the next call took it for recorded. Now nothing more is written.
 */
TEST(no_block_for_a_turn)
{
    struct volume volume;
    uint32_t block, leaf;
    int status;

    volume_up(&volume, "tiny128k");
    CHECK_EQ(put(&volume, "flat", 5000, 1), NF2_OK);
    leaf = volume.fs.root;
    for (char name[3] = "aa"; volume.fs.root == leaf && name[1] <= 'z'; name[1]++) { /* the new leaves are not listed as touched */
        CHECK_EQ(put(&volume, name, 200, 2), NF2_OK);
    }
    CHECK_EQ(volume.fs.touched_count, 0);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "new", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_OK);
    do {
        status = nf2_space_block(&volume.fs, volume.file.slot, 1, &block);
    } while (status == NF2_OK);
    CHECK_EQ(status, NF2_ERR_NOSPC);
    CHECK_EQ(volume.fs.free_blocks, 1);
    vflash_break_at(volume.flash, 1, false); /* where idle work erases it */
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(bad_blocks(&volume), 1);
    CHECK_EQ(volume.fs.free_blocks, 0);
    vflash_break_block(volume.flash, volume.fs.meta_head, false);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(nf2_remove(&volume.fs, "flat"), NF2_ERR_IO);
    }
    CHECK(holds(&volume, "flat", 5000, 1));
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_ERR_IO);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_IO);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_OK);
    CHECK(holds(&volume, "flat", 5000, 1));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(head_behind_an_erase);
    RUN(no_block_for_a_turn);
    RUN(idle_work_moves);
    return check_done();
}
