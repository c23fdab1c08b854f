/* SPDX-License-Identifier: BSD-2-Clause */
/* record.c - counter deltas, the worst call, windows. */
#include "record.h"

#include <string.h>

void record_init(struct record *record, struct vflash *chip, const struct tap *tap)
{
    memset(record, 0, sizeof(*record));
    record->chip = chip;
    record->tap = tap;
    record->worst_call_name = "";
}

static void add_counts(struct vflash_counts *sum, const struct vflash_counts *end, const struct vflash_counts *start)
{
    sum->read_calls += end->read_calls - start->read_calls;
    sum->read_bytes += end->read_bytes - start->read_bytes;
    sum->read_pages += end->read_pages - start->read_pages;
    sum->program_calls += end->program_calls - start->program_calls;
    sum->program_bytes += end->program_bytes - start->program_bytes;
    sum->program_pages += end->program_pages - start->program_pages;
    for (int i = 0; i < 3; i++) {
        sum->erases[i] += end->erases[i] - start->erases[i];
    }
    sum->time_us += end->time_us - start->time_us;
    sum->time_slow_us += end->time_slow_us - start->time_slow_us;
    sum->time_byte_ns += end->time_byte_ns - start->time_byte_ns;
    sum->violations += end->violations - start->violations;
}

static void begin_operation(struct record *record)
{
    record->marked = false;
    record->operation_start_pages = vflash_counts(record->chip)->program_pages;
    record->operation_start_bytes = vflash_counts(record->chip)->program_bytes;
    record->operation_start_user = record->bytes_written;
}

void record_mark(struct record *record)
{
    record->marked = true;
}

static void end_operation(struct record *record)
{
    if (record->marked) {
        record->marked_operations++;
        record->marked_program_pages += vflash_counts(record->chip)->program_pages - record->operation_start_pages;
        record->marked_program_bytes += vflash_counts(record->chip)->program_bytes - record->operation_start_bytes;
        record->marked_user_bytes += record->bytes_written - record->operation_start_user;
    }
    begin_operation(record);
}

void record_begin(struct record *record)
{
    record->measuring = true;
    record->start.counts = *vflash_counts(record->chip);
    record->start.consumed_pages = record->tap->pages_consumed;
    record->window_start_pages = record->start.counts.program_pages;
    begin_operation(record);
}

void record_end(struct record *record)
{
    if (!record->measuring) {
        return;
    }
    record->measuring = false;
    add_counts(&record->total.counts, vflash_counts(record->chip), &record->start.counts);
    record->total.consumed_pages += record->tap->pages_consumed - record->start.consumed_pages;
}

void record_call_begin(struct record *record)
{
    record->call_start = *vflash_counts(record->chip);
}

static uint64_t erase_operations(const struct vflash_counts *counts)
{
    return counts->erases[0] + counts->erases[1] + counts->erases[2];
}

void record_call_end(struct record *record, const char *name)
{
    if (!record->measuring) {
        return;
    }
    const struct vflash_counts *now = vflash_counts(record->chip);
    uint64_t time_us = now->time_us - record->call_start.time_us;
    uint64_t erases = erase_operations(now) - erase_operations(&record->call_start);
    uint64_t read_pages = now->read_pages - record->call_start.read_pages;
    if (time_us > record->worst_call_us) {
        record->worst_call_us = time_us;
        record->worst_call_name = name;
        record->worst_call_erases = erases;
    }
    if (erases > record->most_erases_in_call) {
        record->most_erases_in_call = erases;
    }
    if (read_pages > record->most_read_pages_in_call) {
        record->most_read_pages_in_call = read_pages;
    }
}

void record_maintain_end(struct record *record)
{
    uint64_t time_us = vflash_counts(record->chip)->time_us - record->call_start.time_us;
    if (record->measuring && time_us > record->worst_maintain_us) {
        record->worst_maintain_us = time_us;
    }
}

void record_operation(struct record *record)
{
    if (!record->measuring) {
        return;
    }
    record->operations++;
    end_operation(record);
    if (record->window == 0 || record->operations % record->window != 0 || record->windows == RECORD_WINDOWS_MAX) {
        return;
    }
    uint64_t pages = vflash_counts(record->chip)->program_pages;
    record->windows_program_pages[record->windows++] = pages - record->window_start_pages;
    record->window_start_pages = pages;
}

uint64_t record_erases(const struct record *record)
{
    const struct vflash_chip *chip = vflash_chip_of(record->chip);
    uint64_t blocks = 0;
    for (int i = 0; i < 3; i++) {
        blocks += record->total.counts.erases[i] * (chip->erase_sizes[i] / chip->block_size);
    }
    return blocks;
}
