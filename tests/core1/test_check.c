/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_check.c - nf2_check finds what is wrong: each kind of it is planted in a sound volume, by the core's own writers or by hand.
 */
#include <stdlib.h>

#include "api_volume.h"
#include "check.h"

#include "src/flash.h"
#include "src/ids.h"
#include "src/index.h"
#include "src/meta.h"
#include "src/names.h"
#include "src/space.h"
#include "src/super.h"

static uint32_t found[NF2_FOUND_KINDS];
static struct nf2_finding last[NF2_FOUND_KINDS];
static char last_name[256];

static void note(void *context, const struct nf2_finding *finding)
{
    (void)context;
    found[finding->kind]++;
    last[finding->kind] = *finding;
    if (finding->name != NULL) {
        memcpy(last_name, finding->name, finding->name_length);
        last_name[finding->name_length] = '\0';
    }
}

static int judge(struct volume *volume)
{
    memset(found, 0, sizeof found);
    return nf2_check(&volume->fs, note, NULL);
}

/* Whether just these two kinds are found (or one, given twice). */
static bool only(struct volume *volume, enum nf2_finding_kind a, enum nf2_finding_kind b)
{
    int wrong = judge(volume);
    bool right = wrong > 0 && found[a] > 0 && found[b] > 0 && (uint32_t)wrong == found[a] + (a == b ? 0 : found[b]);

    for (unsigned kind = 0; kind < NF2_FOUND_KINDS && !right; kind++) {
        if (found[kind] > 0) {
            printf("found %u times: %s\n", (unsigned)found[kind], nf2_finding_text((enum nf2_finding_kind)kind));
        }
    }
    return right;
}

/* A volume with a bit of everything. */
static void begin(struct volume *volume)
{
    static const uint8_t line[20] = "a line of a log ...\n";
    nf2_file_t file;
    char name[32];

    volume_up(volume, "tiny256k");
    CHECK_EQ(nf2_mkdir(&volume->fs, "dir"), NF2_OK);
    CHECK_EQ(nf2_mkdir(&volume->fs, "dir/sub"), NF2_OK);
    CHECK_EQ(put(volume, "dir/small", 100, 1), NF2_OK);
    CHECK_EQ(put(volume, "dir/flat", 10000, 2), NF2_OK);
    CHECK_EQ(put(volume, "flat2", 5000, 3), NF2_OK);
    for (unsigned i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "dir/sub/file%u", i);
        CHECK_EQ(put(volume, name, 60, i), NF2_OK);
    }
    CHECK_EQ(nf2_open(&volume->fs, &file, "log", NF2_O_WRONLY | NF2_O_CREAT, volume->page), NF2_OK);
    for (unsigned i = 0; i < 30; i++) {
        CHECK_EQ(nf2_write(&volume->fs, &file, line, sizeof line), (int)sizeof line);
        CHECK_EQ(nf2_sync(&volume->fs, &file), NF2_OK);
    }
    CHECK_EQ(nf2_close(&volume->fs, &file), NF2_OK);
    CHECK_EQ(volume_again(volume, true), NF2_OK);
    CHECK_EQ(nf2_mkdir(&volume->fs, "begun"), NF2_OK); /* what is planted is no first change of the session */
    CHECK_EQ(judge(volume), 0);
}

static void finish(struct volume *volume)
{
    volume_down(volume, false);
}

static uint32_t id_of(struct volume *volume, const char *path)
{
    struct nf2_place place;
    struct nf2_entry entry;
    uint32_t id = 0;

    CHECK_EQ(nf2_path_resolve(&volume->fs, path, 0, &place), NF2_OK);
    CHECK_EQ(nf2_place_find(&volume->fs, &place, &entry), 1);
    CHECK_EQ(nf2_entry_id(&volume->fs, &entry, &id), NF2_OK);
    return id;
}

/* Puts an entry into the tree, as a change does. */
static void plant(struct volume *volume, uint32_t id, const void *key, uint32_t key_length, const void *body, uint32_t body_length)
{
    struct nf2_node_op change = {.type = NF2_NODE_PUT};

    change.key = nf2_key_of(id, key, key_length);
    change.body = nf2_span_of(body, body_length);
    CHECK_EQ(nf2_tree_change(&volume->fs, &change, 1), NF2_OK);
}

