/* SPDX-License-Identifier: BSD-2-Clause */
/* cell.c - norbench-cell: runs one cell (file system x chip x workload x state) and prints one line of JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "bench.h"
#include "checkpoint.h"
#include "heap_watch.h"
#include "peers.h"
#include "record_calls.h"
#include "report.h"
#include "run_file.h"
#include "settings.h"
#include "verify.h"
#include "workload.h"

#define DEFAULT_CHIP "w25q256"

static const char usage[] =
    "usage: norbench-cell --fs NAME --workload NAME [--chip NAME] [--state fresh|aged|aged75] [--seed N] [--maintain US]\n"
    "                     [--mean N | --limit N] [--part N] [--wear FILE] [--bounds] [--progress] [--conditions LIST]\n"
    "                     [--maps] [--pages FILE] [--stacks FILE] [--calls FILE] [--trace FILE] [--record FILE]\n"
    "                     [--aged-run FILE] [--checkpoint FILE [--checkpoint-every SECONDS | --checkpoint-at CALL]]\n"
    "       norbench-cell --list | --list-bounds [--chip NAME]\n"
    "\n"
    "Runs one cell and prints one line of JSON. Exit code 0: it ran and every byte was right; 1: it failed; 2: usage.\n"
    "  --fs NAME        one of the list; with its settings behind a colon: littlefs:cache=4096,block=64K\n"
    "  --list           say as JSON what there is; exit code 2 if the chip named beside it is none\n"
    "  --list-bounds    say as JSON what each call of nf2fs may cost on the chip\n"
    "  --workload NAME  one of the list; with its options behind a colon: wake:count=1000,end=unmount\n"
    "  --chip NAME      a chip of the catalogue, one cut to a size (w25q256/4M), or a file that describes one; default: the\n"
    "                   workload's, else " DEFAULT_CHIP "\n"
    "  --maintain US    idle time of so many microseconds after each operation\n"
    "  --mean N         life*, wear: until a block was erased N times in the mean\n"
    "  --limit N        life* workloads: until the first block was erased N times, which is all that it bears\n"
    "  --part N         ow*, mixed*, calls*, phase*: a share of one in N of the run (1)\n"
    "  --wear FILE      life*, wear, wake: write the erases of each block, one a line\n"
    "  --bounds         nf2fs: say of each kind of call the most that it cost, beside its bound\n"
    "  --conditions L   of wear, content, hot (with commas): time_us_model is the time under them\n"
    "  --maps           say of each block how often it was erased, programmed and read, from the format on\n"
    "  --pages FILE     write the reads and programs of each page, one a line\n"
    "  --stacks FILE    write from which calls the operations of the measured stretch came\n"
    "  --calls FILE     write the name and the flash time (us) of each call of the measured stretch, one a line\n"
    "  --trace FILE     the trace that the workload `trace` makes again\n"
    "  --record FILE    write the calls of the measured stretch as a trace\n"
    "  --aged-run FILE  aged, aged75: take the aged chip from this file; make the file where it is not there (not native)\n"
    "  --checkpoint FILE  store the whole run in this file every 60 s, or as said; where the file is there, go on from it; at\n"
    "                   the end it is removed. With -at: store it at that call of the file system, and end with exit code 4\n"
    "  --progress       say on the standard error how far a long run is\n";

/* ---- arguments ---------------------------------------------------------------------------------- */

struct arguments {
    const char *fs, *workload, *chip, *state, *wear_path, *conditions, *pages_path, *stacks_path, *trace_path, *record_path, *run_path, *calls_path, *checkpoint_path;
    uint64_t seed;
    uint32_t maintain_us, erases_mean, erases_limit, part;
    uint32_t checkpoint_seconds, checkpoint_call;
    bool list, list_bounds, bounds, progress, maps;
};

static bool parse_number(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return *text >= '0' && *text <= '9' && *end == '\0' && value <= max;
}

