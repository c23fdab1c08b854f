/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_esp.h - a volume on a data partition of ESP-IDF.
 *
 *     static struct nf2_esp volume;
 *     int result = nf2_esp_mount(&volume, "storage", true);
 *     nf2_open(&volume.fs, ...)        then, from any task
 *
 * The partition must not be encrypted: encrypted flash is written in units of 16 bytes, once each.
 * For POSIX calls attach nf2_posix.h with nf2_esp_lock and nf2_esp_unlock.
 *
 * Not compiled against ESP-IDF's own headers, which are in no package registry: the test compiles
 * it, and runs it, against declarations of our own in tests/ports/stubs that follow the
 * documentation of ESP-IDF 5 and were compared with its headers by reading.
 */
#ifndef NF2_ESP_H
#define NF2_ESP_H

#include <stdbool.h>

#include "esp_partition.h"
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"

#include "nf2fs/nf2fs.h"

#define NF2_ESP_PAGE_SIZE 256u

struct nf2_esp {
    nf2_t fs;

    /* private */
    const esp_partition_t *partition;
    struct nf2_flash flash;
    struct nf2_config config;
    StaticSemaphore_t mutex_memory;
    SemaphoreHandle_t mutex;
    uint8_t buffer[NF2_BUFFER_SIZE(NF2_ESP_PAGE_SIZE)];
};

/*
 * Of that label. `format`: a partition that has no volume, and is blank where nf2_mount has looked
 * (NF2_ERR_BLANK), is formatted. Errors: those of nf2_mount; NOENT: no such partition; INVAL:
 * encrypted.
 */
int nf2_esp_mount(struct nf2_esp *volume, const char *label, bool format);
int nf2_esp_unmount(struct nf2_esp *volume);

/* Nest. `volume` is a struct nf2_esp. */
void nf2_esp_lock(void *volume);
void nf2_esp_unlock(void *volume);

#endif
