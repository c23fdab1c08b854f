/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_anchors.c - the newest anchor cannot be read: a bit of it turned over, or its super block is lost. The volume is what it was, or
 * the mount says that it is not; it is never an older one. Format 2: FORMAT.md, sections 2, 3 and 9.
 */
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "calls.h"
#include "check.h"

#define ANCHOR 24u              /* bytes */
#define SUPERS 3u

static const struct damage {
    const char *what;
    bool block;                 /* the whole super block, else the record */
    uint8_t flip, set;          /* bits that turn over, bits that become 0 */
} damages[] = {
    {"a bit of the anchor turned over", false, 0x04, 0},
    {"the anchor is noise", false, 0x55, 0},
    {"the super block is erased", true, 0, 0},
    {"the super block is 0", true, 0, 0xFF},
};
#define DAMAGES (sizeof damages / sizeof damages[0])

static struct {
    unsigned newest, refused, older;
} tally[DAMAGES];

static uint32_t get32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Where the newest anchor lies; how many there are. */
static unsigned newest_anchor(const struct volume *volume, uint32_t *at)
{
    const struct vflash_chip *chip = vflash_chip_of(volume->flash);
    const uint8_t *bytes = vflash_memory(volume->flash);
    uint32_t sequence = 0;
    unsigned count = 0;

    for (uint32_t i = 0; i + ANCHOR < SUPERS * chip->block_size; i++) {
        if (memcmp(bytes + i, "NF2F\3", 5) == 0) {
            count++;
            *at = get32(bytes + i + 20) > sequence ? i : *at;
            sequence = get32(bytes + *at + 20);
        }
    }
    return count;
}

static void apply(const struct volume *volume, const struct damage *damage, uint32_t anchor)
{
    uint8_t *bytes = vflash_memory(volume->flash);
    uint32_t block = vflash_chip_of(volume->flash)->block_size, from = damage->block ? anchor / block * block : anchor + 16;
    uint32_t length = damage->block ? block : damage->flip == 0x04 ? 1 : 11;

    for (uint32_t i = from; i < from + length; i++) {
        bytes[i] = damage->block ? (uint8_t)~damage->set : bytes[i] ^ damage->flip;
    }
}

/* What the volume holds says how old it is. It goes on from there, and the next mount finds that. */
static bool newest(struct volume *volume, uint32_t step)
{
    if (!holds(volume, "count", 40 + step % 3, step)) {
        return false;
    }
    CHECK_EQ(put(volume, "count", 50, step + 1), NF2_OK);
    CHECK_EQ(put(volume, "more", 5000, step + 1), NF2_OK);
    CHECK_EQ(volume_again(volume, step % 2 == 0), NF2_OK);
    CHECK(holds(volume, "count", 50, step + 1) && holds(volume, "more", 5000, step + 1));
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    return true;
}

/* Each call of the driver in a mount fails once: then it says so, or the newest log is found in spite of it. */
static void fail_each(struct volume *volume, const struct vflash_checkpoint *before, const struct damage *damage, uint32_t step)
{
    uint32_t anchor = 0;
    uint64_t failed = 0;

    (void)newest_anchor(volume, &anchor);
    for (uint64_t at = 1, last = 0; failed != last || at == 1; at++) {
        apply(volume, damage, anchor);
        last = vflash_failed(volume->flash);
        vflash_fail_at(volume->flash, at);
        int result = volume_again(volume, false);
        failed = vflash_failed(volume->flash);
        vflash_fail_at(volume->flash, 0);
        CHECK(result == NF2_OK || result == NF2_ERR_CORRUPT || (result == NF2_ERR_IO && failed != last));
        CHECK(result != NF2_OK || holds(volume, "count", 40 + step % 3, step));
        vflash_restore(volume->flash, before);
    }
}

