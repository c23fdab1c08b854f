/* SPDX-License-Identifier: BSD-2-Clause */
/* test_api_files.c - directed tests of names, directories, files, their limits and errors, and the full chip. */
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "core_traits.h"

static const char *const chips[] = { "tiny256k", "tinyecc16", "tiny512" };
static const char *chip;        /* of the tests that run on each */

static int open_file(struct volume *volume, nf2_file_t *file, const char *path, int flags)
{
    return nf2_open(&volume->fs, file, path, flags, volume->page);
}

static int32_t write_text(struct volume *volume, nf2_file_t *file, const char *text)
{
    return nf2_write(&volume->fs, file, text, (uint32_t)strlen(text));
}

/* Whether the handle reads exactly this from `offset` on. */
static bool reads(struct volume *volume, nf2_file_t *file, int32_t offset, const char *text, uint32_t length)
{
    uint8_t data[300];

    return nf2_seek(&volume->fs, file, offset, NF2_SEEK_SET) == offset
           && nf2_read(&volume->fs, file, data, sizeof data) == (int32_t)length && memcmp(data, text, length) == 0;
}

/* ---- names --------------------------------------------------------------------------------------- */

TEST(paths)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    struct nf2_stat stat;

    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(fs, "a"), NF2_OK);
    CHECK_EQ(nf2_mkdir(fs, "/a/b"), NF2_OK);
    CHECK_EQ(put(&volume, "a/b/f", 100, 1), NF2_OK);
    CHECK(holds(&volume, "/a/b/f", 100, 1));
    CHECK(holds(&volume, "a//b///f", 100, 1));
    CHECK(holds(&volume, "./a/./b/f", 100, 1));
    CHECK(holds(&volume, "a/../a/b/../b/f", 100, 1));
    CHECK(holds(&volume, "../../a/b/f", 100, 1));
    CHECK_EQ(put(&volume, "a/../g", 10, 2), NF2_OK);
    CHECK(holds(&volume, "g", 10, 2));
    CHECK_EQ(nf2_stat(fs, "/", &stat), NF2_OK);
    CHECK_EQ(stat.type, NF2_TYPE_DIR);
    CHECK_EQ(stat.size, 0);
    CHECK_EQ(nf2_stat(fs, "a/b/..", &stat), NF2_OK);
    CHECK_EQ(stat.type, NF2_TYPE_DIR);
    CHECK_EQ(nf2_stat(fs, "a/b/f", &stat), NF2_OK);
    CHECK_EQ(stat.type, NF2_TYPE_FILE);
    CHECK_EQ(stat.size, 100);
    CHECK_EQ(nf2_stat(fs, "a/x", &stat), NF2_ERR_NOENT);
    CHECK_EQ(nf2_stat(fs, "x/b", &stat), NF2_ERR_NOENT);
    CHECK_EQ(nf2_stat(fs, "g/b", &stat), NF2_ERR_NOTDIR);
    CHECK_EQ(nf2_stat(fs, "...", &stat), NF2_ERR_NOENT);    /* an ordinary name */
    CHECK_EQ(put(&volume, "...", 3, 3), NF2_OK);
    CHECK_EQ(put(&volume, ".hidden", 3, 4), NF2_OK);
    CHECK(holds(&volume, "...", 3, 3) && holds(&volume, ".hidden", 3, 4));
    volume_down(&volume, true);
}

TEST(name_lengths)
{
    struct volume volume;
    char name[NF2_NAME_MAX + 2];
    struct nf2_stat stat;

    volume_up(&volume, chip);
    for (uint32_t length = 1; length <= NF2_NAME_MAX; length += length < 120 ? 17 : 3) {
        memset(name, 'n', length);
        name[length] = 0;
        CHECK_EQ(put(&volume, name, length, length), NF2_OK);
        CHECK(holds(&volume, name, length, length));
    }
    for (uint32_t length = 1; length <= NF2_NAME_MAX; length += length < 120 ? 17 : 3) {
        memset(name, 'n', length);
        name[length] = 0;
        CHECK(holds(&volume, name, length, length));
        memset(name, 'm', length);
        CHECK_EQ(nf2_mkdir(&volume.fs, name), NF2_OK);
    }
    memset(name, 'x', NF2_NAME_MAX + 1);
    name[NF2_NAME_MAX + 1] = 0;
    CHECK_EQ(put(&volume, name, 1, 1), NF2_ERR_NAMETOOLONG);
    CHECK_EQ(nf2_mkdir(&volume.fs, name), NF2_ERR_NAMETOOLONG);
    CHECK_EQ(nf2_stat(&volume.fs, name, &stat), NF2_ERR_NAMETOOLONG);
    CHECK_EQ(nf2_rename(&volume.fs, "n", name), NF2_ERR_NAMETOOLONG);
    CHECK_EQ(nf2_remove(&volume.fs, name), NF2_ERR_NAMETOOLONG);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    memset(name, 'n', NF2_NAME_MAX);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* Every byte but '/' and NUL, and the order of a listing. */
TEST(name_bytes)
{
    struct volume volume;
    nf2_dir_t dir;
    struct nf2_dirent entry;
    char name[4] = "?x";
    unsigned expected = 1;

    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(&volume.fs, "d"), NF2_OK);
    for (unsigned i = 1; i < 256; i++) {
        char path[8] = "d/??";
        unsigned byte = i * 73 % 256;

        path[2] = (char)byte;
        path[3] = 'x';
        if (byte && byte != '/') {
            CHECK_EQ(put(&volume, path, 4, i), NF2_OK);
        }
    }
    CHECK_EQ(nf2_opendir(&volume.fs, &dir, "d"), NF2_OK);
    while (nf2_readdir(&volume.fs, &dir, &entry) == 1 && expected < 256) {
        expected += expected == '/';
        name[0] = (char)expected;
        CHECK(strcmp(entry.name, name) == 0);
        CHECK(entry.type == NF2_TYPE_FILE && entry.size == 4);
        expected++;
    }
    CHECK_EQ(expected, 256);
    CHECK_EQ(nf2_readdir(&volume.fs, &dir, &entry), 0);
    CHECK_EQ(nf2_readdir(&volume.fs, &dir, &entry), 0);
    CHECK_EQ(nf2_rewinddir(&volume.fs, &dir), NF2_OK);
    CHECK_EQ(nf2_readdir(&volume.fs, &dir, &entry), 1);
    CHECK(strcmp(entry.name, "\001x") == 0);
    CHECK_EQ(nf2_closedir(&volume.fs, &dir), NF2_OK);
    CHECK_EQ(nf2_readdir(&volume.fs, &dir, &entry), NF2_ERR_BADF);
    CHECK_EQ(nf2_opendir(&volume.fs, &dir, "d/ax"), NF2_ERR_NOTDIR);
    CHECK_EQ(nf2_opendir(&volume.fs, &dir, "e"), NF2_ERR_NOENT);
    volume_down(&volume, true);
}

