/* SPDX-License-Identifier: BSD-2-Clause */
/* explore.c - see explore.h. */
#include "explore.h"

#include "core_traits.h"

#include <stdlib.h>
#include <string.h>

struct snapshot {
    struct vflash_checkpoint *chip;
    nf2_t fs;
    nf2_file_t file[MODEL_HANDLES];
    nf2_dir_t dir[MODEL_LISTS];
    uint8_t *memory;                /* page buffers, then the volume's buffer */
    struct model model;
    bool left_clean, mounted;
    unsigned calls;                 /* of the list */
    unsigned breaks;
};

static uint32_t pick(struct explorer *explorer, uint32_t below)
{
    return random_number(&explorer->random, below);
}

/* ---- states -------------------------------------------------------------------------------------- */

struct snapshot *explorer_take(const struct explorer *explorer)
{
    const struct rig *rig = &explorer->session.rig;
    uint32_t page = rig->chip->page_size;
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);

    if (snapshot) {
        snapshot->chip = vflash_save(rig->flash);
        snapshot->memory = malloc(MODEL_HANDLES * page + rig->config.buffer_size);
    }
    if (!snapshot || !snapshot->chip || !snapshot->memory) {
        abort();
    }
    snapshot->fs = rig->fs;
    memcpy(snapshot->file, rig->file, sizeof rig->file);
    memcpy(snapshot->dir, rig->dir, sizeof rig->dir);
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        memcpy(snapshot->memory + i * page, rig->page[i], page);
    }
    memcpy(snapshot->memory + MODEL_HANDLES * page, rig->config.buffer, rig->config.buffer_size);
    model_copy(&snapshot->model, &rig->model);
    snapshot->left_clean = rig->left_clean;
    snapshot->mounted = rig->mounted;
    snapshot->calls = explorer->list.count;
    snapshot->breaks = rig->breaks;
    return snapshot;
}

void explorer_back(struct explorer *explorer, const struct snapshot *snapshot)
{
    struct rig *rig = &explorer->session.rig;
    uint32_t page = rig->chip->page_size;

    session_forget(&explorer->session);
    vflash_restore(rig->flash, snapshot->chip);
    vflash_cut_at(rig->flash, NULL);
    rig->fs = snapshot->fs;
    memcpy(rig->file, snapshot->file, sizeof rig->file);
    memcpy(rig->dir, snapshot->dir, sizeof rig->dir);
    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        memcpy(rig->page[i], snapshot->memory + i * page, page);
    }
    memcpy(rig->config.buffer, snapshot->memory + MODEL_HANDLES * page, rig->config.buffer_size);
    model_free(&rig->model);
    model_copy(&rig->model, &snapshot->model);
    rig->left_clean = snapshot->left_clean;
    rig->mounted = snapshot->mounted;
    rig->breaks = snapshot->breaks;
    calls_cut(&explorer->list, snapshot->calls);
}

void explorer_release(struct snapshot *snapshot)
{
    vflash_release(snapshot->chip);
    model_free(&snapshot->model);
    free(snapshot->memory);
    free(snapshot);
}

/* ---- calls --------------------------------------------------------------------------------------- */

static bool report(struct explorer *explorer)
{
    explorer->session.tally->failures++;
    if (!explorer->failed(explorer->context, explorer)) {
        explorer->stopped = true;
    }
    return false;
}

/* Makes the last call of the list. */
static bool do_last(struct explorer *explorer)
{
    return session_call(&explorer->session, &explorer->list.call[explorer->list.count - 1]) == RIG_OK || report(explorer);
}

bool explorer_do(struct explorer *explorer, const struct call *call)
{
    calls_add_copy(&explorer->list, call);
    return do_last(explorer);
}

static bool do_op(struct explorer *explorer, enum op op)
{
    struct call call = { .op = op };

    return explorer_do(explorer, &call);
}

bool explorer_begin(struct explorer *explorer, struct tally *tally, const struct vflash_chip *chip, int format_flags, uint64_t seed)
{
    explorer->chip = chip;
    explorer->format_flags = format_flags;
    explorer->random = seed;
    explorer->stopped = false;
    return session_init(&explorer->session, tally, chip, format_flags) || report(explorer);
}

void explorer_free(struct explorer *explorer)
{
    session_free(&explorer->session);
    calls_free(&explorer->list);
    free(explorer->length);
    explorer->length = NULL;
    explorer->room = explorer->operations = 0;
}

/* ---- which cuts there are ------------------------------------------------------------------------ */

