/* SPDX-License-Identifier: BSD-2-Clause */
/* guest_kernel.c - the kernel of the virtual machine: its modules and its memory. */
#include "guest_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODULES "/modules/"

static int load_file(const char *name, const char *parameters)
{
    char path[128];
    snprintf(path, sizeof(path), MODULES "%s.ko", name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -errno;
    }
    int result = syscall(SYS_finit_module, file, parameters, 0) == 0 || errno == EEXIST ? 0 :
                                                                                          -errno;
    close(file);
    return result;
}

int guest_load(const char *name, const char *parameters)
{
    /*
     * Made with the machine: a line for each module, its name and then the modules that it needs,
     * in the order in which they load.
     */
    char line[1024];
    int result = -ENOENT;
    FILE *list = fopen(MODULES "needs", "r");
    while (list != NULL && result == -ENOENT && fgets(line, sizeof(line), list) != NULL) {
        char *rest = NULL;
        char *word = strtok_r(line, " \n", &rest);
        if (word == NULL || strcmp(word, name) != 0) {
            continue;
        }
        result = 0;
        while (result == 0 && (word = strtok_r(NULL, " \n", &rest)) != NULL) {
            result = load_file(word, "");
        }
        result = result == 0 ? load_file(name, parameters) : result;
    }
    if (list != NULL) {
        fclose(list);
    }
    if (result != 0) {
        fprintf(stderr, "the module %s cannot be loaded: %s\n", name, strerror(-result));
    }
    return result;
}

void guest_unload(const char *name)
{
    syscall(SYS_delete_module, name, 0);
}

uint64_t guest_module_bytes(const char *name)
{
    char line[512], found[64];
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/modules", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        unsigned long long size;
        if (sscanf(line, "%63s %llu", found, &size) == 2 && strcmp(found, name) == 0) {
            bytes = size;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

uint64_t guest_kernel_bytes(void)
{
    static const char *const counted[] = {"Slab:", "VmallocUsed:"};
    char line[128];
    uint64_t kib = 0;
    guest_put("/proc/sys/vm/drop_caches", "3");
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        for (unsigned i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
            unsigned long long value;
            if (strncmp(line, counted[i], strlen(counted[i])) == 0 &&
                sscanf(line + strlen(counted[i]), "%llu", &value) == 1) {
                kib += value;
            }
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib * 1024;
}

int guest_put(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return -errno;
    }
    int result = write(file, text, strlen(text)) < 0 ? -errno : 0;
    close(file);
    return result;
}

int64_t guest_number(const char *path)
{
    long long number = -1;
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%lld", &number) != 1) {
            number = -1;
        }
        fclose(file);
    }
    return number;
}
