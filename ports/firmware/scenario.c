/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario.c - three kinds of work, each step a function of seed and number. */
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#include "pcg32.h"

#define WRONG (-900)
#define PATH 48u
/* steps; at its begin all files of a MODEL are removed, one a step */
#define ROUND 512u
#define LOG_ROUND 1000u
#define RECORD 32u
#define CHUNK 1024u
#define UPDATES_ROUND 60000u    /* versions are of 16 bits */

enum { APPEND, OVERWRITE, TRUNCATE, REPLACE, REMOVE, RENAME, OPERATIONS };

struct step {
    uint32_t operation, file, other, offset, length, fill;
};

static int fail(struct scenario *scenario, const char *what, uint32_t number, int error)
{
    (void)snprintf(scenario->failed, sizeof(scenario->failed), "%s %lu: %d", what,
                   (unsigned long)number, error);
    return error < 0 ? error : WRONG;
}

void scenario_init(struct scenario *scenario, nf2_t *fs, uint32_t actor, uint64_t seed)
{
    memset(scenario, 0, sizeof(*scenario));
    scenario->kind = actor < 2u ? SCENARIO_MODEL : actor == 2u ? SCENARIO_LOG : SCENARIO_UPDATES;
    scenario->actor = actor;
    scenario->seed = seed;
    scenario->fs = fs;
}

static void path_of(const struct scenario *scenario, char out[PATH], const char *kind,
                    uint32_t number)
{
    (void)snprintf(out, PATH, "/t%lu/%s%lu", (unsigned long)scenario->actor, kind,
                   (unsigned long)number);
}

static uint8_t content(uint32_t fill, uint32_t i)
{
    uint32_t mixed = (fill + i * 0x9E3779B1u) * 0x85EBCA6Bu;
    return (uint8_t)(mixed >> 24);
}

