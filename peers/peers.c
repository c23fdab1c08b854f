/* SPDX-License-Identifier: BSD-2-Clause */
/* peers.c - the list of the peers in this build. */
#include "peers.h"

#ifdef NF2FS_PEER_LITTLEFS
#include "littlefs/vfs_littlefs.h"
#endif
#ifdef NF2FS_PEER_FATFS
#include "fatfs/vfs_fatfs.h"
#endif

static const struct vfs_entry *const peers[] = {
#ifdef NF2FS_PEER_LITTLEFS
    &vfs_littlefs_entry,
    &vfs_littlefs_p256_entry,
    &vfs_littlefs_erasecheck_entry,
    &vfs_littlefs_p256_erasecheck_entry,
#endif
#ifdef NF2FS_PEER_FATFS
    &vfs_fatfs_entry,
#endif
    NULL,
};

const struct vfs_entry *peers_at(unsigned index)
{
    return index < sizeof(peers) / sizeof(peers[0]) ? peers[index] : NULL;
}
