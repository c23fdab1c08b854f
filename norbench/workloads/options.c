/* SPDX-License-Identifier: BSD-2-Clause */
/* options.c - what may stand after a workload's name: "wake:count=1000,end=cut". */
#include <stdio.h>

#include "settings.h"
#include "workload.h"

static const char *const end_names[] = {[END_NONE] = "none", [END_UNMOUNT] = "unmount", [END_CUT] = "cut"};
static const char *const load_names[] = {[LOAD_MIXED] = "mixed", [LOAD_FILES] = "files", [LOAD_LOG] = "log", [LOAD_OVERWRITE] = "overwrite"};

/* The place of a word in a list, or -1. */
static int place_of(const char *word, const char *const *list, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(word, list[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* Whether the workload takes the option. */
static bool takes(const struct workload *workload, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = workload->options; at != NULL && *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        if (strcspn(at, ",") == length && strncmp(at, key, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool set_word(struct workload *workload, const struct setting *option)
{
    int place;
    if (strcmp(option->key, "end") == 0) {
        place = place_of(option->value, end_names, sizeof(end_names) / sizeof(end_names[0]));
        workload->end = place >= 0 ? (enum workload_end)place : END_NONE;
    } else {
        place = place_of(option->value, load_names, sizeof(load_names) / sizeof(load_names[0]));
        workload->load = place >= 0 ? (enum workload_load)place : LOAD_MIXED;
    }
    return place >= 0;
}

static bool set_number(struct workload *workload, const struct setting *option)
{
    struct {
        const char *key;
        uint32_t *field;
        uint32_t least, most;
    } const numbers[] = {
        {"size", &workload->size, 1, 64 * KIB}, {"count", &workload->count, 1, 1000000000}, {"fill", &workload->fill, 0, 100},
        {"cold", &workload->cold, 0, 100},      {"logs", &workload->logs, 1, 64},    {"total", &workload->size, 256, 64 * MIB},
    };
    uint32_t value;
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(option->key, numbers[i].key) == 0) {
            bool good = settings_number(option->value, &value) && value >= numbers[i].least && value <= numbers[i].most;
            *numbers[i].field = good ? value : *numbers[i].field;
            return good;
        }
    }
    return false;
}

bool workload_find(const char *text, struct workload *out, char *message, size_t message_size)
{
    const struct workload *found = NULL;
    for (unsigned i = 0; found == NULL && workload_at(i) != NULL; i++) {
        found = settings_name_is(text, workload_at(i)->name) ? workload_at(i) : NULL;
    }
    if (found == NULL) {
        snprintf(message, message_size, "no workload \"%s\": see --list", text);
        return false;
    }
    *out = *found;
    out->name = text;
    struct setting option;
    const char *rest = settings_of(text);
    int more;
    while ((more = settings_next(&rest, &option)) == 1) {
        bool word = strcmp(option.key, "end") == 0 || strcmp(option.key, "load") == 0;
        if (!takes(found, option.key)) {
            snprintf(message, message_size, "%s has no option \"%s\"; it has %s", found->name, option.key, found->options != NULL ? found->options : "none");
            return false;
        }
        if (!(word ? set_word(out, &option) : set_number(out, &option))) {
            snprintf(message, message_size, "%s: %s cannot be \"%s\"", found->name, option.key, option.value);
            return false;
        }
    }
    if (more < 0) {
        snprintf(message, message_size, "\"%s\": options are written NAME:KEY=VALUE,KEY=VALUE", text);
    }
    return more == 0;
}
