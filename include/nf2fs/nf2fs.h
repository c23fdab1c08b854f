/*
 * nf2fs.h - NF2FS, a file system for raw serial NOR flash on microcontrollers.
 *
 * WHAT IS GUARANTEED
 *   - What nf2_sync or nf2_close of a file returned NF2_OK for is on the chip, whole, and survives
 *     a power cut at any instant. A cut before that leaves the file as it was at its last sync: all
 *     of the writes since then are there, or none (all-or-nothing per sync).
 *   - nf2_mkdir, nf2_remove and nf2_rename (with replacement) are durable when they return, and
 *     all-or-nothing when cut.
 *   - A file that is created at open is visible to this program at once, and on the chip from its
 *     first sync or close on, with everything written by then (no empty ghost; see nf2_open).
 *   - A full volume refuses a write as a whole (NF2_ERR_NOSPC). Removing always works.
 *   - A damaged chip yields an error code, never a crash or a hang.
 *   - A block that the driver says fails for good (NF2_FLASH_BAD) is replaced, and the call that
 *     met it succeeds, as long as there is a block to take its place (docs/RELIABILITY.md, "Bad
 *     blocks").
 *
 * WHAT IS NOT
 *   - Not thread safe by itself: one call at a time on one volume. Use `lock` and `unlock` of the
 *     configuration for more.
 *   - Data in files carries no check of its own yet; names, small (inline) files, frames of
 *     appended files and all metadata do.
 *
 * What each call may cost at most, in pages read, programs and erases, is in docs/BOUNDS.md.
 *
 * The library allocates nothing and has no global state. All memory is the caller's: one nf2_t a
 * volume, one nf2_file_t and one page buffer an open file. See docs/DESIGN.md and docs/FORMAT.md.
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
#define NF2_FORMAT_VERSION 2u

/* ---- limits ---------------------------------------------------------------------------------- */

#define NF2_NAME_MAX 255u         /* bytes in a name: any byte but '/' and NUL */
#define NF2_FILE_MAX 0x7FFFFFFFu  /* bytes in a file */
#define NF2_PAGE_MAX 512u         /* largest page size */
#define NF2_BLOCKS_MIN 32u        /* blocks in the smallest volume; the largest has 65,536 */

/* ---- errors: every function returns 0 or a positive result, or one of these ------------------ */

/*
 * Beside the errors named at a function,
 *   any returns       INVAL (a NULL or wrong argument; the volume is not mounted) and IO;
 *   one with a path   NOENT, NOTDIR, NAMETOOLONG (and INVAL for a path without a name in it, where
 *                     one is needed);
 *   one with a handle BADF;
 *   one that changes something  ROFS and NOSPC.
 * After a program or erase that the driver failed, or a read in the middle of a change of several
 * programs or steps, each change returns IO until the next mount; reading goes on.
 * A call that is refused with another error than IO has changed nothing; after IO a change may be
 * there or not, as after a cut.
 */
enum nf2_error {
    NF2_OK = 0,
    NF2_ERR_NOENT = -2,         /* no such file or directory */
    NF2_ERR_IO = -5,            /* the driver failed, or data on the chip fails its check */
    NF2_ERR_BADF = -9,          /* the handle is closed, or was not opened for this */
    NF2_ERR_BUSY = -16,         /* the file is open (remove, replace),
                                   or open for writing already */
    NF2_ERR_EXIST = -17,        /* the name exists (mkdir, exclusive creation) */
    NF2_ERR_NOTDIR = -20,       /* a part of the path is a file */
    NF2_ERR_ISDIR = -21,        /* the path is a directory */
    NF2_ERR_INVAL = -22,        /* a bad argument; a directory moved into itself */
    NF2_ERR_FBIG = -27,         /* the file would pass NF2_FILE_MAX */
    NF2_ERR_NOSPC = -28,        /* no space, after reclaiming all garbage */
    NF2_ERR_ROFS = -30,         /* mounted read-only */
    NF2_ERR_NAMETOOLONG = -36,  /* a name of more than NF2_NAME_MAX bytes */
    NF2_ERR_NOTEMPTY = -39,     /* the directory has entries */
    /* at mount */
    NF2_ERR_BLANK = -200,       /* the chip is erased: there is no volume */
    NF2_ERR_FOREIGN = -201,     /* the chip holds something else */
    NF2_ERR_CORRUPT = -202,     /* an NF2FS volume that is damaged beyond use */
    NF2_ERR_GEOMETRY = -203,    /* the volume was made for another geometry,
                                   or the geometry is nonsense */
    NF2_ERR_VERSION = -204      /* the volume has a format version that this
                                   library does not know */
};

