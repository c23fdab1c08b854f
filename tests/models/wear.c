// SPDX-License-Identifier: BSD-2-Clause
/*
 * Wear of the core's allocator: windows in turn, victims by live blocks, static data.
 * One write replaces one block of hot data (uniform). A block counts as live or dead as a whole.
 *
 *   wear BLOCKS COLD HOT RULES LAG MEAN
 *
 * COLD and HOT are shares of the chip. RULES is a sum: 1 groups that lag the mean wear by LAG are
 * victims; 2 their data go to the most worn free group of the window in use, not into the stream;
 * 4 free groups worn more than LAG above the mean are held back while others last; 8 laggards are
 * looked for in the window that the walk empties, not in all windows. It runs until
 * the mean of the erases a block is MEAN, and prints one line.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUP = 16, WINDOW = 512, MOST = 8192, GROUPS = WINDOW / GROUP, LAGGARDS = 8, NONE = -1 };
enum { RULE_LAGGARDS = 1, RULE_TO_WORN = 2, RULE_HOLD = 4, RULE_NEXT = 8 };

struct chip {
    int blocks, cold, hot, rules, lag;
    int owner[MOST], place[MOST], erases[MOST];
    bool resting[MOST / GROUP];             /* emptied laggards: next free groups for hot data */
    long total;
    double copies, rewrites, moved_for_wear;
};

/* Blocks that the window in use has to give. */
struct stream {
    int window, next_window;
    int queue[WINDOW + LAGGARDS * GROUP], count, at;
    int victims[WINDOW], victim_count, victim_at;
    int laggards[LAGGARDS * GROUP], laggard_count, laggard_at;
    int worn, worn_used;                    /* group that takes the laggards' data */
};

static uint64_t state = 88172645463325252u;

static unsigned next_random(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % below);
}

static int live(const struct chip *chip, int group)
{
    int count = 0;
    for (int i = 0; i < GROUP; i++)
        count += chip->owner[group * GROUP + i] != NONE;
    return count;
}

static double wear(const struct chip *chip, int group)
{
    int sum = 0;
    for (int i = 0; i < GROUP; i++)
        sum += chip->erases[group * GROUP + i];
    return (double)sum / GROUP;
}

static double mean(const struct chip *chip)
{
    return (double)chip->total / chip->blocks;
}

static void give(struct stream *stream, int block)
{
    stream->queue[stream->count++] = block;
}

/* Whole free groups of a window: the resting ones first; those held back only in a second pass. */
static void give_groups(const struct chip *chip, struct stream *stream, int window, bool held)
{
    for (int resting = 1; resting >= 0; resting--)
        for (int g = window * GROUPS; g < (window + 1) * GROUPS; g++) {
            bool high = (chip->rules & RULE_HOLD) && wear(chip, g) > mean(chip) + chip->lag;
            if (live(chip, g) == 0 && g != stream->worn && high == held &&
                chip->resting[g] == (resting != 0))
                for (int i = 0; i < GROUP; i++)
                    give(stream, g * GROUP + i);
        }
}

static void use_window(struct chip *chip, struct stream *stream, int window)
{
    double share = 1.0 - (double)(chip->cold + chip->hot) / chip->blocks;
    stream->window = window;
    stream->count = stream->at = 0;
    give_groups(chip, stream, window, false);
    if (stream->count < WINDOW * share * 0.3)
        give_groups(chip, stream, window, true);
    for (int most = 1; most < GROUP && stream->count < WINDOW * share * 0.5; most++)
        for (int g = window * GROUPS; g < (window + 1) * GROUPS; g++)
            for (int i = 0; live(chip, g) == most && g != stream->worn && i < GROUP; i++)
                if (chip->owner[g * GROUP + i] == NONE)
                    give(stream, g * GROUP + i);
}

static bool has_room(const struct chip *chip, int window)
{
    for (int g = window * GROUPS; g < (window + 1) * GROUPS; g++)
        if (live(chip, g) < GROUP)
            return true;
    return false;
}

