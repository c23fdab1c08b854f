/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_future.c - images of volumes that a newer library made, built by hand: what this one does not know it refuses, keeps, or
 * stops at, as FORMAT.md says.
 * Nothing public tells of fields, so the core is asked for the bytes of an entry.
 */
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "made.h"
#include "src/names.h"

static const struct repair_geometry geometry = {MADE_BLOCKS * MADE_BLOCK, MADE_BLOCK, 1};

/* A chip with the image. */
static void put_on_chip(struct volume *volume, const struct made *made)
{
    volume_new(volume, "tiny256k");
    memcpy(vflash_memory(volume->flash), made->bytes, MADE_BLOCKS * MADE_BLOCK);
}

/* The image is built, and mounted for writing. */
static int mounted(struct volume *volume, struct made *made)
{
    made_build(made);
    put_on_chip(volume, made);
    return nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);
}

/* Writes, and idle work, until a call fails: its error, or 0. */
static int use(struct volume *volume)
{
    for (uint32_t i = 0; i < 400; i++) {
        int status = put(volume, "new", 100 + i % 7 * 300, i);
        status = status == NF2_OK ? nf2_maintain(&volume->fs, 1000000) : status;
        if (status < 0) {
            return status;
        }
    }
    return NF2_OK;
}

/* What is in `inline` of each image. */
static bool reads(struct volume *volume)
{
    uint8_t data[8];
    int status = nf2_open(&volume->fs, &volume->file, "/inline", NF2_O_RDONLY, NULL);
    int32_t read = status == NF2_OK ? nf2_read(&volume->fs, &volume->file, data, sizeof data) : status;

    (void)nf2_close(&volume->fs, &volume->file);
    return read == 5 && memcmp(data, "hello", 5) == 0;
}

TEST(nothing_new)
{
    struct made made;
    struct volume volume;

    made_begin(&made);
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    CHECK(reads(&volume));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(use(&volume), NF2_OK);
    volume_down(&volume, true);
    made_end(&made);
}

/* ---- first bytes of bodies ----------------------------------------------------------------------- */

static bool without_blocks(unsigned kind)
{
    return kind == 1 || kind == 2 || kind == 4 || kind == 11 || kind == 13 || kind == 14 || (kind >= 0x20 && kind <= 0x3F);
}

/* The walk stops, nothing is programmed or erased any more, and what was there before can be read. */
static void expect_no_writes(struct volume *volume)
{
    CHECK_EQ(use(volume), NF2_ERR_VERSION);
    uint64_t changes = chip_changes(volume->flash);
    CHECK(one_of(put(volume, "later", 10, 1), NF2_ERR_ROFS, NF2_ERR_VERSION, NF2_ERR_VERSION));
    CHECK(one_of(nf2_mkdir(&volume->fs, "more"), NF2_ERR_ROFS, NF2_ERR_VERSION, NF2_ERR_VERSION));
    CHECK(one_of(nf2_remove(&volume->fs, "inline"), NF2_ERR_ROFS, NF2_ERR_VERSION, NF2_ERR_VERSION));
    CHECK_EQ(nf2_maintain(&volume->fs, 1000000), 0);
    CHECK(reads(volume));
    CHECK_EQ(nf2_unmount(&volume->fs), NF2_ERR_ROFS);
    CHECK_EQ(chip_changes(volume->flash), changes);
    CHECK_EQ(nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDONLY), NF2_OK);
    CHECK(reads(volume));
}

