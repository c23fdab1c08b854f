/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vflash_files.c - the catalogue, chip files and image files. */
#define _POSIX_C_SOURCE 200809L

#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"

/* ---- the catalogue ------------------------------------------------------------------------------ */

TEST(catalogue_is_sound)
{
    unsigned count = 0;
    const struct vflash_chip *chip;
    for (; (chip = vflash_chip_at(count)) != NULL; count++) {
        char message[200] = "";
        CHECK_EQ(vflash_chip_check(chip, message, sizeof(message)), 0);
        CHECK_TEXT(message, "");
        CHECK(vflash_chip_find(chip->name) == chip);
        CHECK(chip->description[0] != '\0');
        CHECK(chip->read_page_us > 0 && chip->read_page_slow_us >= chip->read_page_us && chip->program_page_us > 0);
        CHECK(chip->read_page_slow_us > chip->read_page_us || chip->nand == 1);
        CHECK(chip->first_byte_pct == (chip->nand == 1 ? 100 : 20) || strncmp(chip->name, "hffs", 4) == 0);
        CHECK(chip->endurance > 0);
        for (int i = 0; i < 3; i++) {
            CHECK((chip->erase_sizes[i] != 0) == (chip->erase_us[i] != 0));
        }
    }
    CHECK(vflash_chip_at(count + 1) == NULL);
    CHECK(vflash_chip_find("W25Q256") == NULL && vflash_chip_find("") == NULL);
}

/* Each family in every size of its data sheets that a volume can have. */
TEST(catalogue_has_the_common_parts)
{
    static const struct { const char *name; uint32_t size_kib; } parts[] = {
        {"w25q40", 512}, {"w25q16", 2048}, {"w25q32", 4096}, {"w25q512", 65536}, {"w25q01", 131072},
        {"is25lp040", 512}, {"is25lp080", 1024}, {"is25lp016", 2048}, {"is25lp032", 4096}, {"is25lp064", 8192},
        {"is25lp128", 16384}, {"is25lp256", 32768}, {"is25lp512", 65536}, {"is25lp01g", 131072},
        {"mx25l40", 512}, {"mx25l80", 1024}, {"mx25l16", 2048}, {"mx25l32", 4096}, {"mx25l64", 8192},
        {"mx25l128", 16384}, {"mx25l256", 32768}, {"mx25l512", 65536}, {"mx66l1g", 131072},
        {"gd25q40", 512}, {"gd25q80", 1024}, {"gd25q16", 2048}, {"gd25q32", 4096}, {"gd25q64", 8192},
        {"gd25q128", 16384}, {"gd25q256", 32768}, {"gd25b512", 65536}, {"gd55b01g", 131072},
        {"mt25ql128", 16384}, {"mt25ql256", 32768}, {"mt25ql512", 65536},
        {"s25fl064l", 8192}, {"s25fl128l", 16384}, {"s25fl256l", 32768},
        {"at25sf041", 512}, {"at25sf081", 1024}, {"at25sf161", 2048}, {"at25sf321", 4096}, {"at25sf641", 8192},
        {"at25sf128", 16384},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const struct vflash_chip *chip = vflash_chip_find(parts[i].name);
        CHECK(chip != NULL);
        CHECK_EQ(chip->size, parts[i].size_kib * 1024);
        CHECK_EQ(chip->page_size, 256);
        CHECK_EQ(chip->block_size, 4096);
        CHECK_EQ(chip->program_unit, 1);
    }
}

struct row {
    const char *name;
    uint32_t size_kib, page, block, unit, read_us, slow_us, program_us, erase_us, large_us;
};

