/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal.h"

#define IDS_AHEAD 64u           /* ids that a CHECKPOINT gives out in advance */

/* ---- what a CHECKPOINT holds -------------------------------------------------------------------- */

/* The fields behind the flags, in order: where in the volume, bytes there, and bytes on record. */
#define FIELD(name, stored) {offsetof(nf2_t, name), (uint8_t)sizeof(((nf2_t *)NULL)->name), stored}
#define CLAIM(name) FIELD(name.start, 3), FIELD(name.count, 2), FIELD(name.erased, 2)
#define NODES_ERASED_AT 38u     /* place of this field of the claim for nodes */
static const struct field {
    uint16_t at;
    uint8_t size, stored;
} fields[] = {
    FIELD(io.epoch, 2), FIELD(root.node, 3), FIELD(root.node_base, 2), FIELD(root.level, 1),
    FIELD(root.id_limit, 4), FIELD(space.free, 3), FIELD(space.erases, 4), FIELD(root.unclean_mounts, 2),
    FIELD(space.now_window, 2), FIELD(space.erased_groups, 4), FIELD(root.group_block, 3), FIELD(root.group_at, 2),
    CLAIM(space.nodes), CLAIM(space.data), FIELD(root.bads, 1),
};
#define FIELDS (sizeof fields / sizeof fields[0])

/* The flags, from the lowest bit on. */
static const uint16_t flags[] = {
    offsetof(nf2_t, root.clean), offsetof(nf2_t, space.fresh), offsetof(nf2_t, space.now_fresh),
    offsetof(nf2_t, root.next_suspect), offsetof(nf2_t, root.leaky), offsetof(nf2_t, root.bad_keys),
};
#define FLAGS (sizeof flags / sizeof flags[0])

/* With units that are programmed once a session begins with a turn: it may need a block that is not on record as erased. */
static uint32_t erased_on_record(const nf2_t *fs)
{
    const struct nf2_claim *nodes = &fs->space.nodes;
    uint32_t most = fs->io.flash->program_unit > 1 && nodes->count > 0 ? nodes->count - 1u : NF2_NONE;

    return nf2_min(most, nodes->erased);
}

static void store_fixed(const nf2_t *fs, bool clean, uint8_t *bytes)
{
    uint8_t *p = bytes + 1;

    bytes[0] = 0;
    for (unsigned i = 0; i < FLAGS; i++) {
        bytes[0] = (uint8_t)(bytes[0] | *((const uint8_t *)fs + flags[i]) << i);
    }
    bytes[0] = (uint8_t)((bytes[0] & ~NF2_STATE_CLEAN) | (clean ? NF2_STATE_CLEAN : 0));
    for (const struct field *field = fields; field < fields + FIELDS; field++) {
        const void *from = (const uint8_t *)fs + field->at;
        uint32_t value = field->size == 1 ? *(const uint8_t *)from : field->size == 2 ? *(const uint16_t *)from :
                         *(const uint32_t *)from;
        for (unsigned n = field->stored; n > 0; n--, value >>= 8) {
            *p++ = (uint8_t)value;
        }
    }
    nf2_put16(bytes + NODES_ERASED_AT, erased_on_record(fs));
}

static void load_fixed(nf2_t *fs, const uint8_t *bytes)
{
    const uint8_t *p = bytes + 1;

    for (unsigned i = 0; i < FLAGS; i++) {
        *(bool *)((uint8_t *)fs + flags[i]) = (bytes[0] >> i & 1u) != 0;
    }
    for (const struct field *field = fields; field < fields + FIELDS; field++) {
        void *to = (uint8_t *)fs + field->at;
        uint32_t value = 0;
        for (unsigned n = field->stored; n > 0; n--) {
            value = value << 8 | p[n - 1];
        }
        p += field->stored;
        if (field->size == 1) {
            *(uint8_t *)to = (uint8_t)value;
        } else if (field->size == 2) {
            *(uint16_t *)to = (uint16_t)value;
        } else {
            *(uint32_t *)to = value;
        }
    }
}