TEST(directories)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t file;
    char deep[700] = "";

    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(fs, "d"), NF2_OK);
    CHECK_EQ(nf2_mkdir(fs, "d"), NF2_ERR_EXIST);
    CHECK(one_of(nf2_mkdir(fs, "/"), NF2_ERR_EXIST, NF2_ERR_INVAL, NF2_ERR_EXIST));
    CHECK_EQ(nf2_mkdir(fs, "x/y"), NF2_ERR_NOENT);
    CHECK_EQ(put(&volume, "f", 10, 1), NF2_OK);
    CHECK_EQ(nf2_mkdir(fs, "f"), NF2_ERR_EXIST);
    CHECK_EQ(nf2_mkdir(fs, "f/x"), NF2_ERR_NOTDIR);
    CHECK_EQ(open_file(&volume, &file, "d", NF2_O_RDONLY), NF2_ERR_ISDIR);
    CHECK_EQ(open_file(&volume, &file, "d", NF2_O_RDWR), NF2_ERR_ISDIR);
    CHECK_EQ(nf2_remove(fs, "/"), NF2_ERR_INVAL);
    CHECK_EQ(nf2_remove(fs, "none"), NF2_ERR_NOENT);
    CHECK_EQ(put(&volume, "d/f", 10, 2), NF2_OK);
    CHECK_EQ(nf2_remove(fs, "d"), NF2_ERR_NOTEMPTY);
    CHECK_EQ(nf2_remove(fs, "d/f"), NF2_OK);
    CHECK_EQ(nf2_remove(fs, "d"), NF2_OK);
    for (unsigned i = 0; i < 60; i++) {
        strcat(deep, i ? "/directory" : "directory");
        CHECK_EQ(nf2_mkdir(fs, deep), NF2_OK);
    }
    strcat(deep, "/file");
    CHECK_EQ(put(&volume, deep, 1000, 3), NF2_OK);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK(holds(&volume, deep, 1000, 3));
    CHECK_EQ(nf2_check(fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(renames)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t file;

    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(fs, "d"), NF2_OK);
    CHECK_EQ(nf2_mkdir(fs, "d/e"), NF2_OK);
    CHECK_EQ(nf2_mkdir(fs, "empty"), NF2_OK);
    CHECK_EQ(put(&volume, "a", 100, 1), NF2_OK);
    CHECK_EQ(put(&volume, "b", 9000, 2), NF2_OK);
    CHECK_EQ(nf2_rename(fs, "none", "x"), NF2_ERR_NOENT);
    CHECK_EQ(nf2_rename(fs, "a", "none/x"), NF2_ERR_NOENT);
    CHECK_EQ(nf2_rename(fs, "a", "b/x"), NF2_ERR_NOTDIR);
    CHECK_EQ(nf2_rename(fs, "a", "empty"), NF2_ERR_ISDIR);
    CHECK_EQ(nf2_rename(fs, "empty", "a"), NF2_ERR_NOTDIR);
    CHECK_EQ(nf2_rename(fs, "empty", "d"), NF2_ERR_NOTEMPTY);
    CHECK_EQ(nf2_rename(fs, "d", "d/e/x"), NF2_ERR_INVAL);
    CHECK_EQ(nf2_rename(fs, "d", "d/x"), NF2_ERR_INVAL);
    CHECK_EQ(nf2_rename(fs, "d", "d/none/x"), NF2_ERR_NOENT); /* that there is no way there comes first */
    CHECK(nf2_rename(fs, "/", "d/x") < 0);
    CHECK(nf2_rename(fs, "d", "/") < 0);
    CHECK_EQ(nf2_rename(fs, "a", "a"), NF2_OK);
    CHECK_EQ(nf2_rename(fs, "d", "d"), NF2_OK);
    CHECK(holds(&volume, "a", 100, 1));
    CHECK_EQ(nf2_rename(fs, "a", "d/e/a"), NF2_OK);
    CHECK_EQ(size_of(&volume, "a", NULL), NF2_ERR_NOENT);
    CHECK_EQ(nf2_rename(fs, "d/e", "empty"), NF2_OK);       /* over an empty directory */
    CHECK(holds(&volume, "empty/a", 100, 1));
    CHECK_EQ(nf2_rename(fs, "b", "empty/a"), NF2_OK);       /* over a file */
    CHECK(holds(&volume, "empty/a", 9000, 2));
    CHECK_EQ(size_of(&volume, "b", NULL), NF2_ERR_NOENT);
    /* open files */
    CHECK_EQ(put(&volume, "c", 50, 3), NF2_OK);
    CHECK_EQ(nf2_open(fs, &file, "empty/a", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_rename(fs, "c", "empty/a"), NF2_ERR_BUSY);
    CHECK_EQ(nf2_rename(fs, "empty/a", "moved"), NF2_OK);   /* clean: it moves */
    CHECK_EQ(nf2_remove(fs, "moved"), NF2_ERR_BUSY);
    CHECK_EQ(nf2_size(fs, &file), 9000);
    CHECK_EQ(nf2_close(fs, &file), NF2_OK);
    CHECK_EQ(open_file(&volume, &file, "moved", NF2_O_RDWR), NF2_OK);
    CHECK_EQ(write_text(&volume, &file, "new"), 3);
    CHECK_EQ(nf2_rename(fs, "moved", "again"), NF2_OK);     /* unsynced data go with it */
    CHECK_EQ(nf2_sync(fs, &file), NF2_OK);
    CHECK_EQ(write_text(&volume, &file, "er!"), 3);
    CHECK_EQ(nf2_close(fs, &file), NF2_OK);
    CHECK_EQ(nf2_open(fs, &file, "again", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK(nf2_size(fs, &file) == 9000);
    CHECK_EQ(nf2_close(fs, &file), NF2_OK);
    CHECK_EQ(nf2_check(fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* ---- files --------------------------------------------------------------------------------------- */

TEST(open_errors)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    enum { WRITERS = 9 };
    nf2_file_t file[WRITERS];
    static uint8_t page[WRITERS][NF2_PAGE_MAX];
    char name[8] = "w0";

    volume_up(&volume, chip);
    CHECK_EQ(put(&volume, "f", 100, 1), NF2_OK);
    CHECK_EQ(open_file(&volume, &file[0], "none", NF2_O_RDWR), NF2_ERR_NOENT);
    CHECK_EQ(open_file(&volume, &file[0], "f", 0), NF2_ERR_INVAL);
    CHECK_EQ(open_file(&volume, &file[0], "f", 0x8000 | NF2_O_RDONLY), NF2_ERR_INVAL);
    CHECK_EQ(nf2_open(fs, &file[0], "f", NF2_O_RDWR, NULL), NF2_ERR_INVAL);
    CHECK_EQ(open_file(&volume, &file[0], "f", NF2_O_RDWR | NF2_O_CREAT | NF2_O_EXCL), NF2_ERR_EXIST);
    CHECK(open_file(&volume, &file[0], "f", NF2_O_RDONLY | NF2_O_TRUNC) < 0);
    CHECK(holds(&volume, "f", 100, 1));
    /* one writer, any number of readers */
    CHECK_EQ(open_file(&volume, &file[0], "f", NF2_O_RDWR), NF2_OK);
    CHECK_EQ(nf2_open(fs, &file[1], "f", NF2_O_WRONLY, page[1]), NF2_ERR_BUSY);
    CHECK_EQ(nf2_open(fs, &file[1], "f", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_open(fs, &file[2], "f", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_close(fs, &file[0]), NF2_OK);
    CHECK_EQ(nf2_open(fs, &file[0], "f", NF2_O_WRONLY, page[0]), NF2_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(nf2_close(fs, &file[i]), NF2_OK);
    }
    for (unsigned i = 0; i < WRITERS; i++) { /* any number of files may be open for writing */
        name[1] = (char)('0' + i);
        CHECK_EQ(nf2_open(fs, &file[i], name, NF2_O_WRONLY | NF2_O_CREAT, page[i]), NF2_OK);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        CHECK_EQ(nf2_close(fs, &file[i]), NF2_OK);
    }
    CHECK_EQ(nf2_open(fs, &file[0], name, NF2_O_WRONLY | NF2_O_CREAT, page[0]), NF2_OK);
    CHECK_EQ(nf2_close(fs, &file[0]), NF2_OK);
    volume_down(&volume, true);
}

TEST(bad_handles)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;
    uint8_t data[8] = { 0 };

    volume_up(&volume, chip);
    CHECK_EQ(open_file(&volume, file, "f", NF2_O_WRONLY | NF2_O_CREAT), NF2_OK);
    CHECK_EQ(nf2_read(fs, file, data, 8), NF2_ERR_BADF);
    CHECK_EQ(nf2_write(fs, file, data, 8), 8);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    CHECK_EQ(nf2_close(fs, file), NF2_ERR_BADF);
    CHECK_EQ(nf2_read(fs, file, data, 8), NF2_ERR_BADF);
    CHECK_EQ(nf2_write(fs, file, data, 8), NF2_ERR_BADF);
    CHECK_EQ(nf2_seek(fs, file, 0, NF2_SEEK_SET), NF2_ERR_BADF);
    CHECK_EQ(nf2_tell(fs, file), NF2_ERR_BADF);
    CHECK_EQ(nf2_size(fs, file), NF2_ERR_BADF);
    CHECK_EQ(nf2_truncate(fs, file, 0), NF2_ERR_BADF);
    CHECK_EQ(nf2_preallocate(fs, file, 0), NF2_ERR_BADF);
    CHECK_EQ(nf2_sync(fs, file), NF2_ERR_BADF);
    CHECK_EQ(nf2_open(fs, file, "f", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_write(fs, file, data, 8), NF2_ERR_BADF);
    CHECK_EQ(nf2_truncate(fs, file, 0), NF2_ERR_BADF);
    CHECK_EQ(nf2_preallocate(fs, file, 100), NF2_ERR_BADF);
    CHECK_EQ(nf2_read(fs, file, data, 8), 8);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    volume_down(&volume, true);
}

TEST(seeks)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;
    uint8_t data[8];

    volume_up(&volume, chip);
    CHECK_EQ(open_file(&volume, file, "f", NF2_O_RDWR | NF2_O_CREAT), NF2_OK);
    CHECK_EQ(write_text(&volume, file, "0123456789"), 10);
    CHECK_EQ(nf2_tell(fs, file), 10);
    CHECK_EQ(nf2_seek(fs, file, 3, NF2_SEEK_SET), 3);
    CHECK_EQ(nf2_seek(fs, file, 2, NF2_SEEK_CUR), 5);
    CHECK_EQ(nf2_seek(fs, file, -1, NF2_SEEK_CUR), 4);
    CHECK_EQ(nf2_read(fs, file, data, 1), 1);
    CHECK_EQ(data[0], '4');
    CHECK_EQ(nf2_seek(fs, file, -2, NF2_SEEK_END), 8);
    CHECK_EQ(nf2_read(fs, file, data, 8), 2);
    CHECK_EQ(nf2_read(fs, file, data, 8), 0);
    CHECK_EQ(nf2_seek(fs, file, -1, NF2_SEEK_SET), NF2_ERR_INVAL);
    CHECK_EQ(nf2_seek(fs, file, -11, NF2_SEEK_END), NF2_ERR_INVAL);
    CHECK_EQ(nf2_seek(fs, file, -11, NF2_SEEK_CUR), NF2_ERR_INVAL);
    CHECK_EQ(nf2_seek(fs, file, 0, 3), NF2_ERR_INVAL);
    CHECK_EQ(nf2_tell(fs, file), 10);
    CHECK_EQ(nf2_seek(fs, file, 0x7FFFFFFF, NF2_SEEK_END), NF2_ERR_INVAL);
    CHECK_EQ(nf2_seek(fs, file, 0x7FFFFFFF, NF2_SEEK_SET), 0x7FFFFFFF);
    CHECK_EQ(nf2_seek(fs, file, 1, NF2_SEEK_CUR), NF2_ERR_INVAL);
    CHECK_EQ(nf2_read(fs, file, data, 8), 0);
    CHECK_EQ(nf2_write(fs, file, data, 1), NF2_ERR_FBIG);
    CHECK_EQ(nf2_write(fs, file, data, 0), 0);
    CHECK_EQ(nf2_tell(fs, file), 0x7FFFFFFF);
    CHECK_EQ(nf2_size(fs, file), 10);
    CHECK(one_of(nf2_truncate(fs, file, 0x80000000u), NF2_ERR_FBIG, NF2_ERR_INVAL, NF2_ERR_FBIG));
    CHECK(one_of(nf2_preallocate(fs, file, 0x80000000u), NF2_ERR_FBIG, NF2_ERR_INVAL, NF2_ERR_NOSPC));
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    volume_down(&volume, true);
}

/* A gap behind `size` bytes, up to `from`, reads as zeros, before and after the sync, and after shrinking and growing. */
static void gap(struct volume *volume, uint32_t size, uint32_t from, bool by_truncate)
{
    nf2_t *fs = &volume->fs;
    nf2_file_t *file = &volume->file;
    uint8_t data[2000];
    uint32_t wrongs = 0;

    CHECK_EQ(put(volume, "gap", size, 9), NF2_OK);
    CHECK_EQ(open_file(volume, file, "gap", NF2_O_RDWR), NF2_OK);
    if (by_truncate) {
        CHECK_EQ(nf2_truncate(fs, file, from), NF2_OK);
        CHECK_EQ(nf2_tell(fs, file), 0);
        CHECK_EQ(nf2_seek(fs, file, 0, NF2_SEEK_END), (int32_t)from);
    } else {
        CHECK_EQ(nf2_seek(fs, file, (int32_t)from, NF2_SEEK_SET), (int32_t)from);
    }
    CHECK_EQ(write_text(volume, file, "end"), 3);
    for (unsigned round = 0; round < 3; round++) {
        uint32_t at = 0;
        int32_t got;

        CHECK_EQ(nf2_seek(fs, file, 0, NF2_SEEK_SET), 0);
        while ((got = nf2_read(fs, file, data, sizeof data)) > 0) {
            for (int32_t i = 0; i < got; i++, at++) {
                uint8_t want = at < size ? content_byte(9, at) : at < from ? 0 : (uint8_t)"end"[at - from];

                wrongs += data[i] != want;
            }
        }
        CHECK_EQ(at, from + 3);
        CHECK_EQ(wrongs, 0);
        CHECK_EQ(round == 0 ? nf2_sync(fs, file) : nf2_close(fs, file), NF2_OK);
        if (round == 1) {
            CHECK_EQ(volume_again(volume, true), NF2_OK);
        }
        if (round) {
            CHECK_EQ(open_file(volume, file, "gap", NF2_O_RDWR), NF2_OK);
        }
    }
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
}

TEST(gaps)
{
    static const uint32_t sizes[][2] = { { 0, 1 }, { 0, 100 }, { 10, 5000 }, { 100, 300 }, { 300, 4096 }, { 4096, 8192 },
                                         { 5000, 5001 }, { 0, 20000 }, { 9000, 30000 } };
    struct volume volume;

    volume_up(&volume, chip);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        gap(&volume, sizes[i][0], sizes[i][1], false);
        gap(&volume, sizes[i][0], sizes[i][1], true);
    }
    volume_down(&volume, true);
}

/* What was cut off stays cut off: growing again shows zeros. */
static void shrink_from(uint32_t size, uint32_t cut, bool sync)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;
    uint32_t wrongs = 0;

    volume_up(&volume, chip);
    CHECK_EQ(put(&volume, "f", size, 4), NF2_OK);
    CHECK_EQ(open_file(&volume, file, "f", NF2_O_RDWR), NF2_OK);
    CHECK_EQ(nf2_truncate(fs, file, cut), NF2_OK);
    if (sync) {
        CHECK_EQ(nf2_sync(fs, file), NF2_OK);
    }
    CHECK_EQ(nf2_size(fs, file), (int32_t)cut);
    CHECK_EQ(nf2_truncate(fs, file, size), NF2_OK);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    CHECK_EQ(nf2_open(fs, file, "f", NF2_O_RDONLY, NULL), NF2_OK);
    for (uint32_t at = 0; at < size; at++) {
        uint8_t byte = 1;

        CHECK_EQ(nf2_read(fs, file, &byte, 1), 1);
        wrongs += byte != (at < cut ? content_byte(4, at) : 0);
    }
    CHECK_EQ(wrongs, 0);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    volume_down(&volume, true);
}

TEST(shrink_and_grow)
{
    static const uint32_t sizes[][2] = { { 100, 30 }, { 5000, 4096 }, { 9000, 100 }, { 9000, 4100 } };

    for (unsigned i = 0; i < 8; i++) {
        shrink_from(sizes[i % 4][0], sizes[i % 4][1], i / 4 != 0);
    }
}

/* Readers see what was synced last; a cut leaves it. */
TEST(synced_and_not)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;
    nf2_file_t reader;

    volume_up(&volume, chip);
    CHECK_EQ(open_file(&volume, file, "f", NF2_O_RDWR | NF2_O_CREAT), NF2_OK);
    CHECK_EQ(size_of(&volume, "f", NULL), NF2_OK);                  /* visible at once */
    CHECK_EQ(nf2_mkdir(fs, "f"), NF2_ERR_EXIST);
    CHECK_EQ(nf2_remove(fs, "f"), NF2_ERR_BUSY);
    CHECK_EQ(nf2_open(fs, &reader, "f", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(write_text(&volume, file, "first"), 5);
    CHECK(reads(&volume, &reader, 0, "", 0));
    CHECK(reads(&volume, file, 0, "first", 5));                     /* its own writes */
    CHECK_EQ(nf2_sync(fs, file), NF2_OK);
    CHECK(reads(&volume, &reader, 0, "first", 5));
    CHECK_EQ(nf2_seek(fs, file, 0, NF2_SEEK_END), 5);
    CHECK_EQ(write_text(&volume, file, " second"), 7);
    CHECK_EQ(nf2_size(fs, file), 12);
    CHECK(reads(&volume, &reader, 0, "first", 5));
    CHECK_EQ(nf2_close(fs, &reader), NF2_OK);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);                 /* the power went */
    CHECK_EQ(nf2_open(fs, &reader, "f", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK(reads(&volume, &reader, 0, "first", 5));
    CHECK_EQ(nf2_close(fs, &reader), NF2_OK);
    CHECK_EQ(open_file(&volume, file, "f", NF2_O_RDWR | NF2_O_TRUNC), NF2_OK);
    CHECK_EQ(nf2_size(fs, file), 0);
    CHECK_EQ(write_text(&volume, file, "third, and longer"), 17);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);                  /* left open: lost */
    CHECK_EQ(nf2_open(fs, &reader, "f", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK(reads(&volume, &reader, 0, "first", 5));
    CHECK_EQ(nf2_close(fs, &reader), NF2_OK);
    CHECK_EQ(open_file(&volume, file, "ghost", NF2_O_WRONLY | NF2_O_CREAT), NF2_OK);
    CHECK_EQ(write_text(&volume, file, "x"), 1);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(size_of(&volume, "ghost", NULL), NF2_ERR_NOENT);       /* no empty ghost */
    CHECK_EQ(nf2_check(fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(open_modes)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;

    volume_up(&volume, chip);
    CHECK_EQ(open_file(&volume, file, "log", NF2_O_RDWR | NF2_O_CREAT | NF2_O_APPEND), NF2_OK);
    CHECK_EQ(write_text(&volume, file, "one"), 3);
    CHECK_EQ(nf2_seek(fs, file, 0, NF2_SEEK_SET), 0);
    CHECK_EQ(write_text(&volume, file, "two"), 3);
    CHECK_EQ(nf2_tell(fs, file), 6);
    CHECK(reads(&volume, file, 0, "onetwo", 6));
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    CHECK_EQ(open_file(&volume, file, "log", NF2_O_RDWR | NF2_O_APPEND | NF2_O_SYNC), NF2_OK);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(write_text(&volume, file, "0123456789abcdef0123456789abcdef"), 32);
    }
    CHECK_EQ(volume_again(&volume, false), NF2_OK);                 /* each was synced */
    CHECK_EQ(open_file(&volume, file, "log", NF2_O_RDWR), NF2_OK);
    CHECK_EQ(nf2_size(fs, file), 3206);
    CHECK(reads(&volume, file, 3206 - 16, "0123456789abcdef", 16));
    CHECK_EQ(nf2_truncate(fs, file, 3), NF2_OK);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    CHECK_EQ(open_file(&volume, file, "log", NF2_O_RDWR | NF2_O_TRUNC), NF2_OK);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    CHECK(holds(&volume, "log", 0, 0));
    CHECK_EQ(open_file(&volume, file, "new", NF2_O_RDWR | NF2_O_CREAT | NF2_O_EXCL), NF2_OK);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK(holds(&volume, "new", 0, 0));                             /* empty, and durable at its close */
    volume_down(&volume, true);
}

/* ---- a full volume ------------------------------------------------------------------------------- */

static unsigned fill(struct volume *volume, uint32_t size)
{
    char name[16];
    unsigned count = 0;

    for (;; count++) {
        int status;

        snprintf(name, sizeof name, "fill%u", count);
        status = put(volume, name, size, count);
        if (status != NF2_OK) {
            CHECK_EQ(status, NF2_ERR_NOSPC);
            break;
        }
    }
    return count;
}

static void fill_with(uint32_t size)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;
    char name[16];
    unsigned count;
    uint32_t old = 0;
    static uint8_t large[40000];

    volume_up(&volume, chip);
    CHECK_EQ(put(&volume, "keep", 3000, 77), NF2_OK);
    count = fill(&volume, size);
    CHECK(count > 3);
    snprintf(name, sizeof name, "fill%u", count);
    CHECK_EQ(size_of(&volume, name, &old), NF2_ERR_NOENT); /* nor the part that was accepted */
    /* a write that does not fit is refused as a whole */
    CHECK_EQ(open_file(&volume, file, "keep", NF2_O_RDWR), NF2_OK);
    CHECK_EQ(nf2_seek(fs, file, 100, NF2_SEEK_SET), 100);
    CHECK_EQ(nf2_write(fs, file, large, sizeof large), NF2_ERR_NOSPC);
    CHECK_EQ(nf2_tell(fs, file), 100);
    CHECK_EQ(nf2_size(fs, file), 3000);
    CHECK_EQ(nf2_close(fs, file), NF2_ERR_NOSPC);
    CHECK(holds(&volume, "keep", 3000, 77));
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "fill%u", i);
        CHECK(holds(&volume, name, size, i));
    }
    CHECK_EQ(nf2_check(fs, NULL, NULL), 0);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "fill%u", i);
        CHECK_EQ(nf2_remove(fs, name), NF2_OK);
    }
    CHECK(holds(&volume, "keep", 3000, 77));
    CHECK(fill(&volume, size) + (size > 256 ? 2 : CORE_SMALL_FILES_LESS(count)) >= count);
    CHECK_EQ(nf2_check(fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(full_chip)
{
    fill_with(5000);
    fill_with(100);
    fill_with(30000);
}

static void fill_often(const char *on_chip)
{
    struct volume volume;
    struct nf2_statfs fresh, stat;
    uint32_t size;

    volume_up(&volume, on_chip);
    CHECK_EQ(put(&volume, "keep", 3000, 77), NF2_OK);
    CHECK_EQ(nf2_statfs(&volume.fs, &fresh), NF2_OK);
    size = (fresh.blocks_available - 2) * fresh.block_size;
    for (unsigned round = 0; round < 1000; round++) {
        CHECK_EQ(put(&volume, "fill", size, round), NF2_OK);
        CHECK(round % 50 || holds(&volume, "fill", size, round));
        CHECK_EQ(nf2_remove(&volume.fs, "fill"), NF2_OK);
    }
    CHECK(maintain_all(&volume) == 0);
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    CHECK(stat.blocks_free + 2 >= fresh.blocks_free);
    CHECK(holds(&volume, "keep", 3000, 77));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
    volume_down(&volume, true);
}

TEST(thousand_fills)
{
    fill_often("tiny128k");
    fill_often("tinyecc16");
}

/* What was preallocated stays writable when others fill the rest; the rest of it comes back at the close. */
TEST(preallocation)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;
    struct nf2_statfs before, after;
    uint8_t piece[1000];

    volume_up(&volume, chip);
    CHECK_EQ(nf2_statfs(fs, &before), NF2_OK);
    CHECK_EQ(open_file(&volume, file, "stream", NF2_O_RDWR | NF2_O_CREAT), NF2_OK);
    CHECK_EQ(nf2_preallocate(fs, file, before.blocks * before.block_size), NF2_ERR_NOSPC);
    CHECK_EQ(nf2_preallocate(fs, file, 30000), NF2_OK);
    CHECK_EQ(nf2_size(fs, file), 0);
    {
        static uint8_t page[NF2_PAGE_MAX];
        nf2_file_t filler;
        int32_t status = 1;

        CHECK_EQ(nf2_open(fs, &filler, "filler", NF2_O_WRONLY | NF2_O_CREAT, page), NF2_OK);
        memset(piece, 1, sizeof piece);
        while (status > 0) {
            status = nf2_write(fs, &filler, piece, sizeof piece);
        }
        CHECK_EQ(status, NF2_ERR_NOSPC);
        CHECK(one_of(nf2_close(fs, &filler), NF2_OK, NF2_ERR_NOSPC, NF2_OK));
    }
    for (uint32_t at = 0; at < 30000; at += 1000) {
        for (uint32_t i = 0; i < 1000; i++) {
            piece[i] = content_byte(5, at + i);
        }
        CHECK_EQ(nf2_write(fs, file, piece, 1000), 1000);
    }
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    CHECK(holds(&volume, "stream", 30000, 5));
    CHECK_EQ(nf2_remove(fs, "filler") == NF2_OK || size_of(&volume, "filler", NULL) == NF2_ERR_NOENT, true);
    CHECK_EQ(nf2_remove(fs, "stream"), NF2_OK);
    CHECK(maintain_all(&volume) == 0);
    CHECK_EQ(open_file(&volume, file, "small", NF2_O_RDWR | NF2_O_CREAT), NF2_OK);
    CHECK_EQ(nf2_preallocate(fs, file, 50000), NF2_OK);
    CHECK_EQ(nf2_write(fs, file, piece, 1000), 1000);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    CHECK(maintain_all(&volume) == 0);
    CHECK_EQ(nf2_statfs(fs, &after), NF2_OK);
    CHECK(after.blocks_free + 5 >= before.blocks_free);
    volume_down(&volume, true);
}

/* Files of about a page, of which any part may be changed; up to a page they take no block of their own. */
TEST(about_a_page)
{
    static const int32_t steps[] = { -2, -1, 0, 1, 60, 128 };
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;
    uint8_t old[NF2_PAGE_MAX + 200], read[NF2_PAGE_MAX + 200];
    struct nf2_statfs before, after;
    char path[16];

    volume_up(&volume, chip);
    uint32_t page = volume.driver.page_size;
    CHECK_EQ(nf2_statfs(fs, &before), NF2_OK);
    for (uint32_t i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "s%u", (unsigned)i);
        CHECK_EQ(put(&volume, path, page - i, i), NF2_OK);
    }
    CHECK_EQ(nf2_statfs(fs, &after), NF2_OK);
    CHECK(before.blocks_free - after.blocks_free < 8);
    for (uint32_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        uint32_t size = page + (uint32_t)steps[i];
        for (uint32_t at = 0; at <= size + 30; at += at < page - 5 || at > page + 5 ? 47 : 1) {
            for (uint32_t turn = 0; turn < 4; turn++) { /* a change within a handle, or of a file that was closed; synced or not */
                CHECK_EQ(open_file(&volume, file, "f", NF2_O_RDWR | NF2_O_CREAT | NF2_O_TRUNC), NF2_OK);
                for (uint32_t k = 0; k < size; k++) {
                    old[k] = content_byte(at + turn, k);
                }
                CHECK_EQ(nf2_write(fs, file, old, size), (int32_t)size);
                if (turn & 1) {
                    CHECK_EQ(nf2_close(fs, file), NF2_OK);
                    CHECK_EQ(open_file(&volume, file, "f", NF2_O_RDWR), NF2_OK);
                } else if (turn & 2) {
                    CHECK_EQ(nf2_sync(fs, file), NF2_OK);
                }
                uint32_t end = size;
                if (at % 2 == 0 && turn < 2) { /* cut, and written on */
                    CHECK_EQ(nf2_truncate(fs, file, at < size ? at : size), NF2_OK);
                    end = at < size ? at : size;
                }
                memset(old + end, 0, sizeof old - end);
                memset(old + at, 0xA5, 20);
                CHECK_EQ(nf2_seek(fs, file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
                CHECK_EQ(nf2_write(fs, file, old + at, 20), 20);
                end = end > at + 20 ? end : at + 20;
                for (uint32_t again = 0; again < 2; again++) {
                    CHECK_EQ(nf2_size(fs, file), (int32_t)end);
                    CHECK_EQ(nf2_seek(fs, file, 0, NF2_SEEK_SET), 0);
                    CHECK_EQ(nf2_read(fs, file, read, sizeof read), (int32_t)end);
                    CHECK(memcmp(read, old, end) == 0);
                    CHECK_EQ(nf2_close(fs, file), NF2_OK);
                    CHECK_EQ(open_file(&volume, file, "f", NF2_O_RDONLY), NF2_OK);
                }
                CHECK_EQ(nf2_close(fs, file), NF2_OK);
            }
        }
    }
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    for (uint32_t i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "s%u", (unsigned)i);
        CHECK(holds(&volume, path, page - i, i));
    }
    volume_down(&volume, true);
}

/* Names on a full volume: directories, files whose names are too long to wait for their content, renames; garbage is reclaimed first. */
TEST(names_on_full)
{
    static struct volume volume;
    char name[NF2_NAME_MAX + 1];
    unsigned made = 0, renamed = 0, opened = 0;
    int status = NF2_OK;

    volume_up(&volume, "tiny256k");
    for (unsigned i = 0; i < 200 && status == NF2_OK; i++) {
        snprintf(name, sizeof name, "fill%u", i);
        status = put(&volume, name, 4096, i);
    }
    CHECK_EQ(status, NF2_ERR_NOSPC);
    memset(name, 'n', sizeof name);
    for (status = NF2_OK; status == NF2_OK && made < 2000; made++) {
        snprintf(name + 200, sizeof name - 200, "%04u", made);
        status = nf2_mkdir(&volume.fs, name);
    }
    CHECK_EQ(status, NF2_ERR_NOSPC);
    for (status = NF2_OK; status == NF2_OK && renamed < 60; renamed++) {
        char from[16];

        snprintf(from, sizeof from, "fill%u", renamed);
        snprintf(name + 200, sizeof name - 200, "r%04u", renamed);
        status = nf2_rename(&volume.fs, from, name);
    }
    CHECK(status == NF2_ERR_NOSPC || status == NF2_ERR_NOENT);
    memset(name, 'o', sizeof name);
    for (status = NF2_OK; status == NF2_OK && opened < 2000; opened++) {
        nf2_file_t file;

        snprintf(name + 240, sizeof name - 240, "%04u", opened);
        status = nf2_open(&volume.fs, &file, name, NF2_O_WRONLY | NF2_O_CREAT, volume.page);
        if (status == NF2_OK) {
            status = nf2_close(&volume.fs, &file);
        }
    }
    CHECK_EQ(status, NF2_ERR_NOSPC);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    memset(name, 'n', sizeof name);
    for (unsigned i = 0; i + 1 < made; i++) {
        snprintf(name + 200, sizeof name - 200, "%04u", i);
        CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
    }
    for (unsigned i = 0; i + 1 < renamed; i++) { /* a core that refuses every name here has room only when these go, too */
        snprintf(name + 200, sizeof name - 200, "r%04u", i);
        CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
    }
    CHECK_EQ(nf2_mkdir(&volume.fs, "room again"), NF2_OK);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/*
 * New files beside a leaf that is to be split with too few blocks for that: the handles whose files have no entry yet were taken for some
 * of the leaf's, and could not be synced any more (NF2_ERR_IO).
 */
static void new_files_on_full(uint32_t random)
{
    static struct volume volume;
    static uint8_t pages[3][NF2_PAGE_MAX], content[350];
    static nf2_file_t file[3];
    char name[NF2_NAME_MAX + 1];
    int status = NF2_OK;

    volume_up(&volume, "tiny128k");
    for (unsigned i = 0; i < 200 && status == NF2_OK; i++) {
        snprintf(name, sizeof name, "fill%u", i);
        status = put(&volume, name, 4096, i);
    }
    CHECK_EQ(status, NF2_ERR_NOSPC);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%c", (char)('b' + 6 * i));
        CHECK_EQ(nf2_open(&volume.fs, &file[i], name, NF2_O_WRONLY | NF2_O_CREAT, pages[i]), NF2_OK);
        status = nf2_write(&volume.fs, &file[i], content, sizeof content);
        CHECK(status == (int)sizeof content || status == NF2_ERR_NOSPC);
    }
    for (unsigned failures = 0; failures < 25;) { /* leaves that are full */
        random = random * 1664525u + 1013904223u;
        uint32_t length = 180 + (random >> 8) % 60;

        memset(name, 'a' + (int)(random >> 16) % 20, length);
        snprintf(name + length, sizeof name - length, "%05u", (unsigned)(random >> 4) % 100000);
        failures += nf2_mkdir(&volume.fs, name) != NF2_OK;
    }
    for (unsigned i = 0; i < 3; i++) {
        int result = nf2_close(&volume.fs, &file[i]);
        CHECK(result == NF2_OK || result == NF2_ERR_NOSPC);
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* The blocks of a removed file that are still to be freed are there for names, where nothing else is left. */
TEST(names_from_garbage)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    uint32_t random = 7;
    char name[120];

    for (unsigned kind = 0; kind < 3; kind++) {
        int status = NF2_OK;

        volume_up(&volume, chip);
        CHECK_EQ(put(&volume, "pieces", 60000, 1), NF2_OK);
        CHECK_EQ(open_file(&volume, &volume.file, "pieces", NF2_O_RDWR), NF2_OK);
        for (unsigned i = 0; i < 60; i++) {
            random = random * 1664525u + 1013904223u;
            int32_t at = (int32_t)(random >> 16);
            at = at < 50000 ? at : at - 20000;
            CHECK_EQ(nf2_seek(fs, &volume.file, at, NF2_SEEK_SET), at);
            CHECK_EQ(nf2_write(fs, &volume.file, "0123456789", 10), 10);
            CHECK_EQ(nf2_sync(fs, &volume.file), NF2_OK);
        }
        CHECK_EQ(nf2_close(fs, &volume.file), NF2_OK);
        for (unsigned i = 0; i < 3000 && status == NF2_OK; i++) {
            snprintf(name, sizeof name, "%04u: a name that is so long that not many of them are needed to fill the volume, as here", i);
            status = nf2_mkdir(fs, name);
        }
        CHECK_EQ(status, NF2_ERR_NOSPC);
        CHECK_EQ(nf2_remove(fs, "pieces"), NF2_OK);
        for (unsigned i = 0; i < 100; i++) {
            snprintf(name, sizeof name, "%04u: another name as long as those, so that a leaf is full some time, and is split", i * 29);
            if (kind == 0) {
                status = nf2_mkdir(fs, name);
            } else if (kind == 1) {
                status = open_file(&volume, &volume.file, name, NF2_O_RDWR | NF2_O_CREAT);
                CHECK_EQ(status == NF2_OK ? nf2_close(fs, &volume.file) : NF2_OK, NF2_OK);
            } else {
                char from[120];
                snprintf(from, sizeof from, "%04u: a name that is so long that not many of them are needed to fill the volume, as here", i);
                status = nf2_rename(fs, from, name);
            }
            CHECK_EQ(status, NF2_OK);
        }
        CHECK_EQ(nf2_check(fs, NULL, NULL), 0);
        volume_down(&volume, true);
    }
}

TEST(new_files_beside_a_split)
{
    for (uint32_t seed = 1; seed <= 40; seed++) {
        new_files_on_full(seed);
    }
}

/* A run of more blocks than a STATE can tell of as freed at once was on record, in part, as erased. */
TEST(long_runs)
{
    static struct volume volume;
    static uint8_t data[1u << 20];
    struct vflash_chip large = *vflash_chip_find("w25q256");

    large.size = 256u << 20;
    memset(data, 0x5A, sizeof data);
    for (unsigned synced = 0; synced < 2; synced++) {
        volume_new_on(&volume, &large);
        volume_format(&volume);
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, "large", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_OK);
        for (unsigned i = 0; i < 80; i++) {
            CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, sizeof data), (int32_t)sizeof data);
        }
        if (synced) {
            CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
            CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
            CHECK_EQ(nf2_remove(&volume.fs, "large"), NF2_OK);
        }
        CHECK_EQ(volume_again(&volume, true), NF2_OK);
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        volume_down(&volume, true);
    }
}

/* Nor do names take what was preallocated: neither directories nor empty files. */
TEST(preallocation_and_names)
{
    static uint8_t piece[4096];
    struct vflash_chip part = *vflash_chip_find("w25q80");

    part.size = 512 << 10;
    for (unsigned kind = 0; kind < 2; kind++) {
        struct volume volume;
        struct nf2_statfs stat;
        char name[201];
        int status = NF2_OK;

        volume_new_on(&volume, &part);
        volume_format(&volume);
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, "kept", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
        CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
        uint32_t size = stat.blocks_available / 8u * 7u * 4096u;
        CHECK_EQ(nf2_preallocate(&volume.fs, &volume.file, size), NF2_OK);
        for (unsigned i = 0; i < 5000 && status == NF2_OK; i++) {
            uint8_t page[NF2_PAGE_MAX];
            nf2_file_t empty;
            memset(name, 'a', sizeof name);
            (void)snprintf(name + 190, 11, "%u", i);
            status = kind == 0 ? nf2_mkdir(&volume.fs, name) : nf2_open(&volume.fs, &empty, name, NF2_O_WRONLY | NF2_O_CREAT, page);
            status = kind == 0 || status < 0 ? status : nf2_close(&volume.fs, &empty);
        }
        CHECK_EQ(status, NF2_ERR_NOSPC);
        for (uint32_t at = 0; at < size; at += 4096) {
            CHECK_EQ(nf2_write(&volume.fs, &volume.file, piece, sizeof piece), (int32_t)sizeof piece);
        }
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        volume_down(&volume, true);
    }
}

/* To grow a file by a page and a byte takes a block where a page is left of the last one: from the last free ones it was taken unasked. */
TEST(grow_on_full)
{
    static uint8_t data[4096];
    struct volume volume;
    struct nf2_statfs before, after;
    uint32_t size = 4096 - 256;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "f", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
    CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, size), (int32_t)size);
    while (nf2_write(&volume.fs, &volume.file, data, sizeof data) > 0) {
        size += (uint32_t)sizeof data;
    }
    CHECK_EQ(nf2_statfs(&volume.fs, &before), NF2_OK);
    for (unsigned i = 0; i < 10; i++) {
        int status = nf2_truncate(&volume.fs, &volume.file, size + 257);
        size += status == NF2_OK ? 257 : 0;
        CHECK(status == NF2_OK || status == NF2_ERR_NOSPC);
        CHECK_EQ(nf2_seek(&volume.fs, &volume.file, 0, NF2_SEEK_END), (int32_t)size);
        int32_t got = nf2_write(&volume.fs, &volume.file, data, 4096 - 257);
        size += got > 0 ? (uint32_t)got : 0;
    }
    CHECK_EQ(nf2_statfs(&volume.fs, &after), NF2_OK);
    CHECK(after.blocks_free + 1 >= before.blocks_free);
    CHECK_EQ(nf2_truncate(&volume.fs, &volume.file, size), NF2_OK); /* as it is: what was refused is not missed */
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_remove(&volume.fs, "f"), NF2_OK);
    volume_down(&volume, true);
}