/* An entry of this form, as a name or of an id that nothing of this library leads to. */
static void look_at_kind(uint32_t id, const void *key, uint8_t length, unsigned kind)
{
    const uint8_t body[12] = {(uint8_t)kind, MADE_DATA, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
    struct made made;
    struct volume volume;
    unsigned long wrong = check_state.failures;

    made_begin(&made);
    (void)made_add(&made, id, key, length, body, sizeof body);
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    if (without_blocks(kind)) {
        CHECK_EQ(use(&volume), NF2_OK);
        CHECK(reads(&volume));
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    } else {
        expect_no_writes(&volume);
    }
    if (check_state.failures != wrong) {
        printf("  kind %u of id %u\n", kind, id);
    }
    volume_down(&volume, true);
    made_end(&made);
}

TEST(kinds_of_bodies)
{
    for (unsigned kind = 0; kind < 256; kind++) {
        if (kind != 3 && kind != 5 && (kind < 8 || kind > 10)) {
            look_at_kind(1, "odd", 3, kind);
            look_at_kind(9, "\0\0\0\7", 4, kind);
        }
    }
}

/* A piece of a kind that is not known, in a list and in a map. */
TEST(kinds_of_pieces)
{
    static const uint8_t list[] = {3, 8, MADE_DATA, 0, 0, 0, 0, 5, 0x42, MADE_DATA, 0, 0, 0, 2, 5, 0, 1, 2, 3, 4};
    struct made made;
    struct volume volume;
    uint32_t size;

    made_begin(&made);
    (void)made_name(&made, 1, "newer", list, sizeof list);
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    expect_no_writes(&volume);
    CHECK_EQ(size_of(&volume, "newer", &size), NF2_ERR_VERSION);
    volume_down(&volume, true);
    made_end(&made);

    made_begin(&made);
    made_piece(&made, 3, 5096, MADE_DATA + 3, 2048, 100)->body[0] = 0x62;
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    CHECK_EQ(size_of(&volume, "map", &size), NF2_ERR_VERSION);
    CHECK_EQ(use(&volume), NF2_ERR_VERSION);
    volume_down(&volume, true);
    made_end(&made);
}

/* The checker names what it does not know, and does not take it for free blocks. */
TEST(kinds_in_the_checker)
{
    struct made made;

    made_begin(&made);
    (void)made_name(&made, 1, "newer", "\x42\x08\0\0\0\2\5\0\1\2\3\4", 12);
    made_build(&made);
    struct repair *repair = repair_open(made.bytes, &geometry);
    CHECK(repair != NULL);
    CHECK_EQ(repair_wrong(repair), 1);
    CHECK_EQ(repair_finding(repair, 0)->kind, REPAIR_ENTRY);
    repair_close(repair);
    made_end(&made);
}

/* ---- fields of names ----------------------------------------------------------------------------- */

#define LONG "zz another name that has more than 23 bytes"
static const uint8_t plain[] = {0x31, 2, 'a', 'b', 0x10, 4, 1, 2, 3, 4, 0x01, 0}; /* the highest tag is first */

/* A name with these fields in front of the content; returns the bytes in all. */
static uint16_t with_fields(uint8_t *body, const void *fields, uint8_t bytes, const void *content, uint16_t length)
{
    body[0] = 5;
    body[1] = bytes;
    memcpy(body + 2, fields, bytes);
    memcpy(body + 2 + bytes, content, length);
    return (uint16_t)(2 + bytes + length);
}

static void add_with_fields(struct made *made, const char *name, const void *fields, uint8_t bytes, const void *content,
                            uint16_t length)
{
    uint8_t body[400];
    uint16_t all = with_fields(body, fields, bytes, content, length);
    (void)made_name(made, 1, name, body, all);
}

/* Does the body of this name have these bytes, behind the rest of a long one, and then `older` times fields without any? */
static bool has_fields(struct volume *volume, const char *path, const void *fields, uint8_t bytes, unsigned older)
{
    static struct nf2_found found;
    uint8_t wanted[300], read[300];
    uint32_t length = with_fields(wanted, fields, bytes, "", 0);

    for (unsigned i = 0; i < older; i++) {
        wanted[length++] = 5;
        wanted[length++] = 0;
    }
    return nf2_find(&volume->fs, path, 0, &found) == NF2_OK && found.content.kind != 0 &&
           nf2_body_read(&volume->fs, &found.entry, found.content.rest, read, length) == NF2_OK &&
           memcmp(read, wanted, length) == 0 && found.content.at == found.content.rest + length;
}

static const uint8_t two_pieces[] = {3, 8, MADE_DATA, 0, 0, 0, 4, 0x80, 0x04, 10, 5};

/* Content of each form behind fields, of a short name and of a long one. */
static void make_fields(struct made *made, const void *fields, uint8_t bytes)
{
    made_begin(made);
    add_with_fields(made, "small", fields, bytes, "\2hello", 6);
    add_with_fields(made, LONG, fields, bytes, "\2hello", 6);
    add_with_fields(made, "pieces", fields, bytes, two_pieces, sizeof two_pieces);
    add_with_fields(made, "big", fields, bytes, "\4\10\0\0\0", 5);
    (void)made_piece(made, 8, 0, MADE_DATA + 3, 1000, 300);
    add_with_fields(made, "folder", fields, bytes, "\1\11\0\0\0", 5);
    (void)made_name(made, 9, "inside", "\2x", 2);
}

static const struct {
    const char *path;
    uint32_t size;
} files[] = {{"small", 5}, {LONG, 5}, {"pieces", 517}, {"big", 300}};
#define FILES (sizeof files / sizeof files[0])

static int opened_with(struct volume *volume, const char *path, int flags)
{
    int status = nf2_open(&volume->fs, &volume->file, path, flags, volume->page);
    int closed = status == NF2_OK ? nf2_close(&volume->fs, &volume->file) : status;
    return closed;
}

/* Who does not know a field reads the content, and keeps the field; those of an older content are marked, once. */
TEST(fields_kept)
{
    struct made made;
    struct volume volume;
    uint32_t size;

    make_fields(&made, plain, sizeof plain);
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(size_of(&volume, "folder/inside", &size), NF2_OK);
    for (unsigned i = 0; i < FILES; i++) {
        const char *path = files[i].path;
        CHECK(size_of(&volume, path, &size) >= 0 && size == files[i].size);
        uint8_t data[8] = {0};
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, path, NF2_O_RDONLY, NULL), NF2_OK);
        CHECK_EQ(nf2_read(&volume.fs, &volume.file, data, 5), 5);
        CHECK(size != 5 || memcmp(data, "hello", 5) == 0);
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        CHECK_EQ(opened_with(&volume, path, NF2_O_RDWR), NF2_OK);
        CHECK(has_fields(&volume, path, plain, sizeof plain, 0)); /* nothing was written */
    }
    for (uint32_t round = 0; round < 3; round++) {
        for (unsigned i = 0; i < FILES; i++) {
            CHECK_EQ(put(&volume, files[i].path, 700 - 300 * round, 9 * round + i), NF2_OK);
            CHECK(holds(&volume, files[i].path, 700 - 300 * round, 9 * round + i));
            CHECK(has_fields(&volume, files[i].path, plain, sizeof plain, 1));
        }
        CHECK_EQ(volume_again(&volume, round > 0), NF2_OK);
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(use(&volume), NF2_OK);
    CHECK(holds(&volume, LONG, 100, 19));
    volume_down(&volume, true);
    made_end(&made);
}

