/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_places.c - reads of blocks behind a bad one. A part of a file may run over the ends of blocks, and only one of these has
 * another place.
 */
#include "api_volume.h"
#include "check.h"
#include "src/flash.h"
#include "src/index.h"

#define SIZE 20000u
#define PATCH_AT 5000u          /* what is overwritten, so that the rest is one piece of a map */
#define PATCH 300u

static uint8_t expected(uint32_t at)
{
    return content_byte(at - PATCH_AT < PATCH ? 8 : 7, at);
}

static void make_pieces(struct volume *volume)
{
    uint8_t patch[PATCH];

    CHECK_EQ(put(volume, "pieces", SIZE, 7), NF2_OK);
    for (uint32_t i = 0; i < PATCH; i++) {
        patch[i] = expected(PATCH_AT + i);
    }
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "pieces", NF2_O_RDWR, volume->page), NF2_OK);
    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, PATCH_AT, NF2_SEEK_SET), (int)PATCH_AT);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, patch, PATCH), (int)PATCH);
    CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
}

/* Whether some bytes at `at` are read as they are. */
static bool reads_right(struct volume *volume, uint32_t at)
{
    uint8_t data[16];
    bool right = nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET) == (int32_t)at;

    right = right && nf2_read(&volume->fs, &volume->file, data, sizeof data) == (int32_t)sizeof data;
    for (uint32_t i = 0; right && i < sizeof data; i++) {
        right = data[i] == expected(at + i);
    }
    return right;
}

/* What lies in a block is to be found in another one, which is not erased for that: there is no writing behind this. */
static void lead_to(struct volume *volume, uint32_t block, uint32_t by)
{
    uint32_t bytes = nf2_block_bytes(&volume->fs);
    uint8_t *memory = vflash_memory(volume->flash);

    memcpy(memory + by * bytes, memory + block * bytes, bytes);
    memset(memory + block * bytes, 0, bytes);
    volume->fs.bad[0].block = (uint16_t)block;
    volume->fs.bad[0].by = (uint16_t)by;
    volume->fs.bad_count = 1;
}

/*
 * The first block of a piece has its place in front of the leaf with the file's map, which the window shows when the piece is
 * read: bytes of the piece's next block are not those of the leaf.
 */
TEST(window_behind_a_place)
{
    struct volume volume;
    struct nf2_item item;
    uint32_t length;

    volume_up(&volume, "tiny256k");
    make_pieces(&volume);
    CHECK_EQ(nf2_index_map(&volume.fs, volume.file.id, PATCH_AT + PATCH, &item, &length), NF2_OK);
    CHECK(item.within + item.length > 2u * nf2_block_bytes(&volume.fs)); /* it runs on over the ends of blocks */
    CHECK_EQ(nf2_node_level(&volume.fs, volume.fs.root), 0);
    lead_to(&volume, item.block, volume.fs.root - 1u);
    for (uint32_t at = 0; at + 16u <= SIZE; at += 16u) {
        CHECK(reads_right(&volume, at));
    }
    volume_down(&volume, false);
}

int main(void)
{
    RUN(window_behind_a_place);
    return check_done();
}
