/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_lines.h - inputs that are kept: a text file, one input a line, in hexadecimal. */
#ifndef FUZZ_LINES_H
#define FUZZ_LINES_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_LINE_MAX 512u      /* bytes of an input */

/* Runs each line of the file. Returns how many there were, or -1 with a message. */
long fuzz_lines(const char *path, int (*run)(const uint8_t *data, size_t size));

#endif
