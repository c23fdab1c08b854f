/* SPDX-License-Identifier: BSD-2-Clause */
/* test_posix.c - descriptors with errno, as a POSIX program expects them. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>

#include "check.h"
#include "nf2_posix.h"
#include "vflash.h"

static nf2_t fs;
static struct vflash *chip;
static uint8_t buffer[NF2_BUFFER_SIZE(256u)];
static struct nf2_config config;
static int depth, deepest;

static void lock(void *context)
{
    CHECK(context == &config);
    depth++;
    deepest = depth > deepest ? depth : deepest;
}

static void unlock(void *context)
{
    CHECK(context == &config);
    depth--;
}

static void begin(void)
{
    chip = vflash_new(vflash_chip_find("w25q80"));
    config = (struct nf2_config){
        .flash = vflash_driver(chip), .buffer = buffer, .buffer_size = sizeof(buffer),
        .lock = lock, .unlock = unlock, .lock_context = &config,
    };
    CHECK_EQ(nf2_format(&fs, &config, NF2_FORMAT_QUICK), NF2_OK);
    CHECK_EQ(nf2_mount(&fs, &config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(nf2p_attach(&fs, lock, unlock, &config), 0);
}

static void end(void)
{
    CHECK_EQ(nf2p_detach(), 0);
    CHECK_EQ(nf2_unmount(&fs), NF2_OK);
    CHECK_EQ(depth, 0);
    vflash_free(chip);
}

/* The call fails with that errno. */
#define FAILS(call, error) do { errno = 0; CHECK_EQ(call, -1); CHECK_EQ(errno, error); } while (0)

TEST(files)
{
    char text[32] = "";
    struct stat stat;
    begin();
    int file = nf2p_open("/a", O_RDWR | O_CREAT, 0644);
    CHECK_EQ(file, 0);
    CHECK_EQ(nf2p_write(file, "hello world", 11), 11);
    CHECK_EQ(nf2p_lseek(file, 6, SEEK_SET), 6);
    CHECK_EQ(nf2p_read(file, text, sizeof(text)), 5);
    CHECK_TEXT(text, "world");
    CHECK_EQ(nf2p_pwrite(file, "J", 1, 0), 1);
    CHECK_EQ(nf2p_lseek(file, 0, SEEK_CUR), 11);
    CHECK_EQ(nf2p_pread(file, text, 5, 0), 5);
    CHECK_MEM(text, "Jello", 5);
    CHECK_EQ(nf2p_lseek(file, 0, SEEK_CUR), 11);
    CHECK_EQ(nf2p_ftruncate(file, 3), 0);
    CHECK_EQ(nf2p_fstat(file, &stat), 0);
    CHECK(stat.st_size == 3 && S_ISREG(stat.st_mode));
    CHECK_EQ(nf2p_fsync(file), 0);
    CHECK_EQ(nf2p_close(file), 0);
    FAILS(nf2p_close(file), EBADF);
    FAILS((int)nf2p_write(file, "x", 1), EBADF);
    file = nf2p_open("/a", O_WRONLY | O_APPEND | O_SYNC);
    CHECK_EQ(nf2p_write(file, "y", 1), 1);
    FAILS((int)nf2p_read(file, text, 1), EBADF);
    CHECK_EQ(nf2p_close(file), 0);
    CHECK_EQ(nf2p_stat("/a", &stat), 0);
    CHECK_EQ(stat.st_size, 4);
    CHECK(deepest >= 2);            /* the volume locks inside */
    end();
}

