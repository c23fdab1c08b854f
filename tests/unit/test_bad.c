/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bad.c - blocks that fail for good: what lies in them moves, the calls succeed, and they are not used any more. Each block
 * of a volume in turn; many, one after the other; a driver that says so of all of them. The campaign `bad` of the torture program
 * breaks a block at each operation, with power cuts behind it.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define FILES 6u
#define ROUNDS 40u

static const char *const names[FILES] = { "small", "flat", "large", "log", "dir/one", "dir/two" };

struct held {
    uint32_t size[FILES], seed[FILES];
};

/* Appends with a sync: the log gets frames. */
static int append(struct volume *volume, const char *path, uint32_t from, uint32_t length, uint32_t seed)
{
    uint8_t data[64];
    nf2_file_t file;

    for (uint32_t i = 0; i < length; i++) {
        data[i] = content_byte(seed, from + i);
    }
    int status = nf2_open(&volume->fs, &file, path, NF2_O_WRONLY | NF2_O_APPEND, volume->page);
    if (status != NF2_OK) {
        return status;
    }
    int32_t got = nf2_write(&volume->fs, &file, data, length);
    status = got < 0 ? (int)got : nf2_sync(&volume->fs, &file);
    int closed = nf2_close(&volume->fs, &file);
    return status < 0 ? status : closed;
}

static bool all_held(struct volume *volume, const struct held *held)
{
    bool right = true;

    for (unsigned i = 0; i < FILES; i++) {
        right = CHECK(held->seed[i] == 0 || holds(volume, names[i], held->size[i], held->seed[i])) && right;
    }
    return right;
}

static void begin_files(struct volume *volume, struct held *held)
{
    static const uint32_t sizes[FILES] = { 60, 6000, 30000, 0, 700, 9000 };

    memset(held, 0, sizeof *held);
    CHECK_EQ(nf2_mkdir(&volume->fs, "dir"), NF2_OK);
    for (unsigned i = 0; i < FILES; i++) {
        held->size[i] = sizes[i];
        held->seed[i] = i + 1;
        CHECK_EQ(put(volume, names[i], sizes[i], i + 1), NF2_OK);
    }
}

/* One step of many; what each call is asked for succeeds. */
static bool step(struct volume *volume, struct held *held, unsigned number)
{
    unsigned i = number % FILES;
    bool right;

    if (i == 3) {
        right = CHECK_EQ(append(volume, names[3], held->size[3], 50, held->seed[3]), NF2_OK);
        held->size[3] += 50;
        return right;
    }
    held->seed[i] = 100 + number;
    right = CHECK_EQ(put(volume, names[i], held->size[i], held->seed[i]), NF2_OK);
    if (number % 7 == 6) {
        right = CHECK(nf2_maintain(&volume->fs, 400000) >= 0) && right;
    }
    return right && (number % 10 != 9 || CHECK_EQ(volume_again(volume, number % 20 == 9), NF2_OK));
}

static uint32_t bad_blocks(struct volume *volume)
{
    struct nf2_statfs stat;
    struct nf2_health health;

    CHECK_EQ(nf2_statfs(&volume->fs, &stat), NF2_OK);
    CHECK_EQ(nf2_health(&volume->fs, &health), NF2_OK);
    CHECK_EQ(stat.blocks_bad, health.blocks_bad);
    return stat.blocks_bad;
}

/* Each block of the volume breaks in turn, but the super blocks. */
static void each_block(const char *chip, uint32_t stride)
{
    struct volume volume;
    struct held held;
    uint32_t bad = 0, blocks = vflash_chip_find(chip)->size / vflash_chip_find(chip)->block_size;

    for (uint32_t block = 2; block < blocks; block += stride) {
        bool right = true;
        volume_up(&volume, chip);
        begin_files(&volume, &held);
        vflash_break_block(volume.flash, block, false);
        for (unsigned number = 0; number < ROUNDS && right; number++) {
            right = step(&volume, &held, number);
        }
        right = right && CHECK(maintain_all(&volume) == 0) && CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0) && all_held(&volume, &held);
        right = right && CHECK(bad_blocks(&volume) <= 1);
        bad += bad_blocks(&volume);
        if (!CHECK(right)) {
            printf("%s: block %lu breaks\n", chip, (unsigned long)block);
        }
        volume_down(&volume, true);
    }
    CHECK(bad >= blocks / stride / 4u);
    printf("%s: %lu of %lu blocks were met and are bad\n", chip, (unsigned long)bad, (unsigned long)blocks);
}

