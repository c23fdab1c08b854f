/* SPDX-License-Identifier: BSD-2-Clause */
#include "compact.h"

#include "batch.h"
#include "census.h"
#include "clean.h"
#include "content.h"
#include "evacuate.h"
#include "flash.h"
#include "space.h"

/* ---- block by block ----------------------------------------------------------------------------- */

#define DEAD_RUNS 8u           /* that one look notes */
#define AHEAD_WALK 24u          /* leaves of a map that a call may walk over which does something else */

/* What a look at some of a file's blocks found: runs that nothing live lies in, and the emptiest of the others. */
struct finding {
    struct {
        uint16_t start, count;
    } dead[DEAD_RUNS];
    uint32_t dead_runs;
    uint32_t live[NF2_VICTIMS_MAX]; /* bytes of each victim, the fewest first */
    struct nf2_victims victims;
};

static void note_dead(struct finding *finding, uint32_t block)
{
    uint32_t n = finding->dead_runs;

    if (n > 0 && (uint32_t)finding->dead[n - 1u].start + finding->dead[n - 1u].count == block) {
        finding->dead[n - 1u].count++;
    } else if (n < DEAD_RUNS) {
        finding->dead[n].start = (uint16_t)block;
        finding->dead[n].count = 1;
        finding->dead_runs++;
    }
}

static struct nf2_run dead_run(const struct finding *finding, uint32_t i)
{
    struct nf2_run run = {finding->dead[i].start, finding->dead[i].count};
    return run;
}

/* Has the file most of the group that a large erase takes together with this block? Then it is better emptied as a whole. */
static bool in_own_group(const nf2_t *fs, const struct nf2_census *census, uint32_t block)
{
    uint32_t large = nf2_large_blocks(fs), shift = nf2_group_shift(fs, large), first = block - (block - shift) % large, count = 0;

    for (uint32_t i = 0; i < large; i++) {
        count += nf2_census_owns(census, first + i);
    }
    return count > large / 2u;
}

/* A block gets a place in front of those with more live data. */
static void note_victim(struct finding *finding, uint32_t block, uint32_t live)
{
    struct nf2_victims *victims = &finding->victims;
    uint32_t at = victims->count;

    while (at > 0 && finding->live[at - 1u] > live) {
        at--;
    }
    if (at < NF2_VICTIMS_MAX) {
        victims->count = (uint16_t)nf2_min(victims->count + 1u, NF2_VICTIMS_MAX);
        memmove(&finding->live[at + 1u], &finding->live[at], (victims->count - at - 1u) * sizeof finding->live[0]);
        memmove(&victims->first[at + 1u], &victims->first[at], (victims->count - at - 1u) * sizeof victims->first[0]);
        finding->live[at] = live;
        victims->first[at] = (uint16_t)block;
    }
}

/*
 * Counts what is live in NF2_CENSUS_BLOCKS blocks from `first` on. With `aside`, for a call that does something else: blocks of groups that
 * the file has to itself are left alone. 0 if the map has more than `*leaves` leaves, which become less by those; else 1, or an error.
 */
static NF2_APART int look_at_blocks(nf2_t *fs, uint32_t id, uint32_t first, bool aside, uint32_t *leaves, struct finding *finding)
{
    struct nf2_census census = {.id = id, .first = first};
    bool groups = aside && nf2_clean_pays(fs);

    memset(finding, 0, sizeof *finding);
    finding->victims.blocks = 1;
    int result = nf2_census_blocks(fs, &census, leaves);
    for (uint32_t block = first; result > 0 && block < first + NF2_CENSUS_BLOCKS; block++) {
        if (!nf2_census_owns(&census, block) || (groups && in_own_group(fs, &census, block))) {
            continue;
        }
        uint32_t live = nf2_census_block_live(fs, &census, block);
        if (live == 0) {
            note_dead(finding, block);
        } else if (live <= nf2_block_bytes(fs)) {
            note_victim(finding, block, live);
        }
    }
    nf2_census_end(fs);
    return result;
}

int nf2_compact_handles(nf2_t *fs, uint32_t id)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind == NF2_BODY_INDEXED && (file->id == id || id == NF2_NONE) && nf2_file_writes(file)) {
            NF2_TRY(nf2_indexed_record(fs, file));
        }
    }
    return NF2_OK;
}

/*
 * What was found: are blocks of it worth to be emptied, with at most `live` of 16 parts live? No more stay in it than a block takes
 * the copies of.
 */
