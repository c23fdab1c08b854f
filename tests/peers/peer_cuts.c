/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer_cuts.c - the same power cuts for every file system behind vfs: each call of a script is cut at every operation of its own,
 * in each way that the virtual chip knows; then it is mounted, compared with the model, used, emptied. Each cut is made in a
 * process of its own, so that a file system may crash or hang in it.
 *
 *   peer_cuts [--fs NAME] [--chip NAME] [--script NAME] [--jobs N] [--seed N] [--cuts N] [--out FOLDER] [--slice]
 *       --cuts N        so many cuts of each script, file system and chip, about: a seeded choice of all of them (default 1000; 0: all)
 *       --slice         few scripts: for the ordinary tests
 *       --at C,O,T      only this call, operation and tear (with --fs, --chip and --script): repeats a cut that a report names
 *       --list          the file systems in this build
 * Writes peers.json to the folder. Fails if NF2FS broke a promise.
 */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cut_scripts.h"
#include "peers.h"
#include "peers/after_cut.h"

#define SYSTEMS_MAX 8u
#define CHIPS ((unsigned)(sizeof chips / sizeof chips[0]))
#define OPERATIONS_MAX 65536u       /* of one call */
#define JOBS_MAX 16u
#define EXAMPLES 12u                /* of broken promises, for each file system on each chip */
#define CUT_SECONDS 3u              /* of the processor, for one cut: an endless loop ends here */
#define SCRIPT_SECONDS 120u         /* for a whole script without cuts */

static const char *const chips[] = { "tiny256k", "tinyecc16", "w25q80" };      /* the last one is the smallest that FatFs takes */
static const char *const slice_scripts[] = { "append", "replace", "directories" };

struct example {
    char text[240], at[96];
};

struct figures {                    /* of a file system on a chip, from one process */
    bool unfit;                     /* it cannot be formatted */
    uint64_t scripts, stopped;      /* stopped: a call failed without a cut */
    uint64_t ghosts;                /* left by sessions that ended between two calls */
    char stopped_text[120];
    uint64_t calls, cuts, unreached, seconds;       /* seconds: cuts in what came after the first one */
    uint64_t broken[PROMISE_COUNT], until_write[PROMISE_COUNT], checked[PROMISE_COUNT];
    uint64_t tears[TEAR_COUNT], tears_broken[TEAR_COUNT][PROMISE_COUNT], tears_any[TEAR_COUNT];
    uint64_t any;                   /* cuts that broke a promise that the file system makes */
    uint64_t any_waived;            /* cuts that broke no other promises than those that it does not make */
    uint64_t mount_us, write_us, mounts_erasing, violations;
    uint64_t full;                  /* calls that were refused for want of space, without a cut */
    struct example example[EXAMPLES];
    unsigned examples;
};

struct shared {
    _Atomic uint64_t next_cell;
    struct figures figures[JOBS_MAX][SYSTEMS_MAX][CHIPS];
    struct work {                   /* of one process, for its children */
        uint32_t length[OPERATIONS_MAX];        /* of the operations of a call: bytes; 0: an erase */
        uint32_t operations;
        enum volume_result result;
        bool done;
        uint64_t capacity;
        uint64_t cuts;              /* that the script has */
        struct outcome outcome;
    } work[JOBS_MAX];
};

struct options {
    const char *fs, *chip, *script, *out;
    unsigned jobs;
    uint64_t seed;
    uint64_t cuts;
    bool slice, at;
    unsigned at_call, at_operation, at_tear;
};

static const struct vfs_entry *systems[SYSTEMS_MAX];
static unsigned system_count;
static struct shared *shared;
static struct options options = { .out = ".", .jobs = 2, .seed = 1, .cuts = 1000 };

/* ---- children -------------------------------------------------------------------------------------- */

/* A child for one thing; true in the child. Waits for it in the parent. */
static bool in_child(unsigned seconds)
{
    fflush(stdout);
    pid_t child = fork();

    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);      /* for what assertions say */

        if (nowhere >= 0 && !options.at) {
            dup2(nowhere, 2);
        }
        struct rlimit limit = { seconds, seconds };

        (void)setrlimit(RLIMIT_CPU, &limit);
        alarm(20 * seconds);
        return true;
    }
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    while (waitpid(child, NULL, 0) < 0) {
    }
    return false;
}

