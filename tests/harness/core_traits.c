/* SPDX-License-Identifier: BSD-2-Clause */
/* core_traits.c - see core_traits.h; for the second core. */
#include "core_traits.h"

bool core_broken(const nf2_t *fs)
{
    return fs->io.broken;
}

bool core_change_waits(const nf2_t *fs)
{
    (void)fs;
    return false; /* readers see all of a change or nothing */
}

bool core_emptying(const nf2_t *fs)
{
    return fs->space.victims != 0;
}

bool core_inside_right(const nf2_t *fs, char *text, size_t size)
{
    (void)fs;
    (void)text;
    (void)size;
    return true; /* nothing is looked at so far */
}

int core_root_level(nf2_t *fs)
{
    return fs->root.level;
}

uint32_t core_erases_owed(const nf2_t *fs)
{
    (void)fs;
    return 0; /* an erase is counted when it is made */
}