TEST(catalogue_has_the_data_sheets)
{
    static const struct row rows[] = {
        {"w25q256", 32768, 256, 4096, 1, 4, 41, 400, 50000, 150000},
        {"w25q128", 16384, 256, 4096, 1, 4, 41, 400, 50000, 150000},
        {"w25q64", 8192, 256, 4096, 1, 4, 41, 400, 50000, 150000},
        {"w25q80", 1024, 256, 4096, 1, 4, 41, 400, 50000, 150000},
        {"is25le01g", 131072, 256, 4096, 1, 4, 41, 300, 100000, 170000},
        {"is25-16m", 16384, 256, 4096, 1, 4, 41, 300, 100000, 170000},
        {"3dfs256m04", 32768, 512, 8192, 1, 22, 207, 800, 300000, 0},
        {"mt25ql01g", 131072, 256, 4096, 1, 4, 41, 120, 50000, 150000},
        {"ecc16-256m", 32768, 256, 4096, 16, 4, 41, 400, 50000, 150000},
        {"ecc32-256m", 32768, 256, 4096, 32, 4, 41, 400, 50000, 150000},
        {"tiny256k", 256, 256, 4096, 1, 4, 41, 400, 50000, 150000},
        {"tiny128k", 128, 256, 4096, 1, 4, 41, 400, 50000, 150000},
        {"tinyecc16", 256, 256, 4096, 16, 4, 41, 400, 50000, 150000},
        {"tinyecc32", 256, 256, 4096, 32, 4, 41, 400, 50000, 150000},
        {"tiny512", 256, 512, 4096, 1, 4, 41, 400, 50000, 150000},
        {"tiny2m", 2048, 256, 4096, 1, 4, 41, 400, 50000, 150000},
        {"tinyecc1m", 1024, 256, 4096, 16, 4, 41, 400, 50000, 150000},
        {"tiny8k", 512, 512, 8192, 1, 22, 207, 800, 300000, 0},
        {"tiny64k", 4096, 256, 65536, 1, 4, 41, 400, 150000, 0},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        const struct vflash_chip *chip = vflash_chip_find(row->name);
        if (!CHECK(chip != NULL)) {
            continue;
        }
        CHECK_EQ(chip->size, row->size_kib * 1024);
        CHECK_EQ(chip->page_size, row->page);
        CHECK_EQ(chip->block_size, row->block);
        CHECK_EQ(chip->program_unit, row->unit);
        CHECK_EQ(chip->read_page_us, row->read_us);
        CHECK_EQ(chip->read_page_slow_us, row->slow_us);
        CHECK_EQ(chip->program_page_us, row->program_us);
        CHECK_EQ(chip->erase_us[0], row->erase_us);
        CHECK_EQ(chip->erase_us[2], row->large_us);
        CHECK_EQ(chip->erase_sizes[2], row->large_us ? LARGE : 0);
    }
    const struct vflash_chip *chip = vflash_chip_find("w25q256");
    CHECK_EQ(chip->erase_us[1], 120000);
    CHECK_EQ(chip->erase_max_us[0], 400000);
    CHECK_EQ(chip->erase_max_us[1], 1600000);
    CHECK_EQ(chip->erase_max_us[2], 2000000);
    CHECK_EQ(vflash_chip_find("is25le01g")->erase_us[1], 140000);
    CHECK_EQ(vflash_chip_find("mt25ql01g")->erase_us[1], 100000);
}

TEST(driver_has_the_geometry)
{
    struct vflash *chip = make("w25q80");
    const struct nf2_flash *driver = vflash_driver(chip);
    CHECK_EQ(driver->chip_size, 1024 * 1024);
    CHECK_EQ(driver->block_size, BLOCK);
    CHECK_EQ(driver->large_erase_size, LARGE);
    CHECK_EQ(driver->page_size, PAGE);
    CHECK_EQ(driver->program_unit, 1);
    CHECK_EQ(driver->read_unit, 1);
    CHECK_EQ(driver->read_page_us, 4);
    CHECK_EQ(driver->program_page_us, 400);
    CHECK_EQ(driver->erase_block_us, 50000);
    CHECK_EQ(driver->large_erase_us, 150000);
    CHECK_EQ(vflash_chip_of(chip)->size, driver->chip_size);
    vflash_free(chip);

    chip = make("3dfs256m04");
    CHECK_EQ(vflash_driver(chip)->large_erase_size, 0);
    CHECK_EQ(vflash_driver(chip)->large_erase_us, 0);
    CHECK_EQ(vflash_driver(chip)->block_size, 8192);
    vflash_free(chip);

    chip = make("tinyecc32");
    CHECK_EQ(vflash_driver(chip)->program_unit, 32);
    vflash_free(chip);
    vflash_free(NULL);
}

