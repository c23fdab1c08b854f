/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy_tree.c - what Sharif's comparison does with each file system: mount it, copy files to it,
 * unmount it; mount it, load the files, unmount it.
 *
 *   norbench-linux-copy --fs NAME --chip NAME --tree DIRECTORY
 *
 * One line of JSON says what each of these steps cost the flash. What is loaded is compared with
 * the directory, byte by byte. The same program runs in the virtual machine and, for NF2FS on the
 * virtual chip alone, on the host.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "peers.h"
#include "vflash.h"
#include "vfs.h"

#define PIECE 4096u

enum step { FORMAT, MOUNT, COPY, UNMOUNT, MOUNT_AGAIN, LOAD, UNMOUNT_AGAIN, STEPS };
static const char *const step_names[STEPS] = {"format",      "mount", "copy",         "unmount",
                                              "mount_again", "load",  "unmount_again"};

struct run {
    struct vfs fs;
    struct vflash *chip;
    struct vflash_counts counts[STEPS];     /* of each step */
    uint64_t clock_us[STEPS];
    uint64_t files, bytes;
    char failure[256];
};

static bool fails(struct run *run, const char *what, const char *path, int result)
{
    if (result < 0 && run->failure[0] == '\0') {
        snprintf(run->failure, sizeof(run->failure), "%s %.180s failed with %d", what, path,
                 result);
    }
    return result < 0;
}

/* ---- one file, one directory ----------------------------------------------------------------- */

static void copy_file(struct run *run, const char *from, const char *to)
{
    static uint8_t data[PIECE];
    void *file;
    FILE *source = fopen(from, "rb");
    if (source == NULL ||
        fails(run, "open", to,
              run->fs.ops->open(run->fs.context, to, VFS_WRITE | VFS_CREATE | VFS_TRUNC, &file))) {
        fails(run, "read", from, -1);
        return;
    }
    size_t got;
    while (run->failure[0] == '\0' && (got = fread(data, 1, PIECE, source)) > 0) {
        fails(run, "write", to, run->fs.ops->write(run->fs.context, file, data, (uint32_t)got));
        run->bytes += got;
    }
    fails(run, "close", to, run->fs.ops->close(run->fs.context, file));
    fclose(source);
    run->files++;
}

