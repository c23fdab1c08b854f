/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2fs/flash.h - what NF2FS asks of a flash driver.
 *
 * The driver is a constant structure: geometry, typical times, three functions and a context
 * pointer. Nothing in it changes while a volume is mounted. Functions return 0 on success and any
 * negative number on failure. The file system passes a failure on as NF2_ERR_IO. After a failed
 * program or erase it writes nothing more until the next mount, since the bus or the supply may be
 * at fault.
 *
 * Nothing is read back: `program` and `erase` return 0 only where the chip did what it was told. A
 * chip that is write-protected ignores both and reports nothing. So the driver clears the
 * protection, or looks whether it is set; else files are called durable that are not there after
 * the next mount.
 *
 * If the chip itself reports, in its status register, that a block fails to program or to erase,
 * `program` and `erase` return NF2_FLASH_BAD. The file system then moves the content of the block
 * elsewhere and uses the block no more.
 *
 * After a power cut the units that were being programmed, or the block that was being erased, hold
 * undefined data. Everything else must be untouched. A block whose erase was cut may even read
 * differently each time. Units whose program was cut must not: the file system takes them for what
 * they read as first, and where they read differently later the volume may show older content, say
 * IO, or not mount any more (docs/RELIABILITY.md, "The fault model").
 */
#ifndef NF2FS_FLASH_H
#define NF2FS_FLASH_H

#include <stdint.h>

#define NF2_FLASH_BAD (-300)    /* the block fails for good; of a large erase: one of its blocks */

struct nf2_flash {
    /* Passed to each function as it is. */
    void *context;

    /*
     * Reads `length` bytes at byte address `address` of the chip. `address` and `length` are
     * multiples of `read_unit`; the range lies inside the chip; `length` is at most one block.
     */
    int (*read)(void *context, uint32_t address, void *data, uint32_t length);

    /*
     * Programs `length` bytes: at most one page and never across a page end; `address` and `length`
     * are multiples of `program_unit`. Each unit is programmed once between two erases; a page may
     * be programmed in several calls, at different units. One exception, only where `program_unit`
     * is 1: after a power cut, the program that was cut may be repeated with the same bits. Returns
     * when the chip has finished.
     */
    int (*program)(void *context, uint32_t address, const void *data, uint32_t length);

    /*
     * Erases `length` bytes at `address`: `length` is `block_size` or `large_erase_size`, `address`
     * a multiple of it. Returns when the chip has finished.
     */
    int (*erase)(void *context, uint32_t address, uint32_t length);

    uint32_t chip_size;         /* bytes */
    uint32_t block_size;        /* bytes: the smallest erase, 4 KiB to 64 KiB, a power of two */
    uint32_t large_erase_size;  /* bytes: an erase that is faster for its size than block_size,
                                   a power of two, at least 2 * block_size; 0: none */
    uint32_t page_size;         /* bytes: the most that one program takes, 256 or 512 */
    uint32_t program_unit;      /* bytes: the smallest piece that can be programmed by itself:
                                   1 to 32, a power of two */
    uint32_t read_unit;         /* bytes: smallest read and its alignment:
                                   1 to 32, a power of two */

    /* Typical times, by which nf2_maintain keeps its budget. Nothing else depends on them. */
    uint32_t read_page_us;      /* microseconds to read one page */
    uint32_t program_page_us;   /* microseconds to program one page */
    uint32_t erase_block_us;    /* microseconds to erase block_size */
    uint32_t large_erase_us;    /* microseconds to erase large_erase_size; 0 where there is none */

    /*
     * Optional, both or neither (NULL): an erase that runs while other calls are made.
     *
     * erase_begin begins the erase that `erase` would make, and returns at once: 0, or a negative
     * number as `erase` does, and then nothing has begun. erase_done returns 0 while the erase runs
     * and 1 when it has ended well; it returns NF2_FLASH_BAD or another negative number when it has
     * ended badly. After 1 or a negative number no erase is open.
     *
     * While an erase is open, `read` and `program` may be called for any place outside its range:
     * the driver suspends the erase for them, or waits for its end first. No other erase is begun
     * until erase_done has returned something else than 0; nothing in the range is read or
     * programmed before that. After a power cut the range holds undefined data, as after a cut in
     * `erase`, and it does so beside what a cut `program` leaves.
     *
     * The library does not call them yet.
     */
    int (*erase_begin)(void *context, uint32_t address, uint32_t length);
    int (*erase_done)(void *context);
};

/*
 * The checksum on the chip is CRC-32 (polynomial 0xEDB88320, reflected). This function continues it
 * from `crc`; the library begins with 0xFFFFFFFF and inverts the result itself. If your
 * microcontroller computes CRCs in hardware, define a function of this name: the linker then takes
 * it instead of the library's crc.c. If the library's sources are compiled into the program, define
 * NF2_CRC too (-DNF2_CRC), which makes crc.c empty.
 */
#ifdef __cplusplus
extern "C"
#endif
uint32_t nf2_crc(uint32_t crc, const void *data, uint32_t length);

#endif