/* Erases: each outcome, those with a seed or a place several times. */
static const enum vflash_erase_cut erase_cuts[] = {
    VFLASH_ERASE_UNTOUCHED, VFLASH_ERASE_DONE, VFLASH_ERASE_WEAK, VFLASH_ERASE_WEAK, VFLASH_ERASE_UNSTABLE, VFLASH_ERASE_UNSTABLE,
    VFLASH_ERASE_PARTLY, VFLASH_ERASE_PARTLY, VFLASH_ERASE_PARTLY, VFLASH_ERASE_PARTLY,
    VFLASH_ERASE_PREFIX, VFLASH_ERASE_PREFIX, VFLASH_ERASE_PREFIX
};
#define ERASE_CUTS ((unsigned)(sizeof erase_cuts / sizeof erase_cuts[0]))
#define PROGRAM_CUTS 13u            /* besides each prefix: done, six torn in the middle of a byte, six in another order */

static unsigned variants(uint32_t length)
{
    return length ? length + PROGRAM_CUTS : ERASE_CUTS;
}

static struct vflash_cut make_cut(struct explorer *explorer, uint64_t operation, uint32_t length, unsigned variant)
{
    struct vflash_cut cut = { .operation = operation, .seed = pick(explorer, UINT32_MAX) };

    if (length == 0) {
        cut.erase = erase_cuts[variant];
        cut.byte = pick(explorer, explorer->chip->block_size);
        cut.last_byte_mask = (uint8_t)pick(explorer, 256);
        return cut;
    }
    cut.erase = (enum vflash_erase_cut)pick(explorer, VFLASH_ERASE_PREFIX + 1);
    cut.byte = variant < length ? variant : variant == length ? UINT32_MAX : pick(explorer, length);
    if (variant > length) {
        cut.last_byte_mask = (uint8_t)pick(explorer, 256);
        cut.shuffle = variant > length + PROGRAM_CUTS / 2;
    }
    return cut;
}

/* A cut whose operation is not known yet. */
static struct vflash_cut any_cut(struct explorer *explorer, uint64_t operation)
{
    uint32_t page = explorer->chip->page_size, kind = pick(explorer, 10);
    uint32_t length = kind < 3 ? 1 + pick(explorer, 40) : kind < 6 ? 1 + pick(explorer, page) : page;
    unsigned variant = pick(explorer, 3) == 0 ? pick(explorer, length) : length + pick(explorer, PROGRAM_CUTS);

    return make_cut(explorer, operation, length, variant);
}

bool explorer_arm(struct explorer *explorer, uint32_t within)
{
    struct vflash_cut cut = any_cut(explorer, within ? 1 + pick(explorer, within) : 0);

    cut_add(&explorer->list, &cut, pick(explorer, 2) == 0);
    return do_last(explorer);
}

/* The block that this operation hits breaks. */
static bool break_at(struct explorer *explorer, unsigned operation)
{
    struct call call = { .op = OP_BREAK, .number = operation };

    return explorer_do(explorer, &call);
}

/* In the next call, this call of the driver fails; now and then some more, or all behind it. */
static bool fail_at(struct explorer *explorer, uint32_t driver_call)
{
    uint32_t kind = pick(explorer, 6), more = kind == 0 ? UINT32_MAX : kind == 1 ? 1 + pick(explorer, 4) : 0;
    struct call call = { .op = OP_FAIL, .handle = (int)pick(explorer, 2), .number = driver_call, .extra = more };

    return explorer_do(explorer, &call);
}

/* One of the first few, now and then one of many. */
static bool fail_somewhere(struct explorer *explorer)
{
    return fail_at(explorer, 1 + pick(explorer, 1u << (2 + pick(explorer, 8))));
}

/* ---- after a cut --------------------------------------------------------------------------------- */

bool explorer_come_back(struct explorer *explorer)
{
    const struct session *session = &explorer->session;

    while (session->down) {
        bool again = session->depth < explorer->deepest && pick(explorer, 100) < 60;

        if (explorer->fails_in && pick(explorer, 4) == 0 && !fail_somewhere(explorer)) {
            return false;
        }
        if ((pick(explorer, 5) == 0 && !do_op(explorer, OP_LOOK)) || !explorer_arm(explorer, again ? 4 : 0) || !do_op(explorer, OP_MOUNT)) {
            return false;
        }
    }
    return true;
}

bool explorer_go_on(struct explorer *explorer, unsigned calls, unsigned cuts)
{
    struct session *session = &explorer->session;
    struct rig *rig = &session->rig;
    struct generator generator;
    struct call_list list = { 0 };
    unsigned next_cut = cuts ? pick(explorer, calls / cuts + 1) : calls;
    bool right = true;

    generator_init(&generator, pick(explorer, UINT32_MAX), (enum profile)pick(explorer, PROFILE_COUNT), rig->capacity,
                   rig->chip->page_size, rig->chip->block_size);
    for (unsigned i = 0; i < calls && right; i++) {
        if (i == list.count) {
            generator_next(&generator, &rig->model, &list);
        }
        if (explorer->breaks_in && pick(explorer, explorer->breaks_in) == 0) {
            right = break_at(explorer, 1 + pick(explorer, 12));
        }
        if (right && explorer->fails_in && pick(explorer, explorer->fails_in) == 0) {
            right = fail_somewhere(explorer);
        }
        if (right && i == next_cut) {
            next_cut += 1 + pick(explorer, 2 * (calls / cuts) + 1);
            right = explorer_arm(explorer, 12);
        }
        right = right && explorer_do(explorer, &list.call[i]) && explorer_come_back(explorer);
        if (right && rig->answer == NF2_ERR_NOSPC) {
            generator_full(&generator);
        }
    }
    calls_free(&list);
    return right;
}

