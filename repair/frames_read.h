/* SPDX-License-Identifier: BSD-2-Clause */
/* frames_read.h - blocks of frames (docs/FORMAT.md, section 5), read for what is still in them. */
#ifndef REPAIR_FRAMES_READ_H
#define REPAIR_FRAMES_READ_H

#include "tolerant.h"

struct rep_frame {
    uint32_t at, length;        /* of the data, from the block's base */
    uint32_t place;             /* of the frame in the block */
    uint16_t epoch;
    bool more;
    uint8_t *data;              /* a copy, mended */
};

struct rep_frames {
    struct rep_frame *frame;    /* in order, without overlap; what is between them is lost */
    unsigned frames;
    uint32_t end;               /* behind the last one, from the base */
    bool lost_end;              /* more was written behind the last one and is lost */
    bool unfinished;            /* there is what looks like a frame that a power cut left unfinished */
    unsigned mended;
};

void rep_frames_read(struct rep_image *image, uint32_t id, uint32_t block, uint32_t base, struct rep_frames *frames);
void rep_frames_free(struct rep_frames *frames);

#endif
