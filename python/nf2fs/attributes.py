# SPDX-License-Identifier: BSD-2-Clause
"""Attributes of files and directories as the volume has them, and what they are on a host: times
of modification, modes, and extended attributes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from .errors import INVAL, NF2Error

MODE, TIME, USER, USER_LAST = 0x01, 0x10, 0x20, 0x3F  # as in nf2fs/attributes.h
ROOM = 255  # bytes of all attributes of one name, two for each of them included
TIME_BYTES = 5
TOO_MANY = f"all attributes of a name have {ROOM} bytes together, two for each of them included"
XATTR = "user.nf2."  # begins the name of an extended attribute; behind it is the id as a number


def time_bytes(seconds: int) -> bytes:
    return seconds.to_bytes(TIME_BYTES, "little")


def time_of(values: Mapping[int, bytes]) -> int | None:
    """Seconds since 1970; None: not known."""
    data = values.get(TIME, b"")
    return int.from_bytes(data, "little") if len(data) == TIME_BYTES else None


def mode_of(values: Mapping[int, bytes]) -> int | None:
    """Permissions; None: not known."""
    data = values.get(MODE, b"")
    return None if len(data) < 2 else stat.S_IMODE(int.from_bytes(data[:2], "little"))


def check(path: str, values: Mapping[int, bytes | None]) -> None:
    """Raises NF2Error where no volume could keep them: so that a text says what is wrong."""
    for number, value in values.items():
        if number not in (MODE, TIME) and not USER <= number <= USER_LAST:
            text = f"the id {number:#04x} is reserved; {USER:#04x} to {USER_LAST:#04x} are free"
            raise NF2Error(INVAL, text, path)
        if value is not None and len(value) > ROOM - 2:
            text = f"an attribute has at most {ROOM - 2} bytes, not {len(value)}"
            raise NF2Error(INVAL, text, path)


def of_host(path: str) -> dict[int, bytes]:
    """What a volume can keep of a file or directory of the host: its time of modification, its
    mode, and extended attributes of the names that `to_host` gives them."""
    status = os.stat(path)
    values = {MODE: stat.S_IMODE(status.st_mode).to_bytes(2, "little")}
    if 0 < status.st_mtime < 1 << 8 * TIME_BYTES:
        values[TIME] = time_bytes(int(status.st_mtime))
    for name in _listxattr(path):
        number = _number(name)
        if number is not None:
            values[number] = os.getxattr(path, name)
    return values


def to_host(path: str, values: Mapping[int, bytes]) -> None:
    """Gives them to a file or directory of the host. Extended attributes only where it has any. A
    volume is not trusted: no mode makes a program run as somebody else."""
    for number, value in values.items():
        if USER <= number <= USER_LAST and hasattr(os, "setxattr"):
            try:
                os.setxattr(path, f"{XATTR}{number}", value)
            except OSError:
                pass  # this file system of the host keeps none
    mode, time = mode_of(values), time_of(values)
    if mode is not None:
        os.chmod(path, mode & 0o777)
    if time is not None:
        os.utime(path, (time, time))


def _listxattr(path: str) -> list[str]:
    try:
        return sorted(os.listxattr(path)) if hasattr(os, "listxattr") else []
    except OSError:
        return []


def _number(name: str) -> int | None:
    text = name.removeprefix(XATTR)
    number = int(text) if name.startswith(XATTR) and text.isdecimal() else 0
    return number if USER <= number <= USER_LAST else None
