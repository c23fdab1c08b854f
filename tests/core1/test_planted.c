/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_planted.c - damage whose checks fit, planted by the core's own writers: in the inner nodes of a tree of some levels, in entries, in the
 * meta log and the super log. What meets it says so, all else goes on.
 */
#include "api_volume.h"
#include "check.h"

#include "src/batch.h"
#include "src/flash.h"
#include "src/index.h"
#include "src/meta.h"
#include "src/names.h"
#include "src/space.h"
#include "src/super.h"

#define FILES 500u
#define PREFIX 236u             /* bytes that all names share: few children in a node */
#define LAST (FILES - 1u)

static const char *name_of(uint32_t number)
{
    static char name[NF2_NAME_MAX + 1];

    memset(name, 'n', PREFIX);
    snprintf(name + PREFIX, sizeof name - PREFIX, "%06u", (unsigned)number);
    return name;
}

static struct vflash_checkpoint *tall;

/* A tree of three levels or more, made once. */
static void begin_tall(struct volume *volume)
{
    static struct volume kept;

    if (tall == NULL) {
        volume_up(&kept, "tiny2m");
        for (uint32_t i = 0; i < FILES; i++) {
            CHECK_EQ(put(&kept, name_of(i * 7 % FILES), 3, i), NF2_OK);
        }
        CHECK_EQ(nf2_unmount(&kept.fs), NF2_OK);
        tall = vflash_save(kept.flash);
    }
    *volume = kept;
    vflash_restore(volume->flash, tall);
    CHECK_EQ(volume_again(volume, false), NF2_OK);
    CHECK(nf2_node_level(&volume->fs, volume->fs.root) >= 2);
}

static struct nf2_path way_to(struct volume *volume, const char *name)
{
    struct nf2_key key = nf2_key_of(NF2_ROOT_ID, name, (uint32_t)strlen(name));
    struct nf2_path path = {.depth = 0};

    CHECK_EQ(nf2_tree_descend(&volume->fs, &key, &path), 0);
    return path;
}

static void append(struct volume *volume, uint32_t node, struct nf2_node_op *op)
{
    int at = nf2_node_tail(&volume->fs, node, NULL);

    CHECK(at >= 0);
    CHECK(nf2_node_append(&volume->fs, node, (uint32_t)at, op, 1, 0) > 0);
}

/* The child on the way, at this depth, is said to be in another block. */
static void lead_to(struct volume *volume, const struct nf2_path *path, unsigned depth, uint32_t block)
{
    struct nf2_entry entry;
    struct nf2_node_op op;
    uint8_t body[4] = {NF2_BODY_CHILD};

    CHECK_EQ(nf2_tree_child_entry(&volume->fs, path, depth, &entry), NF2_OK);
    nf2_put24(body + 1, block);
    memset(&op, 0, sizeof op);
    op.type = NF2_NODE_PUT;
    op.kill = entry.offset;
    op.key = nf2_entry_key(&entry);
    op.body = nf2_span_of(body, sizeof body);
    append(volume, path->node[depth], &op);
}

/* The node's children go, or (`lowest`) the first one only. */
static void drop_children(struct volume *volume, uint32_t node, bool lowest)
{
    struct nf2_key low = nf2_lowest_key(0);
    struct nf2_node_op op = {.type = NF2_NODE_DEL};
    struct nf2_entry entry;

    while (nf2_node_seek(&volume->fs, node, &low, NF2_AT_OR_ABOVE, &entry) > 0) {
        op.kill = entry.offset;
        append(volume, node, &op);
        if (lowest) {
            return;
        }
    }
}

/* Lists the root to its end: how many names there are, or an error. */
static int list_all(struct volume *volume)
{
    struct nf2_dirent entry;
    nf2_dir_t dir;
    int count = 0, more = nf2_opendir(&volume->fs, &dir, "/");

    for (; more >= 0 && (more = nf2_readdir(&volume->fs, &dir, &entry)) > 0; count++) {
    }
    CHECK_EQ(nf2_closedir(&volume->fs, &dir), NF2_OK);
    return more < 0 ? more : count;
}