TEST(impossible_geometries_are_refused)
{
    const struct vflash_chip good = *vflash_chip_find("tiny256k");
    struct vflash_chip bad[13];
    const unsigned count = sizeof(bad) / sizeof(bad[0]);
    for (unsigned i = 0; i < count; i++) {
        bad[i] = good;
    }
    bad[0].page_size = 300;
    bad[1].page_size = 2 * VFLASH_PAGE_MAX;
    bad[2].block_size = bad[2].erase_sizes[0] = 128;
    bad[3].size = 256 * 1024 + 1;
    bad[4].size = 0;
    bad[5].erase_sizes[0] = 8192;
    bad[6].erase_sizes[1] = 4096;
    bad[7].erase_sizes[1] = 0;              /* a gap before the 64 KiB */
    bad[8].program_unit = 0;
    bad[9].program_unit = 24;
    bad[10].read_unit = 3;
    bad[11].first_byte_pct = 101;
    bad[12].size = LARGE + LARGE / 2;
    for (unsigned i = 0; i < count; i++) {
        char message[200] = "";
        CHECK_EQ(vflash_chip_check(&bad[i], message, sizeof(message)), -1);
        CHECK(strlen(message) > 20);
        CHECK(vflash_new(&bad[i]) == NULL);
    }
    struct vflash_chip plain = good;
    plain.read_unit = 0;
    struct vflash *chip = vflash_new(&plain);
    CHECK(chip != NULL && vflash_driver(chip)->read_unit == 1);
    vflash_free(chip);
}

/* ---- chip files --------------------------------------------------------------------------------- */

static char folder[] = "/tmp/test_vflash.XXXXXX";

static const char *path_of(const char *name)
{
    static char path[100];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int load_text(const char *text, struct vflash_chip *chip, char *message, size_t size)
{
    const char *path = path_of("chip.txt");
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return -2;
    }
    fputs(text, file);
    fclose(file);
    return vflash_chip_load(path, chip, message, size);
}

#define NEEDED "name = own\nsize = 4M\npage_size = 256\nblock_size = 4K\nerase_us = 45000\nread_page_us = 5\nprogram_page_us = 700\n"

TEST(chip_file_is_read)
{
    struct vflash_chip chip;
    char message[200] = "";
    CHECK_EQ(load_text("# a chip\n\n name=own chip \ndescription = one # of mine\nsize = 4M\npage_size = 512\n"
                       "erase_sizes = 4K, 65536\nerase_us = 45000,150000\nerase_max_us = 400000, 2000000\nprogram_unit = 16\n"
                       "read_unit = 4\nread_page_us = 5\nread_page_slow_us = 50\nprogram_page_us = 700\nfirst_byte_pct = 10\nendurance = 10000",
                       &chip, message, sizeof(message)), 0);
    CHECK_TEXT(message, "");
    CHECK_TEXT(chip.name, "own chip");
    CHECK_TEXT(chip.description, "one");
    CHECK_EQ(chip.size, 4 * 1024 * 1024);
    CHECK_EQ(chip.page_size, 512);
    CHECK_EQ(chip.block_size, 4096);
    CHECK_EQ(chip.erase_sizes[0], 4096);
    CHECK_EQ(chip.erase_sizes[1], 65536);
    CHECK_EQ(chip.erase_sizes[2], 0);
    CHECK_EQ(chip.erase_us[1], 150000);
    CHECK_EQ(chip.erase_max_us[0], 400000);
    CHECK_EQ(chip.program_unit, 16);
    CHECK_EQ(chip.read_unit, 4);
    CHECK_EQ(chip.read_page_us, 5);
    CHECK_EQ(chip.read_page_slow_us, 50);
    CHECK_EQ(chip.program_page_us, 700);
    CHECK_EQ(chip.first_byte_pct, 10);
    CHECK_EQ(chip.endurance, 10000);
    struct vflash *made = vflash_new(&chip);
    CHECK(made != NULL && vflash_driver(made)->large_erase_size == LARGE && vflash_driver(made)->large_erase_us == 150000);
    CHECK(made != NULL && do_read(made, 2, message, 4) == VFLASH_VIOLATION && do_read(made, 4, message, 6) == VFLASH_VIOLATION);
    CHECK(made != NULL && do_read(made, 4, message, 4) == 0);
    vflash_free(made);
}

TEST(chip_file_has_defaults)
{
    struct vflash_chip chip;
    char message[200] = "";
    CHECK_EQ(load_text(NEEDED, &chip, message, sizeof(message)), 0);
    CHECK_EQ(chip.erase_sizes[0], 4096);
    CHECK_EQ(chip.erase_sizes[1], 0);
    CHECK_EQ(chip.program_unit, 1);
    CHECK_EQ(chip.read_unit, 1);
    CHECK_EQ(chip.read_page_slow_us, 5);
    CHECK_EQ(chip.first_byte_pct, 20);
    CHECK_EQ(chip.endurance, 100000);
    CHECK_EQ(chip.erase_max_us[0], 0);
    CHECK_TEXT(chip.description, "");
}

