/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_rebuild.c - volumes with random histories are damaged, read, and written anew. What must hold:
 *   - what is said to be whole is what was there;
 *   - where what is damaged is known from elsewhere (anchors, inner nodes), files come out under their names, byte for byte: all but one
 *     in a hundred, for what cannot be told from an older state of a leaf; five in a hundred where the root log is lost;
 *   - the new volume holds what was read, and the checker finds nothing wrong with it.
 *
 *     test_rebuild [--runs N] [--seed N] [--verbose 1]
 */
#include <stdlib.h>
#include <string.h>

#include "src/format.h"
#include "images.h"

enum place { AT_A_SUPER, AT_SUPERS, AT_LOG, AT_ROOT, AT_INNER, AT_LEAF, AT_FRAMES, PLACES };
enum manner { ERASED, ZEROS, NOISE, FIRST_PAGE, SOME_BITS, MANNERS };
static const char *const place_names[PLACES] = {"a super block", "all super blocks", "root log", "root", "inner node", "leaf", "frames"};

static unsigned long wrong_count, runs_done;
static struct {
    unsigned long runs, files, kept, false_whole;
} tally[PLACES];
static char context[200];
static bool verbose;

static void wrong(const struct repair *repair, const char *what)
{
    wrong_count++;
    printf("%s: %s\n", context, what);
    if (repair != NULL) {
        say_repair(repair);
    }
}

static void damage(uint8_t *block, const struct repair_geometry *g, enum manner manner, uint64_t *random)
{
    uint32_t log = NF2_LOG_BYTES_MAX < g->block_size ? NF2_LOG_BYTES_MAX : g->block_size;

    switch (manner) {
    case ERASED: memset(block, 0xFF, g->block_size); break;
    case ZEROS: memset(block, 0, g->block_size); break;
    case FIRST_PAGE: memset(block, 0, NF2_LOG_PAGE); break;
    case SOME_BITS:
        for (unsigned i = 0; i < 12; i++) {
            block[random_number(random, log)] ^= (uint8_t)(1u << random_number(random, 8));
        }
        break;
    default:
        for (uint32_t i = 0; i < g->block_size; i++) {
            block[i] = (uint8_t)random_number(random, 256);
        }
    }
}

/* A block of this kind, 0: there is none. */
static uint32_t some_block(const struct repair *sound, const struct repair_geometry *g, enum place place, uint64_t *random)
{
    static const enum repair_use uses[PLACES] = {REPAIR_USE_SUPER, REPAIR_USE_SUPER, REPAIR_USE_LOG, REPAIR_USE_NONE, REPAIR_USE_INNER,
                                                 REPAIR_USE_LEAF, REPAIR_USE_FRAMES};
    uint32_t blocks = g->size / g->block_size, start = random_number(random, blocks), found = 0;
    bool leaf_is_root = repair_summary(sound)->nodes == 1;

    for (uint32_t i = 0; i < blocks && found == 0; i++) {
        uint32_t block = (start + i) % blocks;
        enum repair_use use = repair_block_use(sound, block);
        bool root = place == AT_ROOT && use == (leaf_is_root ? REPAIR_USE_LEAF : REPAIR_USE_INNER);
        found = (place != AT_ROOT && use == uses[place]) || root ? block : 0;
    }
    return found;
}

static const struct image_entry *truth_of(const struct image *truth, const char *path)
{
    for (uint32_t i = 0; i < truth->count; i++) {
        if (strcmp(truth->entry[i].path, path + 1) == 0) {
            return &truth->entry[i];
        }
    }
    return NULL;
}

static bool right_item(const struct repair *repair, unsigned i, const struct image *truth)
{
    const struct repair_item *item = repair_item(repair, i);
    const struct image_entry *entry = truth_of(truth, item->path);

    if (entry == NULL || entry->type != item->type || item->type == NF2_TYPE_DIR) {
        return entry != NULL && entry->type == item->type;
    }
    uint8_t *bytes = malloc(item->size + 1u);
    bool same = item->size == entry->content.size && repair_read(repair, i, 0, bytes, item->size) == item->size &&
                (item->size == 0 || memcmp(bytes, entry->content.data, item->size) == 0);
    free(bytes);
    return same;
}

/* A record that is damaged where a cut may have been looks like a write that was cut. */
static bool cannot_tell(const struct repair *repair, uint32_t block)
{
    for (unsigned i = 0; i < repair_findings(repair); i++) {
        const struct repair_finding *finding = repair_finding(repair, i);
        if (finding->kind == REPAIR_UNFINISHED && finding->block == block && (!repair_clean(repair) || repair_summary(repair)->unclean_mounts > 0)) {
            return true;
        }
    }
    return false;
}

/*
 * Power went between the first record of a new root log and its anchor: only the block that the log before names as the next tells
 * of it. Without it there is the volume as it was before that record, and what is in the block looks like a turn that was cut.
 */
static bool like_a_cut_turn(const struct repair *repair, uint32_t block)
{
    return !repair_clean(repair) && repair_block_use(repair, block) == REPAIR_USE_NEXT;
}

static void compare(const struct repair *repair, const struct image *truth, enum place place, uint32_t block)
{
    unsigned kept = 0;
    bool unclear = cannot_tell(repair, block);

    for (unsigned i = 0; i < repair_count(repair); i++) {
        bool right = right_item(repair, i, truth);
        kept += right;
        const char *path = repair_item(repair, i)->path;
        bool moved = strstr(path, "/lost+found") == path || strstr(path, ".damaged/") != NULL; /* in a directory that is not */
        if (!right && repair_item(repair, i)->state == REPAIR_WHOLE && !moved && !unclear) {
            printf("%s: %s: said to be whole\n", context, path);
            tally[place].false_whole++;
        } else if (!right && verbose) {
            printf("%s: %s: %s\n", context, repair_item(repair, i)->path, repair_state_text(repair_item(repair, i)->state));
        }
    }
    tally[place].runs++;
    tally[place].files += truth->count;
    tally[place].kept += kept;
    if (verbose && kept < truth->count) {
        printf("%s: %u of %u\n", context, kept, truth->count);
        say_repair(repair);
    }
}

