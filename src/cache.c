/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache.h"

#include "flash.h"

#define FIRST_SLOT (NF2_KNOWN_BYTES + sizeof(struct nf2_finger))

/*
 * Slots lie one behind the other, and what follows the last one is zero. A slot: block u24 (0: none), level u8, append
 * place u16, age u8, then the live entries, grouped by the upper half of their fingerprints:
 * how many there are in each group, u8 x 16, and for each the offset of its record and the rest of the fingerprint, u16.
 * A node with more entries than fit has a slot without any and the append place TOO_MANY, so that no one tries again.
 */
#define TOO_MANY 0xFFFFu
#define LOADING 0u             /* append place while the records are taken in */
#define LEVEL 3u
#define AGE 6u
#define COUNTS 7u
#define GROUPS 16u
#define ENTRIES (COUNTS + GROUPS)

static uint32_t slot_entries(const uint8_t *slot)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < GROUPS; i++) {
        count += slot[COUNTS + i];
    }
    return count;
}

static uint8_t *slot_end(uint8_t *slot)
{
    return slot + ENTRIES + 2u * slot_entries(slot);
}

static uint8_t *buffer_end(const nf2_t *fs)
{
    return fs->tree_buffer + NF2_TREE_BUFFER_SIZE;
}

/* The slot at this place of the buffer, or NULL behind the last. */
static uint8_t *slot_at(const nf2_t *fs, uint8_t *at)
{
    return !fs->buffer_lent && buffer_end(fs) - at >= (int)ENTRIES && nf2_get24(at) != 0 ? at : NULL;
}

static uint8_t *first_slot(const nf2_t *fs)
{
    return slot_at(fs, fs->tree_buffer + FIRST_SLOT);
}

void nf2_cache_lend(nf2_t *fs, bool in_use)
{
    fs->buffer_lent = in_use;
    memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
}

static uint8_t *find_slot(const nf2_t *fs, uint32_t node)
{
    uint8_t *slot = first_slot(fs);

    while (slot != NULL && nf2_get24(slot) != node) {
        slot = slot_at(fs, slot_end(slot));
    }
    return slot;
}

int nf2_cache_level(const nf2_t *fs, uint32_t node)
{
    const uint8_t *slot = find_slot(fs, node);

    return slot != NULL ? slot[LEVEL] : -1;
}

/* Takes bytes out of the buffer: what is behind them moves up. */
static void take_out(nf2_t *fs, uint8_t *from, uint32_t size)
{
    uint8_t *end = buffer_end(fs);

    memmove(from, from + size, (size_t)(end - from) - size);
    memset(end - size, 0, size);
}

bool nf2_cache_finger(const nf2_t *fs, struct nf2_finger *finger)
{
    if (fs->buffer_lent) {
        return false;
    }
    memcpy(finger, fs->tree_buffer + NF2_KNOWN_BYTES, sizeof *finger);
    return finger->depth > 0 && finger->node[0] == fs->root;
}

void nf2_cache_set_finger(nf2_t *fs, const struct nf2_finger *finger)
{
    if (!fs->buffer_lent) {
        memcpy(fs->tree_buffer + NF2_KNOWN_BYTES, finger, sizeof *finger);
    }
}

/* The node is another one from now on, or (but for the leaf) leads elsewhere. */
static void forget_finger(nf2_t *fs, uint32_t node, bool leaf)
{
    struct nf2_finger finger;

    for (unsigned i = 0; nf2_cache_finger(fs, &finger) && i + !leaf < finger.depth; i++) {
        if (finger.node[i] == node) {
            memset(fs->tree_buffer + NF2_KNOWN_BYTES, 0, sizeof finger);
        }
    }
}

void nf2_cache_drop(nf2_t *fs, uint32_t node)
{
    uint8_t *slot = find_slot(fs, node);

    forget_finger(fs, node, true);

    if (slot != NULL) {
        take_out(fs, slot, (uint32_t)(slot_end(slot) - slot));
    }
}

/* Makes this slot the youngest. */
static void touch(const nf2_t *fs, uint8_t *slot)
{
    for (uint8_t *other = first_slot(fs); other != NULL; other = slot_at(fs, slot_end(other))) {
        other[AGE] = (uint8_t)nf2_min(other[AGE] + 1u, 255);
    }
    slot[AGE] = 0;
}

