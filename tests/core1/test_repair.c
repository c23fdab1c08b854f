/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_repair.c - repair of damaged images. Volumes with a random history, left cleanly or cut, are damaged at every kind of
 * place in every manner, by seeds. What must hold:
 *   - of an image without damage all comes out, and just that (compared with the volume as it mounts);
 *   - a file or directory none of whose bytes are damaged is there under its name, byte for byte (one in 600 may be missing, or
 *     outdated, where the repair says that it cannot tell which state is the last, or where what would tell is blank);
 *   - what is said to be whole is what was there, but for damaged data without checks;
 *   - the volume that is made of it passes nf2_check, holds what the repair says, and can be written to.
 *
 *     test_repair [--runs N] [--seed N] [--verbose]
 */
#include <stdlib.h>

#include "random_ops.h"
#include "repair_volume.h"

#include "repair/frames_read.h"
#include "repair/salvage.h"
#include "src/core.h"
#include "src/index.h"

#define DAMAGES 12u             /* of each volume */
#define CONTENT_MAX (4u << 20)

enum place { AT_SUPER, AT_HEAD, AT_WINDOW, AT_ROOT, AT_INNER, AT_LEAF, AT_FRAMES, AT_DATA, AT_ANY, PLACES };
enum manner { A_BIT, SOME_BITS, ZEROS, BLANKS, NOISE, ERASED, WIPED, JUNK, MANNERS };

static const char *const place_names[PLACES] = {"super", "head", "window", "root", "inner", "leaf", "frames", "data", "any"};
static const char *const manner_names[MANNERS] = {"a bit", "some bits", "zeros", "blanks", "noise", "erased", "wiped", "junk"};

/* What came of the files of all volumes that were damaged in one manner (or place). */
struct tally {
    unsigned long runs, files, kept, flagged, suffixed, cautious, missed;
};

static struct tally by_place[PLACES], by_manner[MANNERS];
static unsigned long wrong_count, exempt_count, unclear_count;
static bool verbose;
static char context[200];

static void wrong(const char *what, const char *path)
{
    wrong_count++;
    printf("%s: %s: %s\n", context, what, path);
}

/* ---- without damage ------------------------------------------------------------------------------ */

static const struct image_entry *truth_of(const struct volume *volume, const char *path)
{
    for (uint32_t i = 0; i < volume->truth.count; i++) {
        if (strcmp(volume->truth.entry[i].path, path + 1) == 0) {
            return &volume->truth.entry[i];
        }
    }
    return NULL;
}

static void say(const struct repair *repair);
static void say_name(const struct repair *repair, const char *path);

