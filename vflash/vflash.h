/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vflash.h - a virtual NOR or NAND chip: it counts what is asked of it, charges time, wears, and can fail.
 *
 * One `struct vflash` is one chip. Contents live in memory or in a mapped image file. All figures are
 * exact and repeatable: counted operations multiplied by the chip's times (see vflash_chip).
 */
#ifndef VFLASH_H
#define VFLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "nf2fs/flash.h"
#include "nf2fs/nand.h"

struct vflash;

/* ---- the catalogue ------------------------------------------------------------------------------ */

#define VFLASH_PAGE_MAX 4096u   /* bytes: the largest page that a chip may have */

struct vflash_chip {
    char name[32];              /* lower case: "w25q256" */
    char description[96];
    uint32_t size;              /* bytes */
    uint32_t page_size;         /* bytes */
    uint32_t block_size;        /* bytes: smallest erase */
    uint32_t erase_sizes[3];    /* bytes, smallest first (the block size), 0: none */
    uint32_t erase_us[3];       /* typical */
    uint32_t erase_max_us[3];   /* data sheet maximum; 0: unknown */
    uint32_t program_unit;      /* bytes; > 1: each unit may be programmed once between erases */
    uint32_t read_page_us;      /* fast read */
    uint32_t read_page_slow_us;
    uint32_t program_page_us;
    uint32_t first_byte_pct;    /* byte convention: part of a page's time that the first byte takes (20) */
    uint32_t endurance;         /* erases of a block */
    uint32_t read_unit;         /* bytes: smallest read and its alignment; 0 is taken as 1 */
    uint32_t program_page_max_us;   /* data sheet maximum; 0: unknown */
    uint32_t nand;              /* 1: NAND: whole pages, each once between erases, in ascending order in a block; spare bytes */
    uint32_t spare_size;        /* bytes beside each page (NAND); 0: none */
    uint32_t factory_bad;       /* NAND: so many blocks are bad from the factory, seeded, never the first one */
    uint32_t bus_byte_ns;       /* NAND: time of a byte on the bus, beside the times of pages; 0: not counted */
    uint32_t ecc_bits;          /* NAND: wrong bits in each 512 bytes that are mended; 0: none */
    uint32_t ecc_weak;          /* from so many mended bits on a page is weak */
    uint32_t worn_errors_ppm;   /* wrong bits in the mean of 512 bytes at the endurance, in millionths: see below */
    uint32_t disturb_reads;     /* reads of a block's pages that make as many more; 0: they make none */
    uint32_t worn_out_pct;      /* from this part of the endurance on blocks go bad; 0: never */
};

/* The chip named `name`, or NULL. */
const struct vflash_chip *vflash_chip_find(const char *name);

/* The catalogue's chips by index, NULL after the last. */
const struct vflash_chip *vflash_chip_at(unsigned index);

/*
 * Reads a custom chip from a small text file of `key = value` lines (`#` comments). The keys are the fields of
 * vflash_chip. The list fields take up to three values with commas between; a number may end in K or M (KiB, MiB).
 * Needed: name, size, page_size, block_size or erase_sizes, erase_us, read_page_us, program_page_us. The others
 * default to: one erase size, read_page_slow_us as read_page_us, program_unit and read_unit 1, first_byte_pct 20,
 * endurance 100000, erase_max_us and program_page_max_us unknown; NAND: program_unit a page, and all else of it 0. Returns 0, or -1
 * with a message, and then leaves `chip` as it was.
 */
int vflash_chip_load(const char *path, struct vflash_chip *chip, char *message, size_t message_size);

/* Whether the geometry is one that a virtual chip can have. Returns 0, or -1 with a message. */
int vflash_chip_check(const struct vflash_chip *chip, char *message, size_t message_size);

/* ---- counters ----------------------------------------------------------------------------------- */

/*
 * Counted is what reaches the chip: a torn or failing program or erase like a whole one, and not a call that strict
 * rules refuse, that vflash_fail_at fails, or that is made while the power is off.
 *
 * Page convention: each page touched by a call costs a page's time. Byte convention: a program costs, for each page
 * touched, program_page_us x (first_byte_pct + (100 - first_byte_pct) x bytes / page_size) / 100; a read costs a command
 * of 5 bytes on one line with 8 dummy clocks, then its bytes on four lines, at the clock that gives read_page_us. Erases cost
 * their typical time under both.
 */
