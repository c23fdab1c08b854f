/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor_sfdp.h - between spinor's own files. */
#ifndef SPINOR_SFDP_H
#define SPINOR_SFDP_H

#include "spinor.h"

/*
 * Reads what the chip says of itself into `part`. 0,
 * SPINOR_BUS, or SPINOR_UNKNOWN: no usable table.
 */
int spinor_sfdp(const struct spinor_bus *bus, struct spinor_part *part);

#endif
