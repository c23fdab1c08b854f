/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_yaffs2.h - YAFFS2, unmodified, behind the benchmark's interface. Linked into executables of its own: its sources are GPL-2. */
#ifndef VFS_YAFFS2_H
#define VFS_YAFFS2_H

#include "vfs.h"

extern const struct vfs_entry vfs_yaffs2_entry;
extern const struct vfs_entry vfs_yaffs1_entry;

#endif
