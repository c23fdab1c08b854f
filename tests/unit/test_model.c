/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_model.c - random calls on a volume and on a model of it, side by side.
 *
 *   test_model                                   a fixed slice over several chips and profiles
 *   test_model --chip NAME --seed N --calls N [--profile P] [--record FILE]
 *   test_model --long [--seed N]                 every chip with every profile, a million calls and more
 *   test_model --replay FILE --chip NAME         repeats recorded calls
 *   test_model --replay FILE --chip NAME --shrink
 *   test_model --chip NAME --seed N --calls N --shrink
 *                                                finds a short list of calls that still fails, and prints it
 */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "group_ops.h"
#include "random_ops.h"
#include "rig.h"
#include "shrink.h"

#define CHECK_EVERY 400u
#define VERIFY_EVERY 1000u
#define LAST_CALLS 20u
#define REPLAY_SECONDS 120u

#define PROFILE_GROUPS PROFILE_COUNT    /* the one of group_ops.h */
#define PROFILES (PROFILE_COUNT + 1u)

struct options {
    const char *chip, *replay;
    FILE *record;               /* each call is written here before it is made */
    uint64_t seed;
    unsigned calls;
    enum profile profile;
    bool shrink, full_length, chip_given;
    int format_flags;
};

struct outcome {
    bool right;
    unsigned failed_at;         /* index of the call */
    char failure[512];
    uint64_t full, emptying;    /* calls that found no space, and those made while groups were being emptied */
};

static const char *profile_name(unsigned profile)
{
    return profile == PROFILE_GROUPS ? "groups" : profile_names[profile];
}

static bool fail(struct outcome *outcome, const struct rig *rig, unsigned index)
{
    outcome->right = false;
    outcome->failed_at = index;
    memcpy(outcome->failure, rig->failure, sizeof outcome->failure);
    return false;
}

/* After the last call: what was synced is there after a remount, and the space comes back. */
static bool finish(struct rig *rig)
{
    struct call call = { .op = OP_UNMOUNT };

    return rig_call(rig, &call) == RIG_OK && rig_verify(rig) && rig_check(rig) && rig_empty(rig);
}

static bool make_call(struct rig *rig, const struct call *call, FILE *record)
{
    if (record) {
        call_print(record, call);
        fflush(record);
    }
    return rig_call(rig, call) == RIG_OK;
}

/* Calls that come at fixed intervals besides the generator's. */
static void add_regular(struct call_list *list, unsigned *next_check, unsigned *next_verify)
{
    if (list->count >= *next_check) {
        calls_add(list, OP_CHECK, 0, 0, 0, NULL, NULL);
        *next_check = list->count + CHECK_EVERY;
    }
    if (list->count >= *next_verify) {
        calls_add(list, OP_VERIFY, 0, 0, 0, NULL, NULL);
        *next_verify = list->count + VERIFY_EVERY;
    }
}

/* Drops calls that nobody will ask for any more, so that a long run does not keep them all. */
static void forget_early(struct call_list *list, unsigned *done, unsigned *dropped)
{
    unsigned drop = *done > 4096 ? *done - LAST_CALLS : 0;

    if (drop == 0) {
        return;
    }
    for (unsigned i = 0; i < drop; i++) {
        free(list->call[i].path);
        free(list->call[i].path2);
    }
    memmove(list->call, list->call + drop, (list->count - drop) * sizeof *list->call);
    list->count -= drop;
    *done -= drop;
    *dropped += drop;
}

/* Of the one kind or of the other. */
struct source {
    bool groups;
    struct generator generator;
    struct group_ops group_ops;
};

static void source_init(struct source *source, const struct options *options, struct rig *rig)
{
    source->groups = options->profile == PROFILE_GROUPS;
    if (source->groups) {
        rig->model.short_pieces = true;
        group_ops_init(&source->group_ops, options->seed, rig->capacity);
    } else {
        generator_init(&source->generator, options->seed, options->profile, rig->capacity, rig->chip->page_size, rig->chip->block_size);
    }
}

static void source_next(struct source *source, struct rig *rig, struct call_list *list)
{
    if (source->groups) {
        source->group_ops.emptying = rig_emptying(rig);
        group_ops_next(&source->group_ops, &rig->model, list);
    } else {
        generator_next(&source->generator, &rig->model, list);
    }
}

static void source_full(struct source *source)
{
    if (source->groups) {
        group_ops_full(&source->group_ops);
    } else {
        generator_full(&source->generator);
    }
}

