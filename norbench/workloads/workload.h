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

enum workload_variant {
    VARIANT_PLAIN,
    VARIANT_UNALIGNED,          /* overwrites at any byte */
    VARIANT_SKEWED,             /* `hot` percent of the overwrites in a part of the file */
    VARIANT_MIXED,              /* four of five overwrites of `size` bytes, the others of 4 KiB */
    VARIANT_RANGE,              /* overwrites in a small range of the file */
    VARIANT_FILES,              /* overwrites of small files, together as large as the one */
    VARIANT_SYNCED,             /* a sync after each append, or while the file is still empty */
    VARIANT_SHUFFLED,           /* names in random order */
    VARIANT_LONG_NAMES,
    VARIANT_BACKWARD,           /* four chunks forward, then the three that were passed over */
    VARIANT_IN_ORDER            /* overwrites from front to back, again and again */
};

enum workload_end {             /* how a session of a workload that has such ends */
    END_NONE,                   /* it has none: the volume stays mounted */
    END_UNMOUNT,
    END_CUT                     /* power is lost, between two calls */
};

enum workload_load { LOAD_MIXED, LOAD_FILES, LOAD_LOG, LOAD_OVERWRITE };   /* of wear and age; age has the first and the last */

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
    uint32_t fill;              /* percent of the chip */
    uint32_t cold;              /* percent that never changes: of the chip, or of what is used */
    uint32_t hot;               /* percent of the writes that go to the other 100 - `hot` percent of the data; 0: they are uniform */
    uint32_t logs;              /* files that are appended to in turn */
    enum workload_variant variant;
    enum workload_end end;
    enum workload_load load;
    const char *options;        /* "count,end": what may stand after its name to change the fields above; NULL: nothing */
    bool slow;                  /* minutes: run only where it is named */
};

/* The workloads by index, NULL after the last. */
const struct workload *workload_at(unsigned index);
/* The workload of "NAME" or "NAME:OPTION=VALUE,..."; its name is then the whole text, which must live as long. Or false, with a message. */
bool workload_find(const char *text, struct workload *out, char *message, size_t message_size);

/* small.c */
void create_run(struct bench *bench, const struct workload *workload);
void create_synced_run(struct bench *bench, const struct workload *workload);
void small_files_prepare(struct bench *bench, const struct workload *workload);
void small_files_read(struct bench *bench, const struct workload *workload);
void small_files_read_random(struct bench *bench, const struct workload *workload);
void small_files_delete(struct bench *bench, const struct workload *workload);
void smallio_run(struct bench *bench, const struct workload *workload);
void dirs_run(struct bench *bench, const struct workload *workload);

/* config.c */
void config_prepare(struct bench *bench, const struct workload *workload);
void config_run(struct bench *bench, const struct workload *workload);

/* stream.c */
void seqio_run(struct bench *bench, const struct workload *workload);
void seqread_run(struct bench *bench, const struct workload *workload);
void swrite_run(struct bench *bench, const struct workload *workload);
void swrite_durable_run(struct bench *bench, const struct workload *workload);
void big_file_prepare(struct bench *bench, const struct workload *workload);
void random_read_run(struct bench *bench, const struct workload *workload);
void random_write_run(struct bench *bench, const struct workload *workload);
void model_file_prepare(struct bench *bench, const struct workload *workload);
void model_file_read(struct bench *bench, const struct workload *workload);

/* retire.c: a chip of which blocks fail one after the other; `size` bytes a record, `fill` percent of the chip */
void retire_run(struct bench *bench, const struct workload *workload);

/* log.c: `size` bytes an append (0: 16 to 64), `count` appends between syncs (0: none) */
void log_run(struct bench *bench, const struct workload *workload);
void health_run(struct bench *bench, const struct workload *workload);

/* ota.c: `size` bytes of binary, `count` changed chunks */
void ota_prepare(struct bench *bench, const struct workload *workload);
void ota_run(struct bench *bench, const struct workload *workload);
void ota_aligned_run(struct bench *bench, const struct workload *workload);
void ota_rewrite_run(struct bench *bench, const struct workload *workload);

/* busybox.c */
void busybox_burn(struct bench *bench, const struct workload *workload);
void busybox_traverse(struct bench *bench, const struct workload *workload);
void busybox_read_all(struct bench *bench, const struct workload *workload);