static void plant_dir(struct volume *volume, uint32_t in, const char *name, uint32_t id)
{
    uint8_t body[5] = {NF2_BODY_DIR};

    nf2_put32(body + 1, id);
    plant(volume, in, name, (uint32_t)strlen(name), body, sizeof body);
}

static void plant_flat(struct volume *volume, const char *name, uint32_t size, uint32_t start, uint32_t count)
{
    uint8_t body[10] = {NF2_BODY_FLAT};

    nf2_put32(body + 1, size);
    nf2_put24(body + 5, start);
    nf2_put16(body + 8, count);
    plant(volume, NF2_ROOT_ID, name, (uint32_t)strlen(name), body, sizeof body);
}

static void plant_piece(struct volume *volume, uint32_t id, uint32_t at, uint32_t block, uint32_t length)
{
    struct nf2_item item = nf2_piece_at(at, block, 0, length);
    struct nf2_node_op change;

    nf2_index_put(&change, id, &item);
    CHECK_EQ(nf2_tree_change(&volume->fs, &change, 1), NF2_OK);
}

/* The leaf that a key belongs to. */
static uint32_t leaf_of(struct volume *volume, uint32_t id, const char *name)
{
    struct nf2_key key = nf2_key_of(id, name, (uint32_t)strlen(name));
    struct nf2_path path;

    CHECK(nf2_tree_descend(&volume->fs, &key, &path) >= 0);
    return path.node[path.depth - 1];
}

/* Appends an empty file's entry to a leaf, whether it belongs there or not. */
static void append(struct volume *volume, uint32_t leaf, uint32_t id, const char *name)
{
    struct nf2_node_op op = {.type = NF2_NODE_PUT};
    static const uint8_t body[1] = {NF2_BODY_INLINE};

    op.key = nf2_key_of(id, name, (uint32_t)strlen(name));
    op.body = nf2_span_of(body, 1);
    int at = nf2_node_tail(&volume->fs, leaf, NULL);
    CHECK(at >= 0);
    CHECK(nf2_node_append(&volume->fs, leaf, (uint32_t)at, &op, 1, 0) > 0);
}

static uint32_t free_block(struct volume *volume, enum nf2_block_state state)
{
    for (uint32_t block = volume->fs.blocks; block-- > 0;) {
        if (nf2_block_state(&volume->fs, block, NULL) == (int)state) {
            return block;
        }
    }
    CHECK(false);
    return 0;
}

/* ---- blocks -------------------------------------------------------------------------------------- */

TEST(owners)
{
    struct volume volume;
    struct nf2_place place;
    struct nf2_entry entry;
    struct nf2_run runs[NF2_EXTENTS_MAX];
    uint32_t id;

    begin(&volume);
    CHECK_EQ(nf2_path_resolve(&volume.fs, "flat2", 0, &place), NF2_OK);
    CHECK_EQ(nf2_place_find(&volume.fs, &place, &entry), 1);
    CHECK(nf2_entry_owns(&volume.fs, &entry, runs, &id) > 0);
    plant_flat(&volume, "same", 4096, runs[0].start + 1, 1);
    CHECK(only(&volume, NF2_FOUND_OWNERS, NF2_FOUND_OWNERS));
    CHECK_EQ(last[NF2_FOUND_OWNERS].block, runs[0].start + 1);
    finish(&volume);
}

TEST(in_use_and_free)
{
    struct volume volume;
    uint32_t block;

    begin(&volume);
    block = free_block(&volume, NF2_BLOCK_DIRTY);
    plant_flat(&volume, "here", 4096, block, 1);
    CHECK(only(&volume, NF2_FOUND_FREE, NF2_FOUND_FREE));
    CHECK_EQ(last[NF2_FOUND_FREE].block, block);
    finish(&volume);
}

