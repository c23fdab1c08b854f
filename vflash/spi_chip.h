/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spi_chip.h - a serial NOR chip as its bus sees it: chip select, clocked bytes, and time that
 * passes.
 *
 * It does what real chips do, also where that is not what the driver meant: a program wraps at the
 * end of its page, a command without write enable or to a busy chip is ignored, a read in the wrong
 * addressing mode answers from elsewhere. What was ignored is counted, so that a test can ask.
 */
#ifndef SPI_CHIP_H
#define SPI_CHIP_H

#include <stdbool.h>
#include <stdint.h>

#define SPI_CHIP_PAGE_MAX 512u
#define SPI_CHIP_ERASES 4u
#define SPI_CHIP_REGIONS 5u
#define SPI_CHIP_QUAD_ALWAYS 0xFFu

struct spi_chip_erase {
    uint32_t size;              /* bytes; 0: the chip has no such erase */
    uint8_t opcode;             /* in the present addressing mode */
    uint8_t opcode4;            /* with four address bytes in every mode; 0: none */
    uint32_t typical_us;
};

/* The erases that work in a piece of the chip: bit i stands for erase[i]. */
struct spi_chip_region {
    uint32_t size;
    uint8_t erases;
};

struct spi_chip_kind {
    uint8_t id[3];              /* answer to 9Fh */
    uint8_t id_more[2];         /* and two more, on chips whose id_long is set */
    bool id_long;
    uint32_t size;              /* bytes, a power of two */
    uint32_t page_size;         /* bytes, at most SPI_CHIP_PAGE_MAX */
    struct spi_chip_erase erase[SPI_CHIP_ERASES];
    uint32_t program_us;        /* a page */
    bool four_opcodes;          /* 12h, 13h, 0Ch, 6Ch, ECh: four address bytes in every mode */
    bool four_mode;             /* B7h and E9h switch the addressing mode */
    bool four_mode_latched;     /* and they need write enable before them */
    bool sfdp;                  /* 5Ah answers */
    bool sfdp_first;            /* with a table of the first edition: nine words, without times */
    bool quad;                  /* 6Bh and EBh, with the quad enable bit (bit 1 of register 2) */
    bool flag_status;           /* 70h: bit 7 ready, bit 5 erase failed, bit 4 program failed */
    uint32_t suspend_us;        /* takes so long; 0: the chip cannot suspend an erase */
    uint32_t suspend_size;      /* bytes: smaller erases cannot be suspended */
    uint8_t suspend, resume;    /* opcodes; 0: 75h and 7Ah */
    bool programs_meanwhile;    /* while an erase is suspended, outside its range */
    uint32_t resume_gap_us;     /* an erase that runs for less between two suspends gets nowhere */
    uint32_t wake_us;           /* ABh takes so long; 0: no deep power-down */

    /* Where not all erases work everywhere. Size 0 ends the list; an empty one: they do. */
    struct spi_chip_region regions[SPI_CHIP_REGIONS];
    struct spi_chip_region other[SPI_CHIP_REGIONS];     /* in their place, if a register says so: */
    uint8_t map_opcode, map_bit;                        /* that register, its bit; 0: none */
    bool map_garbled;           /* the table in SFDP makes no sense */

    uint8_t quad_method;        /* as SFDP counts them: 2 is bit 6 of register 1; 0: bit 1 of 2;
                                   SPI_CHIP_QUAD_ALWAYS: there is no bit */
    uint8_t protect_bits;       /* of register 1: while one of them is set nothing is written */
    bool protect_inverts;       /* bit 6 of register 2 inverts what they say */
    bool locked;                /* from power-up on nothing is written until 98h */
    uint32_t dies;              /* 70h must have said "ready" so often before the next command */
    bool security;              /* 2Bh: bit 6 erase failed, bit 5 program failed or protected */
    bool status_errors;         /* register 1: bits 5 and 6; the chip stays busy until 30h */
    uint32_t power_up_us;       /* it answers so long after power-up */
    uint32_t power_up_write_us; /* and takes a write enable so long after it */
    uint8_t qpi_exit;           /* opcode that leaves QPI; 0: the chip has no QPI */
};

/*
 * W25Q256JV and W25Q128JV, and an old chip without SFDP; then those that differ from them, as their
 * data sheets have them: erases by place (S25FL128S, SST26VF032B), error bits (MT25QL256, N25Q00A
 * of four dies, MX25L25645G, S25FL128S), sectors of 256 KiB alone (S25FL512S), blocks that are locked
 * at power-up (SST26VF032B).
 */
extern const struct spi_chip_kind spi_chip_w25q256, spi_chip_w25q128, spi_chip_old,
    spi_chip_s25fl128s, spi_chip_s25fl512s, spi_chip_sst26vf032b, spi_chip_mt25ql256,
    spi_chip_n25q00a, spi_chip_mx25l25645g;

struct spi_chip_counts {
    uint32_t programs, erases, suspends, resumes;   /* begun */
    uint32_t ignored;           /* commands that the chip took no notice of */
    uint32_t wrapped;           /* programs that went past their page's end */
    uint32_t rises;             /* programs that asked for a bit to go from 0 to 1 */
    uint32_t blind_reads;       /* bytes read of the block whose erase is suspended */
    uint32_t meanwhile;         /* programs while an erase was suspended */
};

struct spi_chip;

struct spi_chip *spi_chip_new(const struct spi_chip_kind *kind);    /* blank; NULL: no memory */
void spi_chip_free(struct spi_chip *chip);

void spi_chip_select(struct spi_chip *chip, bool low);              /* low: the chip listens */
/* a byte each way */
uint8_t spi_chip_exchange(struct spi_chip *chip, uint8_t out, unsigned lines);
void spi_chip_wait(struct spi_chip *chip, uint64_t ns);             /* time passes */

uint64_t spi_chip_now_ns(const struct spi_chip *chip);
uint8_t *spi_chip_memory(struct spi_chip *chip);
const struct spi_chip_counts *spi_chip_counts(const struct spi_chip *chip);
bool spi_chip_is_busy(const struct spi_chip *chip);
uint32_t spi_chip_clock_ns(const struct spi_chip *chip);            /* one bit on one line */

/*
 * The board fails at that instant of spi_chip_now_ns. POWER: what the chip was doing stays half
 * done (which bits, the seed says), what was being transferred is forgotten. RESET: only the
 * processor stops; chip select rises, so that a program of which some bytes arrived begins with
 * those, and the chip goes on. From then on the chip is out of reach until spi_chip_start.
 */
enum spi_chip_cut { SPI_CHIP_CUT_POWER, SPI_CHIP_CUT_RESET };
void spi_chip_cut_at(struct spi_chip *chip, uint64_t ns, enum spi_chip_cut kind, uint64_t seed);
bool spi_chip_is_cut(const struct spi_chip *chip);
/* the board starts again, after a cut or without one */
void spi_chip_start(struct spi_chip *chip);

/* How a boot loader may leave the chip: it then takes no plain opcode. */
enum spi_chip_mode { SPI_CHIP_PLAIN, SPI_CHIP_CONTINUOUS, SPI_CHIP_QPI, SPI_CHIP_OCTAL };
void spi_chip_set_mode(struct spi_chip *chip, enum spi_chip_mode mode);
void spi_chip_reset_pin(struct spi_chip *chip);
void spi_chip_set_registers(struct spi_chip *chip, uint8_t first, uint8_t second);

/* Faults: all programs and erases ignored; the next operation fails and says so in its flags. */
void spi_chip_protect(struct spi_chip *chip, bool on);
void spi_chip_fail_next(struct spi_chip *chip);

#endif
