/* SPDX-License-Identifier: BSD-2-Clause */
/* repair.c - the library's front: opening, what was found, and texts. */
#include <stdarg.h>
#include <stdio.h>

#include "inside.h"

#define FINDINGS_MOST 10000u
#define FINDING_LONGEST 256u

/* ---- findings and notes ---------------------------------------------------------------------- */

struct finding *rep_find(struct repair *r, enum repair_kind kind, uint32_t block, uint32_t offset,
                         uint32_t number, uint32_t id, const char *text, ...)
{
    va_list list;

    r->wrong += !r->quiet && repair_kind_wrong(kind);
    if (r->quiet || r->findings.count >= FINDINGS_MOST) {
        return &r->unkept;
    }
    char *line = rep_take(r, FINDING_LONGEST);
    va_start(list, text);
    (void)vsnprintf(line, FINDING_LONGEST, text, list);
    va_end(list);
    REP_ADD(r, &r->findings, (struct finding){.out = {.kind = kind, .block = block,
            .offset = offset, .number = number, .id = id, .text = line}});
    return &r->findings.list[r->findings.count - 1];
}

/* An unfinished write: a power cut leaves one in a session, so that of two one is damage. */
static void check_session(struct repair *r, const struct rep_log *log)
{
    uint32_t *first = &r->torn[log->bad_epoch & 0xFFFu], block = log->block;

    if (r->quiet || log->bad_epoch != rep_epoch_code(log->bad_epoch) ||
        rep_on_record(r, block, REP_BAD)) {
        return; /* a write that failed for good */
    }
    *first = *first == 0 ? block + 1 : *first;
    if (*first != block + 1) {
        rep_find(r, REPAIR_RECORD, block, log->first_torn, *first - 1, 0,
                 "An unfinished write is here, and one of the same session in block %u. A power "
                 "cut leaves one: the other is damage.", *first - 1);
        r->lossy = true;
    }
}

/* Of the kinds that are about a log: what is damaged of it, or not written to its end. */
static const struct {
    const char *what, *part;
} log_texts[REPAIR_KINDS] = {
    [REPAIR_ANCHOR] = {"This super block is", "An anchor"},
    [REPAIR_LOG] = {"The root log is", "A record of the root log"},
    [REPAIR_RECORD] = {"Records of this node are", "A change"},
    [REPAIR_FRAMES] = {"Frames of this block are", "A frame"},
};

void rep_log_report(struct repair *r, const struct rep_log *log, enum repair_kind kind, uint32_t id,
                    uint32_t damage)
{
    if (log->mended_heads > 0) {
        rep_find(r, REPAIR_MENDED, log->block, 0, log->mended_heads, id,
                 "One bit of a page's epoch is wrong.");
    }
    if (damage != 0) {
        rep_find(r, kind, log->block, damage, log->torns, id,
                 "%s damaged: no power cut leaves what is here.", log_texts[kind].what);
    } else if (log->torns > 0) {
        rep_find(r, REPAIR_UNFINISHED, log->block, log->first_torn, log->torns, id,
                 "%s was not written to its end.", log_texts[kind].part);
        if (kind != REPAIR_ANCHOR && kind != REPAIR_LOG) {
            check_session(r, log);
        }
    }
}

