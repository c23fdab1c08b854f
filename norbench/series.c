/* SPDX-License-Identifier: BSD-2-Clause */
/* series.c - samples of calls, kept by kind. */
#include "series.h"

#include <stdlib.h>
#include <string.h>

struct series_sample series_between(const struct vflash_counts *start, const struct vflash_counts *end)
{
    struct series_sample sample = {
        .us = end->time_us - start->time_us,
        .read_pages = (uint32_t)(end->read_pages - start->read_pages),
        .read_bytes = (uint32_t)(end->read_bytes - start->read_bytes),
        .program_pages = (uint32_t)(end->program_pages - start->program_pages),
        .program_bytes = (uint32_t)(end->program_bytes - start->program_bytes),
    };
    for (int i = 0; i < 3; i++) {
        sample.erases += (uint32_t)(end->erases[i] - start->erases[i]);
    }
    return sample;
}

static struct series *find_or_make(struct series_set *set, const char *name)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (strcmp(set->list[i].name, name) == 0) {
            return &set->list[i];
        }
    }
    if (set->count == SERIES_MAX) {
        return NULL;
    }
    struct series *made = &set->list[set->count++];
    *made = (struct series){.name = name};
    return made;
}

int series_add(struct series_set *set, const char *name, const struct series_sample *sample)
{
    struct series *series = find_or_make(set, name);
    if (series == NULL) {
        return -1;
    }
    if (series->count == series->room) {
        uint32_t room = series->room == 0 ? 256 : 2 * series->room;
        struct series_sample *grown = realloc(series->samples, room * sizeof(*grown));
        if (grown == NULL) {
            return -1;
        }
        series->samples = grown;
        series->room = room;
    }
    series->samples[series->count++] = *sample;
    return 0;
}

void series_close(struct series_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        free(set->list[i].samples);
    }
    set->count = 0;
}

uint64_t series_value(const struct series_sample *sample, enum series_metric metric)
{
    switch (metric) {
    case SERIES_READ_PAGES:
        return sample->read_pages;
    case SERIES_PROGRAM_PAGES:
        return sample->program_pages;
    case SERIES_ERASES:
        return sample->erases;
    default:
        return sample->us;
    }
}

static int compare(const void *a, const void *b, enum series_metric metric)
{
    uint64_t left = series_value(a, metric), right = series_value(b, metric);
    return (left > right) - (left < right);
}

static int by_time(const void *a, const void *b)
{
    return compare(a, b, SERIES_US);
}

static int by_read_pages(const void *a, const void *b)
{
    return compare(a, b, SERIES_READ_PAGES);
}

static int by_program_pages(const void *a, const void *b)
{
    return compare(a, b, SERIES_PROGRAM_PAGES);
}

static int by_erases(const void *a, const void *b)
{
    return compare(a, b, SERIES_ERASES);
}

void series_sort(struct series *series, enum series_metric metric)
{
    static int (*const order[])(const void *, const void *) = {by_time, by_read_pages, by_program_pages, by_erases};
    qsort(series->samples, series->count, sizeof(*series->samples), order[metric]);
}

uint64_t series_rank(const struct series *series, enum series_metric metric, uint32_t permille)
{
    uint64_t rank = ((uint64_t)series->count * permille + 999) / 1000;
    return series_value(&series->samples[rank > 0 ? rank - 1 : 0], metric);
}
