/* SPDX-License-Identifier: BSD-2-Clause */
/* session.c - see session.h. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "core_traits.h"

static enum rig_result wrong(struct session *session, const char *text)
{
    snprintf(session->rig.failure, sizeof session->rig.failure, "%s", text);
    return RIG_WRONG;
}

/* ---- cuts ---------------------------------------------------------------------------------------- */

void cut_add(struct call_list *list, const struct vflash_cut *cut, bool jump)
{
    char text[64];

    snprintf(text, sizeof text, "%lu,%02X,%d,%d", (unsigned long)cut->byte, cut->last_byte_mask, cut->shuffle, (int)cut->erase);
    calls_add(list, OP_CUT, jump, (int64_t)cut->operation, (uint32_t)cut->seed, text, NULL);
}

bool cut_of(const struct call *call, struct vflash_cut *cut)
{
    unsigned long byte = 0;
    unsigned mask = 0, shuffle = 0, erase = 0;

    if (call->op != OP_CUT || (call->path && sscanf(call->path, "%lu,%X,%u,%u", &byte, &mask, &shuffle, &erase) != 4)
        || erase > VFLASH_ERASE_PREFIX || mask > 0xFF || call->number < 0) {
        return false;
    }
    *cut = (struct vflash_cut){ .operation = (uint64_t)call->number, .byte = (uint32_t)byte, .last_byte_mask = (uint8_t)mask,
                                .shuffle = shuffle != 0, .erase = (enum vflash_erase_cut)erase, .seed = call->extra };
    return true;
}

static enum rig_result arm(struct session *session, const struct call *call)
{
    struct vflash_cut cut;

    if (!cut_of(call, &cut)) {
        return wrong(session, "the cut makes no sense");
    }
    session->cut = cut;
    session->rig.jump = call->handle != 0;
    vflash_cut_at(session->rig.flash, cut.operation ? &cut : NULL);
    return RIG_OK;
}

static void disarm(struct session *session)
{
    vflash_cut_at(session->rig.flash, NULL);
    vflash_fail_at(session->rig.flash, 0);
}

/* The power went in a call or in a mount. */
static void note_cut(struct session *session)
{
    struct tally *tally = session->tally;
    unsigned depth = ++session->depth;

    session->cuts++;
    tally->cuts++;
    tally->emptying += rig_emptying(&session->rig);
    tally->tears[tear_of(&session->operation, &session->cut)]++;
    tally->depth[depth < TALLY_DEPTHS ? depth : TALLY_DEPTHS - 1]++;
    tally_chip(tally, session->rig.chip->name)->cuts++;
}

/* A bad block was too much for a mount for writing: all can still be read. */
static enum rig_result close_volume(struct session *session)
{
    struct rig *rig = &session->rig;
    struct image found = { 0 };

    session->closed = true;
    session->down = false;
    session->tally->closed++;
    bool right = rig_mount(rig, NF2_MOUNT_RDONLY) && rig_image(rig, &found);
    image_free(&found);
    return right ? RIG_OK : RIG_WRONG;
}

/* What may be found after a cut in this call. */
static void go_down(struct session *session, const struct call *call)
{
    struct model *model = &session->rig.model;
    struct expect expect;

    session->down = true;
    session->depth = 0;
    model_image(model, true, &session->before);
    model_expect(model, call, &expect);
    if (expect.success && !expect.skip) {
        model_apply(model, call);
    }
    model_image(model, true, &session->after);
    if (session->rig.off) {
        note_cut(session);
    } else {
        session->tally->refused += session->rig.breaks > 0;
    }
}

/* ---- coming back --------------------------------------------------------------------------------- */

/* Mounts; for writing, and whole again: the first look-up applies a batch that the cut left committed. */
static enum rig_result power_up(struct session *session, int flags)
{
    struct rig *rig = &session->rig;
    struct vflash_counts before = *vflash_counts(rig->flash);
    struct nf2_stat stat;

    vflash_power_on(rig->flash);
    rig->off = false;
    rig->left_clean = false;
    if (rig->jump && setjmp(rig->at_cut)) {
        return RIG_CUT;
    }
    uint64_t failed = vflash_failed(rig->flash);
    bool right = rig_mount(rig, flags);
    bool gave_up = !rig->mounted && rig->mount_answer == NF2_ERR_IO;
    if (right && !rig->off && flags == NF2_MOUNT_RDWR) {
        (void)tally_mount(session->tally, rig->chip->name, &before, vflash_counts(rig->flash));
        int status = nf2_stat(&rig->fs, "/", &stat);
        gave_up = status == NF2_ERR_IO;
        if (status == NF2_ERR_IO && !rig->off && rig->breaks && core_broken(&rig->fs)) { /* no block was at hand for a bad one: nothing is written any more, all is read */
            session->tally->refused++;
            status = nf2_stat(&rig->fs, "/", &stat);
        }
        if (status != NF2_OK && !rig->off && vflash_failed(rig->flash) == failed) {
            return wrong(session, "the first call after a mount failed");
        }
    }
    vflash_fail_at(rig->flash, 0);
    if (rig->off) {
        return RIG_CUT;
    }
    return gave_up && vflash_failed(rig->flash) != failed ? RIG_FAILED : right ? RIG_OK : RIG_WRONG;
}

