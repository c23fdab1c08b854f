/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * marks.h - where a measured call of the file system begins and ends, for a program that counts the processor's instructions
 * (norbench/target). Elsewhere they are nothing.
 */
#ifndef MARKS_H
#define MARKS_H

#ifdef NORBENCH_TARGET
void mark_call_begin(void);
void mark_call_end(void);
#else
static inline void mark_call_begin(void)
{
}

static inline void mark_call_end(void)
{
}
#endif

#endif
