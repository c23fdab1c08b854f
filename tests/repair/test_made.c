/* SPDX-License-Identifier: BSD-2-Clause */
/* test_made.c - images made by hand, in each of which one thing is wrong: the checker finds it, and says so. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "made.h"

static const struct repair_geometry geometry = {MADE_BLOCKS * MADE_BLOCK, MADE_BLOCK, 1};
static bool seen[REPAIR_KINDS];

static bool has(const struct repair *repair, enum repair_kind kind)
{
    for (unsigned i = 0; repair != NULL && i < repair_findings(repair); i++) {
        if (repair_finding(repair, i)->kind == kind) {
            seen[kind] = true;
            return true;
        }
    }
    return false;
}

static void say(const struct repair *repair)
{
    for (unsigned i = 0; repair != NULL && i < repair_findings(repair); i++) {
        const struct repair_finding *finding = repair_finding(repair, i);
        printf("  block %d, %u: %s\n", (int)finding->block, finding->offset, finding->text);
    }
}

static const struct repair_item *item(const struct repair *repair, const char *path)
{
    for (unsigned i = 0; repair != NULL && i < repair_count(repair); i++) {
        if (strcmp(repair_item(repair, i)->path, path) == 0) {
            return repair_item(repair, i);
        }
    }
    return NULL;
}

static struct repair *opened(const struct made *made)
{
    return repair_open(made->bytes, &geometry);
}

/* An image with this finding; and none else that is wrong where `alone`. */
static struct repair *expect(const struct made *made, enum repair_kind kind, bool alone)
{
    struct repair *repair = opened(made);

    if (!CHECK(has(repair, kind)) || (alone && !CHECK_EQ(repair_wrong(repair), repair_kind_wrong(kind)))) {
        printf("  wanted: kind %d\n", (int)kind);
        say(repair);
    }
    return repair;
}

#define BUILT(made)            \
    struct made made;          \
    made_begin(&made);         \
    made_build(&made)
#define DONE(made, kind, alone)                         \
    repair_close(expect(&made, kind, alone));           \
    made_end(&made)

static uint8_t *byte_of(struct made *made, uint32_t block, uint32_t at)
{
    return made->bytes + block * MADE_BLOCK + at;
}

/* ---- whole --------------------------------------------------------------------------------------- */

TEST(whole)
{
    uint8_t data[6000];
    BUILT(made);
    struct repair *repair = opened(&made);

    CHECK(repair != NULL && repair_findings(repair) == 0);
    say(repair);
    CHECK(!repair_lossy(repair) && repair_clean(repair));
    CHECK_EQ(repair_count(repair), 7);
    CHECK_EQ(item(repair, "/list")->size, 517);
    CHECK_EQ(item(repair, "/log")->size, 50);
    CHECK_EQ(item(repair, "/map")->size, 5096);
    CHECK(item(repair, "/dir/zz a name of more than twenty-three bytes") != NULL);
    for (unsigned i = 0; i < repair_count(repair); i++) {
        const struct repair_item *one = repair_item(repair, i);
        if (strcmp(one->path, "/map") == 0) {
            CHECK_EQ(repair_read(repair, i, 0, data, sizeof data), 5096);
            CHECK_MEM(data, made.bytes + (MADE_DATA + 1) * MADE_BLOCK + 100, 4096);
            CHECK_MEM(data + 4096, made.bytes + (MADE_DATA + 3) * MADE_BLOCK, 1000);
            CHECK_EQ(one->unchecked, 5096);
        }
    }
    CHECK_EQ(repair_block_use(repair, MADE_LEAF), REPAIR_USE_LEAF);
    CHECK_EQ(repair_block_use(repair, MADE_FRAMES), REPAIR_USE_FRAMES);
    CHECK_EQ(repair_summary(repair)->nodes, 3);
    repair_close(repair);
    made_end(&made);
}

/* ---- anchors and root log ------------------------------------------------------------------------ */

TEST(anchor)
{
    BUILT(made);
    memset(byte_of(&made, 0, 0), 0xFF, 3 * MADE_BLOCK);
    struct repair *repair = expect(&made, REPAIR_ANCHOR, true);
    CHECK(repair != NULL && repair_count(repair) == 7 && item(repair, "/map")->state == REPAIR_WHOLE); /* the root log was found */
    repair_close(repair);
    made_end(&made);
}

/* A format was cut behind its first anchor, which names no log: the volume that was there is found by its log. */
TEST(anchor_of_a_cut_format)
{
    BUILT(made);
    uint8_t anchor[24];
    memcpy(anchor, byte_of(&made, 0, 4), sizeof anchor);
    anchor[16] ^= 0x5A;     /* the new volume's id */
    anchor[20]++;
    anchor[14] = anchor[15] = 0;
    memset(byte_of(&made, 0, 0), 0xFF, 3 * MADE_BLOCK);
    made.end[0] = made.end[1] = made.end[2] = 0;
    (void)made_record(&made, 1, 1, false, anchor, sizeof anchor);
    struct repair *repair = expect(&made, REPAIR_ANCHOR, true);
    CHECK(repair != NULL && repair_count(repair) == 7 && item(repair, "/map")->state == REPAIR_WHOLE);
    repair_close(repair);
    made_end(&made);
}