static NF2_APART uint32_t checkpoint_bytes(const nf2_t *fs)
{
    return NF2_STATE_FIXED + NF2_WINDOW_BYTES + 3u * fs->root.bads;
}

static void write_checkpoint(nf2_t *fs, struct nf2_writer *writer, bool clean)
{
    uint8_t bytes[NF2_STATE_FIXED];

    NF2_ASSERT(fs->root.bads <= NF2_BAD_MAX && fs->root.node < fs->io.blocks && fs->io.epoch_known);
    (void)nf2_writer_open(fs, writer, NF2_ROOT_CHECKPOINT, checkpoint_bytes(fs));
    store_fixed(fs, clean, bytes);
    nf2_writer_put(fs, writer, bytes, sizeof bytes);
    nf2_writer_put(fs, writer, fs->space.now, NF2_WINDOW_BYTES);
    for (unsigned i = 0; i < fs->root.bads; i++) {
        nf2_put24(bytes, fs->root.bad[i]);
        nf2_writer_put(fs, writer, bytes, 3);
    }
    nf2_writer_close(fs, writer);
}

static bool claim_valid(const nf2_t *fs, const struct nf2_claim *claim)
{
    bool inside = nf2_space_usable(fs, claim->start) && claim->count <= fs->io.blocks - claim->start;
    return claim->count == 0 || (inside && claim->erased <= claim->count);
}

/* What has a fixed place refers to blocks and windows that there are. */
static bool fixed_valid(const nf2_t *fs)
{
    const struct nf2_root *root = &fs->root;
    bool group = root->group_block == NF2_NO_BLOCK || root->group_block < fs->io.blocks;
    bool claims = claim_valid(fs, &fs->space.nodes) && claim_valid(fs, &fs->space.data);

    return group && claims && root->bads <= NF2_BAD_MAX && root->level < 8 && fs->space.now_window < nf2_windows(fs);
}

static int read_checkpoint(nf2_t *fs, const struct nf2_record *record)
{
    uint8_t bytes[NF2_STATE_FIXED];
    uint32_t head = fs->root.head, at = 2 + NF2_STATE_FIXED;

    if (record->length < NF2_RECORD_OVERHEAD + NF2_STATE_FIXED + NF2_WINDOW_BYTES) {
        return NF2_ERR_CORRUPT;
    }
    NF2_TRY(nf2_record_read(fs, head, record->offset, 2, bytes, sizeof bytes));
    load_fixed(fs, bytes);
    if (!fixed_valid(fs) || record->length != NF2_RECORD_OVERHEAD + checkpoint_bytes(fs)) {
        return NF2_ERR_CORRUPT;
    }
    NF2_TRY(nf2_record_read(fs, head, record->offset, at, fs->space.now, NF2_WINDOW_BYTES));
    at += NF2_WINDOW_BYTES;
    for (unsigned i = 0; i < fs->root.bads; i++, at += 3) {
        NF2_TRY(nf2_record_read(fs, head, record->offset, at, bytes, 3));
        NF2_TRY(nf2_get24(bytes) < fs->io.blocks ? NF2_OK : NF2_ERR_CORRUPT);
        fs->root.bad[i] = (uint16_t)nf2_get24(bytes);
    }
    fs->space.now_free = (uint16_t)nf2_space_count(fs, fs->space.now);
    return NF2_OK;
}

/* ---- reading the log ---------------------------------------------------------------------------- */

static int read_claim(nf2_t *fs, const uint8_t *p)
{
    uint32_t start = nf2_get24(p), count = nf2_get16(p + 3);

    if (start >= fs->io.blocks || count > fs->io.blocks - start) {
        return NF2_ERR_CORRUPT;
    }
    nf2_space_use(fs, start, count);
    nf2_space_taken(fs, count);
    return NF2_OK;
}

