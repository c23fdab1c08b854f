/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts its starts in a file of a volume that the devicetree mounts. */
#include <stdio.h>

#include <zephyr/fs/fs.h>
#include <zephyr/kernel.h>

#include "nf2_zephyr.h"

#define FILES DT_NODELABEL(files)
FS_FSTAB_DECLARE_ENTRY(FILES);

static int count_start(const char *path, unsigned *count)
{
	struct fs_file_t file;
	int result;

	fs_file_t_init(&file);
	result = fs_open(&file, path, FS_O_CREATE | FS_O_RDWR);
	if (result < 0) {
		return result;
	}
	*count = 0;
	result = fs_read(&file, count, sizeof(*count));
	if (result >= 0) {
		*count += 1u;
		result = fs_seek(&file, 0, FS_SEEK_SET);
	}
	if (result >= 0) {
		result = fs_write(&file, count, sizeof(*count));
	}
	int closed = fs_close(&file);

	return result < 0 ? result : closed;
}

static void list(const char *path)
{
	struct fs_dir_t dir;
	static struct fs_dirent entry;

	fs_dir_t_init(&dir);
	if (fs_opendir(&dir, path) < 0) {
		return;
	}
	while (fs_readdir(&dir, &entry) == 0 && entry.name[0] != '\0') {
		printf("%s/%s: %u bytes\n", path, entry.name, (unsigned)entry.size);
	}
	(void)fs_closedir(&dir);
}

int main(void)
{
	struct fs_mount_t *mount = &FS_FSTAB_ENTRY(FILES);
	struct nf2_zephyr *volume = nf2_zephyr_volume(mount);
	struct fs_statvfs space;
	unsigned count;
	int result;

	if (volume->error != NF2_OK) {
		printf("%s: %s\n", mount->mnt_point, nf2_error_text(volume->error));
		return 0;
	}
	result = count_start("/nf2/starts", &count);
	if (result < 0) {
		printf("/nf2/starts: %d\n", result);
		return 0;
	}
	printf("/nf2: start %u\n", count);
	list("/nf2");
	if (fs_statvfs("/nf2", &space) == 0) {
		printf("/nf2: %lu of %lu blocks of %lu bytes are free\n", space.f_bfree,
		       space.f_blocks, space.f_frsize);
	}

	/* What a product does when it has nothing else to do. It does not wait for 0: with such a
	 * budget there may always be something left.
	 */
	for (int i = 0; i < 10 && nf2_maintain(&volume->fs, 20000) == 1; i++) {
		k_sleep(K_MSEC(100));
	}

	/* And what it does before its power goes. */
	result = fs_unmount(mount);
	printf("/nf2: unmounted: %d\n", result);
	return 0;
}
