/* SPDX-License-Identifier: BSD-2-Clause */
/* records.c - the records of one block, for those who look at an image: FORMAT.md, sections 2 to 5. */
#include "inside.h"

enum log_kind { SUPER_LOG, ROOT_LOG, NODE_LOG, FRAMES_LOG, LOG_KINDS };

static const char *const names[LOG_KINDS][8] = {
    [SUPER_LOG] = {[NF2_SUPER_ANCHOR] = "ANCHOR"},
    [ROOT_LOG] = {[NF2_ROOT_CHECKPOINT] = "CHECKPOINT", [NF2_ROOT_VOLUME] = "VOLUME",
                  [NF2_ROOT_GROUP] = "GROUP"},
    [NODE_LOG] = {[NF2_NODE_HEAD] = "HEAD", [NF2_NODE_PUT] = "PUT", [NF2_NODE_PUTK] = "PUTK",
                  [NF2_NODE_DEL] = "DEL", [NF2_NODE_REN] = "REN", [NF2_NODE_ADD] = "ADD"},
    [FRAMES_LOG] = {[NF2_FRAMES_HEAD] = "HEAD", [NF2_FRAME] = "FRAME"},
};

/* What a log is shows in its first record, also where the block is no longer in use. */
static bool kind_of(const struct rep_record *first, enum log_kind *kind)
{
    const uint8_t *p = first->payload;

    if (first->type == NF2_ROOT_CHECKPOINT && first->length == NF2_STATE_BYTES) {
        *kind = ROOT_LOG;
    } else if (first->type == NF2_NODE_HEAD && first->length == NF2_NODE_HEAD_BYTES &&
               p[0] == 'N') {
        *kind = NODE_LOG;
    } else if (first->type == NF2_FRAMES_HEAD && first->length == NF2_FRAMES_HEAD_BYTES &&
               p[0] == 'F') {
        *kind = FRAMES_LOG;
    } else {
        return false;
    }
    return true;
}

static const char *anchor_text(struct repair *r, const struct rep_record *record)
{
    const uint8_t *p = record->payload;

    return record->length < NF2_ANCHOR_BYTES ? "" :
        rep_text(r, "number %u of volume %08x; the root log is in block %u",
                 rep_get32(p + NF2_ANCHOR_SEQUENCE), rep_get32(p + NF2_ANCHOR_VOLUME),
                 rep_get16(p + NF2_ANCHOR_HEAD));
}

static const char *checkpoint_text(struct repair *r, const struct rep_record *record)
{
    const uint8_t *p = record->payload;

    return record->length < NF2_STATE_BYTES ? "" :
        rep_text(r, "%s; the root of the tree is block %u, of level %u; the log goes on in block "
                 "%u; %u erases", (p[NF2_STATE_FLAGS] & NF2_FLAG_CLEAN) != 0 ? "clean" : "in use",
                 rep_get16(p + NF2_STATE_ROOT), p[NF2_STATE_LEVEL] & 7u,
                 rep_get16(p + NF2_STATE_NEXT), rep_get32(p + NF2_STATE_ERASES));
}

/* What the first byte of a content says. */
static const char *content_text(struct repair *r, const uint8_t *p, uint32_t length)
{
    switch (p[0]) {
    case NF2_BODY_DIR: return "directory";
    case NF2_BODY_INLINE: return rep_text(r, "file of %u bytes, in the record", length - 1);
    case NF2_BODY_LIST: return "file in pieces";
    case NF2_BODY_MAP: return "file with a map of its own";
    case NF2_BODY_CHILD:
        return length < 4 ? "node" : rep_text(r, "node in block %u", rep_get24(p + 1));
    case NF2_PIECE_DATA:
        return length < 4 ? "data" : rep_text(r, "data in block %u", rep_get24(p + 1));
    case NF2_PIECE_FRAMES:
        return length < 4 ? "frames" : rep_text(r, "frames in block %u", rep_get24(p + 1));
    case NF2_PIECE_ZEROS: return "zeros";
    default: return "of no known form";
    }
}

