# SPDX-License-Identifier: BSD-2-Clause
"""One writer to an image at a time, or any number of readers.
 The lock is the host's own lock of a file (flock): it also holds between two volumes of one
process, and ends with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import stat
import warnings

from .errors import BUSY, INVAL, NOENT, NF2Error

NO_LOCKS = {"ENOLCK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"}


class ImageLock:
    """Holds an image file from its making to `release`. Raises NF2Error (BUSY) where another holds
    it."""

    def __init__(self, path: str, exclusive: bool):
        self.path, self.exclusive = path, exclusive
        self._file: int | None = None
        self._file = _locked(path, exclusive)

    def __del__(self) -> None:
        """For a volume that was given up without being closed."""
        if self._file is not None:
            warnings.warn(f"{self.path}: a volume was not closed", ResourceWarning, stacklevel=2, source=self)
            self.release()

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> "ImageLock":
        return self

    def __exit__(self, *_) -> None:
        self.release()


def refuse_held(path: str) -> None:
    """Raises NF2Error (BUSY) where anybody holds an image, which may lie where nothing can be
    written."""
    file = _opened(path, False)
    try:
        _lock(file, path, True)
    finally:
        os.close(file)


def _locked(path: str, exclusive: bool) -> int:
    """A locked descriptor of the file that has this name: it may be replaced while we wait for
    it."""
    while True:
        file = _opened(path, exclusive)
        try:
            _lock(file, path, exclusive)
            if _same_file(file, path):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _opened(path: str, exclusive: bool) -> int:
    try:
        # Not blocking: a pipe is refused below, not waited for.
        file = os.open(
            path, (os.O_RDWR if exclusive else os.O_RDONLY) | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except FileNotFoundError:
        raise NF2Error(NOENT, "no such image file", path) from None
    except IsADirectoryError:
        raise NF2Error(INVAL, "is a directory, not an image file", path) from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        kind = (
            "is a directory, not an image file" if os.path.isdir(path) else "is not a regular file"
        )
        os.close(file)
        raise NF2Error(INVAL, kind, path)
    return file


def _lock(file: int, path: str, exclusive: bool) -> None:
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise NF2Error(BUSY, _in_use(file, exclusive), path) from None
    except OSError as error:
        if _errno_name(error) not in NO_LOCKS:
            raise
        warnings.warn(
            f"{path}: this host's file system has no locks; "
            "use the image from one program at a time",
            RuntimeWarning,
            stacklevel=5,
        )


def _errno_name(error: OSError) -> str:
    import errno

    return errno.errorcode.get(error.errno or 0, "")


def _same_file(file: int, path: str) -> bool:
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return False
    held = os.fstat(file)
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


def _in_use(file: int, exclusive: bool) -> str:
    writers, readers = _holders(file)
    who = f"process {(writers or readers)[0]}" if writers or readers else "another program"
    if readers and not writers:
        return (
            f"is in use: {who} is reading it, and a writer needs it alone. "
            "Try again when it has finished"
        )
    doing = "is writing to it" if writers or not exclusive else "is using it"
    return f"is in use: {who} {doing}. Try again when it has finished"


def _holders(file: int) -> tuple[list[int], list[int]]:
    """The processes that write and that read, as far as the host tells."""
    facts = os.fstat(file)
    wanted = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    writers: list[int] = []
    readers: list[int] = []
    try:
        with open("/proc/locks", encoding="ascii") as locks:
            for line in locks:
                part = line.split()
                if len(part) > 5 and part[1] == "FLOCK" and part[5] == wanted and int(part[4]) > 0:
                    (writers if part[3] == "WRITE" else readers).append(int(part[4]))
    except (OSError, ValueError):
        pass
    return writers, readers
