# SPDX-License-Identifier: BSD-2-Clause
"""The one exception of the package, and the codes that callers compare with."""

from __future__ import annotations

NOENT = -2
IO = -5
BADF = -9
BUSY = -16
EXIST = -17
NOTDIR = -20
ISDIR = -21
INVAL = -22
NOSPC = -28
NAMETOOLONG = -36
NOTEMPTY = -39
BLANK = -200
FOREIGN = -201
CORRUPT = -202
GEOMETRY = -203
VERSION = -204


# What to do about an error: for callers from Python, and for those of the command.
REMEDIES = {
    "chip": ("pass the name of the chip, or the path of a chip file, as chip=", "name the chip with --chip"),
    "force": ("pass force=True to replace it", "use --force to replace it"),
    "new": ("choose a file that does not exist", "name a new file"),
}


class NF2Error(OSError):
    """An error of the file system or of an image: `code` is the nf2_error, `path` what it was about."""

    def __init__(self, code: int, text: str, path: str | None = None, remedy: str | None = None):
        super().__init__(-code, text, path)
        self.code = code
        self.text = text
        self.path = path
        self.remedy = remedy

    def __str__(self) -> str:
        return self.line(command=False)

    def line(self, command: bool) -> str:
        """What went wrong and what to do about it, in the words of the command or of Python."""
        where = f"{self.path}: " if self.path else ""
        what = f"; {REMEDIES[self.remedy][command]}" if self.remedy else ""
        return f"{where}{self.text}{what}"


class LibraryMissing(RuntimeError):
    """The compiled library was not found."""
