/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_regions.c - what is known of a volume's regions: a new one is filled without a walk and without a block that the format
 * found to be bad; a region that is free, in this session or on record, is never one that something refers to, whatever its size;
 * what a mount says of free space is what the last session said; and which regions a walk empties.
 */
#include <stdio.h>

#include "api_volume.h"
#include "check.h"
#include "core_traits.h"
#include "vflash/pcg32.h"

#define BLOCKS 1600u            /* a hundred regions of 16 blocks */
#define FILE_BYTES 65536u
#define FILE_BLOCKS (FILE_BYTES / 4096)
#define KEPT_BACK 64u           /* blocks that files cannot have: what statfs keeps back, super blocks, root log, tree */

/* The first and the last block of a region, two neighbours, some in between, and the last one of the volume. */
static const uint32_t bad_blocks[] = { 20, 512, 600, 1023, 1024, 1025, 1300, 1536, 1599 };
#define BAD (sizeof bad_blocks / sizeof *bad_blocks)
#define FOUND_BY_FORMAT 8u      /* of two in one region it finds the first one */

/* Counts what is asked of bad blocks. */
static struct watch {
    const struct nf2_flash *chip;
    unsigned tried;
} watch;

static void look(uint32_t address, uint32_t length)
{
    for (unsigned i = 0; i < BAD; i++) {
        uint32_t at = bad_blocks[i] * 4096;
        watch.tried += at + 4096 > address && at < address + length;
    }
}

static int watch_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    return watch.chip->read(watch.chip->context, address, data, length);
}

static int watch_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context;
    look(address, length);
    return watch.chip->program(watch.chip->context, address, data, length);
}

static int watch_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    look(address, length);
    return watch.chip->erase(watch.chip->context, address, length);
}

static void begin(struct volume *volume, unsigned bad)
{
    struct vflash_chip chip = *vflash_chip_find("w25q256");

    chip.size = BLOCKS * 4096;
    volume_new_on(volume, &chip);
    watch.chip = vflash_driver(volume->flash);
    volume->driver = *watch.chip;
    volume->driver.read = watch_read;
    volume->driver.program = watch_program;
    volume->driver.erase = watch_erase;
    volume->config.flash = &volume->driver;
    for (unsigned i = 0; i < bad; i++) {
        vflash_break_block(volume->flash, bad_blocks[i], false);
    }
}

static void name_of(unsigned file, char *name)
{
    (void)snprintf(name, 16, "file%u", file);
}

/* Writes files until one is refused: how many there are. */
static unsigned fill(struct volume *volume)
{
    char name[16];
    unsigned files = 0;
    int result = NF2_OK;

    for (;; files++) {
        name_of(files, name);
        result = put(volume, name, FILE_BYTES, files);
        if (result != NF2_OK) {
            break;
        }
        if (files % 16 == 7) {  /* a session that is cut, or not */
            CHECK_EQ(volume_again(volume, files % 32 == 7), NF2_OK);
        }
    }
    CHECK_EQ(result, NF2_ERR_NOSPC);
    CHECK_EQ(nf2_remove(&volume->fs, name), NF2_ERR_NOENT);
    return files;
}

static void all_there(struct volume *volume, unsigned files)
{
    char name[16];

    for (unsigned i = 0; i < files; i++) {
        name_of(i, name);
        CHECK(holds(volume, name, FILE_BYTES, i));
    }
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
}

static void remove_all(struct volume *volume, unsigned files)
{
    char name[16];

    for (unsigned i = 0; i < files; i++) {
        name_of(i, name);
        CHECK_EQ(nf2_remove(&volume->fs, name), NF2_OK);
    }
}

static uint64_t erases_of(const struct volume *volume)
{
    const struct vflash_counts *counts = vflash_counts(volume->flash);
    return counts->erases[0] + counts->erases[1] + counts->erases[2];
}