/* A new name, long or short, keeps them too, and they are not of an older content. So does what the walk moves. */
TEST(fields_renamed_and_moved)
{
    static const char *names[] = {"other", LONG " and more of it", "last"};
    struct made made;
    struct volume volume;

    make_fields(&made, plain, sizeof plain);
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    const char *name = "pieces";
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(nf2_rename(&volume.fs, name, names[i]), NF2_OK);
        name = names[i];
        CHECK(has_fields(&volume, name, plain, sizeof plain, 0));
    }
    CHECK_EQ(nf2_rename(&volume.fs, "folder", "place"), NF2_OK);
    CHECK_EQ(nf2_rename(&volume.fs, "place/inside", "place/in"), NF2_OK);
    uint32_t block = MADE_DATA;
    for (uint32_t i = 0; i < 3000 && block == MADE_DATA; i++) { /* until the walk has moved the list, or made a map of it */
        static struct nf2_found found;
        uint8_t content[6] = {0};
        CHECK_EQ(put(&volume, i % 2 ? "new" : "other new", 20000 + i % 5 * 3000, i), NF2_OK);
        CHECK(nf2_maintain(&volume.fs, 200000) >= 0);
        CHECK_EQ(nf2_find(&volume.fs, name, 0, &found), NF2_OK);
        CHECK_EQ(nf2_body_read(&volume.fs, &found.entry, found.content.at, content, 4), NF2_OK);
        block = content[0] == 3 ? content[2] : NF2_NONE;
    }
    CHECK(block != MADE_DATA);
    CHECK(has_fields(&volume, name, plain, sizeof plain, 0));
    volume_down(&volume, true);
    made_end(&made);
}

/* A field that says so refuses what would go wrong without it. */
TEST(fields_refused)
{
    static const uint8_t fields[][7] = {
        {0x46, 4, 9, 0, 0, 0},              /* who does not know it only reads */
        {0xC4, 1, 0, 0x46, 0},              /* nor that */
        {0x81, 0, 0x20, 0},
    };

    for (unsigned n = 0; n < 3; n++) {
        struct made made;
        struct volume volume;
        uint32_t size;
        bool read = n == 0;
        make_fields(&made, fields[n], (uint8_t)(6 - n));
        CHECK_EQ(mounted(&volume, &made), NF2_OK);
        for (unsigned i = 0; i < FILES; i++) {
            const char *path = files[i].path;
            CHECK(size_of(&volume, path, &size) >= 0 && size == files[i].size);
            CHECK_EQ(opened_with(&volume, path, NF2_O_RDONLY), read ? NF2_OK : NF2_ERR_VERSION);
            CHECK_EQ(opened_with(&volume, path, NF2_O_RDWR), NF2_ERR_VERSION);
            CHECK_EQ(opened_with(&volume, path, NF2_O_RDWR | NF2_O_CREAT | NF2_O_TRUNC), NF2_ERR_VERSION);
            CHECK_EQ(nf2_remove(&volume.fs, path), NF2_ERR_VERSION);
            CHECK_EQ(nf2_rename(&volume.fs, "inline", path), NF2_ERR_VERSION);
            CHECK_EQ(nf2_rename(&volume.fs, path, "renamed"), NF2_OK);
            CHECK_EQ(nf2_rename(&volume.fs, "renamed", path), NF2_OK);
        }
        CHECK_EQ(nf2_remove(&volume.fs, "folder/inside"), NF2_OK);
        CHECK_EQ(nf2_remove(&volume.fs, "folder"), NF2_ERR_VERSION);
        CHECK_EQ(use(&volume), NF2_OK);
        volume_down(&volume, true);
        made_end(&made);
    }
}

