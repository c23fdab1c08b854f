/* SPDX-License-Identifier: BSD-2-Clause */
/* guest_server.c - the process of the virtual machine that serves a volume through FUSE. */
#include "guest_server.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "/bin/nf2-fuse"
#define MOUNT_MS 60000u     /* longer than any mount takes */

static pid_t start(const struct nf2_flash *chip, const char *what)
{
    char page[16], large[16];
    snprintf(page, sizeof(page), "%u", (unsigned)chip->page_size);
    snprintf(large, sizeof(large), "%u", (unsigned)chip->large_erase_size);
    pid_t child = fork();
    if (child == 0) {
        execl(PROGRAM, PROGRAM, what, "/dev/mtd0", page, large, (char *)NULL);
        _exit(127);
    }
    return child;
}

static bool is_mounted(const char *mount_point)
{
    char line[512], wanted[64];
    bool found = false;
    snprintf(wanted, sizeof(wanted), " %s ", mount_point);
    FILE *mounts = fopen("/proc/mounts", "r");
    while (mounts != NULL && fgets(line, sizeof(line), mounts) != NULL) {
        found = found || strstr(line, wanted) != NULL;
    }
    if (mounts != NULL) {
        fclose(mounts);
    }
    return found;
}

int guest_server_format(const struct nf2_flash *chip)
{
    struct guest_server server = {.process = start(chip, "format")};
    return server.process > 0 ? guest_server_wait(&server) : -ENOMEM;
}

int guest_server_mount(struct guest_server *server, const struct nf2_flash *chip,
                       const char *mount_point)
{
    server->process = start(chip, mount_point);
    if (server->process < 0) {
        server->process = 0;
        return -ENOMEM;
    }
    for (uint32_t waited_ms = 0; !is_mounted(mount_point); waited_ms++) {
        if (waitpid(server->process, NULL, WNOHANG) != 0) {
            server->process = 0;
            return -EIO;
        }
        if (waited_ms == MOUNT_MS) {
            kill(server->process, SIGKILL);
            (void)guest_server_wait(server);
            return -EIO;
        }
        usleep(1000);
    }
    return 0;
}

int guest_server_wait(struct guest_server *server)
{
    int status = 0;
    pid_t process = server->process;
    server->process = 0;
    if (process == 0) {
        return 0;
    }
    bool ended = waitpid(process, &status, 0) == process;
    return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

void guest_server_note_memory(struct guest_server *server)
{
    char path[64], line[128];
    unsigned long long kib = 0;
    if (server->process == 0) {
        return;
    }
    snprintf(path, sizeof(path), "/proc/%d/status", (int)server->process);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "RssAnon: %llu", &kib);
    }
    if (file != NULL) {
        fclose(file);
    }
    server->bytes = kib * 1024;
}
