/* SPDX-License-Identifier: BSD-2-Clause */
/* contents.h - the content of a file of a damaged image, part by part. */
#ifndef REPAIR_CONTENTS_H
#define REPAIR_CONTENTS_H

#include "entries.h"

struct rep_part {
    uint32_t at, length;        /* in the file */
    const uint8_t *data;        /* NULL: zeros */
    bool lost;                  /* what was here is not known: zeros stand in for it */
    bool checked;               /* by a check of its own */
};

struct rep_content {
    struct rep_part *part;      /* in order, without gaps */
    unsigned parts;
    uint32_t size;
    uint32_t lost;              /* bytes */
    bool lost_end;              /* there may have been more */
    bool unfinished;            /* behind the end is what looks like a write that a power cut left unfinished */
    bool doubtful;              /* some of the map may be outdated */
    unsigned mended;
    struct rep_frames *frames;  /* their memory */
    unsigned frame_blocks;
};

/* What is known of blocks, to tell data of the file from what lies there now. */
struct rep_owners {
    uint32_t *owner;            /* of each block: number of an entry that owns it + 1, 0: none, NF2_NONE: none, though it is in use */
    bool *shared;               /* more than one does */
};

/* `entry`: of a file. Where parts of its map may be lost, gaps count as lost and not as zeros. */
void rep_content_read(const struct rep_tree *tree, const struct rep_entries *entries, const struct rep_owners *owners,
                      const struct rep_entry *entry, struct rep_content *content);
void rep_content_free(struct rep_content *content);

#endif