/* The least worn groups that lag, anywhere or in the next window. */
static void choose_laggards(struct chip *chip, struct stream *stream)
{
    bool chosen[MOST / GROUP] = {false};
    stream->laggard_count = stream->laggard_at = 0;
    int most = chip->rules & RULE_NEXT ? (stream->count - stream->at) / (2 * GROUP) : LAGGARDS;
    for (int n = 0; n < LAGGARDS && n < most; n++) {
        bool near = (chip->rules & RULE_NEXT) != 0;
        int least = NONE, first = near ? stream->next_window * GROUPS : 0;
        for (int g = first; g < (near ? first + GROUPS : chip->blocks / GROUP); g++)
            if (!chosen[g] && live(chip, g) > 0 && wear(chip, g) < mean(chip) - chip->lag &&
                (least == NONE || wear(chip, g) < wear(chip, least)))
                least = g;
        if (least == NONE)
            return;
        chosen[least] = true;
        chip->resting[least] = true;
        for (int i = 0; i < GROUP; i++)
            if (chip->owner[least * GROUP + i] != NONE)
                stream->laggards[stream->laggard_count++] = least * GROUP + i;
    }
}

static void choose_victims(struct chip *chip, struct stream *stream)
{
    int windows = chip->blocks / WINDOW;
    int limit = (int)(GROUP * (double)(chip->cold + chip->hot) / chip->blocks) - 2;
    if (limit > 11)
        limit = 11;
    int next = stream->window;
    do
        next = (next + 1) % windows;
    while (!has_room(chip, next) && !(chip->rules & RULE_NEXT) && next != stream->window);
    stream->next_window = next;
    stream->victim_count = stream->victim_at = 0;
    for (int most = 1; most <= limit; most++)
        for (int g = next * GROUPS; g < (next + 1) * GROUPS; g++)
            for (int i = 0; live(chip, g) == most && i < GROUP; i++)
                if (chip->owner[g * GROUP + i] != NONE)
                    stream->victims[stream->victim_count++] = g * GROUP + i;
    if (chip->rules & RULE_LAGGARDS)
        choose_laggards(chip, stream);
}

static int take(struct chip *chip, struct stream *stream)
{
    for (int turns = 0; turns < 4 * chip->blocks / WINDOW;) {
        if (stream->at == stream->count) {
            use_window(chip, stream, stream->next_window);
            choose_victims(chip, stream);
            turns++;
            continue;
        }
        int block = stream->queue[stream->at++];
        if (chip->owner[block] != NONE || block / GROUP == stream->worn)
            continue;
        chip->erases[block]++;
        chip->total++;
        chip->resting[block / GROUP] = false;
        return block;
    }
    fprintf(stderr, "wear: no block found\n");
    exit(1);
}

static void put(struct chip *chip, int item, int block)
{
    chip->owner[block] = item;
    chip->place[item] = block;
}

static void move(struct chip *chip, int from, int to)
{
    int item = chip->owner[from];
    chip->owner[from] = NONE;
    put(chip, item, to);
}

/* The most worn group of the window that is free and not begun. */
static int most_worn(const struct chip *chip, const struct stream *stream)
{
    int best = NONE;
    for (int g = stream->window * GROUPS; g < (stream->window + 1) * GROUPS; g++)
        if (live(chip, g) == 0 && g != stream->queue[stream->at ? stream->at - 1 : 0] / GROUP &&
            (best == NONE || wear(chip, g) > wear(chip, best)))
            best = g;
    return best;
}

static void move_laggard(struct chip *chip, struct stream *stream)
{
    if (stream->laggard_at == stream->laggard_count)
        return;
    int from = stream->laggards[stream->laggard_at++], to = NONE;
    if (chip->owner[from] == NONE)
        return;
    if (chip->rules & RULE_TO_WORN) {
        if (stream->worn == NONE || stream->worn_used == GROUP) {
            stream->worn = most_worn(chip, stream);
            stream->worn_used = 0;
        }
        if (stream->worn != NONE) {
            to = stream->worn * GROUP + stream->worn_used++;
            chip->erases[to]++;
            chip->total++;
        }
    }
    if (to == NONE)
        to = take(chip, stream);
    if (chip->owner[from] != NONE)
        move(chip, from, to);
    chip->moved_for_wear++;
}

