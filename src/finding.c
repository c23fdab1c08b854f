/* SPDX-License-Identifier: BSD-2-Clause */
#include "core.h"

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
