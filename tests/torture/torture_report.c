/* SPDX-License-Identifier: BSD-2-Clause */
/* torture_report.c - the torture program's figures, for people and for programs. */
#include "torture.h"

#include <string.h>

#define ULL(value) ((unsigned long long)(value))

void shared_sum(const struct shared *shared, unsigned campaign, struct tally *tally)
{
    memset(tally, 0, sizeof *tally);
    for (unsigned job = 0; job < shared->jobs; job++) {
        for (unsigned i = 0; i < campaign_count; i++) {
            if (i == campaign || campaign == campaign_count) {
                tally_add(tally, &shared->worker[job].tally[i]);
            }
        }
    }
}

static uint64_t cells_of(const struct shared *shared, unsigned campaign)
{
    uint64_t cells = 0;

    for (unsigned job = 0; job < shared->jobs; job++) {
        cells += shared->worker[job].cells[campaign];
    }
    return cells;
}

static unsigned failures_of(const struct shared *shared)
{
    unsigned count = atomic_load(&shared->failures);

    return count < FAILURES_MAX ? count : FAILURES_MAX;
}

void report_progress(const struct shared *shared)
{
    struct tally all;

    shared_sum(shared, campaign_count, &all);
    printf("%5.0f s: %llu cuts, %llu calls, %llu histories; %llu failures of %u kinds\n", shared->seconds, ULL(all.cuts), ULL(all.calls),
           ULL(all.histories), ULL(all.failures), failures_of(shared));
    fflush(stdout);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void text_campaigns(const struct shared *shared, FILE *out)
{
    fprintf(out, "\n%-10s %8s %11s %12s %12s %9s\n", "campaign", "cells", "histories", "calls", "cuts", "failures");
    for (unsigned i = 0; i <= campaign_count; i++) {
        struct tally tally;
        uint64_t cells = i < campaign_count ? cells_of(shared, i) : 0;

        shared_sum(shared, i, &tally);
        for (unsigned j = 0; i == campaign_count && j < campaign_count; j++) {
            cells += cells_of(shared, j);
        }
        fprintf(out, "%-10s %8llu %11llu %12llu %12llu %9llu\n", i < campaign_count ? campaigns[i].name : "all", ULL(cells),
                ULL(tally.histories), ULL(tally.calls), ULL(tally.cuts), ULL(tally.failures));
    }
}

static void text_tally(const struct tally *all, FILE *out)
{
    fprintf(out, "\nwhat the cuts left\n");
    for (unsigned i = 0; i < TEAR_COUNT; i++) {
        fprintf(out, "  %-28s %12llu\n", tear_names[i], ULL(all->tears[i]));
    }
    fprintf(out, "\nwhat the mount found\n");
    for (unsigned i = 0; i < FOUND_COUNT; i++) {
        fprintf(out, "  %-28s %12llu\n", found_names[i], ULL(all->found[i]));
    }
    fprintf(out, "  %-28s %12llu\n", "cuts while groups are emptied", ULL(all->emptying));
    fprintf(out, "  %-28s %12llu\n", "read-only mounts before", ULL(all->looks));
    fprintf(out, "  %-28s %12llu\n", "volumes emptied at the end", ULL(all->emptied));
    fprintf(out, "  %-28s %12llu\n", "blocks told to fail", ULL(all->breaks));
    fprintf(out, "  %-28s %12llu\n", "calls that gave up for one", ULL(all->refused));
    fprintf(out, "  %-28s %12llu\n", "volumes for reading only", ULL(all->closed));
    fprintf(out, "  %-28s %12llu\n", "calls that the driver failed", ULL(all->errors));
    fprintf(out, "  %-28s %12llu\n", "  and that broke the volume", ULL(all->broken));
    fprintf(out, "\ncuts in a row (from the second one on: in the mount after the one before)\n");
    for (unsigned i = 1; i < TALLY_DEPTHS; i++) {
        fprintf(out, "  %u%-27s %12llu\n", i, i + 1 == TALLY_DEPTHS ? " or more" : "", ULL(all->depth[i]));
    }
    fprintf(out, "\nmounts after a cut\n  %-12s %9s %9s %12s %9s %11s %7s   %s\n", "chip", "cuts", "mounts", "longest, us", "programs", "pages read", "erases",
            "of all: above 10 ms, with an erase");
    for (unsigned i = 0; i < TALLY_CHIPS && all->chip[i].name[0]; i++) {
        const struct tally_chip *chip = &all->chip[i];

        fprintf(out, "  %-12s %9llu %9llu %12llu %9llu %11llu %7llu   %llu, %llu\n", chip->name, ULL(chip->cuts), ULL(chip->mounts),
                ULL(chip->mount_us), ULL(chip->mount_programs), ULL(chip->mount_pages), ULL(chip->mount_erases), ULL(chip->slow),
                ULL(chip->erasing));
    }
    fprintf(out, "\nmounts after a cut and a first small write, in all\n  %-12s %9s %12s   %s\n", "chip", "writes", "longest, us", "above 10 ms");
    for (unsigned i = 0; i < TALLY_CHIPS && all->chip[i].name[0]; i++) {
        if (all->chip[i].writes > 0) {
            fprintf(out, "  %-12s %9llu %12llu   %llu\n", all->chip[i].name, ULL(all->chip[i].writes), ULL(all->chip[i].write_us),
                    ULL(all->chip[i].slow_writes));
        }
    }
}

static void text_failures(const struct shared *shared, FILE *out)
{
    for (unsigned i = 0; i < failures_of(shared); i++) {
        const struct failure *failure = &shared->failure[i];

        fprintf(out, "\nFAILED (%u times): %s, chip %s: %s\n    torture --campaign %s --seed %llu --cell %llu\n", failure->times, failure->campaign,
                failure->chip, failure->text, failure->campaign, ULL(shared->seed), ULL(failure->cell));
        if (failure->calls) {
            fprintf(out, "    torture --replay %s    # %u calls\n", failure->file, failure->calls);
        }
    }
}

void report_text(const struct shared *shared, FILE *out)
{
    struct tally all;

    shared_sum(shared, campaign_count, &all);
    fprintf(out, "torture: seed %llu, %u processes, %.0f s\n", ULL(shared->seed), shared->jobs, shared->seconds);
    text_campaigns(shared, out);
    text_tally(&all, out);
    text_failures(shared, out);
    fprintf(out, "\n%llu cuts, %llu failures of %u kinds\n", ULL(all.cuts), ULL(all.failures), failures_of(shared));
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 32 || c > 126 || c == '"' || c == '\\') {
            fprintf(out, "\\u%04x", c);
        } else {
            fputc(c, out);
        }
    }
    fputc('"', out);
}