static void note_operation(void *context, const struct vflash_operation *operation)
{
    struct work *work = context;

    if (work->operations < OPERATIONS_MAX) {
        work->length[work->operations++] = operation->erase ? 0 : operation->length;
    }
}

/* Which operations the call makes, and how it ends. */
static void try_call(struct volume *volume, const struct call *call, struct work *work)
{
    work->operations = 0;
    work->done = false;
    if (in_child(SCRIPT_SECONDS)) {
        vflash_watch(volume->flash, note_operation, work);
        work->result = volume_call(volume, call);
        work->done = true;
        _exit(0);
    }
}

/* What one file may hold on a fresh volume: so much must fit on an emptied one. */
static void measure_capacity(struct volume *volume, struct work *work)
{
    work->capacity = 0;
    if (in_child(SCRIPT_SECONDS)) {
        for (uint64_t size = volume->fresh_free; size > volume->fresh_free / 2; size -= volume->chip->block_size) {
            if (volume_hold(volume, size)) {
                work->capacity = size;
                break;
            }
        }
        _exit(0);
    }
}

/* ---- figures --------------------------------------------------------------------------------------- */

/* At most two examples begin with the same promise. */
static bool new_kind(const struct figures *figures, const char *text)
{
    unsigned like = 0;

    for (unsigned i = 0; i < figures->examples; i++) {
        like += strncmp(figures->example[i].text, text, 8) == 0;
    }
    return like < 2;
}

/* A bit for each promise that the file system does not make. */
static unsigned waived(const struct vfs_entry *entry)
{
    if (entry->waives & VFS_WAIVES_CUTS) {
        return (1u << PROMISE_COUNT) - 1;
    }
    return entry->waives & VFS_WAIVES_NO_GHOST ? 1u << PROMISE_NO_GHOST : 0;
}

static void count(struct figures *figures, const struct vfs_entry *entry, const struct outcome *outcome, enum tear tear, const char *at)
{
    unsigned made = outcome->broken & ~waived(entry);

    figures->cuts++;
    figures->tears[tear]++;
    figures->seconds += outcome->second;
    for (unsigned i = 0; i < PROMISE_COUNT; i++) {
        figures->checked[i] += outcome->checked >> i & 1;
        figures->broken[i] += outcome->broken >> i & 1;
        figures->until_write[i] += outcome->until_write >> i & 1;
        figures->tears_broken[tear][i] += outcome->broken >> i & 1;
    }
    figures->any_waived += outcome->broken && !made;
    figures->any += made != 0;
    figures->tears_any[tear] += made != 0;
    if (outcome->broken) {
        if (figures->examples < EXAMPLES && new_kind(figures, outcome->text)) {
            struct example *example = &figures->example[figures->examples++];

            memcpy(example->text, outcome->text, sizeof example->text);
            snprintf(example->at, sizeof example->at, "%s", at);
        }
    }
    figures->mount_us = outcome->mount_us > figures->mount_us ? outcome->mount_us : figures->mount_us;
    figures->write_us = outcome->write_us > figures->write_us ? outcome->write_us : figures->write_us;
    figures->mounts_erasing += outcome->mount_erases > 0;
    figures->violations += outcome->violations;
}

static void add(struct figures *to, const struct figures *from)
{
    to->scripts += from->scripts;
    to->stopped += from->stopped;
    to->unfit |= from->unfit;
    to->ghosts += from->ghosts;
    if (from->stopped) {
        memcpy(to->stopped_text, from->stopped_text, sizeof to->stopped_text);
    }
    to->calls += from->calls;
    to->cuts += from->cuts;
    to->unreached += from->unreached;
    to->seconds += from->seconds;
    to->any += from->any;
    to->any_waived += from->any_waived;
    to->full += from->full;
    to->mounts_erasing += from->mounts_erasing;
    to->violations += from->violations;
    to->mount_us = from->mount_us > to->mount_us ? from->mount_us : to->mount_us;
    to->write_us = from->write_us > to->write_us ? from->write_us : to->write_us;
    for (unsigned i = 0; i < PROMISE_COUNT; i++) {
        to->broken[i] += from->broken[i];
        to->until_write[i] += from->until_write[i];
        to->checked[i] += from->checked[i];
    }
    for (unsigned tear = 0; tear < TEAR_COUNT; tear++) {
        to->tears[tear] += from->tears[tear];
        to->tears_any[tear] += from->tears_any[tear];
        for (unsigned i = 0; i < PROMISE_COUNT; i++) {
            to->tears_broken[tear][i] += from->tears_broken[tear][i];
        }
    }
    for (unsigned i = 0; i < from->examples && to->examples < EXAMPLES; i++) {
        to->example[to->examples++] = from->example[i];
    }
}

