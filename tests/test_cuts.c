/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cuts.c - power cuts at every program and erase of a set of scripts.
 *
 * Before each call of a script the whole state is saved. The call is made once without a cut, which
 * counts its operations and gives the tree before and after it. Then, for each operation, the state is
 * restored and the power cut there; the volume that mounts afterwards must hold exactly the tree before
 * or the tree after, pass nf2_check, and go on working - where the power may be cut again, three deep.
 *
 *   test_cuts                         a fixed slice
 *   test_cuts --all                   every operation with every kind of cut
 *   test_cuts --sample N              about N cuts a script and chip
 *   test_cuts --chip NAME --script NAME --seed N
 *   test_cuts ... --at CALL,OPERATION,VARIANT       one cut (a failure prints this)
 *   test_cuts ... --verbose                         prints each cut before it is made
 */
#include <stdlib.h>
#include <string.h>

#include "cut_scripts.h"
#include "random_ops.h"
#include "rig.h"

#define VARIANTS 8u
#define DEPTH 3u                /* cuts in one history */
#define RANDOM_CALLS 120u       /* length of a random script */

struct options {
    const char *chip, *script;
    uint64_t seed;
    unsigned sample;            /* cuts a script; 0: all */
    bool one, verbose;
    unsigned at_call, at_operation, at_variant;
};

struct snapshot {
    struct vflash_checkpoint *chip;
    nf2_t fs;
    nf2_file_t file[MODEL_HANDLES];
    nf2_dir_t dir[MODEL_LISTS];
    uint8_t *memory;            /* page buffers, then the volume's buffer */
};

struct history {                /* where we are, for the report */
    const struct options *options;
    const char *chip, *script;
    unsigned call, operation, variant, depth;
    char cuts[400];             /* what was done, in words */
};

static unsigned passed, failed, cuts_made, nested_made;

/* ---- states -------------------------------------------------------------------------------------- */

static void take(struct rig *rig, struct snapshot *snapshot)
{
    uint32_t page = rig->chip->page_size;

    snapshot->chip = vflash_save(rig->flash);
    memcpy(&snapshot->fs, &rig->fs, sizeof rig->fs);
    memcpy(snapshot->file, rig->file, sizeof rig->file);
    memcpy(snapshot->dir, rig->dir, sizeof rig->dir);
    snapshot->memory = malloc(MODEL_HANDLES * page + rig->config.buffer_size);
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        memcpy(snapshot->memory + i * page, rig->page[i], page);
    }
    memcpy(snapshot->memory + MODEL_HANDLES * page, rig->config.buffer, rig->config.buffer_size);
}

static void back(struct rig *rig, const struct snapshot *snapshot)
{
    uint32_t page = rig->chip->page_size;

    vflash_restore(rig->flash, snapshot->chip);
    vflash_cut_at(rig->flash, NULL);
    rig->off = false;
    memcpy(&rig->fs, &snapshot->fs, sizeof rig->fs);
    memcpy(rig->file, snapshot->file, sizeof rig->file);
    memcpy(rig->dir, snapshot->dir, sizeof rig->dir);
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        memcpy(rig->page[i], snapshot->memory + i * page, page);
    }
    memcpy(rig->config.buffer, snapshot->memory + MODEL_HANDLES * page, rig->config.buffer_size);
}

static void release(struct snapshot *snapshot)
{
    vflash_release(snapshot->chip);
    free(snapshot->memory);
}

/* ---- cuts ---------------------------------------------------------------------------------------- */

static struct vflash_cut make_cut(uint64_t operation, unsigned variant, uint32_t page_size, uint64_t *random)
{
    static const enum vflash_erase_cut erases[VARIANTS] = {
        VFLASH_ERASE_UNTOUCHED, VFLASH_ERASE_PARTLY, VFLASH_ERASE_WEAK, VFLASH_ERASE_DONE,
        VFLASH_ERASE_UNSTABLE, VFLASH_ERASE_PARTLY, VFLASH_ERASE_WEAK, VFLASH_ERASE_UNSTABLE
    };
    struct vflash_cut cut = { .operation = operation, .erase = erases[variant] };

    cut.seed = random_number(random, UINT32_MAX);
    switch (variant) {
    case 0: break;
    case 1: cut.byte = 1; cut.last_byte_mask = 0x0F; break;
    case 2: cut.byte = page_size / 2; break;
    case 3: cut.byte = UINT32_MAX; break;
    case 4: cut.byte = random_number(random, page_size); cut.last_byte_mask = (uint8_t)random_number(random, 256); break;
    case 5: cut.byte = random_number(random, 40); cut.shuffle = true; break;
    case 6:
        cut.byte = random_number(random, page_size);
        cut.last_byte_mask = (uint8_t)random_number(random, 256);
        cut.shuffle = true;
        break;
    default: cut.byte = random_number(random, 24); cut.last_byte_mask = (uint8_t)random_number(random, 256); break;
    }
    return cut;
}

