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


class NF2Error(OSError):
    """An error of the file system or of an image: `code` is the nf2_error, `path` what it was about."""

    def __init__(self, code: int, text: str, path: str | None = None):
        super().__init__(-code, text, path)
        self.code = code
        self.text = text
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class LibraryMissing(RuntimeError):
    """The compiled library was not found."""
