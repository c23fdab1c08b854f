/* SPDX-License-Identifier: BSD-2-Clause */
/* nf2_freertos.c - lock, waiting and idle work under FreeRTOS. */
#include "nf2_freertos.h"

#define TICK_US (1000000u / configTICK_RATE_HZ)
#define IDLE_MS 1000u           /* nothing was left to do */
#define NEXT_STEP_MS 10u

static bool running(void)
{
    return xTaskGetSchedulerState() == taskSCHEDULER_RUNNING;
}

/*
 * A mutex: its priority inheritance keeps the idle work from
 * holding up a high task for longer than its step.
 */
void nf2_freertos_lock(void *context)
{
    struct nf2_freertos *volume = context;
    if (running()) {
        (void)xSemaphoreTakeRecursive(volume->mutex, portMAX_DELAY);
    }
}

void nf2_freertos_unlock(void *context)
{
    struct nf2_freertos *volume = context;
    if (running()) {
        (void)xSemaphoreGiveRecursive(volume->mutex);
    }
}

void nf2_freertos_pause(void *unused, uint32_t us)
{
    (void)unused;
    if (!running()) {
        return;
    }
    if (us >= 2u * TICK_US) {
        vTaskDelay(us / TICK_US);
    } else {
        taskYIELD();            /* a program ends sooner than the next tick: ask again at once */
    }
}

uint32_t nf2_freertos_now_us(void *unused)
{
    (void)unused;
    return (uint32_t)xTaskGetTickCount() * TICK_US;
}

/* Below all others: frees, compacts and erases ahead, so that writes need not wait for erases. */
static void idle_work(void *context)
{
    struct nf2_freertos *volume = context;
    for (;;) {
        nf2_freertos_lock(volume);
        int left = volume->mounted ? nf2_maintain(&volume->fs, volume->budget_us) : 0;
        nf2_freertos_unlock(volume);
        vTaskDelay(pdMS_TO_TICKS(left > 0 ? NEXT_STEP_MS : IDLE_MS));
    }
}

/*
 * The longest that a writer may wait for the idle work: with less it could never do a large erase.
 */
static uint32_t budget(const struct nf2_flash *flash)
{
    uint32_t longest = flash->large_erase_us > flash->erase_block_us ? flash->large_erase_us
                                                                     : flash->erase_block_us;
    return longest + longest / 3u;
}

static int mount(struct nf2_freertos *volume, int flags)
{
    int result = nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);
    if (result == NF2_ERR_BLANK && (flags & NF2_FREERTOS_FORMAT_BLANK) != 0) {
        result = nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);
        if (result == NF2_OK) {
            result = nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);
        }
    }
    volume->mounted = result == NF2_OK;
    return result;
}

int nf2_freertos_start_with(struct nf2_freertos *volume, const struct nf2_config *config, int flags)
{
    if (config->flash == NULL || config->flash->page_size > NF2_FREERTOS_PAGE_SIZE) {
        return NF2_ERR_INVAL;
    }
    if (volume->mutex == NULL) {
        volume->mutex = xSemaphoreCreateRecursiveMutexStatic(&volume->mutex_memory);
    }
    nf2_freertos_lock(volume);
    volume->config = *config;
    volume->config.buffer = volume->buffer;
    volume->config.buffer_size = sizeof(volume->buffer);
    volume->config.lock = nf2_freertos_lock;
    volume->config.unlock = nf2_freertos_unlock;
    volume->config.lock_context = volume;
    volume->budget_us = budget(config->flash);
    int result = volume->mounted ? NF2_ERR_INVAL : mount(volume, flags);
    nf2_freertos_unlock(volume);
    if (result == NF2_OK && volume->task == NULL && (flags & NF2_FREERTOS_NO_IDLE_TASK) == 0) {
        volume->task = xTaskCreateStatic(idle_work, "flash idle", NF2_FREERTOS_STACK_WORDS, volume,
                                         tskIDLE_PRIORITY, volume->stack, &volume->task_memory);
    }
    return result;
}

int nf2_freertos_start(struct nf2_freertos *volume, const struct nf2_flash *flash, int flags)
{
    const struct nf2_config config = {.flash = flash};
    return nf2_freertos_start_with(volume, &config, flags);
}

int nf2_freertos_stop(struct nf2_freertos *volume)
{
    nf2_freertos_lock(volume);
    volume->mounted = false;
    int result = nf2_unmount(&volume->fs);
    nf2_freertos_unlock(volume);
    return result;
}
