/* SPDX-License-Identifier: BSD-2-Clause */
/* guest_flash.c - the MTD of the virtual machine, and the virtual chip that does the same. */
#include "guest_flash.h"

#include <errno.h>
#include <fcntl.h>
#include <mtd/mtd-user.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "guest_kernel.h"
#include "probe/nf2_mtd_log.h"
#include "vfs.h"

#define DEVICE "/dev/mtd0"
#define QUIET_US \
    20000u /* and so many times in a row nothing was recorded: the kernel's threads are idle */
#define QUIET_TIMES 5
#define BUFFER_BYTES \
    (1024u *         \
     1024u) /* longer than any record: an MTD is written in pieces of at most an erase block */

/* ---- the MTD --------------------------------------------------------------------------------- */

static int load_nor(const struct guest_flash *flash)
{
    char parameters[128];
    snprintf(parameters, sizeof(parameters), "total_size=%u erase_size=%u writebuf_size=%u",
             (unsigned)(flash->chip->chip_size / 1024), (unsigned)(flash->erase_size / 1024),
             (unsigned)flash->chip->page_size);
    int result = guest_load("mtdram", parameters);
    return result != 0 ? result : guest_load("nf2_mtd_probe", "device=0 serial_nor=1");
}

/*
 * The simulator takes the geometry from the identification bytes of a chip. Its pages lie in a
 * file, so that they are no memory of the kernel.
 */
static const struct {
    uint32_t mebibytes, page_size, block_size;
    const char *bytes;
} nand_parts[] = {
    {64, 512, 16 * 1024, "id_bytes=0xec,0x76 cache_file=/tmp/nand"},
    {128, 2048, 128 * 1024, "id_bytes=0xec,0xf1,0x00,0x15 cache_file=/tmp/nand"},
};

static int load_nand(const struct guest_flash *flash)
{
    for (unsigned i = 0; i < sizeof(nand_parts) / sizeof(nand_parts[0]); i++) {
        if (nand_parts[i].mebibytes == flash->chip->chip_size >> 20 &&
            nand_parts[i].page_size == flash->chip->page_size &&
            nand_parts[i].block_size == flash->chip->block_size) {
            int result = guest_load("nandsim", nand_parts[i].bytes);
            return result != 0 ? result : guest_load("nf2_mtd_probe", "device=0 whole_pages=1");
        }
    }
    fprintf(stderr, "the kernel's simulator of NAND has no part of this geometry\n");
    return -EINVAL;
}

/* Whether the MTD is what was asked for. */
static int check(const struct guest_flash *flash)
{
    struct mtd_info_user facts;
    int device = open(DEVICE, O_RDONLY | O_CLOEXEC);
    if (device < 0 || ioctl(device, MEMGETINFO, &facts) != 0) {
        int error = -errno;
        close(device);
        return error;
    }
    close(device);
    if (facts.size != flash->chip->chip_size || facts.erasesize != flash->erase_size ||
        (flash->nand && facts.writesize != flash->chip->page_size)) {
        fprintf(stderr, "the MTD has %u bytes, erase blocks of %u and pages of %u\n",
                (unsigned)facts.size, (unsigned)facts.erasesize, (unsigned)facts.writesize);
        return -EINVAL;
    }
    return 0;
}

int guest_flash_open(struct guest_flash *flash, const struct nf2_flash *chip, uint32_t erase_size)
{
    *flash = (struct guest_flash){
        .chip = chip, .erase_size = erase_size, .nand = vfs_nand() != NULL, .log = -1};
    flash->buffer = malloc(BUFFER_BYTES);
    if (flash->buffer == NULL) {
        return -ENOMEM;
    }
    int result = flash->nand ? load_nand(flash) : load_nor(flash);
    result = result != 0 ? result : check(flash);
    if (result == 0) {
        flash->log = open("/dev/" NF2_MTD_LOG_DEVICE, O_RDONLY | O_CLOEXEC);
        result = flash->log < 0 ? -errno : 0;
    }
    return result;
}

void guest_flash_close(struct guest_flash *flash)
{
    if (flash->log >= 0) {
        close(flash->log);
    }
    guest_unload("nf2_mtd_probe");
    guest_unload(flash->nand ? "nandsim" : "mtdram");
    free(flash->buffer);
}

/* ---- the virtual chip ------------------------------------------------------------------------ */

/* In pieces that end where a page ends; `most` bytes at once. */
static uint32_t piece(uint64_t address, uint32_t left, uint32_t most)
{
    uint32_t room = most - (uint32_t)(address % most);
    return left < room ? left : room;
}

