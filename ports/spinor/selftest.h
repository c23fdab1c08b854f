/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selftest.h - finds the mistakes in a flash driver that later look like a corrupt file system.
 *
 *     struct nf2_selftest_report report;
 *     if (nf2_selftest(&config, &report) != NF2_SELFTEST_GOOD) {
 *         printf("%s at 0x%08lX\n", nf2_selftest_text(report.fault),
 *                (unsigned long)report.address);
 *     }
 *
 * Works on every nf2_flash, not only spinor's. Run it once on a new board before nf2_format: it
 * erases and programs parts of the volume's range, WHAT IT HELD IS LOST. A good driver takes a
 * few seconds.
 */
#ifndef NF2_SELFTEST_H
#define NF2_SELFTEST_H

#include "nf2fs/nf2fs.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bytes that the selftest needs in `config.buffer`: with pages of 512 bytes a few more than
 * NF2_BUFFER_SIZE, with pages of 256 the same.
 */
#define NF2_SELFTEST_GUARD 8u   /* bytes behind what is read, that must stay */
#define NF2_SELFTEST_PAGES(page_size) (2u * (page_size) + NF2_SELFTEST_GUARD)
#define NF2_SELFTEST_BUFFER_SIZE(page_size)                                                        \
    (NF2_SELFTEST_PAGES(page_size) > NF2_BUFFER_SIZE(page_size) ? NF2_SELFTEST_PAGES(page_size)    \
                                                                : NF2_BUFFER_SIZE(page_size))

enum nf2_selftest_fault {
    NF2_SELFTEST_GOOD = 0,
    /* sizes that no volume can have, or a buffer below NF2_SELFTEST_BUFFER_SIZE */
    NF2_SELFTEST_GEOMETRY,
    NF2_SELFTEST_DRIVER_ERROR,  /* a function returned an error: `value` */
    NF2_SELFTEST_NO_READ,       /* `read` leaves the memory as it was */
    NF2_SELFTEST_OVERRUN,       /* `read` writes more than it was asked for */
    NF2_SELFTEST_ODD_READ,      /* reads of some address, length or memory alignment are wrong */
    NF2_SELFTEST_NO_PROGRAM,    /* `program` changes nothing, or no read shows it */
    NF2_SELFTEST_NO_ERASE,      /* `erase` changes nothing */
    NF2_SELFTEST_BUSY,          /* returns while the chip is still busy */
    NF2_SELFTEST_STALE,         /* `read` answers from a cache that a program or erase made wrong */
    NF2_SELFTEST_PAGE_WRAP,     /* a program wraps: the chip's page is smaller than page_size */
    /* of several programs only the first arrives: write enable is missing */
    NF2_SELFTEST_SECOND_PROGRAM,
    NF2_SELFTEST_PROGRAM_UNIT,  /* a page cannot be programmed in pieces of program_unit */
    NF2_SELFTEST_ERASE_LARGE,   /* an erase takes more than its length */
    NF2_SELFTEST_ERASE_SMALL,   /* an erase takes less than its length */
    NF2_SELFTEST_ADDRESS,       /* two addresses are one place: address bytes, or a smaller chip */
    NF2_SELFTEST_DATA           /* other wrong data: wiring, clock, supply */
};

struct nf2_selftest_report {
    enum nf2_selftest_fault fault;
    uint32_t address;           /* byte on the chip where it showed */
    uint8_t expected, found;    /* there */
    int value;                  /* what the driver returned */
};

/*
 * Uses the flash, the range and the buffer of `config`. Returns the fault, which is also in
 * `report` (may be NULL). Nothing may be mounted there.
 */
enum nf2_selftest_fault nf2_selftest(const struct nf2_config *config,
                                     struct nf2_selftest_report *report);

/* A sentence that says what to look for. Never NULL. */
const char *nf2_selftest_text(enum nf2_selftest_fault fault);

#ifdef __cplusplus
}
#endif
#endif
