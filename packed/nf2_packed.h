/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_packed.h - reads images that `nf2 pack --read-only` makes.
 *
 * Such an image holds files that never change: it has no journal, no reserve, and no room for
 * changes. Each file lies in one piece, so that memory-mapped flash can be used in place. One page
 * of 256 bytes is read to mount it, and at most three to find a file by its path, whether it exists
 * or not. Write it to the chip as it is, at any offset that is a multiple of 256.
 *
 * Everything but the content of files has a CRC-32 that is checked whenever it is read.
 * nf2_packed_check compares the content, too; compressed files (nf2_chunks.h) are checked as they
 * are read.
 *
 * The reader needs a driver (its `read` alone) and nf2_crc of the library. It calls nothing of a
 * volume, allocates nothing and has no globals. One call at a time on an nf2_packed_t.
 */
#ifndef NF2_PACKED_H
#define NF2_PACKED_H

#include "nf2_chunks.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NF2_PACKED_PAGE 256u
#define NF2_PACKED_PATH_MAX 255u    /* bytes of a path, without the '/' in front */

/* Private, but for `size`. It needs no initialization. */
typedef struct {
    const struct nf2_flash *flash;
    uint32_t offset;            /* where the image begins on the chip */
    uint32_t size;              /* bytes of the image */
    uint32_t entries, buckets, index_at, records_at, records_end, seed, root_at, content_crc;
    uint32_t in_page;           /* which page of the image is in `page`; UINT32_MAX: none */
    uint8_t page[NF2_PACKED_PAGE];
} nf2_packed_t;

struct nf2_packed_entry {
    enum nf2_type type;
    uint32_t size;              /* bytes of a file, unpacked; names in a directory */
    uint32_t stored;            /* bytes that the file takes in the image */
    uint32_t address;           /* of a file's first byte on the chip */
    uint8_t codec;              /* NF2_CODEC_NONE: the bytes lie there as they are */
    uint8_t name_length;
    uint8_t name_at;            /* private, as is what follows */
    uint32_t first;
};

typedef struct {
    uint32_t next, left;
} nf2_packed_dir_t;

/*
 * Mounts the image at `offset` of the chip. Errors: INVAL, IO, BLANK, FOREIGN (no such image),
 * CORRUPT (its header is damaged), VERSION.
 */
int nf2_packed_mount(nf2_packed_t *image, const struct nf2_flash *flash, uint32_t offset);

/*
 * Finds a file or directory: names with '/' between; a '/' in front or behind is no matter; '.' and
 * '..' are not known. Errors: INVAL, NOENT, NAMETOOLONG, IO, CORRUPT (damage).
 */
int nf2_packed_find(nf2_packed_t *image, const char *path, struct nf2_packed_entry *out);

/*
 * Reads the file's bytes as they are stored, from `position` on: of a file that is not compressed,
 * its content. Returns the bytes read (fewer than `length` only at the end), or an error: ISDIR,
 * INVAL, IO.
 */
int32_t nf2_packed_read(nf2_packed_t *image, const struct nf2_packed_entry *entry,
                        uint32_t position, void *data, uint32_t length);

/*
 * Opens a compressed file of the image; `image` and `entry` stay in use. Returns 1, or 0 where the
 * file is not compressed. Errors: those of nf2_chunks_open_file, and ISDIR.
 */
int nf2_packed_open_chunks(nf2_packed_t *image, struct nf2_packed_entry *entry,
                           nf2_chunks_t *chunks, const struct nf2_chunks_config *config);

/*
 * Lists a directory in the order of the names' bytes. nf2_packed_readdir returns 1 with an entry
 * and its name, 0 at the end. `name` has room for NF2_PACKED_PATH_MAX + 1 bytes.
 * Errors: NOTDIR, CORRUPT, IO.
 */
int nf2_packed_opendir(const struct nf2_packed_entry *entry, nf2_packed_dir_t *dir);
int nf2_packed_readdir(nf2_packed_t *image, nf2_packed_dir_t *dir, struct nf2_packed_entry *out,
                       char *name);

/* Reads the whole image and compares its CRC. Errors: CORRUPT, IO. */
int nf2_packed_check(nf2_packed_t *image);

#ifdef __cplusplus
}
#endif

#endif
