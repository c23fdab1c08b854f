/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_esp.c - the component for ESP-IDF, over partitions on a virtual chip. What ESP-IDF's virtual
 * file system does between fopen("/files/a") and the component is done here by vfs_*.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* fopencookie */
#endif

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "esp_nf2fs.h"
#include "esp_vfs.h"
#include "nf2_esp.h"
#include "vflash.h"

/* ---- what the component finds below it ------------------------------------------------------- */

static struct vflash *chip;
static esp_partition_t partitions[3];
static int critical;

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type,
                                                esp_partition_subtype_t subtype, const char *label)
{
    (void)subtype;
    for (size_t i = 0; i < 3; i++) {
        if (type == ESP_PARTITION_TYPE_DATA && strcmp(label, partitions[i].label) == 0) {
            return &partitions[i];
        }
    }
    return NULL;
}

static const struct nf2_flash *driver(void)
{
    return vflash_driver(chip);
}

esp_err_t esp_partition_read(const esp_partition_t *at, size_t offset, void *data, size_t length)
{
    int result = driver()->read(driver()->context, at->address + (uint32_t)offset, data,
                                (uint32_t)length);
    return result == 0 ? ESP_OK : ESP_ERR_INVALID_SIZE;
}

/* As ESP-IDF, which refuses both on a partition that is read-only. */
esp_err_t esp_partition_write(const esp_partition_t *at, size_t offset, const void *data,
                              size_t length)
{
    int result = driver()->program(driver()->context, at->address + (uint32_t)offset, data,
                                   (uint32_t)length);
    return at->readonly ? ESP_ERR_NOT_ALLOWED : result == 0 ? ESP_OK : ESP_ERR_INVALID_SIZE;
}

esp_err_t esp_partition_erase_range(const esp_partition_t *at, size_t offset, size_t length)
{
    if (at->readonly || offset % at->erase_size != 0 || length % at->erase_size != 0) {
        return at->readonly ? ESP_ERR_NOT_ALLOWED : ESP_ERR_INVALID_ARG;
    }
    uint32_t begin = at->address + (uint32_t)offset;
    uint32_t step = length % 65536 == 0 && begin % 65536 == 0 ? 65536 : 4096;
    int result = 0;
    for (uint32_t done = 0; done < length && result == 0; done += step) {
        result = driver()->erase(driver()->context, begin + done, step);
    }
    return result == 0 ? ESP_OK : ESP_ERR_INVALID_SIZE;
}

SemaphoreHandle_t xSemaphoreCreateRecursiveMutexStatic(StaticSemaphore_t *memory)
{
    return memory;
}

int xSemaphoreTakeRecursive(SemaphoreHandle_t mutex, unsigned ticks)
{
    (void)ticks;
    critical++;
    return ++mutex->count;
}

int xSemaphoreGiveRecursive(SemaphoreHandle_t mutex)
{
    critical--;
    return --mutex->count;
}

/* ---- what is above it: the virtual file system ----------------------------------------------- */

#define MOUNTS 2
static struct { char base[ESP_VFS_PATH_MAX + 1]; esp_vfs_t table; void *context; } mounts[MOUNTS];
static esp_err_t refuse_register;

esp_err_t esp_vfs_register(const char *base_path, const esp_vfs_t *vfs, void *context)
{
    for (size_t i = 0; i < MOUNTS && refuse_register == ESP_OK; i++) {
        if (mounts[i].base[0] == '\0') {
            strcpy(mounts[i].base, base_path);
            mounts[i].table = *vfs;
            mounts[i].context = context;
            return ESP_OK;
        }
    }
    return refuse_register != ESP_OK ? refuse_register : ESP_ERR_NO_MEM;
}

esp_err_t esp_vfs_unregister(const char *base_path)
{
    for (size_t i = 0; i < MOUNTS; i++) {
        if (strcmp(mounts[i].base, base_path) == 0) {
            mounts[i].base[0] = '\0';
            return ESP_OK;
        }
    }
    return ESP_ERR_INVALID_STATE;
}

static size_t mount_of(const char *path)
{
    for (size_t i = 0; i < MOUNTS; i++) {
        size_t length = strlen(mounts[i].base);
        if (length > 0 && strncmp(path, mounts[i].base, length) == 0) {
            return i;
        }
    }
    CHECK(false);
    return 0;
}

static const char *within(const char *path)
{
    const char *rest = path + strlen(mounts[mount_of(path)].base);
    return *rest == '\0' ? "/" : rest;
}

#define CALL(path, name, ...)                                                                      \
    mounts[mount_of(path)].table.name##_p(mounts[mount_of(path)].context, within(path),            \
                                          ##__VA_ARGS__)
#define VIA(fd, name, ...)                                                                         \
    mounts[(fd) / 100].table.name##_p(mounts[(fd) / 100].context, (fd) % 100, ##__VA_ARGS__)
#define LIST(dir, name, ...)                                                                       \
    mounts[(dir)->dd_vfs_idx].table.name##_p(mounts[(dir)->dd_vfs_idx].context, dir, ##__VA_ARGS__)