static bool has_victims(nf2_t *fs, struct finding *finding, uint32_t live)
{
    uint32_t part = nf2_block_bytes(fs) / 16u, room = nf2_block_bytes(fs), n = 0;

    while (n < finding->victims.count && finding->live[n] <= part * live && finding->live[n] <= room) {
        room -= finding->live[n++];
    }
    finding->victims.count = (uint16_t)n;
    if (n > 0 && finding->dead_runs == 0) {
        fs->compact_live = (uint8_t)nf2_min(finding->live[0] / part + 1u, NF2_COMPACT_ALL);
    }
    return n > 0;
}

/* The next block of the file from fs->compact_from on, with which the round goes on: 1, or 0 behind the last. */
static int next_owned(nf2_t *fs, uint32_t id)
{
    uint32_t block = fs->compact_from;
    int found = nf2_evacuate_next_owned(fs, id, &block);

    fs->compact_from = (uint16_t)(found > 0 ? block : 0);
    fs->compact_dead = found > 0 ? fs->compact_dead : 0;
    return found;
}

/* The round over the file's blocks goes on with this one: 1, or 0 behind the last. */
static int go_on(nf2_t *fs, uint32_t block)
{
    bool more = block < fs->blocks;

    fs->compact_from = (uint16_t)(more ? block : 0);
    fs->compact_dead = more ? fs->compact_dead : 0;
    return more;
}

/* Gives back blocks that nothing live lies in: 1, or 0 if there are none in as many as one walk looks at. `*part`: does something live fill some in part? */
static NF2_APART int free_dead(nf2_t *fs, uint32_t id, bool *part)
{
    struct nf2_census census = {.id = id, .first = fs->compact_from};
    struct finding finding = {.dead_runs = 0};

    *part = false;
    int result = nf2_census_uses(fs, &census);
    for (uint32_t i = 0; result >= 0 && i < NF2_CENSUS_USES; i++) {
        enum nf2_use use = nf2_census_use(&census, census.first + i);
        *part = *part || use == NF2_USE_PART;
        if (use == NF2_USE_DEAD) {
            note_dead(&finding, census.first + i);
        }
    }
    nf2_census_end(fs);
    NF2_TRY(result);
    for (uint32_t i = 0; i < finding.dead_runs; i++) {
        struct nf2_run run = dead_run(&finding, i);
        int more = nf2_evacuate_release(fs, id, &run, NF2_NONE);
        if (more != 0) {
            return more;
        }
    }
    return finding.dead_runs > 0;
}

/* The emptiest of the next blocks, if they are worth to be emptied; else none, and the round goes on behind them: 0 if those were the last. */
static NF2_APART int find_victims(nf2_t *fs, uint32_t id, uint32_t live, struct nf2_victims *victims)
{
    struct finding finding;
    uint32_t leaves = NF2_NONE;

    NF2_TRY(look_at_blocks(fs, id, fs->compact_from, false, &leaves, &finding));
    bool found = has_victims(fs, &finding, live);
    *victims = finding.victims;
    return found ? 1 : go_on(fs, fs->compact_from + NF2_CENSUS_BLOCKS);
}

/* Gives blocks back that were emptied: 0, 1 if a batch has to be applied before the others, or an error. */
static int release_victims(nf2_t *fs, uint32_t id, const struct nf2_victims *victims)
{
    for (uint32_t i = 0; i < victims->count; i++) {
        struct nf2_run run = {victims->first[i], victims->blocks};
        int more = nf2_evacuate_release(fs, id, &run, NF2_NONE);
        if (more != 0) {
            return more;
        }
    }
    return 0;
}

#define LOOK_READS 4000u        /* pages: a step that has read so many for looks in vain is over */

static bool looked_enough(const nf2_t *fs, uint32_t start_us)
{
    return fs->busy_us - start_us > LOOK_READS * fs->flash->read_page_us;
}

/* Goes through the file's blocks until some had something to do, or it is enough: 1, or 0 behind the last. */
static int compact_blocks(nf2_t *fs, uint32_t id, uint32_t live, uint32_t start_us)
{
    struct nf2_victims victims;
    bool part;
    int found;

    for (bool again = false; (found = next_owned(fs, id)) > 0; again = true) {
        if (again && looked_enough(fs, start_us)) {
            return 1;
        }
        if (fs->compact_from >= fs->compact_dead) {
            int freed = free_dead(fs, id, &part);
            if (freed != 0) {
                return freed;
            }
            uint32_t end = fs->compact_from + NF2_CENSUS_USES;
            fs->compact_dead = (uint16_t)nf2_min(end, nf2_min(fs->blocks, UINT16_MAX));
            bool look = part && live > 0;
            if (!look && !go_on(fs, end)) {
                return 0;
            }
            if (!look) {
                continue;
            }
        }
        int more = find_victims(fs, id, live, &victims);
        NF2_TRY(more);
        if (victims.count > 0) {
            int released = nf2_evacuate_all(fs, id, &victims);
            released = released < 0 ? released : nf2_batch_waits(fs) ? 1 : release_victims(fs, id, &victims);
            fs->compact_dead = released == 0 ? fs->compact_dead : 0; /* to be found again */
            return released < 0 ? released : 1;
        }
        if (more == 0) {
            return 0;
        }
    }
    return found;
}

