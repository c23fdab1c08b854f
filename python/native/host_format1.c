/* SPDX-License-Identifier: BSD-2-Clause */
/* host_format1.c - what the host library asks of the inside of the first core: see host.h and image.h. */
#include "image.h"

int nf2h_left_cleanly(nf2h_image *image)
{
    return image->fs.clean;
}

int nf2h_check_contents(nf2h_image *image, int result)
{
    (void)image; /* nf2_check of this core looks at everything */
    return result;
}

int nf2h_blocks_seen(nf2h_image *image, uint8_t *states, uint32_t *erases, uint32_t count,
                     int error)
{
    (void)image, (void)states, (void)erases, (void)count;
    return error;
}
