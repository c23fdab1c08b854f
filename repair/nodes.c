/* SPDX-License-Identifier: BSD-2-Clause */
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "log.h"
#include "meta.h"
#include "node.h"

int rep_key_compare(const struct rep_key *a, const struct rep_key *b)
{
    uint32_t common = nf2_min(a->length, b->length);
    int order = 0;

    if (a->id != b->id) {
        return a->id < b->id ? -1 : 1;
    }
    if (common > 0) {
        order = memcmp(a->bytes, b->bytes, common);
    }
    return order != 0 ? order : (int)a->length - (int)b->length;
}

uint32_t rep_number(const struct rep_key *key)
{
    const uint8_t *b = key->bytes;

    return key->length == 5 ? (uint32_t)b[1] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 8 | b[4] : 0;
}

uint32_t rep_child(const struct rep_entry *entry)
{
    return entry->kind == NF2_BODY_CHILD && entry->body_length >= 4 ? nf2_get24(entry->body + 1) : NF2_NONE;
}

uint32_t rep_body_id(const struct rep_entry *entry)
{
    return (entry->kind == NF2_BODY_DIR || entry->kind == NF2_BODY_INDEXED) && entry->body_length >= 5 ? nf2_get32(entry->body + 1) : 0;
}

/* ---- what a block is ----------------------------------------------------------------------------- */

/* A sound record where a page begins: its type, 0 if there is none. For a first look at blocks: nothing is mended. */
static uint8_t first_record(const struct rep_image *image, uint32_t block, uint32_t page, uint8_t *payload, uint32_t length)
{
    const uint8_t *bytes = rep_block(image, block) + page;
    uint32_t header = nf2_get16(bytes + 2), size = header & 0xFFFu;

    if (header == 0xFFFFu || header >> 13 == 0 || size < NF2_RECORD_OVERHEAD || size > image->page_size - 2 ||
        (length != 0 && size != length + NF2_RECORD_OVERHEAD) ||
        nf2_get32(bytes + 2 + size - 4) != ~nf2_crc(0xFFFFFFFFu, bytes, 2 + size - 4)) {
        return 0;
    }
    if (length != 0) {
        memcpy(payload, bytes + 4, length);
    }
    return (uint8_t)(header >> 13);
}

bool rep_is_log(const struct rep_image *image, uint32_t block)
{
    for (uint32_t page = 0; page < image->log_bytes; page += image->page_size) {
        if (first_record(image, block, page, NULL, 0) != 0) {
            return true;
        }
    }
    return false;
}

bool rep_head(const struct rep_image *image, uint32_t block, uint8_t type, uint32_t *volume)
{
    uint8_t payload[15];

    if (type == 'N') {
        bool found = first_record(image, block, 0, payload, NF2_NODE_HEAD_PAYLOAD) == NF2_NODE_HEAD && payload[0] == 'N' &&
                     nf2_get24(payload + 2) == block && payload[1] < NF2_NODE_LEVELS;
        *volume = found ? nf2_get32(payload + 5) : 0;
        return found;
    }
    bool found = first_record(image, block, 0, payload, NF2_META_HEAD_PAYLOAD) == NF2_META_HEAD && payload[0] == 'M';
    if (!found && NF2_TURN_PAGES * image->page_size < image->log_bytes) { /* behind what a turn left that was cut */
        found = first_record(image, block, NF2_TURN_PAGES * image->page_size, payload, NF2_META_HEAD_PAYLOAD) == NF2_META_HEAD && payload[0] == 'M';
    }
    *volume = found ? nf2_get32(payload + 1) : 0;
    return found;
}

/* ---- entries ------------------------------------------------------------------------------------- */

