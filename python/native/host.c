/* SPDX-License-Identifier: BSD-2-Clause */
/* host.c - see host.h. Memory is taken from the heap here, so that the library itself needs none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "inspect/inspect.h"

struct nf2h_file {
    nf2h_image *image;
    nf2_file_t file;
    uint8_t buffer[NF2_PAGE_MAX];
};

struct nf2h_dir {
    nf2h_image *image;
    nf2_dir_t dir;
    struct nf2_dirent entry;
};

/* ---- constants and texts ----------------------------------------------------------------------- */

const char *nf2h_version(void)
{
    return NF2_VERSION;
}

int nf2h_format_version(void)
{
    return (int)NF2_FORMAT_VERSION;
}

const char *nf2h_error_text(int error)
{
    return nf2_error_text(error);
}

/* ---- images ------------------------------------------------------------------------------------ */

void nf2h_forget_findings(nf2h_image *image)
{
    free(image->finding);
    image->finding = NULL;
    image->findings = 0;
}

void nf2h_image_close(nf2h_image *image)
{
    if (!image)
        return;
    vflash_free(image->flash);
    nf2h_forget_findings(image);
    free(image);
}

int nf2h_image_flush(nf2h_image *image)
{
    return !image->flash || vflash_flush(image->flash) == 0 ? NF2_OK : NF2_ERR_IO;
}

int nf2h_image_counts(nf2h_image *image, uint64_t out[10])
{
    memset(out, 0, 10 * sizeof out[0]);
    if (!image->flash)
        return NF2_OK;
    const struct vflash_counts *counts = vflash_counts(image->flash);
    out[0] = counts->read_calls;
    out[1] = counts->read_bytes;
    out[2] = counts->read_pages;
    out[3] = counts->program_calls;
    out[4] = counts->program_bytes;
    out[5] = counts->program_pages;
    for (unsigned i = 0; i < 3; i++)
        out[6 + i] = counts->erases[i];
    out[9] = counts->time_us;
    return NF2_OK;
}

/* ---- volumes ----------------------------------------------------------------------------------- */

int nf2h_format(nf2h_image *image, int erase_all)
{
    return nf2_format(&image->fs, &image->config, erase_all ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK);
}

int nf2h_mount(nf2h_image *image, int read_only)
{
    return nf2_mount(&image->fs, &image->config, read_only ? NF2_MOUNT_RDONLY : NF2_MOUNT_RDWR);
}

int nf2h_unmount(nf2h_image *image)
{
    return nf2_unmount(&image->fs);
}

int nf2h_maintain(nf2h_image *image, uint32_t budget_us)
{
    return nf2_maintain(&image->fs, budget_us);
}

int nf2h_statfs(nf2h_image *image, uint64_t out[6])
{
    struct nf2_statfs figures;
    int result = nf2_statfs(&image->fs, &figures);
    if (result < 0)
        return result;
    out[0] = figures.block_size;
    out[1] = figures.blocks;
    out[2] = figures.blocks_free;
    out[3] = figures.blocks_erased;
    out[4] = figures.blocks_available;
    out[5] = figures.blocks_bad;
    return NF2_OK;
}

int nf2h_health(nf2h_image *image, uint64_t out[6])
{
    struct nf2_health health;
    int result = nf2_health(&image->fs, &health);
    if (result < 0)
        return result;
    out[0] = health.erases_min;
    out[1] = health.erases_max;
    out[2] = health.erases_mean;
    out[3] = health.erases_total;
    out[4] = health.mounts_unclean;
    out[5] = health.blocks_bad;
    return NF2_OK;
}

int nf2h_blocks(nf2h_image *image, uint8_t *states, uint32_t *erases, uint32_t count)
{
    int result = nf2_block_states(&image->fs, 0, count, states);
    for (uint32_t block = 0; result >= 0 && block < count; block++)
        result = nf2_block_erases(&image->fs, block, &erases[block]);
    return result < 0 ? nf2h_blocks_seen(image, states, erases, count, result) : NF2_OK;
}

void nf2h_keep_finding(nf2h_image *image, const struct nf2_finding *facts,
                       enum nf2_finding_kind kind, const char *text)
{
    if ((image->findings & (image->findings - 1)) == 0) { /* room is made up to the next power of two */
        struct finding *more = realloc(image->finding, sizeof *more * (image->findings > 0 ? 2u * image->findings : 1u));
        if (!more)
            return;
        image->finding = more;
    }
    struct finding *kept = &image->finding[image->findings++];
    kept->facts = *facts;
    kept->facts.kind = kind;
    if (facts->name)
        memcpy(kept->name, facts->name, facts->name_length);
    (void)snprintf(kept->text, sizeof kept->text, "%s", text);
}

static void keep_finding(void *context, const struct nf2_finding *facts)
{
    nf2h_keep_finding(context, facts, facts->kind, nf2_finding_text(facts->kind));
}

int nf2h_check(nf2h_image *image)
{
    nf2h_forget_findings(image);
    return nf2h_check_contents(image, nf2_check(&image->fs, keep_finding, image));
}

