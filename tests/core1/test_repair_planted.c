/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_repair_planted.c - repair of a volume of which all content is known, damaged at one place at a time: a bit of each record of each
 * log, records, nodes, the root, the super log, the meta log, frames, garbage in free blocks, and images that are nothing but garbage.
 * What was not hit is there byte for byte, what was lost is named, and the new volume is right and can be written to.
 */
#include "api_volume.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repair/frames_read.h"
#include "repair/salvage.h"
#include "src/core.h"
#include "src/node.h"

#define FILES 100u
#define LARGEST 10000u

static struct volume volume;
static uint8_t *sound_bytes, *bytes;
static struct repair_geometry geometry;
static struct repair *sound;    /* of the undamaged image: what lies where */

/* ---- the volume ------------------------------------------------------------------------------------ */

static void path_of(unsigned number, char path[64])
{
    snprintf(path, 64, "/%s/file %03u", number % 3 == 0 ? "first" : number % 3 == 1 ? "second/inner" : "third", number);
}

/* Inline, flat, and (every twentieth) indexed ones with a tail of frames. */
static uint32_t size_of_file(unsigned number)
{
    return number % 20 == 9 ? 5000 : number % 20 == 8 ? 4097 + 10 * number : 1 + 2 * number;
}

static void append_synced(const char *path, uint32_t from, uint32_t to, uint32_t seed)
{
    uint8_t part[100];

    CHECK(nf2_open(&volume.fs, &volume.file, path, NF2_O_WRONLY | NF2_O_APPEND, volume.page) == NF2_OK);
    for (uint32_t at = from, n; at < to; at += n) {
        n = nf2_min(to - at, sizeof part);
        for (uint32_t i = 0; i < n; i++) {
            part[i] = content_byte(seed, at + i);
        }
        CHECK(nf2_write(&volume.fs, &volume.file, part, n) == (int32_t)n);
        CHECK(nf2_sync(&volume.fs, &volume.file) == NF2_OK);
    }
    CHECK(nf2_close(&volume.fs, &volume.file) == NF2_OK);
}

static void make_volume(const char *chip)
{
    const struct vflash_chip *facts = vflash_chip_find(chip);
    char path[64];

    volume_up(&volume, chip);
    CHECK(nf2_mkdir(&volume.fs, "/first") == NF2_OK && nf2_mkdir(&volume.fs, "/second") == NF2_OK);
    CHECK(nf2_mkdir(&volume.fs, "/second/inner") == NF2_OK && nf2_mkdir(&volume.fs, "/third") == NF2_OK);
    for (unsigned i = 0; i < FILES; i++) {
        path_of(i, path);
        uint32_t size = size_of_file(i), first = i % 20 == 9 ? 4200 : size;
        CHECK(put(&volume, path, first, i) == NF2_OK);
        if (first < size) {
            append_synced(path, first, size, i);
        }
    }
    CHECK(put(&volume, "/first/removed", 3000, 1) == NF2_OK && nf2_remove(&volume.fs, "/first/removed") == NF2_OK);
    CHECK(put(&volume, "/third/old name", 80, 1) == NF2_OK && nf2_rename(&volume.fs, "/third/old name", "/third/new name") == NF2_OK);
    CHECK(nf2_unmount(&volume.fs) == NF2_OK);
    geometry = (struct repair_geometry){facts->size, facts->block_size, facts->page_size, facts->program_unit};
    sound_bytes = malloc(facts->size);
    bytes = malloc(facts->size);
    memcpy(sound_bytes, vflash_memory(volume.flash), facts->size);
    sound = repair_open(sound_bytes, &geometry);
    CHECK(sound != NULL && !repair_lossy(sound) && repair_notes(sound) == 0 && repair_count(sound) == FILES + 5);
}

static void drop_volume(void)
{
    repair_close(sound);
    free(sound_bytes);
    free(bytes);
    volume_down(&volume, false);
}

/* ---- what comes out -------------------------------------------------------------------------------- */