/* `erases_most`: in sessions that are cut, and where the last blocks are looked for, also if the format erased all blocks. */
static void life(int flags, unsigned bad, uint64_t erases_most)
{
    struct volume volume;
    struct nf2_statfs stat;
    unsigned most = (BLOCKS - bad) / FILE_BLOCKS, least = (BLOCKS - bad - KEPT_BACK) / FILE_BLOCKS;

    least -= bad / 2; /* of their regions other blocks are only found one by one: half of them, as it comes */

    begin(&volume, bad);
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, flags), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    watch.tried = 0;
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    if (flags == NF2_FORMAT_ERASE) {
        CHECK_EQ(stat.blocks_bad, bad < FOUND_BY_FORMAT ? bad : FOUND_BY_FORMAT);
        CHECK(stat.blocks_free + bad <= BLOCKS);
    }
    uint32_t available = stat.blocks_available;

    uint64_t erases = erases_of(&volume);
    unsigned files = fill(&volume);
    erases = erases_of(&volume) - erases;
    CHECK(erases <= erases_most);
    CHECK(files >= least && files <= most);
    all_there(&volume, files);
    remove_all(&volume, files);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);

    unsigned again = fill(&volume);
    CHECK(again >= least && again <= most);
    printf("format %d, %u bad: %lu of %u blocks available, %u files with %lu erases, then %u\n", flags, bad,
           (unsigned long)available, BLOCKS, files, (unsigned long)erases, again);
    all_there(&volume, again);
    if (flags == NF2_FORMAT_ERASE && bad > 0) {
        CHECK(watch.tried <= BAD - FOUND_BY_FORMAT);
    }
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    CHECK_EQ(stat.blocks_bad, bad);
    CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
    volume_down(&volume, true);
}

TEST(new_volume)
{
    life(NF2_FORMAT_QUICK, 0, 147);
    life(NF2_FORMAT_ERASE, 0, 26);
}

TEST(bad_blocks_in_regions)
{
    life(NF2_FORMAT_QUICK, BAD, 360);
    life(NF2_FORMAT_ERASE, BAD, 162);
}

/* ---- free is what nothing refers to ---------------------------------------------------------- */

static struct volume volume;

/* Blocks of free regions that are in use, as this session knows it, and as a mount after a cut would. */
static void none_is_used(void)
{
    static nf2_t second;
    static uint8_t buffer[NF2_BUFFER_SIZE(NF2_PAGE_MAX)];
    struct nf2_config config = volume.config;

    CHECK_EQ(core_free_but_used(&volume.fs), 0);
    config.buffer = buffer;
    if (CHECK_EQ(nf2_mount_rdonly(&second, &config), NF2_OK)) {
        CHECK_EQ(core_free_but_used(&second), 0);
        CHECK_EQ(nf2_unmount(&second), NF2_OK);
    }
}

/* What is on record as erased is. */
static void erased_is_blank(void)
{
    const uint8_t *memory = vflash_memory(volume.flash) + volume.config.offset;
    unsigned programmed = 0;

    for (uint32_t block = 0; block < volume.fs.blocks; block++) {
        for (uint32_t i = 0; i < 4096 && core_erased_on_record(&volume.fs, block); i++) {
            programmed += memory[block * 4096 + i] != 0xFF;
        }
    }
    CHECK_EQ(programmed, 0);
}

/* A volume of so many blocks, which begins behind some of the chip's: its regions must have this size. */
static void begin_regions(const char *chip, uint32_t blocks, uint32_t behind, uint32_t region_blocks)
{
    volume_new(&volume, chip);
    volume.config.offset = behind * 4096;
    volume.config.size = blocks * 4096;
    volume_format(&volume);
    CHECK_EQ(volume.fs.blocks, blocks);
    CHECK_EQ(core_region_blocks(&volume.fs), region_blocks);
}

#define NAMES 24u

static struct { uint32_t size, seed; bool there; } model[NAMES];