TEST(each_block_in_turn)
{
    each_block("tiny256k", 1);
    each_block("tinyecc1m", 5);
}

/* Blocks break one after the other; the volume goes on up to its bound, and then can be read. */
TEST(up_to_the_bound)
{
    struct volume volume;
    struct held held;
    uint32_t broken = 0, random = 1;
    bool right = true;

    volume_up(&volume, "tiny256k");
    begin_files(&volume, &held);
    for (unsigned number = 0; number < 4000 && right && broken < 3; number++) {
        if (number % 50 == 49) {
            random = random * 1103515245u + 12345u;
            vflash_break_block(volume.flash, 2 + (random >> 16) % 62, false);
            broken++;
        }
        right = step(&volume, &held, number);
    }
    CHECK(right);
    all_held(&volume, &held);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    for (uint32_t block = 2; block < 64; block++) {
        vflash_break_block(volume.flash, block, false);
    }
    int status = NF2_OK;
    for (unsigned number = 0; number < 20 && status == NF2_OK; number++) {
        status = put(&volume, "new", 5000, 7);
    }
    CHECK_EQ(status, NF2_ERR_IO);
    all_held(&volume, &held);
    volume_down(&volume, false);
}

/* A driver that fails for other reasons takes no block from the volume. */
TEST(other_failures)
{
    struct volume volume;

    for (uint64_t at = 1; at < 40; at++) {
        volume_up(&volume, "tiny256k");
        CHECK_EQ(put(&volume, "a", 5000, 1), NF2_OK);
        vflash_fail_at(volume.flash, at);
        (void)put(&volume, "b", 9000, 2);
        vflash_fail_at(volume.flash, 0);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK_EQ(put(&volume, "c", 9000, 3), NF2_OK);
        CHECK(holds(&volume, "a", 5000, 1) && holds(&volume, "c", 9000, 3));
        CHECK_EQ(bad_blocks(&volume), 0);
        volume_down(&volume, true);
    }
}

/* One of the super blocks is bad: the other one takes over. (Once that is full the volume stops writing: that takes long.) */
TEST(super_log)
{
    struct volume volume;
    struct held held;

    for (uint32_t block = 0; block < 2; block++) {
        unsigned number = 0;
        int status = NF2_OK;
        volume_up(&volume, "tiny256k");
        begin_files(&volume, &held);
        vflash_break_block(volume.flash, block, false);
        for (; number < 5000 && status == NF2_OK; number++) {
            status = put(&volume, "new", 5000, number);
        }
        CHECK_EQ(status, NF2_OK);
        CHECK(number > 500);
        all_held(&volume, &held);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_OK);
        all_held(&volume, &held);
        volume_down(&volume, true);
    }
}

/* ---- half a program ------------------------------------------------------------------------- */

/* A driver of which one program does half of its bytes, or all of them; then that block is bad. */
struct failing {
    const struct nf2_flash *whole;
    bool all;
    unsigned programs;          /* until that one; 0: none */
    uint32_t block;             /* that failed; UINT32_MAX: none yet */
};
static struct failing failing;

static int half_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    uint32_t half = (failing.all ? length : length / 2) & ~(failing.whole->program_unit - 1);

    if (address / failing.whole->block_size == failing.block) {
        return NF2_FLASH_BAD;
    }
    if (failing.programs == 0 || --failing.programs > 0) {
        return failing.whole->program(context, address, data, length);
    }
    failing.block = address / failing.whole->block_size;
    if (half > 0) {
        CHECK_EQ(failing.whole->program(context, address, data, half), 0);
    }
    return NF2_FLASH_BAD;
}

