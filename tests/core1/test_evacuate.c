/* SPDX-License-Identifier: BSD-2-Clause */
/* test_evacuate.c - data that moves out of blocks: cases that chance meets rarely. */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#include "src/census.h"
#include "src/evacuate.h"
#include "src/batch.h"
#include "src/content.h"
#include "src/meta.h"
#include "src/space.h"
#include "src/tree.h"

#define SIZE (64u * 1024u)

static uint8_t content[SIZE];

static void write_synced(struct volume *volume, uint32_t at, uint32_t size, uint8_t seed)
{
    for (uint32_t i = 0; i < size; i++) {
        content[at + i] = (uint8_t)(seed + i * 7u + i / 256u);
    }
    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, content + at, size), (int32_t)size);
    CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
}

static bool is_right(struct volume *volume)
{
    static uint8_t found[SIZE];

    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, 0, NF2_SEEK_SET), 0);
    CHECK_EQ(nf2_read(&volume->fs, &volume->file, found, SIZE), (int32_t)SIZE);
    return memcmp(found, content, SIZE) == 0;
}

static void begin(struct volume *volume)
{
    struct vflash_chip chip = *vflash_chip_find("w25q64");

    chip.size = 4u << 20;
    volume_new_on(volume, &chip);
    volume_format(volume);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "data", NF2_O_RDWR | NF2_O_CREAT, volume->page), NF2_OK);
    write_synced(volume, 0, SIZE, 1);
    write_synced(volume, 0, 4096, 2); /* with an index from here on, and a block begun */
}

static struct nf2_item item_at(struct volume *volume, uint32_t at)
{
    struct nf2_item item;
    uint32_t length;

    CHECK_EQ(nf2_index_map(&volume->fs, volume->file.id, at, &item, &length), NF2_OK);
    return item;
}

static void reopen(struct volume *volume)
{
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
    CHECK_EQ(nf2_space_return_unused(&volume->fs, NF2_SLOTS), NF2_OK);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "data", NF2_O_RDWR, volume->page), NF2_OK);
}

/*
 * Two pieces, the second one of the file in front of the first one in the blocks. It is moved first, to the block behind them: one
 * piece with what lies in front of it in the file, and on the chip. That was then put as it had been noted, without the other one.
 */
TEST(joined_to_one_that_waits)
{
    static struct volume volume;
    const uint32_t at = 16384, back = 6144, front = 2048;

    begin(&volume);
    write_synced(&volume, at, back, 3);
    write_synced(&volume, at - front, front, 4);
    struct nf2_item second = item_at(&volume, at), first = item_at(&volume, at - front);
    CHECK_EQ(second.within, 0);
    CHECK_EQ(first.block, second.block + 1u);
    CHECK_EQ(first.within, 2048);
    reopen(&volume);
    struct nf2_run run = {second.block, 2};
    struct nf2_victims victims = {2, 1, {(uint16_t)second.block}};
    CHECK_EQ(nf2_space_place(&volume.fs, NF2_TREE_SLOT, second.block + 2u, 4), 1);
    CHECK_EQ(nf2_evacuate_all(&volume.fs, volume.file.id, &victims), 0);
    CHECK(is_right(&volume));
    CHECK_EQ(nf2_evacuate_release(&volume.fs, volume.file.id, &run, NF2_NONE), 0);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/*
 * New content becomes indexed where the tree finds no block any more: its blocks were an orphan's by then, and the map of them was
 * refused. The handle went on with them as with its own, and the orphan was freed.
 */
TEST(index_without_room)
{
    static struct volume volume;
    static uint8_t data[65400];
    char name[32];
    uint32_t block;

    for (unsigned n = 150; n < 200; n++) { /* with one of these the leaf takes who owns the blocks, but not the map */
        volume_up(&volume, "w25q128");
        CHECK_EQ(nf2_mkdir(&volume.fs, "d"), NF2_OK);
        for (unsigned i = 0; i < n; i++) {
            snprintf(name, sizeof name, "d/%03u%.*s", i, (int)(i % 7), "abcdefgh");
            CHECK_EQ(nf2_mkdir(&volume.fs, name), NF2_OK);
        }
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, "data", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
        CHECK_EQ(nf2_preallocate(&volume.fs, &volume.file, 100000), NF2_OK);
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, sizeof data), (int32_t)sizeof data);
        CHECK_EQ(nf2_space_begin(&volume.fs), NF2_OK);
        while (nf2_space_tree_block(&volume.fs, &block) == NF2_OK) { /* all that the log does not keep for itself */
            nf2_space_settle(&volume.fs, NF2_TREE_SLOT);
        }
        CHECK(volume.fs.free_blocks <= nf2_meta_reserve(&volume.fs));
        CHECK_EQ(nf2_seek(&volume.fs, &volume.file, 0, NF2_SEEK_SET), 0);
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, 20), NF2_ERR_NOSPC);
        CHECK_EQ(nf2_space_flush(&volume.fs), NF2_OK);
        while (nf2_orphan_step(&volume.fs) > 0) {
        }
        CHECK_EQ(volume.fs.freed_count, 0);
        volume_down(&volume, false);
    }
}