/* ---- steps -------------------------------------------------------------------------------------- */

/* All that was to be looked at was. */
static void round_over(nf2_t *fs)
{
    fs->compact_id = 0;
    fs->compact_from = fs->compact_dead = 0;
    fs->compact_due = fs->compact_due == NF2_COMPACT_TWICE ? NF2_COMPACT_ONCE : NF2_COMPACT_NOTHING;
}

/* Goes to the next indexed file, from fs->compact_id on: 1, or 0 behind the last. */
static NF2_APART int next_file(nf2_t *fs)
{
    struct nf2_entry entry;
    uint8_t kind;

    for (;; fs->compact_id++) {
        struct nf2_key key = nf2_lowest_key(fs->compact_id);
        int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);
        if (found <= 0 || entry.id == NF2_NONE || (fs->compact_due == NF2_COMPACT_ONE && entry.id != fs->compact_id)) {
            round_over(fs);
            return found < 0 ? found : 0;
        }
        if (entry.id != fs->compact_id) {
            fs->compact_from = fs->compact_dead = 0;
        }
        fs->compact_id = entry.id;
        NF2_TRY(nf2_body_read(fs, &entry, 0, &kind, 1));
        if (kind >= NF2_BODY_PIECE && kind <= NF2_BODY_OWN) {
            return 1;
        }
    }
}

/* The next file that has something to do, as far as looks are not too long: 1, or 0 behind the last. */
static NF2_APART int file_step(nf2_t *fs, uint32_t live)
{
    bool urgent = fs->urgent;
    uint32_t start_us = fs->busy_us;
    int result;

    fs->urgent = true;
    fs->compact_victim = 0; /* found again, where the round does not empty it */
    for (; (result = next_file(fs)) > 0; fs->compact_id++) {
        result = nf2_compact_handles(fs, fs->compact_id);
        result = result < 0 ? result : compact_blocks(fs, fs->compact_id, live, start_us);
        if (result == 0 && fs->compact_due == NF2_COMPACT_ONE) {
            round_over(fs);
            break;
        }
        if (result == 0 && looked_enough(fs, start_us)) {
            fs->compact_id++;
            result = 1;
        }
        if (result != 0) {
            break;
        }
    }
    fs->urgent = urgent;
    return result;
}

#define AHEAD_LEAVES 6u         /* of a map that one step walks over */
#define AHEAD_PROGRAMS 20u      /* the least that a step ahead has: a block that is copied, and its entry */
#define AHEAD_ENTRIES 8u        /* the least for one more batch, */
#define AHEAD_READS 256u        /* if not so many pages were read before, or something erased */
#define AHEAD_LAST 4u           /* times as much of both where groups can hardly be emptied any more */
#define AHEAD_OWNED 4u          /* entries that one call takes blocks out of, */
#define AHEAD_LOOKS 500u        /* if it has not read so many pages for that */
#define AHEAD_WAIT 32u          /* calls after a round over all files that has found nothing */

/* Groups that a large erase takes: 1, or 0 where none pays, and for a while then. */
static int group_step(nf2_t *fs, uint32_t live, uint32_t leaves, uint32_t programs)
{
    if (!nf2_clean_pays(fs) || fs->clean_wait > 0) {
        fs->clean_wait = (uint8_t)(fs->clean_wait - (fs->clean_wait > 0));
        return 0;
    }
    int result = nf2_clean_step(fs, live, leaves, programs);
    result = result == NF2_ERR_NOSPC ? 0 : result; /* block by block there is less to be copied before some are free */
    fs->clean_wait = (uint8_t)(result == 0 ? nf2_min(leaves == 0 ? 32u : 250u, fs->blocks / 16u) : 0); /* a look at all groups costs as much */
    return result;
}

int nf2_compact_step(nf2_t *fs, uint32_t live)
{
    int result = live > 0 ? group_step(fs, live, 0, 0) : 0;

    result = result == 0 ? file_step(fs, live) : result;
    int applied = result > 0 ? nf2_batch_apply(fs, NULL) : NF2_OK;
    return applied < 0 ? applied : result;
}

