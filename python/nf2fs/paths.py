# SPDX-License-Identifier: BSD-2-Clause
"""Paths of a volume that work like those of pathlib."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from .errors import EXIST, INVAL, NOENT, NF2Error

if TYPE_CHECKING:
    from .volume import AnyPath, Stat, Volume


class VolumePath:
    """An absolute path of a volume. It has the names of pathlib.Path; what needs no volume is
    PurePosixPath's."""

    def __init__(self, volume: "Volume", *parts: "AnyPath | VolumePath"):
        from .volume import text_of

        self.volume = volume
        self.pure = PurePosixPath("/", *(text_of(part) for part in parts))

    # ---- names ----

    def __truediv__(self, part: "AnyPath") -> "VolumePath":
        return VolumePath(self.volume, self, part)

    def joinpath(self, *parts: "AnyPath") -> "VolumePath":
        return VolumePath(self.volume, self, *parts)

    def __fspath__(self) -> str:
        return str(self.pure)

    def __str__(self) -> str:
        return str(self.pure)

    def __repr__(self) -> str:
        return f"VolumePath({str(self.pure)!r})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VolumePath)
            and other.volume is self.volume
            and other.pure == self.pure
        )

    def __lt__(self, other: "VolumePath") -> bool:
        return self.pure < other.pure

    def __hash__(self) -> int:
        return hash((id(self.volume), self.pure))

    @property
    def name(self) -> str:
        return self.pure.name

    @property
    def stem(self) -> str:
        return self.pure.stem

    @property
    def suffix(self) -> str:
        return self.pure.suffix

    @property
    def parts(self) -> tuple[str, ...]:
        return self.pure.parts

    @property
    def parent(self) -> "VolumePath":
        return VolumePath(self.volume, self.pure.parent)

    @property
    def parents(self) -> list["VolumePath"]:
        return [VolumePath(self.volume, parent) for parent in self.pure.parents]

    def with_name(self, name: str) -> "VolumePath":
        return VolumePath(self.volume, self.pure.with_name(name))

    def with_suffix(self, suffix: str) -> "VolumePath":
        return VolumePath(self.volume, self.pure.with_suffix(suffix))

    def relative_to(self, other: "str | VolumePath") -> PurePosixPath:
        return self.pure.relative_to(str(other))

    # ---- what is there ----

    def stat(self) -> "Stat":
        return self.volume.stat(self)

    def exists(self) -> bool:
        return self.volume.exists(self)

    def is_dir(self) -> bool:
        return self.volume.isdir(self)

    def is_file(self) -> bool:
        return self.volume.isfile(self)

    def iterdir(self) -> Iterator["VolumePath"]:
        return (self / entry.name for entry in self.volume.iterdir(self))

    def walk(self) -> Iterator[tuple["VolumePath", list[str], list[str]]]:
        for directory, directories, files in self.volume.walk(self):
            yield VolumePath(self.volume, directory), directories, files

    def rglob(self, pattern: str) -> Iterator["VolumePath"]:
        """Every file and directory below whose name matches `pattern`."""
        if "/" in pattern:
            raise NF2Error(INVAL, "the pattern is of a name, without '/'", pattern)
        for directory, directories, files in self.walk():
            for name in sorted(directories + files):
                if fnmatch.fnmatchcase(name, pattern):
                    yield directory / name

    def glob(self, pattern: str) -> Iterator["VolumePath"]:
        """The entries of this directory whose names match `pattern`."""
        if "/" in pattern:
            raise NF2Error(INVAL, "the pattern is of a name, without '/'", pattern)
        return (path for path in self.iterdir() if fnmatch.fnmatchcase(path.name, pattern))

    # ---- changes ----

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        if parents:
            self.volume.makedirs(self, exist_ok=exist_ok)
            return
        try:
            self.volume.mkdir(self)
        except NF2Error as error:
            if error.code != EXIST or not exist_ok or not self.is_dir():
                raise

    def touch(self, exist_ok: bool = True) -> None:
        """Makes an empty file where there is none. A volume keeps no times."""
        with self.volume._guard:
            if not exist_ok or not self.is_file():
                self.volume.open(self, "xb", buffering=0).close()

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            self.volume.unlink(self)
        except NF2Error as error:
            if error.code != NOENT or not missing_ok:
                raise

    def rmdir(self) -> None:
        self.volume.rmdir(self)

    def rename(self, target: "AnyPath | VolumePath") -> "VolumePath":
        """Renames; `target` is a path of the volume, from its root on. Returns it."""
        self.volume.rename(self, target)
        return VolumePath(self.volume, target)

    replace = rename

    # ---- contents ----

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        return self.volume.open(self, mode, buffering, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        return self.volume.read_bytes(self)

    def write_bytes(self, data: bytes) -> int:
        return self.volume.write_bytes(self, data)

    def read_text(self, encoding: str = "utf-8", errors: str | None = None) -> str:
        return self.volume.read_text(self, encoding, errors)

    def write_text(self, text: str, encoding: str = "utf-8", errors: str | None = None) -> int:
        return self.volume.write_text(self, text, encoding, errors)
