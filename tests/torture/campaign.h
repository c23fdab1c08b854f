/* SPDX-License-Identifier: BSD-2-Clause */
/* campaign.h - what the torture program can do to volumes. Each campaign is a row of cells; a cell and a seed repeat exactly. */
#ifndef CAMPAIGN_H
#define CAMPAIGN_H

#include "explore.h"

struct campaign_options {
    const char *chip, *script;      /* NULL: all */
    uint64_t seed;
    unsigned deepest;               /* see explore.h */
    double cuts;                    /* of an operation in scripts and sequences; 0: all, below 0: each campaign's own number */
};

struct campaign {
    const char *name, *what;
    unsigned slice;                 /* cells of the slice that the ordinary tests make */
    /* Makes one cell. The explorer is zero but for `failed` and `context`. False: there is no such cell. */
    bool (*cell)(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell);
};

extern const struct campaign campaigns[];
extern const unsigned campaign_count;

/* campaign_large.c */
bool large_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell);

/* campaign_groups.c */
bool groups_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell);

/* campaign_walks.c */
bool walks_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell);

/* A seed of its own for each cell. */
uint64_t cell_seed(const struct campaign_options *options, unsigned campaign, uint64_t cell);

#endif
