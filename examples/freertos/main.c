/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - two tasks that write to one volume while a third does its idle work, over the virtual chip. */
#include <stdio.h>
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "vflash.h"
#include "volume.h"

#define RECORDS 300u
#define STACK_WORDS (65536u / sizeof(StackType_t) > configMINIMAL_STACK_SIZE ? 65536u / sizeof(StackType_t) : configMINIMAL_STACK_SIZE)

struct writer {
    const char *path;
    StaticTask_t task;
    StackType_t stack[STACK_WORDS];
    nf2_file_t file;
    uint8_t buffer[256];
    int result;
    volatile bool done;
};

static struct writer writers[2] = {{.path = "/log/a"}, {.path = "/log/b"}};
static StaticTask_t judge_task;
static StackType_t judge_stack[STACK_WORDS];
static int verdict = 1;

/* Appends numbered records, each durable before the next. */
static void write_log(void *context)
{
    struct writer *writer = context;
    writer->result = nf2_open(&volume, &writer->file, writer->path, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND | NF2_O_SYNC, writer->buffer);
    for (uint32_t i = 0; i < RECORDS && writer->result == NF2_OK; i++) {
        char record[24];
        int length = snprintf(record, sizeof(record), "%s %u\n", writer->path, (unsigned)i);
        int32_t written = nf2_write(&volume, &writer->file, record, (uint32_t)length);
        writer->result = written < 0 ? (int)written : NF2_OK;
    }
    int closed = nf2_close(&volume, &writer->file);
    writer->result = writer->result != NF2_OK ? writer->result : closed;
    writer->done = true;
    vTaskSuspend(NULL);
}

static bool right(const char *path)
{
    static nf2_file_t file;
    char text[24], expected[24];
    bool good = nf2_open(&volume, &file, path, NF2_O_RDONLY, NULL) == NF2_OK;
    for (uint32_t i = 0; i < RECORDS && good; i++) {
        int length = snprintf(expected, sizeof(expected), "%s %u\n", path, (unsigned)i);
        good = nf2_read(&volume, &file, text, (uint32_t)length) == length && memcmp(text, expected, (size_t)length) == 0;
    }
    return nf2_close(&volume, &file) == NF2_OK && good;
}

static void judge(void *unused)
{
    (void)unused;
    while (!writers[0].done || !writers[1].done) {
        vTaskDelay(pdMS_TO_TICKS(10));
    }
    bool good = writers[0].result == NF2_OK && writers[1].result == NF2_OK && right(writers[0].path) && right(writers[1].path);
    good = nf2_check(&volume, NULL, NULL) == 0 && good;
    good = volume_stop() == NF2_OK && good;
    verdict = good ? 0 : 1;
    vTaskEndScheduler();
}

int main(void)
{
    struct vflash *chip = vflash_new(vflash_chip_find("w25q80"));
    if (chip == NULL || volume_start(vflash_driver(chip)) != NF2_OK || nf2_mkdir(&volume, "/log") != NF2_OK) {
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        (void)xTaskCreateStatic(write_log, "writer", STACK_WORDS, &writers[i], tskIDLE_PRIORITY + 1, writers[i].stack, &writers[i].task);
    }
    (void)xTaskCreateStatic(judge, "judge", STACK_WORDS, NULL, tskIDLE_PRIORITY + 2, judge_stack, &judge_task);
    vTaskStartScheduler();
    puts(verdict == 0 ? "two logs, every record in its place" : "something is wrong");
    vflash_free(chip);
    return verdict;
}