static struct figures sum(unsigned system, unsigned chip)
{
    struct figures all = { 0 };

    for (unsigned job = 0; job < options.jobs; job++) {
        add(&all, &shared->figures[job][system][chip]);
    }
    return all;
}

/* Those of the campaigns, and the archive. */
static const struct cut_script *script_at(unsigned script)
{
    return script < cut_script_count ? &cut_scripts[script] : &cut_script_archive;
}

/* ---- cells: a script on a file system on a chip ----------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t state = a * 0x9E3779B97F4A7C15u + b * 0xD1B54A32D192ED03u + 1;

    return (uint64_t)random_number(&state, UINT32_MAX) << 32 | random_number(&state, UINT32_MAX);
}

static void one_cut(struct volume *volume, const struct call *call, struct work *work, struct figures *figures, const char *script, unsigned number,
                    unsigned operation, enum tear tear)
{
    uint64_t random = mix(mix(options.seed, number), (uint64_t)operation << 8 | tear);
    double drawn = random_number(&random, 1000000) / 1e6;
    char at[96];

    if (options.at ? operation != options.at_operation || tear != options.at_tear
                   : options.cuts && drawn * (double)work->cuts >= (double)options.cuts) {
        return;
    }
    memset(&work->outcome, 0, sizeof work->outcome);
    struct vflash_cut cut = cut_for(tear, operation, work->length[operation - 1], volume->chip->block_size, &random);
    if (in_child(CUT_SECONDS)) {
        cut_and_judge(volume, call, &cut, work->capacity, random, &work->outcome);
        _exit(0);
    }
    if (!work->outcome.done) {
        if (!work->outcome.broken) {
            snprintf(work->outcome.text, sizeof work->outcome.text, "%s: a crash, a failed assertion or no end", promise_names[PROMISE_RUNS]);
        }
        work->outcome.reached = true;
        work->outcome.broken |= 1u << PROMISE_RUNS;
    }
    if (!work->outcome.reached) {
        figures->unreached++;
        return;
    }
    snprintf(at, sizeof at, "--fs %s --chip %s --script %s --at %u,%u,%u", volume->entry->name, volume->chip->name, script, number, operation,
             (unsigned)tear);
    count(figures, volume->entry, &work->outcome, tear, at);
    if (options.at) {
        printf("%s: %s\n", at, work->outcome.broken ? work->outcome.text : "all promises are kept");
    }
}

/* False: the script cannot go on. */
static bool one_call(struct volume *volume, const struct call *call, struct work *work, struct figures *figures, const char *script, unsigned number)
{
    try_call(volume, call, work);
    if (!work->done) {
        snprintf(figures->stopped_text, sizeof figures->stopped_text, "%s: call %u crashes", script, number);
        return false;
    }
    figures->calls++;
    if (work->result == VOLUME_OK && (!options.at || number == options.at_call)) {
        for (unsigned operation = 1; operation <= work->operations; operation++) {
            bool erase = work->length[operation - 1] == 0;

            for (unsigned tear = erase ? TEAR_ERASE_UNTOUCHED : TEAR_PROGRAM_NONE; tear <= (erase ? TEAR_ERASE_DONE : TEAR_PROGRAM_WHOLE); tear++) {
                one_cut(volume, call, work, figures, script, number, operation, (enum tear)tear);
            }
        }
    }
    volume->jump = false;
    enum volume_result result = volume_call(volume, call);
    figures->full += result == VOLUME_FULL;
    if (result != VOLUME_OK && result != VOLUME_FULL) {
        snprintf(figures->stopped_text, sizeof figures->stopped_text, "%s: call %u: %.80s", script, number, volume->failure);
        return false;
    }
    return true;
}

/* How many cuts there are in all, in a process of its own; up to the call that ends it, if there is one. */
static void count_cuts(struct volume *volume, const struct call_list *list, struct work *work)
{
    work->cuts = 0;
    if (in_child(SCRIPT_SECONDS)) {
        vflash_watch(volume->flash, note_operation, work);
        for (unsigned i = 0; i < list->count; i++) {
            work->operations = 0;
            if (volume_call(volume, &list->call[i]) != VOLUME_OK) {
                continue;
            }
            for (unsigned k = 0; k < work->operations; k++) {
                work->cuts += work->length[k] ? TEAR_ERASE_UNTOUCHED : TEAR_COUNT - TEAR_ERASE_UNTOUCHED;
            }
        }
        _exit(0);
    }
}

