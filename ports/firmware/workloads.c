/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workloads.c - the calls of norbench/bench.h that the workloads used here make, without what
 * measures and compares them on a host.
 */
#include "workloads.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scenario.h"
#include "workload.h"

#define BENCHES (WORKLOADS - 1u)
#define OPEN_MAX_HERE 2u        /* files that a workload has open at a time */
#define SEED 42u
#define MODEL_STEPS 200u

struct open_file {
    bool taken;
    nf2_file_t file;
    uint8_t buffer[256];
};

struct runner {
    struct bench bench;
    nf2_t *fs;
    uint32_t read_crc;
    struct open_file files[OPEN_MAX_HERE];
};

static struct runner runners[BENCHES];
static struct scenario model;

uint32_t workloads_crc(uint32_t crc, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    crc = ~crc;
    for (uint32_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

/* ---- bench.h --------------------------------------------------------------------------------- */

static struct runner *runner_of(struct bench *bench)
{
    return bench->fs.context;
}

void bench_fail(struct bench *bench, const char *format, ...)
{
    if (!bench->failed) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(bench->failure, sizeof(bench->failure), format, arguments);
        va_end(arguments);
        bench->failed = true;
    }
}

static void must(struct bench *bench, int result, const char *call, const char *path)
{
    if (result < 0) {
        bench_fail(bench, "%s %s: %s", call, path, nf2_error_text(result));
    }
}

static int flags_of(int flags)
{
    int mode = (flags & VFS_READ) != 0 ? NF2_O_RDONLY : 0;
    mode |= (flags & VFS_WRITE) != 0 ? NF2_O_WRONLY : 0;
    mode |= (flags & VFS_CREATE) != 0 ? NF2_O_CREAT : 0;
    mode |= (flags & VFS_TRUNC) != 0 ? NF2_O_TRUNC : 0;
    return mode | ((flags & VFS_APPEND) != 0 ? NF2_O_APPEND : 0);
}

struct bench_file bench_open(struct bench *bench, const char *path, int flags)
{
    struct bench_file file = {.handle = NULL};
    struct runner *runner = runner_of(bench);
    struct open_file *at = runner->files[0].taken ? &runner->files[1] : &runner->files[0];
    if (!bench_ok(bench)) {
        return file;
    }
    if (at->taken) {
        bench_fail(bench, "too many files are open");
        return file;
    }
    must(bench, nf2_open(runner->fs, &at->file, path, flags_of(flags), at->buffer), "open", path);
    at->taken = bench_ok(bench);
    file.handle = at->taken ? at : NULL;
    return file;
}

static nf2_file_t *handle(const struct bench_file *file)
{
    return &((struct open_file *)file->handle)->file;
}

void bench_close(struct bench *bench, struct bench_file *file)
{
    if (file->handle != NULL) {
        int result = nf2_close(runner_of(bench)->fs, handle(file));
        ((struct open_file *)file->handle)->taken = false;
        file->handle = NULL;
        must(bench, result, "close", "");
    }
}

void bench_write(struct bench *bench, struct bench_file *file, uint32_t length)
{
    if (bench_ok(bench) && length <= sizeof(bench->out)) {
        payload_fill(&bench->bytes, bench->out, length);
        int32_t written = nf2_write(runner_of(bench)->fs, handle(file), bench->out, length);
        must(bench, (int)written, "write", "");
    }
}

void bench_read(struct bench *bench, struct bench_file *file, uint32_t length)
{
    struct runner *runner = runner_of(bench);
    if (bench_ok(bench) && length <= sizeof(bench->in)) {
        int32_t got = nf2_read(runner->fs, handle(file), bench->in, length);
        must(bench, got == (int32_t)length ? 0 : got < 0 ? (int)got : NF2_ERR_IO, "read", "");
        runner->read_crc = workloads_crc(runner->read_crc, bench->in, length);
    }
}

void bench_seek(struct bench *bench, struct bench_file *file, uint32_t position)
{
    if (bench_ok(bench)) {
        nf2_t *fs = runner_of(bench)->fs;
        must(bench, (int)nf2_seek(fs, handle(file), (int32_t)position, NF2_SEEK_SET), "seek", "");
    }
}

void bench_sync(struct bench *bench, struct bench_file *file)
{
    if (bench_ok(bench)) {
        must(bench, nf2_sync(runner_of(bench)->fs, handle(file)), "sync", "");
    }
}

void bench_mkdir(struct bench *bench, const char *path)
{
    if (bench_ok(bench)) {
        must(bench, nf2_mkdir(runner_of(bench)->fs, path), "mkdir", path);
    }
}

void bench_remove(struct bench *bench, const char *path)
{
    if (bench_ok(bench)) {
        must(bench, nf2_remove(runner_of(bench)->fs, path), "remove", path);
    }
}

void bench_rename(struct bench *bench, const char *from, const char *to)
{
    if (bench_ok(bench)) {
        must(bench, nf2_rename(runner_of(bench)->fs, from, to), "rename", from);
    }
}

void bench_put(struct bench *bench, const char *path, uint32_t size, uint32_t piece)
{
    struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE | VFS_TRUNC);
    for (uint32_t done = 0; done < size && bench_ok(bench); done += piece) {
        bench_write(bench, &file, size - done < piece ? size - done : piece);
    }
    bench_close(bench, &file);
}

