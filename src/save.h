/* SPDX-License-Identifier: BSD-2-Clause */
/* save.h - a whole file is replaced, by a handle that lives for one call. */
#ifndef NF2FS_CORE_SAVE_H
#define NF2FS_CORE_SAVE_H

#include "names.h"

struct nf2_save_way {
    int (*commit)(nf2_t *fs, nf2_file_t *file);
};

struct nf2_saved {
    const uint8_t *data;
    uint32_t length;
    const struct nf2_save_way *way;     /* NULL: as a sync commits */
};

/*
 * `file` is memory for the handle, which is closed afterwards; its key is that of the file. 1 if
 * the file held just this already, 0, or an error.
 */
int nf2_save_by(nf2_t *fs, nf2_file_t *file, const char *path, const struct nf2_saved *saved);

#endif