/* Fields that run over the entry, or in which nothing follows: an error, and no more. */
TEST(fields_damaged)
{
    static const char *const bodies[] = {"\5", "\5\0", "\5\3\1\7", "\5\377\1\1\2", "\5\2\1\0"};
    static const uint8_t lengths[] = {1, 2, 4, 5, 4};

    for (unsigned i = 0; i < 5; i++) {
        struct made made;
        struct volume volume;
        made_begin(&made);
        (void)made_name(&made, 1, "odd", bodies[i], lengths[i]);
        CHECK_EQ(mounted(&volume, &made), NF2_OK);
        CHECK(one_of(opened_with(&volume, "odd", NF2_O_RDWR), NF2_ERR_IO, NF2_ERR_VERSION, NF2_ERR_IO));
        CHECK(one_of(use(&volume), NF2_ERR_IO, NF2_ERR_VERSION, NF2_ERR_IO));
        CHECK(reads(&volume));
        volume_down(&volume, true);
        made_end(&made);
    }
}

/* The checker knows them: nothing is wrong, and the contents are found. */
TEST(fields_in_the_checker)
{
    struct made made;

    make_fields(&made, plain, sizeof plain);
    made_build(&made);
    struct repair *repair = repair_open(made.bytes, &geometry);
    CHECK(repair != NULL);
    CHECK_EQ(repair_wrong(repair), 0);
    unsigned found = 0;
    for (unsigned i = 0; i < repair_count(repair); i++) {
        for (unsigned n = 0; n < FILES; n++) {
            const struct repair_item *item = repair_item(repair, i);
            found += strcmp(item->path + 1, files[n].path) == 0 && item->size == files[n].size;
        }
    }
    CHECK_EQ(found, FILES);
    repair_close(repair);
    made_end(&made);
}

/* ---- keys ---------------------------------------------------------------------------------------- */

#define ORPHAN 7u

/* Entries of an id, in the tree or in a GROUP that waits. */
static unsigned entries_of(struct volume *volume, uint32_t id)
{
    struct nf2_key key = {id, 0, {0}};
    struct nf2_entry entry;
    unsigned count = 0;

    while (count < 1000 && nf2_tree_seek(&volume->fs, &key, NF2_ABOVE, &entry) > 0 && entry.key.id == id) {
        nf2_key_copy(&key, &entry.key);
        count++;
    }
    return count;
}

/* Keys of every length from 4 bytes on; those of 24 and 28 have the rest of a name in front. */
static unsigned add_keys(struct made *made, uint32_t id)
{
    unsigned count = 0;

    for (uint8_t length = 4; length <= 28; length++, count++) {
        uint8_t key[28], body[12] = {3, 'a', 'b', 'c'};
        bool rest = length == 24 || length == 28;
        memset(key, 0x40 + 7 * length, sizeof key);
        body[rest ? 4 : 0] = 0x21;
        (void)made_add(made, id, key, length, body, 12);
    }
    return count;
}

/* What is left of an orphan, such as the changes of a transaction that was cut, is removed: in one leaf or in two. */
TEST(orphan_with_keys_of_all_lengths)
{
    for (unsigned split = 0; split < 20; split++) {
        struct made made;
        struct volume volume;
        made_begin(&made);
        unsigned count = add_keys(&made, ORPHAN);
        made.bound = split == 0 ? made.bound : made.entries - split;
        CHECK_EQ(mounted(&volume, &made), NF2_OK);
        CHECK_EQ(entries_of(&volume, ORPHAN), count + 1);
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        CHECK_EQ(use(&volume), NF2_OK);
        CHECK_EQ(entries_of(&volume, ORPHAN), 0);
        CHECK(reads(&volume));
        CHECK(holds(&volume, "dir/inside", 1, 0) || size_of(&volume, "dir/inside", NULL) == NF2_OK);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        volume_down(&volume, true);
        made_end(&made);
    }
}

