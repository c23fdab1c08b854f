/* SPDX-License-Identifier: BSD-2-Clause */
/* test_api_files_inside.c - calls on files where all blocks were taken behind the volume's back. See unit/test_api_files.c. */
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "src/space.h"

/* A file with so many pieces is cut where no block is left: what NF2_ERR_NOSPC says did not happen, did not happen. */
static void cut_on_full(unsigned pieces, bool synced)
{
    static struct volume volume;
    uint8_t data[40];
    uint32_t block, size;
    int status = NF2_OK;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(put(&volume, "other", 40000, 1), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "f", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
    memset(data, 0xA5, sizeof data);
    for (unsigned i = 0; i < pieces; i++) {
        CHECK_EQ(nf2_seek(&volume.fs, &volume.file, (int32_t)i * 1000, NF2_SEEK_SET), (int32_t)i * 1000);
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, sizeof data), (int32_t)sizeof data);
        CHECK_EQ(synced && i < 8 ? nf2_sync(&volume.fs, &volume.file) : NF2_OK, NF2_OK);
    }
    while (nf2_space_block(&volume.fs, NF2_WRITERS - 1u, NF2_REGION_BLOCKS, &block) == NF2_OK) {
    }
    uint32_t half = volume.file.size / 2u;
    for (size = volume.file.size; status == NF2_OK && size > half; size--) {
        status = nf2_truncate(&volume.fs, &volume.file, size - 1);
    }
    size += status != NF2_OK;
    CHECK_EQ(status, synced ? NF2_OK : NF2_ERR_NOSPC); /* what is to be cut of committed content takes no block, however often */
    CHECK_EQ(nf2_size(&volume.fs, &volume.file), size);
    CHECK_EQ(nf2_truncate(&volume.fs, &volume.file, size - 1), status);
    CHECK_EQ(nf2_space_abandon(&volume.fs, NF2_WRITERS - 1u, 0), NF2_OK);
    CHECK_EQ(nf2_remove(&volume.fs, "other"), NF2_OK);
    CHECK_EQ(nf2_truncate(&volume.fs, &volume.file, size - 1), NF2_OK);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(size_of(&volume, "f", &block), NF2_OK);
    CHECK_EQ(block, size - 1);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(cuts_on_full)
{
    for (unsigned pieces = 60; pieces <= 160; pieces += 20) {
        cut_on_full(pieces, false);
    }
    for (unsigned pieces = 18; pieces <= 98; pieces += 40) {
        cut_on_full(pieces, true);
    }
}

int main(void)
{
    RUN(cuts_on_full);
    return check_done();
}