/* Empties the block that was found in a call before, and gives it back, if no handle has come to need it. */
static NF2_APART int empty_victim(nf2_t *fs, uint32_t programs)
{
    struct nf2_run run = {fs->compact_victim, 1};
    struct nf2_victims victims = {1, 1, {fs->compact_victim}};
    uint32_t from = 0, id = fs->compact_id, start = fs->programs;
    struct nf2_evacuation job = {id, victims, NULL, 0, &from, NF2_NONE, programs};

    fs->compact_victim = 0;
    int needed = nf2_census_needed(fs, id, &run);
    if (needed != 0) {
        return needed;
    }
    int more;
    while ((more = nf2_evacuate(fs, &job)) > 0) {
        NF2_TRY(nf2_batch_apply(fs, NULL));
        if (fs->programs - start >= programs) {
            return 1; /* what is left is found again */
        }
        job.programs = programs - (fs->programs - start);
    }
    NF2_TRY(more);
    NF2_TRY(nf2_indexed_part(fs, id, &run));
    int result = nf2_evacuate_release(fs, id, &run, 1);
    return result < 0 ? result : 1;
}

/*
 * Looks at blocks of the present file: dead ones are given back, or the emptiest is emptied by the next call. 1, or 0 behind its last block,
 * or where its map is too large for a small step: it is passed over.
 */
static NF2_APART int look_ahead(nf2_t *fs, uint32_t live)
{
    struct finding finding;
    uint32_t entries = AHEAD_OWNED, leaves = AHEAD_WALK, before, start_us = fs->busy_us;
    bool victims = false;

    do { /* a small map is walked several times */
        int found = next_owned(fs, fs->compact_id);
        before = leaves;
        found = found > 0 ? look_at_blocks(fs, fs->compact_id, fs->compact_from, true, &leaves, &finding) : found;
        if (found <= 0) {
            fs->compact_from = fs->compact_dead = 0;
            return found;
        }
        victims = finding.dead_runs == 0 && has_victims(fs, &finding, live);
        if (!victims && finding.dead_runs == 0 && !go_on(fs, fs->compact_from + NF2_CENSUS_BLOCKS)) {
            return 0;
        }
    } while (!victims && finding.dead_runs == 0 && before - leaves <= leaves);
    for (uint32_t i = 0; i < finding.dead_runs && i < entries && (i == 0 || fs->busy_us - start_us < AHEAD_LOOKS * fs->flash->read_page_us); i++) {
        struct nf2_run run = dead_run(&finding, i);
        NF2_TRY(nf2_indexed_part(fs, fs->compact_id, &run));
        int more = nf2_evacuate_release(fs, fs->compact_id, &run, 1);
        NF2_TRY(more > 0 ? nf2_batch_apply(fs, NULL) : more);
    }
    if (victims) {
        fs->compact_victim = finding.victims.first[0];
    }
    return 1;
}

/*
 * A small step on single blocks. 1, or 0 at the end of the last round over the files, or while the next one waits. Large maps are passed over: the
 * rounds of calls that do something else leave all to idle time, those of short idle time leave such files to steps on groups.
 */
static NF2_APART int block_step(nf2_t *fs, uint32_t live, uint32_t programs, bool idle)
{
    uint8_t due = !idle && fs->compact_due == NF2_COMPACT_ONE ? (uint8_t)NF2_COMPACT_TWICE : fs->compact_due; /* the round goes on behind that file, too */

    fs->compact_due = due;
    if (fs->compact_victim != 0) {
        return empty_victim(fs, programs);
    }
    if (!idle && fs->compact_wait > 0) {
        fs->compact_wait--;
        return 0;
    }
    int found = next_file(fs), result = found > 0 ? look_ahead(fs, live) : 0;
    bool over = found <= 0;
    if (!over && result == 0) {
        fs->compact_id++;
        over = due == NF2_COMPACT_ONE;
        if (over) {
            round_over(fs);
        }
    }
    if (!over) {
        return result < 0 ? result : 1;
    }
    if (idle && found >= 0) {
        return fs->compact_due != NF2_COMPACT_NOTHING;
    }
    fs->compact_due = due;
    fs->compact_wait = found == 0 ? AHEAD_WAIT : 0;
    return found < 0 ? found : 0;
}

