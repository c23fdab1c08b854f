/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_fatfs.c - FatFs, unmodified, behind the benchmark's interface. */
#include "fatfs/vfs_fatfs.h"

#include <stdlib.h>
#include <string.h>

#include "ff.h"
#include "diskio.h"

#define SECTOR_SIZE 4096u
#define ROOT_ENTRIES 2048u

_Static_assert(FF_LFN_BUF == VFS_NAME_MAX, "names are copied whole");

struct adapter {
    FATFS volume;
    const struct nf2_flash *flash;
};

/* FatFs calls the disk without a context: there is one volume at a time in a process. */
static const struct nf2_flash *disk;

/* ---- disk --------------------------------------------------------------------------------------- */

DSTATUS disk_status(BYTE drive)
{
    return drive == 0 && disk != NULL ? 0 : STA_NOINIT;
}

DSTATUS disk_initialize(BYTE drive)
{
    return disk_status(drive);
}

DRESULT disk_read(BYTE drive, BYTE *data, LBA_t sector, UINT count)
{
    (void)drive;
    for (UINT i = 0; i < count; i++) {
        if (disk->read(disk->context, (uint32_t)(sector + i) * SECTOR_SIZE, data + i * SECTOR_SIZE, SECTOR_SIZE) < 0) {
            return RES_ERROR;
        }
    }
    return RES_OK;
}

static int write_sector(uint32_t address, const BYTE *data)
{
    if (disk->erase(disk->context, address, SECTOR_SIZE) < 0) {
        return -1;
    }
    for (uint32_t offset = 0; offset < SECTOR_SIZE; offset += disk->page_size) {
        if (disk->program(disk->context, address + offset, data + offset, disk->page_size) < 0) {
            return -1;
        }
    }
    return 0;
}

DRESULT disk_write(BYTE drive, const BYTE *data, LBA_t sector, UINT count)
{
    (void)drive;
    for (UINT i = 0; i < count; i++) {
        if (write_sector((uint32_t)(sector + i) * SECTOR_SIZE, data + i * SECTOR_SIZE) < 0) {
            return RES_ERROR;
        }
    }
    return RES_OK;
}

DRESULT disk_ioctl(BYTE drive, BYTE command, void *data)
{
    (void)drive;
    if (command == GET_SECTOR_COUNT) {
        *(LBA_t *)data = disk->chip_size / SECTOR_SIZE;
    } else if (command == GET_BLOCK_SIZE) {
        *(DWORD *)data = 1;
    } else if (command != CTRL_SYNC) {
        return RES_PARERR;
    }
    return RES_OK;
}

/* ---- volume ------------------------------------------------------------------------------------- */

static int error_of(FRESULT result)
{
    switch (result) {
    case FR_OK:
        return 0;
    case FR_NO_FILE:
    case FR_NO_PATH:
        return VFS_ERR_NOENT;
    case FR_EXIST:
        return VFS_ERR_EXIST;
    case FR_DENIED:     /* a full directory or volume; removing a directory that has entries, too */
        return VFS_ERR_NOSPC;
    case FR_INVALID_NAME:
    case FR_INVALID_PARAMETER:
        return VFS_ERR_INVAL;
    default:
        return VFS_ERR_IO;
    }
}

static int adapter_format(void *context)
{
    static BYTE work[SECTOR_SIZE];
    const MKFS_PARM options = {FM_FAT | FM_SFD, 2, 1, ROOT_ENTRIES, 0};   /* cluster size: FatFs chooses */
    (void)context;
    return error_of(f_mkfs("", &options, work, sizeof(work)));
}

static int adapter_mount(void *context)
{
    struct adapter *adapter = context;
    return error_of(f_mount(&adapter->volume, "", 1));
}

static int adapter_unmount(void *context)
{
    (void)context;
    return error_of(f_mount(NULL, "", 0));
}

static void adapter_drop(void *context)
{
    struct adapter *adapter = context;
    (void)f_mount(NULL, "", 0);     /* forgets the volume; writes nothing */
    memset(&adapter->volume, 0, sizeof(adapter->volume));
}

static int adapter_statfs(void *context, struct vfs_space *out)
{
    struct adapter *adapter = context;
    FATFS *volume = &adapter->volume;
    DWORD free_clusters;
    FRESULT result = f_getfree("", &free_clusters, &volume);
    out->total_bytes = (uint64_t)(volume->n_fatent - 2) * volume->csize * SECTOR_SIZE;
    out->free_bytes = (uint64_t)free_clusters * volume->csize * SECTOR_SIZE;
    return error_of(result);
}

static uint32_t adapter_ram_bytes(void *context)
{
    (void)context;
    return (uint32_t)(sizeof(FATFS) + sizeof(FIL) + (FF_MAX_LFN + 1) * sizeof(WCHAR));
}

static void adapter_destroy(void *context)
{
    disk = NULL;
    free(context);
}

/* ---- files -------------------------------------------------------------------------------------- */

