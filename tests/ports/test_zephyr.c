/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_zephyr.c - the glue for Zephyr as Zephyr's fs.c calls it, over flash areas on virtual chips.
 * fs_* below do what fs.c does around the calls of a file system (stubs/zephyr/README.md).
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdarg.h>

#include "check.h"
#include "nf2_zephyr.h"
#include "vflash.h"
#include <zephyr/devicetree.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/fs/fs_sys.h>
#include <zephyr/logging/log.h>

extern int (*const stub_init)(void);
extern const char stub_init_level[];
extern const int stub_init_priority;
FS_FSTAB_DECLARE_ENTRY(DT_DRV_INST(0));
FS_FSTAB_DECLARE_ENTRY(DT_DRV_INST(1));
static struct fs_mount_t *const mount = &FS_FSTAB_ENTRY(DT_DRV_INST(0));
static struct fs_mount_t *const other = &FS_FSTAB_ENTRY(DT_DRV_INST(1));

/* ---- what the glue finds below it: a device for each area ------------------------------------ */

struct device {
    struct vflash *chip;
    uint32_t unit;
    size_t pages[4], page_size[4];      /* runs of pages of one size, from the device's beginning */
};

static struct device devices[2];
static struct flash_area areas[2] = {
    {.fa_id = 3, .fa_off = 65536, .fa_size = 512 * 1024, .fa_dev = &devices[0]},
    {.fa_id = 4, .fa_off = 0, .fa_size = 256 * 1024, .fa_dev = &devices[1]},
};
static int areas_open, locks_held;
static char last_log[200];

void stub_log(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(last_log, sizeof(last_log), format, list);
    va_end(list);
}

int k_mutex_init(struct k_mutex *mutex)
{
    mutex->count = 0;
    return 0;
}

int k_mutex_lock(struct k_mutex *mutex, int wait)
{
    (void)wait;
    locks_held++;
    mutex->count++;
    return 0;
}

/* What another thread does when the glue has given a mutex back so many times; NULL: nothing. */
static void (*other_thread)(void);
static int other_thread_after;

int k_mutex_unlock(struct k_mutex *mutex)
{
    locks_held--;
    mutex->count--;
    if (other_thread != NULL && --other_thread_after == 0) {
        void (*call)(void) = other_thread;
        other_thread = NULL;
        call();
    }
    return 0;
}

int flash_area_open(uint8_t id, const struct flash_area **out)
{
    for (size_t i = 0; i < 2; i++) {
        if (areas[i].fa_id == id) {
            *out = &areas[i];
            areas_open++;
            return 0;
        }
    }
    return -ENOENT;
}

void flash_area_close(const struct flash_area *at)
{
    (void)at;
    areas_open--;
}

static const struct nf2_flash *driver(const struct flash_area *at)
{
    return vflash_driver(at->fa_dev->chip);
}

int flash_area_read(const struct flash_area *at, off_t offset, void *data, size_t length)
{
    return driver(at)->read(driver(at)->context, (uint32_t)(at->fa_off + offset), data,
                            (uint32_t)length);
}

int flash_area_write(const struct flash_area *at, off_t offset, const void *data, size_t length)
{
    return driver(at)->program(driver(at)->context, (uint32_t)(at->fa_off + offset), data,
                               (uint32_t)length);
}

/* The chip below erases by 4 and 64 KiB; the pages of a device may be smaller or larger. */
int flash_area_flatten(const struct flash_area *at, off_t offset, size_t length)
{
    uint32_t step = length % 65536 == 0 && (at->fa_off + offset) % 65536 == 0 ? 65536 : 4096;
    int result = 0;
    for (size_t done = 0; done < length && result == 0; done += step) {
        result = driver(at)->erase(driver(at)->context, (uint32_t)(at->fa_off + offset)
                                   + (uint32_t)done, step);
    }
    return result;
}

uint32_t flash_area_align(const struct flash_area *at)
{
    return at->fa_dev->unit;
}

