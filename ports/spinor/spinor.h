/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spinor.h - a driver for JEDEC serial NOR chips over your SPI or QSPI controller.
 *
 * You give one function that makes a transaction and one that waits. spinor_start finds out the
 * rest from the chip (SFDP, JESD216): size, page, erase sizes with their opcodes and times, 3 or 4
 * address bytes, reads on four lines, erase suspend, deep power-down. A chip without SFDP is taken
 * by its identification, with 4 and 64 KiB erases.
 *
 *     static struct spinor chip;
 *     static const struct spinor_bus bus = {.transfer = board_transfer, .pause = board_pause};
 *     if (spinor_start(&chip, &bus) == 0) { config.flash = &chip.driver; }
 *
 * Several tasks may use one chip when `lock`, `unlock`, `claim` and `release` are given: the bus is
 * free while the chip is busy, and a read by another task then suspends an erase that is under way.
 */
#ifndef SPINOR_H
#define SPINOR_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/flash.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * All functions return 0, one of these, or NF2_FLASH_BAD where
 * the chip says that an operation failed.
 */
enum spinor_error {
    SPINOR_OK = 0,
    SPINOR_BUS = -1,            /* `transfer` failed */
    SPINOR_ABSENT = -2,         /* nothing answers: wiring, chip select, or no power */
    SPINOR_TIMEOUT = -3,        /* busy for longer than the chip's own maximum */
    /* write enable is not taken, a broken MOSI line may do that, too; or the chip says that the
       place is write-protected: see spinor_unprotect */
    SPINOR_PROTECTED = -4,
    /* the chip answers, but how large it is or how it addresses is not known */
    SPINOR_UNKNOWN = -5,
    /* the range is not on the chip, or not one erase; or spinor_erase_done was not asked */
    SPINOR_RANGE = -6,
    /* no erase of 4 KiB to 64 KiB is known to work everywhere: see part.erase */
    SPINOR_UNEVEN = -7,
    SPINOR_DIFFERS = -8         /* what was programmed reads differently (bus.read_back) */
};

const char *spinor_error_text(int error);

struct spinor_transfer {
    uint8_t opcode;             /* on one line */
    uint8_t address_bytes;      /* 0, 3 or 4; most significant first */
    uint8_t address_lines;      /* 1 or 4 */
    uint8_t dummy_clocks;       /* behind the address; drive zeros */
    uint8_t data_lines;         /* 1 or 4 */
    uint32_t address;
    const uint8_t *out;         /* `length` bytes to send, or NULL */
    uint8_t *in;                /* `length` bytes to receive, or NULL */
    uint32_t length;            /* 0: none */
    /* only where `lines` is 4, in spinor_start, to leave QPI; who cannot do it may ignore it */
    bool opcode_on_four;
};

/*
 * For controllers that know nothing but bytes: writes opcode, address and dummy bytes of a transfer
 * on one line into `out` and returns how many they are. Send them, then the data, in one chip
 * select.
 */
#define SPINOR_HEADER_MAX 9u
uint32_t spinor_header(const struct spinor_transfer *transfer, uint8_t out[SPINOR_HEADER_MAX]);

struct spinor_bus {
    void *context;

    /* One transaction: chip select low, the transfer, chip select high. 0, or a negative number. */
    int (*transfer)(void *context, const struct spinor_transfer *transfer);

    /*
     * Waits about `us` microseconds, or does other work meanwhile. It may return early if `delay`
     * or `now_us` is given. Where tasks share the chip, tasks of any priority run in a pause of
     * 1000.
     */
    void (*pause)(void *context, uint32_t us);

    /* The rest is optional. */

    /*
     * Waits at least `us` microseconds: what the chip needs before it listens again, mostly less
     * than 100. Without it spinor pauses, until `now_us`, where it is given, has gone on by `us`
     * and 10 ms more.
     */
    void (*delay)(void *context, uint32_t us);

    /* A clock that wraps at 2^32; steps up to 10 ms are fine. It runs from spinor_start on. */
    uint32_t (*now_us)(void *context);

    /*
     * For a chip that several tasks use: two locks with priority inheritance, neither recursive.
     * `claim` is held for a whole program or erase, and while one waits for another task's: never
     * together with `lock` of another chip. `lock` is held for each use of the bus, inside `claim`
     * or alone. Without `claim` a task that must wait for another one's operation pauses.
     */
    void (*lock)(void *context);
    void (*unlock)(void *context);
    void (*claim)(void *context);
    void (*release)(void *context);

    /*
     * The chip as memory: `mapped_size` bytes at `mapped`. `map` turns the window on or off
     * (commands are sent while it is off); `forget` makes the processor drop what it cached of a
     * range.
     */
    const uint8_t *mapped;
    uint32_t mapped_size;
    int (*map)(void *context, bool on);
    void (*forget)(void *context, uint32_t address, uint32_t length);

    /*
     * Resets the chip by its pin, or by the sequence of JESD252. spinor_start calls it where the
     * chip does not answer: in octal mode, from which no command on one line leads back.
     */
    void (*reset)(void *context);

