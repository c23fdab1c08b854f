/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - the firmware of `make firmware-test`. Its arguments are a word and numbers:
 *
 *     selftest                           the driver, over the end of the chip
 *     make                               formats the chip and fills it by POSIX calls and stdio
 *     show                               mounts the chip, lists every file with its CRC, adds one
 *     full                               1 MiB filled, emptied and filled again
 *     workloads                          those of workloads.h in a task each, on 8 MiB, and a list
 *     run SEED TEAR N0 N1 N2 N3 LIMIT    the actors of scenario.h in a task each, on 1 MiB: what
 *                                        N steps promised is checked first; operation TEAR is torn
 *
 * It answers in lines: "RESUME actor step", "S actor step" (durable), "FILE path size crc", "FULL
 * bytes bytes", "READ workload crc", "TORN", "BAD ...", "DONE".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "nf2_freertos.h"
#include "nf2_posix.h"
#include "scenario.h"
#include "selftest.h"
#include "tearing.h"
#include "workloads.h"

#define RUN_OFFSET (16u << 20)
#define RUN_SIZE (1u << 20)
#define WORKLOADS_SIZE (8u << 20)
#define STACK_WORDS 2048u
#define NUMBERS 7u

static struct nf2_freertos volume;
static struct spinor chip;
static struct scenario actors[SCENARIO_ACTORS];
static StaticTask_t memories[SCENARIO_ACTORS + 1];
static StackType_t stacks[SCENARIO_ACTORS + 1][STACK_WORDS];
static TaskHandle_t handles[SCENARIO_ACTORS];
static uint32_t numbers[NUMBERS];
static volatile uint32_t finished;

/* A whole line at once, without newlib: this is what the host counts on. */
static void line(const char *format, uint32_t a, uint32_t b)
{
    char text[48];
    int length = sniprintf(text, sizeof(text), format, (unsigned)a, (unsigned)b);
    taskENTER_CRITICAL();
    board_put(text, (uint32_t)length);
    taskEXIT_CRITICAL();
}

static _Noreturn void bad(const char *what, const char *text, int error)
{
    printf("BAD %s %s %d\n", what, text, error);
    fflush(stdout);
    board_exit(1);
}

static void must(int result, const char *what)
{
    if (result < 0) {
        bad(what, nf2_error_text(result), result);
    }
}

/* ---- run ------------------------------------------------------------------------------------- */

static void act(void *context)
{
    struct scenario *actor = context;
    uint32_t limit = numbers[6];
    for (uint32_t i = 0; limit == 0 || i < limit; i++) {
        if (scenario_step(actor) != 0) {
            bad("step", actor->failed, (int)actor->actor);
        }
        line("S %u %u\n", actor->actor, actor->steps);
        if (i % 8u == 7u) {
            vTaskDelay(1);      /* lets the idle work run */
        }
    }
    taskENTER_CRITICAL();
    finished++;
    taskEXIT_CRITICAL();
    vTaskSuspend(NULL);
}

static void start_run(void)
{
    const struct nf2_config config = {
        .flash = tearing_start(&chip.driver, numbers[1], numbers[0]),
        .offset = RUN_OFFSET,
        .size = RUN_SIZE,
    };
    must(nf2_freertos_start_with(&volume, &config, NF2_FREERTOS_FORMAT_BLANK), "mount");
    for (uint32_t i = 0; i < SCENARIO_ACTORS; i++) {
        scenario_init(&actors[i], &volume.fs, i, 2026);
        if (scenario_resume(&actors[i], numbers[2 + i]) != 0) {
            bad("promise", actors[i].failed, (int)i);
        }
        line("RESUME %u %u\n", i, actors[i].steps);
    }
    must(-nf2_check(&volume.fs, NULL, NULL), "check");
}

