/* SPDX-License-Identifier: BSD-2-Clause */
/* host_repair.c - repair of damaged images, for callers in other languages: see host.h. */
#include <stdio.h>
#include <stdlib.h>

#include "image.h"
#include "repair.h"

struct nf2h_repair {
    struct vflash *flash; /* the image, read-only; NULL: it is open elsewhere */
    struct repair *repair;
    unsigned records; /* that were read last */
};

nf2h_repair *nf2h_repair_open(const char *chip, const char *path, uint32_t offset, uint32_t size,
                              char *message, size_t message_size)
{
    struct vflash_chip facts;
    if (nf2h_find_chip(chip, &facts, message, message_size) < 0)
        return NULL;
    struct vflash *flash = vflash_open(&facts, path, true, message, message_size);
    if (!flash)
        return NULL;
    bool inside = offset <= facts.size && size <= facts.size - offset;
    const struct repair_geometry geometry = {size > 0 ? size : facts.size - offset,
                                             facts.block_size, facts.program_unit};
    struct repair *repair = inside ? repair_open(vflash_memory(flash) + offset, &geometry) : NULL;
    nf2h_repair *out = repair ? calloc(1, sizeof *out) : NULL;
    if (!out) {
        (void)snprintf(message, message_size,
                       repair ? "out of memory" : "nothing of a volume was found in it");
        repair_close(repair);
        vflash_free(flash);
        return NULL;
    }
    out->flash = flash;
    out->repair = repair;
    return out;
}

nf2h_repair *nf2h_repair_of(nf2h_image *image)
{
    struct repair *repair = nf2h_look(image);
    nf2h_repair *out = repair ? calloc(1, sizeof *out) : NULL;
    if (out)
        out->repair = repair;
    else
        repair_close(repair);
    return out;
}

void nf2h_repair_close(nf2h_repair *repair)
{
    if (!repair)
        return;
    repair_close(repair->repair);
    vflash_free(repair->flash);
    free(repair);
}

int nf2h_repair_lossy(nf2h_repair *repair)
{
    return repair_lossy(repair->repair);
}

int nf2h_repair_names_lost(nf2h_repair *repair)
{
    return repair_summary(repair->repair)->names_lost;
}

int nf2h_repair_clean(nf2h_repair *repair)
{
    return repair_clean(repair->repair);
}

const char *nf2h_repair_item(nf2h_repair *repair, unsigned index, uint64_t out[7])
{
    if (index >= repair_count(repair->repair))
        return NULL;
    const struct repair_item *item = repair_item(repair->repair, index);
    out[0] = (uint64_t)item->type;
    out[1] = (uint64_t)item->state;
    out[2] = item->size;
    out[3] = item->lost;
    out[4] = item->lost_end;
    out[5] = item->left_out;
    out[6] = item->unchecked;
    return item->path;
}

int nf2h_repair_lost(nf2h_repair *repair, unsigned index, unsigned range, uint64_t out[2])
{
    uint32_t from, to;
    if (index >= repair_count(repair->repair) ||
        !repair_lost_range(repair->repair, index, range, &from, &to))
        return 0;
    out[0] = from;
    out[1] = to;
    return 1;
}

int nf2h_repair_finding(nf2h_repair *repair, unsigned index, uint64_t out[5], const char *text[3])
{
    if (index >= repair_findings(repair->repair))
        return 0;
    const struct repair_finding *found = repair_finding(repair->repair, index);
    out[0] = (uint64_t)nf2h_kind_of(found);
    out[1] = found->block;
    out[2] = found->id;
    out[3] = found->number;
    out[4] = repair_kind_wrong(found->kind) || found->kind >= REPAIR_RECORDS;
    text[0] = found->text;
    text[1] = found->from;
    text[2] = found->to;
    return 1;
}

uint32_t nf2h_repair_read(nf2h_repair *repair, unsigned index, uint32_t at, void *data,
                          uint32_t length)
{
    if (index >= repair_count(repair->repair))
        return 0;
    return repair_read(repair->repair, index, at, data, length);
}

const char *nf2h_repair_state_text(unsigned state)
{
    return state < REPAIR_STATES ? repair_state_text((enum repair_state)state) : NULL;
}

const char *nf2h_repair_path(nf2h_repair *repair, uint32_t id)
{
    return repair_path_of(repair->repair, id);
}

const char *nf2h_repair_use(nf2h_repair *repair, uint32_t block)
{
    return repair_use_text(repair_block_use(repair->repair, block));
}

unsigned nf2h_repair_records(nf2h_repair *repair, uint32_t block)
{
    repair->records = repair_records(repair->repair, block);
    return repair->records;
}

int nf2h_repair_record(nf2h_repair *repair, unsigned index, uint64_t out[5], const char *text[2])
{
    if (index >= repair->records)
        return 0;
    const struct repair_record *record = repair_record(repair->repair, index);
    out[0] = record->at;
    out[1] = record->end;
    out[2] = record->session;
    out[3] = record->more;
    out[4] = record->mended;
    text[0] = record->name;
    text[1] = record->text;
    return 1;
}

/* The path of the item that an error is about goes into the message. */
static int say_where(nf2h_repair *repair, int result, unsigned failed, char *message,
                     size_t message_size)
{
    if (result < 0) {
        bool named = failed < repair_count(repair->repair);
        (void)snprintf(message, message_size, "%s",
                       named ? repair_item(repair->repair, failed)->path : "");
    }
    return result;
}

int nf2h_repair_write(nf2h_repair *repair, nf2h_image *image, char *message, size_t message_size)
{
    uint8_t page[NF2_PAGE_MAX];
    unsigned failed = 0;
    int result = repair_write(repair->repair, &image->fs, page, &failed);
    return say_where(repair, result, failed, message, message_size);
}

int nf2h_repair_verify(nf2h_repair *repair, nf2h_image *image, char *message, size_t message_size)
{
    unsigned failed = 0;
    int result = repair_verify(repair->repair, &image->fs, &failed);
    return say_where(repair, result, failed, message, message_size);
}