TEST(readers)
{
    char text[4];
    begin();
    int file = nf2p_open("/new", O_RDONLY | O_CREAT);       /* a reader may create */
    CHECK(file >= 0);
    CHECK_EQ(nf2p_read(file, text, 4), 0);
    CHECK_EQ(nf2p_fsync(file), 0);
    FAILS((int)nf2p_write(file, "x", 1), EBADF);
    FAILS(nf2p_ftruncate(file, 0), EINVAL);
    CHECK_EQ(nf2p_close(file), 0);
    FAILS(nf2p_open("/new", O_RDONLY | O_CREAT | O_EXCL), EEXIST);
    FAILS(nf2p_open("/new", O_WRONLY | O_CREAT | O_EXCL), EEXIST);
    FAILS(nf2p_open("/none", O_RDONLY), ENOENT);
    FAILS(nf2p_open("/none/x", O_WRONLY | O_CREAT), ENOENT);
    FAILS(nf2p_open("/new/x", O_WRONLY | O_CREAT), ENOTDIR);
    FAILS(nf2p_open("/", O_WRONLY), EISDIR);
    FAILS(nf2p_open(NULL, O_RDONLY), EFAULT);
    end();
}

TEST(limits)
{
    char path[8], name[300];
    int files[NF2P_FILES];
    begin();
    for (int i = 0; i < NF2P_FILES; i++) {
        snprintf(path, sizeof(path), "/f%d", i);
        files[i] = nf2p_open(path, O_RDONLY | O_CREAT);
        CHECK_EQ(files[i], i);
    }
    FAILS(nf2p_open("/f0", O_RDONLY), EMFILE);
    CHECK_EQ(nf2p_close(files[3]), 0);
    CHECK_EQ(nf2p_open("/f0", O_RDONLY), 3);
    FAILS((int)nf2p_lseek(files[0], -1, SEEK_SET), EINVAL);
    FAILS((int)nf2p_lseek(files[0], 0, 99), EINVAL);
    FAILS((int)nf2p_pread(files[0], path, 1, -1), EINVAL);
    FAILS(nf2p_close(-1), EBADF);
    FAILS(nf2p_close(NF2P_FILES), EBADF);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    FAILS(nf2p_mkdir(name, 0777), ENAMETOOLONG);
    FAILS(nf2p_attach(&fs, NULL, NULL, NULL), EBUSY);
    end();
    FAILS(nf2p_open("/f0", O_RDONLY), ENXIO);
    FAILS(nf2p_detach(), ENXIO);
    FAILS(nf2p_attach(NULL, NULL, NULL, NULL), EINVAL);
}

TEST(names)
{
    struct stat stat;
    begin();
    CHECK_EQ(nf2p_mkdir("/d", 0755), 0);
    FAILS(nf2p_mkdir("/d", 0755), EEXIST);
    int file = nf2p_open("/d/f", O_WRONLY | O_CREAT);
    FAILS(nf2p_unlink("/d/f"), EBUSY);
    FAILS(nf2p_open("/d/f", O_WRONLY), EBUSY);
    CHECK_EQ(nf2p_close(file), 0);
    FAILS(nf2p_rmdir("/d"), ENOTEMPTY);
    FAILS(nf2p_rmdir("/d/f"), ENOTDIR);
    FAILS(nf2p_unlink("/d"), EISDIR);
    CHECK_EQ(nf2p_rename("/d/f", "/g"), 0);
    CHECK_EQ(nf2p_access("/g", 0), 0);
    FAILS(nf2p_access("/d/f", 0), ENOENT);
    CHECK_EQ(nf2p_stat("/d", &stat), 0);
    CHECK(S_ISDIR(stat.st_mode));
    CHECK_EQ(nf2p_rmdir("/d"), 0);
    CHECK_EQ(nf2p_unlink("/g"), 0);
    FAILS(nf2p_unlink("/g"), ENOENT);
    FAILS(nf2p_rename("/g", "/h"), ENOENT);
    end();
}

