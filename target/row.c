/* SPDX-License-Identifier: BSD-2-Clause */
#include "row.h"

#include "board.h"
#include "chip.h"

#define OPERATIONS_MAX 4096u
#define FAILURES_SHOWN 10u

/* The counting plugin sees that these are reached. */
void mark_row_begin(void);
void mark_row_end(void);
void mark_profile(void);
void mark_op_begin(void);
void mark_op_end(void);

#define MARK(name, filler)                                                                         \
    __attribute__((noinline, noclone)) void name(void)                                             \
    {                                                                                              \
        __asm__ volatile(filler);                                                                  \
    }

MARK(mark_row_begin, "nop")
MARK(mark_row_end, "nop\n nop")
MARK(mark_profile, "nop\n nop\n nop\n nop\n nop")
MARK(mark_op_begin, "nop\n nop\n nop")
MARK(mark_op_end, "nop\n nop\n nop\n nop")

static const char *row_name = "", *profiled = "";
static uint32_t operations, busy_us_at, failures;
static uint32_t busy_us[OPERATIONS_MAX]; /* of each operation: the chip's time */

static bool equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

void row_profile(const char *name)
{
    profiled = name;
}

void row_begin(const char *name)
{
    row_name = name;
    operations = 0;
    chip_counts = (struct chip_counts){0};
    stack_paint();
    mark_row_begin();
    if (equal(name, profiled))
        mark_profile();
}

static void put_field(const char *name, uint32_t value)
{
    put_text(", \"");
    put_text(name);
    put_text("\": ");
    put_number(value);
}

void row_end(void)
{
    mark_row_end();
    struct chip_counts now = chip_counts;
    put_text("{\"row\": \"");
    put_text(row_name);
    put_text("\"");
    put_field("operations", operations);
    put_field("reads", now.reads);
    put_field("read_bytes", now.read_bytes);
    put_field("programs", now.programs);
    put_field("program_bytes", now.program_bytes);
    put_field("block_erases", now.block_erases);
    put_field("large_erases", now.large_erases);
    put_field("faults", now.faults);
    put_field("stack", stack_used());
    put_text(", \"flash_us\": [");
    for (uint32_t i = 0; i < operations && i < OPERATIONS_MAX; i++) {
        put_text(i ? ", " : "");
        put_number(busy_us[i]);
    }
    put_text("]}\n");
    expect(operations <= OPERATIONS_MAX, "operations of a row", (int32_t)operations);
    expect(now.faults == 0, "faults of the driver's use", (int32_t)now.faults);
}

void op_begin(void)
{
    busy_us_at = chip_busy_us();
    mark_op_begin();
}

void op_end(void)
{
    mark_op_end();
    if (operations < OPERATIONS_MAX)
        busy_us[operations] = chip_busy_us() - busy_us_at;
    operations++;
}

void expect(bool holds, const char *what, int32_t value)
{
    if (holds)
        return;
    if (failures++ >= FAILURES_SHOWN)
        return;
    put_text("{\"failure\": \"");
    put_text(row_name);
    put_text(": ");
    put_text(what);
    put_text(value < 0 ? " gave -" : " gave ");
    put_number(value < 0 ? 0u - (uint32_t)value : (uint32_t)value);
    put_text("\"}\n");
}

uint32_t failed_checks(void)
{
    return failures;
}