/* Takes a record apart. False: it makes no sense. The key and the body lie in memory of their own. */
static bool parse(const struct rep_image *image, struct rep_node *node, const struct rep_record *record, struct rep_entry *entry,
                  uint16_t *kill, uint16_t *victim)
{
    static const uint8_t references[8] = {0, 0, 0, 2, 2, 6, 4, 0};
    uint8_t *payload = rep_alloc(record->length);
    uint32_t length = rep_payload(image, &node->log, record->offset, record->length, payload), at = references[record->type], shift = 0;
    bool ended = false;

    node->memory = rep_grow(node->memory, node->memories, sizeof *node->memory);
    node->memory[node->memories++] = payload;
    memset(entry, 0, sizeof *entry);
    entry->node = node->block;
    entry->offset = record->offset;
    entry->type = record->type;
    *kill = record->type >= NF2_NODE_PUTK && length >= 2 ? nf2_get16(payload) : 0;
    *victim = record->type == NF2_NODE_REN && length >= 4 ? nf2_get16(payload + 2) : 0;
    if (record->type != NF2_NODE_PUT && record->type != NF2_NODE_PUTK && record->type != NF2_NODE_REN) {
        return false;
    }
    for (; at < length && shift < 35 && !ended; at++, shift += 7) {
        entry->key.id |= shift < 32 ? (uint32_t)(payload[at] & 0x7Fu) << shift : 0;
        ended = payload[at] < 0x80;
    }
    if (!ended || at >= length || at + 1 + payload[at] > length) {
        return false;
    }
    entry->key.length = payload[at];
    entry->key.bytes = payload + at + 1;
    entry->body = payload + at + 1 + entry->key.length;
    entry->body_length = length - at - 1 - entry->key.length;
    entry->kind = entry->body_length > 0 ? entry->body[0] : 0xFF;
    return true;
}

static void add_entry(struct rep_entry **list, unsigned *count, const struct rep_entry *entry)
{
    *list = rep_grow(*list, *count, sizeof **list);
    (*list)[(*count)++] = *entry;
}

/* Removes the live entry whose record is at `offset`; it is kept as a dead one. NULL: there is none. */
static const struct rep_entry *kill_entry(struct rep_node *node, uint16_t offset)
{
    for (unsigned i = 0; i < node->entries && offset != 0; i++) {
        if (node->entry[i].offset == offset) {
            add_entry(&node->dead, &node->deads, &node->entry[i]);
            node->entries--;
            memmove(&node->entry[i], &node->entry[i + 1], (node->entries - i) * sizeof node->entry[i]);
            return &node->dead[node->deads - 1];
        }
    }
    return NULL;
}

/* Gives a renamed entry the body of its source. */
static void take_body(struct rep_entry *entry, const struct rep_entry *source)
{
    entry->body = NULL;
    entry->body_length = 0;
    entry->kind = 0xFF;
    if (source != NULL) {
        entry->body = source->body;
        entry->body_length = source->body_length;
        entry->kind = source->kind;
        memcpy(entry->source + 1, source->source, sizeof entry->source - sizeof entry->source[0]);
        entry->source[0] = source->offset;
    }
}

/* How a dead entry died matters: what was moved lives on elsewhere. `type` of the dead one becomes that of the record which killed it. */
static void apply(const struct rep_image *image, struct rep_node *node, const struct rep_record *record)
{
    struct rep_entry entry;
    uint16_t kill, victim;
    bool makes = parse(image, node, record, &entry, &kill, &victim);
    bool takes_over = makes && record->type == NF2_NODE_PUTK && entry.kind == NF2_BODY_INDEXED && entry.body_length > 5 && entry.body[5] != 0;

    if (makes && record->type == NF2_NODE_REN) {
        take_body(&entry, NULL);
    }
    if (record->type == NF2_NODE_MOV && kill == 0) {
        uint8_t payload[NF2_RECORD_MAX];
        node->mark = rep_grow(node->mark, node->marks, sizeof *node->mark);
        node->mark[node->marks++] = rep_payload(image, &node->log, record->offset, record->length, payload) >= 6 ? nf2_get32(payload + 2) : 0;
    }
    node->changed = node->changed || kill != 0 || victim != 0 || (node->marks > 0 && node->mark[node->marks - 1] != 0);
    const struct rep_entry *source = kill_entry(node, kill);
    if (source != NULL) {
        node->dead[node->deads - 1].type = takes_over ? NF2_NODE_MOV : record->type;
        if (record->type == NF2_NODE_REN) {
            take_body(&entry, source);
        }
    }
    if (kill_entry(node, victim) != NULL) {
        node->dead[node->deads - 1].type = NF2_NODE_DEL;
    }
    if (makes) {
        add_entry(&node->entry, &node->entries, &entry);
        node->last_id = nf2_max(node->last_id, nf2_max(entry.key.id, rep_body_id(&entry)));
    }
    if (makes && record->type == NF2_NODE_PUT) {
        add_entry(&node->made, &node->mades, &entry);
    }
}

/* ---- trust --------------------------------------------------------------------------------------- */

static void distrust(struct rep_entry *entry, enum rep_trust trust)
{
    entry->trust = (uint8_t)nf2_max(entry->trust, trust);
}

/*
 * What a lost place says of the entries in front of it. A record that made a new entry leaves them alone; one that replaced
 * an entry and still has the same key as that one concerns just that one.
 */
