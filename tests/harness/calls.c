/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c - see calls.h. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

static const char *const op_names[OP_COUNT] = {
    "open", "close", "read", "write", "seek", "tell", "size", "truncate", "preallocate", "sync", "stat", "mkdir",
    "remove", "rename", "opendir", "readdir", "rewinddir", "closedir", "maintain", "statfs", "check", "verify",
    "unmount", "abandon", "cut", "look", "mount", "break", "fail", "empty", "save",
    "load"
};

static char *copy_text(const char *text)
{
    size_t size;
    char *copy;

    if (!text) {
        return NULL;
    }
    size = strlen(text) + 1;
    copy = malloc(size);
    if (!copy) {
        abort();
    }
    memcpy(copy, text, size);
    return copy;
}

void calls_add(struct call_list *list, enum op op, int handle, int64_t number, uint32_t extra, const char *path,
               const char *path2)
{
    struct call *call;

    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->call = realloc(list->call, list->room * sizeof *list->call);
        if (!list->call) {
            abort();
        }
    }
    call = &list->call[list->count++];
    call->op = op;
    call->handle = handle;
    call->number = number;
    call->extra = extra;
    call->path = copy_text(path);
    call->path2 = copy_text(path2);
}

void calls_add_copy(struct call_list *list, const struct call *call)
{
    calls_add(list, call->op, call->handle, call->number, call->extra, call->path, call->path2);
}

void calls_cut(struct call_list *list, unsigned count)
{
    while (list->count > count) {
        list->count--;
        free(list->call[list->count].path);
        free(list->call[list->count].path2);
    }
}

void calls_free(struct call_list *list)
{
    calls_cut(list, 0);
    free(list->call);
    memset(list, 0, sizeof *list);
}

static void print_path(FILE *out, const char *path)
{
    fputs(" =", out);
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;

        if (c > ' ' && c < 127 && c != '%') {
            fputc(c, out);
        } else {
            fprintf(out, "%%%02X", c);
        }
    }
}

void call_print(FILE *out, const struct call *call)
{
    fprintf(out, "%s %d %lld %lu", op_names[call->op], call->handle, (long long)call->number, (unsigned long)call->extra);
    if (call->path) {
        print_path(out, call->path);
    }
    if (call->path2) {
        print_path(out, call->path2);
    }
    fputc('\n', out);
}

/* Decodes a path in place; NULL where it makes no sense. */
static char *decode_path(char *text)
{
    char *to = text;
    char *from = text + 1;

    if (*text != '=') {
        return NULL;
    }
    while (*from) {
        if (*from == '%') {
            unsigned value;

            if (sscanf(from + 1, "%2X", &value) != 1 || value == 0) {
                return NULL;
            }
            *to++ = (char)value;
            from += 3;
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
    return text;
}

static bool parse_line(char *line, struct call_list *list)
{
    char *word[6] = { 0 };
    unsigned words = 0;
    int op;

    for (char *token = strtok(line, " \r\n"); token && words < 6; token = strtok(NULL, " \r\n")) {
        word[words++] = token;
    }
    if (words == 0) {
        return true;
    }
    for (op = 0; op < OP_COUNT && strcmp(word[0], op_names[op]) != 0; op++) {
    }
    if (op == OP_COUNT || words < 4) {
        return false;
    }
    for (unsigned i = 4; i < words; i++) {
        word[i] = decode_path(word[i]);
        if (!word[i]) {
            return false;
        }
    }
    calls_add(list, (enum op)op, atoi(word[1]), atoll(word[2]), (uint32_t)strtoul(word[3], NULL, 10), word[4], word[5]);
    return true;
}

bool calls_read(FILE *in, struct call_list *list)
{
    static char line[64 * 1024];

    while (fgets(line, sizeof line, in)) {
        if (line[0] != '#' && !parse_line(line, list)) {
            return false;
        }
    }
    return true;
}

void call_data(uint8_t *data, uint32_t length, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1u;

    if (seed % 16 < 2) {
        memset(data, seed % 16 == 0 ? 0xFF : 0, length);
        return;
    }
    for (uint32_t i = 0; i < length; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        data[i] = (uint8_t)state;
    }
}

uint32_t random_number(uint64_t *state, uint32_t below)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return below ? (uint32_t)((z >> 32) % below) : 0;
}
