/* SPDX-License-Identifier: BSD-2-Clause */
/* test_read_on.c - reading on in files whose content lies in many pieces, with unsynced writes among them. */
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define SIZE (64u * 1024u)
#define PIECE 128u              /* some leaves of a map */
#define ROUNDS 600u

static uint8_t content[SIZE];
static uint32_t state;

static uint32_t below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

static void write_some(struct volume *volume, uint32_t at, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        content[at + i] = (uint8_t)(1u + below(255));
    }
    CHECK(nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET) >= 0);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, content + at, length), (int32_t)length);
}

/* From where the handle is. */
static void read_some(struct volume *volume, uint32_t length)
{
    static uint8_t data[SIZE];
    int32_t at = nf2_tell(&volume->fs, &volume->file);

    CHECK(at >= 0);
    CHECK_EQ(nf2_read(&volume->fs, &volume->file, data, length), (int32_t)length);
    CHECK(memcmp(data, content + at, length) == 0);
}

static void in_pieces(struct volume *volume)
{
    struct vflash_chip chip = *vflash_chip_find("w25q128");

    state = 7;
    chip.size = 1u << 20;
    volume_new_on(volume, &chip);
    volume_format(volume);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "f", NF2_O_RDWR | NF2_O_CREAT, volume->page), NF2_OK);
    write_some(volume, 0, SIZE);
    CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
    for (uint32_t i = 0; i < 3u * SIZE / PIECE; i++) {
        write_some(volume, below(SIZE / PIECE) * PIECE, PIECE);
        CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
    }
}

/* A read that goes on where the last one ended begins in what is not synced, and looks at the map behind that: in another leaf, maybe. */
static void behind_unsynced(uint32_t length)
{
    struct volume volume;

    in_pieces(&volume);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t at = 2048u + below(SIZE - 8192u);
        write_some(&volume, at, length);
        CHECK(nf2_seek(&volume.fs, &volume.file, (int32_t)(at - 1024u), NF2_SEEK_SET) >= 0);
        read_some(&volume, 1024u + below(length));
        read_some(&volume, length + 1024u);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
    }
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    volume_down(&volume, true);
}

TEST(behind_unsynced_pieces)
{
    behind_unsynced(2048);
}

TEST(behind_the_buffer)
{
    behind_unsynced(200);
}

/* One handle reads on while another one overwrites what lies ahead of it, and idle work moves it. */
TEST(behind_changes)
{
    struct volume volume;
    nf2_file_t reader;
    uint8_t data[1024];

    in_pieces(&volume);
    CHECK_EQ(nf2_open(&volume.fs, &reader, "f", NF2_O_RDONLY, NULL), NF2_OK);
    for (uint32_t i = 0, at = 0; i < ROUNDS; i++, at = (at + sizeof data) % SIZE) {
        if (i % 3u == 1u) {
            write_some(&volume, (at + below(2048)) % (SIZE - 512u), PIECE + below(200));
            CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
        } else if (i % 3u == 2u) {
            CHECK(nf2_maintain(&volume.fs, 200000) >= 0);
        }
        CHECK(at > 0 || nf2_seek(&volume.fs, &reader, 0, NF2_SEEK_SET) >= 0);
        CHECK_EQ(nf2_read(&volume.fs, &reader, data, sizeof data), (int32_t)sizeof data);
        CHECK(memcmp(data, content + at, sizeof data) == 0);
    }
    CHECK_EQ(nf2_close(&volume.fs, &reader), NF2_OK);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(behind_unsynced_pieces);
    RUN(behind_the_buffer);
    RUN(behind_changes);
    return check_done();
}