static bool parse_option(struct arguments *arguments, const char *name, const char *value)
{
    uint64_t number;
    if (strcmp(name, "--fs") == 0) {
        arguments->fs = value;
    } else if (strcmp(name, "--workload") == 0) {
        arguments->workload = value;
    } else if (strcmp(name, "--chip") == 0) {
        arguments->chip = value;
    } else if (strcmp(name, "--state") == 0) {
        arguments->state = value;
    } else if (strcmp(name, "--seed") == 0) {
        return parse_number(value, UINT64_MAX, &arguments->seed);
    } else if (strcmp(name, "--wear") == 0) {
        arguments->wear_path = value;
    } else if (strcmp(name, "--conditions") == 0) {
        arguments->conditions = value;
    } else if (strcmp(name, "--trace") == 0) {
        arguments->trace_path = value;
    } else if (strcmp(name, "--record") == 0) {
        arguments->record_path = value;
    } else if (strcmp(name, "--aged-run") == 0) {
        arguments->run_path = value;
    } else if (strcmp(name, "--checkpoint") == 0) {
        arguments->checkpoint_path = value;
    } else if (strcmp(name, "--calls") == 0) {
        arguments->calls_path = value;
    } else if (strcmp(name, "--pages") == 0) {
        arguments->pages_path = value;
    } else if (strcmp(name, "--stacks") == 0) {
        arguments->stacks_path = value;
    } else {
        uint32_t *target = strcmp(name, "--maintain") == 0 ? &arguments->maintain_us
                         : strcmp(name, "--mean") == 0     ? &arguments->erases_mean
                         : strcmp(name, "--limit") == 0    ? &arguments->erases_limit
                         : strcmp(name, "--part") == 0     ? &arguments->part
                         : strcmp(name, "--checkpoint-every") == 0 ? &arguments->checkpoint_seconds
                         : strcmp(name, "--checkpoint-at") == 0    ? &arguments->checkpoint_call
                                                                   : NULL;
        bool good = target != NULL && parse_number(value, UINT32_MAX, &number);
        if (good) {
            *target = (uint32_t)number;
        }
        return good;
    }
    return true;
}

static bool parse(struct arguments *arguments, int count, char **values)
{
    *arguments = (struct arguments){.state = "fresh", .seed = 42, .part = 1, .conditions = "", .checkpoint_seconds = 60};
    for (int i = 1; i < count; i++) {
        if (strcmp(values[i], "--list") == 0) {
            arguments->list = true;
        } else if (strcmp(values[i], "--list-bounds") == 0) {
            arguments->list_bounds = true;
        } else if (strcmp(values[i], "--bounds") == 0) {
            arguments->bounds = true;
        } else if (strcmp(values[i], "--progress") == 0) {
            arguments->progress = true;
        } else if (strcmp(values[i], "--maps") == 0) {
            arguments->maps = true;
        } else if (i + 1 == count || !parse_option(arguments, values[i], values[i + 1])) {
            return false;
        } else {
            i++;
        }
    }
    return arguments->part > 0 && (arguments->list || arguments->list_bounds || (arguments->fs != NULL && arguments->workload != NULL));
}

/* ---- what there is to choose from ---------------------------------------------------------------- */

static const struct vfs_entry *entry_at(unsigned index)
{
    static const struct vfs_entry *const own[] = {&vfs_native_entry, &vfs_nf2fs_entry};
    const unsigned count = sizeof(own) / sizeof(own[0]);
    return index < count ? own[index] : peers_at(index - count);
}

static const struct vfs_entry *find_entry(const char *name)
{
    const struct vfs_entry *entry;
    for (unsigned i = 0; (entry = entry_at(i)) != NULL; i++) {
        if (settings_name_is(name, entry->name)) {
            return entry;
        }
    }
    return NULL;
}

/* "NAME/SIZE": a chip of the catalogue, smaller or larger, its times as they are. SIZE as in 4M or 128K. */
static bool find_resized(const char *name, struct vflash_chip *out, char *message, size_t message_size)
{
    const char *slash = strchr(name, '/');
    char base[sizeof(out->name)];
    uint32_t size;
    if (slash == NULL || (size_t)(slash - name) >= sizeof(base) || strlen(name) >= sizeof(out->name)) {
        return false;
    }
    memcpy(base, name, (size_t)(slash - name));
    base[slash - name] = '\0';
    const struct vflash_chip *chip = vflash_chip_find(base);
    if (chip == NULL || !settings_number(slash + 1, &size) || size == 0 || size > 1024 * MIB) {
        return false;
    }
    *out = *chip;
    out->size = size;
    memcpy(out->name, name, strlen(name) + 1);
    return vflash_chip_check(out, message, message_size) == 0;
}

