/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lifespan.c - the same little traffic until the chip is worn to a given mean, or until its first block is
 * worn out, beside cold files that fill half of it.
 *
 * A round: a file is created, 32 B are appended to it `count` times (once: `small`), it is closed and removed. The
 * blocks that the format left erased would flatter a short run: measuring starts when as many blocks were erased as
 * the chip has. Idle time (--maintain) follows each round.
 */
#include <stdio.h>

#include "block_wear.h"
#include "workload.h"

#define LOG_FILE "/log0.txt"
#define APPEND_SIZE 32u
#define COLD_FILE MIB
#define MEAN_DEFAULT 10u                /* erases of a block: a short look */

static void cold_files(struct bench *bench)
{
    uint32_t files = vflash_chip_of(bench->chip)->size / 2 / COLD_FILE;
    bench_mkdir(bench, "/cold");
    for (uint32_t i = 0; i < files && bench_ok(bench); i++) {
        char path[32];
        snprintf(path, sizeof(path), "/cold/bin%02u", (unsigned)i);
        bench_put(bench, path, COLD_FILE, 4 * KIB);
    }
}

static void traffic_round(struct bench *bench, const struct workload *workload)
{
    bool small = workload->count == 1, synced = workload->variant == VARIANT_SYNCED;
    struct bench_file file = bench_open(bench, LOG_FILE, VFS_WRITE | VFS_CREATE | VFS_APPEND);
    if (small && synced) {
        bench_sync(bench, &file);
    }
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        bench_write(bench, &file, APPEND_SIZE);
        if (synced && !small) {
            bench_sync(bench, &file);
        }
    }
    bench_close(bench, &file);
    bench_remove(bench, LOG_FILE);
    bench_operation(bench);
}

static uint32_t mean_wanted(const struct bench *bench)
{
    return bench->erases_mean != 0 ? bench->erases_mean : MEAN_DEFAULT;
}

/* Where traffic ends: after so many erases, or when so much is written (no file system needs fewer erases than that), or when a block is worn out. */
struct goal {
    uint64_t erases, bytes;
    uint32_t limit;                     /* erases that a block bears; 0: any number */
};

/* Returns what was written. */
static uint64_t traffic(struct bench *bench, const struct workload *workload, const struct goal *goal)
{
    uint64_t start = wear_erased(bench), written = 0, shown = 0, look = 0;
    bool worn = false;
    while (!worn && wear_erased(bench) - start < goal->erases && written < goal->bytes && bench_ok(bench)) {
        traffic_round(bench, workload);
        written += (uint64_t)workload->count * APPEND_SIZE;
        uint64_t done = wear_erased(bench) - start;
        if (goal->limit != 0 && done >= look) {
            uint32_t most = wear_most(bench);
            worn = most >= goal->limit;
            look = done + goal->limit - most;   /* none is worn out by fewer erases */
        }
        if (done - shown >= wear_blocks(bench) / 4) {
            shown = done;
            if (goal->limit != 0) {
                bench_progress(bench, wear_most(bench), goal->limit);
            } else {
                bench_progress(bench, (double)wear_erased(bench) / wear_blocks(bench), mean_wanted(bench));
            }
        }
    }
    return written;
}

void lifespan_prepare(struct bench *bench, const struct workload *workload)
{
    const struct goal goal = {wear_blocks(bench), 4ull * vflash_chip_of(bench->chip)->size, bench->erases_limit};
    cold_files(bench);
    bench->idle_always = true;
    record_extra(&bench->record, "prepared_bytes", (double)traffic(bench, workload, &goal));
}

void lifespan_run(struct bench *bench, const struct workload *workload)
{
    const struct vflash_chip *chip = vflash_chip_of(bench->chip);
    uint64_t wanted = (uint64_t)(bench->erases_limit != 0 ? bench->erases_limit : mean_wanted(bench)) * wear_blocks(bench);
    uint64_t erased = wear_erased(bench);
    const struct goal goal = {wanted > erased ? wanted - erased : 0, 4ull * wanted * chip->block_size, bench->erases_limit};
    traffic(bench, workload, &goal);
    record_extra(&bench->record, "erases_minimum", (double)bench->record.bytes_written / chip->block_size);
    if (bench->erases_limit != 0) {
        record_extra(&bench->record, "limit", bench->erases_limit);
        record_extra(&bench->record, "worn_out", wear_most(bench) >= bench->erases_limit ? 1 : 0);
    }
    wear_record(bench);
    wear_write(bench);
}
