/* SPDX-License-Identifier: BSD-2-Clause */
/* call_table1.c - the bounds of the first core. */
#include "call_table.h"

/* The terms of a sum, by their units. */
#define ONE [UNIT_ONE]
#define NODE [UNIT_NODE]
#define WAY [UNIT_WAY]
#define NAME [UNIT_NAME]
#define ENTRY [UNIT_ENTRY]
#define LEVEL [UNIT_LEVEL]
#define WINDOW [UNIT_WINDOW]
#define CLAIM [UNIT_CLAIM]
#define REGION [UNIT_REGION]
#define STRIDE [UNIT_STRIDE]
#define PAGE [UNIT_PAGE]
#define BLOCK [UNIT_BLOCK]
#define WRITE [UNIT_WRITE]
#define WRITE_WAY [UNIT_WRITE_WAY]
#define CUT_NODE [UNIT_CUT_NODE]
#define CUT [UNIT_CUT]
#define VOLUME [UNIT_VOLUME]
#define BUDGET [UNIT_BUDGET]

static const char reclaims[] = "reclaims before it goes on, or refuses";
static const char orphans[] = "the list of removed files is full: one of them is freed to its end";
static const char shadow[] = "new content, never synced, elsewhere than at its end: it goes into the tree piece by piece";

/*
 * What each part of a changing call may come to.
 *
 *   walks, 16 W: a turn of the log that finds 8 REGION pages to write, its next block among them, 11; a region to take blocks from for the
 *   tree, and one for the file, 2 each; a REGION page brought forward, 1.
 *   the tree, 8 T: each node on the way is read for the look, for what is dead in it, for the plan of a split, for its copies and their
 *   records in the node above, some of them twice where blocks are few. A rename over two leaves (a batch) does so for each.
 *   programs, T + 20: the node of each level written anew; a turn 10, two STATEs of two pages, TOUCH, CLAIM, REGION, the opening, the record.
 *   A batch: a second leaf and its own records, N + 4.
 *   erases, 2 H + 1: two new nodes for each level less the three that are erased before; blocks for the tree, the stock, the log, the super log.
 *   While erased blocks last: one for the stock, one for the super log, and one that a slot had claimed before the others were erased.
 *   They hardly ever come together.
 */
#define CHANGE_READS WAY = 8, WINDOW = 16
#define CHANGE_PROGRAMS WAY = 1, ONE = 20
#define CHANGE_ERASES LEVEL = 2, ONE = 1
#define CHANGE_ERASES_AHEAD ONE = 3

/*
 * Beside that where room is short. Reads: a step on groups, 6 leaves of a map twice, 8 times that where their copies hardly find room (96 N); a
 * group is given back (9 N, 2 W); groups on offer (2 N, W); a look at the blocks of a file, 24 leaves (48 N); the latter for each block's length.
 * Programs: 28 for each block's length, 14 more where erased blocks run short. Erases: what the copies need, and the group.
 */
#define AHEAD_READS WAY = 8, WINDOW = 19, NODE = 155