TEST(outside)
{
    struct volume volume;

    begin(&volume);
    plant_flat(&volume, "far", 4096, volume.fs.blocks - 1, 2);
    CHECK_EQ(judge(&volume) > 0, true);
    CHECK(found[NF2_FOUND_OUTSIDE] == 1 && found[NF2_FOUND_FREE] == 1);
    finish(&volume);
}

TEST(leak_and_count)
{
    struct volume volume;
    struct nf2_small claim = {NF2_META_CLAIM, 6, {0}};
    uint32_t block;

    begin(&volume);
    block = free_block(&volume, NF2_BLOCK_DIRTY);
    nf2_put24(claim.payload + 1, block);
    nf2_put16(claim.payload + 4, 1 | NF2_CLAIM_DIRTY);
    CHECK_EQ(nf2_meta_append(&volume.fs, &claim), NF2_OK);
    CHECK(only(&volume, NF2_FOUND_LEAK, NF2_FOUND_COUNT));
    CHECK_EQ(last[NF2_FOUND_LEAK].block, block);
    CHECK_EQ(last[NF2_FOUND_COUNT].number, volume.fs.free_blocks - 1);
    finish(&volume);
}

TEST(erased)
{
    struct volume volume;
    uint32_t block;

    begin(&volume);
    CHECK_EQ(maintain_all(&volume), 0);
    block = free_block(&volume, NF2_BLOCK_ERASED);
    CHECK_EQ(judge(&volume), 0);
    vflash_flip(volume.flash, block * 4096 + 4095, 0x10);
    CHECK(only(&volume, NF2_FOUND_ERASED, NF2_FOUND_ERASED));
    CHECK_EQ(last[NF2_FOUND_ERASED].block, block);
    volume.fs.erased_blocks++;
    CHECK(only(&volume, NF2_FOUND_ERASED, NF2_FOUND_COUNT));
    finish(&volume);
}

/* ---- logs ---------------------------------------------------------------------------------------- */

TEST(damaged_logs)
{
    struct volume volume;

    begin(&volume);
    CHECK_EQ(put(&volume, "dir/more", 9000, 1), NF2_OK);
    CHECK_EQ(nf2_remove(&volume.fs, "dir/more"), NF2_OK);
    CHECK_EQ(judge(&volume), 0);
    vflash_flip(volume.flash, volume.fs.meta_head * 4096 + 60, 0x01);
    (void)judge(&volume);
    CHECK_EQ(found[NF2_FOUND_META], 1);
    vflash_flip(volume.flash, volume.fs.meta_head * 4096 + 60, 0x01);
    volume.fs.super_points_to += 1000;
    CHECK(only(&volume, NF2_FOUND_SUPER, NF2_FOUND_SUPER));
    volume.fs.super_points_to -= 1000;
    for (unsigned i = 0; i < 24; i++) { /* some pages */
        CHECK_EQ(nf2_super_write(&volume.fs), NF2_OK);
    }
    CHECK_EQ(judge(&volume), 0);
    uint32_t anchor = volume.fs.super_block * 4096u + volume.fs.super_end / 256u * 256u - 256u + 20u;
    vflash_flip(volume.flash, anchor, 0x01); /* in the page in front of the last one */
    CHECK(only(&volume, NF2_FOUND_SUPER, NF2_FOUND_SUPER));
    vflash_flip(volume.flash, anchor, 0x01);
    uint8_t old = volume.fs.super_block;
    while (volume.fs.super_block == old) {
        CHECK_EQ(nf2_super_write(&volume.fs), NF2_OK);
    }
    vflash_flip(volume.flash, anchor, 0x01); /* what is left of it, as of an erase that was cut, does not count */
    CHECK_EQ(judge(&volume), 0);
    volume.fs.redo_block = 0;
    (void)judge(&volume);
    CHECK_EQ(found[NF2_FOUND_BATCH], 1);
    finish(&volume);
}

