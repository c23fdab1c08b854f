/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vfs_fatfs.h - FatFs R0.15 straight on NOR, a sector of 4,096 B in each block: every sector write erases
 * and programs its block. What many hobby boards do; not safe against power cuts, no wear levelling.
 */
#ifndef VFS_FATFS_H
#define VFS_FATFS_H

#include "vfs.h"

extern const struct vfs_entry vfs_fatfs_entry;

#endif
