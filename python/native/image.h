/* SPDX-License-Identifier: BSD-2-Clause */
/* image.h - an open image, shared by the parts of the host library. */
#ifndef NF2FS_NATIVE_IMAGE_H
#define NF2FS_NATIVE_IMAGE_H

#include "host.h"
#include "nf2fs/nf2fs.h"
#include "vflash.h"

struct finding {
    struct nf2_finding facts;
    uint8_t name[256];
    char text[256];
};

struct nf2h_image {
    struct vflash_chip chip;    /* a copy: a chip from a file has no other home */
    struct vflash *flash;       /* NULL: the caller drives the chip */
    struct nf2_flash device;    /* that the caller drives */
    struct nf2_config config;
    nf2_t fs;
    struct finding *finding;    /* of the last check */
    unsigned findings;
    uint8_t buffer[NF2_BUFFER_SIZE(NF2_PAGE_MAX)];
};

/* A chip of the catalogue, or from a file: 0, or NF2_ERR_INVAL with a message. */
int nf2h_find_chip(const char *name, struct vflash_chip *out, char *message, size_t message_size);

/* Keeps a finding. Without memory it is left out; the count tells that it was there. */
void nf2h_keep_finding(nf2h_image *image, const struct nf2_finding *facts,
                       enum nf2_finding_kind kind, const char *text);
void nf2h_forget_findings(nf2h_image *image);

/* States and erase counts of blocks where nf2_block_state answered `error`, as nf2h_blocks has them. */
int nf2h_blocks_seen(nf2h_image *image, uint8_t *states, uint32_t *erases, uint32_t count,
                     int error);

/* What there is to say beyond `result`, which is that of nf2_check and may be an error; the number
   of things wrong (host_format.c). */
int nf2h_check_contents(nf2h_image *image, int result);

/* What the checker reads of the chip as it is now; NULL: nothing, or the caller drives the chip. */
struct repair;
struct repair *nf2h_look(nf2h_image *image);

/* The kind that nf2_check would give a finding of the checker. */
struct repair_finding;
enum nf2_finding_kind nf2h_kind_of(const struct repair_finding *finding);

#endif