const struct bound call_table[CALL_KINDS][FILL_CLASSES] = {
    [CALL_FORMAT] = ALL_FILLS(READS(ONE = 4), PROGRAMS(ONE = 4), ERASES(VOLUME = 1)),
    [CALL_MOUNT] = ALL_FILLS(READS(NODE = 8, STRIDE = 1)),
    [CALL_MOUNT_CUT] = ALL_FILLS(READS(NODE = 32, STRIDE = 1, WINDOW = 12), PROGRAMS(ONE = 12), ERASES(ONE = 2), ERASES_AHEAD(ONE = 2)),
    [CALL_UNMOUNT] = ALL_FILLS(READS(NODE = 2, WINDOW = 11), PROGRAMS(ONE = 14), ERASES(ONE = 2), ERASES_AHEAD(ONE = 2)),
    [CALL_HEALTH] = ALL_FILLS(READS(REGION = 2)),
    [CALL_BLOCK_STATE] = ALL_FILLS(READS(WINDOW = 2)),
    [CALL_MAINTAIN] = ALL_FILLS(READS(BUDGET = 1), PROGRAMS(BUDGET = 1), ERASES(BUDGET = 1), ERASES_AHEAD(BUDGET = 1)),
    [CALL_CHECK] = {{.why_none = "reads all of the volume, its tree many times"}},

    [CALL_STAT] = ALL_FILLS(READS(NAME = 1, WAY = 1, NODE = 3)),
#define CHANGE(...) {{READS(__VA_ARGS__ CHANGE_READS), PROGRAMS(CHANGE_PROGRAMS), ERASES(CHANGE_ERASES), ERASES_AHEAD(CHANGE_ERASES_AHEAD)}}
    [CALL_MKDIR] = {[FILL_ROOMY] = CHANGE(NAME = 1,), [FILL_TIGHT] = CHANGE(NAME = 1,), [FILL_FULL] = {.why_none = reclaims}},
    /* Its record finds room in its leaf: nothing is split. */
    [CALL_REMOVE] = ALL_FILLS(READS(NAME = 1, CHANGE_READS), PROGRAMS(ONE = 20), ERASES(ONE = 3), ERASES_AHEAD(ONE = 2)),
#define RENAME {{READS(NAME = 1, WAY = 16, WINDOW = 16), PROGRAMS(WAY = 1, NODE = 1, ONE = 24), ERASES(LEVEL = 2, ONE = 3), ERASES_AHEAD(CHANGE_ERASES_AHEAD)}}
    [CALL_RENAME] = {[FILL_ROOMY] = RENAME, [FILL_TIGHT] = RENAME, [FILL_FULL] = {.why_none = reclaims}},

    [CALL_OPENDIR] = ALL_FILLS(READS(NAME = 1, NODE = 1)),
    /* The names of a leaf are put in order: each is read (2) and compared with seven others (3 each). */
    [CALL_READDIR] = ALL_FILLS(READS(ENTRY = 23, WAY = 2)),

    [CALL_OPEN] = ALL_FILLS(READS(NAME = 1, WAY = 1, NODE = 3)),
    /* What each change begins with: blocks for the tree and the stock, a REGION page. */
#define BEGIN(...) {{READS(__VA_ARGS__ NODE = 2, WINDOW = 16), PROGRAMS(ONE = 14), ERASES(ONE = 3), ERASES_AHEAD(ONE = 2)}}
    [CALL_OPEN_NEW] = {[FILL_ROOMY] = BEGIN(NAME = 1,), [FILL_TIGHT] = BEGIN(NAME = 1,), [FILL_FULL] = {.why_none = reclaims}},
    /* Four pieces a page, each of which may lie across two; a look at a leaf of the map finds 17 of them, and there may be two leaves. */
    [CALL_READ] = ALL_FILLS(READS(PAGE = 16, WAY = 1, NODE = 4)),
    [CALL_SEEK] = ALL_FILLS(READS(WAY = 1, NODE = 3)),
    [CALL_TELL] = ALL_FILLS(READS(WAY = 1, NODE = 3)),
    [CALL_SIZE] = ALL_FILLS(READS(WAY = 1, NODE = 3)),

    [CALL_WRITE] = {[FILL_ROOMY] = {{READS(PAGE = 2, CHANGE_READS, CLAIM = 2), PROGRAMS(PAGE = 1, CHANGE_PROGRAMS), ERASES(BLOCK = 1, CHANGE_ERASES),
                                     ERASES_AHEAD(CHANGE_ERASES_AHEAD)}},
                    [FILL_TIGHT] = {{READS(PAGE = 2, BLOCK = 256, AHEAD_READS, CLAIM = 2), PROGRAMS(PAGE = 1, BLOCK = 28, WAY = 1, ONE = 34),
                                     ERASES(BLOCK = 3, LEVEL = 2, ONE = 3), ERASES_AHEAD(BLOCK = 1, ONE = 3)}},
                    [FILL_FULL] = {.why_none = reclaims}},
    [CALL_TRUNCATE] = {[FILL_ROOMY] = CHANGE(), [FILL_TIGHT] = CHANGE(), [FILL_FULL] = {.why_none = reclaims}},
    [CALL_PREALLOCATE] = {[FILL_ROOMY] = BEGIN(), [FILL_TIGHT] = BEGIN(), [FILL_FULL] = {.why_none = reclaims}},
/* A page of what was cut off had four entries of the map, for each of which its leaf is passed. */
#define SYNC_ROOMY                                                                                                                  \
    {{READS(CHANGE_READS, WRITE_WAY = 2, CUT_NODE = 4), PROGRAMS(WAY = 1, NODE = 1, ONE = 24, WRITE = 3, CUT = 1), ERASES(CHANGE_ERASES), \
      ERASES_AHEAD(CHANGE_ERASES_AHEAD)}}
#define SYNC_TIGHT                                                                                                                  \
    {{READS(AHEAD_READS, ONE = 256, WRITE_WAY = 2, CUT_NODE = 4), PROGRAMS(WAY = 1, NODE = 1, ONE = 66, WRITE = 3, CUT = 1),               \
      ERASES(LEVEL = 2, ONE = 5), ERASES_AHEAD(ONE = 4)}}
    [CALL_SYNC] = {[FILL_ROOMY] = SYNC_ROOMY, [FILL_TIGHT] = SYNC_TIGHT, [FILL_FULL] = {.why_none = reclaims}},
    [CALL_CLOSE] = {[FILL_ROOMY] = SYNC_ROOMY, [FILL_TIGHT] = SYNC_TIGHT, [FILL_FULL] = {.why_none = reclaims}},
};

