/* SPDX-License-Identifier: BSD-2-Clause */
/* texts.c - of errors, and of what a check finds. */
#include "core.h"

/* A code without its sign (255: none), and its text, one behind the other. */
static const char error_texts[] =
    "\377no error\0"
    "\002not found\0"       /* NF2_ERR_NOENT */
    "\005I/O error\0"    /* IO */
    "\011bad handle\0"                      /* BADF */
    "\020in use\0"                /* BUSY */
    "\021exists\0"                 /* EXIST */
    "\024not a directory\0"                 /* NOTDIR */
    "\025a directory\0"                  /* ISDIR */
    "\026bad argument\0"                /* INVAL */
    "\033too large\0"                  /* FBIG */
    "\034no space\0"                   /* NOSPC */
    "\036read-only\0"               /* ROFS */
    "\044name too long\0"                   /* NAMETOOLONG */
    "\047not empty\0"             /* NOTEMPTY */
    "\310blank chip\0"               /* BLANK */
    "\311not NF2FS\0"             /* FOREIGN */
    "\312damaged\0"                  /* CORRUPT */
    "\313wrong geometry\0"                  /* GEOMETRY */
    "\314unknown version\0"          /* VERSION */
    "\0unknown";

const char *nf2_error_text(int error)
{
    unsigned code = error < 0 ? 0u - (unsigned)error : 255;
    const char *text = error_texts;

    while (*text != '\0' && (uint8_t)*text != code) {
        text += strlen(text) + 1;
    }
    return text + 1;
}

const char *nf2_finding_text(enum nf2_finding_kind kind)
{
    static const char texts[] = /* in the order of the kinds */
        "damaged super block\0"
        "damaged root log\0"
        "unreadable change\0"
        "damaged node\0"
        "missing node\0"
        "entry out of range\0"
        "entry twice\0"
        "unreadable entry\0"
        "unreachable name\0"
        "wrong file size\0"
        "unreadable data\0"
        "reference outside\0"
        "block with two owners\0"
        "used block called free\0"
        "block not erased\0"
        "wrong count of blocks\0"
        "id never given\0"
        "lost content\0"
        "two names\0"
        "removed file has name\0"
        "directory in itself\0"
        "unknown";
    const char *text = texts;

    for (unsigned i = 0; i < NF2_FOUND_KINDS && i != (unsigned)kind; i++) {
        text += strlen(text) + 1u;
    }
    return text;
}