/* Its first piece is written anew, in place. */
static void overwrite(unsigned file, struct pcg32 *rng)
{
    uint32_t length = 1 + pcg32_below(rng, 3000), at = model[file].size > length ? pcg32_below(rng, model[file].size - length) : 0;
    uint8_t bytes[3000];
    char name[16];

    if (!model[file].there || model[file].size <= length) {
        return;
    }
    for (uint32_t i = 0; i < length; i++) { /* what is there already */
        bytes[i] = content_byte(model[file].seed, at + i);
    }
    snprintf(name, sizeof name, "file%u", file);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, name, NF2_O_RDWR, volume.page), NF2_OK);
    CHECK_EQ(nf2_seek(&volume.fs, &volume.file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
    int32_t written = nf2_write(&volume.fs, &volume.file, bytes, length);
    CHECK(written == (int32_t)length || written == NF2_ERR_NOSPC);
    CHECK(one_of(nf2_close(&volume.fs, &volume.file), NF2_OK, NF2_ERR_NOSPC, NF2_OK));
}

static void random_call(struct pcg32 *rng, uint32_t most_bytes)
{
    unsigned file = pcg32_below(rng, NAMES);
    char name[16];

    snprintf(name, sizeof name, "file%u", file);
    switch (pcg32_below(rng, 8)) {
    case 0:
    case 1:
        CHECK_EQ(nf2_remove(&volume.fs, name), model[file].there ? NF2_OK : NF2_ERR_NOENT);
        model[file].there = false;
        break;
    case 2:
    case 3:
        overwrite(file, rng);
        break;
    case 4:
        CHECK(nf2_maintain(&volume.fs, 20000 + pcg32_below(rng, 400000)) >= 0);
        break;
    default:
        model[file].seed++;
        model[file].size = pcg32_below(rng, pcg32_below(rng, 2) ? 3000 : most_bytes);
        int result = put(&volume, name, model[file].size, model[file].seed);
        model[file].there = result == NF2_OK;
        if (result != NF2_OK) { /* the file may be there in part */
            CHECK_EQ(result, NF2_ERR_NOSPC);
            CHECK(one_of(nf2_remove(&volume.fs, name), NF2_OK, NF2_ERR_NOENT, NF2_OK));
        }
    }
}

static void all_as_in_model(void)
{
    char name[16];

    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "file%u", i);
        CHECK(model[i].there ? holds(&volume, name, model[i].size, model[i].seed) : size_of(&volume, name, NULL) == NF2_ERR_NOENT);
    }
}

/* Power goes in some program or erase of the calls that follow; the model is what is there behind it. */
static void cut_and_mount(struct pcg32 *rng, uint32_t most_bytes)
{
    struct vflash_cut cut = { .operation = 1 + pcg32_below(rng, 60), .byte = pcg32_below(rng, 256), .seed = pcg32_next(rng),
                              .erase = (enum vflash_erase_cut)pcg32_below(rng, 5) };
    char name[16];

    vflash_cut_at(volume.flash, &cut);
    for (unsigned i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "file%u", (unsigned)pcg32_below(rng, NAMES));
        (void)(pcg32_below(rng, 3) ? put(&volume, name, pcg32_below(rng, most_bytes), i) : nf2_remove(&volume.fs, name));
    }
    vflash_cut_at(volume.flash, NULL);
    vflash_power_on(volume.flash);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "file%u", i);
        int removed = nf2_remove(&volume.fs, name);
        CHECK(one_of(removed, NF2_OK, NF2_ERR_NOENT, NF2_OK));
        model[i].there = false;
    }
}

/* Random calls on a volume that is nearly full; what rests takes this share of it. */
static void random_life(uint32_t percent_at_rest, unsigned rounds, uint32_t seed)
{
    struct nf2_statfs stat;
    struct pcg32 rng;
    char name[16];

    pcg32_seed(&rng, seed, 1);
    memset(model, 0, sizeof model);
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    uint32_t rests = stat.blocks_available * percent_at_rest / 100, most = (stat.blocks_available - rests) * 4096 / 10;
    for (uint32_t i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "rest%u", (unsigned)i);
        CHECK_EQ(put(&volume, name, rests * 4096 / 10, i), NF2_OK);
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < 40; i++) {
            random_call(&rng, most);
        }
        none_is_used();
        erased_is_blank();
        if (round % 4 == 1) {
            cut_and_mount(&rng, most);
            none_is_used();
        } else if (round % 4 == 3) {
            CHECK_EQ(volume_again(&volume, true), NF2_OK);
            none_is_used();
        }
    }
    all_as_in_model();
    for (uint32_t i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "rest%u", (unsigned)i);
        CHECK(holds(&volume, name, rests * 4096 / 10, i));
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
}

