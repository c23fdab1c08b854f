/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2fs.h - NF2FS, a file system for raw serial NOR flash on microcontrollers.
 *
 * WHAT IS GUARANTEED
 *   - Once nf2_sync or nf2_close of a file has returned NF2_OK, what was written is on the chip and
 *     survives a power cut at any instant. A cut before that leaves the file as it was at its last
 *     sync. A cut during the sync leaves all of the writes since then, or none of them.
 *   - nf2_mkdir, nf2_remove and nf2_rename (also one that replaces a file) are durable when they
 *     return, and all or nothing when they are cut.
 *   - A file that nf2_open creates is visible to this program at once. It comes to the chip with
 *     its first sync or close, together with everything written by then. So a cut leaves no empty
 *     file (one exception: see nf2_open).
 *   - A full volume refuses a write as a whole (NF2_ERR_NOSPC). A file that was to be saved then
 *     keeps its old content: see nf2_write. Removing always works.
 *   - A damaged chip yields an error code, never a crash or a hang.
 *   - A block that the driver reports as failed for good (NF2_FLASH_BAD) is replaced, and the call
 *     that met it succeeds, as long as there is a block to take its place (docs/RELIABILITY.md,
 *     "Bad blocks").
 *
 * WHAT IS NOT
 *   - The library is not thread safe by itself: make one call at a time on a volume, or set `lock`
 *     and `unlock` in the configuration.
 *   - The data of files of 216 bytes and more has no checksum yet; nor has that of smaller ones
 *     whose name has more than 23 bytes. All metadata and names have one, files of up to 215 bytes,
 *     and appends of up to 240 bytes that are synced each, until they are moved; not the append by
 *     which a file passes 215 bytes.
 *
 * docs/BOUNDS.md says what each call may cost at most, in pages read, pages programmed and erases.
 * A call that changes something has such a bound only while half of the volume, and 64 blocks
 * besides, are available (nf2_statfs); so never on a volume of some 160 blocks or fewer.
 *
 * The library allocates nothing and has no global state. The caller provides all memory: one nf2_t
 * and one buffer for each volume, one nf2_file_t and one page buffer for each open file. See
 * docs/DESIGN.md and docs/FORMAT.md.
 */
#ifndef NF2FS_H
#define NF2FS_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/flash.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NF2_VERSION "0.1.0"
#define NF2_FORMAT_VERSION 3u

/* ---- limits ---------------------------------------------------------------------------------- */

#define NF2_NAME_MAX 255u         /* bytes in a name: any byte but '/' and NUL */
#define NF2_FILE_MAX 0x7FFFFFFFu  /* bytes in a file */
#define NF2_PAGE_MAX 512u         /* largest page size */
#define NF2_BLOCKS_MIN 32u        /* blocks in the smallest volume; the largest has 65,536 */

/* ---- errors: every function returns 0 or a positive result, or one of these ------------------ */

/*
 * Beside the errors that are named at a function,
 *   each function may return      INVAL (a NULL or wrong argument; the volume is not mounted), IO;
 *                                 a NULL `fs` is seen by nf2_format and the mounts alone;
 *   one that takes a path         NOENT, NOTDIR, NAMETOOLONG; where the path has no name in it and
 *                                 one is needed, remove: INVAL; mkdir: EXIST; open: ISDIR
 *                                 (EXIST with NF2_O_EXCL);
 *   one that takes a handle       BADF, also for NULL;
 *   one that changes something    ROFS, NOSPC.
 * After the driver has failed a program or an erase, or a read in the middle of a change, nothing
 * is programmed or erased until the next mount. A call that would have to do so returns IO, such as
 * nf2_sync; nf2_write of what the handle has room for may succeed. Reading still works; through
 * that handle it also shows what is not synced.
 * NEWER VOLUMES. A newer library may leave something that this one does not know, such as a file
 * of another form. A call that has to know it returns VERSION. Where nobody can tell which blocks
 * it uses, nothing is programmed or erased from then on, until the next mount: calls that change
 * something return ROFS, nf2_unmount too if something was changed before. Nothing is lost.
 * A call that returns another error than IO has changed nothing, except where the call says
 * otherwise (nf2_close, nf2_write). After IO the change may be there or not, as after a power cut.
 */
