/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks.c - tasks of several priorities on one chip that takes its time: the second firmware of
 * `make firmware-test`. Its arguments are a word and, for some, whether the chip suspends
 * erases (0 no, 1 yes, 2 it says so and refuses small ones):
 *
 *     reads 0|1|2        a high task reads while a low one programs and erases
 *     programs 0|1       a high task programs while a low one erases, and one between them computes
 *     background 0|1     a low task erases in the background, a high one programs and reads
 *     volumes 0|1        a volume of a low task and one of a high task on one chip
 *     below              what a task gets of the processor while one above it writes
 *     yields             a high task that pauses for next to nothing, until a low one has run
 *     clock              delays and the clock, before the scheduler starts and after it
 *     sleep              a read right after spinor_sleep, before the scheduler starts and after it
 *
 * It answers with lines "WORD number", the longest waits in microseconds, and "DONE"; or "BAD ...".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "model_bus.h"
#include "nf2_freertos.h"

#define STACK_WORDS 2048u
#define TASKS 4u
#define CHIP_SIZE (256u << 10)
#define VOLUME_SIZE (CHIP_SIZE / 2u)
#define BLOCK 4096u
#define TICK_US (1000000u / configTICK_RATE_HZ)
#define ERASE_US 50000u                     /* the chip's, of a block */
#define HANG_US 2000000u                    /* of a call of the driver: it never returns */

enum { LOW = tskIDLE_PRIORITY + 1, MIDDLE, HIGH };

static struct spinor chip;
static StaticTask_t memories[TASKS];
static StackType_t stacks[TASKS][STACK_WORDS];
static uint32_t tasks;
static volatile bool ends;
static volatile uint32_t waits_since_us;    /* 0: nobody waits */

static void line(const char *format, uint32_t a)
{
    char text[64];
    int length = sniprintf(text, sizeof(text), format, (unsigned)a);
    taskENTER_CRITICAL();
    board_put(text, (uint32_t)length);
    taskEXIT_CRITICAL();
}

/* Also from the tick's interrupt. */
static _Noreturn void bad(const char *what, int number)
{
    char text[96];
    int length = sniprintf(text, sizeof(text), "\nBAD %s %d\n", what, number);
    board_put(text, (uint32_t)length);
    board_exit(1);
}

static void must(int result, const char *what)
{
    if (result != 0) {
        bad(what, result);
    }
}

static _Noreturn void done(void)
{
    board_put("DONE\n", 5);
    board_exit(0);
}

static void create(TaskFunction_t run, UBaseType_t priority)
{
    (void)xTaskCreateStatic(run, "task", STACK_WORDS, NULL, priority, stacks[tasks],
                            &memories[tasks]);
    tasks++;
}

/* Ends a run in which the high task waits for good: the tick comes all the same. */
void vApplicationTickHook(void);
void vApplicationTickHook(void)
{
    uint32_t since_us = waits_since_us;
    if (since_us != 0 && model_bus_now_us() - since_us > HANG_US) {
        bad("a call of the high task does not return", 0);
    }
}

static uint32_t begin(void)
{
    uint32_t now_us = model_bus_now_us();
    waits_since_us = now_us | 1u;
    return now_us;
}

/* The longest of the waits so far. */
static uint32_t longer(uint32_t longest_us, uint32_t begun_us)
{
    uint32_t took_us = model_bus_now_us() - begun_us;
    waits_since_us = 0;
    return took_us > longest_us ? took_us : longest_us;
}

/* ---- reads ----------------------------------------------------------------------------------- */

#define READS 64u
#define WORK_AT (CHIP_SIZE / 2u)

static volatile uint32_t working_at = WORK_AT;

static void program_and_erase(void *unused)
{
    static const uint8_t data[64];
    (void)unused;
    for (uint32_t i = 0;; i++) {
        uint32_t address = WORK_AT + i % 16u * BLOCK;
        working_at = address;
        must(spinor_erase(&chip, address, BLOCK), "erase");
        must(spinor_program(&chip, address, data, sizeof(data)), "program");
        vTaskDelay(1);
    }
}