#define MOVED "moves"

/*
 * A flat file of one block, which is bad and has a place: idle work moves it. Its leaf is filled, with one entry of so many bytes, until it has
 * room for the file's as a new one, and not for one that replaces another: true if that was met.
 */
static bool fill_leaf(struct volume *volume, uint32_t bytes)
{
    struct nf2_key key = nf2_key_of(NF2_ROOT_ID, MOVED, sizeof MOVED - 1u);
    struct nf2_node_op change;
    char name[16];

    volume_up(volume, "tiny2m");
    CHECK_EQ(put(volume, "stays", 600, 1), NF2_OK);
    CHECK_EQ(maintain_all(volume), 0);
    CHECK_EQ(put(volume, "other", 600, 1), NF2_OK);
    vflash_break_block(volume->flash, nf2_space_next(&volume->fs, 0), false);
    CHECK_EQ(put(volume, MOVED, 600, 2), NF2_OK);
    CHECK_EQ(volume->fs.bad_count, 1);
    nf2_op_put(&change, &key, NF2_BODY_FLAT, 10);
    for (unsigned i = 0; i < 40; i++) {
        int as_new = nf2_tree_fits(&volume->fs, &change, 1);
        change.kill = 1;
        int in_place = nf2_tree_fits(&volume->fs, &change, 1);
        change.kill = 0;
        if (as_new != in_place) {
            return true;
        }
        snprintf(name, sizeof name, "f%u", i);
        CHECK_EQ(put(volume, name, i < 12 ? 220 : i == 12 ? bytes : 1, 3), NF2_OK);
    }
    volume_down(volume, true);
    return false;
}

/* There the leaf was replaced between the copy of the block and its entry: a cut left the copy to nobody. */
TEST(copied_into_full_leaf)
{
    static struct volume volume;
    uint32_t bytes = 1;

    while (bytes < 250 && !fill_leaf(&volume, bytes)) {
        bytes++;
    }
    if (!CHECK(bytes < 250)) {
        return;
    }
    volume_down(&volume, true);
    for (uint64_t operation = 1; operation < 40; operation++) {
        struct vflash_cut cut = {.operation = operation};

        CHECK(fill_leaf(&volume, bytes));
        vflash_cut_at(volume.flash, &cut);
        (void)nf2_maintain(&volume.fs, 3000000);
        vflash_cut_at(volume.flash, NULL);
        vflash_power_on(volume.flash);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK(holds(&volume, MOVED, 600, 2));
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        volume_down(&volume, true);
    }
}

int main(void)
{
    RUN(index_without_room);
    RUN(joined_to_one_that_waits);
    RUN(copied_into_full_leaf);
    return check_done();
}
