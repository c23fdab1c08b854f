/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_yaffs2.c - YAFFS2, unmodified, behind the benchmark's interface. One instance at a time: YAFFS2 keeps global lists. */
#include "vfs_yaffs2.h"

#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "nor.h"
#include "settings.h"

#include "yportenv.h"
#include "yaffs_guts.h"
#include "yaffsfs.h"
#include "yaffs_trace.h"

#define MOUNT_POINT "/y"
#define CACHES 10u
#define CACHES_MOST 100u
#define BACKGROUND_US 100000u
#define RESERVED_BLOCKS 5
#define FILE_MODE (S_IREAD | S_IWRITE)
#define PATH_ROOM (VFS_PATH_MAX + sizeof(MOUNT_POINT))

struct adapter {
    struct yaffs_dev dev;
    struct yaffs_nor nor;
    bool mode2;
    uint32_t caches;
};

struct adapter_file {
    int handle;
};

struct adapter_dir {
    yaffs_DIR *dir;
    char path[PATH_ROOM];
};

static bool in_use;

void yaffs_remove_device(struct yaffs_dev *dev);    /* of yaffsfs.c, in none of its headers */

/* ---- what YAFFS2 asks of its surroundings ----------------------------------------------------------- */

unsigned yaffs_trace_mask = 0;

static int last_error;

void yaffs_bug_fn(const char *file_name, int line_no)
{
    fprintf(stderr, "yaffs2: bug at %s:%d\n", file_name, line_no);
    abort();
}

void yaffsfs_SetError(int error)
{
    last_error = error;
}

int yaffsfs_GetLastError(void)
{
    return last_error;
}

void yaffsfs_Lock(void)
{
}

void yaffsfs_Unlock(void)
{
}

u32 yaffsfs_CurrentTime(void)
{
    return 0;
}

void yaffsfs_OSInitialisation(void)
{
}

void *yaffsfs_malloc(size_t size)
{
    return peer_heap_take(size);
}

void yaffsfs_free(void *memory)
{
    peer_heap_give(memory);
}

/* A result of YAFFS2, its error in place of -1. */
static int checked(int result)
{
    if (result >= 0) {
        return result;
    }
    return last_error < 0 ? last_error : last_error > 0 ? -last_error : VFS_ERR_IO;
}

static const char *full_path(const char *path, char *room)
{
    snprintf(room, PATH_ROOM, MOUNT_POINT "%s", path);
    return room;
}

/* ---- volume ----------------------------------------------------------------------------------------- */

static void set_up(struct adapter *adapter)
{
    memset(&adapter->dev, 0, sizeof(adapter->dev));
    adapter->dev.param.name = MOUNT_POINT;
    adapter->dev.param.n_reserved_blocks = RESERVED_BLOCKS;
    adapter->dev.param.n_caches = (int)adapter->caches;
    adapter->dev.param.disable_soft_del = 1;    /* of mode 1 alone */
    if (adapter->nor.nand != NULL) {
        yaffs_nand_attach(&adapter->dev, &adapter->nor);
    } else {
        yaffs_nor_attach(&adapter->dev, &adapter->nor, adapter->mode2);
    }
    yaffs_add_device(&adapter->dev);
}

static int adapter_format(void *context)
{
    struct adapter *adapter = context;
    return adapter->nor.nand != NULL ? yaffs_nand_erase_all(&adapter->nor) : yaffs_nor_erase_all(&adapter->nor);
}

static int adapter_mount(void *context)
{
    (void)context;
    return checked(yaffs_mount(MOUNT_POINT));
}

static int adapter_unmount(void *context)
{
    (void)context;
    return checked(yaffs_unmount(MOUNT_POINT));
}

/* Its memory is taken away without a call into YAFFS2: nothing reaches the chip. The next mount resets its handles. */
static void adapter_drop(void *context)
{
    struct adapter *adapter = context;
    yaffs_remove_device(&adapter->dev);
    peer_heap_drop_all();
    set_up(adapter);
}

static int adapter_statfs(void *context, struct vfs_space *out)
{
    (void)context;
    loff_t total = yaffs_totalspace(MOUNT_POINT);
    loff_t available = yaffs_freespace(MOUNT_POINT);
    if (total < 0 || available < 0) {
        return checked(-1);
    }
    out->total_bytes = (uint64_t)total;
    out->free_bytes = (uint64_t)available;
    return 0;
}

static uint32_t adapter_ram_bytes(void *context)
{
    (void)context;
    return (uint32_t)(peer_heap_most() + sizeof(struct yaffs_dev));
}

