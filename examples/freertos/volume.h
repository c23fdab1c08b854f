/* SPDX-License-Identifier: BSD-2-Clause */
/* volume.h - one volume for the tasks of a FreeRTOS program: a mutex around each call, and a task that does the idle work. */
#ifndef VOLUME_H
#define VOLUME_H

#include "nf2fs/nf2fs.h"

/* For every call from any task. Files are each task's own: its nf2_file_t, and a buffer of a page. */
extern nf2_t volume;

/* Mounts the volume, which is formatted if the chip is blank, and starts the idle work. Called once, from main or a task. */
int volume_start(const struct nf2_flash *flash);

/* Unmounts; the idle work ends. What other tasks call afterwards returns an error. */
int volume_stop(void);

/* For a driver that waits for its chip (spi_nor's `pause`): other tasks run meanwhile. */
void volume_pause(void *bus, uint32_t us);

#endif
