/* SPDX-License-Identifier: BSD-2-Clause */
/* FS.h - see ../README.md: that of arduino-esp32, as far as the example and the test use it. */
#ifndef STUB_FS_H
#define STUB_FS_H

#include <Arduino.h>
#include <memory>

namespace fs {

class FileImpl {
public:
    virtual ~FileImpl() { }
    virtual size_t write(const uint8_t *data, size_t size) = 0;
    virtual size_t read(uint8_t *data, size_t size) = 0;
    virtual void close() = 0;
};
typedef std::shared_ptr<FileImpl> FileImplPtr;

class FSImpl {
public:
    virtual ~FSImpl() { }
    virtual FileImplPtr open(const char *path, const char *mode, const bool create) = 0;
    void mountpoint(const char *place) { _mountpoint = place; }
    const char *mountpoint() { return _mountpoint; }

protected:
    const char *_mountpoint = nullptr;
};
typedef std::shared_ptr<FSImpl> FSImplPtr;

class File : public Stream {
public:
    File(FileImplPtr impl = FileImplPtr()) : _p(impl) { }
    using Print::write;
    size_t write(uint8_t c) override { return write(&c, 1); }
    size_t write(const uint8_t *data, size_t size) override { return _p ? _p->write(data, size) : 0; }
    int available() override { return 0; }
    int peek() override { return -1; }
    int read() override
    {
        uint8_t c;
        return _p && _p->read(&c, 1) == 1 ? c : -1;
    }
    void close() { if (_p) { _p->close(); } _p.reset(); }
    operator bool() const { return (bool)_p; }

private:
    FileImplPtr _p;
};

class FS {
public:
    FS(FSImplPtr impl) : _impl(impl) { }
    File open(const char *path, const char *mode = "r", const bool create = false)
    {
        return File(_impl->open(path, mode, create));
    }

protected:
    FSImplPtr _impl;
};

}

using fs::File;
using fs::FS;

#endif