/* A descriptor: the number of its mount and its own. */
static int vfs_open(const char *path, int flags)
{
    size_t at = mount_of(path);
    if ((mounts[at].table.flags & ESP_VFS_FLAG_READONLY_FS) != 0
        && (flags & O_ACCMODE) != O_RDONLY) {
        errno = EROFS;
        return -1;
    }
    int fd = CALL(path, open, flags, 0);
    return fd < 0 ? -1 : (int)at * 100 + fd;
}

static DIR *vfs_opendir(const char *path)
{
    DIR *dir = CALL(path, opendir);
    if (dir != NULL) {
        dir->dd_vfs_idx = (uint16_t)mount_of(path);
    }
    return dir;
}

/* stdio over descriptors, with the host's C library. */
static ssize_t cookie_read(void *cookie, char *data, size_t size)
{
    return VIA((int)(intptr_t)cookie, read, data, size);
}

static ssize_t cookie_write(void *cookie, const char *data, size_t size)
{
    ssize_t result = VIA((int)(intptr_t)cookie, write, data, size);
    return result < 0 ? 0 : result; /* the C library's word for an error */
}

static int cookie_seek(void *cookie, off64_t *offset, int whence)
{
    *offset = VIA((int)(intptr_t)cookie, lseek, (off_t)*offset, whence);
    return *offset < 0 ? -1 : 0;
}

static int cookie_close(void *cookie)
{
    return VIA((int)(intptr_t)cookie, close);
}

static FILE *vfs_fopen(const char *path, const char *mode)
{
    bool both = strchr(mode, '+') != NULL;
    int flags = mode[0] == 'r' ? 0 : mode[0] == 'w' ? O_CREAT | O_TRUNC : O_CREAT | O_APPEND;
    int fd = vfs_open(path, flags | (both ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY));
    cookie_io_functions_t io = {cookie_read, cookie_write, cookie_seek, cookie_close};
    return fd < 0 ? NULL : fopencookie((void *)(intptr_t)fd, mode, io);
}

/* ---- a start and an end ---------------------------------------------------------------------- */

static const esp_vfs_nf2fs_conf_t files = {
    .base_path = "/files", .partition_label = "storage", .format_if_mount_failed = true};

static void start(void)
{
    chip = vflash_new(vflash_chip_find("w25q64"));
    memset(mounts, 0, sizeof(mounts));
    partitions[0] = (esp_partition_t){
        .address = 0x10000, .size = 512 * 1024, .erase_size = 4096, .label = "storage"};
    partitions[1] = (esp_partition_t){
        .address = 0x100000, .size = 256 * 1024, .erase_size = 4096, .label = "second"};
    partitions[2] = (esp_partition_t){
        .address = 0x200000, .size = 256 * 1024, .erase_size = 4096, .label = "third"};
}

static void end(void)
{
    CHECK_EQ(critical, 0);
    CHECK_EQ(vflash_counts(chip)->violations, 0);
    vflash_free(chip);
}

static uint64_t changes(void)
{
    const struct vflash_counts *counts = vflash_counts(chip);
    return counts->program_calls + counts->erases[0] + counts->erases[1] + counts->erases[2];
}

static void fill(const esp_partition_t *at, int byte)
{
    memset(vflash_memory(chip) + at->address, byte, at->size);
}

static long size_of(const char *path)
{
    struct stat stat;
    return CALL(path, stat, &stat) == 0 ? (long)stat.st_size : -1;
}

/* ---- tests: the volume alone ----------------------------------------------------------------- */

static void mount_at(uint32_t address, uint32_t large)
{
    static struct nf2_esp volume;
    static nf2_file_t file;
    static uint8_t buffer[NF2_ESP_PAGE_SIZE];
    char text[6] = "";
    start();
    memset(&volume, 0, sizeof(volume));
    partitions[0].address = address;
    CHECK_EQ(nf2_esp_mount(&volume, "other", NF2_ESP_FORMAT), NF2_ERR_NOENT);
    CHECK_EQ(nf2_esp_mount(&volume, "storage", 0), NF2_ERR_BLANK);
    CHECK_EQ(nf2_esp_mount(&volume, "storage", NF2_ESP_FORMAT), NF2_OK);
    CHECK_EQ(volume.flash.large_erase_size, large);
    CHECK_EQ(nf2_open(&volume.fs, &file, "/a", NF2_O_RDWR | NF2_O_CREAT, buffer), NF2_OK);
    CHECK_EQ(nf2_write(&volume.fs, &file, "hello", 5), 5);
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
    CHECK_EQ(nf2_esp_unmount(&volume), NF2_OK);
    CHECK_EQ(nf2_esp_mount(&volume, "storage", 0), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &file, "/a", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_read(&volume.fs, &file, text, 6), 5);
    CHECK_TEXT(text, "hello");
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
    CHECK_EQ(nf2_esp_unmount(&volume), NF2_OK);
    partitions[0].encrypted = true;
    CHECK_EQ(nf2_esp_mount(&volume, "storage", NF2_ESP_FORMAT), NF2_ERR_INVAL);
    end();
}

