/* SPDX-License-Identifier: BSD-2-Clause */
/* test_arguments.c - every call with each of its arguments missing or wrong, on a volume that is mounted and on one that is not: a code, and nothing happens. */
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "inspect/inspect.h"

/* Each call of a volume that is not mounted. */
static void refused_by_all(nf2_t *fs, uint8_t *page)
{
    struct nf2_statfs statfs;
    struct nf2_health health;
    struct nf2_stat stat;
    struct nf2_dirent entry;
    nf2_file_t file;
    nf2_dir_t dir;
    uint8_t data[4] = { 0 };

    memset(&file, 0, sizeof file);
    memset(&dir, 0, sizeof dir);
    CHECK_EQ(nf2_unmount(fs), NF2_ERR_INVAL);
    CHECK_EQ(nf2_statfs(fs, &statfs), NF2_ERR_INVAL);
    CHECK_EQ(nf2_health(fs, &health), NF2_ERR_INVAL);
    CHECK_EQ(nf2_block_state(fs, 0, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_maintain(fs, 1000), NF2_ERR_INVAL);
    CHECK_EQ(nf2_check(fs, NULL, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_stat(fs, "a", &stat), NF2_ERR_INVAL);
    CHECK_EQ(nf2_mkdir(fs, "a"), NF2_ERR_INVAL);
    CHECK_EQ(nf2_remove(fs, "a"), NF2_ERR_INVAL);
    CHECK_EQ(nf2_rename(fs, "a", "b"), NF2_ERR_INVAL);
    CHECK_EQ(nf2_opendir(fs, &dir, "/"), NF2_ERR_INVAL);
    CHECK_EQ(nf2_readdir(fs, &dir, &entry), NF2_ERR_BADF);
    CHECK_EQ(nf2_rewinddir(fs, &dir), NF2_ERR_BADF);
    CHECK_EQ(nf2_closedir(fs, &dir), NF2_ERR_BADF);
    CHECK_EQ(nf2_open(fs, &file, "a", NF2_O_RDWR | NF2_O_CREAT, page), NF2_ERR_INVAL);
    CHECK_EQ(nf2_read(fs, &file, data, sizeof data), NF2_ERR_BADF);
    CHECK_EQ(nf2_write(fs, &file, data, sizeof data), NF2_ERR_BADF);
    CHECK_EQ(nf2_seek(fs, &file, 0, NF2_SEEK_SET), NF2_ERR_BADF);
    CHECK_EQ(nf2_tell(fs, &file), NF2_ERR_BADF);
    CHECK_EQ(nf2_size(fs, &file), NF2_ERR_BADF);
    CHECK_EQ(nf2_truncate(fs, &file, 0), NF2_ERR_BADF);
    CHECK_EQ(nf2_preallocate(fs, &file, 0), NF2_ERR_BADF);
    CHECK_EQ(nf2_sync(fs, &file), NF2_ERR_BADF);
    CHECK_EQ(nf2_close(fs, &file), NF2_ERR_BADF);
}

TEST(not_mounted)
{
    struct volume volume;
    nf2_t never;

    memset(&never, 0, sizeof never);
    volume_new(&volume, "tiny256k");
    refused_by_all(&never, volume.page);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_BLANK);
    refused_by_all(&volume.fs, volume.page);
    void *buffer = volume.config.buffer;
    volume.config.buffer = NULL;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_INVAL);
    refused_by_all(&volume.fs, volume.page);
    volume.config.buffer = buffer;
    volume_down(&volume, false);
    volume_up(&volume, "tiny256k");
    CHECK_EQ(put(&volume, "a", 3000, 1), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    uint64_t before = chip_changes(volume.flash);
    refused_by_all(&volume.fs, volume.page);
    CHECK_EQ(chip_changes(volume.flash), before);
    volume_down(&volume, false);
}

TEST(nothing_to_mount)
{
    struct volume volume;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    CHECK_EQ(nf2_mount(NULL, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_INVAL);
    CHECK_EQ(nf2_format(NULL, &volume.config, NF2_FORMAT_QUICK), NF2_ERR_INVAL);
    CHECK_EQ(nf2_mount(&volume.fs, NULL, NF2_MOUNT_RDWR), NF2_ERR_INVAL);
    CHECK_EQ(nf2_format(&volume.fs, NULL, NF2_FORMAT_QUICK), NF2_ERR_INVAL);
    refused_by_all(&volume.fs, volume.page);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, 2), NF2_ERR_INVAL);
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, 2), NF2_ERR_INVAL);
    volume.config.size = (NF2_BLOCKS_MIN - 1u) * volume.driver.block_size;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_GEOMETRY);
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_ERR_NOSPC);
    volume.config.size = 0;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    volume_down(&volume, true);
}

