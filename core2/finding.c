/* SPDX-License-Identifier: BSD-2-Clause */
#include "core.h"

const char *nf2_finding_text(enum nf2_finding_kind kind)
{
    static const char *const texts[NF2_FOUND_KINDS] = {
        [NF2_FOUND_SUPER] = "the super log is damaged",
        [NF2_FOUND_META] = "the meta log is damaged or broken off",
        [NF2_FOUND_BATCH] = "a committed change cannot be read",
        [NF2_FOUND_NODE] = "a damaged node of the tree",
        [NF2_FOUND_TREE] = "no node where the tree has one",
        [NF2_FOUND_RANGE] = "an entry out of its node's range",
        [NF2_FOUND_TWICE] = "an entry that is there twice",
        [NF2_FOUND_ENTRY] = "an entry that cannot be read",
        [NF2_FOUND_NAME] = "a name that no path reaches",
        [NF2_FOUND_SIZE] = "a file whose content and size do not agree",
        [NF2_FOUND_OVERLAP] = "parts of a file overlap",
        [NF2_FOUND_FOREIGN] = "data in a block that the file does not own",
        [NF2_FOUND_DATA] = "unreadable data",
        [NF2_FOUND_OUTSIDE] = "a reference leads out of the volume",
        [NF2_FOUND_OWNERS] = "two owners of a block",
        [NF2_FOUND_FREE] = "a block in use is on record as free",
        [NF2_FOUND_LEAK] = "a block that nothing uses is on record as used",
        [NF2_FOUND_ERASED] = "a block on record as erased is not",
        [NF2_FOUND_COUNT] = "a wrong count of free or erased blocks",
        [NF2_FOUND_ID] = "an id that was never given out",
        [NF2_FOUND_LOST] = "content that no name leads to",
        [NF2_FOUND_SHARED] = "two names for the same",
        [NF2_FOUND_REMOVED] = "a file with a name is listed as removed",
        [NF2_FOUND_CYCLE] = "a directory inside of itself",
    };

    return (unsigned)kind < NF2_FOUND_KINDS ? texts[kind] : "unknown";
}