/* A name that is cut has the rest of it in front of the content, then come attributes. */
static const char *body_text(struct repair *r, const struct rep_key *key, const uint8_t *p,
                             uint32_t length)
{
    bool inner = length == NF2_CHILD_BYTES && p[0] == NF2_BODY_CHILD;
    uint32_t skip = !inner && rep_has_rest(key) && length > 0 ? 1u + p[0] : 0;

    if (key->id == NF2_SYSTEM_ID && key->length > 0 && !inner) {
        return key->bytes[0] == NF2_KEY_WEAR ? "wear of regions" :
               key->bytes[0] == NF2_KEY_BAD ? "bad block" : "removed file";
    }
    if (skip >= length) {
        return length == 0 ? "" : "a name";
    }
    p += skip;
    length -= skip;
    if (p[0] == NF2_BODY_FIELDS && length > 2 && length - 2 > p[1]) {
        uint32_t fields = 2u + p[1];
        return rep_text(r, "%s, with attributes",
                        content_text(r, p + fields, length - fields));
    }
    return content_text(r, p, length);
}

static const char *node_text(struct repair *r, const struct rep_record *record)
{
    static const uint8_t in_front[8] = {[NF2_NODE_PUTK] = 3, [NF2_NODE_REN] = 7, [NF2_NODE_ADD] = 1};
    const uint8_t *p = record->payload;
    uint32_t skip = in_front[record->type], used;
    struct rep_key key;

    if (record->type == NF2_NODE_HEAD) {
        return record->length < NF2_NODE_HEAD_BYTES ? "" :
            rep_text(r, "level %u, serial number %u", p[1] & 7u, rep_get32(p + 9));
    }
    if (record->type == NF2_NODE_DEL) {
        return record->length < 2 ? "" :
            rep_text(r, "removes the entry of byte %u", rep_get16(p));
    }
    if (record->length < skip ||
        (used = rep_key_load(p + skip, record->length - skip, &key)) == 0) {
        return "of no known form";
    }
    skip += used;
    const char *what = record->type == NF2_NODE_REN ? "a new name of another entry" :
                       body_text(r, &key, p + skip, record->length - skip);
    return rep_text(r, "%s%s%s", rep_key_text(r, &key), what[0] != '\0' ? ": " : "", what);
}

static const char *text_of(struct repair *r, enum log_kind kind, const struct rep_record *record)
{
    if (kind == NODE_LOG) {
        return node_text(r, record);
    }
    if (kind == FRAMES_LOG) {
        return record->type != NF2_FRAME || record->length < 2 ? "" :
            rep_text(r, "%u bytes of a file", record->length - 2u);
    }
    if (kind == SUPER_LOG) {
        return record->type == NF2_SUPER_ANCHOR ? anchor_text(r, record) : "";
    }
    return record->type == NF2_ROOT_CHECKPOINT ? checkpoint_text(r, record) :
           rep_text(r, "%u bytes", record->length);
}

static void show(struct repair *r, enum log_kind kind, const struct rep_record *record)
{
    const char *name = names[kind][record->type];

    REP_ADD(r, &r->shown, (struct repair_record){
        .at = record->at, .end = record->end, .session = record->epoch & 0xFFFu,
        .mended = record->mended, .more = record->more,
        .name = name != NULL ? name : "unknown",
        .text = name != NULL ? text_of(r, kind, record) : ""});
}

/* A super block is no log: it has slots, each with an epoch and a record. */
static void show_slots(struct repair *r, uint32_t block)
{
    struct rep_record record;

    for (uint32_t at = 0; at < r->log_bytes; at += NF2_SLOT_BYTES) {
        uint16_t epoch = rep_get16(rep_at(r, block, at));
        if (rep_record_at(r, block, at + NF2_PAGE_HEAD, epoch, &record) == REP_RECORD) {
            show(r, SUPER_LOG, &record);
        }
    }
}

unsigned repair_records(struct repair *r, uint32_t block)
{
    enum log_kind kind;

    r->shown.count = 0;
    if (block < NF2_SUPER_BLOCKS) {
        show_slots(r, block);
    } else if (block < r->blocks) {
        const struct rep_log *log = rep_log_read(r, block, true);
        bool known = log->records.count > 0 && kind_of(&log->records.list[0], &kind);
        for (size_t i = 0; known && i < log->records.count; i++) {
            show(r, kind, &log->records.list[i]);
        }
    }
    return (unsigned)r->shown.count;
}

const struct repair_record *repair_record(const struct repair *r, unsigned number)
{
    return &r->shown.list[number];
}