static int half_erase(void *context, uint32_t address, uint32_t length)
{
    uint32_t bytes = failing.whole->block_size;
    bool hit = failing.block >= address / bytes && failing.block < (address + length) / bytes;
    return hit ? NF2_FLASH_BAD : failing.whole->erase(context, address, length);
}

#define LOG_BYTES 3000u         /* too many to lie beside the name */

static void half_an_append(const char *chip, unsigned programs)
{
    struct volume volume;
    uint32_t size = LOG_BYTES;

    volume_up(&volume, chip);
    failing = (struct failing){.whole = vflash_driver(volume.flash), .block = UINT32_MAX};
    volume.driver.program = half_program;
    volume.driver.erase = half_erase;
    CHECK_EQ(put(&volume, "log", size, 9), NF2_OK);
    for (unsigned i = 0; i < 15; i++, size += 50) {
        failing.programs = i == 3 ? programs : failing.programs;
        CHECK_EQ(append(&volume, "log", size, 50, 9), NF2_OK);
        CHECK(holds(&volume, "log", size + 50, 9));
        CHECK(i % 4 < 3 || volume_again(&volume, i % 8 < 4) == NF2_OK);
        CHECK(holds(&volume, "log", size + 50, 9));
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(half_a_program)
{
    for (unsigned programs = 1; programs < 12; programs++) {
        half_an_append("tiny256k", programs);
        half_an_append("tinyecc16", programs);
    }
}

#define IN_ORDER 160u           /* more than a leaf takes */

/* Names come in order, and one program fails though all of it is on the chip. Each name is there once, also after a mount. */
static bool in_order(const char *chip, unsigned programs)
{
    struct volume volume;
    char name[40];
    nf2_dir_t dir;
    struct nf2_dirent entry;
    unsigned next = 0;
    bool right = true;

    volume_up(&volume, chip);
    failing = (struct failing){.whole = vflash_driver(volume.flash), .all = true, .programs = programs, .block = UINT32_MAX};
    volume.driver.program = half_program;
    volume.driver.erase = half_erase;
    for (unsigned i = 0; i < IN_ORDER && right; i++) {
        snprintf(name, sizeof name, "in order %04u", i);
        right = CHECK_EQ(put(&volume, name, 3, i), NF2_OK);
    }
    right = right && CHECK_EQ(volume_again(&volume, true), NF2_OK) && CHECK_EQ(nf2_opendir(&volume.fs, &dir, "/"), NF2_OK);
    while (right && nf2_readdir(&volume.fs, &dir, &entry) == 1) {
        snprintf(name, sizeof name, "in order %04u", next++);
        right = CHECK(strcmp(entry.name, name) == 0);
    }
    right = right && CHECK_EQ(next, IN_ORDER) && CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    for (unsigned i = 0; i < IN_ORDER && right; i++) { /* none comes back */
        snprintf(name, sizeof name, "in order %04u", i);
        right = CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
    }
    right = right && CHECK_EQ(nf2_rewinddir(&volume.fs, &dir), NF2_OK) && CHECK_EQ(nf2_readdir(&volume.fs, &dir, &entry), 0);
    if (!right) {
        printf("    %s, program %u\n", chip, programs);
    }
    volume_down(&volume, true);
    return right;
}

TEST(failed_but_done)
{
    for (unsigned programs = 1; programs < IN_ORDER + 20; programs++) {
        if (!in_order("tiny256k", programs) || !in_order("tinyecc16", programs)) {
            break;
        }
    }
}

int main(void)
{
    RUN(failed_but_done);
    RUN(each_block_in_turn);
    RUN(up_to_the_bound);
    RUN(other_failures);
    RUN(super_log);
    RUN(half_a_program);
    return check_done();
}
