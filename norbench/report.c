/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - JSON out. */
#include "report.h"

#include "heap_watch.h"
#include "json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void field_text(const char *key, const char *text)
{
    printf("\"%s\": ", key);
    json_text(text);
    printf(", ");
}

static void field(const char *key, uint64_t value)
{
    printf("\"%s\": %" PRIu64 ", ", key, value);
}

static void put_counts(const struct vflash_counts *counts)
{
    field("read_calls", counts->read_calls);
    field("read_bytes", counts->read_bytes);
    field("read_pages", counts->read_pages);
    field("program_calls", counts->program_calls);
    field("program_bytes", counts->program_bytes);
    field("program_pages", counts->program_pages);
    field("time_us", counts->time_us);
    field("time_us_slow", counts->time_slow_us);
    field("time_us_byte", (counts->time_byte_ns + 500) / 1000);
    field("time_us_max", counts->time_max_us);
    field("time_us_model", counts->time_model_us);
    field("violations", counts->violations);
}

/* The parts of time_us that are not reading: a chip draws another current in each. */
static void put_times(const struct record *record)
{
    const struct vflash_chip *chip = vflash_chip_of(record->chip);
    uint64_t erasing = 0;
    for (int i = 0; i < 3; i++) {
        erasing += record->total.counts.erases[i] * chip->erase_us[i];
    }
    field("time_us_program", record->total.counts.program_pages * chip->program_page_us);
    field("time_us_erase", erasing);
}

static void put_erases(const struct record *record)
{
    const struct vflash_chip *chip = vflash_chip_of(record->chip);
    const char *separator = "";
    field("erases", record_erases(record));
    printf("\"erases_by_size\": {");
    for (int i = 0; i < 3; i++) {
        if (chip->erase_sizes[i] != 0) {
            printf("%s\"%u\": %" PRIu64, separator, (unsigned)chip->erase_sizes[i], record->total.counts.erases[i]);
            separator = ", ";
        }
    }
    printf("}, ");
}

static void put_calls(const struct record *record)
{
    field("worst_call_us", record->worst_call_us);
    field_text("worst_call_name", record->worst_call_name);
    field("worst_call_erases", record->worst_call_erases);
    field("most_erases_in_call", record->most_erases_in_call);
    field("most_read_pages_in_call", record->most_read_pages_in_call);
    field("worst_maintain_us", record->worst_maintain_us);
    printf("\"extra_pages_per_4k\": %.4g, ", record->extra_pages_per_4k);
}

static void put_windows(const struct record *record)
{
    if (record->windows == 0) {
        return;
    }
    field("window_operations", record->window);
    printf("\"windows_program_pages\": [");
    for (uint32_t i = 0; i < record->windows; i++) {
        printf("%s%" PRIu64, i == 0 ? "" : ", ", record->windows_program_pages[i]);
    }
    printf("], ");
}

/* What one kind of flash operation came to: the sum, and the ranks over the calls. */
static void put_ranks(struct series *series, const char *name, enum series_metric metric)
{
    static const struct {
        const char *suffix;
        uint32_t permille;
    } ranks[] = {{"min", 0}, {"median", 500}, {"p99", 990}, {"p999", 999}, {"max", 1000}};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < series->count; i++) {
        sum += series_value(&series->samples[i], metric);
    }
    field(name, sum);
    series_sort(series, metric);
    for (uint32_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        char key[48];
        snprintf(key, sizeof(key), "%s_%s", name, ranks[i].suffix);
        field(key, series_rank(series, metric, ranks[i].permille));
    }
}

static void put_series(struct series *series)
{
    uint64_t read_bytes = 0, read_most = 0, program_bytes = 0, program_most = 0;
    for (uint32_t i = 0; i < series->count; i++) {
        const struct series_sample *sample = &series->samples[i];
        read_bytes += sample->read_bytes;
        program_bytes += sample->program_bytes;
        read_most = sample->read_bytes > read_most ? sample->read_bytes : read_most;
        program_most = sample->program_bytes > program_most ? sample->program_bytes : program_most;
    }
    field("count", series->count);
    put_ranks(series, "us", SERIES_US);
    put_ranks(series, "read_pages", SERIES_READ_PAGES);
    put_ranks(series, "program_pages", SERIES_PROGRAM_PAGES);
    put_ranks(series, "erases", SERIES_ERASES);
    field("read_bytes", read_bytes);
    field("read_bytes_max", read_most);
    field("program_bytes", program_bytes);
    printf("\"program_bytes_max\": %" PRIu64, program_most);
}

