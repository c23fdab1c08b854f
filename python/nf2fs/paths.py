# SPDX-License-Identifier: BSD-2-Clause
"""Paths of a volume that work like those of pathlib."""

from __future__ import annotations

import fnmatch
import posixpath
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

    def with_stem(self, stem: str) -> "VolumePath":
        return VolumePath(self.volume, self.pure.with_stem(stem))

    @property
    def suffixes(self) -> list[str]:
        return self.pure.suffixes

    @property
    def anchor(self) -> str:
        return self.pure.anchor

    def as_posix(self) -> str:
        return str(self.pure)

    def is_absolute(self) -> bool:
        return True

    def relative_to(self, other: "str | VolumePath") -> PurePosixPath:
        return self.pure.relative_to(str(other))

    def is_relative_to(self, other: "str | VolumePath") -> bool:
        return self.pure.is_relative_to(str(other))

    def match(self, pattern: str) -> bool:
        """As that of pathlib: the pattern is of the path's end, or of all of it with a '/' in
        front."""
        return self.pure.match(pattern)

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
        """As `glob`, in every directory from this one on."""
        return self.glob(posixpath.join("**", pattern))

    def glob(self, pattern: str) -> Iterator["VolumePath"]:
        """What is below this directory and matches, part by part; `**` is any number of
        directories."""
        parts = [part for part in pattern.split("/") if part]
        if not parts or pattern.startswith("/"):
            raise NF2Error(INVAL, "the pattern is relative to the directory, and not empty", pattern)
        seen: set[VolumePath] = set()
        for path in self._glob(parts):
            if path not in seen:
                seen.add(path)
                yield path

    def _glob(self, parts: list[str]) -> Iterator["VolumePath"]:
        first, rest = parts[0], parts[1:]
        if first == "**":
            for directory, _, _ in self.walk():
                if rest:
                    yield from directory._glob(rest)
                else:
                    yield directory
            return
        for entry in self.volume.scandir(self):
            if fnmatch.fnmatchcase(entry.name, first):
                if not rest:
                    yield self / entry.name
                elif entry.is_dir():
                    yield from (self / entry.name)._glob(rest)

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