/* A short English sentence for an error code (never NULL). */
const char *nf2_error_text(int error);

/* ---- configuration --------------------------------------------------------------------------- */

struct nf2_config {
    const struct nf2_flash *flash;
    uint32_t offset;            /* bytes: where the volume begins on the chip;
                                   a multiple of block_size */
    uint32_t size;              /* bytes: length of the volume, a multiple of block_size;
                                   0: to the chip's end */

    /*
     * Memory for the volume, NF2_BUFFER_SIZE(page_size) bytes, alive until nf2_unmount. No
     * alignment is asked for. What is beyond that size holds more of the tree: reads, look-ups and
     * small changes take fewer reads of the chip then.
     */
    void *buffer;
    uint32_t buffer_size;

    void (*lock)(void *context);    /* both optional: called around every public function */
    void (*unlock)(void *context);
    void *lock_context;

    /*
     * Wear levelling; 0: the default. Erases are counted by groups, each a 32nd of a window; a
     * window is 512 blocks, or the whole volume if that has fewer. From a mean of `wear_age` erases
     * of all blocks (16; UINT32_MAX: never) on, groups that lie more than `wear_spread` (8) behind
     * it are emptied, by nf2_maintain and by calls that look for blocks, and groups that lie as far
     * before it are taken from last. So a group lags by the spread, half of it and 8 erases at
     * most; one of its blocks by four times the spread and 8, where some of it were free and others
     * rested. Until a mean of four times `wear_age`, groups that rested so long may lag more. The
     * large erase that holds the super blocks (without large erases: their group) is not levelled:
     * its blocks wear less.
     */
    uint32_t wear_age;
    uint32_t wear_spread;

    /*
     * Optional: microseconds since any moment, as a number of 32 bits that goes on from its largest
     * value to 0 (a timer with fewer bits is to be extended). Then the budget of nf2_maintain is
     * kept by this clock, with all that the processor, the bus and other tasks take; without it, by
     * the driver's typical times and 16 us of the processor for each page that is read.
     */
    uint32_t (*now_us)(void *context);
    void *clock_context;
};

/* 256 bytes to read, a page to write, and views of the tree (nf2fs/private.h). */
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
    NF2_FORMAT_QUICK = 0,       /* blocks are erased later,
                                   when they are first used or in nf2_maintain */
    NF2_FORMAT_ERASE = 1        /* erase the whole volume now, and record it as erased */
};

enum nf2_mount_flags {
    NF2_MOUNT_RDWR = 0,
    NF2_MOUNT_RDONLY = 1        /* programs and erases nothing,
                                   also where the last session was cut */
};

/*
 * Makes an empty volume; whatever the range held is lost. `fs` is scratch memory and not mounted
 * afterwards. Durable when it returns; a cut leaves the volume that was there before, or none that
 * mounts.
 * Errors: INVAL, GEOMETRY, IO, NOSPC (fewer than NF2_BLOCKS_MIN blocks).
 */
int nf2_format(nf2_t *fs, const struct nf2_config *config, int flags);

/*
 * Mounts a volume. `config` and its memory stay in use until nf2_unmount. It programs and erases
 * nothing, also behind a cut: what that left open is settled by the first call that changes
 * something.
 * Errors: INVAL, IO, BLANK, FOREIGN, CORRUPT, GEOMETRY, VERSION.
 */
int nf2_mount(nf2_t *fs, const struct nf2_config *config, int flags);

/*
 * The same as nf2_mount with NF2_MOUNT_RDONLY. A program that mounts with this alone links only
 * what reading needs, however many of the calls below it makes that read, nf2_open and nf2_close
 * among them.
 */
int nf2_mount_rdonly(nf2_t *fs, const struct nf2_config *config);

/*
 * Writes what is pending and marks the volume as cleanly left: durable when it returns OK. Files
 * that are still open are closed without a sync (their unsynced data is lost). After an error the
 * volume is not mounted either, and the next mount recovers as after a cut.
 */
int nf2_unmount(nf2_t *fs);

