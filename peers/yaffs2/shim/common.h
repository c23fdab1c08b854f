/* SPDX-License-Identifier: BSD-2-Clause */
/* common.h - what YAFFS2's sources take from the boot loader that they come with, over a host's C library. */
#ifndef SHIM_COMMON_H
#define SHIM_COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "linux/compat.h"
#include "linux/types.h"

#endif