static void put_set(const char *key, struct series_set *set)
{
    if (set->count == 0) {
        return;
    }
    printf("\"%s\": {", key);
    for (uint32_t i = 0; i < set->count; i++) {
        printf("%s", i == 0 ? "" : ", ");
        json_text(set->list[i].name);
        printf(": {");
        put_series(&set->list[i]);
        putchar('}');
    }
    printf("}, ");
}

static void put_list(const char *key, const uint32_t *values, uint32_t count)
{
    if (count == 0) {
        return;
    }
    printf("\"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        printf("%s%" PRIu32, i == 0 ? "" : ", ", values[i]);
    }
    printf("], ");
}

static void put_own(struct record *record)
{
    for (uint32_t i = 0; i < record->extra_count; i++) {
        printf("\"%s\": %.10g, ", record->extras[i].key, record->extras[i].value);
    }
    put_list("wear_least", record->wear_least, record->wear_least_count);
    put_list("wear_first", record->wear_first, record->wear_first_count);
    for (uint32_t i = 0; i < record->retired_count; i++) {
        const struct record_retired *at = &record->retired[i];
        printf("%s[%" PRIu64 ", %" PRIu32 "]%s", i == 0 ? "\"retired\": [" : ", ", at->bytes, at->blocks, i + 1 == record->retired_count ? "], " : "");
    }
    put_set("calls", &record->calls);
    put_set("steps", &record->steps);
    if (record->amplification != 0) {
        printf("\"erases_past_allowance\": %" PRId64 ", ", record->erases_past_allowance);
    }
}

/* Where the work of the whole run lay: of each block the erases, the programs and the reads. */
static void put_map(const struct vflash *chip, const char *key, uint32_t (*of_page)(const struct vflash *chip, uint32_t page))
{
    const struct vflash_chip *facts = vflash_chip_of(chip);
    uint32_t pages = facts->block_size / facts->page_size;
    printf("\"%s\": [", key);
    for (uint32_t block = 0; block < facts->size / facts->block_size; block++) {
        uint64_t sum = of_page == NULL ? vflash_wear(chip, block) : 0;
        for (uint32_t page = 0; of_page != NULL && page < pages; page++) {
            sum += of_page(chip, block * pages + page);
        }
        printf("%s%" PRIu64, block == 0 ? "" : ",", sum);
    }
    printf("], ");
}

/* How many accesses had how many bytes: the key is the power of two that they do not pass. */
static void put_sizes(const char *key, const uint64_t *sizes)
{
    const char *separator = "";
    printf("\"%s\": {", key);
    for (uint32_t i = 0; i < TAP_SIZES; i++) {
        if (sizes[i] != 0) {
            printf("%s\"%u\": %" PRIu64, separator, 1u << i, sizes[i]);
            separator = ", ";
        }
    }
    printf("}, ");
}

static void put_maps(const struct bench *bench)
{
    if (bench->maps) {
        put_sizes("read_sizes", bench->tap.read_sizes);
        put_sizes("program_sizes", bench->tap.program_sizes);
        put_map(bench->chip, "block_erases", NULL);
        put_map(bench->chip, "block_programs", vflash_page_programs);
        put_map(bench->chip, "block_reads", vflash_page_reads);
    }
}

static void put_status(const struct bench *bench)
{
    char status[sizeof(bench->failure) + 16] = "ok";
    if (bench->failed) {
        snprintf(status, sizeof(status), "failed: %s", bench->failure);
    }
    field_text("status", status);
    printf("\"verified\": %s, ", bench->failed ? "false" : "true");
    printf("\"cut_verified\": %s, ", bench->cut_verified ? "true" : "false");
    printf("\"wrong_data\": %s, ", bench->wrong_data ? "true" : "false");
}