TEST(missing)
{
    struct volume volume;
    struct nf2_stat stat;
    struct nf2_dirent entry;
    nf2_file_t file;
    nf2_dir_t dir, none;
    uint8_t data[4] = { 0 };

    volume_up(&volume, "tiny256k");
    nf2_t *fs = &volume.fs;
    CHECK_EQ(put(&volume, "a", 300, 1), NF2_OK);
    uint64_t before = chip_changes(volume.flash);
    CHECK_EQ(nf2_statfs(fs, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_health(fs, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_block_state(fs, volume.driver.chip_size / volume.driver.block_size, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_stat(fs, NULL, &stat), NF2_ERR_INVAL);
    CHECK_EQ(nf2_stat(fs, "a", NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_mkdir(fs, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_remove(fs, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_rename(fs, NULL, "b"), NF2_ERR_INVAL);
    CHECK_EQ(nf2_rename(fs, "a", NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_opendir(fs, NULL, "/"), NF2_ERR_INVAL);
    CHECK_EQ(nf2_opendir(fs, &dir, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_opendir(fs, &dir, "/"), NF2_OK);
    CHECK_EQ(nf2_readdir(fs, NULL, &entry), NF2_ERR_BADF);
    CHECK_EQ(nf2_readdir(fs, &dir, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_rewinddir(fs, NULL), NF2_ERR_BADF);
    CHECK_EQ(nf2_closedir(fs, NULL), NF2_ERR_BADF);
    memset(&none, 0, sizeof none);
    CHECK_EQ(nf2_readdir(fs, &none, &entry), NF2_ERR_BADF);
    CHECK_EQ(nf2_readdir(fs, &dir, &entry), 1);
    CHECK_EQ(nf2_closedir(fs, &dir), NF2_OK);
    CHECK_EQ(nf2_open(fs, NULL, "a", NF2_O_RDWR, volume.page), NF2_ERR_INVAL);
    CHECK_EQ(nf2_open(fs, &file, NULL, NF2_O_RDWR, volume.page), NF2_ERR_INVAL);
    CHECK_EQ(nf2_open(fs, &file, "a", NF2_O_RDWR, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_open(fs, &file, "a", NF2_O_RDONLY | NF2_O_APPEND, NULL), NF2_ERR_INVAL);
    CHECK_EQ(nf2_open(fs, &file, "a", NF2_O_RDWR | 0x400, volume.page), NF2_ERR_INVAL);
    CHECK_EQ(nf2_close(fs, NULL), NF2_ERR_BADF);
    CHECK_EQ(nf2_open(fs, &file, "a", NF2_O_RDWR, volume.page), NF2_OK);
    CHECK_EQ(nf2_open(fs, &file, "a", NF2_O_RDWR, volume.page), NF2_ERR_INVAL);
    CHECK_EQ(nf2_read(fs, &file, NULL, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_read(fs, &file, NULL, 0), 0);
    CHECK_EQ(nf2_read(fs, &file, data, NF2_FILE_MAX + 1u), NF2_ERR_INVAL);
    CHECK_EQ(nf2_write(fs, &file, NULL, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_write(fs, &file, NULL, 0), 0);
    CHECK_EQ(nf2_write(fs, &file, data, NF2_FILE_MAX + 1u), NF2_ERR_INVAL);
    CHECK_EQ(nf2_seek(fs, &file, 0, -1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_seek(fs, &file, 0, 3), NF2_ERR_INVAL);
    CHECK_EQ(nf2_truncate(fs, &file, NF2_FILE_MAX + 1u), NF2_ERR_FBIG);
    CHECK_EQ(nf2_preallocate(fs, &file, NF2_FILE_MAX + 1u), NF2_ERR_FBIG);
    CHECK_EQ(nf2_close(fs, &file), NF2_OK);
    CHECK_EQ(chip_changes(volume.flash), before);
    CHECK(holds(&volume, "a", 300, 1));
    volume_down(&volume, true);
}

/* New files of several directories, unsynced, in a listing of one of them. */
TEST(unsynced_listed)
{
    static const char *const names[] = { "d/c", "m", "d/a" };
    struct volume volume;
    nf2_file_t file[3];
    static uint8_t page[3][NF2_PAGE_MAX];
    struct nf2_dirent entry;
    nf2_dir_t dir;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(nf2_mkdir(&volume.fs, "d"), NF2_OK);
    CHECK_EQ(put(&volume, "d/b", 10, 1), NF2_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(nf2_open(&volume.fs, &file[i], names[i], NF2_O_WRONLY | NF2_O_CREAT, page[i]), NF2_OK);
    }
    CHECK_EQ(nf2_opendir(&volume.fs, &dir, "d"), NF2_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(nf2_readdir(&volume.fs, &dir, &entry), 1);
        CHECK(entry.name[0] == (char)('a' + (int)i) && entry.name[1] == 0);
    }
    CHECK_EQ(nf2_readdir(&volume.fs, &dir, &entry), 0);
    CHECK_EQ(nf2_closedir(&volume.fs, &dir), NF2_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(nf2_close(&volume.fs, &file[i]), NF2_OK);
    }
    volume_down(&volume, true);
}

/* More blocks than a volume can have; and reads that fail while format looks for what was there. */
TEST(too_large_and_unread)
{
    struct volume volume;

    volume_new(&volume, "tiny256k");
    uint32_t size = volume.driver.chip_size;
    volume.driver.chip_size = 0x80000000u;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_GEOMETRY);
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_ERR_GEOMETRY);
    volume.driver.chip_size = size;
    volume.driver.large_erase_size = volume.driver.block_size;
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_ERR_GEOMETRY);
    volume.driver.large_erase_size = 0;
    for (unsigned i = 1; i < 3; i++) {
        vflash_fail_at(volume.flash, i);
        CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_OK);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        CHECK_EQ(put(&volume, "a", 1000, i), NF2_OK);
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    }
    CHECK(strcmp(nf2_error_text(NF2_ERR_IO - 256), nf2_error_text(NF2_ERR_IO)) != 0);
    volume_down(&volume, true);
}

static void count_call(void *context)
{
    ++*(unsigned *)context;
}

/* Either hook alone. */
TEST(one_hook)
{
    struct volume volume;
    unsigned calls = 0;

    volume_up(&volume, "tiny256k");
    volume.config.lock_context = &calls;
    volume.config.lock = count_call;
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK(calls > 0);
    unsigned locked = calls;
    volume.config.lock = NULL;
    volume.config.unlock = count_call;
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK(calls > locked);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(not_mounted);
    RUN(nothing_to_mount);
    RUN(missing);
    RUN(unsynced_listed);
    RUN(too_large_and_unread);
    RUN(one_hook);
    return check_done();
}