static void json_counts(FILE *out, const char *name, const char *const *names, const uint64_t *counts, unsigned count)
{
    fprintf(out, "  \"%s\": {", name);
    for (unsigned i = 0; i < count; i++) {
        fprintf(out, "%s\"%s\": %llu", i ? ", " : "", names[i], ULL(counts[i]));
    }
    fprintf(out, "},\n");
}

static void json_campaigns(const struct shared *shared, FILE *out)
{
    fprintf(out, "  \"campaigns\": [\n");
    for (unsigned i = 0; i < campaign_count; i++) {
        struct tally tally;

        shared_sum(shared, i, &tally);
        fprintf(out, "    {\"name\": \"%s\", \"cells\": %llu, \"histories\": %llu, \"calls\": %llu, \"cuts\": %llu, \"failures\": %llu}%s\n",
                campaigns[i].name, ULL(cells_of(shared, i)), ULL(tally.histories), ULL(tally.calls), ULL(tally.cuts), ULL(tally.failures),
                i + 1 < campaign_count ? "," : "");
    }
    fprintf(out, "  ],\n");
}

static void json_chips(const struct tally *all, FILE *out)
{
    fprintf(out, "  \"chips\": [");
    for (unsigned i = 0; i < TALLY_CHIPS && all->chip[i].name[0]; i++) {
        const struct tally_chip *chip = &all->chip[i];

        fprintf(out, "%s\n    {\"name\": \"%s\", \"cuts\": %llu, \"mounts\": %llu, \"mount_us_max\": %llu, \"programs\": %llu, \"pages_read\": %llu, "
                "\"erases\": %llu, \"mounts_above_10_ms\": %llu, \"mounts_with_an_erase\": %llu, \"first_writes\": %llu, "
                "\"first_write_us_max\": %llu, \"first_writes_above_10_ms\": %llu}",
                i ? "," : "", chip->name, ULL(chip->cuts), ULL(chip->mounts), ULL(chip->mount_us), ULL(chip->mount_programs),
                ULL(chip->mount_pages), ULL(chip->mount_erases), ULL(chip->slow), ULL(chip->erasing), ULL(chip->writes), ULL(chip->write_us),
                ULL(chip->slow_writes));
    }
    fprintf(out, "\n  ],\n");
}