static bool find_chip(const char *name, struct vflash_chip *out)
{
    const struct vflash_chip *chip = vflash_chip_find(name);
    char message[256] = "";
    if (chip != NULL) {
        *out = *chip;
        return true;
    }
    if (find_resized(name, out, message, sizeof(message))) {
        return true;
    }
    if (vflash_chip_load(name, out, message, sizeof(message)) == 0) {
        return true;
    }
    fprintf(stderr, "norbench-cell: no chip \"%s\" in the catalogue, and as a file: %s\n", name, message);
    return false;
}

static bool known_state(const char *state)
{
    return strcmp(state, "fresh") == 0 || strcmp(state, "aged") == 0 || strcmp(state, "aged75") == 0;
}

/* ---- one cell ----------------------------------------------------------------------------------- */

static void format_and_mount(struct bench *bench)
{
    bench_format(bench);
    bench_mount(bench);
}

/* Three times the chip's capacity in files of 1 MiB; of an eighth of the chip where that is less. */
static void age(struct bench *bench)
{
    uint32_t chip_size = vflash_chip_of(bench->chip)->size;
    uint32_t size = chip_size / 8 < MIB ? chip_size / 8 : MIB;
    uint32_t rounds = (uint32_t)(3 * (uint64_t)chip_size / size);
    for (uint32_t i = 0; i < rounds && bench_ok(bench); i++) {
        bench_put(bench, "/ageing.bin", size, 4 * KIB);
        bench_remove(bench, "/ageing.bin");
    }
    bench_unmount(bench);
}

/* Cold files, in pieces of a quarter MiB, up to 75% of the chip. */
static void fill_cold(struct bench *bench)
{
    uint32_t files = vflash_chip_of(bench->chip)->size / 4 * 3 / (MIB / 4);
    bench_mkdir(bench, "/cold");
    for (uint32_t i = 0; i < files && bench_ok(bench); i++) {
        char path[32];
        snprintf(path, sizeof(path), "/cold/%04u", (unsigned)i);
        bench_put(bench, path, MIB / 4, 4 * KIB);
    }
    bench_unmount(bench);
}

static void age_as(struct bench *bench, const char *state)
{
    format_and_mount(bench);
    age(bench);
    if (strcmp(state, "aged75") == 0) {
        bench_mount(bench);
        fill_cold(bench);
    }
}

/* Ages the chip, or takes it from the file of a run that did. */
static void make_aged(struct bench *bench, const struct arguments *arguments, const char *version)
{
    char key[200], message[128] = "";
    const char *path = arguments->run_path;
    FILE *there = path != NULL ? fopen(path, "rb") : NULL;
    snprintf(key, sizeof(key), "%s %s %s %s %llu", arguments->fs, version, vflash_chip_of(bench->chip)->name, arguments->state,
             (unsigned long long)arguments->seed);
    if (there == NULL) {
        age_as(bench, arguments->state);
    }
    int result = 0;
    if (path != NULL && bench_ok(bench)) {
        result = there != NULL ? run_file_load(bench, path, key, message, sizeof(message)) : run_file_store(bench, path, key, message, sizeof(message));
    }
    if (there != NULL) {
        fclose(there);
    }
    if (result != 0) {
        bench_fail(bench, "%s: %s", path, message);
    }
    bench_mount(bench);
}

static void bring_to_start(struct bench *bench, enum workload_start start)
{
    if (start == START_REMOUNTED) {
        bench_remount(bench);
    } else if (start == START_UNMOUNTED) {
        bench_unmount(bench);
    } else if (start == START_CUT) {
        bench_drop(bench);
    }
}

/* The unmount is outside the totals; what it writes is reported beside them. */
static void unmount_counted(struct bench *bench)
{
    struct vflash_counts before = *vflash_counts(bench->chip);
    bench_unmount(bench);
    bench->record.unmount_program_pages = vflash_counts(bench->chip)->program_pages - before.program_pages;
    bench->record.unmount_us = vflash_counts(bench->chip)->time_us - before.time_us;
}

/* What the files before the measured stretch are becomes the beginning of the trace. */
static void record_before(const struct bench *bench)
{
    for (uint32_t i = 0; i < MODEL_BUCKETS; i++) {
        for (const struct model_node *node = bench->model.buckets[i]; node != NULL; node = node->next) {
            record_calls_before(node->path, node->directory, node->size);
        }
    }
}

static void run_recorded(struct bench *bench, const struct workload *workload, const char *path)
{
    if (path != NULL && record_calls_begin(&bench->fs, path) != 0) {
        bench_fail(bench, "%s cannot be written", path);
        return;
    }
    if (path != NULL) {
        record_before(bench);
    }
    workload->run(bench, workload);
    if (path != NULL && !record_calls_end(&bench->fs)) {
        bench_fail(bench, "%s cannot be written", path);
    }
}

