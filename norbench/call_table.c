/* SPDX-License-Identifier: BSD-2-Clause */
/* call_table.c - the bounds of calls: see call_table.h, and docs/DESIGN.md. */
#include "call_table.h"

/* The terms of a sum, by their units. */
#define ONE [UNIT_ONE]
#define NODE [UNIT_NODE]
#define VIEW [UNIT_VIEW]
#define WAY [UNIT_WAY]
#define NAME [UNIT_NAME]
#define LEVEL [UNIT_LEVEL]
#define WEAR_WAY [UNIT_WEAR]
#define LEAVES [UNIT_LEAVES]
#define PAGE [UNIT_PAGE]
#define BLOCK [UNIT_BLOCK]
#define WRITE_WAY [UNIT_WRITE_WAY]
#define WRITE [UNIT_WRITE]
#define VOLUME [UNIT_VOLUME]
#define AHEAD [UNIT_AHEAD]
#define PACE [UNIT_PACE]
#define BUDGET [UNIT_BUDGET]

static const char walks[] = "may wait for walks over all leaves, and for what they move";
static const char copies[] =
    "more than four pieces since the last sync: all of the file's map is copied";
static const char leaves[] = "reads all of the tree";

/*
 * What each part of a changing call may come to; the trees' parts are twice the design's own sums.
 *
 *   the tree, 8 T: each node on the way is looked at, and again for the plan, for the new nodes, and
 *   for the records in the node above; with a GROUP, for both leaves of a rename.
 *   counts of wear, 20 T (`nf2_wear_record`): of four regions at most, which may be in as many
 *   entries. Each is looked up, and its leaf changed: 5 T.
 *   erases ahead, A (`erase_ahead`): one large one, or small ones as long as that takes. For each a
 *   region is looked for, in all entries of wear.
 *   the walk, M (`pace`): steps begin as long as less was done than takes the time of 150 programs.
 *   One more step is past that, 10 T: a leaf is visited and joined, its neighbour read, and what it
 *   refers to is moved with a change. In a roomy volume only a walk that idle time has begun goes on,
 *   and never at the pace of one that is late.
 *   programs, 6 T + M + 84: two new nodes for each level, by the change, by the counts, and by the
 *   step past the time. 24 pages that this step moves and six records; four counts; a turn of the
 *   root log (2), an anchor (2), two CHECKPOINTs and the change's own two records: 42, twice.
 *   erases, 6 H + A + M + 4: those nodes; a block for what is moved, one for data, one for the log and
 *   one for the super blocks.
 *   While erased blocks last: those that are made ahead, and one for each of the last three.
 */
#define CHANGE_READS WAY = 38, AHEAD = 1, PACE = 1
#define CHANGE_PROGRAMS WAY = 6, ONE = 84, PACE = 1
#define CHANGE_ERASES LEVEL = 6, ONE = 4, AHEAD = 1, PACE = 1
#define CHANGE_ERASES_AHEAD ONE = 3, AHEAD = 1

/* A second change of the tree: 24 T with the look-ups of its pieces; its pages. */
#define WRITE_READS WAY = 62, PAGE = 2, LEAVES = 1, AHEAD = 1, PACE = 1
#define WRITE_PROGRAMS WAY = 8, ONE = 84, PAGE = 1, PACE = 1

#define CHANGE(...)                                                                        \
    {{READS(__VA_ARGS__ CHANGE_READS), PROGRAMS(CHANGE_PROGRAMS), ERASES(CHANGE_ERASES),   \
      ERASES_AHEAD(CHANGE_ERASES_AHEAD)}}
#define IF_ROOMY(...)                                                                      \
    {[FILL_ROOMY] = __VA_ARGS__, [FILL_TIGHT] = {.why_none = walks},                       \
     [FILL_FULL] = {.why_none = walks}}
#define READS_ONLY(...) ALL_FILLS(READS(__VA_ARGS__))