static void run_script(unsigned system, unsigned chip, unsigned script, unsigned job)
{
    struct work *work = &shared->work[job];
    struct figures *figures = &shared->figures[job][system][chip];
    const struct vflash_chip *facts = vflash_chip_find(chips[chip]);
    const char *name = script_at(script)->name;
    const struct call ending = { .op = OP_UNMOUNT };
    struct volume volume;
    struct call_list list = { 0 };

    if (!volume_init(&volume, systems[system], facts)) {
        figures->unfit = true;
        volume_free(&volume);
        return;
    }
    measure_capacity(&volume, work);
    script_at(script)->make(&list, facts->size, facts->block_size);
    calls_add_copy(&list, &ending);
    count_cuts(&volume, &list, work);
    bool right = true;
    for (unsigned i = 0; i < list.count && right; i++) {
        right = one_call(&volume, &list.call[i], work, figures, name, i);
    }
    figures->ghosts += volume.ghosts;
    if (right && !volume_matches_model(&volume)) {
        snprintf(figures->stopped_text, sizeof figures->stopped_text, "%s: without a cut: %.80s", name, volume.failure);
        right = false;
    }
    figures->scripts += right;
    figures->stopped += !right;
    calls_free(&list);
    volume_free(&volume);
}

static bool in_slice(const char *script)
{
    for (unsigned i = 0; i < sizeof slice_scripts / sizeof slice_scripts[0]; i++) {
        if (strcmp(slice_scripts[i], script) == 0) {
            return true;
        }
    }
    return !options.slice;
}

static bool wanted(const char *pattern, const char *name)
{
    return !pattern || strcmp(pattern, name) == 0;
}

static void run_cells(unsigned job)
{
    const uint64_t cells = (uint64_t)(cut_script_count + 1) * system_count * CHIPS;
    uint64_t cell;

    while ((cell = atomic_fetch_add(&shared->next_cell, 1)) < cells) {
        unsigned script = (unsigned)(cell / CHIPS / system_count), system = (unsigned)(cell / CHIPS % system_count), chip = (unsigned)(cell % CHIPS);
        const char *name = script_at(script)->name;

        if (wanted(options.fs, systems[system]->name) && wanted(options.chip, chips[chip]) && wanted(options.script, name) && in_slice(name)) {
            run_script(system, chip, script, job);
        }
    }
}

/* ---- reports --------------------------------------------------------------------------------------- */

#define ULL(value) ((unsigned long long)(value))

static void report_text(FILE *out)
{
    fprintf(out, "cuts after which a promise was broken; `any' and the exit code leave out promises that a file system does not make (`waived')\n%-25s %-10s %8s %7s", "file system", "chip", "cuts", "any");
    for (unsigned i = 0; i < PROMISE_COUNT; i++) {
        fprintf(out, " %8s", promise_names[i]);
    }
    fprintf(out, " %9s %9s %6s\n", "mount us", "write us", "rules");
    for (unsigned system = 0; system < system_count; system++) {
        for (unsigned chip = 0; chip < CHIPS; chip++) {
            struct figures all = sum(system, chip);

            if (all.calls == 0 && all.stopped == 0) {
                continue;
            }
            fprintf(out, "%-25s %-10s %8llu %7llu", systems[system]->name, chips[chip], ULL(all.cuts), ULL(all.any));
            for (unsigned i = 0; i < PROMISE_COUNT; i++) {
                fprintf(out, " %8llu", ULL(all.broken[i]));
            }
            fprintf(out, " %9llu %9llu %6llu\n", ULL(all.mount_us), ULL(all.write_us), ULL(all.violations));
            if (all.until_write[PROMISE_DURABLE] || all.until_write[PROMISE_WHOLE] || all.until_write[PROMISE_RENAME]) {
                fprintf(out, "    until the first write: durable %llu, whole %llu, rename %llu\n", ULL(all.until_write[PROMISE_DURABLE]),
                        ULL(all.until_write[PROMISE_WHOLE]), ULL(all.until_write[PROMISE_RENAME]));
            }
            if (all.any_waived) {
                fprintf(out, "    waived: %llu more cuts broke what it does not promise\n", ULL(all.any_waived));
            }
            for (unsigned i = 0; i < all.examples; i++) {
                fprintf(out, "    %s    # %s\n", all.example[i].text, all.example[i].at);
            }
            if (all.stopped || all.unreached) {
                fprintf(out, "    %llu scripts stopped without a cut (%s), %llu cuts not reached\n", ULL(all.stopped), all.stopped_text,
                        ULL(all.unreached));
            }
        }
    }
}

