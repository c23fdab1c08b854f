# SPDX-License-Identifier: BSD-2-Clause
"""Files on the host that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import EXIST, INVAL, NF2Error

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def kind_name(mode: int) -> str:
    for test, name in (
        (stat.S_ISLNK, "symbolic link"),
        (stat.S_ISFIFO, "pipe"),
        (stat.S_ISSOCK, "socket"),
        (stat.S_ISBLK, "device"),
        (stat.S_ISCHR, "device"),
        (stat.S_ISDIR, "directory"),
    ):
        if test(mode):
            return name
    return "special file"


def refuse_special(path: str) -> None:
    """What is no regular file, nor a link, is not replaced by one."""
    if os.path.lexists(path):
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
            raise NF2Error(INVAL, f"is a {kind_name(mode)} on the host: not replaced", path)


@contextmanager
def about(path: str, start: str) -> Iterator[None]:
    """Errors about files whose names begin with `start`, and about a full disk, are errors about
    `path`."""
    try:
        yield
    except NF2Error as error:
        if error.path and error.path.startswith(start):
            raise NF2Error(error.code, error.text, path, error.remedy) from None
        raise
    except OSError as error:
        names = [str(name) for name in (error.filename, error.filename2) if name]
        if any(name.startswith(start) for name in names) or (not names and error.errno in FULL):
            raise OSError(error.errno, error.strerror, path) from None
        raise


@contextmanager
def beside(path: str) -> Iterator[str]:
    """The name of a file that is not there yet, on the same medium; it is removed where it was
    left.

    Errors about that file are errors about `path`: the name for now is nobody's concern.
    """
    directory, name = os.path.split(os.path.abspath(path))
    start = os.path.join(directory, f".{name[:100]}.")
    with (
        about(path, start),
        tempfile.TemporaryDirectory(prefix=os.path.basename(start), dir=directory) as temporary,
    ):
        yield os.path.join(temporary, "image")


def publish_new(temporary: str, output: str) -> None:
    """Gives a finished file its name, unless there is a file of that name by now."""
    sync(temporary)
    try:
        os.link(temporary, output)
    except FileExistsError:
        raise NF2Error(EXIST, "exists already", output, "new") from None
    except OSError:  # no links here
        if os.path.lexists(output):
            raise NF2Error(EXIST, "exists already", output, "new") from None
        os.rename(temporary, output)
    settle(os.path.dirname(os.path.abspath(output)))


def publish_over(temporary: str, path: str) -> None:
    """Gives a finished file its name; what had it is replaced in the same instant."""
    refuse_special(path)
    sync(temporary)
    os.replace(temporary, path)
    settle(os.path.dirname(os.path.abspath(path)))


def keep(path: str) -> str:
    """A second name for a file: path.damaged, with a number where that is taken."""
    number = 0
    while True:
        backup = f"{path}.damaged{'' if number == 0 else f'.{number}'}"
        number += 1
        try:
            os.link(path, backup)
        except FileExistsError:
            continue
        except OSError:  # no links here: a copy
            if os.path.lexists(backup):
                continue
            with beside(backup) as copy:
                shutil.copy2(path, copy)
                sync(copy)
                os.rename(copy, backup)
        settle(os.path.dirname(os.path.abspath(path)))
        return backup


def followed(path: str | os.PathLike) -> str:
    """The path as it was given, or where it leads if it is a symbolic link: what stands there may
    be replaced."""
    return os.path.realpath(path) if os.path.islink(path) else os.fspath(path)


def sync(path: str) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def settle(directory: str) -> None:
    """What was renamed in a directory is on the medium."""
    handle = os.open(directory or ".", os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