/* mount.c: `count` mounts */
void mount_prepare_full(struct bench *bench, const struct workload *workload);
void mount_prepare_small(struct bench *bench, const struct workload *workload);
void mount_run(struct bench *bench, const struct workload *workload);
void format_run(struct bench *bench, const struct workload *workload);
void mount_write_run(struct bench *bench, const struct workload *workload);

/* gc.c */
void gcfill_run(struct bench *bench, const struct workload *workload);
void gc55_prepare(struct bench *bench, const struct workload *workload);
void gc55_run(struct bench *bench, const struct workload *workload);
void gc32_run(struct bench *bench, const struct workload *workload);

/* replay.c: the calls in the file of `--trace` */
void trace_prepare(struct bench *bench, const struct workload *workload);
void trace_run(struct bench *bench, const struct workload *workload);

/* sensing.c: a file of `size` bytes; the chip filled to `fill` percent; `count` reads of `size` bytes in a file of that fill */
void stream_in_run(struct bench *bench, const struct workload *workload);
void stream_prepare(struct bench *bench, const struct workload *workload);
void stream_out_run(struct bench *bench, const struct workload *workload);
void stream_condense_run(struct bench *bench, const struct workload *workload);
void mount_fill_prepare(struct bench *bench, const struct workload *workload);
void read_prepare(struct bench *bench, const struct workload *workload);
void read_run(struct bench *bench, const struct workload *workload);

/* overwrite.c: `size` bytes an access, over a file of `fill` percent of the chip */
void overwrite_prepare(struct bench *bench, const struct workload *workload);
void overwrite_run(struct bench *bench, const struct workload *workload);
/* then `count` reads of 1 KiB at random offsets, and the file from front to back */
void overwrite_read_run(struct bench *bench, const struct workload *workload);

/* lifespan.c: rounds of `count` appends until the blocks' mean of erases is reached */
void lifespan_prepare(struct bench *bench, const struct workload *workload);
void lifespan_run(struct bench *bench, const struct workload *workload);

/* mixed.c: `count` operations of all kinds on a chip filled to `fill` percent */
void mixed_prepare(struct bench *bench, const struct workload *workload);
void mixed_run(struct bench *bench, const struct workload *workload);

/* wake.c: `count` times mount, append `size` bytes to one of `logs` files, close; then `end` */
void wake_prepare(struct bench *bench, const struct workload *workload);
void wake_run(struct bench *bench, const struct workload *workload);

/* wear.c: traffic (`load`) in sessions (`end`) beside cold files, until the blocks' mean of erases is reached */
void wear_prepare(struct bench *bench, const struct workload *workload);
void wear_run(struct bench *bench, const struct workload *workload);

/* age.c: `count` mixed operations at `fill` percent of the space offered, then the same on a fresh copy */
void age_prepare(struct bench *bench, const struct workload *workload);
void age_run(struct bench *bench, const struct workload *workload);

/* cut.c: `count` power cuts, each with the first write after it, on a chip filled to `fill` percent */
void cut_prepare(struct bench *bench, const struct workload *workload);
void cut_run(struct bench *bench, const struct workload *workload);

/* phase.c: a chip used to `fill` percent in one way, then used in another */
void phase_size_prepare(struct bench *bench, const struct workload *workload);
void phase_size_run(struct bench *bench, const struct workload *workload);
void phase_many_prepare(struct bench *bench, const struct workload *workload);
void phase_many_run(struct bench *bench, const struct workload *workload);
void phase_empty_run(struct bench *bench, const struct workload *workload);

/* copy.c: `count` files of `size` KiB in all, written and read back */
void copy_run(struct bench *bench, const struct workload *workload);

/* rotate.c: `count` synced appends of `size` bytes to a log of which `logs` old files are kept */
void rotate_run(struct bench *bench, const struct workload *workload);

/* dir.c: a directory of `count` entries */
void dir_run(struct bench *bench, const struct workload *workload);

/* calls.c: calls that the others do not make, on a chip filled to `fill` percent */
void calls_prepare(struct bench *bench, const struct workload *workload);
void calls_run(struct bench *bench, const struct workload *workload);

/* space.c */
void space_small_run(struct bench *bench, const struct workload *workload);
void space_large_run(struct bench *bench, const struct workload *workload);

#endif
