/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_flips.c - bits of volumes turn over. Where the checker finds nothing wrong, all names, sizes and contents are as they were, but
 * for the bit itself in data, which have no check. In a volume that power cuts ended now and then, one more thing is allowed: what the
 * checker remarks to be an unfinished write, in the block with the bit. And nothing crashes, whatever turns over.
 *
 *     test_flips [--runs N] [--seed N]
 */
#include <stdlib.h>
#include <string.h>

#include "src/format.h"
#include "images.h"

#define FLIPS 150u              /* of each volume, one at a time */
#define STORMS 20u              /* and many at once */

static unsigned long wrong_count, found, silent, unfinished, storms;
static char context[200];

/* Is the bit in a block that data lie in? */
static bool in_data(const struct repair *repair, uint32_t block)
{
    return repair_block_use(repair, block) == REPAIR_USE_DATA;
}

/* Unfinished writes in a block, by their places. */
static uint64_t remarks(const struct repair *repair, uint32_t block)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < repair_findings(repair); i++) {
        const struct repair_finding *finding = repair_finding(repair, i);
        sum += finding->kind == REPAIR_UNFINISHED && finding->block == block ? 1000000u + finding->number * 100000u + finding->offset : 0;
    }
    return sum;
}

static bool same(const struct repair *a, const struct repair *b, bool one_bit)
{
    unsigned bits = 0;

    if (repair_count(a) != repair_count(b)) {
        return false;
    }
    for (unsigned i = 0; i < repair_count(a); i++) {
        const struct repair_item *x = repair_item(a, i), *y = repair_item(b, i);
        if (strcmp(x->path, y->path) != 0 || x->type != y->type || x->size != y->size || y->state != REPAIR_WHOLE) {
            return false;
        }
        uint8_t *p = malloc(x->size + 1u), *q = malloc(x->size + 1u);
        uint32_t n = repair_read(a, i, 0, p, x->size), m = repair_read(b, i, 0, q, x->size);
        for (uint32_t at = 0; at < n && n == m; at++) {
            for (unsigned byte = p[at] ^ q[at]; byte != 0; byte &= byte - 1) {
                bits++;
            }
        }
        bits += n == m ? 0 : 100;
        free(p);
        free(q);
    }
    return bits <= one_bit;
}

static uint32_t some_place(const struct history *history, const struct repair *repair, uint64_t *random)
{
    const struct repair_geometry *g = &history->geometry;
    uint32_t blocks = g->size / g->block_size, block = random_number(random, blocks);
    uint32_t log = NF2_LOG_BYTES_MAX < g->block_size ? NF2_LOG_BYTES_MAX : g->block_size;

    for (unsigned i = 0; i < 1000 && random_number(random, 10) != 0; i++) { /* what is in use, and free blocks now and then */
        enum repair_use use = repair_block_use(repair, block);
        if (use != REPAIR_USE_NONE && use != REPAIR_USE_DATA) {
            break;
        }
        block = random_number(random, blocks);
    }
    return block * g->block_size + random_number(random, random_number(random, 3) ? log / 4 : log);
}

static void flip_one(const struct history *history, uint8_t *bytes, const struct repair *sound, bool cuts, uint64_t *random)
{
    uint32_t at = some_place(history, sound, random), block = at / history->geometry.block_size;
    uint8_t mask = (uint8_t)(1u << random_number(random, 8));

    bytes[at] ^= mask;
    struct repair *repair = repair_open(bytes, &history->geometry);
    if (repair == NULL || repair_wrong(repair) > 0) {
        found++;
    } else if (same(sound, repair, in_data(sound, block))) {
        silent++;
    } else if (cuts && remarks(repair, block) != remarks(sound, block)) {
        unfinished++;
    } else {
        wrong_count++;
        printf("%s: bit %02X at %u of block %u (%s): other contents, and nothing is wrong\n", context, mask,
               at % history->geometry.block_size, block, repair_use_text(repair_block_use(sound, block)));
        say_repair(repair);
    }
    repair_close(repair);
    bytes[at] ^= mask;
}