/* Makes `room` bytes free by dropping the oldest slots but that of `keep`. The free place, or NULL if there is no other slot. */
static uint8_t *make_room(nf2_t *fs, uint32_t keep, uint32_t room)
{
    for (;;) {
        uint8_t *oldest = NULL, *end = fs->tree_buffer + FIRST_SLOT;
        for (uint8_t *slot = first_slot(fs); slot != NULL; slot = slot_at(fs, end)) {
            end = slot_end(slot);
            if (nf2_get24(slot) != keep && (oldest == NULL || slot[AGE] > oldest[AGE])) {
                oldest = slot;
            }
        }
        if (buffer_end(fs) - end >= (int)room) {
            return end;
        }
        if (oldest == NULL) {
            return NULL;
        }
        nf2_cache_drop(fs, nf2_get24(oldest));
    }
}

/* ---- entries ------------------------------------------------------------------------------------ */

static int fingerprint(nf2_t *fs, const struct nf2_key *key, uint32_t *print)
{
    uint32_t hash;

    NF2_TRY(nf2_key_hash(fs, key, &hash));
    *print = (hash ^ hash >> 8) & 0xFFu;
    return NF2_OK;
}

/* Lowest bit of the fingerprint in an entry: offsets have as many bits as a log of this volume needs. */
static NF2_ONCE unsigned print_shift(const nf2_t *fs)
{
    return nf2_log_bytes(fs) > 4096 ? 13 : 12;
}

static uint32_t entry_offset(const nf2_t *fs, const uint8_t *entry)
{
    return nf2_get16(entry) & ((1u << print_shift(fs)) - 1);
}

/* The first entry of a group. */
static uint8_t *group_at(uint8_t *slot, uint32_t group)
{
    uint8_t *at = slot + ENTRIES;

    for (uint32_t i = 0; i < group; i++) {
        at += 2u * slot[COUNTS + i];
    }
    return at;
}

/* The slot of a node gets an entry; false if there is no room for it. */
static bool add(nf2_t *fs, uint32_t node, uint32_t offset, uint32_t print)
{
    uint8_t *end = make_room(fs, node, 2), *slot = find_slot(fs, node);

    if (end == NULL) {
        return false;
    }
    uint8_t *place = group_at(slot, print / GROUPS);
    memmove(place + 2, place, (size_t)(end - place));
    nf2_put16(place, offset | print << print_shift(fs));
    slot[COUNTS + print / GROUPS]++;
    return true;
}

/* The entry whose record begins at `offset` is dead. */
static void bury(nf2_t *fs, uint8_t *slot, uint32_t offset)
{
    for (uint32_t group = 0; group < GROUPS && offset != 0; group++) {
        uint8_t *at = group_at(slot, group);
        for (uint32_t i = 0; i < slot[COUNTS + group]; i++) {
            if (entry_offset(fs, at + 2 * i) == offset) {
                take_out(fs, at + 2 * i, 2);
                slot[COUNTS + group]--;
                return;
            }
        }
    }
}