struct vflash_counts {
    uint64_t read_calls, read_bytes, read_pages;
    uint64_t program_calls, program_bytes, program_pages;
    uint64_t erases[3];         /* by size, as in erase_sizes */
    uint64_t time_us;           /* page convention, fast reads, kept in microseconds */
    uint64_t time_slow_us;      /* page convention, slow reads */
    uint64_t time_byte_ns;      /* byte convention, fast reads, nanoseconds */
    uint64_t time_max_us;       /* page convention, data sheet maximum of programs and erases (typical where it is unknown) */
    uint64_t time_model_us;     /* page convention, under the conditions of vflash_set_conditions; without such as time_us */
    uint64_t violations;        /* accesses that a real chip refuses or corrupts */
};

/*
 * Conditions that change times, for `time_model_us` alone. Each stands on published statements; where those give a direction and
 * the data sheet the ends, the way between is a straight line, which is an assumption.
 *
 * wear: an erase takes longer the more often its block was erased, from typical when new to maximum at the rated endurance (worn
 * cells erase more slowly: Desnoyers, "Empirical evaluation of NAND flash memory performance", 2010; that they also program faster is
 * left out).
 * slow_permille: so many of a thousand blocks, seeded, program and erase at the maximum. In bad conditions (heat, low voltage, wear)
 * up to a tenth of the cells do: SkyHigh Memory, AN202731, 2019. It is how the temperature class enters: 0 for
 * 25 degrees, 100 for the worst corner.
 * content: bytes of 0xFF in a program need no pulse and cost what a missing byte costs under the byte convention.
 */
struct vflash_conditions {
    bool wear;
    bool content;
    uint32_t slow_permille;     /* 0 to 1000 */
    uint64_t seed;              /* which blocks are slow */
};
void vflash_set_conditions(struct vflash *chip, const struct vflash_conditions *conditions);    /* NULL: typical */

/* Reads and programs that touched each page since this call; erases of blocks are always counted. Returns 0, or -1 without memory. */
int vflash_count_each_page(struct vflash *chip);
uint32_t vflash_page_reads(const struct vflash *chip, uint32_t page);       /* 0 where they are not counted */
uint32_t vflash_page_programs(const struct vflash *chip, uint32_t page);

/* ---- faults ------------------------------------------------------------------------------------- */

enum vflash_erase_cut {         /* what a cut inside an erase leaves */
    VFLASH_ERASE_UNTOUCHED = 0,
    VFLASH_ERASE_PARTLY = 1,    /* seeded: some bytes erased, some half (any bits) */
    VFLASH_ERASE_WEAK = 2,      /* all 0xFF, but the next program of a byte may leave other bits than asked */
    VFLASH_ERASE_UNSTABLE = 3,  /* bits read differently each time until the block is erased */
    VFLASH_ERASE_DONE = 4,
    VFLASH_ERASE_PREFIX = 5     /* `byte` bytes from the start erased, of the next one the bits of `last_byte_mask`, the rest as before */
};

struct vflash_cut {
    uint64_t operation;         /* cut at this program or erase, counted from 1 since vflash_cut_at; 0: never */
    uint32_t byte;              /* program: so many bytes land before the cut (UINT32_MAX: all of them); see also VFLASH_ERASE_PREFIX */
    uint8_t last_byte_mask;     /* program: bits of the next byte that are programmed all the same */
    bool shuffle;               /* program: bytes land in a seeded random order */
    enum vflash_erase_cut erase;
    uint64_t seed;
};

/*
 * After the cut each call fails with VFLASH_OFF until vflash_power_on. If `on_cut` is set it is called at
 * the instant of the cut (a test may longjmp out of it).
 */
#define VFLASH_OFF (-1000)
#define VFLASH_VIOLATION (-1001)
#define VFLASH_FAILED (-1002)

/* ---- the chip ----------------------------------------------------------------------------------- */

/* A chip in memory, blank (all 0xFF); takes a copy of `chip`. NULL on failure. */
struct vflash *vflash_new(const struct vflash_chip *chip);

/*
 * A chip over an image file, which is made blank where it does not exist (not with `read_only`) and must be as large as the
 * chip. Changes reach the file as they are made, so a killed process leaves what a power cut would. With `read_only`
 * programs and erases fail with VFLASH_FAILED, uncounted, and nothing reaches the file. Wear starts at 0; on a write-once chip
 * units that are not all 0xFF are taken as programmed. NULL on failure, with a message.
 */
