/* SPDX-License-Identifier: BSD-2-Clause */
/* core_traits.c - see core_traits.h; for the first core. */
#include "core_traits.h"

#include <string.h>

#include <stdio.h>

#include "src/node.h"
#include "src/space.h"
#include "src/turn.h"

bool core_broken(const nf2_t *fs)
{
    return fs->broken;
}

bool core_change_waits(const nf2_t *fs)
{
    return fs->redo_block != NF2_NO_BLOCK;
}

bool core_emptying(const nf2_t *fs)
{
    for (unsigned i = 0; i < NF2_CLEAN_GROUPS; i++) {
        if (fs->group[i].state == NF2_GROUP_VICTIM || fs->group[i].state == NF2_GROUP_EMPTIED) {
            return true;
        }
    }
    return false;
}

/*
 * What lies in a group that is being emptied goes elsewhere, once: nobody may put more into it. What the walk has passed would be
 * lost with it, but only where data comes to lie there in time, which chance meets rarely.
 */
bool core_inside_right(const nf2_t *fs, char *text, size_t size)
{
    uint32_t blocks = core_emptying(fs) ? fs->blocks : 0;

    for (uint32_t block = 0; block < blocks; block++) {
        if (nf2_turn_emptied(fs, block) && nf2_space_claimed(fs, block)) {
            snprintf(text, size, "block %lu is claimed, and its group is being emptied", (unsigned long)block);
            return false;
        }
    }
    for (const nf2_file_t *file = blocks ? fs->files : NULL; file; file = file->next) {
        if (file->id == fs->clean_id && file->frames_at != 0 && nf2_turn_emptied(fs, file->frames)) {
            snprintf(text, size, "frames go on in block %lu, and its group is being emptied", (unsigned long)file->frames);
            return false;
        }
    }
    return true;
}

int core_root_level(nf2_t *fs)
{
    return nf2_node_level(fs, fs->root);
}

uint32_t core_erases_owed(const nf2_t *fs)
{
    uint32_t owed = 0;

    for (unsigned s = 0; s < NF2_SLOTS; s++) { /* claimed blocks are counted, and erased when they are taken */
        const struct nf2_slot *slot = &fs->slot[s];
        owed += slot->runs > 0 ? slot->run[slot->runs - 1].count - slot->ready : 0;
    }
    return owed;
}

int core_name_order(const char *a, const char *b)
{
    return strcmp(a, b);
}