/* Regions of each size, with a last one that is shorter, and volumes at a place where no large erase begins. */
TEST(free_is_not_referred_to)
{
    static const struct { const char *chip; uint32_t blocks, behind, region_blocks, shift; unsigned rounds; } volumes[] = {
        {"tiny128k", 32, 0, 1, 0, 24},
        {"w25q80", 256, 0, 1, 0, 16},
        {"w25q16", 301, 0, 2, 0, 16},
        {"w25q16", 301, 7, 2, 1, 16},   /* begins with the second block of a region */
        {"w25q32", 1003, 0, 4, 0, 12},
        {"w25q64", 1029, 0, 16, 0, 12},
        {"w25q64", 1029, 5, 16, 5, 12},
        {"w25q64", 1040, 15, 16, 15, 12},
        {"w25q64", 1024, 32, 16, 0, 8},
        {"w25q256", 4100, 3, 32, 3, 6},
    };

    for (unsigned i = 0; i < sizeof volumes / sizeof *volumes; i++) {
        begin_regions(volumes[i].chip, volumes[i].blocks, volumes[i].behind, volumes[i].region_blocks);
        CHECK_EQ(core_region_shift(&volume.fs), volumes[i].shift);
        random_life(volumes[i].blocks > 32 ? 75 : 40, volumes[i].rounds, i);
        volume_down(&volume, true);
    }
}

/* The regions of a volume are all of its blocks, each in one of them, and a large erase begins where a region does. */
TEST(regions_cover_the_volume)
{
    static const struct { uint32_t blocks, behind; } volumes[] = {
        {32, 0}, {33, 3}, {255, 0}, {256, 0}, {256, 1}, {257, 0}, {257, 15}, {600, 1}, {1008, 0}, {1023, 2}, {1024, 9}, {4096, 0}, {4096, 1},
        {8191, 0}, {8192, 16}, {20001, 11},
    };

    for (unsigned i = 0; i < sizeof volumes / sizeof *volumes; i++) {
        uint32_t blocks = volumes[i].blocks, block = 0;
        volume_new(&volume, "w25q01");
        volume.config.offset = volumes[i].behind * 4096;
        volume.config.size = blocks * 4096;
        volume_format(&volume);
        const nf2_t *fs = &volume.fs;
        uint32_t size = core_region_blocks(fs);
        CHECK(core_regions(fs) >= 1 && core_regions(fs) <= 256);
        for (uint32_t region = 0; region < core_regions(fs); region++) {
            CHECK_EQ(core_region_first(fs, region), block);
            for (; block < core_region_end(fs, region); block++) {
                CHECK_EQ(core_region_of(fs, block), region);
            }
            bool inner = region > 0 && region + 1 < core_regions(fs);
            CHECK(!inner || core_region_end(fs, region) - core_region_first(fs, region) == size);
            CHECK(!inner || size < 16 || (core_region_first(fs, region) + volumes[i].behind) % 16 == 0);
            CHECK(core_region_end(fs, region) > core_region_first(fs, region) && block - core_region_first(fs, region) <= size);
        }
        CHECK_EQ(block, blocks);
        volume_down(&volume, true);
    }
}

/* Regions of 128 blocks, the last one of 33. Files come and go, so that all of them are taken and emptied. */
TEST(regions_of_128_blocks)
{
    char name[16];

    begin_regions("w25q01", 20001, 0, 128);
    for (unsigned i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "file%u", i % 40);
        CHECK_EQ(put(&volume, name, 1800000, i), NF2_OK);
        if (i % 16 == 15) {
            none_is_used();
            CHECK_EQ(volume_again(&volume, i % 32 == 15), NF2_OK);
        }
    }
    none_is_used();
    CHECK(holds(&volume, "file23", 1800000, 63) && holds(&volume, "file24", 1800000, 24));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
    volume_down(&volume, true);
}

/* ---- free space is known --------------------------------------------------------------------- */