/* A write of hundreds of blocks that lie apart: refused before it begins, if the map that it needs has no room. */
TEST(large_write_apart)
{
    static uint8_t data[2u << 20];
    struct vflash_chip part = *vflash_chip_find("w25q256");
    struct nf2_statfs stat;
    struct volume volume;
    char name[12];
    int status = NF2_OK;
    unsigned files = 0;

    part.size = 4u << 20;
    volume_new_on(&volume, &part);
    volume_format(&volume);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "large", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
    for (; status == NF2_OK; files++) {
        struct volume *at = &volume;
        uint8_t page[NF2_PAGE_MAX];
        nf2_file_t file;
        (void)snprintf(name, sizeof name, "x%u", files);
        status = nf2_open(&at->fs, &file, name, NF2_O_WRONLY | NF2_O_CREAT, page);
        status = status == NF2_OK && nf2_write(&at->fs, &file, data, 4000) < 0 ? NF2_ERR_NOSPC : status;
        status = nf2_close(&at->fs, &file) == NF2_OK ? status : NF2_ERR_NOSPC;
    }
    for (unsigned i = 1; i < files - 1; i += 2) {
        (void)snprintf(name, sizeof name, "x%u", i);
        CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
    }
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    CHECK(stat.blocks_available > 100);
    uint32_t length = (stat.blocks_available - 2u) * 4096u;
    int32_t written = nf2_write(&volume.fs, &volume.file, data, length);
    CHECK(written == NF2_ERR_NOSPC || written == (int32_t)length);
    CHECK_EQ(nf2_size(&volume.fs, &volume.file), written > 0 ? written : 0);
    CHECK_EQ(nf2_tell(&volume.fs, &volume.file), written > 0 ? written : 0);
    volume_down(&volume, true);
}

