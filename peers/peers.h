/* SPDX-License-Identifier: BSD-2-Clause */
/* peers.h - other file systems behind the same interface, as many as were fetched before the build. */
#ifndef PEERS_H
#define PEERS_H

#include "vfs.h"

/* The peers by index, NULL after the last. */
const struct vfs_entry *peers_at(unsigned index);

#endif
