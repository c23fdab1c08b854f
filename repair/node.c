/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c - FORMAT.md, section 4: one node of the tree, as many of its entries as can be read. */
#include "inside.h"

/* What makes a node another one than the core would read. */
static void wrong(struct repair *r, struct rep_node *node, enum repair_kind kind, uint32_t offset,
                  uint32_t number, const char *text)
{
    rep_find(r, kind, node->block, offset, number, 0, "%s", text);
    node->whole = false;
}

/* ---- entries --------------------------------------------------------------------------------- */

static int by_place(const void *one, const void *key)
{
    return (int)((const struct rep_slot *)one)->entry.at - (int)*(const uint32_t *)key;
}

static struct rep_slot *slot_at(const struct rep_node *node, uint32_t at)
{
    size_t i = REP_LOWER(&node->slots, &at, by_place);
    return i < node->slots.count && node->slots.list[i].entry.at == at ? &node->slots.list[i] :
                                                                         NULL;
}

/* An earlier record goes. `key`: the one that it must have, or NULL. */
static void kill_slot(struct repair *r, struct rep_node *node, uint32_t by, uint32_t at,
                      const struct rep_key *key)
{
    struct rep_slot *slot = slot_at(node, at);
    bool same = slot != NULL && (key == NULL || rep_key_compare(&slot->entry.key, key) == 0);

    if ((!same || !slot->alive) && node->lost == 0) {
        wrong(r, node, REPAIR_REFERENCE, by, at,
              "This record replaces or removes one that is not there.");
    }
    if (same) {
        slot->alive = false;
    }
}

/* A REN has the body of another record. */
static void take_body(struct repair *r, struct rep_node *node, struct rep_slot *slot, uint32_t at)
{
    const struct rep_slot *holder = slot_at(node, at);

    if (holder != NULL && holder->type != NF2_NODE_REN && holder->type != NF2_NODE_DEL) {
        slot->entry.body = holder->entry.body;
        slot->entry.body_length = holder->entry.body_length;
        return;
    }
    if (node->lost == 0) {
        wrong(r, node, REPAIR_REFERENCE, slot->entry.at, at,
              "This record takes the body of one that is not there.");
    }
    node->whole = slot->alive = false;
}

/* Takes the key and the body out of a record, behind its references and its rank. */
static bool parse(const struct rep_record *record, struct rep_slot *slot)
{
    static const uint16_t in_front[8] = {
        UINT16_MAX, [NF2_NODE_HEAD] = UINT16_MAX, [NF2_NODE_PUT] = 0, [NF2_NODE_PUTK] = 3,
        [NF2_NODE_DEL] = 2, [NF2_NODE_REN] = 7, [NF2_NODE_ADD] = 1, [7] = UINT16_MAX};
    bool key = record->type != NF2_NODE_DEL;
    uint32_t skip = in_front[record->type], used = 0;

    if (record->length < skip) {
        return false;
    }
    if (key) {
        used = rep_key_load(record->payload + skip, record->length - skip, &slot->entry.key);
    }
    slot->type = record->type;
    slot->alive = key;
    slot->entry.at = record->at;
    slot->entry.body = record->payload + skip + used;
    slot->entry.body_length = (uint16_t)(record->length - skip - used);
    return used != 0 || !key;
}

static void take_record(struct repair *r, struct rep_node *node, const struct rep_record *record,
                        bool base)
{
    struct rep_slot slot = {.base = base, .entry = {.block = node->block}};
    const struct rep_key *key = &slot.entry.key;
    const uint8_t *p = record->payload;
    bool ren = record->type == NF2_NODE_REN;
    bool refers = record->type == NF2_NODE_PUTK || record->type == NF2_NODE_DEL;

    if (record->type == NF2_NODE_HEAD && base && record->at == NF2_PAGE_HEAD) {
        return;
    }
    if (!parse(record, &slot)) {
        wrong(r, node, REPAIR_ENTRY, record->at, record->type,
              "A record of this node is none that a node can have.");
        return;
    }
    if (ren) {
        take_body(r, node, &slot, rep_get16(p));
        kill_slot(r, node, record->at, rep_get16(p + 2), NULL);
        if (rep_get16(p + 4) != 0) {
            kill_slot(r, node, record->at, rep_get16(p + 4), key);
        }
    } else if (refers) {
        kill_slot(r, node, record->at, rep_get16(p), record->type == NF2_NODE_PUTK ? key : NULL);
    }
    if (base && node->slots.count > 0 &&
        rep_key_compare(&node->slots.list[node->slots.count - 1].entry.key, key) >= 0) {
        wrong(r, node, REPAIR_BASE, record->at, 0,
              "The sorted part of this node is out of order here.");
    }
    REP_ADD(r, &node->slots, slot);
}

