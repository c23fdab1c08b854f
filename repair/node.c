/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c - FORMAT.md, section 4. */
#include "node.h"

static void find(struct repair *repair, const struct rep_node *node, enum repair_kind kind,
                 uint32_t offset, uint32_t number, const char *text)
{
    rep_find(repair, kind, node->block, offset, number, 0, "%s", text);
}

/* ---- entries --------------------------------------------------------------------------------- */

static struct rep_slot *slot_at(const struct rep_node *node, uint32_t at)
{
    size_t low = 0, high = node->slots;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (node->slot[middle].entry.at < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < node->slots && node->slot[low].entry.at == at ? &node->slot[low] : NULL;
}

/* An earlier record goes. `key`: the one that it must have, or NULL. */
static void kill_slot(struct repair *repair, struct rep_node *node, uint32_t by, uint32_t at,
                      const struct rep_key *key)
{
    struct rep_slot *slot = slot_at(node, at);
    bool right = slot != NULL && slot->alive &&
                 (key == NULL || rep_key_compare(&slot->entry.key, key) == 0);

    if (!right && node->lost == 0) {
        find(repair, node, REPAIR_REFERENCE, by, at,
             "This record replaces or removes one that is not there.");
        node->whole = false;
    }
    if (slot != NULL && (key == NULL || rep_key_compare(&slot->entry.key, key) == 0)) {
        slot->alive = false;
    }
}

static bool parse(const struct rep_record *record, struct rep_slot *slot)
{
    static const uint8_t in_front[] = {[NF2_NODE_PUT] = 0, [NF2_NODE_PUTK] = 3, [NF2_NODE_DEL] = 2,
                                       [NF2_NODE_REN] = 7, [NF2_NODE_ADD] = 1};
    uint32_t skip, used = 0;

    if (record->type < NF2_NODE_PUT || record->type > NF2_NODE_ADD) {
        return false;
    }
    skip = in_front[record->type];
    if (record->length < skip) {
        return false;
    }
    if (record->type != NF2_NODE_DEL) {
        used = rep_key_load(record->payload + skip, record->length - skip, &slot->entry.key);
        if (used == 0) {
            return false;
        }
    }
    slot->type = record->type;
    slot->alive = record->type != NF2_NODE_DEL;
    slot->entry.at = record->at;
    slot->entry.body = record->payload + skip + used;
    slot->entry.body_length = (uint16_t)(record->length - skip - used);
    return true;
}

/* A REN has the body of another record. */
static void take_body(struct repair *repair, struct rep_node *node, struct rep_slot *slot,
                      uint32_t at)
{
    const struct rep_slot *holder = slot_at(node, at);

    if (holder == NULL || holder->type == NF2_NODE_REN || holder->type == NF2_NODE_DEL) {
        if (node->lost == 0) {
            find(repair, node, REPAIR_REFERENCE, slot->entry.at, at,
                 "This record takes the body of one that is not there.");
        }
        node->whole = false;
        slot->alive = false;
        return;
    }
    slot->entry.body = holder->entry.body;
    slot->entry.body_length = holder->entry.body_length;
}

static void take_record(struct repair *repair, struct rep_node *node,
                        const struct rep_record *record, bool base)
{
    struct rep_slot slot = {.base = base, .entry = {.block = node->block}};
    const uint8_t *p = record->payload;

    if (record->type == NF2_NODE_HEAD && base && record->at == NF2_PAGE_HEAD) {
        return;
    }
    if (!parse(record, &slot)) {
        find(repair, node, REPAIR_ENTRY, record->at, record->type,
             "A record of this node is none that a node can have.");
        node->whole = false;
        return;
    }
    if (record->type == NF2_NODE_REN) {
        take_body(repair, node, &slot, rep_get16(p));
        kill_slot(repair, node, record->at, rep_get16(p + 2), NULL);
        if (rep_get16(p + 4) != 0) {
            kill_slot(repair, node, record->at, rep_get16(p + 4), &slot.entry.key);
        }
    } else if (record->type == NF2_NODE_PUTK || record->type == NF2_NODE_DEL) {
        kill_slot(repair, node, record->at, rep_get16(p),
                  record->type == NF2_NODE_PUTK ? &slot.entry.key : NULL);
    }
    const struct rep_slot *last = node->slots > 0 ? &node->slot[node->slots - 1] : NULL;
    if (base && last != NULL && rep_key_compare(&last->entry.key, &slot.entry.key) >= 0) {
        find(repair, node, REPAIR_BASE, record->at, 0,
             "The sorted part of this node is out of order here.");
        node->whole = false;
    }
    node->slot = rep_grow(node->slot, node->slots, &node->slots_room, sizeof *node->slot);
    node->slot[node->slots++] = slot;
}

static int by_key(const void *a, const void *b)
{
    const struct rep_entry *x = *(struct rep_entry *const *)a, *y = *(struct rep_entry *const *)b;
    int order = rep_key_compare(&x->key, &y->key);
    return order != 0 ? order : (int)x->at - (int)y->at;
}

/* What is alive, in order. Of two with one key the later one holds. */
static void collect(struct repair *repair, struct rep_node *node)
{
    size_t kept = 0;

    node->alive = calloc(node->slots + 1, sizeof *node->alive);
    if (node->alive == NULL) {
        abort();
    }
    for (size_t i = 0; i < node->slots; i++) {
        if (node->slot[i].alive) {
            node->alive[node->count++] = &node->slot[i].entry;
        }
    }
    rep_sort(node->alive, node->count, sizeof *node->alive, by_key);
    for (size_t i = 0; i < node->count; i++) {
        if (kept > 0 && rep_key_compare(&node->alive[kept - 1]->key, &node->alive[i]->key) == 0) {
            find(repair, node, REPAIR_TWICE, node->alive[i]->at, node->alive[kept - 1]->at,
                 "This node has two entries with one key.");
            node->whole = false;
            kept--;
        }
        node->alive[kept++] = node->alive[i];
    }
    node->count = kept;
}

/* ---- the node -------------------------------------------------------------------------------- */

static bool check_head(const struct repair *repair, const struct rep_node *node,
                       const struct rep_record *head)
{
    const uint8_t *p = head->payload;
    return head->type == NF2_NODE_HEAD && head->length == NF2_NODE_HEAD_BYTES && p[0] == 'N' &&
           (node->level == REP_ANY_LEVEL ? p[1] < NF2_LEVELS : p[1] == node->level) &&
           rep_get24(p + 2) == node->block && rep_get32(p + 5) == repair->image.volume_id;
}

/*
 * How many of the records are of the base, the first group. Where it is damaged it ends at `limit`,
 * or in front of the first record that no base has.
 */
static size_t base_records(const struct rep_log *log, uint32_t limit)
{
    size_t i = 0;

    while (i < log->all && log->record[i].at < limit &&
           (i == 0 || log->record[i].type == NF2_NODE_PUT)) {
        if (!log->record[i++].more) {
            break;
        }
    }
    return i;
}

/*
 * Reads the log; a damaged one again, with what is behind the damage. How many records are of the
 * base.
 */
static size_t read_log(struct repair *repair, struct rep_node *node, uint32_t said, bool mended,
                       struct rep_log *log)
{
    struct rep_image *image = &repair->image;

