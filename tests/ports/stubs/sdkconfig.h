/* SPDX-License-Identifier: BSD-2-Clause */
/* sdkconfig.h - see esp_partition.h: what the build makes of Kconfig. */
#define CONFIG_VFS_SUPPORT_DIR 1
#define CONFIG_NF2FS_MAX_PARTITIONS 2
#define CONFIG_NF2FS_MAX_FILES 3
