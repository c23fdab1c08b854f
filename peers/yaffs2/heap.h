/* SPDX-License-Identifier: BSD-2-Clause */
/* heap.h - the memory of one peer: how much it took at most, and all of it given back at once where a volume is dropped. */
#ifndef PEER_HEAP_H
#define PEER_HEAP_H

#include <stddef.h>

void *peer_heap_take(size_t size);
void peer_heap_give(void *memory);      /* NULL is allowed */
void peer_heap_drop_all(void);
size_t peer_heap_most(void);            /* bytes in use at a time, the most since the process began */

#endif