const struct device *flash_area_get_device(const struct flash_area *at)
{
    return at->fa_dev;
}

void flash_page_foreach(const struct device *device, flash_page_cb callback, void *data)
{
    struct flash_pages_info page = {.start_offset = 0};
    for (size_t run = 0; run < 4; run++) {
        for (size_t i = 0; i < device->pages[run]; i++) {
            page.size = device->page_size[run];
            if (!callback(&page, data)) {
                return;
            }
            page.start_offset += (off_t)page.size;
            page.index++;
        }
    }
}

/* ---- what is above it: fs.c ------------------------------------------------------------------ */

static const struct fs_file_system_t *table;
static int registered;

int fs_register(int type, const struct fs_file_system_t *fs)
{
    CHECK_EQ(type, NF2_ZEPHYR_TYPE);
    registered++;
    table = fs;
    return 0;
}

int fs_mount(struct fs_mount_t *at)
{
    int result = table->mount(at);
    if (result >= 0) {
        at->mountp_len = strlen(at->mnt_point);
        at->fs = table;
    }
    return result;
}

static int fs_unmount(struct fs_mount_t *at)
{
    int result = at->fs != NULL ? at->fs->unmount(at) : -EINVAL;
    at->fs = result >= 0 ? NULL : at->fs;
    return result;
}

static int fs_open(struct fs_file_t *file, const char *path, int flags)
{
    if (file->mp != NULL) {
        return -EBUSY;
    }
    file->mp = strncmp(path, other->mnt_point, strlen(other->mnt_point)) == 0 ? other : mount;
    int result = table->open(file, path, (fs_mode_t)flags);
    file->mp = result < 0 ? NULL : file->mp;
    file->flags = (fs_mode_t)flags;
    if (result >= 0 && (flags & FS_O_TRUNC) != 0) {
        result = table->truncate(file, 0);
    }
    return result;
}

static int fs_close(struct fs_file_t *file)
{
    int result = file->mp != NULL ? table->close(file) : 0;
    file->mp = result < 0 ? file->mp : NULL;
    return result;
}

/* ---- a start and an end ---------------------------------------------------------------------- */

static void device_is(size_t i, size_t page, uint32_t unit)
{
    devices[i] = (struct device){.chip = vflash_new(vflash_chip_find("w25q80")), .unit = unit,
                                 .pages = {1024u * 1024u / page}, .page_size = {page}};
    vflash_set_strict(devices[i].chip, true);
}

/* Programs and erases of a device since the last reset of its counts. */
static uint64_t changes(size_t i)
{
    const struct vflash_counts *counts = vflash_counts(devices[i].chip);
    return counts->program_calls + counts->erases[0] + counts->erases[1] + counts->erases[2];
}

static struct nf2_zephyr *start(void)
{
    struct nf2_zephyr *volume = nf2_zephyr_volume(mount);
    device_is(0, 4096, 1);
    device_is(1, 4096, 1);
    last_log[0] = '\0';
    CHECK_EQ(stub_init(), 0);
    CHECK_EQ(volume->error, NF2_OK);
    return volume;
}

static void end(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct fs_mount_t *at = i == 0 ? mount : other;
        if (at->fs != NULL) {
            CHECK_EQ(nf2_check(&nf2_zephyr_volume(at)->fs, NULL, NULL), 0);
            CHECK_EQ(fs_unmount(at), 0);
        }
        CHECK_EQ(vflash_counts(devices[i].chip)->violations, 0);
        vflash_free(devices[i].chip);
    }
    CHECK_EQ(areas_open, 0);
    CHECK_EQ(locks_held, 0);
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(automount)
{
    int before = registered;
    start();
    CHECK_EQ(registered, before + 1);
    CHECK_EQ(stub_init_priority, CONFIG_FILE_SYSTEM_INIT_PRIORITY);
    CHECK_TEXT(stub_init_level, "POST_KERNEL");
    CHECK(mount->fs == table && other->fs == NULL);
    CHECK_TEXT(last_log, "warning: /nf2: blank chip: formatting");
    CHECK_EQ(areas_open, 1);
    CHECK_EQ(fs_mount(other), 0);
    CHECK_EQ(nf2_zephyr_volume(other)->flash.large_erase_size, 32768);
    CHECK_EQ(nf2_zephyr_volume(mount)->flash.large_erase_size, 65536);
    end();

    /* One that fails is told, and the start goes on. */
    device_is(0, 4096, 1);
    memset(vflash_memory(devices[0].chip), 0x5A, 1024 * 1024);
    CHECK_EQ(stub_init(), 0);
    CHECK(mount->fs == NULL && nf2_zephyr_volume(mount)->error == NF2_ERR_FOREIGN);
    CHECK_TEXT(last_log, "error: automount of /nf2 failed: -19");
    vflash_free(devices[0].chip);
}

