/* SPDX-License-Identifier: BSD-2-Clause */
/* guest_server.h - the process of the virtual machine that serves a volume through FUSE. */
#ifndef GUEST_SERVER_H
#define GUEST_SERVER_H

#include <stdint.h>
#include <sys/types.h>

#include "nf2fs/flash.h"

struct guest_server {
    pid_t process;      /* 0: none runs */
    uint64_t bytes;     /* of its memory, when that was noted */
};

/* These return 0 or a negative errno. */
int guest_server_format(const struct nf2_flash *chip);
/* Starts it, and waits until the volume is mounted. */
int guest_server_mount(struct guest_server *server, const struct nf2_flash *chip,
                       const char *mount_point);
/* Its end, after an unmount; nothing where none runs. */
int guest_server_wait(struct guest_server *server);

void guest_server_note_memory(struct guest_server *server);

#endif