/* The state of the chip, and of the second count of what was done to it. */
struct kept {
    struct vflash_checkpoint *chip;
    struct dumb dumb;
};

static struct kept keep(const struct bench *bench)
{
    return (struct kept){vflash_save(bench->chip), bench->tap.dumb};
}

static void go_back(struct bench *bench, struct kept *kept)
{
    vflash_restore(bench->chip, kept->chip);
    bench->tap.dumb = kept->dumb;
    vflash_release(kept->chip);
}

static void verify_after_unmount(struct bench *bench)
{
    unmount_counted(bench);
    bench_mount(bench);
    verify_all(bench);
    bench_unmount(bench);
    bench_drop(bench);
}

/* As if the power had been lost in the place of the unmount: what is durable must be there all the same. */
static void verify_after_cut(struct bench *bench)
{
    char reason[sizeof(bench->failure)];
    bench->cut = true;
    bench_mount(bench);
    verify_all(bench);
    bench_drop(bench);
    if (bench->failed) {
        snprintf(reason, sizeof(reason), "%s", bench->failure);
        snprintf(bench->failure, sizeof(bench->failure), "after a loss of power at the end: %.200s", reason);
    }
    bench->cut_verified = !bench->failed;
}

/* Both ways where the row is durable, the chip can be set back, and this computer has the memory. */
static void verify(struct bench *bench, const struct workload *workload, const struct vfs_entry *entry)
{
    struct kept end = {0}, start = {0};
    bool durable = strcmp(workload->mode, "durable") == 0 && bench->mounted && !bench->failed;
    if (durable && !entry->own_flash) {
        start = keep(bench);
    }
    verify_after_unmount(bench);
    if (start.chip != NULL && !bench->failed && (end = keep(bench)).chip != NULL) {
        go_back(bench, &start);
        verify_after_cut(bench);
        go_back(bench, &end);
        return;
    }
    vflash_release(start.chip);
}

static void run(struct bench *bench, const struct workload *workload, const struct arguments *arguments, const struct vfs_entry *entry)
{
    if (strcmp(arguments->state, "fresh") == 0) {
        format_and_mount(bench);
    } else {
        make_aged(bench, arguments, entry->version);
    }
    if (workload->prepare != NULL) {
        workload->prepare(bench, workload);
    }
    bring_to_start(bench, workload->start);
    bench->record.window = workload->window;
    record_begin(&bench->record);
    bench->tap.stacks = bench->stacks;
    run_recorded(bench, workload, arguments->record_path);
    bench->tap.stacks = NULL;
    record_end(&bench->record);
    if (bench->record.samples_lost) {
        bench_fail(bench, "no memory on this computer for the samples of calls");
    }
    bench->may_fill = false;
    bench->full = false;
    verify(bench, workload, entry);
}

/* ---- what is watched beside ------------------------------------------------------------------------ */

#define SLOW_PERMILLE 100u      /* of the blocks in the heat: see vflash_conditions */

/* "wear,hot": false where a word is none. */
static bool parse_conditions(const char *text, uint64_t seed, struct vflash_conditions *out)
{
    *out = (struct vflash_conditions){.seed = seed};
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        if (length == 4 && strncmp(text, "wear", 4) == 0) {
            out->wear = true;
        } else if (length == 7 && strncmp(text, "content", 7) == 0) {
            out->content = true;
        } else if (length == 3 && strncmp(text, "hot", 3) == 0) {
            out->slow_permille = SLOW_PERMILLE;
        } else {
            return false;
        }
        text += length + (text[length] == ',');
    }
    return true;
}

static bool watch(struct bench *bench, const struct arguments *arguments)
{
    struct vflash_conditions conditions;
    bench->maps = arguments->maps;
    bench->conditions_text = arguments->conditions;
    bench->trace_path = arguments->trace_path;
    if (!parse_conditions(arguments->conditions, arguments->seed, &conditions)) {
        fprintf(stderr, "norbench-cell: conditions are wear, content and hot, not \"%s\"\n", arguments->conditions);
        return false;
    }
    vflash_set_conditions(bench->chip, &conditions);
    bool pages = arguments->maps || arguments->pages_path != NULL;
    bench->stacks = arguments->stacks_path != NULL ? stacks_new() : NULL;
    if ((pages && vflash_count_each_page(bench->chip) != 0) || (arguments->stacks_path != NULL && bench->stacks == NULL)) {
        fprintf(stderr, "norbench-cell: no memory for what is to be watched\n");
        return false;
    }
    bench->record.call_lines = arguments->calls_path != NULL ? fopen(arguments->calls_path, "w") : NULL;
    if (arguments->calls_path != NULL && bench->record.call_lines == NULL) {
        fprintf(stderr, "norbench-cell: %s cannot be written\n", arguments->calls_path);
        return false;
    }
    return true;
}

