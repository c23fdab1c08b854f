/* SPDX-License-Identifier: BSD-2-Clause */
/* malloc.h - YAFFS2 includes this name. */
#include "common.h"