static void load_file(struct run *run, const char *from, const char *to)
{
    static uint8_t data[PIECE], expected[PIECE];
    void *file;
    FILE *source = fopen(from, "rb");
    if (source == NULL ||
        fails(run, "open", to, run->fs.ops->open(run->fs.context, to, VFS_READ, &file))) {
        fails(run, "read", from, -1);
        return;
    }
    int32_t got = 1;
    while (run->failure[0] == '\0' && got > 0) {
        got = run->fs.ops->read(run->fs.context, file, data, PIECE);
        size_t wanted = fread(expected, 1, PIECE, source);
        if (!fails(run, "read", to, got) &&
            ((size_t)got != wanted || memcmp(data, expected, wanted) != 0)) {
            fails(run, "the comparison of", to, -1);
        }
    }
    fails(run, "close", to, run->fs.ops->close(run->fs.context, file));
    fclose(source);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void walk(struct run *run, const char *from, const char *to, bool copies)
{
    struct dirent **entries;
    int count = scandir(from, &entries, NULL, by_name);
    fails(run, "listing", from, count);
    for (int i = 0; i < count; i++) {
        char source[VFS_PATH_MAX], target[VFS_PATH_MAX];
        struct stat facts;
        bool named = entries[i]->d_name[0] != '.' && run->failure[0] == '\0';
        snprintf(source, sizeof(source), "%.250s/%.200s", from, entries[i]->d_name);
        snprintf(target, sizeof(target), "%.250s/%.200s", to, entries[i]->d_name);
        if (named && stat(source, &facts) == 0 && S_ISDIR(facts.st_mode)) {
            if (copies) {
                fails(run, "mkdir", target, run->fs.ops->mkdir(run->fs.context, target));
            }
            walk(run, source, target, copies);
        } else if (named) {
            (copies ? copy_file : load_file)(run, source, target);
        }
        free(entries[i]);
    }
    free(count >= 0 ? entries : NULL);
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void subtract(struct vflash_counts *counts, const struct vflash_counts *before)
{
    counts->read_pages -= before->read_pages;
    counts->program_pages -= before->program_pages;
    counts->time_us -= before->time_us;
    for (int i = 0; i < 3; i++) {
        counts->erases[i] -= before->erases[i];
    }
}

static uint64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void take_step(struct run *run, enum step step, const char *tree)
{
    const struct vfs_ops *ops = run->fs.ops;
    void *context = run->fs.context;
    struct vflash_counts before = *vflash_counts(run->chip);
    uint64_t start_us = clock_us();
    if (step == FORMAT) {
        fails(run, "format", "", ops->format(context));
    } else if (step == MOUNT || step == MOUNT_AGAIN) {
        fails(run, "mount", "", ops->mount(context));
    } else if (step == UNMOUNT || step == UNMOUNT_AGAIN) {
        fails(run, "unmount", "", ops->unmount(context));
    } else {
        walk(run, tree, "", step == COPY);
    }
    run->clock_us[step] = clock_us() - start_us;
    run->counts[step] = *vflash_counts(run->chip);
    subtract(&run->counts[step], &before);
}

static void report(const struct run *run, const struct vfs_entry *entry, const char *chip)
{
    printf("{\"fs\": \"%s\", \"version\": \"%s\", \"workload\": \"copy\", \"chip\": \"%s\", "
           "\"status\": \"%s%s\", \"verified\": %s, ",
           entry->name, entry->version, chip, run->failure[0] != '\0' ? "failed: " : "ok",
           run->failure, run->failure[0] == '\0' ? "true" : "false");
    for (enum step step = FORMAT; step < STEPS; step++) {
        const struct vflash_counts *counts = &run->counts[step];
        printf("\"%s\": {\"time_us\": %" PRIu64 ", \"read_pages\": %" PRIu64
               ", \"program_pages\": %" PRIu64 ", \"erases\": %" PRIu64 ", \"clock_us\": %" PRIu64
               "}, ",
               step_names[step], counts->time_us, counts->read_pages, counts->program_pages,
               counts->erases[0] + counts->erases[1] + counts->erases[2], run->clock_us[step]);
    }
    printf("\"files\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"ram_bytes\": %" PRIu32 "}\n",
           run->files, run->bytes, run->fs.ops->ram_bytes(run->fs.context));
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const struct vfs_entry *find_entry(const char *name)
{
    const struct vfs_entry *entry = &vfs_nf2fs_entry;
    for (unsigned i = 0; entry != NULL && strcmp(entry->name, name) != 0; i++) {
        entry = peers_at(i);
    }
    return entry;
}

static const char *argument(int count, char **values, const char *name)
{
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(values[i], name) == 0) {
            return values[i + 1];
        }
    }
    fprintf(stderr, "usage: norbench-linux-copy --fs NAME --chip NAME --tree DIRECTORY\n");
    exit(2);
}

/* ---- the chip -------------------------------------------------------------------------------- */

static int spare_read(void *context, uint32_t page, void *data, uint32_t length)
{
    return vflash_spare_read(context, page, data, length);
}

static int spare_program(void *context, uint32_t page, const void *data, uint32_t length)
{
    return vflash_spare_program(context, page, data, length);
}

static struct vflash *make_chip(const char *name, struct vfs_nand *nand)
{
    struct vflash_chip loaded;
    char message[256];
    const struct vflash_chip *facts = vflash_chip_find(name);
    if (facts == NULL) {
        if (vflash_chip_load(name, &loaded, message, sizeof(message)) != 0) {
            fprintf(stderr, "no chip \"%s\": %s\n", name, message);
            return NULL;
        }
        facts = &loaded;
    }
    struct vflash *chip = vflash_new(facts);
    *nand = (struct vfs_nand){chip, facts->spare_size, spare_read, spare_program};
    vfs_set_nand(facts->nand != 0 ? nand : NULL);
    return chip;
}

int main(int count, char **values)
{
    static struct run run;
    struct vfs_nand nand;
    const char *chip_name = argument(count, values, "--chip"),
               *tree = argument(count, values, "--tree");
    const struct vfs_entry *entry = find_entry(argument(count, values, "--fs"));
    run.chip = make_chip(chip_name, &nand);
    if (entry == NULL || run.chip == NULL) {
        fprintf(stderr, "no such file system or chip\n");
        return 2;
    }
    int result = entry->make(vflash_driver(run.chip), &run.fs);
    if (result < 0) {
        fprintf(stderr, "%s cannot be set up on this chip (%d)\n", entry->name, result);
        return 2;
    }
    for (enum step step = FORMAT; step < STEPS && run.failure[0] == '\0'; step++) {
        take_step(&run, step, tree);
    }
    report(&run, entry, vflash_chip_of(run.chip)->name);
    vfs_destroy(&run.fs);
    vflash_free(run.chip);
    return run.failure[0] == '\0' ? 0 : 1;
}
