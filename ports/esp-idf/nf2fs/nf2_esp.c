/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_esp.c - a driver over a partition: ESP-IDF itself waits for the chip, and keeps the cache
 * right.
 */
#ifdef ESP_PLATFORM             /* Arduino and PlatformIO compile every file for every board */

#include "nf2_esp.h"

#include <time.h>

#include "esp_idf_version.h"

#define BLOCK_MIN 4096u         /* what struct nf2_flash allows */
#define BLOCK_MAX 65536u
#define LARGE_SIZE 65536u       /* esp_flash erases by 64 KiB where address and length allow it */
#define CLOCK_IS_SET 1000000000 /* before 2001 it counts from the start of the chip */

static int partition_read(void *context, uint32_t address, void *data, uint32_t length)
{
    const struct nf2_esp *volume = context;
    return esp_partition_read(volume->partition, address, data, length) == ESP_OK ? 0 : -1;
}

static int partition_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const struct nf2_esp *volume = context;
    return esp_partition_write(volume->partition, address, data, length) == ESP_OK ? 0 : -1;
}

static int partition_erase(void *context, uint32_t address, uint32_t length)
{
    const struct nf2_esp *volume = context;
    return esp_partition_erase_range(volume->partition, address, length) == ESP_OK ? 0 : -1;
}

static uint64_t time_s(void *context)
{
    time_t now = time(NULL);
    (void)context;
    return now < CLOCK_IS_SET ? 0 : (uint64_t)now;
}

void nf2_esp_lock(void *context)
{
    struct nf2_esp *volume = context;
    (void)xSemaphoreTakeRecursive(volume->mutex, portMAX_DELAY);
}

void nf2_esp_unlock(void *context)
{
    struct nf2_esp *volume = context;
    (void)xSemaphoreGiveRecursive(volume->mutex);
}

bool nf2_esp_is_readonly(const esp_partition_t *partition)
{
#if ESP_IDF_VERSION >= ESP_IDF_VERSION_VAL(5, 2, 0)
    return partition->readonly;
#else
    (void)partition;
    return false;
#endif
}

/* The size of a block: one erase, or several small ones. 0: none fits. */
static uint32_t block_size_of(const esp_partition_t *partition)
{
    uint32_t block = partition->erase_size;
    if (block == 0 || block > BLOCK_MAX || (block & (block - 1u)) != 0) {
        return 0;
    }
    return block < BLOCK_MIN ? BLOCK_MIN : block;
}

/* A partition that begins in the middle of a 64 KiB erase has no large erases. */
static int configure(struct nf2_esp *volume, const esp_partition_t *partition)
{
    if (partition == NULL) {
        return NF2_ERR_NOENT;
    }
    if (partition->encrypted) {
        return NF2_ERR_INVAL;
    }
    uint32_t block = block_size_of(partition);
    if (block == 0) {
        return NF2_ERR_GEOMETRY;
    }
    if (partition->size / block < NF2_BLOCKS_MIN) {
        return NF2_ERR_NOSPC;
    }
    bool large = block < LARGE_SIZE && partition->address % LARGE_SIZE == 0;
    volume->partition = partition;
    volume->flash = (struct nf2_flash){
        .context = volume,
        .read = partition_read,
        .program = partition_program,
        .erase = partition_erase,
        .chip_size = partition->size / block * block,
        .block_size = block,
        .large_erase_size = large ? LARGE_SIZE : 0,
        .page_size = NF2_ESP_PAGE_SIZE,
        .program_unit = 1,
        .read_unit = 1,
        .read_page_us = 20,
        .program_page_us = 500,
        .erase_block_us = 50000,
        .large_erase_us = large ? 200000 : 0,
    };
    if (volume->mutex == NULL) {
        volume->mutex = xSemaphoreCreateRecursiveMutexStatic(&volume->mutex_memory);
    }
    volume->config = (struct nf2_config){
        .flash = &volume->flash, .buffer = volume->buffer, .buffer_size = sizeof(volume->buffer),
        .lock = nf2_esp_lock, .unlock = nf2_esp_unlock, .lock_context = volume, .time_s = time_s,
    };
    return NF2_OK;
}

int nf2_esp_mount_partition(struct nf2_esp *volume, const esp_partition_t *partition, int flags)
{
    int result = configure(volume, partition);
    if (result != NF2_OK) {
        return result;
    }
    bool reads = (flags & NF2_ESP_READ_ONLY) != 0 || nf2_esp_is_readonly(partition);
    result = nf2_mount(&volume->fs, &volume->config, reads ? NF2_MOUNT_RDONLY : NF2_MOUNT_RDWR);
    bool formats = !reads
                   && ((result == NF2_ERR_BLANK
                        && (flags & (NF2_ESP_FORMAT | NF2_ESP_FORMAT_FOREIGN)) != 0)
                       || (result == NF2_ERR_FOREIGN && (flags & NF2_ESP_FORMAT_FOREIGN) != 0));
    if (formats) {
        result = nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);
        if (result == NF2_OK) {
            result = nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);
        }
    }
    if (result == NF2_OK && !reads && (flags & NF2_ESP_KEEP_TIMES) != 0) {
        result = nf2_keep_times(&volume->fs);
    }
    return result;
}

int nf2_esp_mount(struct nf2_esp *volume, const char *label, int flags)
{
    const esp_partition_t *partition =
        esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, label);
    return nf2_esp_mount_partition(volume, partition, flags);
}

int nf2_esp_format(struct nf2_esp *volume, const esp_partition_t *partition)
{
    int result = configure(volume, partition);
    if (result != NF2_OK) {
        return result;
    }
    return nf2_esp_is_readonly(partition)
               ? NF2_ERR_ROFS
               : nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);
}

int nf2_esp_unmount(struct nf2_esp *volume)
{
    return nf2_unmount(&volume->fs);
}

#endif
