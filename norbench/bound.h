/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bound.h - how fast synced random overwrites can be in the steady state, whatever the file system.
 *
 * Each erase unit costs its pages' programs and one erase; of what is programmed 1 / WA is new. With greedy
 * cleaning of a log under uniform traffic over a share `fill` of the chip, WA = a / (a + W(-a exp(-a))),
 * a = 1 / fill, W Lambert's function (Xiang and Kurkoski, arXiv 1110.4245). An access that covers whole
 * erase units leaves nothing to copy: WA = 1.
 */
#ifndef BOUND_H
#define BOUND_H

#include <stdint.h>

#include "vflash.h"

/* The write amplification of greedy cleaning; `fill` in (0, 1). */
double bound_amplification(double fill);

/*
 * The same where `hot` percent of the writes go to the other 100 - `hot` percent of the data, for a cleaner that knows which
 * data is hot: it keeps both kinds apart, each with the share of the spare space that copies least in all. 50: uniform traffic.
 */
double bound_amplification_skewed(double fill, uint32_t hot);

/* KiB a second (page convention), the best over the erase sizes of the chip. */
double bound_overwrite_kib_s(const struct vflash_chip *chip, double fill, uint32_t access, uint32_t hot);

#endif