/* Mostly elsewhere; now and then where the low task works, so that it must wait for that one. */
static void read_often(void *unused)
{
    uint32_t elsewhere_us = 0, there_us = 0;
    (void)unused;
    for (uint32_t i = 0; i < READS; i++) {
        uint8_t data[16];
        bool there = i % 8u == 7u;
        vTaskDelay(1u + 7000u / TICK_US);
        nf2_freertos_delay(NULL, 100u * (i % 8u));
        uint32_t begun_us = begin();
        must(spinor_read(&chip, there ? working_at : 0, data, sizeof(data)), "read");
        if (there) {
            there_us = longer(there_us, begun_us);
        } else {
            elsewhere_us = longer(elsewhere_us, begun_us);
        }
    }
    line("ELSEWHERE %u\n", elsewhere_us);
    line("THERE %u\n", there_us);
    line("ERASES %u\n", spi_chip_counts(model_bus_chip())->erases);
    line("SUSPENDS %u\n", spi_chip_counts(model_bus_chip())->suspends);
    done();
}

/* ---- programs -------------------------------------------------------------------------------- */

#define PROGRAMS 40u
#define BURST_US 200000u                    /* longer than any wait for the chip */

/* Between the high task and the low one, which must go on all the same where it is waited for. */
static void compute(void *unused)
{
    (void)unused;
    for (;;) {
        uint32_t begun_us = model_bus_now_us();
        while (model_bus_now_us() - begun_us < BURST_US) {
        }
        vTaskDelay(1u + 60000u / TICK_US);
    }
}

static void program_often(void *unused)
{
    static const uint8_t data[16];
    uint32_t longest_us = 0;
    (void)unused;
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        vTaskDelay(1u + 13000u / TICK_US);
        uint32_t begun_us = begin();
        must(spinor_program(&chip, 16u * i, data, sizeof(data)), "program");
        longest_us = longer(longest_us, begun_us);
    }
    line("PROGRAM %u\n", longest_us);
    line("ERASES %u\n", spi_chip_counts(model_bus_chip())->erases);
    done();
}

/* ---- background ------------------------------------------------------------------------------ */

#define ROUNDS 40u

static volatile uint32_t erased;

static void erase_behind(void *unused)
{
    static uint8_t data[64];
    (void)unused;
    for (uint32_t i = 0;; i++) {
        uint32_t address = WORK_AT + i % 16u * BLOCK;
        int result;
        must(spinor_program(&chip, address + 100u, data, sizeof(data)), "program");
        must(spinor_erase_begin(&chip, address, BLOCK), "begin");
        while ((result = spinor_erase_done(&chip)) == 0) {
            vTaskDelay(1);
        }
        must(result - 1, "erase");
        must(spinor_read(&chip, address + 100u, data, sizeof(data)), "read");
        for (uint32_t k = 0; k < sizeof(data); k++) {
            must(data[k] ^ 0xFF, "the block is not blank");
        }
        memset(data, 0, sizeof(data));
        erased++;
    }
}

static void program_and_read(void *unused)
{
    uint32_t longest_us = 0;
    (void)unused;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t written[4] = {i, ~i, 3u * i, 7u}, read[4];
        vTaskDelay(1u + 7000u / TICK_US);
        uint32_t begun_us = begin();
        must(spinor_program(&chip, 16u * i, written, sizeof(written)), "program");
        must(spinor_read(&chip, 16u * i, read, sizeof(read)), "read");
        longest_us = longer(longest_us, begun_us);
        must(memcmp(read, written, sizeof(read)), "compare");
    }
    line("BOTH %u\n", longest_us);
    line("ERASED %u\n", erased);
    line("MEANWHILE %u\n", spi_chip_counts(model_bus_chip())->meanwhile);
    done();
}

/* ---- volumes --------------------------------------------------------------------------------- */

#define WRITES 120u
#define RECORD 200u
#define RECORDS_MAX 100u                    /* then the file begins again */

static struct nf2_freertos volumes[2];

static void start_volume(uint32_t which)
{
    const struct nf2_config config = {
        .flash = &chip.driver, .offset = which * VOLUME_SIZE, .size = VOLUME_SIZE};
    must(nf2_freertos_start_with(&volumes[which], &config, NF2_FREERTOS_FORMAT_BLANK), "mount");
}

static void fill_record(uint8_t record[RECORD], uint32_t which, uint32_t number)
{
    for (uint32_t i = 0; i < RECORD; i++) {
        record[i] = (uint8_t)(number * 31u + i * 7u + which);
    }
}