TEST(anchor_of_another_chip)
{
    BUILT(made);
    made.end[1] = 0;
    (void)made_record(&made, 1, 1, false, "NF2F\3\0\0\0\1\41\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    DONE(made, REPAIR_ANCHOR, true);
}

TEST(anchor_damaged)
{
    BUILT(made);
    uint8_t anchor[24];
    memcpy(anchor, byte_of(&made, 0, 4), sizeof anchor);
    anchor[20] = 4;
    (void)made_record(&made, 0, 1, false, anchor, sizeof anchor);
    anchor[20] = 5;
    (void)made_record(&made, 0, 1, false, anchor, sizeof anchor);
    *byte_of(&made, 0, 40) ^= 0x41;
    DONE(made, REPAIR_ANCHOR, true);
}

/* A format leaves an anchor in each super block: where one is lost, or damaged, a spare is missing. */
TEST(spare_missing)
{
    for (unsigned block = 0; block < 3; block++) {
        struct made made;
        made_begin(&made);
        made_build(&made);
        *byte_of(&made, block, 20) ^= 0x10;
        repair_close(expect(&made, REPAIR_ANCHOR, true));
        memset(byte_of(&made, block, 0), 0xFF, MADE_BLOCK);
        struct repair *repair = expect(&made, REPAIR_ANCHOR, true);
        CHECK(repair_clean(repair) && !repair_lossy(repair) && repair_count(repair) == 7);
        repair_close(repair);
        made.bad_flags = (uint8_t)(2u << block); /* it failed: that is on record */
        made_build(&made);
        memset(byte_of(&made, block, 0), block == 1 ? 0x55 : 0xFF, MADE_BLOCK);
        repair = opened(&made);
        CHECK_EQ(repair_wrong(repair), 0);
        say(repair);
        repair_close(repair);
        made_end(&made);
    }
}

/* Without its anchor a turn was cut, perhaps in the super block whose turn it was: the one behind the last anchor. */
TEST(spare_cut)
{
    static const uint8_t left[] = {0xFF, 0x00, 0xA5};
    BUILT(made);
    uint8_t state[MADE_STATE];
    memcpy(state, byte_of(&made, MADE_HEAD, 4), sizeof state);
    state[8] = MADE_USED - 1; /* the next block */
    (void)made_record(&made, MADE_NEXT, 2, false, state, sizeof state);
    for (unsigned i = 0; i < sizeof left; i++) {
        memset(byte_of(&made, 1, 0), left[i], MADE_BLOCK);
        struct repair *repair = opened(&made);
        CHECK_EQ(repair_wrong(repair), 0);
        say(repair);
        repair_close(repair);
    }
    memset(byte_of(&made, 2, 0), 0xFF, MADE_BLOCK);
    DONE(made, REPAIR_ANCHOR, true);
}

/* All is well with what counts; and yet no cut leaves something else in front of it: such a block would have been erased. */
TEST(anchor_behind_garbage)
{
    BUILT(made);
    uint8_t anchor[24];
    memcpy(anchor, byte_of(&made, 0, 4), sizeof anchor);
    anchor[20] = 4;
    made.end[0] = MADE_PAGE;
    made.epoch = 1 | 11 << 12;
    (void)made_record(&made, 0, 1, false, anchor, sizeof anchor);
    memset(byte_of(&made, 0, 0), 0, MADE_PAGE);
    DONE(made, REPAIR_ANCHOR, true);
}

/* The anchor of the last log is not there. The one before leads to it: by its next block, which holds what is not older. */
TEST(anchor_missing)
{
    BUILT(made);
    uint8_t state[MADE_STATE];
    memcpy(state, byte_of(&made, MADE_HEAD, 4), sizeof state);
    state[8] = MADE_USED - 1; /* the next block */
    state[10] = MADE_LEAF;
    (void)made_record(&made, MADE_NEXT, 2, false, state, sizeof state);
    struct repair *repair = expect(&made, REPAIR_UNFINISHED, false);
    CHECK_EQ(repair_block_use(repair, MADE_NEXT), REPAIR_USE_LOG);
    repair_close(repair);
    state[10] = MADE_INNER;
    (void)made_record(&made, MADE_NEXT, 2, false, state, sizeof state);
    repair = expect(&made, REPAIR_ANCHOR, false);
    CHECK(repair != NULL && repair_block_use(repair, MADE_NEXT) == REPAIR_USE_LOG && repair_count(repair) == 7);
    repair_close(repair);
    made_end(&made);
}

/* Two logs later: the anchors of both are lost, and the one that is left names a log that is whole. */
TEST(newer_log)
{
    BUILT(made);
    uint8_t state[MADE_STATE];
    memcpy(state, byte_of(&made, MADE_HEAD, 4), sizeof state);
    state[8] = MADE_USED - 1; /* the next block */
    state[32]++; /* erases */
    (void)made_record(&made, MADE_USED - 2, 2, false, state, sizeof state);
    (void)made_record(&made, MADE_USED - 2, 2, false, state, sizeof state);
    struct repair *repair = expect(&made, REPAIR_ANCHOR, true);
    CHECK(repair != NULL && repair_block_use(repair, MADE_USED - 2) == REPAIR_USE_LOG && repair_count(repair) == 7);
    repair_close(repair);
    made_end(&made);
}

/* A turn takes a GROUP that waits along, or it was cut: then the log before holds. */
TEST(turn_with_group)
{
    for (unsigned cut = 0; cut < 2; cut++) {
        struct made made;
        uint8_t state[MADE_STATE];
        made_begin(&made);
        made.clean = false;
        made_build(&made);
        memcpy(state, byte_of(&made, MADE_HEAD, 4), sizeof state);
        state[8] = MADE_USED - 1; /* the next block */
        (void)made_record(&made, MADE_NEXT, 2, true, state, sizeof state);
        uint32_t at = made_record(&made, MADE_NEXT, 4, false, "\1\0\0\1\1x", 6);
        memset(byte_of(&made, MADE_NEXT, at + 4), 0xFF, cut ? 8 : 0);
        struct repair *repair = opened(&made);
        CHECK(repair != NULL && repair_wrong(repair) == 0 && repair_count(repair) == 7);
        CHECK_EQ(repair_block_use(repair, cut ? MADE_HEAD : MADE_NEXT), REPAIR_USE_LOG);
        say(repair);
        repair_close(repair);
        made_end(&made);
    }
}

/*
 * The next block holds something that is no log. Where power was cut it may be a turn that was not finished; where the volume was
 * left cleanly with room in its log nobody wrote there.
 */
TEST(next_block_not_erased)
{
    struct made made;

    made_begin(&made);
    made_build(&made);
    memset(byte_of(&made, MADE_NEXT, 0), 0, MADE_BLOCK);
    repair_close(expect(&made, REPAIR_ERASED, true));
    made.clean = false;
    made_build(&made);
    memset(byte_of(&made, MADE_NEXT, 0), 0, MADE_BLOCK);
    struct repair *repair = expect(&made, REPAIR_UNFINISHED, true);
    CHECK(repair_count(repair) == 7 && !repair_lossy(repair));
    CHECK(repair_findings(repair) == 1 && repair_finding(repair, 0)->block == MADE_NEXT);
    repair_close(repair);
    made_end(&made);
}

TEST(next_block_of_an_older_log)
{
    BUILT(made);
    uint8_t state[MADE_STATE];
    memcpy(state, byte_of(&made, MADE_HEAD, 4), sizeof state);
    (void)made_record(&made, MADE_NEXT, 2, false, state, sizeof state);
    state[27] |= 2; /* the next block was not erased yet */
    made.end[MADE_HEAD] = 0;
    memset(byte_of(&made, MADE_HEAD, 0), 0xFF, MADE_BLOCK);
    (void)made_record(&made, MADE_HEAD, 2, false, state, sizeof state);
    struct repair *repair = opened(&made);
    CHECK(repair != NULL && repair_findings(repair) == 0 && repair_block_use(repair, MADE_HEAD) == REPAIR_USE_LOG);
    say(repair);
    repair_close(repair);
    made_end(&made);
}

/* The root log cannot go on in its own block, nor in a super block. */
TEST(next_block_in_use)
{
    static const uint8_t blocks[] = {MADE_HEAD, 1};
    for (unsigned i = 0; i < 2; i++) {
        BUILT(made);
        uint8_t state[MADE_STATE];
        memcpy(state, byte_of(&made, MADE_HEAD, 4), sizeof state);
        state[8] = blocks[i];
        (void)made_record(&made, MADE_HEAD, 2, false, state, sizeof state);
        DONE(made, REPAIR_OVERLAP, false);
    }
}

TEST(root_log)
{
    BUILT(made);
    (void)made_record(&made, MADE_HEAD, 6, false, "x", 1);
    DONE(made, REPAIR_LOG, true);
}

TEST(bad_blocks)
{
    struct made made;
    made_begin(&made);
    (void)made_add(&made, 0, "B\0\0\0\16", 5, NULL, 0);
    made.bad_flags = 1;
    made_build(&made);
    struct repair *repair = opened(&made);
    CHECK(repair_wrong(repair) == 0 && repair_block_use(repair, 14) == REPAIR_USE_BAD && repair_summary(repair)->bad_blocks == 1);
    repair_close(repair);
    made.bad_flags = 0;
    made_build(&made);
    DONE(made, REPAIR_LOG, true);
}

TEST(root_log_lost)
{
    BUILT(made);
    memset(byte_of(&made, MADE_HEAD, 0), 0, MADE_BLOCK);
    struct repair *repair = expect(&made, REPAIR_LOG, false);
    CHECK(repair != NULL && repair_lossy(repair) && repair_count(repair) >= 7);
    CHECK(item(repair, "/map") != NULL && item(repair, "/map")->state == REPAIR_UNSURE);
    repair_close(repair);
    made_end(&made);
}

/* No GROUP is there, whether the volume was left cleanly or not. */
TEST(group)
{
    for (unsigned clean = 0; clean < 2; clean++) {
        struct made made;
        made_begin(&made);
        made.clean = clean != 0;
        made.group_at = 600;
        made_build(&made);
        DONE(made, REPAIR_GROUP, true);
    }
}

/* PUT of a piece of a map, at an offset below 256. */
static uint32_t put_piece(uint8_t *p, uint32_t id, uint8_t offset, uint32_t block, uint32_t within, uint32_t length)
{
    const uint8_t number[4] = {0, 0, 0, offset};
    uint32_t n = 3 + made_key(p + 3, id, (const char *)number, sizeof number);
    uint32_t bytes = length < 128 ? 7 : 8;
    const uint8_t body[8] = {8, (uint8_t)block, (uint8_t)(block >> 8), (uint8_t)(block >> 16), (uint8_t)within, (uint8_t)(within >> 8),
                             (uint8_t)(length < 128 ? length : length | 0x80), (uint8_t)(length >> 7)};

    p[0] = 0;
    p[1] = (uint8_t)bytes;
    p[2] = 0;
    memcpy(p + n, body, bytes);
    return n + bytes;
}

/* What a mount refuses: the GROUP that is named is not the last one, or is longer than a GROUP can be. */
TEST(older_group)
{
    static const uint8_t group[7] = {1, 0, 0, 1, 2, 'n', 'o'};
    uint8_t state[MADE_STATE];

    for (unsigned last = 0; last < 2; last++) {
        BUILT(made);
        memcpy(state, byte_of(&made, MADE_HEAD, 4), sizeof state);
        uint32_t at = made_record(&made, MADE_HEAD, 4, false, group, sizeof group);
        state[27] = 0; /* not clean */
        uint32_t next = last ? at : made_record(&made, MADE_HEAD, 4, false, group, sizeof group);
        state[14] = (uint8_t)at;
        state[15] = (uint8_t)(at >> 8);
        (void)made_record(&made, MADE_HEAD, 2, false, state, sizeof state);
        DONE(made, next == at ? REPAIR_PENDING : REPAIR_GROUP, true);
    }
}

TEST(group_behind)
{
    static const uint8_t group[7] = {1, 0, 0, 1, 2, 'n', 'o'};

    for (unsigned named = 0; named < 2; named++) {
        struct made made;
        made_begin(&made);
        made.group_at = named ? MADE_STATE + 8 : 0; /* behind the CHECKPOINT */
        made_build(&made);
        CHECK_EQ(made_record(&made, MADE_HEAD, 4, false, group, sizeof group), MADE_STATE + 8);
        DONE(made, named ? REPAIR_GROUP : REPAIR_PENDING, false);
    }
}

/* A change that waits: a file gets another name, in the other leaf, and its map another piece. */
TEST(pending)
{
    uint8_t group[200];
    uint32_t n = 0;
    struct made made;

    made_begin(&made);
    made.clean = false;
    made_build(&made);
    group[n++] = 0;
    group[n++] = 5;
    group[n++] = 0;
    n += made_key(group + n, 2, "zzz", 3);
    memcpy(group + n, "\4\3\0\0\0", 5);
    n += 5;
    memcpy(group + n, "\1\0\0", 3);
    n += 3 + made_key(group + n + 3, 1, "map", 3);
    memcpy(group + n, "\2\4\0", 3);     /* RANGE: the piece at 4096 goes */
    n += 3 + made_key(group + n + 3, 3, "\0\0\0\1", 4);
    memcpy(group + n, "\0\0\1\0", 4);
    n += 4;
    n += put_piece(group + n, 3, 60, MADE_DATA + 1, 160, 4940);
    n += put_piece(group + n, 3, 50, MADE_DATA, 2048, 10);
    memcpy(group + n, "\2\4\0", 3);     /* the pieces of the removed map go */
    n += 3 + made_key(group + n + 3, 7, "\0\0\0\0", 4);
    memcpy(group + n, "\377\377\0\0", 4);
    n += 4;
    memcpy(group + n, "\1\0\0", 3);     /* it is not removed any more, and there is none */
    n += 3 + made_key(group + n + 3, 0, "O\0\0\0\7", 5);
    (void)made_record(&made, MADE_HEAD, 4, false, group, n);
    struct repair *repair = expect(&made, REPAIR_PENDING, true);
    CHECK(item(repair, "/map") == NULL && item(repair, "/dir/zzz") != NULL);
    CHECK_EQ(item(repair, "/dir/zzz")->size, 5000);
    for (unsigned i = 0; i < repair_count(repair); i++) {
        uint8_t data[5000];
        if (strcmp(repair_item(repair, i)->path, "/dir/zzz") == 0) {
            CHECK_EQ(repair_read(repair, i, 0, data, sizeof data), 5000);
            CHECK_MEM(data, made.bytes + (MADE_DATA + 1) * MADE_BLOCK + 100, 50);
            CHECK_MEM(data + 50, made.bytes + MADE_DATA * MADE_BLOCK + 2048, 10);
            CHECK_MEM(data + 60, made.bytes + (MADE_DATA + 1) * MADE_BLOCK + 160, 4900);
        }
    }
    repair_close(repair);
    made_end(&made);
}

/* ---- nodes --------------------------------------------------------------------------------------- */

TEST(leaf_lost)
{
    BUILT(made);
    memset(byte_of(&made, MADE_OTHER, 0), 0, MADE_BLOCK);
    struct repair *repair = expect(&made, REPAIR_NODE, false);
    CHECK(item(repair, "/inline") != NULL && item(repair, "/dir/inside")->state == REPAIR_WHOLE);
    CHECK(item(repair, "/map.damaged") != NULL && item(repair, "/map.damaged")->lost_end && repair_lossy(repair));
    repair_close(repair);
    made_end(&made);
}

TEST(names_lost)
{
    BUILT(made);
    memset(byte_of(&made, MADE_LEAF, 0), 0, MADE_BLOCK);
    struct repair *repair = expect(&made, REPAIR_NODE, false);
    CHECK(has(repair, REPAIR_UNNAMED));
    CHECK(item(repair, "/lost+found/file-3") != NULL && item(repair, "/lost+found/file-3")->size == 5096);
    CHECK(item(repair, "/lost+found/dir-2/zz a name of more than twenty-three bytes") != NULL);
    repair_close(repair);
    made_end(&made);
}

TEST(inner_lost)
{
    BUILT(made);
    memset(byte_of(&made, MADE_INNER, 0), 0, MADE_BLOCK);
    struct repair *repair = expect(&made, REPAIR_NODE, false);
    CHECK_EQ(repair_count(repair), 7);
    CHECK(item(repair, "/map") != NULL && item(repair, "/map")->size == 5096 && item(repair, "/map")->state == REPAIR_UNSURE);
    repair_close(repair);
    made_end(&made);
}

/* A leaf that nothing leads to, in a block that is in use on record, with one entry. */
#define EXTRA 13u
static void extra_leaf(struct made *made, uint32_t id, const void *key, uint8_t length, const void *body, uint32_t body_length)
{
    const uint8_t head[13] = {'N', 0, EXTRA, 0, 0, 0x11, 0xEE, 0xFF, 0xC0};
    uint8_t put[64];
    uint32_t n = made_key(put, id, key, length);

    memcpy(put + n, body, body_length);
    (void)made_record(made, EXTRA, 1, true, head, sizeof head);
    (void)made_record(made, EXTRA, 2, false, put, n + body_length);
}

/* No page behind the sorted part was ever written: what an old leaf has between two of these has no place in a file. */
TEST(inner_with_a_bad_page)
{
    struct made made;
    uint8_t data[6000];
    made_begin(&made);
    made.bound += 2; /* the pieces of the map are in two leaves */
    made_build(&made);
    extra_leaf(&made, 3, "\0\0\4\0", 4, "\10\10\0\0\0\0\20", 7);
    memset(byte_of(&made, MADE_INNER, 15 * MADE_PAGE), 0, MADE_PAGE);
    struct repair *repair = expect(&made, REPAIR_RECORD, true);
    CHECK(repair_lossy(repair) && repair_count(repair) == 7);
    for (unsigned i = 0; i < repair_count(repair); i++) {
        if (strcmp(repair_item(repair, i)->path, "/map") == 0) {
            CHECK_EQ(repair_item(repair, i)->state, REPAIR_UNSURE);
            CHECK_EQ(repair_read(repair, i, 0, data, sizeof data), 5096);
            CHECK_MEM(data, made.bytes + (MADE_DATA + 1) * MADE_BLOCK + 100, 4096);
        }
    }
    repair_close(repair);
    made_end(&made);
}

/* The tree leads to a leaf that is free on record: a newer one has its place, if there is one. */
TEST(older_leaf)
{
    for (unsigned newer = 0; newer < 2; newer++) {
        struct made made;
        made_begin(&made);
        made.bits[MADE_LEAF / 8] &= (uint8_t)~(1u << MADE_LEAF % 8);
        made_build(&made);
        if (newer) {
            extra_leaf(&made, 1, "inline", 6, "\2newer", 6);
        }
        struct repair *repair = expect(&made, REPAIR_FREE, true);
        const struct repair_item *one = item(repair, "/inline"), *other = item(repair, "/log");
        CHECK(repair_lossy(repair) && (newer ? other == NULL : other != NULL && other->state == REPAIR_DOUBTFUL));
        CHECK(one != NULL && one->state == (newer ? REPAIR_UNSURE : REPAIR_DOUBTFUL));
        CHECK(!newer || item(repair, "/list.damaged") != NULL);
        repair_close(repair);
        made_end(&made);
    }
}

/* A removed file has a name: then what looks like a write that was cut, in an inner node, was a newer reference. */
TEST(older_tree)
{
    struct made made;
    made_begin(&made);
    (void)made_name(&made, 1, "7", "\4\7\0\0\0", 5);
    made.clean = false;
    made_build(&made);
    uint32_t at = made_record(&made, MADE_INNER, 4, false, "\7\0", 2);
    memset(byte_of(&made, MADE_INNER, at + 4), 0xFF, 4);
    struct repair *repair = expect(&made, REPAIR_RECORD, false);
    CHECK(has(repair, REPAIR_REMOVED) && repair_lossy(repair));
    CHECK(item(repair, "/inline") != NULL && item(repair, "/inline")->state == REPAIR_DOUBTFUL);
    CHECK(has(repair, REPAIR_OLDER));
    repair_close(repair);
    made_end(&made);
}

/* Nothing is left but the root log: of that a volume can be made. */
TEST(only_leaf_lost)
{
    struct made made;
    made_begin(&made);
    made.level = 0;
    made.root = MADE_LEAF;
    made_build(&made);
    memset(byte_of(&made, MADE_LEAF, 0), 0, MADE_BLOCK);
    memset(byte_of(&made, MADE_OTHER, 0), 0xFF, MADE_BLOCK);
    struct repair *repair = opened(&made);
    CHECK(repair != NULL && has(repair, REPAIR_NODE) && repair_lossy(repair) && repair_count(repair) == 0);
    CHECK(repair != NULL && repair_finding(repair, 0)->from != NULL && repair_finding(repair, 0)->to == NULL);
    repair_close(repair);
    made_end(&made);
}

TEST(record)
{
    BUILT(made);
    uint32_t at = made_find(&made, MADE_LEAF, "inline");
    *byte_of(&made, MADE_LEAF, at + 12) ^= 0x04; /* one bit: mended */
    struct repair *repair = expect(&made, REPAIR_RECORD, true);
    CHECK(item(repair, "/inline") != NULL && repair_count(repair) == 7);
    repair_close(repair);
    *byte_of(&made, MADE_LEAF, at + 12) ^= 0x53; /* more of them: that one is lost */
    repair = expect(&made, REPAIR_RECORD, true);
    CHECK(item(repair, "/inline") == NULL && repair_count(repair) == 6 && repair_lossy(repair));
    repair_close(repair);
    made_end(&made);
}

/* A change in the other leaf, in a page of its own: pages in front of it may be blank. */
static uint32_t change(struct made *made, uint32_t page, const char *name)
{
    uint8_t payload[64] = {0};
    uint32_t n = 1 + made_key(payload + 1, 2, name, (uint8_t)strlen(name));

    payload[n] = 2; /* a file without a byte */
    made->end[MADE_OTHER] = page * MADE_PAGE;
    return made_record(made, MADE_OTHER, 6, false, payload, n + 1);
}

/* A session goes on behind as many blank pages as sessions lie in between: what else is blank was written once. */
TEST(blank_pages)
{
    for (uint32_t sessions = 0; sessions < 3; sessions++) {
        for (uint32_t pages = 0; pages < 4; pages++) {
            BUILT(made);
            uint8_t state[MADE_STATE];
            memcpy(state, byte_of(&made, MADE_HEAD, 4), sizeof state);
            made.epoch = (uint16_t)(sessions | (12u - (sessions > 0)) << 12);
            made.end[MADE_HEAD] = (sessions + 1) * MADE_PAGE;
            (void)made_record(&made, MADE_HEAD, 2, false, state, sizeof state);
            (void)change(&made, 1 + pages, "zzz");
            struct repair *repair = opened(&made);
            bool lost = pages > sessions;
            CHECK(lost == has(repair, REPAIR_RECORD) && lost == has(repair, REPAIR_RECORDS) && lost == repair_lossy(repair));
            CHECK(repair_wrong(repair) == lost && repair_count(repair) == 8 && item(repair, "/dir/zzz") != NULL);
            say(repair);
            repair_close(repair);
            made_end(&made);
        }
    }
}

/* The sorted part has several pages, and one of them is blank: the last one, too, is missed. */
TEST(blank_page_of_base)
{
    for (uint32_t page = 1; page < 4; page++) {
        struct made made;
        made_begin(&made);
        for (unsigned i = 0; i < 12; i++) {
            char name[] = "a00";
            uint8_t body[41] = {2};
            name[1] = (char)('a' + i);
            (void)made_name(&made, 1, name, body, sizeof body);
        }
        made_build(&made);
        CHECK_EQ(made.end[MADE_LEAF] / MADE_PAGE, 3);
        memset(byte_of(&made, MADE_LEAF, page * MADE_PAGE), 0xFF, MADE_PAGE);
        struct repair *repair = expect(&made, REPAIR_RECORD, false);
        CHECK(repair_lossy(repair) && repair_count(repair) < 19 && item(repair, "/aa0") != NULL);
        CHECK(page > 1 || item(repair, "/dir/inside") != NULL); /* behind it */
        repair_close(repair);
        made_end(&made);
    }
}

/* Of a map no piece is left, in a leaf of which records are lost: that is no empty file. */
TEST(pieces_lost)
{
    BUILT(made);
    for (uint32_t i = 0; i < made.end[MADE_OTHER]; i++) {
        uint8_t *p = byte_of(&made, MADE_OTHER, i);
        if (p[0] == 3 && p[1] == 4 && p[2] == 0) { /* the key of one of its pieces */
            memset(p + 6, 0x55, 2);
        }
    }
    struct repair *repair = expect(&made, REPAIR_RECORD, false);
    CHECK(item(repair, "/map.damaged") != NULL && item(repair, "/map.damaged")->state == REPAIR_DAMAGED);
    repair_close(repair);
    made_end(&made);
}

TEST(base)
{
    struct made made;
    made_begin(&made);
    made.child_base = -20;
    made_build(&made);
    struct repair *repair = expect(&made, REPAIR_BASE, false);
    CHECK_EQ(repair_wrong(repair), 2);
    CHECK_EQ(repair_count(repair), 7);
    repair_close(repair);
    made_end(&made);
}

TEST(order)
{
    struct made made;
    made_begin(&made);
    struct made_entry one = made.entry[2];
    made.entry[2] = made.entry[3];
    made.entry[3] = one;
    made_build(&made);
    DONE(made, REPAIR_BASE, true);
}

TEST(reference)
{
    BUILT(made);
    (void)made_record(&made, MADE_LEAF, 4, false, "\7\0", 2);
    DONE(made, REPAIR_REFERENCE, true);
}

TEST(body_of_nothing)
{
    BUILT(made);
    uint8_t ren[17] = {9, 0};
    uint32_t source = made_find(&made, MADE_LEAF, "inline");
    ren[2] = (uint8_t)source;
    ren[3] = (uint8_t)(source >> 8);
    uint32_t n = 7 + made_key(ren + 7, 1, "ren", 3);
    (void)made_record(&made, MADE_LEAF, 5, false, ren, n);
    DONE(made, REPAIR_REFERENCE, false);
}

TEST(child_outside)
{
    struct made made;
    made_begin(&made);
    made.child[1] = 4000;
    made_build(&made);
    struct repair *repair = expect(&made, REPAIR_CHILD, false);
    CHECK_EQ(repair_count(repair), 7); /* the leaf was found */
    repair_close(repair);
    made_end(&made);
}

TEST(child_twice)
{
    struct made made;
    made_begin(&made);
    made.child[1] = MADE_LEAF;
    made_build(&made);
    DONE(made, REPAIR_CHILD, false);
}

TEST(bounds)
{
    struct made made;
    made_begin(&made);
    memcpy(made.entry[made.bound - 1].key, "zzzzzz", 6); /* of directory 2, above the other leaf's first key */
    made_build(&made);
    DONE(made, REPAIR_BOUNDS, true);
}

TEST(no_way)
{
    struct made made;
    made_begin(&made);
    made_build(&made);
    uint8_t head[13] = {'N', 1, MADE_INNER, 0, 0, 0x11, 0xEE, 0xFF, 0xC0}, payload[64];
    memset(byte_of(&made, MADE_INNER, 0), 0xFF, MADE_BLOCK);
    uint32_t base = made.end[MADE_LEAF];
    made.end[MADE_INNER] = 0;
    (void)made_record(&made, MADE_INNER, 1, true, head, sizeof head);
    uint32_t n = made_key(payload, 1, "inline", 6);
    const uint8_t child[6] = {12, MADE_LEAF, 0, 0, (uint8_t)base, (uint8_t)(base >> 8)};
    memcpy(payload + n, child, 6);
    (void)made_record(&made, MADE_INNER, 2, false, payload, n + 6);
    DONE(made, REPAIR_BOUNDS, false);
}

TEST(twice)
{
    BUILT(made);
    uint8_t put[20];
    uint32_t n = made_key(put, 1, "inline", 6);
    memcpy(put + n, "\2new", 4);
    (void)made_record(&made, MADE_LEAF, 2, false, put, n + 4);
    DONE(made, REPAIR_TWICE, true);
}

TEST(long_name_twice)
{
    struct made made;
    made_begin(&made);
    made_name(&made, 2, "zz a name of more than twenty-three bytes", "\2again", 6)->key[23] = 1;
    struct made_entry one = made.entry[made.bound];
    made.entry[made.bound] = made.entry[made.bound + 1];
    made.entry[made.bound + 1] = one;
    if (made.entry[made.bound].key[23] == 1) { /* the one with the number 0 is first */
        one = made.entry[made.bound];
        made.entry[made.bound] = made.entry[made.bound + 1];
        made.entry[made.bound + 1] = one;
    }
    made_build(&made);
    DONE(made, REPAIR_TWICE, true);
}

TEST(unfinished)
{
    struct made made;
    made_begin(&made);
    made.clean = false;
    made_build(&made);
    uint32_t at = made_record(&made, MADE_LEAF, 4, false, "\7\0", 2);
    memset(byte_of(&made, MADE_LEAF, at + 4), 0xFF, 4);
    struct repair *repair = expect(&made, REPAIR_UNFINISHED, true);
    CHECK_EQ(repair_count(repair), 7);
    repair_close(repair);
    made_end(&made);
}

/* A cut in the page that a long record goes on in: neither its beginning nor that page's head is whole. */
TEST(unfinished_in_a_long_record)
{
    for (uint32_t landed = 0; landed <= 5; landed++) {
        uint8_t put[400] = {0};
        struct made made;
        made_begin(&made);
        made.clean = false;
        made_build(&made);
        uint32_t n = made_key(put, 1, "9", 1);
        put[n] = 2;
        uint32_t at = made_record(&made, MADE_LEAF, 2, false, put, sizeof put);
        uint32_t page = (at & ~(MADE_PAGE - 1)) + MADE_PAGE;
        memcpy(byte_of(&made, MADE_LEAF, page), byte_of(&made, MADE_LEAF, page - MADE_PAGE), 2); /* the epoch */
        memcpy(byte_of(&made, MADE_LEAF, page + 2), "\4\0", 2);
        memset(byte_of(&made, MADE_LEAF, page + landed), 0xFF, 2 * MADE_PAGE);
        struct repair *repair = expect(&made, REPAIR_UNFINISHED, true);
        CHECK_EQ(repair_count(repair), 7);
        repair_close(repair);
        made_end(&made);
    }
}

/* A cut leaves one unfinished write in a session: of two one is damage. */
TEST(unfinished_twice)
{
    static const uint32_t leaves[] = {MADE_LEAF, MADE_OTHER};
    struct made made;
    made_begin(&made);
    made.clean = false;
    made_build(&made);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t at = made_record(&made, leaves[i], 4, false, "\7\0", 2);
        memset(byte_of(&made, leaves[i], at + 4), 0xFF, 4);
    }
    struct repair *repair = expect(&made, REPAIR_RECORD, true);
    CHECK(has(repair, REPAIR_UNFINISHED) && repair_lossy(repair) && repair_count(repair) == 7);
    repair_close(repair);
    made_end(&made);
}