static bool write_pages(const struct vflash *chip, const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    fprintf(file, "page,reads,programs\n");
    const struct vflash_chip *facts = vflash_chip_of(chip);
    for (uint32_t page = 0; page < facts->size / facts->page_size; page++) {
        fprintf(file, "%u,%u,%u\n", (unsigned)page, (unsigned)vflash_page_reads(chip, page), (unsigned)vflash_page_programs(chip, page));
    }
    bool good = ferror(file) == 0;
    return fclose(file) == 0 && good;
}

/* Files that were asked for, and whether the two counts agree. */
static void settle(struct bench *bench, const struct arguments *arguments)
{
    const char *difference = dumb_difference(&bench->tap.dumb, vflash_chip_of(bench->chip), vflash_counts(bench->chip));
    if (difference != NULL) {
        bench_fail(bench, "the second counter disagrees on %s", difference);
    }
    FILE *lines = bench->record.call_lines;
    if (lines != NULL && (ferror(lines) != 0) + (fclose(lines) != 0) > 0) {
        bench_fail(bench, "%s cannot be written", arguments->calls_path);
    }
    if (arguments->pages_path != NULL && !write_pages(bench->chip, arguments->pages_path)) {
        bench_fail(bench, "%s cannot be written", arguments->pages_path);
    }
    if (bench->stacks != NULL && !stacks_write(bench->stacks, arguments->stacks_path)) {
        bench_fail(bench, "%s cannot be written, or memory was short", arguments->stacks_path);
    }
}

static int make_file_system(struct bench *bench, const struct vfs_entry *entry, const char *settings, char *message, size_t message_size)
{
    if (*settings == '\0') {
        return entry->make(&bench->tap.driver, &bench->fs);
    }
    if (entry->make_with == NULL) {
        snprintf(message, message_size, "it has no settings");
        return VFS_ERR_INVAL;
    }
    return entry->make_with(&bench->tap.driver, settings, &bench->fs, message, message_size);
}

static int run_cell(struct bench *bench, const struct arguments *arguments, const struct vfs_entry *entry, const struct workload *workload,
                    const struct vflash_chip *chip)
{
    bench->chip = vflash_new(chip);
    if (bench->chip == NULL || tap_open(&bench->tap, bench->chip) != 0) {
        fprintf(stderr, "norbench-cell: no memory for the chip\n");
        return 2;
    }
    record_init(&bench->record, bench->chip, &bench->tap);
    if (!watch(bench, arguments)) {
        return 2;
    }
    if (entry == &vfs_nf2fs_entry) {
        call_judge_init(&bench->judge, chip);
    }
    model_open(&bench->model);
    bench->seed = arguments->seed;
    payload_seed(&bench->bytes, arguments->seed, PAYLOAD_BYTES);
    payload_seed(&bench->offsets, arguments->seed, PAYLOAD_OFFSETS);
    payload_seed(&bench->sizes, arguments->seed, PAYLOAD_SIZES);
    payload_seed(&bench->names, arguments->seed, PAYLOAD_NAMES);
    payload_seed(&bench->picks, arguments->seed, PAYLOAD_PICKS);
    bench->maintain_us = arguments->maintain_us;
    bench->part = arguments->part;
    bench->progress = arguments->progress;
    bench->erases_mean = arguments->erases_mean;
    bench->erases_limit = arguments->erases_limit;
    bench->wear_path = arguments->wear_path;
    vfs_set_nand(chip->nand != 0 ? &bench->tap.nand : NULL);
    heap_watch_call(true);
    char message[200] = "";
    int result = make_file_system(bench, entry, settings_of(arguments->fs), message, sizeof(message));
    heap_watch_call(false);
    if (result < 0) {
        fprintf(stderr, "norbench-cell: %s cannot be set up on this chip (%d)%s%s\n", arguments->fs, result, message[0] != '\0' ? ": " : "", message);
        return 2;
    }
    if (arguments->run_path != NULL && (entry == &vfs_native_entry || strcmp(arguments->state, "fresh") == 0)) {
        fprintf(stderr, "norbench-cell: --aged-run is for aged chips, and not for native, which keeps its map in RAM\n");
        return 2;
    }
    run(bench, workload, arguments, entry);
    settle(bench, arguments);
    struct vfs_entry named = *entry;
    named.name = arguments->fs;             /* with its settings */
    report_cell(bench, &named, workload, chip->name, arguments->state, arguments->seed, arguments->bounds);
    record_close(&bench->record);
    vfs_destroy(&bench->fs);
    model_close(&bench->model);
    stacks_free(bench->stacks);
    tap_close(&bench->tap);
    vflash_free(bench->chip);
    return bench->failed ? 1 : 0;
}