enum nf2_error {
    NF2_OK = 0,
    NF2_ERR_NOENT = -2,         /* no such file or directory */
    NF2_ERR_IO = -5,            /* the driver failed, or data on the chip fails its check */
    NF2_ERR_BADF = -9,          /* the handle is closed, or was not opened for this */
    NF2_ERR_BUSY = -16,         /* the file is open (remove, replace),
                                   or another handle writes it (open) */
    NF2_ERR_EXIST = -17,        /* the name exists (mkdir, exclusive creation) */
    NF2_ERR_NOTDIR = -20,       /* a part of the path is a file */
    NF2_ERR_ISDIR = -21,        /* the path is a directory */
    NF2_ERR_INVAL = -22,        /* a bad argument, such as a length above NF2_FILE_MAX;
                                   a directory moved into itself */
    NF2_ERR_FBIG = -27,         /* the file would pass NF2_FILE_MAX;
                                   or it is larger than the room for it (nf2_load) */
    NF2_ERR_NOSPC = -28,        /* no space, after reclaiming all garbage */
    NF2_ERR_ROFS = -30,         /* mounted read-only */
    NF2_ERR_NAMETOOLONG = -36,  /* a name of more than NF2_NAME_MAX bytes */
    NF2_ERR_NOTEMPTY = -39,     /* the directory has entries */
    /* errors of nf2_mount; GEOMETRY also of nf2_format */
    NF2_ERR_BLANK = -200,       /* there is no volume, and what was looked at is 0xFF: the first 256
                                   bytes of the range's first block, and of each block from the
                                   ninth on; or a format was cut. A chip that is not ready yet may
                                   read so, too: wait and mount again before you format */
    NF2_ERR_FOREIGN = -201,     /* the chip holds something else, or a volume that lost its first
                                   blocks */
    NF2_ERR_CORRUPT = -202,     /* an NF2FS volume that is damaged beyond use */
    NF2_ERR_GEOMETRY = -203,    /* the volume was made for another geometry,
                                   or the geometry is nonsense */
    NF2_ERR_VERSION = -204      /* the volume has a format version that this library does not
                                   know; of other calls: see NEWER VOLUMES below */
};

/* A short English phrase for an error code (never NULL). */
const char *nf2_error_text(int error);

/* ---- configuration --------------------------------------------------------------------------- */

struct nf2_config {
    const struct nf2_flash *flash;
    uint32_t offset;            /* bytes: where the volume begins on the chip;
                                   a multiple of block_size */
    uint32_t size;              /* bytes: length of the volume, a multiple of block_size;
                                   0: to the chip's end */

    /*
     * Memory for the volume: at least NF2_BUFFER_SIZE(page_size) bytes, in use until nf2_unmount.
     * It needs no alignment. A larger buffer holds more of the tree, so that reads, look-ups and
     * small changes read the chip less often.
     */
    void *buffer;
    uint32_t buffer_size;

    /*
     * Both or neither: called around every public function that takes an nf2_t. The library never
     * nests them. nf2_check and nf2_format hold the lock long, nf2_maintain for up to its budget.
     */
    void (*lock)(void *context);
    void (*unlock)(void *context);
    void *lock_context;

    /*
     * Wear levelling; 0 stands for the default. Erases are counted by regions: a volume has at most
     * 256 of them, and a region is one large erase or a few as a rule, or one block on a volume of
     * fewer than 64 large erases. New data goes to regions that were erased least. Data that rests
     * is moved when all blocks had `wear_age` erases in the mean (default 16; UINT32_MAX: never):
     * from then on, a region more than `wear_spread` erases (default 8) behind the mean is emptied,
     * so that its blocks are used again, and what it held goes to one that is as far ahead of the
     * others. The walks that look for free blocks do that, two regions each, in nf2_maintain and in
     * calls that change something. They do so only while enough is free to hold what is moved: half
     * of what is free beside the reserve. A region with a bad block, and the one with the super
     * blocks, is not levelled: its blocks wear less. Where a volume is so full that single blocks
     * are erased, a block may wear faster than the mean of its region. A session that ends before
     * its first two walks have ended levels nothing. docs/guide/tuning.md says more.
     */
    uint32_t wear_age;
    uint32_t wear_spread;

    /*
     * Optional: a clock in microseconds, from any starting point. It has 32 bits and wraps to 0; a
     * timer with fewer bits must be extended. With a clock, nf2_maintain keeps its budget in real
     * time, in which the processor, the bus and other tasks count too. Without one it adds up the
     * driver's typical times and 16 us of the processor for each page that is read.
     */
    uint32_t (*now_us)(void *context);
    void *clock_context;

