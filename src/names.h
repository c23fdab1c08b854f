/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h - paths to directory entries, and what an entry says of its file. */
#ifndef NF2FS_SRC_NAMES_H
#define NF2FS_SRC_NAMES_H

#include "tree.h"

#define NF2_FIRST_ID 2u

/* Where a path ends: a name in a directory; no name for the root. */
struct nf2_place {
    uint32_t directory;
    const char *name;
    uint8_t length;
};

/* Resolves all but the last name. `within` (0: none): INVAL if the way leads through this directory id. */
int nf2_path_resolve(nf2_t *fs, const char *path, uint32_t within, struct nf2_place *place);

struct nf2_key nf2_place_key(const struct nf2_place *place);

/* The entry at a place (body resolved): 1, 0 if there is none, or an error. Not for the root. */
int nf2_place_find(nf2_t *fs, const struct nf2_place *place, struct nf2_entry *entry);

/* The id of the directory at a place. Errors: NOENT, NOTDIR. */
int nf2_place_directory(nf2_t *fs, const struct nf2_place *place, uint32_t *id);

/* A directory is about to be removed or renamed: nothing is known of the way to any. */
void nf2_directories_forget(const nf2_t *fs);

/* First byte of the body; DIR's and INDEXED's id. */
int nf2_entry_kind(nf2_t *fs, const struct nf2_entry *entry);
int nf2_entry_id(nf2_t *fs, const struct nf2_entry *entry, uint32_t *id);

/* Type and size of a directory entry. */
int nf2_entry_stat(nf2_t *fs, const struct nf2_entry *entry, struct nf2_stat *out);

int nf2_directory_empty(nf2_t *fs, uint32_t id, bool *empty);

/* The open handle whose entry this is, or NULL. A file that is not on flash yet is found by its name. */
struct nf2_file *nf2_handle_of(nf2_t *fs, uint32_t leaf, uint16_t offset);
struct nf2_file *nf2_handle_named(nf2_t *fs, const struct nf2_place *place);

/* Is this the handle of a file whose entry is not on flash yet? */
static inline bool nf2_is_new(const nf2_file_t *file)
{
    return file->leaf == 0 && file->directory != 0;
}

/* The name of a file whose entry is not on flash yet. */
uint8_t *nf2_new_name(const nf2_t *fs, nf2_file_t *file);

void nf2_lock_config(const struct nf2_config *config);
void nf2_unlock_config(const struct nf2_config *config);
void nf2_lock(nf2_t *fs);
void nf2_unlock(nf2_t *fs);

#endif
