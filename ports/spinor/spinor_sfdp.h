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

/*
 * Of a chip that has no map of its erases: those that are known not to work everywhere on chips of
 * its family (S25FL-S, SST26).
 */
void spinor_drop_uneven(struct spinor_part *part);

#endif
