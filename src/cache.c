/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache.h"

#include "flash.h"

/*
 * A slot: block u24 (0: empty), records u8, append place u16, age u8, level u8, records in each page u8 x 16,
 * then a fingerprint a record (0: dead, or no entry).
 */
#define SLOTS 3u
#define SLOT_BYTES (NF2_TREE_BUFFER_SIZE / SLOTS)
#define COUNTS 8u
#define PRINTS (COUNTS + NF2_LOG_PAGES)
#define PRINTS_MAX (SLOT_BYTES - PRINTS)

static uint8_t *slot_at(const nf2_t *fs, unsigned i)
{
    return fs->tree_buffer + i * SLOT_BYTES;
}

void nf2_cache_lend(nf2_t *fs, bool in_use)
{
    fs->buffer_lent = in_use;
    memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
}

static uint8_t *find_slot(const nf2_t *fs, uint32_t node)
{
    for (unsigned i = 0; i < SLOTS && !fs->buffer_lent; i++) {
        if (nf2_get24(slot_at(fs, i)) == node) {
            return slot_at(fs, i);
        }
    }
    return NULL;
}

int nf2_cache_level(const nf2_t *fs, uint32_t node)
{
    const uint8_t *slot = node != 0 ? find_slot(fs, node) : NULL;

    return slot != NULL ? slot[7] : -1;
}

void nf2_cache_drop(nf2_t *fs, uint32_t node)
{
    uint8_t *slot = find_slot(fs, node);

    if (slot != NULL) {
        memset(slot, 0, SLOT_BYTES);
    }
}

/* Makes this slot the youngest. */
static void touch(const nf2_t *fs, uint8_t *slot)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        uint8_t *other = slot_at(fs, i);
        other[6] = (uint8_t)(other[6] < 255 ? other[6] + 1 : 255);
    }
    slot[6] = 0;
}

static uint8_t *oldest_slot(const nf2_t *fs)
{
    uint8_t *oldest = slot_at(fs, 0);

    for (unsigned i = 0; i < SLOTS; i++) {
        uint8_t *slot = slot_at(fs, i);
        if (nf2_get24(slot) == 0) {
            return slot;
        }
        oldest = slot[6] > oldest[6] ? slot : oldest;
    }
    return oldest;
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

/* Index of the first record of a page. */
static uint32_t page_index(const uint8_t *slot, uint32_t page)
{
    uint32_t index = 0;

    for (uint32_t p = 0; p < page; p++) {
        index += slot[COUNTS + p];
    }
    return index;
}

/* The record with this index: its page is scanned up to it. */
static int record_at(nf2_t *fs, uint32_t node, const uint8_t *slot, uint32_t index, struct nf2_record *record)
{
    struct nf2_scan scan;
    uint32_t page = 0, first = 0;

    while (page < NF2_LOG_PAGES && first + slot[COUNTS + page] <= index) {
        first += slot[COUNTS + page++];
    }
    nf2_scan_begin(&scan, node);
    scan.position = (uint16_t)(page * nf2_page(fs));
    for (uint32_t i = first; i <= index; i++) {
        int found = nf2_scan_next(fs, &scan, record);
        if (found <= 0) {
            return found < 0 ? found : NF2_ERR_IO;
        }
    }
    return NF2_OK;
}

/* A record that begins at `offset` is dead from now on. */
static int kill(nf2_t *fs, uint32_t node, uint8_t *slot, uint32_t offset)
{
    struct nf2_record record;
    uint32_t page = offset / nf2_page(fs), index = page_index(slot, page);

    if (offset == 0 || page >= NF2_LOG_PAGES) {
        return NF2_OK;
    }
    for (uint32_t i = 0; i < slot[COUNTS + page]; i++) {
        if (slot[PRINTS + index + i] == 0) {
            continue;
        }
        NF2_TRY(record_at(fs, node, slot, index + i, &record));
        if (record.offset == offset) {
            slot[PRINTS + index + i] = 0;
            return NF2_OK;
        }
    }
    return NF2_OK;
}

/* Adds a record behind those that are known; false if the slot is full. */
static bool add(const nf2_t *fs, uint8_t *slot, uint32_t offset, uint8_t print)
{
    if (slot[3] == PRINTS_MAX) {
        return false;
    }
    slot[PRINTS + slot[3]++] = print;
    slot[COUNTS + offset / nf2_page(fs)]++;
    return true;
}

static int load_record(nf2_t *fs, uint32_t node, uint8_t *slot, const struct nf2_record *record)
{
    struct nf2_entry entry;
    uint8_t print = 0;

    if ((record->offset & (nf2_page(fs) - 1)) + record->length > nf2_page(fs)) {
        return 1; /* it goes on in further pages: those cannot be entered at their start */
    }
    if (record->type != NF2_NODE_HEAD) {
        NF2_TRY(nf2_entry_parse(fs, node, record, &entry));
        if (entry.key_position != 0) {
            struct nf2_key key = nf2_entry_key(&entry);
            NF2_TRY(fingerprint(fs, &key, &print));
        }
        NF2_TRY(kill(fs, node, slot, entry.kill));
        NF2_TRY(kill(fs, node, slot, entry.victim));
    }
    return add(fs, slot, record->offset, print) ? 0 : 1;
}

/* Fills a slot from the node: 0, 1 if it cannot be cached, or an error. */
static int load(nf2_t *fs, uint32_t node, uint8_t *slot)
{
    struct nf2_scan scan;
    struct nf2_record record;
    int level = nf2_node_level(fs, node), found;

    NF2_TRY(level);
    nf2_scan_begin(&scan, node);
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        int result = load_record(fs, node, slot, &record);
        if (result != 0) {
            return result;
        }
    }
    NF2_TRY(found);
    if (scan.damaged) {
        return 1;
    }
    nf2_put24(slot, node);
    nf2_put16(slot + 4, nf2_scan_append_at(fs, &scan));
    slot[7] = (uint8_t)level;
    return 0;
}

