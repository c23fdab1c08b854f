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
#include <stdio.h>
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

struct setting_field {
    const char *key;
    uint32_t *value;
    uint32_t least, most;
};

/* Fills the fields in from "key=value,...". Or false, with a message. */
static inline bool settings_read(const char *text, const struct setting_field *fields, unsigned count, char *message, size_t message_size)
{
    struct setting setting;
    int more;
    while ((more = settings_next(&text, &setting)) == 1) {
        unsigned i = 0;
        uint32_t value;
        while (i < count && strcmp(fields[i].key, setting.key) != 0) {
            i++;
        }
        if (i == count) {
            snprintf(message, message_size, "there is no setting \"%s\"", setting.key);
            return false;
        }
        if (!settings_number(setting.value, &value) || value < fields[i].least || value > fields[i].most) {
            snprintf(message, message_size, "%s is from %u to %u, not \"%s\"", setting.key, (unsigned)fields[i].least, (unsigned)fields[i].most, setting.value);
            return false;
        }
        *fields[i].value = value;
    }
    if (more < 0) {
        snprintf(message, message_size, "settings are written NAME:KEY=VALUE,KEY=VALUE");
    }
    return more == 0;
}

#endif