static int list(void)
{
    report_list(entry_at);
    return 0;
}

struct cell {
    struct bench bench;
    struct arguments arguments;
    const struct vfs_entry *entry;
    struct workload workload;
    struct vflash_chip chip;
};

static int run_this(void *context)
{
    struct cell *cell = context;
    return run_cell(&cell->bench, &cell->arguments, cell->entry, &cell->workload, &cell->chip);
}

/* Texts that the run needs lie in the arena, too. Returns the arguments in one line, those of the checkpoint left out. */
static const char *keep_texts(int count, char **values)
{
    size_t all = 1;
    for (int i = 1; i < count; i++) {
        size_t size = strlen(values[i]) + 1;
        char *kept = malloc(size);
        if (kept == NULL) {
            return NULL;
        }
        values[i] = memcpy(kept, values[i], size);
        all += size;
    }
    char *key = calloc(1, all);
    for (int i = 1; key != NULL && i < count; i++) {
        if (strncmp(values[i], "--checkpoint", 12) == 0) {
            i++;
        } else {
            strcat(strcat(key, values[i]), " ");
        }
    }
    return key;
}

static int run_stored(struct cell *cell, const char *key)
{
    const struct arguments *arguments = &cell->arguments;
    if (arguments->calls_path != NULL || arguments->trace_path != NULL || arguments->record_path != NULL || arguments->stacks_path != NULL) {
        fprintf(stderr, "norbench-cell: --checkpoint is not for runs with --calls, --trace, --record or --stacks, which have files open\n");
        return 2;
    }
    const struct checkpoint_plan plan = {arguments->checkpoint_path, arguments->checkpoint_seconds, arguments->checkpoint_call, key};
    return checkpoint_run(&plan, run_this, cell);
}

/* Before anything is allocated: whether the run is one that is stored. */
static bool asks_for_checkpoint(int count, char **values)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(values[i], "--checkpoint") == 0) {
            return true;
        }
    }
    return false;
}

int main(int count, char **values)
{
    static struct cell cell;
    struct arguments *arguments = &cell.arguments;
    const char *key = asks_for_checkpoint(count, values) && arena_open() ? keep_texts(count, values) : NULL;
    if (!parse(arguments, count, values) || !known_state(arguments->state)) {
        fputs(usage, stderr);
        return 2;
    }
    if (arguments->list) {
        return arguments->chip == NULL || find_chip(arguments->chip, &cell.chip) ? list() : 2;
    }
    if (arguments->list_bounds) {
        bool found = find_chip(arguments->chip != NULL ? arguments->chip : DEFAULT_CHIP, &cell.chip);
        if (found) {
            report_bounds(&cell.chip);
        }
        return found ? 0 : 2;
    }
    char message[256];
    cell.entry = find_entry(arguments->fs);
    if (cell.entry == NULL) {
        fprintf(stderr, "norbench-cell: no file system \"%s\": see --list\n", arguments->fs);
        return 2;
    }
    if (!workload_find(arguments->workload, &cell.workload, message, sizeof(message))) {
        fprintf(stderr, "norbench-cell: %s\n", message);
        return 2;
    }
    if (arguments->chip == NULL) {
        arguments->chip = cell.workload.chip != NULL ? cell.workload.chip : DEFAULT_CHIP;
    }
    if (!find_chip(arguments->chip, &cell.chip)) {
        return 2;
    }
    return arguments->checkpoint_path != NULL ? run_stored(&cell, key != NULL ? key : "") : run_this(&cell);
}