static int read_record(nf2_t *fs, const struct nf2_record *record)
{
    uint8_t bytes[NF2_ROOT_HEAD_BYTES] = {0};
    uint32_t payload = record->length - NF2_RECORD_OVERHEAD;

    if (record->type == NF2_ROOT_CHECKPOINT) {
        return read_checkpoint(fs, record);
    }
    fs->root.clean = fs->root.clean && record->type == NF2_ROOT_HEAD;
    NF2_TRY(nf2_record_read(fs, fs->root.head, record->offset, 2, bytes, nf2_min(payload, sizeof bytes)));
    switch (record->type) {
    case NF2_ROOT_HEAD:
        fs->root.next = nf2_get24(bytes + 5);
        return bytes[0] == 'R' && nf2_get32(bytes + 1) == fs->root.volume_id ? NF2_OK : NF2_ERR_CORRUPT;
    case NF2_ROOT_CLAIM:
        return read_claim(fs, bytes);
    case NF2_ROOT_GROUP:
        fs->root.group_block = fs->root.head;
        fs->root.group_at = record->offset;
        return NF2_OK;
    case NF2_ROOT_DONE:
        fs->root.group_block = NF2_NO_BLOCK;
        return NF2_OK;
    default:
        return NF2_ERR_CORRUPT;
    }
}

/* The epoch of the last session: of one that was cut in its first CHECKPOINT only the torn page is left. */
static uint16_t last_epoch(const nf2_t *fs, const struct nf2_scan *scan)
{
    uint16_t torn = scan->bad_epoch;
    bool later = scan->bad && torn == nf2_epoch_code(torn) && nf2_epochs_between(fs->io.epoch, torn) < 2048;

    return later ? torn : fs->io.epoch;
}

int nf2_journal_read(nf2_t *fs)
{
    struct nf2_scan scan;
    struct nf2_record record;
    bool first = true, state = false;
    int found;

    NF2_ASSERT(fs->root.head < fs->io.blocks && !fs->io.epoch_known);
    nf2_scan_begin(&scan, fs->root.head);
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        if (first != (record.type == NF2_ROOT_HEAD)) {
            return NF2_ERR_CORRUPT;
        }
        first = false;
        NF2_TRY(read_record(fs, &record));
        state = state || record.type == NF2_ROOT_CHECKPOINT;
    }
    NF2_TRY(found);
    if (!state || scan.damaged) {
        return NF2_ERR_CORRUPT;
    }
    fs->root.next_id = fs->root.id_limit;
    bool torn = scan.bad && (scan.dirty_end || scan.used_end > nf2_page_end(fs, scan.last_end - 1u));
    fs->io.cut = !fs->root.clean || torn; /* it was cut in its first CHECKPOINT */
    if (fs->io.cut) { /* what was claimed and not used is found by the walk */
        memset(&fs->space.nodes, 0, sizeof fs->space.nodes);
        memset(&fs->space.data, 0, sizeof fs->space.data);
        fs->root.next_suspect = true; /* the session may have been cut in a turn */
        fs->io.epoch = nf2_epoch_code(last_epoch(fs, &scan) + 1u);
        fs->root.unclean_mounts++;
        fs->root.leaky = true;
    }
    fs->io.epoch_known = true;
    fs->root.end = nf2_scan_append_at(fs, &scan);
    return NF2_OK;
}

/* ---- writing ------------------------------------------------------------------------------------ */

void nf2_journal_bad(nf2_t *fs, uint32_t block)
{
    struct nf2_root *root = &fs->root;
    uint32_t before = fs->space.now_free;

    NF2_ASSERT(block < fs->io.blocks);
    nf2_space_use(fs, block, 1);
    nf2_space_taken(fs, before - fs->space.now_free);
    if (nf2_journal_bad_listed(fs, block)) {
        return;
    }
    if (root->bads == NF2_BAD_MAX) { /* too many in one call: the first one is found anew when it fails again */
        nf2_journal_bad_done(fs, root->bad[0]);
    }
    root->bad[root->bads++] = (uint16_t)block;
}

bool nf2_journal_bad_listed(const nf2_t *fs, uint32_t block)
{
    unsigned i = 0;

    while (i < fs->root.bads && fs->root.bad[i] != block) {
        i++;
    }
    return i < fs->root.bads;
}

void nf2_journal_bad_done(nf2_t *fs, uint32_t block)
{
    struct nf2_root *root = &fs->root;
    unsigned kept = 0;

    NF2_ASSERT(nf2_journal_bad_listed(fs, block));
    for (unsigned i = 0; i < root->bads; i++) {
        if (root->bad[i] != block) {
            root->bad[kept++] = root->bad[i];
        }
    }
    root->bads = (uint8_t)kept;
}

