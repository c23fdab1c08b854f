/* SPDX-License-Identifier: BSD-2-Clause */
/* FS.h - see ../README.md: that of arduino-pico. */
#ifndef STUB_FS_H
#define STUB_FS_H

#include <Arduino.h>
#include <memory>

namespace fs {

class FS;
class FileImpl;
class DirImpl;
class FSImpl;
typedef std::shared_ptr<FileImpl> FileImplPtr;
typedef std::shared_ptr<DirImpl> DirImplPtr;
typedef std::shared_ptr<FSImpl> FSImplPtr;

enum SeekMode { SeekSet = 0, SeekCur = 1, SeekEnd = 2 };

struct FSStat { size_t size, blocksize; time_t ctime, atime; bool isDir; };
struct FSInfo {
    uint64_t totalBytes, usedBytes;
    size_t blockSize, pageSize, maxOpenFiles, maxPathLength;
};

class FSConfig {
public:
    FSConfig(uint32_t type = 0, bool autoFormat = true) : _type(type), _autoFormat(autoFormat) { }
    uint32_t _type;
    bool _autoFormat;
};

class File : public Stream {
public:
    File(FileImplPtr impl = FileImplPtr(), FS *base = nullptr) : _p(impl), _base(base) { }
    using Print::write;
    size_t write(uint8_t c) override;
    size_t write(const uint8_t *data, size_t size) override;
    int available() override;
    int read() override;
    int peek() override;
    void flush() override;
    int read(uint8_t *data, size_t size);
    bool seek(uint32_t position, SeekMode mode = SeekSet);
    size_t position() const;
    size_t size() const;
    void close();
    operator bool() const;
    const char *name() const;
    const char *fullName() const;
    bool truncate(uint32_t size);
    bool isFile() const;
    bool isDirectory() const;
    File openNextFile();

private:
    FileImplPtr _p;
    FS *_base;
    DirImplPtr _list;
};

class Dir {
public:
    Dir(DirImplPtr impl = DirImplPtr()) : _impl(impl) { }
    File openFile(const char *mode);
    String fileName();
    size_t fileSize();
    bool isFile() const;
    bool isDirectory() const;
    bool next();
    bool rewind();

private:
    DirImplPtr _impl;
};

class FS {
public:
    FS(FSImplPtr impl) : _impl(impl) { }
    bool setConfig(const FSConfig &config);
    bool begin();
    void end();
    bool format();
    bool info(FSInfo &out);
    File open(const char *path, const char *mode);
    bool exists(const char *path);
    Dir openDir(const char *path);
    bool remove(const char *path);
    bool rename(const char *from, const char *to);
    bool mkdir(const char *path);
    bool rmdir(const char *path);
    bool stat(const char *path, FSStat *out);
    bool gc();
    bool check();

private:
    friend class File;
    FSImplPtr _impl;
};

}

using fs::Dir;
using fs::File;
using fs::FSInfo;
using fs::SeekCur;
using fs::SeekEnd;
using fs::SeekSet;

#endif