/* Its own background collection, as its thread on Linux calls it: a step each tenth of a second, until half of the free chunks are erased. */
static int adapter_maintain(void *context, uint32_t budget_us)
{
    struct adapter *adapter = context;
    uint32_t left = budget_us < BACKGROUND_US ? BACKGROUND_US : budget_us;
    for (; left >= BACKGROUND_US && yaffs_bg_gc(&adapter->dev, 1) == 0; left -= BACKGROUND_US) {
    }
    return 0;
}

static void adapter_destroy(void *context)
{
    struct adapter *adapter = context;
    yaffs_remove_device(&adapter->dev);
    peer_heap_drop_all();
    free(adapter);
    in_use = false;
}

/* ---- files ------------------------------------------------------------------------------------------ */

static int open_flags(int flags)
{
    bool reads = (flags & VFS_READ) != 0;
    bool writes = (flags & VFS_WRITE) != 0;
    int out = reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY;
    out |= (flags & VFS_CREATE) != 0 ? O_CREAT : 0;
    out |= (flags & VFS_EXCL) != 0 ? O_EXCL : 0;
    out |= (flags & VFS_TRUNC) != 0 ? O_TRUNC : 0;
    out |= (flags & VFS_APPEND) != 0 ? O_APPEND : 0;
    return out;
}