TEST(partitions)
{
    mount_at(0x10000, 65536);
    mount_at(0x11000, 0);
}

#define SUPER_BLOCKS (3u * 4096u)   /* bytes: without them it is no volume any more */

/* What is formatted, by what is there and by the flags. */
TEST(formats)
{
    static const struct { int fill, flags, result; bool readonly; } cases[] = {
        {0xFF, 0, NF2_ERR_BLANK, false},
        {0xFF, NF2_ESP_FORMAT, NF2_OK, false},
        {0xFF, NF2_ESP_FORMAT_FOREIGN, NF2_OK, false},
        {0xFF, NF2_ESP_FORMAT | NF2_ESP_READ_ONLY, NF2_ERR_BLANK, false},
        {0xFF, NF2_ESP_FORMAT, NF2_ERR_BLANK, true},
        {0x5A, 0, NF2_ERR_FOREIGN, false},
        {0x5A, NF2_ESP_FORMAT, NF2_ERR_FOREIGN, false},
        {0x5A, NF2_ESP_FORMAT_FOREIGN, NF2_OK, false},
        {0x5A, NF2_ESP_FORMAT_FOREIGN | NF2_ESP_READ_ONLY, NF2_ERR_FOREIGN, false},
        {0x5A, NF2_ESP_FORMAT_FOREIGN, NF2_ERR_FOREIGN, true},
    };
    static struct nf2_esp volume;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        start();
        fill(&partitions[0], cases[i].fill);
        partitions[0].readonly = cases[i].readonly;
        CHECK_EQ(nf2_esp_mount(&volume, "storage", cases[i].flags), cases[i].result);
        CHECK_EQ(changes() == 0, cases[i].result != NF2_OK);
        if (cases[i].result == NF2_OK) {
            CHECK_EQ(nf2_esp_unmount(&volume), NF2_OK);
            /* A damaged volume is left as it is, whatever the flags. */
            memset(vflash_memory(chip) + partitions[0].address + SUPER_BLOCKS, 0, 488000);
            vflash_counts_reset(chip);
            CHECK_EQ(nf2_esp_mount(&volume, "storage", NF2_ESP_FORMAT | NF2_ESP_FORMAT_FOREIGN),
                     NF2_ERR_CORRUPT);
            CHECK_EQ(changes(), 0);
        }
        end();
    }
}