static bool check_sound(const struct volume *volume)
{
    static uint8_t bytes[CONTENT_MAX];
    const struct repair *repair = volume->sound;
    unsigned long before = wrong_count;
    uint32_t found = 0;

    bool damaged = false;
    for (unsigned i = 0; repair != NULL && i < repair_notes(repair); i++) {
        damaged = damaged || (repair->meta.clean && repair_note(repair, i)->kind != REPAIR_NOTE_UNFINISHED);
    }
    if (repair == NULL || damaged || (repair_lossy(repair) && repair->meta.clean) || repair->meta.clean != volume->clean) {
        wrong("without damage", repair == NULL ? "nothing" : "something is lost, or it is not known how the volume was left");
        printf("  meta log %s%s%s\n", repair != NULL && repair->meta.whole ? "whole" : "damaged", repair != NULL && repair->meta.clean ? ", clean" : "",
               repair != NULL && repair->meta.outdated ? ", outdated" : "");
        say(repair);
        return false;
    }
    for (unsigned i = 0; i < repair_count(repair); i++) {
        const struct repair_item *item = repair_item(repair, i);
        const struct image_entry *entry = truth_of(volume, item->path);
        if (entry == NULL && item->state == REPAIR_COPY && !repair->meta.clean) {
            continue; /* a cut while nodes were replaced: it cannot be told from a meta log that has lost its end */
        }
        bool right = entry != NULL && entry->type == item->type &&
                     (item->type == NF2_TYPE_DIR || (item->size == entry->content.size && repair_read(repair, i, 0, bytes, item->size) == item->size &&
                                                     (item->size == 0 || memcmp(bytes, entry->content.data, item->size) == 0)));
        found += right;
        if (!right) {
            wrong("without damage", item->path);
            say_name(repair, item->path);
            printf("    %lu bytes, not %lu\n", (unsigned long)item->size, entry != NULL ? (unsigned long)entry->content.size : 0);
        }
    }
    if (found != volume->truth.count) {
        wrong("without damage", "something is missing");
    }
    if (!repair->meta.clean && wrong_count > before) { /* cut in the middle of a change of several nodes: as if a record was lost */
        unclear_count++;
        wrong_count = before;
        return false;
    }
    if (wrong_count > before || verbose) {
        printf("  root %ld (of %u), meta log %s%s%s\n", (long)(int32_t)repair->tree.root, repair->meta.roots, repair->meta.whole ? "whole" : "damaged",
               repair->meta.clean ? ", clean" : "", repair->meta.outdated ? ", outdated" : "");
        say(repair);
    }
    return wrong_count == before;
}

/* ---- damage -------------------------------------------------------------------------------------- */

static bool is_frames_block(const struct repair *repair, uint32_t block)
{
    for (unsigned i = 0; i < repair->entries.count; i++) {
        const struct rep_entry *entry = &repair->entries.entry[i];
        if (entry->kind == NF2_BODY_FRAMES && entry->body_length >= 4 && nf2_get24(entry->body + 1) == block) {
            return true;
        }
    }
    return false;
}

static bool is_place(const struct repair *repair, uint32_t block, enum place place)
{
    const struct rep_node *node = repair->tree.role[block] == REP_TREE_NODE ? repair->tree.node[block] : NULL;

    switch (place) {
    case AT_SUPER: return block < 2;
    case AT_HEAD: return block == repair->meta.head;
    case AT_WINDOW: return block >= 2 && repair->meta.is_meta[block];
    case AT_ROOT: return block == repair->tree.root;
    case AT_INNER: return node != NULL && node->level > 0;
    case AT_LEAF: return node != NULL && node->level == 0;
    case AT_FRAMES: return is_frames_block(repair, block);
    case AT_DATA: return repair->owners.owner[block] != 0 && repair->owners.owner[block] != NF2_NONE && !is_frames_block(repair, block);
    default: return true;
    }
}

static bool blank(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if (bytes[i] != 0xFF) {
            return false;
        }
    }
    return true;
}

/* A block of that kind, any where there is none. */
static uint32_t pick_block(const struct volume *volume, enum place place, uint64_t *random)
{
    uint32_t blocks = volume->chip->size / volume->chip->block_size, candidates = 0, chosen = random_number(random, blocks);

    for (uint32_t block = 0; block < blocks; block++) {
        if (is_place(volume->sound, block, place) && !blank(volume->bytes + block * volume->chip->block_size, volume->chip->block_size) &&
            random_number(random, ++candidates) == 0) {
            chosen = block;
        }
    }
    return chosen;
}