TEST(mended)
{
    struct made made;
    uint8_t put[200] = {0};
    made_begin(&made);
    made_build(&made);
    for (char c = '1'; c < '4'; c++) { /* over a page's end */
        uint32_t n = made_key(put, 1, &c, 1);
        put[n] = 2;
        (void)made_record(&made, MADE_LEAF, 2, false, put, 150);
    }
    uint32_t page = made.end[MADE_LEAF] & ~(MADE_PAGE - 1);
    *byte_of(&made, MADE_LEAF, page) ^= 0x10;
    struct repair *repair = expect(&made, REPAIR_MENDED, true);
    CHECK(item(repair, "/3") != NULL);
    repair_close(repair);
    made_end(&made);
}

/* ---- entries ------------------------------------------------------------------------------------- */

static void expect_added(uint32_t id, const void *key, uint8_t length, const void *body, uint16_t body_length, enum repair_kind kind,
                         bool alone)
{
    struct made made;
    made_begin(&made);
    (void)made_add(&made, id, key, length, body, body_length);
    made_build(&made);
    repair_close(expect(&made, kind, alone));
    made_end(&made);
}

TEST(entry)
{
    expect_added(1, "odd", 3, "\x4D", 1, REPAIR_ENTRY, true);
    expect_added(0, "X\0\0\0\1", 5, NULL, 0, REPAIR_ENTRY, true);
    expect_added(1, "dirt", 4, "\1\2", 2, REPAIR_ENTRY, true);
    expect_added(2, "\0\0\0\0", 4, "\12\5", 2, REPAIR_ENTRY, true);
}

