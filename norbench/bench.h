/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h - what a workload works with: calls of the file system that are measured, mirrored in a
 * model and compared with it.
 *
 * Failure is sticky: after the first call that fails, or reads wrong bytes, every further call does
 * nothing and the record carries the reason. Workloads need no error paths of their own; long loops
 * ask bench_ok().
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "call_judge.h"
#include "model.h"
#include "payload.h"
#include "record.h"
#include "tap.h"
#include "vflash.h"
#include "vfs.h"

#ifndef BENCH_PIECE_MAX
#define BENCH_PIECE_MAX (64u * 1024u)   /* bytes in one read or write */
#endif
#define KIB 1024u
#define MIB (1024u * 1024u)

struct bench {
    struct vfs fs;
    struct vflash *chip;
    struct tap tap;
    struct record record;
    struct call_judge judge;    /* each call beside its bound: NF2FS alone has bounds */
    struct model model;
    uint64_t seed;
    struct pcg32 bytes, offsets, sizes, names, picks;
    uint32_t maintain_us;       /* budget of the idle call after each operation; 0: none */
    bool idle_always;           /* idle time in what is not measured, too */
    bool stopped;               /* a long run that was ended by a limit */
    uint32_t part;              /* long runs: a share of one in so many */
    bool progress;              /* lines about long runs to stderr */
    uint32_t erases_mean;       /* where a run that wears the chip ends; 0: as the workload says */
    uint32_t erases_limit;      /* it ends when a block was erased so often, whatever the mean; 0: none is worn out */
    bool maps;                  /* of each block erases, programs and reads into the row */
    const char *conditions_text;
    const char *trace_path;     /* the trace to make again */
    struct stacks *stacks;      /* call stacks of the measured stretch; NULL: not asked for */
    const char *wear_path;      /* the erases of each block go into this file; NULL: nowhere */
    bool mounted;
    bool cut;                   /* the last session was not unmounted */
    uint32_t writers;           /* files open for writing */
    bool may_fill;              /* NOSPC is no failure but sets `full` */
    bool full;
    uint32_t uncertain;         /* calls that found no space: so many names may be missing */
    bool failed;
    bool cut_verified;          /* all was compared after a loss of power in the place of the last unmount, too */
    bool wrong_data;            /* the failure is a comparison */
    char failure[256];
    uint8_t out[BENCH_PIECE_MAX], in[BENCH_PIECE_MAX];
};

struct bench_file {
    void *handle;
    struct model_node *node;
    uint32_t position;
    bool append, writes;
    bool changed;               /* since the last sync; and so many stretches were written, the last one up to here */
    uint32_t stretches, stretch_end;
    uint64_t programs;          /* of the chip, before the first write since the last sync */
    uint64_t cut;               /* bytes by which it was shortened since then */
    bool fresh;                 /* what it holds was never synced */
};

static inline bool bench_ok(const struct bench *bench)
{
    return !bench->failed && !bench->full;
}

/* Makes the cell fail with a reason, unless it has failed already. */
void bench_fail(struct bench *bench, const char *format, ...) __attribute__((format(printf, 2, 3)));

void bench_mount(struct bench *bench);
void bench_unmount(struct bench *bench);
/* As a power cut would leave it; nothing is open. */
void bench_drop(struct bench *bench);
void bench_remount(struct bench *bench);

struct bench_file bench_open(struct bench *bench, const char *path, int flags);
void bench_close(struct bench *bench, struct bench_file *file);
/* Writes the next `length` bytes of the payload. */
void bench_write(struct bench *bench, struct bench_file *file, uint32_t length);
/* Reads `length` bytes (at most BENCH_PIECE_MAX) and compares them with the model, unless another handle has changes that it did not sync. */
void bench_read(struct bench *bench, struct bench_file *file, uint32_t length);
void bench_seek(struct bench *bench, struct bench_file *file, uint32_t position);
void bench_sync(struct bench *bench, struct bench_file *file);

void bench_truncate(struct bench *bench, struct bench_file *file, uint32_t size);
/* A call that only some file systems have (`file`: NULL where it has none); its result must be `expected`, where that is not negative. */
void bench_more(struct bench *bench, struct bench_file *file, enum vfs_more what, uint32_t argument, int32_t expected);
/* Writes over the front of a file that is there, and gives that up; replaces or makes a file by one call; reads one and compares. */
void bench_write_and_discard(struct bench *bench, const char *path, uint32_t length);
void bench_save(struct bench *bench, const char *path, uint32_t length);
void bench_load(struct bench *bench, const char *path);
void bench_statfs(struct bench *bench);
/* A listing that is begun, and set back to its beginning, where the file system can. */
void bench_rewind(struct bench *bench, const char *path);

void bench_format(struct bench *bench);
void bench_mkdir(struct bench *bench, const char *path);
void bench_remove(struct bench *bench, const char *path);
void bench_rename(struct bench *bench, const char *from, const char *to);
/* Compares type and size with the model. What an open handle has not synced is no business of others yet: of such a file the size may be any. */
void bench_stat(struct bench *bench, const char *path);
/* Of a name that must not be there. */
void bench_stat_absent(struct bench *bench, const char *path);
/* After a call on a file found no space: says whether the file is there, or takes it out of the model. Further calls are made again. */
bool bench_settle(struct bench *bench, const char *path);
/* Lists a directory, compares with the model and calls `each` (may be NULL) with the path of each entry, after the directory is closed. */
void bench_list(struct bench *bench, const char *path, void (*each)(struct bench *bench, const char *path, bool directory));

/* One operation of the user is complete: counts it and gives the file system its idle time. */
void bench_operation(struct bench *bench);

/* Idle time now, if the file system uses any. Whether it says that work is left. */
bool bench_idle(struct bench *bench, uint32_t budget_us);

/* Around an operation of several calls: the row has what it came to, by the name that the format gives with the number. */
void bench_step_begin(struct bench *bench);
void bench_step_end(struct bench *bench, const char *format, uint32_t number);

/* A line about how far a long run is, where it was asked for. */
void bench_progress(struct bench *bench, double done, double all);

/* Create (or replace) a file of `size` bytes in pieces and close it. */
void bench_put(struct bench *bench, const char *path, uint32_t size, uint32_t piece);
/* Open, read all in pieces, close. */
void bench_get(struct bench *bench, const char *path, uint32_t piece);

#endif
