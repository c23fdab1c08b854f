/* SPDX-License-Identifier: BSD-2-Clause */
/* dump.c - the records of one block, for people who look into an image. */
#include <stdio.h>

#include "inside.h"

struct dump {
    struct repair *repair;
    void (*line)(void *context, uint32_t offset, uint32_t length, const char *text);
    void *context;
};

static void key_line(const uint8_t *p, uint32_t room, const char *what, char *text, size_t size)
{
    struct rep_key key;
    uint32_t used = rep_key_load(p, room, &key);
    char bytes[2 * NF2_KEY_MAX + 1] = "";
    bool plain = used != 0;

    for (unsigned i = 0; used != 0 && i < key.length; i++) {
        plain = plain && key.bytes[i] >= 32 && key.bytes[i] < 127;
        (void)snprintf(bytes + 2 * i, 3, "%02X", key.bytes[i]);
    }
    if (used == 0) {
        (void)snprintf(text, size, "%s without a key", what);
    } else if (plain) {
        (void)snprintf(text, size, "%s id %u '%.*s', %u bytes", what, key.id, key.length, (const char *)key.bytes, room - used);
    } else {
        (void)snprintf(text, size, "%s id %u key %s, %u bytes", what, key.id, bytes, room - used);
    }
}

static void root_line(const struct rep_record *record, char *text, size_t size)
{
    const uint8_t *p = record->payload;

    if (record->type == NF2_ROOT_CHECKPOINT && record->length == NF2_STATE_BYTES) {
        (void)snprintf(text, size, "CHECKPOINT, volume %08X, next block %u, root block %u of level %u, %u blocks free, window %u, id limit %u",
                       rep_get32(p + NF2_STATE_VOLUME), rep_get16(p + NF2_STATE_NEXT), rep_get16(p + NF2_STATE_ROOT), p[NF2_STATE_LEVEL],
                       rep_get16(p + NF2_STATE_FREE), rep_get16(p + NF2_STATE_WINDOW), rep_get32(p + NF2_STATE_ID_LIMIT));
    } else {
        (void)snprintf(text, size, "%s, %u bytes", record->type == NF2_ROOT_GROUP ? "GROUP" : "unknown record", record->length);
    }
}

static void node_line(const struct rep_record *record, char *text, size_t size)
{
    const uint8_t *p = record->payload;
    uint32_t skip = record->type == NF2_NODE_PUTK ? 2 : record->type == NF2_NODE_REN ? 6 : 0;
    char what[48] = "PUT";

    if (record->type == NF2_NODE_HEAD && record->length >= NF2_NODE_HEAD_BYTES) {
        (void)snprintf(text, size, "HEAD, level %u, block %u, volume %08X", p[1], rep_get24(p + 2), rep_get32(p + 5));
    } else if (record->type == NF2_NODE_DEL && record->length >= 2) {
        (void)snprintf(text, size, "DEL of the record at %u", rep_get16(p));
    } else if (record->type == NF2_FRAME && record->length >= 2) {
        (void)snprintf(text, size, "frame at %u, %u bytes", rep_get16(p), record->length - 2u);
    } else if (record->type < NF2_NODE_PUT || record->type > NF2_NODE_REN || record->length < skip) {
        (void)snprintf(text, size, "unknown record, %u bytes", record->length);
    } else {
        if (record->type == NF2_NODE_PUTK) {
            (void)snprintf(what, sizeof what, "PUT over %u", rep_get16(p));
        } else if (record->type == NF2_NODE_REN) {
            (void)snprintf(what, sizeof what, "REN of %u, body of %u, over %u", rep_get16(p + 2), rep_get16(p), rep_get16(p + 4));
        }
        key_line(p + skip, record->length - skip, what, text, size);
    }
}

static void dump_record(const struct dump *dump, uint32_t block, const struct rep_record *record, char letter)
{
    char text[200];

    if (block < dump->repair->image.supers) {
        (void)snprintf(text, sizeof text, "ANCHOR, %u bytes", record->length);
        if (record->length >= NF2_ANCHOR_BYTES) {
            (void)snprintf(text, sizeof text, "ANCHOR %u, volume %08X, root log in block %u", rep_get32(record->payload + NF2_ANCHOR_SEQUENCE),
                           rep_get32(record->payload + NF2_ANCHOR_VOLUME), rep_get32(record->payload + NF2_ANCHOR_HEAD));
        }
    } else if (letter == 'R') {
        root_line(record, text, sizeof text);
    } else {
        node_line(record, text, sizeof text);
    }
    dump->line(dump->context, record->at, record->length + NF2_RECORD_OVERHEAD, text);
}

void repair_dump(const struct repair *constant, uint32_t block,
                 void (*line)(void *context, uint32_t offset, uint32_t length, const char *text), void *context)
{
    struct dump dump = {(struct repair *)(uintptr_t)constant, line, context};   /* memory is taken, nothing else changes */
    struct rep_log log;
    char letter = 'N';

    if (block >= constant->image.blocks || constant->use[block] == REPAIR_USE_DATA) {
        return;
    }
    rep_log_read(&dump.repair->image, block, 0, 0, true, &log);
    for (size_t i = 0; i < log.count; i++) {
        letter = i == 0 && log.record[i].type == 1 && log.record[i].length > 0 ? (char)log.record[i].payload[0] : letter;
        dump_record(&dump, block, &log.record[i], letter);
    }
    rep_log_free(&log);
}