/* Keys become texts, when the names are known. */
static void write_names(struct repair *r)
{
    for (size_t i = 0; i < r->findings.count; i++) {
        struct finding *one = &r->findings.list[i];
        const struct rep_range *keys = &one->keys;
        bool ends = rep_key_compare(&keys->below, &rep_all_keys.below) != 0;
        one->out.from = one->named ? rep_key_text(r, &keys->from) : NULL;
        one->out.to = one->named && ends ? rep_key_text(r, &keys->below) : NULL;
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool power_of_two(uint32_t value, uint32_t low, uint32_t high)
{
    return value >= low && value <= high && (value & (value - 1)) == 0;
}

static bool set_geometry(struct repair *r, const uint8_t *bytes, const struct repair_geometry *g)
{
    if (!power_of_two(g->block_size, 4096, 65536) ||
        !power_of_two(g->program_unit, 1, 32) ||
        g->size / g->block_size < NF2_BLOCKS_MIN || g->size / g->block_size > 65536) {
        return false;
    }
    r->bytes = bytes;
    r->block_size = g->block_size;
    r->unit = g->program_unit;
    r->blocks = g->size / g->block_size;
    r->log_bytes = rep_min(NF2_LOG_BYTES_MAX, g->block_size);
    r->use = rep_take(r, r->blocks);
    r->record = rep_take(r, r->blocks);
    return true;
}

static void summarize(struct repair *r)
{
    r->summary.names_lost = r->summary.names_lost || !r->summary.log_read || r->older;
    r->lossy = r->lossy || r->summary.names_lost;
    if (r->older) {
        rep_find(r, REPAIR_OLDER, REP_NONE, 0, 0, 0, "The tree is of an older state than what is "
                 "on record: files may be older, or missing.");
    }
    if (r->state.record != NULL) {
        r->summary.unclean_mounts = rep_state16(&r->state, NF2_STATE_UNCLEAN);
        r->summary.erases = rep_state32(&r->state, NF2_STATE_ERASES);
        r->summary.bad_blocks += rep_state_bads(&r->state);
    }
    write_names(r);
}

static struct repair *open_once(const uint8_t *bytes, const struct repair_geometry *geometry,
                                bool doubted)
{
    struct repair *r = calloc(1, sizeof *r);

    if (r == NULL) {
        abort();
    }
    r->doubted = r->older = doubted;
    if (set_geometry(r, bytes, geometry) && rep_root_find(r)) {
        rep_space_load(r);
        rep_tree_read(r);
        rep_group_apply(r);
        rep_names_find(r);
        rep_space_check(r);
        summarize(r);
        if (r->state.record != NULL || r->entries.count > 0) {
            return r;
        }
    }
    repair_close(r);
    return NULL;
}

/*
 * Where the tree is of an older state than what is on record, something newer is damaged that looks
 * like a write that was cut: then none of these counts as one.
 */
struct repair *repair_open(const uint8_t *bytes, const struct repair_geometry *geometry)
{
    struct repair *r = open_once(bytes, geometry, false);

    if (r != NULL && r->older && !r->never_cut) {
        repair_close(r);
        r = open_once(bytes, geometry, true);
    }
    return r;
}

void repair_close(struct repair *r)
{
    if (r == NULL) {
        return;
    }
    for (struct rep_memory *next; r->memory != NULL; r->memory = next) {
        next = r->memory->next;
        free(r->memory);
    }
    free(r);
}

/* ---- what was found -------------------------------------------------------------------------- */

bool repair_kind_wrong(enum repair_kind kind) { return kind < REPAIR_UNFINISHED; }
unsigned repair_findings(const struct repair *r) { return (unsigned)r->findings.count; }
unsigned repair_wrong(const struct repair *r) { return r->wrong; }
unsigned repair_count(const struct repair *r) { return (unsigned)r->items.count; }
bool repair_lossy(const struct repair *r) { return r->lossy || r->left_out; }
bool repair_clean(const struct repair *r) { return r->state.clean && r->summary.log_read; }
const struct repair_summary *repair_summary(const struct repair *r) { return &r->summary; }
const struct repair_finding *repair_finding(const struct repair *r, unsigned number)
{
    return &r->findings.list[number].out;
}
const struct repair_item *repair_item(const struct repair *r, unsigned number)
{
    return &r->items.list[number].out;
}
enum repair_use repair_block_use(const struct repair *r, uint32_t block)
{
    return block < r->blocks ? (enum repair_use)r->use[block] : REPAIR_USE_NONE;
}

const char *repair_path_of(const struct repair *r, uint32_t id)
{
    const struct item *item = rep_item_of(r, id);
    return id == NF2_ROOT_ID ? "" : item == NULL ? NULL : item->out.path;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *const use_texts[REPAIR_USES] = {
    "nothing", "super block", "root log", "the root log's next block", "inner node", "leaf", "data",
    "frames", "set aside", "bad"};

static const char *const state_texts[REPAIR_STATES] = {
    "whole",
    "whole as far as can be told",
    "doubtful: may be older than it was, or removed",
    "whole, its name is lost",
    "older than it was, or removed: from a part that was given up",
    "damaged",
    "lost",
};

const char *repair_use_text(enum repair_use use) { return use_texts[use]; }
const char *repair_state_text(enum repair_state state) { return state_texts[state]; }
