/* SPDX-License-Identifier: BSD-2-Clause */
/* heap.c - the memory of one peer, in a ring, so that a dropped volume's is found again. */
#include "heap.h"

#include <stdlib.h>

struct piece {
    struct piece *next, *previous;
    size_t size;
    max_align_t bytes[];
};

static struct piece ring = {&ring, &ring, 0};
static size_t in_use, most;

void *peer_heap_take(size_t size)
{
    struct piece *piece = malloc(sizeof(*piece) + size);
    if (piece == NULL) {
        return NULL;
    }
    *piece = (struct piece){ring.next, &ring, size};
    ring.next->previous = piece;
    ring.next = piece;
    in_use += size;
    most = in_use > most ? in_use : most;
    return piece->bytes;
}

void peer_heap_give(void *memory)
{
    if (memory == NULL) {
        return;
    }
    struct piece *piece = (struct piece *)(void *)((char *)memory - offsetof(struct piece, bytes));
    piece->previous->next = piece->next;
    piece->next->previous = piece->previous;
    in_use -= piece->size;
    free(piece);
}

void peer_heap_drop_all(void)
{
    while (ring.next != &ring) {
        peer_heap_give(ring.next->bytes);
    }
}

size_t peer_heap_most(void)
{
    return most;
}