static void run(void *unused)
{
    (void)unused;
    start_run();
    for (uint32_t i = 0; i < SCENARIO_ACTORS; i++) {
        handles[i] = xTaskCreateStatic(act, "actor", STACK_WORDS, &actors[i],
                                       tskIDLE_PRIORITY + 1u + (i == 2u), stacks[i], &memories[i]);
    }
    while (finished < SCENARIO_ACTORS) {
        vTaskDelay(10);
    }
    for (uint32_t i = 0; i < SCENARIO_ACTORS; i++) {
        if (scenario_compare(&actors[i]) != 0) {
            bad("compare", actors[i].failed, (int)i);
        }
        uint32_t unused_words = (uint32_t)uxTaskGetStackHighWaterMark(handles[i]);
        line("STACK %u %u\n", i, 4u * (STACK_WORDS - unused_words));
    }
    must(-nf2_check(&volume.fs, NULL, NULL), "check");
    must(nf2_freertos_stop(&volume), "unmount");
    line("DONE\n", 0, 0);
    board_exit(0);
}

/* ---- make and show --------------------------------------------------------------------------- */

static uint32_t crc_of(const char *path, uint32_t *size)
{
    static uint8_t data[512];
    uint32_t crc = 0;
    int file = nf2p_open(path, O_RDONLY);
    ssize_t length;
    must(file, path);
    *size = 0;
    while ((length = nf2p_read(file, data, sizeof(data))) > 0) {
        crc = workloads_crc(crc, data, (uint32_t)length);
        *size += (uint32_t)length;
    }
    must((int)length, path);
    must(nf2p_close(file), path);
    return crc;
}

/* Directories wait in a list: NF2P_DIRS is small. */
static void list_all(void)
{
    static char waiting[32][160];
    uint32_t count = 1;
    waiting[0][0] = '\0';
    while (count > 0) {
        char at[160], path[420];
        strcpy(at, waiting[--count]);
        nf2p_dir *dir = nf2p_opendir(at[0] != '\0' ? at : "/");
        if (dir == NULL) {
            bad("opendir", at, 0);
        }
        for (struct nf2p_dirent *entry; (entry = nf2p_readdir(dir)) != NULL;) {
            snprintf(path, sizeof(path), "%s/%s", at, entry->d_name);
            if (entry->d_type == NF2P_DT_DIR && count < 32u && strlen(path) < 160u) {
                strcpy(waiting[count++], path);
            } else {
                uint32_t size, crc = crc_of(path, &size);
                printf("FILE %s %lu %08lX\n", path, (unsigned long)size, (unsigned long)crc);
            }
        }
        must(nf2p_closedir(dir), "closedir");
    }
}

static void write_stdio(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        bad("fopen", path, 0);
    }
    for (int i = 0; i < 300; i++) {
        fprintf(file, "%d squared is %d, and a third of it %.3f\n", i, i * i, i / 3.0);
    }
    if (fclose(file) != 0) {
        bad("fclose", path, 0);
    }
}

/* The file's own words are read back, half of them changed, and the end appended to. */
static void work_stdio(const char *path)
{
    char text[80];
    int number, square;
    FILE *file = fopen(path, "r+");
    if (file == NULL || fseek(file, 0, SEEK_SET) != 0 || fgets(text, sizeof(text), file) == NULL
        || fscanf(file, "%d squared is %d", &number, &square) != 2 || number != 1 || square != 1
        || fseek(file, 0, SEEK_END) != 0 || fputs("the end\n", file) < 0 || fclose(file) != 0) {
        bad("stdio", path, 0);
    }
    if (rename(path, "/docs/squares.txt") != 0 || fopen(path, "r") != NULL
        || remove("/docs/none") == 0) {
        bad("rename", path, 0);
    }
}