/*
 * After a mount, free space is what it was, but for what only the last session knew to be free; after a cut also what was
 * claimed may be in use. A block more is lost where the root log turned at the unmount, or, where a region is one block, where one
 * fell free since the last CHECKPOINT: two, where both did. Nothing becomes free by it.
 */
#define TWO_MORE 2u

static void known_again(bool unmount)
{
    struct nf2_statfs before, after;

    CHECK_EQ(nf2_statfs(&volume.fs, &before), NF2_OK);
    uint32_t session = core_free_in_session(&volume.fs), claimed = core_claimed(&volume.fs);
    CHECK_EQ(volume_again(&volume, unmount), NF2_OK);
    CHECK_EQ(nf2_statfs(&volume.fs, &after), NF2_OK);
    CHECK(after.blocks_free <= before.blocks_free);
    if (!CHECK(after.blocks_free + session + TWO_MORE + (unmount ? 0 : claimed) >= before.blocks_free)) {
        printf("  %u free before, %u after, of this session alone %u, claimed %u\n", (unsigned)before.blocks_free, (unsigned)after.blocks_free, (unsigned)session, (unsigned)claimed);
    }
}

TEST(free_space_after_a_mount)
{
    static const struct { const char *chip; uint32_t blocks, region_blocks; } volumes[] = {
        {"tiny128k", 32, 1}, {"w25q80", 256, 1}, {"w25q32", 1003, 4}, {"w25q64", 1024, 16}, {"w25q256", 8192, 32},
    };

    for (unsigned i = 0; i < sizeof volumes / sizeof *volumes; i++) {
        struct pcg32 rng;
        struct nf2_statfs stat, settled;
        pcg32_seed(&rng, i, 2);
        memset(model, 0, sizeof model);
        begin_regions(volumes[i].chip, volumes[i].blocks, 0, volumes[i].region_blocks);
        CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
        uint32_t most = stat.blocks_available * 4096 / 16;
        for (unsigned round = 0; round < 30; round++) {
            for (unsigned n = 0; n < 10; n++) {
                random_call(&rng, most);
            }
            known_again(round % 2 == 0);
        }
        all_as_in_model();
        CHECK_EQ(maintain_all(&volume), 0);
        CHECK_EQ(nf2_statfs(&volume.fs, &settled), NF2_OK);
        known_again(true);      /* and again, where nothing was changed */
        known_again(false);
        CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
        printf("%u blocks: %u free behind idle work, %u behind two mounts\n", (unsigned)volumes[i].blocks,
               (unsigned)settled.blocks_free, (unsigned)stat.blocks_free);
        volume_down(&volume, true);
    }
}

/* ---- which regions a walk empties ------------------------------------------------------------ */

static uint8_t live[256];

/* So many regions of which so much is live, in 256ths; those behind them are free. */
static void regions_live(unsigned count, uint8_t parts)
{
    memset(live, 0, sizeof live);
    memset(live, parts, count);
    live[0] = 255;              /* that of the super blocks */
}

static struct core_choice choose(enum core_need need, unsigned holes_found)
{
    struct core_choice choice;

    core_choose(&volume.fs, live, need, holes_found, &choice);
    return choice;
}

static struct core_choice choice_of(unsigned count, uint8_t parts, enum core_need need, unsigned holes_found)
{
    regions_live(count, parts);
    return choose(need, holes_found);
}

/* WORTH, WORTH_SINGLE, WORTH_IDLE, HOLES_FEW of victims.c: up to how much of a region may be live. */
TEST(victims_are_worth_it)
{
    begin_regions("w25q128", 4096, 0, 16);
    CHECK(choice_of(40, 178, CORE_NONE, 100).victims > 0);
    CHECK_EQ(choice_of(40, 190, CORE_NONE, 100).victims, 0);    /* holes cost less */
    CHECK(choice_of(40, 190, CORE_NONE, 2).victims > 0);        /* there are none */
    CHECK_EQ(choice_of(40, 190, CORE_NONE, 6).victims, 0);
    CHECK(choice_of(40, 190, CORE_SCARCE, 100).victims > 0);
    CHECK(choice_of(40, 235, CORE_NONE, 0).victims > 0);
    CHECK_EQ(choice_of(40, 245, CORE_NONE, 0).victims, 0);
    CHECK_EQ(choice_of(40, 245, CORE_SCARCE, 0).victims, 0);
    CHECK(choice_of(40, 253, CORE_LAST, 100).victims > 0);      /* whatever wins something */
    CHECK_EQ(choice_of(40, 254, CORE_LAST, 100).victims, 0);
    CHECK(choice_of(40, 28, CORE_LITTLE, 100).victims > 0);
    CHECK_EQ(choice_of(40, 36, CORE_LITTLE, 100).victims, 0);   /* idle time leaves them */
    CHECK_EQ(choice_of(2, 253, CORE_LAST, 0).victims, 0);       /* not a block is won */
    volume_down(&volume, true);
}

