/* SPDX-License-Identifier: BSD-2-Clause */
#include "node.h"

#include "cache.h"
#include "flash.h"

struct nf2_key nf2_key_of(uint32_t id, const void *bytes, uint32_t length)
{
    struct nf2_key key = {id, {bytes}, 0, 0, (uint8_t)length};
    return key;
}

struct nf2_key nf2_lowest_key(uint32_t id)
{
    static const uint8_t none[1] = {0};

    return nf2_key_of(id, none, 0);
}

#define PREFIX 24u              /* bytes of a key kept in memory while a node is searched */
#define CHUNK 16u

/* ---- keys --------------------------------------------------------------------------------------- */

static void set_key(struct nf2_key *key, const struct nf2_entry *entry)
{
    key->id = entry->id;
    key->at.block = entry->node;
    key->offset = entry->offset;
    key->position = entry->key_position;
    key->length = entry->key_length;
}

struct nf2_key nf2_entry_key(const struct nf2_entry *entry)
{
    struct nf2_key key;

    set_key(&key, entry);
    return key;
}

const uint8_t *nf2_key_put_number(uint8_t *to, const struct nf2_key *key)
{
    to[0] = (uint8_t)key->offset;
    for (unsigned i = 0; i < 4; i++) {
        to[1 + i] = (uint8_t)(key->at.number >> (24 - 8 * i));
    }
    return to;
}

static void copy_number(const struct nf2_key *key, uint32_t at, uint8_t *to, uint32_t length)
{
    uint8_t bytes[NF2_NUMBER_LENGTH];

    memcpy(to, nf2_key_put_number(bytes, key) + at, length);
}

int nf2_entry_number(nf2_t *fs, const struct nf2_entry *entry, uint8_t *kind, uint32_t *number)
{
    uint8_t key[NF2_NUMBER_LENGTH];

    if (entry->key_length != sizeof key) {
        return NF2_ERR_IO;
    }
    NF2_TRY(nf2_record_read(fs, entry->node, entry->offset, entry->key_position, key, sizeof key));
    *kind = key[0];
    *number = (uint32_t)key[1] << 24 | (uint32_t)key[2] << 16 | (uint32_t)key[3] << 8 | key[4];
    return NF2_OK;
}

/* From flash just these bytes, and the window stays where it is: it is a glance at another record during a scan. */
int nf2_key_bytes(nf2_t *fs, const struct nf2_key *key, uint32_t at, uint8_t *to, uint32_t length)
{
    if (key->position == 0) {
        memcpy(to, key->at.bytes + at, length);
        return NF2_OK;
    }
    if (key->position == NF2_KEY_NUMBER) {
        copy_number(key, at, to, length);
        return NF2_OK;
    }
    for (uint32_t n; length > 0; length -= n, to += n, at += n) {
        uint32_t place = nf2_record_place(fs, key->offset, key->position + at, &n);
        n = nf2_min(n, length);
        NF2_TRY(nf2_flash_read(fs, key->at.block, place, to, n));
    }
    return NF2_OK;
}

int nf2_key_hash(nf2_t *fs, const struct nf2_key *key, uint32_t *hash)
{
    uint8_t chunk[PREFIX];

    *hash = 2166136261u ^ key->id;
    for (uint32_t at = 0; at < key->length; at += sizeof chunk) {
        uint32_t n = nf2_min(sizeof chunk, key->length - at);
        NF2_TRY(nf2_key_bytes(fs, key, at, chunk, n));
        for (uint32_t i = 0; i < n; i++) {
            *hash = (*hash ^ chunk[i]) * 16777619u;
        }
    }
    *hash ^= *hash >> 16;
    return NF2_OK;
}

int nf2_key_compare(nf2_t *fs, const struct nf2_key *a, const struct nf2_key *b, int *order)
{
    uint8_t left[CHUNK], right[CHUNK];
    uint32_t common = nf2_min(a->length, b->length);

    if (a->id != b->id) {
        *order = a->id < b->id ? -1 : 1;
        return NF2_OK;
    }
    for (uint32_t at = 0; at < common; at += CHUNK) {
        uint32_t n = nf2_min(common - at, CHUNK);
        NF2_TRY(nf2_key_bytes(fs, a, at, left, n));
        NF2_TRY(nf2_key_bytes(fs, b, at, right, n));
        *order = memcmp(left, right, n);
        if (*order != 0) {
            return NF2_OK;
        }
    }
    *order = (int)a->length - (int)b->length;
    return NF2_OK;
}