const struct bound call_table[CALL_KINDS][FILL_CLASSES] = {
    /*
     * Three super blocks are read three times: twice where they are blank, and at the end. Each anchor
     * is looked at: N. The front of each block is looked at where no super block names a volume, and again
     * for the new volume's id. The first nodes and anchors are programmed.
     */
    [CALL_FORMAT] = ALL_FILLS(READS(NODE = 10, VOLUME = 2), PROGRAMS(ONE = 8), ERASES(VOLUME = 1)),
    /* The super blocks, two blocks of the log twice, the root; each page twice, for its records. */
    [CALL_MOUNT] = READS_ONLY(NODE = 24),
    [CALL_MOUNT_CUT] = READS_ONLY(NODE = 24),
    /*
     * Of a session behind a cut that changed nothing: the log is looked through once more, and a turn takes
     * along what waits in it; each page twice, for its records. Anchors are looked at: N.
     * Programs: an anchor that is owed, a turn (2) with its anchor, and a last CHECKPOINT (2).
     */
    [CALL_UNMOUNT] = ALL_FILLS(READS(NODE = 5), PROGRAMS(ONE = 6), ERASES(ONE = 2),
                               ERASES_AHEAD(ONE = 2)),
    [CALL_HEALTH] = READS_ONLY(WEAR_WAY = 2),
    [CALL_MAINTAIN] = ALL_FILLS(READS(BUDGET = 1), PROGRAMS(BUDGET = 1), ERASES(BUDGET = 1),
                                ERASES_AHEAD(BUDGET = 1)),
    [CALL_CHECK] = {{.why_none = leaves}, {.why_none = leaves}, {.why_none = leaves}},

    [CALL_STAT] = READS_ONLY(NAME = 1, WAY = 1),
    [CALL_MKDIR] = IF_ROOMY(CHANGE(NAME = 1,)),
    [CALL_REMOVE] = IF_ROOMY(CHANGE(NAME = 1,)),
    [CALL_RENAME] = IF_ROOMY(CHANGE(NAME = 1,)),

    [CALL_OPENDIR] = READS_ONLY(NAME = 1, WAY = 1),
    /* Four leaves; and all others, if removals left them without a name: each is viewed and passed. */
    [CALL_READDIR] = READS_ONLY(WAY = 8, LEAVES = 2),

    [CALL_OPEN] = READS_ONLY(NAME = 1, WAY = 1),
    [CALL_OPEN_NEW] = IF_ROOMY(CHANGE(NAME = 1,)),
    /* Four pieces a page, each of which is looked for in the bases of two leaves. */
    [CALL_READ] = READS_ONLY(PAGE = 64, WAY = 2),
    [CALL_SEEK] = READS_ONLY(WAY = 1),
    [CALL_TELL] = READS_ONLY(WAY = 1),
    [CALL_SIZE] = READS_ONLY(WAY = 1),

    /*
     * What a handle has in its buffer goes out, and a fifth piece to the shadow: two changes of the
     * tree, and what each call has. The file's map is read for the pieces that are replaced, or cut: L,
     * if it has all leaves.
     */
    [CALL_WRITE] = IF_ROOMY({{READS(WRITE_READS), PROGRAMS(WRITE_PROGRAMS),
                              ERASES(CHANGE_ERASES, BLOCK = 1), ERASES_AHEAD(CHANGE_ERASES_AHEAD)}}),
    [CALL_TRUNCATE] = IF_ROOMY(CHANGE()),
    [CALL_PREALLOCATE] = IF_ROOMY(CHANGE()),
    [CALL_SYNC] = IF_ROOMY({{READS(CHANGE_READS, WRITE_WAY = 2, LEAVES = 1), PROGRAMS(CHANGE_PROGRAMS, WRITE = 3),
                             ERASES(CHANGE_ERASES), ERASES_AHEAD(CHANGE_ERASES_AHEAD)}}),
    [CALL_CLOSE] = IF_ROOMY({{READS(CHANGE_READS, WRITE_WAY = 2, LEAVES = 1), PROGRAMS(CHANGE_PROGRAMS, WRITE = 3),
                              ERASES(CHANGE_ERASES), ERASES_AHEAD(CHANGE_ERASES_AHEAD)}}),
    /* What was not synced is forgotten; what of it is on the chip, a later walk or idle time finds. */
    [CALL_DISCARD] = READS_ONLY(ONE = 0),

    /*
     * The name twice, the old content (as it is read), then what the write and the sync of the new one come
     * to: three pieces and a shadow, so that two changes more are made. The old map goes as an orphan.
     */
    [CALL_SAVE] = IF_ROOMY({{READS(WAY = 70, NAME = 2, PAGE = 66, LEAVES = 1, AHEAD = 2, PACE = 2),
                             PROGRAMS(WAY = 10, ONE = 180, PAGE = 1, PACE = 2),
                             ERASES(LEVEL = 10, ONE = 8, BLOCK = 1, AHEAD = 2, PACE = 2), ERASES_AHEAD(ONE = 6, AHEAD = 2)}}),
    [CALL_LOAD] = READS_ONLY(WAY = 3, NAME = 1, PAGE = 64),
};