struct vflash *vflash_open(const struct vflash_chip *chip, const char *image_path, bool read_only, char *message, size_t message_size);

void vflash_free(struct vflash *chip);  /* writes an image file back; NULL is allowed */
int vflash_flush(struct vflash *chip);  /* writes an image file through to its medium; 0, or -1 */

/* A driver structure for the file systems; valid as long as the chip. It takes every size of erase_sizes. */
const struct nf2_flash *vflash_driver(struct vflash *chip);

/*
 * Erases in the background: the driver gets `erase_begin` and `erase_done` (off: NULL, as by default). An open erase goes on
 * while time passes: in vflash_pass, which stands for whatever else takes time, and where a call waits for it. A read or program
 * suspends it, which takes `suspend_us` more, or with 0 waits for its end: not every chip can suspend. (How long an erase must run
 * between two suspends is not modelled.) A call that touches its range, or another erase, is a violation while it is open.
 *
 * It is one operation (see vflash_cut_at), and a cut at it hits in the next call of any kind, vflash_pass included. A cut at a
 * later program tears that one and the open erase, by the same struct vflash_cut.
 */
void vflash_background(struct vflash *chip, bool on, uint32_t suspend_us);
void vflash_pass(struct vflash *chip, uint64_t us);
bool vflash_is_erasing(const struct vflash *chip);      /* an erase is open, and not at its end */

/*
 * Strict (default on): a violation fails with VFLASH_VIOLATION and changes nothing; off: it is counted and does what a real
 * chip does: addresses wrap (a program inside its page), bits are ANDed, an erase starts at its boundary. An erase of a
 * size that the chip has no command for is refused either way.
 */
void vflash_set_strict(struct vflash *chip, bool strict);

/* What the last violation was, or NULL. */
const char *vflash_violation(const struct vflash *chip);

const struct vflash_chip *vflash_chip_of(const struct vflash *chip);
const struct vflash_counts *vflash_counts(const struct vflash *chip);
void vflash_counts_reset(struct vflash *chip);

uint32_t vflash_wear(const struct vflash *chip, uint32_t block);        /* erases of a block (of block_size) */
uint8_t *vflash_memory(struct vflash *chip);                            /* the raw contents, for tests and images */

/*
 * Operations are the driver's program and erase calls while the power is on, refused and failing ones included. All units that
 * a torn program was asked to program count as programmed. What a weak or unstable erase left stays with its blocks, also
 * when power comes back, until each is completely erased; a torn erase leaves programmed units programmed.
 */
void vflash_cut_at(struct vflash *chip, const struct vflash_cut *cut);  /* NULL: no cut */
void vflash_on_cut(struct vflash *chip, void (*on_cut)(void *context), void *context);
uint64_t vflash_operations(const struct vflash *chip);                  /* programs and erases since vflash_cut_at */
void vflash_power_on(struct vflash *chip);

/* The `operation`-th driver call (reads included, from now on, from 1) does nothing and fails with VFLASH_FAILED; 0: none. */
void vflash_fail_at(struct vflash *chip, uint64_t operation);
void vflash_fail_from(struct vflash *chip, uint64_t operation, uint64_t count);     /* so many calls in a row */
uint64_t vflash_failed(const struct vflash *chip);                                  /* calls that failed so, up to now */

/*
 * Bits that turn over by themselves, both ways (retention, read disturb): chosen ones of one byte, or `count` seeded ones, each
 * another, in [address, address + length). Not counted; what is known of units that were programmed stays. Returns how many turned. On
 * NAND no code mends them: see vflash_nand_spoil.
 */
void vflash_flip(struct vflash *chip, uint32_t address, uint8_t mask);
uint32_t vflash_flip_seeded(struct vflash *chip, uint32_t address, uint32_t length, uint32_t count, uint64_t seed);

/* Called at the start of each operation (see vflash_cut_at), in front of its cut; NULL: no more. */
struct vflash_operation {
    bool erase;                 /* else a program */
    uint32_t address, length;
};
void vflash_watch(struct vflash *chip, void (*watch)(void *context, const struct vflash_operation *operation), void *context);

/*
 * From now on the block fails to erase and program (its contents stay): reported (NF2_FLASH_BAD) or silent. The second one breaks
 * the block that the `operation`-th operation from now on hits (of a larger erase the first one), in front of it; 0: none.
 */