/* SHARE, VICTIMS_MOST: how many of them. */
TEST(victims_are_a_few)
{
    begin_regions("w25q128", 4096, 0, 16);
    unsigned some = choice_of(61, 128, CORE_NONE, 0).victims, many = choice_of(121, 128, CORE_NONE, 0).victims;
    CHECK(some >= 5 && some <= 6);      /* a twelfth of what is dead */
    CHECK(many >= 10 && many <= 11);
    unsigned most = choice_of(121, 250, CORE_LAST, 0).victims;
    CHECK(most >= 28 && most <= 36);    /* each wins little: there would be 42 */
    regions_live(121, 128);
    live[77] = live[99] = 1;            /* the emptiest ones are the first */
    some = choose(CORE_NONE, 0).victims;
    CHECK(some >= 9 && some <= 11);     /* two of them win twice as much */
    volume_down(&volume, true);
}

/* What is moved fits into what is free. */
TEST(victims_fit)
{
    begin_regions("w25q128", 4096, 0, 16);
    regions_live(253, 200);             /* three are free */
    unsigned few = choose(CORE_NONE, 0).victims;
    regions_live(256, 200);
    unsigned none = choose(CORE_NONE, 0).victims;
    CHECK(few >= 1 && few * 200 * 16 / 256 <= 3 * 16);
    CHECK_EQ(none, 0);                  /* the claims alone */
    volume_down(&volume, true);
}

/* FEW_WON: where little is won, regions are looked through for holes; pinned ones first, which cannot be emptied. */
TEST(looks_for_holes)
{
    begin_regions("w25q128", 4096, 0, 16);
    CHECK_EQ(choice_of(101, 128, CORE_NONE, 0).looked, 0);      /* more than four regions are won */
    CHECK(choice_of(61, 128, CORE_NONE, 0).looked > 0);         /* two and a half */
    CHECK(choice_of(101, 128, CORE_SCARCE, 0).looked > 0);
    volume_down(&volume, true);
}

/* FEW, MUCH, GRAIN_LEAST, GRAINS_ABOVE: how long pieces get that are written, where victims are as live as these. */
TEST(grains)
{
    static const struct { uint8_t parts; enum core_need need; unsigned grain; } grains[] = {
        {40, CORE_NONE, 0}, {64, CORE_NONE, 8}, {155, CORE_NONE, 8}, {170, CORE_NONE, 9}, {210, CORE_NONE, 10}, {226, CORE_NONE, 11},
        {216, CORE_SCARCE, 10}, {232, CORE_SCARCE, 12}, {240, CORE_SCARCE, 12}, {250, CORE_LAST, 12},
    };

    begin_regions("w25q128", 4096, 0, 16);
    for (unsigned i = 0; i < sizeof grains / sizeof *grains; i++) {
        CHECK_EQ(choice_of(61, grains[i].parts, grains[i].need, 0).grain, grains[i].grain);
    }
    volume_down(&volume, true);
}

int main(void)
{
    RUN(new_volume);
    RUN(bad_blocks_in_regions);
    RUN(regions_cover_the_volume);
    RUN(free_is_not_referred_to);
    RUN(regions_of_128_blocks);
    RUN(free_space_after_a_mount);
    RUN(victims_are_worth_it);
    RUN(victims_are_a_few);
    RUN(victims_fit);
    RUN(looks_for_holes);
    RUN(grains);
    return check_done();
}