    bool read_back;             /* read and compare each program: it may have been ignored */
    uint8_t lines;              /* data lines: 4, or 0 and 1 for one */
    uint32_t clock_hz;          /* for `read_page_us`; 0: 50 MHz */
};

struct spinor_erase {
    uint32_t size;              /* bytes; 0: none */
    uint8_t opcode;
    uint32_t typical_us, max_us;
};

#define SPINOR_ERASES 4u

/* Where the chip says that a program or erase failed. */
enum spinor_failures {
    SPINOR_SILENT,              /* it does not */
    SPINOR_FLAGS,               /* register 70h (Micron and others) */
    SPINOR_SECURITY,            /* register 2Bh (Macronix) */
    SPINOR_STATUS               /* register 05h, and it stays busy until 30h (Spansion S25FL-S) */
};

/* What was found out; for your log, and to be looked at in a debugger. */
struct spinor_part {
    uint8_t id[3];              /* maker, type, capacity */
    bool sfdp;                  /* the chip described itself */
    uint32_t size, page_size;
    struct spinor_erase erase[SPINOR_ERASES];
    uint32_t program_us, program_max_us;
    uint8_t address_bytes;
    uint8_t read, read_address_lines, read_data_lines, read_dummies, program;
    uint8_t suspend, resume;    /* opcodes; 0: an erase cannot be suspended */
    uint32_t suspend_us, resume_gap_us;
    bool programs_meanwhile;    /* elsewhere, while an erase is suspended */
    uint8_t sleep, wake;        /* opcodes; 0: no deep power-down */
    uint32_t wake_us;
    uint32_t base, usable;      /* bytes: the part that `driver` shows; others have other erases */
    enum spinor_failures failures;
    uint8_t dies;               /* 70h must be read so often */
    uint8_t protect_bits;       /* of register 1 */
    bool protect_inverts;       /* bit 6 of register 2 inverts what they say */
    bool is_protected;          /* some of the chip, when it was started: see spinor_unprotect */
    bool locks;                 /* all of it is locked from power-up on */

    /* as SFDP gives them, until spinor_start has used them */
    uint8_t quad, quad_dummies, quad_lines, quad_enable, enter_four;
};

struct spinor {
    struct nf2_flash driver;    /* for nf2_config.flash */
    struct spinor_part part;
    const struct spinor_bus *bus;

    /* private */
    enum { SPINOR_IDLE, SPINOR_PROGRAMS, SPINOR_ERASES_NOW } work;
    uint32_t work_address, work_length;
    bool open, runs;            /* an erase was begun and not asked about; the chip is at it */
    bool finishing;             /* a task waits for its end */
    int open_result;            /* where it does not run any more */
    uint32_t open_since_us, open_max_us, open_suspends;
    uint32_t suspends;          /* of the erase that is under way */
    bool suspended;             /* it must be resumed before it is over */
    bool stubborn;              /* it was asked to stop, and did not */
    bool asleep;
    uint8_t flags;              /* 70h, at the end of the last wait */
    bool locked;                /* nothing is written until spinor_unprotect */
};

/*
 * Finds the chip and fills in `chip`. Also where the processor was reset while the chip erased,
 * slept, had an erase suspended, was in another addressing mode, in continuous reading or in QPI.
 * (From QPI a bus with one line gets a chip only if it takes FFh, and if the other lines are pulled
 * up.) An erase that is under way or suspended is waited for. `bus` stays in use.
 */
int spinor_start(struct spinor *chip, const struct spinor_bus *bus);

/* Any range of the chip. A program is split at page ends; the range must be erased. */
int spinor_read(struct spinor *chip, uint32_t address, void *data, uint32_t length);
int spinor_program(struct spinor *chip, uint32_t address, const void *data, uint32_t length);

/* One erase of a size that the chip has, at a multiple of it. */
int spinor_erase(struct spinor *chip, uint32_t address, uint32_t length);

/*
 * The same in the background: spinor_erase_begin returns at once, spinor_erase_done says 0 while
 * the erase runs, 1 when it has ended (or none was begun), an error when it has failed. Meanwhile
 * reads and programs elsewhere suspend it, if the chip can do that (part.suspend,
 * part.programs_meanwhile), and wait for its end otherwise; what needs the chip for itself (another
 * erase, a sleep) waits.
 * Without `now_us` an erase that never ends is not noticed. `driver` has these functions where the
 * chip can do both.
 */
int spinor_erase_begin(struct spinor *chip, uint32_t address, uint32_t length);
int spinor_erase_done(struct spinor *chip);

/*
 * Clears the block protection of the whole chip: bits that stay when the power fails, or those of a
 * chip that is locked from each power-up on (part.locks), which writes nothing before this call.
 * SPINOR_PROTECTED: the chip keeps them (a pin, or for good). Sector by sector protection of other
 * kinds (PPB, DYB, SPB) is not touched. Does nothing where part.is_protected is false.
 */
int spinor_unprotect(struct spinor *chip);

/* Deep power-down; the next call wakes the chip by itself. Does nothing on a chip that has none. */
int spinor_sleep(struct spinor *chip);

#ifdef __cplusplus
}
#endif
#endif
