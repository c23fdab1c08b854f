/* SPDX-License-Identifier: BSD-2-Clause */
#include "stretch.h"

/* What a look at a leaf keeps in mind besides. */
struct look {
    struct nf2_stretch *stretch;
    uint32_t id;
    uint32_t under;             /* the highest entry at or below `from` that was given up for a nearer one, plus 1; 0: none */
    uint32_t over;              /* the lowest one above that there was no room for; NF2_NONE: none */
    uint16_t beyond;            /* place of an entry behind the map; 0: none seen */
    struct nf2_path path;       /* to the leaf that `from` lies in; its depth is 0: not known */
};

/* A record that is killed is no entry any more. */
static void forget(struct look *look, uint32_t place)
{
    struct nf2_stretch *stretch = look->stretch;

    if (place == 0) {
        return;
    }
    if (look->beyond == place) {
        look->beyond = 0;
    }
    if (stretch->first == 0 && stretch->noted[0].place == place) {
        stretch->first = 1;
    }
    for (unsigned i = 1; i < stretch->count; i++) {
        if (stretch->noted[i].place == place) {
            stretch->count--;
            memmove(&stretch->noted[i], &stretch->noted[i + 1u], (stretch->count - i) * sizeof stretch->noted[0]);
        }
    }
}

static void note_below(struct look *look, const struct nf2_noted *noted)
{
    struct nf2_stretch *stretch = look->stretch;
    uint32_t number = noted->item.number;
    bool nearer = stretch->first == 1 || number >= stretch->noted[0].item.number;

    if (stretch->first == 0) {
        look->under = nf2_max(look->under, nf2_min(number, stretch->noted[0].item.number) + 1u);
    }
    if (nearer) {
        stretch->noted[0] = *noted;
        stretch->first = 0;
    }
}

static void note_above(struct look *look, const struct nf2_noted *noted)
{
    struct nf2_stretch *stretch = look->stretch;
    unsigned at = stretch->count;

    while (at > 1 && stretch->noted[at - 1u].item.number > noted->item.number) {
        at--;
    }
    if (at == stretch->room) {
        look->over = nf2_min(look->over, noted->item.number);
        return;
    }
    if (stretch->count == stretch->room) {
        stretch->count--;
        look->over = nf2_min(look->over, stretch->noted[stretch->count].item.number);
    }
    memmove(&stretch->noted[at + 1u], &stretch->noted[at], (stretch->count - at) * sizeof *noted);
    stretch->noted[at] = *noted;
    stretch->count++;
}

static int note(nf2_t *fs, struct look *look, const struct nf2_entry *entry)
{
    struct nf2_noted noted;

    forget(look, entry->kill);
    forget(look, entry->victim);
    if (!nf2_node_has_key(entry->type) || entry->id < look->id) {
        return NF2_OK;
    }
    if (entry->id == look->id) {
        NF2_TRY(nf2_index_item(fs, entry, &noted.item));
    }
    if (entry->id > look->id || noted.item.kind == NF2_BODY_OWN) { /* OWN entries come behind the map */
        look->beyond = entry->offset;
        return NF2_OK;
    }
    noted.place = entry->offset;
    if (noted.item.number <= look->stretch->from) {
        note_below(look, &noted);
    } else {
        note_above(look, &noted);
    }
    return NF2_OK;
}

/* One pass over the leaf: 1 if it has shown what there is, 0 if an entry that was noted is killed and others were given up for it, or an error. */
static NF2_APART int look_through(nf2_t *fs, uint32_t leaf, bool live, struct look *look)
{
    struct nf2_stretch *stretch = look->stretch;
    struct nf2_pass pass;
    struct nf2_entry entry;
    int found;

    stretch->first = stretch->count = 1;
    stretch->noted[0].item = nf2_piece_at(0, NF2_NO_BLOCK, 0, 0); /* below all */
    look->under = 0;
    look->over = NF2_NONE;
    look->beyond = 0;
    NF2_TRY(nf2_pass_begin(fs, leaf, live, &pass));
    while ((found = nf2_pass_next(fs, &pass, &entry)) > 0) {
        int result = note(fs, look, &entry);
        if (result < 0) {
            return nf2_pass_failed(fs, &pass, result);
        }
    }
    NF2_TRY(found);
    while (stretch->count > 1 && stretch->noted[stretch->count - 1u].item.number >= look->over) {
        stretch->count--;
    }
    stretch->end = look->over == NF2_NONE && look->beyond != 0;
    bool below = look->under == 0 || (stretch->first == 0 && stretch->noted[0].item.number + 1u >= look->under);
    return live || (below && (stretch->count > 1 || look->over == NF2_NONE));
}

