/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * writing.h - what calls that read need of writing, as a table that a mount for writing gives the
 * volume. nf2_mount alone names it: a program that mounts with nf2_mount_rdonly links nothing of
 * what is behind it.
 */
#ifndef NF2FS_CORE_WRITING_H
#define NF2FS_CORE_WRITING_H

#include "names.h"

struct nf2_writing {            /* see fs->writing; NULL where nothing is written */
    /* A handle that writes is opened, */
    int (*begin)(nf2_t *fs, nf2_file_t *file, const char *path);
    int (*commit)(nf2_t *fs, nf2_file_t *file); /* sync */
    void (*end)(nf2_t *fs, nf2_file_t *file);
    /* What such a handle has there. */
    int (*find)(nf2_t *fs, nf2_file_t *file, uint32_t offset, struct nf2_piece *piece);
    int (*leave)(nf2_t *fs);    /* unmount */
};

/* file.c: the parts of open, close and read that only handles for writing have. */
int nf2_file_begin(nf2_t *fs, nf2_file_t *file, const char *path);
int nf2_file_sync(nf2_t *fs, nf2_file_t *file);
void nf2_file_end(nf2_t *fs, nf2_file_t *file);

#endif