static enum rig_result judge_found(struct session *session, const struct image *found, bool counts)
{
    char before[200], after[200];
    bool as_before = image_matches(found, &session->before, before, sizeof before);
    bool as_after = image_matches(found, &session->after, after, sizeof after);

    if (!as_before && !as_after) {
        snprintf(session->rig.failure, sizeof session->rig.failure, "neither as before (%s) nor as after (%s)", before, after);
        return RIG_WRONG;
    }
    session->tally->found[as_before && as_after ? FOUND_SAME : as_before ? FOUND_BEFORE : FOUND_AFTER] += counts;
    return RIG_OK;
}

/* A read-only mount programs nothing, can read all, and shows all of what was cut or nothing. */
static enum rig_result look(struct session *session)
{
    struct rig *rig = &session->rig;
    struct image found = { 0 };
    uint64_t before = vflash_operations(rig->flash);
    enum rig_result result = power_up(session, NF2_MOUNT_RDONLY);

    session->tally->looks++;
    if (result == RIG_FAILED) {
        session->tally->errors++;
        return RIG_OK;
    }
    if (result == RIG_OK && (!rig_image(rig, &found) || !rig_check(rig))) {
        result = RIG_WRONG;
    }
    result = result == RIG_OK ? judge_found(session, &found, false) : result;
    image_free(&found);
    if (result == RIG_OK && (nf2_unmount(&rig->fs) != NF2_OK || vflash_operations(rig->flash) != before)) {
        return wrong(session, "a read-only mount programmed or did not unmount");
    }
    return result;
}

/* The model becomes what was found. */
static void adopt(struct session *session, const struct image *found)
{
    struct rig *rig = &session->rig;
    bool short_pieces = rig->model.short_pieces;

    model_free(&rig->model);
    model_init(&rig->model, rig->chip->page_size, rig->chip->block_size);
    rig->model.short_pieces = short_pieces;
    model_from_image(&rig->model, found);
    image_free(&session->before);
    image_free(&session->after);
    session->down = false;
    session->depth = 0;
}

/* The call answered rightly, and yet the driver failed in what it did aside: the volume takes no changes, the next call mounts. */
static enum rig_result broken_aside(struct session *session)
{
    struct rig *rig = &session->rig;

    disarm(session);
    session->tally->broken++;
    model_image(&rig->model, true, &session->before);
    model_image(&rig->model, true, &session->after);
    session->down = true;
    session->depth = 0;
    if (session->unmounts) {
        (void)nf2_unmount(&rig->fs);
    }
    return RIG_OK;
}

static enum rig_result come_up(struct session *session)
{
    struct rig *rig = &session->rig;
    struct image found = { 0 };
    enum rig_result result = power_up(session, NF2_MOUNT_RDWR);

    if (result == RIG_CUT) {
        vflash_fail_at(rig->flash, 0);
        note_cut(session);
        return RIG_OK;
    }
    if (result == RIG_FAILED) { /* it is still down */
        session->tally->errors++;
        return RIG_OK;
    }
    if (result == RIG_WRONG && !rig->mounted && rig->breaks && core_broken(&rig->fs)) {
        return close_volume(session);
    }
    if (result == RIG_OK) {
        result = rig_image(rig, &found) ? judge_found(session, &found, true) : RIG_WRONG;
    }
    if (result == RIG_OK) {
        adopt(session, &found);
        result = session->quick || rig_check(rig) ? RIG_OK : RIG_WRONG;
    }
    image_free(&found);
    /* A change that the mount found committed is applied by the first look. */
    return result == RIG_OK && !rig->breaks && core_broken(&rig->fs) ? broken_aside(session) : result;
}

/* ---- a driver that fails ------------------------------------------------------------------------- */

/* Is the tree that of this model? It becomes the session's. */
static bool stands(struct session *session, const struct model *model)
{
    model_free(&session->rig.model);
    model_copy(&session->rig.model, model);
    return rig_verify(&session->rig);
}

/* What the call leaves where it is done, and where it is not; `closed`: the answer of the handle's close behind it. */
static void lead_on(const struct model *model, const struct call *call, int closed, struct model *as_before, struct model *as_after)
{
    const struct call close = { .op = OP_CLOSE, .handle = call->handle };
    bool unsynced = call->op == OP_TRUNCATE || call->op == OP_PREALLOCATE || (call->op == OP_WRITE && !(model->handle[call->handle].flags & NF2_O_SYNC));
    struct expect expect;

    model_copy(as_before, model);
    model_copy(as_after, model);
    model_expect(as_after, call, &expect);
    if (expect.success && !expect.skip && !unsynced) {
        model_apply(as_after, call);
    } else {
        model_failed(as_after, call, NF2_ERR_IO);
    }
    model_failed(as_before, call, NF2_ERR_IO);
    for (unsigned i = 0; i < 2 && (closed <= 0 || call->op == OP_OPEN); i++) {
        struct model *to = i == 0 ? as_before : as_after;

        if (closed == NF2_OK) {
            model_apply(to, &close);
        } else if (to->handle[call->handle].open) {
            model_failed(to, &close, NF2_ERR_IO);
        }
    }
}

