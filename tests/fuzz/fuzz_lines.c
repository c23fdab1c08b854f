/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_lines.c - see fuzz_lines.h. */
#include "fuzz_lines.h"

#include <stdio.h>
#include <string.h>

/* The value of a hexadecimal digit; 16: it is none. */
static unsigned digit(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10u : 16u;
}

/* The bytes of a line; -1: it makes no sense. */
static long bytes_of(const char *line, uint8_t *data)
{
    size_t length = strcspn(line, "\n"), size = length / 2;

    for (size_t i = 0; i < size; i++) {
        unsigned high = digit(line[2 * i]), low = digit(line[2 * i + 1]);

        if (high > 15 || low > 15) {
            return -1;
        }
        data[i] = (uint8_t)(16 * high + low);
    }
    return length % 2 ? -1 : (long)size;
}

long fuzz_lines(const char *path, int (*run)(const uint8_t *data, size_t size))
{
    static uint8_t data[FUZZ_LINE_MAX];
    static char line[2 * FUZZ_LINE_MAX + 2];
    FILE *in = fopen(path, "r");
    long count = 0;

    while (in && count >= 0 && fgets(line, sizeof line, in)) {
        long size = bytes_of(line, data);

        if (size >= 0) {
            (void)run(data, (size_t)size);
        }
        count = size < 0 ? -1 : count + 1;
    }
    if (!in || count < 0) {
        fprintf(stderr, "%s cannot be read\n", path);
    }
    if (in) {
        fclose(in);
    }
    return in ? count : -1;
}
