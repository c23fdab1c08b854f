/* SPDX-License-Identifier: BSD-2-Clause */
/* cut_scripts.h - lists of calls, each of which visits one mechanism of the file system, for the cut test. */
#ifndef CUT_SCRIPTS_H
#define CUT_SCRIPTS_H

#include "calls.h"

struct cut_script {
    const char *name;
    void (*make)(struct call_list *list, uint32_t volume_size, uint32_t block_size);
};

extern const struct cut_script cut_scripts[];
extern const unsigned cut_script_count;

/* Not among those, so that campaigns stay as they are: entries of a log, each of several writes, and an archive that keeps so many full logs. */
extern const struct cut_script cut_script_archive;

#endif
