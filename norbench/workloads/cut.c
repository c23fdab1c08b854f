/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cut.c - the first write after a power cut, `count` times, each cut at a random operation of the chip.
 *
 * The chip is filled to `fill` percent with cold files. Before each cut a scratch file is overwritten in places and
 * synced; it is in no model, as a cut may leave any of its last states, and what happens to it is not measured. The cut
 * tears a program or an erase of that. Measured are the mount and the first write after it, which replaces a file of 32 B
 * (the steps "mount" and "first write"; "both" is their sum). Idle time (--maintain) follows the first write.
 */
#include <stdio.h>

#include "workload.h"

#define PATH_SIZE 32u
#define COLD_FILE (64u * KIB)
#define SCRATCH "/scratch"
#define SCRATCH_SHARE 16u               /* the scratch file is one in so many of the chip */
#define OPERATIONS_MAX 60u              /* before a cut */
#define ACCESS_MAX (4u * KIB)
#define TRIES_MAX 10000u

static uint32_t scratch_size(const struct bench *bench)
{
    return vflash_chip_of(bench->chip)->size / SCRATCH_SHARE;
}

/* Writes a stretch of the scratch file, outside of model and record; an error where the chip was cut off. */
static int write_scratch(struct bench *bench, uint32_t place, uint32_t size)
{
    void *file;
    int result = bench->fs.ops->open(bench->fs.context, SCRATCH, VFS_READ | VFS_WRITE | VFS_CREATE, &file);
    if (result < 0) {
        return result;
    }
    payload_fill(&bench->bytes, bench->out, size);
    result = bench->fs.ops->seek(bench->fs.context, file, place);
    result = result < 0 ? result : bench->fs.ops->write(bench->fs.context, file, bench->out, size);
    int closed = bench->fs.ops->close(bench->fs.context, file);
    return result < 0 ? result : closed;
}

static int overwrite_scratch(struct bench *bench)
{
    uint32_t size = 64u << payload_below(&bench->sizes, 7), place = payload_below(&bench->offsets, scratch_size(bench) - ACCESS_MAX + 1);
    return write_scratch(bench, place, size);
}

static void age_scratch(struct bench *bench)
{
    uint64_t bytes = 0;
    for (uint32_t at = 0; at < scratch_size(bench) && bench_ok(bench); at += ACCESS_MAX) {
        if (write_scratch(bench, at, ACCESS_MAX) < 0) {
            bench_fail(bench, "the scratch file cannot be written");
        }
    }
    while (bytes < vflash_chip_of(bench->chip)->size / 4 && bench_ok(bench)) {
        int result = overwrite_scratch(bench);
        bytes += ACCESS_MAX / 4;
        if (result < 0) {
            bench_fail(bench, "the scratch file failed with %d", result);
        }
    }
}

void cut_prepare(struct bench *bench, const struct workload *workload)
{
    uint64_t bytes = (uint64_t)vflash_chip_of(bench->chip)->size * workload->fill / 100;
    bytes = bytes > scratch_size(bench) ? bytes - scratch_size(bench) : 0;
    bench_mkdir(bench, "/cold");
    for (uint32_t i = 0; bytes >= COLD_FILE && bench_ok(bench); i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof(path), "/cold/c%05u", (unsigned)i);
        bench_put(bench, path, COLD_FILE, 4 * KIB);
        bytes -= COLD_FILE;
    }
    age_scratch(bench);
}

static void set_cut(struct bench *bench)
{
    static const enum vflash_erase_cut kinds[] = {VFLASH_ERASE_UNTOUCHED, VFLASH_ERASE_PARTLY, VFLASH_ERASE_DONE};
    const struct vflash_cut cut = {.operation = 1 + payload_below(&bench->picks, OPERATIONS_MAX),
                                   .byte = payload_below(&bench->picks, vflash_chip_of(bench->chip)->page_size),
                                   .erase = kinds[payload_below(&bench->picks, 3)],
                                   .seed = payload_below(&bench->picks, UINT32_MAX)};
    vflash_cut_at(bench->chip, &cut);
}

/* Works on the scratch file until the power is cut. */
static void cut_power(struct bench *bench)
{
    uint32_t tries = 0;
    set_cut(bench);
    while (tries < TRIES_MAX && overwrite_scratch(bench) >= 0) {
        tries++;
    }
    if (tries == TRIES_MAX || !bench->tap.off) {
        bench_fail(bench, "the scratch file failed before the power was cut, or was never programmed");
    }
    bench_drop(bench);
    vflash_cut_at(bench->chip, NULL);
    vflash_power_on(bench->chip);
    bench->tap.off = false;
}

static void first_write(struct bench *bench)
{
    struct vflash_counts start = *vflash_counts(bench->chip);
    record_step_begin(&bench->record);
    bench_mount(bench);
    record_step_end(&bench->record, "mount");
    record_step_begin(&bench->record);
    bench_put(bench, "/first", 32, 32);
    record_step_end(&bench->record, "first write");
    bench->record.step_start = start;
    record_step_end(&bench->record, "both");
    bench_operation(bench);
}

void cut_run(struct bench *bench, const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        record_end(&bench->record);
        cut_power(bench);
        record_begin(&bench->record);
        first_write(bench);
        if (i % 100 == 0) {
            bench_progress(bench, i, workload->count);
        }
    }
    record_end(&bench->record);
    if (bench_ok(bench) && bench->fs.ops->remove(bench->fs.context, SCRATCH) < 0) {
        bench_fail(bench, "the scratch file cannot be removed");
    }
}