TEST(name)
{
    expect_added(1, ".", 1, "\2", 1, REPAIR_NAME, true);
    expect_added(1, "a/b", 3, "\2", 1, REPAIR_NAME, true);
    expect_added(1, "", 0, "\2", 1, REPAIR_NAME, true);
    expect_added(1, "01234567890123456789abc\0", 24, "\5abcde\2", 7, REPAIR_NAME, true); /* with a wrong hash */
}

TEST(piece)
{
    struct made made;
    expect_added(1, "out", 3, "\3\10\106\0\0\0\0\1", 8, REPAIR_PIECE, true);
    expect_added(1, "many", 4, "\3\12\1\12\1\12\1\12\1\12\1", 11, REPAIR_PIECE, true);
    made_begin(&made);
    (void)made_piece(&made, 3, 5000, 63, 0, 5000); /* over the volume's end */
    made_build(&made);
    DONE(made, REPAIR_PIECE, true);
}

/* What stands between two pieces of a map and is none changes nothing in where the first one ends. */
TEST(between_pieces)
{
    struct made made;
    made_begin(&made);
    (void)made_add(&made, 3, "\0\0\17", 3, "\231", 1); /* between the offsets 0 and 4,096 */
    made_build(&made);
    struct repair *repair = expect(&made, REPAIR_PIECE, true);
    const struct repair_item *map = item(repair, "/map");
    uint8_t data[6000];
    for (unsigned i = 0; CHECK(map != NULL) && i < repair_count(repair); i++) {
        if (repair_item(repair, i) == map) {
            CHECK_EQ(map->size, 5096);
            CHECK_EQ(repair_read(repair, i, 0, data, sizeof data), 5096);
            CHECK_MEM(data, made.bytes + (MADE_DATA + 1) * MADE_BLOCK + 100, 4096);
            CHECK_MEM(data + 4096, made.bytes + (MADE_DATA + 3) * MADE_BLOCK, 1000);
        }
    }
    repair_close(repair);
    made_end(&made);
}