/* ---- geometry ----------------------------------------------------------------------------------- */

#define REGIONS 256u            /* of a volume at most, */
#define WEAR 32u                /* and those whose erases one entry has */
#define LOG_PAGE 256u           /* of a log, in bytes */
#define LOG_PAGES 32u           /* at most */
#define LOOKS 64u               /* at keys, where a node is searched, and at where its base ends */
#define WALK_PAGES 150u         /* so many programs' time is for the walk in one call, */
#define PROCESSOR_US 16u        /* where each page that is read counts as so much more */
#define FANOUT 50u              /* children of an inner node that is half full of keys of some 24 bytes */

/* The pages of a node and one more. */
static uint32_t node_pages(const struct call_geometry *geometry)
{
    uint32_t pages = geometry->block_size / LOG_PAGE;
    return (pages < LOG_PAGES ? pages : LOG_PAGES) + 1u;
}

/* A view is made, and searched. */
static uint32_t view_pages(const struct call_geometry *geometry, enum call_measure measure)
{
    return node_pages(geometry) + (measure == MEASURE_READS ? LOOKS : 0u);
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

static uint64_t pages(const struct call_geometry *geometry, uint64_t bytes)
{
    return (bytes + geometry->page_size - 1u) / geometry->page_size;
}

static uint64_t blocks_begun(const struct call_geometry *geometry, uint64_t bytes)
{
    return (bytes + geometry->block_size - 1u) / geometry->block_size;
}

/* Entries with the erases of all regions. */
static uint64_t wear_ways(const struct call_geometry *geometry)
{
    return ((geometry->blocks < REGIONS ? geometry->blocks : REGIONS) + WEAR - 1u) / WEAR;
}

/* The steps of a walk that one call makes: what fits in their time, and the one that is begun last. */
static uint64_t pace(const struct call_geometry *geometry, enum call_measure measure)
{
    uint64_t time_us = (uint64_t)WALK_PAGES * geometry->program_us;

    switch (measure) {
    case MEASURE_READS:
        return time_us / (geometry->read_us + PROCESSOR_US) + 1u;
    case MEASURE_PROGRAMS:
        return WALK_PAGES;
    default:
        return time_us / geometry->erase_us + 1u;
    }
}

uint64_t call_unit_value(const struct call_geometry *geometry, const struct call_facts *facts,
                         enum call_unit unit, enum call_measure measure)
{
    uint64_t way = (uint64_t)levels(geometry) * view_pages(geometry, measure);

    switch (unit) {
    case UNIT_NODE:
        return node_pages(geometry);
    case UNIT_VIEW:
        return view_pages(geometry, measure);
    case UNIT_WAY:
        return way;
    case UNIT_NAME:
        return facts->names * way;
    case UNIT_LEVEL:
        return levels(geometry);
    case UNIT_WEAR:
        return wear_ways(geometry) * way;
    case UNIT_LEAVES:
        return (uint64_t)geometry->blocks * node_pages(geometry);
    case UNIT_PAGE:
        return pages(geometry, facts->bytes);
    case UNIT_BLOCK:
        return blocks_begun(geometry, facts->bytes);
    case UNIT_WRITE:
        return facts->writes;
    case UNIT_WRITE_WAY:
        return facts->writes * way;
    case UNIT_VOLUME:
        return measure == MEASURE_READS ? geometry->blocks :
               geometry->blocks / geometry->large + 2u * (geometry->large - 1u);
    case UNIT_AHEAD: {
        uint64_t erases = (geometry->large_us + geometry->erase_us - 1u) / geometry->erase_us;
        return measure == MEASURE_READS ? erases * wear_ways(geometry) * way : erases;
    }
    case UNIT_PACE:
        return pace(geometry, measure);
    case UNIT_BUDGET:
        return facts->budget_us / (measure == MEASURE_READS      ? geometry->read_us
                                   : measure == MEASURE_PROGRAMS ? geometry->program_us
                                                                 : geometry->erase_us);
    default:
        return 1;
    }
}

/* ---- the volume's room -------------------------------------------------------------------------- */

#define PIECES 4u               /* that a handle keeps */
#define NODE_BLOCKS 8u          /* that a call may take beside those of its data */
#define ROOMY_SHARE 2u          /* of the volume: walks win as fast as is written */
#define ROOMY_BLOCKS 64u        /* and that on small ones: the stock that a walk is allowed */

static uint64_t blocks_needed(const struct call_geometry *geometry, const struct call_facts *facts)
{
    return facts->bytes / geometry->block_size + NODE_BLOCKS;
}

enum call_fill call_fill_of(const struct call_geometry *geometry, const struct call_facts *facts)
{
    if (!facts->space_known || !call_by_fill(facts->kind)) {
        return FILL_ROOMY;
    }
    uint64_t need = blocks_needed(geometry, facts);
    if (facts->blocks_available < need) {
        return FILL_FULL;
    }
    uint64_t roomy = need + geometry->blocks / ROOMY_SHARE + ROOMY_BLOCKS;
    return facts->blocks_available < roomy ? FILL_TIGHT : FILL_ROOMY;
}

bool call_erased_last(const struct call_geometry *geometry, const struct call_facts *facts)
{
    uint64_t need = blocks_needed(geometry, facts) + 16u;
    return facts->space_known && facts->blocks_erased >= need &&
           facts->blocks_erased > facts->blocks_free / 8u;
}

const uint32_t call_kinds_by_fill =
    1u << CALL_OPEN_NEW | 1u << CALL_WRITE | 1u << CALL_TRUNCATE | 1u << CALL_PREALLOCATE |
    1u << CALL_SYNC | 1u << CALL_CLOSE | 1u << CALL_SAVE | 1u << CALL_MKDIR | 1u << CALL_RENAME | 1u << CALL_REMOVE;

const char *call_unbounded(const struct call_geometry *geometry, const struct call_facts *facts)
{
    bool commits = facts->kind == CALL_SYNC || facts->kind == CALL_CLOSE;
    bool copied = facts->writes > PIECES ? commits || facts->kind == CALL_WRITE : facts->inside_new;
    return copied ? copies : call_never_bounded(facts->kind, call_fill_of(geometry, facts));
}

/* ---- in words ----------------------------------------------------------------------------------- */

const struct unit call_units[CALL_UNITS] = {
    [UNIT_ONE] = {"", ""},
    [UNIT_NODE] = {"N", "a pass over a node of the tree: its pages and one more"},
    [UNIT_VIEW] = {"V", "a view of a node: N, and 64 looks at keys where it is searched"},
    [UNIT_WAY] = {"T", "a view of each node from the root to a key: V x H; of pages programmed N x H"},
    [UNIT_NAME] = {"P", "T for each name in the path (of a rename: in both)"},
    [UNIT_LEVEL] = {"H", "levels of a tree whose leaves take the whole volume, 50 children a node"},
    [UNIT_WEAR] = {"W", "T for each entry with the erases of 32 regions, of which there are 256 at most"},
    [UNIT_LEAVES] = {"L", "a walk over all leaves, if all blocks are leaves: N for each block"},
    [UNIT_PAGE] = {"p", "pages of the bytes read or written"},
    [UNIT_BLOCK] = {"b", "blocks' lengths of them, begun"},
    [UNIT_WRITE] = {"k", "stretches of the file written since its last sync: writes that go on where the one before ended are one"},
    [UNIT_WRITE_WAY] = {"K", "T for each of those"},
    [UNIT_VOLUME] = {"E", "erases that take the whole volume, the largest where they fit; of pages read, one for each block"},
    [UNIT_AHEAD] = {"A", "erases that a call makes ahead: those that begin in the time of a large one; of pages read, W for each"},
    [UNIT_PACE] = {"M", "what a call does of a walk: so many operations of this kind as 150 programs' time is enough for (a page read counts 16 us more)"},
    [UNIT_BUDGET] = {"u", "so many operations of this kind as the budget is time for"},
};

bool call_unit_fixed(enum call_unit unit)
{
    switch (unit) {
    case UNIT_PAGE: case UNIT_BLOCK: case UNIT_WRITE: case UNIT_WRITE_WAY: case UNIT_BUDGET:
        return false;
    default:
        return true;
    }
}

const char *const call_about[] = {
    "What each public call may cost at most, in pages read, pages programmed and erases (operations of any size), from the construction",
    "(DESIGN.md). The table is `norbench/call_table.c`; each call of NF2FS that the benchmark makes is held to it, in what a workload",
    "prepares and in the comparison at its end, too, and a test runs every workload. The terms of a change are twice the sum of the design.",
    "",
    "Room, before the call: `full`: fewer blocks are available (`nf2_statfs`) than it may take: those of its bytes, and 8.",
    "`tight`: else, and less than half of the volume and 64 blocks besides are available: a call may have to wait for walks.",
    "`roomy`: all others. Erased blocks last where `nf2_statfs` has more than an eighth of the free ones as erased, and what the call may take, and 16.",
    NULL,
};

const char *const call_exceptions[] = {
    "`tight`, `full`: where the blocks that are known as free run out before a walk has found more, a call waits for walks over all leaves, "
    "and for what these move. A walk that only marks reads L pages at most; one that empties blocks reads T for each piece that it moves.",
    "The write behind four stretches, the sync or close of more than four, or of what lies in as many pieces since no free blocks lie together, and a write elsewhere than at the end of content that was never synced: the entries of all of the "
    "file's map are copied.",
    "The first call after a cut inside a change of several leaves that may change something itself: it applies that. Cuts between calls, as those of the benchmark, leave none.",
    "check: it reads all of the tree.",
    "A call that meets a block which fails for good.",
    NULL,
};

const char *const call_notes[] = {
    "T takes it that each node on the way is read to its end. Where a base has grown, or has few changes behind it, a view costs a few pages.",
    "Each call that changes something may be the one that splits all nodes on its way, that erases ahead, that writes the counts of four regions, and that goes on with a walk. They hardly come together.",
    "readdir: 2 L is for leaves in which removals left no name. It passes all of them that follow each other; idle work and walks join them.",
    "mount after a cut: the benchmark cuts between calls. A cut inside a call leaves more to settle; PROOF.md has the longest mounts of all cuts.",
    "seek, tell, size: they read where another handle has synced the file since, which the benchmark does not do.",
    "nf2_keep_times: a sync, save, close or discard may set a time, which is one change more. The calls of nf2fs/attributes.h that set something are such a change, and those that read cost what a stat does.",
    "NF2_O_SYNC: a write of such a handle costs what the write and the sync may.",
    NULL,
};

bool call_by_fill(enum call_kind kind)
{
    return (call_kinds_by_fill >> kind & 1u) != 0;
}

const char *call_never_bounded(enum call_kind kind, enum call_fill fill)
{
    return call_table[kind][fill].why_none;
}
