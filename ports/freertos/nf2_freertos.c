/* SPDX-License-Identifier: BSD-2-Clause */
/* nf2_freertos.c - lock, waiting and idle work under FreeRTOS. */
#include "nf2_freertos.h"

#if !defined(configCPU_CLOCK_HZ) && !defined(NF2_FREERTOS_CLOCK_US)
#error \
    "FreeRTOSConfig.h needs configCPU_CLOCK_HZ or NF2_FREERTOS_CLOCK_US(): see nf2_freertos_delay"
#endif

#define TICK_US (1000000u / configTICK_RATE_HZ)
#define IDLE_MS 1000u           /* nothing was left to do */
#define NEXT_STEP_MS 10u
#define SLEEP_US 1000u          /* whoever waits for that long sleeps, however long a tick is */
#define YIELDING_TICKS 4u       /* then a wait that only yields sleeps for a tick */
#define POLL_US 10u             /* between two yields, at least */

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

/* ---- time ------------------------------------------------------------------------------------ */

static uint32_t spun_us;        /* before the scheduler starts no tick comes: this is the clock */

/*
 * Busy for at least that long. A turn of the inner loop loads, subtracts and stores one after the
 * other: it takes three clocks or more.
 */
static void spin(uint32_t us)
{
#ifdef NF2_FREERTOS_CLOCK_US
    uint32_t begun_us = NF2_FREERTOS_CLOCK_US();
    while ((uint32_t)(NF2_FREERTOS_CLOCK_US() - begun_us) <= us) {
    }
#else
    for (uint32_t left_us = us; left_us > 0; left_us--) {
        for (volatile uint32_t turns = configCPU_CLOCK_HZ / 3000000u + 1u; turns > 0; turns--) {
        }
    }
#endif
    if (!running()) {
        spun_us += us;
    }
}

/* A delay of n ticks ends with the n-th tick, and the first one may come at once. */
void nf2_freertos_delay(void *unused, uint32_t us)
{
    (void)unused;
    if (running() && us >= SLEEP_US && us >= 2u * TICK_US) {
        vTaskDelay((TickType_t)(us / TICK_US + 2u));
    } else {
        spin(us);
    }
}

/*
 * Yields reach no task of a lower priority, and it may be one of those that is waited for: whoever
 * waits by yields for half of some ticks sleeps for the next one. Single programs do not.
 */
static bool yields_for_long(uint32_t us)
{
    static TickType_t since;
    static uint32_t yielded_us;
    TickType_t now = xTaskGetTickCount(), passed = (TickType_t)(now - since);
    yielded_us += us + POLL_US;
    if (passed < YIELDING_TICKS) {
        return false;
    }
    bool for_long = passed == YIELDING_TICKS && yielded_us >= YIELDING_TICKS * TICK_US / 2u;
    since = now;
    yielded_us = 0;
    return for_long;
}

void nf2_freertos_pause(void *unused, uint32_t us)
{
    (void)unused;
    if (!running()) {
        spin(us);
    } else if (us >= SLEEP_US || us >= TICK_US) {
        vTaskDelay((TickType_t)(us >= TICK_US ? us / TICK_US : 1u));
    } else if (yields_for_long(us)) {
        vTaskDelay(1);
    } else {
        taskYIELD();            /* a program ends sooner than the next tick: ask again at once */
    }
}

uint32_t nf2_freertos_now_us(void *unused)
{
    (void)unused;
#ifdef NF2_FREERTOS_CLOCK_US
    return NF2_FREERTOS_CLOCK_US();
#else
    static TickType_t last = (TickType_t)configINITIAL_TICK_COUNT;
    static uint32_t ticks;          /* a count of 16 bits goes on in 32 */
    taskENTER_CRITICAL();
    TickType_t now = xTaskGetTickCount();
    ticks += (uint32_t)(TickType_t)(now - last);
    last = now;
    uint32_t passed = ticks;
    taskEXIT_CRITICAL();
    return spun_us + passed * TICK_US;
#endif
}

/* ---- the chip of several tasks --------------------------------------------------------------- */

void nf2_freertos_claim(void *context)
{
    struct nf2_freertos_chip *chip = context;
    if (running()) {
        (void)xSemaphoreTake(chip->claim, portMAX_DELAY);
    }
}

void nf2_freertos_release(void *context)
{
    struct nf2_freertos_chip *chip = context;
    if (running()) {
        (void)xSemaphoreGive(chip->claim);
    }
}

void nf2_freertos_bus_lock(void *context)
{
    struct nf2_freertos_chip *chip = context;
    if (running()) {
        (void)xSemaphoreTake(chip->bus, portMAX_DELAY);
    }
}

void nf2_freertos_bus_unlock(void *context)
{
    struct nf2_freertos_chip *chip = context;
    if (running()) {
        (void)xSemaphoreGive(chip->bus);
    }
}

void nf2_freertos_chip_init(struct nf2_freertos_chip *chip)
{
    chip->claim = xSemaphoreCreateMutexStatic(&chip->claim_memory);
    chip->bus = xSemaphoreCreateMutexStatic(&chip->bus_memory);
}

/* ---- idle work ------------------------------------------------------------------------------- */

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