static bool generate(struct rig *rig, const struct options *options, struct call_list *list, struct outcome *outcome)
{
    struct source source;
    unsigned done = 0, dropped = 0, next_check = CHECK_EVERY, next_verify = VERIFY_EVERY;

    source_init(&source, options, rig);
    while (done + dropped < options->calls) {
        if (done == list->count) {
            unsigned before = dropped;

            forget_early(list, &done, &dropped);
            next_check -= dropped - before;
            next_verify -= dropped - before;
            source_next(&source, rig, list);
            add_regular(list, &next_check, &next_verify);
        }
        if (!make_call(rig, &list->call[done], options->record)) {
            calls_cut(list, done + 1);
            return fail(outcome, rig, done + dropped);
        }
        if (rig->answer == NF2_ERR_NOSPC) {
            source_full(&source);
        }
        done++;
    }
    calls_cut(list, done);
    return finish(rig) || fail(outcome, rig, done + dropped);
}

static bool repeat(struct rig *rig, const struct call_list *list, struct outcome *outcome)
{
    for (unsigned i = 0; i < list->count; i++) {
        if (!make_call(rig, &list->call[i], NULL)) {
            return fail(outcome, rig, i);
        }
    }
    return finish(rig) || fail(outcome, rig, list->count);
}

/* One volume from format to its end; `list` is repeated, or (empty) generated. */
static bool run(const struct options *options, struct call_list *list, struct outcome *outcome)
{
    const struct vflash_chip *chip = vflash_chip_find(options->chip);
    struct rig *rig = malloc(sizeof *rig);

    memset(outcome, 0, sizeof *outcome);
    outcome->right = true;
    if (!chip || !rig) {
        fprintf(stderr, "no chip named %s\n", options->chip);
        exit(2);
    }
    if (!rig_init(rig, chip, options->format_flags)) {
        fail(outcome, rig, 0);
    } else if (list->count) {
        repeat(rig, list, outcome);
    } else {
        generate(rig, options, list, outcome);
    }
    outcome->full = rig->nospc;
    outcome->emptying = rig->emptying;
    rig_free(rig);
    free(rig);
    return outcome->right;
}

static void print_failure(const struct options *options, const struct call_list *list, const struct outcome *outcome)
{
    unsigned first = list->count > LAST_CALLS ? list->count - LAST_CALLS : 0;

    printf("FAILED: chip %s, profile %s, seed %llu, call %u: %s\n", options->chip, profile_name(options->profile),
           (unsigned long long)options->seed, outcome->failed_at, outcome->failure);
    printf("the last calls:\n");
    for (unsigned i = first; i < list->count; i++) {
        printf("  ");
        call_print(stdout, &list->call[i]);
    }
    fflush(stdout);
}

/* ---- shrinking ----------------------------------------------------------------------------------- */

static int run_fails_at(void *context, struct call_list *list)
{
    struct outcome outcome;

    return run(context, list, &outcome) ? -1 : (int)outcome.failed_at;
}

static void shrink(const struct options *options, struct call_list *list)
{
    struct options repeated = *options;
    struct shrink how = { .run = run_fails_at, .context = &repeated, .replay_seconds = REPLAY_SECONDS };

    if (!shrink_list(&how, list)) {
        printf("# the calls do not fail\n");
        return;
    }
    printf("# chip %s%s: %u calls still fail\n", options->chip, options->format_flags & NF2_FORMAT_ERASE ? ", erased" : "", list->count);
    for (unsigned i = 0; i < list->count; i++) {
        call_print(stdout, &list->call[i]);
    }
}

/* Records the calls of a generated run in a process of its own and reads them back. */
static bool record_run(struct options options, struct call_list *list)
{
    FILE *file = tmpfile();
    pid_t child;
    bool right;

    if (!file) {
        return false;
    }
    options.record = file;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct outcome outcome;
    
        _exit(run(&options, list, &outcome) ? 0 : 1);
    }
    waitpid(child, NULL, 0);
    rewind(file);
    right = calls_read(file, list);
    fclose(file);
    return right;
}

static int shrink_main(const struct options *options, struct call_list *list)
{
    if (!list->count && !record_run(*options, list)) {
        fprintf(stderr, "the calls cannot be recorded\n");
        return 2;
    }
    shrink(options, list);
    return 0;
}

/* ---- slices -------------------------------------------------------------------------------------- */

static unsigned passed, failed;

