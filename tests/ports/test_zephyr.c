/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_zephyr.c - the glue for Zephyr through its table of
 * operations, over a flash area on the virtual chip.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>

#include "check.h"
#include "nf2_zephyr.h"
#include "vflash.h"
#include <zephyr/fs/fs_sys.h>

extern int (*const stub_init)(void);
static const struct fs_file_system_t *table;
static struct vflash *chip;
static struct flash_area area = {.fa_id = 3, .fa_off = 65536, .fa_size = 512 * 1024};
static int areas_open;

int fs_register(int type, const struct fs_file_system_t *fs)
{
    CHECK_EQ(type, NF2_ZEPHYR_TYPE);
    table = fs;
    return 0;
}

int k_mutex_init(struct k_mutex *mutex)
{
    mutex->count = 0;
    return 0;
}

int k_mutex_lock(struct k_mutex *mutex, int wait)
{
    (void)wait;
    mutex->count++;
    return 0;
}

int k_mutex_unlock(struct k_mutex *mutex)
{
    mutex->count--;
    return 0;
}

int flash_area_open(uint8_t id, const struct flash_area **out)
{
    *out = &area;
    areas_open += id == area.fa_id;
    return id == area.fa_id ? 0 : -ENOENT;
}

void flash_area_close(const struct flash_area *at)
{
    areas_open -= at == &area;
}

int flash_area_read(const struct flash_area *at, off_t offset, void *data, size_t length)
{
    const struct nf2_flash *flash = vflash_driver(chip);
    return flash->read(flash->context, (uint32_t)(at->fa_off + offset), data, (uint32_t)length);
}

int flash_area_write(const struct flash_area *at, off_t offset, const void *data, size_t length)
{
    const struct nf2_flash *flash = vflash_driver(chip);
    return flash->program(flash->context, (uint32_t)(at->fa_off + offset), data, (uint32_t)length);
}

int flash_area_erase(const struct flash_area *at, off_t offset, size_t length)
{
    const struct nf2_flash *flash = vflash_driver(chip);
    return flash->erase(flash->context, (uint32_t)(at->fa_off + offset), (uint32_t)length);
}

uint32_t flash_area_align(const struct flash_area *at)
{
    (void)at;
    return 1;
}

static struct nf2_zephyr volume;
static struct fs_mount_t mount = {
    .type = NF2_ZEPHYR_TYPE,
    .mnt_point = "/nf2",
    .mountp_len = 4,
    .fs_data = &volume,
    .storage_dev = (void *)3,
};

static void begin(void)
{
    CHECK_EQ(stub_init(), 0);
    chip = vflash_new(vflash_chip_find("w25q80"));
    mount.flags = FS_MOUNT_FLAG_NO_FORMAT;
    CHECK_EQ(table->mount(&mount), -EIO);
    CHECK_EQ(areas_open, 0);
    mount.flags = 0;
    CHECK_EQ(table->mount(&mount), 0);
}

static void end(void)
{
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(table->unmount(&mount), 0);
    CHECK_EQ(areas_open, 0);
    CHECK_EQ(volume.mutex.count, 0);
    vflash_free(chip);
}

TEST(files)
{
    struct fs_file_t file = {.mp = &mount}, other = {.mp = &mount}, third = {.mp = &mount};
    struct fs_dirent entry;
    struct fs_statvfs space;
    char text[16] = "";
    begin();
    CHECK_EQ(table->open(&file, "/nf2/a", FS_O_READ), -ENOENT);
    CHECK_EQ(table->open(&file, "/nf2/a", FS_O_READ | FS_O_WRITE | FS_O_CREATE), 0);
    CHECK_EQ(table->write(&file, "hello world", 11), 11);
    CHECK_EQ(table->lseek(&file, -5, FS_SEEK_END), 0);
    CHECK_EQ(table->tell(&file), 6);
    CHECK_EQ(table->read(&file, text, sizeof(text)), 5);
    CHECK_TEXT(text, "world");
    CHECK_EQ(table->truncate(&file, 5), 0);
    CHECK_EQ(table->truncate(&file, -1), -EINVAL);
    CHECK_EQ(table->sync(&file), 0);
    CHECK_EQ(table->open(&other, "/nf2/a", FS_O_WRITE), -EBUSY);
    CHECK_EQ(table->open(&other, "/nf2/a", FS_O_READ), 0);
    CHECK_EQ(table->open(&third, "/nf2/a", FS_O_READ), -ENFILE);
    CHECK_EQ(table->sync(&other), 0);
    CHECK_EQ(table->close(&other), 0);
    CHECK_EQ(table->close(&file), 0);
    CHECK_EQ(table->open(&file, "/nf2/a", FS_O_WRITE | FS_O_APPEND), 0);
    CHECK_EQ(table->write(&file, "!", 1), 1);
    CHECK_EQ(table->close(&file), 0);
    CHECK_EQ(table->stat(&mount, "/nf2/a", &entry), 0);
    CHECK(entry.size == 6 && entry.type == FS_DIR_ENTRY_FILE && strcmp(entry.name, "a") == 0);
    CHECK_EQ(table->statvfs(&mount, "/nf2", &space), 0);
    CHECK(space.f_blocks == 128 && space.f_bfree > 90 && space.f_bsize == 4096);
    end();
}

TEST(names)
{
    struct fs_dir_t dir = {.mp = &mount}, other = {.mp = &mount};
    struct fs_dirent entry;
    begin();
    CHECK_EQ(table->mkdir(&mount, "/nf2/d"), 0);
    CHECK_EQ(table->mkdir(&mount, "/nf2/d"), -EEXIST);
    CHECK_EQ(table->mkdir(&mount, "/nf2/d/e"), 0);
    CHECK_EQ(table->unlink(&mount, "/nf2/d"), -ENOTEMPTY);
    CHECK_EQ(table->rename(&mount, "/nf2/d/e", "/nf2/f"), 0);
    CHECK_EQ(table->opendir(&dir, "/nf2"), 0);
    CHECK_EQ(table->opendir(&other, "/nf2"), -ENFILE);
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
    CHECK_EQ(table->unlink(&mount, "/nf2/d"), 0);
    end();
}

int main(void)
{
    RUN(files);
    RUN(names);
    return check_done();
}