struct nf2_statfs {
    uint32_t block_size;        /* bytes */
    uint32_t blocks;            /* of the volume, all kinds */
    uint32_t blocks_free;       /* blocks that hold nothing, reserve included */
    uint32_t blocks_erased;     /* of those, known to be erased now */
    uint32_t blocks_available;  /* free for file data: blocks_free less the reserve */
    uint32_t blocks_bad;        /* that failed for good (see nf2fs/flash.h), and are not used
                                   any more; a sixteenth of the volume at most */
};

/*
 * There may be more free blocks than this says, never fewer: those of removed files, and parts of
 * files that were overwritten, count as used until idle time finds them free, or a call that needs
 * them. When nf2_maintain has returned 0 the number is exact.
 */
int nf2_statfs(nf2_t *fs, struct nf2_statfs *out);

struct nf2_health {
    uint32_t erases_min, erases_max;    /* of one block */
    uint32_t erases_mean;
    uint64_t erases_total;
    uint32_t mounts_unclean;            /* mounts that found no clean mark, since format */
    uint32_t blocks_bad;                /* as in nf2_statfs */
};

/*
 * Wear of the volume. Erases are counted for groups of a 32nd of 512 blocks; reads an entry of the
 * tree for each 512 blocks.
 */
int nf2_health(nf2_t *fs, struct nf2_health *out);

/*
 * Idle work, in steps, for at most `budget_us` microseconds of the configuration's clock, or else
 * of the geometry's typical times and the processor's: frees what removed files held, compacts,
 * erases ahead, and moves what rests in little worn blocks. A step that would pass the budget is
 * not begun: a large erase and a third more is enough for all of them, but for the maps of large
 * files that are overwritten in pieces, of which less is done. With less time than an erase and a
 * step take, steps are small and erase nothing; 20 ms are enough for them where a page is
 * programmed in 0.4 ms.
 * Blocks in which nothing is live are freed when they may be a 64th of the volume; those that are
 * live in part are emptied where blocks run short. Where a large erase is cheaper, blocks that fell
 * free singly wait for their neighbours while half of what is free is erased.
 * Returns 1 if work is left (or an erase is owed that is longer than the whole budget), 0 if none
 * is, or an error. May be cut at any point.
 */
int nf2_maintain(nf2_t *fs, uint32_t budget_us);

/* ---- checking -------------------------------------------------------------------------------- */

/* What nf2_check finds wrong. */
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
    NF2_FOUND_COUNT,            /* the count of free, or of erased blocks is wrong:
                                   `number` is right */
    NF2_FOUND_ID,               /* an id that was never given out */
    NF2_FOUND_LOST,             /* content of a file or directory that no name leads to,
                                   and that nothing will free */
    NF2_FOUND_SHARED,           /* two names for one directory or file, or for one of each */
    NF2_FOUND_REMOVED,          /* a file that is listed as removed has a name */
    NF2_FOUND_CYCLE,            /* a directory that is inside of itself:
                                   the root does not lead to it */
    NF2_FOUND_KINDS
};

struct nf2_finding {
    enum nf2_finding_kind kind;
    uint32_t block;             /* where, of the volume; UINT32_MAX: in no block */
    uint32_t id;                /* of the directory or file that it is about; 0: of none */
    uint32_t number;            /* see the kinds */
    const uint8_t *name;        /* of the entry in the directory `id` that it is about
                                   (no string: name_length bytes), or NULL */
    uint8_t name_length;
};

/* An English phrase for a kind (never NULL). */
const char *nf2_finding_text(enum nf2_finding_kind kind);

/*
 * Checks every structure of a mounted volume, read-only, and reads all data; calls `report` (may be
 * NULL) for each thing that is wrong. Returns the number of things wrong, or an error. On a volume
 * that was cut and is mounted read-only, what only recovery can settle is not judged; nor is it
 * before the first call with a path where the cut left a change to finish. It takes no RAM of its
 * own; a configuration with a larger buffer makes it faster on large volumes.
 */
int nf2_check(nf2_t *fs, void (*report)(void *context, const struct nf2_finding *finding),
              void *context);

/* ---- names ----------------------------------------------------------------------------------- */
/*
 * Paths: names separated by '/'; a leading '/' is optional; '.' and '..' work ('..' of the root is
 * the root).
 */

enum nf2_type { NF2_TYPE_FILE = 1, NF2_TYPE_DIR = 2 };

struct nf2_stat {
    enum nf2_type type;
    uint32_t size;              /* bytes; 0 for a directory */
};

/* Size and type. A file that was created and not synced yet has its size, 0, too. */
int nf2_stat(nf2_t *fs, const char *path, struct nf2_stat *out);

