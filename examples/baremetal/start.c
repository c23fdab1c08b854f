/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * start.c - the least that a Cortex-M needs in front of main, for
 * an emulated board (QEMU's mps2-an386).
 */
#include <stdint.h>
#include <string.h>

extern uint32_t __stack_top;
extern char __bss_begin[], __bss_end[], __data_begin[], __data_end[], __data_load[];
int main(void);
void reset(void);
void fault(void);
void service(void);
void put(const char *text);

__attribute__((section(".chip"))) uint8_t chip_memory[1024u * 1024u];

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &__stack_top,  (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    (void *)fault, NULL,          NULL,          NULL,          NULL,          (void *)service,
};

static void semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void put(const char *text)
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
    put("fault\n");
    leave(3);
}

/* Nothing: the emulator heeds the trap bit from the next exception on. */
void service(void)
{
}

void reset(void)
{
    memcpy(__data_begin, __data_load, (size_t)(__data_end - __data_begin));
    memset(__bss_begin, 0, (size_t)(__bss_end - __bss_begin));
    memset(chip_memory, 0xFF, sizeof(chip_memory));
    /* unaligned accesses trap, as they do on a Cortex-M0+ */
    *(volatile uint32_t *)(uintptr_t)0xE000ED14u |= 8u;
    __asm volatile("dsb\n isb\n svc 0" ::: "memory");
#ifdef MISALIGN
    (void)*(volatile uint32_t *)(uintptr_t)((uintptr_t)chip_memory + 1u);
#endif
    leave((uint32_t)main());
}
