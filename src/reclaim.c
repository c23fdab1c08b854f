/* SPDX-License-Identifier: BSD-2-Clause */
#include "reclaim.h"

#include "compact.h"

#include "content.h"
#include "ids.h"
#include "merge.h"
#include "space.h"

#define STEPS_WITHOUT_GAIN 64u

/* ---- orphans ------------------------------------------------------------------------------------ */

/* Is the id one that an open file is still filling? */
static bool is_shadow(const nf2_t *fs, uint32_t id)
{
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind == NF2_BODY_INDEXED && file->shadow && file->id == id) {
            return true;
        }
    }
    return false;
}

/* Removes one entry of an orphan: 1, 0 if it has none left, or an error. */
static int remove_entry(nf2_t *fs, uint32_t id)
{
    struct nf2_key key = nf2_lowest_key(id);
    struct nf2_node_op change;
    struct nf2_entry entry;
    uint32_t number;
    uint8_t kind;

    int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);
    if (found <= 0 || entry.id != id) {
        return found < 0 ? found : 0;
    }
    NF2_TRY(nf2_entry_number(fs, &entry, &kind, &number));
    memset(&change, 0, sizeof change);
    change.type = NF2_NODE_DEL;
    change.key = nf2_number_key(id, kind, number);
    bool urgent = fs->urgent;
    uint32_t start = fs->programs;
    fs->urgent = true;
    int result = nf2_tree_change(fs, &change, 1);
    fs->urgent = urgent;
    return result < 0 ? result : fs->programs != start ? 1 : NF2_ERR_IO; /* it does not lie where its key leads */
}

int nf2_orphan_step(nf2_t *fs)
{
    for (unsigned i = 0; i < fs->orphan_count; i++) {
        uint32_t id = fs->orphan[i];
        if (is_shadow(fs, id)) {
            continue;
        }
        int more = remove_entry(fs, id);
        NF2_TRY(more);
        if (more == 0) {
            nf2_id_adopt(fs, id); /* off the list; the next STATE says so */
        }
        return 1;
    }
    return 0;
}

int nf2_orphans_room(nf2_t *fs)
{
    while (fs->orphan_count >= NF2_ORPHANS_USED) {
        int result = nf2_orphan_step(fs);
        if (result <= 0) {
            return result < 0 ? result : NF2_ERR_BUSY;
        }
    }
    return NF2_OK;
}

/* ---- all kinds ---------------------------------------------------------------------------------- */

static int merge_step(nf2_t *fs)
{
    int result = nf2_tree_merge_step(fs);
    return result < 0 ? result : 1;
}

int nf2_reclaim_light_step(nf2_t *fs)
{
    int result = nf2_orphan_step(fs);

    if (result != 0) {
        return result;
    }
    if (!nf2_tree_merge_done(fs) && !fs->exchanging) { /* the walk of exchange merges, too: it would lose its place */
        return merge_step(fs);
    }
    return nf2_compact_waits(fs) ? 2 : 0;
}

/* What open files have not synced is told to their maps: files that are in memory alone have garbage, too. */
static int record_handles(nf2_t *fs)
{
    bool urgent = fs->urgent;

    fs->urgent = true;
    int result = nf2_compact_handles(fs, NF2_NONE);
    fs->urgent = urgent;
    return result == NF2_ERR_NOSPC ? NF2_OK : result;
}

int nf2_reclaim(nf2_t *fs, uint32_t blocks)
{
    NF2_TRY(nf2_space_begin(fs));
    uint32_t most = 0, steps = 0, live = nf2_max(fs->compact_live, NF2_COMPACT_IDLE + 1u);
    bool whole = false;         /* has the present pass over all files begun at the first? */
    bool merging = false;       /* after it, before blocks with more live data */
    while (nf2_space_available(fs) < blocks) {
        int result = nf2_orphan_step(fs); /* each takes an entry away: they come to an end */
        if (result == 0) {
            if (++steps > STEPS_WITHOUT_GAIN + 4 * fs->blocks) { /* the end, too, whatever the steps say */
                return NF2_ERR_NOSPC;
            }
            result = !merging ? nf2_compact_step(fs, live) : nf2_tree_merge_done(fs) ? 0 : merge_step(fs);
        }
        result = result == NF2_ERR_NOSPC ? 0 : result; /* merging may win what a move lacks, and the other way round */
        NF2_TRY(result);
        if (result == 0 && merging && live == NF2_COMPACT_ALL) {
            return NF2_ERR_NOSPC;
        }
        if (result == 0) { /* the emptiest blocks of all files first */
            NF2_TRY(whole ? NF2_OK : record_handles(fs));
            live = merging ? nf2_min(2 * live, NF2_COMPACT_ALL) : live;
            merging = whole && !merging;
            if (merging) {
                nf2_tree_merge_all(fs);
            }
            whole = true;
        } else if (nf2_space_free_blocks(fs) > most) {
            most = nf2_space_free_blocks(fs);
            steps = 0;
        }
    }
    return NF2_OK;
}