static int find(const struct repair *repair, const char *path)
{
    for (unsigned i = 0; i < repair_count(repair); i++) {
        if (strcmp(repair_item(repair, i)->path, path) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool right_content(const struct repair *repair, int item, unsigned number)
{
    static uint8_t data[LARGEST];
    uint32_t size = size_of_file(number);

    if (repair_item(repair, (unsigned)item)->size != size || repair_read(repair, (unsigned)item, 0, data, size) != size) {
        return false;
    }
    for (uint32_t i = 0; i < size; i++) {
        if (data[i] != content_byte(number, i)) {
            return false;
        }
    }
    return true;
}

/* Files that are there under their names with their content, at least as sure as this. */
static unsigned count_right(const struct repair *repair, enum repair_state least)
{
    unsigned right = 0;
    char path[64];

    for (unsigned i = 0; i < FILES; i++) {
        path_of(i, path);
        int item = find(repair, path);
        right += item >= 0 && repair_item(repair, (unsigned)item)->state <= least && right_content(repair, item, i);
    }
    return right;
}

/* Files that are there with their content, wherever. */
static unsigned count_found(const struct repair *repair)
{
    unsigned found = 0;
    char path[64];

    for (unsigned i = 0; i < FILES; i++) {
        path_of(i, path);
        for (unsigned item = 0; item < repair_count(repair); item++) {
            if (strcmp(strrchr(repair_item(repair, item)->path, '/'), strrchr(path, '/')) == 0 && right_content(repair, (int)item, i)) {
                found++;
                break;
            }
        }
    }
    return found;
}

static unsigned count_notes(const struct repair *repair, enum repair_note_kind kind)
{
    unsigned count = 0;

    for (unsigned i = 0; i < repair_notes(repair); i++) {
        count += repair_note(repair, i)->kind == kind;
    }
    return count;
}

/* What is said to be whole is so. */
static bool honest(const struct repair *repair)
{
    char path[64];

    for (unsigned i = 0; i < FILES; i++) {
        path_of(i, path);
        int item = find(repair, path);
        if (item >= 0 && repair_item(repair, (unsigned)item)->state == REPAIR_WHOLE && !right_content(repair, item, i)) {
            return false;
        }
    }
    return true;
}

/* The volume that is made of it is right, holds all of that, and takes more. */
static bool rebuilds(struct repair *repair)
{
    static struct volume fresh;
    unsigned failed;

    volume_up(&fresh, vflash_chip_of(volume.flash)->name);
    bool right = repair_write(repair, &fresh.fs, fresh.page, &failed) == NF2_OK && repair_verify(repair, &fresh.fs, &failed) == NF2_OK &&
                 volume_again(&fresh, true) == NF2_OK && put(&fresh, "/one more", 6000, 5) == NF2_OK && holds(&fresh, "/one more", 6000, 5) &&
                 nf2_check(&fresh.fs, NULL, NULL) == 0 && repair_verify(repair, &fresh.fs, &failed) == NF2_OK;
    volume_down(&fresh, true);
    return right;
}

static void damage_nothing(void)
{
    memcpy(bytes, sound_bytes, geometry.size);
}

static void fill_block(uint32_t block, int manner)
{
    for (uint32_t i = 0; i < geometry.block_size; i++) {
        bytes[block * geometry.block_size + i] = manner == 0 ? 0 : manner == 1 ? 0xFF : (uint8_t)((i * 2654435761u + block * 40503u) >> 13);
    }
}

/* ---- bits ------------------------------------------------------------------------------------------ */

/* Turns one bit in each record of a log, one after the other: each can be mended. */
static void flip_records(uint32_t block, const struct rep_log *log, unsigned *tried)
{
    for (unsigned i = 0; i < log->records; i++) {
        const struct rep_record *record = &log->record[i];
        uint32_t bit = (record->offset * 7919u + block * 31u) % (8u * record->length), at = record->offset + bit / 8;
        if (record->offset / geometry.page_size != (record->offset + record->length - 1u) / geometry.page_size) {
            continue;
        }
        damage_nothing();
        bytes[block * geometry.block_size + at] ^= (uint8_t)(1u << bit % 8);
        struct repair *repair = repair_open(bytes, &geometry);
        CHECK(repair != NULL && count_right(repair, REPAIR_UNSURE) == FILES && find(repair, "/first/removed") < 0);
        CHECK(find(repair, "/third/new name") >= 0 && find(repair, "/third/old name") < 0);
        repair_close(repair);
        (*tried)++;
    }
}

static void bits(const char *chip)
{
    unsigned tried = 0;
    struct rep_log log;

    make_volume(chip);
    for (uint32_t block = 0; block < sound->image.blocks; block++) {
        if (sound->tree.role[block] == REP_TREE_NODE) {
            flip_records(block, &sound->tree.node[block]->log, &tried);
        } else if (sound->meta.is_meta[block] && rep_is_log(&sound->image, block)) {
            rep_log_read(&sound->image, block, block < 2 ? REP_SUPER : block == sound->meta.head ? REP_META_LAST : REP_META, &log);
            flip_records(block, &log, &tried);
            rep_log_free(&log);
        }
    }
    CHECK(tried > FILES);
    drop_volume();
}

/* A bit of a page's epoch. */
TEST(epochs)
{
    make_volume("tiny512");
    for (uint32_t block = 0; block < sound->image.blocks; block++) {
        if (sound->tree.role[block] == REP_TREE_NODE) {
            damage_nothing();
            bytes[block * geometry.block_size + geometry.page_size] ^= 8;
            struct repair *repair = repair_open(bytes, &geometry);
            CHECK(repair != NULL && count_right(repair, REPAIR_UNSURE) == FILES);
            repair_close(repair);
        }
    }
    drop_volume();
}

/* ---- records and nodes ------------------------------------------------------------------------------ */

/* All names that are missing lie where a note says that something is lost. */
static bool names_what_is_lost(const struct repair *repair, uint32_t leaf)
{
    const struct rep_node *node = sound->tree.node[leaf];
    bool said = count_notes(repair, REPAIR_NOTE_NODE) + count_notes(repair, REPAIR_NOTE_RECORDS) > 0;
    char path[64];

    for (unsigned i = 0; i < FILES; i++) {
        path_of(i, path);
        int item = find(repair, path), before = find(sound, path);
        if (item >= 0 && right_content(repair, item, i)) {
            continue;
        }
        bool in_leaf = sound->entries.entry[sound->item[before].entry].node == leaf;
        for (unsigned j = 0; j < node->entries && !in_leaf; j++) { /* or a part of its map was */
            in_leaf = sound->item[before].id != 0 && node->entry[j].key.id == sound->item[before].id;
        }
        if (!in_leaf || !said || !repair_lossy(repair)) {
            return false;
        }
    }
    return true;
}

/* Each leaf and each inner node, overwritten, erased, and the root with all that is beside it. */
static void nodes(const char *chip)
{
    unsigned inner = 0, leaves = 0;

    make_volume(chip);
    for (uint32_t block = 0; block < sound->image.blocks; block++) {
        if (sound->tree.role[block] != REP_TREE_NODE) {
            continue;
        }
        for (int manner = 0; manner < 3; manner++) {
            damage_nothing();
            fill_block(block, manner);
            struct repair *repair = repair_open(bytes, &geometry);
            CHECK(repair != NULL && honest(repair) && names_what_is_lost(repair, block));
            if (sound->tree.node[block]->level > 0) {
                CHECK(count_right(repair, REPAIR_UNSURE) == FILES && count_notes(repair, REPAIR_NOTE_NODE) > 0);
            }
            CHECK(manner > 0 || rebuilds(repair));
            repair_close(repair);
        }
        inner += sound->tree.node[block]->level > 0;
        leaves += sound->tree.node[block]->level == 0;
    }
    CHECK(inner > 0 && leaves > 1);
    drop_volume();
}

static bool is_directory(const struct rep_node *node, uint16_t offset)
{
    for (unsigned i = 0; i < node->entries; i++) {
        if (node->entry[i].offset == offset) {
            return node->entry[i].kind == NF2_BODY_DIR;
        }
    }
    return false;
}

/* One record destroyed: the others of the leaf stay what they are. */
TEST(records)
{
    unsigned tried = 0;

    make_volume("tiny256k");
    for (uint32_t block = 0; block < sound->image.blocks; block++) {
        const struct rep_node *node = sound->tree.role[block] == REP_TREE_NODE ? sound->tree.node[block] : NULL;
        for (unsigned i = 0; node != NULL && node->level == 0 && i < node->log.records; i++) {
            const struct rep_record *record = &node->log.record[i];
            if (record->type != NF2_NODE_PUT || record->offset / geometry.page_size != (record->offset + record->length - 1u) / geometry.page_size) {
                continue;
            }
            damage_nothing();
            memset(bytes + block * geometry.block_size + record->offset + 4, 0, record->length - 4u);
            struct repair *repair = repair_open(bytes, &geometry);
            CHECK(repair != NULL && honest(repair) && repair_lossy(repair) && count_notes(repair, REPAIR_NOTE_RECORDS) > 0);
            if (is_directory(node, record->offset)) { /* what was in it is in /lost+found */
                CHECK(count_found(repair) == FILES && find(repair, "/lost+found") >= 0 && rebuilds(repair));
            } else {
                CHECK(count_right(repair, REPAIR_DOUBTFUL) + 1 >= FILES && names_what_is_lost(repair, block));
            }
            repair_close(repair);
            tried++;
        }
    }
    CHECK(tried > FILES / 2);
    drop_volume();
}

/* ---- the logs above the tree ----------------------------------------------------------------------- */

static void super_and_meta(const char *chip)
{
    make_volume(chip);
    for (int what = 1; what < 8; what++) { /* the super log, the meta log, the root */
        for (int manner = 0; manner < 3; manner++) {
            damage_nothing();
            for (uint32_t block = 0; block < sound->image.blocks; block++) {
                if ((block < 2 && (what & 1)) || (block >= 2 && sound->meta.is_meta[block] && (what & 2)) || (block == sound->tree.root && (what & 4))) {
                    fill_block(block, manner);
                }
            }
            struct repair *repair = repair_open(bytes, &geometry);
            CHECK(repair != NULL && honest(repair));
            CHECK(count_right(repair, what & 2 ? REPAIR_DOUBTFUL : REPAIR_UNSURE) == FILES);
            CHECK(!(what & 1) || count_notes(repair, REPAIR_NOTE_SUPER) == 1);
            CHECK(!(what & 2) || count_notes(repair, REPAIR_NOTE_META) == 1);
            CHECK(what == 1 || repair_lossy(repair));
            CHECK(manner > 0 || rebuilds(repair));
            repair_close(repair);
        }
    }
    drop_volume();
}

/* ---- files ------------------------------------------------------------------------------------------ */

/* Frames that cannot be read: that file is damaged, and the range is said. */
TEST(frames)
{
    unsigned tried = 0;

    make_volume("tiny256k");
    for (unsigned i = 0; i < sound->entries.count; i++) {
        const struct rep_entry *entry = &sound->entries.entry[i];
        if (entry->kind != NF2_BODY_FRAMES) {
            continue;
        }
        uint32_t from, to, block = nf2_get24(entry->body + 1);
        damage_nothing();
        memset(bytes + block * geometry.block_size + 300, 0, 100);
        struct repair *repair = repair_open(bytes, &geometry);
        char path[80];
        snprintf(path, sizeof path, "%s.damaged", repair_path_of(sound, entry->key.id));
        int item = find(repair, path);
        CHECK(honest(repair) && repair_lossy(repair) && count_right(repair, REPAIR_UNSURE) == FILES - 1);
        CHECK(item >= 0 && repair_item(repair, (unsigned)item)->state == REPAIR_DAMAGED && repair_item(repair, (unsigned)item)->size == 5000);
        CHECK(repair_lost_range(repair, (unsigned)item, 0, &from, &to) && from >= 4200 && to > from && to < 5000);
        CHECK(tried > 0 || rebuilds(repair));
        repair_close(repair);
        tried++;
    }
    CHECK(tried == FILES / 20);
    drop_volume();
}

/* Garbage where nothing was, which also looks like nodes of the volume: copies of them in other blocks. */
TEST(garbage)
{
    make_volume("tiny256k");
    for (int manner = 0; manner < 3; manner++) {
        damage_nothing();
        for (uint32_t block = 0; block < sound->image.blocks; block++) {
            if (sound->meta.state[block] != REP_DIRTY) {
                continue;
            }
            if (manner == 2) {
                memcpy(bytes + block * geometry.block_size, sound_bytes + sound->tree.root * geometry.block_size, geometry.block_size);
            } else {
                fill_block(block, 2 * manner);
            }
        }
        struct repair *repair = repair_open(bytes, &geometry);
        CHECK(repair != NULL && count_right(repair, REPAIR_WHOLE) == FILES && !repair_lossy(repair));
        repair_close(repair);
    }
    drop_volume();
}

/* Nothing of a volume: no repair, and no harm. */
TEST(nothing)
{
    uint32_t state = 1;

    geometry = (struct repair_geometry){262144, 4096, 256, 1};
    bytes = malloc(geometry.size);
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < geometry.size; i++) {
            state = state * 1664525u + 1013904223u;
            bytes[i] = round == 0 ? 0xFF : round == 1 ? 0 : (uint8_t)(state >> 24);
        }
        CHECK(repair_open(bytes, &geometry) == NULL);
    }
    free(bytes);
}

TEST(bits_units_of_1) { bits("tiny256k"); }
TEST(bits_units_of_16) { bits("tinyecc16"); }
TEST(nodes_units_of_1) { nodes("tiny256k"); }
TEST(nodes_pages_of_512) { nodes("tiny512"); }
TEST(nodes_units_of_16) { nodes("tinyecc16"); }
TEST(logs_units_of_1) { super_and_meta("tiny256k"); }
TEST(logs_units_of_16) { super_and_meta("tinyecc16"); }

/* What should lie in bad blocks, and lies elsewhere, is found there. */
TEST(bad_blocks)
{
    static const char *const names[] = { "flat", "small", "log" };
    const struct vflash_chip *facts = vflash_chip_find("tiny256k");
    struct repair_geometry chip = { facts->size, facts->block_size, facts->page_size, facts->program_unit };
    struct volume bad;
    uint8_t data[5000];

    for (unsigned clean = 0; clean < 2; clean++) {
        volume_up(&bad, "tiny256k");
        for (uint32_t i = 0; i < 8; i++) {
            CHECK_EQ(put(&bad, names[i % 3], i % 3 == 0 ? 5000 : 40, i), NF2_OK);
        }
        vflash_break_block(bad.flash, bad.fs.root, false);
        for (uint32_t i = 8; i < 12; i++) {
            CHECK_EQ(put(&bad, names[i % 3], i % 3 == 0 ? 5000 : 40, i), NF2_OK);
        }
        CHECK_EQ(bad.fs.bad_count, 1);
        CHECK_EQ(clean ? nf2_unmount(&bad.fs) : 0, NF2_OK);
        struct repair *repair = repair_open(vflash_memory(bad.flash), &chip);
        if (CHECK(repair != NULL)) {
            CHECK(!repair_lossy(repair));
            CHECK_EQ(repair_clean(repair), clean != 0);
            CHECK_EQ(repair_notes(repair), 0);
            for (unsigned n = 0; n < repair_count(repair); n++) {
                const struct repair_item *item = repair_item(repair, n);
                uint32_t seed = strcmp(item->path, "/flat") == 0 ? 9 : strcmp(item->path, "/small") == 0 ? 10 : 11, size = seed == 9 ? 5000 : 40;
                CHECK_EQ(repair_read(repair, n, 0, data, size), size);
                for (uint32_t i = 0; i < size; i++) {
                    CHECK(data[i] == content_byte(seed, i));
                }
            }
            CHECK_EQ(repair_count(repair), 3);
        }
        repair_close(repair);
        volume_down(&bad, false);
    }
}

int main(void)
{
    RUN(bits_units_of_1);
    RUN(bits_units_of_16);
    RUN(epochs);
    RUN(nodes_units_of_1);
    RUN(nodes_pages_of_512);
    RUN(nodes_units_of_16);
    RUN(records);
    RUN(logs_units_of_1);
    RUN(logs_units_of_16);
    RUN(frames);
    RUN(garbage);
    RUN(bad_blocks);
    RUN(nothing);
    return check_done();
}
