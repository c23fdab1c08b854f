/* SPDX-License-Identifier: BSD-2-Clause */
#include "maintain.h"

#include "super.h"

#define STEP_PROGRAMS 40u       /* that one step of the walk makes at most, as a rule, */
#define SCANT_PROGRAMS 30u      /* where there is little time, */
#define STEP_READS 8u           /* and pages that it reads for each of them */
#define SHARE_US 30720u         /* of the budget that each step counts for: looks are not all that
                                   the processor has to do */

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

/* Time that records of the root log may take. */
static uint32_t log_us(nf2_t *fs)
{
    const struct nf2_flash *flash = fs->flash;
    return 2 * flash->program_page_us + erases_of_turn(fs) * flash->erase_block_us;
}

/*
 * A step of the walk, if there is time for it: without the time for an erase it takes what is
 * erased. 1 if something was done, 0 if nothing is left to do, NF2_NEED_SPACE: not in this time; or
 * an error.
 */
static int step(nf2_t *fs, uint32_t left_us)
{
    const struct nf2_flash *flash = fs->flash;
    uint32_t unit = flash->program_page_us + STEP_READS * (flash->read_page_us + NF2_PROCESSOR_US);
    bool scant = left_us < STEP_PROGRAMS * unit + log_us(fs) + 2 * flash->erase_block_us;
    uint32_t need = (scant ? SCANT_PROGRAMS : STEP_PROGRAMS) * unit + log_us(fs);

    if (left_us < need) {
        return NF2_NEED_SPACE;
    }
    if (fs->group_busy) {       /* on record, else each session would apply it anew */
        if (left_us < need + 2 * flash->erase_block_us) {
            return NF2_NEED_SPACE;
        }
        fs->patience = NF2_WAITS;
        NF2_TRY(nf2_collect_begin(fs));
        NF2_TRY(nf2_change_begin(fs));
        return 1;
    }
    fs->patience = scant ? NF2_NO_ERASE : NF2_NO_LARGE_ERASE;
    int more = nf2_collect_step(fs);
    fs->patience = NF2_WAITS;
    return more;
}

/*
 * What calls take next is erased ahead, then a step of the walk is made, then the rest of what is
 * free is erased. 1 if something was done, 0 if nothing is left to do, NF2_NEED_SPACE: not in this
 * time; or an error.
 */
static int work(nf2_t *fs, uint32_t left_us, uint32_t share_us)
{
    const struct nf2_space *space = &fs->space;
    int ahead = fs->group_busy ? 0 : nf2_collect_erase(fs, left_us, false);

    if (ahead != 0) {
        return ahead;
    }
    bool owes = space->ahead_region != NF2_NO_REGION;
    int stepped = left_us > share_us ? step(fs, left_us - share_us) : NF2_NEED_SPACE;
    if (stepped != 0 || owes) {
        return stepped != 0 ? stepped : NF2_NEED_SPACE;
    }
    ahead = nf2_collect_erase(fs, left_us, true);
    return ahead == 0 && space->ahead_region != NF2_NO_REGION ? NF2_NEED_SPACE : ahead;
}

/* 1 if work is left. What was erased goes on record. */
static int leave(nf2_t *fs, int result)
{
    NF2_TRY(result != NF2_NEED_SPACE ? result : 0);
    NF2_TRY(fs->opened && fs->space.unrecorded ? nf2_journal_checkpoint(fs) : NF2_OK);
    return result == NF2_NEED_SPACE;
}

int nf2_idle(nf2_t *fs, uint32_t budget_us)
{
    uint32_t share = 0, begin = now_us(fs);
    int more = 1;

    if (fs->read_only) {
        return 0;
    }
    while (more > 0 && (fs->opened || fs->leaky)) {
        uint32_t used = now_us(fs) - begin + 2 * fs->flash->program_page_us;
        if (budget_us < used || budget_us < (used = now_us(fs) - begin + log_us(fs))) {
            return 1;
        }
        more = nf2_journal_open(fs);
        if (more == NF2_NEED_SPACE) { /* steps of a walk look for a block to begin with */
            more = nf2_collect_step(fs);
        } else if (more == NF2_OK) {
            /* of what is not asked for the time, as counts of wear */
            bool short_time = budget_us - used < 3 * fs->flash->erase_block_us;
            fs->patience = short_time ? NF2_NO_ERASE : NF2_NO_LARGE_ERASE;
            more = work(fs, budget_us - used, share);
            fs->patience = NF2_WAITS;
            share += SHARE_US;
        }
    }
    return leave(fs, more > 0 ? 0 : more);
}
