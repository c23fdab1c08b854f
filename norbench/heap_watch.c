/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_watch.c - allocations inside calls of the file system. Each block has a head that says whether it counts. */
#include "heap_watch.h"

#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

#define MARK ((size_t)0x48454150u)

struct head {
    size_t size, counted, mark;
    max_align_t bytes[];
};

static bool inside;
static size_t in_use, most;

void heap_watch_call(bool runs)
{
    inside = runs;
}

size_t heap_watch_most(void)
{
    return most;
}

/* A run that may be stored has all of its memory in the arena. */
static struct head *take(size_t size)
{
    return arena_is_open() ? arena_take(size) : __real_malloc(size);
}

static void give(struct head *head)
{
    if (arena_is_open()) {
        arena_give(head, sizeof(*head) + head->size);
    } else {
        __real_free(head);
    }
}

void *__wrap_malloc(size_t size)
{
    struct head *head = size <= SIZE_MAX - sizeof(*head) ? take(sizeof(*head) + size) : NULL;
    if (head == NULL) {
        return NULL;
    }
    head->size = size;
    head->counted = inside ? size : 0;
    head->mark = MARK;
    in_use += head->counted;
    most = in_use > most ? in_use : most;
    return head->bytes;
}

void *__wrap_calloc(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    void *memory = __wrap_malloc(count * size);
    return memory != NULL ? memset(memory, 0, count * size) : NULL;
}

static struct head *head_of(void *memory)
{
    return (struct head *)(void *)((char *)memory - offsetof(struct head, bytes));
}

void *__wrap_realloc(void *memory, size_t size)
{
    void *moved = __wrap_malloc(size);
    if (memory != NULL && moved != NULL) {
        size_t old = head_of(memory)->size;
        memcpy(moved, memory, old < size ? old : size);
        __wrap_free(memory);
    }
    return moved;
}

/* What the C library allocated by itself has no head of ours. */
void __wrap_free(void *memory)
{
    if (memory == NULL) {
        return;
    }
    struct head *head = head_of(memory);
    if (head->mark != MARK) {
        __real_free(memory);
        return;
    }
    head->mark = 0;
    in_use -= head->counted;
    give(head);
}
