/* SPDX-License-Identifier: BSD-2-Clause */
#include "bad.h"

uint32_t nf2_bad_place(const nf2_t *fs, uint32_t block)
{
    for (unsigned i = 0; i < NF2_BAD_MAX; i++) {
        if (fs->bad[i].block == block) {
            return fs->bad[i].by;
        }
    }
    return block;
}

bool nf2_bad_room(const nf2_t *fs)
{
    return fs->bad_count < NF2_BAD_MAX && (uint32_t)fs->blocks_bad + fs->bad_count < nf2_bad_limit(fs);
}

void nf2_bad_note(nf2_t *fs, uint32_t block, uint32_t by)
{
    struct nf2_bad *bad = &fs->bad[fs->bad_count];

    NF2_ASSERT(nf2_bad_room(fs));
    bad->block = (uint16_t)block;
    bad->by = (uint16_t)by;
    for (unsigned i = 0; i < fs->bad_count; i++) {
        if (fs->bad[i].block == block) { /* the one in its place fails, too */
            bad->block = bad->by = fs->bad[i].by;
            fs->bad[i].by = (uint16_t)by;
        }
    }
    fs->bad_move = ++fs->bad_count;
    fs->bad_news = true;
}

void nf2_slot_trim(struct nf2_slot *slot)
{
    if (slot->runs > 0 && slot->run[slot->runs - 1].count == 0) {
        slot->runs--;
        slot->used = slot->ready = (uint16_t)(slot->runs > 0 ? slot->run[slot->runs - 1].count : 0);
    }
}

uint32_t nf2_slot_take(struct nf2_slot *slot, bool erased)
{
    struct nf2_run *last = slot->runs > 0 ? &slot->run[slot->runs - 1] : NULL;

    if (last == NULL || slot->used >= last->count || (erased && slot->ready < last->count)) {
        return NF2_NONE;
    }
    uint32_t block = last->start + --last->count;
    slot->ready = (uint16_t)nf2_min(slot->ready, last->count);
    nf2_slot_trim(slot);
    return block;
}

uint32_t nf2_bad_spare(nf2_t *fs, bool *erased)
{
    uint32_t block = NF2_NONE;

    for (unsigned s = NF2_SLOTS; s-- > 0 && block == NF2_NONE;) { /* the tree's first: a file's blocks are to be in one piece */
        block = nf2_slot_take(&fs->slot[s], true);
        *erased = block != NF2_NONE;
        block = *erased ? block : nf2_slot_take(&fs->slot[s], false);
    }
    return block;
}
