/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * aligned.c - a plugin for QEMU that ends it with exit code 9 at the first access to memory that is
 * not aligned. The emulated RISC-V makes such accesses; many real ones trap.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What this uses of QEMU's interface for plugins; distributions do not ship its header. */
#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION 1
#endif
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
typedef void translated(plugin_id id, struct qemu_plugin_tb *block);
typedef void accessed(unsigned cpu, uint32_t kind, uint64_t address, void *data);
enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, translated *call);
extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *at, accessed *call, int flags,
                                             int direction, void *data);
extern unsigned qemu_plugin_mem_size_shift(uint32_t kind);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block,
                                                        size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
#define EXPORTED __attribute__((visibility("default")))
EXPORTED extern int qemu_plugin_version;
EXPORTED int qemu_plugin_version = PLUGIN_VERSION;
EXPORTED int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int count,
                                 char **arguments);

static void look(unsigned cpu, uint32_t kind, uint64_t address, void *data)
{
    uint64_t size = UINT64_C(1) << qemu_plugin_mem_size_shift(kind);
    (void)cpu;
    if ((address & (size - 1u)) != 0) {
        fprintf(stderr, "unaligned access of %" PRIu64 " bytes to 0x%" PRIx64, size, address);
        fprintf(stderr, " at 0x%" PRIxPTR "\n", (uintptr_t)data);
        exit(9);
    }
}

static void translate(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *at = qemu_plugin_tb_get_insn(block, i);
        qemu_plugin_register_vcpu_mem_cb(at, look, NO_REGISTERS, READS_AND_WRITES,
                                         (void *)(uintptr_t)qemu_plugin_insn_vaddr(at));
    }
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int count, char **arguments)
{
    (void)info;
    (void)count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
