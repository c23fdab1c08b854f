/*
 * nf2fs/flash.h - what NF2FS asks of a flash driver.
 *
 * The driver is a constant structure: geometry, typical times, three functions and a context
 * pointer. Nothing in it changes while a volume is mounted. Functions return 0 on success and any
 * negative number on failure; the file system passes the failure on as NF2_ERR_IO, and after a
 * program or an erase writes nothing more until the next mount: the bus may be at fault, or the
 * supply.
 *
 * Where the chip itself says that a block does not program or erase (its status register does),
 * `program` and `erase` return NF2_FLASH_BAD: what lies in the block is moved elsewhere, and it is
 * not used any more.
 *
 * After a power cut the units that were being programmed, or the block that was being erased, hold
 * undefined data (they may even read differently each time); everything else must be untouched.
 */
#ifndef NF2FS_FLASH_H
#define NF2FS_FLASH_H

#include <stdint.h>

#define NF2_FLASH_BAD (-300)    /* the block fails for good; of a larger erase: one of its blocks */

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
     * are multiples of `program_unit`. The target is erased, unless `program_unit` is 1: then bytes
     * that were not programmed before may be programmed in a page that was (each byte once between
     * erases; a mount after a power cut may repeat, with the same bits, the program that was cut).
     * Returns when the chip has finished.
     */
    int (*program)(void *context, uint32_t address, const void *data, uint32_t length);

    /*
     * Erases `length` bytes at `address`: `length` is `block_size` or `large_erase_size`, `address`
     * a multiple of it. Returns when the chip has finished.
     */
    int (*erase)(void *context, uint32_t address, uint32_t length);

    uint32_t chip_size;         /* bytes */
    uint32_t block_size;        /* bytes: the smallest erase, 4 KiB to 64 KiB, a power of two */
    uint32_t large_erase_size;  /* bytes: a larger erase that pays,
                                   a multiple of block_size; 0: none */
    uint32_t page_size;         /* bytes: the most that one program takes, 256 or 512 */
    uint32_t program_unit;      /* bytes: the smallest piece that may be programmed once: 1 to 32 */
    uint32_t read_unit;         /* bytes: smallest read and its alignment:
                                   1 to 32, a power of two */

    /* Typical times, used to keep the budget of nf2_maintain and to weigh erase sizes. */
    uint32_t read_page_us;      /* microseconds to read one page */
    uint32_t program_page_us;   /* microseconds to program one page */
    uint32_t erase_block_us;    /* microseconds to erase block_size */
    uint32_t large_erase_us;    /* microseconds to erase large_erase_size; 0 where there is none */
};

/*
 * Checks on the chip are CRC-32 (polynomial 0xEDB88320, reflected), continued from `crc`: the
 * library begins with 0xFFFFFFFF and inverts the result itself. A microcontroller with a unit for
 * it may bring a function of this name: in the program it takes the place of the library's crc.c.
 * Where the library is compiled with the program as one, define NF2_CRC (-DNF2_CRC), and crc.c is
 * empty.
 */
#ifdef __cplusplus
extern "C"
#endif
uint32_t nf2_crc(uint32_t crc, const void *data, uint32_t length);

#endif
