/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * torture.c - power cuts by the hundred thousand, in several processes.
 *
 *   torture [--seconds N] [--jobs N] [--seed N]      all campaigns, the time shared between them; 0: until nothing is left
 *           [--campaign NAME] [--chip NAME] [--script NAME]
 *           [--cuts X]      how many cuts of an operation in scripts and sequences, on average; 0: every byte, every outcome
 *           [--deepest N]   how many cuts in a row, mounts included; 1: mounts are not cut
 *           [--slice]       the fixed slice of the ordinary tests, whatever time it takes
 *           [--cell N]      one cell: repeats what a campaign did
 *           [--enough N]    stops when so many cuts were made
 *           [--out FOLDER]  for report.txt, report.json and the failing calls (default: the present folder)
 *           [--ignore FILE] does not count failures of the kinds listed in it, one a line
 *           [--first]       stops at the first failure   [--plain] does not shrink failing calls
 *           [--fault N]     torture_broken alone: the core has this fault of broken.h, and success is to find it
 *   torture --replay FILE [--shrink] [--print]           repeats calls that failed; the file's first line names the chip
 */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE

#include "torture.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fast_crc.h"
#include "shrink.h"

#define CELL_SECONDS 900u           /* a cell that takes longer hangs */
#define REPLAY_SECONDS 60u
#define SHRINK_SECONDS 30u
#define PROGRESS_SECONDS 10.0

#ifdef NF2_BREAKABLE                /* torture_broken */
#define BREAKABLE true
#define BROKEN_CELL_SECONDS 60u
unsigned nf2_break;                 /* see broken.h */
#else
#define BREAKABLE false
#define BROKEN_CELL_SECONDS CELL_SECONDS
static unsigned nf2_break;
#endif

struct options {
    struct campaign_options how;
    const char *campaign, *replay, *out, *ignore;
    double seconds;
    uint64_t enough;
    unsigned jobs;
    int64_t cell;
    bool slice, first, plain, shrink, print;
};

struct worker {
    const struct options *options;
    struct shared *shared;
    struct worker_state *state;
    pid_t parent;                   /* when it is gone, this one stops */
    struct explorer explorer;
};

static struct worker worker;        /* of this process; for the signal handler, too */

/* The sanitizers end with a signal, so that the calls are written down. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
    return "abort_on_error=1:handle_segv=0:handle_abort=0";
}

const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:print_stacktrace=1";
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- lists of calls in files ------------------------------------------------------------------------- */

static bool write_calls(const char *path, const char *chip, int format_flags, const char *text, const struct call_list *list)
{
    FILE *out = fopen(path, "w");

    if (!out) {
        return false;
    }
    fprintf(out, "# chip %s%s: %s\n", chip, format_flags & NF2_FORMAT_ERASE ? ", erased" : "", text);
    for (unsigned i = 0; i < list->count; i++) {
        call_print(out, &list->call[i]);
    }
    return fclose(out) == 0;
}

/* The kind of a failure: its text without the figures. */
static void kind_of(const char *text, char *kind, size_t size)
{
    size_t length = 0;

    for (; *text && *text != '(' && length + 1 < size; text++) {
        if (!isdigit((unsigned char)*text)) {
            kind[length++] = *text;
        }
    }
    kind[length] = 0;
}

static bool same_kind(const char *a, const char *b)
{
    char kind_a[200], kind_b[200];

    kind_of(a, kind_a, sizeof kind_a);
    kind_of(b, kind_b, sizeof kind_b);
    return strcmp(kind_a, kind_b) == 0;
}

/* ---- replay ------------------------------------------------------------------------------------------ */

struct replay {
    const struct vflash_chip *chip;
    int format_flags;
    const char *kind;               /* only a failure of this kind counts; NULL: any */
    bool print;
    char failure[512];
};

