/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire.c - a black box that goes on while its chip wears out: records of `size` bytes, synced each, in files that together hold
 * `fill` percent of the chip; a full file follows the oldest one, which is removed.
 *
 * A block bears so many erases as --limit says; from then on it fails, and says so. The row tells how much had been written when
 * another hundredth of the blocks had failed. The run ends with a tenth of them, or where the file system refuses to go on.
 */
#include <stdio.h>

#include "block_wear.h"
#include "workload.h"

#define PATH_SIZE 32u
#define FILES 8u
#define LIMIT_DEFAULT 100u
#define RETIRED_MOST 10u                /* percent */

static struct {
    struct bench *bench;
    uint32_t limit, retired, noted;
} box;

static void note(struct record *record)
{
    uint32_t step = wear_blocks(box.bench) / 100 > 0 ? wear_blocks(box.bench) / 100 : 1;
    if ((box.retired == 1 || box.retired >= box.noted + step) && record->retired_count < RECORD_RETIRED_MAX) {
        record->retired[record->retired_count++] = (struct record_retired){record->bytes_written, box.retired};
        box.noted = box.retired;
    }
}

/* A block that was erased so often as it bears fails at the next erase. */
static void wear_out(void *context, const struct vflash_operation *operation)
{
    (void)context;
    uint32_t size = vflash_chip_of(box.bench->chip)->block_size;
    for (uint32_t at = 0; operation->erase && at < operation->length; at += size) {
        uint32_t block = (operation->address + at) / size;
        if (vflash_wear(box.bench->chip, block) == box.limit) {
            vflash_break_block(box.bench->chip, block, false);
            box.retired++;
            note(&box.bench->record);
        }
    }
}

static void name_of(char path[PATH_SIZE], uint32_t number)
{
    snprintf(path, PATH_SIZE, "/box%u", (unsigned)(number % FILES));
}

static bool worn(void)
{
    return box.retired * 100ull >= (uint64_t)RETIRED_MOST * wear_blocks(box.bench);
}

static void fill_file(struct bench *bench, const struct workload *workload, const char *path, uint32_t size)
{
    struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE | VFS_APPEND);
    for (uint32_t done = 0; done + workload->size <= size && !worn() && bench_ok(bench); done += workload->size) {
        bench_write(bench, &file, workload->size);
        bench_sync(bench, &file);
        bench_operation(bench);
    }
    bench_close(bench, &file);
}

void retire_run(struct bench *bench, const struct workload *workload)
{
    uint32_t size = (uint32_t)((uint64_t)vflash_chip_of(bench->chip)->size * workload->fill / 100 / FILES);
    box.bench = bench;
    box.limit = bench->erases_limit != 0 ? bench->erases_limit : LIMIT_DEFAULT;
    vflash_watch(bench->chip, wear_out, NULL);
    for (uint32_t number = 0; !worn() && bench_ok(bench); number++) {
        char path[PATH_SIZE];
        name_of(path, number);
        if (model_find(&bench->model, path) != NULL) {
            bench_remove(bench, path);
        }
        fill_file(bench, workload, path, size);
        bench_progress(bench, box.retired, wear_blocks(bench) * RETIRED_MOST / 100);
    }
    vflash_watch(bench->chip, NULL, NULL);
    record_extra(&bench->record, "limit", box.limit);
    record_extra(&bench->record, "retired_blocks", box.retired);
    wear_record(bench);
    wear_write(bench);
}
