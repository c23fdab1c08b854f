/* SPDX-License-Identifier: BSD-2-Clause */
/* peers_gpl.c - the list of peers for executables of their own: their sources are GPL-2. */
#include "peers.h"

#include "yaffs2/vfs_yaffs2.h"

static const struct vfs_entry *const peers[] = {&vfs_yaffs2_entry, &vfs_yaffs1_entry, NULL};

const struct vfs_entry *peers_at(unsigned index)
{
    return index < sizeof(peers) / sizeof(peers[0]) ? peers[index] : NULL;
}