TEST(chip_file_faults_are_told)
{
    static const struct {
        const char *text, *about;
    } faults[] = {
        {NEEDED "colour = red\n", "chip.txt:8: unknown key colour"},
        {NEEDED "size = 8M\n", "chip.txt:8: given twice: size"},
        {NEEDED "endurance\n", "chip.txt:8: not a line of"},
        {NEEDED "endurance = many\n", "chip.txt:8: not a number that fits many"},
        {NEEDED "endurance = -1\n", "not a number that fits -1"},
        {NEEDED "endurance = 4294967296\n", "not a number that fits"},
        {NEEDED "endurance = 4096M\n", "not a number that fits"},
        {NEEDED "endurance = 1, 2\n", "too many values for endurance"},
        {NEEDED "erase_sizes = 4K, 64K\n", "each erase size needs its time"},
        {NEEDED "erase_sizes = 8K\n", "erase_sizes must be"},
        {NEEDED "program_unit = 3\n", "program_unit must be"},
        {NEEDED "description = \n", "empty or too long: description"},
        {"name = a name that is longer than there is room for\n", "chip.txt:1: empty or too long: name"},
        {"name = own\n", "missing: size"},
        {"name = own\nsize = 4M\npage_size = 256\nerase_us = 45000\nread_page_us = 5\nprogram_page_us = 700\n", "missing: block_size"},
    };
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct vflash_chip chip = {.size = 77};
        char message[200] = "";
        CHECK_EQ(load_text(faults[i].text, &chip, message, sizeof(message)), -1);
        if (!CHECK(strstr(message, faults[i].about) != NULL)) {
            printf("    \"%s\" is not in \"%s\"\n", faults[i].about, message);
        }
        CHECK_EQ(chip.size, 77);
    }
    struct vflash_chip chip;
    char message[200] = "", line[700];
    CHECK_EQ(vflash_chip_load(path_of("none.txt"), &chip, message, sizeof(message)), -1);
    CHECK(strstr(message, "none.txt: No such file") != NULL);
    CHECK_EQ(vflash_chip_load(folder, &chip, message, sizeof(message)), -1);
    CHECK(strstr(message, "cannot be read") != NULL);
    snprintf(line, sizeof(line), "%0600d\n", 0);
    CHECK_EQ(load_text(line, &chip, message, sizeof(message)), -1);
    CHECK(strstr(message, "too long") != NULL);
    CHECK_EQ(unlink(path_of("chip.txt")), 0);
}

/* ---- images ------------------------------------------------------------------------------------- */

static long file_size(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 ? (long)facts.st_size : -1;
}

static int file_byte(const char *path, long at)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return -1;
    }
    int byte = fseek(file, at, SEEK_SET) == 0 ? fgetc(file) : -1;
    fclose(file);
    return byte;
}

TEST(image_is_made_and_kept)
{
    const struct vflash_chip *facts = vflash_chip_find("tiny128k");
    const char *path = path_of("chip.img");
    char message[200] = "";
    CHECK(vflash_open(facts, path, true, message, sizeof(message)) == NULL);
    CHECK(strstr(message, "chip.img: cannot be opened: No such file") != NULL);
    CHECK_EQ(file_size(path), -1);
    struct vflash *chip = vflash_open(facts, path, false, message, sizeof(message));
    if (!CHECK(chip != NULL)) {
        return;
    }
    CHECK_EQ(file_size(path), 128 * 1024);
    CHECK(all_bytes(vflash_memory(chip), 0xFF, 128 * 1024));
    CHECK_EQ(do_fill(chip, 5000, 0x42, 10), 0);
    CHECK_EQ(vflash_flush(chip), 0);
    CHECK_EQ(file_byte(path, 5000), 0x42);
    CHECK_EQ(do_fill(chip, 128 * 1024 - 1, 0x43, 1), 0);
    vflash_memory(chip)[17] = 0x44;
    CHECK_EQ(do_erase(chip, BLOCK * 2, BLOCK), 0);
    vflash_free(chip);
    CHECK_EQ(file_byte(path, 128 * 1024 - 1), 0x43);
    CHECK_EQ(file_byte(path, 17), 0x44);
    chip = vflash_open(facts, path, false, message, sizeof(message));
    CHECK(chip != NULL && vflash_memory(chip)[5009] == 0x42 && vflash_memory(chip)[5010] == 0xFF);
    CHECK_EQ(vflash_wear(chip, 2), 0);
    CHECK_EQ(vflash_counts(chip)->time_us, 0);
    CHECK_EQ(do_erase(chip, BLOCK, BLOCK), 0);
    vflash_free(chip);
    CHECK_EQ(file_byte(path, 5000), 0xFF);
    CHECK_EQ(unlink(path), 0);
}