static void random_of(const struct scenario *scenario, uint32_t number, struct pcg32 *random)
{
    pcg32_seed(random, scenario->seed * 0x100000001B3u + number, scenario->actor);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int write_at(struct scenario *scenario, const char *path, int flags, uint32_t at,
                    uint32_t length, uint32_t fill)
{
    nf2_t *fs = scenario->fs;
    int result = nf2_open(fs, &scenario->file, path, NF2_O_RDWR | flags, scenario->buffer);
    if (result != NF2_OK) {
        return result;
    }
    int32_t moved = nf2_seek(fs, &scenario->file, (int32_t)at, NF2_SEEK_SET);
    result = moved < 0 ? (int)moved : NF2_OK;
    for (uint32_t done = 0; done < length && result == NF2_OK;) {
        uint32_t piece =
            length - done < sizeof(scenario->scratch) ? length - done : sizeof(scenario->scratch);
        for (uint32_t i = 0; i < piece; i++) {
            scenario->scratch[i] = content(fill, done + i);
        }
        int32_t written = nf2_write(fs, &scenario->file, scenario->scratch, piece);
        result = written < 0 ? (int)written : NF2_OK;
        done += piece;
    }
    int closed = nf2_close(fs, &scenario->file);
    return result != NF2_OK ? result : closed;
}

static int truncate_to(struct scenario *scenario, const char *path, uint32_t size)
{
    int result = nf2_open(scenario->fs, &scenario->file, path, NF2_O_RDWR, scenario->buffer);
    if (result == NF2_OK) {
        result = nf2_truncate(scenario->fs, &scenario->file, size);
        int closed = nf2_close(scenario->fs, &scenario->file);
        result = result != NF2_OK ? result : closed;
    }
    return result;
}

/* What is not there needs not be removed. */
static int remove_path(struct scenario *scenario, const char *path)
{
    int result = nf2_remove(scenario->fs, path);
    return result == NF2_ERR_NOENT ? NF2_OK : result;
}

/* ---- MODEL ----------------------------------------------------------------------------------- */

static struct step model_plan(const struct scenario *scenario, uint32_t number)
{
    struct pcg32 random;
    struct step step;
    random_of(scenario, number, &random);
    step.operation = pcg32_below(&random, OPERATIONS);
    step.file = pcg32_below(&random, SCENARIO_FILES);
    step.other = pcg32_below(&random, SCENARIO_FILES);
    const struct scenario_file *file = &scenario->files[step.file];
    step.length = 1u + pcg32_below(&random, pcg32_below(&random, 4) == 0 ? 900 : 120);
    step.offset = file->there ? pcg32_below(&random, file->size + 1u) : 0;
    step.fill = pcg32_next(&random);
    if (number % ROUND < SCENARIO_FILES) {
        step.operation = REMOVE;
        step.file = number % ROUND;
    } else if (!file->there && (step.operation == TRUNCATE || step.operation == RENAME)) {
        step.operation = REPLACE;
    } else if (step.operation == APPEND && file->there
               && file->size + step.length > SCENARIO_FILE_MAX) {
        step.operation = TRUNCATE;
    }
    if (step.operation == APPEND) {
        step.offset = file->there ? file->size : 0;
    }
    if (step.operation == OVERWRITE && step.offset + step.length > SCENARIO_FILE_MAX) {
        step.length = SCENARIO_FILE_MAX - step.offset;
    }
    return step;
}

static void model_apply(struct scenario *scenario, const struct step *step)
{
    struct scenario_file *file = &scenario->files[step->file];
    uint32_t at = step->operation == REPLACE ? 0 : step->offset;
    switch (step->operation) {
    case TRUNCATE:
        file->size = (uint16_t)step->offset;
        return;
    case REMOVE:
        file->there = false;
        file->size = 0;
        return;
    case RENAME:
        if (step->file != step->other) {
            scenario->files[step->other] = *file;
            file->there = false;
            file->size = 0;
        }
        return;
    default:
        for (uint32_t i = 0; i < step->length; i++) {
            file->data[at + i] = content(step->fill, i);
        }
        bool longer = step->operation == REPLACE || at + step->length > file->size;
        file->size = longer ? (uint16_t)(at + step->length) : file->size;
        file->there = true;
    }
}

static int model_do(struct scenario *scenario, const struct step *step)
{
    char path[PATH], other[PATH];
    path_of(scenario, path, "f", step->file);
    switch (step->operation) {
    case TRUNCATE:
        return truncate_to(scenario, path, step->offset);
    case REMOVE:
        return remove_path(scenario, path);
    case RENAME:
        path_of(scenario, other, "f", step->other);
        return nf2_rename(scenario->fs, path, other);
    case REPLACE: {
        path_of(scenario, other, "new", 0);
        int result =
            write_at(scenario, other, NF2_O_CREAT | NF2_O_TRUNC, 0, step->length, step->fill);
        return result != NF2_OK ? result : nf2_rename(scenario->fs, other, path);
    }
    default:
        return write_at(scenario, path, NF2_O_CREAT, step->offset, step->length, step->fill);
    }
}

/* Whether `path` holds just that. */
static int compare_file(struct scenario *scenario, const char *path,
                        const struct scenario_file *file, uint32_t number)
{
    struct nf2_stat stat;
    int result = nf2_stat(scenario->fs, path, &stat);
    if (!file->there || result != NF2_OK) {
        return file->there ? fail(scenario, "file is gone", number, result)
               : result == NF2_ERR_NOENT ? NF2_OK : fail(scenario, "file is there", number, result);
    }
    if (stat.size != file->size) {
        return fail(scenario, "size of file", number, (int)stat.size);
    }
    result = nf2_open(scenario->fs, &scenario->file, path, NF2_O_RDONLY, NULL);
    for (uint32_t at = 0; at < file->size && result == NF2_OK;) {
        uint32_t piece = file->size - at < sizeof(scenario->scratch) ? file->size - at
                                                                     : sizeof(scenario->scratch);
        int32_t got = nf2_read(scenario->fs, &scenario->file, scenario->scratch, piece);
        if (got != (int32_t)piece || memcmp(scenario->scratch, file->data + at, piece) != 0) {
            result = fail(scenario, "content of file", number, got < 0 ? (int)got : WRONG);
        }
        at += piece;
    }
    int closed = nf2_close(scenario->fs, &scenario->file);
    return result != NF2_OK ? result : closed;
}

static int model_compare(struct scenario *scenario)
{
    int result = NF2_OK;
    for (uint32_t i = 0; i < SCENARIO_FILES && result == NF2_OK; i++) {
        char path[PATH];
        path_of(scenario, path, "f", i);
        result = compare_file(scenario, path, &scenario->files[i], i);
    }
    return result;
}

/* ---- LOG: the n-th step appends record n, or removes the file before ------------------------- */

static int log_do(struct scenario *scenario, uint32_t number)
{
    char path[PATH];
    if (number % LOG_ROUND == 0) {
        path_of(scenario, path, "log", number / LOG_ROUND - 1u);
        return remove_path(scenario, path);
    }
    path_of(scenario, path, "log", number / LOG_ROUND);
    return write_at(scenario, path, NF2_O_CREAT, (number % LOG_ROUND - 1u) * RECORD, RECORD,
                    number);
}

static int log_compare(struct scenario *scenario)
{
    char path[PATH];
    struct nf2_stat stat;
    uint32_t round = scenario->steps / LOG_ROUND, records = scenario->steps % LOG_ROUND;
    path_of(scenario, path, "log", round - 1u);
    if (round > 0 && nf2_stat(scenario->fs, path, &stat) != NF2_ERR_NOENT) {
        return fail(scenario, "old log is there", round - 1u, WRONG);
    }
    path_of(scenario, path, "log", round);
    int result = nf2_stat(scenario->fs, path, &stat);
    uint32_t there = result == NF2_OK ? stat.size : 0;
    if ((result != NF2_OK && result != NF2_ERR_NOENT) || there != records * RECORD) {
        return fail(scenario, "size of log", there, result);
    }
    if (records == 0) {
        return NF2_OK;
    }
    result = nf2_open(scenario->fs, &scenario->file, path, NF2_O_RDONLY, NULL);
    for (uint32_t i = 1; i <= records && result == NF2_OK; i++) {
        int32_t got = nf2_read(scenario->fs, &scenario->file, scenario->scratch, RECORD);
        for (uint32_t k = 0; k < RECORD && result == NF2_OK; k++) {
            bool good =
                got == (int32_t)RECORD && scenario->scratch[k] == content(round * LOG_ROUND + i, k);
            result = good ? NF2_OK : fail(scenario, "record", i, got < 0 ? (int)got : WRONG);
        }
    }
    int closed = nf2_close(scenario->fs, &scenario->file);
    return result != NF2_OK ? result : closed;
}

/* ---- UPDATES --------------------------------------------------------------------------------- */

static uint32_t chunk_of(const struct scenario *scenario, uint32_t number)
{
    struct pcg32 random;
    random_of(scenario, number, &random);
    return pcg32_below(&random, SCENARIO_CHUNKS);
}

static int updates_do(struct scenario *scenario, uint32_t number)
{
    char path[PATH];
    path_of(scenario, path, "big", 0);
    uint32_t chunk = chunk_of(scenario, number);
    return write_at(scenario, path, NF2_O_CREAT, chunk * CHUNK, CHUNK, number);
}

static int updates_compare(struct scenario *scenario)
{
    char path[PATH];
    uint32_t end = 0;
    path_of(scenario, path, "big", 0);
    for (uint32_t i = 0; i < SCENARIO_CHUNKS; i++) {
        end = scenario->versions[i] != 0 ? i + 1u : end;
    }
    struct nf2_stat stat = {.size = 0};
    int result = nf2_stat(scenario->fs, path, &stat);
    if ((result != NF2_OK && (result != NF2_ERR_NOENT || end != 0)) || stat.size != end * CHUNK) {
        return fail(scenario, "size of the updated file", stat.size, result);
    }
    if (end == 0) {
        return NF2_OK;
    }
    result = nf2_open(scenario->fs, &scenario->file, path, NF2_O_RDONLY, NULL);
    for (uint32_t i = 0; i < end && result == NF2_OK; i++) {
        int32_t got = nf2_read(scenario->fs, &scenario->file, scenario->scratch, CHUNK);
        for (uint32_t k = 0; k < CHUNK && result == NF2_OK; k++) {
            uint8_t expected = scenario->versions[i] != 0 ? content(scenario->versions[i], k) : 0;
            bool good = got == (int32_t)CHUNK && scenario->scratch[k] == expected;
            result = good ? NF2_OK : fail(scenario, "chunk", i, got < 0 ? (int)got : WRONG);
        }
    }
    int closed = nf2_close(scenario->fs, &scenario->file);
    return result != NF2_OK ? result : closed;
}

/* ---- all kinds ------------------------------------------------------------------------------- */

/* Advances the state by one step without the volume. */
static void advance(struct scenario *scenario)
{
    uint32_t number = ++scenario->steps;
    if (scenario->kind == SCENARIO_MODEL) {
        struct step step = model_plan(scenario, number);
        model_apply(scenario, &step);
    } else if (scenario->kind == SCENARIO_UPDATES) {
        scenario->versions[chunk_of(scenario, number)] = (uint16_t)number;
    }
}

/*
 * A round of MODEL begins with nothing: only the present one,
 * and the one before, are computed again.
 */
static void replay(struct scenario *scenario, uint32_t steps)
{
    memset(scenario->files, 0, sizeof(scenario->files));
    memset(scenario->versions, 0, sizeof(scenario->versions));
    scenario->steps = 0;
    if (scenario->kind == SCENARIO_MODEL && steps > 2u * ROUND) {
        scenario->steps = (steps / ROUND - 1u) * ROUND + SCENARIO_FILES - 1u;
    } else if (scenario->kind == SCENARIO_LOG) {
        scenario->steps = steps;
    }
    while (scenario->steps < steps) {
        advance(scenario);
    }
}

int scenario_compare(struct scenario *scenario)
{
    scenario->failed[0] = '\0';
    switch (scenario->kind) {
    case SCENARIO_MODEL:
        return model_compare(scenario);
    case SCENARIO_LOG:
        return log_compare(scenario);
    default:
        return updates_compare(scenario);
    }
}

int scenario_resume(struct scenario *scenario, uint32_t acknowledged)
{
    char path[PATH];
    path_of(scenario, path, "", 0);
    path[3] = '\0';
    int result = acknowledged == 0 ? nf2_mkdir(scenario->fs, path) : NF2_OK;
    if (result != NF2_OK && result != NF2_ERR_EXIST) {
        return fail(scenario, "mkdir", 0, result);
    }
    replay(scenario, acknowledged);
    result = scenario_compare(scenario);
    if (result != NF2_OK) {
        char first[sizeof(scenario->failed)];
        memcpy(first, scenario->failed, sizeof(first));
        advance(scenario);
        result = scenario_compare(scenario);
        if (result != NF2_OK) {
            memcpy(scenario->failed, first, sizeof(first));
            return result;
        }
    }
    path_of(scenario, path, "new", 0);
    result = remove_path(scenario, path);       /* of a replacement that was cut */
    return result == NF2_OK ? NF2_OK : fail(scenario, "remove", 0, result);
}

int scenario_step(struct scenario *scenario)
{
    int result;
    uint32_t number = scenario->steps + 1u;
    if (scenario->kind == SCENARIO_MODEL) {
        struct step step = model_plan(scenario, number);
        result = model_do(scenario, &step);
    } else if (scenario->kind == SCENARIO_LOG) {
        result = log_do(scenario, number);
    } else {
        result = number < UPDATES_ROUND ? updates_do(scenario, number) : NF2_ERR_FBIG;
    }
    if (result != NF2_OK) {
        return fail(scenario, "step", number, result);
    }
    advance(scenario);
    return NF2_OK;
}