static void damage(const struct volume *volume, uint8_t *bytes, enum place place, enum manner manner, uint64_t *random)
{
    uint32_t size = volume->chip->block_size, page = volume->chip->page_size, block = pick_block(volume, place, random);
    uint8_t *at = bytes + (size_t)block * size;
    uint32_t from = random_number(random, size / page) * page, count;

    for (unsigned i = 0; i < 20 && blank(at + from, page); i++) { /* where something is */
        from = random_number(random, size / page) * page;
    }
    from += random_number(random, page);
    count = manner == A_BIT ? 1 : manner == SOME_BITS ? 2 + random_number(random, 20) : 1 + random_number(random, manner == ZEROS ? 64 : 300);
    for (uint32_t i = 0; i < (manner >= ERASED ? size : count) && (manner >= ERASED || from + i < size); i++) {
        uint8_t *byte = manner >= ERASED ? at + i : manner <= SOME_BITS ? at + (from & ~(page - 1)) + random_number(random, page) : at + from + i;
        if (manner <= SOME_BITS) {
            byte = i == 0 ? at + from : byte;
            *byte = (uint8_t)(*byte ^ 1u << random_number(random, 8));
        } else {
            *byte = manner == ZEROS || manner == WIPED ? 0 : manner == BLANKS || manner == ERASED ? 0xFF : (uint8_t)random_number(random, 256);
        }
    }
}

/* ---- what a file stands on ----------------------------------------------------------------------- */

struct stand {
    const struct volume *volume;
    const uint8_t *damaged;
    bool checked, unchecked;    /* something under it is damaged: with a check, or data without one */
    const struct repair *repair;
    bool unfinished;            /* what is under it lies beside damage that looks like a write that was cut */
};

static void stand_on(void *stand_context, uint32_t from, uint32_t to)
{
    struct stand *stand = stand_context;

    stand->checked = stand->checked || memcmp(stand->volume->bytes + from, stand->damaged + from, to - from) != 0;
}

static void stand_on_record(struct stand *stand, uint32_t block, uint16_t offset)
{
    const struct repair *repair = stand->volume->sound;
    const struct rep_node *node = repair->tree.node[block];

    for (unsigned i = 0; i < repair->entries.batches; i++) {
        node = repair->entries.batch[i].block == block ? &repair->entries.batch[i] : node;
    }
    for (unsigned i = 0; i < node->log.records; i++) {
        if (node->log.record[i].offset == offset) {
            rep_record_bytes(&repair->image, block, &node->log.record[i], stand_on, stand);
        }
    }
}

static void stand_on_entry(struct stand *stand, const struct rep_entry *entry)
{
    const struct rep_node *node = stand->repair->tree.node[entry->node];

    stand->unfinished = stand->unfinished || (node != NULL && node->log.losts > node->lost);
    stand->unfinished = stand->unfinished && !entry->batch;
    stand_on_record(stand, entry->node, entry->offset);
    for (unsigned i = 0; i < 8 && entry->source[i] != 0; i++) {
        stand_on_record(stand, entry->node, entry->source[i]);
    }
}

/* Records that took something away: without one of them a file may have parts that it has not. */
static void stand_on_kills(struct stand *stand, uint32_t block)
{
    const struct repair *repair = stand->volume->sound;
    const struct rep_node *node = repair->tree.node[block];

    for (unsigned i = 0; node != NULL && i < node->log.records; i++) {
        if (node->log.record[i].type > NF2_NODE_PUT) {
            rep_record_bytes(&repair->image, block, &node->log.record[i], stand_on, stand);
        }
    }
}

static void stand_on_frames(struct stand *stand, const struct rep_entry *entry)
{
    struct repair *repair = stand->volume->sound;
    uint32_t block = nf2_get24(entry->body + 1), base = block * repair->image.block_size, page = repair->image.page_size;
    struct rep_frames frames;

    rep_frames_read(&repair->image, entry->key.id, block, nf2_get32(entry->body + 4), &frames);
    for (unsigned i = 0; i < frames.frames; i++) {
        uint32_t at = base + frames.frame[i].place, head = at & ~(page - 1);
        stand_on(stand, head, head + 4);
        stand_on(stand, at, at + 6 + frames.frame[i].length);
    }
    rep_frames_free(&frames);
}

