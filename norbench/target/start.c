/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * start.c - norbench-cell as a program for an emulated ARM processor (qemu-arm): its code is that of a Cortex-M4, what it asks of
 * the system is asked of Linux. The C library, newlib, needs no more than what is here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "marks.h"

#define HEAP_SIZE (1000u << 20)         /* of addresses: only what is used takes memory */
#define KNOWN_TURNS 1000u

enum { SYS_READ = 3, SYS_WRITE = 4, SYS_OPEN = 5, SYS_CLOSE = 6, SYS_LINK = 9, SYS_UNLINK = 10, SYS_LSEEK = 19, SYS_EXIT_GROUP = 248 };
enum { LINUX_CREAT = 0100, LINUX_EXCL = 0200, LINUX_TRUNC = 01000, LINUX_APPEND = 02000 };

int main(int count, char **values);
void known_loop(uint32_t turns);
void start(uint32_t *stack);
void *_sbrk(ptrdiff_t size);
int _read(int file, void *data, size_t size);
int _write(int file, const void *data, size_t size);
int _open(const char *path, int flags, int mode);
int _close(int file);
int _link(const char *from, const char *to);
int _unlink(const char *path);
off_t _lseek(int file, off_t offset, int whence);
int _fstat(int file, struct stat *facts);
int _isatty(int file);
int _getpid(void);
int _kill(int process, int signal);
void _exit(int code);
void _fini(void);

/* ---- the system ------------------------------------------------------------------------------------ */

static int ask(int number, uintptr_t a, uintptr_t b, uintptr_t c)
{
    register int r7 __asm__("r7") = number;
    register uintptr_t r0 __asm__("r0") = a;
    register uintptr_t r1 __asm__("r1") = b;
    register uintptr_t r2 __asm__("r2") = c;
    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2) : "memory");
    int result = (int)r0;
    if (result < 0) {
        errno = -result;        /* the numbers that are asked for here are the same in newlib */
        return -1;
    }
    return result;
}

void *_sbrk(ptrdiff_t size)
{
    static char heap[HEAP_SIZE] __attribute__((aligned(16)));
    static size_t used;
    if (size > 0 && (size_t)size > HEAP_SIZE - used) {
        errno = ENOMEM;
        return (void *)-1;
    }
    void *begin = heap + used;
    used += (size_t)size;
    return begin;
}

int _read(int file, void *data, size_t size)
{
    return ask(SYS_READ, (uintptr_t)file, (uintptr_t)data, size);
}

int _write(int file, const void *data, size_t size)
{
    return ask(SYS_WRITE, (uintptr_t)file, (uintptr_t)data, size);
}

int _open(const char *path, int flags, int mode)
{
    int theirs = flags & O_ACCMODE;
    theirs |= (flags & O_CREAT) != 0 ? LINUX_CREAT : 0;
    theirs |= (flags & O_EXCL) != 0 ? LINUX_EXCL : 0;
    theirs |= (flags & O_TRUNC) != 0 ? LINUX_TRUNC : 0;
    theirs |= (flags & O_APPEND) != 0 ? LINUX_APPEND : 0;
    return ask(SYS_OPEN, (uintptr_t)path, (uintptr_t)theirs, (uintptr_t)mode);
}

int _close(int file)
{
    return ask(SYS_CLOSE, (uintptr_t)file, 0, 0);
}

int _link(const char *from, const char *to)
{
    return ask(SYS_LINK, (uintptr_t)from, (uintptr_t)to, 0);
}

int _unlink(const char *path)
{
    return ask(SYS_UNLINK, (uintptr_t)path, 0, 0);
}

off_t _lseek(int file, off_t offset, int whence)
{
    return ask(SYS_LSEEK, (uintptr_t)file, (uintptr_t)offset, (uintptr_t)whence);
}

/* Each is a regular file to newlib, whose streams are then buffered. */
int _fstat(int file, struct stat *facts)
{
    (void)file;
    memset(facts, 0, sizeof(*facts));
    facts->st_mode = S_IFREG;
    facts->st_blksize = 16384;
    return 0;
}

int _isatty(int file)
{
    (void)file;
    return 0;
}

int _getpid(void)
{
    return 1;
}

int _kill(int process, int signal)
{
    (void)process;
    _exit(128 + signal);
    return 0;
}

void _exit(int code)
{
    for (;;) {
        (void)ask(SYS_EXIT_GROUP, (uintptr_t)code, 0, 0);
    }
}

/* What newlib calls at the end. */
void _fini(void)
{
}

/* ---- marks ------------------------------------------------------------------------------------------ */

__attribute__((noinline, noclone)) void mark_call_begin(void)
{
    __asm__ volatile("nop");
}

__attribute__((noinline, noclone)) void mark_call_end(void)
{
    __asm__ volatile("nop\n nop");
}

/* ---- start ------------------------------------------------------------------------------------------ */

/* What is counted first is a function whose instructions are known: each run checks how it counts. */
void start(uint32_t *stack)
{
    mark_call_begin();
    known_loop(KNOWN_TURNS);
    mark_call_end();
    exit(main((int)stack[0], (char **)(stack + 1)));
}

__attribute__((naked, noreturn, used)) void _start(void)
{
    __asm__ volatile("mov r0, sp\n bl start\n");
}
