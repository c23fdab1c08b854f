/* SPDX-License-Identifier: BSD-2-Clause */
#include "effects.h"

#include "meta.h"

#define FLAT_HEAD 5u            /* kind and size */
#define EXTENT_BYTES 5u

/* Decodes what a body owns. `key_number` is the block of an OWN entry's key. */
static int decode(const uint8_t *body, uint32_t length, uint32_t key_number, struct nf2_run *runs, uint32_t *id)
{
    *id = 0;
    if (length == 0) {
        return NF2_ERR_IO;
    }
    switch (body[0]) {
    case NF2_BODY_FLAT: {
        uint32_t count = length < FLAT_HEAD ? 0 : (length - FLAT_HEAD) / EXTENT_BYTES;
        if (count > NF2_EXTENTS_MAX || length != FLAT_HEAD + count * EXTENT_BYTES) {
            return NF2_ERR_IO;
        }
        for (uint32_t i = 0; i < count; i++) {
            runs[i].start = nf2_get24(body + FLAT_HEAD + i * EXTENT_BYTES);
            runs[i].count = nf2_get16(body + FLAT_HEAD + i * EXTENT_BYTES + 3);
        }
        return (int)count;
    }
    case NF2_BODY_INDEXED:
        *id = length >= 5 ? nf2_get32(body + 1) : 0;
        return *id != 0 ? 0 : NF2_ERR_IO;
    case NF2_BODY_OWN:
        runs[0].start = key_number;
        runs[0].count = length >= 3 ? nf2_get16(body + 1) : 0;
        return 1;
    case NF2_BODY_CHILD:
        runs[0].start = length >= 4 ? nf2_get24(body + 1) : 0;
        runs[0].count = length >= 4;
        return 1;
    default:
        return 0;
    }
}

int nf2_entry_owns(nf2_t *fs, const struct nf2_entry *entry, struct nf2_run *runs, uint32_t *id)
{
    struct nf2_entry at = *entry;
    uint8_t body[FLAT_HEAD + NF2_EXTENTS_MAX * EXTENT_BYTES] = {0}, kind;
    uint32_t number = 0;

    NF2_TRY(nf2_entry_body(fs, &at));
    NF2_TRY(nf2_body_read(fs, &at, 0, body, nf2_min(at.body_length, 1)));
    if (body[0] == NF2_BODY_INLINE || body[0] == NF2_BODY_DIR) {
        *id = 0;
        return 0;
    }
    if (at.body_length > sizeof body) {
        return NF2_ERR_IO;
    }
    NF2_TRY(nf2_body_read(fs, &at, 0, body, at.body_length));
    if (body[0] == NF2_BODY_OWN && at.key_length == NF2_NUMBER_LENGTH) {
        NF2_TRY(nf2_entry_number(fs, &at, &kind, &number));
    }
    return decode(body, at.body_length, number, runs, id);
}

/* `n`: an error, or how many runs there are. */
static int add(struct nf2_effects *effects, struct nf2_estate *to, const struct nf2_run *runs, int n, uint32_t id)
{
    NF2_TRY(n);
    effects->any = effects->any || n > 0 || id != 0;
    for (int i = 0; i < n; i++) {
        if (runs[i].count == 0) {
            continue;
        }
        if (to->runs == NF2_EFFECT_RUNS) {
            return NF2_ERR_INVAL;
        }
        to->run[to->runs++] = runs[i];
    }
    if (id != 0) {
        if (to->ids == NF2_EFFECT_IDS) {
            return NF2_ERR_INVAL;
        }
        to->id[to->ids++] = id;
    }
    return NF2_OK;
}

int nf2_effects_add(nf2_t *fs, struct nf2_effects *effects, struct nf2_estate *to, const struct nf2_entry *entry)
{
    struct nf2_run runs[NF2_EXTENTS_MAX];
    uint32_t id = 0;
    int n = nf2_entry_owns(fs, entry, runs, &id);

    for (int i = 0; i < n; i++) {
        if (runs[i].count > NF2_CHANGE_COUNT_MAX || runs[i].start > fs->blocks || runs[i].count > fs->blocks - runs[i].start) {
            return NF2_ERR_IO;
        }
    }
    return add(effects, to, runs, n, id);
}

int nf2_effects_owned_body(struct nf2_effects *effects, uint32_t key_number, const uint8_t *body, uint32_t length)
{
    struct nf2_run runs[NF2_EXTENTS_MAX];
    uint32_t id;
    int n = decode(body, length, key_number, runs, &id);

    return add(effects, &effects->owned, runs, n, id);
}

/* Takes [start, start + count) out of the list of runs; a run cut in the middle becomes two. */
static void subtract(struct nf2_run *runs, uint8_t *n, const struct nf2_run *what)
{
    for (unsigned i = 0; i < *n; i++) {
        struct nf2_run *run = &runs[i];
        uint32_t end = run->start + run->count, what_end = what->start + what->count;
        if (what->start >= end || what_end <= run->start) {
            continue;
        }
        if (what->start > run->start && what_end < end && *n < NF2_EFFECT_RUNS) {
            runs[*n].start = what_end;
            runs[(*n)++].count = end - what_end;
            run->count = what->start - run->start;
        } else if (what->start > run->start) {
            run->count = what->start - run->start;
        } else {
            run->start = nf2_min(what_end, end);
            run->count = end - run->start;
        }
    }
}

void nf2_effects_settle(struct nf2_effects *effects)
{
    struct nf2_estate *dropped = &effects->dropped;
    const struct nf2_estate *owned = &effects->owned;

    for (unsigned i = 0; i < owned->runs; i++) {
        subtract(dropped->run, &dropped->runs, &owned->run[i]);
    }
    for (unsigned i = 0; i < dropped->ids; i++) {
        for (unsigned j = 0; j < owned->ids; j++) {
            if (dropped->id[i] == owned->id[j]) {
                dropped->id[i] = 0;
            }
        }
    }
}
