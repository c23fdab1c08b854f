/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_failed_handles.c - a handle of which a call failed because the driver did: what it had not
 * synced is given up, whatever is called then, and all later calls that would change the file or
 * sync it say so.
 */
#include <stdio.h>

#include "api_volume.h"
#include "check.h"

#define FIRST 256u              /* bytes of the first write */
#define SECOND 3000u            /* and of the one that fails */
#define KEPT 40u                /* of the file's content in front of it, where there is one */

enum then { SHORTEN, EMPTY, LENGTHEN, WRITE_ON, THENS };

static int32_t write_some(struct volume *volume, uint32_t length, uint32_t seed)
{
    uint8_t data[SECOND];

    for (uint32_t i = 0; i < length; i++) {
        data[i] = content_byte(seed, i);
    }
    return nf2_write(&volume->fs, &volume->file, data, length);
}

/* A call on a handle that failed. */
static int32_t call(struct volume *volume, enum then then)
{
    switch (then) {
    case SHORTEN: return nf2_truncate(&volume->fs, &volume->file, 200);
    case EMPTY: return nf2_truncate(&volume->fs, &volume->file, 0);
    case LENGTHEN: return nf2_truncate(&volume->fs, &volume->file, 9000);
    default: return write_some(volume, 100, 3);
    }
}

/* What is on the volume afterwards: the content of the last sync. */
static void judge(struct volume *volume, bool there)
{
    CHECK_EQ(volume_again(volume, false), NF2_OK);
    CHECK(there ? holds(volume, "file", KEPT, 1) : size_of(volume, "file", NULL) == NF2_ERR_NOENT);
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    CHECK_EQ(put(volume, "file", 700, 4), NF2_OK);
    CHECK(holds(volume, "file", 700, 4));
}

/* The driver fails once, at its call `at` in the second write. Whether the write failed. */
static bool fail_once(const char *chip, bool there, enum then then, uint64_t at)
{
    struct volume volume;

    volume_up(&volume, chip);
    if (there) {
        CHECK_EQ(put(&volume, "file", KEPT, 1), NF2_OK);
    }
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "file", NF2_O_RDWR | NF2_O_CREAT, volume.page),
             NF2_OK);
    CHECK_EQ(write_some(&volume, FIRST, 2), (int)FIRST);
    vflash_fail_at(volume.flash, at);
    int32_t status = write_some(&volume, SECOND, 2);
    vflash_fail_at(volume.flash, 0);
    if (status < 0) {
        CHECK_EQ(status, NF2_ERR_IO);
        CHECK_EQ(call(&volume, then), NF2_ERR_IO);
        CHECK_EQ(write_some(&volume, 10, 3), NF2_ERR_IO);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_ERR_IO);
        CHECK_EQ(nf2_truncate(&volume.fs, &volume.file, 0), NF2_ERR_IO);
    }
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), status < 0 ? NF2_ERR_IO : NF2_OK);
    if (status < 0) {
        judge(&volume, there);
    }
    volume_down(&volume, true);
    return status < 0;
}

static void each_call(const char *chip)
{
    for (enum then then = SHORTEN; then < THENS; then++) {
        unsigned failed = 0;
        for (uint64_t at = 1; at < 40; at++) {
            failed += fail_once(chip, at % 2 != 0, then, at);
            failed += fail_once(chip, at % 2 == 0, then, at);
        }
        CHECK(failed > 0);
    }
}

TEST(failed_write)
{
    each_call("tiny256k");
    each_call("tinyecc16");
}

/* A file that was never synced, and was given up, while it was open for reading: there is none. */
TEST(never_synced)
{
    struct volume volume;
    nf2_file_t reader, again;
    char name[16];
    int status = NF2_OK;

    volume_up(&volume, "tiny256k");
    for (unsigned i = 0; status == NF2_OK; i++) {
        snprintf(name, sizeof name, "o%u", i);
        status = put(&volume, name, i < 1000 ? 1500 : 10, i);
        i = status == NF2_ERR_NOSPC && i < 1000 ? 1000 : i;
        status = i == 1000 ? NF2_OK : status;
    }
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "new", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &reader, "new", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_ERR_NOSPC);
    CHECK_EQ(size_of(&volume, "new", NULL), NF2_ERR_NOENT);
    CHECK_EQ(nf2_open(&volume.fs, &again, "new", NF2_O_RDONLY, NULL), NF2_ERR_NOENT);
    CHECK_EQ(nf2_open(&volume.fs, &again, "new", NF2_O_WRONLY, volume.page), NF2_ERR_NOENT);
    CHECK_EQ(nf2_remove(&volume.fs, "new"), NF2_ERR_NOENT);
    CHECK_EQ(nf2_close(&volume.fs, &reader), NF2_OK);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(never_synced);
    RUN(failed_write);
    return check_done();
}
