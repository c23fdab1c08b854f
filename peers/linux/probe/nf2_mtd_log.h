/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_mtd_log.h - the records that /dev/nf2-mtd-log gives, for the kernel module and for its
 * reader.
 */
#ifndef NF2_MTD_LOG_H
#define NF2_MTD_LOG_H

#include <linux/types.h>

enum nf2_mtd_operation {
	NF2_MTD_READ = 1,
	NF2_MTD_PROGRAM,
	NF2_MTD_ERASE,
	NF2_MTD_SPARE_READ,
	NF2_MTD_SPARE_PROGRAM,
};

/* `payload` bytes follow: what was programmed. */
struct nf2_mtd_record {
	__u64 address;
	__u32 length;
	__u32 payload;
	__u8 operation;
	__u8 background;	/* a thread of the kernel did it, not the caller */
	__u8 unused[6];
};

#define NF2_MTD_LOG_DEVICE "nf2-mtd-log"

#endif
