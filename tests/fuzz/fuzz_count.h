/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_count.h - counts what a fuzzer did, in a file that several processes share and that outlives a crash: NF2_FUZZ_COUNT names
 * it. Three numbers of eight bytes: executions, calls, cuts.
 */
#ifndef FUZZ_COUNT_H
#define FUZZ_COUNT_H

#include <stdint.h>

/* One more execution, with so many calls and cuts. */
void fuzz_count(uint64_t calls, uint64_t cuts);

#endif