TEST(files)
{
    struct fs_file_t file = {0}, second = {0}, third = {0};
    struct fs_dirent entry;
    struct fs_statvfs space;
    char text[16] = "";
    start();
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_READ), -ENOENT);
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_RDWR | FS_O_CREATE), 0);
    CHECK_EQ(table->write(&file, "hello world", 11), 11);
    CHECK_EQ(table->lseek(&file, -5, FS_SEEK_END), 0);
    CHECK_EQ(table->tell(&file), 6);
    CHECK_EQ(table->lseek(&file, 0, 7), -EINVAL);
    CHECK_EQ(table->lseek(&file, -7, FS_SEEK_CUR), -EINVAL);
    CHECK_EQ(table->read(&file, text, sizeof(text)), 5);
    CHECK_TEXT(text, "world");
    CHECK_EQ(table->truncate(&file, 5), 0);
    CHECK_EQ(table->truncate(&file, -1), -EINVAL);
    CHECK_EQ(table->truncate(&file, (off_t)1 << 31), -EFBIG);
    CHECK_EQ(table->sync(&file), 0);
    CHECK_EQ(fs_open(&second, "/nf2/a", FS_O_WRITE), -EBUSY);
    CHECK_EQ(fs_open(&second, "/nf2/a", FS_O_READ), 0);
    CHECK_EQ(fs_open(&third, "/nf2/a", FS_O_READ), -ENFILE);
    CHECK_EQ(table->sync(&second), 0);
    CHECK_EQ(fs_close(&second), 0);
    CHECK_EQ(fs_close(&file), 0);
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_WRITE | FS_O_APPEND), 0);
    CHECK_EQ(table->write(&file, "!", 1), 1);
    CHECK_EQ(fs_close(&file), 0);
    CHECK_EQ(table->stat(mount, "/nf2/a", &entry), 0);
    CHECK(entry.size == 6 && entry.type == FS_DIR_ENTRY_FILE && strcmp(entry.name, "a") == 0);
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_WRITE | FS_O_TRUNC), 0);
    CHECK_EQ(fs_close(&file), 0);
    CHECK_EQ(table->stat(mount, "/nf2/a", &entry), 0);
    CHECK_EQ(entry.size, 0);
    CHECK_EQ(table->statvfs(mount, "/nf2", &space), 0);
    CHECK(space.f_blocks == 128 && space.f_bfree > 90 && space.f_bfree < 128
          && space.f_frsize == 4096 && space.f_bsize == 256);

    /* An extension that does not fit changes nothing. */
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_WRITE), 0);
    static uint8_t much[400 * 1024];
    CHECK_EQ(table->write(&file, much, sizeof(much)), (ssize_t)sizeof(much));
    CHECK_EQ(table->write(&file, much, sizeof(much)), -ENOSPC);
    CHECK_EQ(table->tell(&file), (off_t)sizeof(much));

    /* Nothing of what was meant in part is synced, unless the program says that it is enough. */
    CHECK_EQ(table->sync(&file), -ENOSPC);
    CHECK_EQ(table->write(&file, much, 0), 0);
    CHECK_EQ(fs_close(&file), 0);
    CHECK_EQ(table->stat(mount, "/nf2/a", &entry), 0);
    CHECK_EQ(entry.size, sizeof(much));
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_WRITE | FS_O_APPEND), 0);
    CHECK_EQ(table->write(&file, "!", 1), 1);
    CHECK_EQ(table->write(&file, much, sizeof(much)), -ENOSPC);
    CHECK_EQ(fs_close(&file), -ENOSPC);
    CHECK_EQ(fs_close(&file), 0);
    CHECK_EQ(table->stat(mount, "/nf2/a", &entry), 0);
    CHECK_EQ(entry.size, sizeof(much));
    end();
}