/* ---- geometry ----------------------------------------------------------------------------------- */

#define REGION_BLOCKS 128u
#define LOG_PAGES 16u           /* at most */
#define CLAIM_BLOCKS 16u        /* taken at a time */
#define ENTRY_BYTES 16u         /* of the shortest entry of a name */
#define FANOUT 50u              /* children of an inner node that is half full of keys of some 24 bytes */

/* A pass over a node: a log takes so many pages of its block. */
static uint32_t node_pages(const struct call_geometry *geometry)
{
    uint32_t pages = geometry->block_size / geometry->page_size;
    return (pages < LOG_PAGES ? pages : LOG_PAGES) + 1u;
}

static uint32_t regions(const struct call_geometry *geometry)
{
    return (geometry->blocks + REGION_BLOCKS - 1u) / REGION_BLOCKS;
}

/* Of a tree whose leaves take the whole volume. */
static uint32_t levels(const struct call_geometry *geometry)
{
    uint32_t count = 1;
    for (uint64_t reach = 1; reach < geometry->blocks; reach *= FANOUT) {
        count++;
    }
    return count;
}

/* A walk over the window of the meta log. */
static uint64_t window(const struct call_geometry *geometry)
{
    return (uint64_t)node_pages(geometry) * (regions(geometry) / 4u + 2u);
}

static uint64_t pages(const struct call_geometry *geometry, uint64_t bytes)
{
    return (bytes + geometry->page_size - 1u) / geometry->page_size;
}

static uint64_t blocks_begun(const struct call_geometry *geometry, uint64_t bytes)
{
    return (bytes + geometry->block_size - 1u) / geometry->block_size;
}

