/* SPDX-License-Identifier: BSD-2-Clause */
/* guest_kernel.h - the kernel of the virtual machine: its modules and its memory. */
#ifndef GUEST_KERNEL_H
#define GUEST_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Loads /modules/NAME.ko and what it depends on. Returns 0 or a negative errno; one that is
 * loaded already is no error.
 */
int guest_load(const char *name, const char *parameters);
void guest_unload(const char *name);

/* Bytes of code and static data of a module that is loaded; 0: it is not. */
uint64_t guest_module_bytes(const char *name);

/*
 * Bytes that the kernel holds in slabs and in vmalloc areas after it dropped every cache that it
 * can drop.
 */
uint64_t guest_kernel_bytes(void);

/* Writes a text into a file of the kernel. Returns 0 or a negative errno. */
int guest_put(const char *path, const char *text);

/* The first number in a file of the kernel, or -1. */
int64_t guest_number(const char *path);

#endif