/* More often than there are files: each one's place is free again. */
TEST(discard)
{
    struct fs_file_t file = {0};
    struct fs_dirent entry;
    start();
    CHECK_EQ(nf2_zephyr_discard(&file), -EBADF);
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_WRITE | FS_O_CREATE), 0);
    CHECK_EQ(table->write(&file, "old", 3), 3);
    CHECK_EQ(fs_close(&file), 0);
    for (int i = 0; i < CONFIG_NF2FS_FILES + 1; i++) {
        CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_WRITE | FS_O_TRUNC), 0);
        CHECK_EQ(table->write(&file, "longer", 6), 6);
        CHECK_EQ(nf2_zephyr_discard(&file), 0);
        CHECK_EQ(table->write(&file, "x", 1), -EBADF);
        CHECK_EQ(nf2_zephyr_discard(&file), 0);
        CHECK_EQ(fs_close(&file), 0);
        CHECK(file.mp == NULL);
        CHECK_EQ(table->stat(mount, "/nf2/a", &entry), 0);
        CHECK_EQ(entry.size, 3);
    }
    struct fs_mount_t fat = {.type = FS_FATFS};
    file.mp = &fat;
    CHECK_EQ(nf2_zephyr_discard(&file), -EBADF);
    end();
}

/* Each set of flags on a file that is there, and on one that is not. */
TEST(open_flags)
{
    struct fs_file_t file = {0};
    char text[4];
    start();
    for (int flags = 0; flags < 0x40; flags++) {
        if ((flags & 0x0C) != 0) {
            continue;
        }
        for (int there = 0; there < 2; there++) {
            struct fs_dirent entry;
            if (there != 0) {
                CHECK_EQ(fs_open(&file, "/nf2/f", FS_O_WRITE | FS_O_CREATE), 0);
                CHECK_EQ(table->write(&file, "abc", 3), 3);
                CHECK_EQ(fs_close(&file), 0);
            }
            bool opens = there != 0 || (flags & FS_O_CREATE) != 0;
            CHECK_EQ(fs_open(&file, "/nf2/f", flags), opens ? 0 : -ENOENT);
            if (!opens) {
                continue;
            }
            bool reads = (flags & FS_O_READ) != 0, writes = (flags & FS_O_WRITE) != 0;
            CHECK_EQ(table->tell(&file), 0);
            CHECK_EQ(table->read(&file, text, 3), !reads ? -EACCES : there * 3);
            CHECK_EQ(table->lseek(&file, 0, FS_SEEK_SET), 0);
            CHECK_EQ(table->write(&file, "xy", 2), writes ? 2 : -EACCES);
            CHECK_EQ(table->truncate(&file, 9), writes ? 0 : -EACCES);
            CHECK_EQ(table->sync(&file), 0);
            int end_of_write = there != 0 && (flags & FS_O_APPEND) != 0 ? 5 : 2;
            CHECK_EQ(table->tell(&file), writes ? end_of_write : 0);
            CHECK_EQ(fs_close(&file), 0);
            CHECK_EQ(table->stat(mount, "/nf2/f", &entry), 0);
            CHECK_EQ(entry.size, writes ? 9 : there * 3);
            CHECK_EQ(table->unlink(mount, "/nf2/f"), 0);
        }
    }
    CHECK_EQ(table->mkdir(mount, "/nf2/d"), 0);
    CHECK_EQ(fs_open(&file, "/nf2/d", FS_O_CREATE), -EISDIR);
    CHECK_EQ(fs_open(&file, "/nf2", FS_O_READ), -EISDIR);

    /* A file that another handle writes, and that is not synced yet. */
    struct fs_file_t writer = {0};
    CHECK_EQ(fs_open(&writer, "/nf2/new", FS_O_WRITE | FS_O_CREATE), 0);
    CHECK_EQ(fs_open(&file, "/nf2/new", FS_O_READ | FS_O_CREATE), 0);
    CHECK_EQ(fs_close(&file), 0);
    CHECK_EQ(fs_close(&writer), 0);
    end();
}