/* ---- entries ------------------------------------------------------------------------------------ */

uint32_t nf2_node_references(uint8_t type)
{
    return type == NF2_NODE_REN ? 4u : type == NF2_NODE_MOV ? 6u : type == NF2_NODE_PUT ? 0u : 2u;
}

/* Bytes taken, 0 if it does not end within `length`. */
static uint32_t get_varint(const uint8_t *from, uint32_t length, uint32_t *value)
{
    *value = 0;
    for (uint32_t n = 0; n < length && n < 5; n++) {
        *value |= (uint32_t)(from[n] & 0x7Fu) << (7 * n);
        if (from[n] < 0x80) {
            return n + 1;
        }
    }
    return 0;
}

int nf2_entry_parse(nf2_t *fs, uint32_t node, const struct nf2_record *record, struct nf2_entry *entry)
{
    uint8_t head[12] = {0};
    uint32_t payload = record->length - NF2_RECORD_OVERHEAD, skip = nf2_node_references(record->type);

    memset(entry, 0, sizeof *entry);
    entry->node = node;
    entry->offset = record->offset;
    entry->type = record->type;
    entry->more = record->more;
    if (record->type < NF2_NODE_HEAD || record->type > NF2_NODE_REN || payload < skip) {
        return NF2_ERR_IO;
    }
    NF2_TRY(nf2_record_read(fs, node, record->offset, 2, head, nf2_min(payload, sizeof head)));
    if (record->type == NF2_NODE_HEAD) {
        return NF2_OK;
    }
    entry->kill = skip >= 2 ? nf2_get16(head) : 0;
    entry->victim = record->type == NF2_NODE_REN ? nf2_get16(head + 2) : 0;
    if (!nf2_node_has_key(record->type)) {
        entry->id = record->type == NF2_NODE_MOV ? nf2_get32(head + 2) : 0;
        return NF2_OK;
    }
    uint32_t n = get_varint(head + skip, nf2_min(payload, sizeof head) - skip, &entry->id);
    if (n == 0 || skip + n + 1 > payload || skip + n + 1 + head[skip + n] > payload) {
        return NF2_ERR_IO;
    }
    entry->key_length = head[skip + n];
    entry->key_position = (uint8_t)(2 + skip + n + 1);
    entry->body_offset = entry->offset;
    entry->body_position = (uint16_t)(entry->key_position + entry->key_length);
    entry->body_length = (uint16_t)(record->length - 4u - entry->body_position);
    return NF2_OK;
}

/* The record at `offset`, which a record behind it refers to. */
int nf2_entry_parse_at(nf2_t *fs, uint32_t node, uint32_t offset, struct nf2_entry *entry)
{
    struct nf2_record record;
    uint8_t header[2];

    if (offset + NF2_RECORD_OVERHEAD > nf2_log_bytes(fs)) {
        return NF2_ERR_IO;
    }
    NF2_TRY(nf2_record_read(fs, node, offset, 0, header, 2));
    record.offset = (uint16_t)offset;
    record.length = nf2_get16(header) & 0xFFFu;
    record.type = (uint8_t)(nf2_get16(header) >> 13);
    record.more = false;
    if (record.length < NF2_RECORD_OVERHEAD) {
        return NF2_ERR_IO;
    }
    return nf2_entry_parse(fs, node, &record, entry);
}

int nf2_entry_at(nf2_t *fs, uint32_t node, uint32_t offset, struct nf2_entry *entry)
{
    NF2_TRY(nf2_entry_parse_at(fs, node, offset, entry));
    return nf2_entry_body(fs, entry);
}

int nf2_entry_body(nf2_t *fs, struct nf2_entry *entry)
{
    struct nf2_entry at = *entry;

    while (at.type == NF2_NODE_REN) { /* each source lies in front of its REN, so this ends */
        uint16_t source = at.kill;
        if (source >= at.offset) {
            return NF2_ERR_IO;
        }
        NF2_TRY(nf2_entry_parse_at(fs, entry->node, source, &at));
    }
    if (!nf2_node_has_key(at.type)) {
        return NF2_ERR_IO;
    }
    entry->body_offset = at.offset;
    entry->body_position = at.body_position;
    entry->body_length = at.body_length;
    return NF2_OK;
}