static int replay_read(struct guest_flash *flash, const struct nf2_mtd_record *record)
{
    static uint8_t data[64 * 1024];
    const struct nf2_flash *chip = flash->chip;
    uint32_t most = chip->block_size < sizeof(data) ? chip->block_size : sizeof(data);
    for (uint32_t done = 0, part; done < record->length; done += part) {
        part = piece(record->address + done, record->length - done, most);
        int result = chip->read(chip->context, (uint32_t)record->address + done, data, part);
        if (result < 0) {
            return result;
        }
    }
    return 0;
}

static int replay_program(struct guest_flash *flash, const struct nf2_mtd_record *record,
                          const uint8_t *payload)
{
    const struct nf2_flash *chip = flash->chip;
    for (uint32_t done = 0, part; done < record->length; done += part) {
        part = piece(record->address + done, record->length - done, chip->page_size);
        int result = chip->program(chip->context, (uint32_t)record->address + done, payload + done,
                                   part);
        if (result < 0) {
            return result;
        }
    }
    return 0;
}

/* By the largest erase of the chip that fits in what is left. */
static uint32_t erase_piece(const struct guest_flash *flash, uint64_t address, uint32_t left)
{
    uint32_t large = flash->chip->large_erase_size;
    return large != 0 && address % large == 0 && left >= large ? large : flash->chip->block_size;
}

static int replay_erase(struct guest_flash *flash, const struct nf2_mtd_record *record)
{
    const struct nf2_flash *chip = flash->chip;
    for (uint32_t done = 0, part; done < record->length; done += part) {
        part = erase_piece(flash, record->address + done, record->length - done);
        int result = chip->erase(chip->context, (uint32_t)record->address + done, part);
        if (result < 0) {
            return result;
        }
    }
    return 0;
}

static int replay_spare(struct guest_flash *flash, const struct nf2_mtd_record *record,
                        const uint8_t *payload)
{
    const struct vfs_nand *nand = vfs_nand();
    uint8_t data[256];
    uint32_t page = (uint32_t)(record->address / flash->chip->page_size);
    uint32_t pages_of_read = record->length /
                             nand->spare_size; /* a longer read goes on in the next pages */
    int result = 0;
    if (record->operation == NF2_MTD_SPARE_PROGRAM) {
        return nand->spare_program(nand->context, page, payload, record->length);
    }
    for (uint32_t i = 0; i < pages_of_read && result == 0; i++) {
        result = nand->spare_read(nand->context, page + i, data, nand->spare_size);
    }
    uint32_t rest = record->length % nand->spare_size;
    return result == 0 && rest > 0 ?
               nand->spare_read(nand->context, page + pages_of_read, data, rest) :
               result;
}

static uint64_t erase_us(const struct guest_flash *flash, const struct nf2_mtd_record *record)
{
    uint64_t sum_us = 0;
    for (uint32_t done = 0, part; done < record->length; done += part) {
        part = erase_piece(flash, record->address + done, record->length - done);
        sum_us += part == flash->chip->block_size ? flash->chip->erase_block_us :
                                                    flash->chip->large_erase_us;
    }
    return sum_us;
}

/* By the page convention, as the virtual chip charges it. */
static uint64_t time_us(const struct guest_flash *flash, const struct nf2_mtd_record *record)
{
    const struct nf2_flash *chip = flash->chip;
    uint64_t pages = (record->address + record->length - 1) / chip->page_size -
                     record->address / chip->page_size + 1;
    uint32_t spare_size = flash->nand ? vfs_nand()->spare_size : 1;
    switch (record->length == 0 ? 0 : record->operation) {
    case NF2_MTD_SPARE_READ:
        return (uint64_t)((record->length + spare_size - 1) / spare_size) * chip->read_page_us;
    case NF2_MTD_READ:
        return pages * chip->read_page_us;
    case NF2_MTD_PROGRAM:
        return pages * chip->program_page_us;
    case NF2_MTD_ERASE:
        return erase_us(flash, record);
    default:
        return 0;
    }
}

static int replay(struct guest_flash *flash, const struct nf2_mtd_record *record,
                  const uint8_t *payload)
{
    flash->records++;
    *(record->background ? &flash->background_us : &flash->foreground_us) += time_us(flash, record);
    switch (record->operation) {
    case NF2_MTD_READ:
        return replay_read(flash, record);
    case NF2_MTD_PROGRAM:
        return replay_program(flash, record, payload);
    case NF2_MTD_ERASE:
        return replay_erase(flash, record);
    default:
        return flash->nand ? replay_spare(flash, record, payload) : -EINVAL;
    }
}