TEST(image_for_reading_is_not_changed)
{
    const struct vflash_chip *facts = vflash_chip_find("tiny128k");
    const char *path = path_of("chip.img");
    char message[200] = "";
    vflash_free(vflash_open(facts, path, false, message, sizeof(message)));
    struct vflash *chip = vflash_open(facts, path, true, message, sizeof(message));
    if (!CHECK(chip != NULL)) {
        return;
    }
    uint8_t byte = 0;
    CHECK_EQ(do_read(chip, 0, &byte, 1), 0);
    CHECK_EQ(byte, 0xFF);
    CHECK_EQ(do_fill(chip, 0, 0x00, 1), VFLASH_FAILED);
    CHECK_EQ(do_erase(chip, 0, BLOCK), VFLASH_FAILED);
    CHECK_EQ(vflash_counts(chip)->program_calls + vflash_counts(chip)->erases[0] + vflash_operations(chip), 0);
    vflash_memory(chip)[0] = 0x00;
    CHECK_EQ(vflash_flush(chip), 0);
    vflash_free(chip);
    CHECK_EQ(file_byte(path, 0), 0xFF);
    CHECK_EQ(unlink(path), 0);
}

TEST(image_of_another_size_is_refused)
{
    const struct vflash_chip *facts = vflash_chip_find("tiny128k");
    const char *path = path_of("short.img");
    char message[200] = "";
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL)) {
        return;
    }
    fputs("ten bytes.", file);
    fclose(file);
    CHECK(vflash_open(facts, path, false, message, sizeof(message)) == NULL);
    CHECK(strstr(message, "short.img: the image has 10 bytes, chip tiny128k has 131072") != NULL);
    CHECK(vflash_open(facts, path, true, message, sizeof(message)) == NULL);
    CHECK_EQ(file_size(path), 10);
    CHECK_EQ(truncate(path, 128 * 1024 + 1), 0);
    CHECK(vflash_open(facts, path, false, message, sizeof(message)) == NULL);
    CHECK_EQ(file_size(path), 128 * 1024 + 1);
    CHECK_EQ(unlink(path), 0);
    CHECK(vflash_open(facts, folder, true, message, sizeof(message)) == NULL);
    CHECK(strstr(message, "not a regular file") != NULL);
    CHECK(vflash_open(facts, path_of("none/chip.img"), false, message, sizeof(message)) == NULL);
    CHECK(strstr(message, "cannot be made") != NULL);
}

TEST(image_of_a_write_once_chip_knows_its_units)
{
    const struct vflash_chip *facts = vflash_chip_find("tinyecc16");
    const char *path = path_of("ecc.img");
    char message[200] = "";
    struct vflash *chip = vflash_open(facts, path, false, message, sizeof(message));
    if (!CHECK(chip != NULL)) {
        return;
    }
    CHECK_EQ(do_fill(chip, 32, 0x00, 16), 0);
    vflash_memory(chip)[5 * BLOCK - 1] = 0x7F;
    vflash_free(chip);
    chip = vflash_open(facts, path, false, message, sizeof(message));
    if (!CHECK(chip != NULL)) {
        return;
    }
    CHECK_EQ(do_fill(chip, 32, 0x00, 16), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 5 * BLOCK - 16, 0x00, 16), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 16, 0x00, 16), 0);
    CHECK_EQ(do_fill(chip, 48, 0x00, 16), 0);
    vflash_free(chip);
    CHECK_EQ(unlink(path), 0);
}

/* ------------------------------------------------------------------------------------------------ */

int main(void)
{
    if (mkdtemp(folder) == NULL) {
        perror("mkdtemp");
        return 2;
    }
    RUN(catalogue_is_sound);
    RUN(catalogue_has_the_data_sheets);
    RUN(driver_has_the_geometry);
    RUN(impossible_geometries_are_refused);
    RUN(chip_file_is_read);
    RUN(chip_file_has_defaults);
    RUN(chip_file_faults_are_told);
    RUN(image_is_made_and_kept);
    RUN(image_for_reading_is_not_changed);
    RUN(image_of_another_size_is_refused);
    RUN(image_of_a_write_once_chip_knows_its_units);
    (void)rmdir(folder);
    return check_done();
}