static void json_failures(const struct shared *shared, FILE *out)
{
    fprintf(out, "  \"failures\": [");
    for (unsigned i = 0; i < failures_of(shared); i++) {
        const struct failure *failure = &shared->failure[i];

        fprintf(out, "%s\n    {\"campaign\": \"%s\", \"chip\": \"%s\", \"cell\": %llu, \"times\": %u, \"cuts_before\": %llu, \"calls\": %u, \"text\": ",
                i ? "," : "", failure->campaign, failure->chip, ULL(failure->cell), failure->times, ULL(failure->cuts), failure->calls);
        json_text(out, failure->text);
        fprintf(out, ", \"replay\": ");
        json_text(out, failure->file);
        fprintf(out, "}");
    }
    fprintf(out, "\n  ]\n");
}

void report_json(const struct shared *shared, FILE *out)
{
    struct tally all;

    shared_sum(shared, campaign_count, &all);
    fprintf(out, "{\n  \"seed\": %llu,\n  \"jobs\": %u,\n  \"seconds\": %.1f,\n  \"cuts\": %llu,\n  \"calls\": %llu,\n  \"histories\": %llu,\n",
            ULL(shared->seed), shared->jobs, shared->seconds, ULL(all.cuts), ULL(all.calls), ULL(all.histories));
    fprintf(out, "  \"failed\": %llu,\n  \"read_only_mounts\": %llu,\n  \"emptied\": %llu,\n", ULL(all.failures), ULL(all.looks), ULL(all.emptied));
    fprintf(out, "  \"cuts_while_groups_are_emptied\": %llu,\n", ULL(all.emptying));
    fprintf(out, "  \"breaks\": %llu,\n  \"refused\": %llu,\n  \"closed\": %llu,\n", ULL(all.breaks), ULL(all.refused), ULL(all.closed));
    fprintf(out, "  \"driver_errors\": %llu,\n  \"broken_by_them\": %llu,\n", ULL(all.errors), ULL(all.broken));
    json_campaigns(shared, out);
    json_counts(out, "cuts_by_what_they_left", tear_names, all.tears, TEAR_COUNT);
    json_counts(out, "mounts_by_what_they_found", found_names, all.found, FOUND_COUNT);
    fprintf(out, "  \"cuts_in_a_row\": [");
    for (unsigned i = 1; i < TALLY_DEPTHS; i++) {
        fprintf(out, "%s%llu", i > 1 ? ", " : "", ULL(all.depth[i]));
    }
    fprintf(out, "],\n");
    json_chips(&all, out);
    json_failures(shared, out);
    fprintf(out, "}\n");
}
