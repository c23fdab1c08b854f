/* SPDX-License-Identifier: BSD-2-Clause */
/* test_merge_inside.c - leaves are merged where a write lacks space and the core has just emptied a nearly full block. */
#include <stdio.h>

#include "api_volume.h"
#include "check.h"

static void put_names(struct volume *volume, const char *format, uint32_t count, uint32_t size)
{
    char name[32];

    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, format, (unsigned)i);
        CHECK_EQ(put(volume, name, size, i), NF2_OK);
    }
}

static uint32_t available(struct volume *volume)
{
    struct nf2_statfs stat;

    CHECK_EQ(nf2_statfs(&volume->fs, &stat), NF2_OK);
    return stat.blocks_available;
}

/* Leaves that got sparse without a removal are merged for a write that lacks space, also where a removal elsewhere has just been noted. */
TEST(a_write_that_lacks_space)
{
    static struct volume volume;
    static uint8_t data[49152];

    volume_up(&volume, "w25q80");
    put_names(&volume, "a-file-%05u", 600, 180);
    put_names(&volume, "z-file-%05u", 300, 180);
    CHECK_EQ(maintain_all(&volume), NF2_OK);
    for (uint32_t size = 0; size < 3; size++) {
        put_names(&volume, "a-file-%05u", 600, size);
    }
    CHECK_EQ(maintain_all(&volume), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "m-data", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_OK);
    while (available(&volume) > 8) {
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, 4096), 4096);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
    }
    CHECK_EQ(maintain_all(&volume), NF2_OK);
    CHECK_EQ(nf2_remove(&volume.fs, "z-file-00150"), NF2_OK);
    volume.fs.compact_live = 15; /* as after a block was emptied that was nearly full */
    CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, sizeof data), (int32_t)sizeof data);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(a_write_that_lacks_space);
    return check_done();
}
