/* SPDX-License-Identifier: BSD-2-Clause */
/* state.h - what a virtual chip is made of; for the files of this folder only. */
#ifndef VFLASH_STATE_H
#define VFLASH_STATE_H

#include "pcg32.h"
#include "vflash.h"

enum block_mark {
    MARK_WEAK = 1,              /* programs leave other bits than asked */
    MARK_UNSTABLE = 2,          /* reads differ each time */
    MARK_BROKEN = 4,            /* neither erases nor programs */
    MARK_SILENT = 8             /* ... and says nothing of it */
};

/* An erase that was begun and not yet asked about. */
struct background {
    bool open;
    bool cut;                   /* the power fails in the next call */
    uint32_t first_block, end_block;
    uint64_t left_us;
};

/* What a checkpoint keeps besides the arrays. */
struct vflash_state {
    struct vflash_counts counts;
    const char *violation;      /* the last one, or NULL */
    bool off;
    struct vflash_cut cut;
    uint64_t operations;        /* since vflash_cut_at */
    uint64_t fail_in;           /* calls until the one that fails; 0: none */
    uint64_t fail_count;        /* so many in a row */
    uint64_t failed;            /* so many did */
    uint64_t break_in;          /* operations until the one that breaks a block; 0: none */
    bool break_silent;
    struct pcg32 noise;         /* of weak and unstable blocks; seeded by the cut */
    uint32_t marked;            /* blocks with a mark: 0 keeps the usual path short */
    struct vflash_conditions conditions;
    bool conditioned;           /* any of them is set */
    struct background background;
    uint64_t nand_seed;         /* NAND: which bits fail, which blocks wear out when */
    uint64_t garbage_in;        /* programs of pages until the one that stores something else; 0: none */
    uint32_t garbage_byte;
    bool garbage_is_fine;       /* ... and reads well */
    int buffer_result;          /* what was mended in the page in the buffer */
    uint32_t buffered;          /* 1 and the number of the page that was read into the buffer; 0: none */
    uint32_t loaded;            /* end of what was loaded into the buffer; 0: nothing */
};

#define NAND_CODEWORD 512u      /* bytes that are mended together */
#define NAND_GARBAGE 255u       /* of page_errors: no code fits */
#define NAND_ERRORS_STREAM 0x4E414E44u
#define NAND_WEAR_STREAM 0x57454152u

struct vflash {
    struct vflash_chip chip;
    struct nf2_flash driver;
    struct nf2_nand nand_driver;
    struct vflash_state state;
    uint8_t *memory;
    uint32_t *wear;             /* each block */
    uint8_t *marks;             /* each block: enum block_mark */
    uint8_t *programmed;        /* a bit for each unit of a write-once chip, else NULL */
    uint32_t *page_reads, *page_programs;   /* each page, where vflash_count_each_page asked for it */
    uint8_t *spare;             /* NAND: spare_size bytes for each page, or NULL */
    uint8_t *page_errors;       /* NAND, each page: wrong bits in each codeword beside those of wear and reads, or NAND_GARBAGE */
    uint32_t *block_reads;      /* NAND, each block: reads of its pages since its erase, by vflash_nand_driver */
    uint8_t *page_buffer;       /* NAND: the chip's own, of a page */
    uint32_t blocks;
    uint32_t programmed_bytes;  /* size of `programmed` */
    unsigned page_shift, block_shift, unit_shift;
    bool strict;
    bool read_only;
    uint32_t suspend_us;        /* 0: an open erase cannot be suspended */
    bool mapped;                /* `memory` is a mapping, not from the heap */
    void (*on_cut)(void *context);
    void *on_cut_context;
    void (*watch)(void *context, const struct vflash_operation *operation);
    void *watch_context;
    FILE *trace;
};

/* A program as it lands: at most a page; its first `straight` bytes lie at `address` on, the others wrap to the page's start. */
struct program {
    uint32_t address;
    const uint8_t *data;
    uint32_t length;
    uint32_t straight;
};

/* ---- vflash.c ----------------------------------------------------------------------------------- */

/* A chip without contents: `memory` is NULL. NULL on failure, with a message. */
struct vflash *chip_make(const struct vflash_chip *chip, char *message, size_t message_size);
/* Traces a call; returns `result`. */
int chip_done(struct vflash *chip, const char *operation, uint32_t address, uint32_t length, const char *wrong, int result);
/* Counts a violation. Returns whether the call is refused. */
bool chip_refuses(struct vflash *chip, const char *wrong);
/* The power was off before the call, or fails with it. */
int chip_off(struct vflash *chip);
/* Erases blocks [first, end) completely, but not broken ones. Returns 0 or NF2_FLASH_BAD. */
int chip_erase_blocks(struct vflash *chip, uint32_t first, uint32_t end);