/* What a file or directory stands on, and the directories that it is in. */
static void stand_on_item(struct stand *stand, const struct item *item)
{
    const struct repair *repair = stand->volume->sound;
    struct rep_content content;

    for (unsigned i = 0; i < repair->items; i++) {
        const struct item *above = &repair->item[i];
        size_t length = strlen(above->path);
        if (above->out.type == NF2_TYPE_DIR && strncmp(above->path, item->path, length) == 0 && (item->path[length] == '/' || above == item)) {
            stand_on_entry(stand, &repair->entries.entry[above->entry]);
        }
    }
    if (item->out.type == NF2_TYPE_DIR) {
        return;
    }
    stand_on_entry(stand, &repair->entries.entry[item->entry]);
    if (repair->entries.batches > 0) { /* a change that is committed by a record of the meta log */
        stand_on(stand, repair->meta.head * repair->image.block_size, (repair->meta.head + 1) * repair->image.block_size);
    }
    if (item->id != 0) {
        unsigned end, first = rep_entries_of(&repair->entries, item->id, &end);
        for (unsigned i = first; i < end; i++) {
            stand_on_entry(stand, &repair->entries.entry[i]);
            stand_on_kills(stand, repair->entries.entry[i].node);
            if (repair->entries.entry[i].kind == NF2_BODY_FRAMES) {
                stand_on_frames(stand, &repair->entries.entry[i]);
            }
        }
    }
    for (uint32_t block = 0; block < repair->image.blocks && item->id != 0; block++) { /* where parts of it were and no part is any more */
        const struct rep_node *node = repair->tree.role[block] == REP_TREE_NODE ? repair->tree.node[block] : NULL;
        for (unsigned i = 0; node != NULL && i < node->deads; i++) {
            if (node->dead[i].key.id == item->id) {
                stand_on_kills(stand, block);
                break;
            }
        }
    }
    rep_item_content(repair, item, &content);
    for (unsigned i = 0; i < content.parts; i++) {
        const struct rep_part *part = &content.part[i];
        if (part->data >= repair->image.bytes && part->data < repair->image.bytes + stand->volume->chip->size) {
            size_t from = (size_t)(part->data - repair->image.bytes);
            stand->unchecked = stand->unchecked || memcmp(stand->volume->bytes + from, stand->damaged + from, part->length) != 0;
        }
    }
    rep_content_free(&content);
}

/* Did something that was written become blank, up to the end of what was written in its page? Then nothing shows that it was there. */
static bool vanished(const struct volume *volume, const uint8_t *damaged)
{
    uint32_t page = volume->chip->page_size;

    for (uint32_t at = 0; at < volume->chip->size; at += page) {
        uint32_t end = page;
        while (end > 0 && volume->bytes[at + end - 1] == 0xFF) {
            end--;
        }
        if (end > 0 && damaged[at + end - 1] == 0xFF) {
            return true;
        }
    }
    return false;
}

/* ---- judgement ----------------------------------------------------------------------------------- */

