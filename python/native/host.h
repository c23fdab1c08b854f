/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.h - NF2FS on a virtual chip, behind plain functions over opaque handles.
 *
 * For callers in other languages: no structure crosses this interface. Numbers come back in arrays
 * whose places are named below. Functions return 0 or a positive result, or a negative nf2_error.
 * The Python package reads the declarations between the two cdef marks as they stand.
 */
#ifndef NF2FS_HOST_H
#define NF2FS_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* cdef begin */

typedef struct nf2h_image nf2h_image;
typedef struct nf2h_file nf2h_file;
typedef struct nf2h_dir nf2h_dir;

/* ---- constants and texts ---- */

const char *nf2h_version(void);
int nf2h_format_version(void);
const char *nf2h_error_text(int error);

/*
 * ---- chips ----
 * A name of the catalogue, the path of a chip file, or "generic-SIZE-PAGE-BLOCK-UNIT" (bytes): a
 * chip that is known by its geometry alone, with the times of a W25Q.
 */

/* NULL after the last. */
const char *nf2h_chip_name(unsigned index);
const char *nf2h_chip_description(unsigned index);

/*
 * out: size, page size, block size, program unit, endurance, largest erase, microseconds of a block
 * erase; name and description as NUL-terminated text.
 */
int nf2h_chip_info(const char *chip, uint64_t out[7], char name[32], char description[96],
                   char *message, size_t message_size);

/* ---- images ---- */

/*
 * Opens an image file, blank where it does not exist; without a path (NULL): a blank chip in
 * memory. The volume takes `size` bytes of the chip from `offset` on (0, 0: the whole chip).
 * NULL on failure, with a message.
 */
nf2h_image *nf2h_image_open(const char *chip, const char *path, int read_only, uint32_t offset,
                            uint32_t size, char *message, size_t message_size);

/*
 * A chip that the caller drives: functions as in nf2fs/flash.h. geometry: chip size, block size,
 * large erase size, page size, program unit, read unit, then microseconds to read a page, program a
 * page, erase a block, erase a large erase size. NULL: out of memory, or a geometry that is none.
 */
nf2h_image *nf2h_image_over(const uint32_t geometry[10],
                            int (*read)(void *context, uint32_t address, void *data,
                                        uint32_t length),
                            int (*program)(void *context, uint32_t address, const void *data,
                                           uint32_t length),
                            int (*erase)(void *context, uint32_t address, uint32_t length),
                            void *context, uint32_t offset, uint32_t size);

/* The contents of the chip, NULL where the caller drives it. Not to be written to while a
   volume is mounted. */
uint8_t *nf2h_image_memory(nf2h_image *image);

/*
 * How a read-only mount of an image answers that is taken for a chip of this size, page size, block
 * size and program unit: 0, or an nf2_error. What lies behind `length` bytes reads as erased.
 */
int nf2h_probe(const uint8_t *bytes, uint64_t length, const uint32_t geometry[4]);

/* Unmounts nothing: a mounted volume is left as by a power cut. Files must be closed before. */
void nf2h_image_close(nf2h_image *image);
int nf2h_image_flush(nf2h_image *image);

/*
 * out: read calls, read bytes, read pages, program calls, program bytes, program pages, erases by
 * size (3), microseconds.
 */
int nf2h_image_counts(nf2h_image *image, uint64_t out[10]);

/*
 * From now on each operation of the chip is appended to a file, one line each: see vflash_trace. NULL where the file
 * cannot be made, or the caller drives the chip. Stop before the image is closed.
 */
typedef struct nf2h_trace nf2h_trace;
nf2h_trace *nf2h_trace_start(nf2h_image *image, const char *path);
int nf2h_trace_stop(nf2h_image *image, nf2h_trace *trace);

/* ---- volumes ---- */

int nf2h_format(nf2h_image *image, int erase_all);
int nf2h_mount(nf2h_image *image, int read_only);
int nf2h_unmount(nf2h_image *image);
int nf2h_maintain(nf2h_image *image, uint32_t budget_us);

/* out: block size, blocks, free, erased, available, pending, bad. */
int nf2h_statfs(nf2h_image *image, uint64_t out[6]);
/* out: erases minimum, maximum, mean, total, unclean mounts, bad blocks. */
int nf2h_health(nf2h_image *image, uint64_t out[6]);
/* States (0 dirty, 1 erased, 2 used, 3 bad) and erase counts of `count` blocks from block 0 on. */
int nf2h_blocks(nf2h_image *image, uint8_t *states, uint32_t *erases, uint32_t count);
/* Was the volume left cleanly, as the mount found it? For a volume that is mounted read-only. */
int nf2h_left_cleanly(nf2h_image *image);

/* How many things are wrong. They are kept until the next check, or the image's end: */
int nf2h_check(nf2h_image *image);
/* 1, or 0 where there are no more; out: kind, block (UINT32_MAX: none), id (0: none), number,
   length of `name` (0: none). The text is kept as long. */
int nf2h_finding(nf2h_image *image, unsigned index, uint64_t out[5], uint8_t name[256],
                 const char **text);
/* A phrase for a kind; NULL behind the last kind. */
const char *nf2h_finding_text(unsigned kind);

/* ---- names ---- */