static void fill(void)
{
    static uint8_t data[4096];
    must(nf2p_mkdir("/docs", 0777), "mkdir");
    must(nf2p_mkdir("/bin", 0777), "mkdir");
    write_stdio("/squares.txt");
    work_stdio("/squares.txt");
    int file = nf2p_open("/bin/firmware", O_WRONLY | O_CREAT);
    must(file, "open");
    for (uint32_t i = 0; i < 200; i++) {
        for (uint32_t k = 0; k < sizeof(data); k++) {
            data[k] = (uint8_t)((i * 4096u + k) * 2654435761u >> 24);
        }
        must((int)nf2p_write(file, data, sizeof(data)), "write");
    }
    must(nf2p_close(file), "close");
}

static void exchange(void *context)
{
    const char *word = context;
    bool make = strcmp(word, "make") == 0;
    int result = nf2_freertos_start(&volume, &chip.driver, 0);
    if (make && result == NF2_ERR_BLANK) {
        result = nf2_freertos_start(&volume, &chip.driver, NF2_FREERTOS_FORMAT_BLANK);
    }
    must(result, "mount");
    must(nf2p_attach(&volume.fs, nf2_freertos_lock, nf2_freertos_unlock, &volume), "attach");
    if (make) {
        fill();
    } else {
        write_stdio("/from-the-board.txt");
    }
    list_all();
    must(nf2p_detach(), "detach");
    must(-nf2_check(&volume.fs, NULL, NULL), "check");
    must(nf2_freertos_stop(&volume), "unmount");
    printf("DONE\n");
    fflush(stdout);
    board_exit(0);
}

/* ---- workloads ------------------------------------------------------------------------------- */

static void work(void *context)
{
    uint32_t which = (uint32_t)(uintptr_t)context, read_crc;
    const char *failed = workloads_run(which, &volume.fs, &read_crc);
    if (failed != NULL) {
        bad("workload", failed, (int)which);
    }
    line("READ %u %08X\n", which, read_crc);
    taskENTER_CRITICAL();
    finished++;
    taskEXIT_CRITICAL();
    vTaskSuspend(NULL);
}

static void workloads(void *unused)
{
    const struct nf2_config config = {
        .flash = &chip.driver, .offset = RUN_OFFSET, .size = WORKLOADS_SIZE};
    (void)unused;
    must(nf2_freertos_start_with(&volume, &config, NF2_FREERTOS_FORMAT_BLANK), "mount");
    for (uint32_t i = 0; i < WORKLOADS; i++) {
        handles[i] = xTaskCreateStatic(work, "workload", STACK_WORDS, (void *)(uintptr_t)i,
                                       tskIDLE_PRIORITY + 1u, stacks[i], &memories[i]);
    }
    while (finished < WORKLOADS) {
        vTaskDelay(10);
    }
    must(nf2p_attach(&volume.fs, nf2_freertos_lock, nf2_freertos_unlock, &volume), "attach");
    list_all();
    must(nf2p_detach(), "detach");
    must(-nf2_check(&volume.fs, NULL, NULL), "check");
    must(nf2_freertos_stop(&volume), "unmount");
    printf("DONE\n");
    fflush(stdout);
    board_exit(0);
}

/* ---- full ------------------------------------------------------------------------------------ */

/* Files of 16 KiB until there is no space; the bytes that were taken. */
static uint32_t fill_up(void)
{
    static uint8_t data[4096];
    uint32_t bytes = 0;
    for (uint32_t number = 0;; number++) {
        char path[24];
        snprintf(path, sizeof(path), "/full%lu", (unsigned long)number);
        int file = nf2p_open(path, O_WRONLY | O_CREAT);
        bool taken = file >= 0;
        for (uint32_t i = 0; i < 4u && taken; i++) {
            taken = nf2p_write(file, data, sizeof(data)) == (ssize_t)sizeof(data);
            bytes += taken ? (uint32_t)sizeof(data) : 0;
        }
        int error = taken ? 0 : errno;
        taken = file >= 0 && nf2p_close(file) == 0 && taken;
        error = taken || error != 0 ? error : errno;
        if (error == ENOSPC) {
            return bytes;
        }
        if (error != 0) {
            bad("fill", path, error);
        }
    }
}