int nf2_entry_child(nf2_t *fs, const struct nf2_entry *entry, uint32_t *block)
{
    uint8_t body[4] = {0};

    *block = entry->type != NF2_NODE_REN ? entry->child : 0;
    if (*block == 0 && entry->body_length == sizeof body && entry->type != NF2_NODE_REN) {
        NF2_TRY(nf2_body_read(fs, entry, 0, body, sizeof body));
        *block = body[0] == NF2_BODY_CHILD ? nf2_get24(body + 1) : 0;
    }
    return NF2_OK;
}

int nf2_body_read(nf2_t *fs, const struct nf2_entry *entry, uint32_t at, void *data, uint32_t length)
{
    if (at + length > entry->body_length) {
        return NF2_ERR_IO;
    }
    return nf2_record_read(fs, entry->node, entry->body_offset, entry->body_position + at, data, length);
}

/* ---- look-up ------------------------------------------------------------------------------------ */

int nf2_node_level(nf2_t *fs, uint32_t node)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint8_t payload[NF2_NODE_HEAD_PAYLOAD];

    int known = nf2_cache_level(fs, node);
    if (known >= 0) {
        return known;
    }
    const uint8_t *page = node < fs->blocks ? nf2_peek(fs, node, 0, nf2_page(fs)) : NULL; /* its records are looked at next */
    if (page == NULL || (nf2_get16(page + NF2_PAGE_HEAD) & ~(1u << 12)) != (NF2_NODE_HEAD << 13 | (sizeof payload + NF2_RECORD_OVERHEAD))) {
        return NF2_ERR_IO; /* what else lies there is not looked through for a record */
    }
    nf2_scan_begin(&scan, node);
    scan.limit = NF2_PAGE_HEAD + NF2_RECORD_OVERHEAD + sizeof payload;
    int found = nf2_scan_next(fs, &scan, &record);
    if (found <= 0) {
        return found < 0 ? found : NF2_ERR_IO;
    }
    NF2_TRY(nf2_record_read(fs, node, record.offset, 2, payload, sizeof payload));
    if (payload[0] != 'N' || payload[1] >= NF2_NODE_LEVELS || nf2_get24(payload + 2) != node ||
        nf2_get32(payload + 5) != fs->volume_id) {
        return NF2_ERR_IO;
    }
    return payload[1];
}

/* The next entry that is not killed (NULL: the next one of all). */
static int next_entry(nf2_t *fs, struct nf2_scan *scan, const uint8_t *killed, struct nf2_entry *entry)
{
    struct nf2_record record;
    int found;

    while ((found = nf2_scan_next(fs, scan, &record)) > 0) {
        if (record.type != NF2_NODE_HEAD && (killed == NULL || (nf2_node_has_key(record.type) && !nf2_bit(killed, record.offset / 8u)))) {
            NF2_TRY(nf2_entry_parse(fs, scan->block, &record, entry));
            return 1;
        }
    }
    return found == 0 && scan->damaged ? NF2_ERR_IO : found;
}

int nf2_node_next(nf2_t *fs, struct nf2_scan *scan, struct nf2_entry *entry)
{
    return next_entry(fs, scan, NULL, entry);
}

/* Marks the offsets that a record names. */
static void note_kills(const nf2_t *fs, uint8_t *killed, const struct nf2_entry *entry)
{
    const uint16_t offset[2] = {entry->kill, entry->victim};

    for (unsigned i = 0; i < 2; i++) {
        if (offset[i] != 0 && offset[i] < nf2_log_bytes(fs)) {
            nf2_bit_set(killed, offset[i] / 8u, true);
        }
    }
}

/* How many entries are live, at most, behind this one. */
static void count_entry(uint16_t *entries, const struct nf2_entry *entry)
{
    if (nf2_node_has_key(entry->type) && entry->kill == 0) {
        ++*entries;
    } else if (entry->type == NF2_NODE_DEL && entry->kill != 0 && *entries > 0) {
        --*entries;
    }
}

