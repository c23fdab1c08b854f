/* SPDX-License-Identifier: BSD-2-Clause */
#include "listing.h"

#include "flash.h"

#define DIGEST 3u               /* bytes of a name by which most names are told apart */
#define SKIP_MAX 24u            /* bytes that all names may have in common in front of the digest */
#define NAME_ROOM 32u           /* bytes kept for the last name listed, at least */
#define OFFSET_BITS 13u         /* of a record in a log; above it its bytes of references, halved */

/*
 * The smallest names above the last one listed, in order: their digests in the write buffer (nothing is being
 * programmed), their offsets in the handle.
 */
struct gather {
    uint32_t id, node, count, limit;
    uint8_t *digests, *places;
    uint32_t skip;              /* bytes that all of the names have in common; the digests are what follows */
    uint8_t common[SKIP_MAX + DIGEST];
};

/* Less is in common from now on: digests begin further in front. */
static void set_skip(struct gather *gather, uint32_t skip)
{
    uint32_t more = nf2_min(gather->skip - skip, DIGEST);

    for (uint32_t i = 0; i < gather->count && more > 0; i++) {
        uint8_t *digest = gather->digests + i * DIGEST;
        memmove(digest + more, digest, DIGEST - more);
        memcpy(digest, gather->common + skip, more);
    }
    gather->skip = skip;
}

/* The key whose place is the `i`-th, as far as it is known without a look at the chip: all but its length. */
static struct nf2_key key_at(const struct gather *gather, uint32_t i)
{
    uint32_t place = nf2_get16(gather->places + 2 * i), references = place >> OFFSET_BITS << 1, id = gather->id;
    struct nf2_key key = {gather->id, {NULL}, (uint16_t)(place & ((1u << OFFSET_BITS) - 1)), 0, 0};

    key.at.block = gather->node;
    key.position = (uint8_t)(2u + references + 2u);
    for (; id >= 0x80; id >>= 7) {
        key.position++;
    }
    return key;
}

/* Order of a name and the `i`-th one. */
static int compare(nf2_t *fs, const struct gather *gather, const uint8_t *digest, const struct nf2_key *own, uint32_t i, int *order)
{
    *order = memcmp(digest, gather->digests + i * DIGEST, DIGEST);
    if (*order != 0) {
        return NF2_OK;
    }
    struct nf2_key other = key_at(gather, i);
    uint32_t room, place = nf2_record_place(fs, other.offset, other.position - 1u, &room);
    NF2_TRY(nf2_flash_read(fs, other.at.block, place, &other.length, 1));
    return nf2_key_compare(fs, own, &other, order);
}

/* Puts an entry where it belongs, if it is among the smallest. */
static NF2_APART int insert(nf2_t *fs, struct gather *gather, const struct nf2_entry *entry)
{
    struct nf2_key own = nf2_entry_key(entry);
    uint8_t name[SKIP_MAX + DIGEST] = {0};
    uint32_t low = 0, high = gather->count, skip = 0;
    int order;

    NF2_TRY(nf2_key_bytes(fs, &own, 0, name, nf2_min(own.length, sizeof name)));
    if (gather->count == 0) {
        memcpy(gather->common, name, sizeof name);
    }
    while (skip < gather->skip && name[skip] == gather->common[skip]) {
        skip++;
    }
    set_skip(gather, skip);
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        NF2_TRY(compare(fs, gather, name + skip, &own, middle, &order));
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low < gather->limit) {
        uint32_t behind = nf2_min(gather->count, gather->limit - 1) - low;
        uint8_t *digests = gather->digests + low * DIGEST, *places = gather->places + low * 2;
        memmove(digests + DIGEST, digests, behind * DIGEST);
        memmove(places + 2, places, behind * 2);
        memcpy(digests, name + skip, DIGEST);
        nf2_put16(places, entry->offset | nf2_node_references(entry->type) / 2u << OFFSET_BITS);
        gather->count = nf2_min(gather->count + 1, gather->limit);
    }
    return NF2_OK;
}

/* One pass over a leaf. `beyond`: it has entries of further directories. */
static int gather_leaf(nf2_t *fs, nf2_dir_t *dir, uint32_t leaf, bool *beyond)
{
    struct nf2_key last = nf2_key_of(dir->id, dir->last, dir->length);
    uint32_t room = sizeof dir->last - nf2_max(dir->length, NAME_ROOM);
    struct gather gather = {.id = dir->id, .node = leaf};
    uint8_t killed[NF2_KILL_BYTES];
    struct nf2_live live;
    struct nf2_entry entry;
    int found, order;

    gather.limit = nf2_min(nf2_page(fs) / DIGEST, room / 2);
    gather.digests = fs->write_buffer;
    gather.places = dir->last + sizeof dir->last - gather.limit * 2;
    NF2_TRY(nf2_live_glance(fs, leaf, killed, &live));
    do {
        *beyond = false;
        gather.count = 0;
        gather.skip = SKIP_MAX;
        while ((found = nf2_live_next(fs, &live, &entry)) > 0) {
            struct nf2_key own = nf2_entry_key(&entry);
            NF2_TRY(nf2_key_compare(fs, &own, &last, &order));
            *beyond = *beyond || own.id > dir->id;
            if (own.id == dir->id && order > 0) {
                NF2_TRY(insert(fs, &gather, &entry));
            }
        }
        NF2_TRY(found);
    } while (!nf2_live_whole(fs, &live));
    dir->next = (uint16_t)(gather.places - dir->last);
    dir->batch = (uint8_t)gather.count;
    dir->whole = gather.count < gather.limit;
    return NF2_OK;
}

/* Gathers the names behind the last one listed; none: the listing is at its end. */
static int fill(nf2_t *fs, nf2_dir_t *dir)
{
    struct nf2_key last = nf2_key_of(dir->id, dir->last, dir->length);
    struct nf2_path path;
    bool beyond = false;
    int moved = 1;

    dir->batch = 0;
    NF2_TRY(nf2_tree_descend(fs, &last, &path));
    bool done = dir->whole && dir->programs == fs->programs && dir->node == path.node[path.depth - 1];
    while (moved > 0 && dir->batch == 0 && !beyond) {
        if (!done) {
            NF2_TRY(gather_leaf(fs, dir, path.node[path.depth - 1], &beyond));
        }
        dir->node = path.node[path.depth - 1];
        done = false;
        moved = dir->batch == 0 && !beyond ? nf2_tree_neighbour(fs, &path, NF2_ABOVE) : 0;
    }
    dir->programs = fs->programs;
    return moved;
}

int nf2_listing_next(nf2_t *fs, nf2_dir_t *dir, struct nf2_entry *entry)
{
    if (dir->batch == 0 || dir->programs != fs->programs) {
        NF2_TRY(fill(fs, dir));
    }
    if (dir->batch == 0) {
        return 0;
    }
    NF2_TRY(nf2_entry_at(fs, dir->node, nf2_get16(dir->last + dir->next) & ((1u << OFFSET_BITS) - 1), entry));
    return entry->id == dir->id ? 1 : NF2_ERR_IO;
}

int nf2_listing_take(nf2_t *fs, nf2_dir_t *dir, const struct nf2_key *name, const struct nf2_entry *entry)
{
    if (entry != NULL) {
        dir->next = (uint16_t)(dir->next + 2u);
        dir->batch--;
    }
    if (name->length > dir->next) { /* a long name takes the room of the others: they are looked for again */
        dir->batch = 0;
        dir->whole = false;
    }
    dir->length = name->length;
    return nf2_key_bytes(fs, name, 0, dir->last, name->length);
}
