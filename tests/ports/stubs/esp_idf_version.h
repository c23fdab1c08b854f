/* SPDX-License-Identifier: BSD-2-Clause */
/* esp_idf_version.h - see esp_partition.h. */
#ifndef STUB_ESP_IDF_VERSION_H
#define STUB_ESP_IDF_VERSION_H

#define ESP_IDF_VERSION_VAL(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))
#ifndef ESP_IDF_VERSION
#define ESP_IDF_VERSION ESP_IDF_VERSION_VAL(5, 2, 0)
#endif

#endif
