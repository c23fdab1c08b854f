/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host_format2.c - what the host library asks of the inside of the second core, and of the checker
 * of its format: see host.h and image.h.
 */
#include "image.h"
#include "repair.h"

int nf2h_left_cleanly(nf2h_image *image)
{
    return !image->fs.io.cut;
}

/* The checker tells more kinds apart than nf2_check; remarks are none. */
static const enum nf2_finding_kind kinds[REPAIR_UNFINISHED] = {
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
    [REPAIR_ERASED] = NF2_FOUND_ERASED,  [REPAIR_COUNT] = NF2_FOUND_COUNT,
};

/*
 * nf2_check reads entries and what they refer to. The checker compares all structures of the bytes
 * on the chip with each other, as they are at this moment.
 */
int nf2h_check_contents(nf2h_image *image, int result)
{
    const struct vflash_chip *chip = &image->chip;
    if (!image->flash || result == NF2_ERR_INVAL)
        return result;
    uint32_t size = image->config.size > 0 ? image->config.size : chip->size;
    const struct repair_geometry geometry = {size, chip->block_size, chip->page_size,
                                             chip->program_unit};
    struct repair *repair = repair_open(vflash_memory(image->flash) + image->config.offset,
                                        &geometry);
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
            nf2h_keep_finding(image, &facts, kinds[found->kind], found->text);
    }
    repair_close(repair);
    return result;
}
