/* SPDX-License-Identifier: BSD-2-Clause */
/* board.c - start, faults, console and flash controller of an AST1030 as QEMU has it. */
#include "board.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "nf2_freertos.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define UART 0x7E784000u
#define UART_STATUS (UART + 0x14u)
#define UART_READY 0x20u
#define FMC 0x7E620000u
#define FMC_CONF (FMC + 0x00u)
#define FMC_WRITES (1u << 16)
#define FMC_ADDRESSING (FMC + 0x04u)
#define FMC_CONTROL (FMC + 0x10u)
#define FMC_READ 0u             /* the window reads by itself */
#define FMC_ACTIVE 3u           /* user mode: a byte to or from the window is one on the bus */
#define FMC_INACTIVE 7u
#define WINDOW 0x80000000u
#define WINDOW_SIZE (32u << 20)
#define CPACR 0xE000ED88u
#define AIRCR 0xE000ED0Cu
#define AIRCR_RESET 0x05FA0004u
#define CCR 0xE000ED14u
#define UNALIGNED_TRAPS 8u

static struct nf2_freertos_chip shared;         /* the chip, by tasks */

extern char __bss_begin[], __bss_end[], __heap_begin[], __heap_end[];
extern uint32_t __stack_top;
int main(void);
void board_reset(void);
void board_fault(void);
void board_svc(void);
void board_pendsv(void);
void board_systick(void);

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &__stack_top,
    (void *)board_reset,
    (void *)board_fault,
    (void *)board_fault,
    (void *)board_fault,
    (void *)board_fault,
    (void *)board_fault,
    NULL,
    NULL,
    NULL,
    NULL,
    (void *)board_svc,
    (void *)board_fault,
    NULL,
    (void *)board_pendsv,
    (void *)board_systick,
};

void board_reset(void)
{
    for (char *at = __bss_begin; at < __bss_end; at++) {
        *at = 0;
    }
    REGISTER(CPACR) |= 0xFu << 20;          /* the FPU, before anything uses it */
    REGISTER(CCR) |= UNALIGNED_TRAPS;
    __asm volatile("dsb\n isb");
    nf2_freertos_chip_init(&shared);
    board_exit(main());
}

/* ---- the emulator ---------------------------------------------------------------------------- */

static int semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return (int)r0;
}

/*
 * A reset, upon which the emulator (-no-reboot) shuts down in order: an exit by semihosting drops
 * what the image's file has not taken yet of what the chip has programmed.
 */
_Noreturn void board_exit(int code)
{
    char text[] = "\nEXIT 0\n";
    __asm volatile("cpsid i" ::: "memory");
    text[6] = (char)('0' + code % 10);
    board_put(text, sizeof(text) - 1u);
    for (;;) {
        REGISTER(AIRCR) = AIRCR_RESET;
        __asm volatile("dsb");
    }
}

void board_arguments(char *out, uint32_t size)
{
    const uint32_t block[2] = {(uint32_t)(uintptr_t)out, size};
    out[0] = '\0';
    (void)semihost(0x15, block);
}

/* ---- console --------------------------------------------------------------------------------- */

void board_put(const char *text, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        while ((REGISTER(UART_STATUS) & UART_READY) == 0) {
        }
        REGISTER(UART) = (uint8_t)text[i];
    }
}

static void put_text(const char *text)
{
    board_put(text, (uint32_t)strlen(text));
}

void board_fault(void)
{
    put_text("\nFAULT\n");
    board_exit(3);
}

void board_stop(const char *file, int line)
{
    char number[8];
    uint32_t at = sizeof(number);
    do {
        number[--at] = (char)('0' + line % 10);
        line /= 10;
    } while (line > 0);
    put_text("\nSTOP ");
    put_text(file);
    put_text(":");
    board_put(number + at, (uint32_t)sizeof(number) - at);
    put_text("\n");
    board_exit(4);
}

_Noreturn void board_power_fails(void)
{
    taskDISABLE_INTERRUPTS();
    put_text("\nTORN\n");
    board_exit(0);
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name);
void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    put_text("\nstack of ");
    put_text(name);
    board_stop("overflow", 0);
}

/* ---- flash controller ------------------------------------------------------------------------ */

/*
 * The order of the two stores to the window and the control
 * register matters: all of it is device memory.
 */
static int bus_transfer(void *context, const struct spinor_transfer *transfer)
{
    volatile uint8_t *window = (volatile uint8_t *)(uintptr_t)WINDOW;
    uint8_t header[SPINOR_HEADER_MAX];
    uint32_t length = spinor_header(transfer, header);
    (void)context;
    REGISTER(FMC_CONTROL) = FMC_ACTIVE;
    for (uint32_t i = 0; i < length; i++) {
        *window = header[i];
    }
    for (uint32_t i = 0; i < transfer->length; i++) {
        if (transfer->in != NULL) {
            transfer->in[i] = *window;
        } else {
            *window = transfer->out[i];
        }
    }
    REGISTER(FMC_CONTROL) = FMC_INACTIVE;
    return 0;
}

/* Window reads use 13h: four address bytes. */
static int bus_map(void *context, bool on)
{
    (void)context;
    REGISTER(FMC_CONF) |= FMC_WRITES;
    REGISTER(FMC_ADDRESSING) |= 1u;
    REGISTER(FMC_CONTROL) = on ? FMC_READ : FMC_INACTIVE;
    return 0;
}

/* The emulated window is never cached: there is nothing to forget. */
const struct spinor_bus board_bus = {
    .context = &shared,
    .transfer = bus_transfer,
    .pause = nf2_freertos_pause,
    .delay = nf2_freertos_delay,
    .now_us = nf2_freertos_now_us,
    .lock = nf2_freertos_bus_lock,
    .unlock = nf2_freertos_bus_unlock,
    .claim = nf2_freertos_claim,
    .release = nf2_freertos_release,
    .mapped = (const uint8_t *)WINDOW,
    .mapped_size = WINDOW_SIZE,
    .map = bus_map,
    .lines = 1,
    .clock_hz = 50000000,
};

/* ---- what newlib asks for -------------------------------------------------------------------- */

void *_sbrk(ptrdiff_t more);
void nf2_newlib_put(const char *data, int length);
struct _reent;
void __malloc_lock(struct _reent *unused);
void __malloc_unlock(struct _reent *unused);
_Noreturn void _exit(int code);
int _kill(int process, int signal);
int _getpid(void);

void *_sbrk(ptrdiff_t more)
{
    static char *end = __heap_begin;
    if (more > __heap_end - end) {
        errno = ENOMEM;
        return (void *)-1;
    }
    end += more;
    return end - more;
}

void nf2_newlib_put(const char *data, int length)
{
    board_put(data, (uint32_t)length);
}

void __malloc_lock(struct _reent *unused)
{
    (void)unused;
    vTaskSuspendAll();
}

void __malloc_unlock(struct _reent *unused)
{
    (void)unused;
    (void)xTaskResumeAll();
}

_Noreturn void _exit(int code)
{
    board_exit(code);
}

int _kill(int process, int signal)
{
    (void)process;
    board_exit(signal);
}

int _getpid(void)
{
    return 1;
}

/* ---- memory functions: newlib's copy words from any address, which traps here ---------------- */

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    char *out = to;
    const char *in = from;
    while (length-- > 0) {
        *out++ = *in++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t length)
{
    char *out = to;
    const char *in = from;
    if (out <= in) {
        while (length-- > 0) {
            *out++ = *in++;
        }
    } else {
        while (length-- > 0) {
            out[length] = in[length];
        }
    }
    return to;
}
