/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * writing.h - what calls that read need of writing, as a table that a mount for writing gives the
 * volume. nf2_mount alone names it: a program that mounts with nf2_mount_rdonly links nothing of
 * what is behind it.
 */
#ifndef NF2FS_CORE_WRITING_H
#define NF2FS_CORE_WRITING_H

#include "names.h"

/* In a handle's flags: */
#define NF2_REFUSED 0x8000u     /* the last write, or change of the size, was refused: nothing is
                                   synced */
#define NF2_TIME_DUE 0x4000u    /* the time of what was synced last is still to be set */

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

/* volume.c: what nf2_mount gives it. */
extern const struct nf2_writing nf2_writing_plain;

/* volume.c: nothing but a CHECKPOINT says that the session is over. */
int nf2_volume_leave(nf2_t *fs);

#endif
