/* SPDX-License-Identifier: BSD-2-Clause */
#include "following.h"

#define ORDER_BYTES (4u + NF2_NUMBER_LENGTH + 1u)   /* id, the key's first bytes, its length: in the order of keys, if those are all of it */

/* The smallest keys above a key, as far as they are seen. */
struct following {
    uint8_t order[NF2_FOLLOWING][ORDER_BYTES];
    uint8_t above[ORDER_BYTES];
    uint8_t bound[ORDER_BYTES]; /* some keys from here on are not listed */
    uint16_t *place;
    unsigned count;
};

static int order_bytes(nf2_t *fs, const struct nf2_key *key, uint8_t *order)
{
    memset(order, 0, ORDER_BYTES);
    for (unsigned i = 0; i < 4; i++) {
        order[i] = (uint8_t)(key->id >> (24 - 8 * i));
    }
    order[ORDER_BYTES - 1u] = key->length;
    return nf2_key_bytes(fs, key, 0, order + 4, nf2_min(key->length, NF2_NUMBER_LENGTH));
}

/* The list ends in front of this key. */
static void bound_by(struct following *list, const uint8_t *order)
{
    if (memcmp(order, list->bound, ORDER_BYTES) < 0) {
        memcpy(list->bound, order, ORDER_BYTES);
    }
    while (list->count > 0 && memcmp(list->order[list->count - 1u], list->bound, ORDER_BYTES) >= 0) {
        list->count--;
    }
}

static int follow_entry(nf2_t *fs, struct following *list, const struct nf2_entry *entry)
{
    struct nf2_key key = nf2_entry_key(entry);
    uint8_t order[ORDER_BYTES];

    NF2_TRY(order_bytes(fs, &key, order));
    if (memcmp(order, list->above, ORDER_BYTES) <= 0 || memcmp(order, list->bound, ORDER_BYTES) >= 0) {
        return NF2_OK;
    }
    for (unsigned i = 0; i < list->count; i++) {
        if (memcmp(order, list->order[i], ORDER_BYTES) == 0) { /* in a damaged node: the later one counts */
            list->place[i] = entry->offset;
            return NF2_OK;
        }
    }
    if (key.length > NF2_NUMBER_LENGTH || (list->count == NF2_FOLLOWING && memcmp(order, list->order[list->count - 1u], ORDER_BYTES) > 0)) {
        bound_by(list, order);
        return NF2_OK;
    }
    if (list->count == NF2_FOLLOWING) {
        uint8_t last[ORDER_BYTES];
        memcpy(last, list->order[list->count - 1u], ORDER_BYTES);
        bound_by(list, last);
    }
    unsigned at = list->count++;
    for (; at > 0 && memcmp(order, list->order[at - 1u], ORDER_BYTES) < 0; at--) {
        memcpy(list->order[at], list->order[at - 1u], ORDER_BYTES);
        list->place[at] = list->place[at - 1u];
    }
    memcpy(list->order[at], order, ORDER_BYTES);
    list->place[at] = entry->offset;
    return NF2_OK;
}

/* What a record removes is not listed any more; what was left out for it stays so. */
static void unfollow(struct following *list, uint16_t offset)
{
    for (unsigned i = 0; i < list->count && offset != 0; i++) {
        if (list->place[i] == offset) {
            list->count--;
            memmove(list->order[i], list->order[i + 1u], (list->count - i) * sizeof list->order[0]);
            memmove(list->place + i, list->place + i + 1u, (list->count - i) * sizeof list->place[0]);
        }
    }
}

int nf2_node_following(nf2_t *fs, uint32_t node, const struct nf2_key *key, uint16_t *place)
{
    struct following list = {.place = place};
    struct nf2_pass pass;
    struct nf2_entry entry;
    int found;

    if (key->length > NF2_NUMBER_LENGTH) {
        return 0;
    }
    memset(list.bound, 0xFF, sizeof list.bound);
    NF2_TRY(order_bytes(fs, key, list.above));
    NF2_TRY(nf2_pass_begin(fs, node, false, &pass));
    while ((found = nf2_pass_next(fs, &pass, &entry)) > 0) {
        unfollow(&list, entry.kill);
        unfollow(&list, entry.victim);
        int result = nf2_node_has_key(entry.type) ? follow_entry(fs, &list, &entry) : NF2_OK;
        if (result < 0) {
            return nf2_pass_failed(fs, &pass, result);
        }
    }
    return found < 0 ? found : (int)list.count;
}
