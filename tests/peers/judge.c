/* SPDX-License-Identifier: BSD-2-Clause */
/* judge.c - see judge.h. */
#include "peers/judge.h"

#include <stdio.h>
#include <string.h>

const char *const promise_names[PROMISE_COUNT] = { "runs", "mounts", "readable", "durable", "whole", "rename", "no ghost", "goes on", "space" };

static const struct image_entry *entry_at(const struct image *image, const char *path)
{
    for (uint32_t i = 0; i < image->count; i++) {
        if (strcmp(image->entry[i].path, path) == 0) {
            return &image->entry[i];
        }
    }
    return NULL;
}

static bool same(const struct image_entry *a, const struct image_entry *b)
{
    if (!a || !b) {
        return a == b;
    }
    return a->type == b->type && a->content.size == b->content.size
           && (a->content.size == 0 || memcmp(a->content.data, b->content.data, a->content.size) == 0);
}

struct verdict {
    const struct image *found, *before, *after, *now;
    bool rename, is_before, is_after;
    unsigned broken;
    char *text;
    uint32_t size;
};

static void broken(struct verdict *verdict, enum promise promise, const char *what, const char *path)
{
    if (!verdict->broken) {
        snprintf(verdict->text, verdict->size, "%s: %s: %.100s", promise_names[promise], what, path);
    }
    verdict->broken |= 1u << promise;
}

static void judge_path(struct verdict *verdict, const char *path)
{
    const struct image_entry *found = entry_at(verdict->found, path), *before = entry_at(verdict->before, path);
    const struct image_entry *after = entry_at(verdict->after, path);
    bool as_before = same(found, before), as_after = same(found, after), subject = !same(before, after);
    bool new_file = !before && (entry_at(verdict->now, path) || after);

    if (new_file && !as_before && !as_after && found && found->type == NF2_TYPE_FILE && found->content.size == 0) {
        broken(verdict, PROMISE_NO_GHOST, "a file that was never synced", path);
        as_before = true;
    }
    if (!subject) {
        if (!as_before && !as_after) {
            broken(verdict, PROMISE_DURABLE, !found ? "lost" : !before ? "there is too much" : "changed", path);
        }
        return;
    }
    if (!as_before && !as_after) {
        broken(verdict, verdict->rename ? PROMISE_RENAME : PROMISE_WHOLE, "neither as before nor as after", path);
    }
    verdict->is_before &= as_before;
    verdict->is_after &= as_after;
    if (!verdict->is_before && !verdict->is_after) {
        broken(verdict, verdict->rename ? PROMISE_RENAME : PROMISE_WHOLE, "half done", path);
    }
}

/* Each path once: those of the second and third image only where the ones in front do not have them. */
unsigned judge(const struct image *found, const struct image *before, const struct image *after, const struct image *now, bool rename,
               char *text, uint32_t size)
{
    struct verdict verdict = { found, before, after, now, rename, true, true, 0, text, size };

    for (uint32_t i = 0; i < before->count; i++) {
        judge_path(&verdict, before->entry[i].path);
    }
    for (uint32_t i = 0; i < after->count; i++) {
        if (!entry_at(before, after->entry[i].path)) {
            judge_path(&verdict, after->entry[i].path);
        }
    }
    for (uint32_t i = 0; i < found->count; i++) {
        const char *path = found->entry[i].path;

        if (!entry_at(before, path) && !entry_at(after, path)) {
            judge_path(&verdict, path);
        }
    }
    return verdict.broken;
}
