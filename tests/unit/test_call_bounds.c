/* SPDX-License-Identifier: BSD-2-Clause */
/* test_call_bounds.c - the judge of calls: what is as much as its bound passes, one operation more does not; rooms; what has no bound; the text. */
#include <stdio.h>
#include <string.h>

#include "call_judge.h"
#include "check.h"
#include "core_traits.h"

static struct call_judge judge;

static void begin(void)
{
    call_judge_init(&judge, vflash_chip_find("w25q128"));
}

/* A call that costs so much, on a chip that was in use. */
static void call(const struct call_facts *facts, uint64_t reads, uint64_t programs, uint64_t erases)
{
    struct vflash_counts before = {.read_pages = 1000, .program_pages = 100, .erases = {7, 0, 1}}, after = before;
    after.read_pages += reads;
    after.program_pages += programs;
    after.erases[2] += erases;
    call_judge_begin(&judge, facts, &before);
    call_judge_end(&judge, &after);
}

static struct call_facts sync_at(uint32_t available, uint32_t erased)
{
    return (struct call_facts){.kind = CALL_SYNC, .writes = 1, .space_known = true, .blocks_available = available, .blocks_free = available + 22,
                               .blocks_erased = erased, .pending = 1};
}

TEST(planted_costs_are_found)
{
    struct call_facts facts = sync_at(3000, 5);
    begin();
    uint64_t reads = call_bound(&judge.geometry, &facts, MEASURE_READS), programs = call_bound(&judge.geometry, &facts, MEASURE_PROGRAMS);
    uint64_t erases = call_bound(&judge.geometry, &facts, MEASURE_ERASES);
    call(&facts, reads, programs, erases);
    CHECK_EQ(judge.past, 0);
    CHECK_EQ(judge.tally[CALL_SYNC][FILL_ROOMY].most_permille[MEASURE_READS], 1000);
    call(&facts, reads, programs + 1, erases);
    CHECK_EQ(judge.past, 1);
    CHECK(judge.first.measure == MEASURE_PROGRAMS && judge.first.counted == programs + 1 && judge.first.bound == programs);
    call(&facts, reads + 1, programs + 1, erases + 1);   /* one call, however many of its counts are past */
    CHECK_EQ(judge.past, 2);
    CHECK(judge.first.measure == MEASURE_PROGRAMS);
    call(&facts, 0, 0, erases + 1);
    CHECK_EQ(judge.past, 3);
    CHECK_EQ(judge.tally[CALL_SYNC][FILL_ROOMY].most[MEASURE_READS], reads + 1);
    CHECK_EQ(judge.calls, 4);
}

TEST(nothing_may_cost_nothing)
{
    static const enum call_kind free_of_cost[] = {CALL_STATFS, CALL_CLOSEDIR, CALL_REWINDDIR, CALL_CLOSE_UNCHANGED};
    for (unsigned i = 0; i < sizeof free_of_cost / sizeof free_of_cost[0]; i++) {
        begin();
        call(&(struct call_facts){.kind = free_of_cost[i]}, 0, 0, 0);
        CHECK_EQ(judge.past, 0);
        call(&(struct call_facts){.kind = free_of_cost[i]}, 1, 0, 0);
        CHECK_EQ(judge.past, 1);
    }
}

TEST(room)
{
    struct call_facts facts = sync_at(3000, 2000);
    begin();
    CHECK_EQ(call_fill_of(&judge.geometry, &facts), FILL_ROOMY);
    CHECK(call_erased_last(&judge.geometry, &facts));
    facts = sync_at(100, 3);
    CHECK_EQ(call_fill_of(&judge.geometry, &facts), FILL_TIGHT);
    CHECK(!call_erased_last(&judge.geometry, &facts));
    facts = sync_at(3, 3);
    CHECK_EQ(call_fill_of(&judge.geometry, &facts), FILL_FULL);
    facts.kind = CALL_STAT;                              /* reads the same whatever is free */
    CHECK_EQ(call_fill_of(&judge.geometry, &facts), FILL_ROOMY);
    facts = (struct call_facts){.kind = CALL_WRITE, .bytes = 1u << 20, .space_known = true, .blocks_available = 200};
    CHECK_EQ(call_fill_of(&judge.geometry, &facts), FILL_FULL);
}

TEST(erased_blocks_last_or_not)
{
    struct call_facts facts = sync_at(3000, 2000);
    begin();
    uint64_t few = call_bound(&judge.geometry, &facts, MEASURE_ERASES_AHEAD);
    CHECK(few < call_bound(&judge.geometry, &facts, MEASURE_ERASES));
    call(&facts, 0, 0, few + 1);
    CHECK_EQ(judge.past, 1);
    facts.blocks_erased = 5;
    call(&facts, 0, 0, few + 1);
    CHECK_EQ(judge.past, 1);
}

TEST(no_bound)
{
    struct call_facts facts = sync_at(3, 3);
    begin();
    CHECK(call_unbounded(&judge.geometry, &facts) != NULL);
    call(&facts, 1000000, 1000000, 1000000);
    facts = sync_at(3000, 5);
    facts.pending = 6;
    facts.writes = 5;
    CHECK(call_unbounded(&judge.geometry, &facts) != NULL);
    call(&facts, 1000000, 1000000, 1000000);
    facts = (struct call_facts){.kind = CALL_WRITE, .inside_new = true};
    call(&facts, 1000000, 1000000, 1000000);
    CHECK_EQ(judge.past, 0);
    CHECK_EQ(judge.unbounded, 3);
    facts = sync_at(3, 3);
    facts.kind = CALL_REMOVE;
    CHECK(call_unbounded(&judge.geometry, &facts) != NULL);
}

/* Every kind has a name, a bound or a reason why not, at every room. */
TEST(the_table_is_whole)
{
    char text[128];
    begin();
    for (enum call_kind kind = 0; kind < CALL_KINDS; kind++) {
        CHECK(call_name(kind) != NULL);
        for (enum call_fill fill = 0; fill < FILL_CLASSES; fill++) {
            call_bound_text(kind, fill, MEASURE_READS, text, sizeof text);
            CHECK(strlen(text) + 1 < sizeof text);
            CHECK(!call_by_fill(kind) || call_never_bounded(kind, fill) != NULL || strcmp(text, "0") != 0);
        }
    }
    call_bound_text(CALL_STAT, FILL_ROOMY, MEASURE_READS, text, sizeof text);
    CHECK(strcmp(text, "T + P") == 0);
}

TEST(inactive)
{
    memset(&judge, 0, sizeof judge);                     /* a peer's cell */
    call(&(struct call_facts){.kind = CALL_STATFS}, 1, 1, 1);
    CHECK_EQ(judge.calls, 0);
}

int main(void)
{
    RUN(planted_costs_are_found);
    RUN(nothing_may_cost_nothing);
    RUN(room);
    RUN(erased_blocks_last_or_not);
    RUN(no_bound);
    RUN(the_table_is_whole);
    RUN(inactive);
    return check_done();
}