/* All that there is to do with a badly damaged image. */
static void storm(const struct history *history, const uint8_t *bytes, const struct repair *sound, uint64_t *random)
{
    uint32_t size = history->geometry.size, flips = 1 + random_number(random, 300);
    uint8_t *copy = malloc(size), data[300];

    memcpy(copy, bytes, size);
    for (uint32_t i = 0; i < flips; i++) {
        uint32_t at = some_place(history, sound, random), n = random_number(random, 4) ? 1 : random_number(random, 600);
        for (uint32_t k = 0; k < n && at + k < size; k++) {
            copy[at + k] = random_number(random, 2) ? (uint8_t)random_number(random, 256) : (uint8_t)(copy[at + k] ^ 1u);
        }
    }
    struct repair *repair = repair_open(copy, &history->geometry);
    for (unsigned i = 0; repair != NULL && i < repair_count(repair); i++) {
        uint32_t from, to;
        (void)repair_read(repair, i, random_number(random, 5000), data, sizeof data);
        (void)repair_lost_range(repair, i, 0, &from, &to);
    }
    for (uint32_t block = 0; repair != NULL && block < size / history->geometry.block_size; block++) {
        for (unsigned i = repair_records(repair, block); i > 0; i--) {
            const struct repair_record *record = repair_record(repair, i - 1);
            if (record->at >= record->end || record->end > history->geometry.block_size || strlen(record->text) > 2000) {
                wrong_count++;
                printf("%s: record %u of block %u\n", context, i - 1, block);
            }
        }
    }
    storms++;
    repair_close(repair);
    free(copy);
}

static void run(uint64_t seed)
{
    static struct history history;
    bool cuts = seed % 3 == 0, right = history_begin(&history, seed, NULL);

    snprintf(context, sizeof context, "seed %lu, chip %s", (unsigned long)seed, history.rig.chip->name);
    right = right && history_go_on(&history, 150 + random_number(&history.random, 300));
    for (unsigned i = 0; cuts && i < 4 && right; i++) {
        right = history_cut(&history) && history_mount(&history) && history_go_on(&history, 20);
    }
    bool left = right && nf2_mkdir(&history.rig.fs, "/a last change") == NF2_OK && nf2_unmount(&history.rig.fs) == NF2_OK;
    history.rig.mounted = !left;
    uint8_t *bytes = history_image(&history);
    struct repair *sound = left ? repair_open(bytes, &history.geometry) : NULL;
    if (sound != NULL && repair_wrong(sound) == 0 && repair_clean(sound)) {
        cuts = repair_summary(sound)->unclean_mounts > 0;
        for (unsigned i = 0; i < FLIPS; i++) {
            flip_one(&history, bytes, sound, cuts, &history.random);
        }
        for (unsigned i = 0; i < STORMS; i++) {
            storm(&history, bytes, sound, &history.random);
        }
    } else {
        printf("%s: no sound volume came of it\n", context); /* test_sound is for that */
    }
    repair_close(sound);
    free(bytes);
    history_free(&history);
}

int main(int count, char **argument)
{
    unsigned long runs = 10, seed = 1;

    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(argument[i], "--runs") == 0) {
            runs = strtoul(argument[i + 1], NULL, 10);
        } else if (strcmp(argument[i], "--seed") == 0) {
            seed = strtoul(argument[i + 1], NULL, 10);
        }
    }
    for (unsigned long i = 0; i < runs; i++) {
        run(seed + i);
    }
    printf("bits: %lu found, %lu without effect or in data, %lu like an unfinished write; %lu storms; %lu wrong\n", found, silent, unfinished,
           storms, wrong_count);
    return wrong_count > 0 || found == 0 || silent == 0 || storms == 0;
}
