/* SPDX-License-Identifier: BSD-2-Clause */
#include "maintain.h"

#define STEP_PROGRAMS 40u       /* that one step of the walk makes at most, as a rule */

/* The first group of `now` that is free as a whole and not erased; NF2_NONE: there is none. */
static uint32_t group_to_erase(const nf2_t *fs)
{
    uint32_t size = nf2_group_blocks(fs), blocks = fs->space.window_blocks;
    uint32_t not = fs->space.erased_groups | fs->space.worn;

    for (uint32_t group = 0, at = 0; at + size <= blocks && !fs->space.now_fresh; group++, at += size) {
        if ((not >> group & 1u) == 0 && nf2_space_run(fs, at, at + size) == size) {
            return group;
        }
    }
    return NF2_NONE;
}

/*
 * Erases as much of a free group as fits into a time, and puts that on record when it is done: 1, 0 if nothing fits, or an
 * error. What was done is kept in RAM: a block that is taken meanwhile ends the group's being free.
 */
static int erase_some(nf2_t *fs, uint32_t group, uint32_t left, uint32_t record)
{
    struct nf2_space *space = &fs->space;
    uint32_t size = nf2_group_blocks(fs), large = nf2_large_blocks(fs);
    uint32_t first = space->now_window * space->window_blocks + group * size;
    int done = 0;

    space->ahead = space->ahead_group == group ? space->ahead : 0;
    space->ahead_group = (uint8_t)group;
    if (NF2_BROKEN(NF2_FAULT_AHEAD)) {
        space->erased_groups |= 1u << group;
        NF2_TRY(nf2_journal_checkpoint(fs, false));
    }
    while (space->ahead < size) {
        uint32_t block = first + space->ahead;
        bool whole = large > 1 && nf2_large_begins(fs, block) && block + large <= first + size;
        uint32_t count = whole ? large : 1, time = whole ? fs->io.flash->large_erase_us : fs->io.flash->erase_block_us;
        bool last = space->ahead + count >= size;
        if (left < time + (last ? record : 0)) {
            return done;
        }
        int result = nf2_flash_erase(fs, block, count);
        if (result == NF2_FAILED_BLOCK && count > 1) {
            result = nf2_flash_erase(fs, block, count = 1);
        }
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, block);
            return 1;
        }
        NF2_TRY(result);
        space->erases += count;
        space->ahead = (uint16_t)(space->ahead + count);
        left -= time;
        done = 1;
    }
    space->erased_groups |= 1u << group;
    space->ahead = 0;
    NF2_TRY(nf2_journal_checkpoint(fs, false));
    return 1;
}

/* Erases of the log's next block and of an anchor's, where the log is about to turn. */
static NF2_APART uint32_t erases_of_turn(const nf2_t *fs)
{
    return fs->root.end + 4u * nf2_page(fs) > nf2_log_bytes(fs) ? 1u + fs->root.next_suspect : 0;
}

int nf2_idle(nf2_t *fs, uint32_t budget_us)
{
    const struct nf2_flash *flash = fs->io.flash;
    uint32_t begin = fs->io.busy_us, step = STEP_PROGRAMS * (flash->program_page_us + 16 * flash->read_page_us);

    if (fs->io.read_only) {
        return 0;
    }
    NF2_TRY(nf2_sweep_finish(fs));
    for (;;) {
        uint32_t spent = fs->io.busy_us - begin, left = budget_us > spent ? budget_us - spent : 0;
        uint32_t group = fs->root.opened ? group_to_erase(fs) : NF2_NONE;
        uint32_t log = 2 * flash->program_page_us + erases_of_turn(fs) * flash->erase_block_us;
        int erased = group != NF2_NONE ? erase_some(fs, group, left, log) : 0;
        NF2_TRY(erased);
        if (erased) {
            continue;
        }
        if (!fs->root.opened && !fs->root.leaky) {
            return 0;
        }
        /* What a step may take is erased ahead, a block at a time. */
        bool fits = left >= flash->erase_block_us + log;
        int ahead = nf2_alloc_ahead(fs, fits);
        NF2_TRY(ahead);
        if (ahead > 0 && fits) {
            continue;
        }
        uint32_t rest = fs->space.data.count < 2 ? flash->erase_block_us : 0; /* a copy may go on in new blocks */
        if (ahead > 0 || left < step + log + rest) {
            return 1;
        }
        int more = nf2_sweep_step(fs);
        if (more <= 0) {
            return more < 0 ? more : group != NF2_NONE;
        }
    }
}
