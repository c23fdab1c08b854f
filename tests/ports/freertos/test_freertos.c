/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_freertos.c - four tasks on one volume on FreeRTOS's POSIX port, over spinor and the
 * command-level chip, while the idle work runs: two append records, one replaces a settings file,
 * one lists and reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nf2_freertos.h"
#include "nf2_posix.h"
#include "spi_board.h"

#define RECORDS 200u
#define STACK_WORDS (262144u / sizeof(StackType_t))

struct task {
    const char *path;
    TaskFunction_t run;
    StaticTask_t memory;
    StackType_t stack[STACK_WORDS];
    int failures;
    volatile bool done;
};

static struct nf2_freertos volume;
static struct spi_board board;
static struct spinor chip;
static volatile bool writers_done;
static int result = 1;

#define MUST(condition) ((condition) ? (void)0 : fail(task, #condition, __LINE__))

static void fail(struct task *task, const char *text, int line)
{
    task->failures++;
    printf("line %d: %s: failed: %s\n", line, task->path, text);
}

static void finish(struct task *task)
{
    task->done = true;
    vTaskSuspend(NULL);
}

/* Appends numbered records, each durable before the next. */
static void append(void *context)
{
    struct task *task = context;
    int file = nf2p_open(task->path, O_WRONLY | O_CREAT | O_APPEND | O_SYNC);
    MUST(file >= 0);
    for (uint32_t i = 0; i < RECORDS; i++) {
        char record[24];
        int length = snprintf(record, sizeof(record), "%s %u\n", task->path, (unsigned)i);
        MUST(nf2p_write(file, record, (size_t)length) == length);
    }
    MUST(nf2p_close(file) == 0);
    finish(task);
}

/* A new version beside the old one, then in its place. */
static void replace(void *context)
{
    struct task *task = context;
    for (uint32_t i = 0; i < RECORDS; i++) {
        char version[16];
        int length = snprintf(version, sizeof(version), "version %04u", (unsigned)i);
        int file = nf2p_open("/settings.new", O_WRONLY | O_CREAT | O_TRUNC);
        MUST(file >= 0);
        MUST(nf2p_write(file, version, (size_t)length) == length);
        MUST(nf2p_close(file) == 0);
        MUST(nf2p_rename("/settings.new", task->path) == 0);
    }
    finish(task);
}

/* At every time there are settings, whole; and every name that is listed is one of ours. */
static void look(void *context)
{
    struct task *task = context;
    unsigned last = 0, version, rounds = 0;
    do {
        char text[17] = "";
        vTaskDelay(pdMS_TO_TICKS(2));
        nf2_freertos_lock(&volume);
        int file = nf2p_open("/settings", O_RDONLY);
        nf2_freertos_unlock(&volume);
        if (file >= 0) {
            MUST(nf2p_read(file, text, 16) == 12);
            MUST(sscanf(text, "version %u", &version) == 1 && version >= last && version < RECORDS);
            last = version;
            MUST(nf2p_close(file) == 0);
        }
        nf2p_dir *dir = nf2p_opendir("/");
        MUST(dir != NULL);
        for (struct nf2p_dirent *entry; dir != NULL && (entry = nf2p_readdir(dir)) != NULL;) {
            MUST(strcmp(entry->d_name, "a") == 0 || strcmp(entry->d_name, "b") == 0
                 || strncmp(entry->d_name, "settings", 8) == 0);
        }
        MUST(nf2p_closedir(dir) == 0);
        rounds++;
    } while (!writers_done);
    MUST(rounds > 3);
    finish(task);
}

static struct task tasks[] = {
    {.path = "/a", .run = append},
    {.path = "/b", .run = append},
    {.path = "/settings", .run = replace},
    {.path = "reader", .run = look},
};
#define TASKS (sizeof(tasks) / sizeof(tasks[0]))

static void compare(struct task *task)
{
    char text[24], expected[24];
    int file = nf2p_open(task->path, O_RDONLY);
    MUST(file >= 0);
    for (uint32_t i = 0; i < RECORDS; i++) {
        int length = snprintf(expected, sizeof(expected), "%s %u\n", task->path, (unsigned)i);
        MUST(nf2p_read(file, text, (size_t)length) == length
             && memcmp(text, expected, (size_t)length) == 0);
    }
    MUST(nf2p_read(file, text, 1) == 0);
    MUST(nf2p_close(file) == 0);
}