/* The calls from format on, then what must hold at the end. The index of the failing one, or -1. */
static int replay_calls(struct replay *replay, struct call_list *list)
{
    static const enum op last[] = { OP_CUT, OP_UNMOUNT, OP_VERIFY, OP_CHECK, OP_EMPTY };
    struct session *session = calloc(1, sizeof *session);
    struct tally tally = { 0 };
    int failed = -1;

    if (!session) {
        abort();
    }
    if (!session_init(session, &tally, replay->chip, replay->format_flags)) {
        failed = 0;
    }
    for (unsigned i = 0; failed < 0 && i < list->count + sizeof last / sizeof last[0]; i++) {
        struct call ending = { .op = last[i < list->count ? 0 : i - list->count] };
        const struct call *call = i < list->count ? &list->call[i] : &ending;
        uint64_t cuts = tally.cuts;

        if (replay->print) {
            call_print(stdout, call);
            fflush(stdout);
        }
        if (session_call(session, call) != RIG_OK) {
            failed = (int)(i < list->count ? i : list->count);
        } else if (replay->print && tally.cuts != cuts) {
            printf("    # cut in a %s of %lu bytes at 0x%08lx\n", session->operation.erase ? "erase" : "program",
                   (unsigned long)session->operation.length, (unsigned long)session->operation.address);
        }
    }
    memcpy(replay->failure, session->rig.failure, sizeof replay->failure);
    session_free(session);
    free(session);
    return failed;
}

static int replay_again(void *context, struct call_list *list)
{
    struct replay *replay = context;
    int failed = replay_calls(replay, list);

    return failed >= 0 && replay->kind && !same_kind(replay->kind, replay->failure) ? -1 : failed;
}

/* The chip of a file of calls, from its first line. */
static const struct vflash_chip *read_heading(FILE *in, int *format_flags)
{
    char line[600], name[32];
    int end = 0;

    if (!fgets(line, sizeof line, in) || sscanf(line, "# chip %31[a-z0-9-]%n", name, &end) != 1) {
        return NULL;
    }
    *format_flags = strncmp(line + end, ", erased", 8) == 0 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK;
    return vflash_chip_find(name);
}

static int replay_main(const struct options *options)
{
    struct replay replay = { .print = options->print };
    struct call_list list = { 0 };
    FILE *in = fopen(options->replay, "r");

    replay.chip = in ? read_heading(in, &replay.format_flags) : NULL;
    if (!replay.chip || !calls_read(in, &list)) {
        fprintf(stderr, "%s cannot be read\n", options->replay);
        return 2;
    }
    fclose(in);
    int failed = replay_calls(&replay, &list);
    if (options->shrink && failed >= 0) {
        struct shrink shrink = { replay_again, &replay, REPLAY_SECONDS, 0 };
        char kind[sizeof replay.failure];

        memcpy(kind, replay.failure, sizeof kind);
        replay.kind = kind;
        (void)shrink_list(&shrink, &list);
        failed = replay_calls(&replay, &list);
        printf("# chip %s%s: %s\n", replay.chip->name, replay.format_flags & NF2_FORMAT_ERASE ? ", erased" : "", replay.failure);
        for (unsigned i = 0; i < list.count; i++) {
            call_print(stdout, &list.call[i]);
        }
    } else if (failed >= 0) {
        printf("FAILED: %s, call %d: %s\n", options->replay, failed, replay.failure);
    }
    calls_free(&list);
    return failed >= 0;
}

/* ---- failures ---------------------------------------------------------------------------------------- */

static struct failure *known_failure(struct shared *shared, const char *text)
{
    unsigned count = atomic_load(&shared->failures);

    for (unsigned i = 0; i < count && i < FAILURES_MAX; i++) {
        if (same_kind(shared->failure[i].text, text)) {
            return &shared->failure[i];
        }
    }
    return NULL;
}