/* A record at the node's end: 0, 1 if there is no room for it, or an error. `key` NULL: it makes no entry. */
static int take_record(nf2_t *fs, uint32_t node, uint32_t offset, const struct nf2_key *key, uint32_t kill, uint32_t victim)
{
    uint8_t *slot = find_slot(fs, node);
    uint32_t print;

    bury(fs, slot, kill);
    bury(fs, slot, victim);
    if (key == NULL) {
        return 0;
    }
    NF2_TRY(fingerprint(fs, key, &print));
    return add(fs, node, offset, print) ? 0 : 1;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

/* A slot that lacks room loses its entries, one that could not be read goes. */
static void give_up(nf2_t *fs, uint32_t node, int result)
{
    uint8_t *slot = find_slot(fs, node);

    if (result < 0) {
        nf2_cache_drop(fs, node);
    } else {
        take_out(fs, slot + ENTRIES, (uint32_t)(slot_end(slot) - slot) - ENTRIES);
        memset(slot + COUNTS, 0, GROUPS);
        nf2_put16(slot + 4, TOO_MANY);
    }
}

void nf2_cache_begin(nf2_t *fs, uint32_t node, int level)
{
    if (!fs->buffer_lent && find_slot(fs, node) == NULL) {
        uint8_t *slot = make_room(fs, NF2_NONE, ENTRIES);
        nf2_put24(slot, node);
        slot[LEVEL] = (uint8_t)level;
        touch(fs, slot);
    }
}

int nf2_cache_take(nf2_t *fs, uint32_t node, const struct nf2_entry *entry)
{
    const uint8_t *slot = find_slot(fs, node);

    if (slot == NULL || nf2_get16(slot + 4) != LOADING) {
        return NF2_OK;
    }
    struct nf2_key key = nf2_entry_key(entry);
    int result = take_record(fs, node, entry->offset, entry->key_position != 0 ? &key : NULL, entry->kill, entry->victim);
    if (result != 0) {
        give_up(fs, node, result);
    }
    return result < 0 ? result : NF2_OK;
}

void nf2_cache_end(nf2_t *fs, uint32_t node, uint32_t append_at)
{
    uint8_t *slot = find_slot(fs, node);

    if (slot != NULL && nf2_get16(slot + 4) == LOADING) {
        nf2_put16(slot + 4, append_at);
    }
}

bool nf2_cache_has(nf2_t *fs, uint32_t node, struct nf2_cached *cached)
{
    uint8_t *slot = find_slot(fs, node);

    cached->slot = NULL;
    if (slot != NULL) {
        touch(fs, slot);
        cached->live = (uint16_t)slot_entries(slot);
        cached->append_at = nf2_get16(slot + 4);
        cached->slot = cached->append_at != TOO_MANY ? slot : NULL;
    }
    return cached->slot != NULL;
}

void nf2_cache_dead(const nf2_t *fs, const struct nf2_cached *cached, uint8_t *bits)
{
    uint8_t *slot = fs->tree_buffer + (cached->slot - fs->tree_buffer);

    memset(bits, 0xFF, nf2_log_bytes(fs) / 64u);
    for (const uint8_t *at = slot + ENTRIES; at < slot_end(slot); at += 2) {
        nf2_bit_set(bits, entry_offset(fs, at) / 8u, false);
    }
}

static int find_in_slot(nf2_t *fs, uint8_t *slot, uint32_t print, const struct nf2_key *key, struct nf2_entry *entry)
{
    uint8_t *at = group_at(slot, print / GROUPS);
    int order;

    for (uint32_t i = 0; i < slot[COUNTS + print / GROUPS]; i++, at += 2) {
        uint32_t offset = entry_offset(fs, at);
        if (((offset | print << print_shift(fs)) & 0xFFFFu) != nf2_get16(at)) {
            continue;
        }
        NF2_TRY(nf2_entry_parse_at(fs, nf2_get24(slot), offset, entry));
        struct nf2_key own = nf2_entry_key(entry);
        NF2_TRY(nf2_key_compare(fs, &own, key, &order));
        if (order == 0) {
            return 1;
        }
    }
    return 0;
}

int nf2_cache_find(nf2_t *fs, uint32_t node, const struct nf2_key *key, struct nf2_entry *entry)
{
    uint32_t print;
    int found = 0;

    NF2_TRY(fingerprint(fs, key, &print));
    for (uint8_t *slot = first_slot(fs); slot != NULL && found == 0; slot = slot_at(fs, slot_end(slot))) {
        if (node == NF2_NONE ? slot[LEVEL] == 0 : nf2_get24(slot) == node) {
            found = find_in_slot(fs, slot, print, key, entry);
        }
    }
    return found;
}

void nf2_cache_appended(nf2_t *fs, uint32_t node, const struct nf2_node_op *ops, unsigned count, uint32_t mark, uint32_t end)
{
    struct nf2_cached cached;

    forget_finger(fs, node, false);
    if (!nf2_cache_has(fs, node, &cached)) {
        return;
    }
    for (unsigned i = 0; i < count + (mark != 0); i++) {
        bool keyed = i < count && nf2_op_puts(&ops[i]);
        bool kills = i < count && (ops[i].kill | ops[i].victim) != 0;
        if (i < count && !keyed && !kills) { /* not written */
            continue;
        }
        int result = take_record(fs, node, keyed ? ops[i].offset : 0, keyed ? &ops[i].key : NULL, kills ? ops[i].kill : 0, kills ? ops[i].victim : 0);
        if (result != 0) { /* the records are on the chip, whatever went wrong here */
            give_up(fs, node, result);
            return;
        }
    }
    nf2_put16(find_slot(fs, node) + 4, end);
}
