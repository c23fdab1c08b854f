/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tearing.h - a driver over another that leaves one program or
 * erase half done, and then has the power fail.
 */
#ifndef TEARING_H
#define TEARING_H

#include "nf2fs/flash.h"

/*
 * The `operation`-th program or erase is torn (0: none); how,
 * `seed` says. Returns the driver to use.
 */
const struct nf2_flash *tearing_start(const struct nf2_flash *flash, uint32_t operation,
                                      uint32_t seed);

#endif