static void remove_all(void)
{
    char path[24] = "/full0";
    for (uint32_t number = 1; nf2p_unlink(path) == 0; number++) {
        snprintf(path, sizeof(path), "/full%lu", (unsigned long)number);
    }
    if (errno != ENOENT) {
        bad("remove", path, errno);
    }
}

static void full(void *unused)
{
    const struct nf2_config config = {
        .flash = &chip.driver, .offset = RUN_OFFSET, .size = RUN_SIZE};
    (void)unused;
    must(nf2_freertos_start_with(&volume, &config, NF2_FREERTOS_FORMAT_BLANK), "mount");
    must(nf2p_attach(&volume.fs, nf2_freertos_lock, nf2_freertos_unlock, &volume), "attach");
    uint32_t first = fill_up();
    must(-nf2_check(&volume.fs, NULL, NULL), "check");
    remove_all();
    uint32_t second = fill_up();
    must(-nf2_check(&volume.fs, NULL, NULL), "check");
    remove_all();
    line("FULL %u %u\n", first, second);
    must(nf2p_detach(), "detach");
    must(nf2_freertos_stop(&volume), "unmount");
    line("DONE\n", 0, 0);
    board_exit(0);
}

/* ---- selftest -------------------------------------------------------------------------------- */

static void selftest(void *unused)
{
    static uint8_t buffer[NF2_BUFFER_SIZE(256u)];
    struct nf2_selftest_report report;
    const struct nf2_config config = {
        .flash = &chip.driver, .buffer = buffer, .buffer_size = sizeof(buffer)};
    (void)unused;
    const struct spinor_part *part = &chip.part;
    printf("CHIP %02X %02X %02X, %lu bytes, %s, read %02X\n", part->id[0], part->id[1], part->id[2],
           (unsigned long)part->size, part->sfdp ? "SFDP" : "no SFDP", part->read);
    if (nf2_selftest(&config, &report) != NF2_SELFTEST_GOOD) {
        bad("selftest", nf2_selftest_text(report.fault), (int)report.address);
    }
    printf("DONE\n");
    fflush(stdout);
    board_exit(0);
}

/* An access that is not aligned must trap, or the firmware does not show that there is none. */
static void unaligned(void *unused)
{
    static uint8_t bytes[8];
    (void)unused;
    uintptr_t at = (uintptr_t)bytes + 1u;
    uint32_t value = *(volatile uint32_t *)at;
    printf("NO TRAP %lu\n", (unsigned long)value);
    fflush(stdout);
    board_exit(5);
}

int main(void)
{
    static char arguments[160];
    board_arguments(arguments, sizeof(arguments));
    char *rest = NULL;
    (void)strtok_r(arguments, " ", &rest);          /* the program's name */
    char *word = strtok_r(NULL, " ", &rest);
    word = word != NULL ? word : "";
    for (uint32_t i = 0; i < NUMBERS; i++) {
        const char *number = strtok_r(NULL, " ", &rest);
        numbers[i] = number != NULL ? (uint32_t)strtoul(number, NULL, 10) : 0;
    }
    int result = spinor_start(&chip, &board_bus);
    if (result != 0) {
        bad("chip", spinor_error_text(result), result);
    }
    TaskFunction_t task = strcmp(word, "run") == 0         ? run
                          : strcmp(word, "full") == 0      ? full
                          : strcmp(word, "workloads") == 0 ? workloads
                          : strcmp(word, "selftest") == 0  ? selftest
                          : strcmp(word, "unaligned") == 0 ? unaligned
                                                           : exchange;
    (void)xTaskCreateStatic(task, "main", STACK_WORDS, word, tskIDLE_PRIORITY + 3u,
                            stacks[SCENARIO_ACTORS], &memories[SCENARIO_ACTORS]);
    vTaskStartScheduler();
    return 1;
}
