/* SPDX-License-Identifier: BSD-2-Clause */
/* verify.h - the whole volume against the model. */
#ifndef VERIFY_H
#define VERIFY_H

#include "bench.h"

/* Lists and reads everything; a difference makes the cell fail. Expects a mounted volume. */
void verify_all(struct bench *bench);

#endif
