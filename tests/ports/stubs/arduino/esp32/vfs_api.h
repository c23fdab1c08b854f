/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_api.h - see ../README.md: files behind the virtual file system; the test has its functions. */
#ifndef STUB_VFS_API_H
#define STUB_VFS_API_H

#include <FS.h>

using namespace fs;

class VFSImpl : public FSImpl {
public:
    FileImplPtr open(const char *path, const char *mode, const bool create) override;
};

#endif