/* Is it of a kind that the user does not want to hear of? */
static bool ignored(const char *text)
{
    FILE *in = worker.options->ignore ? fopen(worker.options->ignore, "r") : NULL;
    char line[512];
    bool found = false;

    while (in && !found && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        found = same_kind(line, text);
    }
    if (in) {
        fclose(in);
    }
    return found;
}

static uint64_t all_cuts(const struct shared *shared)
{
    struct tally all;

    shared_sum(shared, campaign_count, &all);
    return all.cuts;
}

/* Notes a failure and writes its calls down. NULL: there is no room for more. */
static struct failure *new_failure(const char *text, bool crashed)
{
    struct explorer *explorer = &worker.explorer;
    unsigned number = atomic_fetch_add(&worker.shared->failures, 1);
    struct failure *failure = number < FAILURES_MAX ? &worker.shared->failure[number] : NULL;

    if (!failure) {
        return NULL;
    }
    snprintf(failure->campaign, sizeof failure->campaign, "%s", campaigns[worker.state->campaign].name);
    snprintf(failure->chip, sizeof failure->chip, "%s", explorer->chip ? explorer->chip->name : "");
    snprintf(failure->text, sizeof failure->text, "%s", text);
    snprintf(failure->file, sizeof failure->file, "%s/%s_%llu_%u.calls", worker.options->out, campaigns[worker.state->campaign].name,
             (unsigned long long)worker.options->how.seed, number);
    failure->cell = worker.state->cell;
    failure->cuts = all_cuts(worker.shared);
    failure->calls = explorer->list.count;
    failure->times = 1;
    failure->crashed = crashed;
    if (explorer->chip) {
        (void)write_calls(failure->file, explorer->chip->name, explorer->format_flags, text, &explorer->list);
    }
    return failure;
}

static void shrink_failure(struct failure *failure)
{
    struct explorer *explorer = &worker.explorer;
    struct replay replay = { .chip = explorer->chip, .format_flags = explorer->format_flags, .kind = failure->text };
    struct shrink shrink = { replay_again, &replay, REPLAY_SECONDS, SHRINK_SECONDS };
    struct call_list list = { 0 };

    for (unsigned i = 0; i < explorer->list.count; i++) {
        calls_add_copy(&list, &explorer->list.call[i]);
    }
    if (shrink_list(&shrink, &list)) {
        failure->calls = list.count;
        (void)write_calls(failure->file, explorer->chip->name, explorer->format_flags, failure->text, &list);
    }
    free(list.call);                /* the paths of calls that were left out are nobody's any more */
}

static bool on_failure(void *context, struct explorer *explorer)
{
    const char *text = explorer->session.rig.failure;
    struct failure *failure = known_failure(worker.shared, text);

    (void)context;
    if (ignored(text)) {
        worker.state->tally[worker.state->campaign].failures--;
        return true;
    }
    if (failure) {
        failure->times++;
    } else if ((failure = new_failure(text, false)) != NULL) {
        printf("FAILED: %s, chip %s, cell %llu: %s\n    torture --replay %s\n", failure->campaign, failure->chip,
               (unsigned long long)failure->cell, text, failure->file);
        fflush(stdout);
        if (worker.options->first) {
            atomic_store(&worker.shared->stop, 1);
        } else if (!worker.options->plain) {
            shrink_failure(failure);
        }
    }
    return !worker.options->first;
}

/* Not a safe thing to do in general: the process ends with it. */
static void on_signal(int number)
{
    char text[64];

    snprintf(text, sizeof text, "%s", number == SIGALRM ? "it hangs" : "it crashes");
    signal(number, SIG_DFL);
    worker.state->tally[worker.state->campaign].failures++;
    struct failure *failure = known_failure(worker.shared, text);
    if (failure) {
        failure->times++;
    } else {
        (void)new_failure(text, true);
    }
    _exit(3);
}

/* ---- a process --------------------------------------------------------------------------------------- */

