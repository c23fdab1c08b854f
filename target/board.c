/* SPDX-License-Identifier: BSD-2-Clause */
#include "board.h"

#define PAINT 0xA5A5A5A5u
#define FS_STACK_WORDS 4096u
#define DRIVER_STACK_WORDS 256u

enum { SYS_WRITE0 = 0x04, SYS_GET_CMDLINE = 0x15, SYS_EXIT_EXTENDED = 0x20 };

/* Names that the assembly below and the linker script use. */
extern uint32_t data_begin, data_end, data_load, bss_begin, bss_end, harness_stack_top;
uint32_t fs_stack[FS_STACK_WORDS], driver_stack[DRIVER_STACK_WORDS], driver_kept[2];
void reset(void);
void start(void);
void fault(void);

static int semihosting(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void put_text(const char *text)
{
    (void)semihosting(SYS_WRITE0, text);
}

void put_number(uint32_t value)
{
    char text[11];
    char *at = &text[10];
    *at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put_text(at);
}

static void leave(uint32_t code)
{
    const uint32_t stopped[2] = {0x20026u, code}; /* ADP_Stopped_ApplicationExit */
    (void)semihosting(SYS_EXIT_EXTENDED, stopped);
    for (;;) {
    }
}

void fault(void)
{
    put_text("{\"fault\": true}\n");
    leave(99);
}

__attribute__((naked, noreturn)) void reset(void)
{
    __asm__ volatile("ldr r0, =harness_stack_top\n mov sp, r0\n bl start\n");
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &harness_stack_top,
    reset,
    fault,
    fault,
    fault,
    fault,
    fault,
    0,
    0,
    0,
    0,
    fault,
    fault,
    0,
    fault,
    fault};

void start(void)
{
    static char argument[80];
    const uint32_t *from = &data_load;
    for (uint32_t *to = &data_begin; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_begin; to < &bss_end;)
        *to++ = 0;
    uint32_t line[2] = {(uint32_t)(uintptr_t)argument, sizeof argument};
    if (semihosting(SYS_GET_CMDLINE, line) != 0)
        argument[0] = 0;
    leave(run_target(argument));
}

void stack_paint(void)
{
    for (uint32_t i = 0; i < FS_STACK_WORDS; i++)
        *(volatile uint32_t *)&fs_stack[i] = PAINT;
}

uint32_t stack_used(void)
{
    uint32_t i = 0;
    while (i < FS_STACK_WORDS && fs_stack[i] == PAINT)
        i++;
    uint32_t used = (FS_STACK_WORDS - i) * 4u;
    return used > 8u ? used - 8u : 0; /* without the slot of the fifth argument */
}

/* The fifth argument is passed on the stack, in a slot of eight bytes: the stack stays aligned. */
__asm__(".text\n.syntax unified\n.thumb\n"
        ".global enter\n.type enter, %function\n.thumb_func\nenter:\n"
        " push {r4, lr}\n mov r4, sp\n mov ip, r0\n"
        " mov r0, r1\n mov r1, r2\n mov r2, r3\n ldr r3, [r4, #8]\n ldr lr, [r4, #12]\n"
        " push {r5, r6}\n ldr r5, =fs_stack + 16384\n mov r6, sp\n mov sp, r5\n"
        " str lr, [sp, #-8]!\n blx ip\n"
        ".global enter_end\n.type enter_end, %function\n.thumb_func\nenter_end:\n"
        " mov sp, r6\n pop {r5, r6}\n pop {r4, pc}\n.ltorg\n");

/* The driver's functions run on a stack of their own, and use nothing of the file system's. */
#define DRIVER(name)                                                                               \
    __asm__(                                                                                       \
        ".text\n.syntax unified\n.thumb\n"                                                         \
        ".global drive_" #name "\n.type drive_" #name ", %function\n.thumb_func\ndrive_" #name     \
        ":\n"                                                                                      \
        " ldr ip, =driver_kept\n str lr, [ip]\n str r4, [ip, #4]\n mov r4, sp\n ldr lr, [r4]\n"    \
        " ldr ip, =driver_stack + 1024\n mov sp, ip\n str lr, [sp, #-8]!\n bl on_" #name "\n"      \
        " mov sp, r4\n ldr ip, =driver_kept\n ldr lr, [ip]\n ldr r4, [ip, #4]\n bx lr\n.ltorg\n")

DRIVER(read);
DRIVER(program);
DRIVER(erase);
DRIVER(sync);