/* Steps on groups: batch after batch, as far as the programs go. */
static int groups_ahead(nf2_t *fs, uint32_t need, uint32_t programs)
{
    uint32_t start = fs->programs, start_us = fs->busy_us, used = 0;
    uint32_t leaves = fs->erased_blocks < (nf2_clean_pool(fs) + need) / 2u ? 2u * AHEAD_LEAVES : AHEAD_LEAVES, reads = AHEAD_READS * need;
    int result;

    if (fs->short_pieces && nf2_space_available(fs) < 2u * nf2_large_blocks(fs)) { /* soon there is no room for the copies of a group */
        leaves *= AHEAD_LAST;
        reads *= AHEAD_LAST;
    }

    for (;;) {
        result = group_step(fs, NF2_COMPACT_ALL, leaves, programs - used);
        NF2_TRY(result > 0 ? nf2_batch_apply(fs, NULL) : result);
        uint32_t now = fs->programs - start, us = fs->busy_us - start_us, other_us = us - nf2_min(us, now * fs->flash->program_page_us);
        if (result == 0 || now == used || now + AHEAD_ENTRIES > programs || other_us > reads * fs->flash->read_page_us) {
            return result;
        }
        used = now;
    }
}

bool nf2_compact_hurries(const nf2_t *fs)
{
    return fs->erased_blocks < nf2_clean_pool(fs) * 2u / 3u;
}

/* How much of a block may be live for it to be emptied: the more, the fewer are left. */
static uint32_t live_ahead(uint32_t left, uint32_t wanted)
{
    return left >= wanted / 4u ? NF2_COMPACT_IDLE : left >= wanted / 8u ? 2u * NF2_COMPACT_IDLE : 3u * NF2_COMPACT_IDLE;
}

/* Blocks that there should be, so that no call has to make room for what it writes. */
static uint32_t wanted_blocks(const nf2_t *fs)
{
    return nf2_clean_pool(fs) + fs->blocks / 32u;
}

/* Idle time comes before the calls that write: they empty groups as soon as no more than the pool is erased. */
static bool runs_short(const nf2_t *fs)
{
    return fs->free_blocks < nf2_clean_pool(fs) + nf2_large_blocks(fs) / 2u || nf2_space_available(fs) < wanted_blocks(fs) / 4u;
}

#define WORTH_A_ROUND 64u       /* such a part of the volume, that may be garbage */

bool nf2_compact_waits(nf2_t *fs)
{
    if (fs->compact_sparse && runs_short(fs)) {
        fs->compact_due = NF2_COMPACT_TWICE;
        fs->compact_sparse = false;
    }
    return fs->compact_due != NF2_COMPACT_NOTHING && (fs->garbage >= nf2_min(fs->blocks / WORTH_A_ROUND, NF2_GARBAGE_MUCH) || runs_short(fs));
}

/* A small step of idle time. */
static int small_step(nf2_t *fs, uint32_t live, uint32_t programs)
{
    bool urgent = fs->urgent;

    fs->urgent = true;
    int result = live > 0 || nf2_clean_erases(fs) ? group_step(fs, live > 0 ? NF2_COMPACT_ALL : 0, AHEAD_LEAVES, programs) : 0;
    result = result == 0 ? block_step(fs, live, programs, true) : result;
    fs->urgent = urgent;
    int applied = result > 0 ? nf2_batch_apply(fs, NULL) : NF2_OK;
    return applied < 0 ? applied : result;
}

int nf2_compact_idle(nf2_t *fs, uint32_t programs)
{
    bool needed = runs_short(fs);
    uint32_t live = needed ? live_ahead(nf2_space_available(fs), wanted_blocks(fs)) : 0;

    fs->compact_sparse = fs->compact_sparse || !needed;
    int result = programs > 0 ? small_step(fs, live, programs) : nf2_compact_step(fs, nf2_min(live, NF2_COMPACT_IDLE));
    fs->garbage = fs->compact_due == NF2_COMPACT_NOTHING ? 0 : fs->garbage;
    return result;
}

int nf2_compact_ahead(nf2_t *fs, uint32_t need, uint32_t programs, bool late)
{
    uint32_t pool = nf2_clean_pool(fs) + need, wanted = wanted_blocks(fs) + need, left = nf2_space_available(fs);
    bool urgent = fs->urgent;

    if (programs < AHEAD_PROGRAMS || left >= (late ? wanted / 4u : wanted)) {
        return NF2_OK;
    }
    int result = nf2_orphan_step(fs);   /* nothing is gained sooner */
    result = result == 0 && fs->erased_blocks < pool ? groups_ahead(fs, need, programs) : result;
    fs->urgent = true;
    result = result == 0 && left < wanted / 2u ? block_step(fs, live_ahead(left, wanted), programs, false) : result;
    fs->urgent = urgent;
    return result > 0 ? nf2_batch_apply(fs, NULL) : result;
}