TEST(erase_sizes)
{
    static const struct { uint32_t erase_size, block, large; int result; } cases[] = {
        {4096, 4096, 65536, NF2_OK},          {2048, 4096, 65536, NF2_OK},
        {8192, 8192, 65536, NF2_OK},          {65536, 65536, 0, NF2_OK},
        {131072, 0, 0, NF2_ERR_GEOMETRY},     {3000, 0, 0, NF2_ERR_GEOMETRY},
        {0, 0, 0, NF2_ERR_GEOMETRY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct nf2_esp volume;
        memset(&volume, 0, sizeof(volume));
        start();
        partitions[0].erase_size = cases[i].erase_size;
        partitions[0].size = 4 * 1024 * 1024;
        CHECK_EQ(nf2_esp_mount(&volume, "storage", NF2_ESP_FORMAT), cases[i].result);
        CHECK_EQ(volume.flash.block_size, cases[i].block);
        CHECK_EQ(volume.flash.large_erase_size, cases[i].large);
        if (cases[i].result == NF2_OK) {
            CHECK_EQ(nf2_mkdir(&volume.fs, "/d"), NF2_OK);
            CHECK_EQ(nf2_esp_unmount(&volume), NF2_OK);
        }
        end();
    }
}

/* ---- tests: through the virtual file system -------------------------------------------------- */

TEST(registration)
{
    esp_vfs_nf2fs_conf_t conf = files;
    size_t total = 0, used = 0;
    start();
    CHECK_EQ(esp_vfs_nf2fs_register(NULL), ESP_ERR_INVALID_ARG);
    conf.base_path = NULL;
    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_ERR_INVALID_ARG);
    conf.base_path = "/sixteen_letters";
    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_ERR_INVALID_ARG);
    conf = files;
    conf.partition_label = NULL;
    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_ERR_INVALID_ARG);
    conf.partition_label = "none";
    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_ERR_NOT_FOUND);
    conf = files;
    conf.format_if_mount_failed = false;
    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_ERR_NF2FS_BLANK);
    fill(&partitions[0], 0x5A);
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_ERR_NF2FS_FOREIGN);
    partitions[0].encrypted = true;
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_ERR_NOT_SUPPORTED);
    CHECK_EQ(esp_nf2fs_format("storage"), ESP_ERR_NOT_SUPPORTED);
    partitions[0].encrypted = false;
    partitions[0].erase_size = 131072;
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_ERR_NF2FS_GEOMETRY);
    partitions[0].erase_size = 4096;
    partitions[0].size = (NF2_BLOCKS_MIN - 1u) * 4096u;
    conf.format_foreign = true;
    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_ERR_INVALID_SIZE);
    CHECK_EQ(esp_nf2fs_format("storage"), ESP_ERR_INVALID_SIZE);
    partitions[0].size = 512 * 1024;
    refuse_register = ESP_ERR_NO_MEM;
    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_ERR_NO_MEM);
    refuse_register = ESP_OK;
    CHECK(!esp_nf2fs_mounted("storage") && esp_nf2fs_volume("storage") == NULL);
    CHECK_EQ(esp_nf2fs_info("storage", &total, &used), ESP_ERR_INVALID_STATE);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_ERR_INVALID_STATE);

    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_OK);
    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_ERR_INVALID_STATE);
    CHECK_EQ(esp_nf2fs_format("storage"), ESP_ERR_INVALID_STATE);
    CHECK(esp_nf2fs_mounted("storage"));
    CHECK_EQ(esp_nf2fs_info("storage", &total, &used), ESP_OK);
    CHECK(total == 512 * 1024 && used > 0 && used < 100 * 1024);
    CHECK(nf2_maintain(esp_nf2fs_volume("storage"), 20000) >= 0);

    /* A second one at the same time, by its partition; a third has no place. */
    esp_vfs_nf2fs_conf_t second = {
        .base_path = "/second", .partition = &partitions[1], .format_if_mount_failed = true};
    CHECK_EQ(esp_vfs_nf2fs_register(&second), ESP_OK);
    esp_vfs_nf2fs_conf_t third = {
        .base_path = "/third", .partition_label = "third", .format_if_mount_failed = true};
    CHECK_EQ(esp_vfs_nf2fs_register(&third), ESP_ERR_NO_MEM);
    CHECK_EQ(CALL("/files/only_here", mkdir, 0), 0);
    CHECK_EQ(size_of("/files/only_here"), 0);
    CHECK_EQ(size_of("/second/only_here"), -1);
    CHECK_EQ(esp_vfs_nf2fs_unregister_partition(&partitions[1]), ESP_OK);
    CHECK_EQ(esp_vfs_nf2fs_register(&third), ESP_OK);
    CHECK_EQ(esp_vfs_nf2fs_unregister("third"), ESP_OK);

    /* What is open when the volume goes is closed, and so it is kept. */
    int fd = vfs_open("/files/open", O_WRONLY | O_CREAT);
    CHECK_EQ(VIA(fd, write, "kept", 4), 4);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    CHECK_EQ(size_of("/files/open"), 4);
    fd = vfs_open("/files/lost", O_WRONLY | O_CREAT);
    CHECK_EQ(VIA(fd, write, "lost", 4), 4);
    vflash_fail_from(chip, 1, UINT32_MAX);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_FAIL);
    vflash_fail_at(chip, 0);
    CHECK(!esp_nf2fs_mounted("storage"));
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    CHECK_EQ(size_of("/files/lost"), -1);
    CHECK_EQ(size_of("/files/open"), 4);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    CHECK_EQ(esp_nf2fs_format("storage"), ESP_OK);
    CHECK_EQ(esp_nf2fs_format("none"), ESP_ERR_NOT_FOUND);
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    CHECK_EQ(size_of("/files/open"), -1);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    partitions[0].readonly = true;
    CHECK_EQ(esp_nf2fs_format("storage"), ESP_ERR_NOT_ALLOWED);
    end();
}

TEST(streams)
{
    char line[32] = "";
    start();
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    CHECK(vfs_fopen("/files/log", "r") == NULL && errno == ENOENT);
    FILE *log = vfs_fopen("/files/log", "w");
    CHECK(log != NULL && fprintf(log, "boot %d\n", 1) == 7 && fclose(log) == 0);
    log = vfs_fopen("/files/log", "a+");
    CHECK(log != NULL && fprintf(log, "boot %d\n", 2) == 7 && fflush(log) == 0);
    CHECK(fseek(log, 0, SEEK_SET) == 0 && fgets(line, sizeof(line), log) != NULL);
    CHECK_TEXT(line, "boot 1\n");
    CHECK(fgets(line, sizeof(line), log) != NULL && fgets(line, sizeof(line), log) == NULL);
    CHECK_TEXT(line, "boot 2\n");
    CHECK_EQ(fclose(log), 0);
    CHECK_EQ(size_of("/files/log"), 14);
    log = vfs_fopen("/files/log", "r+");
    CHECK(log != NULL && fseek(log, 5, SEEK_SET) == 0 && fputc('7', log) == '7');
    CHECK_EQ(fclose(log), 0);
    log = vfs_fopen("/files/log", "r");
    CHECK(log != NULL && fgets(line, sizeof(line), log) != NULL);
    CHECK_TEXT(line, "boot 7\n");
    CHECK_EQ(fclose(log), 0);

    /* A full volume is told by fflush or fclose. */
    static char much[64 * 1024];
    FILE *big = vfs_fopen("/files/big", "w");
    bool told = false;
    for (int i = 0; i < 9 && !told; i++) {
        told = fwrite(much, sizeof(much), 1, big) != 1 || fflush(big) != 0;
    }
    CHECK(told && errno == ENOSPC);
    CHECK(fclose(big) != 0 && errno == ENOSPC);
    CHECK(CALL("/files/big", unlink) == -1 && errno == ENOENT);    /* it was never synced */
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    end();
}

