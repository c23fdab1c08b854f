/* SPDX-License-Identifier: BSD-2-Clause */
/* Names the mount and the partition for Zephyr's tests, each of which begins with erased flash. */
#include <zephyr/fs/fs.h>
#include <zephyr/kernel.h>
#include <zephyr/ztest.h>

#include "nf2_zephyr.h"

#define FILES DT_NODELABEL(files)
#define PARTITION DT_FIXED_PARTITION_ID(DT_NODELABEL(files_partition))
FS_FSTAB_DECLARE_ENTRY(FILES);

struct fs_mount_t *fs_basic_test_mp = &FS_FSTAB_ENTRY(FILES);
struct fs_mount_t *fs_dirops_test_mp = &FS_FSTAB_ENTRY(FILES);
struct fs_mount_t *fs_mkfs_mp = &FS_FSTAB_ENTRY(FILES);
struct fs_mount_t *mount_flags_mp = &FS_FSTAB_ENTRY(FILES);
const int fs_mkfs_type = NF2_ZEPHYR_TYPE;
uintptr_t fs_mkfs_dev_id = PARTITION;
int fs_mkfs_flags;
const char *some_file_path = "/sml/some";
const char *other_dir_path = "/sml/other";
const char *mount_flags_mnt_point_str = "/sml";
char *test_fs_open_flags_file_path = "/sml/the_file.txt";

void test_fs_basic(void);
void test_fs_dirops(void);
void test_fs_mkfs_simple(void);
void test_fs_mkfs_ops(void);
void test_fs_mount_flags(void);
void test_fs_open_flags(void);

static void erase(void *fixture)
{
	const struct flash_area *area;

	ARG_UNUSED(fixture);
	mount_flags_mp->flags = 0;
	zassert_equal(flash_area_open(PARTITION, &area), 0);
	zassert_equal(flash_area_erase(area, 0, area->fa_size), 0);
	flash_area_close(area);
}

ZTEST_SUITE(nf2fs, NULL, NULL, erase, NULL, NULL);

ZTEST(nf2fs, test_basic)
{
	test_fs_basic();
}

ZTEST(nf2fs, test_dirops)
{
	test_fs_dirops();
}

ZTEST(nf2fs, test_mkfs_simple)
{
	test_fs_mkfs_simple();
}

ZTEST(nf2fs, test_mkfs_ops)
{
	test_fs_mkfs_ops();
}

ZTEST(nf2fs, test_mount_flags)
{
	test_fs_mount_flags();
}

ZTEST(nf2fs, test_open_flags)
{
	zassert_equal(fs_mount(mount_flags_mp), 0);
	test_fs_open_flags();
	zassert_equal(fs_unmount(mount_flags_mp), 0);
}
