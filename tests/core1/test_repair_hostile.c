/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_repair_hostile.c - repair of hostile images: mutations of a volume, and noise. It is linked with checks that always fit
 * (fuzz/weak_crc.c), so that nonsense in records is met and not passed over. Nothing may crash, run on for long, or make a new volume
 * that is wrong or differs from what is said to be in it. With sanitizers it is what it is for.
 *
 *     test_repair_hostile [--runs N] [--seed N]
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_volume.h"
#include "repair/repair.h"

#define IMAGE_SECONDS 600u      /* for one image: only a hang takes so long, also with sanitizers on a busy machine */
#define READ_MAX 100000u

static uint64_t state;

static uint32_t below(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % limit;
}

/* A volume with some of everything; left cleanly, or not. */
static void make_volume(struct volume *volume, const char *chip)
{
    char path[32];

    volume_up(volume, chip);
    (void)nf2_mkdir(&volume->fs, "/a");
    (void)nf2_mkdir(&volume->fs, "/a/b");
    for (uint32_t i = 0; i < 60; i++) {
        snprintf(path, sizeof path, "%s/f%u", below(3) == 0 ? "/a" : below(2) == 0 ? "/a/b" : "", below(40));
        (void)put(volume, path, below(4) == 0 ? below(9000) : below(200), i);
        if (below(3) == 0 && nf2_open(&volume->fs, &volume->file, path, NF2_O_WRONLY, volume->page) == NF2_OK) {
            for (uint32_t j = below(5); j > 0; j--) {
                (void)nf2_seek(&volume->fs, &volume->file, (int32_t)below(9000), NF2_SEEK_SET);
                (void)nf2_write(&volume->fs, &volume->file, "some bytes", below(11));
                (void)nf2_sync(&volume->fs, &volume->file);
            }
            (void)nf2_close(&volume->fs, &volume->file);
        }
    }
    if (below(2) == 0) {
        (void)nf2_unmount(&volume->fs);
    }
}

static void mutate(uint8_t *bytes, uint32_t size, uint32_t block_size)
{
    uint32_t blocks = size / block_size, block = below(blocks), at;

    for (unsigned i = 0; i < 50 && bytes[block * block_size] == 0xFF; i++) { /* where something is */
        block = below(blocks);
    }
    at = block * block_size + below(below(3) == 0 ? block_size : 600);
    switch (below(8)) {
    case 0:
        bytes[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        bytes[at] = (uint8_t)below(256);
        break;
    case 2: /* a number that is small, or nearly none */
        bytes[at] = (uint8_t)(below(2) ? below(16) : 0xFF - below(4));
        bytes[(at + 1) % size] = (uint8_t)(below(2) ? 0 : 0xFF);
        break;
    case 3: /* a piece of another place */
        memmove(bytes + at, bytes + below(size - 64), at + 64 < size ? below(64) : 0);
        break;
    case 4: /* a block of another place */
        memmove(bytes + block * block_size, bytes + below(blocks) * block_size, block_size);
        break;
    case 5:
        memset(bytes + at, below(2) ? 0 : 0xFF, at + 300 < size ? below(300) : 0);
        break;
    case 6:
        for (uint32_t i = below(40); i > 0; i--) {
            bytes[(at + i) % size] = (uint8_t)below(256);
        }
        break;
    default: /* a block of noise */
        for (uint32_t i = 0; i < block_size && below(4) == 0; i++) {
            bytes[block * block_size + i] = (uint8_t)below(256);
        }
    }
}

/* Looks at all that it says; false: it contradicts itself. */
static bool look(const struct repair *repair)
{
    static uint8_t data[READ_MAX];
    uint32_t from, to;

    for (unsigned i = 0; i < repair_count(repair); i++) {
        const struct repair_item *item = repair_item(repair, i);
        uint32_t got = item->type == NF2_TYPE_FILE ? repair_read(repair, i, 0, data, sizeof data) : 0;
        if (item->path == NULL || item->path[0] != '/' || got > item->size || (got < item->size && got < sizeof data && item->type == NF2_TYPE_FILE)) {
            return false;
        }
        for (unsigned j = 0; j < 3 && repair_lost_range(repair, i, j, &from, &to); j++) {
            if (from >= to || to > item->size) {
                return false;
            }
        }
    }
    for (unsigned i = 0; i < repair_notes(repair); i++) {
        if (repair_note_text(repair_note(repair, i)->kind) == NULL) {
            return false;
        }
    }
    return true;
}

static bool rebuild(struct repair *repair, const char *chip)
{
    static struct volume fresh;
    unsigned failed = 0;

    volume_up(&fresh, chip);
    bool right = repair_write(repair, &fresh.fs, fresh.page, &failed) == NF2_OK && volume_again(&fresh, true) == NF2_OK &&
                 repair_verify(repair, &fresh.fs, &failed) == NF2_OK && nf2_check(&fresh.fs, NULL, NULL) == 0;
    volume_down(&fresh, true);
    return right;
}

int main(int count, char **argument)
{
    static const char *const chips[] = {"tiny256k", "tinyecc16", "tiny128k", "tiny512"};
    static struct volume volume;
    unsigned long runs = 200, wrong = 0, found = 0;
    uint64_t seed = 1;

    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(argument[i], "--runs") == 0) {
            runs = strtoul(argument[i + 1], NULL, 0);
        } else if (strcmp(argument[i], "--seed") == 0) {
            seed = strtoull(argument[i + 1], NULL, 0);
        }
    }
    for (unsigned long run = 0; run < runs; run++) {
        const char *chip = chips[run % 4];
        state = (seed + run) * 2862933555777941757u;
        alarm(IMAGE_SECONDS);
        make_volume(&volume, chip);
        const struct vflash_chip *facts = vflash_chip_of(volume.flash);
        uint8_t *bytes = malloc(facts->size);
        memcpy(bytes, vflash_memory(volume.flash), facts->size);
        for (uint32_t i = 0; i < facts->size && run % 16 == 15; i++) {
            bytes[i] = (uint8_t)below(256);
        }
        for (uint32_t i = 1 + below(below(2) ? 4 : 60); i > 0; i--) {
            mutate(bytes, facts->size, facts->block_size);
        }
        struct repair *repair = repair_open(bytes, &(struct repair_geometry){facts->size, facts->block_size, facts->page_size, facts->program_unit});
        found += repair != NULL;
        if (repair != NULL && (!look(repair) || !rebuild(repair, chip))) {
            printf("seed %llu: wrong\n", (unsigned long long)(seed + run));
            wrong++;
        }
        repair_close(repair);
        free(bytes);
        volume_down(&volume, false);
    }
    printf("%lu images, something in %lu of them; %lu wrong\n%u passed, %lu failed\n", runs, found, wrong, wrong == 0 && found > 0, wrong);
    return wrong != 0 || found == 0;
}
