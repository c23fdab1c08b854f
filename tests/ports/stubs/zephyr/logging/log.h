/* SPDX-License-Identifier: BSD-2-Clause */
/* log.h - see ../fs/fs.h: the last line is kept for the test. */
#ifndef STUB_ZEPHYR_LOG_H
#define STUB_ZEPHYR_LOG_H

#define LOG_MODULE_REGISTER(name, level) extern int stub_log_##name
#define LOG_MODULE_DECLARE(name, level) extern int stub_log_##name
#define LOG_ERR(...) stub_log("error: " __VA_ARGS__)
#define LOG_WRN(...) stub_log("warning: " __VA_ARGS__)
__attribute__((format(printf, 1, 2))) void stub_log(const char *format, ...);

#endif