    /*
     * Optional: seconds since 1970-01-01 UTC, 0 while they are not known. nf2_keep_times asks for
     * it, and nothing else does. It gets `clock_context`, too.
     */
    uint64_t (*time_s)(void *context);
};

/* 256 bytes to read into, a page to write from, and views of the tree (nf2fs/private.h). */
#define NF2_BUFFER_SIZE(page_size) (256u + (page_size) + NF2_TREE_BUFFER_SIZE)

/*
 * nf2_t, nf2_file_t and nf2_dir_t: complete types so that you can allocate them; their fields are
 * private.
 */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"     /* unnamed structures are C11; C++ compilers
                                                   know them too, and remark on it */
#include "nf2fs/private.h"
#pragma GCC diagnostic pop
#else
#include "nf2fs/private.h"
#endif

/* ---- volume ---------------------------------------------------------------------------------- */

enum nf2_format_flags {
    NF2_FORMAT_QUICK = 0,       /* blocks are erased later: before their first use,
                                   or in nf2_maintain */
    NF2_FORMAT_ERASE = 1        /* the whole volume is erased now, and recorded as erased:
                                   minutes on a large chip */
};

enum nf2_mount_flags {
    NF2_MOUNT_RDWR = 0,
    NF2_MOUNT_RDONLY = 1        /* nothing is programmed or erased until nf2_unmount,
                                   also after a power cut */
};

/*
 * Makes an empty volume; whatever the range held is lost. `fs` is scratch memory and is not mounted
 * afterwards. The new volume is durable when the call returns. Its erase counts begin anew. A cut
 * leaves the volume that was there before (also one of another size), the new one, or none: then
 * nf2_mount returns BLANK; where the chip held something else, BLANK or FOREIGN. Of a volume with
 * another program unit a cut may leave one that is CORRUPT. One that begins at another offset, or
 * has blocks of another size, is not seen: a cut may leave a part of it.
 * Errors: INVAL, GEOMETRY, IO, NOSPC (fewer than NF2_BLOCKS_MIN blocks).
 */
int nf2_format(nf2_t *fs, const struct nf2_config *config, int flags);

/*
 * Mounts a volume. `config` and its memory stay in use until nf2_unmount. Do not mount or format
 * with an nf2_t that is mounted: its handles, and what they have not synced, are lost. The call
 * programs and erases nothing, also after a power cut. Where it finds no volume it looks at a page
 * of each block, before it says BLANK or FOREIGN. What a cut left open is settled by the first
 * call that changes something, or by nf2_maintain. Until then calls that read see a change that was
 * committed and not finished as done (nf2_check does not). nf2_unmount leaves such a change to the
 * next mount, and settles everything else.
 * Errors: INVAL, IO, BLANK, FOREIGN, CORRUPT, GEOMETRY, VERSION.
 */
int nf2_mount(nf2_t *fs, const struct nf2_config *config, int flags);

/*
 * Mounts like nf2_mount with NF2_MOUNT_RDONLY. A program that mounts only with this function, and
 * uses only calls that read (nf2_open and nf2_close among them), links none of the code for
 * writing.
 */
int nf2_mount_rdonly(nf2_t *fs, const struct nf2_config *config);

/*
 * Writes what is pending and marks the volume as cleanly left. Files that are still open are closed
 * without a sync: their unsynced data is lost. From then on their handles are closed, and listings
 * have ended: open a new one after the next mount, which takes an old one for its own. After an
 * error the volume is not mounted either, and the next mount treats it as after a power cut. It
 * also does so if this session followed a power cut and changed nothing, and hardly any free block
 * was known.
 */
int nf2_unmount(nf2_t *fs);

struct nf2_statfs {
    uint32_t block_size;        /* bytes */
    uint32_t blocks;            /* all blocks of the volume */
    uint32_t blocks_free;       /* blocks that hold nothing, the reserve included */
    uint32_t blocks_erased;     /* free blocks that are known to be erased */
    uint32_t blocks_available;  /* blocks for file data: blocks_free less the reserve */
    uint32_t blocks_bad;        /* blocks that failed for good (see nf2fs/flash.h) and are not
                                   used any more */
};