uint64_t call_unit_value(const struct call_geometry *geometry, const struct call_facts *facts, enum call_unit unit, enum call_measure measure)
{
    switch (unit) {
    case UNIT_NODE:
        return node_pages(geometry);
    case UNIT_WAY:
        return (uint64_t)levels(geometry) * node_pages(geometry);
    case UNIT_NAME:
        return (uint64_t)facts->names * levels(geometry) * node_pages(geometry);
    case UNIT_ENTRY:
        return (node_pages(geometry) - 1u) * geometry->page_size / ENTRY_BYTES;
    case UNIT_LEVEL:
        return levels(geometry);
    case UNIT_WINDOW:
        return window(geometry);
    case UNIT_CLAIM:
        return window(geometry) * ((blocks_begun(geometry, facts->bytes) + CLAIM_BLOCKS - 1u) / CLAIM_BLOCKS);
    case UNIT_REGION:
        return window(geometry) * regions(geometry);
    case UNIT_STRIDE:
        return regions(geometry);
    case UNIT_PAGE:
        return pages(geometry, facts->bytes);
    case UNIT_BLOCK:
        return blocks_begun(geometry, facts->bytes);
    case UNIT_WRITE:
        return facts->writes;
    case UNIT_WRITE_WAY:
        return (uint64_t)facts->writes * levels(geometry) * node_pages(geometry);
    case UNIT_CUT:
        return pages(geometry, facts->cut);
    case UNIT_CUT_NODE:
        return pages(geometry, facts->cut) * node_pages(geometry);
    case UNIT_VOLUME:
        return geometry->blocks / geometry->large + 2u * (geometry->large - 1u);
    case UNIT_BUDGET:
        return facts->budget_us / (measure == MEASURE_READS ? geometry->read_us : measure == MEASURE_PROGRAMS ? geometry->program_us : geometry->erase_us);
    default:
        return 1;
    }
}

/* ---- the volume's room -------------------------------------------------------------------------- */

/* Blocks that a call may take for its data and for the map that names them. */
static uint64_t blocks_needed(const struct call_geometry *geometry, const struct call_facts *facts)
{
    uint64_t blocks = facts->bytes / geometry->block_size + 2u;
    return blocks + blocks / 16u + facts->writes / 16u;
}

#define MAP_BLOCKS 6u           /* that a map and the nodes above it may take besides */
#define ORPHANS 6u              /* removed files that the list holds */

enum call_fill call_fill_of(const struct call_geometry *geometry, const struct call_facts *facts)
{
    if (!facts->space_known || !call_by_fill(facts->kind)) {
        return FILL_ROOMY;
    }
    uint64_t need = blocks_needed(geometry, facts);
    if (facts->blocks_available < need + MAP_BLOCKS) {
        return FILL_FULL;
    }
    uint64_t wanted = geometry->large / 2u + geometry->blocks / 100u + need + geometry->blocks / 32u;
    uint64_t taken = need + 2u * CLAIM_BLOCKS;     /* what is left when the call's own work is done counts */
    return facts->blocks_available < wanted + taken ? FILL_TIGHT : FILL_ROOMY;
}

bool call_erased_last(const struct call_geometry *geometry, const struct call_facts *facts)
{
    uint64_t need = blocks_needed(geometry, facts) + MAP_BLOCKS + CLAIM_BLOCKS;
    return facts->space_known && facts->blocks_erased >= need && facts->blocks_erased > facts->blocks_free / 8u;
}

const uint32_t call_kinds_by_fill = 1u << CALL_OPEN_NEW | 1u << CALL_WRITE | 1u << CALL_TRUNCATE | 1u << CALL_PREALLOCATE | 1u << CALL_SYNC |
                                    1u << CALL_CLOSE | 1u << CALL_MKDIR | 1u << CALL_RENAME;

const char *call_unbounded(const struct call_geometry *geometry, const struct call_facts *facts)
{
    bool drops = facts->kind == CALL_REMOVE || facts->kind == CALL_RENAME || facts->kind == CALL_SYNC || facts->kind == CALL_CLOSE;
    if (drops && facts->pending >= ORPHANS) {
        return orphans;
    }
    if (facts->inside_new) {
        return shadow;
    }
    return call_never_bounded(facts->kind, call_fill_of(geometry, facts));
}

/* ---- in words ----------------------------------------------------------------------------------- */

