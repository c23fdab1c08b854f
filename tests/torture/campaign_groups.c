/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * campaign_groups.c - a volume is aged until groups of blocks are being emptied, which goes on over many calls; from there on many
 * histories, with cuts in the calls and in the idle time that go on with it. Nothing of what is under way is on the chip but the
 * blocks that it has moved.
 */
#include "campaign.h"

#include "group_ops.h"

#define AGE 2500u                   /* calls, at least */
#define AGE_MORE 2000u              /* at most, until a group is being emptied */
#define COMPARE_EVERY 1000u         /* calls without a cut */
#define WAIT 150u                   /* calls, at most, until groups are being emptied again: what was under way ends with a cut */
#define HISTORIES 10u               /* from one aged volume */
#define CUT_CALLS 4u                /* calls that are cut at every operation, as in scripts */

static const char *const group_chips[] = { "w25q80", "tinyecc1m", "tiny2m" };

static uint32_t pick(struct explorer *explorer, uint32_t below)
{
    return random_number(&explorer->random, below);
}

static bool compare(struct explorer *explorer)
{
    static const struct call verify = { .op = OP_VERIFY }, check = { .op = OP_CHECK };

    return explorer_do(explorer, &verify) && explorer_do(explorer, &check);
}

/* Made by the explorer: plainly, or cut at every operation before that. */
static bool one_call(struct explorer *explorer, const struct call *call, bool cut)
{
    return cut ? explorer_cut_call(explorer, call) : explorer_do(explorer, call) && explorer_come_back(explorer);
}

enum until { UNTIL_COUNT, UNTIL_EMPTYING, UNTIL_CUT };

/* So many calls, or until something has come about. */
static bool go_on(struct explorer *explorer, struct group_ops *ops, unsigned calls, enum until until, bool cut)
{
    struct rig *rig = &explorer->session.rig;
    struct call_list list = { 0 };
    uint64_t cuts = explorer->session.tally->cuts;
    bool right = true;

    for (unsigned i = 0; right && i < calls; i++) {
        if ((until == UNTIL_EMPTYING && rig_emptying(rig)) || (until == UNTIL_CUT && explorer->session.tally->cuts != cuts)) {
            break;
        }
        if (i == list.count) {
            ops->emptying = rig_emptying(rig);
            group_ops_next(ops, &rig->model, &list);
        }
        right = one_call(explorer, &list.call[i], cut);
        if (right && rig->answer == NF2_ERR_NOSPC) {
            group_ops_full(ops);
        }
    }
    calls_free(&list);
    return right;
}

static bool age(struct explorer *explorer, struct group_ops *ops)
{
    for (unsigned calls = 0; calls < AGE; calls += COMPARE_EVERY / 2) {
        if (!go_on(explorer, ops, COMPARE_EVERY / 2, UNTIL_COUNT, false) || (calls % COMPARE_EVERY == 0 && !compare(explorer))) {
            return false;
        }
    }
    return go_on(explorer, ops, AGE_MORE, UNTIL_EMPTYING, false);
}

/* Cuts, most of them while groups are being emptied, and what comes after them; in some no cut at all. */
static bool history(struct explorer *explorer, struct group_ops *ops)
{
    for (unsigned cuts = pick(explorer, 4); cuts > 0; cuts--) {
        if (!go_on(explorer, ops, WAIT, UNTIL_EMPTYING, false) || !go_on(explorer, ops, pick(explorer, 12), UNTIL_COUNT, false)
            || !explorer_arm(explorer, 1 + pick(explorer, 60)) || !go_on(explorer, ops, 60, UNTIL_CUT, false)) {
            return false;
        }
    }
    return explorer_arm(explorer, 0) && go_on(explorer, ops, 40 + pick(explorer, 160), UNTIL_COUNT, false) && explorer_end(explorer, 30);
}

bool groups_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell)
{
    const struct vflash_chip *chip = vflash_chip_find(options->chip ? options->chip : group_chips[cell % 3]);
    uint64_t seed = cell_seed(options, 5, cell);
    struct group_ops ops;

    if (!chip) {
        return false;
    }
    explorer->deepest = options->deepest;
    explorer->cuts_an_operation = options->cuts >= 0 ? options->cuts : 0.2;
    bool right = explorer_begin(explorer, tally, chip, cell % 2 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK, seed);
    explorer->session.rig.model.short_pieces = true;
    group_ops_init(&ops, seed, right ? explorer->session.rig.capacity : 1);
    if (right && age(explorer, &ops)) {
        struct snapshot *start = explorer_take(explorer);

        for (unsigned i = 0; i < HISTORIES && !explorer->stopped; i++) {
            struct group_ops other = ops;

            other.state += i;
            tally->histories++;
            (void)(i == 0 ? go_on(explorer, &other, CUT_CALLS, UNTIL_COUNT, true) : history(explorer, &other));
            explorer_back(explorer, start);
        }
        explorer_release(start);
    }
    explorer_free(explorer);
    return true;
}