/* Does what the whole records in the buffer say; the beginning of another one stays. */
static int replay_buffer(struct guest_flash *flash)
{
    uint32_t at = 0;
    int result = 0;
    while (result >= 0 && flash->held - at >= sizeof(struct nf2_mtd_record)) {
        struct nf2_mtd_record record;
        memcpy(&record, flash->buffer + at, sizeof(record));
        uint32_t whole = (uint32_t)sizeof(record) + record.payload;
        if (whole > BUFFER_BYTES ||
            (record.operation == NF2_MTD_PROGRAM && record.payload != record.length)) {
            return -EPROTO;
        }
        if (flash->held - at < whole) {
            break;
        }
        result = replay(flash, &record, flash->buffer + at + sizeof(record));
        if (result < 0) {
            fprintf(stderr, "the chip refuses operation %u at 0x%llx, %u bytes: %d\n",
                    record.operation, (unsigned long long)record.address, record.length, result);
        }
        at += whole;
    }
    memmove(flash->buffer, flash->buffer + at, flash->held - at);
    flash->held -= at;
    return result;
}

int guest_flash_replay(struct guest_flash *flash)
{
    ssize_t got = 1;
    while (flash->error == 0 && got > 0) {
        got = read(flash->log, flash->buffer + flash->held, BUFFER_BYTES - flash->held);
        if (got < 0) {
            flash->error = -errno;
            fprintf(stderr, "the log of the flash ends here: %s\n", strerror(errno));
        } else if (got > 0) {
            flash->held += (uint32_t)got;
            flash->error = replay_buffer(flash);
        }
    }
    return flash->error;
}

int guest_flash_settle(struct guest_flash *flash)
{
    int result = guest_flash_replay(flash);
    for (unsigned quiet = 0; quiet < QUIET_TIMES && result >= 0; quiet++) {
        uint64_t before = flash->records;
        usleep(QUIET_US);
        result = guest_flash_replay(flash);
        quiet = flash->records != before ? 0 : quiet;
    }
    return result;
}

bool guest_flash_same(struct guest_flash *flash)
{
    static uint8_t theirs[4096], ours[4096];
    const struct nf2_flash *chip = flash->chip;
    int device = open(DEVICE, O_RDONLY | O_CLOEXEC);
    bool same = device >= 0 && guest_flash_replay(flash) == 0;
    for (uint32_t at = 0; same && at < chip->chip_size; at += sizeof(ours)) {
        same = pread(device, theirs, sizeof(theirs), at) == (ssize_t)sizeof(theirs) &&
               chip->read(chip->context, at, ours, sizeof(ours)) == 0 &&
               memcmp(ours, theirs, sizeof(ours)) == 0;
    }
    close(device);
    return same;
}

/* ---- formatting ------------------------------------------------------------------------------ */

#define MARKER_MAGIC 0x1985u /* of the nodes of JFFS2, and the type of such a marker */
#define MARKER_TYPE 0x2003u

/*
 * On NOR at the start of the block, with a checksum; on NAND in the free spare bytes of its first
 * page.
 */
static int write_marker(const struct guest_flash *flash, int device, uint32_t start)
{
    uint16_t words[6] = {MARKER_MAGIC, MARKER_TYPE, flash->nand ? 8 : 12, 0};
    uint32_t check = nf2_crc(0, words, 8);
    memcpy(words + 4, &check, sizeof(check));
    if (!flash->nand) {
        return pwrite(device, words, 12, start) == 12 ? 0 : -errno;
    }
    struct mtd_write_req request = {
        .start = start, .ooblen = 8, .usr_oob = (uintptr_t)words, .mode = MTD_OPS_AUTO_OOB};
    return ioctl(device, MEMWRITE, &request) == 0 ? 0 : -errno;
}

int guest_flash_blank(struct guest_flash *flash, bool markers)
{
    int device = open(DEVICE, O_RDWR | O_CLOEXEC);
    int result = device < 0 ? -errno : 0;
    for (uint32_t start = 0; result == 0 && start < flash->chip->chip_size;
         start += flash->erase_size) {
        loff_t block = start;
        struct erase_info_user range = {.start = start, .length = flash->erase_size};
        if (ioctl(device, MEMGETBADBLOCK, &block) > 0) {
            continue;
        }
        result = ioctl(device, MEMERASE, &range) == 0 ? 0 : -errno;
        result = result == 0 && markers ? write_marker(flash, device, start) : result;
    }
    close(device);
    return result;
}

int guest_flash_burn(struct guest_flash *flash, const char *path)
{
    static uint8_t data[64 * 1024];
    int device = open(DEVICE, O_WRONLY | O_CLOEXEC), image = open(path, O_RDONLY | O_CLOEXEC);
    int result = device < 0 || image < 0 ? -errno : 0;
    ssize_t got = 1;
    while (result == 0 && got > 0) {
        got = read(image, data, sizeof(data));
        if (got > 0) {
            uint32_t whole = ((uint32_t)got + flash->chip->page_size - 1) / flash->chip->page_size *
                             flash->chip->page_size;
            memset(data + got, 0xFF, whole - (uint32_t)got);
            got = write(device, data, whole) == (ssize_t)whole ? got : -1;
        }
        result = got < 0 ? -errno : result;
        result = result == 0 ? guest_flash_replay(flash) : result;
    }
    close(device);
    close(image);
    return result;
}