TEST(listings)
{
    static const char *const names[] = {"a", "b", "c"};
    nf2p_dir *dirs[NF2P_DIRS];
    begin();
    CHECK_EQ(nf2p_mkdir("/b", 0), 0);
    CHECK_EQ(nf2p_close(nf2p_open("/a", O_WRONLY | O_CREAT)), 0);
    CHECK_EQ(nf2p_close(nf2p_open("/c", O_WRONLY | O_CREAT)), 0);
    for (int i = 0; i < NF2P_DIRS; i++) {
        dirs[i] = nf2p_opendir("/");
        CHECK(dirs[i] != NULL);
    }
    errno = 0;
    CHECK(nf2p_opendir("/") == NULL && errno == EMFILE);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            struct nf2p_dirent *entry = nf2p_readdir(dirs[0]);
            if (!CHECK(entry != NULL)) {
                break;
            }
            CHECK_TEXT(entry->d_name, names[i]);
            CHECK_EQ(entry->d_type, i == 1 ? NF2P_DT_DIR : NF2P_DT_REG);
        }
        errno = 0;
        CHECK(nf2p_readdir(dirs[0]) == NULL && errno == 0);
        nf2p_rewinddir(dirs[0]);
    }
    CHECK_EQ(nf2p_closedir(dirs[0]), 0);
    FAILS(nf2p_closedir(dirs[0]), EBADF);
    errno = 0;
    CHECK(nf2p_opendir("/a") == NULL && errno == ENOTDIR);
    CHECK(nf2p_readdir(NULL) == NULL && errno == EBADF);
    end();
}

TEST(full_and_broken)
{
    static uint8_t data[65536];
    begin();
    int file = nf2p_open("/big", O_RDWR | O_CREAT);
    ssize_t written;
    do {
        written = nf2p_write(file, data, sizeof(data));
    } while (written > 0);
    CHECK_EQ(errno, ENOSPC);
    CHECK_EQ(nf2p_ftruncate(file, 0), 0);
    CHECK_EQ(nf2p_fsync(file), 0);
    CHECK_EQ(nf2p_pwrite(file, "at the end", 10, 500), 10);
    CHECK_EQ(nf2p_fsync(file), 0);
    vflash_fail_from(chip, 1, 1000000);
    FAILS((int)nf2p_pread(file, data, 10, 500), EIO);
    vflash_fail_from(chip, 0, 0);
    CHECK_EQ(nf2p_errno(-12345), EIO);
    CHECK_EQ(nf2p_errno(NF2_OK), 0);
    (void)nf2p_detach();
    (void)nf2_unmount(&fs);
    vflash_free(chip);
}

/* What was not synced is given up: also where writing on fails, and where the file is new. */
TEST(discard)
{
    static uint8_t data[65536];
    char text[8] = "";
    begin();
    int file = nf2p_open("/a", O_WRONLY | O_CREAT);
    CHECK_EQ(nf2p_write(file, "old", 3), 3);
    CHECK_EQ(nf2p_close(file), 0);
    file = nf2p_open("/a", O_WRONLY | O_TRUNC);
    while (nf2p_write(file, data, sizeof(data)) > 0) {
    }
    CHECK_EQ(errno, ENOSPC);
    CHECK_EQ(nf2p_discard(file), 0);
    FAILS(nf2p_discard(file), EBADF);
    file = nf2p_open("/a", O_RDWR | O_APPEND);      /* the writer before has ended */
    CHECK_EQ(nf2p_write(file, "er", 2), 2);
    CHECK_EQ(nf2p_fsync(file), 0);
    CHECK_EQ(nf2p_write(file, "!", 1), 1);
    CHECK_EQ(nf2p_discard(file), 0);
    file = nf2p_open("/a", O_RDONLY);
    CHECK_EQ(nf2p_read(file, text, sizeof(text)), 5);
    CHECK_TEXT(text, "older");
    CHECK_EQ(nf2p_discard(file), 0);                /* a reader has nothing to give up */
    file = nf2p_open("/new", O_WRONLY | O_CREAT);
    CHECK_EQ(nf2p_write(file, "x", 1), 1);
    CHECK_EQ(nf2p_discard(file), 0);
    FAILS(nf2p_access("/new", 0), ENOENT);
    end();
    FAILS(nf2p_discard(0), ENXIO);
}

int main(void)
{
    RUN(files);
    RUN(readers);
    RUN(limits);
    RUN(names);
    RUN(listings);
    RUN(full_and_broken);
    RUN(discard);
    return check_done();
}
