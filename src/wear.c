/* SPDX-License-Identifier: BSD-2-Clause */
#include "wear.h"

#define AGE 16u                 /* if the configuration does not say: see tests/models/wear.py */
#define SPREAD 8u
#define LAGGARDS 32u            /* blocks in regions that one walk moves for that */
#define RECORD 3u               /* regions for which entries are written */

/* The counts of NF2_WEAR_REGIONS regions: of each so many erases of a region as a whole. */
struct counts {
    uint8_t bytes[1u + NF2_WEAR_REGIONS * NF2_WEAR_BYTES];
};

/* Those that begin with this region; without an entry there was no erase. */
static int load(nf2_t *fs, uint32_t first, struct counts *counts)
{
    struct nf2_entry entry;
    struct nf2_key key;

    nf2_key_make(&key, NF2_SYSTEM_ID, NF2_KEY_WEAR, first);
    int found = nf2_tree_find(fs, &key, &entry);
    memset(counts->bytes, 0, sizeof counts->bytes);
    counts->bytes[0] = fs->space.region_log;
    NF2_TRY(found);
    return found ? nf2_body_read(fs, &entry, 0, counts->bytes, sizeof counts->bytes) : NF2_OK;
}

static uint8_t *count_at(struct counts *counts, uint32_t region)
{
    return counts->bytes + 1 + region % NF2_WEAR_REGIONS * NF2_WEAR_BYTES;
}

static uint32_t mean(const nf2_t *fs)
{
    return fs->erases / fs->blocks;
}

static uint32_t spread(const nf2_t *fs)
{
    return fs->config->wear_spread != 0 ? fs->config->wear_spread : SPREAD;
}

/* Were blocks erased so often in the mean that those which rest are worth a move? */
static bool aged(const nf2_t *fs)
{
    uint32_t age = fs->config->wear_age;

    return mean(fs) >= (age != 0 ? age : AGE);
}

/* One entry with regions of the list: these are counted. 1, 0 if the list is empty, or an error. */
static NF2_APART int record_some(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    uint32_t first = space->taken[0] / NF2_WEAR_REGIONS * NF2_WEAR_REGIONS, kept = 0;
    struct counts counts;
    struct nf2_op op;

    if (space->taken_count == 0) {
        return 0;
    }
    NF2_TRY(load(fs, first, &counts));
    for (unsigned i = 0; i < space->taken_count; i++) {
        uint32_t region = space->taken[i];
        if (region - first < NF2_WEAR_REGIONS) {
            uint8_t *count = count_at(&counts, region);
            nf2_put24(count, nf2_min(nf2_get24(count) + 1u, 0xFFFFFFu));
        } else {
            space->taken[kept++] = (uint8_t)region;
        }
    }
    space->taken_count = (uint8_t)kept;
    nf2_op_put_system(&op, NF2_KEY_WEAR, first);
    op.body[0] = nf2_span_of(counts.bytes, sizeof counts.bytes);
    NF2_TRY(nf2_change_one(fs, &op)); /* of one leaf: no GROUP is left */
    return 1;
}

/* A count that is lost is not worth an error, nor a block where these are lacking. */
int nf2_wear_record(nf2_t *fs)
{
    bool may = fs->group_busy == NF2_GROUP_NONE && nf2_space_stock(fs) > nf2_space_kept(fs);
    int more = may && fs->space.taken_count >= RECORD;

    /* what these changes erase themselves may wait: else it has no end where regions are blocks */
    for (unsigned tries = NF2_TAKEN_MAX; tries > 0 && more > 0; tries--) {
        more = record_some(fs);
    }
    return fs->broken ? more : NF2_OK;
}

/* Free, and not erased yet. */
static bool is_dirty(const nf2_t *fs, uint32_t region)
{
    return nf2_region_state(fs, region) == NF2_REGION_FREE && region != fs->space.resting;
}

/*
 * Of the regions that `suits`, the one that was erased least, and the one that was erased most:
 * NF2_NO_REGION if there is none.
 */