static struct fs_file_t racer;

static void create_raced(void)
{
    CHECK_EQ(fs_open(&racer, "/nf2/raced", FS_O_WRITE | FS_O_CREATE), 0);
}

/* Another thread creates the file between the look and the creation, and still writes it. */
TEST(raced_creation)
{
    struct fs_file_t file = {0};
    start();
    other_thread = create_raced;
    other_thread_after = 2;     /* of the table of files, and of the look */
    CHECK_EQ(fs_open(&file, "/nf2/raced", FS_O_READ | FS_O_CREATE), 0);
    CHECK(other_thread == NULL && racer.mp != NULL);
    CHECK_EQ(fs_close(&racer), 0);
    CHECK_EQ(fs_close(&file), 0);
    end();
}

TEST(names)
{
    struct fs_dir_t dir = {.mp = mount}, second = {.mp = mount};
    struct fs_dirent entry;
    start();
    CHECK_EQ(table->mkdir(mount, "/nf2/d"), 0);
    CHECK_EQ(table->mkdir(mount, "/nf2/d"), -EEXIST);
    CHECK_EQ(table->mkdir(mount, "/nf2/d/e"), 0);
    CHECK_EQ(table->unlink(mount, "/nf2/d"), -ENOTEMPTY);
    CHECK_EQ(table->rename(mount, "/nf2/d/e", "/nf2/f"), 0);
    CHECK_EQ(table->opendir(&dir, "/nf2"), 0);
    CHECK_EQ(table->opendir(&second, "/nf2"), -ENFILE);
    CHECK_EQ(table->readdir(&dir, &entry), 0);
    CHECK(strcmp(entry.name, "d") == 0 && entry.type == FS_DIR_ENTRY_DIR);
    CHECK_EQ(table->readdir(&dir, &entry), 0);
    CHECK_TEXT(entry.name, "f");
    CHECK_EQ(table->readdir(&dir, &entry), 0);
    CHECK_TEXT(entry.name, "");
    CHECK_EQ(table->closedir(&dir), 0);
    CHECK_EQ(table->opendir(&dir, "/nf2/none"), -ENOENT);
    CHECK_EQ(table->opendir(&dir, "/nf2/d"), 0);
    CHECK_EQ(table->closedir(&dir), 0);
    CHECK_EQ(table->unlink(mount, "/nf2/d"), 0);
    char name[5 + 255 + 1] = "/nf2/";
    memset(name + 5, 'n', 255);
    CHECK_EQ(table->mkdir(mount, name), 0);
    CHECK_EQ(table->stat(mount, name, &entry), 0);
    CHECK_TEXT(entry.name, name + 5);
    end();
}

