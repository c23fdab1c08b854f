/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache.h"

#include "flash.h"

/*
 * First the entry that was listed last: node u24 (0: none), offset u16, its fingerprint. Then slots, one behind the
 * other, and what follows the last one is zero. A slot: block u24, records u8, append place
 * u16, level u8, age u8, records in each page u8 x 16, then a fingerprint a record (0: dead, or no entry).
 */
#define SLOTS 6u
#define LEVEL 6u
#define AGE 7u
#define COUNTS 8u
#define PRINTS (COUNTS + NF2_LOG_PAGES)

static uint32_t slot_size(const uint8_t *slot)
{
    return PRINTS + slot[3];
}

/* The slot at this place of the buffer, or NULL behind the last. */
static uint8_t *slot_at(const nf2_t *fs, uint32_t at)
{
    return at + PRINTS < NF2_TREE_BUFFER_SIZE && nf2_get24(fs->tree_buffer + at) != 0 ? fs->tree_buffer + at : NULL;
}

static uint8_t *first_slot(const nf2_t *fs)
{
    return fs->buffer_lent ? NULL : slot_at(fs, SLOTS);
}

static uint8_t *next_slot(const nf2_t *fs, const uint8_t *slot)
{
    return slot_at(fs, (uint32_t)(slot - fs->tree_buffer) + slot_size(slot));
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
        slot = next_slot(fs, slot);
    }
    return slot;
}

int nf2_cache_level(const nf2_t *fs, uint32_t node)
{
    const uint8_t *slot = find_slot(fs, node);

    return slot != NULL ? slot[LEVEL] : -1;
}

/* Those behind a slot move up. */
static void remove_slot(nf2_t *fs, uint8_t *slot)
{
    uint32_t size = slot_size(slot);
    uint8_t *end = fs->tree_buffer + NF2_TREE_BUFFER_SIZE;

    memmove(slot, slot + size, (size_t)(end - slot) - size);
    memset(end - size, 0, size);
}

/* The entry that was listed last is not known any more if it lies in this node. */
static void forget_listed(nf2_t *fs, uint32_t node)
{
    if (!fs->buffer_lent && nf2_get24(fs->tree_buffer) == node) {
        nf2_put24(fs->tree_buffer, 0);
    }
}

void nf2_cache_drop(nf2_t *fs, uint32_t node)
{
    uint8_t *slot = find_slot(fs, node);

    forget_listed(fs, node);

    if (slot != NULL) {
        remove_slot(fs, slot);
    }
}

/* Makes this slot the youngest. */
static void touch(const nf2_t *fs, uint8_t *slot)
{
    for (uint8_t *other = first_slot(fs); other != NULL; other = next_slot(fs, other)) {
        other[AGE] = (uint8_t)nf2_min(other[AGE] + 1u, 255);
    }
    slot[AGE] = 0;
}

/* Makes `room` bytes free by dropping the oldest slots but that of `keep`. NULL if there is no other; else the free place. */
static uint8_t *make_room(nf2_t *fs, uint32_t keep, uint32_t room)
{
    for (;;) {
        uint8_t *oldest = NULL, *end = fs->tree_buffer + SLOTS;
        for (uint8_t *slot = first_slot(fs); slot != NULL; slot = next_slot(fs, slot)) {
            end = slot + slot_size(slot);
            if (nf2_get24(slot) != keep && (oldest == NULL || slot[AGE] > oldest[AGE])) {
                oldest = slot;
            }
        }
        if ((uint32_t)(end - fs->tree_buffer) + room <= NF2_TREE_BUFFER_SIZE) {
            return end;
        }
        if (oldest == NULL) {
            return NULL;
        }
        remove_slot(fs, oldest);
    }
}

static int fingerprint(nf2_t *fs, const struct nf2_key *key, uint8_t *print)
{
    uint32_t hash = 2166136261u ^ key->id;
    uint8_t chunk[24];

    for (uint32_t at = 0; at < key->length; at += sizeof chunk) {
        uint32_t n = nf2_min(sizeof chunk, key->length - at);
        NF2_TRY(nf2_key_bytes(fs, key, at, chunk, n));
        for (uint32_t i = 0; i < n; i++) {
            hash = (hash ^ chunk[i]) * 16777619u;
        }
    }
    hash ^= hash >> 16;
    hash = (hash ^ hash >> 8) & 0xFFu;
    *print = (uint8_t)(hash != 0 ? hash : 1);
    return NF2_OK;
}