/*
 * Makes a directory; the one above it must exist (NOENT). Durable when it returns, all or nothing.
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
 * leaves the old name and the old target, or the new. Errors: ISDIR, NOTDIR, NOTEMPTY, BUSY (the
 * target is open; or the source was created and never synced), INVAL (a directory into itself).
 * Open handles of a file that is moved go with it.
 */
int nf2_rename(nf2_t *fs, const char *from, const char *to);

struct nf2_dirent {
    enum nf2_type type;
    uint32_t size;
    char name[NF2_NAME_MAX + 1];
};

/*
 * Lists a directory in the order of the names' bytes; names that share their first 20 bytes come in
 * any order among themselves. '.' and '..' are not listed. An entry that is there from opendir to
 * the end of the listing is listed exactly once, whatever changes meanwhile; one that is added or
 * removed meanwhile may be listed or not. nf2_readdir returns 1 with an entry, 0 at the end. An
 * open listing holds nothing of the volume: `dir` may simply be given up. Errors: NOTDIR; BADF
 * (closed).
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
 * until nf2_close, at one address; neither has to be initialized. One handle at a time may write a
 * file (BUSY); any number may read it, and see what was synced last. A created file is durable from
 * its first sync or close on. Exception: one with a name of more than 23 bytes is made durable,
 * empty, at once.
 * Errors: NOENT, EXIST (NF2_O_EXCL), ISDIR, BUSY, ROFS, INVAL (no access mode; CREAT, TRUNC or
 * APPEND without writing; the handle is open).
 */
int nf2_open(nf2_t *fs, nf2_file_t *file, const char *path, int flags, void *buffer);

/*
 * Syncs and closes. The handle is closed even after an error (then the unsynced data is lost).
 * Errors: those of nf2_sync.
 */
int nf2_close(nf2_t *fs, nf2_file_t *file);

/*
 * Bytes read, from the position on (fewer only at the end of the file), or an error (BADF: not
 * opened for reading).
 */
int32_t nf2_read(nf2_t *fs, nf2_file_t *file, void *data, uint32_t length);

/*
 * Writes all of `length` bytes at the position and returns `length`, or accepts nothing and returns
 * an error (the file and the position are as before): NOSPC, FBIG, BADF (not opened for writing).
 * Past the end the gap reads as zeros. Not durable before nf2_sync or nf2_close.
 *
 * With NF2_O_SYNC the errors of nf2_sync, too, and after a NOSPC the handle is as after its last
 * sync: what it had not synced (a nf2_truncate, an NF2_O_TRUNC) is given up with the write.
 *
 * After an error of the driver (IO), here or in nf2_truncate, what the handle has not synced is
 * given up: nf2_sync and nf2_close return IO too, as do further calls that would change the file,
 * and the file keeps the content of its last sync. The same holds after a NOSPC for a write over
 * older content of which a part went to the file's map already: that is rare, as room is looked for
 * first. An append that is refused loses nothing.
 */
int32_t nf2_write(nf2_t *fs, nf2_file_t *file, const void *data, uint32_t length);

/* The new position, or INVAL (negative, or past NF2_FILE_MAX). Past the end is allowed. */
int32_t nf2_seek(nf2_t *fs, nf2_file_t *file, int32_t offset, int whence);
int32_t nf2_tell(nf2_t *fs, nf2_file_t *file);
int32_t nf2_size(nf2_t *fs, nf2_file_t *file);  /* unsynced writes included */

/*
 * Sets the size, both ways (new bytes are zeros); part of the next sync. The position stays.
 * Errors: NOSPC, FBIG.
 */
int nf2_truncate(nf2_t *fs, nf2_file_t *file, uint32_t size);

/*
 * Sets aside the blocks that writing from the file's end up to `size` bytes will need, so that
 * those writes cannot fail with NOSPC. Writes in front of the end are not covered: one into a hole
 * that nf2_truncate made, or over older content, takes blocks too. The file's size does not change,
 * nothing is written; what is not used by the close is given back. A smaller size later takes
 * nothing back. Errors: NOSPC, FBIG.
 */
int nf2_preallocate(nf2_t *fs, nf2_file_t *file, uint32_t size);

/*
 * Makes all writes since the last sync durable, all or nothing. NOSPC: on a full volume the map of
 * a file with many small updates cannot grow; they wait in the handle.
 */
int nf2_sync(nf2_t *fs, nf2_file_t *file);

#ifdef __cplusplus
}
#endif
#endif