/* What a mount does with what it finds, by its flags. */
TEST(mount_flags)
{
    struct nf2_zephyr *volume = start();
    struct fs_file_t file = {0};
    CHECK_EQ(fs_unmount(mount), 0);
    CHECK_EQ(fs_unmount(mount), -EINVAL);
    mount->flags = FS_MOUNT_FLAG_READ_ONLY;
    vflash_counts_reset(devices[0].chip);
    CHECK_EQ(fs_mount(mount), 0);
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_WRITE | FS_O_CREATE), -EROFS);
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_CREATE), -EROFS);
    CHECK_EQ(table->mkdir(mount, "/nf2/d"), -EROFS);
    CHECK_EQ(fs_unmount(mount), 0);
    CHECK_EQ(changes(0), 0);

    mount->flags = FS_MOUNT_FLAG_USE_DISK_ACCESS;
    CHECK_EQ(fs_mount(mount), -ENOTSUP);
    static const struct { int fill; bool foreign; uint8_t flags; int result, error; } cases[] = {
        {0xFF, true, FS_MOUNT_FLAG_NO_FORMAT, -ENODEV, NF2_ERR_BLANK},
        {0xFF, true, FS_MOUNT_FLAG_READ_ONLY, -ENODEV, NF2_ERR_BLANK},
        {0x5A, true, FS_MOUNT_FLAG_NO_FORMAT, -ENODEV, NF2_ERR_FOREIGN},
        {0x5A, true, FS_MOUNT_FLAG_READ_ONLY, -ENODEV, NF2_ERR_FOREIGN},
        {0x5A, false, 0, -ENODEV, NF2_ERR_FOREIGN},
        {0x5A, true, 0, 0, NF2_OK},
        {0xFF, false, 0, 0, NF2_OK},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        vflash_free(devices[0].chip);
        device_is(0, 4096, 1);
        memset(vflash_memory(devices[0].chip), cases[i].fill, 1024 * 1024);
        volume->format_foreign = cases[i].foreign;
        mount->flags = cases[i].flags;
        CHECK_EQ(fs_mount(mount), cases[i].result);
        CHECK_EQ(volume->error, cases[i].error);
        CHECK_EQ(areas_open, cases[i].result == 0);
        CHECK_EQ(fs_unmount(mount), cases[i].result == 0 ? 0 : -EINVAL);
        CHECK(cases[i].result == 0 || changes(0) == 0);
    }

    /* A damaged volume is not formatted; mkfs does it. */
    CHECK_EQ(fs_mount(mount), 0);
    CHECK_EQ(fs_unmount(mount), 0);
    volume->format_foreign = true;
    for (uint32_t at = 65536 + 4096; at < 1024 * 1024; at++) {
        vflash_memory(devices[0].chip)[at] = 0;
    }
    CHECK_EQ(fs_mount(mount), -EFAULT);
    CHECK_EQ(volume->error, NF2_ERR_CORRUPT);
    volume->format_foreign = false;
    end();
    mount->flags = FS_MOUNT_FLAG_AUTOMOUNT;
}

TEST(one_mount_of_a_partition)
{
    static struct nf2_zephyr again;
    struct fs_mount_t second = {.type = NF2_ZEPHYR_TYPE, .mnt_point = "/again", .fs_data = &again,
                                .storage_dev = (void *)3};
    struct nf2_zephyr *volume = start();
    CHECK_EQ(table->mount(&second), -EBUSY);
    second.storage_dev = (void *)4;
    second.fs_data = volume;
    CHECK_EQ(table->mount(&second), -EBUSY);
    second.storage_dev = (void *)9;
    second.fs_data = &again;
    CHECK_EQ(table->mount(&second), -ENOENT);
    CHECK_EQ(table->mkfs(3, NULL, 0), -EBUSY);
    CHECK_EQ(table->mkfs(4, volume, 0), -EBUSY);
    CHECK_EQ(table->mkdir(mount, "/nf2/d"), 0);
    CHECK_EQ(fs_unmount(mount), 0);
    second.storage_dev = (void *)3;
    CHECK_EQ(table->mount(&second), 0);
    CHECK_EQ(fs_mount(mount), -EBUSY);
    CHECK_EQ(table->unmount(&second), 0);
    end();
}