TEST(hole)
{
    struct made made;
    made_begin(&made);
    (void)made_piece(&made, 3, 6000, MADE_DATA + 3, 2000, 20);
    made_build(&made);
    struct repair *repair = expect(&made, REPAIR_HOLE, true);
    uint32_t from = 0, to = 0;
    for (unsigned i = 0; i < repair_count(repair); i++) {
        if (strcmp(repair_item(repair, i)->path, "/map.damaged") == 0) {
            CHECK(repair_lost_range(repair, i, 0, &from, &to) && !repair_lost_range(repair, i, 1, &from, &to));
        }
    }
    CHECK(from == 5096 && to == 6000);
    repair_close(repair);
    made_end(&made);
}

TEST(frames)
{
    BUILT(made);
    *byte_of(&made, MADE_FRAMES, 10) ^= 1; /* their head */
    repair_close(expect(&made, REPAIR_FRAMES, true));
    *byte_of(&made, MADE_FRAMES, 10) ^= 1;
    *byte_of(&made, MADE_FRAMES, 25) ^= 1; /* the first of two */
    struct repair *repair = expect(&made, REPAIR_FRAMES, true);
    CHECK(item(repair, "/log.damaged") != NULL && item(repair, "/log.damaged")->size == 50 && item(repair, "/log.damaged")->lost == 0);
    repair_close(repair);
    *byte_of(&made, MADE_FRAMES, 26) ^= 0x77;
    repair = expect(&made, REPAIR_FRAMES, true);
    CHECK(item(repair, "/log.damaged") != NULL && item(repair, "/log.damaged")->lost == 20);
    repair_close(repair);
    memset(byte_of(&made, MADE_FRAMES, 0), 0xFF, MADE_BLOCK);
    DONE(made, REPAIR_FRAMES, true);
}