static bool wants(const struct options *options, unsigned campaign)
{
    return !options->campaign || strcmp(options->campaign, campaigns[campaign].name) == 0;
}

/* The campaign that had the least time; campaign_count: none is left. */
static unsigned next_campaign(const bool *over)
{
    unsigned best = campaign_count;

    for (unsigned i = 0; i < campaign_count; i++) {
        if (!over[i] && (best == campaign_count || worker.state->seconds[i] < worker.state->seconds[best])) {
            best = i;
        }
    }
    return best;
}

static void run_cells(double end)
{
    const struct options *options = worker.options;
    bool over[CAMPAIGNS_MAX] = { false };
    unsigned campaign;

    for (unsigned i = 0; i < campaign_count; i++) {
        over[i] = !wants(options, i);
    }
    while ((campaign = next_campaign(over)) < campaign_count && !atomic_load(&worker.shared->stop) && getppid() == worker.parent
           && (end <= 0 || now() < end) && (options->enough == 0 || all_cuts(worker.shared) < options->enough)) {
        uint64_t cell = options->cell >= 0 ? (uint64_t)options->cell : atomic_fetch_add(&worker.shared->next_cell[campaign], 1);
        double begun = now();

        if (options->slice && cell >= campaigns[campaign].slice) {
            over[campaign] = true;
            continue;
        }
        worker.state->campaign = campaign;
        worker.state->cell = cell;
        memset(&worker.explorer, 0, sizeof worker.explorer);
        worker.explorer.failed = on_failure;
        alarm(nf2_break ? BROKEN_CELL_SECONDS : CELL_SECONDS);
        over[campaign] = !campaigns[campaign].cell(&worker.explorer, &worker.state->tally[campaign], &options->how, cell) || options->cell >= 0;
        alarm(0);
        worker.state->cells[campaign]++;
        worker.state->seconds[campaign] += now() - begun;
    }
}

static pid_t start(unsigned job, double end)
{
    static const int caught[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM };
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        worker.state = &worker.shared->worker[job];
        for (unsigned i = 0; i < sizeof caught / sizeof caught[0]; i++) {
            signal(caught[i], on_signal);
        }
        run_cells(end);
        exit(0); /* and not _exit: what was reached counts for `make coverage` */
    }
    return child;
}

/* Waits for all processes; one that crashed is replaced. */
static void watch(pid_t *child, double begun, double end)
{
    struct shared *shared = worker.shared;
    unsigned running = shared->jobs;
    double shown = begun;

    while (running > 0) {
        struct timespec nap = { 0, 50000000 };
        int status;
        pid_t done = waitpid(-1, &status, WNOHANG);

        shared->seconds = now() - begun;
        if (done == 0) {
            nanosleep(&nap, NULL);
        }
        for (unsigned job = 0; done > 0 && job < shared->jobs; job++) {
            if (child[job] == done) {
                bool crashed = status != 0 && !worker.options->first && worker.options->cell < 0;

                child[job] = crashed ? start(job, end) : -1;
                running -= child[job] < 0;
            }
        }
        if (now() - shown >= PROGRESS_SECONDS) {
            shown = now();
            report_progress(shared);
        }
    }
}

/* ---- main -------------------------------------------------------------------------------------------- */

static void write_reports(const struct shared *shared, const char *folder)
{
    static void (*const writers[])(const struct shared *, FILE *) = { report_text, report_json };
    static const char *const names[] = { "report.txt", "report.json" };
    char path[400];

    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *out = fopen(path, "w");
        if (!out) {
            fprintf(stderr, "%s cannot be written\n", path);
            continue;
        }
        writers[i](shared, out);
        fclose(out);
    }
}