/*
 * Space of the volume, without a look at the tree. There may be more free blocks than this says,
 * never fewer. Free regions (see `wear_age`) are on record, so their blocks are known as soon as
 * the volume is mounted, on a volume of any size. After a power cut the blocks that writers had set
 * aside, at most 16 for each of three, count as used. Blocks of removed files, and of parts that
 * were overwritten, count as used until nf2_maintain, or a call that needs blocks, has walked over
 * the tree. Then they count if nothing in their region is in use; others are found when space runs
 * short.
 */
int nf2_statfs(nf2_t *fs, struct nf2_statfs *out);

struct nf2_health {
    uint32_t erases_min, erases_max;    /* of a block: the means of the least and the most worn
                                           region (see `wear_age`), without the erases of the
                                           format */
    uint32_t erases_mean;               /* of a block, over the whole volume */
    uint64_t erases_total;
    uint32_t mounts_unclean;            /* mounts since format that found the volume
                                           not left cleanly */
    uint32_t blocks_bad;                /* as in struct nf2_statfs */
};

/*
 * Wear of the volume. Erases are counted by regions (see `wear_age`), so the call does not know
 * those of a single block: single blocks that are erased count for their region in proportion, now
 * and then. The last four counts may be missing, and so may those of a call that erased more than
 * four regions. `erases_total` misses none. It reads one entry of the tree for each 32 regions.
 */
int nf2_health(nf2_t *fs, struct nf2_health *out);

/*
 * Does idle work: frees what removed files held, compacts, erases ahead, and moves what rests in
 * little worn blocks. It works in steps, for at most `budget_us` microseconds: of the
 * configuration's clock, or without one of the driver's typical times and of the processor (see
 * `now_us`). A step that might pass the budget is not begun. A large erase and a third more is
 * enough for every kind of step, except that less is done for the maps of large files that are
 * overwritten in pieces. With less time than two erases and a step take, the steps are smaller and
 * erase nothing; 20 ms are enough for these where a page is programmed in 0.4 ms.
 * Regions in which nothing is live are freed. As long as an eighth of the volume is free beside the
 * reserve, of the others only those are emptied that are live to less than an eighth; with less,
 * all that are worth it. Behind a call that changed something it walks over the tree 28 times at
 * most. What is free is erased ahead, also beyond what the next calls need. A region that is erased
 * in part only when the volume is unmounted is erased anew in the next session.
 * Returns 1 if work is left (or if an erase is due that takes longer than the whole budget), 0 if
 * none is left or the mount is read-only, or an error. With a small budget it may return 1 for
 * ever, for work that needs more: do not wait in a loop for 0. Power may be cut at any point.
 */
int nf2_maintain(nf2_t *fs, uint32_t budget_us);

/* ---- checking -------------------------------------------------------------------------------- */

/*
 * What is found wrong in a volume. nf2_check finds NODE, TREE, ENTRY and DATA. The other kinds are
 * those of the host tools (`nf2 check`), which compare all structures with each other.
 */
enum nf2_finding_kind {
    NF2_FOUND_SUPER,            /* a super block is damaged, or names no block of the root log */
    NF2_FOUND_META,             /* the root log is damaged or its chain is broken */
    NF2_FOUND_BATCH,            /* a committed change of several leaves cannot be read */
    NF2_FOUND_NODE,             /* a damaged node of the tree: what it holds is not known */
    NF2_FOUND_TREE,             /* not a node, or not of the level that its parent says */
    NF2_FOUND_RANGE,            /* an entry outside of its node's range of keys */
    NF2_FOUND_TWICE,            /* a name or offset that is there twice */
    NF2_FOUND_ENTRY,            /* an entry that cannot be read, or of no known form */
    NF2_FOUND_NAME,             /* a name that no call can reach */
    NF2_FOUND_SIZE,             /* a file with less content than its size,
                                   or with an unreadable size */
    NF2_FOUND_DATA,             /* data of a file that cannot be read */
    NF2_FOUND_OUTSIDE,          /* a reference leads out of the volume */
    NF2_FOUND_OWNERS,           /* two owners of a block */
    NF2_FOUND_FREE,             /* a block in use is on record as free */
    NF2_FOUND_ERASED,           /* a block is on record as erased but is not blank */
    NF2_FOUND_COUNT,            /* the count of free or of erased blocks on record is wrong:
                                   `number` is the right count */
    NF2_FOUND_ID,               /* an id that was never given out */
    NF2_FOUND_LOST,             /* content of a file or directory that no name leads to,
                                   and that nothing will free */
    NF2_FOUND_SHARED,           /* one id under two names: of a directory, a file,
                                   or one of each */
    NF2_FOUND_REMOVED,          /* a file that is listed as removed has a name */
    NF2_FOUND_CYCLE,            /* a directory that is inside of itself:
                                   the root does not lead to it */
    NF2_FOUND_KINDS
};