TEST(descriptors)
{
    struct stat stat;
    char text[16] = "";
    start();
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    CHECK(vfs_open("/files/a", O_RDWR) == -1 && errno == ENOENT);
    int a = vfs_open("/files/a", O_RDWR | O_CREAT | O_EXCL);
    CHECK(vfs_open("/files/a", O_RDWR | O_CREAT | O_EXCL) == -1 && errno == EEXIST);
    CHECK(vfs_open("/files/a", O_WRONLY) == -1 && errno == EBUSY);
    int b = vfs_open("/files/a", O_RDONLY), c = vfs_open("/files/new", O_RDONLY | O_CREAT);
    CHECK(a >= 0 && b >= 0 && c >= 0 && a != b && b != c && a != c);
    CHECK(vfs_open("/files/a", O_RDONLY) == -1 && errno == ENFILE);
    CHECK_EQ(VIA(c, close), 0);
    CHECK(VIA(c, close) == -1 && errno == EBADF);
    CHECK_EQ(size_of("/files/new"), 0);

    CHECK_EQ(VIA(a, write, "0123456789", 10), 10);
    CHECK_EQ(VIA(b, read, text, 10), 0);    /* readers see what was synced */
    CHECK_EQ(VIA(a, fsync), 0);
    CHECK_EQ(VIA(b, fsync), 0);
    CHECK_EQ(VIA(b, read, text, 4), 4);
    CHECK_MEM(text, "0123", 4);
    CHECK_EQ(VIA(b, pread, text, 3, 7), 3);
    CHECK_MEM(text, "789", 3);
    CHECK_EQ(VIA(b, lseek, 0, SEEK_CUR), 4);
    CHECK(VIA(b, write, "x", 1) == -1 && errno == EBADF);
    CHECK(VIA(b, pwrite, "x", 1, 0) == -1 && errno == EBADF);
    CHECK(VIA(b, ftruncate, 1) == -1 && errno == EINVAL);
    CHECK_EQ(VIA(a, pwrite, "ab", 2, 3), 2);
    CHECK(VIA(a, pwrite, "ab", 2, -1) == -1 && errno == EINVAL);
    CHECK(VIA(a, pread, text, 2, -1) == -1 && errno == EINVAL);
    CHECK_EQ(VIA(a, lseek, 0, SEEK_CUR), 10);
    CHECK_EQ(VIA(a, pread, text, 10, 0), 10);
    CHECK_MEM(text, "012ab56789", 10);
    CHECK(VIA(a, lseek, -11, SEEK_END) == -1 && errno == EINVAL);
    CHECK(VIA(a, lseek, 0, 9) == -1 && errno == EINVAL);
    CHECK(VIA(a, lseek, (off_t)1 << 40, SEEK_SET) == -1 && errno == EINVAL);
    CHECK_EQ(VIA(a, lseek, -2, SEEK_END), 8);
    CHECK_EQ(VIA(a, fstat, &stat), 0);
    CHECK(stat.st_size == 10 && S_ISREG(stat.st_mode) && (stat.st_mode & 0200) != 0
          && stat.st_mtime == 0);
    CHECK_EQ(VIA(a, ftruncate, 6), 0);
    CHECK(VIA(a, ftruncate, -1) == -1 && errno == EINVAL);
    CHECK(VIA(a, ftruncate, (off_t)1 << 31) == -1 && errno == EFBIG);
    CHECK_EQ(VIA(a, fstat, &stat), 0);
    CHECK_EQ(stat.st_size, 6);

    /* fcntl: the flags of an open file; O_APPEND can be set and taken away. */
    CHECK_EQ(VIA(a, fcntl, F_GETFL, 0), O_RDWR);
    CHECK_EQ(VIA(b, fcntl, F_GETFL, 0), O_RDONLY);
    CHECK_EQ(VIA(a, fcntl, F_SETFL, O_APPEND), 0);
    CHECK_EQ(VIA(a, fcntl, F_GETFL, 0), O_RDWR | O_APPEND);
    CHECK_EQ(VIA(a, lseek, 0, SEEK_SET), 0);
    CHECK_EQ(VIA(a, write, "end", 3), 3);
    CHECK_EQ(VIA(a, lseek, 0, SEEK_CUR), 9);
    CHECK_EQ(VIA(a, fcntl, F_SETFL, 0), 0);
    CHECK_EQ(VIA(a, lseek, 0, SEEK_SET), 0);
    CHECK_EQ(VIA(a, write, "begin", 5), 5);
    CHECK(VIA(a, fcntl, F_GETFD, 0) == -1 && errno == ENOSYS);
    CHECK(VIA(99, fcntl, F_GETFL, 0) == -1 && errno == EBADF);
    CHECK_EQ(VIA(a, pread, text, 16, 0), 9);
    CHECK_MEM(text, "begin5end", 9);
    CHECK_EQ(VIA(a, close), 0);
    CHECK_EQ(VIA(b, close), 0);
    int w = vfs_open("/files/a", O_WRONLY | O_APPEND);
    CHECK_EQ(VIA(w, fcntl, F_GETFL, 0), O_WRONLY | O_APPEND);
    CHECK(VIA(w, read, text, 1) == -1 && errno == EBADF);
    static char much[600 * 1024];
    CHECK_EQ(VIA(w, lseek, 2, SEEK_SET), 2);
    CHECK(VIA(w, write, much, sizeof(much)) == -1 && errno == ENOSPC);
    CHECK_EQ(VIA(w, lseek, 0, SEEK_CUR), 2);    /* as before */
    CHECK(VIA(w, fsync) == -1 && errno == ENOSPC);
    CHECK(VIA(w, close) == -1 && errno == ENOSPC);
    CHECK_EQ(size_of("/files/a"), 9);
    w = vfs_open("/files/a", O_WRONLY | O_APPEND);
    CHECK_EQ(VIA(w, write, "more", 4), 4);
    CHECK(VIA(w, write, much, sizeof(much)) == -1 && errno == ENOSPC);
    CHECK_EQ(VIA(w, write, much, 0), 0);        /* what was accepted is enough */
    CHECK_EQ(VIA(w, close), 0);
    CHECK_EQ(size_of("/files/a"), 13);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    end();
}

