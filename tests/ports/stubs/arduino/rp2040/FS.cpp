/* SPDX-License-Identifier: BSD-2-Clause */
/* FS.cpp - see ../README.md: what arduino-pico does between a sketch and a file system. */
#include "FS.h"
#include "FSImpl.h"

namespace fs {

static bool modes(const char *mode, OpenMode *open, AccessMode *access)
{
    bool both = mode[1] == '+';
    *access = both ? AM_RW : mode[0] == 'r' ? AM_READ : AM_WRITE;
    *open = mode[0] == 'r' ? OM_DEFAULT
            : mode[0] == 'w' ? (OpenMode)(OM_CREATE | OM_TRUNCATE) : (OpenMode)(OM_CREATE | OM_APPEND);
    return mode[0] == 'r' || mode[0] == 'w' || mode[0] == 'a';
}

size_t File::write(uint8_t c) { return write(&c, 1); }
size_t File::write(const uint8_t *data, size_t size) { return _p ? _p->write(data, size) : 0; }
int File::available() { return _p ? (int)(_p->size() - _p->position()) : 0; }
int File::read(uint8_t *data, size_t size) { return _p ? _p->read(data, size) : 0; }
void File::flush() { if (_p) { _p->flush(); } }
bool File::seek(uint32_t position, SeekMode mode) { return _p && _p->seek(position, mode); }
size_t File::position() const { return _p ? _p->position() : 0; }
size_t File::size() const { return _p ? _p->size() : 0; }
const char *File::name() const { return _p ? _p->name() : nullptr; }
const char *File::fullName() const { return _p ? _p->fullName() : nullptr; }
bool File::truncate(uint32_t size) { return _p && _p->truncate(size); }
bool File::isFile() const { return _p && _p->isFile(); }
bool File::isDirectory() const { return _p && _p->isDirectory(); }
File::operator bool() const { return (bool)_p; }

int File::read()
{
    uint8_t c;
    return read(&c, 1) == 1 ? c : -1;
}

int File::peek()
{
    size_t at = position();
    int c = read();
    seek((uint32_t)at, SeekSet);
    return c;
}

void File::close()
{
    if (_p) {
        _p->close();
        _p.reset();
    }
}

File File::openNextFile()
{
    if (!_list) {
        _list = _base->_impl->openDir(fullName());
    }
    return _list && _list->next() ? File(_list->openFile(OM_DEFAULT, AM_READ), _base) : File();
}

File Dir::openFile(const char *mode)
{
    OpenMode open;
    AccessMode access;
    return _impl && modes(mode, &open, &access) ? File(_impl->openFile(open, access)) : File();
}

String Dir::fileName() { return _impl && _impl->fileName() ? String(_impl->fileName()) : String(); }
size_t Dir::fileSize() { return _impl ? _impl->fileSize() : 0; }
bool Dir::isFile() const { return _impl && _impl->isFile(); }
bool Dir::isDirectory() const { return _impl && _impl->isDirectory(); }
bool Dir::next() { return _impl && _impl->next(); }
bool Dir::rewind() { return _impl && _impl->rewind(); }

bool FS::setConfig(const FSConfig &config) { return _impl->setConfig(config); }
bool FS::begin() { return _impl->begin(); }
void FS::end() { _impl->end(); }
bool FS::format() { return _impl->format(); }
bool FS::info(FSInfo &out) { return _impl->info(out); }
bool FS::exists(const char *path) { return _impl->exists(path); }
Dir FS::openDir(const char *path) { return Dir(_impl->openDir(path)); }
bool FS::remove(const char *path) { return _impl->remove(path); }
bool FS::rename(const char *from, const char *to) { return _impl->rename(from, to); }
bool FS::mkdir(const char *path) { return _impl->mkdir(path); }
bool FS::rmdir(const char *path) { return _impl->rmdir(path); }
bool FS::stat(const char *path, FSStat *out) { return _impl->stat(path, out); }
bool FS::gc() { return _impl->gc(); }
bool FS::check() { return _impl->check(); }

File FS::open(const char *path, const char *mode)
{
    OpenMode open;
    AccessMode access;
    return modes(mode, &open, &access) ? File(_impl->open(path, open, access), this) : File();
}

}
