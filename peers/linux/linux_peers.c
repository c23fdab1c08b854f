/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linux_peers.c - the file systems of the Linux kernel that are measured, and how each is
 * mounted.
 */
#include "linux_peers.h"

#include <stddef.h>
#include <sys/mount.h>

#include "peers.h"

#define UBIFS_SOURCE "ubi0:volume"

/* The functions of the entries: an entry's `make` has no context. */
#define MAKE(index) \
    static int make_##index(const struct nf2_flash *flash, struct vfs *out) \
    { \
        return vfs_linux_make(linux_peer_at(index), flash, out); \
    }
MAKE(0) MAKE(1) MAKE(2) MAKE(3) MAKE(4) MAKE(5) MAKE(6) MAKE(7) MAKE(8) MAKE(9) MAKE(10) MAKE(11)
MAKE(12)

#define ENTRY(index, fs, text) \
    .entry = {.name = fs, .version = "Linux", .description = text, .make = make_##index, \
              .own_flash = true}
#define JFFS2 \
    .type = "jffs2", .source = "mtd0", .options = "", .markers = true, .modules = {"jffs2"}
/* The kernel asks for zstd by name, and there is nobody in the machine who would load it then. */
#define UBIFS \
    .type = "ubifs", .source = UBIFS_SOURCE, .options = "", .ubi = true, \
    .modules = {"ubifs", "ubi", "zstd"}
#define IMAGE(fs) \
    .type = fs, .source = "/dev/mtdblock0", .options = "", .flags = MS_RDONLY, \
    .modules = {fs, "mtdblock"}
#define SQUASHFS(compressor) \
    IMAGE("squashfs"), \
    .make_image = "mksquashfs %s %s -comp " compressor " -noappend -all-root -no-progress -quiet"

static const struct linux_peer peers[] = {
    {ENTRY(0, "jffs2", "JFFS2 on the MTD, erase blocks of 64 KiB (NAND: its own), zlib"), JFFS2},
    {ENTRY(1, "jffs2-4k", "JFFS2 on the smallest erase blocks of the chip"),
     JFFS2, .small_blocks = true},
    {ENTRY(2, "jffs2-ubi", "JFFS2 on a volume of UBI, which gluebi makes an MTD of; "
                           "fsync as with ubifs"),
     .type = "jffs2", .source = "mtd1", .options = "", .ubi = true, .durable = true,
     .modules = {"jffs2", "gluebi", "ubi"}},
    {ENTRY(3, "ubifs", "UBIFS over UBI, LZO; fsync at the close of a file "
                       "and of directories that changed"),
     UBIFS, .durable = true},
    {ENTRY(4, "ubifs-sync", "UBIFS over UBI, mounted with sync"), UBIFS, .flags = MS_SYNCHRONOUS},
    {ENTRY(5, "ubifs-writeback", "UBIFS over UBI as it is mounted by default: "
                                 "what was not synced is lost at a power cut"),
     UBIFS},
    {ENTRY(6, "squashfs-gzip", "squashfs over mtdblock, gzip, blocks of 128 KiB"),
     SQUASHFS("gzip")},
    {ENTRY(7, "squashfs-lzo", "squashfs over mtdblock, LZO, blocks of 128 KiB"), SQUASHFS("lzo")},
    {ENTRY(8, "squashfs-xz", "squashfs over mtdblock, XZ, blocks of 128 KiB"), SQUASHFS("xz")},
    {ENTRY(9, "squashfs-zstd", "squashfs over mtdblock, zstd, blocks of 128 KiB"),
     SQUASHFS("zstd")},
    {ENTRY(10, "cramfs", "cramfs over mtdblock, zlib, blocks of 4 KiB; files of at most 16 MiB"),
     IMAGE("cramfs"), .make_image = "mkfs.cramfs %s %s"},
    {ENTRY(11, "romfs", "romfs over mtdblock, which does not compress"),
     IMAGE("romfs"), .make_image = "genromfs -d %s -f %s"},
    {ENTRY(12, "nf2fs-fuse", "NF2FS on the MTD, served through FUSE by a process of the machine"),
     .type = "fuse", .fuse = true, .small_blocks = true, .modules = {"fuse"}},
};

const struct linux_peer *linux_peer_at(unsigned index)
{
    return index < sizeof(peers) / sizeof(peers[0]) ? &peers[index] : NULL;
}

const struct vfs_entry *peers_at(unsigned index)
{
    const struct linux_peer *peer = linux_peer_at(index);
    return peer != NULL ? &peer->entry : NULL;
}
