/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * microbit.c - a Cortex-M0 whose volume lies in its own flash: the controller (NVMC) of an nRF51822
 * programs words and erases pages of 1 KiB. Unaligned accesses trap on this processor.
 *
 * The code runs from the same flash: on the real chip the processor stands still meanwhile.
 */
#include "board.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define NVMC 0x4001E000u
#define NVMC_READY (NVMC + 0x400u)
#define NVMC_CONFIG (NVMC + 0x504u)
#define NVMC_ERASE (NVMC + 0x508u)
#define CONFIG_READ 0u
#define CONFIG_WRITE 1u
#define CONFIG_ERASE 2u
#define VOLUME 0x20000u         /* behind what microbit.ld gives to the code */
#define PAGE 1024u              /* the smallest erase of the chip, too small for a block */
#define BLOCK 4096u
#define WORD 4u

extern uint32_t __stack_top;
extern char __bss_begin[], __bss_end[], __data_begin[], __data_end[], __data_load[];
int main(void);
void reset(void);
void fault(void);

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &__stack_top, (void *)reset, (void *)fault, (void *)fault, NULL, NULL, NULL, NULL,
    NULL,         NULL,          NULL,          (void *)fault,
};

/* ---- flash ----------------------------------------------------------------------------------- */

static void configure(uint32_t mode)
{
    REGISTER(NVMC_CONFIG) = mode;
    while ((REGISTER(NVMC_READY) & 1u) == 0) {
    }
}

static int flash_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    memcpy(data, (const void *)(uintptr_t)(VOLUME + address), length);
    return 0;
}

static int flash_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    (void)context;
    configure(CONFIG_WRITE);
    for (uint32_t i = 0; i < length; i += WORD) {
        uint32_t word;
        memcpy(&word, bytes + i, WORD);         /* `data` has any alignment */
        REGISTER(VOLUME + address + i) = word;
        while ((REGISTER(NVMC_READY) & 1u) == 0) {
        }
    }
    configure(CONFIG_READ);
    return 0;
}

static int flash_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    configure(CONFIG_ERASE);
    for (uint32_t at = 0; at < length; at += PAGE) {
        REGISTER(NVMC_ERASE) = VOLUME + address + at;
        while ((REGISTER(NVMC_READY) & 1u) == 0) {
        }
    }
    configure(CONFIG_READ);
    return 0;
}

static const struct nf2_flash flash = {
    .read = flash_read, .program = flash_program, .erase = flash_erase,
    .chip_size = 128u * 1024u, .block_size = BLOCK, .page_size = 256,
    .program_unit = WORD, .read_unit = 1,
    .read_page_us = 20, .program_page_us = 2500, .erase_block_us = 80000,
};

const struct nf2_flash *board_flash(uint32_t *offset)
{
    *offset = 0;
    return &flash;
}

/* ---- the emulator ---------------------------------------------------------------------------- */

static void semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
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

void fault(void)
{
    board_put("fault\n");
    leave(3);
}

void reset(void)
{
    memcpy(__data_begin, __data_load, (size_t)(__data_end - __data_begin));
    memset(__bss_begin, 0, (size_t)(__bss_end - __bss_begin));
#ifdef MISALIGN
    (void)*(volatile uint32_t *)(uintptr_t)((uintptr_t)__bss_begin + 1u);
#endif
    leave((uint32_t)main());
}