static void judge_lost(const struct rep_image *image, struct rep_node *node, const struct rep_lost *lost)
{
    struct rep_record record = {lost->from, lost->length, lost->epoch, lost->type, lost->more, false, false};
    struct rep_entry entry;
    uint16_t kill, victim;

    if (lost->length != 0 && !lost->unfinished && (lost->type == NF2_NODE_PUT || lost->type == NF2_NODE_HEAD)) {
        return;
    }
    if (lost->length != 0 && !lost->unfinished && lost->type == NF2_NODE_PUTK && parse(image, node, &record, &entry, &kill, &victim)) {
        for (unsigned i = 0; i < node->entries; i++) {
            if (node->entry[i].offset == kill && rep_key_compare(&node->entry[i].key, &entry.key) == 0) {
                distrust(&node->entry[i], REP_OUTDATED);
                return;
            }
        }
    }
    for (unsigned i = 0; i < node->entries; i++) {
        if (node->entry[i].offset < lost->from) {
            distrust(&node->entry[i], lost->unfinished ? REP_UNSURE : REP_DOUBTFUL);
        }
    }
}

/* What a node began with was whole before anything led to it: no cut explains that something of it is missing. Is something? */
static bool judge_first_group(struct rep_log *log)
{
    uint32_t end = 0;
    bool missing = false;

    for (unsigned i = 0; i < log->records && (i == 0 || log->record[i - 1].more); i++) {
        end = log->record[i].more ? NF2_NONE : log->record[i].offset; /* NF2_NONE: the rest of it is missing */
    }
    for (unsigned i = 0; i < log->losts; i++) {
        missing = missing || log->lost[i].from <= end;
        log->lost[i].unfinished = log->lost[i].unfinished && log->lost[i].from > end;
    }
    return missing || end == NF2_NONE;
}

/* ---- what nodes have in common -------------------------------------------------------------------- */

static uint32_t hash_bytes(uint32_t hash, const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        hash = (hash ^ bytes[i]) * 16777619u;
    }
    return hash;
}

static uint32_t hash_of(const struct rep_entry *entry)
{
    uint8_t id[4];

    nf2_put32(id, entry->key.id);
    return hash_bytes(hash_bytes(hash_bytes(2166136261u, id, 4), entry->key.bytes, entry->key.length), entry->body, entry->body_length);
}

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

static uint32_t *summarize(struct rep_entry *list, unsigned count, const struct rep_key **low, const struct rep_key **high)
{
    uint32_t *hash = rep_alloc(count * sizeof *hash);

    for (unsigned i = 0; i < count; i++) {
        *low = *low == NULL || rep_key_compare(&list[i].key, *low) < 0 ? &list[i].key : *low;
        *high = *high == NULL || rep_key_compare(&list[i].key, *high) > 0 ? &list[i].key : *high;
        hash[i] = list[i].hash = hash_of(&list[i]);
    }
    rep_sort(hash, count, sizeof *hash, by_number);
    return hash;
}

/* How many entries two nodes have in common, at most. */
static unsigned in_common(const struct rep_node *newer, const struct rep_node *older)
{
    unsigned common = 0, i = 0, j = 0;

    while (i < newer->mades && j < older->entries) {
        common += newer->made_hash[i] == older->entry_hash[j];
        if (newer->made_hash[i] < older->entry_hash[j]) {
            i++;
        } else {
            j++;
        }
    }
    return common;
}

static bool has_made(const struct rep_node *node, const struct rep_entry *entry)
{
    return bsearch(&entry->hash, node->made_hash, node->mades, sizeof entry->hash, by_number) != NULL;
}

/* ---- a node --------------------------------------------------------------------------------------- */