/* They stay where they are no orphan's; of a piece behind the rest of a name the blocks are in use. */
TEST(keys_of_all_lengths)
{
    static const uint8_t piece[] = {3, 'a', 'b', 'c', 8, 60, 0, 0, 0, 0, 20};
    static const uint8_t key[28] = "under a number: 28 bytes...";
    struct made made;
    struct volume volume;
    uint8_t before[20];

    made_begin(&made);
    unsigned count = add_keys(&made, 9);
    (void)made_add(&made, 9, key, 28, piece, sizeof piece);
    made.bits[60 / 8] |= 1u << 60 % 8;
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    memcpy(before, vflash_memory(volume.flash) + 60 * MADE_BLOCK, sizeof before);
    CHECK_EQ(use(&volume), NF2_OK);
    CHECK_EQ(entries_of(&volume, 9), count + 1);
    CHECK_MEM(vflash_memory(volume.flash) + 60 * MADE_BLOCK, before, sizeof before);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
    made_end(&made);
}

/* A GROUP that waits and removes all of an id: readers see none of it, and a search ends, whatever the keys are. */
TEST(all_of_an_id_in_a_group)
{
    for (unsigned number = 0; number < 3; number++) {
        uint8_t group[16] = {2, 4, 0};
        const uint8_t end[4] = {0, 0, 0, number == 0 ? 0x80 : 0x90};
        struct made made;
        struct volume volume;
        made_begin(&made);
        unsigned count = add_keys(&made, 9);
        uint32_t n = 3 + made_key(group + 3, 9, "\0\0\0\0", number == 2 ? 3 : 4);
        memcpy(group + n, end, sizeof end);
        made_build(&made);
        (void)made_record(&made, MADE_HEAD, 4, false, group, n + 4);
        put_on_chip(&volume, &made);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        CHECK_EQ(entries_of(&volume, 9), 0);
        CHECK_EQ(use(&volume), number == 2 ? NF2_ERR_IO : NF2_OK);
        CHECK_EQ(entries_of(&volume, 9), 0);
        CHECK(count > 20);
        volume_down(&volume, true);
        made_end(&made);
    }
}

/* ---- the root log -------------------------------------------------------------------------------- */

/* The image with this record behind its CHECKPOINT, on a chip. */
static void with_record(struct volume *volume, struct made *made, uint8_t type, const void *payload, uint32_t length)
{
    made_begin(made);
    made_build(made);
    (void)made_record(made, MADE_HEAD, type, false, payload, length);
    put_on_chip(volume, made);
}

/* Is this the VOLUME of the head? One without fields where `length` is 0. */
static bool has_volume(struct volume *volume, const void *fields, uint32_t length)
{
    uint8_t read[600];
    const struct nf2_root *root = &volume->fs.root;

    return root->volume_at != 0 && root->volume_bytes == length &&
           nf2_record_read(&volume->fs, volume->fs.root_head, root->volume_at, 2, read, length) == NF2_OK &&
           memcmp(read, fields, length) == 0;
}

/* Turns of the log, mounts and cuts: the fields of a volume are there behind each. A GROUP that waits is, too. */
static void carry_volume(const void *fields, uint32_t length)
{
    struct made made;
    struct volume volume;
    uint32_t heads = 0;

    with_record(&volume, &made, 3, fields, length);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    for (uint32_t round = 0; round < 60; round++) {
        uint32_t head = volume.fs.root_head;
        CHECK(has_volume(&volume, fields, length));
        for (uint32_t i = 0; i < 40; i++) {
            CHECK_EQ(put(&volume, i % 2 ? "new" : "newer", 2000 + i, round), NF2_OK);
        }
        CHECK(has_volume(&volume, fields, length));
        heads += head != volume.fs.root_head;
        CHECK_EQ(volume_again(&volume, round % 3 > 0), NF2_OK);
        made_build(&made);
        memcpy(made.bytes, vflash_memory(volume.flash), MADE_BLOCKS * MADE_BLOCK);
        struct repair *repair = repair_open(made.bytes, &geometry);
        CHECK(repair != NULL && repair_wrong(repair) == 0);
        repair_close(repair);
    }
    CHECK(heads > 10);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
    made_end(&made);
}

TEST(volume_carried)
{
    uint8_t most[NF2_VOLUME_BYTES_MAX] = {0x3F, 246, 1, 2, 3};

    carry_volume("\x20\2ab\1\5label", 11);
    carry_volume("", 0);
    most[248] = 0x21;
    most[249] = 250;
    carry_volume(most, sizeof most);
}

