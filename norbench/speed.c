/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speed.c - norbench-speed: how many operations of 256 B the instrument simulates in a second of the processor, in memory, on one core.
 * Prints JSON. Exit code 1: a byte came back wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tap.h"
#include "vflash.h"

#define PAGE 256u
#define ROUNDS 24u
#define CHIP "w25q128"

static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

struct run {
    const struct nf2_flash *driver;
    uint64_t programs, reads, erases, wrong;
    double program_s, read_s, erase_s;
};

static void erase_all(struct run *run)
{
    const struct nf2_flash *driver = run->driver;
    double start = seconds();
    for (uint32_t at = 0; at < driver->chip_size; at += driver->large_erase_size, run->erases++) {
        run->wrong += driver->erase(driver->context, at, driver->large_erase_size) != 0;
    }
    run->erase_s += seconds() - start;
}

static void program_all(struct run *run, const uint8_t *data)
{
    const struct nf2_flash *driver = run->driver;
    double start = seconds();
    for (uint32_t at = 0; at < driver->chip_size; at += PAGE, run->programs++) {
        run->wrong += driver->program(driver->context, at, data, PAGE) != 0;
    }
    run->program_s += seconds() - start;
}

static void read_all(struct run *run, const uint8_t *data)
{
    uint8_t back[PAGE];
    const struct nf2_flash *driver = run->driver;
    double start = seconds();
    for (uint32_t at = 0; at < driver->chip_size; at += PAGE, run->reads++) {
        run->wrong += driver->read(driver->context, at, back, PAGE) != 0;
    }
    run->read_s += seconds() - start;
    run->wrong += memcmp(back, data, PAGE) != 0;
}

static void measure(const char *name, const struct nf2_flash *driver)
{
    uint8_t data[PAGE];
    struct run run = {.driver = driver};
    for (unsigned i = 0; i < PAGE; i++) {
        data[i] = (uint8_t)(i * 37u);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        erase_all(&run);
        program_all(&run, data);
        read_all(&run, data);
    }
    double all = run.program_s + run.read_s + run.erase_s;
    printf("{\"through\": \"%s\", \"operations_per_s\": %.0f, \"programs_per_s\": %.0f, \"reads_per_s\": %.0f, \"wrong\": %llu}\n", name,
           (double)(run.programs + run.reads + run.erases) / all, (double)run.programs / run.program_s, (double)run.reads / run.read_s,
           (unsigned long long)run.wrong);
    if (run.wrong != 0) {
        exit(1);
    }
}

int main(void)
{
    struct tap tap;
    struct vflash *chip = vflash_new(vflash_chip_find(CHIP));
    if (chip == NULL || tap_open(&tap, chip) != 0) {
        fprintf(stderr, "norbench-speed: no memory for the chip\n");
        return 1;
    }
    measure("the driver", vflash_driver(chip));
    measure("the driver and the second counter", &tap.driver);
    tap_close(&tap);
    vflash_free(chip);
    return 0;
}