/* The last block of a claim. */
static NF2_APART uint32_t spare_of(struct nf2_claim *claim, bool *suspect)
{
    NF2_ASSERT(claim->count > 0);
    claim->count--;
    *suspect = claim->count >= claim->erased;
    claim->erased = (uint16_t)nf2_min(claim->erased, claim->count);
    return claim->start + claim->count;
}

/* A free block of `now`, or NF2_NO_BLOCK: one that is on record as erased only where there is no other. */
static uint32_t spare_free(const nf2_t *fs)
{
    uint32_t first = fs->space.now_window * fs->space.window_blocks, found = NF2_NO_BLOCK;

    for (uint32_t i = 0; i < fs->space.window_blocks; i++) {
        bool free = !nf2_bit(fs->space.now, i);
        if (free && !nf2_space_erased(fs, first + i, 1)) {
            return first + i;
        }
        found = free ? first + i : found;
    }
    return found;
}

/*
 * A block for the log's next turn; NF2_NO_BLOCK: there is none. Before this session's first record what the last one left on
 * record as claimed and erased is not taken: the record holds again where a cut leaves no trace of the session.
 */
static uint32_t spare(nf2_t *fs, bool *suspect)
{
    struct nf2_claim *claim = fs->space.nodes.count > 0 ? &fs->space.nodes : &fs->space.data;
    uint32_t block;

    if (claim->count > (fs->root.opened ? 0 : claim->erased)) {
        return spare_of(claim, suspect);
    }
    block = spare_free(fs);
    if (block == NF2_NO_BLOCK) {
        return claim->count > 0 ? spare_of(claim, suspect) : block;
    }
    *suspect = !nf2_space_erased(fs, block, 1);
    nf2_space_use(fs, block, 1);
    nf2_space_taken(fs, 1);
    return block;
}

/* HEAD and CHECKPOINT at the start of an erased block. */
static int write_head(nf2_t *fs, uint32_t block, uint32_t next)
{
    struct nf2_writer writer;
    uint8_t head[NF2_ROOT_HEAD_BYTES] = {'R'};

    NF2_ASSERT(nf2_space_usable(fs, block) && nf2_space_usable(fs, next));
    nf2_put24(nf2_put32(head + 1, fs->root.volume_id), next);
    nf2_writer_begin(&writer, block, 0);
    writer.more = true;
    nf2_writer_record(fs, &writer, NF2_ROOT_HEAD, head, sizeof head);
    writer.more = false;
    write_checkpoint(fs, &writer, false);
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->root.end = writer.position;
    return NF2_OK;
}

int nf2_journal_begin(nf2_t *fs, uint32_t block)
{
    fs->root.head = block;
    return write_head(fs, block, fs->root.next);
}

/* Not the head, which the anchor names until the turn is over, and not a GROUP that waits. */
static bool may_be_erased(const nf2_t *fs, uint32_t block)
{
    return block != NF2_NO_BLOCK && block != fs->root.head && block != fs->root.group_block;
}

/* Goes on in the next block; a bad one is passed over. The anchor is the commit. */
static NF2_APART int turn(nf2_t *fs)
{
    struct nf2_root *root = &fs->root;
    uint32_t block = root->next, old = root->head;
    bool suspect = root->next_suspect;

    for (uint32_t tries = nf2_journal_tries(fs); tries > 0 && may_be_erased(fs, block); tries--) {
        int result = suspect ? nf2_flash_erase(fs, block, 1) : NF2_OK;
        fs->space.erases += suspect;
        root->next_suspect = true;
        root->next = result == NF2_OK ? spare(fs, &root->next_suspect) : root->next;
        root->next = root->next == NF2_NO_BLOCK ? old : root->next;
        root->id_limit = root->next_id + IDS_AHEAD;
        result = result == NF2_OK ? write_head(fs, block, root->next) : result;
        if (result == NF2_OK) {
            root->head = block;
            result = nf2_super_write(fs);
            fs->io.broken = fs->io.broken || result < 0;
            return result;
        }
        if (result != NF2_FAILED_BLOCK) {
            fs->io.broken = true; /* what is known of the log is not what is on the chip */
            return result;
        }
        nf2_journal_bad(fs, block);
        block = root->next != block ? root->next : spare(fs, &suspect);
        suspect = suspect || root->next_suspect;
    }
    fs->io.broken = true;
    return NF2_ERR_IO;
}

