/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_esp.h - a volume on a data partition of ESP-IDF (5.0 and later), for the calls of nf2fs.h.
 * esp_nf2fs.h gives fopen() and its like instead, and registers the volume with the VFS.
 *
 *     static struct nf2_esp volume;
 *     int result = nf2_esp_mount(&volume, "files", NF2_ESP_FORMAT);
 *     nf2_open(&volume.fs, ...)        then, from any task
 *
 * The partition must not be encrypted: encrypted flash is written in units of 16 bytes, and reads
 * as garbage where it is erased.
 */
#ifndef NF2_ESP_H
#define NF2_ESP_H

#include <stdbool.h>

#include "esp_partition.h"
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"

#include "nf2fs/nf2fs.h"

#ifdef __cplusplus
extern "C" {
#endif

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

enum nf2_esp_flags {
    NF2_ESP_FORMAT = 1,         /* formats a partition that nf2_mount finds BLANK; no other */
    NF2_ESP_FORMAT_FOREIGN = 2, /* formats one that holds something else (FOREIGN), too */
    NF2_ESP_READ_ONLY = 4,      /* mounts for reading, and never formats */
    NF2_ESP_KEEP_TIMES = 8      /* see nf2_keep_times; the clock is time() once it is set */
};

/*
 * Mounts the data partition of that label, or a given one. A partition that the partition table
 * marks as read-only is mounted as with NF2_ESP_READ_ONLY. Errors: those of nf2_mount; NOENT: no
 * such partition; INVAL: it is encrypted; GEOMETRY: its erase size is not a power of two up to
 * 64 KiB; NOSPC: it is too small.
 */
int nf2_esp_mount(struct nf2_esp *volume, const char *label, int flags);
int nf2_esp_mount_partition(struct nf2_esp *volume, const esp_partition_t *partition, int flags);
int nf2_esp_unmount(struct nf2_esp *volume);

/* Makes an empty volume; what the partition held is lost. It must not be mounted. Errors: ROFS. */
int nf2_esp_format(struct nf2_esp *volume, const esp_partition_t *partition);

/* Whether the partition table marks it as read-only (from ESP-IDF 5.2 on). */
bool nf2_esp_is_readonly(const esp_partition_t *partition);

/* Nest. `volume` is a struct nf2_esp. */
void nf2_esp_lock(void *volume);
void nf2_esp_unlock(void *volume);

#ifdef __cplusplus
}
#endif
#endif