static void json_text(FILE *out, const char *name, const char *text, const char *behind)
{
    fprintf(out, "\"%s\": \"", name);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        fprintf(out, c < 32 || c > 126 || c == '"' || c == '\\' ? "\\u%04x" : "%c", c);
    }
    fprintf(out, "\"%s", behind);
}

static void json_numbers(FILE *out, const char *name, const uint64_t *numbers, const char *const *names, unsigned numbers_count)
{
    fprintf(out, "\"%s\": {", name);
    for (unsigned i = 0; i < numbers_count; i++) {
        fprintf(out, "%s\"%s\": %llu", i ? ", " : "", names[i], ULL(numbers[i]));
    }
    fprintf(out, "}");
}

static void json_row(FILE *out, unsigned system, unsigned chip, const struct figures *all)
{
    fprintf(out, "  {");
    json_text(out, "fs", systems[system]->name, ", ");
    json_text(out, "version", systems[system]->version, ", ");
    json_text(out, "description", systems[system]->description, ", ");
    json_text(out, "chip", chips[chip], ",\n   ");
    json_text(out, "stopped_text", all->stopped_text, ", ");
    fprintf(out, "\"scripts\": %llu, \"stopped\": %llu, \"calls\": %llu, \"cuts\": %llu, \"second_cuts\": %llu, \"unreached\": %llu, \"any\": %llu, \"any_waived\": %llu,\n   ",
            ULL(all->scripts), ULL(all->stopped), ULL(all->calls), ULL(all->cuts), ULL(all->seconds), ULL(all->unreached), ULL(all->any), ULL(all->any_waived));
    const char *separator = "";
    fprintf(out, "\"waives\": [");
    for (unsigned i = 0; i < PROMISE_COUNT; i++) {
        if (waived(systems[system]) >> i & 1) {
            fprintf(out, "%s\"%s\"", separator, promise_names[i]);
            separator = ", ";
        }
    }
    fprintf(out, "],\n   ");
    fprintf(out, "\"ghosts_between_calls\": %llu, \"full\": %llu, \"mount_us_max\": %llu, \"first_write_us_max\": %llu, \"mounts_with_an_erase\": %llu, \"violations\": %llu,\n   ",
            ULL(all->ghosts), ULL(all->full), ULL(all->mount_us), ULL(all->write_us), ULL(all->mounts_erasing), ULL(all->violations));
    json_numbers(out, "broken", all->broken, promise_names, PROMISE_COUNT);
    fprintf(out, ",\n   ");
    json_numbers(out, "until_first_write", all->until_write, promise_names, PROMISE_COUNT);
    fprintf(out, ",\n   ");
    json_numbers(out, "checked", all->checked, promise_names, PROMISE_COUNT);
    fprintf(out, ",\n   ");
    json_numbers(out, "tears", all->tears, tear_names, TEAR_COUNT);
    fprintf(out, ",\n   ");
    json_numbers(out, "tears_with_a_broken_promise", all->tears_any, tear_names, TEAR_COUNT);
    fprintf(out, ",\n   \"tears_broken\": {");
    for (unsigned tear = 0; tear < TEAR_COUNT; tear++) {
        fprintf(out, "%s", tear ? ",\n    " : "");
        json_numbers(out, tear_names[tear], all->tears_broken[tear], promise_names, PROMISE_COUNT);
    }
    fprintf(out, "},\n   \"examples\": [");
    for (unsigned i = 0; i < all->examples; i++) {
        fprintf(out, "%s{", i ? ", " : "");
        json_text(out, "text", all->example[i].text, ", ");
        json_text(out, "at", all->example[i].at, "}");
    }
    fprintf(out, "]}");
}

