/* SPDX-License-Identifier: BSD-2-Clause */
/* flash_map.h - see ../fs/fs.h. */
#ifndef STUB_ZEPHYR_FLASH_MAP_H
#define STUB_ZEPHYR_FLASH_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct device;
struct flash_area { uint8_t fa_id; off_t fa_off; size_t fa_size; const struct device *fa_dev; };
int flash_area_open(uint8_t id, const struct flash_area **area);
void flash_area_close(const struct flash_area *area);
int flash_area_read(const struct flash_area *area, off_t offset, void *data, size_t length);
int flash_area_write(const struct flash_area *area, off_t offset, const void *data, size_t length);
int flash_area_flatten(const struct flash_area *area, off_t offset, size_t length);
uint32_t flash_area_align(const struct flash_area *area);
const struct device *flash_area_get_device(const struct flash_area *area);

#endif