int nf2_live_begin(nf2_t *fs, uint32_t node, uint8_t *killed, struct nf2_live *live)
{
    struct nf2_cached cached;
    struct nf2_entry entry;
    int found = 0;

    live->killed = killed;
    live->glance = false;
    nf2_scan_begin(&live->scan, node);
    if (nf2_cache_has(fs, node, &cached)) {
        if (killed != NULL) {
            nf2_cache_dead(fs, &cached, killed);
        }
        live->append_at = cached.append_at;
        live->entries = cached.live;
    } else {
        if (killed != NULL) {
            memset(killed, 0, nf2_log_bytes(fs) / 64u);
        }
        live->entries = 0;
        while ((found = nf2_node_next(fs, &live->scan, &entry)) > 0) {
            if (killed != NULL) {
                note_kills(fs, killed, &entry);
            }
            count_entry(&live->entries, &entry);
        }
        live->append_at = (uint16_t)nf2_scan_append_at(fs, &live->scan);
    }
    nf2_live_again(live);
    return found;
}

int nf2_live_next(nf2_t *fs, struct nf2_live *live, struct nf2_entry *entry)
{
    int found;

    while ((found = next_entry(fs, &live->scan, live->glance ? NULL : live->killed, entry)) > 0 && live->glance) {
        note_kills(fs, live->killed, entry);
        if (nf2_node_has_key(entry->type)) {
            break;
        }
    }
    return found;
}

int nf2_live_glance(nf2_t *fs, uint32_t node, uint8_t *killed, struct nf2_live *live)
{
    struct nf2_cached cached;

    if (nf2_cache_has(fs, node, &cached)) {
        return nf2_live_begin(fs, node, killed, live);
    }
    memset(killed, 0, nf2_log_bytes(fs) / 64u);
    nf2_scan_begin(&live->scan, node);
    live->killed = killed;
    live->append_at = 0;
    live->glance = true;
    return NF2_OK;
}

bool nf2_live_whole(const nf2_t *fs, struct nf2_live *live)
{
    uint32_t any = 0;

    for (uint32_t i = 0; live->glance && i < nf2_log_bytes(fs) / 64u; i++) {
        any |= live->killed[i];
    }
    live->glance = false;
    nf2_live_again(live);
    return any == 0;
}

void nf2_live_again(struct nf2_live *live)
{
    nf2_scan_begin(&live->scan, live->scan.block);
    live->scan.limit = live->append_at;
}

/* The key that a search looks for: its first bytes are at hand. */
struct target {
    const struct nf2_key *key;
    uint8_t prefix[PREFIX];
};

/* What a search for the nearest key keeps in mind. */
struct search {
    const struct target *target;
    struct nf2_entry *entry;    /* the best so far, */
    uint8_t prefix[PREFIX];     /* and its key's first bytes */
    enum nf2_seek seek;
    bool have;
    bool lost;                  /* the best was removed later on: some other one is it */
    struct search *also;        /* another one for the same key; NULL: none */
};

static int load_prefix(nf2_t *fs, const struct nf2_key *key, uint8_t *prefix)
{
    return nf2_key_bytes(fs, key, 0, prefix, nf2_min(key->length, PREFIX));
}

static bool downwards(const struct search *search)
{
    return search->seek == NF2_BELOW || search->seek == NF2_AT_OR_BELOW;
}

/* Is this entry nearer than the best so far, or newer and as near? */
static NF2_APART int consider(nf2_t *fs, struct search *search, const struct nf2_entry *at)
{
    struct nf2_key own, other = *search->target->key;
    uint8_t bytes[PREFIX];
    int order;

    set_key(&own, at);
    NF2_TRY(load_prefix(fs, &own, bytes));
    for (const uint8_t *prefix = search->target->prefix;; prefix = search->prefix) { /* beside the target, then beside the best */
        order = own.id != other.id ? (own.id < other.id ? -1 : 1) : memcmp(bytes, prefix, nf2_min(nf2_min(own.length, other.length), PREFIX));
        if (order == 0 && nf2_max(own.length, other.length) > PREFIX) {
            NF2_TRY(nf2_key_compare(fs, &own, &other, &order));
        } else if (order == 0) {
            order = (int)own.length - (int)other.length;
        }
        order = downwards(search) ? -order : order;
        if (prefix == search->prefix) {
            if (order > 0) {
                return NF2_OK;
            }
            break;
        }
        if (order < 0 || (order == 0 && (search->seek == NF2_BELOW || search->seek == NF2_ABOVE))) {
            return NF2_OK;
        }
        if (!search->have) {
            break;
        }
        set_key(&other, search->entry);
    }
    memcpy(search->prefix, bytes, sizeof bytes);
    search->have = true;
    *search->entry = *at;
    uint32_t child;
    NF2_TRY(nf2_entry_child(fs, at, &child)); /* now, while its page is at hand */
    search->entry->child = (uint16_t)child;
    return NF2_OK;
}

