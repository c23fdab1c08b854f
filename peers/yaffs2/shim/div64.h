/* SPDX-License-Identifier: BSD-2-Clause */
/* div64.h - division of 64-bit numbers under the name that YAFFS2 uses; the C library's function of that name is declared before. */
#ifndef SHIM_DIV64_H
#define SHIM_DIV64_H

#include <stdlib.h>

#define lldiv(dividend, divisor) ((dividend) / (divisor))

#endif
