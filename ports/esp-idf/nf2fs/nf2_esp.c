/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_esp.c - a driver over a partition: ESP-IDF itself waits
 * for the chip, and keeps the cache right.
 */
#include "nf2_esp.h"

#define BLOCK_SIZE 4096u
#define LARGE_SIZE 65536u       /* esp_flash erases by 64 KiB where address and length allow it */

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

/* A partition that begins in the middle of a 64 KiB erase has no large erases. */
static void configure(struct nf2_esp *volume)
{
    bool aligned = volume->partition->address % LARGE_SIZE == 0;
    volume->flash = (struct nf2_flash){
        .context = volume,
        .read = partition_read,
        .program = partition_program,
        .erase = partition_erase,
        .chip_size = volume->partition->size / BLOCK_SIZE * BLOCK_SIZE,
        .block_size = BLOCK_SIZE,
        .large_erase_size = aligned ? LARGE_SIZE : 0,
        .page_size = NF2_ESP_PAGE_SIZE,
        .program_unit = 1,
        .read_unit = 1,
        .read_page_us = 20,
        .program_page_us = 500,
        .erase_block_us = 50000,
        .large_erase_us = aligned ? 200000 : 0,
    };
    volume->config = (struct nf2_config){
        .flash = &volume->flash, .buffer = volume->buffer, .buffer_size = sizeof(volume->buffer),
        .lock = nf2_esp_lock, .unlock = nf2_esp_unlock, .lock_context = volume,
    };
}

int nf2_esp_mount(struct nf2_esp *volume, const char *label, bool format)
{
    volume->partition =
        esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, label);
    if (volume->partition == NULL) {
        return NF2_ERR_NOENT;
    }
    if (volume->partition->encrypted) {
        return NF2_ERR_INVAL;
    }
    if (volume->mutex == NULL) {
        volume->mutex = xSemaphoreCreateRecursiveMutexStatic(&volume->mutex_memory);
    }
    configure(volume);
    int result = nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);
    if (result == NF2_ERR_BLANK && format) {
        result = nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);
        result =
            result == NF2_OK ? nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR) : result;
    }
    return result;
}

int nf2_esp_unmount(struct nf2_esp *volume)
{
    return nf2_unmount(&volume->fs);
}