/* Begins a scan of one page of a cached node. Returns the index of its first record. */
static uint32_t scan_page(const nf2_t *fs, const uint8_t *slot, uint32_t page, struct nf2_scan *scan)
{
    uint32_t index = 0;

    for (uint32_t p = 0; p < page; p++) {
        index += slot[COUNTS + p];
    }
    nf2_scan_begin(scan, nf2_get24(slot));
    scan->position = scan->used_end = (uint16_t)(page * nf2_page(fs));
    scan->group_end = UINT16_MAX; /* what is counted is in whole groups */
    return index;
}

/* The record with this index: its page is scanned up to it. */
static int record_at(nf2_t *fs, const uint8_t *slot, uint32_t index, struct nf2_record *record)
{
    struct nf2_scan scan;
    uint32_t page = 0, first = 0;

    while (page < NF2_LOG_PAGES && first + slot[COUNTS + page] <= index) {
        first += slot[COUNTS + page++];
    }
    (void)scan_page(fs, slot, page, &scan);
    for (uint32_t i = first; i <= index; i++) {
        int found = nf2_scan_next(fs, &scan, record);
        if (found <= 0) {
            return found < 0 ? found : NF2_ERR_IO;
        }
    }
    return NF2_OK;
}

/* The records that are killed are dead from now on: the pages that they lie in are scanned. */
static int bury(nf2_t *fs, uint8_t *slot, const uint8_t *killed)
{
    uint32_t page_bits = nf2_page(fs) / 8u;
    struct nf2_record record;
    struct nf2_scan scan;

    for (uint32_t page = 0; page < fs->node_pages; page++) {
        uint32_t bit = 0;
        while (bit < page_bits && !nf2_bit(killed, page * page_bits + bit)) {
            bit++;
        }
        if (bit == page_bits) {
            continue;
        }
        uint32_t index = scan_page(fs, slot, page, &scan);
        for (uint32_t i = 0; i < slot[COUNTS + page]; i++) {
            int found = nf2_scan_next(fs, &scan, &record);
            if (found <= 0) {
                return found < 0 ? found : NF2_ERR_IO;
            }
            if (nf2_bit(killed, record.offset / 8u)) {
                slot[PRINTS + index + i] = 0;
            }
        }
    }
    return NF2_OK;
}

/* Adds a record behind those of a node's slot; its slot, or NULL if there is no room for it. */
static uint8_t *add(nf2_t *fs, uint32_t node, uint32_t offset, uint8_t print)
{
    uint8_t *end = make_room(fs, node, 1), *slot = find_slot(fs, node);

    if (end == NULL || slot[3] == 255) {
        return NULL;
    }
    uint8_t *place = slot + slot_size(slot);
    memmove(place + 1, place, (size_t)(end - place));
    *place = print;
    slot[3]++;
    slot[COUNTS + offset / nf2_page(fs)]++;
    return slot;
}

/* Adds all records of a node: 0, 1 if it cannot be cached, or an error. */
static int load(nf2_t *fs, uint32_t node)
{
    uint8_t killed[NF2_KILL_BYTES] = {0}, *slot = NULL;
    struct nf2_scan scan;
    struct nf2_record record;
    struct nf2_entry entry;
    bool any_killed = false;
    int found;

    nf2_scan_begin(&scan, node);
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        uint8_t print = 0;
        NF2_TRY(nf2_entry_parse(fs, node, &record, &entry));
        if (entry.key_position != 0) {
            struct nf2_key key = nf2_entry_key(&entry);
            NF2_TRY(fingerprint(fs, &key, &print));
        }
        any_killed |= nf2_note_kills(killed, entry.kill, entry.victim);
        slot = add(fs, node, record.offset, print);
        if (slot == NULL || (record.offset & (nf2_page(fs) - 1)) + record.length > nf2_page(fs)) {
            return 1; /* a record that goes on in further pages: those cannot be entered at their start */
        }
    }
    NF2_TRY(found);
    if (scan.damaged || slot == NULL) {
        return 1;
    }
    nf2_put16(slot + 4, nf2_scan_append_at(fs, &scan));
    return any_killed ? bury(fs, slot, killed) : 0;
}

/* Begins a slot and loads it; NULL in `*slot` if the node cannot be cached. */
static int load_slot(nf2_t *fs, uint32_t node, uint8_t **slot)
{
    int level = nf2_node_level(fs, node);

    NF2_TRY(level);
    *slot = make_room(fs, 0, PRINTS + 1u);
    nf2_put24(*slot, node);
    (*slot)[LEVEL] = (uint8_t)level;
    touch(fs, *slot);
    int result = load(fs, node);
    if (result != 0) {
        nf2_cache_drop(fs, node);
    }
    *slot = find_slot(fs, node);
    return result < 0 ? result : NF2_OK;
}