/* A volume with two directories of full leaves, a file `d/x`, and `data` of many pieces, of which four are written anew. */
static void batch_volume(struct volume *volume)
{
    static const uint8_t ones[5000] = {1};
    nf2_t *fs = &volume->fs;
    nf2_file_t *file = &volume->file;
    char name[202];

    volume_up(volume, "w25q80");
    CHECK_EQ(nf2_mkdir(fs, "d") | nf2_mkdir(fs, "e"), NF2_OK);
    for (unsigned i = 0; i < 60; i++) {
        memset(name, 'a', sizeof name);
        (void)snprintf(name + 190, 12, "%u", i);
        name[0] = i % 2 ? 'd' : 'e';
        name[1] = '/';
        CHECK_EQ(put(volume, name, 10, i), NF2_OK);
    }
    CHECK_EQ(put(volume, "d/x", 100, 7), NF2_OK);
    CHECK_EQ(nf2_open(fs, file, "data", NF2_O_RDWR | NF2_O_CREAT, volume->page), NF2_OK);
    for (unsigned i = 0; i < 20; i++) {
        CHECK_EQ(nf2_write(fs, file, ones, sizeof ones), (int32_t)sizeof ones);
    }
    for (uint32_t i = 0; i < 300; i++) {
        CHECK_EQ(nf2_seek(fs, file, (int32_t)(i * 7 % 300 * 333), NF2_SEEK_SET), (int32_t)(i * 7 % 300 * 333));
        CHECK_EQ(nf2_write(fs, file, ones, 50), 50);
        CHECK_EQ(i % 3 == 0 ? nf2_sync(fs, file) : NF2_OK, NF2_OK);
    }
    CHECK_EQ(nf2_sync(fs, file), NF2_OK);
    for (uint32_t i = 0; i < 4; i++) {
        static const uint8_t twos[600] = {2, 2, 2};
        CHECK_EQ(nf2_seek(fs, file, (int32_t)(1000 + i * 24000), NF2_SEEK_SET), (int32_t)(1000 + i * 24000));
        CHECK_EQ(nf2_write(fs, file, twos, sizeof twos), (int32_t)sizeof twos);
    }
}

