/* SPDX-License-Identifier: BSD-2-Clause */
/* compat.h - memory from the peer's own heap (heap.h), which counts it; bits of a byte; nothing to schedule. */
#ifndef SHIM_LINUX_COMPAT_H
#define SHIM_LINUX_COMPAT_H

#include "../../heap.h"

#define GFP_NOFS 0
#define kmalloc(size, flags) peer_heap_take(size)
#define vmalloc(size) peer_heap_take(size)
#define kfree(memory) peer_heap_give(memory)
#define vfree(memory) peer_heap_give(memory)
#define cond_resched() ((void)0)
#define hweight8(value) ((unsigned)__builtin_popcount((value) & 0xFFu))
#define hweight32(value) ((unsigned)__builtin_popcount(value))

#endif
