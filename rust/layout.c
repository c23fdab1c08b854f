/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layout.c - how large the core's structures are on the target, for build.rs.
 *
 * The numbers are digits in the object file: a build for a microcontroller cannot run a program to
 * ask for them. The order is that of `NAMES` in build.rs.
 */
#include <stddef.h>

#include "nf2fs/nf2fs.h"

struct aligned_fs { char before; nf2_t it; };
struct aligned_file { char before; nf2_file_t it; };
struct aligned_dir { char before; nf2_dir_t it; };

#define DIGIT(number, unit) (char)('0' + (number) / (unit) % 10u)
#define DIGITS(number) \
    DIGIT(number, 100000u), DIGIT(number, 10000u), DIGIT(number, 1000u), DIGIT(number, 100u), \
    DIGIT(number, 10u), DIGIT(number, 1u), ' '

extern const char nf2_layout[];
const char nf2_layout[] = {
    'N', 'F', '2', '-', 'L', 'A', 'Y', 'O', 'U', 'T', ':', ' ',
    DIGITS(sizeof(nf2_t)), DIGITS(offsetof(struct aligned_fs, it)),
    DIGITS(sizeof(nf2_file_t)), DIGITS(offsetof(struct aligned_file, it)),
    DIGITS(sizeof(nf2_dir_t)), DIGITS(offsetof(struct aligned_dir, it)),
    DIGITS(sizeof(struct nf2_flash)), DIGITS(offsetof(struct nf2_flash, large_erase_us)),
    DIGITS(sizeof(struct nf2_config)), DIGITS(offsetof(struct nf2_config, wear_age)),
    DIGITS(offsetof(struct nf2_config, clock_context)),
    DIGITS(offsetof(struct nf2_config, time_s)),
    DIGITS(sizeof(struct nf2_attr)), DIGITS(offsetof(struct nf2_attr, data)),
    DIGITS(sizeof(struct nf2_statfs)),
    DIGITS(sizeof(struct nf2_health)), DIGITS(offsetof(struct nf2_health, erases_total)),
    DIGITS(sizeof(struct nf2_stat)),
    DIGITS(sizeof(struct nf2_dirent)), DIGITS(offsetof(struct nf2_dirent, name)),
    DIGITS(sizeof(struct nf2_finding)), DIGITS(offsetof(struct nf2_finding, name)),
    DIGITS(sizeof(enum nf2_type)),
    DIGITS(sizeof(enum nf2_finding_kind)),
    DIGITS(NF2_BUFFER_SIZE(0u)),
    DIGITS(NF2_BLOCKS_MIN),
    DIGITS(NF2_FOUND_KINDS),
    ';'
};