/* What is alive, in order. */
static void collect(struct repair *r, struct rep_node *node)
{
    for (size_t i = 0; i < node->slots.count; i++) {
        if (node->slots.list[i].alive) {
            REP_ADD(r, &node->alive, node->slots.list[i].entry);
        }
    }
    size_t all = node->alive.count;
    rep_entries_sort(&node->alive);
    if (node->alive.count < all) {
        wrong(r, node, REPAIR_TWICE, 0, (uint32_t)(all - node->alive.count),
              "This node has two entries with one key.");
    }
}

/* ---- the node -------------------------------------------------------------------------------- */

/*
 * How many of the records are of the base, the first group. Where it is damaged it ends at `limit`,
 * or in front of the first record that no base has. Its end in `*end`.
 */
static size_t base_records(const struct repair *r, const struct rep_log *log, uint32_t limit,
                           uint32_t *end)
{
    const struct rep_record *record = log->records.list;
    size_t i = 0;

    while (i < log->records.count && record[i].at < limit &&
           (i == 0 || (record[i - 1].more && record[i].type == NF2_NODE_PUT))) {
        i++;
    }
    *end = i > 0 ? rep_record_next(r, &record[i - 1]) : 0;
    return i;
}

/* Reads the log; a damaged one again, with what is behind the damage. How many are of the base. */
static size_t read_log(struct repair *r, struct rep_node *node, uint32_t said, bool mended)
{
    uint32_t end, damage;
    const struct rep_log *log = rep_log_read(r, node->block, false);
    size_t base = base_records(r, log, r->log_bytes, &end);
    bool headless = base == 0 || log->records.list[0].at != NF2_PAGE_HEAD || mended;
    bool short_base = false;

    node->base_whole = !headless && (said == 0 || end == said);
    damage = headless && log->damage == 0 ? NF2_PAGE_HEAD : log->damage;
    rep_log_report(r, log, REPAIR_RECORD, 0, damage);
    if (damage != 0) {
        node->whole = false;
        log = rep_log_read(r, node->block, true);
        base = base_records(r, log, said > NF2_PAGE_HEAD ? said : r->log_bytes, &end);
        short_base = base > 0 && (log->records.list[base - 1].more || (said != 0 && end != said));
    } else if (said != 0 && end != said) {
        wrong(r, node, REPAIR_BASE, end, said,
              "The sorted part of this node does not end where its parent says.");
    }
    node->lost = rep_max(log->lost, short_base);
    node->lost_tail = log->last_lost >= end;
    return base;
}

static void report_records(struct repair *r, const struct rep_node *node, unsigned mended)
{
    const struct rep_entry *alive = node->alive.list;

    if (node->lost > 0) {
        struct finding *finding = rep_find(r, REPAIR_RECORDS, node->block, 0, node->lost, 0,
                                           "Records of this node are lost; places: %u.",
                                           node->lost);
        r->summary.names_lost = r->summary.names_lost || !r->quiet;
        finding->named = node->alive.count > 0;
        if (finding->named) {
            finding->keys = (struct rep_range){alive->key, alive[node->alive.count - 1].key};
        }
    }
    if (mended > 0) {
        rep_find(r, REPAIR_RECORDS, node->block, 0, mended, 0,
                 "In records of this node flipped bits are mended: %u.", mended);
    }
}

bool rep_node_read(struct repair *r, uint32_t block, uint32_t level, uint32_t base_end,
                   struct rep_node *node)
{
    const struct rep_log *log = &r->log;
    struct rep_record head;

    *node = (struct rep_node){.block = block, .whole = true};
    if (!rep_record_first(r, block, NF2_NODE_HEAD, NF2_NODE_HEAD_BYTES, &head)) {
        return false;
    }
    const uint8_t *p = head.payload;
    if (p[0] != 'N' || (p[1] & (uint8_t)~NF2_NODE_KEEP) != level || rep_get24(p + 2) != block ||
        rep_get32(p + 5) != r->volume_id) {
        return false;
    }
    bool epoch_mended = head.epoch != rep_get16(rep_at(r, block, 0));
    size_t base = read_log(r, node, base_end, head.mended);
    for (size_t i = 0; i < base || i < log->whole; i++) {
        take_record(r, node, &log->records.list[i], i < base);
    }
    node->last_epoch = log->whole > base ? log->last_epoch : head.epoch;
    collect(r, node);
    report_records(r, node, log->mended + epoch_mended);
    return true;
}