/* A batch that cannot be applied, as nothing may be written: readers see all of it or nothing, wherever it ended. */
static bool batch_whole(uint64_t operation, bool renames, bool cut)
{
    struct vflash_cut at = { .operation = operation };
    struct volume volume;
    unsigned there = 0;
    nf2_file_t reader;
    nf2_dir_t dir;
    struct nf2_dirent entry;

    batch_volume(&volume);
    if (cut) {
        vflash_cut_at(volume.flash, &at);
    } else {
        vflash_fail_at(volume.flash, operation);
    }
    bool done = (renames ? nf2_rename(&volume.fs, "d/x", "e/zzz") : nf2_sync(&volume.fs, &volume.file)) == NF2_OK;
    vflash_power_on(volume.flash);
    vflash_fail_at(volume.flash, 0);
    if (cut) {
        memset(&volume.fs, 0, sizeof volume.fs);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_OK);
    }
    if (renames) {
        bool old = holds(&volume, "d/x", 100, 7), renamed = holds(&volume, "e/zzz", 100, 7);
        CHECK(old != renamed);
        for (unsigned i = 0; i < 2; i++) {
            CHECK_EQ(nf2_opendir(&volume.fs, &dir, i ? "d" : "e"), NF2_OK);
            while (nf2_readdir(&volume.fs, &dir, &entry) == 1) {
                there += entry.name[0] != 'a';
            }
        }
        CHECK_EQ(there, 1);
    } else {
        uint8_t byte[3];
        CHECK_EQ(nf2_open(&volume.fs, &reader, "data", NF2_O_RDONLY, NULL), NF2_OK);
        for (uint32_t i = 0; i < 4; i++) {
            CHECK_EQ(nf2_seek(&volume.fs, &reader, (int32_t)(1000 + i * 24000), NF2_SEEK_SET), (int32_t)(1000 + i * 24000));
            CHECK_EQ(nf2_read(&volume.fs, &reader, byte, sizeof byte), (int32_t)sizeof byte);
            there += byte[1] == 2;
        }
        CHECK(there == 0 || there == 4);
    }
    volume_down(&volume, false);
    return done;
}