const struct unit call_units[CALL_UNITS] = {
    [UNIT_ONE] = {"", ""},
    [UNIT_NODE] = {"N", "a pass over a node of the tree: its pages and one more"},
    [UNIT_WAY] = {"T", "the same of each node from the root to a key: N x H"},
    [UNIT_NAME] = {"P", "T for each name in the path (of a rename: in both)"},
    [UNIT_ENTRY] = {"E", "entries that a leaf has room for, if names are very short: one in 16 bytes"},
    [UNIT_LEVEL] = {"H", "levels of a tree whose leaves take the whole volume, 50 children a node"},
    [UNIT_WINDOW] = {"W", "a walk over the window of the meta log: N x (regions / 4 + 2), a region being 128 blocks"},
    [UNIT_CLAIM] = {"C", "W for each 16 blocks' lengths of the call's bytes, begun"},
    [UNIT_REGION] = {"Q", "W for each region"},
    [UNIT_STRIDE] = {"R", "regions"},
    [UNIT_PAGE] = {"p", "pages of the bytes read or written"},
    [UNIT_BLOCK] = {"b", "blocks' lengths of them, begun"},
    [UNIT_WRITE] = {"k", "stretches of the file written since its last sync: writes that go on where the one before ended are one"},
    [UNIT_WRITE_WAY] = {"K", "T for each of those"},
    [UNIT_CUT_NODE] = {"M", "N for each page by which the file was shortened since its last sync"},
    [UNIT_CUT] = {"c", "those pages"},
    [UNIT_VOLUME] = {"V", "erases that take the whole volume, the largest where they fit"},
    [UNIT_BUDGET] = {"u", "so many operations of this kind as the budget is time for"},
};

bool call_unit_fixed(enum call_unit unit)
{
    switch (unit) {
    case UNIT_CLAIM: case UNIT_PAGE: case UNIT_BLOCK: case UNIT_WRITE: case UNIT_WRITE_WAY: case UNIT_CUT: case UNIT_CUT_NODE: case UNIT_BUDGET:
        return false;
    default:
        return true;
    }
}

const char *const call_about[] = {
    "What each public call may cost at most, in pages read, pages programmed and erases (operations of any size), from the construction",
    "(DESIGN.md, \"Latency\"). The table is `norbench/call_table1.c`; each call of NF2FS that the benchmark makes is held to it, in what a workload",
    "prepares and in the comparison at its end, too, and a test runs every workload.",
    "",
    "Room, before the call: `full`: fewer blocks are available (`nf2_statfs`) than it may take: those of its bytes, a sixteenth of them, and 8.",
    "`tight`: else, and what it leaves is less than half a large erase, a hundredth and a thirty-second of the volume: writes and syncs work ahead.",
    "`roomy`: all others. Erased blocks last where `nf2_statfs` has more than an eighth of the free ones as erased, and what the call may take, and 16.",
    NULL,
};

const char *const call_exceptions[] = {
    "`full`: a call that needs blocks reclaims first, for as long as that takes. Those that need none (remove, and all that read) keep their bounds.",
    "remove, rename over a file, and the sync or close of content that was begun anew, while six removed files wait (`files_pending`, those open for "
    "writing included): one is freed to its end.",
    "A write elsewhere than at the end of content that was never synced: it goes into the tree piece by piece.",
    "The first call with a path after a cut inside a batch, which it applies. Cuts between calls, as those of the benchmark, leave none.",
    "Files that are written in the middle in pieces of less than 64 bytes, synced each: what reads, overwrites or cuts them meets as many entries of the map.",
    "check: it reads all of the volume, its tree many times.",
    "Erases while erased blocks last, on a worn chip: when those that are left are the most worn ones, which wait for the others, the column before holds.",
    "A call that meets a block which fails for good.",
    NULL,
};

const char *const call_notes[] = {
    "Each call that writes to the meta log may be the one that turns it: 11 W and 10 programs, mostly 1 W and 2, as REGION pages are brought forward "
    "before. Unmounts, new files, and calls that set blocks aside met few such turns.",
    "Each call that changes a name may find all nodes on its way full (T programs). Most splits are met by closes and renames: mkdir is the same change.",
    "mount after a cut: the benchmark cuts between calls. A cut inside a call leaves more to settle; PROOF.md has the longest mounts of all cuts.",
    "tight: the sum for files with short pieces where groups of blocks hardly have room for their copies. Small chips come near it, large ones do not.",
    "readdir: names of two bytes. Names of some ten characters come to a third of it.",
    "seek, tell, size: they read where another handle has synced the file since, which the benchmark does not do.",
    "NF2_O_SYNC: a write of such a handle costs what the write and the sync may.",
    NULL,
};