int nf2h_finding(nf2h_image *image, unsigned index, uint64_t out[5], uint8_t name[256],
                 const char **text)
{
    if (index >= image->findings)
        return 0;
    const struct finding *kept = &image->finding[index];
    out[0] = (uint64_t)kept->facts.kind;
    out[1] = kept->facts.block;
    out[2] = kept->facts.id;
    out[3] = kept->facts.number;
    out[4] = kept->facts.name ? kept->facts.name_length : 0;
    memcpy(name, kept->name, (size_t)out[4]);
    *text = kept->text;
    return 1;
}

const char *nf2h_finding_text(unsigned kind)
{
    return kind < NF2_FOUND_KINDS ? nf2_finding_text((enum nf2_finding_kind)kind) : NULL;
}

/* ---- names ------------------------------------------------------------------------------------- */

int nf2h_stat(nf2h_image *image, const char *path, uint64_t out[2])
{
    struct nf2_stat stat;
    int result = nf2_stat(&image->fs, path, &stat);
    if (result < 0)
        return result;
    out[0] = (uint64_t)stat.type;
    out[1] = stat.size;
    return NF2_OK;
}

int nf2h_mkdir(nf2h_image *image, const char *path)
{
    return nf2_mkdir(&image->fs, path);
}

int nf2h_remove(nf2h_image *image, const char *path)
{
    return nf2_remove(&image->fs, path);
}

int nf2h_rename(nf2h_image *image, const char *from, const char *to)
{
    return nf2_rename(&image->fs, from, to);
}

int nf2h_getattr(nf2h_image *image, const char *path, unsigned id, void *data, uint32_t room)
{
    return nf2_getattr(&image->fs, path, (uint8_t)id, data, room);
}

int nf2h_listattr(nf2h_image *image, const char *path, uint8_t *ids, uint32_t room)
{
    return nf2_listattr(&image->fs, path, ids, room);
}

int nf2h_setattr(nf2h_image *image, const char *path, const uint8_t *ids, const uint8_t *lengths,
                 const void *const *data, uint32_t count)
{
    struct nf2_attr list[256];

    if (count > 256)
        return NF2_ERR_INVAL;
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct nf2_attr){ids[i], lengths[i], data[i]};
    return nf2_setattr(&image->fs, path, list, count);
}

int nf2h_dir_open(nf2h_image *image, const char *path, nf2h_dir **out)
{
    nf2h_dir *dir = calloc(1, sizeof *dir);
    if (!dir)
        return NF2_ERR_IO;
    dir->image = image;
    int result = nf2_opendir(&image->fs, &dir->dir, path);
    if (result < 0) {
        free(dir);
        return result;
    }
    *out = dir;
    return NF2_OK;
}

int nf2h_dir_read(nf2h_dir *dir, char *name, uint64_t out[2])
{
    int result = nf2_readdir(&dir->image->fs, &dir->dir, &dir->entry);
    if (result <= 0)
        return result;
    memcpy(name, dir->entry.name, sizeof dir->entry.name);
    name[NF2_NAME_MAX] = '\0';
    out[0] = (uint64_t)dir->entry.type;
    out[1] = dir->entry.size;
    return 1;
}

int nf2h_dir_close(nf2h_dir *dir)
{
    int result = nf2_closedir(&dir->image->fs, &dir->dir);
    free(dir);
    return result;
}

void nf2h_dir_drop(nf2h_dir *dir)
{
    free(dir);
}

/* ---- files ------------------------------------------------------------------------------------- */

int nf2h_file_open(nf2h_image *image, const char *path, int flags, nf2h_file **out)
{
    nf2h_file *file = calloc(1, sizeof *file);
    if (!file)
        return NF2_ERR_IO;
    file->image = image;
    int result = nf2_open(&image->fs, &file->file, path, flags, file->buffer);
    if (result < 0) {
        free(file);
        return result;
    }
    *out = file;
    return NF2_OK;
}

int nf2h_file_close(nf2h_file *file)
{
    int result = nf2_close(&file->image->fs, &file->file);
    free(file);
    return result;
}

int nf2h_file_discard(nf2h_file *file)
{
    int result = nf2_discard(&file->image->fs, &file->file);
    free(file);
    return result;
}

void nf2h_file_drop(nf2h_file *file)
{
    free(file);
}

int nf2h_file_read(nf2h_file *file, void *data, uint32_t length)
{
    return nf2_read(&file->image->fs, &file->file, data, length);
}

int nf2h_file_write(nf2h_file *file, const void *data, uint32_t length)
{
    return nf2_write(&file->image->fs, &file->file, data, length);
}

int nf2h_file_seek(nf2h_file *file, int32_t offset, int whence)
{
    return nf2_seek(&file->image->fs, &file->file, offset, whence);
}

int nf2h_file_size(nf2h_file *file)
{
    return nf2_size(&file->image->fs, &file->file);
}

int nf2h_file_truncate(nf2h_file *file, uint32_t size)
{
    return nf2_truncate(&file->image->fs, &file->file, size);
}

int nf2h_file_preallocate(nf2h_file *file, uint32_t size)
{
    return nf2_preallocate(&file->image->fs, &file->file, size);
}

int nf2h_file_sync(nf2h_file *file)
{
    return nf2_sync(&file->image->fs, &file->file);
}