TEST(damaged_nodes)
{
    struct volume volume;
    uint32_t leaf, keep;

    begin(&volume);
    leaf = leaf_of(&volume, NF2_ROOT_ID, "flat2");
    CHECK(leaf != volume.fs.root);
    vflash_flip(volume.flash, leaf * 4096 + 40, 0x04);
    CHECK(only(&volume, NF2_FOUND_NODE, NF2_FOUND_NODE)); /* and no leak: what the leaf owns is not known */
    CHECK_EQ(last[NF2_FOUND_NODE].block, leaf);
    vflash_flip(volume.flash, leaf * 4096 + 40, 0x04);
    vflash_flip(volume.flash, leaf * 4096 + 6, 0x04);
    CHECK(only(&volume, NF2_FOUND_TREE, NF2_FOUND_TREE));
    CHECK_EQ(last[NF2_FOUND_TREE].block, leaf);
    vflash_flip(volume.flash, leaf * 4096 + 6, 0x04);
    keep = volume.fs.root;
    volume.fs.root = leaf_of(&volume, NF2_ROOT_ID, "log");
    CHECK(judge(&volume) > 0);
    volume.fs.root = keep;
    CHECK_EQ(judge(&volume), 0);
    finish(&volume);
}

/* ---- entries ------------------------------------------------------------------------------------- */

TEST(ranges)
{
    struct volume volume;
    uint32_t low = 0, high = 0;

    begin(&volume);
    low = leaf_of(&volume, NF2_ROOT_ID, "a");
    high = leaf_of(&volume, 1000, "z");
    CHECK(low != high);
    append(&volume, low, id_of(&volume, "dir/sub"), "zzz");
    CHECK(only(&volume, NF2_FOUND_RANGE, NF2_FOUND_RANGE));
    CHECK_EQ(last[NF2_FOUND_RANGE].block, low);
    CHECK_TEXT(last_name, "zzz");
    finish(&volume);
    begin(&volume);
    append(&volume, high, NF2_ROOT_ID, "aaa");
    CHECK(only(&volume, NF2_FOUND_RANGE, NF2_FOUND_RANGE));
    CHECK_TEXT(last_name, "aaa");
    finish(&volume);
}

TEST(twice)
{
    struct volume volume;

    begin(&volume);
    append(&volume, leaf_of(&volume, NF2_ROOT_ID, "flat2"), NF2_ROOT_ID, "flat2");
    CHECK(only(&volume, NF2_FOUND_TWICE, NF2_FOUND_TWICE));
    finish(&volume);
}

TEST(names_and_bodies)
{
    static const uint8_t empty[1] = {NF2_BODY_INLINE}, strange[3] = {9, 1, 2}, short_dir[3] = {NF2_BODY_DIR, 2, 0};
    static const char *const names[] = {"", ".", "..", "a/b", "a\0b"};
    static const uint8_t lengths[] = {0, 1, 2, 3, 3};
    struct volume volume;

    for (unsigned i = 0; i < 5; i++) {
        begin(&volume);
        plant(&volume, NF2_ROOT_ID, names[i], lengths[i], empty, 1);
        CHECK(only(&volume, NF2_FOUND_NAME, NF2_FOUND_NAME));
        CHECK_EQ(last[NF2_FOUND_NAME].id, NF2_ROOT_ID);
        finish(&volume);
    }
    begin(&volume);
    plant(&volume, NF2_ROOT_ID, "strange", 7, strange, sizeof strange);
    CHECK(only(&volume, NF2_FOUND_ENTRY, NF2_FOUND_ENTRY));
    CHECK_TEXT(last_name, "strange");
    finish(&volume);
    begin(&volume);
    plant(&volume, NF2_ROOT_ID, "short", 5, short_dir, sizeof short_dir);
    CHECK(only(&volume, NF2_FOUND_SIZE, NF2_FOUND_SIZE));
    finish(&volume);
    begin(&volume);
    plant_flat(&volume, "large", 4097, free_block(&volume, NF2_BLOCK_DIRTY), 1);
    CHECK(only(&volume, NF2_FOUND_SIZE, NF2_FOUND_FREE));
    finish(&volume);
}

/* ---- content ------------------------------------------------------------------------------------- */

