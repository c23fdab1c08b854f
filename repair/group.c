/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.c - a committed change of several leaves that may not be applied yet: FORMAT.md, section
 * 3.4. It is applied to the entries in memory, as the next mount will apply it; once more does no
 * harm.
 */
#include "inside.h"

static void put(struct repair *repair, const struct rep_key *key, const uint8_t *body,
                uint32_t length)
{
    const struct rep_state *state = &repair->state;
    const struct rep_entry fresh = {*key,
                                    body,
                                    (uint16_t)length,
                                    (uint16_t)state->group_at,
                                    state->group_block,
                                    repair->summary.log_read ? REPAIR_WHOLE : REPAIR_UNSURE};
    size_t at = rep_entry_at(repair, key);

    if (rep_entry_find(repair, key) == NULL) {
        rep_entries_add(repair, &fresh);
        memmove(&repair->entry[at + 1], &repair->entry[at],
                (repair->entries - 1 - at) * sizeof fresh);
    }
    repair->entry[at] = fresh;
}

/* Removes the keys of this id and of 4 bytes from `from` on, below `end`, or `from` alone. */
static void remove_range(struct repair *repair, const struct rep_key *from, uint32_t end,
                         bool alone)
{
    size_t kept = rep_entry_at(repair, from);

    for (size_t i = kept; i < repair->entries; i++) {
        const struct rep_key *key = &repair->entry[i].key;
        bool inside = key->id == from->id && key->length == 4 && rep_key_value(key) < end;
        if (alone ? rep_key_compare(key, from) != 0 : !inside) {
            repair->entry[kept++] = repair->entry[i];
        }
    }
    repair->entries = kept;
}

/* ---- the operations -------------------------------------------------------------------------- */

/* One operation: the bytes that it takes, 0 if it is none. */
static uint32_t apply(struct repair *repair, const uint8_t *p, uint32_t room)
{
    struct rep_key key;
    uint32_t body = room > 3 ? rep_get16(p + 1) : 0;
    uint32_t used = room > 3 ? rep_key_load(p + 3, room - 3, &key) : 0;

    if (used == 0 || body > room - 3 - used || p[0] > NF2_GROUP_RANGE) {
        return 0;
    }
    const uint8_t *at = p + 3 + used;
    if (p[0] == NF2_GROUP_RANGE && (body < 4 || key.length != 4)) {
        return 0;
    }
    if (p[0] == NF2_GROUP_PUT) {
        put(repair, &key, at, body);
    } else if (p[0] == NF2_GROUP_RANGE) {
        remove_range(repair, &key, rep_get32(at), false);
    } else {
        remove_range(repair, &key, 0, true);
    }
    return 3 + used + body;
}

void rep_group_apply(struct repair *repair)
{
    const struct rep_state *state = &repair->state;
    struct rep_record record;

    if (!state->found || state->group_block == REP_NO_BLOCK || state->clean) {
        return;
    }
    uint32_t page = state->group_at & ~(repair->image.page_size - 1);
    bool inside = state->group_block < repair->image.blocks &&
                  state->group_at < repair->image.log_bytes &&
                  state->group_at >= page + NF2_PAGE_HEAD;
    bool mended;
    uint16_t epoch = inside ? rep_page_epoch(&repair->image, state->group_block, page, &mended) : 0;
    bool found = inside &&
                 rep_record_at(&repair->image, state->group_block, state->group_at, epoch,
                               &record) == REP_RECORD &&
                 record.type == NF2_ROOT_GROUP;
    if (found) {
        repair->summary.pending = true;
        for (uint32_t at = 0, used; at < record.length && found; at += used) {
            used = apply(repair, record.payload + at, record.length - at);
            found = used != 0;
        }
        rep_find(repair, REPAIR_PENDING, state->group_block, state->group_at, 0, 0,
                 "A committed change of several leaves may not be applied yet: it is shown "
                 "applied, the next mount applies it.");
    }
    if (!found) {
        rep_find(repair, REPAIR_GROUP, state->group_block, state->group_at, 0, 0,
                 "A committed change of several leaves cannot be read.");
        rep_note(repair, REPAIR_NOTE_BATCH, state->group_block, 1, NULL, NULL);
        repair->lossy = true;
    }
}