static void note_cut(struct history *history, const struct vflash_cut *cut, const char *where)
{
    size_t length = strlen(history->cuts);

    snprintf(history->cuts + length, sizeof history->cuts - length, "\n    cut %u: %s operation %llu, byte %ld mask %02X%s, erase %d",
             history->depth, where, (unsigned long long)cut->operation, cut->byte == UINT32_MAX ? -1L : (long)cut->byte,
             cut->last_byte_mask, cut->shuffle ? " shuffled" : "", (int)cut->erase);
}

static bool report(const struct rig *rig, const struct history *history, const struct call *call)
{
    printf("FAILED: test_cuts --chip %s --script %s --seed %llu --at %u,%u,%u: %s%s\n", history->chip, history->script,
           (unsigned long long)history->options->seed, history->call, history->operation, history->variant, rig->failure, history->cuts);
    if (call) {
        printf("    call: ");
        call_print(stdout, call);
    }
    fflush(stdout);
    return false;
}

/* ---- after a cut --------------------------------------------------------------------------------- */

static bool after_cut(struct rig *rig, struct history *history, const struct image *before, const struct image *after, uint64_t *random);

/* The call during which the power went: its tree before and after, then the same judgement one deeper. */
static bool cut_again(struct rig *rig, struct history *history, const struct call *call, uint64_t *random)
{
    struct image before, after;
    struct expect expect;
    bool right;

    model_image(&rig->model, true, &before);
    model_expect(&rig->model, call, &expect);
    if (expect.success && !expect.skip) {
        model_apply(&rig->model, call);
    }
    model_image(&rig->model, true, &after);
    model_free(&rig->model);
    model_init(&rig->model, rig->chip->page_size, rig->chip->block_size);
    history->depth++;
    nested_made++;
    right = after_cut(rig, history, &before, &after, random);
    history->depth--;
    image_free(&before);
    image_free(&after);
    return right;
}

/* Random calls on the volume that came back; `nested`: the power is cut again during them, if they get that far. */
static bool go_on(struct rig *rig, struct history *history, bool nested, uint64_t *random)
{
    struct generator generator;
    struct call_list list = { 0 };
    unsigned calls = nested ? 30 : 12;
    enum rig_result result = RIG_OK;
    bool right = true;
    struct call end = { .op = OP_UNMOUNT };

    generator_init(&generator, random_number(random, UINT32_MAX), (enum profile)random_number(random, PROFILE_COUNT), rig->capacity,
                   rig->chip->page_size, rig->chip->block_size);
    vflash_cut_at(rig->flash, NULL);
    if (nested) {
        struct vflash_cut cut = make_cut(1 + random_number(random, 14), random_number(random, VARIANTS), rig->chip->page_size, random);

        rig->jump = random_number(random, 2);
        vflash_cut_at(rig->flash, &cut);
        note_cut(history, &cut, "random calls,");
    }
    for (unsigned i = 0; i < calls && result == RIG_OK; i++) {
        if (i == list.count) {
            generator_next(&generator, &rig->model, &list);
        }
        if (history->options->verbose) {
            printf("    after cut %u: ", history->depth);
            call_print(stdout, &list.call[i]);
        }
        result = rig_call(rig, &list.call[i]);
        if (result == RIG_CUT) {
            right = cut_again(rig, history, &list.call[i], random);
        } else if (result == RIG_WRONG) {
            right = report(rig, history, &list.call[i]);
        }
    }
    calls_free(&list);
    vflash_cut_at(rig->flash, NULL);
    if (result != RIG_OK) {
        return right;
    }
    if (rig_call(rig, &end) != RIG_OK || !rig_verify(rig) || !rig_check(rig)) {
        return report(rig, history, NULL);
    }
    if (random_number(random, 8) == 0 && !rig_empty(rig)) {     /* no block was lost */
        return report(rig, history, NULL);
    }
    return true;
}

/* A read-only mount of what the cut left shows the tree and programs nothing; the image is what it found. */
static bool look(struct rig *rig, struct image *found)
{
    uint64_t before = vflash_operations(rig->flash);
    bool right = rig_mount(rig, NF2_MOUNT_RDONLY) && rig_image(rig, found) && rig_check(rig);

    if (!right) {
        return false;
    }
    if (nf2_unmount(&rig->fs) != NF2_OK || vflash_operations(rig->flash) != before) {
        snprintf(rig->failure, sizeof rig->failure, "a read-only mount programmed or did not unmount");
        return false;
    }
    return true;
}