bool explorer_end(struct explorer *explorer, unsigned empty_in)
{
    return explorer_arm(explorer, 0) && do_op(explorer, OP_UNMOUNT) && do_op(explorer, OP_VERIFY) && do_op(explorer, OP_CHECK)
           && (pick(explorer, empty_in) != 0 || do_op(explorer, OP_EMPTY));
}

/* ---- all cuts of a call -------------------------------------------------------------------------- */

static void note_length(void *context, const struct vflash_operation *operation)
{
    struct explorer *explorer = context;

    if (explorer->operations == explorer->room) {
        explorer->room = explorer->room ? 2 * explorer->room : 256;
        explorer->length = realloc(explorer->length, explorer->room * sizeof *explorer->length);
        if (!explorer->length) {
            abort();
        }
    }
    explorer->length[explorer->operations++] = operation->erase ? 0 : operation->length;
}

/* From the state before the call: the cut, the call, what follows. */
static void one_cut(struct explorer *explorer, const struct call *call, const struct vflash_cut *cut)
{
    struct session *session = &explorer->session;

    cut_add(&explorer->list, cut, pick(explorer, 2) == 0);
    if (!do_last(explorer) || !explorer_do(explorer, call)) {
        return;
    }
    if (!session->down) {
        snprintf(session->rig.failure, sizeof session->rig.failure, "the call did not get to operation %lu again",
                 (unsigned long)cut->operation);
        (void)report(explorer);
        return;
    }
    if (explorer_come_back(explorer) && explorer_go_on(explorer, 12, pick(explorer, 3) == 0)) {
        (void)explorer_end(explorer, 12);
    }
}

/* Power goes behind the call: what it did is durable. */
static void cut_behind(struct explorer *explorer, const struct call *call)
{
    struct call abandon = { .op = OP_ABANDON };

    if (explorer_do(explorer, call) && explorer_arm(explorer, explorer->deepest > 1 && pick(explorer, 2) ? 4 : 0) && explorer_do(explorer, &abandon)
        && explorer_come_back(explorer) && do_op(explorer, OP_VERIFY) && do_op(explorer, OP_CHECK)
        && explorer_go_on(explorer, 6, 0)) {
        (void)explorer_end(explorer, 12);
    }
}

/* How many of a number of cuts are made. */
static unsigned share(struct explorer *explorer, unsigned all)
{
    double wanted = explorer->cuts_an_operation;
    unsigned whole = (unsigned)wanted;

    if (wanted <= 0 || wanted >= all) {
        return all;
    }
    return whole + (pick(explorer, 1000000) < (wanted - whole) * 1000000);
}

/* The cuts of one operation. */
static void cut_operation(struct explorer *explorer, const struct snapshot *start, const struct call *call, unsigned operation, uint32_t length)
{
    unsigned all = variants(length), made = share(explorer, all);

    for (unsigned i = 0; i < made && !explorer->stopped; i++) {
        struct vflash_cut cut = make_cut(explorer, operation, length, made == all ? i : pick(explorer, all));

        explorer->session.tally->histories++;
        explorer_back(explorer, start);
        one_cut(explorer, call, &cut);
    }
}

/* The block that the operation at hand hits. */
static void note_block(void *context, const struct vflash_operation *operation)
{
    struct explorer *explorer = context;

    if (explorer->operations > 0 && --explorer->operations == 0) {
        explorer->hit = operation->address / explorer->chip->block_size;
    }
}

/* Makes the call, in which this operation hits a block that is broken: that one is counted as bad from now on. */
static bool call_meets_break(struct explorer *explorer, const struct call *call, unsigned operation)
{
    struct session *session = &explorer->session;
    struct nf2_statfs stat;

    explorer->hit = 0;
    explorer->operations = operation;
    session->watch = note_block;
    session->watch_context = explorer;
    bool right = explorer_do(explorer, call);
    session->watch = NULL;
    if (!right || session->closed || session->down || explorer->hit < CORE_BAD_COUNTED_FROM || nf2_statfs(&session->rig.fs, &stat) != NF2_OK
        || stat.blocks_bad > 0) {
        return right;
    }
    snprintf(session->rig.failure, sizeof session->rig.failure, "block %u failed and is not counted as bad", (unsigned)explorer->hit);
    return report(explorer);
}