/* out: type (1 file, 2 directory), size. */
int nf2h_stat(nf2h_image *image, const char *path, uint64_t out[2]);
int nf2h_mkdir(nf2h_image *image, const char *path);
int nf2h_remove(nf2h_image *image, const char *path);
int nf2h_rename(nf2h_image *image, const char *from, const char *to);

/*
 * Attributes, as in nf2fs/attributes.h. The length, which may be more than `room`; how many there
 * are; without `data` (NULL) the attribute is removed.
 */
int nf2h_getattr(nf2h_image *image, const char *path, unsigned id, void *data, uint32_t room);
int nf2h_listattr(nf2h_image *image, const char *path, uint8_t *ids, uint32_t room);
int nf2h_setattr(nf2h_image *image, const char *path, const uint8_t *ids, const uint8_t *lengths,
                 const void *const *data, uint32_t count);

int nf2h_dir_open(nf2h_image *image, const char *path, nf2h_dir **out);
/* 1 with an entry (`name`: 256 bytes; `out` as nf2h_stat), 0 at the end. */
int nf2h_dir_read(nf2h_dir *dir, char *name, uint64_t out[2]);
int nf2h_dir_close(nf2h_dir *dir);
/* Frees a listing without closing it: for those whose image is closed. */
void nf2h_dir_drop(nf2h_dir *dir);

/* ---- files: flags and whence as in nf2fs.h ---- */

int nf2h_file_open(nf2h_image *image, const char *path, int flags, nf2h_file **out);
int nf2h_file_close(nf2h_file *file);
/* Closes without a sync: nf2_discard. */
int nf2h_file_discard(nf2h_file *file);
/* Frees a handle without closing it: for handles whose volume is no longer mounted. */
void nf2h_file_drop(nf2h_file *file);
int nf2h_file_read(nf2h_file *file, void *data, uint32_t length);
int nf2h_file_write(nf2h_file *file, const void *data, uint32_t length);
int nf2h_file_seek(nf2h_file *file, int32_t offset, int whence);
int nf2h_file_size(nf2h_file *file);
int nf2h_file_truncate(nf2h_file *file, uint32_t size);
int nf2h_file_preallocate(nf2h_file *file, uint32_t size);
int nf2h_file_sync(nf2h_file *file);

/*
 * ---- repair ----
 * What can be read from a damaged image, and a new volume made of it. repair.h has the
 * meanings. All that needs the bytes on the chip is behind these functions.
 */

typedef struct nf2h_repair nf2h_repair;

/* NULL on failure, with a message: also where nothing of a volume is in it. It is only read. */
nf2h_repair *nf2h_repair_open(const char *chip, const char *path, uint32_t offset, uint32_t size,
                              char *message, size_t message_size);
/* The same of an image that is open here, as its bytes are now; it must stay open as long. NULL:
   nothing of a volume is in it, or the caller drives the chip. */
nf2h_repair *nf2h_repair_of(nf2h_image *image);
void nf2h_repair_close(nf2h_repair *repair);
/* Is anything lost, or in doubt? May there have been files that nothing tells of any more? And: was
   the volume left cleanly, and its root log undamaged? */
int nf2h_repair_lossy(nf2h_repair *repair);
int nf2h_repair_names_lost(nf2h_repair *repair);
int nf2h_repair_clean(nf2h_repair *repair);

/*
 * Files and directories; out: type (1 file, 2 directory), state, size, bytes of it that are lost,
 * is the end lost, was it left out, bytes that no check covers. NULL behind the last.
 */
const char *nf2h_repair_item(nf2h_repair *repair, unsigned index, uint64_t out[7]);
/* Ranges of a file's bytes that are lost; out: from, to. 0 behind the last. */
int nf2h_repair_lost(nf2h_repair *repair, unsigned index, unsigned range, uint64_t out[2]);
/* Reads a file's bytes, zeros for those that are lost; returns how many. */
uint32_t nf2h_repair_read(nf2h_repair *repair, unsigned index, uint32_t at, void *data,
                          uint32_t length);
/*
 * What was found on the way; out: kind, block (UINT32_MAX: none), id, number, does it tell of
 * damage; text, and names that it is about or NULL. 0 behind the last.
 */
int nf2h_repair_finding(nf2h_repair *repair, unsigned index, uint64_t out[5], const char *text[3]);
/* NULL behind the last. */
const char *nf2h_repair_state_text(unsigned state);
/* The path of an id, NULL: not known. */
const char *nf2h_repair_path(nf2h_repair *repair, uint32_t id);

/* What a block is for, as a phrase. And: its records, which stay until the next call; how many. */
const char *nf2h_repair_use(nf2h_repair *repair, uint32_t block);
unsigned nf2h_repair_records(nf2h_repair *repair, uint32_t block);
/* out: first byte, end, session, does the group go on, was a bit mended; text: its name, and what it
   says. 0 behind the last. */
int nf2h_repair_record(nf2h_repair *repair, unsigned index, uint64_t out[5], const char *text[2]);

/* Writes all into an empty volume that is mounted for writing; items that there is no room for are
   marked. And: compares. */
int nf2h_repair_write(nf2h_repair *repair, nf2h_image *image, char *message, size_t message_size);
int nf2h_repair_verify(nf2h_repair *repair, nf2h_image *image, char *message, size_t message_size);

/* cdef end */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