TEST(batch_seen_whole)
{
    for (unsigned what = 0; what < 4; what++) {
        uint64_t operation = 1;
        while (operation < 4000 && !batch_whole(operation, what % 2 != 0, what < 2)) {
            operation += 1 + operation / 50; /* reads fail, too: there are hundreds */
        }
        /* One program may commit it. A rename looks at a hint first: where that read fails, it searches. */
        CHECK(operation > (what == 3 ? 0u : 1u) && operation < 4000);
    }
}

int main(void)
{
    RUN(names_on_full);
    RUN(new_files_beside_a_split);
    for (unsigned i = 0; i < sizeof chips / sizeof chips[0]; i++) {
        chip = chips[i];
        printf("chip %s\n", chip);
        RUN(paths);
        RUN(name_lengths);
        RUN(name_bytes);
        RUN(directories);
        RUN(renames);
        RUN(open_errors);
        RUN(bad_handles);
        RUN(seeks);
        RUN(gaps);
        RUN(about_a_page);
        RUN(shrink_and_grow);
        RUN(synced_and_not);
        RUN(open_modes);
        RUN(full_chip);
        RUN(names_from_garbage);
        RUN(preallocation);
    }
    RUN(thousand_fills);
    RUN(long_runs);
    RUN(preallocation_and_names);
    RUN(grow_on_full);
    RUN(large_write_apart);
    RUN(batch_seen_whole);
    return check_done();
}
