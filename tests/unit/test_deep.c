/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_deep.c - a tree of four levels: long names that differ at their ends only make long keys, so that each node has few children.
 * Names in random order, listed, found, left by a cut, checked, removed, merged again.
 */
#include <stdlib.h>

#include "api_volume.h"
#include "calls.h"
#include "check.h"

#include "core_traits.h"

#define FILES 1800u
#define PREFIX 236u             /* bytes that all names share */

static char names[FILES][NF2_NAME_MAX + 1];

/* The names of all numbers below FILES, in this order; a seeded order of them. */
static int by_name(const void *a, const void *b)
{
    return core_name_order(a, b);
}

/* In the order in which a directory lists them. */
static void make_names(uint32_t *order)
{
    uint64_t random = 5;

    for (uint32_t i = 0; i < FILES; i++) {
        memset(names[i], 'n', PREFIX);
        snprintf(names[i] + PREFIX, sizeof names[i] - PREFIX, "%06u", (unsigned)i);
        order[i] = i;
    }
    qsort(names, FILES, sizeof names[0], by_name);
    for (uint32_t i = FILES; i > 1; i--) {
        uint32_t other = random_number(&random, i), kept = order[i - 1];

        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* Lists the root; every name with `there` set, in order, and nothing else. */
static bool lists(struct volume *volume, const bool *there)
{
    struct nf2_dirent entry;
    nf2_dir_t dir;
    uint32_t at = 0;

    CHECK_EQ(nf2_opendir(&volume->fs, &dir, "/"), NF2_OK);
    while (nf2_readdir(&volume->fs, &dir, &entry) > 0) {
        while (at < FILES && !there[at]) {
            at++;
        }
        if (at == FILES || strcmp(entry.name, names[at]) != 0 || entry.size != at % 7) {
            return false;
        }
        at++;
    }
    while (at < FILES && !there[at]) {
        at++;
    }
    return nf2_closedir(&volume->fs, &dir) == NF2_OK && at == FILES;
}

static bool all_found(struct volume *volume, const bool *there)
{
    for (uint32_t i = 0; i < FILES; i++) {
        if (size_of(volume, names[i], NULL) != (there[i] ? NF2_OK : NF2_ERR_NOENT)) {
            return false;
        }
    }
    return true;
}

static void judge(struct volume *volume, const bool *there)
{
    CHECK(lists(volume, there));
    CHECK(all_found(volume, there));
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
}

TEST(deep_tree)
{
    static uint32_t order[FILES];
    static bool there[FILES];
    static struct volume volume;
    struct nf2_statfs fresh, emptied;

    make_names(order);
    volume_up(&volume, "tiny2m");
    CHECK_EQ(nf2_statfs(&volume.fs, &fresh), NF2_OK);
    for (uint32_t i = 0; i < FILES; i++) {
        CHECK_EQ(put(&volume, names[order[i]], order[i] % 7, order[i]), NF2_OK);
        there[order[i]] = true;
    }
    CHECK(core_root_level(&volume.fs) >= CORE_DEEP_LEVEL);
    judge(&volume, there);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    judge(&volume, there);

    /* Every name but one of fifty goes: leaves merge, inner nodes too, the tree gets lower. */
    for (uint32_t i = 0; i < FILES; i++) {
        if (order[i] % 50 != 0) {
            CHECK_EQ(nf2_remove(&volume.fs, names[order[i]]), NF2_OK);
            there[order[i]] = false;
        }
        if (i % 97 == 0) {
            CHECK(nf2_maintain(&volume.fs, 3000) >= 0);
        }
    }
    judge(&volume, there);
    CHECK_EQ(maintain_all(&volume), NF2_OK);
    CHECK(core_root_level(&volume.fs) <= 2);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    judge(&volume, there);

    for (uint32_t i = 0; i < FILES; i += 50) {
        CHECK_EQ(nf2_remove(&volume.fs, names[i]), NF2_OK);
        there[i] = false;
    }
    CHECK_EQ(maintain_all(&volume), NF2_OK);
    judge(&volume, there);
    CHECK_EQ(nf2_statfs(&volume.fs, &emptied), NF2_OK);
    CHECK(emptied.blocks_free + 12 >= fresh.blocks_free);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(deep_tree);
    return check_done();
}
