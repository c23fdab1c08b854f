/* SPDX-License-Identifier: BSD-2-Clause */
/* test_bad_cut.c - blocks fail, and power is lost while they are put on record: the checker finds nothing wrong. */
#include <stdio.h>

#include "api_volume.h"
#include "check.h"
#include "repair/repair.h"

#define OPERATIONS 120u

static struct volume volume;
static unsigned failed;

/* The first three that are erased for something new. */
static void on_operation(void *context, const struct vflash_operation *operation)
{
    uint32_t block = operation->address / volume.driver.block_size;

    (void)context;
    if (operation->erase && failed < 3 && block >= 3 && block != volume.fs.root_next) {
        failed++;
        vflash_break_block(volume.flash, block, false);
    }
}

static bool nothing_wrong(void)
{
    struct repair_geometry geometry = {volume.driver.chip_size, volume.driver.block_size, volume.driver.program_unit};
    struct repair *repair = repair_open(vflash_memory(volume.flash), &geometry);
    bool right = CHECK(repair != NULL);

    for (unsigned i = 0; right && i < repair_findings(repair); i++) {
        if (repair_kind_wrong(repair_finding(repair, i)->kind)) {
            printf("  block %d: %s\n", (int)repair_finding(repair, i)->block, repair_finding(repair, i)->text);
        }
    }
    right = right && CHECK_EQ(repair_wrong(repair), 0);
    repair_close(repair);
    return right;
}

TEST(cut_while_blocks_go_on_record)
{
    char path[16];
    unsigned met = 0;

    for (unsigned operation = 1; operation <= OPERATIONS; operation++) {
        struct vflash_cut cut = {.operation = operation, .byte = operation % 3 * 20};
        volume_up(&volume, "tiny256k");
        failed = 0;
        vflash_watch(volume.flash, on_operation, NULL);
        vflash_cut_at(volume.flash, &cut);
        for (unsigned i = 0; i < 40; i++) {
            snprintf(path, sizeof path, "file%u", i % 9);
            (void)put(&volume, path, 5000, i);
        }
        vflash_watch(volume.flash, NULL, NULL);
        vflash_cut_at(volume.flash, NULL);
        vflash_power_on(volume.flash);
        met += failed;
        bool right = nothing_wrong();
        right = CHECK_EQ(volume_again(&volume, false), NF2_OK) && right;
        CHECK_EQ(put(&volume, "more", 5000, 7), NF2_OK);
        right = CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK) && nothing_wrong() && right;
        if (!right) {
            printf("  cut in operation %u, %u blocks failed\n", operation, failed);
        }
        volume_down(&volume, false);
    }
    CHECK(met > OPERATIONS);
}

int main(void)
{
    RUN(cut_while_blocks_go_on_record);
    return check_done();
}
