/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workloads.h - norbench's workloads straight over nf2fs.h, as they are in norbench/workloads.
 * What they leave depends on the seed alone: on the board they run in tasks at once, on the host
 * one behind the other, and the files must be the same.
 */
#ifndef WORKLOADS_H
#define WORKLOADS_H

#include "nf2fs/nf2fs.h"

#define WORKLOADS 4u            /* three of norbench, and the model of scenario.h */

/* Runs one of them. NULL, or what failed. `read_crc`: over all that it read. */
const char *workloads_run(uint32_t which, nf2_t *fs, uint32_t *read_crc);

/* CRC-32, begun with 0. */
uint32_t workloads_crc(uint32_t crc, const void *data, uint32_t length);

#endif