    rep_log_read(image, node->block, false, log);
    size_t base = base_records(log, image->log_bytes);
    uint32_t end = base > 0 ? rep_record_next(image, &log->record[base - 1]) : 0;
    if (base == 0 || log->record[0].at != NF2_PAGE_HEAD || mended || log->damaged) {
        find(repair, node, REPAIR_RECORD, log->damaged ? log->damage : log->first_torn, log->torns,
             "Records of this node are damaged: no power cut leaves what is here.");
        node->whole = false;
        rep_log_free(log);
        rep_log_read(image, node->block, true, log);
        base = base_records(log, said > NF2_PAGE_HEAD ? said : image->log_bytes);
        end = base > 0 ? rep_record_next(image, &log->record[base - 1]) : 0;
    } else if (said != 0 && end != said) {
        find(repair, node, REPAIR_BASE, end, said,
             "The sorted part of this node does not end where its parent says.");
        node->whole = false;
    } else if (log->torns > 0) {
        find(repair, node, REPAIR_UNFINISHED, log->first_torn, log->torns,
             "A change was not written to its end here.");
        rep_torn(repair, node->block, log->first_torn, log->bad_epoch);
    }
    if (log->mended_heads > 0) {
        find(repair, node, REPAIR_MENDED, end, log->mended_heads,
             "One bit of a page's epoch is wrong.");
    }
    node->lost = log->lost; /* what is mended may never have been finished */
    node->lost_tail = log->last_lost >= end || (log->last_mended >= end && !image->clean);
    return base;
}

static void note_records(struct repair *repair, struct rep_node *node, unsigned mended)
{
    const struct rep_key *from = node->count > 0 ? &node->alive[0]->key : NULL;
    const struct rep_key *to = node->count > 0 ? &node->alive[node->count - 1]->key : NULL;

    if (node->lost > 0) {
        rep_note(repair, REPAIR_NOTE_RECORDS, node->block, node->lost, from, to);
    }
    if (mended > 0) {
        rep_note(repair, REPAIR_NOTE_MENDED, node->block, mended, NULL, NULL);
    }
}

bool rep_node_read(struct repair *repair, uint32_t block, uint32_t level, uint32_t base_end,
                   struct rep_node *node)
{
    struct rep_image *image = &repair->image;
    struct rep_log log;
    struct rep_record head;
    bool mended;

    memset(node, 0, sizeof *node);
    node->block = block;
    node->level = level;
    node->whole = true;
    node->epoch = rep_page_epoch(image, block, 0, &mended);
    bool found = node->epoch != NF2_LOG_BLANK &&
                 (rep_record_at(image, block, NF2_PAGE_HEAD, node->epoch, &head) == REP_RECORD ||
                  rep_record_mend(image, block, NF2_PAGE_HEAD, node->epoch, &head));
    if (!found || !check_head(repair, node, &head)) {
        return false;
    }
    node->level = head.payload[1];
    size_t base = read_log(repair, node, base_end, mended || head.mended, &log);
    for (size_t i = 0; i < rep_max((uint32_t)base, (uint32_t)log.count); i++) {
        take_record(repair, node, &log.record[i], i < base);
    }
    node->last_epoch = log.count > base ? log.last_epoch : node->epoch;
    collect(repair, node);
    note_records(repair, node, log.mended + mended);
    rep_log_free(&log);
    return true;
}

void rep_node_free(struct rep_node *node)
{
    free(node->slot);
    free(node->alive);
}