/* From the state before the call: a block breaks, the call, what follows. */
static void one_break(struct explorer *explorer, const struct call *call, unsigned operation)
{
    struct call none = { .op = OP_BREAK };

    if (break_at(explorer, operation) && call_meets_break(explorer, call, operation) && explorer_come_back(explorer) && explorer_do(explorer, &none)
        && explorer_go_on(explorer, 12, pick(explorer, 3) == 0)) {
        (void)explorer_end(explorer, 12);
    }
}

bool explorer_break_call(struct explorer *explorer, const struct call *call)
{
    struct session *session = &explorer->session;
    struct snapshot *start = explorer_take(explorer), *end;

    explorer->operations = 0;
    session->watch = note_length;
    session->watch_context = explorer;
    bool right = explorer_do(explorer, call);
    session->watch = NULL;
    unsigned operations = explorer->operations;
    end = explorer_take(explorer);
    for (unsigned i = 0; right && i < operations && !explorer->stopped; i++) {
        session->tally->histories++;
        explorer_back(explorer, start);
        one_break(explorer, call, i + 1);
    }
    explorer_back(explorer, start);     /* and on, with the list as it was made */
    explorer_back(explorer, end);
    calls_add_copy(&explorer->list, call);
    explorer_release(start);
    explorer_release(end);
    return right && !explorer->stopped;
}

static uint64_t driver_calls(const struct explorer *explorer)
{
    const struct vflash_counts *counts = vflash_counts(explorer->session.rig.flash);

    return counts->read_calls + counts->program_calls + counts->erases[0] + counts->erases[1] + counts->erases[2];
}

/* From the state before the call: the driver fails, the call, what follows. */
static void one_error(struct explorer *explorer, const struct call *call, uint32_t driver_call)
{
    if (fail_at(explorer, driver_call) && explorer_do(explorer, call) && explorer_come_back(explorer) && explorer_go_on(explorer, 12, pick(explorer, 3) == 0)) {
        (void)explorer_end(explorer, 12);
    }
}

/* Which calls of the driver are programs and erases, in place of their lengths. */
static void note_number(void *context, const struct vflash_operation *operation)
{
    struct explorer *explorer = context;

    note_length(context, operation);
    explorer->length[explorer->operations - 1] = (uint32_t)(driver_calls(explorer) - explorer->calls_before) + 1;
}

bool explorer_fail_call(struct explorer *explorer, const struct call *call, unsigned most)
{
    struct snapshot *start = explorer_take(explorer), *end;
    uint64_t before = driver_calls(explorer);

    explorer->operations = 0;
    explorer->calls_before = before;
    explorer->session.watch = note_number;
    explorer->session.watch_context = explorer;
    bool right = explorer_do(explorer, call);
    explorer->session.watch = NULL;
    uint32_t made = (uint32_t)(driver_calls(explorer) - before), count = most && most < made ? most : made;
    end = explorer_take(explorer);
    for (uint32_t i = 0; right && i < count && !explorer->stopped; i++) {
        explorer->session.tally->histories++;
        explorer_back(explorer, start);
        bool writes = i % 2 != 0 && explorer->operations > 0;   /* there are many more reads */
        one_error(explorer, call, count == made ? 1 + i : writes ? explorer->length[pick(explorer, explorer->operations)] : 1 + pick(explorer, made));
    }
    explorer_back(explorer, start);     /* and on, with the list as it was made */
    explorer_back(explorer, end);
    calls_add_copy(&explorer->list, call);
    explorer_release(start);
    explorer_release(end);
    return right && !explorer->stopped;
}

bool explorer_cut_call(struct explorer *explorer, const struct call *call)
{
    struct session *session = &explorer->session;
    struct snapshot *start = explorer_take(explorer), *end;
    unsigned operations;

    explorer->operations = 0;
    session->watch = note_length;
    session->watch_context = explorer;
    bool right = explorer_do(explorer, call);
    session->watch = NULL;
    operations = explorer->operations;
    end = explorer_take(explorer);
    for (unsigned i = 0; right && i < operations && !explorer->stopped; i++) {
        cut_operation(explorer, start, call, i + 1, explorer->length[i]);
    }
    if (right && operations && !explorer->stopped && share(explorer, 4)) {
        session->tally->histories++;
        explorer_back(explorer, start);
        cut_behind(explorer, call);
    }
    explorer_back(explorer, start);     /* and on, with the list as it was made */
    explorer_back(explorer, end);
    calls_add_copy(&explorer->list, call);
    explorer_release(start);
    explorer_release(end);
    return right && !explorer->stopped;
}