/* The close after it gives up what was not synced; stdio writes its buffer before, all the same. */
TEST(discard)
{
    start();
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    FILE *file = vfs_fopen("/files/a", "w");
    CHECK(file != NULL && fputs("old", file) >= 0 && fclose(file) == 0);
    int a = vfs_open("/files/a", O_WRONLY | O_TRUNC);
    CHECK_EQ(VIA(a, write, "longer", 6), 6);
    CHECK_EQ(VIA(a, fcntl, NF2FS_F_DISCARD, 0), 0);
    CHECK_EQ(VIA(a, close), 0);
    CHECK_EQ(size_of("/files/a"), 3);
    a = vfs_open("/files/a", O_WRONLY | O_APPEND);
    CHECK_EQ(VIA(a, fcntl, NF2FS_F_DISCARD, 0), 0);
    CHECK_EQ(VIA(a, write, "er", 2), 2);
    CHECK_EQ(VIA(a, fsync), 0);
    static char much[600 * 1024];
    CHECK(VIA(a, write, much, sizeof(much)) == -1 && errno == ENOSPC);
    CHECK_EQ(VIA(a, close), 0);
    CHECK_EQ(size_of("/files/a"), 5);
    a = vfs_open("/files/new", O_WRONLY | O_CREAT);     /* the place has no mark of the last one */
    CHECK_EQ(VIA(a, close), 0);
    CHECK_EQ(size_of("/files/new"), 0);
    a = vfs_open("/files/none", O_WRONLY | O_CREAT);
    CHECK_EQ(VIA(a, fcntl, NF2FS_F_DISCARD, 0), 0);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    CHECK_EQ(size_of("/files/none"), -1);
    CHECK(VIA(a, fcntl, NF2FS_F_DISCARD, 0) == -1 && errno == EBADF);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    end();
}

TEST(names)
{
    struct stat stat;
    struct utimbuf times = {.modtime = 2};
    start();
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    CHECK_EQ(CALL("/files/d", mkdir, 0777), 0);
    CHECK(CALL("/files/d", mkdir, 0777) == -1 && errno == EEXIST);
    CHECK_EQ(fclose(vfs_fopen("/files/d/f", "w")), 0);
    CHECK(CALL("/files/d", rmdir) == -1 && errno == ENOTEMPTY);
    CHECK(CALL("/files/d", unlink) == -1 && errno == EISDIR);
    CHECK(CALL("/files/d/f", rmdir) == -1 && errno == ENOTDIR);
    CHECK_EQ(CALL("/files/d/f", access, R_OK | W_OK), 0);
    CHECK(CALL("/files/d/g", access, F_OK) == -1 && errno == ENOENT);
    CHECK_EQ(CALL("/files/d/f", rename, within("/files/g")), 0);
    CHECK(CALL("/files/d/f", rename, within("/files/g")) == -1 && errno == ENOENT);
    CHECK_EQ(CALL("/files/d", rmdir), 0);
    CHECK_EQ(CALL("/files", stat, &stat), 0);
    CHECK(S_ISDIR(stat.st_mode));

    CHECK_EQ(CALL("/files/g", truncate, 300), 0);
    CHECK_EQ(size_of("/files/g"), 300);
    CHECK_EQ(CALL("/files/g", truncate, 7), 0);
    CHECK_EQ(size_of("/files/g"), 7);
    CHECK(CALL("/files/g", truncate, -1) == -1 && errno == EINVAL);
    CHECK(CALL("/files/g", truncate, (off_t)1 << 31) == -1 && errno == EFBIG);
    CHECK(CALL("/files/h", truncate, 1) == -1 && errno == ENOENT);
    int g = vfs_open("/files/g", O_RDWR);
    CHECK(CALL("/files/g", truncate, 1) == -1 && errno == EBUSY);
    CHECK(CALL("/files/g", unlink) == -1 && errno == EBUSY);
    CHECK_EQ(VIA(g, close), 0);
    CHECK_EQ(size_of("/files/g"), 7);

    CHECK(CALL("/files/h", utime, &times) == -1 && errno == ENOENT);
    CHECK_EQ(CALL("/files/g", unlink), 0);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    end();
}