static void look(struct volume *volume, uint32_t step)
{
    struct vflash_checkpoint *before = vflash_save(volume->flash);
    uint32_t anchor = 0;

    if (newest_anchor(volume, &anchor) < 2 || !CHECK(before != NULL)) {
        vflash_release(before);
        return;
    }
    for (unsigned i = 0; i < DAMAGES; i++) {
        apply(volume, &damages[i], anchor);
        int result = volume_again(volume, false);
        if (result != NF2_OK) {
            CHECK(result == NF2_ERR_CORRUPT || result == NF2_ERR_FOREIGN || result == NF2_ERR_BLANK);
            tally[i].refused++;
        } else if (newest(volume, step)) {
            tally[i].newest++;
        } else {
            tally[i].older++;
        }
        vflash_restore(volume->flash, before);
    }
    if (step % 60 == 0) {
        fail_each(volume, before, &damages[0], step);
    }
    vflash_release(before);
}

/* Sessions, some of them cut; the volume is looked at between any two. */
static void run(const char *chip, uint32_t steps)
{
    static struct volume volume;
    char path[16];
    bool right = true;

    memset(tally, 0, sizeof tally);
    volume_up(&volume, chip);
    for (uint32_t step = 0; step < steps && right; step++) {
        snprintf(path, sizeof path, "f%u", (unsigned)(step * 7 % 5));
        right = CHECK_EQ(put(&volume, path, 100 + step * 37 % 9000, step), NF2_OK) &&
                CHECK_EQ(put(&volume, "count", 40 + step % 3, step), NF2_OK) && CHECK_EQ(volume_again(&volume, step % 4 == 0), NF2_OK);
        if (step % 3 == 0) {
            look(&volume, step);
        }
        right = right && CHECK_EQ(volume_again(&volume, false), NF2_OK) && CHECK(holds(&volume, "count", 40 + step % 3, step));
    }
    for (unsigned i = 0; i < DAMAGES; i++) {
        printf("%s, %s: %u as they were, %u refused, %u older\n", chip, damages[i].what, tally[i].newest, tally[i].refused, tally[i].older);
        CHECK_EQ(tally[i].older, 0);
        CHECK(tally[i].newest > 0);
    }
    CHECK(vflash_violation(volume.flash) == NULL);
    volume_down(&volume, true);
}

/* A session in which a file is written. */
static int session(struct volume *volume, uint32_t step)
{
    int result = volume_again(volume, false);

    if (result == NF2_OK) {
        int put_result = put(volume, "count", 50 + step % 3, step), unmounted = nf2_unmount(&volume->fs);
        result = put_result != NF2_OK ? put_result : unmounted;
    }
    return result;
}

/* Each call of the driver in such a session fails once: how often, 0 if something is wrong. */
static unsigned fail_each_in_session(struct volume *volume, const struct vflash_checkpoint *before, uint32_t step)
{
    uint64_t failed = 0, last = 1;
    uint32_t at = 0;

    while (failed != last) {
        vflash_restore(volume->flash, before);
        last = vflash_failed(volume->flash);
        vflash_fail_at(volume->flash, ++at);
        int result = session(volume, step);
        failed = vflash_failed(volume->flash);
        vflash_fail_at(volume->flash, 0);
        if (!CHECK(result == NF2_OK || (result == NF2_ERR_IO && failed != last)) || !CHECK(vflash_violation(volume->flash) == NULL) ||
            !CHECK_EQ(volume_again(volume, false), NF2_OK) ||
            !CHECK(holds(volume, "count", 50 + step % 3, step) || (result != NF2_OK && holds(volume, "count", 50 + (step - 1) % 3, step - 1))) ||
            !CHECK_EQ(put(volume, "count", 50 + step % 3, step), NF2_OK)) {
            printf("    step %u, operation %u\n", (unsigned)step, (unsigned)at);
            return 0;
        }
    }
    return at - 1;
}

/*
 * The driver fails in sessions that write an anchor behind more of them than a page takes. What is programmed then must not lie on
 * anchors that could not be read, and the file is what it was before or behind the session.
 */