static int find_item(const struct repair *repair, const char *path)
{
    for (unsigned i = 0; i < repair->items; i++) {
        if (strcmp(repair->item[i].path, path) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool same_content(const struct repair *repair, unsigned number, const struct image_entry *entry)
{
    static uint8_t bytes[CONTENT_MAX];
    const struct repair_item *item = repair_item(repair, number);

    return item->type == entry->type &&
           (item->type == NF2_TYPE_DIR || (item->size == entry->content.size && repair_read(repair, number, 0, bytes, item->size) == item->size &&
                                           (item->size == 0 || memcmp(bytes, entry->content.data, item->size) == 0)));
}

static void say_name(const struct repair *repair, const char *path);

/* Does the repair say that something is lost, or may be? */
static bool says_so(const struct repair *repair)
{
    bool said = repair_lossy(repair);

    for (unsigned i = 0; i < repair_notes(repair); i++) {
        said = said || repair_note(repair, i)->kind == REPAIR_NOTE_UNFINISHED;
    }
    return said;
}

/* What is not damaged must be there. */
static void judge_kept(const struct volume *volume, const uint8_t *damaged, const struct repair *repair, struct tally *tally)
{
    bool blanked = vanished(volume, damaged);

    for (unsigned i = 0; i < volume->sound->items; i++) {
        const struct item *item = &volume->sound->item[i];
        const struct image_entry *entry = truth_of(volume, item->path);
        struct stand stand = {volume, damaged, false, false, repair, false};
        if (entry == NULL) {
            continue;
        }
        stand_on_item(&stand, item);
        int at = find_item(repair, item->path);
        enum repair_state state = at < 0 ? REPAIR_LOST : repair->item[at].out.state;
        tally->files++;
        tally->kept += at >= 0 && state <= REPAIR_UNSURE;
        tally->flagged += at >= 0 && state > REPAIR_UNSURE && state < REPAIR_OUTDATED;
        tally->suffixed += at < 0;
        if (stand.checked || stand.unchecked || (at >= 0 && same_content(repair, (unsigned)at, entry))) {
            continue;
        }
        char other[70000];
        const char *name = strrchr(item->path, '/') + 1;
        snprintf(other, sizeof other, "%.*s%.247s.damaged", (int)(name - item->path), item->path, name);
        at = find_item(repair, other);
        if ((at >= 0 && same_content(repair, (unsigned)at, entry)) || stand.unfinished) { /* the repair cannot know */
            tally->cautious++;
        } else if (says_so(repair) || (blanked && !repair->meta.clean)) {
            /* nor can it always know which of two states is the last one; where what was written is blank, not even that there are two */
            tally->missed++;
            if (verbose) {
                printf("%s: missed: %s\n", context, item->path);
            }
        } else {
            wrong("not damaged, and not there", item->path);
            say_name(repair, item->path);
        }
    }
}

/* What is said to be whole must be right. */
static void judge_whole(const struct volume *volume, const uint8_t *damaged, const struct repair *repair)
{
    bool blanked = vanished(volume, damaged);

    for (unsigned i = 0; i < repair->items; i++) {
        const struct item *item = &repair->item[i];
        const struct image_entry *entry = truth_of(volume, item->path);
        if (item->out.state != REPAIR_WHOLE || strncmp(item->path, "/lost+found", 11) == 0 || (entry != NULL && same_content(repair, i, entry))) {
            continue;
        }
        struct stand stand = {volume, damaged, false, false, repair, false};
        int before = find_item(volume->sound, item->path);
        if (before >= 0) {
            stand_on_item(&stand, &volume->sound->item[before]);
        }
        if (blanked || (entry != NULL && stand.unchecked && item->out.size == entry->content.size)) {
            exempt_count++; /* nothing can show it */
        } else {
            wrong(entry == NULL ? "said to be whole, but was removed" : "said to be whole, but is not", item->path);
            say_name(repair, item->path);
        }
    }
}

/* The volume that is made of it. */
static void judge_volume(const struct volume *volume, struct repair *repair)
{
    struct vflash *flash = vflash_new(volume->chip);
    struct nf2_config config = {.flash = vflash_driver(flash), .buffer_size = 16384};
    static uint8_t page[NF2_PAGE_MAX];
    nf2_t fs;
    unsigned failed = 0;

    config.buffer = malloc(config.buffer_size);
    bool right = nf2_format(&fs, &config, NF2_FORMAT_ERASE) == NF2_OK && nf2_mount(&fs, &config, NF2_MOUNT_RDWR) == NF2_OK;
    int result = right ? repair_write(repair, &fs, page, &failed) : NF2_ERR_IO;
    if (result != NF2_OK) {
        printf("%s: %d\n", context, result);
        wrong("cannot be written", repair->items > 0 ? repair->item[failed].path : "");
    } else if (nf2_unmount(&fs) != NF2_OK || nf2_mount(&fs, &config, NF2_MOUNT_RDONLY) != NF2_OK || nf2_check(&fs, NULL, NULL) != 0) {
        wrong("the new volume is wrong", "");
    } else if (repair_verify(repair, &fs, &failed) != NF2_OK) {
        wrong("differs in the new volume", repair->item[failed].path);
    } else if (nf2_unmount(&fs) != NF2_OK || nf2_mount(&fs, &config, NF2_MOUNT_RDWR) != NF2_OK || nf2_mkdir(&fs, "/one more") != NF2_OK ||
               nf2_check(&fs, NULL, NULL) != 0 || repair_verify(repair, &fs, &failed) != NF2_OK) {
        wrong("the new volume cannot be written to", "");
    }
    free(config.buffer);
    vflash_free(flash);
}

static void say_map(const struct repair *repair, uint32_t id)
{
    unsigned end, first = rep_entries_of(&repair->entries, id, &end);

    for (unsigned i = first; i < end; i++) {
        const struct rep_entry *entry = &repair->entries.entry[i];
        printf("      %s at %lu, block %lu, %lu; trust %u, in %lu at %u\n", entry->kind == NF2_BODY_FRAMES ? "frames" : entry->kind == NF2_BODY_OWN ? "own" : "piece",
               (unsigned long)rep_number(&entry->key), entry->body_length >= 4 ? (unsigned long)nf2_get24(entry->body + 1) : 0,
               entry->body_length >= 10 ? (unsigned long)nf2_get32(entry->body + 6) : 0, entry->trust, (unsigned long)entry->node, entry->offset);
    }
}

/* All that nodes hold of names like the one at the end of a path. */
static void say_name(const struct repair *repair, const char *path)
{
    const char *name = strrchr(path, '/') + 1;

    for (uint32_t block = 0; block < repair->image.blocks; block++) {
        const struct rep_node *node = repair->tree.node[block];
        for (unsigned i = 0; node != NULL && i < node->entries; i++) {
            const struct rep_entry *entry = &node->entry[i];
            if (entry->key.length == strlen(name) && memcmp(entry->key.bytes, name, entry->key.length) == 0) {
                printf("    in %lu (role %u): directory %lu, at %u, kind %u, trust %u, %lu bytes, id %lu\n", (unsigned long)block,
                       repair->tree.role[block], (unsigned long)entry->key.id, entry->offset, entry->kind, entry->trust,
                       (unsigned long)entry->body_length, (unsigned long)rep_body_id(entry));
                if (entry->kind == NF2_BODY_INDEXED) {
                    say_map(repair, rep_body_id(entry));
                }
            }
        }
    }
}

static void say(const struct repair *repair)
{
    for (unsigned i = 0; i < repair_notes(repair); i++) {
        const struct repair_note *note = repair_note(repair, i);
        printf("  %s: block %ld, number %lu, %s .. %s\n", repair_note_text(note->kind), (long)(int32_t)note->block, (unsigned long)note->number,
               note->from ? note->from : "", note->to ? note->to : "");
    }
    for (uint32_t block = 0; block < repair->image.blocks && verbose; block++) {
        const struct rep_node *node = repair->tree.role[block] >= REP_FOUND_NODE ? repair->tree.node[block] : NULL;
        for (unsigned i = 0; node != NULL && i < node->log.losts; i++) {
            const struct rep_lost *lost = &node->log.lost[i];
            printf("  block %lu: from %u to %u, epoch %u, type %u, length %u%s%s\n", (unsigned long)block, lost->from, lost->to, lost->epoch, lost->type,
                   lost->length, lost->more ? ", more" : "", lost->unfinished ? ", unfinished" : "");
        }
        for (unsigned i = 0; node != NULL && node->log.losts > 0 && i < node->log.records; i++) {
            const struct rep_record *record = &node->log.record[i];
            printf("    record at %u, length %u, epoch %u, type %u%s%s\n", record->offset, record->length, record->epoch, record->type,
                   record->more ? ", more" : "", record->partial ? ", partial" : "");
        }
    }
    for (unsigned i = 0; i < repair->items; i++) {
        if (repair->item[i].out.state != REPAIR_WHOLE) {
            printf("  %s: %s\n", repair->item[i].path, repair_state_text(repair->item[i].out.state));
        }
    }
}

static void say_damage(const struct volume *volume, const uint8_t *damaged, const struct repair *repair)
{
    const struct repair *sound = volume->sound;

    printf("  root %ld, found %ld; meta log's head %ld, found %ld\n", (long)(int32_t)sound->tree.root, (long)(int32_t)repair->tree.root,
           (long)(int32_t)sound->meta.head, (long)(int32_t)repair->meta.head);
    printf("  meta log %s%s%s, %u roots, holes:", repair->meta.whole ? "whole" : "damaged", repair->meta.clean ? ", clean" : "",
           repair->meta.outdated ? ", outdated" : "", repair->meta.roots);
    for (unsigned i = 0; i < repair->tree.holes; i++) {
        printf(" %ld%s%s/%u", (long)(int32_t)repair->tree.hole[i].block, repair->tree.hole[i].sure ? " sure" : "",
               repair->tree.hole[i].closed ? " closed" : "", repair->tree.hole[i].level);
    }
    printf("\n");
    for (uint32_t block = 0; block < sound->image.blocks; block++) {
        const uint8_t *a = rep_block(&sound->image, block), *b = damaged + (size_t)block * sound->image.block_size;
        uint32_t first = 0, last = sound->image.block_size, role = sound->tree.role[block];
        while (first < last && a[first] == b[first]) {
            first++;
        }
        while (last > first && a[last - 1] == b[last - 1]) {
            last--;
        }
        if (first < last || role != repair->tree.role[block]) {
            printf("  block %lu: role %u, now %u; level %d; bytes %lu to %lu%s%s\n", (unsigned long)block, (unsigned)role, (unsigned)repair->tree.role[block],
                   sound->tree.node[block] ? sound->tree.node[block]->level : -1, (unsigned long)first, (unsigned long)last,
                   sound->meta.is_meta[block] ? ", meta" : "", sound->owners.owner[block] ? ", owned" : "");
        }
    }
}

static void run_damage(const struct volume *volume, uint64_t seed, unsigned number)
{
    uint64_t random = seed * 1000 + number;
    enum place place = (enum place)((seed + number) % PLACES);
    enum manner manner = (enum manner)((seed / PLACES + number * 5) % MANNERS);
    unsigned more = random_number(&random, 10) < 7 ? 0 : 1 + random_number(&random, 3);
    uint8_t *damaged = malloc(volume->chip->size);
    struct tally tally = {0};

    memcpy(damaged, volume->bytes, volume->chip->size);
    damage(volume, damaged, place, manner, &random);
    for (unsigned i = 0; i < more; i++) {
        damage(volume, damaged, (enum place)random_number(&random, PLACES), (enum manner)random_number(&random, MANNERS), &random);
    }
    snprintf(context, sizeof context, "seed %llu damage %u (%s, %s%s, chip %s, %s)", (unsigned long long)seed, number, place_names[place],
             manner_names[manner], more ? ", and more" : "", volume->chip->name,
             volume->ending == LEFT_CLEANLY ? "left cleanly" : volume->ending == CUT ? "cut" : "abandoned");
    unsigned long before = wrong_count;
    struct repair *repair = repair_open(damaged, &volume->geometry);
    if (repair == NULL) {
        for (unsigned i = 0; i < volume->sound->items; i++) {
            struct stand stand = {volume, damaged, false, false, volume->sound, false};
            stand_on_item(&stand, &volume->sound->item[i]);
            if (!stand.checked && !stand.unchecked && truth_of(volume, volume->sound->item[i].path) != NULL) {
                wrong("nothing found", volume->sound->item[i].path);
            }
        }
    } else {
        judge_kept(volume, damaged, repair, &tally);
        judge_whole(volume, damaged, repair);
        judge_volume(volume, repair);
        if (verbose || wrong_count > before) {
            printf("%s\n", context);
            say_damage(volume, damaged, repair);
            say(repair);
        }
    }
    tally.runs = 1;
    for (unsigned i = 0; i < sizeof tally / sizeof(unsigned long); i++) {
        ((unsigned long *)&by_place[place])[i] += ((unsigned long *)&tally)[i];
        ((unsigned long *)&by_manner[manner])[i] += ((unsigned long *)&tally)[i];
    }
    repair_close(repair);
    free(damaged);
}

static void print_tally(const char *name, const struct tally *tally)
{
    unsigned long files = tally->files ? tally->files : 1;

    printf("  %-10s %6lu images, %8lu files and directories: %5.1f%% whole, %5.1f%% in doubt, %5.1f%% damaged, elsewhere or lost\n", name, tally->runs,
           tally->files, 100.0 * (double)tally->kept / (double)files, 100.0 * (double)tally->flagged / (double)files,
           100.0 * (double)tally->suffixed / (double)files);
}

int main(int count, char **argument)
{
    unsigned long runs = 40;
    uint64_t seed = 1, volumes = 0;
    long only = -1;

    for (int i = 1; i < count; i++) {
        if (strcmp(argument[i], "--runs") == 0 && i + 1 < count) {
            runs = strtoul(argument[++i], NULL, 0);
        } else if (strcmp(argument[i], "--seed") == 0 && i + 1 < count) {
            seed = strtoull(argument[++i], NULL, 0);
        } else if (strcmp(argument[i], "--damage") == 0 && i + 1 < count) {
            only = strtol(argument[++i], NULL, 0);
        } else if (strcmp(argument[i], "--verbose") == 0) {
            verbose = true;
        } else {
            fprintf(stderr, "test_repair [--runs N] [--seed N] [--damage N] [--verbose]\n");
            return 2;
        }
    }
    for (unsigned long run = 0; run < runs; run++) {
        struct volume volume;
        snprintf(context, sizeof context, "seed %llu", (unsigned long long)(seed + run));
        if (!volume_make(&volume, seed + run)) {
            wrong("no volume could be made", "the history ended with an error, or nf2_check finds one");
        } else {
            volumes++;
            bool sound = check_sound(&volume);
            for (unsigned i = 0; i < DAMAGES && sound; i++) {
                if (only < 0 || only == (long)i) {
                    run_damage(&volume, seed + run, i);
                }
            }
        }
        volume_free(&volume);
    }
    for (unsigned i = 0; i < PLACES; i++) {
        print_tally(place_names[i], &by_place[i]);
    }
    for (unsigned i = 0; i < MANNERS; i++) {
        print_tally(manner_names[i], &by_manner[i]);
    }
    struct tally all = {0};
    for (unsigned i = 0; i < PLACES; i++) {
        for (unsigned j = 0; j < sizeof all / sizeof(unsigned long); j++) {
            ((unsigned long *)&all)[j] += ((unsigned long *)&by_place[i])[j];
        }
    }
    printf("%llu volumes, %lu damaged images, %lu files and directories: of the undamaged ones %lu were called damaged, %lu lost where it could not "
           "be told which state was the last; of the damaged ones %lu could not be told from whole ones\n", (unsigned long long)volumes, all.runs, all.files,
           all.cautious, all.missed, exempt_count);
    if (all.missed > all.files / 600 + 5) {
        wrong("too many", "lost");
    }
    if (unclear_count > volumes / 200 + 2) {
        wrong("too many", "that were cut and could not be read");
    }
    printf("%u passed, %lu failed\n", wrong_count == 0, wrong_count);
    return wrong_count != 0;
}