/* The same for a record of the log, dead or alive. */
static int look_on(nf2_t *fs, struct search *search, const struct nf2_entry *at)
{
    for (; search != NULL; search = search->also) {
        uint16_t best = search->have ? search->entry->offset : 0;
        if (nf2_node_has_key(at->type)) {
            NF2_TRY(consider(fs, search, at));
        }
        if (best != 0 && (at->kill == best || at->victim == best) && search->entry->offset == best) {
            search->lost = true;
        }
    }
    return NF2_OK;
}

/* A pass over a node's records by which it is cached, if it can be: begins. */
static int reading_begin(nf2_t *fs, uint32_t node, struct nf2_scan *scan)
{
    int level = nf2_node_level(fs, node);

    NF2_TRY(level);
    nf2_cache_begin(fs, node, level);
    nf2_scan_begin(scan, node);
    return NF2_OK;
}

/* Its next record: 1, 0 at the end, or an error. */
static int reading_next(nf2_t *fs, struct nf2_scan *scan, struct nf2_entry *entry)
{
    int found = nf2_node_next(fs, scan, entry), taken = found > 0 ? nf2_cache_take(fs, scan->block, entry) : found;

    if (found == 0) {
        nf2_cache_end(fs, scan->block, nf2_scan_append_at(fs, scan));
    } else if (taken < 0) {
        nf2_cache_drop(fs, scan->block);
    }
    return taken < 0 ? taken : found;
}

int nf2_pass_begin(nf2_t *fs, uint32_t node, bool live, struct nf2_pass *pass)
{
    struct nf2_cached cached;

    pass->reading = !live && !nf2_cache_has(fs, node, &cached);
    pass->live.entries = 0;
    return pass->reading ? reading_begin(fs, node, &pass->live.scan) : nf2_live_begin(fs, node, nf2_scratch(fs, NF2_SCRATCH_SEARCH), &pass->live);
}

int nf2_pass_next(nf2_t *fs, struct nf2_pass *pass, struct nf2_entry *entry)
{
    if (!pass->reading) {
        return nf2_live_next(fs, &pass->live, entry);
    }
    int found = reading_next(fs, &pass->live.scan, entry);
    if (found > 0) {
        count_entry(&pass->live.entries, entry);
    } else if (found == 0) {
        pass->live.append_at = (uint16_t)nf2_scan_append_at(fs, &pass->live.scan);
    }
    return found;
}

int nf2_pass_failed(nf2_t *fs, const struct nf2_pass *pass, int result)
{
    if (pass->reading) {
        nf2_cache_drop(fs, pass->live.scan.block); /* it knows a part of the node */
    }
    return result;
}

/* Looks at all records once: 1 if the best of a search was removed by one of them, 0, or an error. */
static NF2_APART int look_through(nf2_t *fs, uint32_t node, bool live, struct search *search)
{
    struct nf2_pass pass;
    struct nf2_entry entry;
    int found, lost = 0;

    for (struct search *one = search; one != NULL; one = one->also) {
        one->have = one->lost = false;
    }
    NF2_TRY(nf2_pass_begin(fs, node, live, &pass));
    while ((found = nf2_pass_next(fs, &pass, &entry)) > 0) {
        int result = look_on(fs, search, &entry);
        if (result < 0) {
            return nf2_pass_failed(fs, &pass, result);
        }
    }
    for (const struct search *one = search; one != NULL; one = one->also) {
        lost |= one->lost;
    }
    return found < 0 ? found : lost;
}