struct nf2_finding {
    enum nf2_finding_kind kind;
    uint32_t block;             /* where it is, by the block's number in the volume;
                                   UINT32_MAX: in no block */
    uint32_t id;                /* of the directory or file that is affected; 0: none */
    uint32_t number;            /* with NF2_FOUND_COUNT: the right count */
    const uint8_t *name;        /* of the entry that is affected, in the directory `id`: name_length
                                   bytes, without a NUL at the end; or NULL */
    uint8_t name_length;
};

/* An English phrase for a kind (never NULL). */
const char *nf2_finding_text(enum nf2_finding_kind kind);

/*
 * Reads the whole tree of a mounted volume, each entry in it, and all data of all files; calls
 * `report` (may be NULL) for each thing that is wrong. Returns the number of things wrong, or an
 * error. It changes nothing, and does not compare structures with each other: it finds no leaks,
 * and no block that has two owners. `nf2 check` does that for an image on a host. It reads the tree
 * as it is on the chip: after a power cut without a change that is still to be finished. It takes
 * no RAM of its own; a larger buffer in the configuration makes it faster on large volumes. The
 * lock is held until it ends, which may take minutes on a large volume.
 */
int nf2_check(nf2_t *fs, void (*report)(void *context, const struct nf2_finding *finding),
              void *context);

/* ---- names ----------------------------------------------------------------------------------- */
/*
 * Paths: names separated by '/'; a leading '/' is optional; '.' and '..' work: '..' takes away the
 * name before it, whether or not that exists ('..' of the root is the root).
 */

enum nf2_type { NF2_TYPE_FILE = 1, NF2_TYPE_DIR = 2 };

struct nf2_stat {
    enum nf2_type type;
    uint32_t size;              /* bytes; 0 for a directory */
};

/* Size and type. A file that was created and not yet synced is found, too: its size is 0. */
int nf2_stat(nf2_t *fs, const char *path, struct nf2_stat *out);

/*
 * Makes a directory; its parent must exist (NOENT). Durable when it returns, all or nothing.
 * Errors: EXIST.
 */
int nf2_mkdir(nf2_t *fs, const char *path);

/*
 * Removes a file or an empty directory, also on a full volume; durable when it returns, all or
 * nothing. The blocks of a large file are freed later, in steps. Errors: NOTEMPTY, BUSY (open),
 * INVAL (the root).
 */
int nf2_remove(nf2_t *fs, const char *path);

/*
 * Renames a file or directory, across directories too. An existing target is replaced in the same
 * instant: a file by a file, an empty directory by a directory. Durable when it returns; a cut
 * leaves the old name and the old target, or the new name. Open handles of the renamed file stay
 * valid. A rename to the same name changes nothing. Errors: ISDIR, NOTDIR, NOTEMPTY, BUSY (the
 * target is open; or the source was created and never synced), INVAL (`from` is the root; a
 * directory into itself). A file does not replace the root (NOTDIR), nor does a directory
 * (NOTEMPTY).
 */
int nf2_rename(nf2_t *fs, const char *from, const char *to);

struct nf2_dirent {
    enum nf2_type type;
    uint32_t size;
    char name[NF2_NAME_MAX + 1];
};

/*
 * List a directory in the order of the names' bytes; names that share their first 20 bytes may come
 * in any order among themselves. '.' and '..' are not listed. An entry that is there from
 * nf2_opendir to the end of the listing is listed exactly once, whatever changes meanwhile. An
 * entry that is added or removed meanwhile may be listed or not. nf2_readdir returns 1 with an
 * entry, 0 at the end. An open listing holds no resource of the volume, so `dir` need not be
 * closed. Errors: NOTDIR; BADF (the listing is closed).
 */
