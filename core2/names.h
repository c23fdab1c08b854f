/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h - paths, and the entries of the tree that they lead to. */
#ifndef NF2FS_CORE_NAMES_H
#define NF2FS_CORE_NAMES_H

#include "group.h"
#include "refs.h"

/* Where a path ends: a name in a directory; no name (length 0) for the root. */
struct nf2_place {
    uint32_t directory;
    const char *name;
    uint8_t length;
    bool slash;                 /* the path can only mean a directory */
};

/* What an entry says of its file or directory. */
struct nf2_content {
    uint8_t kind;               /* NF2_BODY_* */
    uint8_t at;                 /* of the content in the body: a long name's rest is in front */
    uint32_t id;                /* of a directory or map */
};

/* Resolves all but the last name. `within` (0: none): INVAL if the way leads through this directory. */
int nf2_path_resolve(nf2_t *fs, const char *path, uint32_t within, struct nf2_place *place);

/* The entry of a name: 1, 0 if there is none (`key` is the one that it would get), or an error. */
int nf2_place_find(nf2_t *fs, const struct nf2_place *place, struct nf2_key *key, struct nf2_entry *entry);

/* The rest of a long name as the front of its body; empty for a short one. */
struct nf2_span nf2_place_rest(const struct nf2_place *place);

/* The name that an entry stands for: its length, or an error. */
int nf2_entry_name(nf2_t *fs, const struct nf2_entry *entry, char *name);

int nf2_entry_content(nf2_t *fs, const struct nf2_entry *entry, struct nf2_content *content);

/* The id of the directory at a place. Errors: NOENT, NOTDIR. */
int nf2_place_directory(nf2_t *fs, const struct nf2_place *place, uint32_t *id);

/* An open handle of the file with this key, NULL if there is none. */
struct nf2_file *nf2_handle_of(const nf2_t *fs, const struct nf2_key *key);

#endif
