/* SPDX-License-Identifier: BSD-2-Clause */
/* devres.h - YAFFS2 includes this name. */
#include "../common.h"