/* Power comes back; `rig->model` is empty, and holds what was found afterwards. */
static bool after_cut(struct rig *rig, struct history *history, const struct image *before, const struct image *after, uint64_t *random)
{
    struct image found = { 0 };
    char text_before[200], text_after[200];
    bool nested = history->depth < DEPTH && random_number(random, 100) < 45;
    bool right;

    vflash_power_on(rig->flash);
    vflash_cut_at(rig->flash, NULL);
    rig->off = false;
    if (random_number(random, 5) == 0) {
        right = look(rig, &found);
        image_free(&found);
        if (!right) {
            return report(rig, history, NULL);
        }
    }
    if (!rig_mount(rig, NF2_MOUNT_RDWR) || !rig_image(rig, &found)) {
        image_free(&found);
        return report(rig, history, NULL);
    }
    if (!image_matches(&found, before, text_before, sizeof text_before) && !image_matches(&found, after, text_after, sizeof text_after)) {
        snprintf(rig->failure, sizeof rig->failure, "neither as before (%s) nor as after (%s)", text_before, text_after);
        image_free(&found);
        return report(rig, history, NULL);
    }
    model_from_image(&rig->model, &found);
    image_free(&found);
    if (!rig_check(rig)) {
        return report(rig, history, NULL);
    }
    return go_on(rig, history, nested, random);
}

/* ---- a script ------------------------------------------------------------------------------------ */

struct run {
    struct rig rig;
    struct history history;
    const struct options *options;
    uint64_t operations;        /* of the whole script */
    uint64_t random;            /* chooses the cuts */
};

/* One cut: at `operation` of the call, or (0) after it returned. */
static bool one_cut(struct run *run, const struct call *call, unsigned operation, unsigned variant, const struct image *before,
                    const struct image *after)
{
    struct rig *rig = &run->rig;
    struct model aside = rig->model;
    uint64_t random = run->options->seed * 1000003u + run->history.call * 7919u + operation * 31u + variant;
    struct vflash_cut cut = make_cut(operation, variant, rig->chip->page_size, &random);
    bool right;

    run->history.operation = operation;
    run->history.variant = variant;
    run->history.depth = 1;
    run->history.cuts[0] = 0;
    cuts_made++;
    if (run->options->verbose) {    /* before it is made, for crashes */
        printf("cut --chip %s --script %s --seed %llu --at %u,%u,%u\n", run->history.chip, run->history.script,
               (unsigned long long)run->options->seed, run->history.call, operation, variant);
        fflush(stdout);
    }
    if (operation) {
        rig->jump = random_number(&random, 2);
        vflash_cut_at(rig->flash, &cut);
        note_cut(&run->history, &cut, "the call's");
        if (rig_do(rig, call) != RIG_CUT) {
            snprintf(rig->failure, sizeof rig->failure, "the call did not get to this operation again");
            return report(rig, &run->history, call);
        }
    }
    model_init(&rig->model, rig->chip->page_size, rig->chip->block_size);
    right = after_cut(rig, &run->history, operation ? before : after, after, &random);
    if (!right) {
        printf("    at call %u of the script: ", run->history.call);
        call_print(stdout, call);
    }
    model_free(&rig->model);
    rig->model = aside;
    return right;
}

static bool wanted(struct run *run, unsigned operation, unsigned variant)
{
    const struct options *options = run->options;

    if (options->one) {
        return run->history.call == options->at_call && operation == options->at_operation && variant == options->at_variant;
    }
    return options->sample == 0 || random_number(&run->random, (uint32_t)(run->operations * VARIANTS)) < options->sample;
}

/* All the cuts of one call; the state is that before it, and is that after it at the end. */
static bool cut_call(struct run *run, const struct call *call)
{
    struct rig *rig = &run->rig;
    struct snapshot start, end;
    struct image before, after;
    bool right = true;
    unsigned operations;

    take(rig, &start);
    model_image(&rig->model, true, &before);
    vflash_cut_at(rig->flash, NULL);
    rig->jump = false;
    if (rig_call(rig, call) != RIG_OK) {
        right = report(rig, &run->history, call);
    }
    operations = (unsigned)vflash_operations(rig->flash);
    model_image(&rig->model, true, &after);
    take(rig, &end);
    for (unsigned operation = 0; right && operations && operation <= operations; operation++) {
        for (unsigned variant = 0; right && variant < (operation ? VARIANTS : 1); variant++) {
            if (wanted(run, operation, variant)) {
                back(rig, operation ? &start : &end);
                right = one_cut(run, call, operation, variant, &before, &after);
            }
        }
    }
    back(rig, &end);
    release(&start);
    release(&end);
    image_free(&before);
    image_free(&after);
    return right;
}

