/* SPDX-License-Identifier: BSD-2-Clause */
/* NF2FS_rp2040.cpp - an fs::FS over the flash that the core sets aside for files. */
#if defined(ARDUINO_ARCH_RP2040)

#include "NF2FS.h"

#include <Arduino.h>
#include <hardware/flash.h>
#include <hardware/sync.h>
#include <string.h>

#include <memory>
#include <new>

extern uint8_t _FS_start, _FS_end;      /* of the linker script: where the files lie */

namespace {

constexpr uint32_t blockSize = 4096, pageSize = 256;

/* ---- the driver: code runs from the same flash, so everything else has to wait --------------- */

class FlashBusy {
public:
    FlashBusy()
    {
#ifndef __FREERTOS
        noInterrupts();
#endif
        rp2040.idleOtherCore();
    }

    ~FlashBusy()
    {
        rp2040.resumeOtherCore();
#ifndef __FREERTOS
        interrupts();
#endif
    }
};

/* Where an address of the volume is on the chip. */
uint32_t onChip(uint32_t address)
{
    return (uint32_t)((uintptr_t)&_FS_start - XIP_BASE) + address;
}

int flashRead(void *, uint32_t address, void *data, uint32_t length)
{
    memcpy(data, &_FS_start + address, length);
    return 0;
}

/* The ROM programs whole pages, from RAM: bytes of 0xFF leave the others as they are. */
int flashProgram(void *, uint32_t address, const void *data, uint32_t length)
{
    uint8_t page[pageSize];
    memset(page, 0xFF, sizeof(page));
    memcpy(page + address % pageSize, data, length);
    FlashBusy busy;
    flash_range_program(onChip(address - address % pageSize), page, sizeof(page));
    return 0;
}

int flashErase(void *, uint32_t address, uint32_t length)
{
    FlashBusy busy;
    flash_range_erase(onChip(address), length);
    return 0;
}

/* ---- the volume ------------------------------------------------------------------------------ */

class Volume;

class VolumeFile : public fs::FileImpl {
public:
    VolumeFile(Volume *volume, const char *path);
    ~VolumeFile() override { close(); }
    int open(int flags);                /* NF2_ERR_ISDIR: it stands for a directory */

    size_t write(const uint8_t *data, size_t size) override;
    int read(uint8_t *data, size_t size) override;
    void flush() override;
    bool seek(uint32_t position, fs::SeekMode mode) override;
    size_t position() const override;
    size_t size() const override;
    bool truncate(uint32_t size) override;
    void close() override;
    const char *name() const override;
    const char *fullName() const override { return opened ? path.c_str() : nullptr; }
    bool isFile() const override { return opened && !directory; }
    bool isDirectory() const override { return opened && directory; }

private:
    bool usable() const { return opened && !directory; }

    Volume *volume;
    String path;
    bool opened = false, directory = false;
    mutable nf2_file_t file;
    uint8_t page[pageSize];
};

class VolumeDir : public fs::DirImpl {
public:
    VolumeDir(Volume *volume, const String &path, const String &prefix)
        : volume(volume), path(path), prefix(prefix) { }
    int open();

    fs::FileImplPtr openFile(fs::OpenMode mode, fs::AccessMode access) override;
    const char *fileName() override { return valid ? entry.name : nullptr; }
    size_t fileSize() override { return valid ? entry.size : 0; }
    bool isFile() const override { return valid && entry.type == NF2_TYPE_FILE; }
    bool isDirectory() const override { return valid && entry.type == NF2_TYPE_DIR; }
    bool next() override;
    bool rewind() override;

private:
    Volume *volume;
    String path, prefix;                /* names that begin so are listed */
    nf2_dir_t dir;
    struct nf2_dirent entry;
    bool valid = false;
};

class Volume : public fs::FSImpl {
public:
    Volume();

    bool setConfig(const fs::FSConfig &config) override;
    bool begin() override;
    void end() override;
    bool format() override;
    bool info(fs::FSInfo &out) override;
    fs::FileImplPtr open(const char *path, fs::OpenMode mode, fs::AccessMode access) override;
    bool exists(const char *path) override;
    fs::DirImplPtr openDir(const char *path) override;
    bool rename(const char *from, const char *to) override;
    bool remove(const char *path) override;
    bool mkdir(const char *path) override;
    bool rmdir(const char *path) override;
    bool stat(const char *path, fs::FSStat *out) override;
    bool gc() override { return mounted && nf2_maintain(&fs, 100000) >= 0; }
    bool check() override { return mounted && nf2_check(&fs, nullptr, nullptr) == 0; }

    nf2_t fs;
    int error = NF2_OK; /* of the last begin() or format(), or of a flush or close */

private:
    bool removeTyped(const char *path, enum nf2_type type);
    void makeParents(const char *path);

