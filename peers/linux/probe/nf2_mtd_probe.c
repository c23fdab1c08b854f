// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nf2_mtd_probe - stands between an MTD driver and what uses it, and writes down every operation
 * of the flash.
 *
 * While it is loaded, the driver's functions are reached through this module. A read of
 * /dev/nf2-mtd-log takes the operations that were recorded since the last one; it never waits.
 * With serial_nor=1 an MTD in memory behaves towards the file systems as serial NOR does: it is
 * of that type, and no part of it can be mapped, so that each read is an operation. With
 * whole_pages=1 a NAND is one whose pages are programmed once and as a whole, as the virtual chip
 * asks it.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mtd/mtd.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "nf2_mtd_log.h"

static int device;
module_param(device, int, 0444);
MODULE_PARM_DESC(device, "number of the MTD");
static bool serial_nor;
module_param(serial_nor, bool, 0444);
MODULE_PARM_DESC(serial_nor, "of the type of serial NOR, and not mapped");
static bool whole_pages;
module_param(whole_pages, bool, 0444);
MODULE_PARM_DESC(whole_pages, "NAND whose pages are not programmed in parts");
static bool power_off;
module_param(power_off, bool, 0644);
MODULE_PARM_DESC(power_off, "programs and erases do nothing, as after a power cut");
static unsigned int log_mib = 64;
module_param(log_mib, uint, 0444);
MODULE_PARM_DESC(log_mib, "MiB that may wait to be read");

static struct mtd_info *handle, *watched;
static struct mtd_info driver;		/* the functions and facts as they were */

/* What was recorded and not yet read: log[taken..used). */
static DEFINE_MUTEX(log_mutex);
static u8 *log;
static size_t log_size, log_taken, log_used;
static bool log_overflowed;

static void record(enum nf2_mtd_operation operation, u64 address, u32 length, const void *payload)
{
	struct nf2_mtd_record entry = {
		.address = address,
		.length = length,
		.payload = payload ? length : 0,
		.operation = operation,
		.background = !!(current->flags & PF_KTHREAD),
	};

	mutex_lock(&log_mutex);
	if (log_size - log_used < sizeof(entry) + entry.payload) {
		log_overflowed = true;
	} else {
		memcpy(log + log_used, &entry, sizeof(entry));
		if (payload)
			memcpy(log + log_used + sizeof(entry), payload, length);
		log_used += sizeof(entry) + entry.payload;
	}
	mutex_unlock(&log_mutex);
}

/* ---- between the driver and its users -------------------------------------------------------- */

static int probe_erase(struct mtd_info *mtd, struct erase_info *instr)
{
	int result;

	if (power_off)
		return 0;
	result = driver._erase(mtd, instr);
	if (!result)
		record(NF2_MTD_ERASE, instr->addr, instr->len, NULL);
	return result;
}

static int probe_read(struct mtd_info *mtd, loff_t from, size_t len, size_t *retlen, u_char *buf)
{
	int result = driver._read(mtd, from, len, retlen, buf);

	if (!power_off)
		record(NF2_MTD_READ, from, *retlen, NULL);
	return result;
}

static int probe_write(struct mtd_info *mtd, loff_t to, size_t len, size_t *retlen,
		       const u_char *buf)
{
	int result;

	if (power_off) {
		*retlen = len;
		return 0;
	}
	result = driver._write(mtd, to, len, retlen, buf);
	if (*retlen)
		record(NF2_MTD_PROGRAM, to, *retlen, buf);
	return result;
}

static int probe_read_oob(struct mtd_info *mtd, loff_t from, struct mtd_oob_ops *ops)
{
	int result = driver._read_oob(mtd, from, ops);

	if (power_off)
		return result;
	if (ops->datbuf && ops->retlen)
		record(NF2_MTD_READ, from, ops->retlen, NULL);
	if (ops->oobbuf && ops->oobretlen)
		record(NF2_MTD_SPARE_READ, from, ops->oobretlen, NULL);
	return result;
}

static int probe_write_oob(struct mtd_info *mtd, loff_t to, struct mtd_oob_ops *ops)
{
	int result;

	if (power_off) {
		ops->retlen = ops->len;
		ops->oobretlen = ops->ooblen;
		return 0;
	}
	result = driver._write_oob(mtd, to, ops);
	if (ops->datbuf && ops->retlen)
		record(NF2_MTD_PROGRAM, to, ops->retlen, ops->datbuf);
	if (ops->oobbuf && ops->oobretlen)
		record(NF2_MTD_SPARE_PROGRAM, to, ops->oobretlen, ops->oobbuf);
	return result;
}

static void watch(void)
{
	driver = *watched;
	watched->_erase = probe_erase;
	if (driver._read)
		watched->_read = probe_read;
	if (driver._write)
		watched->_write = probe_write;
	if (driver._read_oob)
		watched->_read_oob = probe_read_oob;
	if (driver._write_oob)
		watched->_write_oob = probe_write_oob;
	if (whole_pages)
		handle->subpage_sft = watched->subpage_sft = 0;
	if (serial_nor) {
		watched->type = MTD_NORFLASH;
		watched->flags = MTD_CAP_NORFLASH;
		watched->_point = NULL;
		watched->_unpoint = NULL;
	}
}

static void unwatch(void)
{
	watched->_erase = driver._erase;
	watched->_read = driver._read;
	watched->_write = driver._write;
	watched->_read_oob = driver._read_oob;
	watched->_write_oob = driver._write_oob;
	watched->_point = driver._point;
	watched->_unpoint = driver._unpoint;
	watched->type = driver.type;
	watched->flags = driver.flags;
	handle->subpage_sft = watched->subpage_sft = driver.subpage_sft;
}

/* ---- the log --------------------------------------------------------------------------------- */

static ssize_t log_read(struct file *file, char __user *to, size_t size, loff_t *position)
{
	ssize_t count;

	mutex_lock(&log_mutex);
	count = min(size, log_used - log_taken);
	if (log_overflowed) {
		count = -EOVERFLOW;
	} else if (copy_to_user(to, log + log_taken, count)) {
		count = -EFAULT;
	} else {
		log_taken += count;
		if (log_taken == log_used)
			log_taken = log_used = 0;
	}
	mutex_unlock(&log_mutex);
	return count;
}

static const struct file_operations log_operations = {
	.owner = THIS_MODULE,
	.read = log_read,
	.llseek = no_llseek,
};

static struct miscdevice log_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = NF2_MTD_LOG_DEVICE,
	.fops = &log_operations,
	.mode = 0400,
};

static int __init probe_init(void)
{
	int result;

	log_size = (size_t)log_mib << 20;
	log = vmalloc(log_size);
	if (!log)
		return -ENOMEM;
	handle = get_mtd_device(NULL, device);
	if (IS_ERR(handle)) {
		vfree(log);
		return PTR_ERR(handle);
	}
	watched = mtd_get_master(handle);
	result = misc_register(&log_device);
	if (result) {
		put_mtd_device(handle);
		vfree(log);
		return result;
	}
	watch();
	return 0;
}

static void __exit probe_exit(void)
{
	unwatch();
	misc_deregister(&log_device);
	put_mtd_device(handle);
	vfree(log);
}

module_init(probe_init);
module_exit(probe_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Records the operations of an MTD");
