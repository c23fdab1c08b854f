/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge.c - on the host: does an image that the firmware left hold what was promised?
 *
 *     firmware_judge IMAGE OFFSET SIZE N0 N1 N2 N3
 *     firmware_judge workloads SIZE      runs those of workloads.h on a volume of its own
 *
 * Works on a copy in memory. Prints the steps that the volume shows, or what is wrong; of workloads
 * what the firmware prints. Exit code 0, 1, or 2 for wrong use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"
#include "vflash.h"
#include "workloads.h"

static nf2_t fs;
static struct scenario actor;
static uint8_t buffer[NF2_BUFFER_SIZE(256u)];

static struct vflash *chip_of(uint32_t size)
{
    struct vflash_chip kind = *vflash_chip_find("w25q256");
    kind.size = size;
    return vflash_new(&kind);
}

static struct vflash *load(const char *path, long offset, uint32_t size)
{
    struct vflash *chip = chip_of(size);
    FILE *file = fopen(path, "rb");
    if (chip == NULL || file == NULL || fseek(file, offset, SEEK_SET) != 0
        || fread(vflash_memory(chip), 1, size, file) != size) {
        fprintf(stderr, "firmware_judge: %s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    return chip;
}

static int judge(char **steps)
{
    for (uint32_t i = 0; i < SCENARIO_ACTORS; i++) {
        scenario_init(&actor, &fs, i, 2026);
        if (scenario_resume(&actor, (uint32_t)strtoul(steps[i], NULL, 10)) != 0) {
            printf("BAD promise to actor %lu: %s\n", (unsigned long)i, actor.failed);
            return 1;
        }
        printf("actor %lu: %lu steps\n", (unsigned long)i, (unsigned long)actor.steps);
    }
    int wrong = nf2_check(&fs, NULL, NULL);
    if (wrong != 0) {
        printf("BAD check: %d\n", wrong);
    }
    return wrong != 0;
}

/* ---- workloads ------------------------------------------------------------------------------- */

static int print_file(const char *path, uint32_t size)
{
    static uint8_t data[4096];
    static nf2_file_t file;
    uint32_t crc = 0;
    int32_t got;
    int result = nf2_open(&fs, &file, path, NF2_O_RDONLY, NULL);
    while (result == NF2_OK && (got = nf2_read(&fs, &file, data, sizeof(data))) != 0) {
        result = got < 0 ? (int)got : NF2_OK;
        crc = got < 0 ? crc : workloads_crc(crc, data, (uint32_t)got);
    }
    printf("FILE %s %lu %08lX\n", path, (unsigned long)size, (unsigned long)crc);
    return result != NF2_OK ? result : nf2_close(&fs, &file);
}

static int print_tree(const char *path)
{
    nf2_dir_t dir;
    struct nf2_dirent entry;
    char inside[400];
    int result = nf2_opendir(&fs, &dir, path[0] != '\0' ? path : "/"), more;
    while (result == NF2_OK && (more = nf2_readdir(&fs, &dir, &entry)) != 0) {
        result = more < 0 ? more : NF2_OK;
        int length = more > 0 ? snprintf(inside, sizeof(inside), "%s/%s", path, entry.name) : 0;
        if (length > 0 && length < (int)sizeof(inside)) {
            bool directory = entry.type == NF2_TYPE_DIR;
            result = directory ? print_tree(inside) : print_file(inside, entry.size);
        }
    }
    return result;
}

static int work(uint32_t size)
{
    struct vflash *chip = chip_of(size);
    const struct nf2_config config = {
        .flash = vflash_driver(chip), .buffer = buffer, .buffer_size = sizeof(buffer)};
    int result = nf2_format(&fs, &config, NF2_FORMAT_QUICK);
    result = result == NF2_OK ? nf2_mount(&fs, &config, NF2_MOUNT_RDWR) : result;
    for (uint32_t i = 0; i < WORKLOADS && result == NF2_OK; i++) {
        uint32_t read_crc;
        const char *failed = workloads_run(i, &fs, &read_crc);
        if (failed != NULL) {
            printf("BAD workload %u %s\n", (unsigned)i, failed);
        }
        printf("READ %u %08X\n", (unsigned)i, (unsigned)read_crc);
        result = failed != NULL ? NF2_ERR_IO : NF2_OK;
    }
    result = result == NF2_OK ? print_tree("") : result;
    result = result == NF2_OK ? nf2_check(&fs, NULL, NULL) : result;
    vflash_free(chip);
    return result != NF2_OK;
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "workloads") == 0) {
        return work((uint32_t)strtoul(arguments[2], NULL, 0));
    }
    if (count != 4 + (int)SCENARIO_ACTORS) {
        fprintf(stderr, "usage: firmware_judge IMAGE OFFSET SIZE N0 N1 N2 N3, or workloads SIZE\n");
        return 2;
    }
    uint32_t size = (uint32_t)strtoul(arguments[3], NULL, 0);
    struct vflash *chip = load(arguments[1], strtol(arguments[2], NULL, 0), size);
    const struct nf2_config config = {
        .flash = vflash_driver(chip), .buffer = buffer, .buffer_size = sizeof(buffer)};
    int result = nf2_mount(&fs, &config, NF2_MOUNT_RDWR);
    if (result != NF2_OK) {
        printf("BAD mount: %s\n", nf2_error_text(result));
    }
    result = result != NF2_OK ? 1 : judge(arguments + 4);
    vflash_free(chip);
    return result;
}
