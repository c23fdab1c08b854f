/* SPDX-License-Identifier: BSD-2-Clause */
/* image.c - chips over image files: a shared mapping, so only what changed is written back. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"

/* Writes the whole file, so that the medium has room for it before it is mapped. Returns 0, or -1 and errno. */
static int write_blank(int file, uint32_t size)
{
    uint8_t blank[16384];
    memset(blank, 0xFF, sizeof(blank));
    while (size > 0) {
        ssize_t written = write(file, blank, size < sizeof(blank) ? size : sizeof(blank));
        if (written < 0 && errno != EINTR) {
            return -1;
        }
        size -= written > 0 ? (uint32_t)written : 0;
    }
    return 0;
}

/* Makes the file, or none at all. Returns 0, or -1 and errno; EEXIST: there is one. */
static int make_image(const char *path, uint32_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0) {
        return -1;
    }
    int result = write_blank(file, size);
    int error = errno;
    if (close(file) != 0 && result == 0) {
        result = -1;
        error = errno;
    }
    if (result != 0) {
        (void)unlink(path);
        errno = error;
    }
    return result;
}

/* Opens a file of the chip's size. Returns the descriptor, or -1 with a message. */
static int open_image(const struct vflash_chip *chip, const char *path, bool read_only, char *message, size_t message_size)
{
    if (!read_only && make_image(path, chip->size) != 0 && errno != EEXIST) {
        snprintf(message, message_size, "%s: cannot be made: %s", path, strerror(errno));
        return -1;
    }
    int file = open(path, read_only ? O_RDONLY : O_RDWR);
    struct stat facts;
    if (file < 0 || fstat(file, &facts) != 0) {
        snprintf(message, message_size, "%s: cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(facts.st_mode)) {
        snprintf(message, message_size, "%s: not a regular file", path);
    } else if (facts.st_size != (off_t)chip->size) {
        snprintf(message, message_size, "%s: the image has %lld bytes, chip %s has %lu", path, (long long)facts.st_size, chip->name,
                 (unsigned long)chip->size);
    } else {
        return file;
    }
    if (file >= 0) {
        (void)close(file);
    }
    return -1;
}

/* Maps the file; of one that is only read, changes stay in memory. Returns NULL on failure, with a message. */
static uint8_t *map_image(int file, const char *path, uint32_t size, bool read_only, char *message, size_t message_size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, read_only ? MAP_PRIVATE : MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        snprintf(message, message_size, "%s: cannot be mapped: %s", path, strerror(errno));
        return NULL;
    }
    return memory;
}

struct vflash *vflash_open(const struct vflash_chip *facts, const char *image_path, bool read_only, char *message, size_t message_size)
{
    struct vflash *chip = chip_make(facts, message, message_size);
    if (chip == NULL) {
        return NULL;
    }
    int file = open_image(facts, image_path, read_only, message, message_size);
    if (file >= 0) {
        chip->memory = map_image(file, image_path, facts->size, read_only, message, message_size);
        (void)close(file);      /* the mapping holds the file */
    }
    if (chip->memory == NULL) {
        vflash_free(chip);
        return NULL;
    }
    chip->mapped = true;
    chip->read_only = read_only;
    units_adopt(chip);
    return chip;
}

int vflash_flush(struct vflash *chip)
{
    if (!chip->mapped || chip->read_only) {
        return 0;
    }
    return msync(chip->memory, chip->chip.size, MS_SYNC);
}

void image_unmap(struct vflash *chip)
{
    (void)munmap(chip->memory, chip->chip.size);
    chip->memory = NULL;
}
