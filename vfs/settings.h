/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * settings.h - what may stand after a name: "littlefs:cache=4096,block=64K".
 *
 * A number may end in K or M (times 1,024, times 1,048,576).
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_WORD_MAX 32u

struct setting {
    char key[SETTINGS_WORD_MAX], value[SETTINGS_WORD_MAX];
};

/* The settings of "NAME:SETTINGS": "" where there are none. */
static inline const char *settings_of(const char *text)
{
    const char *colon = strchr(text, ':');
    return colon != NULL ? colon + 1 : text + strlen(text);
}

/* Whether the name before the settings is this one. */
static inline bool settings_name_is(const char *text, const char *name)
{
    size_t length = strcspn(text, ":");
    return strlen(name) == length && strncmp(text, name, length) == 0;
}

static inline bool settings_word(const char **text, const char *ends, char out[SETTINGS_WORD_MAX])
{
    size_t length = strcspn(*text, ends);
    if (length == 0 || length >= SETTINGS_WORD_MAX) {
        return false;
    }
    memcpy(out, *text, length);
    out[length] = '\0';
    *text += length;
    return true;
}

/* Takes the next one from the text: 1, or 0 at its end, or -1 where it is none. */
static inline int settings_next(const char **text, struct setting *out)
{
    if (**text == '\0') {
        return 0;
    }
    if (!settings_word(text, "=,", out->key) || **text != '=') {
        return -1;
    }
    ++*text;
    if (!settings_word(text, ",", out->value)) {
        return -1;
    }
    *text += **text == ',';
    return 1;
}

/* Whether the value is a number that fits; and that number. */
static inline bool settings_number(const char *value, uint32_t *out)
{
    char *end;
    unsigned long long number = strtoull(value, &end, 10);
    unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : 0;
    if (*value < '0' || *value > '9' || end[shift != 0] != '\0' || number > UINT32_MAX >> shift) {
        return false;
    }
    *out = (uint32_t)number << shift;
    return true;
}

#endif
