/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row.h - rows of measured operations. What is between `op_begin` and `op_end` is one operation of
 * the row.
 */
#ifndef ROW_H
#define ROW_H

#include <stdbool.h>
#include <stdint.h>

/* The row of this name is to be profiled. */
void row_profile(const char *name);

void row_begin(const char *name);
void row_end(void); /* prints the row as a line of JSON */
void op_begin(void);
void op_end(void);

/* Counts a failed check, and prints the first ones. */
void expect(bool holds, const char *what, int32_t value);
uint32_t failed_checks(void);

#define OPERATION(...)                                                                             \
    do {                                                                                           \
        op_begin();                                                                                \
        __VA_ARGS__;                                                                               \
        op_end();                                                                                  \
    } while (0)

/* The call succeeds; the call returns exactly this. */
#define GOOD(call) expect_good((call), #call)
#define EQUAL(call, value) expect_equal((call), (int32_t)(value), #call)

static inline void expect_good(int32_t result, const char *what)
{
    expect(result >= 0, what, result);
}

static inline void expect_equal(int32_t result, int32_t value, const char *what)
{
    expect(result == value, what, result);
}

#endif
