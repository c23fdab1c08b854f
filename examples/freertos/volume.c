/* SPDX-License-Identifier: BSD-2-Clause */
/* volume.c - NF2FS under FreeRTOS, without its heap. */
#include "volume.h"

#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#define PAGE_SIZE 256u

/* How long another task may have to wait for idle work to let go of the volume. At least the time of a large erase. */
#define IDLE_BUDGET_US 200000u

/* NF2FS takes up to 2.3 KB of stack (docs/FIGURES.md, "Stack"), the driver its own: every task that calls it has so much. */
#define IDLE_STACK_WORDS (4096u / sizeof(StackType_t) > configMINIMAL_STACK_SIZE ? 4096u / sizeof(StackType_t) : configMINIMAL_STACK_SIZE)

nf2_t volume;

static uint8_t volume_buffer[NF2_BUFFER_SIZE(PAGE_SIZE)];
static struct nf2_config config;
static StaticSemaphore_t mutex_memory;
static StaticTask_t idle_memory;
static StackType_t idle_stack[IDLE_STACK_WORDS];

/* A mutex, not a binary semaphore: its priority inheritance keeps the low idle work from holding up a high task for longer than its step. */
static void lock(void *context)
{
    (void)xSemaphoreTake((SemaphoreHandle_t)context, portMAX_DELAY);
}

static void unlock(void *context)
{
    (void)xSemaphoreGive((SemaphoreHandle_t)context);
}

/* Below all others: frees, compacts and erases ahead, so that writes need not wait for erases. */
static void idle_work(void *unused)
{
    (void)unused;
    for (;;) {
        int left = nf2_maintain(&volume, IDLE_BUDGET_US);
        if (left < 0) {
            vTaskSuspend(NULL);     /* unmounted, or the flash failed: changes are refused until the next mount */
        }
        vTaskDelay(pdMS_TO_TICKS(left > 0 ? 10 : 1000));
    }
}

void volume_pause(void *bus, uint32_t us)
{
    (void)bus;
    if (xTaskGetSchedulerState() == taskSCHEDULER_RUNNING && us >= 1000u * portTICK_PERIOD_MS) {
        vTaskDelay(pdMS_TO_TICKS(us / 1000u));
    } else if (xTaskGetSchedulerState() == taskSCHEDULER_RUNNING) {
        taskYIELD();                /* a program ends sooner than the next tick: ask again at once */
    }
}

int volume_start(const struct nf2_flash *flash)
{
    SemaphoreHandle_t mutex = xSemaphoreCreateMutexStatic(&mutex_memory);
    config = (struct nf2_config){
        .flash = flash, .buffer = volume_buffer, .buffer_size = sizeof(volume_buffer), .lock = lock, .unlock = unlock, .lock_context = mutex,
    };
    int result = nf2_mount(&volume, &config, NF2_MOUNT_RDWR);
    if (result == NF2_ERR_BLANK) {
        result = nf2_format(&volume, &config, NF2_FORMAT_QUICK);
        if (result == NF2_OK) {
            result = nf2_mount(&volume, &config, NF2_MOUNT_RDWR);
        }
    }
    if (result == NF2_OK) {
        (void)xTaskCreateStatic(idle_work, "flash idle", IDLE_STACK_WORDS, NULL, tskIDLE_PRIORITY, idle_stack, &idle_memory);
    }
    return result;
}

int volume_stop(void)
{
    return nf2_unmount(&volume);
}