int nf2_cache_load(nf2_t *fs, uint32_t node, struct nf2_cached *cached)
{
    uint8_t *slot = find_slot(fs, node);

    cached->prints = NULL;
    if (fs->buffer_lent) {
        return NF2_OK;
    }
    if (slot == NULL) {
        NF2_TRY(load_slot(fs, node, &slot));
    }
    if (slot != NULL) {
        touch(fs, slot);
        cached->prints = slot + PRINTS;
        cached->records = slot[3];
        cached->append_at = nf2_get16(slot + 4);
    }
    return NF2_OK;
}

static int find_in_slot(nf2_t *fs, const uint8_t *slot, uint8_t print, const struct nf2_key *key, struct nf2_entry *entry)
{
    struct nf2_record record;
    int order;

    for (uint32_t i = 0; i < slot[3]; i++) {
        if (slot[PRINTS + i] != print) {
            continue;
        }
        NF2_TRY(record_at(fs, slot, i, &record));
        NF2_TRY(nf2_entry_parse(fs, nf2_get24(slot), &record, entry));
        struct nf2_key own = nf2_entry_key(entry);
        NF2_TRY(nf2_key_compare(fs, &own, key, &order));
        if (order == 0) {
            return 1;
        }
    }
    return 0;
}

void nf2_cache_listed(nf2_t *fs, const struct nf2_entry *entry)
{
    struct nf2_key key = nf2_entry_key(entry);

    if (!fs->buffer_lent && fingerprint(fs, &key, fs->tree_buffer + 5) == NF2_OK) {
        nf2_put24(fs->tree_buffer, entry->node);
        nf2_put16(fs->tree_buffer + 3, entry->offset);
    }
}

/* Is it the entry that was listed last? */
static int find_listed(nf2_t *fs, uint8_t print, const struct nf2_key *key, struct nf2_entry *entry)
{
    uint32_t node = nf2_get24(fs->tree_buffer);
    int order;

    if (fs->buffer_lent || node == 0 || fs->tree_buffer[5] != print) {
        return 0;
    }
    NF2_TRY(nf2_entry_at(fs, node, nf2_get16(fs->tree_buffer + 3), entry));
    struct nf2_key own = nf2_entry_key(entry);
    NF2_TRY(nf2_key_compare(fs, &own, key, &order));
    return order == 0;
}

int nf2_cache_find(nf2_t *fs, uint32_t node, const struct nf2_key *key, struct nf2_entry *entry)
{
    uint8_t print;

    NF2_TRY(fingerprint(fs, key, &print));
    int found = node == NF2_NONE ? find_listed(fs, print, key, entry) : 0;
    for (uint8_t *slot = first_slot(fs); slot != NULL && found == 0; slot = next_slot(fs, slot)) {
        if (node == NF2_NONE ? slot[LEVEL] == 0 : nf2_get24(slot) == node) {
            found = find_in_slot(fs, slot, print, key, entry);
        }
    }
    return found;
}

static int appended(nf2_t *fs, uint32_t node, const struct nf2_node_op *ops, unsigned count, const uint16_t *offsets, uint32_t end)
{
    uint8_t killed[NF2_KILL_BYTES] = {0}, *slot = find_slot(fs, node);
    bool any_killed = false;

    for (unsigned i = 0; i < count; i++) {
        uint8_t print = 0;
        if (ops[i].type == NF2_NODE_PUT || ops[i].type == NF2_NODE_PUTK || ops[i].type == NF2_NODE_REN) {
            NF2_TRY(fingerprint(fs, &ops[i].key, &print));
        }
        any_killed |= nf2_note_kills(killed, ops[i].kill, ops[i].victim);
        slot = add(fs, node, offsets[i], print);
        if (slot == NULL || (offsets[i] & (nf2_page(fs) - 1)) + nf2_node_op_length(&ops[i]) > nf2_page(fs)) {
            return 1;
        }
    }
    nf2_put16(slot + 4, end);
    return any_killed ? bury(fs, slot, killed) : 0;
}

void nf2_cache_appended(nf2_t *fs, uint32_t node, const struct nf2_node_op *ops, unsigned count, const uint16_t *offsets, uint32_t end)
{
    forget_listed(fs, node);
    if (find_slot(fs, node) != NULL && appended(fs, node, ops, count, offsets, end) != 0) {
        nf2_cache_drop(fs, node); /* the records are on the chip, whatever went wrong here */
    }
}
