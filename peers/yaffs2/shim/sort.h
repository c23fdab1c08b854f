/* SPDX-License-Identifier: BSD-2-Clause */
/* sort.h - YAFFS2 includes this name. */
#include "common.h"
