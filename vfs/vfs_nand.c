/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_nand.c - the spare bytes of the NAND chip under the next file system. */
#include "vfs.h"

static const struct vfs_nand *present;

void vfs_set_nand(const struct vfs_nand *nand)
{
    present = nand;
}

const struct vfs_nand *vfs_nand(void)
{
    return present;
}
