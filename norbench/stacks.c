/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks.c - counts by call stack, in a hash table. */
#define _GNU_SOURCE             /* dl_iterate_phdr; backtrace is the C library's */

#include "stacks.h"

#include <execinfo.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 48
#define SKIPPED 3               /* this file's own calls and the tap's */
#define BUCKETS 16384u

struct stack {
    struct stack *next;
    uint64_t count[STACKS_OPERATIONS], time_us[STACKS_OPERATIONS];
    int depth;
    void *addresses[DEPTH_MAX];
};

struct stacks {
    struct stack *buckets[BUCKETS];
    bool lost;
};

struct stacks *stacks_new(void)
{
    return calloc(1, sizeof(struct stacks));
}

void stacks_free(struct stacks *stacks)
{
    for (uint32_t i = 0; stacks != NULL && i < BUCKETS; i++) {
        while (stacks->buckets[i] != NULL) {
            struct stack *next = stacks->buckets[i]->next;
            free(stacks->buckets[i]);
            stacks->buckets[i] = next;
        }
    }
    free(stacks);
}

static uint32_t bucket_of(void *const *addresses, int depth)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (int i = 0; i < depth; i++) {
        hash = (hash ^ (uintptr_t)addresses[i]) * 0x100000001B3u;
    }
    return (uint32_t)(hash >> 32) % BUCKETS;
}

static struct stack *find(struct stacks *stacks, void *const *addresses, int depth)
{
    struct stack **place = &stacks->buckets[bucket_of(addresses, depth)];
    size_t bytes = (size_t)depth * sizeof(*addresses);
    for (struct stack *stack = *place; stack != NULL; stack = stack->next) {
        if (stack->depth == depth && memcmp(stack->addresses, addresses, bytes) == 0) {
            return stack;
        }
    }
    struct stack *stack = calloc(1, sizeof(*stack));
    if (stack == NULL) {
        stacks->lost = true;
        return NULL;
    }
    stack->depth = depth;
    memcpy(stack->addresses, addresses, bytes);
    stack->next = *place;
    *place = stack;
    return stack;
}

void stacks_note(struct stacks *stacks, enum stacks_operation operation, uint64_t time_us)
{
    void *addresses[DEPTH_MAX + SKIPPED];
    int depth = backtrace(addresses, DEPTH_MAX + SKIPPED) - SKIPPED;
    struct stack *stack = depth > 0 ? find(stacks, addresses + SKIPPED, depth) : NULL;
    if (stack != NULL) {
        stack->count[operation]++;
        stack->time_us[operation] += time_us;
    }
}

/* The program itself comes first. */
static int note_base(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uintptr_t *)context = (uintptr_t)info->dlpi_addr;
    return 1;
}

static void write_stack(const struct stack *stack, uintptr_t base, FILE *file)
{
    for (int i = stack->depth - 1; i >= 0; i--) {       /* a return address lies behind its call: one less is inside */
        fprintf(file, "%" PRIxPTR "%s", (uintptr_t)stack->addresses[i] - 1 - base, i > 0 ? ";" : "");
    }
    for (int operation = 0; operation < STACKS_OPERATIONS; operation++) {
        fprintf(file, " %" PRIu64 " %" PRIu64, stack->count[operation], stack->time_us[operation]);
    }
    putc('\n', file);
}

bool stacks_write(const struct stacks *stacks, const char *path)
{
    uintptr_t base = 0;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    (void)dl_iterate_phdr(note_base, &base);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (const struct stack *stack = stacks->buckets[i]; stack != NULL; stack = stack->next) {
            write_stack(stack, base, file);
        }
    }
    bool good = ferror(file) == 0;
    return fclose(file) == 0 && good && !stacks->lost;
}
