/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h - paths, and the entries of the tree that they lead to. */
#ifndef NF2FS_CORE_NAMES_H
#define NF2FS_CORE_NAMES_H

#include "group.h"
#include "refs.h"

/* What an entry says of its file or directory. */
struct nf2_content {
    uint8_t kind;               /* NF2_BODY_*, or NF2_BODY_NEW */
    uint8_t classes;            /* NF2_FIELD_REFUSE and NF2_FIELD_READ, of the first field; of the
                                   other bits none counts */
    uint8_t fields;             /* NF2_FIELDS_* */
    uint16_t rest;              /* bytes of a long name's rest, in front of all */
    uint16_t at;                /* of the content in the body, behind the rest and the fields */
    uint32_t id;                /* of a directory or map */
};

/* Has it fields? The content may have changed since. */
enum { NF2_FIELDS_NONE, NF2_FIELDS_OLDER, NF2_FIELDS_VALID };

#define NF2_BODY_NEW 0xFFu      /* there is no entry yet, but an open handle; never on flash */

/* A path that was looked up. */
struct nf2_found {
    struct nf2_content content; /* kind 0: there is nothing of this name */
    uint32_t length;            /* of the name; 0: the path is the root's */
    const char *name;           /* in the path */
    const char *behind;         /* what follows it there: no name */
    struct nf2_file *handle;    /* an open one */
    struct nf2_key key;         /* the one that it would get, if there is no entry */
    struct nf2_entry entry;
};

/*
 * Looks a path up: OK, also if there is nothing of its last name, or an error of the way there.
 * INVAL if that leads through the directory `within` (0: none).
 */
int nf2_find(nf2_t *fs, const char *path, uint32_t within, struct nf2_found *found);

/* Does the path end with the name? 'n/.' is no place for a new `n`. */
bool nf2_ends_with_name(const struct nf2_found *found);

/* The change that puts an entry of this name, with the rest of a long one in front of the body. */
void nf2_op_name(struct nf2_op *op, const struct nf2_found *found, const void *body,
                 uint32_t length);

/* The name that an entry with this key stands for. Of a short one there need be no entry. */
int nf2_entry_name(nf2_t *fs, const struct nf2_key *key, const struct nf2_entry *entry, char *name);

/* VERSION: this library does not know such a content. */
int nf2_entry_content(nf2_t *fs, const struct nf2_entry *entry, struct nf2_content *content);

/* An open handle of the file with this key that has all these flags; NULL if there is none. */
struct nf2_file *nf2_handle_of(const nf2_t *fs, const struct nf2_key *key, uint32_t flags);

#endif