#define NOT_CLOSED 1

/*
 * The driver failed in a call that said so. Without another mount all can be read, and the tree is as before or as after the call; where
 * the volume still takes changes, all goes on with that, else the next call mounts. A handle that is half way is closed.
 */
static enum rig_result driver_failed(struct session *session, const struct call *call)
{
    struct rig *rig = &session->rig;
    bool writes = call->op == OP_WRITE || call->op == OP_TRUNCATE || call->op == OP_PREALLOCATE || call->op == OP_SYNC;
    struct model as_before, as_after;
    char text[200], other[200];

    disarm(session);
    session->tally->errors++;
    if (call->op == OP_UNMOUNT || call->op == OP_ABANDON) {
        go_down(session, call);
        return RIG_OK;
    }
    int closed = writes ? nf2_close(&rig->fs, &rig->file[call->handle]) : NOT_CLOSED;
    if (closed != NF2_OK && closed != NOT_CLOSED && closed != NF2_ERR_IO && closed != NF2_ERR_NOSPC) {
        return wrong(session, "the close after a call that failed");
    }
    bool broken = core_broken(&rig->fs);
    lead_on(&rig->model, call, closed, &as_before, &as_after);
    if (broken) {
        session->tally->broken++;
        model_image(&as_before, true, &session->before);
        model_image(&as_after, true, &session->after);
    }
    bool right = stands(session, &as_before);
    if (!right) {
        snprintf(text, sizeof text, "%.190s", rig->failure);
        right = stands(session, &as_after);
        if (!right) {
            snprintf(other, sizeof other, "%.190s", rig->failure);
            snprintf(rig->failure, sizeof rig->failure, "the driver failed: neither as before (%s) nor as after (%s)", text, other);
        }
    }
    model_free(&as_before);
    model_free(&as_after);
    if (right && broken) {
        session->down = true;
        session->depth = 0;
        if (session->unmounts) {
            (void)nf2_unmount(&rig->fs);
        }
    }
    return right && (broken || session->quick || rig_check(rig)) ? RIG_OK : RIG_WRONG;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static enum rig_result empty(struct session *session)
{
    struct call call = { .op = OP_UNMOUNT };

    disarm(session);
    session->tally->emptied++;
    bool right = rig_call(&session->rig, &call) == RIG_OK && rig_empty(&session->rig);
    session->closed = !right && session->rig.breaks && core_broken(&session->rig.fs);  /* a bad block was too much */
    session->tally->refused += session->closed;
    return right || session->closed ? RIG_OK : RIG_WRONG;
}

enum rig_result session_call(struct session *session, const struct call *call)
{
    enum rig_result result;

    if (session->closed) {
        return RIG_OK;
    }
    if (call->op == OP_CUT) {
        return arm(session, call);
    }
    if (call->op == OP_BREAK) {
        vflash_break_at(session->rig.flash, (uint64_t)call->number, call->handle != 0);
        session->rig.breaks += call->number != 0;
        session->tally->breaks += call->number != 0;
        return RIG_OK;
    }
    if (call->op == OP_FAIL) {
        vflash_fail_from(session->rig.flash, (uint64_t)call->number, 1u + (uint64_t)call->extra);
        session->unmounts = call->handle != 0;
        return RIG_OK;
    }
    if (call->op == OP_LOOK) {
        return session->down ? look(session) : RIG_OK;
    }
    if (session->down) {
        result = come_up(session);
        if (result != RIG_OK || session->down) {
            return result;
        }
    }
    if (call->op == OP_MOUNT) {
        return RIG_OK;
    }
    session->tally->calls++;
    if (call->op == OP_EMPTY) {
        return empty(session);
    }
    result = rig_call(&session->rig, call);
    if (result == RIG_CUT) {
        go_down(session, call);
        return RIG_OK;
    }
    if (result == RIG_OK && session->rig.mounted && !session->rig.breaks && core_broken(&session->rig.fs)) {
        return broken_aside(session);
    }
    return result == RIG_FAILED ? driver_failed(session, call) : result;
}

/* ---- set-up -------------------------------------------------------------------------------------- */

static void on_operation(void *context, const struct vflash_operation *operation)
{
    struct session *session = context;

    session->operation = *operation;
    if (session->watch) {
        session->watch(session->watch_context, operation);
    }
}

bool session_init(struct session *session, struct tally *tally, const struct vflash_chip *chip, int format_flags)
{
    memset(session, 0, sizeof *session);
    session->tally = tally;
    tally->histories++;
    bool right = rig_init(&session->rig, chip, format_flags);
    if (session->rig.flash) {
        vflash_watch(session->rig.flash, on_operation, session);
        disarm(session);
    }
    return right;
}

void session_forget(struct session *session)
{
    image_free(&session->before);
    image_free(&session->after);
    session->down = session->closed = session->rig.off = session->rig.jump = false;
    session->depth = 0;
}

void session_free(struct session *session)
{
    image_free(&session->before);
    image_free(&session->after);
    rig_free(&session->rig);
}
