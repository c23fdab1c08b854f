/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_newlib.c - newlib's system calls over nf2_posix.h, so that fopen, fprintf and the rest work.
 * An option: compile it into the firmware and link without another set (no rdimon.specs, no
 * nosys.specs).
 *
 * Descriptors 0, 1 and 2 are the console: give nf2_newlib_put, and nf2_newlib_get where there is
 * input. newlib takes the memory of a FILE and its buffer from its heap: _sbrk and, with several
 * tasks, __malloc_lock are yours, as are _exit, _kill and _getpid, which have to do with no file.
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "nf2_posix.h"

#define CONSOLE 3               /* descriptors below it */

/* Yours: puts out all bytes. */
void nf2_newlib_put(const char *data, int length);

/* Yours if you like: waits for at least one byte; how many came, 0 at the end. */
__attribute__((weak)) int nf2_newlib_get(char *data, int length)
{
    (void)data;
    (void)length;
    return 0;
}

int _open(const char *path, int flags, int mode);
int _close(int file);
int _read(int file, char *data, int length);
int _write(int file, char *data, int length);
int _lseek(int file, int offset, int whence);
int _fstat(int file, struct stat *out);
int _stat(const char *path, struct stat *out);
int _unlink(const char *path);
int _link(const char *from, const char *to);
struct _reent;
int _rename(const char *from, const char *to);
int _rename_r(struct _reent *unused, const char *from, const char *to);
int _isatty(int file);

int _open(const char *path, int flags, int mode)
{
    (void)mode;
    int file = nf2p_open(path, flags);
    return file < 0 ? file : file + CONSOLE;
}

int _close(int file)
{
    return file < CONSOLE ? 0 : nf2p_close(file - CONSOLE);
}

int _read(int file, char *data, int length)
{
    return file < CONSOLE ? nf2_newlib_get(data, length)
                          : (int)nf2p_read(file - CONSOLE, data, (size_t)length);
}

int _write(int file, char *data, int length)
{
    if (file < CONSOLE) {
        nf2_newlib_put(data, length);
        return length;
    }
    return (int)nf2p_write(file - CONSOLE, data, (size_t)length);
}

int _lseek(int file, int offset, int whence)
{
    return file < CONSOLE ? 0 : (int)nf2p_lseek(file - CONSOLE, offset, whence);
}

int _fstat(int file, struct stat *out)
{
    if (file >= CONSOLE) {
        return nf2p_fstat(file - CONSOLE, out);
    }
    *out = (struct stat){.st_mode = S_IFCHR};
    return 0;
}

int _stat(const char *path, struct stat *out)
{
    return nf2p_stat(path, out);
}

int _unlink(const char *path)
{
    return nf2p_unlink(path);
}

int _link(const char *from, const char *to)
{
    (void)from;
    (void)to;
    errno = EMLINK;
    return -1;
}

int _rename(const char *from, const char *to)
{
    return nf2p_rename(from, to);
}

/* Some builds of newlib have rename() link and unlink: that would not be one change. */
int _rename_r(struct _reent *unused, const char *from, const char *to)
{
    (void)unused;
    return nf2p_rename(from, to);
}

int _isatty(int file)
{
    if (file < CONSOLE) {
        return 1;
    }
    errno = ENOTTY;
    return 0;
}

/* What POSIX has, and newlib leaves to the system by its own name. */

int mkdir(const char *path, mode_t mode)
{
    return nf2p_mkdir(path, mode);
}

int rmdir(const char *path)
{
    return nf2p_rmdir(path);
}

int fsync(int file)
{
    return file < CONSOLE ? 0 : nf2p_fsync(file - CONSOLE);
}

int ftruncate(int file, off_t size)
{
    if (file < CONSOLE) {
        errno = EINVAL;
        return -1;
    }
    return nf2p_ftruncate(file - CONSOLE, size);
}