/* Nothing is counted here, and a task of its own does the idle work. */
void bench_operation(struct bench *bench)
{
    (void)bench;
}

void bench_step_begin(struct bench *bench)
{
    (void)bench;
}

void bench_step_end(struct bench *bench, const char *format, uint32_t number)
{
    (void)bench;
    (void)format;
    (void)number;
}

void record_mark(struct record *record)
{
    (void)record;
}

/* ---- what is run ----------------------------------------------------------------------------- */

static void settings(struct bench *bench)
{
    static const struct workload config = {.count = 2000}, tree = {.count = 10};
    config_prepare(bench, &config);
    config_run(bench, &config);
    dirs_run(bench, &tree);
}

static void appends(struct bench *bench)
{
    static const struct workload log32 = {.size = 32, .count = 16};
    static const struct workload files32 = {.size = 32};
    log_run(bench, &log32);
    create_synced_run(bench, &files32);
    small_files_read(bench, &files32);
    small_files_delete(bench, &files32);
    create_run(bench, &files32);
}

static void updates(struct bench *bench)
{
    static const struct workload rwrite200 = {.count = 200}, rread = {.count = 20};
    static const struct workload ota = {.size = 512u * KIB, .count = 20};
    big_file_prepare(bench, &rwrite200);
    random_write_run(bench, &rwrite200);
    random_read_run(bench, &rread);
    ota_prepare(bench, &ota);
    ota_run(bench, &ota);
    ota_rewrite_run(bench, &ota);
}

static const char *run_model(nf2_t *fs)
{
    scenario_init(&model, fs, 0, SEED);
    int result = scenario_resume(&model, 0);
    for (uint32_t i = 0; i < MODEL_STEPS && result == 0; i++) {
        result = scenario_step(&model);
    }
    return result == 0 && scenario_compare(&model) == 0 ? NULL : model.failed;
}

const char *workloads_run(uint32_t which, nf2_t *fs, uint32_t *read_crc)
{
    static void (*const list[BENCHES])(struct bench *) = {settings, appends, updates};
    *read_crc = 0;
    if (which >= BENCHES) {
        return run_model(fs);
    }
    struct runner *runner = &runners[which];
    memset(runner, 0, sizeof(*runner));
    runner->fs = fs;
    runner->bench.fs.context = runner;
    runner->bench.seed = SEED;
    payload_seed(&runner->bench.bytes, SEED, PAYLOAD_BYTES);
    payload_seed(&runner->bench.offsets, SEED, PAYLOAD_OFFSETS);
    payload_seed(&runner->bench.sizes, SEED, PAYLOAD_SIZES);
    payload_seed(&runner->bench.names, SEED, PAYLOAD_NAMES);
    payload_seed(&runner->bench.picks, SEED, PAYLOAD_PICKS);
    list[which](&runner->bench);
    *read_crc = runner->read_crc;
    return runner->bench.failed ? runner->bench.failure : NULL;
}
