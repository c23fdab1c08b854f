# SPDX-License-Identifier: BSD-2-Clause
"""Files on the host that appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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


# ---- what is not finished ----

RANDOM = re.compile(r"[a-z0-9_]{8}")  # what tempfile puts behind a prefix
OLD_S = 60.0  # a moment passes between the making of a file and its lock


@contextmanager
def unfinished(prefix: str, directory: str | None = None) -> Iterator[str]:
    """A directory for what is being made; it is removed in the end. What killed runs left of such
    directories is removed before."""
    directory = directory or tempfile.gettempdir()
    for name in _leftovers(directory, prefix):
        with suppress(OSError):
            _remove_left(os.path.join(directory, name))
    with tempfile.TemporaryDirectory(prefix=prefix, dir=directory) as place, _held(place):
        yield place


def sweep_parts(directory: str, prefix: str) -> None:
    """Removes the files that killed runs left in a directory; the names of those that are being
    written are locked: see `hold`."""
    for name in _leftovers(directory, prefix):
        with suppress(OSError):
            _remove_left(os.path.join(directory, name))


def hold(file: int) -> None:
    """No sweep removes what this descriptor is of, as long as it is open."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _leftovers(directory: str, prefix: str) -> list[str]:
    """Names in a directory that a run of these tools has made."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    start = len(prefix)
    return [name for name in names if name.startswith(prefix) and RANDOM.fullmatch(name[start:])]


def _remove_left(path: str) -> None:
    """Unless somebody holds it, or it is not ours, or young."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        facts = os.fstat(file)
        if facts.st_uid != os.geteuid() or time.time() - facts.st_mtime < OLD_S:
            return
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISDIR(facts.st_mode):
            shutil.rmtree(path)
        elif stat.S_ISREG(facts.st_mode):
            os.unlink(path)
    finally:
        os.close(file)


@contextmanager
def _held(place: str) -> Iterator[None]:
    file = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        hold(file)
        yield
    finally:
        os.close(file)


@contextmanager
def beside(path: str) -> Iterator[str]:
    """The name of a file that is not there yet, on the same medium; it is removed where it was
    left.

    Errors about that file are errors about `path`: the name for now is nobody's concern.
    """
    directory, name = os.path.split(os.path.abspath(path))
    start = os.path.join(directory, f".nf2-{name[:100]}.")
    with about(path, start), unfinished(os.path.basename(start), directory) as temporary:
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