static BYTE open_mode(int flags)
{
    int mode = 0;
    mode |= (flags & VFS_READ) != 0 ? FA_READ : 0;
    mode |= (flags & VFS_WRITE) != 0 ? FA_WRITE : 0;
    if ((flags & VFS_CREATE) != 0) {
        mode |= (flags & VFS_EXCL) != 0 ? FA_CREATE_NEW : (flags & VFS_TRUNC) != 0 ? FA_CREATE_ALWAYS : FA_OPEN_ALWAYS;
    }
    mode |= (flags & VFS_APPEND) != 0 ? FA_OPEN_APPEND : 0;
    return (BYTE)mode;
}

static int adapter_open(void *context, const char *path, int flags, void **file)
{
    (void)context;
    FIL *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    int result = error_of(f_open(opened, path, open_mode(flags)));
    if (result == 0 && (flags & VFS_TRUNC) != 0 && (flags & VFS_CREATE) == 0) {
        result = error_of(f_truncate(opened));
    }
    if (result < 0) {
        free(opened);
        return result;
    }
    *file = opened;
    return 0;
}

static int32_t adapter_read(void *context, void *file, void *data, uint32_t length)
{
    (void)context;
    UINT done;
    int result = error_of(f_read(file, data, length, &done));
    return result < 0 ? result : (int32_t)done;
}

/* FatFs reports a full volume as a short write. */
static int32_t adapter_write(void *context, void *file, const void *data, uint32_t length)
{
    (void)context;
    UINT done;
    int result = error_of(f_write(file, data, length, &done));
    if (result < 0) {
        return result;
    }
    return done < length ? VFS_ERR_NOSPC : (int32_t)done;
}

static int adapter_seek(void *context, void *file, uint32_t position)
{
    (void)context;
    return error_of(f_lseek(file, position));
}

static int adapter_sync(void *context, void *file)
{
    (void)context;
    return error_of(f_sync(file));
}

static int adapter_truncate(void *context, void *file, uint32_t size)
{
    (void)context;
    FSIZE_t position = f_tell((FIL *)file);
    int result = error_of(f_lseek(file, size));
    if (result == 0) {
        result = error_of(f_truncate(file));
    }
    return result == 0 ? error_of(f_lseek(file, position < size ? position : size)) : result;
}

static int adapter_close(void *context, void *file)
{
    (void)context;
    int result = error_of(f_close(file));
    free(file);
    return result;
}

/* ---- names -------------------------------------------------------------------------------------- */

static int adapter_stat(void *context, const char *path, struct vfs_stat *out)
{
    (void)context;
    FILINFO info;
    int result = error_of(f_stat(path, &info));
    if (result == 0) {
        out->directory = (info.fattrib & AM_DIR) != 0;
        out->size = out->directory ? 0 : (uint32_t)info.fsize;
    }
    return result;
}

static int adapter_mkdir(void *context, const char *path)
{
    (void)context;
    return error_of(f_mkdir(path));
}

static int adapter_remove(void *context, const char *path)
{
    (void)context;
    return error_of(f_unlink(path));
}

/* FatFs's rename does not replace: the target goes first, and for a moment there is neither name. */
static int adapter_rename(void *context, const char *from, const char *to)
{
    (void)context;
    FRESULT result = f_rename(from, to);
    if (result == FR_EXIST) {
        result = f_unlink(to);
        result = result == FR_OK ? f_rename(from, to) : result;
    }
    return error_of(result);
}

static int adapter_opendir(void *context, const char *path, void **dir)
{
    (void)context;
    DIR *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    int result = error_of(f_opendir(opened, path));
    if (result < 0) {
        free(opened);
        return result;
    }
    *dir = opened;
    return 0;
}

static int adapter_readdir(void *context, void *dir, struct vfs_dirent *out)
{
    (void)context;
    FILINFO info;
    int result = error_of(f_readdir(dir, &info));
    if (result < 0 || info.fname[0] == '\0') {
        return result;
    }
    memset(out, 0, sizeof(*out));
    out->directory = (info.fattrib & AM_DIR) != 0;
    out->size = out->directory ? 0 : (uint32_t)info.fsize;
    memcpy(out->name, info.fname, sizeof(info.fname));
    return 1;
}

static int adapter_closedir(void *context, void *dir)
{
    (void)context;
    int result = error_of(f_closedir(dir));
    free(dir);
    return result;
}

static const struct vfs_ops fatfs_ops = {
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
    .maintain = NULL,
    .ram_bytes = adapter_ram_bytes,
    .destroy = adapter_destroy,
};

static int adapter_make(const struct nf2_flash *flash, struct vfs *out)
{
    if (flash->block_size != SECTOR_SIZE || disk != NULL) {
        return VFS_ERR_INVAL;
    }
    struct adapter *adapter = calloc(1, sizeof(*adapter));
    if (adapter == NULL) {
        return VFS_ERR_NOMEM;
    }
    adapter->flash = flash;
    disk = flash;
    out->ops = &fatfs_ops;
    out->context = adapter;
    return 0;
}

_Static_assert(FF_DEFINED == 80286, "this entry says R0.15");

const struct vfs_entry vfs_fatfs_entry = {
    "fatfs", "R0.15", "FatFs straight on NOR: sectors of 4,096 B, each write erases and programs its block; two FATs; not power safe", adapter_make,
    VFS_WAIVES_CUTS, NULL, NULL};