static void move_victims(struct chip *chip, struct stream *stream)
{
    int left = stream->count - stream->at, waiting = stream->victim_count - stream->victim_at;
    int steps = left > waiting + 1 ? (left - 1) / (left - waiting) : waiting;
    for (int n = 0; n < (steps > 3 ? 3 : steps) && stream->victim_at < stream->victim_count; n++) {
        int from = stream->victims[stream->victim_at++];
        if (chip->owner[from] == NONE || stream->count - stream->at < 3)
            continue;
        int to = take(chip, stream);
        if (chip->owner[from] != NONE)
            move(chip, from, to);
        chip->copies++;
    }
}

/* One a write; where the window must be empty when its turn comes, as many as that takes. */
static void move_laggards(struct chip *chip, struct stream *stream)
{
    int left = stream->count - stream->at;
    int waiting = stream->laggard_count - stream->laggard_at, steps = 1;
    if (chip->rules & RULE_NEXT)
        steps = left > waiting + 1 ? (left - 1) / (left - waiting) : waiting;
    for (int n = 0; n < steps; n++)
        move_laggard(chip, stream);
}

static void rewrite(struct chip *chip, struct stream *stream)
{
    int item = chip->cold + (int)next_random((unsigned)chip->hot);
    int to = take(chip, stream);
    chip->owner[chip->place[item]] = NONE;
    put(chip, item, to);
    chip->rewrites++;
}

static void fill(struct chip *chip, struct stream *stream)
{
    use_window(chip, stream, 0);
    stream->next_window = 1 % (chip->blocks / WINDOW);
    for (int i = 0; i < chip->cold + chip->hot; i++)
        put(chip, i, take(chip, stream));
    for (int b = 0; b < chip->blocks; b++)
        chip->erases[b] = 0;
    chip->total = 0;
}

static void report(const struct chip *chip)
{
    int most = 0, least = chip->erases[0];
    for (int b = 0; b < chip->blocks; b++) {
        most = chip->erases[b] > most ? chip->erases[b] : most;
        least = chip->erases[b] < least ? chip->erases[b] : least;
    }
    printf("%d %.2f %.2f %d %d %.0f %d %d %.3f %.3f %.3f\n", chip->blocks,
           (double)chip->cold / chip->blocks, (double)chip->hot / chip->blocks, chip->rules,
           chip->lag, mean(chip), least, most, most / mean(chip), chip->copies / chip->rewrites,
           chip->moved_for_wear / chip->rewrites);
}

int main(int count, char **words)
{
    static struct chip chip;
    static struct stream stream;
    if (count != 7) {
        fprintf(stderr, "usage: wear BLOCKS COLD HOT RULES LAG MEAN\n");
        return 2;
    }
    chip.blocks = atoi(words[1]);
    chip.cold = (int)(chip.blocks * atof(words[2]));
    chip.hot = (int)(chip.blocks * atof(words[3]));
    chip.rules = atoi(words[4]);
    chip.lag = atoi(words[5]);
    if (chip.blocks < WINDOW || chip.blocks > MOST || chip.blocks % WINDOW || chip.hot < 1 ||
        chip.cold < 0 || chip.cold + chip.hot > chip.blocks - 2 * GROUP) {
        fprintf(stderr, "wear: sizes out of range\n");
        return 2;
    }
    for (int b = 0; b < chip.blocks; b++)
        chip.owner[b] = NONE;
    stream.worn = NONE;
    fill(&chip, &stream);
    while (mean(&chip) < atof(words[6])) {
        move_victims(&chip, &stream);
        move_laggards(&chip, &stream);
        rewrite(&chip, &stream);
    }
    report(&chip);
    return 0;
}