void vflash_break_block(struct vflash *chip, uint32_t block, bool silent);
void vflash_break_at(struct vflash *chip, uint64_t operation, bool silent);

/*
 * A copy of the whole state, to go back to (tests): save, restore (to the same chip), release. Strictness, on_cut, the
 * watch and the trace are settings: they stay as they are. Save gives NULL when memory is short.
 */
struct vflash_checkpoint *vflash_save(const struct vflash *chip);
void vflash_restore(struct vflash *chip, const struct vflash_checkpoint *checkpoint);
void vflash_release(struct vflash_checkpoint *checkpoint);

/*
 * The whole state in a file, for another process: contents, wear, counters, marks. Loads into a chip of the same geometry.
 * Return 0, or -1 with a message; a load that fails leaves the chip as it was, unless the file ends early.
 */
int vflash_store(const struct vflash *chip, FILE *file, char *message, size_t message_size);
int vflash_load(struct vflash *chip, FILE *file, char *message, size_t message_size);

/*
 * NAND. A factory bad block has 0 in the first spare byte of its first page, and neither erases nor programs. A spare program counts
 * as a part of the program of its page; it clears bits. A spare read counts as a read of its bytes. Return 0, or an error as the driver's.
 */
bool vflash_is_bad(const struct vflash *chip, uint32_t block);
int vflash_spare_read(struct vflash *chip, uint32_t page, void *data, uint32_t length);
int vflash_spare_program(struct vflash *chip, uint32_t page, const void *data, uint32_t length);

/*
 * The driver of nf2fs/nand.h, valid as long as the chip; NULL: it is NOR, or has no spare bytes, or its geometry is not that of
 * struct nf2_nand. Counts: a page that comes from its cells into the chip's buffer is a page read; what goes over the bus are calls
 * and bytes. Operations (vflash_cut_at) are programs, copies, erases, and marks that are set. Beside the rules of NAND pages strict
 * rules refuse: a read, copy or erase between a load and its program; an erase of a block that is marked bad; a program into what a torn
 * erase left.
 *
 * Wrong bits, seen by this driver alone: in each 512 bytes of a programmed page there are, in the mean, worn_errors_ppm millionths
 * times (w * w + r * (1 + w) / 2). w: erases of the block by its endurance; r: reads of its pages since its erase by disturb_reads. That
 * reads count linearly, and more with wear, is as Cai et al., "Read disturb errors in MLC NAND flash memory" (DSN 2015), found; the
 * square of the wear and the factor 2 are assumed. So is the amount, for the catalogue's chips: at the endurance at most about one of a million
 * codewords has more wrong bits than are mended (the endurance is stated for that code). They only become more until the next
 * erase, and the same seed gives the same ones. Age alone turns no bits.
 *
 * Blocks go bad (NF2_FLASH_BAD at an erase) somewhere between worn_out_pct of the endurance and twice that.
 *
 * A cut program leaves, by `byte` of struct vflash_cut: 0 with no mask: a page that reads as blank; a part: one that is LOST; all: a
 * whole one, with `shuffle` a weak one. A cut erase leaves pages that are LOST, or (untouched, done, weak) as for NOR.
 */
const struct nf2_nand *vflash_nand_driver(struct vflash *chip);
void vflash_nand_seed(struct vflash *chip, uint64_t seed);      /* which bits fail, which blocks wear out: 0 at first */
uint32_t vflash_nand_reads(const struct vflash *chip, uint32_t block);  /* of its pages since its erase, by this driver */

/* As if the block had been erased, and since then read, so often. */
void vflash_nand_age(struct vflash *chip, uint32_t block, uint32_t erases, uint32_t reads);

/* So many wrong bits more in each 512 bytes of the page until its erase; 255: no code fits, it is LOST. */
void vflash_nand_spoil(struct vflash *chip, uint32_t page, uint32_t bits);

/*
 * The `program`-th program or copy of a page from now on (from 1; 0: none) reports success, but the byte is stored wrong. With `fine`
 * the page reads well (it came so over the bus), else it is LOST.
 */
void vflash_garbage_at(struct vflash *chip, uint64_t program, uint32_t byte, bool fine);

/* One line per operation into `trace` (NULL: none): "program 0x00001000 256", with what went wrong behind it. */
void vflash_trace(struct vflash *chip, FILE *trace);

#endif
