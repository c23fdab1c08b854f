/* SPDX-License-Identifier: BSD-2-Clause */
/* json_text.h - a string as JSON, to standard output. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

void json_text(const char *text);

#endif