    NF2FSConfig settings;
    bool mounted = false;
    struct nf2_flash flash;
    struct nf2_config config;
    uint8_t buffer[NF2_BUFFER_SIZE(pageSize)];
};

Volume::Volume()
{
    memset(&fs, 0, sizeof(fs));
    memset(&flash, 0, sizeof(flash));
    flash.read = flashRead;
    flash.program = flashProgram;
    flash.erase = flashErase;
    flash.chip_size = (uint32_t)((uintptr_t)&_FS_end - (uintptr_t)&_FS_start) / blockSize *
                      blockSize;
    flash.block_size = blockSize;       /* no large erases: interrupts would be off for too long */
    flash.page_size = pageSize;
    flash.program_unit = 1;
    flash.read_unit = 1;
    flash.read_page_us = 10;
    flash.program_page_us = 500;
    flash.erase_block_us = 50000;
    memset(&config, 0, sizeof(config));
    config.flash = &flash;
    config.buffer = buffer;
    config.buffer_size = sizeof(buffer);
}

bool Volume::setConfig(const fs::FSConfig &given)
{
    if (given._type != NF2FSConfig::FSId || mounted) {
        return false;
    }
    settings = static_cast<const NF2FSConfig &>(given);
    return true;
}

bool Volume::begin()
{
    if (mounted) {
        return true;
    }
    error = nf2_mount(&fs, &config, NF2_MOUNT_RDWR);
    if ((error == NF2_ERR_BLANK && settings._autoFormat)
        || (error == NF2_ERR_FOREIGN && settings.formatForeign)) {
        error = nf2_format(&fs, &config, NF2_FORMAT_QUICK);
        error = error == NF2_OK ? nf2_mount(&fs, &config, NF2_MOUNT_RDWR) : error;
    }
    mounted = error == NF2_OK;
    return mounted;
}

void Volume::end()
{
    if (mounted) {
        error = nf2_unmount(&fs);
        mounted = false;
    }
}

bool Volume::format()
{
    bool again = mounted;
    end();
    error = nf2_format(&fs, &config, NF2_FORMAT_QUICK);
    return error == NF2_OK && (!again || begin());
}

bool Volume::info(fs::FSInfo &out)
{
    struct nf2_statfs space;
    if (!mounted || nf2_statfs(&fs, &space) != NF2_OK) {
        return false;
    }
    out.totalBytes = (uint64_t)space.blocks * space.block_size;
    out.usedBytes = (uint64_t)(space.blocks - space.blocks_available) * space.block_size;
    out.blockSize = space.block_size;
    out.pageSize = pageSize;
    out.maxOpenFiles = UINT16_MAX;      /* as many as there is memory for */
    out.maxPathLength = NF2_NAME_MAX;   /* of each name in it */
    return true;
}

/*
 * As with LittleFS, a new file brings its directories along. What cannot be made is told by open.
 */
void Volume::makeParents(const char *path)
{
    String part(path);
    for (int at = part.indexOf('/', 1); at > 0; at = part.indexOf('/', at + 1)) {
        (void)nf2_mkdir(&fs, part.substring(0, at).c_str());
    }
}

fs::FileImplPtr Volume::open(const char *path, fs::OpenMode mode, fs::AccessMode access)
{
    if (!mounted || path == nullptr || path[0] == '\0') {
        return fs::FileImplPtr();
    }
    int flags = ((access & fs::AM_READ) != 0 ? NF2_O_RDONLY : 0)
                | ((access & fs::AM_WRITE) != 0 ? NF2_O_WRONLY : 0)
                | ((mode & fs::OM_CREATE) != 0 ? NF2_O_CREAT : 0)
                | ((mode & fs::OM_APPEND) != 0 ? NF2_O_APPEND : 0)
                | ((mode & fs::OM_TRUNCATE) != 0 ? NF2_O_TRUNC : 0);
    auto file = std::make_shared<VolumeFile>(this, path);
    int result = file->open(flags);
    if (result == NF2_ERR_NOENT && (mode & fs::OM_CREATE) != 0) {
        makeParents(path);
        result = file->open(flags);
    }
    return result == NF2_OK ? file : fs::FileImplPtr();
}

bool Volume::exists(const char *path)
{
    struct nf2_stat found;
    return mounted && path != nullptr && path[0] != '\0' && nf2_stat(&fs, path, &found) == NF2_OK;
}

/* A path that is no directory lists the names in its directory that begin like its last one. */
fs::DirImplPtr Volume::openDir(const char *path)
{
    struct nf2_stat found;
    if (!mounted || path == nullptr) {
        return fs::DirImplPtr();
    }
    String folder(path), prefix;
    if (nf2_stat(&fs, path, &found) != NF2_OK || found.type != NF2_TYPE_DIR) {
        int slash = folder.lastIndexOf('/');
        prefix = folder.substring(slash + 1);
        folder = slash > 0 ? folder.substring(0, slash) : String("/");
    }
    auto dir = std::make_shared<VolumeDir>(this, folder, prefix);
    return dir->open() == NF2_OK ? dir : fs::DirImplPtr();
}

bool Volume::rename(const char *from, const char *to)
{
    return mounted && from != nullptr && to != nullptr && nf2_rename(&fs, from, to) == NF2_OK;
}

bool Volume::removeTyped(const char *path, enum nf2_type type)
{
    struct nf2_stat found;
    return mounted && path != nullptr && nf2_stat(&fs, path, &found) == NF2_OK
           && found.type == type && nf2_remove(&fs, path) == NF2_OK;
}

bool Volume::remove(const char *path)
{
    return removeTyped(path, NF2_TYPE_FILE);
}

bool Volume::rmdir(const char *path)
{
    return removeTyped(path, NF2_TYPE_DIR);
}

bool Volume::mkdir(const char *path)
{
    return mounted && path != nullptr && nf2_mkdir(&fs, path) == NF2_OK;
}

bool Volume::stat(const char *path, fs::FSStat *out)
{
    struct nf2_stat found;
    if (!mounted || path == nullptr || nf2_stat(&fs, path, &found) != NF2_OK) {
        return false;
    }
    out->size = found.size;
    out->blocksize = blockSize;
    out->ctime = 0;
    out->atime = 0;
    out->isDir = found.type == NF2_TYPE_DIR;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

VolumeFile::VolumeFile(Volume *volume, const char *path) : volume(volume), path(path)
{
    memset(&file, 0, sizeof(file));
}

int VolumeFile::open(int flags)
{
    int result = nf2_open(&volume->fs, &file, path.c_str(), flags, page);
    directory = result == NF2_ERR_ISDIR && (flags & NF2_O_WRONLY) == 0;
    result = directory ? NF2_OK : result;
    opened = result == NF2_OK;
    return result;
}

size_t VolumeFile::write(const uint8_t *data, size_t size)
{
    int32_t result = usable() && size <= NF2_FILE_MAX
                         ? nf2_write(&volume->fs, &file, data, (uint32_t)size) : 0;
    return result > 0 ? (size_t)result : 0;
}

int VolumeFile::read(uint8_t *data, size_t size)
{
    int32_t result = usable() && size <= NF2_FILE_MAX
                         ? nf2_read(&volume->fs, &file, data, (uint32_t)size) : 0;
    return result > 0 ? (int)result : 0;
}

void VolumeFile::flush()
{
    int result = usable() ? nf2_sync(&volume->fs, &file) : NF2_OK;
    volume->error = result != NF2_OK ? result : volume->error;
}

/* As with LittleFS: not past the end. */
bool VolumeFile::seek(uint32_t position, fs::SeekMode mode)
{
    if (!usable()) {
        return false;
    }
    int whence = mode == fs::SeekSet ? NF2_SEEK_SET :
                 mode == fs::SeekCur ? NF2_SEEK_CUR :
                                       NF2_SEEK_END;
    int32_t before = nf2_tell(&volume->fs, &file);
    int32_t result = nf2_seek(&volume->fs, &file, (int32_t)position, whence);
    if (result > nf2_size(&volume->fs, &file)) {
        (void)nf2_seek(&volume->fs, &file, before, NF2_SEEK_SET);
        return false;
    }
    return result >= 0;
}

size_t VolumeFile::position() const
{
    int32_t result = usable() ? nf2_tell(&volume->fs, &file) : 0;
    return result > 0 ? (size_t)result : 0;
}

size_t VolumeFile::size() const
{
    int32_t result = usable() ? nf2_size(&volume->fs, &file) : 0;
    return result > 0 ? (size_t)result : 0;
}

bool VolumeFile::truncate(uint32_t size)
{
    return usable() && nf2_truncate(&volume->fs, &file, size) == NF2_OK;
}

void VolumeFile::close()
{
    int result = usable() ? nf2_close(&volume->fs, &file) : NF2_OK;
    volume->error = result != NF2_OK ? result : volume->error;
    opened = false;
}

const char *VolumeFile::name() const
{
    return opened ? path.c_str() + path.lastIndexOf('/') + 1 : nullptr;
}

/* ---- listings -------------------------------------------------------------------------------- */

int VolumeDir::open()
{
    return nf2_opendir(&volume->fs, &dir, path.c_str());
}

bool VolumeDir::next()
{
    do {
        valid = nf2_readdir(&volume->fs, &dir, &entry) == 1;
    } while (valid && strncmp(entry.name, prefix.c_str(), prefix.length()) != 0);
    return valid;
}

bool VolumeDir::rewind()
{
    valid = false;
    return nf2_rewinddir(&volume->fs, &dir) == NF2_OK;
}

fs::FileImplPtr VolumeDir::openFile(fs::OpenMode mode, fs::AccessMode access)
{
    String name = path + "/" + entry.name;
    return valid ? volume->open(name.c_str(), mode, access) : fs::FileImplPtr();
}

Volume *theVolume()
{
    static Volume *volume = new Volume();
    return volume;
}

}

fs::FS NF2FS = fs::FS(fs::FSImplPtr(theVolume()));

int NF2FSError()
{
    return theVolume()->error;
}

#endif