int nf2_cache_load(nf2_t *fs, uint32_t node, struct nf2_cached *cached)
{
    uint8_t *slot = find_slot(fs, node);

    cached->slot = NULL;
    if (fs->buffer_lent) {
        return NF2_OK;
    }
    if (slot == NULL) {
        slot = oldest_slot(fs);
        memset(slot, 0, SLOT_BYTES);
        int result = load(fs, node, slot);
        if (result != 0) {
            memset(slot, 0, SLOT_BYTES);
            return result < 0 ? result : NF2_OK;
        }
    }
    touch(fs, slot);
    cached->slot = slot;
    cached->records = slot[3];
    cached->append_at = nf2_get16(slot + 4);
    cached->level = slot[7];
    return NF2_OK;
}

bool nf2_cache_alive(const struct nf2_cached *cached, uint32_t index)
{
    return index < cached->records && cached->slot[PRINTS + index] != 0;
}

int nf2_cache_find(nf2_t *fs, uint32_t node, const struct nf2_cached *cached, const struct nf2_key *key, struct nf2_entry *entry)
{
    uint8_t print;

    NF2_TRY(fingerprint(fs, key, &print));
    for (uint32_t i = 0; i < cached->records; i++) {
        struct nf2_record record;
        int order;
        if (cached->slot[PRINTS + i] != print) {
            continue;
        }
        NF2_TRY(record_at(fs, node, cached->slot, i, &record));
        NF2_TRY(nf2_entry_parse(fs, node, &record, entry));
        struct nf2_key own = nf2_entry_key(entry);
        NF2_TRY(nf2_key_compare(fs, &own, key, &order));
        if (order == 0) {
            return 1;
        }
    }
    return 0;
}

int nf2_cache_appended(nf2_t *fs, uint32_t node, const struct nf2_node_op *ops, unsigned count, const uint16_t *offsets, uint32_t end)
{
    uint8_t *slot = find_slot(fs, node);

    for (unsigned i = 0; i < count && slot != NULL; i++) {
        bool keyed = ops[i].type == NF2_NODE_PUT || ops[i].type == NF2_NODE_PUTK || ops[i].type == NF2_NODE_REN;
        bool longer = (offsets[i] & (nf2_page(fs) - 1)) + nf2_node_op_length(&ops[i]) > nf2_page(fs);
        uint8_t print = 0;
        if (keyed) {
            NF2_TRY(fingerprint(fs, &ops[i].key, &print));
        }
        NF2_TRY(kill(fs, node, slot, ops[i].kill));
        NF2_TRY(kill(fs, node, slot, ops[i].victim));
        if (longer || !add(fs, slot, offsets[i], print)) {
            nf2_cache_drop(fs, node);
            return NF2_OK;
        }
    }
    if (slot != NULL) {
        nf2_put16(slot + 4, end);
    }
    return NF2_OK;
}
