/* SPDX-License-Identifier: BSD-2-Clause */
/* init.h - see fs/fs.h: the test calls what Zephyr would call when it starts. */
#define SYS_INIT(function, level, priority)                                                        \
    int (*const stub_init)(void) = function;                                                       \
    const char stub_init_level[] = #level;                                                         \
    const int stub_init_priority = priority
