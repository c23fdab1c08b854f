/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.c - pieces of powers of two and their lists of free ones; large pieces by the page. */
#define _GNU_SOURCE

#include "arena.h"

#include <stdint.h>

#define CLASSES 40u
#define SMALLEST 5u                     /* 32 bytes */

#ifdef __linux__
#include <sys/mman.h>

#define ADDRESS ((void *)0x2000000000)  /* far from where Linux puts programs, libraries and stacks */
#define SIZE ((size_t)32 << 30)         /* of addresses: only what is used takes memory */
#endif

struct piece {
    struct piece *next;
};

static uint8_t *memory;
static size_t used;
static struct piece *free_pieces[CLASSES];

bool arena_open(void)
{
#ifdef __linux__
    void *found = mmap(ADDRESS, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (found != ADDRESS) {
        return false;
    }
    memory = found;
    used = ARENA_STACK;
    return true;
#else
    return false;
#endif
}

bool arena_is_open(void)
{
    return memory != NULL;
}

void *arena_begin(void)
{
    return memory;
}

size_t arena_used(void)
{
    return used;
}

static unsigned class_of(size_t size)
{
    unsigned class = SMALLEST;
    while (((size_t)1 << class) < size) {
        class++;
    }
    return class;
}

void *arena_take(size_t size)
{
#ifdef __linux__
    unsigned class = class_of(size);
    struct piece *piece = class < CLASSES ? free_pieces[class] : NULL;
    if (piece != NULL) {
        free_pieces[class] = piece->next;
        return piece;
    }
    if (class >= CLASSES || ((size_t)1 << class) > SIZE - used) {
        return NULL;
    }
    void *found = memory + used;
    used += (size_t)1 << class;
    return found;
#else
    (void)size;
    return NULL;
#endif
}

void arena_give(void *bytes, size_t size)
{
    struct piece *piece = bytes;
    unsigned class = class_of(size);
    piece->next = free_pieces[class];
    free_pieces[class] = piece;
}
