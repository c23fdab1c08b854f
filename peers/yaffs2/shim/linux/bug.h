/* SPDX-License-Identifier: BSD-2-Clause */
/* bug.h - what YAFFS2 calls where it finds itself in a state that cannot be: the process ends, as with a failed assertion. */
#ifndef SHIM_LINUX_BUG_H
#define SHIM_LINUX_BUG_H

#include <stdlib.h>

#define BUG() abort()

#endif
