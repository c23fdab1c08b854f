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

#define WINDOW_BLOCKS NF2_CENSUS_BINS
#define DEAD_RUNS 8u            /* that one look notes */

/* What a look at a window of blocks found: runs that nothing live lies in, and the emptiest of the others. */
struct finding {
    struct nf2_run dead[DEAD_RUNS];
    uint32_t dead_runs, victim, least;
};

static void note_dead(struct finding *finding, uint32_t block)
{
    struct nf2_run *last = finding->dead_runs > 0 ? &finding->dead[finding->dead_runs - 1u] : NULL;

    if (last != NULL && last->start + last->count == block) {
        last->count++;
    } else if (finding->dead_runs < DEAD_RUNS) {
        finding->dead[finding->dead_runs].start = block;
        finding->dead[finding->dead_runs++].count = 1;
    }
}

/* Counts what is live in the blocks of a file in the window from `first` on. */
static NF2_APART int look_at_blocks(nf2_t *fs, uint32_t id, uint32_t first, struct finding *finding)
{
    struct nf2_census census = {.id = id, .first = first, .blocks = 1};

    memset(finding, 0, sizeof *finding);
    finding->victim = NF2_NONE;
    int result = nf2_census_begin(fs, &census);
    for (uint32_t i = 0; i < WINDOW_BLOCKS; i++) {
        uint32_t bytes = nf2_census_live(fs, &census, i);
        if (nf2_census_owned(&census, i) > 0 && bytes == 0) {
            note_dead(finding, first + i);
        } else if (nf2_census_owned(&census, i) > 0 && !nf2_census_full(&census, i) && (finding->victim == NF2_NONE || bytes < finding->least)) {
            finding->least = bytes;
            finding->victim = first + i;
        }
    }
    nf2_census_end(fs);
    return result;
}

int nf2_compact_handles(nf2_t *fs, uint32_t id)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind == NF2_BODY_INDEXED && file->id == id && nf2_file_writes(file)) {
            NF2_TRY(nf2_indexed_record(fs, file));
        }
    }
    return NF2_OK;
}

/* Looks at a window of the file's blocks, gives back those that nothing live lies in (1), or finds one to be emptied: `*victim`. */
static NF2_APART int free_dead(nf2_t *fs, uint32_t id, uint32_t live, uint32_t *victim)
{
    uint32_t part = nf2_block_bytes(fs) / 16u;
    struct finding finding;

    NF2_TRY(look_at_blocks(fs, id, fs->compact_from, &finding));
    for (uint32_t i = 0; i < finding.dead_runs; i++) {
        int more = nf2_evacuate_release(fs, id, &finding.dead[i], NF2_NONE);
        if (more != 0) {
            return more;
        }
    }
    *victim = finding.victim != NF2_NONE && finding.least <= part * live ? finding.victim : NF2_NONE;
    if (finding.dead_runs == 0 && *victim != NF2_NONE) {
        fs->compact_live = (uint8_t)nf2_min(finding.least / part + 1u, NF2_COMPACT_ALL);
    }
    return finding.dead_runs > 0;
}

/* Goes through windows of the file's blocks until one had something to do: 1, or 0 behind the last. */
static int compact_blocks(nf2_t *fs, uint32_t id, uint32_t live)
{
    uint32_t victim;
    int found;

    while ((found = nf2_evacuate_next_owned(fs, id, &fs->compact_from)) > 0) {
        fs->compact_from -= fs->compact_from % WINDOW_BLOCKS;
        int freed = free_dead(fs, id, live, &victim);
        if (freed != 0) {
            return freed;
        }
        if (victim != NF2_NONE) {
            struct nf2_run run = {victim, 1};
            NF2_TRY(nf2_evacuate_all(fs, id, &run));
            return 1;
        }
        fs->compact_from += WINDOW_BLOCKS;
    }
    fs->compact_from = 0;
    return found;
}

/* ---- steps -------------------------------------------------------------------------------------- */

/* Goes to the next indexed file, from fs->compact_id on: 1, or 0 behind the last. */
static NF2_APART int next_file(nf2_t *fs)
{
    struct nf2_entry entry;
    uint8_t kind;

    for (;; fs->compact_id++) {
        struct nf2_key key = nf2_lowest_key(fs->compact_id);
        int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);
        if (found <= 0 || entry.id == NF2_NONE) {
            fs->compact_id = fs->compact_from = 0;
            fs->compact_again = (uint8_t)(fs->compact_again - (fs->compact_again > 0));
            return found < 0 ? found : 0;
        }
        fs->compact_from = entry.id == fs->compact_id ? fs->compact_from : 0;
        fs->compact_id = entry.id;
        NF2_TRY(nf2_body_read(fs, &entry, 0, &kind, 1));
        if (kind >= NF2_BODY_PIECE && kind <= NF2_BODY_OWN) {
            return 1;
        }
    }
}

/* The next file that has something to do: 1, or 0 behind the last. */
static NF2_APART int file_step(nf2_t *fs, uint32_t live)
{
    bool urgent = fs->urgent;
    int result;

    fs->urgent = true;
    for (; (result = next_file(fs)) > 0; fs->compact_id++) {
        result = nf2_compact_handles(fs, fs->compact_id);
        result = result < 0 ? result : compact_blocks(fs, fs->compact_id, live);
        if (result != 0) {
            break;
        }
    }
    fs->urgent = urgent;
    return result;
}

#define AHEAD_LEAVES 6u
#define AHEAD_PROGRAMS 20u       /* the least that a step ahead has: a block that is copied, and its entry */

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
    int result = group_step(fs, live, 0, 0);

    result = result == 0 ? file_step(fs, live) : result;
    int applied = result > 0 ? nf2_batch_apply(fs, NULL) : NF2_OK;
    return applied < 0 ? applied : result;
}

bool nf2_compact_due(const nf2_t *fs, uint32_t need)
{
    uint32_t pool = nf2_clean_pool(fs) + need;

    return fs->erased_blocks < pool && nf2_space_available(fs) < pool + fs->blocks / 32u;
}

int nf2_compact_ahead(nf2_t *fs, uint32_t need, uint32_t programs)
{
    uint32_t leaves = fs->erased_blocks < (nf2_clean_pool(fs) + need) / 2u ? 2u * AHEAD_LEAVES : AHEAD_LEAVES;
    int result = programs >= AHEAD_PROGRAMS ? group_step(fs, NF2_COMPACT_ALL, leaves, programs) : 0;

    return result > 0 ? nf2_batch_apply(fs, NULL) : result;
}
