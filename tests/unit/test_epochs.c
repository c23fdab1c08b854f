/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_epochs.c - a device that is never unmounted: each boot writes, and loses power. The numbers of epochs come round after
 * 4,096 of them. What was synced before is there as it was, and can be changed, in each boot.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define BOOTS 4400u

static struct volume volume;

static void set(const char *name, uint32_t seed)
{
    CHECK_EQ(put(&volume, name, 40, seed), NF2_OK);
}

/* What each boot does: one more line of a log. */
static void boot(void)
{
    static uint8_t line[18];

    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "log", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, volume.page), NF2_OK);
    CHECK_EQ(nf2_write(&volume.fs, &volume.file, line, sizeof line), (int)sizeof line);
    CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
}

/* A leaf that is changed in two boots with others between them, and rests from then on, but for one change when epochs come round. */
static void rest(unsigned names, unsigned between)
{
    struct nf2_health health;
    char name[32];

    volume_new(&volume, "w25q256");
    volume.config.size = 4u << 20; /* so large that no walk writes the leaf anew */
    volume_format(&volume);
    CHECK_EQ(nf2_mkdir(&volume.fs, "cfg"), NF2_OK);
    for (unsigned i = 0; i < names; i++) {
        snprintf(name, sizeof name, "cfg/item%02u", i);
        set(name, i);
    }
    for (unsigned i = 0; i < 80; i++) {
        snprintf(name, sizeof name, "other%02u", i);
        set(name, i);
    }
    boot();
    set("cfg/item04", 100);
    for (unsigned i = 0; i <= between; i++) {
        boot();
    }
    set("cfg/item04", 101);
    for (unsigned i = 0; i < BOOTS; i++) {
        boot();
        if (i == 4093u) {
            set("cfg/item03", 102);
        }
        bool right = holds(&volume, "cfg/item04", 40, 101) && holds(&volume, "cfg/item03", 40, i < 4093u ? 3 : 102);
        if (!CHECK(right)) {
            printf("  boot %u, %u names, %u boots between\n", i, names, between);
            break;
        }
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(nf2_health(&volume.fs, &health), NF2_OK);
    CHECK_EQ(health.mounts_unclean, BOOTS + 2u + between);
    volume_down(&volume, true);
}

TEST(come_round)
{
    rest(33, 0);
    rest(39, 2);
    rest(39, 4);
}

int main(void)
{
    RUN(come_round);
    return check_done();
}