static int torture_main(const struct options *options)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child[JOBS_MAX];
    double begun = now(), end = options->seconds > 0 && !options->slice && options->cell < 0 ? begun + options->seconds : 0;
    struct tally all;

    if (shared == MAP_FAILED) {
        fprintf(stderr, "no memory\n");
        return 2;
    }
    worker.options = options;
    worker.shared = shared;
    worker.parent = getpid();
    shared->jobs = options->cell >= 0 ? 1 : options->jobs;
    shared->seed = options->how.seed;
    for (unsigned job = 0; job < shared->jobs; job++) {
        child[job] = start(job, end);
    }
    watch(child, begun, end);
    shared_sum(shared, campaign_count, &all);
    report_text(shared, stdout);
    write_reports(shared, options->out);
    return nf2_break ? !all.failures : all.failures || all.cuts == 0;
}

static bool flag(const char *name, struct options *options)
{
    struct { const char *name; bool *value; } flags[] = {
        { "--slice", &options->slice }, { "--first", &options->first }, { "--plain", &options->plain },
        { "--shrink", &options->shrink }, { "--print", &options->print }
    };

    for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].value = true;
            return true;
        }
    }
    return false;
}

static bool value_of(const char *name, const char *value, struct options *options)
{
    struct { const char *name; const char **text; } texts[] = {
        { "--campaign", &options->campaign }, { "--chip", &options->how.chip }, { "--script", &options->how.script },
        { "--replay", &options->replay }, { "--out", &options->out }, { "--ignore", &options->ignore }
    };

    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].text = value;
            return true;
        }
    }
    if (strcmp(name, "--seconds") == 0) {
        options->seconds = strtod(value, NULL);
    } else if (strcmp(name, "--jobs") == 0) {
        options->jobs = (unsigned)strtoul(value, NULL, 0);
    } else if (strcmp(name, "--enough") == 0) {
        options->enough = strtoull(value, NULL, 0);
    } else if (strcmp(name, "--seed") == 0) {
        options->how.seed = strtoull(value, NULL, 0);
    } else if (strcmp(name, "--cuts") == 0) {
        options->how.cuts = strtod(value, NULL);
    } else if (strcmp(name, "--deepest") == 0) {
        options->how.deepest = (unsigned)strtoul(value, NULL, 0);
    } else if (BREAKABLE && strcmp(name, "--fault") == 0) {
        nf2_break = (unsigned)strtoul(value, NULL, 0);
    } else if (strcmp(name, "--cell") == 0) {
        options->cell = strtoll(value, NULL, 0);
    } else {
        return false;
    }
    return true;
}

/* The fast sum of the tests against its definition. */
static bool crc_is_right(void)
{
    uint8_t data[100];

    for (uint32_t length = 0; length <= sizeof data; length++) {
        uint32_t slow = 0xFFFFFFFFu;

        for (uint32_t i = 0; i < length; i++) {
            data[i] = (uint8_t)(i * 37 + length);
            slow ^= data[i];
            for (unsigned bit = 0; bit < 8; bit++) {
                slow = slow >> 1 ^ (slow & 1 ? 0xEDB88320u : 0);
            }
        }
        if (nf2_crc(0xFFFFFFFFu, data, length) != slow) {
            return false;
        }
    }
    return true;
}

int main(int count, char **argument)
{
    struct options options = { .how = { .seed = 1, .cuts = -1, .deepest = EXPLORE_DEEPEST }, .out = ".", .seconds = 60, .jobs = 2, .cell = -1 };

    for (int i = 1; i < count; i++) {
        if (flag(argument[i], &options)) {
            continue;
        }
        if (i + 1 == count || !value_of(argument[i], argument[i + 1], &options)) {
            fprintf(stderr, "unknown option %s\n", argument[i]);
            return 2;
        }
        i++;
    }
    if (!crc_is_right() || options.jobs == 0 || options.jobs > JOBS_MAX || (options.cell >= 0 && !options.campaign)) {
        fprintf(stderr, "the options make no sense, or the sum is wrong\n");
        return 2;
    }
    return options.replay ? replay_main(&options) : torture_main(&options);
}
