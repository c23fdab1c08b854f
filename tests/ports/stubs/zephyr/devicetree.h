/* SPDX-License-Identifier: BSD-2-Clause */
/* devicetree.h - see fs/fs.h: the macros, over a tree with two entries in its fstab. */
#ifndef STUB_ZEPHYR_DEVICETREE_H
#define STUB_ZEPHYR_DEVICETREE_H

#define DT_HAS_COMPAT_STATUS_OKAY(compatible) 1
#define DT_INST_FOREACH_STATUS_OKAY(macro) macro(0) macro(1)
#define DT_DRV_INST(inst) stub_node_##inst
#define DT_INST_PROP(inst, property) STUB_##inst##_##property
#define DT_INST_PROP_OR(inst, property, otherwise) STUB_##inst##_##property
#define DT_INST_PHANDLE(inst, property) stub_partition_##inst
#define DT_FIXED_PARTITION_ID(node) STUB_PASTE(STUB_ID_, node)

#define STUB_0_mount_point "/nf2"
#define STUB_0_format_foreign 0
#define STUB_0_large_erase_size 0
#define STUB_ID_stub_partition_0 3
#define STUB_FLAGS_stub_node_0 FS_MOUNT_FLAG_AUTOMOUNT
#define STUB_1_mount_point "/other"
#define STUB_1_format_foreign 1
#define STUB_1_large_erase_size 32768
#define STUB_ID_stub_partition_1 4
#define STUB_FLAGS_stub_node_1 0

#endif