static NF2_APART int seek_key(nf2_t *fs, uint32_t node, const struct nf2_key *key, struct search *search)
{
    struct target target;

    target.key = key;
    NF2_TRY(load_prefix(fs, key, target.prefix));
    for (struct search *one = search; one != NULL; one = one->also) {
        one->target = &target;
    }
    int lost = look_through(fs, node, false, search);
    NF2_TRY(lost);
    NF2_TRY(lost ? look_through(fs, node, true, search) : NF2_OK);
    return NF2_OK;
}

int nf2_node_seek(nf2_t *fs, uint32_t node, const struct nf2_key *key, enum nf2_seek seek, struct nf2_entry *entry)
{
    struct search search = {.seek = seek, .entry = entry};

    NF2_TRY(seek_key(fs, node, key, &search));
    return search.have;
}

int nf2_node_seek_key(nf2_t *fs, uint32_t node, const struct nf2_key *from, enum nf2_seek seek, struct nf2_key *key)
{
    struct nf2_entry entry;
    struct search search = {.seek = seek, .entry = &entry};

    NF2_TRY(seek_key(fs, node, from, &search));
    if (search.have) {
        *key = nf2_entry_key(&entry);
    }
    return search.have;
}

int nf2_node_seek_both(nf2_t *fs, uint32_t node, const struct nf2_key *key, struct nf2_entry *below, struct nf2_entry *above)
{
    struct search over = {.seek = NF2_ABOVE, .entry = above}, search = {.seek = NF2_AT_OR_BELOW, .entry = below, .also = &over};

    NF2_TRY(seek_key(fs, node, key, &search));
    return (search.have ? 1 : 0) | (over.have ? 2 : 0);
}

int nf2_node_tail(nf2_t *fs, uint32_t node, uint32_t *entries)
{
    return nf2_node_find_all(fs, node, NULL, 0, entries);
}

/* A record of the log: is it what is sought, or does it kill that? */
static NF2_APART int match(nf2_t *fs, struct nf2_sought *sought, const struct nf2_entry *entry)
{
    uint32_t hash;
    int order;

    if (sought->place != 0 && (entry->kill == sought->place || entry->victim == sought->place)) {
        sought->place = 0;
    }
    if (nf2_node_has_key(entry->type) && entry->id == sought->key->id && entry->key_length == sought->key->length) {
        struct nf2_key own = nf2_entry_key(entry);
        NF2_TRY(nf2_key_hash(fs, &own, &hash));
        if (hash != sought->hash) { /* the other one may lie on another page */
            return NF2_OK;
        }
        NF2_TRY(nf2_key_compare(fs, &own, sought->key, &order));
        sought->place = order == 0 ? entry->offset : sought->place;
    }
    return NF2_OK;
}

int nf2_node_find_all(nf2_t *fs, uint32_t node, struct nf2_sought *sought, unsigned count, uint32_t *entries)
{
    struct nf2_cached cached;
    struct nf2_pass pass;
    struct nf2_entry entry;
    int found;

    for (unsigned i = 0; i < count; i++) {
        sought[i].place = 0;
        NF2_TRY(nf2_key_hash(fs, sought[i].key, &sought[i].hash));
    }
    if (count == 0 && nf2_cache_has(fs, node, &cached)) {
        if (entries != NULL) {
            *entries = cached.live;
        }
        return cached.append_at;
    }
    NF2_TRY(nf2_pass_begin(fs, node, false, &pass));
    while ((found = nf2_pass_next(fs, &pass, &entry)) > 0) {
        for (unsigned i = 0; i < count; i++) {
            int result = match(fs, &sought[i], &entry);
            if (result < 0) {
                return nf2_pass_failed(fs, &pass, result);
            }
        }
    }
    if (entries != NULL) {
        *entries = pass.live.entries;
    }
    return found < 0 ? found : pass.live.append_at;
}

int nf2_node_find(nf2_t *fs, uint32_t node, const struct nf2_key *key, struct nf2_entry *entry)
{
    struct nf2_sought sought = {.key = key};
    struct nf2_cached cached;

    if (nf2_cache_has(fs, node, &cached)) {
        return nf2_cache_find(fs, node, key, entry);
    }
    NF2_TRY(nf2_node_find_all(fs, node, &sought, 1, NULL));
    if (sought.place == 0) {
        return 0;
    }
    NF2_TRY(nf2_entry_parse_at(fs, node, sought.place, entry));
    return 1;
}