/* Power goes off in each program of a turn: the fields are there, in the old head or in the new one. */
TEST(volume_in_cut_turns)
{
    static const uint8_t fields[300] = {0x2F, 250, 7, 8, 9, [252] = 0x20, [253] = 46};
    unsigned turns = 0;

    for (unsigned operation = 1; operation < 400; operation++) {
        struct vflash_cut cut = {.operation = operation, .byte = operation * 37 % 200, .last_byte_mask = 0x3C, .seed = operation};
        struct made made;
        struct volume volume;
        with_record(&volume, &made, 3, fields, sizeof fields);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        uint32_t head = volume.fs.root_head;
        for (uint32_t i = 0; i < 900 && volume.fs.root_end < MADE_BLOCK - 256; i++) { /* until the log is nearly full */
            CHECK_EQ(put(&volume, "old", 3000, i), NF2_OK);
        }
        CHECK_EQ(volume.fs.root_head, head);
        vflash_cut_at(volume.flash, &cut);
        for (uint32_t i = 0; i < 100 && put(&volume, "new", 3000, i) == NF2_OK; i++) {
        }
        vflash_cut_at(volume.flash, NULL);
        vflash_power_on(volume.flash);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK(has_volume(&volume, fields, sizeof fields));
        turns += head != volume.fs.root_head;
        CHECK(reads(&volume));
        volume_down(&volume, true);
        made_end(&made);
    }
    printf("cuts behind a turn: %u\n", turns);
    CHECK(turns > 5);
}

/* A log that is full, with a GROUP that waits: it turns before that is applied, and both go along. */
TEST(volume_and_group)
{
    static const uint8_t fields[] = {0x31, 2, 'o', 'k'};
    uint8_t group[32], older[200] = {0x31, 198};
    uint32_t n = 3 + made_key(group + 3, 1, "one", 3);
    struct made made;
    struct volume volume;

    memcpy(group, "\0\6\0", 3);
    memcpy(group + n, "\2hello", 6);
    with_record(&volume, &made, 3, older, sizeof older);
    while (made.end[MADE_HEAD] < MADE_BLOCK - 400) {
        (void)made_record(&made, MADE_HEAD, 3, false, older, sizeof older);
    }
    (void)made_record(&made, MADE_HEAD, 3, false, fields, sizeof fields);
    (void)made_record(&made, MADE_HEAD, 4, false, group, n + 6);
    (void)made_record(&made, MADE_HEAD, 3, false, older, sizeof older);
    (void)made_record(&made, MADE_HEAD, 3, false, fields, sizeof fields);
    memcpy(vflash_memory(volume.flash), made.bytes, MADE_BLOCKS * MADE_BLOCK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK(has_volume(&volume, fields, sizeof fields));
    CHECK_EQ(size_of(&volume, "one", NULL), NF2_OK);
    struct vflash_checkpoint *whole = vflash_save(volume.flash);
    for (unsigned operation = 1; operation < 20; operation++) {
        struct vflash_cut cut = {.operation = operation, .byte = operation * 91 % 256, .last_byte_mask = 0x0F, .seed = operation};
        vflash_cut_at(volume.flash, &cut);
        (void)put(&volume, "two", 10, 1);
        vflash_cut_at(volume.flash, NULL);
        vflash_power_on(volume.flash);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK(has_volume(&volume, fields, sizeof fields));
        CHECK_EQ(size_of(&volume, "one", NULL), NF2_OK);
        CHECK(operation < 8 || volume.fs.root_head != MADE_HEAD);
        CHECK_EQ(put(&volume, "two", 10, 1), NF2_OK);
        CHECK(has_volume(&volume, fields, sizeof fields));
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
        vflash_restore(volume.flash, whole);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    }
    vflash_release(whole);
    volume_down(&volume, true);
    made_end(&made);
}

/* The last whole one counts. */
TEST(volume_replaced)
{
    struct made made;
    struct volume volume;

    with_record(&volume, &made, 3, "\x41\1x", 3);
    (void)made_record(&made, MADE_HEAD, 3, false, "\x31\2xy", 4);
    memcpy(vflash_memory(volume.flash), made.bytes, MADE_BLOCKS * MADE_BLOCK);
    uint32_t at = made_record(&made, MADE_HEAD, 3, false, "\x81\1x", 3); /* and one of which the end is missing */
    memcpy(vflash_memory(volume.flash) + MADE_HEAD * MADE_BLOCK + at, made.bytes + MADE_HEAD * MADE_BLOCK + at, 6);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK(has_volume(&volume, "\x31\2xy", 4));
    volume_down(&volume, true);
    made_end(&made);
}

/* What a mount for reading, and one for writing, say of a record of this type; nothing is programmed. */
static void expect_mounts(uint8_t type, const void *payload, uint32_t length, int reading, int writing)
{
    struct made made;
    struct volume volume;
    unsigned long wrong = check_state.failures;

    with_record(&volume, &made, type, payload, length);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), reading);
    CHECK(reading != NF2_OK || reads(&volume));
    if (reading == NF2_OK) {
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    }
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), writing);
    CHECK(writing == NF2_OK || nf2_unmount(&volume.fs) == NF2_ERR_INVAL); /* it is not mounted */
    CHECK_EQ(chip_changes(volume.flash), 0);
    if (check_state.failures != wrong) {
        printf("  type %u, first byte %u\n", type, length > 0 ? *(const uint8_t *)payload : 0u);
    }
    volume_down(&volume, false);
    made_end(&made);
}

