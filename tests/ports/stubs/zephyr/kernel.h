/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel.h - see fs/fs.h. */
#ifndef STUB_ZEPHYR_KERNEL_H
#define STUB_ZEPHYR_KERNEL_H

struct k_mutex { int count; };
#define K_FOREVER 0
#define K_MUTEX_DEFINE(name) struct k_mutex name
int k_mutex_init(struct k_mutex *mutex);
int k_mutex_lock(struct k_mutex *mutex, int wait);
int k_mutex_unlock(struct k_mutex *mutex);

#endif
