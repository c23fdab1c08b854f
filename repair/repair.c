/* SPDX-License-Identifier: BSD-2-Clause */
/* repair.c - the library's front: opening, what was found, and texts. */
#include <stdarg.h>
#include <stdio.h>

#include "inside.h"

#define FINDINGS_MOST 10000u
/* bytes looked at behind damage, and in comparisons of leaves; more than that is hostile */
#define BUDGET (1u << 30)

/* ---- findings and notes ---------------------------------------------------------------------- */

bool repair_kind_wrong(enum repair_kind kind)
{
    return kind < REPAIR_UNFINISHED;
}

void rep_find(struct repair *repair, enum repair_kind kind, uint32_t block, uint32_t offset,
              uint32_t number, uint32_t id, const char *text, ...)
{
    char line[256];
    va_list list;

    repair->wrong += !repair->quiet && repair_kind_wrong(kind);
    if (repair->quiet || repair->findings >= FINDINGS_MOST) {
        return;
    }
    va_start(list, text);
    (void)vsnprintf(line, sizeof line, text, list);
    va_end(list);
    char *copy = rep_take(&repair->image.arena, strlen(line) + 1);
    strcpy(copy, line);
    repair->finding = rep_grow(repair->finding, repair->findings, &repair->findings_room,
                               sizeof *repair->finding);
    repair->finding[repair->findings++] = (struct repair_finding){kind,   block, offset,
                                                                  number, id,    copy};
}

void rep_torn(struct repair *repair, uint32_t block, uint32_t offset, uint16_t epoch)
{
    /* a write that failed for good */
    bool bad = epoch != rep_epoch_code(epoch) || rep_is_bad(repair, block) || repair->quiet;
    uint32_t other = bad || rep_map_set(&repair->torn, epoch, block + 1) ?
                         block + 1 :
                         rep_map_get(&repair->torn, epoch);
    if (other != block + 1) {
        rep_find(repair, REPAIR_RECORD, block, offset, other - 1, 0,
                 "An unfinished write is here, and one of the same session in block %u. A power "
                 "cut leaves one: the other is damage.",
                 other - 1);
        repair->lossy = true;
    }
}

void rep_note(struct repair *repair, enum repair_note_kind kind, uint32_t block, uint32_t number,
              const struct rep_key *from, const struct rep_key *to)
{
    struct note note = {
        .out = {kind, block, number, NULL, NULL}, .has_from = from != NULL, .has_to = to != NULL};

    note.from = from != NULL ? *from : note.from;
    note.to = to != NULL ? *to : note.to;
    repair->lossy = repair->lossy || (!repair->quiet && kind == REPAIR_NOTE_RECORDS);
    if (repair->notes < FINDINGS_MOST && !repair->quiet) {
        repair->note = rep_grow(repair->note, repair->notes, &repair->notes_room, sizeof note);
        repair->note[repair->notes++] = note;
    }
}