TEST(ids)
{
    expect_added(1, "new", 3, "\1\24\0\0\0", 5, REPAIR_ID, true);
    expect_added(1, "dir2", 4, "\1\2\0\0\0", 5, REPAIR_SHARED, true);
    expect_added(1, "root", 4, "\1\1\0\0\0", 5, REPAIR_SHARED, true);
    expect_added(1, "7", 1, "\4\7\0\0\0", 5, REPAIR_REMOVED, false);
    expect_added(9, "\0\0\0\0", 4, "\12\5", 2, REPAIR_UNNAMED, true);
    expect_added(9, "lost", 4, "\2", 1, REPAIR_UNNAMED, true);
    expect_added(9, "self", 4, "\1\11\0\0\0", 5, REPAIR_CYCLE, false);
}

/* ---- blocks -------------------------------------------------------------------------------------- */

TEST(overlap)
{
    struct made made;
    made_begin(&made);
    (void)made_piece(&made, 3, 5096, MADE_OTHER, 0, 20);
    made_build(&made);
    repair_close(expect(&made, REPAIR_OVERLAP, true));
    made_end(&made);
    made_begin(&made);
    (void)made_piece(&made, 3, 5096, MADE_DATA, 511, 20); /* one byte of the list's */
    made_build(&made);
    DONE(made, REPAIR_OVERLAP, true);
}