/* What a volume says in which no way leads to `lost`; `sound` is elsewhere. */
static void judge_tall(struct volume *volume, uint32_t lost, uint32_t sound)
{
    CHECK_EQ(volume_again(volume, false), NF2_OK);
    CHECK_EQ(size_of(volume, name_of(lost), NULL), NF2_ERR_IO);
    CHECK_EQ(put(volume, name_of(lost), 5, 1), NF2_ERR_IO);
    CHECK_EQ(nf2_remove(&volume->fs, name_of(lost)), NF2_ERR_IO);
    CHECK_EQ(nf2_rename(&volume->fs, name_of(lost), "other"), NF2_ERR_IO);
    CHECK_EQ(list_all(volume), NF2_ERR_IO);
    CHECK(nf2_check(&volume->fs, NULL, NULL) > 0);
    int left = maintain_all(volume);
    CHECK(left == 0 || left == NF2_ERR_IO);
    CHECK(!volume->fs.broken);
    CHECK(holds(volume, name_of(sound), 3, sound * 143 % FILES)); /* 7 x 143 is 1 more than a multiple of FILES */
    CHECK_EQ(put(volume, name_of(sound), 20, 9), NF2_OK);
    CHECK(holds(volume, name_of(sound), 20, 9));
}

TEST(children_that_are_none)
{
    struct volume volume;

    for (unsigned top = 0; top < 2; top++) {
        for (unsigned i = 0; i < 5; i++) {
            begin_tall(&volume);
            struct nf2_path path = way_to(&volume, name_of(LAST));
            unsigned depth = top ? 0 : path.depth - 2u;
            const uint32_t wrong[] = {0, volume.fs.blocks, 0xFFFFFE, volume.fs.meta_head, path.node[depth]};
            lead_to(&volume, &path, depth, wrong[i]);
            judge_tall(&volume, LAST, 0);
        }
    }
}

/* A node of the right kind, at the wrong height. */
TEST(levels)
{
    struct volume volume;

    begin_tall(&volume);
    struct nf2_path path = way_to(&volume, name_of(LAST));
    lead_to(&volume, &path, 0, path.node[2]);
    judge_tall(&volume, LAST, 0);
}

TEST(inner_nodes_without_children)
{
    struct volume volume;

    begin_tall(&volume);
    struct nf2_path path = way_to(&volume, name_of(LAST));
    drop_children(&volume, path.node[1], false);
    judge_tall(&volume, LAST, 0);

    begin_tall(&volume);
    path = way_to(&volume, name_of(0));
    drop_children(&volume, path.node[0], true);
    judge_tall(&volume, 0, LAST);

    begin_tall(&volume);
    drop_children(&volume, volume.fs.root, false);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(size_of(&volume, name_of(LAST), NULL), NF2_ERR_IO);
    CHECK_EQ(list_all(&volume), NF2_ERR_IO);
    CHECK_EQ(maintain_all(&volume), NF2_ERR_IO);
}

/* From the first leaf to the last one, and back: the same leaves. */
TEST(both_ways)
{
    struct volume volume;
    struct nf2_path path;
    struct nf2_key low = nf2_lowest_key(0);
    uint16_t leaves[200];
    unsigned count = 0;
    int moved;

    begin_tall(&volume);
    CHECK_EQ(nf2_tree_descend(&volume.fs, &low, &path), 0);
    do {
        leaves[count++] = path.node[path.depth - 1];
        moved = nf2_tree_neighbour(&volume.fs, &path, NF2_ABOVE);
    } while (moved > 0 && count < 200);
    CHECK(moved == 0 && count > 30);
    struct nf2_key high = nf2_lowest_key(NF2_NONE);
    CHECK_EQ(nf2_tree_descend(&volume.fs, &high, &path), 0);
    do {
        CHECK(count > 0 && leaves[count - 1] == path.node[path.depth - 1]);
        count--;
        moved = nf2_tree_neighbour(&volume.fs, &path, NF2_BELOW);
    } while (moved > 0 && count > 0);
    CHECK(moved == 0 && count == 0);
}

/* ---- entries ------------------------------------------------------------------------------------- */

static void begin_on(struct volume *volume, const char *chip)
{
    uint8_t piece[300] = {1};

    volume_up(volume, chip);
    CHECK_EQ(put(volume, "sound", 5000, 2), NF2_OK);
    CHECK_EQ(put(volume, "pieces", 12000, 3), NF2_OK);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "pieces", NF2_O_RDWR, volume->page), NF2_OK);
    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, 5000, NF2_SEEK_SET), 5000);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, piece, sizeof piece), (int)sizeof piece);
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
}