/* Writes durable records; each is read back from the volume. Returns the longest write and sync. */
static uint32_t write_records(uint32_t which, uint32_t count, uint32_t delay_us)
{
    static nf2_file_t files[2];
    static uint8_t buffers[2][NF2_FREERTOS_PAGE_SIZE], records[2][RECORD], found[2][RECORD];
    nf2_t *fs = &volumes[which].fs;
    uint32_t longest_us = 0;
    must(nf2_open(fs, &files[which], "/file", NF2_O_RDWR | NF2_O_CREAT, buffers[which]), "open");
    for (uint32_t i = 0; i < count && !ends; i++) {
        int32_t at = (int32_t)(i % RECORDS_MAX * RECORD);
        fill_record(records[which], which, i);
        must(nf2_seek(fs, &files[which], at, NF2_SEEK_SET) != at, "seek");
        uint32_t begun_us = which == 1 ? begin() : 0;
        must(nf2_write(fs, &files[which], records[which], RECORD) != (int32_t)RECORD, "write");
        must(nf2_sync(fs, &files[which]), "sync");
        longest_us = which == 1 ? longer(longest_us, begun_us) : 0;
        must(nf2_seek(fs, &files[which], at, NF2_SEEK_SET) != at, "seek");
        must(nf2_read(fs, &files[which], found[which], RECORD) != (int32_t)RECORD, "read");
        must(memcmp(found[which], records[which], RECORD), "compare");
        vTaskDelay(1u + delay_us / TICK_US);
    }
    must(nf2_close(fs, &files[which]), "close");
    return longest_us;
}

static void finish_volume(uint32_t which)
{
    must(nf2_check(&volumes[which].fs, NULL, NULL), "check");
    must(nf2_freertos_stop(&volumes[which]), "unmount");
}

static volatile bool low_ended;

static void low_volume(void *unused)
{
    (void)unused;
    start_volume(0);
    (void)write_records(0, UINT32_MAX, 0);
    finish_volume(0);
    low_ended = true;
    vTaskSuspend(NULL);
}

static void high_volume(void *unused)
{
    (void)unused;
    vTaskDelay(1u + 100000u / TICK_US);
    start_volume(1);
    line("WRITE %u\n", write_records(1, WRITES, 10000));
    ends = true;
    while (!low_ended) {
        vTaskDelay(1);
    }
    finish_volume(1);
    line("ERASES %u\n", spi_chip_counts(model_bus_chip())->erases);
    done();
}

/* ---- below ----------------------------------------------------------------------------------- */

static volatile uint32_t longest_gap_us, erases_seen;

/* Counts the erases during which it gets the processor, and for how long it then loses it. */
static void watch(void *unused)
{
    uint32_t last_us = 0, erases = 0;
    bool was_erase = false;
    (void)unused;
    for (;;) {
        taskENTER_CRITICAL();       /* of one moment */
        uint32_t now_us = model_bus_now_us();
        uint32_t count = spi_chip_counts(model_bus_chip())->erases;
        bool erases_now = model_bus_erases();
        taskEXIT_CRITICAL();
        if (erases_now && !(was_erase && count == erases)) {
            erases_seen++;
        } else if (erases_now && now_us - last_us > longest_gap_us) {
            longest_gap_us = now_us - last_us;
        }
        last_us = now_us;
        erases = count;
        was_erase = erases_now;
    }
}

static void write_above(void *unused)
{
    (void)unused;
    start_volume(1);
    longest_gap_us = 0;
    erases_seen = 0;
    uint32_t before = spi_chip_counts(model_bus_chip())->erases;
    (void)write_records(1, 2u * WRITES, 0);
    uint32_t erases = spi_chip_counts(model_bus_chip())->erases - before;
    line("GAP %u\n", longest_gap_us);
    line("ERASES %u\n", erases);
    line("UNSEEN %u\n", erases - erases_seen);
    done();
}

/* ---- yields ---------------------------------------------------------------------------------- */

static volatile bool low_ran;

static void run_low(void *unused)
{
    (void)unused;
    low_ran = true;
    vTaskSuspend(NULL);
}

/* As a driver would wait that knows of no other task. */
static void yield_often(void *unused)
{
    (void)unused;
    uint32_t begun_us = begin();
    while (!low_ran) {
        nf2_freertos_pause(NULL, 50);
    }
    line("YIELDS %u\n", longer(0, begun_us));
    done();
}

/* ---- clock and sleep ------------------------------------------------------------------------- */

static const uint32_t delays_us[] = {3, 30, 100, 900, 3000, 25000};