void rep_node_read(struct rep_image *image, uint32_t block, uint32_t volume, struct rep_node *node)
{
    uint8_t payload[NF2_NODE_HEAD_PAYLOAD];
    bool packed = true;

    memset(node, 0, sizeof *node);
    node->block = block;
    node->level = REP_NO_LEVEL;
    rep_log_read(image, block, REP_LOG, &node->log);
    node->begun = judge_first_group(&node->log);
    for (unsigned i = 0; i < node->log.records; i++) {
        const struct rep_record *record = &node->log.record[i];
        if (record->type == NF2_NODE_HEAD && record->length == sizeof payload + NF2_RECORD_OVERHEAD) {
            rep_payload(image, &node->log, record->offset, record->length, payload);
            if (payload[0] == 'N' && payload[1] < NF2_NODE_LEVELS && nf2_get24(payload + 2) == block && nf2_get32(payload + 5) == volume) {
                node->headed = true;
                node->level = payload[1];
            }
        } else if (!record->partial || packed) {
            apply(image, node, record);
        }
        node->packed = packed && !record->more ? node->mades : node->packed;
        node->first = node->changed ? node->first : node->mades;
        packed = packed && record->more;
    }
    node->begun = node->begun && !node->changed; /* nothing is changed in a node before it is whole */
    for (unsigned i = 0; i < node->log.losts; i++) {
        judge_lost(image, node, &node->log.lost[i]);
        node->lost += !node->log.lost[i].unfinished;
    }
    if (!node->headed) {
        for (unsigned i = 0; i < node->entries; i++) { /* what it holds says what it is, but for how high */
            node->level = node->entry[i].kind == NF2_BODY_CHILD ? REP_NO_LEVEL : node->entry[i].kind < NF2_BODY_CHILD ? 0 : node->level;
        }
    }
    node->image = image;
    node->entry_hash = summarize(node->entry, node->entries, &node->low, &node->high);
    node->made_hash = summarize(node->made, node->mades, &node->made_low, &node->made_high);
}

void rep_node_free(struct rep_node *node)
{
    rep_log_free(&node->log);
    free(node->entry);
    free(node->dead);
    free(node->made);
    free(node->entry_hash);
    free(node->made_hash);
    free(node->derived);
    free(node->mark);
    for (unsigned i = 0; i < node->memories; i++) {
        free(node->memory[i]);
    }
    free(node->memory);
    memset(node, 0, sizeof *node);
}

uint32_t rep_batch_read(struct rep_image *image, uint32_t block, struct rep_node *batch)
{
    uint8_t payload[NF2_RECORD_MAX];
    uint32_t link = NF2_NONE;
    struct rep_entry entry;
    uint16_t kill, victim;

    memset(batch, 0, sizeof *batch);
    batch->block = block;
    rep_log_read(image, block, REP_LOG, &batch->log);
    for (unsigned i = 0; i < batch->log.records && link == NF2_NONE; i++) {
        const struct rep_record *record = &batch->log.record[i];
        if (record->type == NF2_NODE_MOV) {
            link = rep_payload(image, &batch->log, record->offset, record->length, payload) >= 6 ? nf2_get32(payload + 2) : NF2_NONE;
        } else if (parse(image, batch, record, &entry, &kill, &victim)) {
            add_entry(&batch->made, &batch->mades, &entry);
        }
    }
    batch->lost = batch->log.losts; /* it was whole when it was committed */
    return link;
}

/* ---- which is newer ------------------------------------------------------------------------------ */

static bool same_entry(const struct rep_entry *a, const struct rep_entry *b)
{
    return a->hash == b->hash && rep_key_compare(&a->key, &b->key) == 0 && a->body_length == b->body_length &&
           (a->body_length == 0 || memcmp(a->body, b->body, a->body_length) == 0);
}

/*
 * A new node begins with the live entries of the one that it replaces, in the order of their log (of two, if it replaces two),
 * but for what one change replaced or removed on the way.
 */
static uint64_t min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What a node was made of: entries of the other one that were copied, and that were not. */
struct derived {
    uint16_t copied, missing;
    bool first;                 /* it begins with them, and where it has not room for all, with nothing else */
};

/* Is so much most of what a node began with? Exactly that is known where it was packed. */
static bool mostly(const struct rep_node *node, unsigned copied)
{
    return (node->packed > 0 ? node->packed : node->first) <= copied + REP_CHANGES_MAX || (node->packed == 0 && node->first <= 2 * copied);
}

static struct derived compare(const struct rep_node *newer, const struct rep_node *older)
{
    struct derived none = {0, 0, false};
    unsigned wanted = 0, matched = 0, at = 0, begin = 0, compared = 0, common = in_common(newer, older);
    bool covers = rep_key_compare(older->low, newer->made_low) >= 0 && rep_key_compare(older->high, newer->made_high) <= 0;

    if ((common < 3 && common < older->entries) || (covers && common * 2 <= older->entries)) {
        return none;
    }
    for (unsigned i = 0; i < older->entries; i++) {
        const struct rep_entry *entry = &older->entry[i];
        if (!covers && (rep_key_compare(&entry->key, newer->made_low) < 0 || rep_key_compare(&entry->key, newer->made_high) > 0)) {
            continue;
        }
        wanted++;
        if (!has_made(newer, entry)) {
            continue;
        }
        while (matched == 0 && at < newer->mades && !same_entry(&newer->made[at], entry)) {
            at++;
            compared++;
        }
        at = matched == 0 && at == newer->mades ? 0 : at;
        if (at < newer->mades && same_entry(&newer->made[at], entry)) {
            begin = matched == 0 ? at : begin;
            matched++;
            at++;
        }
    }
    newer->image->effort -= min64(compared * 8u, newer->image->effort);
    if (matched + REP_CHANGES_MAX < wanted || matched * 2 <= wanted ||
        !(matched >= 3 || (matched > 0 && matched == at && matched == older->entries))) {
        return none;
    }
    return (struct derived){(uint16_t)matched, (uint16_t)(wanted - matched), begin <= REP_CHANGES_MAX && (covers || mostly(newer, matched))};
}

