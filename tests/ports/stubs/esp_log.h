/* SPDX-License-Identifier: BSD-2-Clause */
/* esp_log.h - see esp_partition.h: the arguments are checked, and nothing is printed. */
#ifndef STUB_ESP_LOG_H
#define STUB_ESP_LOG_H

#include <stdio.h>

#define ESP_LOGE(tag, format, ...) ((void)snprintf(NULL, 0, "%s: " format, tag, __VA_ARGS__))

#endif
