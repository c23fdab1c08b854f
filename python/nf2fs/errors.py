# SPDX-License-Identifier: BSD-2-Clause
"""The one exception of the package, and the codes that callers compare with."""

from __future__ import annotations

import errno

NOENT = -2
IO = -5
BADF = -9
BUSY = -16
EXIST = -17
NOTDIR = -20
ISDIR = -21
INVAL = -22
FBIG = -27
NOSPC = -28
NAMETOOLONG = -36
NOTEMPTY = -39
BLANK = -200
FOREIGN = -201
CORRUPT = -202
GEOMETRY = -203
VERSION = -204


_NAMES = {value: name for name, value in list(globals().items()) if isinstance(value, int)}


def name_of(error: Exception) -> str:
    """The name of an error's code: that of nf2fs.h without NF2_ERR_, else that of the host."""
    if isinstance(error, NF2Error):
        return _NAMES.get(error.code, str(error.code))
    number = getattr(error, "errno", None)
    return errno.errorcode.get(number, "ERROR").removeprefix("E") if number else "ERROR"


# What to do about an error: for callers from Python, and for those of the command.
REMEDIES = {
    "chip": (
        "pass the name of the chip, or the path of a chip file, as chip=",
        "name the chip with --chip",
    ),
    "force": ("pass force=True to replace it", "use --force to replace it"),
    "part": (
        "pass the chip and the part of it that the volume takes as chip='NAME@OFFSET+SIZE'",
        "name the chip and the part of it that the volume takes: --chip NAME@OFFSET+SIZE",
    ),
    "catalogue": (
        "nf2fs.native.load().chips() lists the names",
        "`nf2 chips` lists the names",
    ),
    "other": (
        "leave chip= out, or name the right one",
        "leave --chip out, or name the right one",
    ),
    "damaged": (
        "nf2 check says what is damaged, nf2 salvage copies out what is left",
        "nf2 check says what is damaged, nf2 salvage copies out what is left",
    ),
    "lost": (
        "if a volume was there, nf2 check says what is damaged, nf2 salvage copies out what is left",
        "if a volume was there, nf2 check says what is damaged, nf2 salvage copies out what is left",
    ),
    "new": ("choose a file that does not exist", "choose a file that does not exist"),
}


# As which of Python's own errors a code can be caught, too.
_ALSO: dict[int, type[OSError]] = {
    NOENT: FileNotFoundError,
    EXIST: FileExistsError,
    NOTDIR: NotADirectoryError,
    ISDIR: IsADirectoryError,
    BUSY: BlockingIOError,
}
_kinds: dict[int, type["NF2Error"]] = {}


class NF2Error(OSError):
    """An error of the file system or of an image: `code` is the nf2_error, `path` what it was
    about.

    It is also the error that Python has for it: a missing name is a FileNotFoundError, and so on.
    `errno` is that of the host, EIO or EINVAL where there is none.
    """

    def __new__(
        cls, code: int, text: str, path: str | None = None, remedy: str | None = None
    ) -> "NF2Error":
        if cls is NF2Error and code in _ALSO:
            if code not in _kinds:
                _kinds[code] = type("NF2Error", (NF2Error, _ALSO[code]), {"__module__": __name__})
            cls = _kinds[code]
        number = -code if code > BLANK else errno.EIO if code == CORRUPT else errno.EINVAL
        return super().__new__(cls, number, text, path)

    def __init__(self, code: int, text: str, path: str | None = None, remedy: str | None = None):
        self.code = code
        self.text = text
        self.path = path
        self.remedy = remedy

    def __reduce__(self):
        return NF2Error, (self.code, self.text, self.path, self.remedy)

    def __str__(self) -> str:
        return self.line(command=False)

    def line(self, command: bool) -> str:
        """What went wrong and what to do about it, in the words of the command or of Python."""
        where = f"{self.path}: " if self.path else ""
        what = f"; {REMEDIES[self.remedy][command]}" if self.remedy else ""
        return f"{where}{self.text}{what}"


class OutOfRange(NF2Error, ValueError):
    """A number that no call can take: a ValueError, too."""

    def __init__(self, text: str, path: str | None = None):
        super().__init__(INVAL, text, path)

    def __new__(cls, text: str, path: str | None = None) -> "OutOfRange":
        return super().__new__(cls, INVAL, text, path)

    def __reduce__(self):
        return OutOfRange, (self.text, self.path)


class LibraryMissing(RuntimeError):
    """The compiled library was not found."""
