/* SPDX-License-Identifier: BSD-2-Clause */
/* load.h - whole files by their path: what nf2_load and nf2_save share. */
#ifndef NF2FS_CORE_LOAD_H
#define NF2FS_CORE_LOAD_H

#include "content.h"

/*
 * Looks up a file that is read or (`write`) replaced as a whole, and makes `file` a handle of what
 * is committed, which is not in the list of open ones. 1, 0 if there is no such name, or an error.
 */
int nf2_load_find(nf2_t *fs, const char *path, bool write, nf2_file_t *file);

/* Reads what is committed, at most to the end of a piece: the bytes, or an error. */
int nf2_load_some(nf2_t *fs, nf2_file_t *file, uint32_t at, uint8_t *to, uint32_t length);

#endif
