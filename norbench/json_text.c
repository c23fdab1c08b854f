/* SPDX-License-Identifier: BSD-2-Clause */
/* json_text.c - a string as JSON. */
#include "json_text.h"

#include <stdio.h>

void json_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            printf("\\%c", *text);
        } else if ((unsigned char)*text < 0x20) {
            printf("\\u%04x", (unsigned)(unsigned char)*text);
        } else {
            putchar(*text);
        }
    }
    putchar('"');
}