static void try_delays(void)
{
    for (uint32_t i = 0; i < sizeof(delays_us) / sizeof(delays_us[0]); i++) {
        for (uint32_t round = 0; round < 20u; round++) {
            uint32_t clock_us = nf2_freertos_now_us(NULL), begun_us = model_bus_now_us();
            model_bus.delay(model_bus.context, delays_us[i]);
            uint32_t took_us = model_bus_now_us() - begun_us;
            clock_us = nf2_freertos_now_us(NULL) - clock_us;
            if (took_us < delays_us[i] || took_us > 20u * delays_us[i] + 3u * TICK_US) {
                bad("delay", (int)took_us);
            }
            if (clock_us > took_us + TICK_US) {
                bad("the clock is fast", (int)clock_us);
            }
        }
    }
}

/* A counter of 16 bits begins shortly before its end (configINITIAL_TICK_COUNT). */
static void clock_task(void *unused)
{
    (void)unused;
    try_delays();
    uint32_t first_us = nf2_freertos_now_us(NULL), begun_us = model_bus_now_us();
    for (uint32_t i = 0; i < 20u; i++) {
        vTaskDelay(configTICK_RATE_HZ / 5u);
        uint32_t passed_us = nf2_freertos_now_us(NULL) - first_us;
        uint32_t true_us = model_bus_now_us() - begun_us;
        uint32_t apart_us = passed_us > true_us ? passed_us - true_us : true_us - passed_us;
        if (apart_us > 2u * TICK_US + true_us / 1000u) {
            bad("the clock is wrong by microseconds", (int)apart_us);
        }
    }
    line("TICKS %u\n", (uint32_t)xTaskGetTickCount());
    done();
}

static void try_sleep(void)
{
    for (uint32_t i = 0; i < 20u; i++) {
        uint8_t data[4] = {0};
        must(spinor_sleep(&chip), "sleep");
        must(spinor_read(&chip, WORK_AT, data, sizeof(data)), "read");
        must(memcmp(data, "true", sizeof(data)), "wrong bytes after a sleep");
    }
}

static void sleep_task(void *unused)
{
    (void)unused;
    try_sleep();
    done();
}

/* ---- which ----------------------------------------------------------------------------------- */

int main(void)
{
    static char arguments[160];
    board_arguments(arguments, sizeof(arguments));
    char *rest = NULL;
    (void)strtok_r(arguments, " ", &rest);          /* the program's name */
    char *word = strtok_r(NULL, " ", &rest), *suspends = strtok_r(NULL, " ", &rest);
    struct spi_chip_kind kind = spi_chip_w25q128;
    kind.size = CHIP_SIZE;
    kind.id[2] = 0x12;
    kind.erase[0].typical_us = ERASE_US;
    kind.wake_us = 30;
    kind.suspend_us = suspends != NULL && suspends[0] != '0' ? kind.suspend_us : 0;
    kind.suspend_size = suspends != NULL && suspends[0] == '2' ? 65536u : 0;
    model_bus_start(&kind);
    must(spinor_start(&chip, &model_bus), "start");
    if (word != NULL && strcmp(word, "reads") == 0) {
        create(program_and_erase, LOW);
        create(read_often, HIGH);
    } else if (word != NULL && strcmp(word, "programs") == 0) {
        create(program_and_erase, LOW);
        create(compute, MIDDLE);
        create(program_often, HIGH);
    } else if (word != NULL && strcmp(word, "background") == 0) {
        create(erase_behind, LOW);
        create(program_and_read, HIGH);
    } else if (word != NULL && strcmp(word, "volumes") == 0) {
        create(low_volume, LOW);
        create(high_volume, HIGH);
    } else if (word != NULL && strcmp(word, "below") == 0) {
        create(watch, LOW);
        create(write_above, HIGH);
    } else if (word != NULL && strcmp(word, "yields") == 0) {
        create(run_low, LOW);
        create(yield_often, HIGH);
    } else if (word != NULL && strcmp(word, "clock") == 0) {
        try_delays();
        create(clock_task, HIGH);
    } else if (word != NULL && strcmp(word, "sleep") == 0) {
        must(spinor_program(&chip, WORK_AT, "true", 4), "program");
        try_sleep();
        create(sleep_task, HIGH);
    } else {
        bad("which test", 0);
    }
    vTaskStartScheduler();
    return 1;
}
