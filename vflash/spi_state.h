/* SPDX-License-Identifier: BSD-2-Clause */
/* spi_state.h - what spi_chip.c and spi_array.c share: the state of one chip. */
#ifndef SPI_STATE_H
#define SPI_STATE_H

#include "spi_chip.h"

#define SPI_SFDP_SIZE 256u

enum spi_operation { SPI_IDLE, SPI_PROGRAM, SPI_ERASE, SPI_WAIT };

struct spi_chip {
    struct spi_chip_kind kind;
    uint8_t *memory;
    uint8_t sfdp[SPI_SFDP_SIZE];
    struct spi_chip_counts counts;
    uint64_t now_ns;

    /* the board */
    bool cut_set, cut;
    enum spi_chip_cut cut_kind;
    uint64_t cut_ns, cut_seed;

    /* registers */
    bool enabled, four, asleep, protected, fail_next, reset_armed;
    uint8_t status1, status2, flags;
    bool locked;
    uint32_t unread;            /* times that 70h must be read yet */
    enum spi_chip_mode mode;
    uint64_t powered_ns;        /* when */

    /* what the array does: `left_ns` of it are still to come */
    enum spi_operation operation;
    bool suspended, suspending;
    uint64_t left_ns, total_ns;
    uint64_t suspend_left_ns;   /* until a suspend has taken effect */
    uint64_t resumed_ns;        /* when the erase went on */
    uint64_t left_at_resume_ns;
    uint32_t address, length;   /* of the operation */
    bool nested;                /* a program, while the erase in `held` is suspended */
    struct spi_held {
        uint32_t address, length;
        uint64_t left_ns, total_ns, left_at_resume_ns;
    } held;
    uint8_t page[SPI_CHIP_PAGE_MAX];
    bool touched[SPI_CHIP_PAGE_MAX];

    /* the command that is being received */
    bool opcode_on_four;
    uint32_t clocks;            /* of the transaction so far */
    bool selected, dead;        /* dead: ignored up to the end of the transaction */
    uint8_t opcode;
    uint32_t received;          /* bytes of it, the opcode included */
    uint32_t address_bytes, dummy_clocks;
    uint32_t target;            /* its address */
    uint32_t data;              /* bytes of data so far */
    uint8_t written[2];
};

void spi_array_pass(struct spi_chip *chip, uint64_t ns);    /* time passes for the array */
void spi_array_tear(struct spi_chip *chip);                 /* the power fails */
void spi_array_program(struct spi_chip *chip);              /* begins one with `page`, `touched` */
void spi_array_erase(struct spi_chip *chip, const struct spi_chip_erase *erase);
void spi_array_suspend(struct spi_chip *chip);
void spi_array_resume(struct spi_chip *chip);
uint8_t spi_array_read(struct spi_chip *chip, uint32_t address);
bool spi_chip_works_at(const struct spi_chip *chip, uint32_t erase, uint32_t address);
void spi_sfdp_build(const struct spi_chip_kind *kind, uint8_t out[SPI_SFDP_SIZE]);

#endif