static void begin(struct volume *volume)
{
    begin_on(volume, "tiny256k");
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

static void plant(struct volume *volume, const struct nf2_key *key, const void *body, uint32_t length)
{
    struct nf2_node_op op = {.type = NF2_NODE_PUT};
    struct nf2_path path;

    op.key = *key;
    op.body = nf2_span_of(body, length);
    CHECK_EQ(nf2_tree_descend(&volume->fs, key, &path), 0);
    append(volume, path.node[path.depth - 1], &op);
}

/* Names whose entries say what makes no sense of their content: they are there, and cannot be opened. */
TEST(bodies)
{
    static const struct {
        const char *name;
        uint32_t length;
        uint8_t body[32];
    } odd[] = {
        {"unknown kind", 6, {0x60, 1, 2, 3, 4, 5}}, {"short flat", 7, {NF2_BODY_FLAT, 1, 1, 1, 1, 7, 0}}, {"five extents", 30, {NF2_BODY_FLAT, 1}},
        {"no id", 5, {NF2_BODY_INDEXED}},          {"half an id", 3, {NF2_BODY_INDEXED, 1, 2}},          {"a piece", 10, {NF2_BODY_PIECE, 5}},
    };
    struct volume volume;

    for (unsigned i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        begin(&volume);
        struct nf2_key key = nf2_key_of(NF2_ROOT_ID, odd[i].name, (uint32_t)strlen(odd[i].name));
        plant(&volume, &key, odd[i].body, odd[i].length);
        int status = nf2_open(&volume.fs, &volume.file, odd[i].name, NF2_O_RDONLY, NULL);
        bool opens = strcmp(odd[i].name, "no id") == 0; /* then nothing can be removed of it */
        CHECK_EQ(status, opens ? NF2_OK : NF2_ERR_IO);
        if (opens) {
            CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
            CHECK_EQ(nf2_remove(&volume.fs, odd[i].name), NF2_ERR_IO);
        }
        CHECK(nf2_check(&volume.fs, NULL, NULL) > 0);
        CHECK(!volume.fs.broken && holds(&volume, "sound", 5000, 2));
        volume_down(&volume, false);
    }
}

/* The same in the map of a file: what reads it says so. */
TEST(pieces)
{
    static const struct {
        uint8_t kind, length;
        uint8_t body[12];
    } odd[] = {
        {NF2_INDEX_MAP, 3, {NF2_BODY_PIECE, 1, 2}}, {NF2_INDEX_OWN, 2, {NF2_BODY_OWN, 1}}, {NF2_INDEX_MAP, 12, {NF2_BODY_PIECE}}, {NF2_INDEX_MAP, 3, {NF2_BODY_OWN, 1, 0}},
        {NF2_INDEX_MAP, 4, {0x60, 1, 1, 1}},
    };
    struct volume volume;
    uint8_t data[100] = {0};

    for (unsigned i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        begin(&volume);
        struct nf2_key key = nf2_number_key(id_of(&volume, "pieces"), odd[i].kind, odd[i].kind == NF2_INDEX_MAP ? 11000 : 3);
        plant(&volume, &key, odd[i].body, odd[i].length);
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, "pieces", NF2_O_RDONLY, NULL), odd[i].kind == NF2_INDEX_MAP ? NF2_ERR_IO : NF2_OK);
        if (odd[i].kind == NF2_INDEX_OWN) {
            CHECK_EQ(nf2_read(&volume.fs, &volume.file, data, sizeof data), NF2_ERR_IO);
            CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        }
        CHECK(nf2_check(&volume.fs, NULL, NULL) > 0);
        CHECK(!volume.fs.broken && holds(&volume, "sound", 5000, 2));
        volume_down(&volume, false);
    }
}

