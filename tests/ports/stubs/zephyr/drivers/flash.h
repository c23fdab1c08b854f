/* SPDX-License-Identifier: BSD-2-Clause */
/* flash.h - see ../fs/fs.h. */
#ifndef STUB_ZEPHYR_FLASH_H
#define STUB_ZEPHYR_FLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct device;
struct flash_pages_info { off_t start_offset; size_t size; uint32_t index; };
typedef bool (*flash_page_cb)(const struct flash_pages_info *info, void *data);
void flash_page_foreach(const struct device *device, flash_page_cb callback, void *data);

#endif
