/* SPDX-License-Identifier: BSD-2-Clause */
/* places.h - see places.c. */
#ifndef NF2FS_REPAIR_PLACES_H
#define NF2FS_REPAIR_PLACES_H

#include "tolerant.h"

/* Where bad blocks hold something: the image becomes a copy, which is the caller's to free. Else NULL. */
uint8_t *rep_places(struct rep_image *image);

#endif