struct extremes {
    uint32_t least, most;       /* regions, */
    uint32_t least_count, most_count;   /* and their erases */
};

static int look_for(nf2_t *fs, bool (*suits)(const nf2_t *fs, uint32_t region),
                    struct extremes *extremes)
{
    struct counts counts;

    *extremes = (struct extremes){NF2_NO_REGION, NF2_NO_REGION, UINT32_MAX, 0};
    for (uint32_t region = 0; region < fs->space.regions; region++) {
        if (region % NF2_WEAR_REGIONS == 0) {
            NF2_TRY(load(fs, region, &counts));
        }
        uint32_t count = nf2_get24(count_at(&counts, region));
        if (suits(fs, region) && count < extremes->least_count) {
            extremes->least = region;
            extremes->least_count = count;
        }
        if (suits(fs, region) && count >= extremes->most_count) {
            extremes->most = region;
            extremes->most_count = count;
        }
    }
    return NF2_OK;
}

int nf2_wear_choose(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    struct extremes extremes;

    if (space->free <= (uint32_t)space->erased_regions << space->region_log) {
        return NF2_OK;          /* all of them are erased */
    }
    NF2_TRY(look_for(fs, is_dirty, &extremes));
    space->ahead_region = (uint16_t)extremes.least;
    space->ahead = 0;
    return NF2_OK;
}

int nf2_wear_rest(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    struct extremes extremes;

    if (space->resting != NF2_NO_REGION || !aged(fs)) {
        return NF2_OK;
    }
    NF2_TRY(look_for(fs, nf2_region_free, &extremes));
    bool level = extremes.most_count <= extremes.least_count + spread(fs);
    space->resting = level ? NF2_ALL_LEVEL : (uint16_t)extremes.most;
    return NF2_OK;
}

/* A closed region in use in which nothing is pinned. */
static bool rests(const nf2_t *fs, uint32_t region)
{
    return nf2_region_state(fs, region) == NF2_REGION_USED &&
           fs->space.live[region] != NF2_LIVE_PINNED;
}

int nf2_wear_look(nf2_t *fs, struct nf2_choice *choice)
{
    uint32_t size = nf2_region_blocks(fs), stock = nf2_space_stock(fs), kept = nf2_space_kept(fs);
    /* they win nothing: the rest is for victims that do */
    uint32_t room = stock > kept ? (stock - kept) / 2 : 0;
    struct extremes extremes;

    for (unsigned i = 0; aged(fs) && fs->walk.need <= NF2_NEED_NONE && i * size < LAGGARDS; i++) {
        if (choice->moves + size > room) {
            break;
        }
        NF2_TRY(look_for(fs, rests, &extremes));
        if (extremes.least == NF2_NO_REGION || extremes.least_count + spread(fs) >= mean(fs)) {
            break;
        }
        nf2_region_set(fs, extremes.least, NF2_REGION_VICTIM);
        choice->victims++;
        choice->moves += fs->space.live[extremes.least] * size / 256u + 1u;
    }
    return NF2_OK;
}

int nf2_wear_of(nf2_t *fs, uint32_t region, uint32_t *erases)
{
    struct counts counts;

    NF2_TRY(load(fs, region / NF2_WEAR_REGIONS * NF2_WEAR_REGIONS, &counts));
    *erases = nf2_get24(count_at(&counts, region));
    return NF2_OK;
}

static bool any(const nf2_t *fs, uint32_t region)
{
    return nf2_region_end(fs, region) > NF2_SUPER_BLOCKS; /* else super blocks alone */
}

void nf2_wear_range(nf2_t *fs, uint32_t *least, uint32_t *most)
{
    struct extremes extremes;

    *least = *most = mean(fs);
    if (look_for(fs, any, &extremes) >= 0) {
        *least = nf2_min(extremes.least_count, *least);
        *most = nf2_max(extremes.most_count, *most);
    }
}
