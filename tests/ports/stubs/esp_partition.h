/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * esp_partition.h - what the component for ESP-IDF uses of ESP-IDF's, declared anew. What was
 * compared with ESP-IDF is listed in README.md.
 */
#ifndef STUB_ESP_PARTITION_H
#define STUB_ESP_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "esp_err.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct esp_flash_t esp_flash_t;
typedef enum { ESP_PARTITION_TYPE_DATA = 1 } esp_partition_type_t;
typedef enum { ESP_PARTITION_SUBTYPE_ANY = 0xFF } esp_partition_subtype_t;
typedef struct {
    esp_flash_t *flash_chip;
    esp_partition_type_t type;
    esp_partition_subtype_t subtype;
    uint32_t address, size, erase_size;
    char label[17];
    bool encrypted, readonly;
} esp_partition_t;

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type,
                                                esp_partition_subtype_t subtype, const char *label);
esp_err_t esp_partition_read(const esp_partition_t *partition, size_t offset, void *data,
                             size_t length);
esp_err_t esp_partition_write(const esp_partition_t *partition, size_t offset, const void *data,
                              size_t length);
esp_err_t esp_partition_erase_range(const esp_partition_t *partition, size_t offset, size_t length);

#ifdef __cplusplus
}
#endif

#endif
