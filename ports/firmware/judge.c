/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge.c - on the host: does an image that the firmware left hold what was promised?
 *
 *     firmware_judge IMAGE OFFSET SIZE N0 N1 N2 N3
 *
 * Works on a copy in memory. Prints the steps that the volume shows, or what is wrong; exit code 0,
 * 1, or 2 for wrong use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"
#include "vflash.h"

static nf2_t fs;
static struct scenario actor;
static uint8_t buffer[NF2_BUFFER_SIZE(256u)];

static struct vflash *load(const char *path, long offset, uint32_t size)
{
    struct vflash_chip kind = *vflash_chip_find("w25q256");
    kind.size = size;
    struct vflash *chip = vflash_new(&kind);
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

int main(int count, char **arguments)
{
    if (count != 4 + (int)SCENARIO_ACTORS) {
        fprintf(stderr, "usage: firmware_judge IMAGE OFFSET SIZE N0 N1 N2 N3\n");
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
