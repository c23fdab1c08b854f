/* SPDX-License-Identifier: BSD-2-Clause */
/* types.h - integers of fixed size under the names that YAFFS2 uses. */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include <stdint.h>
#include <sys/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef unsigned int u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int s32;
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef unsigned int __u32;
#ifndef __GLIBC__
typedef long long loff_t;
#endif

#endif
