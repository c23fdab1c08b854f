/* SPDX-License-Identifier: BSD-2-Clause */
/* attr_set.h - attributes are set: alone, with new content, with the time of that. */
#ifndef NF2FS_CORE_ATTR_SET_H
#define NF2FS_CORE_ATTR_SET_H

#include "attr.h"

/* What is to be set: what the caller gave; behind that the time, if it is set. */
struct nf2_given {
    const struct nf2_attr *list;
    uint32_t count;
    struct nf2_attr stamp;      /* id 0: none */
    uint8_t time[5];
};

/* The time from the clock goes into it; not if it has one already, or there is none. */
void nf2_given_time(const nf2_t *fs, struct nf2_given *given);

/* Changes the attributes of the entry with this key: 1, 0 if that changes nothing, or an error. */
int nf2_attr_put(nf2_t *fs, const struct nf2_key *key, const struct nf2_given *given);

/*
 * The commit of a handle and of attributes of its file, with the time where times are kept: with
 * one change, if all of the content fits into the entry.
 */
int nf2_attr_commit(nf2_t *fs, nf2_file_t *file, struct nf2_given *given);

#endif