int nf2_journal_room(nf2_t *fs, uint32_t length)
{
    NF2_TRY(nf2_journal_open(fs));
    return nf2_log_fits(fs, fs->root.end, length) ? NF2_OK : turn(fs);
}

int nf2_journal_end(nf2_t *fs, struct nf2_writer *writer)
{
    int result = nf2_writer_end(fs, writer);

    NF2_ASSERT(writer->block == fs->root.head);
    if (writer->begun) {
        fs->root.end = result == NF2_OK ? writer->position : nf2_log_bytes(fs); /* full by decree */
    }
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, fs->root.head);
    }
    return result;
}

/* Twice, where the head turns out to be bad. */
int nf2_journal_put(nf2_t *fs, unsigned type, const void *payload, uint32_t length)
{
    struct nf2_writer writer;
    int result = NF2_FAILED_BLOCK;

    NF2_ASSERT(type == NF2_ROOT_CLAIM || type == NF2_ROOT_DONE);
    for (uint32_t tries = nf2_journal_tries(fs); tries > 0 && result == NF2_FAILED_BLOCK; tries--) {
        NF2_TRY(nf2_journal_room(fs, length));
        nf2_writer_begin(&writer, fs->root.head, fs->root.end);
        nf2_writer_record(fs, &writer, type, payload, length);
        result = nf2_journal_end(fs, &writer);
    }
    return result == NF2_FAILED_BLOCK ? NF2_ERR_IO : result;
}

/* A turn writes one, too. */
static int checkpoint(nf2_t *fs, bool clean)
{
    struct nf2_writer writer;

    fs->root.id_limit = clean ? fs->root.next_id : fs->root.next_id + IDS_AHEAD;
    if (!nf2_log_fits(fs, fs->root.end, checkpoint_bytes(fs))) {
        NF2_TRY(turn(fs));
        if (!clean) {
            return NF2_OK;
        }
        fs->root.id_limit = fs->root.next_id;
    }
    nf2_writer_begin(&writer, fs->root.head, fs->root.end);
    write_checkpoint(fs, &writer, clean);
    return nf2_journal_end(fs, &writer);
}

int nf2_journal_checkpoint(nf2_t *fs, bool clean)
{
    int result = NF2_FAILED_BLOCK;

    if (fs->io.read_only) {
        return NF2_ERR_ROFS;
    }
    for (uint32_t tries = nf2_journal_tries(fs); tries > 0 && result == NF2_FAILED_BLOCK; tries--) {
        result = checkpoint(fs, clean);
    }
    fs->root.opened = fs->root.opened || result == NF2_OK;
    fs->root.clean = clean;
    return result == NF2_FAILED_BLOCK ? NF2_ERR_IO : result;
}

/*
 * A session that was cut in its first program may have left no trace of it, and the next one programs the same place. With
 * units that are programmed once it must not: all goes into blocks that are erased first.
 */
int nf2_journal_open(nf2_t *fs)
{
    if (!fs->root.opened && fs->io.flash->program_unit > 1) {
        fs->root.next_suspect = true;
        fs->root.end = nf2_log_bytes(fs);
        nf2_super_full(fs);
    }
    return fs->root.opened ? NF2_OK : nf2_journal_checkpoint(fs, false);
}

int nf2_journal_id(nf2_t *fs, uint32_t *id)
{
    NF2_ASSERT(id != NULL && fs->root.next_id <= fs->root.id_limit);
    if (fs->root.next_id >= fs->root.id_limit) {
        NF2_TRY(nf2_journal_checkpoint(fs, false));
    }
    *id = fs->root.next_id++;
    return NF2_OK;
}
