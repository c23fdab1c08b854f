/* SPDX-License-Identifier: BSD-2-Clause */
/* block_wear.c - how often each block was erased. */
#include "block_wear.h"

#include <math.h>
#include <stdio.h>

uint32_t wear_blocks(const struct bench *bench)
{
    return vflash_chip_of(bench->chip)->size / vflash_chip_of(bench->chip)->block_size;
}

uint64_t wear_erased(const struct bench *bench)
{
    const struct vflash_chip *chip = vflash_chip_of(bench->chip);
    const struct vflash_counts *counts = vflash_counts(bench->chip);
    uint64_t blocks = 0;
    for (int i = 0; i < 3; i++) {
        blocks += counts->erases[i] * (chip->erase_sizes[i] / chip->block_size);
    }
    return blocks;
}

uint32_t wear_most(const struct bench *bench)
{
    uint32_t most = 0;
    for (uint32_t block = 0; block < wear_blocks(bench); block++) {
        uint32_t wear = vflash_wear(bench->chip, block);
        most = wear > most ? wear : most;
    }
    return most;
}

/* Keeps the wear of a block if it is among the least. */
static void note_least(struct record *record, uint32_t wear)
{
    uint32_t at = record->wear_least_count;
    if (at == RECORD_LEAST_MAX) {
        if (record->wear_least[at - 1] <= wear) {
            return;
        }
        at--;
    } else {
        record->wear_least_count++;
    }
    for (; at > 0 && record->wear_least[at - 1] > wear; at--) {
        record->wear_least[at] = record->wear_least[at - 1];
    }
    record->wear_least[at] = wear;
}

void wear_record(struct bench *bench)
{
    uint32_t blocks = wear_blocks(bench), least = UINT32_MAX, most = 0, most_block = 0;
    double sum = 0, squares = 0;
    for (uint32_t block = 0; block < blocks; block++) {
        uint32_t wear = vflash_wear(bench->chip, block);
        least = wear < least ? wear : least;
        note_least(&bench->record, wear);
        if (block < RECORD_LEAST_MAX) {
            bench->record.wear_first[block] = wear;
            bench->record.wear_first_count = block + 1;
        }
        most_block = wear > most ? block : most_block;
        most = wear > most ? wear : most;
        sum += wear;
        squares += (double)wear * wear;
    }
    double mean = sum / blocks;
    record_extra(&bench->record, "wear_min", least);
    record_extra(&bench->record, "wear_mean", mean);
    record_extra(&bench->record, "wear_max", most);
    record_extra(&bench->record, "wear_max_block", most_block);
    record_extra(&bench->record, "wear_sd", sqrt(fmax(squares / blocks - mean * mean, 0)));
    record_extra(&bench->record, "wear_total", sum);
}

void wear_write(struct bench *bench)
{
    FILE *file = bench->wear_path != NULL ? fopen(bench->wear_path, "w") : NULL;
    if (file == NULL) {
        if (bench->wear_path != NULL) {
            bench_fail(bench, "%s cannot be written", bench->wear_path);
        }
        return;
    }
    for (uint32_t block = 0; block < wear_blocks(bench); block++) {
        fprintf(file, "%u\n", (unsigned)vflash_wear(bench->chip, block));
    }
    if (fclose(file) != 0) {
        bench_fail(bench, "%s cannot be written", bench->wear_path);
    }
}