/* Calls on entries that make no sense say so. */
TEST(opened)
{
    static const uint8_t child[4] = {NF2_BODY_CHILD, 9, 0, 0};
    struct volume volume;
    struct nf2_stat stat;
    nf2_file_t file;
    nf2_dir_t dir;

    begin(&volume);
    plant_flat(&volume, "large", 4097, free_block(&volume, NF2_BLOCK_DIRTY), 1);
    plant(&volume, NF2_ROOT_ID, "child", 5, child, sizeof child);
    CHECK_EQ(nf2_open(&volume.fs, &file, "large", NF2_O_RDONLY, NULL), NF2_ERR_IO);
    CHECK_EQ(nf2_open(&volume.fs, &file, "large", NF2_O_RDWR, volume.page), NF2_ERR_IO);
    CHECK_EQ(nf2_open(&volume.fs, &file, "child", NF2_O_RDONLY, NULL), NF2_ERR_IO);
    CHECK_EQ(nf2_open(&volume.fs, &file, "dir", NF2_O_RDONLY, NULL), NF2_ERR_ISDIR);
    CHECK_EQ(nf2_stat(&volume.fs, "child", &stat), NF2_ERR_IO);
    CHECK(nf2_opendir(&volume.fs, &dir, "child") < 0);
    CHECK_EQ(nf2_remove(&volume.fs, "large"), NF2_OK);
    finish(&volume);
}

TEST(maps)
{
    struct volume volume;
    uint32_t id, block, size;

    begin(&volume);
    id = id_of(&volume, "log");
    block = free_block(&volume, NF2_BLOCK_DIRTY);
    CHECK_EQ(nf2_index_size(&volume.fs, id, &size), NF2_OK);
    plant_piece(&volume, id, size, NF2_NO_BLOCK, 0); /* its frames end here */
    plant_piece(&volume, id, 1000, NF2_NO_BLOCK, 500);
    plant_piece(&volume, id, 1200, NF2_NO_BLOCK, 500);
    CHECK(only(&volume, NF2_FOUND_OVERLAP, NF2_FOUND_OVERLAP));
    CHECK_EQ(last[NF2_FOUND_OVERLAP].id, id);
    finish(&volume);
    begin(&volume);
    plant_piece(&volume, id, size, NF2_NO_BLOCK, 0);
    plant_piece(&volume, id, 1000, block, 500);
    CHECK(only(&volume, NF2_FOUND_FOREIGN, NF2_FOUND_FOREIGN));
    CHECK_EQ(last[NF2_FOUND_FOREIGN].block, block);
    finish(&volume);
    begin(&volume);
    plant_piece(&volume, id, 1000, NF2_NO_BLOCK, 500); /* frames that should reach to it are not there */
    CHECK(only(&volume, NF2_FOUND_DATA, NF2_FOUND_DATA));
    CHECK_EQ(last[NF2_FOUND_DATA].id, id);
    finish(&volume);
}

static uint32_t bad_from, bad_to;
static int (*true_read)(void *context, uint32_t address, void *data, uint32_t length);

static int failing_read(void *context, uint32_t address, void *data, uint32_t length)
{
    return address < bad_to && address + length > bad_from ? -1 : true_read(context, address, data, length);
}

