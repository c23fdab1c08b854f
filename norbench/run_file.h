/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_file.h - a whole run at the point where its chip is aged and nothing is mounted, in a file: the chip, the model, the streams of the
 * seed, the counters. Ageing takes longer than most workloads; from the file each of them goes on as if it had just been done.
 */
#ifndef RUN_FILE_H
#define RUN_FILE_H

#include "bench.h"

/* `key` names file system, version, chip, state and seed: a file of another run is refused. Both return 0, or -1 with a message. */
int run_file_store(const struct bench *bench, const char *path, const char *key, char *message, size_t message_size);
int run_file_load(struct bench *bench, const char *path, const char *key, char *message, size_t message_size);

#endif
