/* SPDX-License-Identifier: BSD-2-Clause */
#include "nf2_packed.h"

#include <stddef.h>
#include <string.h>

#define PAGE NF2_PACKED_PAGE
#define HEADER 64u
#define FORMAT 1u
#define UNIT_MAX 32u            /* the largest read_unit */
#define SLOT 8u                 /* of the index: a hash, and where the record lies */
#define SLOTS 31u               /* in a page */
#define RECORD 20u              /* bytes of a record before its path */
#define NO_PAGE UINT32_MAX

static const uint8_t magic[8] = {'N', 'F', '2', 'P', 'A', 'C', 'K', 'D'};

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const uint8_t *p)
{
    return get16(p) | get16(p + 2) << 16;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool crc_is(const uint8_t *data, uint32_t length)
{
    return get32(data + length) == ~nf2_crc(0xFFFFFFFFu, data, length);
}

/* ---- the chip -------------------------------------------------------------------------------- */

/* A part of one read unit, by way of a copy. Returns the bytes taken. */
static int32_t read_unit(const struct nf2_flash *flash, uint32_t address, uint8_t *data,
                         uint32_t length)
{
    uint8_t unit[UNIT_MAX];
    const uint32_t inside = address % flash->read_unit;
    const uint32_t taken = lesser(length, flash->read_unit - inside);
    if (flash->read(flash->context, address - inside, unit, flash->read_unit) < 0) {
        return NF2_ERR_IO;
    }
    memcpy(data, unit + inside, taken);
    return (int32_t)taken;
}

/* Any bytes of the chip; the driver is asked for whole units, and for a block at most. */
static int read_chip(const struct nf2_flash *flash, uint32_t address, uint8_t *data,
                     uint32_t length)
{
    while (length > 0) {
        const uint32_t whole = lesser(length, flash->block_size) & ~(flash->read_unit - 1);
        int32_t taken = (int32_t)whole;
        if (address % flash->read_unit != 0 || whole == 0) {
            taken = read_unit(flash, address, data, length);
        } else if (flash->read(flash->context, address, data, whole) < 0) {
            taken = NF2_ERR_IO;
        }
        if (taken < 0) {
            return taken;
        }
        address += (uint32_t)taken;
        data += taken;
        length -= (uint32_t)taken;
    }
    return NF2_OK;
}

/* Brings a page of the image into its buffer. */
static int take_page(nf2_packed_t *image, uint32_t number)
{
    const uint32_t at = number * PAGE;
    if (image->in_page == number) {
        return NF2_OK;
    }
    if (at >= image->size) {
        return NF2_ERR_CORRUPT;
    }
    image->in_page = NO_PAGE;
    const int result = read_chip(image->flash, image->offset + at, image->page,
                                 lesser(PAGE, image->size - at));
    image->in_page = result < 0 ? NO_PAGE : number;
    return result;
}

/* ---- mount ----------------------------------------------------------------------------------- */

static bool is_blank(const uint8_t *data, uint32_t length)
{
    while (length > 0 && *data == 0xFFu) {
        data++;
        length--;
    }
    return length == 0;
}

/* Parts lie in their order, within the image, and the image within the chip. */
static bool is_plausible(const nf2_packed_t *image)
{
    return image->size <= image->flash->chip_size - image->offset && image->size >= HEADER &&
           image->index_at % PAGE == 0 && image->index_at >= HEADER &&
           image->records_at % PAGE == 0 && image->records_at <= image->size &&
           image->index_at <= image->records_at && image->buckets > 0 &&
           image->buckets == (image->records_at - image->index_at) / PAGE &&
           image->records_end <= image->size && image->root_at >= image->records_at &&
           image->root_at < image->records_end;
}

int nf2_packed_mount(nf2_packed_t *image, const struct nf2_flash *flash, uint32_t offset)
{
    if (image == NULL || flash == NULL || flash->read == NULL || flash->read_unit == 0 ||
        flash->read_unit > UNIT_MAX || (flash->read_unit & (flash->read_unit - 1)) != 0 ||
        offset % PAGE != 0 || flash->block_size < PAGE || flash->chip_size < PAGE ||
        offset > flash->chip_size - PAGE) {
        return NF2_ERR_INVAL;
    }
    *image = (nf2_packed_t){.flash = flash, .offset = offset, .size = PAGE, .in_page = NO_PAGE};
    const int result = take_page(image, 0);
    const uint8_t *header = image->page;
    if (result < 0) {
        return result;
    }
    if (memcmp(header, magic, sizeof(magic)) != 0) {
        return is_blank(header, PAGE) ? NF2_ERR_BLANK : NF2_ERR_FOREIGN;
    }
    if (!crc_is(header, HEADER - 4)) {
        return NF2_ERR_CORRUPT;
    }
    if (get16(header + 8) != FORMAT) {
        return NF2_ERR_VERSION;
    }
    image->size = get32(header + 12);
    image->entries = get32(header + 16);
    image->buckets = get32(header + 20);
    image->index_at = get32(header + 24);
    image->records_at = get32(header + 28);
    image->records_end = get32(header + 32);
    image->seed = get32(header + 36);
    image->root_at = get32(header + 40);
    image->content_crc = get32(header + 44);
    return is_plausible(image) ? NF2_OK : NF2_ERR_CORRUPT;
}

/* ---- records --------------------------------------------------------------------------------- */

/* What the record at `at` says. Its path is copied to `path` (NF2_PACKED_PATH_MAX bytes). */
static int take_record(nf2_packed_t *image, uint32_t at, struct nf2_packed_entry *out,
                       uint8_t *path, uint8_t *path_length, uint32_t *next)
{
    uint8_t bytes[RECORD + NF2_PACKED_PATH_MAX + 4];
    uint32_t done = 0, length = RECORD;
    while (done < length) {     /* the first part says how long it is */
        const uint32_t from = (at + done) % PAGE, piece = lesser(length - done, PAGE - from);
        const int result = at + done + piece > image->records_end ? NF2_ERR_CORRUPT :
                           take_page(image, (at + done) / PAGE);
        if (result < 0) {
            return result;
        }
        memcpy(bytes + done, image->page + from, piece);
        done += piece;
        if (done == RECORD) {
            length = RECORD + bytes[3] + 4u;
        }
    }
    if (!crc_is(bytes, length - 4) || get16(bytes) != length || bytes[17] > bytes[3] ||
        (bytes[2] != NF2_TYPE_FILE && bytes[2] != NF2_TYPE_DIR)) {
        return NF2_ERR_CORRUPT;
    }
    const uint32_t place = get32(bytes + 8);
    *out = (struct nf2_packed_entry){
        .type = bytes[2] == NF2_TYPE_DIR ? NF2_TYPE_DIR : NF2_TYPE_FILE,
        .size = get32(bytes + 4), .stored = get32(bytes + 12), .address = image->offset + place,
        .codec = bytes[16], .name_at = bytes[17],
        .name_length = (uint8_t)(bytes[3] - bytes[17]), .first = place};
    if (place > image->size || out->stored > image->size - place) {
        return NF2_ERR_CORRUPT;
    }
    memcpy(path, bytes + RECORD, bytes[3]);
    *path_length = bytes[3];
    *next = at + length;
    return NF2_OK;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static uint32_t hash_of(uint32_t seed, const uint8_t *path, uint32_t length)
{
    uint32_t hash = 0x811C9DC5u ^ seed;
    for (uint32_t i = 0; i < length; i++) {
        hash = (hash ^ path[i]) * 0x01000193u;
    }
    hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
    return hash ^ hash >> 16;
}

/* The path with one '/' between names and none at its ends. Returns its length. */
static int32_t plain_path(const char *path, uint8_t *out)
{
    uint32_t length = 0;
    while (*path != '\0') {
        if (*path == '/') {
            path++;
            continue;
        }
        if (length > 0) {
            if (length == NF2_PACKED_PATH_MAX) {
                return NF2_ERR_NAMETOOLONG;
            }
            out[length++] = '/';
        }
        while (*path != '\0' && *path != '/') {
            if (length == NF2_PACKED_PATH_MAX) {
                return NF2_ERR_NAMETOOLONG;
            }
            out[length++] = (uint8_t)*path++;
        }
    }
    return (int32_t)length;
}

/* Where the record of a path lies: in its page of the index there is one slot with its hash, as
   hashes of an image differ; 0: there is none. */
static int find_slot(nf2_packed_t *image, uint32_t hash, uint32_t *at)
{
    const uint32_t bucket = (uint32_t)((uint64_t)hash * image->buckets >> 32);
    const int result = take_page(image, image->index_at / PAGE + bucket);
    if (result < 0) {
        return result;
    }
    const uint32_t count = get16(image->page);
    if (count > SLOTS || !crc_is(image->page, PAGE - 4)) {
        image->in_page = NO_PAGE;
        return NF2_ERR_CORRUPT;
    }
    *at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *slot = image->page + 4 + i * SLOT;
        if (get32(slot) == hash) {
            *at = get32(slot + 4);
        }
    }
    return NF2_OK;
}

int nf2_packed_find(nf2_packed_t *image, const char *path, struct nf2_packed_entry *out)
{
    uint8_t plain[NF2_PACKED_PATH_MAX], found[NF2_PACKED_PATH_MAX], found_length;
    uint32_t at, next;
    if (image == NULL || image->flash == NULL || path == NULL || out == NULL) {
        return NF2_ERR_INVAL;
    }
    const int32_t length = plain_path(path, plain);
    if (length < 0) {
        return length;
    }
    at = image->root_at;
    int result = length == 0 ? NF2_OK :
                 find_slot(image, hash_of(image->seed, plain, (uint32_t)length), &at);
    if (result < 0 || at == 0) {
        return result < 0 ? result : NF2_ERR_NOENT;
    }
    result = at < image->records_at ? NF2_ERR_CORRUPT :
             take_record(image, at, out, found, &found_length, &next);
    if (result < 0) {
        return result;
    }
    return found_length == length && memcmp(found, plain, found_length) == 0 ? NF2_OK :
           NF2_ERR_NOENT;
}

/* ---- files and directories ------------------------------------------------------------------- */

int32_t nf2_packed_read(nf2_packed_t *image, const struct nf2_packed_entry *entry,
                        uint32_t position, void *data, uint32_t length)
{
    if (image == NULL || image->flash == NULL || entry == NULL || (data == NULL && length > 0) ||
        position > entry->stored) {
        return NF2_ERR_INVAL;
    }
    if (entry->type == NF2_TYPE_DIR) {
        return NF2_ERR_ISDIR;
    }
    const uint32_t taken = lesser(length, entry->stored - position);
    const int result = read_chip(image->flash, entry->address + position, data, taken);
    return result < 0 ? result : (int32_t)taken;
}

int nf2_packed_opendir(const struct nf2_packed_entry *entry, nf2_packed_dir_t *dir)
{
    if (entry == NULL || dir == NULL) {
        return NF2_ERR_INVAL;
    }
    if (entry->type != NF2_TYPE_DIR) {
        return NF2_ERR_NOTDIR;
    }
    *dir = (nf2_packed_dir_t){.next = entry->first, .left = entry->size};
    return NF2_OK;
}

/* A record that does not fit into the rest of a page begins with the next page: zeros are left. */
static int skip_padding(nf2_packed_t *image, uint32_t *at)
{
    const uint32_t inside = *at % PAGE;
    bool padded = inside > PAGE - RECORD;
    if (!padded) {
        const int result = take_page(image, *at / PAGE);
        if (result < 0) {
            return result;
        }
        padded = get16(image->page + inside) == 0;
    }
    if (padded) {
        *at += PAGE - inside;
    }
    return NF2_OK;
}

int nf2_packed_readdir(nf2_packed_t *image, nf2_packed_dir_t *dir, struct nf2_packed_entry *out,
                       char *name)
{
    uint8_t path[NF2_PACKED_PATH_MAX], length;
    if (image == NULL || image->flash == NULL || dir == NULL || out == NULL || name == NULL) {
        return NF2_ERR_INVAL;
    }
    if (dir->left == 0) {
        return 0;
    }
    int result = skip_padding(image, &dir->next);
    if (result == NF2_OK) {
        result = take_record(image, dir->next, out, path, &length, &dir->next);
    }
    if (result < 0) {
        return result;
    }
    memcpy(name, path + out->name_at, out->name_length);
    name[out->name_length] = '\0';
    dir->left--;
    return 1;
}

/* ---- check ----------------------------------------------------------------------------------- */

int nf2_packed_check(nf2_packed_t *image)
{
    uint32_t crc = 0xFFFFFFFFu, from = HEADER;
    if (image == NULL || image->flash == NULL) {
        return NF2_ERR_INVAL;
    }
    for (uint32_t at = 0; at < image->size; at += PAGE) {
        const uint32_t length = lesser(PAGE, image->size - at);
        image->in_page = NO_PAGE;       /* what was read before may be damaged by now */
        const int result = take_page(image, at / PAGE);
        if (result < 0) {
            return result;
        }
        crc = nf2_crc(crc, image->page + from, length - from);
        from = 0;
    }
    return ~crc == image->content_crc ? NF2_OK : NF2_ERR_CORRUPT;
}
