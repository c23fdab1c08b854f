/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.c - a committed change of several leaves that may not be applied yet: FORMAT.md, section
 * 3.4. It is applied to the entries in memory, as the next mount will apply it; once more does no
 * harm.
 */
#include "inside.h"

static void put(struct repair *r, const struct rep_entry *entry)
{
    size_t at = rep_entry_at(r, &entry->key);

    if (!rep_entry_there(r, &entry->key)) {
        REP_ADD(r, &r->entries, *entry);
        memmove(&r->entries.list[at + 1], &r->entries.list[at],
                (r->entries.count - 1 - at) * sizeof *entry);
    }
    r->entries.list[at] = *entry;
}

/*
 * Removes a key, or those of its id and of 4 bytes from it on, below `end`; all from it on, whatever
 * their length is, where that is above all offsets.
 */
static void remove_keys(struct repair *r, const struct rep_key *from, bool range, uint32_t end)
{
    size_t kept = rep_entry_at(r, from);

    for (size_t i = kept; i < r->entries.count; i++) {
        const struct rep_key *key = &r->entries.list[i].key;
        bool goes = range ? key->id == from->id &&
                            (end > NF2_FILE_MAX || (key->length == 4 && rep_key_value(key) < end)) :
                            rep_key_compare(key, from) == 0;
        if (!goes) {
            r->entries.list[kept++] = r->entries.list[i];
        }
    }
    r->entries.count = kept;
}

/* One operation: the bytes that it takes, 0 if it is none. */
static uint32_t apply(struct repair *r, const uint8_t *p, uint32_t room)
{
    struct rep_entry entry = {.at = (uint16_t)r->state.group_at, .block = r->state.head,
                              .trust = r->summary.log_read ? REPAIR_WHOLE : REPAIR_UNSURE};
    uint32_t length = room > 3 ? rep_get16(p + 1) : 0,
             used = room > 3 ? rep_key_load(p + 3, room - 3, &entry.key) : 0;
    bool range = p[0] == NF2_GROUP_RANGE;

    if (used == 0 || length > room - 3 - used || p[0] > NF2_GROUP_RANGE ||
        (range && (length < 4 || entry.key.length != 4))) {
        return 0;
    }
    entry.body = p + 3 + used;
    entry.body_length = (uint16_t)length;
    if (p[0] == NF2_GROUP_PUT) {
        put(r, &entry);
    } else {
        remove_keys(r, &entry.key, range, range ? rep_get32(entry.body) : 0);
    }
    return 3 + used + length;
}

static bool find_group(struct repair *r, struct rep_record *record)
{
    uint32_t block = r->state.head, at = r->state.group_at, page = at & ~(NF2_LOG_PAGE - 1);

    return at == r->state.last_group &&
           rep_record_at(r, block, at, rep_page_epoch(r, block, page), record) == REP_RECORD;
}

void rep_group_apply(struct repair *r)
{
    struct rep_record record;
    uint32_t block = r->state.head, at = r->state.group_at;

    if (at == 0) {
        return;
    }
    bool found = find_group(r, &record);
    if (found) {
        for (uint32_t done = 0, used; done < record.length && found; done += used) {
            used = apply(r, record.payload + done, record.length - done);
            found = used != 0;
        }
        rep_find(r, REPAIR_PENDING, block, at, 0, 0,
                 "A committed change of several leaves may not be applied yet: it is shown "
                 "applied, the next mount applies it.");
    }
    if (!found || r->state.odd_group) {
        rep_find(r, REPAIR_GROUP, block, at, 0, 0,
                 "A committed change of several leaves cannot be read.");
        r->summary.names_lost = true;
    }
}