int nf2_opendir(nf2_t *fs, nf2_dir_t *dir, const char *path);
int nf2_readdir(nf2_t *fs, nf2_dir_t *dir, struct nf2_dirent *out);
int nf2_rewinddir(nf2_t *fs, nf2_dir_t *dir);
int nf2_closedir(nf2_t *fs, nf2_dir_t *dir);

/* ---- files ----------------------------------------------------------------------------------- */

enum nf2_open_flags {
    NF2_O_RDONLY = 1,
    NF2_O_WRONLY = 2,
    NF2_O_RDWR = 3,
    NF2_O_CREAT = 0x10,         /* create if it is not there */
    NF2_O_EXCL = 0x20,          /* with CREAT: fail with EXIST if it is there */
    NF2_O_TRUNC = 0x40,         /* empty it: part of the next sync, like a write */
    NF2_O_APPEND = 0x80,        /* each write goes to the end */
    NF2_O_SYNC = 0x100          /* each write is synced before it returns */
};

enum nf2_whence { NF2_SEEK_SET = 0, NF2_SEEK_CUR = 1, NF2_SEEK_END = 2 };

/*
 * Opens a file. `file` and `buffer` (page_size bytes; NULL is allowed for NF2_O_RDONLY) stay in use
 * until nf2_close and must not move; neither has to be initialized. One handle at a time may write
 * a file (BUSY). Any number of handles may read it, and see what was synced last. A file that is
 * created here is durable from its first sync or close on. Exception: if its name has more than 23
 * bytes, an empty file is made durable at once.
 * Errors: NOENT, EXIST (NF2_O_EXCL), ISDIR, BUSY, ROFS, INVAL (no access mode; CREAT, TRUNC or
 * APPEND without writing; the handle is open).
 */
int nf2_open(nf2_t *fs, nf2_file_t *file, const char *path, int flags, void *buffer);

/*
 * Syncs and closes. The handle is closed even after an error: then what was not synced is lost, and
 * the file is as it was at its last sync, or not there if it never had one.
 * Errors: those of nf2_sync.
 */
int nf2_close(nf2_t *fs, nf2_file_t *file);

/*
 * Closes without a sync: what the handle has not synced is given up, an NF2_O_TRUNC too. The file
 * is as it was at its last sync, or not there if it never had one (a name of more than 23 bytes:
 * empty, see nf2_open). It programs nothing, and works after any error.
 */
int nf2_discard(nf2_t *fs, nf2_file_t *file);

/*
 * Reads from the position on. Returns the bytes read (fewer than `length` only at the end of the
 * file), or an error (BADF: not opened for reading; INVAL: `length` is above NF2_FILE_MAX).
 */
int32_t nf2_read(nf2_t *fs, nf2_file_t *file, void *data, uint32_t length);

/*
 * Writes all of `length` bytes at the position and returns `length`, or accepts nothing and returns
 * an error (the file and the position are as before): NOSPC, FBIG, BADF (not opened for writing),
 * INVAL (`length` is above NF2_FILE_MAX).
 * Past the end the gap reads as zeros. Not durable before nf2_sync or nf2_close.
 *
 * After a NOSPC, here or in nf2_truncate, what the handle has accepted since its last sync is a
 * part of what was meant. So nf2_sync and nf2_close return NOSPC from then on, too: the file keeps
 * the content of its last sync, also where NF2_O_TRUNC was to empty it. Reading through the handle
 * shows what was accepted. It counts again once a later nf2_write or nf2_truncate of the handle
 * succeeds: make room and repeat the call that was refused; or write 0 bytes, which says that what
 * was accepted is enough, as it is for a log. Or give it up, with nf2_close or nf2_discard.
 *
 * With NF2_O_SYNC it returns the errors of nf2_sync, too. After a NOSPC the content is then that of
 * the last sync: what was not synced (an earlier nf2_truncate, an NF2_O_TRUNC) is given up together
 * with the write.
 *
 * After an error of the driver (IO), here or in nf2_truncate, the unsynced changes of the handle
 * are lost. Further calls that would change the file return IO, and so do nf2_sync and nf2_close.
 * The file keeps the content of its last sync. In one rare case a NOSPC has the same effect: when a
 * write over older content is refused after a part of it was entered in the file's map. An append
 * that is refused can always be repeated.
 */
int32_t nf2_write(nf2_t *fs, nf2_file_t *file, const void *data, uint32_t length);

/*
 * Sets the position and returns it, or INVAL if it would be negative or past NF2_FILE_MAX. It may
 * be past the end of the file.
 */