static time_t time_of(const char *path)
{
    struct stat stat = {.st_mtime = -1};
    CHECK_EQ(CALL(path, stat, &stat), 0);
    return stat.st_mtime;
}

/* utime always works; changes set the time where that was asked for. */
TEST(times)
{
    static const time_t last = ((time_t)1 << 40) - 1;
    esp_vfs_nf2fs_conf_t keeping = files;
    struct utimbuf times = {.modtime = 1700000000};
    start();
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    FILE *file = vfs_fopen("/files/a", "w");
    CHECK(file != NULL && fputs("text", file) >= 0 && fclose(file) == 0);
    CHECK_EQ(time_of("/files/a"), 0);
    CHECK_EQ(CALL("/files/a", utime, &times), 0);
    CHECK_EQ(time_of("/files/a"), 1700000000);
    CHECK_EQ(size_of("/files/a"), 4);
    CHECK_EQ(CALL("/files/a", rename, "/b"), 0);
    CHECK_EQ(time_of("/files/b"), 1700000000);
    times.modtime = last;
    CHECK_EQ(CALL("/files/b", utime, &times), 0);
    CHECK_EQ(time_of("/files/b"), last);
    times.modtime = last + 1;
    CHECK(CALL("/files/b", utime, &times) == -1 && errno == EINVAL);
    times.modtime = -1;
    CHECK(CALL("/files/b", utime, &times) == -1 && errno == EINVAL);
    CHECK_EQ(CALL("/files/d", mkdir, 0), 0);
    times.modtime = 3;
    CHECK_EQ(CALL("/files/d", utime, &times), 0);
    CHECK_EQ(time_of("/files/d"), 3);
    CHECK_EQ(time_of("/files"), 0);
    time_t before = time(NULL);
    CHECK_EQ(CALL("/files/b", utime, NULL), 0);
    CHECK(time_of("/files/b") >= before && time_of("/files/b") <= time(NULL));
    int b = vfs_open("/files/b", O_WRONLY | O_APPEND);
    CHECK(CALL("/files/b", utime, &times) == -1 && errno == EBUSY);
    CHECK_EQ(VIA(b, write, "x", 1), 1);
    CHECK_EQ(VIA(b, close), 0);
    CHECK_EQ(time_of("/files/b"), 0);       /* that of an older content is not told */
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);

    keeping.keep_times = true;
    CHECK_EQ(esp_vfs_nf2fs_register(&keeping), ESP_OK);
    before = time(NULL);
    b = vfs_open("/files/b", O_WRONLY | O_APPEND);
    CHECK_EQ(VIA(b, write, "y", 1), 1);
    CHECK_EQ(VIA(b, close), 0);
    CHECK(time_of("/files/b") >= before && time_of("/files/b") <= time(NULL));
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    keeping.read_only = true;
    CHECK_EQ(esp_vfs_nf2fs_register(&keeping), ESP_OK);
    CHECK(time_of("/files/b") >= before);
    CHECK(CALL("/files/b", utime, &times) == -1 && errno == EROFS);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    end();
}

TEST(listings)
{
    struct dirent entry, *out;
    start();
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    CHECK_EQ(CALL("/files/b", mkdir, 0), 0);
    static const char *const names[] = {"/files/a", "/files/c", "/files/e"};
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(fclose(vfs_fopen(names[i], "w")), 0);
    }
    CHECK(vfs_opendir("/files/none") == NULL && errno == ENOENT);
    CHECK(vfs_opendir("/files/a") == NULL && errno == ENOTDIR);
    DIR *dir = vfs_opendir("/files");
    CHECK_EQ(LIST(dir, telldir), 0);
    struct dirent *first = LIST(dir, readdir);
    CHECK(first != NULL && strcmp(first->d_name, "a") == 0 && first->d_type == DT_REG);
    CHECK_EQ(LIST(dir, readdir_r, &entry, &out), 0);
    CHECK(out == &entry && strcmp(entry.d_name, "b") == 0 && entry.d_type == DT_DIR);
    long there = LIST(dir, telldir);
    CHECK_EQ(there, 2);
    for (int i = 0; i < 2; i++) {
        CHECK(LIST(dir, readdir) != NULL);
    }
    errno = 0;
    CHECK(LIST(dir, readdir) == NULL && errno == 0);
    CHECK(LIST(dir, readdir_r, &entry, &out) == 0 && out == NULL);
    CHECK_EQ(LIST(dir, telldir), 4);
    LIST(dir, seekdir, there);
    first = LIST(dir, readdir);
    CHECK(first != NULL && strcmp(first->d_name, "c") == 0);
    LIST(dir, seekdir, 0);
    first = LIST(dir, readdir);
    CHECK(first != NULL && strcmp(first->d_name, "a") == 0);
    LIST(dir, seekdir, 99);                 /* the end */
    CHECK(LIST(dir, readdir) == NULL);
    CHECK_EQ(LIST(dir, closedir), 0);

    char path[7 + 255 + 1] = "/files/";
    memset(path + 7, 'n', 255);
    CHECK_EQ(CALL(path, mkdir, 0), 0);
    dir = vfs_opendir("/files");
    LIST(dir, seekdir, 4);
    first = LIST(dir, readdir);
    CHECK(first != NULL && strcmp(first->d_name, path + 7) == 0);
    CHECK_EQ(LIST(dir, closedir), 0);

    /* More names than the buffer holds, and flash that fails: an error is no end. */
    for (int i = 0; i < 40; i++) {
        memcpy(path + 7, &"abcdefghijklmopqrstuvwxyzABCDEFGHIJKLMNOPQRS"[i], 1);
        CHECK_EQ(CALL(path, mkdir, 0), 0);
    }
    dir = vfs_opendir("/files");
    vflash_fail_from(chip, 1, UINT32_MAX);
    errno = 0;
    while (LIST(dir, readdir) != NULL) {
    }
    CHECK_EQ(errno, EIO);
    CHECK_EQ(LIST(dir, readdir_r, &entry, &out), EIO);
    CHECK(LIST(dir, telldir) < 45);
    vflash_fail_at(chip, 0);
    while (LIST(dir, readdir) != NULL) {
    }
    CHECK_EQ(LIST(dir, telldir), 45);
    CHECK_EQ(LIST(dir, closedir), 0);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    end();
}

