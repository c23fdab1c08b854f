/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host_format.c - what the host library asks of the inside of the core, and of the checker of its
 * format: see host.h and image.h.
 */
#include <string.h>

#include "image.h"
#include "repair.h"
#include "inspect/inspect.h"

int nf2h_left_cleanly(nf2h_image *image)
{
    return !image->fs.cut;
}

/* The checker tells more kinds apart than nf2_check; remarks are none. */
static const enum nf2_finding_kind kinds[REPAIR_KINDS] = {
    [REPAIR_ANCHOR] = NF2_FOUND_SUPER,   [REPAIR_LOG] = NF2_FOUND_META,
    [REPAIR_GROUP] = NF2_FOUND_BATCH,    [REPAIR_NODE] = NF2_FOUND_NODE,
    [REPAIR_RECORD] = NF2_FOUND_NODE,    [REPAIR_BASE] = NF2_FOUND_NODE,
    [REPAIR_REFERENCE] = NF2_FOUND_NODE, [REPAIR_CHILD] = NF2_FOUND_TREE,
    [REPAIR_BOUNDS] = NF2_FOUND_RANGE,   [REPAIR_TWICE] = NF2_FOUND_TWICE,
    [REPAIR_ENTRY] = NF2_FOUND_ENTRY,    [REPAIR_NAME] = NF2_FOUND_NAME,
    [REPAIR_PIECE] = NF2_FOUND_OUTSIDE,  [REPAIR_HOLE] = NF2_FOUND_SIZE,
    [REPAIR_FRAMES] = NF2_FOUND_DATA,    [REPAIR_ID] = NF2_FOUND_ID,
    [REPAIR_SHARED] = NF2_FOUND_SHARED,  [REPAIR_UNNAMED] = NF2_FOUND_LOST,
    [REPAIR_REMOVED] = NF2_FOUND_REMOVED, [REPAIR_CYCLE] = NF2_FOUND_CYCLE,
    [REPAIR_OVERLAP] = NF2_FOUND_OWNERS, [REPAIR_FREE] = NF2_FOUND_FREE,
    [REPAIR_ERASED] = NF2_FOUND_ERASED,
    [REPAIR_RECORDS] = NF2_FOUND_NODE,   [REPAIR_OLDER] = NF2_FOUND_TREE,
};

enum nf2_finding_kind nf2h_kind_of(const struct repair_finding *finding)
{
    return kinds[finding->kind];
}

struct repair *nf2h_look(nf2h_image *image)
{
    const struct vflash_chip *chip = &image->chip;
    uint32_t offset = image->config.offset, size = image->config.size;
    if (!image->flash || offset > chip->size || size > chip->size - offset)
        return NULL;
    const struct repair_geometry geometry = {size > 0 ? size : chip->size - offset,
                                             chip->block_size, chip->program_unit};
    return repair_open(vflash_memory(image->flash) + offset, &geometry);
}

/*
 * nf2_check reads entries and what they refer to. The checker compares all structures with each
 * other.
 */
int nf2h_check_contents(nf2h_image *image, int result)
{
    struct repair *repair = result == NF2_ERR_INVAL ? NULL : nf2h_look(image);
    if (!repair)
        return result;
    if (repair_wrong(repair) > 0) {
        result = (int)repair_wrong(repair);
        nf2h_forget_findings(image);
    }
    for (unsigned i = 0; i < repair_findings(repair); i++) {
        const struct repair_finding *found = repair_finding(repair, i);
        const struct nf2_finding facts = {.block = found->block,
                                          .id = found->id,
                                          .number = found->number};
        if (repair_kind_wrong(found->kind))
            nf2h_keep_finding(image, &facts, nf2h_kind_of(found), found->text);
    }
    repair_close(repair);
    return result;
}

/* What a block is for stands in the tree, and so does its wear: where a part of that is damaged, the
   checker tells as much as is left. Erases are then those of all blocks, on average. */
int nf2h_blocks_seen(nf2h_image *image, uint8_t *states, uint32_t *erases, uint32_t count,
                     int error)
{
    struct repair *repair = error == NF2_ERR_INVAL ? NULL : nf2h_look(image);
    if (!repair)
        return error;
    uint32_t size = image->chip.block_size;
    const uint8_t *bytes = vflash_memory(image->flash) + image->config.offset;
    for (uint32_t block = 0; block < count; block++, bytes += size) {
        enum repair_use use = repair_block_use(repair, block);
        bool erased = bytes[0] == 0xFF && memcmp(bytes, bytes + 1, size - 1) == 0;
        bool is_free = use == REPAIR_USE_NONE || use == REPAIR_USE_CLAIMED;
        states[block] = use == REPAIR_USE_BAD ? NF2_BLOCK_BAD
                        : !is_free            ? NF2_BLOCK_USED
                        : erased              ? NF2_BLOCK_ERASED
                                              : NF2_BLOCK_DIRTY;
        erases[block] = repair_summary(repair)->erases / count;
    }
    repair_close(repair);
    return NF2_OK;
}
