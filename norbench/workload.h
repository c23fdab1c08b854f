/* SPDX-License-Identifier: BSD-2-Clause */
/* workload.h - the table of workloads. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "bench.h"

enum workload_start {
    START_MOUNTED,      /* as `prepare` left the volume */
    START_REMOUNTED,    /* after an unmount and a mount */
    START_UNMOUNTED,    /* after an unmount: the workload mounts */
    START_CUT           /* as a power cut leaves it: the workload mounts */
};

struct workload {
    const char *name;
    const char *group;          /* name of the group of rows that it belongs to */
    const char *mode;           /* "durable" or "batched" */
    const char *description;
    enum workload_start start;
    void (*prepare)(struct bench *bench, const struct workload *workload);      /* outside the totals; may be NULL */
    void (*run)(struct bench *bench, const struct workload *workload);          /* what is measured */
    const char *chip;           /* the chip that the row is defined on; NULL: w25q256 */
    uint32_t window;            /* operations in a window of `windows_program_pages`; 0: none */
    uint32_t size, count;       /* parameters of the family */
};

/* The workloads by index, NULL after the last. */
const struct workload *workload_at(unsigned index);
const struct workload *workload_find(const char *name);

/* workload_small.c */
void create_run(struct bench *bench, const struct workload *workload);
void create_synced_run(struct bench *bench, const struct workload *workload);
void small_files_prepare(struct bench *bench, const struct workload *workload);
void small_files_read(struct bench *bench, const struct workload *workload);
void small_files_read_random(struct bench *bench, const struct workload *workload);
void small_files_delete(struct bench *bench, const struct workload *workload);
void smallio_run(struct bench *bench, const struct workload *workload);
void dirs_run(struct bench *bench, const struct workload *workload);

/* workload_config.c */
void config_prepare(struct bench *bench, const struct workload *workload);
void config_run(struct bench *bench, const struct workload *workload);

/* workload_stream.c */
void seqio_run(struct bench *bench, const struct workload *workload);
void swrite_run(struct bench *bench, const struct workload *workload);
void swrite_durable_run(struct bench *bench, const struct workload *workload);
void big_file_prepare(struct bench *bench, const struct workload *workload);
void random_read_run(struct bench *bench, const struct workload *workload);
void random_write_run(struct bench *bench, const struct workload *workload);
void model_file_prepare(struct bench *bench, const struct workload *workload);
void model_file_read(struct bench *bench, const struct workload *workload);

/* workload_log.c: `size` bytes an append (0: 16 to 64), `count` appends between syncs (0: none) */
void log_run(struct bench *bench, const struct workload *workload);
void health_run(struct bench *bench, const struct workload *workload);

/* workload_ota.c: `size` bytes of binary, `count` changed chunks */
void ota_prepare(struct bench *bench, const struct workload *workload);
void ota_run(struct bench *bench, const struct workload *workload);
void ota_aligned_run(struct bench *bench, const struct workload *workload);
void ota_rewrite_run(struct bench *bench, const struct workload *workload);

/* workload_busybox.c */
void busybox_burn(struct bench *bench, const struct workload *workload);
void busybox_traverse(struct bench *bench, const struct workload *workload);
void busybox_read_all(struct bench *bench, const struct workload *workload);

/* workload_mount.c: `count` mounts */
void mount_prepare_full(struct bench *bench, const struct workload *workload);
void mount_prepare_small(struct bench *bench, const struct workload *workload);
void mount_run(struct bench *bench, const struct workload *workload);
void mount_write_run(struct bench *bench, const struct workload *workload);

/* workload_gc.c */
void gcfill_run(struct bench *bench, const struct workload *workload);
void gc55_prepare(struct bench *bench, const struct workload *workload);
void gc55_run(struct bench *bench, const struct workload *workload);
void gc32_run(struct bench *bench, const struct workload *workload);

#endif
