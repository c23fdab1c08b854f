/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * browser.c - what the pages for a browser need beside host.h: power cuts, and a list of what a call
 * did to the chip. Compiled to WebAssembly only (tools/wasm.sh), where images are in memory.
 */
#include <stdio.h>
#include <stdlib.h>

#include "image.h"
#include "state.h"

#define OPERATIONS_MAX 4096u

#pragma GCC visibility push(default)

static struct vflash_operation seen[OPERATIONS_MAX];
static unsigned seen_count;

/* ---- power cuts ------------------------------------------------------------------------------ */

static void watch(void *context, const struct vflash_operation *operation)
{
    (void)context;
    if (seen_count < OPERATIONS_MAX)
        seen[seen_count] = *operation;
    seen_count++;
}

/*
 * From now on operations of the chip are counted and kept, and the power fails in the `operation`th
 * (0: in none): of a program `bytes` bytes land, of an erase it leaves what `erase` says, as
 * enum vflash_erase_cut.
 */
void browser_cut_at(nf2h_image *image, unsigned operation, unsigned bytes, int erase, unsigned seed)
{
    const struct vflash_cut cut = {.operation = operation,
                                   .byte = bytes,
                                   .erase = (enum vflash_erase_cut)erase,
                                   .seed = seed};
    seen_count = 0;
    vflash_watch(image->flash, watch, NULL);
    vflash_cut_at(image->flash, operation > 0 ? &cut : NULL);
}

/* How many there were; some behind the first OPERATIONS_MAX are not kept. */
unsigned browser_operations(void)
{
    return seen_count;
}

/* out: is it an erase, address, length. 0 where it was not kept. */
int browser_operation(unsigned index, uint32_t out[3])
{
    if (index >= seen_count || index >= OPERATIONS_MAX)
        return 0;
    out[0] = seen[index].erase;
    out[1] = seen[index].address;
    out[2] = seen[index].length;
    return 1;
}

void browser_power_on(nf2h_image *image)
{
    vflash_power_on(image->flash);
}

int browser_is_off(nf2h_image *image)
{
    return image->flash->state.off;
}

/* Turns one bit of the chip over, as age or radiation does. */
void browser_flip(nf2h_image *image, uint32_t address, unsigned mask)
{
    if (address < image->chip.size)
        vflash_flip(image->flash, address, (uint8_t)mask);
}

/* How often the block of the chip was erased since the page made it. */
uint32_t browser_wear(nf2h_image *image, uint32_t block)
{
    return block < image->flash->blocks ? vflash_wear(image->flash, block) : 0;
}

#pragma GCC visibility pop

/* ---- in the place of vflash/image.c: a page has no files ----------------------------------------- */

struct vflash *vflash_open(const struct vflash_chip *chip, const char *path, bool read_only,
                           char *message, size_t message_size)
{
    (void)chip, (void)read_only;
    (void)snprintf(message, message_size, "%s: a page opens no files", path);
    return NULL;
}

int vflash_flush(struct vflash *chip)
{
    (void)chip;
    return 0;
}

void image_unmap(struct vflash *chip)
{
    (void)chip;
}