/* The operations of the whole script, without cuts. */
static bool count_operations(struct run *run, const struct vflash_chip *chip, const struct call_list *list)
{
    bool right = rig_init(&run->rig, chip, NF2_FORMAT_QUICK);

    if (right) {
        vflash_cut_at(run->rig.flash, NULL);
    }
    for (unsigned i = 0; i < list->count && right; i++) {
        run->history.call = i;
        right = rig_call(&run->rig, &list->call[i]) == RIG_OK;
    }
    if (!right) {
        report(&run->rig, &run->history, run->history.call < list->count ? &list->call[run->history.call] : NULL);
    } else {
        run->operations = vflash_operations(run->rig.flash);
    }
    rig_free(&run->rig);
    return right;
}

static void run_script(const struct options *options, const struct vflash_chip *chip, const char *name, const struct call_list *list)
{
    struct run *run = calloc(1, sizeof *run);
    unsigned before = cuts_made;
    bool right;

    run->options = options;
    run->history.options = options;
    run->history.chip = chip->name;
    run->history.script = name;
    run->random = options->seed;
    right = count_operations(run, chip, list);
    if (right) {
        right = rig_init(&run->rig, chip, NF2_FORMAT_QUICK);
        for (unsigned i = 0; i < list->count && right; i++) {
            run->history.call = i;
            right = cut_call(run, &list->call[i]);
        }
        rig_free(&run->rig);
    }
    printf("chip %s, script %s: %llu operations, %u cuts: %s\n", chip->name, name, (unsigned long long)run->operations,
           cuts_made - before, right ? "right" : "WRONG");
    fflush(stdout);
    passed += right;
    failed += !right;
    free(run);
}

/* A script of random calls, made by running the generator on a model alone. */
static void random_script(struct call_list *list, const struct vflash_chip *chip, uint64_t seed)
{
    struct model model;
    struct generator generator;

    model_init(&model, chip->page_size, chip->block_size);
    generator_init(&generator, seed, (enum profile)(seed % PROFILE_COUNT), chip->size / 2, chip->page_size, chip->block_size);
    for (unsigned i = 0; i < RANDOM_CALLS; i++) {
        struct expect expect;

        if (i == list->count) {
            generator_next(&generator, &model, list);
        }
        model_expect(&model, &list->call[i], &expect);
        if (expect.success && !expect.skip) {
            model_apply(&model, &list->call[i]);
        }
    }
    model_free(&model);
}

/* ---- main ---------------------------------------------------------------------------------------- */

static const char *const slice_chips[] = { "tiny256k", "tinyecc16", "tiny128k", "tinyecc32", "tiny512" };

static void run_chip(const struct options *options, const char *chip_name)
{
    const struct vflash_chip *chip = vflash_chip_find(chip_name);

    if (!chip) {
        fprintf(stderr, "no chip named %s\n", chip_name);
        exit(2);
    }
    for (unsigned i = 0; i < cut_script_count; i++) {
        struct call_list list = { 0 };

        if (options->script && strcmp(options->script, cut_scripts[i].name) != 0) {
            continue;
        }
        cut_scripts[i].make(&list, chip->size, chip->block_size);
        run_script(options, chip, cut_scripts[i].name, &list);
        calls_free(&list);
    }
    if (!options->script || strcmp(options->script, "generated") == 0) {
        struct call_list list = { 0 };

        random_script(&list, chip, options->seed);
        run_script(options, chip, "generated", &list);
        calls_free(&list);
    }
}

static void parse(int count, char **argument, struct options *options)
{
    for (int i = 1; i < count; i++) {
        const char *name = argument[i];
        const char *value = i + 1 < count ? argument[i + 1] : "";

        if (strcmp(name, "--all") == 0) {
            options->sample = 0;
            continue;
        }
        if (strcmp(name, "--verbose") == 0) {
            options->verbose = true;
            continue;
        }
        i++;
        if (strcmp(name, "--chip") == 0) {
            options->chip = value;
        } else if (strcmp(name, "--script") == 0) {
            options->script = value;
        } else if (strcmp(name, "--seed") == 0) {
            options->seed = strtoull(value, NULL, 0);
        } else if (strcmp(name, "--sample") == 0) {
            options->sample = (unsigned)strtoul(value, NULL, 0);
        } else if (strcmp(name, "--at") == 0
                   && sscanf(value, "%u,%u,%u", &options->at_call, &options->at_operation, &options->at_variant) == 3) {
            options->one = true;
        } else {
            fprintf(stderr, "unknown option %s %s\n", name, value);
            exit(2);
        }
    }
}

int main(int count, char **argument)
{
    struct options options = { .seed = 1, .sample = 40 };

    parse(count, argument, &options);
    if (options.chip) {
        run_chip(&options, options.chip);
    } else {
        for (unsigned i = 0; i < sizeof slice_chips / sizeof slice_chips[0]; i++) {
            run_chip(&options, slice_chips[i]);
        }
    }
    printf("%u cuts, %u of them nested\n", cuts_made + nested_made, nested_made);
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