/* A driver that fails: where data lie, reading them is an error and never wrong data. */
TEST(unreadable)
{
    static uint8_t data[10000];
    struct volume volume;
    struct nf2_place place;
    struct nf2_entry entry;
    struct nf2_run runs[NF2_EXTENTS_MAX];
    nf2_file_t file;
    uint32_t id;

    begin(&volume);
    CHECK_EQ(nf2_path_resolve(&volume.fs, "dir/flat", 0, &place), NF2_OK);
    CHECK_EQ(nf2_place_find(&volume.fs, &place, &entry), 1);
    CHECK(nf2_entry_owns(&volume.fs, &entry, runs, &id) > 0);
    true_read = volume.driver.read;
    volume.driver.read = failing_read;
    bad_from = runs[0].start * 4096 + 5000;
    bad_to = bad_from + 10;
    CHECK(only(&volume, NF2_FOUND_DATA, NF2_FOUND_DATA));
    CHECK_TEXT(last_name, "flat");
    CHECK_EQ(nf2_open(&volume.fs, &file, "dir/flat", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_read(&volume.fs, &file, data, 4096), 4096);
    CHECK_EQ(nf2_read(&volume.fs, &file, data, 4096), NF2_ERR_IO);
    CHECK_EQ(nf2_tell(&volume.fs, &file), 4096);
    CHECK_EQ(nf2_seek(&volume.fs, &file, 8192, NF2_SEEK_SET), 8192);
    CHECK_EQ(nf2_read(&volume.fs, &file, data, 4096), 10000 - 8192);
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
    finish(&volume);
}

/* A flipped bit in a frame is an error to its reader; what lies in front of it is not. */
TEST(damaged_frame)
{
    struct volume volume;
    struct nf2_item item;
    nf2_file_t file;
    uint8_t data[600];
    uint32_t id;

    begin(&volume);
    id = id_of(&volume, "log");
    CHECK_EQ(nf2_index_seek(&volume.fs, id, NF2_INDEX_MAP, NF2_NONE, NF2_AT_OR_BELOW, &item), 1);
    CHECK_EQ(item.kind, NF2_BODY_FRAMES);
    vflash_flip(volume.flash, item.block * 4096 + 100, 0x40); /* in the middle of its first page */
    CHECK(only(&volume, NF2_FOUND_SIZE, NF2_FOUND_SIZE));
    CHECK_TEXT(last_name, "log");
    CHECK(nf2_open(&volume.fs, &file, "log", NF2_O_RDONLY, NULL) == NF2_ERR_IO || nf2_read(&volume.fs, &file, data, 600) == NF2_ERR_IO);
    finish(&volume);
}

/* ---- ids ----------------------------------------------------------------------------------------- */

TEST(ids)
{
    struct volume volume;
    uint32_t id;

    begin(&volume);
    CHECK_EQ(nf2_id_new(&volume.fs, &id), NF2_OK);
    plant_piece(&volume, id, 0, NF2_NO_BLOCK, 500);
    CHECK(only(&volume, NF2_FOUND_LOST, NF2_FOUND_LOST));
    CHECK_EQ(last[NF2_FOUND_LOST].id, id);
    nf2_id_orphan_add(&volume.fs, id);
    CHECK_EQ(judge(&volume), 0);
    finish(&volume);

    begin(&volume);
    CHECK_EQ(nf2_id_new(&volume.fs, &id), NF2_OK);
    plant_dir(&volume, id, "inside", id + 1); /* of a directory that no name leads to */
    volume.fs.next_id = id + 2;
    CHECK(only(&volume, NF2_FOUND_LOST, NF2_FOUND_LOST));
    finish(&volume);

    begin(&volume);
    plant_dir(&volume, NF2_ROOT_ID, "again", id_of(&volume, "dir/sub"));
    CHECK(only(&volume, NF2_FOUND_SHARED, NF2_FOUND_SHARED));
    finish(&volume);

    begin(&volume);
    plant_dir(&volume, NF2_ROOT_ID, "log2", id_of(&volume, "log"));
    CHECK(only(&volume, NF2_FOUND_SHARED, NF2_FOUND_SHARED));
    finish(&volume);

    begin(&volume);
    plant_dir(&volume, NF2_ROOT_ID, "late", volume.fs.next_id + 5);
    CHECK(only(&volume, NF2_FOUND_ID, NF2_FOUND_ID));
    finish(&volume);

    begin(&volume);
    nf2_id_orphan_add(&volume.fs, id_of(&volume, "log"));
    CHECK(only(&volume, NF2_FOUND_REMOVED, NF2_FOUND_REMOVED));
    finish(&volume);
}

/* Directories in a circle of `length`, and `tail` more, one inside of the other, below it. */
static void plant_circle(struct volume *volume, uint32_t length, uint32_t tail)
{
    uint32_t id, first = volume->fs.next_id;

    for (uint32_t i = 0; i < length + tail; i++) {
        CHECK_EQ(nf2_id_new(&volume->fs, &id), NF2_OK);
        plant_dir(volume, i == 0 ? first + length - 1 : id - 1, i < length ? "d" : "t", id);
    }
}

TEST(circles)
{
    static const uint32_t lengths[] = {1, 2, 3, 7, 30}, tails[] = {0, 3, 40};
    struct volume volume;
    uint8_t *large = malloc(20000);

    for (unsigned i = 0; i < 5; i++) {
        for (unsigned j = 0; j < 3; j++) {
            begin(&volume);
            plant_circle(&volume, lengths[i], tails[j]);
            CHECK(only(&volume, NF2_FOUND_CYCLE, NF2_FOUND_CYCLE));
            CHECK_EQ(found[NF2_FOUND_CYCLE], lengths[i] + tails[j]);
            finish(&volume);
        }
    }
    begin(&volume); /* more memory: the same in one pass */
    plant_circle(&volume, 30, 40);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    free(volume.config.buffer);
    volume.config.buffer = large;
    volume.config.buffer_size = 20000;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_OK);
    CHECK(only(&volume, NF2_FOUND_CYCLE, NF2_FOUND_CYCLE));
    CHECK_EQ(found[NF2_FOUND_CYCLE], 70);
    finish(&volume);
}

