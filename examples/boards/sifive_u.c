/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sifive_u.c - a 32-bit RISC-V whose volume lies on a serial NOR chip: ports/spinor over the SPI
 * controller of a SiFive FU540. As it is emulated the chip is an IS25WP256: 32 MiB, with four
 * address bytes, and without SFDP.
 */
#include "board.h"

#include <stddef.h>

#include "spinor.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define SPI 0x10040000u
#define SPI_CS_MODE (SPI + 0x18u)
#define SPI_FORMAT (SPI + 0x40u)
#define SPI_SEND (SPI + 0x48u)
#define SPI_RECEIVE (SPI + 0x4Cu)
#define SPI_WINDOW (SPI + 0x60u)
#define CS_HOLD 2u              /* low until further notice */
#define CS_AUTO 0u              /* high between frames */
#define FORMAT_BYTES 0x00080000u    /* eight bits, one line, most significant bit first */
#define NOT_READY 0x80000000u       /* of SEND: full; of RECEIVE: empty */
#define CLINT_TIME 0x0200BFF8u      /* of 1 MHz */

extern char __bss_begin[], __bss_end[];
int main(void);
void start(void);
void begin(void);
void fault(void);

/* ---- flash ----------------------------------------------------------------------------------- */

static uint8_t exchange(uint8_t out)
{
    uint32_t in;
    while ((REGISTER(SPI_SEND) & NOT_READY) != 0) {
    }
    REGISTER(SPI_SEND) = out;
    do {
        in = REGISTER(SPI_RECEIVE);
    } while ((in & NOT_READY) != 0);
    return (uint8_t)in;
}

static int bus_transfer(void *context, const struct spinor_transfer *transfer)
{
    uint8_t header[SPINOR_HEADER_MAX];
    uint32_t length = spinor_header(transfer, header);
    (void)context;
    REGISTER(SPI_CS_MODE) = CS_HOLD;
    for (uint32_t i = 0; i < length; i++) {
        (void)exchange(header[i]);
    }
    for (uint32_t i = 0; i < transfer->length; i++) {
        uint8_t in = exchange(transfer->out != NULL ? transfer->out[i] : 0);
        if (transfer->in != NULL) {
            transfer->in[i] = in;
        }
    }
    REGISTER(SPI_CS_MODE) = CS_AUTO;
    return 0;
}

static uint32_t bus_now(void *context)
{
    (void)context;
    return REGISTER(CLINT_TIME);
}

static void bus_pause(void *context, uint32_t us)
{
    uint32_t from = bus_now(context);
    while (bus_now(context) - from <= us) {
    }
}

static const struct spinor_bus bus = {
    .transfer = bus_transfer, .pause = bus_pause, .now_us = bus_now, .clock_hz = 20000000,
};
static struct spinor chip;

const struct nf2_flash *board_flash(uint32_t *offset)
{
    *offset = 31u << 20;            /* the chip's last MiB, out of reach of three address bytes */
    REGISTER(SPI_WINDOW) = 0;           /* commands, not reads through the window */
    REGISTER(SPI_FORMAT) = FORMAT_BYTES;
    int result = spinor_start(&chip, &bus);
    board_put(spinor_error_text(result));
    board_put("\n");
    return result == 0 ? &chip.driver : NULL;
}

/* ---- the emulator ---------------------------------------------------------------------------- */

static void semihost(uint32_t operation, const void *argument)
{
    register uint32_t a0 __asm("a0") = operation;
    register const void *a1 __asm("a1") = argument;
    __asm volatile(".option push\n.option norvc\n.balign 16\n"
                   "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n.option pop"
                   : "+r"(a0)
                   : "r"(a1)
                   : "memory");
}

void board_put(const char *text)
{
    semihost(0x04, text);
}

static void leave(uint32_t code)
{
    const uint32_t block[2] = {0x20026u, code};
    for (;;) {
        semihost(0x20, block);
    }
}

__attribute__((aligned(4))) void fault(void)
{
    board_put("fault\n");
    leave(3);
}

/* One hart works, the others sleep. */
__attribute__((section(".start"), naked, used)) void start(void)
{
    __asm volatile(".option arch, +zicsr\n"
                   "csrr t0, mhartid\n"
                   "bnez t0, 1f\n"
                   "la sp, __stack_top\n"
                   "la t0, fault\n"
                   "csrw mtvec, t0\n"
                   "j begin\n"
                   "1: wfi\n"
                   "j 1b");
}

void begin(void)
{
    for (char *at = __bss_begin; at < __bss_end; at++) {
        *at = 0;
    }
#ifdef MISALIGN
    (void)*(volatile uint32_t *)(uintptr_t)((uintptr_t)__bss_begin + 1u);
#endif
    leave((uint32_t)main());
}