TEST(driver_fails_beside_anchors)
{
    static struct volume volume;
    unsigned sessions = 0, failures = 0, failed = 1;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    CHECK_EQ(session(&volume, 0), NF2_OK);
    for (uint32_t step = 1; step < 1500 && sessions < 12 && failed > 0; step++) {
        struct vflash_checkpoint *before = vflash_save(volume.flash);
        uint32_t anchor = 0;
        unsigned anchors = newest_anchor(&volume, &anchor);
        CHECK_EQ(session(&volume, step), NF2_OK);
        if (anchors > 24 && newest_anchor(&volume, &anchor) > anchors) {
            struct vflash_checkpoint *behind = vflash_save(volume.flash);
            sessions++;
            failed = fail_each_in_session(&volume, before, step);
            failures += failed;
            vflash_restore(volume.flash, behind);
            vflash_release(behind);
        }
        vflash_release(before);
    }
    printf("%u sessions, %u failed operations\n", sessions, failures);
    CHECK(sessions == 12 && failures > 200);
    volume_down(&volume, false);
}

/*
 * Two super blocks fail, and power is lost in most sessions: no anchor goes where a cut may have torn one, until the last super block
 * takes no more. Then the volume still mounts, and holds what was synced. How many sessions wrote.
 */
static unsigned last_super_block(const char *chip, uint64_t seed)
{
    static struct volume volume;
    uint32_t synced = 0, anchor = 0;
    unsigned sessions = 0;

    volume_up(&volume, chip);
    CHECK_EQ(put(&volume, "count", 50, 0), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    (void)newest_anchor(&volume, &anchor);
    for (uint32_t block = 0; block < SUPERS; block++) {
        if (block != anchor / vflash_chip_of(volume.flash)->block_size) {
            vflash_break_block(volume.flash, block, false);
        }
    }
    for (uint32_t step = 1; step < 3000; step++) {
        struct vflash_cut cut = {.operation = random_number(&seed, 12), .erase = VFLASH_ERASE_DONE, .seed = step};
        cut.byte = random_number(&seed, 2) * random_number(&seed, 140); /* 0: no trace of the program is left */
        cut.erase = random_number(&seed, 3) == 0 ? VFLASH_ERASE_UNSTABLE : VFLASH_ERASE_DONE;
        vflash_cut_at(volume.flash, &cut);
        int result = session(&volume, step);
        bool off = cut.operation > 0 && vflash_operations(volume.flash) >= cut.operation;
        vflash_power_on(volume.flash);
        vflash_cut_at(volume.flash, NULL);
        if (!CHECK(result == NF2_OK || result == NF2_ERR_IO) || !CHECK(vflash_violation(volume.flash) == NULL) ||
            !CHECK_EQ(volume_again(&volume, false), NF2_OK)) {
            printf("    %s, session %u\n", chip, (unsigned)step);
            break;
        }
        bool now = holds(&volume, "count", 50 + step % 3, step);
        if (!CHECK(now || (result != NF2_OK && holds(&volume, "count", 50 + synced % 3, synced)))) {
            break;
        }
        synced = now ? step : synced;
        sessions++;
        if (result != NF2_OK && !off) {
            break;
        }
    }
    volume_down(&volume, false);
    return sessions;
}

TEST(last_super_block_and_cuts)
{
    static const char *const chips[] = {"tiny256k", "tinyecc16", "tiny512"};

    for (unsigned i = 0; i < sizeof chips / sizeof chips[0]; i++) {
        unsigned sessions = 0;
        for (uint64_t seed = 1; seed <= 60; seed++) {
            sessions += last_super_block(chips[i], seed);
        }
        printf("%s: %u sessions with one super block\n", chips[i], sessions);
        CHECK(sessions > 600);
    }
}

TEST(units_of_a_byte)
{
    run("tiny256k", 800);
}

TEST(units_written_once)
{
    run("tinyecc16", 200);
}

TEST(smallest_volume)
{
    run("tiny128k", 800);
}

TEST(large_pages)
{
    run("tiny512", 1200);
}

int main(void)
{
    RUN(last_super_block_and_cuts);
    RUN(driver_fails_beside_anchors);
    RUN(units_of_a_byte);
    RUN(units_written_once);
    RUN(smallest_volume);
    RUN(large_pages);
    return check_done();
}