void report_cell(struct bench *bench, const struct vfs_entry *entry, const struct workload *workload, const char *chip, const char *state,
                 uint64_t seed, bool bounds)
{
    struct record *record = &bench->record;
    putchar('{');
    field_text("fs", entry->name);
    field_text("version", entry->version);
    if (entry->core != NULL) {
        field_text("core", entry->core);
    }
    field_text("workload", workload->name);
    field_text("group", workload->group);
    field_text("mode", workload->mode);
    field_text("state", state);
    field_text("chip", chip);
    field("seed", seed);
    put_status(bench);
    put_counts(&record->total.counts);
    field("consumed_bytes", record->total.consumed_pages * bench->tap.driver.page_size);
    put_times(record);
    put_erases(record);
    field("chip_blocks", vflash_chip_of(record->chip)->size / vflash_chip_of(record->chip)->block_size);
    field("chip_endurance", vflash_chip_of(record->chip)->endurance);
    put_calls(record);
    put_windows(record);
    put_own(record);
    report_judge(&bench->judge, bounds);
    field("unmount_program_pages", record->unmount_program_pages);
    field("unmount_us", record->unmount_us);
    field("user_bytes", record->bytes_written != 0 ? record->bytes_written : record->bytes_read);
    field("user_bytes_read", record->bytes_read);
    field("operations", record->operations);
    if (record->marked_operations != 0) {
        field("marked_operations", record->marked_operations);
        field("marked_program_pages", record->marked_program_pages);
        field("marked_program_bytes", record->marked_program_bytes);
        field("marked_user_bytes", record->marked_user_bytes);
    }
    field("maintain_budget_us", bench->maintain_us);
    put_maps(bench);
    field("heap_bytes", heap_watch_most());
    field_text("conditions", bench->conditions_text);
    printf("\"ram_bytes\": %" PRIu32 "}\n", bench->fs.ops->ram_bytes(bench->fs.context));
}

/* ---- the list ----------------------------------------------------------------------------------- */

static void list_workloads(void)
{
    const struct workload *workload;
    printf("\"workloads\": [");
    for (unsigned i = 0; (workload = workload_at(i)) != NULL; i++) {
        printf("%s\n  {", i == 0 ? "" : ",");
        field_text("name", workload->name);
        field_text("group", workload->group);
        field_text("mode", workload->mode);
        field_text("chip", workload->chip != NULL ? workload->chip : "w25q256");
        field_text("options", workload->options != NULL ? workload->options : "");
        printf("\"long\": %s, ", workload->slow ? "true" : "false");
        printf("\"description\": ");
        json_text(workload->description);
        putchar('}');
    }
    printf("],\n");
}

static bool first_of_group(unsigned index)
{
    for (unsigned i = 0; i < index; i++) {
        if (strcmp(workload_at(i)->group, workload_at(index)->group) == 0) {
            return false;
        }
    }
    return true;
}

static void list_group(const char *group)
{
    const struct workload *workload;
    const char *separator = "";
    json_text(group);
    printf(": [");
    for (unsigned i = 0; (workload = workload_at(i)) != NULL; i++) {
        if (strcmp(workload->group, group) == 0) {
            printf("%s", separator);
            json_text(workload->name);
            separator = ", ";
        }
    }
    putchar(']');
}

static void list_groups(void)
{
    const char *separator = "";
    printf("\"groups\": {");
    for (unsigned i = 0; workload_at(i) != NULL; i++) {
        if (first_of_group(i)) {
            printf("%s\n  ", separator);
            list_group(workload_at(i)->group);
            separator = ",";
        }
    }
    printf("},\n");
}

void report_list(const struct vfs_entry *(*entry_at)(unsigned index))
{
    const struct vfs_entry *entry;
    const struct vflash_chip *chip;
    printf("{");
    list_workloads();
    list_groups();
    printf("\"file_systems\": [");
    for (unsigned i = 0; (entry = entry_at(i)) != NULL; i++) {
        printf("%s\n  {", i == 0 ? "" : ",");
        field_text("name", entry->name);
        field_text("version", entry->version);
        field_text("core", entry->core != NULL ? entry->core : "");
        field_text("settings", entry->settings != NULL ? entry->settings : "");
        printf("\"description\": ");
        json_text(entry->description);
        putchar('}');
    }
    printf("],\n\"states\": [\"fresh\", \"aged\", \"aged75\"],\n\"chips\": [");
    for (unsigned i = 0; (chip = vflash_chip_at(i)) != NULL; i++) {
        printf("%s\n  {", i == 0 ? "" : ",");
        field_text("name", chip->name);
        printf("\"description\": ");
        json_text(chip->description);
        putchar('}');
    }
    printf("]}\n");
}
