/* SPDX-License-Identifier: BSD-2-Clause */
/* FSImpl.h - see ../README.md. */
#ifndef STUB_FSIMPL_H
#define STUB_FSIMPL_H

#include <FS.h>

namespace fs {

enum OpenMode { OM_DEFAULT = 0, OM_CREATE = 1, OM_APPEND = 2, OM_TRUNCATE = 4 };
enum AccessMode { AM_READ = 1, AM_WRITE = 2, AM_RW = 3 };

class FileImpl {
public:
    virtual ~FileImpl() { }
    virtual size_t write(const uint8_t *data, size_t size) = 0;
    virtual int read(uint8_t *data, size_t size) = 0;
    virtual void flush() = 0;
    virtual bool seek(uint32_t position, SeekMode mode) = 0;
    virtual size_t position() const = 0;
    virtual size_t size() const = 0;
    virtual bool truncate(uint32_t size) = 0;
    virtual void close() = 0;
    virtual const char *name() const = 0;
    virtual const char *fullName() const = 0;
    virtual bool isFile() const = 0;
    virtual bool isDirectory() const = 0;
};

class DirImpl {
public:
    virtual ~DirImpl() { }
    virtual FileImplPtr openFile(OpenMode mode, AccessMode access) = 0;
    virtual const char *fileName() = 0;
    virtual size_t fileSize() = 0;
    virtual bool isFile() const = 0;
    virtual bool isDirectory() const = 0;
    virtual bool next() = 0;
    virtual bool rewind() = 0;
};

class FSImpl {
public:
    virtual ~FSImpl() { }
    virtual bool setConfig(const FSConfig &config) = 0;
    virtual bool begin() = 0;
    virtual void end() = 0;
    virtual bool format() = 0;
    virtual bool info(FSInfo &out) = 0;
    virtual FileImplPtr open(const char *path, OpenMode mode, AccessMode access) = 0;
    virtual bool exists(const char *path) = 0;
    virtual DirImplPtr openDir(const char *path) = 0;
    virtual bool rename(const char *from, const char *to) = 0;
    virtual bool remove(const char *path) = 0;
    virtual bool mkdir(const char *path) = 0;
    virtual bool rmdir(const char *path) = 0;
    virtual bool stat(const char *path, FSStat *out) = 0;
    virtual bool gc() { return true; }
    virtual bool check() { return true; }
};

}

#endif
