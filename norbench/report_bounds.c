/* SPDX-License-Identifier: BSD-2-Clause */
/* report_bounds.c - calls and their bounds as JSON. */
#include "report.h"

#include "json_text.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const measures[CALL_MEASURES] = {"read_pages", "program_pages", "erases", "erases_ahead"};

/* ---- what was counted --------------------------------------------------------------------------- */

static void put_facts(const struct call_facts *facts)
{
    printf("\"bytes\": %" PRIu64 ", \"writes\": %u, \"cut\": %" PRIu64 ", \"names\": %u, ", facts->bytes, (unsigned)facts->writes, facts->cut, (unsigned)facts->names);
    printf("\"available\": %u, \"erased\": %u, \"pending\": %u, \"budget_us\": %u", (unsigned)facts->blocks_available, (unsigned)facts->blocks_erased,
           (unsigned)facts->pending, (unsigned)facts->budget_us);
}

static void put_breach(const struct call_judge *judge)
{
    const struct call_breach *breach = &judge->first;
    printf("\"past_bound\": {\"call\": \"%s\", \"fill\": \"%s\", \"measure\": \"%s\", ", call_name(breach->facts.kind),
           call_fill_name(call_fill_of(&judge->geometry, &breach->facts)), measures[breach->measure]);
    printf("\"counted\": %" PRIu64 ", \"bound\": %" PRIu64 ", ", breach->counted, breach->bound);
    put_facts(&breach->facts);
    printf("}, ");
}

static void put_tally(enum call_kind kind, enum call_fill fill, const struct call_tally *tally)
{
    printf("{\"call\": \"%s\", \"fill\": \"%s\", \"count\": %" PRIu64 ", \"unbounded\": %" PRIu64, call_name(kind), call_fill_name(fill), tally->count,
           tally->unbounded);
    for (int measure = 0; measure < CALL_MEASURES; measure++) {
        printf(", \"%s\": {\"most\": %" PRIu64 ", \"permille\": %" PRIu64 ", ", measures[measure], tally->most[measure], tally->most_permille[measure]);
        put_facts(&tally->worst[measure]);
        putchar('}');
    }
    putchar('}');
}

static void put_tallies(const struct call_judge *judge)
{
    const char *separator = "";
    printf("\"call_costs\": [");
    for (enum call_kind kind = 0; kind < CALL_KINDS; kind++) {
        for (enum call_fill fill = 0; fill < FILL_CLASSES; fill++) {
            if (judge->tally[kind][fill].count > 0) {
                printf("%s", separator);
                put_tally(kind, fill, &judge->tally[kind][fill]);
                separator = ", ";
            }
        }
    }
    printf("], ");
}

void report_judge(const struct call_judge *judge, bool all)
{
    if (!judge->active) {
        return;
    }
    printf("\"calls_judged\": %" PRIu64 ", \"calls_without_bound\": %" PRIu64 ", ", judge->calls, judge->unbounded);
    printf("\"calls_past_bound\": %" PRIu64 ", ", judge->past);
    if (judge->past > 0) {
        put_breach(judge);
    }
    if (all) {
        put_tallies(judge);
    }
}

/* ---- the table ---------------------------------------------------------------------------------- */

static void put_bound(enum call_kind kind, enum call_fill fill)
{
    char text[128];
    const char *why = call_never_bounded(kind, fill);
    printf("{\"call\": \"%s\", \"fill\": \"%s\"", call_name(kind), !call_by_fill(kind)                                 ? "any"
           : fill == FILL_ROOMY && call_same_tight(kind) ? "roomy, tight"
                                                         : call_fill_name(fill));
    if (why != NULL) {
        printf(", \"unbounded\": \"%s\"}", why);
        return;
    }
    for (enum call_measure measure = 0; measure < CALL_MEASURES; measure++) {
        call_bound_text(kind, fill, measure, text, sizeof(text));
        printf(", \"%s\": \"%s\"", measures[measure], text);
    }
    putchar('}');
}

static void put_lines(const char *key, const char *const *lines)
{
    printf("\"%s\": [", key);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        printf("%s\n  ", i == 0 ? "" : ",");
        json_text(lines[i]);
    }
    printf("],\n");
}

void report_bounds(const struct vflash_chip *chip)
{
    struct call_geometry geometry = call_geometry_of(chip);
    struct call_facts facts = {.names = 1};
    const char *separator = "";
    printf("{\"chip\": \"%s\",\n", chip->name);
    put_lines("about", call_about);
    put_lines("unbounded", call_exceptions);
    put_lines("notes", call_notes);
    printf("\"units\": [");
    for (enum call_unit unit = UNIT_ONE + 1; unit < CALL_UNITS; unit++) {
        if (call_unit_letter(unit) == NULL) {
            continue;
        }
        printf("%s\n  {\"letter\": \"%s\", \"meaning\": \"%s\", ", separator, call_unit_letter(unit), call_unit_meaning(unit));
        printf("\"fixed\": %s, \"value\": %" PRIu64 "}", call_unit_fixed(unit) ? "true" : "false",
               call_unit_value(&geometry, &facts, unit, MEASURE_READS));
        separator = ",";
    }
    separator = "";
    printf("],\n\"bounds\": [");
    for (enum call_kind kind = 0; kind < CALL_KINDS; kind++) {
        for (enum call_fill fill = 0; fill < (call_by_fill(kind) ? FILL_CLASSES : 1); fill++) {
            if (fill == FILL_TIGHT && call_same_tight(kind)) {
                continue;
            }
            printf("%s\n  ", separator);
            put_bound(kind, fill);
            separator = ",";
        }
    }
    printf("]}\n");
}