TEST(mkfs)
{
    static struct nf2_zephyr own;
    struct fs_dirent entry;
    start();
    CHECK_EQ(table->mkdir(mount, "/nf2/d"), 0);
    CHECK_EQ(fs_unmount(mount), 0);
    CHECK_EQ(table->mkfs(3, NULL, FS_MOUNT_FLAG_USE_DISK_ACCESS), -ENOTSUP);
    CHECK_EQ(table->mkfs(9, NULL, 0), -ENOENT);
    CHECK_EQ(fs_mount(mount), 0);
    CHECK_EQ(table->stat(mount, "/nf2/d", &entry), 0);
    CHECK_EQ(fs_unmount(mount), 0);
    CHECK_EQ(table->mkfs(3, NULL, 0), 0);
    CHECK_EQ(areas_open, 0);
    mount->flags = FS_MOUNT_FLAG_NO_FORMAT;
    CHECK_EQ(fs_mount(mount), 0);
    CHECK_EQ(table->stat(mount, "/nf2/d", &entry), -ENOENT);
    CHECK_EQ(fs_unmount(mount), 0);
    areas[0].fa_size = (NF2_BLOCKS_MIN - 1u) * 4096u;
    CHECK_EQ(table->mkfs(3, &own, 0), -ENOSPC);
    CHECK_EQ(own.error, NF2_ERR_NOSPC);
    areas[0].fa_size = 512 * 1024;
    mount->flags = FS_MOUNT_FLAG_AUTOMOUNT;
    end();
}

/* So many blocks, but fewer than a volume needs. */
#define FEWER(blocks) ((blocks) < NF2_BLOCKS_MIN ? (blocks) : NF2_BLOCKS_MIN - 1u)

/* The size of a block comes from the layout of the flash driver. */
TEST(geometry)
{
    static const struct {
        size_t pages[4], page_size[4];
        off_t offset;
        size_t size;
        uint32_t unit, block, large;    /* block 0: refused; then large 1: for its size alone */
    } cases[] = {
        {{256}, {4096}, 65536, 512 * 1024, 1, 4096, 65536},
        {{256}, {4096}, 65536 + 4096, 512 * 1024, 1, 4096, 0},
        {{512}, {2048}, 65536, 512 * 1024, 1, 4096, 65536},         /* pages of 2 KiB in pairs */
        {{512}, {2048}, 65536 + 4096, 512 * 1024 - 2048, 1, 4096, 0},
        {{16}, {65536}, 0, FEWER(16) * 65536, 1, 0, 1},             /* too few blocks */
        {{64}, {16384}, 0, 1024 * 1024, 1, 16384, 65536},
        {{32, 28}, {4096, 32768}, 0, 1024 * 1024, 1, 32768, 65536}, /* small ones in front */
        {{32, 28}, {4096, 32768}, 65536, FEWER(8) * 32768, 1, 0, 1},
        {{1, 63}, {4096, 16384}, 0, 63 * 16384 + 4096, 1, 0, 0},    /* they do not fit together */
        {{8}, {131072}, 0, 1024 * 1024, 1, 0, 0},                   /* too large for a block */
        {{341}, {3072}, 0, 341 * 3072, 1, 0, 0},                    /* not a power of two */
        {{256}, {4096}, 65536 + 2048, 512 * 1024, 1, 0, 0},         /* begins within a page */
        {{256}, {4096}, 65536, 512 * 1024 + 2048, 1, 0, 0},         /* ends within a page */
        {{256}, {4096}, 65536, 512 * 1024, 8, 4096, 65536},
        {{256}, {4096}, 65536, 512 * 1024, 32, 4096, 65536},
        {{256}, {4096}, 65536, 512 * 1024, 64, 0, 0},               /* the unit is too large */
        {{256}, {4096}, 65536, 512 * 1024, 12, 0, 0},
        {{256}, {4096}, 65536, 512 * 1024, 0, 0, 0},
        {{0}, {4096}, 65536, 512 * 1024, 1, 0, 0},                  /* the driver tells no pages */
    };
    struct nf2_zephyr *volume = nf2_zephyr_volume(mount);
    mount->flags = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        device_is(0, 4096, cases[i].unit);
        memcpy(devices[0].pages, cases[i].pages, sizeof(cases[i].pages));
        memcpy(devices[0].page_size, cases[i].page_size, sizeof(cases[i].page_size));
        areas[0].fa_off = cases[i].offset;
        areas[0].fa_size = cases[i].size;
        int result = fs_mount(mount);
        if (cases[i].block == 0) {
            CHECK_EQ(result, cases[i].large == 1 ? -ENOSPC : -EINVAL);
            CHECK(strncmp(last_log, "error: ", 7) == 0);
            CHECK_EQ(areas_open, 0);
        } else if (CHECK_EQ(result, 0)) {
            struct fs_file_t file = {0};
            CHECK_EQ(volume->flash.block_size, cases[i].block);
            CHECK_EQ(volume->flash.large_erase_size, cases[i].large);
            CHECK_EQ(volume->flash.program_unit, cases[i].unit);
            CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_WRITE | FS_O_CREATE), 0);
            static const uint8_t data[40000];
            CHECK_EQ(table->write(&file, data, sizeof(data)), (ssize_t)sizeof(data));
            CHECK_EQ(fs_close(&file), 0);
            CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
            CHECK_EQ(fs_unmount(mount), 0);
        }
        CHECK_EQ(vflash_counts(devices[0].chip)->violations, 0);
        vflash_free(devices[0].chip);
    }
    areas[0].fa_off = 65536;
    areas[0].fa_size = 512 * 1024;
    mount->flags = FS_MOUNT_FLAG_AUTOMOUNT;
}