/* A removed file that says it owns more blocks than the volume has, or than one record frees: it is an error, and frees nothing. */
TEST(owned_runs)
{
    static const uint32_t counts[] = {0x8001, 0x4000, 0xFFFF, 70};
    struct volume volume;

    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint8_t body[3] = {NF2_BODY_OWN};
        begin(&volume);
        struct nf2_key key = nf2_number_key(id_of(&volume, "pieces"), NF2_INDEX_OWN, 2);
        nf2_put16(body + 1, counts[i]);
        plant(&volume, &key, body, sizeof body);
        uint32_t free_blocks = nf2_space_free_blocks(&volume.fs);
        CHECK_EQ(nf2_remove(&volume.fs, "pieces"), NF2_OK);
        CHECK_EQ(maintain_all(&volume), NF2_ERR_IO);
        CHECK(nf2_space_free_blocks(&volume.fs) <= free_blocks + 4u); /* those of the other entries, and no more */
        CHECK(nf2_check(&volume.fs, NULL, NULL) > 0);
        CHECK(!volume.fs.broken && holds(&volume, "sound", 5000, 2));
        volume_down(&volume, false);
    }
}

/* A change whose body makes no sense is refused, and nothing of it is there. */
TEST(refused_change)
{
    static const uint8_t body[4] = {NF2_BODY_FLAT, 1, 2, 3};
    struct nf2_node_op change = {.type = NF2_NODE_PUT};
    struct volume volume;

    begin(&volume);
    change.key = nf2_key_of(NF2_ROOT_ID, "new", 3);
    change.body = nf2_span_of(body, sizeof body);
    CHECK_EQ(nf2_tree_change(&volume.fs, &change, 1), NF2_ERR_IO);
    CHECK_EQ(size_of(&volume, "new", NULL), NF2_ERR_NOENT);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* The root directory in itself. */
TEST(root_in_itself)
{
    struct volume volume;
    uint8_t body[5] = {NF2_BODY_DIR};
    struct nf2_key key = nf2_key_of(NF2_ROOT_ID, "self", 4);

    begin(&volume);
    nf2_put32(body + 1, NF2_ROOT_ID);
    plant(&volume, &key, body, sizeof body);
    CHECK(nf2_check(&volume.fs, NULL, NULL) > 0);
    volume_down(&volume, false);
}

/* Names like those that stand for directories are names; directories late in a volume's life have large ids. */
TEST(names_and_ids)
{
    struct volume volume;

    begin(&volume);
    CHECK_EQ(put(&volume, ".a", 10, 1), NF2_OK);
    CHECK_EQ(put(&volume, "...", 10, 2), NF2_OK);
    CHECK_EQ(nf2_mkdir(&volume.fs, "old"), NF2_OK);
    CHECK_EQ(put(&volume, "old/file", 40, 7), NF2_OK);
    volume.fs.next_id = volume.fs.id_limit = 0x10000u - 2u;
    for (unsigned i = 0; i < 3; i++) {
        char path[40] = "", name[60];
        for (unsigned j = 0; j <= i; j++) {
            snprintf(path + strlen(path), sizeof path - strlen(path), "/dir%u", j);
        }
        CHECK_EQ(nf2_mkdir(&volume.fs, path), NF2_OK);
        snprintf(name, sizeof name, "%s/file", path);
        CHECK_EQ(put(&volume, name, 30, i), NF2_OK);
        CHECK(holds(&volume, name, 30, i) && holds(&volume, name, 30, i));
    }
    CHECK_EQ(nf2_rename(&volume.fs, "old", "dir0/dir1/dir2/old"), NF2_OK);
    CHECK(holds(&volume, "dir0/dir1/dir2/old/file", 40, 7) && holds(&volume, "dir0/dir1/dir2/old/file", 40, 7));
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK(holds(&volume, "dir0/dir1/dir2/file", 30, 2) && holds(&volume, "dir0/dir1/file", 30, 1) && holds(&volume, "dir0/file", 30, 0));
    CHECK(holds(&volume, ".a", 10, 1) && holds(&volume, "...", 10, 2));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* ---- logs ---------------------------------------------------------------------------------------- */

/* A batch whose link leads back to its own block, which holds no operation, or outside of the volume. */
TEST(links_of_a_batch)
{
    for (unsigned outside = 0; outside < 2; outside++) {
        struct volume volume;
        struct nf2_batch batch = nf2_batch_empty();
        struct nf2_scan scan;
        struct nf2_entry op;
        uint32_t block;

        begin(&volume);
        CHECK_EQ(nf2_space_begin(&volume.fs), NF2_OK);
        CHECK_EQ(nf2_space_tree_block(&volume.fs, &block), NF2_OK);
        CHECK_EQ(nf2_batch_extend(&volume.fs, &batch, block), NF2_OK);
        CHECK_EQ(nf2_batch_extend(&volume.fs, &batch, outside ? volume.fs.blocks : block), NF2_OK);
        nf2_scan_begin(&scan, block);
        CHECK_EQ(nf2_batch_next(&volume.fs, &scan, &op), NF2_ERR_IO);
        CHECK(!volume.fs.broken && holds(&volume, "sound", 5000, 2));
        volume_down(&volume, false);
    }
}

/* Records of more than a mount keeps are passed over. */
TEST(more_records)
{
    struct volume volume;
    struct nf2_small touch = {NF2_META_TOUCH, 5, {0}}, orphan = {NF2_META_ORPHAN, 4, {0}};

    begin(&volume);
    for (uint32_t i = 0; i <= NF2_ORPHANS_MAX; i++) { /* of nothing */
        nf2_put32(orphan.payload, 900 + i);
        CHECK_EQ(nf2_meta_append(&volume.fs, &orphan), NF2_OK);
    }
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(volume.fs.orphan_count, NF2_ORPHANS_MAX);
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(volume.fs.orphan_count, 0);
    volume_down(&volume, true);

    begin_tall(&volume);
    for (uint32_t i = 0; i <= NF2_TOUCHED_MAX; i++) {
        struct nf2_path path = way_to(&volume, name_of(i * 70));
        uint32_t leaf = path.node[path.depth - 1];
        nf2_put24(touch.payload, leaf);
        nf2_put16(touch.payload + 3, (uint32_t)nf2_node_tail(&volume.fs, leaf, NULL));
        CHECK_EQ(nf2_meta_append(&volume.fs, &touch), NF2_OK);
    }
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(list_all(&volume), (int)FILES);
}

/* A file that was made an orphan, and whose removal was not settled: it is one orphan, and its blocks come back once. */
TEST(orphan_and_removed)
{
    struct volume volume;

    begin(&volume);
    uint32_t id = id_of(&volume, "pieces");
    CHECK_EQ(nf2_remove(&volume.fs, "pieces"), NF2_OK);
    struct nf2_small orphan = {NF2_META_ORPHAN, 4, {0}};
    nf2_put32(orphan.payload, id);
    CHECK_EQ(nf2_meta_append(&volume.fs, &orphan), NF2_OK);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(volume.fs.orphan_count, 1);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(size_of(&volume, "pieces", NULL), NF2_ERR_NOENT);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* A clean volume leaves one run to the tree, no more. */
TEST(runs_of_a_clean_state)
{
    struct volume volume;

    begin(&volume);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    struct nf2_slot *slot = &volume.fs.slot[NF2_TREE_SLOT];
    CHECK_EQ(put(&volume, "more", 10, 1), NF2_OK);
    slot->runs = 2;
    slot->run[0] = slot->run[1] = (struct nf2_run){40, 2};
    CHECK_EQ(nf2_meta_state(&volume.fs, true), NF2_OK);
    CHECK_EQ(volume_again(&volume, false), NF2_ERR_CORRUPT);
    volume_down(&volume, false);
}

/* The anchor leads to a place outside of the volume. */
TEST(place_outside)
{
    struct volume volume;

    begin(&volume);
    volume.fs.bad[0].block = (uint16_t)volume.fs.meta_next;
    volume.fs.bad[0].by = (uint16_t)volume.fs.blocks;
    volume.fs.bad_count = 1;
    CHECK_EQ(nf2_super_write(&volume.fs), NF2_OK);
    CHECK_EQ(volume_again(&volume, false), NF2_ERR_CORRUPT);
    volume_down(&volume, false);
}

/* A volume with blocks in stock. */
static void begin_stocked(struct volume *volume)
{
    begin_on(volume, "tiny2m");
    for (unsigned i = 0; i < 12 && volume->fs.stock_count < 2; i++) {
        CHECK_EQ(put(volume, "small", 10, i), NF2_OK);
        CHECK(nf2_maintain(&volume->fs, 200000) >= 0);
    }
    CHECK(volume->fs.stock_count >= 2);
}

/* The log goes on for some blocks, and all is as it should be. */
static void go_on(struct volume *volume)
{
    for (unsigned i = 0; i < 200; i++) {
        CHECK_EQ(put(volume, "small", 3000, i), NF2_OK);
    }
    CHECK(holds(volume, "sound", 5000, 2) && holds(volume, "small", 3000, 199));
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    CHECK_EQ(maintain_all(volume), 0);
    CHECK_EQ(volume_again(volume, true), NF2_OK);
    CHECK(holds(volume, "sound", 5000, 2) && holds(volume, "small", 3000, 199));
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
}

/* The next block of the log fails where the tree has none left: one of the stock takes its place. */
TEST(stock_for_the_log)
{
    struct volume volume;

    begin_stocked(&volume);
    CHECK_EQ(nf2_space_begin(&volume.fs), NF2_OK);
    CHECK_EQ(nf2_space_return_unused(&volume.fs, NF2_SLOTS), NF2_OK);
    CHECK_EQ(nf2_space_next(&volume.fs, NF2_TREE_SLOT), NF2_NONE);
    uint32_t bad = volume.fs.meta_next, by = volume.fs.stock[volume.fs.stock_count - 1u];
    vflash_break_block(volume.flash, bad, false);
    CHECK_EQ(nf2_meta_replace_next(&volume.fs), NF2_OK);
    CHECK_EQ(nf2_bad_place(&volume.fs, bad), by);
    go_on(&volume);
    volume_down(&volume, true);
}

/* The next block of the log is bad, and a block of the stock took its place: a cut came when the anchor said so, and no STATE yet. */
TEST(stock_in_place)
{
    struct volume volume;

    begin_stocked(&volume);
    uint32_t bad = volume.fs.meta_next, by = volume.fs.stock[0], in_stock = 0;
    volume.fs.bad[0].block = (uint16_t)bad;
    volume.fs.bad[0].by = (uint16_t)by;
    volume.fs.bad_count = 1;
    CHECK_EQ(nf2_super_write(&volume.fs), NF2_OK);
    vflash_break_block(volume.flash, bad, false);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    for (unsigned i = 0; i < volume.fs.stock_count; i++) {
        in_stock += volume.fs.stock[i] == by;
    }
    CHECK(in_stock == 0 && nf2_bad_place(&volume.fs, bad) == by);
    go_on(&volume);
    volume_down(&volume, true);
}

/* The lowest layer programs and erases nothing on a volume that is for reading only, broken, or not mounted, and no part of a unit, whoever asks. */
TEST(guards)
{
    struct volume volume;
    uint8_t data[32] = {0};

    begin_on(&volume, "tinyecc16");
    uint32_t block = volume.fs.blocks - 1;
    uint64_t before = chip_changes(volume.flash);
    CHECK_EQ(nf2_flash_program(&volume.fs, block, 3, data, 16), NF2_ERR_IO);
    CHECK_EQ(nf2_flash_program(&volume.fs, volume.fs.blocks, 0, data, 16), NF2_ERR_IO);
    volume.fs.broken = true;
    CHECK_EQ(nf2_flash_program(&volume.fs, block, 0, data, 16), NF2_ERR_IO);
    CHECK_EQ(nf2_flash_erase(&volume.fs, block, 1), NF2_ERR_IO);
    volume.fs.broken = false;
    CHECK_EQ(chip_changes(volume.flash), before);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    CHECK_EQ(nf2_space_begin(&volume.fs), NF2_ERR_INVAL);
    before = chip_changes(volume.flash);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_OK);
    CHECK_EQ(nf2_space_begin(&volume.fs), NF2_ERR_ROFS);
    CHECK_EQ(nf2_flash_program(&volume.fs, block, 0, data, 16), NF2_ERR_ROFS);
    CHECK_EQ(nf2_flash_erase(&volume.fs, block, 1), NF2_ERR_ROFS);
    CHECK_EQ(chip_changes(volume.flash), before);
    CHECK(holds(&volume, "sound", 5000, 2));
    volume_down(&volume, true);
}

int main(void)
{
    RUN(children_that_are_none);
    RUN(levels);
    RUN(inner_nodes_without_children);
    RUN(both_ways);
    RUN(bodies);
    RUN(pieces);
    RUN(owned_runs);
    RUN(refused_change);
    RUN(root_in_itself);
    RUN(names_and_ids);
    RUN(links_of_a_batch);
    RUN(more_records);
    RUN(orphan_and_removed);
    RUN(runs_of_a_clean_state);
    RUN(place_outside);
    RUN(stock_for_the_log);
    RUN(stock_in_place);
    RUN(guards);
    return check_done();
}