/* Keys become texts, when the names are known. */
static void write_notes(struct repair *repair)
{
    for (size_t i = 0; i < repair->notes; i++) {
        struct note *note = &repair->note[i];
        note->out.from = note->has_from ? rep_key_text(repair, &note->from) : NULL;
        note->out.to = note->has_to ? rep_key_text(repair, &note->to) : NULL;
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool power_of_two(uint32_t value, uint32_t low, uint32_t high)
{
    return value >= low && value <= high && (value & (value - 1)) == 0;
}

static bool set_geometry(struct repair *repair, const uint8_t *bytes,
                         const struct repair_geometry *g)
{
    struct rep_image *image = &repair->image;

    if (!power_of_two(g->block_size, 4096, 65536) ||
        !power_of_two(g->page_size, 256, NF2_PAGE_MAX) || !power_of_two(g->program_unit, 1, 32) ||
        g->size / g->block_size < NF2_BLOCKS_MIN || g->size / g->block_size > 65536) {
        return false;
    }
    image->bytes = bytes;
    image->block_size = g->block_size;
    image->page_size = g->page_size;
    image->unit = g->program_unit;
    image->blocks = g->size / g->block_size;
    image->log_bytes = rep_min(NF2_LOG_PAGES * g->page_size, g->block_size);
    image->supers = NF2_SUPER_BLOCKS;
    image->budget = BUDGET;
    image->frames_budget = 8ull * BUDGET;
    uint32_t windows = (image->blocks + NF2_WINDOW_BLOCKS - 1) / NF2_WINDOW_BLOCKS,
             each = (image->blocks + windows - 1) / windows;
    repair->window_blocks = windows > 1 ? (each + 15u) & ~15u : each;
    repair->windows = (image->blocks + repair->window_blocks - 1) / repair->window_blocks;
    return true;
}

/* What is no node: the super blocks and the log's own. */
static void mark_log(struct repair *repair)
{
    for (uint32_t block = 0; block < repair->image.supers; block++) {
        repair->use[block] = REPAIR_USE_SUPER;
    }
    if (repair->state.found && repair->state.next < repair->image.blocks) {
        repair->use[repair->state.next] = REPAIR_USE_NEXT;
    }
    if (repair->state.found) {
        if (repair->use[repair->state.head] != REPAIR_USE_NONE) {
            rep_find(repair, REPAIR_OVERLAP, repair->state.head, 0, 0, 0,
                     "The root log lies in a block that has another use.");
        }
        repair->use[repair->state.head] = REPAIR_USE_LOG;
    }
}

struct repair *repair_open(const uint8_t *bytes, const struct repair_geometry *geometry)
{
    struct repair *repair = calloc(1, sizeof *repair);

    if (repair == NULL || !set_geometry(repair, bytes, geometry) || !rep_root_find(repair)) {
        repair_close(repair);
        return NULL;
    }
    repair->use = calloc(repair->image.blocks, 1);
    if (repair->use == NULL) {
        abort();
    }
    mark_log(repair);
    rep_tree_read(repair);
    rep_group_apply(repair);
    rep_names_find(repair);
    rep_space_check(repair);
    repair->lossy = repair->lossy || !repair->summary.log_read;
    repair->summary.unclean_mounts = repair->state.unclean_mounts;
    repair->summary.erases = repair->state.erases;
    repair->summary.bad_blocks += repair->state.bads;
    repair->summary.clean = repair->state.clean;
    write_notes(repair);
    if (repair->summary.nodes == 0 && repair->entries == 0) {
        repair_close(repair);
        return NULL;
    }
    return repair;
}

void repair_close(struct repair *repair)
{
    if (repair == NULL) {
        return;
    }
    if (repair->cache != NULL) {
        rep_content_free(repair->cache);
        free(repair->cache);
    }
    free(repair->entry);
    free(repair->lost);
    free(repair->use);
    free(repair->item);
    free(repair->finding);
    free(repair->note);
    free(repair->frames.part);
    rep_map_free(&repair->directory);
    rep_map_free(&repair->file);
    rep_map_free(&repair->orphan);
    rep_map_free(&repair->paths);
    rep_map_free(&repair->torn);
    rep_arena_free(&repair->image.arena);
    free(repair);
}

/* ---- what was found -------------------------------------------------------------------------- */

const struct repair_summary *repair_summary(const struct repair *repair)
{
    return &repair->summary;
}
unsigned repair_findings(const struct repair *repair) { return (unsigned)repair->findings; }
unsigned repair_wrong(const struct repair *repair) { return repair->wrong; }
unsigned repair_count(const struct repair *repair) { return (unsigned)repair->items; }
unsigned repair_notes(const struct repair *repair) { return (unsigned)repair->notes; }
bool repair_lossy(const struct repair *repair) { return repair->lossy; }
bool repair_clean(const struct repair *repair)
{
    return repair->state.clean && repair->summary.log_read;
}
const struct repair_finding *repair_finding(const struct repair *repair, unsigned number)
{
    return &repair->finding[number];
}
const struct repair_item *repair_item(const struct repair *repair, unsigned number)
{
    return &repair->item[number].out;
}
const struct repair_note *repair_note(const struct repair *repair, unsigned number)
{
    return &repair->note[number].out;
}

enum repair_use repair_block_use(const struct repair *repair, uint32_t block)
{
    return block < repair->image.blocks ? (enum repair_use)repair->use[block] : REPAIR_USE_NONE;
}

const char *repair_path_of(const struct repair *repair, uint32_t id)
{
    uint32_t number = id == 0 ? 0 : rep_map_get(&repair->directory, id);

    number = number == 0 && id != 0 ? rep_map_get(&repair->file, id) : number;
    return id == NF2_ROOT_ID ? "" : number == 0 ? NULL : repair->item[number - 1].path;
}

/* ---- texts ----------------------------------------------------------------------------------- */

const char *repair_use_text(enum repair_use use)
{
    static const char *const texts[REPAIR_USES] = {
        "nothing",    "super block", "root log", "the root log's next block",
        "inner node", "leaf",        "data",     "frames",
        "set aside",  "bad"};
    return (unsigned)use < REPAIR_USES ? texts[use] : "unknown";
}

const char *repair_note_text(enum repair_note_kind kind)
{
    static const char *const texts[REPAIR_NOTE_KINDS] = {
        "no anchor leads to the root log: it was searched for",
        "the root log is damaged: newer content may be lost without a trace",
        "a node of the tree is lost, and the names or pieces of files in it",
        "records in a node are lost",
        "flipped bits were mended",
        "an unfinished write: nothing is lost by that",
        "a committed change is lost in part",
        "a name that no path can have was changed",
        "two names for the same: one went without",
        "blocks hold data of files that no entry leads to",
        "not all nodes were compared with each other",
    };
    return (unsigned)kind < REPAIR_NOTE_KINDS ? texts[kind] : "unknown";
}

const char *repair_state_text(enum repair_state state)
{
    static const char *const texts[REPAIR_STATES] = {
        "whole",
        "whole as far as can be told",
        "doubtful: may be older than it was, or removed",
        "whole, its name is lost",
        "older than it was",
        "older than it was, or removed: from a part that was given up",
        "damaged",
        "lost",
    };
    return (unsigned)state < REPAIR_STATES ? texts[state] : "unknown";
}
