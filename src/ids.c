/* SPDX-License-Identifier: BSD-2-Clause */
#include "ids.h"

#include "meta.h"
#include "space.h"

int nf2_id_new(nf2_t *fs, uint32_t *id)
{
    if (fs->next_id >= fs->id_limit) {
        NF2_TRY(nf2_space_flush(fs));
    }
    *id = fs->next_id++;
    return NF2_OK;
}

int nf2_id_orphan(nf2_t *fs, uint32_t id)
{
    struct nf2_small orphan = {NF2_META_ORPHAN, 4, {0}};

    if (fs->logged_orphans >= NF2_ORPHANS_MAX) {
        NF2_TRY(nf2_space_flush(fs)); /* a reader of the log could not list one more */
    }
    nf2_put32(orphan.payload, id);
    NF2_TRY(NF2_BROKEN(NF2_FAULT_ORPHAN) ? NF2_OK : nf2_meta_append(fs, &orphan));
    nf2_id_orphan_add(fs, id); /* not before: if the log turns, its STATE would list it, too, and a reader have it twice */
    return NF2_OK;
}

void nf2_id_orphan_add(nf2_t *fs, uint32_t id)
{
    NF2_ASSERT(fs->orphan_count < NF2_ORPHANS_MAX);
    fs->orphan[fs->orphan_count++] = id;
    fs->logged_orphans++;
}

void nf2_id_adopt(nf2_t *fs, uint32_t id)
{
    for (unsigned i = 0; i < fs->orphan_count; i++) {
        if (fs->orphan[i] == id) {
            fs->orphan[i] = fs->orphan[--fs->orphan_count];
            return;
        }
    }
}