/* ---- units.c: which units of a write-once chip were programmed ------------------------------------ */

bool units_any(const struct vflash *chip, uint32_t address, uint32_t length);
void units_set(struct vflash *chip, uint32_t address, uint32_t length);
void units_clear(struct vflash *chip, uint32_t address, uint32_t length);
/* Takes units that are not blank as programmed. */
void units_adopt(struct vflash *chip);

/* ---- rules.c: what is wrong with a call, or NULL -------------------------------------------------- */

const char *rules_read(const struct vflash *chip, uint32_t address, uint32_t length);
const char *rules_program(const struct vflash *chip, uint32_t address, const uint8_t *data, uint32_t length);
const char *rules_erase(const struct vflash *chip, uint32_t address, uint32_t length);
/* The index of an erase size, or -1. */
int rules_erase_index(const struct vflash *chip, uint32_t length);

/* ---- count.c ------------------------------------------------------------------------------------ */

void count_read(struct vflash *chip, uint32_t address, uint32_t length);
void count_program(struct vflash *chip, const struct program *program);
void count_erase(struct vflash *chip, int index, uint32_t first_block, uint32_t end_block);
/* The same without its time; and time alone. */
void count_erase_begun(struct vflash *chip, int index, uint32_t first_block, uint32_t end_block);
void count_time(struct vflash *chip, uint64_t us);
/* Bytes over the bus of a NAND chip: their time. Of a read from its buffer: a call, too. From its cells into its buffer. */
void count_bus(struct vflash *chip, uint32_t length);
void count_transfer(struct vflash *chip, uint32_t length);
void count_array_read(struct vflash *chip, uint32_t page);

/* ---- conditions.c: times under conditions, in microseconds ---------------------------------------- */

uint64_t conditions_program_us(const struct vflash *chip, const struct program *program);
uint64_t conditions_erase_us(const struct vflash *chip, int index, uint32_t first_block, uint32_t end_block);

/* ---- nand.c ------------------------------------------------------------------------------------- */

/* Spare bytes, factory bad blocks, the buffer. Returns whether there was memory. */
bool nand_make(struct vflash *chip);
void nand_free(struct vflash *chip);
uint32_t nand_pages_per_block(const struct vflash *chip);
uint32_t nand_block_of(const struct vflash *chip, uint32_t page);
uint8_t *nand_spare(const struct vflash *chip, uint32_t page);
/* What is wrong with the program besides what is wrong on NOR, or NULL. */
const char *nand_program_fault(const struct vflash *chip, uint32_t address, uint32_t length);
void nand_blank(struct vflash *chip, uint32_t first_block, uint32_t end_block);

/* ---- nand_errors.c, nand_driver.c --------------------------------------------------------------- */

/* The result of a read of the page, whose content is in `data`; what cannot be mended is wrong there afterwards. */
int nand_errors(const struct vflash *chip, uint32_t page, uint8_t *data);
/* Whether the block has had more erases than it stands. */
bool nand_worn_out(const struct vflash *chip, uint32_t block);
/* The chip's buffer holds nothing any more. */
void nand_forget(struct vflash *chip);

/* ---- fault.c ------------------------------------------------------------------------------------ */

/* Counts a driver call: whether it is the one to fail. */
bool fault_call_fails(struct vflash *chip);
/* Counts a program or erase, and shows it to the watch: whether the power goes in it. */
bool fault_operation_cut(struct vflash *chip, bool erase, uint32_t address, uint32_t length);
/* Turns the power off and tells; the last thing of a call. Returns VFLASH_OFF (or never). */
int fault_power_off(struct vflash *chip);
void fault_tear_program(struct vflash *chip, const struct program *program);
void fault_tear_erase(struct vflash *chip, uint32_t first_block, uint32_t end_block);
/* Programs byte by byte, as blocks with marks need it. */
void fault_weak_program(struct vflash *chip, const struct program *program);
/* Disturbs what was read from unstable blocks. */
void fault_disturb_read(struct vflash *chip, uint32_t address, uint8_t *data, uint32_t length);
void fault_mark(struct vflash *chip, uint32_t block, unsigned set, unsigned clear);

/* ---- background.c: erases that are open ------------------------------------------------------------ */

bool background_overlaps(const struct vflash *chip, uint32_t address, uint32_t length);
void background_begin(struct vflash *chip, int index, uint32_t address, uint32_t length, bool cut);
/* Before each call: whether the power fails now. */
bool background_cut(struct vflash *chip);
/* For a read or a program: the erase is suspended, or ends. */
void background_give_way(struct vflash *chip);
/* 0: it runs, 1: it has ended or none was open; NF2_FLASH_BAD. */
int background_end(struct vflash *chip);
void background_tear(struct vflash *chip);

/* ---- image.c ------------------------------------------------------------------------------------ */

void image_unmap(struct vflash *chip);

#endif
