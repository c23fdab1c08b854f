/* SPDX-License-Identifier: BSD-2-Clause */
/* esp_err.h - see esp_partition.h. */
#ifndef STUB_ESP_ERR_H
#define STUB_ESP_ERR_H

typedef int esp_err_t;
#define ESP_OK 0
#define ESP_FAIL -1
#define ESP_ERR_NO_MEM 0x101
#define ESP_ERR_INVALID_ARG 0x102
#define ESP_ERR_INVALID_STATE 0x103
#define ESP_ERR_INVALID_SIZE 0x104
#define ESP_ERR_NOT_FOUND 0x105
#define ESP_ERR_NOT_SUPPORTED 0x106
#define ESP_ERR_NOT_ALLOWED 0x10D

#endif
