/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_first_change.c - a used volume on a device that loses power often: the first change of a session does not wait for a node's
 * erase, and it is durable; the next change of the session, or the mount behind a cut, goes on with it.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define FILES 300u
#define SESSIONS 400u

static struct volume volume;

/* Pages that listings read. */
static struct { uint64_t pages, listings; } waiting, applied;

static uint64_t erases(void)
{
    const struct vflash_counts *counts = vflash_counts(volume.flash);

    return counts->erases[0] + counts->erases[1] + counts->erases[2];
}

static const char *name_of(unsigned i)
{
    static char name[32];

    snprintf(name, sizeof name, "setting of part %03u", i);
    return name;
}

/* Each block was used: none is known to be erased. */
static void use_up(uint32_t *seed)
{
    volume_new(&volume, "w25q256");
    volume.config.size = 4u << 20;
    volume_format(&volume);
    for (unsigned i = 0; i < FILES; i++) {
        seed[i] = i;
        CHECK_EQ(put(&volume, name_of(i), 60, seed[i]), NF2_OK);
    }
    for (unsigned i = 0; i < 60; i++) {
        CHECK_EQ(put(&volume, "large", 100000, i), NF2_OK);
    }
}

enum end { CUT_AT_ONCE, ONE_MORE, IDLE, UNMOUNT, ENDS };

static void session(uint32_t *seed, unsigned number, unsigned *first, unsigned *second)
{
    unsigned a = number * 7 % FILES, b = (number * 7 + 150) % FILES;
    uint64_t before = erases();
    nf2_dir_t dir;
    struct nf2_dirent entry;
    unsigned listed = 0;

    seed[a] += 1000;
    CHECK_EQ(put(&volume, name_of(a), 60, seed[a]), NF2_OK);
    /* a cut took what was erased, and idle time had applied the last session's change */
    *first += number % ENDS == IDLE + 1 && erases() > before;
    CHECK(holds(&volume, name_of(a), 60, seed[a]) && holds(&volume, name_of(b), 60, seed[b]));
    uint64_t read = vflash_counts(volume.flash)->read_pages;
    CHECK_EQ(nf2_opendir(&volume.fs, &dir, "/"), NF2_OK);
    while (nf2_readdir(&volume.fs, &dir, &entry) > 0) {
        listed++;
    }
    CHECK_EQ(nf2_closedir(&volume.fs, &dir), NF2_OK);
    CHECK_EQ(listed, FILES + 1);
    *(volume.fs.group_busy ? &waiting.listings : &applied.listings) += 1;
    *(volume.fs.group_busy ? &waiting.pages : &applied.pages) += vflash_counts(volume.flash)->read_pages - read;
    before = erases();
    if (number % ENDS == ONE_MORE) {
        seed[b] += 1000;
        CHECK_EQ(put(&volume, name_of(b), 60, seed[b]), NF2_OK);
    } else if (number % ENDS == IDLE) {
        CHECK(nf2_maintain(&volume.fs, 400000) >= 0);
    }
    *second += erases() > before;
    CHECK_EQ(volume_again(&volume, number % ENDS == UNMOUNT), NF2_OK);
    CHECK(holds(&volume, name_of(a), 60, seed[a]) && holds(&volume, name_of(b), 60, seed[b]));
}

TEST(without_an_erase)
{
    static uint32_t seed[FILES];
    unsigned first = 0, second = 0;
    struct nf2_health health;

    use_up(seed);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    for (unsigned i = 0; i < SESSIONS; i++) {
        session(seed, i, &first, &second);
    }
    for (unsigned i = 0; i < FILES; i++) {
        CHECK(holds(&volume, name_of(i), 60, seed[i]));
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(nf2_health(&volume.fs, &health), NF2_OK);
    CHECK_EQ(health.mounts_unclean, 1 + SESSIONS - SESSIONS / ENDS); /* one that was unmounted is none */
    printf("sessions %u: of %u behind a cut the first change erased in %u, what followed in %u\n", SESSIONS, SESSIONS / ENDS, first, second);
    CHECK(waiting.listings > 0 && applied.listings > 0);
    printf("a listing reads %lu pages, %lu while the change waits\n", (unsigned long)(applied.pages / applied.listings),
           (unsigned long)(waiting.pages / waiting.listings));
    CHECK(first <= SESSIONS / ENDS / 5); /* by the root log, which goes on in another block */
    CHECK(second > SESSIONS / 20); /* else nothing was put off */
    volume_down(&volume, true);
}

/* Sessions behind it that only read change nothing on the chip. Idle time puts it on record as done, so that no later session does it again. */
TEST(readers_only_look)
{
    static uint32_t seed[FILES];
    unsigned waited = 0;

    use_up(seed);
    for (unsigned i = 0; i < 100; i++) {
        unsigned a = i * 7 % FILES;
        seed[a] += 1000;
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK_EQ(put(&volume, name_of(a), 60, seed[a]), NF2_OK);
        bool waits = volume.fs.group_busy != 0;
        waited += waits;
        uint64_t before = chip_changes(volume.flash);
        for (unsigned boot = 0; boot < 3; boot++) {
            CHECK_EQ(volume_again(&volume, false), NF2_OK);
            CHECK(holds(&volume, name_of(a), 60, seed[a]) && holds(&volume, name_of((a + 150) % FILES), 60, seed[(a + 150) % FILES]));
        }
        CHECK_EQ(chip_changes(volume.flash) - before, 0);
        CHECK(waits == (volume.fs.group_busy != 0));
        CHECK_EQ(maintain_all(&volume), NF2_OK);
        CHECK(volume.fs.group_busy == 0 && volume.fs.group_at == 0);
        CHECK(holds(&volume, name_of(a), 60, seed[a]));
    }
    CHECK(waited > 10);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(without_an_erase);
    RUN(readers_only_look);
    return check_done();
}
