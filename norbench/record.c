/* SPDX-License-Identifier: BSD-2-Clause */
/* record.c - counter deltas, the worst call, windows. */
#include "record.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "marks.h"

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
    sum->time_max_us += end->time_max_us - start->time_max_us;
    sum->time_model_us += end->time_model_us - start->time_model_us;
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
    record->owed_pages = 0;
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

void record_call_writes(struct record *record, uint32_t bytes)
{
    uint32_t page = vflash_chip_of(record->chip)->page_size;
    record->owed_pages += (bytes + page - 1) / page;
}

void record_call_begin(struct record *record)
{
    record->call_start = *vflash_counts(record->chip);
    record->call_start_consumed = record->tap->pages_consumed;
    if (record->measuring) {
        mark_call_begin();
    }
}

/* What a call without idle time before it may erase, and by how much it erased more. */
static void judge_erases(struct record *record, const struct series_sample *call)
{
    if (record->amplification == 0) {
        return;
    }
    const struct vflash_chip *chip = vflash_chip_of(record->chip);
    double bytes = (double)((record->tap->pages_consumed - record->call_start_consumed) * chip->page_size);
    int64_t allowance = 1 + (int64_t)ceil(bytes / chip->block_size * record->amplification);
    int64_t past = (int64_t)call->erases - allowance;
    if (past > record->erases_past_allowance) {
        record->erases_past_allowance = past;
    }
}

/* Pages beyond those of the user's bytes that the call may have had to program: copies, and the file system's own. */
static void judge_copies(struct record *record, const char *name, const struct series_sample *call)
{
    const struct vflash_chip *chip = vflash_chip_of(record->chip);
    uint64_t owed = record->owed_pages;
    uint64_t pieces = (owed * chip->page_size + 4095) / 4096;
    if (call->program_pages > owed) {
        double extra = (double)(call->program_pages - owed) / (double)(pieces > 0 ? pieces : 1);
        record->extra_pages_per_4k = extra > record->extra_pages_per_4k ? extra : record->extra_pages_per_4k;
    }
    bool settled = strcmp(name, "sync") == 0 || strcmp(name, "close") == 0 || call->program_pages > owed;
    record->owed_pages = settled ? 0 : owed - call->program_pages;
}

static void note_worst(struct record *record, const char *name, const struct series_sample *call)
{
    if (call->us > record->worst_call_us) {
        record->worst_call_us = call->us;
        record->worst_call_name = name;
        record->worst_call_erases = call->erases;
    }
    if (call->erases > record->most_erases_in_call) {
        record->most_erases_in_call = call->erases;
    }
    if (call->read_pages > record->most_read_pages_in_call) {
        record->most_read_pages_in_call = call->read_pages;
    }
}

static void put_line(const struct record *record, const char *name, uint64_t us)
{
    if (record->call_lines != NULL) {
        fprintf(record->call_lines, "%s %" PRIu64 "\n", name, us);
    }
}

void record_call_end(struct record *record, const char *name)
{
    if (!record->measuring) {
        return;
    }
    mark_call_end();
    struct series_sample call = series_between(&record->call_start, vflash_counts(record->chip));
    note_worst(record, name, &call);
    put_line(record, name, call.us);
    judge_erases(record, &call);
    judge_copies(record, name, &call);
    if (record->keep_calls && series_add(&record->calls, name, &call) != 0) {
        record->samples_lost = true;
    }
}

void record_step_begin(struct record *record)
{
    record->step_start = *vflash_counts(record->chip);
}

void record_step_end(struct record *record, const char *name)
{
    if (record->measuring) {
        struct series_sample step = series_between(&record->step_start, vflash_counts(record->chip));
        record->samples_lost = series_add(&record->steps, name, &step) != 0 || record->samples_lost;
    }
}

/* Names live as long as the program: it runs one cell, and that has few steps. */
static const char *numbered(const char *format, uint32_t number)
{
    static char names[SERIES_MAX][32];
    static uint32_t count;
    char wanted[sizeof(names[0])];
    snprintf(wanted, sizeof(wanted), format, (unsigned)number);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], wanted) == 0) {
            return names[i];
        }
    }
    if (count == SERIES_MAX) {
        return "others";
    }
    memcpy(names[count], wanted, sizeof(wanted));
    return names[count++];
}

void record_step_numbered(struct record *record, const char *format, uint32_t number)
{
    record_step_end(record, numbered(format, number));
}

void record_extra(struct record *record, const char *key, double value)
{
    if (record->extra_count < RECORD_EXTRAS_MAX) {
        record->extras[record->extra_count++] = (struct record_extra){key, value};
    }
}

void record_maintain_end(struct record *record)
{
    if (!record->measuring) {
        return;
    }
    mark_call_end();
    uint64_t time_us = vflash_counts(record->chip)->time_us - record->call_start.time_us;
    put_line(record, "maintain", time_us);
    if (time_us > record->worst_maintain_us) {
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

void record_close(struct record *record)
{
    series_close(&record->calls);
    series_close(&record->steps);
}