/* A new volume, and a look at it. */
static void rebuild(struct repair *repair, const struct history *history)
{
    struct vflash *flash = vflash_new(history->rig.chip);
    struct nf2_config config = history->rig.config;
    static nf2_t fs;
    static uint8_t page[NF2_PAGE_MAX];
    unsigned failed = 0;

    config.flash = vflash_driver(flash);
    config.buffer = malloc(config.buffer_size);
    bool right = nf2_format(&fs, &config, NF2_FORMAT_ERASE) == NF2_OK && nf2_mount(&fs, &config, NF2_MOUNT_RDWR) == NF2_OK;
    int written = right ? repair_write(repair, &fs, page, &failed) : NF2_OK;
    int verified = right && written == NF2_OK ? repair_verify(repair, &fs, &failed) : NF2_OK;
    if (!right || written != NF2_OK || verified != NF2_OK || nf2_check(&fs, NULL, NULL) != 0 || nf2_unmount(&fs) != NF2_OK) {
        printf("%s: writing %d, comparing %d, item %u\n", context, written, verified, failed);
        wrong(repair, "no new volume");
    }
    struct repair *fresh = repair_open(vflash_memory(flash), &history->geometry);
    if (fresh == NULL || repair_wrong(fresh) > 0 || repair_lossy(fresh)) {
        wrong(fresh, "the new volume is not whole");
    }
    repair_close(fresh);
    free(config.buffer);
    vflash_free(flash);
}

static void run_damage(struct history *history, const uint8_t *bytes, const struct repair *sound, const struct image *truth,
                       enum place place, enum manner manner)
{
    const struct repair_geometry *g = &history->geometry;
    uint32_t block = some_block(sound, g, place, &history->random);

    if (block == 0 && place != AT_A_SUPER && place != AT_SUPERS) {
        return;
    }
    uint8_t *copy = malloc(g->size);
    memcpy(copy, bytes, g->size);
    for (uint32_t i = 0; i < NF2_SUPER_BLOCKS && place == AT_SUPERS; i++) {
        damage(copy + i * g->block_size, g, manner, &history->random);
    }
    damage(copy + block * g->block_size, g, manner, &history->random);
    struct repair *repair = repair_open(copy, g);
    runs_done++;
    if (repair == NULL) {
        if (truth->count > 0 && place != AT_ROOT && place != AT_LEAF) {
            wrong(NULL, "nothing is left");
        }
    } else {
        bool may_be_silent = place == AT_A_SUPER || place == AT_FRAMES || manner == SOME_BITS || like_a_cut_turn(repair, block);
        if (!may_be_silent && repair_wrong(repair) == 0) {
            wrong(repair, "nothing is wrong");
        }
        compare(repair, truth, place, block);
        rebuild(repair, history);
    }
    repair_close(repair);
    free(copy);
}

static void run(uint64_t seed)
{
    static struct history history;
    struct image truth = {0};
    bool right = history_begin(&history, seed, NULL), cut = seed % 4 == 0;

    right = right && history_go_on(&history, 150 + random_number(&history.random, seed % 5 == 0 ? 3000 : 300));
    bool left = cut ? right && history_cut(&history) :
                right && nf2_mkdir(&history.rig.fs, "/a last change") == NF2_OK && nf2_unmount(&history.rig.fs) == NF2_OK;
    uint8_t *bytes = history_image(&history);
    right = left && history_mounts_as(&history, &truth);
    history.rig.mounted = cut || !left;
    struct repair *sound = right ? repair_open(bytes, &history.geometry) : NULL;
    for (unsigned place = 0; sound != NULL && repair_wrong(sound) == 0 && place < PLACES; place++) {
        unsigned manner = (unsigned)(seed + place) % MANNERS;
        snprintf(context, sizeof context, "seed %lu, chip %s%s, %s, manner %u", (unsigned long)seed, history.rig.chip->name,
                 cut ? ", cut" : "", place_names[place], manner);
        run_damage(&history, bytes, sound, &truth, (enum place)place, (enum manner)manner);
    }
    repair_close(sound);
    image_free(&truth);
    free(bytes);
    history_free(&history);
}

int main(int count, char **argument)
{
    unsigned long runs = 10, seed = 1;

    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(argument[i], "--runs") == 0) {
            runs = strtoul(argument[i + 1], NULL, 10);
        } else if (strcmp(argument[i], "--seed") == 0) {
            seed = strtoul(argument[i + 1], NULL, 10);
        } else if (strcmp(argument[i], "--verbose") == 0) {
            verbose = true;
        }
    }
    for (unsigned long i = 0; i < runs; i++) {
        run(seed + i);
    }
    for (unsigned place = 0; place < PLACES; place++) {
        printf("%-17s %4lu images, %6lu names, %6lu of them as they were; %lu others said to be whole\n", place_names[place],
               tally[place].runs, tally[place].files, tally[place].kept, tally[place].false_whole);
        bool known = place <= AT_INNER && place != AT_ROOT;
        if (tally[place].false_whole > 0 || (known && (place == AT_LOG ? 20 : 100) * (tally[place].files - tally[place].kept) > tally[place].files)) {
            wrong_count++;
        }
    }
    printf("%lu damaged images: %lu wrong\n", runs_done, wrong_count);
    return wrong_count > 0 || runs_done == 0;
}