static void check_read_only(const esp_vfs_nf2fs_conf_t *conf)
{
    struct stat stat;
    vflash_counts_reset(chip);
    CHECK_EQ(esp_vfs_nf2fs_register(conf), ESP_OK);
    CHECK_EQ(mounts[0].table.flags & ESP_VFS_FLAG_READONLY_FS, ESP_VFS_FLAG_READONLY_FS);
    CHECK(vfs_fopen("/files/a", "w") == NULL && errno == EROFS);
    CHECK(CALL("/files/a", open, O_WRONLY, 0) == -1 && errno == EROFS);
    CHECK(CALL("/files/b", open, O_RDONLY | O_CREAT, 0) == -1 && errno == EROFS);
    CHECK(CALL("/files/a", truncate, 0) == -1 && errno == EROFS);
    CHECK(CALL("/files/d", mkdir, 0) == -1 && errno == EROFS);
    CHECK(CALL("/files/a", unlink) == -1 && errno == EROFS);
    CHECK_EQ(CALL("/files/a", access, R_OK), 0);
    CHECK(CALL("/files/a", access, W_OK) == -1 && errno == EROFS);
    CHECK_EQ(CALL("/files/a", stat, &stat), 0);
    CHECK(stat.st_size == 2 && (stat.st_mode & 0222) == 0);
    FILE *file = vfs_fopen("/files/a", "r");
    CHECK(file != NULL && fgetc(file) == 'h' && fclose(file) == 0);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    CHECK_EQ(changes(), 0);
}

TEST(read_only)
{
    esp_vfs_nf2fs_conf_t conf = files;
    start();
    CHECK_EQ(esp_vfs_nf2fs_register(&files), ESP_OK);
    FILE *file = vfs_fopen("/files/a", "w");
    CHECK(fputs("hi", file) >= 0 && fclose(file) == 0);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    conf.read_only = true;
    check_read_only(&conf);
    partitions[0].readonly = true;          /* by the partition table, whatever is asked for */
    check_read_only(&files);
    end();
}

/* An image that nf2_create_partition_image made of tests/ports/test_dropin.py's files. */
static const char *image;

TEST(image)
{
    char line[8] = "";
    start();
    partitions[0].address = 0x110000;
    partitions[0].size = 1024 * 1024;
    FILE *file = fopen(image, "rb");
    CHECK(file != NULL && fread(vflash_memory(chip) + 0x110000, 1, 1024 * 1024, file) == 1024 * 1024
          && fgetc(file) == EOF);
    fclose(file);
    esp_vfs_nf2fs_conf_t conf = files;
    conf.format_if_mount_failed = false;
    CHECK_EQ(esp_vfs_nf2fs_register(&conf), ESP_OK);
    file = vfs_fopen("/files/web/page", "r+");
    CHECK(file != NULL && fgets(line, sizeof(line), file) != NULL && fclose(file) == 0);
    CHECK_TEXT(line, "hello\n");
    CHECK_EQ(CALL("/files/new", mkdir, 0), 0);
    CHECK_EQ(nf2_check(esp_nf2fs_volume("storage"), NULL, NULL), 0);
    CHECK_EQ(esp_vfs_nf2fs_unregister("storage"), ESP_OK);
    end();
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        image = argv[1];
        RUN(image);
        return check_done();
    }
    RUN(partitions);
    RUN(formats);
    RUN(erase_sizes);
    RUN(registration);
    RUN(streams);
    RUN(descriptors);
    RUN(discard);
    RUN(names);
    RUN(times);
    RUN(listings);
    RUN(read_only);
    return check_done();
}