TEST(free_block)
{
    struct made made;
    made_begin(&made);
    made.bits[MADE_DATA / 8] &= (uint8_t)~(1u << MADE_DATA % 8);
    made_build(&made);
    DONE(made, REPAIR_FREE, true);
}

TEST(erased)
{
    struct made made;
    made_begin(&made);
    made.erased = 20;
    made.erased_count = 2;
    made_build(&made);
    struct repair *repair = opened(&made);
    CHECK_EQ(repair_wrong(repair), 0);
    repair_close(repair);
    *byte_of(&made, 21, 4000) = 0;
    DONE(made, REPAIR_ERASED, true);
}

/* ---- what else there is -------------------------------------------------------------------------- */

TEST(salvage)
{
    BUILT(made);
    *byte_of(&made, MADE_FRAMES, 26) ^= 0x77;
    struct repair *repair = opened(&made);
    uint32_t lost = 0, size = 0, from, to;
    for (unsigned i = 0; i < repair_count(repair); i++) {
        size += repair_item(repair, i)->size;
        for (unsigned range = 0; repair_lost_range(repair, i, range, &from, &to); range++) {
            lost += to - from;
        }
    }
    CHECK_EQ(repair_count(repair), 7);
    CHECK_EQ(size, 5096 + 517 + 50 + 5 + 1 + 4);
    CHECK_EQ(lost, 20);
    repair_close(repair);
    made_end(&made);
}

