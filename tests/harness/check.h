/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h - the smallest test frame that does: checks that go on, tests that are counted.
 *
 *     TEST(adds) { CHECK_EQ(1 + 1, 2); }
 *     int main(void) { RUN(adds); return check_done(); }
 *
 * A test that is defined and not run is an unused function, which the compiler reports. A test that checks nothing fails.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CHECK_PRINTED 10u       /* failures of one test that are printed; all are counted */

struct check_state {
    const char *test;
    unsigned long checks, failures;     /* of the test that runs */
    unsigned passed, failed;            /* tests */
};

static struct check_state check_state;

/* Notes one check. Returns whether it failed and is to be printed. */
static inline bool check_failed(bool good)
{
    check_state.checks++;
    check_state.failures += !good;
    return !good && check_state.failures <= CHECK_PRINTED;
}

static inline bool check_that(bool good, const char *text, const char *file, int line)
{
    if (check_failed(good)) {
        printf("%s:%d: %s: failed: %s\n", file, line, check_state.test, text);
    }
    return good;
}

static inline bool check_equal(long long a, long long b, const char *text_a, const char *text_b, const char *file, int line)
{
    if (check_failed(a == b)) {
        printf("%s:%d: %s: failed: %s == %s: %lld (0x%llX), not %lld (0x%llX)\n", file, line, check_state.test, text_a, text_b, a,
               (unsigned long long)a, b, (unsigned long long)b);
    }
    return a == b;
}

/* Each gives whether it held, and goes on either way. CHECK_EQ is for integers. */
#define CHECK(condition) check_that((condition) ? true : false, #condition, __FILE__, __LINE__)
#define CHECK_EQ(a, b) check_equal((long long)(a), (long long)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_TEXT(a, b) check_that(strcmp((a), (b)) == 0, #a " is " #b, __FILE__, __LINE__)
#define CHECK_MEM(a, b, length) check_that(memcmp((a), (b), (length)) == 0, #a " holds " #b, __FILE__, __LINE__)

#define TEST(name) static void test_##name(void)
#define RUN(name) check_run(#name, test_##name)

static inline void check_run(const char *name, void (*test)(void))
{
    check_state.test = name;
    check_state.checks = 0;
    check_state.failures = 0;
    test();
    if (check_state.checks == 0) {
        printf("%s: checks nothing\n", name);
    }
    if (check_state.failures != 0) {
        printf("%s: %lu of %lu checks failed\n", name, check_state.failures, check_state.checks);
    }
    if (check_state.checks == 0 || check_state.failures != 0) {
        check_state.failed++;
    } else {
        check_state.passed++;
    }
}

/* Prints the sum, alone on the last line. Returns the exit code. */
static inline int check_done(void)
{
    printf("%u passed, %u failed\n", check_state.passed, check_state.failed);
    return check_state.failed != 0 || check_state.passed == 0;
}

#endif
