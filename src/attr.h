/* SPDX-License-Identifier: BSD-2-Clause */
/* attr.h - attributes: the fields in front of the content of a name. */
#ifndef NF2FS_CORE_ATTR_H
#define NF2FS_CORE_ATTR_H

#include "content.h"

/* All fields of a name, as a body has them: the head, fields in descending order of their tags. */
#define NF2_FIELDS_HEAD 2u
#define NF2_CONTENT_MOST 216u   /* bytes of the content of an entry */
struct nf2_fields {
    uint16_t length;            /* of the fields */
    uint8_t body[NF2_FIELDS_HEAD + NF2_ATTR_ROOM + NF2_CONTENT_MOST];   /* head, fields, and room
                                   for the content behind them */
};

static inline uint8_t *nf2_fields_at(struct nf2_fields *fields, uint32_t at)
{
    return fields->body + NF2_FIELDS_HEAD + at;
}

/* Where the field behind one begins. */
static inline uint32_t nf2_fields_next(struct nf2_fields *fields, uint32_t at)
{
    return at + 2u + nf2_fields_at(fields, at)[1];
}

/* Looks a name up: its entry is there, and it is not the root. */
int nf2_attr_find(nf2_t *fs, const char *path, struct nf2_found *found);

/*
 * The fields of an entry that count: without those that are void since the content changed.
 * VERSION: they are more than this library knows to keep.
 */
int nf2_fields_load(nf2_t *fs, const struct nf2_entry *entry, const struct nf2_content *content,
                    struct nf2_fields *fields);

/* Where the field with this tag begins; `fields->length` if there is none. */
uint32_t nf2_fields_find(struct nf2_fields *fields, uint8_t tag);

/* Removes it, if it is there. */
void nf2_fields_remove(struct nf2_fields *fields, uint8_t tag);

#endif