TEST(classes_of_the_volume)
{
    for (unsigned tag = 1; tag < 256; tag++) {
        const uint8_t fields[] = {(uint8_t)tag, 2, 0xC0, 0xFF, 0x01, 0};
        expect_mounts(3, fields, sizeof fields, tag >= 0x80 ? NF2_ERR_VERSION : NF2_OK, tag >= 0x40 ? NF2_ERR_VERSION : NF2_OK);
    }
}

TEST(types_of_the_root_log)
{
    uint8_t bytes[1001] = {0};

    for (uint8_t type = 5; type < 8; type++) {
        expect_mounts(type, "anything", 8, NF2_ERR_VERSION, NF2_ERR_VERSION);
    }
    expect_mounts(1, "anything", 8, NF2_ERR_CORRUPT, NF2_ERR_CORRUPT);
    expect_mounts(1, "", 0, NF2_ERR_CORRUPT, NF2_ERR_CORRUPT);
    expect_mounts(3, bytes, 500, NF2_OK, NF2_OK);
    expect_mounts(3, bytes, 501, NF2_ERR_CORRUPT, NF2_ERR_CORRUPT);
    expect_mounts(4, bytes, 1001, NF2_ERR_CORRUPT, NF2_ERR_CORRUPT);
}

/* A change of a kind that is not known, behind one that is: nothing is applied. */
TEST(kinds_of_a_group)
{
    for (unsigned kind = 0; kind < 256; kind++) {
        uint8_t group[64];
        uint32_t n = 3 + made_key(group + 3, 1, "one", 3);
        memcpy(group, "\0\6\0", 3);
        memcpy(group + n, "\2hello", 6);
        n += 6;
        group[n] = (uint8_t)kind;
        group[n + 1] = 4;
        group[n + 2] = 0;
        n += 3 + made_key(group + n + 3, 8, "\0\0\0\0", 4);
        memcpy(group + n, "\12\1\0\0", 4);
        expect_mounts(4, group, n + 4, kind > 2 ? NF2_ERR_VERSION : NF2_OK, kind > 2 ? NF2_ERR_VERSION : NF2_OK);
    }
}

/* ---- nodes and frames ---------------------------------------------------------------------------- */

/* A bit of the level's byte: that of snapshots changes nothing, the others are of another version. */
TEST(bits_of_a_level)
{
    for (unsigned inner = 0; inner < 2; inner++) {
        for (unsigned bit = 3; bit < 8; bit++) {
            struct made made;
            struct volume volume;
            made_begin(&made);
            made.serial = 0xFFFFFFF0u;
            made.level_bits[inner] = (uint8_t)(1u << bit);
            CHECK_EQ(mounted(&volume, &made), NF2_OK);
            CHECK_EQ(size_of(&volume, "inline", NULL), bit == 7 ? NF2_OK : NF2_ERR_VERSION);
            CHECK_EQ(use(&volume), bit == 7 ? NF2_OK : NF2_ERR_VERSION);
            struct repair *repair = bit == 7 ? repair_open(made.bytes, &geometry) : NULL;
            CHECK(bit != 7 || (repair != NULL && repair_findings(repair) == 0));
            repair_close(repair);
            volume_down(&volume, true);
            made_end(&made);
        }
    }
}

TEST(records_of_a_node)
{
    for (unsigned block = MADE_INNER; block <= MADE_LEAF; block++) {
        struct made made;
        struct volume volume;
        made_begin(&made);
        made_build(&made);
        (void)made_record(&made, block, 7, false, "\0\0\0\1\3new", 8);
        put_on_chip(&volume, &made);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        CHECK_EQ(size_of(&volume, "inline", NULL), NF2_ERR_VERSION);
        volume_down(&volume, true);
        made_end(&made);
    }
}