static bool report_json(double seconds)
{
    char path[400];
    bool first = true;

    snprintf(path, sizeof path, "%s/peers.json", options.out);
    FILE *out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "%s cannot be written\n", path);
        return false;
    }
    fprintf(out, "{\"seed\": %llu, \"cuts_a_script\": %llu, \"seconds\": %.0f, \"rows\": [\n", ULL(options.seed), ULL(options.cuts), seconds);
    for (unsigned system = 0; system < system_count; system++) {
        for (unsigned chip = 0; chip < CHIPS; chip++) {
            struct figures all = sum(system, chip);

            if (all.calls || all.stopped) {
                fprintf(out, first ? "" : ",\n");
                json_row(out, system, chip, &all);
                first = false;
            }
        }
    }
    fprintf(out, "\n]}\n");
    return fclose(out) == 0;
}

/* ---- main ------------------------------------------------------------------------------------------ */

static void find_systems(void)
{
    const struct vfs_entry *entry;

    systems[system_count++] = &vfs_nf2fs_entry;
    for (unsigned i = 0; (entry = peers_at(i)) != NULL && system_count < SYSTEMS_MAX; i++) {
        if (!strstr(entry->name, "erasecheck")) {       /* a driver's option that trusts what reads as blank: not their doing */
            systems[system_count++] = entry;
        }
    }
}

static bool option(const char *name, const char *value)
{
    struct { const char *name; const char **text; } texts[] = {
        { "--fs", &options.fs }, { "--chip", &options.chip }, { "--script", &options.script }, { "--out", &options.out }
    };

    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].text = value;
            return true;
        }
    }
    if (strcmp(name, "--jobs") == 0) {
        options.jobs = (unsigned)strtoul(value, NULL, 0);
    } else if (strcmp(name, "--seed") == 0) {
        options.seed = strtoull(value, NULL, 0);
    } else if (strcmp(name, "--cuts") == 0) {
        options.cuts = strtoull(value, NULL, 0);
    } else if (strcmp(name, "--at") == 0) {
        options.at = sscanf(value, "%u,%u,%u", &options.at_call, &options.at_operation, &options.at_tear) == 3;
        return options.at;
    } else {
        return false;
    }
    return true;
}

static bool parse(int arguments, char **argument)
{
    for (int i = 1; i < arguments; i++) {
        if (strcmp(argument[i], "--slice") == 0) {
            options.slice = true;
        } else if (strcmp(argument[i], "--list") == 0) {
            for (unsigned k = 0; k < system_count; k++) {
                printf("%-20s %-6s %s\n", systems[k]->name, systems[k]->version, systems[k]->description);
            }
            exit(0);
        } else if (i + 1 == arguments || !option(argument[i], argument[i + 1])) {
            fprintf(stderr, "unknown option %s\n", argument[i]);
            return false;
        } else {
            i++;
        }
    }
    bool known = !options.fs;
    for (unsigned k = 0; k < system_count; k++) {
        known |= wanted(options.fs, systems[k]->name);
    }
    if (!known) {
        fprintf(stderr, "no file system is named %s here: see --list\n", options.fs);
        return false;
    }
    known = !options.script;
    for (unsigned k = 0; k <= cut_script_count; k++) {
        known |= wanted(options.script, script_at(k)->name);
    }
    if (!known) {
        fprintf(stderr, "no script is named %s: there are", options.script);
        for (unsigned k = 0; k <= cut_script_count; k++) {
            fprintf(stderr, " %s", script_at(k)->name);
        }
        fprintf(stderr, "\n");
        return false;
    }
    if (options.at) {
        options.jobs = 1;
    }
    return options.jobs > 0 && options.jobs <= JOBS_MAX;
}

int main(int arguments, char **argument)
{
    time_t begun = time(NULL);
    bool failed = false;

    find_systems();
    if (!parse(arguments, argument)) {
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        fprintf(stderr, "no memory\n");
        return 2;
    }
    for (unsigned job = 0; job < options.jobs; job++) {
        fflush(stdout);
        if (fork() == 0) {
            run_cells(job);
            fflush(stdout);
            _exit(0);
        }
    }
    for (unsigned job = 0; job < options.jobs; job++) {
        int status = 0;

        failed |= wait(&status) < 0 || status != 0;
    }
    report_text(stdout);
    if (!options.at) {
        failed |= !report_json(difftime(time(NULL), begun));
    }
    for (unsigned chip = 0; chip < CHIPS; chip++) {
        struct figures ours = sum(0, chip);

        failed |= ours.any || ours.stopped || ours.unreached || ours.violations;
    }
    return failed;
}