#define KNOWN 0x8000u           /* in a node's list: this, entries that were not copied (3: or more), whether it begins with the ones that were, their number */
#define MISSING_SHIFT 13u
#define FIRST 0x1000u

/* Was a node begun in an earlier session than another one? */
static bool begun_before(const struct rep_node *a, const struct rep_node *b)
{
    return a->headed && b->headed && nf2_epochs_between(a->log.record[0].epoch, b->log.record[0].epoch) - 1u < 0x7FFu;
}

static struct derived derived(struct rep_node *newer, const struct rep_node *older)
{
    struct derived out = {0, 0, false};
    uint32_t steps = newer->mades + older->entries;
    uint64_t row = newer->image->blocks * sizeof *newer->derived;

    if (newer == older || !newer->headed || older->low == NULL || newer->made_low == NULL || /* a batch holds what the tree got from it */
        rep_key_compare(older->low, newer->made_high) > 0 || rep_key_compare(older->high, newer->made_low) < 0 || begun_before(newer, older)) {
        return out;
    }
    if (newer->derived == NULL && newer->image->memory >= row) {
        newer->image->memory -= row;
        newer->derived = rep_alloc(row);
    }
    if (newer->derived != NULL && newer->derived[older->block] != 0) {
        uint16_t known = newer->derived[older->block];
        return (struct derived){known & 0xFFFu, known >> MISSING_SHIFT & 3u, (known & FIRST) != 0};
    }
    if (newer->image->effort > 0) {
        newer->image->effort -= min64(steps, newer->image->effort);
        out = compare(newer, older);
        if (newer->derived != NULL) {
            newer->derived[older->block] = (uint16_t)(KNOWN | nf2_min(out.missing, 3) << MISSING_SHIFT | (out.first ? FIRST : 0u) | out.copied);
        }
    }
    return out;
}

unsigned rep_derived(struct rep_node *newer, const struct rep_node *older)
{
    return derived(newer, older).copied;
}

bool rep_surely_derived(struct rep_node *newer, struct rep_node *older)
{
    struct derived from = derived(newer, older);

    return from.copied >= 4 && from.missing <= 1 && from.first && derived(older, newer).copied == 0;
}

bool rep_in_use(const struct rep_node *node, const struct rep_node *older)
{
    unsigned others = 0;

    for (unsigned i = 0; i < node->mades && others <= REP_CHANGES_MAX; i++) {
        others += bsearch(&node->made[i].hash, older->entry_hash, older->entries, sizeof node->made[i].hash, by_number) == NULL;
    }
    return node->changed || others > REP_CHANGES_MAX;
}

bool rep_overlap(const struct rep_node *a, const struct rep_node *b)
{
    return a->low != NULL && b->low != NULL && rep_key_compare(a->low, b->high) <= 0 && rep_key_compare(b->low, a->high) <= 0;
}

static uint32_t last_mark(const struct rep_node *node)
{
    uint32_t last = 0;

    for (unsigned i = 0; i < node->marks; i++) {
        last = nf2_max(last, node->mark[i]);
    }
    return last;
}

/* By what was copied, by what blocks hold now, by the session, by the batches that were applied, by the ids that it knows. */
bool rep_newer(struct rep_node *a, struct rep_node *b)
{
    bool from_b = rep_derived(a, b) > 0, from_a = rep_derived(b, a) > 0;
    uint16_t epoch_a = a->log.records > 0 ? a->log.record[a->log.records - 1].epoch : 0, epoch_b = b->log.records > 0 ? b->log.record[b->log.records - 1].epoch : 0;

    if (from_a != from_b) {
        return from_b;
    }
    if (a->refuted != b->refuted) {
        return a->refuted < b->refuted;
    }
    if (epoch_a != epoch_b) {
        return nf2_epochs_between(epoch_b, epoch_a) < 0x800u;
    }
    if (last_mark(a) != last_mark(b)) {
        return last_mark(a) > last_mark(b);
    }
    return a->last_id > b->last_id;
}