static void judge(void *unused)
{
    static struct task own = {.path = "judge"};
    struct task *task = &own;
    (void)unused;
    while (!tasks[0].done || !tasks[1].done || !tasks[2].done) {
        vTaskDelay(pdMS_TO_TICKS(5));
    }
    writers_done = true;
    while (!tasks[3].done) {
        vTaskDelay(pdMS_TO_TICKS(5));
    }
    compare(&tasks[0]);
    compare(&tasks[1]);
    MUST(nf2_check(&volume.fs, NULL, NULL) == 0);
    MUST(nf2p_detach() == 0);
    MUST(nf2_freertos_stop(&volume) == NF2_OK);
    MUST(nf2_freertos_stop(&volume) == NF2_ERR_INVAL);
    MUST(nf2_freertos_start(&volume, &chip.driver, 0) == NF2_OK);
    MUST(nf2_freertos_start(&volume, &chip.driver, 0) == NF2_ERR_INVAL);
    MUST(nf2_freertos_stop(&volume) == NF2_OK);
    MUST(spi_chip_counts(board.chip)->wrapped == 0
         && spi_chip_counts(board.chip)->programs > 2 * RECORDS);
    result = own.failures;
    for (unsigned i = 0; i < TASKS; i++) {
        result += tasks[i].failures;
    }
    puts(result == 0 ? "four tasks, every record in its place" : "something is wrong");
    fflush(stdout);
    _Exit(result != 0);     /* a task must not return, and the scheduler of this port ends threads late */
}

/* ---- the board: time passes in the chip while other tasks run -------------------------------- */

static struct {
    struct nf2_freertos_chip chip;          /* first: nf2_freertos_claim and the like take this */
    struct spinor_bus plain;
} shared;

static int bus_transfer(void *unused, const struct spinor_transfer *transfer)
{
    (void)unused;
    return shared.plain.transfer(shared.plain.context, transfer);
}

static void pass(uint32_t us)
{
    taskENTER_CRITICAL();
    spi_chip_wait(board.chip, (uint64_t)us * 1000u);
    taskEXIT_CRITICAL();
}

static void bus_pause(void *unused, uint32_t us)
{
    nf2_freertos_pause(unused, us);
    pass(us);
}

static void bus_delay(void *unused, uint32_t us)
{
    nf2_freertos_delay(unused, us);
    pass(us);
}

static StaticTask_t judge_memory;
static StackType_t judge_stack[STACK_WORDS];

int main(void)
{
    spi_board_open(&board, &spi_chip_w25q128, 4);
    shared.plain = board.bus;
    nf2_freertos_chip_init(&shared.chip);
    static const struct spinor_bus bus = {
        .context = &shared, .transfer = bus_transfer, .pause = bus_pause, .delay = bus_delay,
        .lock = nf2_freertos_bus_lock, .unlock = nf2_freertos_bus_unlock,
        .claim = nf2_freertos_claim, .release = nf2_freertos_release, .lines = 4,
    };
    if (spinor_start(&chip, &bus) != 0
        || nf2_freertos_start(&volume, &chip.driver, 0) != NF2_ERR_BLANK
        || nf2_freertos_start(&volume, &chip.driver, NF2_FREERTOS_FORMAT_BLANK) != NF2_OK
        || nf2p_attach(&volume.fs, nf2_freertos_lock, nf2_freertos_unlock, &volume) != 0) {
        return 1;
    }
    for (unsigned i = 0; i < TASKS; i++) {
        (void)xTaskCreateStatic(tasks[i].run, tasks[i].path, STACK_WORDS, &tasks[i],
                                tskIDLE_PRIORITY + 1 + i / 3, tasks[i].stack, &tasks[i].memory);
    }
    (void)xTaskCreateStatic(judge, "judge", STACK_WORDS, NULL, tskIDLE_PRIORITY + 2, judge_stack,
                            &judge_memory);
    vTaskStartScheduler();
    return 1;
}