TEST(nothing)
{
    static uint8_t bytes[MADE_BLOCKS * MADE_BLOCK];
    struct repair_geometry odd = geometry;
    CHECK(repair_open(bytes, &geometry) == NULL);
    memset(bytes, 0xFF, sizeof bytes);
    CHECK(repair_open(bytes, &geometry) == NULL);
    odd.program_unit = 3;
    CHECK(repair_open(bytes, &odd) == NULL);
    odd = geometry;
    odd.size = 16 * MADE_BLOCK;
    CHECK(repair_open(bytes, &odd) == NULL);
}

TEST(every_kind)
{
    for (unsigned kind = 0; kind < REPAIR_KINDS; kind++) {
        if (!CHECK(seen[kind])) {
            printf("  no test provoked kind %u\n", kind);
        }
    }
}

int main(void)
{
    RUN(whole);
    RUN(anchor);
    RUN(anchor_of_a_cut_format);
    RUN(anchor_of_another_chip);
    RUN(anchor_damaged);
    RUN(spare_missing);
    RUN(spare_cut);
    RUN(anchor_behind_garbage);
    RUN(anchor_missing);
    RUN(newer_log);
    RUN(turn_with_group);
    RUN(next_block_not_erased);
    RUN(next_block_of_an_older_log);
    RUN(next_block_in_use);
    RUN(root_log);
    RUN(bad_blocks);
    RUN(root_log_lost);
    RUN(group);
    RUN(older_group);
    RUN(group_behind);
    RUN(pending);
    RUN(leaf_lost);
    RUN(names_lost);
    RUN(inner_lost);
    RUN(inner_with_a_bad_page);
    RUN(older_leaf);
    RUN(older_tree);
    RUN(only_leaf_lost);
    RUN(record);
    RUN(blank_pages);
    RUN(blank_page_of_base);
    RUN(pieces_lost);
    RUN(base);
    RUN(order);
    RUN(reference);
    RUN(body_of_nothing);
    RUN(child_outside);
    RUN(child_twice);
    RUN(bounds);
    RUN(no_way);
    RUN(twice);
    RUN(long_name_twice);
    RUN(unfinished);
    RUN(unfinished_in_a_long_record);
    RUN(unfinished_twice);
    RUN(mended);
    RUN(entry);
    RUN(name);
    RUN(piece);
    RUN(between_pieces);
    RUN(hole);
    RUN(frames);
    RUN(ids);
    RUN(overlap);
    RUN(free_block);
    RUN(erased);
    RUN(salvage);
    RUN(nothing);
    RUN(every_kind);
    return check_done();
}
