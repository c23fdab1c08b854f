/* SPDX-License-Identifier: BSD-2-Clause */
/* call_bounds.c - sums of a core's table. */
#include "call_table.h"

#include <stdio.h>
#include <string.h>

struct call_geometry call_geometry_of(const struct vflash_chip *chip)
{
    struct call_geometry geometry = {
        .page_size = chip->page_size,
        .block_size = chip->block_size,
        .blocks = chip->size / chip->block_size,
        .large = 1,
        .read_us = chip->read_page_us,
        .program_us = chip->program_page_us,
        .erase_us = chip->erase_us[0],
        .large_us = chip->erase_us[0],
    };
    for (int i = 0; i < 3; i++) {
        uint32_t blocks = chip->erase_sizes[i] / chip->block_size;
        if (blocks > geometry.large) {
            geometry.large = blocks;
            geometry.large_us = chip->erase_us[i];
        }
    }
    return geometry;
}

uint64_t call_bound(const struct call_geometry *geometry, const struct call_facts *facts, enum call_measure measure)
{
    const struct sum *sum = &call_table[facts->kind][call_fill_of(geometry, facts)].measure[measure];
    uint64_t bound = 0;
    for (enum call_unit unit = 0; unit < CALL_UNITS; unit++) {
        bound += sum->term[unit] == 0 ? 0 : sum->term[unit] * call_unit_value(geometry, facts, unit, measure);
    }
    return bound;
}

/* ---- in words ----------------------------------------------------------------------------------- */

static const char *const names[CALL_KINDS] = {
    [CALL_FORMAT] = "format", [CALL_MOUNT] = "mount", [CALL_MOUNT_CUT] = "mount after a cut", [CALL_UNMOUNT] = "unmount",
    [CALL_STATFS] = "statfs", [CALL_HEALTH] = "health", [CALL_MAINTAIN] = "maintain", [CALL_CHECK] = "check",
    [CALL_STAT] = "stat", [CALL_MKDIR] = "mkdir", [CALL_REMOVE] = "remove", [CALL_RENAME] = "rename",
    [CALL_OPENDIR] = "opendir", [CALL_READDIR] = "readdir", [CALL_REWINDDIR] = "rewinddir", [CALL_CLOSEDIR] = "closedir",
    [CALL_OPEN] = "open", [CALL_OPEN_NEW] = "open, a new file", [CALL_READ] = "read", [CALL_WRITE] = "write", [CALL_SEEK] = "seek", [CALL_TELL] = "tell",
    [CALL_SIZE] = "size", [CALL_TRUNCATE] = "truncate", [CALL_PREALLOCATE] = "preallocate",
    [CALL_SYNC] = "sync", [CALL_CLOSE] = "close, changed", [CALL_CLOSE_UNCHANGED] = "close, unchanged",
    [CALL_DISCARD] = "discard", [CALL_SAVE] = "save", [CALL_LOAD] = "load",
};

const char *call_name(enum call_kind kind)
{
    return names[kind];
}

const char *call_fill_name(enum call_fill fill)
{
    static const char *const fills[FILL_CLASSES] = {"roomy", "tight", "full"};
    return fills[fill];
}

const char *call_unit_letter(enum call_unit unit)
{
    return call_units[unit].letter;
}

const char *call_unit_meaning(enum call_unit unit)
{
    return call_units[unit].meaning;
}

void call_bound_text(enum call_kind kind, enum call_fill fill, enum call_measure measure, char *text, size_t size)
{
    const struct sum *sum = &call_table[kind][fill].measure[measure];
    size_t at = 0;
    text[0] = '\0';
    for (enum call_unit unit = 0; unit < CALL_UNITS && at < size; unit++) {
        if (sum->term[unit] == 0) {
            continue;
        }
        const char *plus = at > 0 ? " + " : "";
        int n = unit == UNIT_ONE           ? snprintf(text + at, size - at, "%s%u", plus, (unsigned)sum->term[unit])
                : sum->term[unit] == 1 ? snprintf(text + at, size - at, "%s%s", plus, call_units[unit].letter)
                                           : snprintf(text + at, size - at, "%s%u %s", plus, (unsigned)sum->term[unit], call_units[unit].letter);
        at += n > 0 ? (size_t)n : 0;
    }
    if (at == 0) {
        snprintf(text, size, "0");
    }
}

bool call_same_tight(enum call_kind kind)
{
    return memcmp(call_table[kind][FILL_ROOMY].measure, call_table[kind][FILL_TIGHT].measure, sizeof(call_table[kind][FILL_ROOMY].measure)) == 0;
}