static void cell(struct options options)
{
    struct call_list list = { 0 };
    struct outcome outcome;

    printf("chip %s, profile %s, seed %llu, %u calls: ", options.chip, profile_name(options.profile),
           (unsigned long long)options.seed, options.calls);
    fflush(stdout);
    if (run(&options, &list, &outcome)) {
        passed++;
        printf("right (full %llu times, %llu calls while groups were emptied)\n", (unsigned long long)outcome.full, (unsigned long long)outcome.emptying);
    } else {
        failed++;
        print_failure(&options, &list, &outcome);
    }
    calls_free(&list);
}

static const char *const slice_chips[] = { "tiny256k", "tiny128k", "tinyecc16", "tinyecc32", "tiny512", "w25q80" };

static void slice(struct options options)
{
    unsigned calls = options.full_length ? 40000 : 1700;

    for (unsigned chip = 0; chip < sizeof slice_chips / sizeof slice_chips[0]; chip++) {
        for (unsigned profile = 0; profile < PROFILE_COUNT; profile++) {
            options.chip = slice_chips[chip];
            options.profile = (enum profile)profile;
            options.calls = calls;
            options.format_flags = (chip + profile) % 2 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK;
            cell(options);
            options.seed++;
        }
    }
}

/* Seeds with which groups are emptied in many of the calls. */
static const struct {
    const char *chip;
    uint64_t seed;
    unsigned calls;
} group_cells[] = { { "tiny2m", 44, 5000 }, { "w25q80", 4, 4000 } };

static void slice_of_groups(struct options options)
{
    for (unsigned i = 0; i < sizeof group_cells / sizeof group_cells[0]; i++) {
        options.chip = group_cells[i].chip;
        options.seed += group_cells[i].seed - 1;
        options.profile = PROFILE_GROUPS;
        options.calls = options.full_length ? 40000 : group_cells[i].calls;
        cell(options);
        options.seed -= group_cells[i].seed - 1;
    }
}

static enum profile profile_named(const char *name)
{
    for (unsigned i = 0; i < PROFILES; i++) {
        if (strcmp(name, profile_name(i)) == 0) {
            return (enum profile)i;
        }
    }
    fprintf(stderr, "no profile named %s\n", name);
    exit(2);
}

static void parse(int count, char **argument, struct options *options)
{
    for (int i = 1; i < count; i++) {
        const char *name = argument[i];
        const char *value = i + 1 < count ? argument[i + 1] : "";

        if (strcmp(name, "--shrink") == 0) {
            options->shrink = true;
            continue;
        }
        if (strcmp(name, "--erased") == 0) {       /* format with NF2_FORMAT_ERASE, as every other cell of the slice */
            options->format_flags = NF2_FORMAT_ERASE;
            continue;
        }
        if (strcmp(name, "--long") == 0) {
            options->full_length = true;
            continue;
        }
        i++;
        if (strcmp(name, "--chip") == 0) {
            options->chip = value;
            options->chip_given = true;
        } else if (strcmp(name, "--seed") == 0) {
            options->seed = strtoull(value, NULL, 0);
        } else if (strcmp(name, "--calls") == 0) {
            options->calls = (unsigned)strtoul(value, NULL, 0);
        } else if (strcmp(name, "--profile") == 0) {
            options->profile = profile_named(value);
        } else if (strcmp(name, "--replay") == 0) {
            options->replay = value;
        } else if (strcmp(name, "--record") == 0) {
            options->record = fopen(value, "w");
        } else {
            fprintf(stderr, "unknown option %s\n", name);
            exit(2);
        }
    }
}

static int replay_main(const struct options *options, struct call_list *list)
{
    struct outcome outcome;

    if (options->shrink) {
        return shrink_main(options, list);
    }
    if (run(options, list, &outcome)) {
        passed++;
    } else {
        failed++;
        calls_cut(list, outcome.failed_at + 1);
        print_failure(options, list, &outcome);
    }
    return (int)failed;
}

int main(int count, char **argument)
{
    struct options options = { .chip = "tiny256k", .seed = 1, .calls = 10000, .profile = PROFILE_MIX };
    struct call_list list = { 0 };
    int status = 0;

    parse(count, argument, &options);
    if (options.replay) {
        FILE *file = strcmp(options.replay, "-") == 0 ? stdin : fopen(options.replay, "r");

        if (!file || !calls_read(file, &list) || list.count == 0) {
            fprintf(stderr, "%s cannot be read\n", options.replay);
            return 2;
        }
        status = replay_main(&options, &list);
    } else if (options.shrink) {
        status = shrink_main(&options, &list);
    } else if (options.chip_given) {
        cell(options);
    } else {
        slice(options);
        slice_of_groups(options);
    }
    if (!options.shrink) {
        printf("%u passed, %u failed\n", passed, failed);
    }
    return status ? status : failed ? 1 : 0;
}