/* More directories than fit in one pass, deep and wide: nothing is wrong with that. */
TEST(many_ids)
{
    struct volume volume;
    char path[300] = "";

    volume_up(&volume, "tiny2m");
    for (unsigned i = 0; i < 40; i++) {
        snprintf(path + strlen(path), sizeof path - strlen(path), "d%u/", i);
        CHECK_EQ(nf2_mkdir(&volume.fs, path), NF2_OK);
    }
    for (unsigned i = 0; i < 150; i++) {
        snprintf(path, sizeof path, "e%u", i);
        CHECK_EQ(nf2_mkdir(&volume.fs, path), NF2_OK);
    }
    CHECK_EQ(nf2_rename(&volume.fs, "d0", "e149/d0"), NF2_OK);
    CHECK_EQ(judge(&volume), 0);
    volume_down(&volume, true);
}

TEST(texts)
{
    for (unsigned kind = 0; kind < NF2_FOUND_KINDS; kind++) {
        CHECK(strlen(nf2_finding_text((enum nf2_finding_kind)kind)) > 10);
    }
    CHECK_TEXT(nf2_finding_text(NF2_FOUND_KINDS), "unknown");
}

/* A flipped bit in the last record of a log: damage, where no session was cut since; else it may be what a cut left. */
TEST(last_record)
{
    for (unsigned clean = 0; clean < 2; clean++) {
        struct volume volume;
        struct nf2_stat stat;
        volume_up(&volume, "tiny256k");
        CHECK_EQ(put(&volume, "a", 30, 1), NF2_OK);
        CHECK_EQ(put(&volume, "a", 30, 2), NF2_OK);
        uint32_t root = volume.fs.root * 4096u, end = root + 4096u;
        CHECK_EQ(clean ? nf2_unmount(&volume.fs) : 0, NF2_OK);
        while (vflash_memory(volume.flash)[end - 1u] == 0xFF) {
            end--;
        }
        vflash_flip(volume.flash, end - 12u, 1);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK_EQ(nf2_stat(&volume.fs, "a", &stat), clean ? NF2_ERR_IO : NF2_OK);
        CHECK(clean || holds(&volume, "a", 30, 1));
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL) > 0, clean != 0);
        volume_down(&volume, false);
    }
}

int main(void)
{
    RUN(owners);
    RUN(in_use_and_free);
    RUN(outside);
    RUN(leak_and_count);
    RUN(erased);
    RUN(damaged_logs);
    RUN(damaged_nodes);
    RUN(ranges);
    RUN(twice);
    RUN(names_and_bodies);
    RUN(opened);
    RUN(maps);
    RUN(unreadable);
    RUN(damaged_frame);
    RUN(ids);
    RUN(circles);
    RUN(many_ids);
    RUN(texts);
    RUN(last_record);
    return check_done();
}