/* The serials in the heads of nodes and frames whose block is not as it was; how many. */
static unsigned serials_of(struct volume *volume, const uint8_t *before, uint32_t *serials)
{
    unsigned count = 0;

    for (uint32_t block = 3; block < MADE_BLOCKS; block++) {
        const uint8_t *p = vflash_memory(volume->flash) + block * MADE_BLOCK;
        uint32_t header = p[2] | (uint32_t)p[3] << 8, place = p[4] == 'N' ? 13 : 5;
        bool node = p[4] == 'N' && (header & 0xEFFFu) == (1u << 13 | 19u), frames = p[4] == 'F' && header == (3u << 12 | 15u);
        if ((node || frames) && memcmp(p, before + block * MADE_BLOCK, 32) != 0) {
            serials[count++] = p[place] | (uint32_t)p[place + 1] << 8 | (uint32_t)p[place + 2] << 16 | (uint32_t)p[place + 3] << 24;
        }
    }
    return count;
}

/* No two nodes or blocks of frames of a session have one serial, and a newer one has a higher one. */
TEST(serials)
{
    static uint32_t serials[MADE_BLOCKS];
    struct made made;
    struct volume volume;
    unsigned count = 0;

    made_begin(&made);
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t before = volume.fs.root.serial;
        CHECK_EQ(put(&volume, i % 3 ? "new" : "other", 300 * (i % 4), i), NF2_OK);
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, i % 2 ? "log" : "log too", NF2_O_WRONLY | NF2_O_APPEND | NF2_O_CREAT, volume.page),
                 NF2_OK);
        for (unsigned n = 0; n < 3; n++) { /* small synced appends to what is larger than an entry takes: frames */
            CHECK_EQ(nf2_write(&volume.fs, &volume.file, made.bytes + 2000, n == 0 && i < 2 ? 240 : 231 + i % 10), n == 0 && i < 2 ? 240 : 231 + i % 10);
            CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
        }
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        CHECK(volume.fs.root.serial >= before);
        count = serials_of(&volume, made.bytes, serials);
        for (unsigned a = 0; a < count; a++) {
            CHECK(serials[a] > 0 && serials[a] <= volume.fs.root.serial);
            for (unsigned b = 0; b < a; b++) {
                CHECK(serials[a] != serials[b]);
            }
        }
        if (i % 50 == 49) {
            CHECK_EQ(nf2_remove(&volume.fs, i % 100 == 99 ? "log" : "log too"), NF2_OK);
        }
    }
    CHECK(count > 4 && volume.fs.root.serial > 20);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
    made_end(&made);
}

/* Frames without their head, or with one that is not theirs, are an error; with a head of any serial they go on. */
TEST(heads_of_frames)
{
    for (unsigned number = 0; number < 5; number++) {
        struct made made;
        struct volume volume;
        uint32_t size = 0;
        made_begin(&made);
        if (number > 0) {
            made.frames_head[number == 1 ? 1 : number == 2 ? 5 : 0] ^= number == 3 ? 'F' : 0x40;
        }
        CHECK_EQ(mounted(&volume, &made), NF2_OK);
        CHECK_EQ(size_of(&volume, "log", &size), number < 2 ? NF2_OK : NF2_ERR_IO);
        if (number < 2) {
            CHECK_EQ(size, 50);
            CHECK_EQ(nf2_open(&volume.fs, &volume.file, "log", NF2_O_WRONLY | NF2_O_APPEND, volume.page), NF2_OK);
            CHECK_EQ(nf2_write(&volume.fs, &volume.file, "more", 4), 4);
            CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
            CHECK(size_of(&volume, "log", &size) == NF2_OK && size == 54);
        }
        struct repair *repair = repair_open(made.bytes, &geometry);
        CHECK(repair != NULL && (repair_wrong(repair) > 0) == (number >= 2));
        repair_close(repair);
        volume_down(&volume, true);
        made_end(&made);
    }
}

int main(void)
{
    RUN(nothing_new);
    RUN(kinds_of_bodies);
    RUN(kinds_of_pieces);
    RUN(kinds_in_the_checker);
    RUN(fields_kept);
    RUN(fields_renamed_and_moved);
    RUN(fields_refused);
    RUN(fields_damaged);
    RUN(fields_in_the_checker);
    RUN(orphan_with_keys_of_all_lengths);
    RUN(keys_of_all_lengths);
    RUN(all_of_an_id_in_a_group);
    RUN(volume_carried);
    RUN(volume_in_cut_turns);
    RUN(volume_and_group);
    RUN(volume_replaced);
    RUN(classes_of_the_volume);
    RUN(types_of_the_root_log);
    RUN(kinds_of_a_group);
    RUN(bits_of_a_level);
    RUN(records_of_a_node);
    RUN(serials);
    RUN(heads_of_frames);
    return check_done();
}