int32_t nf2_seek(nf2_t *fs, nf2_file_t *file, int32_t offset, int whence);
int32_t nf2_tell(nf2_t *fs, nf2_file_t *file);  /* the position */
int32_t nf2_size(nf2_t *fs, nf2_file_t *file);  /* the size, unsynced writes included */

/*
 * Makes the file shorter or longer (new bytes are zeros). The change is part of the next sync, like
 * a write. The position stays. After a NOSPC nothing is synced: see nf2_write.
 * Errors: NOSPC, FBIG.
 */
int nf2_truncate(nf2_t *fs, nf2_file_t *file, uint32_t size);

/*
 * Sets aside the blocks that writing from the file's end up to `size` bytes will need, so that
 * those writes cannot fail with NOSPC. Writes in front of the end are not covered: a write into a
 * hole that nf2_truncate made, or over older content, takes blocks of its own. Appends of less than
 * a page that are each synced are not covered in full: they take more room, up to twice as much (at
 * 120 bytes). The file's size does not change, and nothing is written. For each 32 blocks one more
 * is set aside, and one besides, for the map of the file. nf2_close gives back what was not used; a
 * later call with a smaller size gives nothing back. Errors: NOSPC, FBIG.
 */
int nf2_preallocate(nf2_t *fs, nf2_file_t *file, uint32_t size);

/*
 * Makes all writes since the last sync durable, all or nothing. With a handle for reading only it
 * does nothing and returns 0. Errors: NOSPC (a write was refused, see there; or the map of a file
 * with many small updates cannot grow on a full volume: then the updates stay in the handle, and a
 * later sync takes them).
 */
int nf2_sync(nf2_t *fs, nf2_file_t *file);

/* ---- whole files in one call ----------------------------------------------------------------- */
/*
 * For settings, keys, counters and other files that are written as a whole. Neither call needs a
 * handle or a page buffer; a handle of some 200 bytes is on the stack while the call lasts. A
 * program that makes neither of them links nothing of them. docs/BOUNDS.md has no rows of these
 * calls yet, nor of those in attributes.h: nf2_save costs at most what nf2_open, nf2_write and
 * nf2_close may with such content, and reads the old content besides.
 */

/*
 * Makes `length` bytes (0 to NF2_FILE_MAX) at `data` the whole content of the file, which is
 * created if it is not there; its directory must exist (NOENT). Durable when it returns NF2_OK. A
 * power cut at any instant of the call leaves the old content or the new one, whole; of a file that
 * was not there, none or the whole new one, also where its name has more than 23 bytes. There is no
 * second name at any time, and nothing to be tidied up by the program: of a save of several blocks
 * that was cut or refused, nf2_maintain, or calls that need blocks, free what was written.
 * After any error but IO the file is as it was. After IO it holds the old or the new content.
 *   - Up to 215 bytes under a name of up to 23 bytes are one program as a rule, and have a
 *     checksum; not if the file has attributes. Longer content is programmed first, straight from
 *     `data`, and then takes the place of the old one by one more program as a rule. So both must
 *     fit at the same time, else NOSPC.
 *   - Content that is equal to what is there programs nothing. That is found by reading the old
 *     content, up to the first difference; what cannot be read counts as different.
 *   - Handles that read the file see the new content with their next read. A file that a handle
 *     writes is not replaced (BUSY).
 * `data` must not change until the call returns, nor lie in the volume's buffer; where it lies in
 * memory that the chip is read through, it cannot be programmed from there.
 * Errors: NOENT, NOTDIR, ISDIR, BUSY, NOSPC, INVAL (`length` above NF2_FILE_MAX).
 */
int nf2_save(nf2_t *fs, const char *path, const void *data, uint32_t length);

/*
 * Reads the whole file into `data`, which has room for `room` bytes, and returns its size. It reads
 * what was synced last, whatever a handle has written since. A file that is larger than `room`
 * returns FBIG, and `data` is not touched. After another error `data` may hold a part of the file.
 * Works in a volume that is mounted for reading only, and links none of the code for writing.
 * Errors: NOENT, NOTDIR, ISDIR, FBIG.
 */
int32_t nf2_load(nf2_t *fs, const char *path, void *data, uint32_t room);

#include "nf2fs/attributes.h"

#ifdef __cplusplus
}
#endif
#endif
