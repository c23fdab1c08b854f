/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - the same program on each board of this folder: the selftest of its driver, then work on
 * a volume whose content is known at every moment, with starts in between. The boards are emulated
 * ones; their drivers are what a port to the real ones begins with.
 */
#include <string.h>

#include "board.h"
#include "nf2fs/nf2fs.h"
#include "selftest.h"

#define ROUNDS 24u
#define PAGE_SIZE 256u
#define SETTINGS 300u           /* bytes: more than a page */

static nf2_t fs;
static nf2_file_t file;
static uint8_t volume_buffer[NF2_BUFFER_SIZE(PAGE_SIZE)], file_buffer[PAGE_SIZE];
static struct nf2_config config = {
    .buffer = volume_buffer,
    .buffer_size = sizeof(volume_buffer),
};

static uint8_t setting(uint32_t round, uint32_t i)
{
    return (uint8_t)(round * 7u + i * i);
}

/* ---- work ------------------------------------------------------------------------------------ */

static int write_file(const char *path, int flags, const void *data, uint32_t length)
{
    int result = nf2_open(&fs, &file, path, NF2_O_WRONLY | NF2_O_CREAT | flags, file_buffer);
    if (result != NF2_OK) {
        return result;
    }
    int32_t written = nf2_write(&fs, &file, data, length);
    result = nf2_close(&fs, &file);
    return written < 0 ? (int)written : result;
}

/* New settings take the place of the old ones in one instant; a line goes to the log. */
static int work(uint32_t round)
{
    uint8_t data[SETTINGS];
    for (uint32_t i = 0; i < SETTINGS; i++) {
        data[i] = setting(round, i);
    }
    int result = write_file("/settings.new", NF2_O_TRUNC, data, SETTINGS);
    result = result != NF2_OK ? result : nf2_rename(&fs, "/settings.new", "/settings");
    result = result != NF2_OK ? result : write_file("/log", NF2_O_APPEND, "a line\n", 7);
    return result != NF2_OK ? result : nf2_maintain(&fs, 2000000) < 0 ? NF2_ERR_IO : NF2_OK;
}

static int compare_settings(uint32_t round)
{
    uint8_t data[64];
    uint32_t at = 0;
    int32_t got;
    int result = nf2_open(&fs, &file, "/settings", NF2_O_RDONLY, NULL);
    if (result != NF2_OK) {
        return result;
    }
    while ((got = nf2_read(&fs, &file, data, sizeof(data))) > 0) {
        for (int32_t i = 0; i < got; i++, at++) {
            result = data[i] == setting(round, at) ? result : NF2_ERR_CORRUPT;
        }
    }
    (void)nf2_close(&fs, &file);
    return got < 0 ? (int)got : at == SETTINGS ? result : NF2_ERR_CORRUPT;
}

static int compare(uint32_t round)
{
    struct nf2_stat stat;
    int result = compare_settings(round);
    result = result != NF2_OK ? result : nf2_stat(&fs, "/log", &stat);
    if (result == NF2_OK && stat.size != (round + 1u) * 7u) {
        result = NF2_ERR_CORRUPT;
    }
    return result != NF2_OK ? result : nf2_check(&fs, NULL, NULL) != 0 ? NF2_ERR_CORRUPT : NF2_OK;
}

/* As a reset does it, or in order. */
static int start_again(bool in_order)
{
    int result = in_order ? nf2_unmount(&fs) : NF2_OK;
    memset(&fs, 0, sizeof(fs));
    return result != NF2_OK ? result : nf2_mount(&fs, &config, NF2_MOUNT_RDWR);
}

static int work_and_compare(void)
{
    int result = nf2_mount(&fs, &config, NF2_MOUNT_RDWR);
    for (uint32_t round = 0; round < ROUNDS && result == NF2_OK; round++) {
        result = work(round);
        result = result == NF2_OK && round % 4u == 3u ? start_again(round % 8u == 7u) : result;
        result = result == NF2_OK ? compare(round) : result;
    }
    return result == NF2_OK ? nf2_unmount(&fs) : result;
}

int main(void)
{
    config.flash = board_flash(&config.offset);
    if (config.flash == NULL) {
        return 1;
    }
    enum nf2_selftest_fault fault = nf2_selftest(&config, NULL);
    board_put(nf2_selftest_text(fault));
    board_put("\n");
    if (fault != NF2_SELFTEST_GOOD) {
        return 1;
    }
    int result = nf2_format(&fs, &config, NF2_FORMAT_QUICK);
    result = result == NF2_OK ? work_and_compare() : result;
    board_put(nf2_error_text(result));
    board_put("\n");
    return result != NF2_OK;
}