static int look_at_leaf(nf2_t *fs, uint32_t leaf, struct look *look)
{
    int whole = look_through(fs, leaf, false, look);

    NF2_TRY(whole == 0 ? look_through(fs, leaf, true, look) : whole);
    return NF2_OK;
}

uint16_t nf2_stretch_leaf(const struct nf2_stretch *stretch, uint32_t at)
{
    bool inside = stretch->count == 0 ? at == stretch->from : (at >= stretch->from && at <= stretch->noted[stretch->count - 1u].item.number);

    return inside ? stretch->leaf : 0;
}

static int find_way(nf2_t *fs, struct look *look)
{
    struct nf2_key key = nf2_number_key(look->id, NF2_INDEX_MAP, look->stretch->from);

    return look->path.depth == 0 ? nf2_tree_descend(fs, &key, &look->path) : NF2_OK;
}

/* What lies at or below `from` in the leaves in front. */
static NF2_APART int look_below(nf2_t *fs, struct look *look)
{
    struct nf2_key key = nf2_number_key(look->id, NF2_INDEX_MAP, look->stretch->from);
    struct nf2_noted *noted = look->stretch->noted;
    struct nf2_path *path = &look->path;
    struct nf2_entry entry;
    int found = 0, moved;

    NF2_TRY(find_way(fs, look));
    do {
        moved = nf2_tree_neighbour(fs, path, NF2_BELOW);
        found = moved > 0 ? nf2_node_seek(fs, path->node[path->depth - 1], &key, NF2_AT_OR_BELOW, &entry) : moved;
    } while (found == 0 && moved > 0);
    path->depth = 0;
    if (found <= 0 || entry.id != look->id) {
        return found < 0 ? found : NF2_OK;
    }
    NF2_TRY(nf2_index_item(fs, &entry, &noted[0].item));
    look->stretch->first = noted[0].item.kind == NF2_BODY_OWN;
    return NF2_OK;
}

/* What lies above it in the next leaf that has any of the map. */
static NF2_APART int look_above(nf2_t *fs, struct look *look)
{
    struct nf2_stretch *stretch = look->stretch;
    struct nf2_noted below = stretch->noted[0];
    uint8_t first = stretch->first;

    NF2_TRY(find_way(fs, look));
    while (stretch->count == 1 && !stretch->end) {
        int moved = nf2_tree_neighbour(fs, &look->path, NF2_ABOVE);
        NF2_TRY(moved);
        stretch->end = !moved;
        NF2_TRY(moved ? look_at_leaf(fs, look->path.node[look->path.depth - 1], look) : NF2_OK);
    }
    stretch->noted[0] = below;
    stretch->first = first;
    stretch->leaf = 0;
    return NF2_OK;
}

int nf2_stretch_look(nf2_t *fs, uint32_t id, uint32_t from, struct nf2_stretch *stretch)
{
    struct look look = {.stretch = stretch, .id = id};

    stretch->leaf = nf2_stretch_leaf(stretch, from);
    stretch->from = from;
    if (stretch->leaf == 0) {
        NF2_TRY(find_way(fs, &look));
        stretch->leaf = look.path.node[look.path.depth - 1];
    }
    NF2_TRY(look_at_leaf(fs, stretch->leaf, &look));
    NF2_TRY(stretch->first == 1 && from > 0 ? look_below(fs, &look) : NF2_OK);
    return stretch->count == 1 && !stretch->end ? look_above(fs, &look) : NF2_OK;
}

bool nf2_stretch_at(const struct nf2_stretch *stretch, uint32_t at, const struct nf2_item **item, uint32_t *next)
{
    unsigned behind = 1;

    if (stretch->count == 0 || at < stretch->from) {
        return false;
    }
    while (behind < stretch->count && stretch->noted[behind].item.number <= at) {
        behind++;
    }
    *item = behind > 1 || stretch->first == 0 ? &stretch->noted[behind - 1u].item : NULL;
    *next = behind < stretch->count ? stretch->noted[behind].item.number : NF2_NONE;
    return behind < stretch->count || stretch->end || (*item != NULL && (*item)->kind == NF2_BODY_PIECE && at < nf2_piece_end(*item));
}
