/* SPDX-License-Identifier: BSD-2-Clause */
#include "maintain.h"

#include "super.h"

#define STEP_PROGRAMS 40u       /* that one step of the walk makes at most, as a rule, */
#define SCANT_PROGRAMS 30u      /* where there is little time, */
#define STEP_READS 8u           /* and pages that it reads for each of them */
#define SHARE_US 30720u         /* of the budget that each step counts for: looks are not all that
                                   the processor has to do */
#define GROUP_OWED 4            /* beside NF2_AHEAD_OWED */

/*
 * The first group of `now` that is free as a whole and not erased, NF2_GROUPS if there is none; or,
 * where little of the window is free, the first one in part: else calls would erase what is free of
 * it one by one. Not on a volume of one window: there blocks fall free with each walk, and what is
 * free and erased beside them would be erased anew.
 */
static uint32_t group_to_erase(const nf2_t *fs)
{
    uint32_t size = nf2_group_blocks(fs), group = 0;
    uint32_t not = fs->now_fresh ? UINT32_MAX : fs->erased_groups | fs->worn;
    bool rests = fs->window_blocks < fs->blocks && fs->now_free <= fs->window_blocks / 8;

    for (uint32_t at = 0; group < NF2_GROUPS; group++, at += size) {
        if ((not >> group & 1u) == 0 && (rests || nf2_space_run(fs, at, at + size) == size)) {
            break;
        }
    }
    return group;
}

/*
 * Erases a part of what is free of a group, if that fits into a time, or puts on record that it is
 * erased: NF2_AHEAD_DONE, GROUP_OWED, 0 if there is none, or an error. What was done is kept in
 * RAM.
 */
static NF2_APART int erase_group(nf2_t *fs, uint32_t left)
{
    uint32_t group = group_to_erase(fs), size = nf2_group_blocks(fs);
    uint32_t first = group * size, end = first + size, at = fs->ahead, free = 0;

    if (group == NF2_GROUPS) {
        return 0;
    }
    at = at - first > size ? first : at;
    while (at < end && (free = nf2_space_run(fs, at, end)) == 0) {
        at++;
    }
    if (free > 0 && !NF2_BROKEN(NF2_FAULT_AHEAD)) {
        uint32_t block = fs->now_window * fs->window_blocks + at;
        uint32_t large = nf2_large_blocks(fs);
        uint32_t count = free >= large && nf2_large_begins(fs, block) ? large : 1;
        if (left < (count > 1 ? fs->flash->large_erase_us : fs->flash->erase_block_us)) {
            return GROUP_OWED;
        }
        int erased = nf2_alloc_erase(fs, block, count);
        NF2_TRY(erased == NF2_FAILED_BLOCK ? 0 : erased);
        at += erased > 0 ? (uint32_t)erased : 0;
        fs->ahead = (uint16_t)(at > first ? at : 0);
        return NF2_AHEAD_DONE;
    }
    /* of one that is all in use there is nothing to put on record */
    bool some = fs->ahead > first;
    fs->erased_groups |= 1u << group;
    fs->ahead = 0;
    NF2_TRY(some ? nf2_journal_checkpoint(fs) : NF2_OK);
    return NF2_AHEAD_DONE;
}

/*
 * Erases of the log's next block and of an anchor's, where the log is about to turn; and of an
 * anchor's that is owed since a turn was cut.
 */
static uint32_t erases_of_turn(nf2_t *fs)
{
    bool turns = fs->root_end + 4u * NF2_LOG_PAGE > nf2_log_bytes(fs);
    uint32_t anchors = (uint32_t)turns + fs->anchor_due;

    return (anchors > 0 && nf2_super_erases(fs) ? anchors : 0) + (turns && fs->next_suspect);
}

/* Microseconds that count: those of a clock, or else typical ones of what was done. */
static NF2_APART uint32_t now_us(const nf2_t *fs)
{
    const struct nf2_config *config = fs->config;

    return config->now_us != NULL ? config->now_us(config->clock_context) : fs->drive.busy_us;
}

int nf2_idle(nf2_t *fs, uint32_t budget_us)
{
    const struct nf2_flash *flash = fs->flash;
    uint32_t share = 0, begin = now_us(fs);
    uint32_t unit = flash->program_page_us + STEP_READS * (flash->read_page_us + NF2_PROCESSOR_US);

    if (fs->read_only) {
        return 0;
    }
    while (fs->opened || fs->leaky) {
        uint32_t spent = now_us(fs) - begin,
                 log = 2 * flash->program_page_us + erases_of_turn(fs) * flash->erase_block_us;
        if (budget_us < spent + log) {
            return 1;
        }
        int more = nf2_journal_open(fs);
        if (more == NF2_NEED_SPACE) { /* steps of a walk look for a block to begin with */
            more = nf2_sweep_step(fs);
            if (more > 0) {
                continue;
            }
        }
        if (more < 0 || !fs->opened) {
            return more;
        }
        /*
         * What calls take is erased ahead, then what else is free, then what steps take. Only for a
         * large erase that a call of its own has the time for is one waited for.
         */
        uint32_t left = budget_us - spent - flash->program_page_us, /* that is for the processor */
                 owed = 0;
        unsigned kinds = fs->group_busy ? 1 : 3; /* who reads is slow while a GROUP waits */
        for (unsigned i = 0; i < kinds && (owed & NF2_AHEAD_DONE) == 0; i++) {
            int result = i == 1 ? erase_group(fs, left) :
                         nf2_alloc_ahead(fs, i != 0, left, left + spent);
            NF2_TRY(result);
            owed |= (uint32_t)result;
        }
        if ((owed & NF2_AHEAD_DONE) != 0) {
            continue;
        }
        /* Without the time for an erase and a step a step does less, and takes what is erased. */
        uint32_t step = STEP_PROGRAMS * unit + log, rest = flash->erase_block_us;
        bool scant = budget_us < step + rest;
        if (scant) {
            step = SCANT_PROGRAMS * unit + log;
        } else if (fs->space.nodes.count < 2 || fs->space.data.count == 0) {
            step += rest;       /* a leaf may become two, a copy begin in a new block */
        }
        bool moves = fs->walk_active && fs->walk_emptying;
        bool lacks = (owed & NF2_AHEAD_OWED) != 0 && (!scant || fs->group_busy || moves);
        if (lacks || left < step + share) {
            return 1;
        }
        share += SHARE_US;
        if (fs->group_busy) {
            NF2_TRY(nf2_sweep_begin(fs));
            NF2_TRY(nf2_change_begin(fs)); /* on record, else each session would apply it anew */
            continue;
        }
        fs->idle = (uint8_t)(1 + scant);
        more = nf2_sweep_step(fs);
        fs->idle = 0;
        NF2_TRY(more);
        if (more == 0) {
            return owed != 0;
        }
    }
    return 0;
}
