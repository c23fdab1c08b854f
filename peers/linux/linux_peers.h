/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linux_peers.h - the file systems of the Linux kernel that are measured, and how each is
 * mounted.
 */
#ifndef LINUX_PEERS_H
#define LINUX_PEERS_H

#include <stdbool.h>

#include "vfs.h"

struct linux_peer {
    struct vfs_entry entry;
    const char *type;           /* of mount */
    const char *source;
    const char *options;
    unsigned long flags;        /* of mount */
    bool ubi;                   /* it lies on a volume of UBI */
    /* of the chip's erases, the smallest one; else the largest up to 64 KiB on NOR */
    bool small_blocks;
    /*
     * it gives no promise at the end of a call: fsync of the file at its close, and of a
     * directory that changed
     */
    bool durable;
    bool markers;               /* JFFS2 on the MTD itself: an erased block has a marker */
    bool fuse;                  /* a process of the machine serves it: nf2_fuse.c */
    /* read-only: the command that makes an image (%s: directory, image); NULL: it is written to */
    const char *make_image;
    const char *modules[8];     /* the first one is the file system's own, and is loaded last */
};

/* By index, NULL after the last. */
const struct linux_peer *linux_peer_at(unsigned index);

/* Makes an instance of the peer whose entry has this function; vfs_linux.c. */
int vfs_linux_make(const struct linux_peer *peer, const struct nf2_flash *flash, struct vfs *out);

#endif