static int adapter_open(void *context, const char *path, int flags, void **file)
{
    (void)context;
    char room[PATH_ROOM];
    struct adapter_file *opened = malloc(sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    opened->handle = yaffs_open(full_path(path, room), open_flags(flags), FILE_MODE);
    if (opened->handle < 0) {
        free(opened);
        return checked(-1);
    }
    *file = opened;
    return 0;
}

static int32_t adapter_read(void *context, void *file, void *data, uint32_t length)
{
    const struct adapter_file *opened = file;
    (void)context;
    return checked(yaffs_read(opened->handle, data, length));
}

/* A write that took less than was given, or nothing, found no space: of the second YAFFS2 says "invalid". */
static int32_t adapter_write(void *context, void *file, const void *data, uint32_t length)
{
    const struct adapter_file *opened = file;
    (void)context;
    int result = yaffs_write(opened->handle, data, length);
    bool in_part = result >= 0 && (uint32_t)result < length;
    bool nothing = result < 0 && last_error == -EINVAL && length > 0;
    return in_part || nothing ? VFS_ERR_NOSPC : checked(result);
}

static int adapter_seek(void *context, void *file, uint32_t position)
{
    const struct adapter_file *opened = file;
    (void)context;
    return yaffs_lseek(opened->handle, position, SEEK_SET) < 0 ? checked(-1) : 0;
}

static int adapter_sync(void *context, void *file)
{
    const struct adapter_file *opened = file;
    (void)context;
    return checked(yaffs_fsync(opened->handle));
}

static int adapter_truncate(void *context, void *file, uint32_t size)
{
    const struct adapter_file *opened = file;
    (void)context;
    return checked(yaffs_ftruncate(opened->handle, size));
}

static int adapter_close(void *context, void *file)
{
    struct adapter_file *opened = file;
    (void)context;
    int result = checked(yaffs_close(opened->handle));
    free(opened);
    return result;
}

/* ---- names ------------------------------------------------------------------------------------------ */

static int adapter_stat(void *context, const char *path, struct vfs_stat *out)
{
    (void)context;
    char room[PATH_ROOM];
    struct yaffs_stat stat;
    int result = checked(yaffs_lstat(full_path(path, room), &stat));
    if (result == 0) {
        out->directory = S_ISDIR(stat.st_mode);
        out->size = out->directory ? 0 : (uint32_t)stat.st_size;
    }
    return result;
}

static int adapter_mkdir(void *context, const char *path)
{
    (void)context;
    char room[PATH_ROOM];
    return checked(yaffs_mkdir(full_path(path, room), FILE_MODE | S_IEXEC));
}

static int adapter_remove(void *context, const char *path)
{
    char room[PATH_ROOM];
    struct vfs_stat stat = {false, 0};
    int result = adapter_stat(context, path, &stat);
    if (result < 0) {
        return result;
    }
    full_path(path, room);
    return checked(stat.directory ? yaffs_rmdir(room) : yaffs_unlink(room));
}

static int adapter_rename(void *context, const char *from, const char *to)
{
    (void)context;
    char room[PATH_ROOM], other[PATH_ROOM];
    return checked(yaffs_rename(full_path(from, room), full_path(to, other)));
}

static int adapter_opendir(void *context, const char *path, void **dir)
{
    (void)context;
    struct adapter_dir *opened = malloc(sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    opened->dir = yaffs_opendir(full_path(path, opened->path));
    if (opened->dir == NULL) {
        free(opened);
        return checked(-1);
    }
    *dir = opened;
    return 0;
}

/* Names that every volume has of itself are no entries of the user's. */
static bool own_name(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, YAFFS_LOSTNFOUND_NAME) == 0;
}

/* A listing of YAFFS2 gives names alone: the rest is asked for. */
static int adapter_readdir(void *context, void *dir, struct vfs_dirent *out)
{
    const struct adapter_dir *opened = dir;
    const struct yaffs_dirent *entry;
    char path[PATH_ROOM + NAME_MAX + 2];
    struct yaffs_stat stat;
    (void)context;
    do {
        entry = yaffs_readdir(opened->dir);
    } while (entry != NULL && own_name(entry->d_name));
    if (entry == NULL) {
        return 0;
    }
    snprintf(path, sizeof(path), "%s/%s", opened->path, entry->d_name);
    if (yaffs_lstat(path, &stat) < 0) {
        return checked(-1);
    }
    out->directory = S_ISDIR(stat.st_mode);
    out->size = out->directory ? 0 : (uint32_t)stat.st_size;
    size_t length = strnlen(entry->d_name, VFS_NAME_MAX);
    memcpy(out->name, entry->d_name, length);
    out->name[length] = '\0';
    return 1;
}

static int adapter_closedir(void *context, void *dir)
{
    struct adapter_dir *opened = dir;
    (void)context;
    int result = checked(yaffs_closedir(opened->dir));
    free(opened);
    return result;
}

static const struct vfs_ops yaffs2_ops = {
    .format = adapter_format,
    .mount = adapter_mount,
    .unmount = adapter_unmount,
    .drop = adapter_drop,
    .open = adapter_open,
    .read = adapter_read,
    .write = adapter_write,
    .seek = adapter_seek,
    .sync = adapter_sync,
    .truncate = adapter_truncate,
    .close = adapter_close,
    .stat = adapter_stat,
    .mkdir = adapter_mkdir,
    .remove = adapter_remove,
    .rename = adapter_rename,
    .opendir = adapter_opendir,
    .readdir = adapter_readdir,
    .closedir = adapter_closedir,
    .statfs = adapter_statfs,
    .maintain = adapter_maintain,
    .ram_bytes = adapter_ram_bytes,
    .destroy = adapter_destroy,
};

/* ---- configurations --------------------------------------------------------------------------------- */

static int make(const struct nf2_flash *flash, struct vfs *out, bool mode2, uint32_t caches)
{
    if (in_use || (!mode2 && flash->program_unit > 1)) {
        return VFS_ERR_INVAL;       /* mode 1 programs its marks over again */
    }
    if (vfs_nand() != NULL && !yaffs_nand_fits(flash, vfs_nand())) {
        return VFS_ERR_INVAL;
    }
    struct adapter *adapter = calloc(1, sizeof(*adapter));
    if (adapter == NULL) {
        return VFS_ERR_NOMEM;
    }
    adapter->nor.flash = flash;
    adapter->nor.nand = vfs_nand();
    adapter->mode2 = mode2;
    adapter->caches = caches;
    set_up(adapter);
    in_use = true;
    out->ops = &yaffs2_ops;
    out->context = adapter;
    return 0;
}

static int make_yaffs2(const struct nf2_flash *flash, struct vfs *out)
{
    return make(flash, out, true, CACHES);
}

static int make_yaffs2_with(const struct nf2_flash *flash, const char *text, struct vfs *out, char *message, size_t message_size)
{
    uint32_t caches = CACHES;
    const struct setting_field fields[] = {{"caches", &caches, 0, CACHES_MOST}};
    if (!settings_read(text, fields, sizeof(fields) / sizeof(fields[0]), message, message_size)) {
        return VFS_ERR_INVAL;
    }
    return make(flash, out, true, caches);
}

static int make_yaffs1(const struct nf2_flash *flash, struct vfs *out)
{
    return make(flash, out, false, CACHES);
}

const struct vfs_entry vfs_yaffs2_entry = {
    .name = "yaffs2",
    .version = "U-Boot 2023.01",
    .description = "YAFFS2, chunks of 1 KiB with 32 B of tags, blocks of 32 KiB, 10 caches, checkpoint and summaries; on NAND its pages, with tags in their spare bytes",
    .make = make_yaffs2,
    .waives = VFS_WAIVES_NO_GHOST,
    .settings = "caches",
    .make_with = make_yaffs2_with,
};

const struct vfs_entry vfs_yaffs1_entry = {
    .name = "yaffs1",
    .version = "U-Boot 2023.01",
    .description = "the same in its first mode: chunks of 512 B with 16 B of tags, blocks of 16 KiB, marked before and after",
    .make = make_yaffs1,
    .waives = VFS_WAIVES_NO_GHOST,
};
