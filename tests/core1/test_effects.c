/* SPDX-License-Identifier: BSD-2-Clause */
/* test_effects.c - what a group of records owns and drops: bodies that make no sense are refused, and what is owned again is not dropped. */
#include "check.h"

#include "src/effects.h"

static void drop(struct nf2_effects *effects, uint32_t start, uint32_t count)
{
    effects->dropped.run[effects->dropped.runs].start = start;
    effects->dropped.run[effects->dropped.runs++].count = count;
}

static void own(struct nf2_effects *effects, uint32_t start, uint32_t count)
{
    effects->owned.run[effects->owned.runs].start = start;
    effects->owned.run[effects->owned.runs++].count = count;
}

static bool is_run(const struct nf2_run *run, uint32_t start, uint32_t count)
{
    return run->start == start && run->count == count;
}

/* A flat body of so many extents: blocks 10 to 11, 20 to 21 and so on. */
static uint32_t flat(uint8_t *body, unsigned extents)
{
    memset(body, 0, 5);
    body[0] = NF2_BODY_FLAT;
    for (unsigned i = 0; i < extents; i++) {
        nf2_put24(body + 5 + 5 * i, 10 + 10 * i);
        nf2_put16(body + 8 + 5 * i, 2);
    }
    return 5 + 5 * extents;
}

TEST(bodies)
{
    static const uint8_t indexed[] = {NF2_BODY_INDEXED, 7, 0, 0, 0}, nobody[] = {NF2_BODY_INDEXED, 0, 0, 0, 0}, own3[] = {NF2_BODY_OWN, 3, 0};
    static const uint8_t child[] = {NF2_BODY_CHILD, 9, 0, 0}, unknown[] = {0x77, 1, 2, 3};
    struct nf2_effects effects = {0};
    uint8_t body[64];

    CHECK_EQ(nf2_effects_owned_body(&effects, 0, body, flat(body, NF2_EXTENTS_MAX)), NF2_OK);
    CHECK(effects.any && effects.owned.runs == NF2_EXTENTS_MAX && is_run(&effects.owned.run[3], 40, 2));
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, indexed, sizeof indexed), NF2_OK);
    CHECK(effects.owned.ids == 1 && effects.owned.id[0] == 7);
    CHECK_EQ(nf2_effects_owned_body(&effects, 33, own3, sizeof own3), NF2_OK);
    CHECK(is_run(&effects.owned.run[4], 33, 3));
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, child, sizeof child), NF2_OK);
    CHECK(is_run(&effects.owned.run[5], 9, 1));
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, unknown, sizeof unknown), NF2_OK);
    CHECK(effects.owned.runs == 6 && effects.owned.ids == 1);

    /* Nothing of one that makes no sense counts. */
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, body, 0), NF2_ERR_IO);
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, body, 4), NF2_ERR_IO);
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, body, 8), NF2_ERR_IO);
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, body, flat(body, NF2_EXTENTS_MAX + 1)), NF2_ERR_IO);
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, indexed, 4), NF2_ERR_IO);
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, nobody, sizeof nobody), NF2_ERR_IO);
    CHECK_EQ(nf2_effects_owned_body(&effects, 33, own3, 2), NF2_OK);
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, child, 3), NF2_OK);
    CHECK(effects.owned.runs == 6 && effects.owned.ids == 1);
}

TEST(too_much)
{
    struct nf2_effects effects = {0};
    uint8_t body[64], indexed[5] = {NF2_BODY_INDEXED};

    for (unsigned i = 0; i < NF2_EFFECT_RUNS / NF2_EXTENTS_MAX; i++) {
        CHECK_EQ(nf2_effects_owned_body(&effects, 0, body, flat(body, NF2_EXTENTS_MAX)), NF2_OK);
    }
    CHECK_EQ(nf2_effects_owned_body(&effects, 0, body, flat(body, 1)), NF2_ERR_INVAL);
    for (uint32_t i = 1; i <= NF2_EFFECT_IDS + 1u; i++) {
        nf2_put32(indexed + 1, i);
        CHECK_EQ(nf2_effects_owned_body(&effects, 0, indexed, sizeof indexed), i > NF2_EFFECT_IDS ? NF2_ERR_INVAL : NF2_OK);
    }
    CHECK(effects.owned.runs == NF2_EFFECT_RUNS && effects.owned.ids == NF2_EFFECT_IDS);
}

/* What is owned again, of ten dropped blocks: none, the first ones, the last ones, those in the middle, all and more. */
TEST(owned_again)
{
    static const struct {
        uint32_t start, count, left_start, left, right_start, right;
    } cases[] = {
        {90, 10, 100, 10, 0, 0}, {110, 5, 100, 10, 0, 0}, {95, 8, 103, 7, 0, 0},  {100, 4, 104, 6, 0, 0},
        {106, 4, 100, 6, 0, 0},  {108, 9, 100, 8, 0, 0},  {103, 4, 100, 3, 107, 3}, {100, 10, 110, 0, 0, 0}, {90, 30, 110, 0, 0, 0},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nf2_effects effects = {0};
        drop(&effects, 100, 10);
        own(&effects, cases[i].start, cases[i].count);
        nf2_effects_settle(&effects);
        CHECK(is_run(&effects.dropped.run[0], cases[i].left_start, cases[i].left));
        CHECK_EQ(effects.dropped.runs, cases[i].right > 0 ? 2 : 1);
        CHECK(cases[i].right == 0 || is_run(&effects.dropped.run[1], cases[i].right_start, cases[i].right));
    }
}

/* A list that is full has no room for the second part: blocks may be lost then, but none that is owned is dropped. */
TEST(full_list)
{
    struct nf2_effects effects = {0};

    for (uint32_t i = 0; i < NF2_EFFECT_RUNS; i++) {
        drop(&effects, 100 + 20 * i, 10);
    }
    own(&effects, 103, 4);
    nf2_effects_settle(&effects);
    CHECK_EQ(effects.dropped.runs, NF2_EFFECT_RUNS);
    CHECK(is_run(&effects.dropped.run[0], 100, 3) && is_run(&effects.dropped.run[1], 120, 10));
}

TEST(named_anew)
{
    struct nf2_effects effects = {.dropped = {.id = {5, 6}, .ids = 2}, .owned = {.id = {8, 6}, .ids = 2}};

    nf2_effects_settle(&effects);
    CHECK(effects.dropped.id[0] == 5 && effects.dropped.id[1] == 0);
}

int main(void)
{
    RUN(bodies);
    RUN(too_much);
    RUN(owned_again);
    RUN(full_list);
    RUN(named_anew);
    return check_done();
}