/* Zephyr keeps what failed to close or unmount: it must be possible to get rid of it. */
TEST(failed_close_and_unmount)
{
    struct fs_file_t file = {0};
    struct fs_dir_t dir = {.mp = mount};
    struct fs_dirent entry;
    char text[4];
    start();
    CHECK_EQ(fs_open(&file, "/nf2/a", FS_O_RDWR | FS_O_CREATE), 0);
    CHECK_EQ(table->write(&file, "abc", 3), 3);
    CHECK_EQ(table->opendir(&dir, "/nf2"), 0);
    vflash_fail_from(devices[0].chip, 1, UINT32_MAX);
    CHECK_EQ(fs_close(&file), -EIO);
    CHECK(file.mp != NULL);
    CHECK_EQ(table->read(&file, text, 1), -EBADF);
    CHECK_EQ(table->write(&file, text, 1), -EBADF);
    CHECK_EQ(table->truncate(&file, 1), -EBADF);
    CHECK_EQ(table->lseek(&file, 0, FS_SEEK_SET), -EBADF);
    CHECK_EQ(table->tell(&file), -EBADF);
    CHECK_EQ(table->sync(&file), -EBADF);
    CHECK_EQ(fs_close(&file), 0);
    CHECK(file.mp == NULL);
    CHECK_EQ(fs_unmount(mount), -EIO);
    CHECK(mount->fs != NULL);
    CHECK_EQ(areas_open, 0);
    CHECK_EQ(table->mkdir(mount, "/nf2/d"), -EINVAL);
    CHECK_EQ(fs_unmount(mount), 0);
    CHECK(mount->fs == NULL);
    CHECK_EQ(table->readdir(&dir, &entry), -EBADF);
    CHECK_EQ(table->closedir(&dir), -EBADF);
    CHECK_EQ(table->readdir(&dir, &entry), -EBADF);
    CHECK_EQ(table->closedir(&dir), 0);
    vflash_fail_at(devices[0].chip, 0);
    CHECK_EQ(fs_mount(mount), 0);
    CHECK_EQ(table->opendir(&dir, "/nf2"), 0); /* its slot is free again */
    CHECK_EQ(table->closedir(&dir), 0);
    end();
}

int main(void)
{
    RUN(automount);
    RUN(files);
    RUN(discard);
    RUN(open_flags);
    RUN(raced_creation);
    RUN(names);
    RUN(mount_flags);
    RUN(one_mount_of_a_partition);
    RUN(mkfs);
    RUN(geometry);
    RUN(failed_close_and_unmount);
    return check_done();
}
