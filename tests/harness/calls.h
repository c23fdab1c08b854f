/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.h - one call on a volume as a value: it can be recorded, printed, read back and repeated.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum op {
    OP_OPEN,            /* handle, number: flags, path */
    OP_CLOSE,           /* handle, extra: 1 discards what is not synced */
    OP_READ,            /* handle, number: length */
    OP_WRITE,           /* handle, number: length, extra: seed of the data */
    OP_SEEK,            /* handle, number: offset, extra: whence */
    OP_TELL,            /* handle */
    OP_SIZE,            /* handle */
    OP_TRUNCATE,        /* handle, number: size */
    OP_PREALLOCATE,     /* handle, number: size */
    OP_SYNC,            /* handle */
    OP_STAT,            /* path */
    OP_MKDIR,           /* path */
    OP_REMOVE,          /* path */
    OP_RENAME,          /* path, path2 */
    OP_OPENDIR,         /* handle: listing, path */
    OP_READDIR,         /* handle: listing, number: entries to read */
    OP_REWINDDIR,       /* handle: listing */
    OP_CLOSEDIR,        /* handle: listing */
    OP_MAINTAIN,        /* number: microseconds */
    OP_STATFS,          /* checks the figures */
    OP_CHECK,           /* nf2_check and a recount of all blocks */
    OP_VERIFY,          /* compares the whole tree */
    OP_UNMOUNT,         /* unmounts and mounts */
    OP_ABANDON,         /* mounts again without an unmount, as after a cut between two calls */
    /* of a session (session.h) only: */
    OP_CUT,             /* handle: 1 leaves the call by a jump, number: operation from now on (0: no cut), extra: seed, path: see cut_of */
    OP_LOOK,            /* after a cut: mounts for reading only, and lets go again */
    OP_MOUNT,           /* after a cut: mounts */
    OP_BREAK,           /* handle: 1 silently, number: operation from now on that breaks the block that it hits (0: none) */
    OP_FAIL,            /* number: call of the driver, in the next call or mount, that fails (0: none), extra: so many behind it fail, too, handle: 1 unmounts a volume that is broken by it */
    OP_EMPTY,           /* closes and removes everything; all space must come back */
    /* whole files: */
    OP_SAVE,            /* number: length, extra: seed of the data, path */
    OP_LOAD,            /* number: room, path */
    OP_COUNT
};

struct call {
    enum op op;
    int handle;
    int64_t number;
    uint32_t extra;
    char *path, *path2;     /* owned; NULL where there is none */
};

struct call_list {
    struct call *call;
    unsigned count, room;
};

/* Copies the paths. */
void calls_add(struct call_list *list, enum op op, int handle, int64_t number, uint32_t extra, const char *path,
               const char *path2);
void calls_add_copy(struct call_list *list, const struct call *call);
/* Keeps the first `count` calls. */
void calls_cut(struct call_list *list, unsigned count);
void calls_free(struct call_list *list);

/* One line of text: `name handle number extra [=path [=path2]]`, bytes that do not print as %XX. */
void call_print(FILE *out, const struct call *call);
/* Reads such lines up to the end of the file; empty lines and lines from '#' on are skipped. False: a line makes no sense. */
bool calls_read(FILE *in, struct call_list *list);

/* The data that a write of `seed` writes. Now and then all 0xFF or all zeros, like an erased or a spent chip. */
void call_data(uint8_t *data, uint32_t length, uint32_t seed);

/* The next number of a seeded sequence: below `below` (0: always 0). */
uint32_t random_number(uint64_t *state, uint32_t below);

#endif
