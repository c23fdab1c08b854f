# SPDX-License-Identifier: BSD-2-Clause
"""What a new volume is to hold: directories and files from anywhere, in one order, so that the same
input makes the same image.
"""

from __future__ import annotations

import fnmatch
import os
import posixpath
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .errors import EXIST, INVAL, NAMETOOLONG, NOENT, NF2Error
from .native import encode_path
from .trees import NAME_MAX, kind_name
from .volume import COPY_SIZE

Pieces = Callable[[], Iterator[bytes]]
Packer = Callable[[bytes], bytes | None]  # None: leave it as it is


@dataclass(frozen=True)
class File:
    size: int
    pieces: Pieces
    source: str | None = None  # a file of the host, which the image depends on
    plain_size: int | None = None  # of one that was compressed: its size before that


def pieces_of_bytes(data: bytes) -> Pieces:
    return lambda: iter((data,) if data else ())


def pieces_of_file(path: str) -> Pieces:
    def read() -> Iterator[bytes]:
        with open(path, "rb") as file:
            while piece := file.read(COPY_SIZE):
                yield piece

    return read


def zeros(size: int) -> Pieces:
    return lambda: (bytes(min(COPY_SIZE, size - start)) for start in range(0, size, COPY_SIZE))


def canonical(path: str) -> str:
    """The one way to write a path of the volume."""
    parts = [part for part in path.split("/") if part]
    if not parts or any(part in (".", "..") for part in parts):
        raise NF2Error(INVAL, "not the path of a file or directory on a volume", path)
    for part in parts:
        if len(encode_path(part)) > NAME_MAX:
            raise NF2Error(NAMETOOLONG, f"a name of more than {NAME_MAX} bytes", path)
    return "/" + "/".join(parts)


@dataclass
class Tree:
    """Directories and files by path."""

    directories: set[str] = field(default_factory=set)
    files: dict[str, File] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)  # directories of the host that were listed
    skipped: list[tuple[str, str]] = field(default_factory=list)
    preserve: bool = False  # files of the host keep their times, permissions and attributes

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files.values())

    @property
    def plain_bytes(self) -> int:
        """As `bytes`, before files were compressed."""
        return sum(
            file.size if file.plain_size is None else file.plain_size
            for file in self.files.values()
        )

    def compress(self, packed: Packer) -> None:
        """Files for which `packed` returns bytes hold these instead."""
        for path, file in self.files.items():
            data = b"".join(file.pieces())
            if len(data) != file.size:
                raise NF2Error(INVAL, "changed while it was read", file.source or path)
            small = packed(data)
            if small is not None:
                self.files[path] = File(
                    len(small), pieces_of_bytes(small), file.source, file.size
                )

    def add_directory(self, path: str) -> None:
        """And those above it."""
        path = canonical(path)
        while path != "/":
            if path in self.files:
                raise NF2Error(EXIST, "would be both a file and a directory", path)
            self.directories.add(path)
            path = posixpath.dirname(path)

    def add_file(self, path: str, file: File) -> None:
        path = canonical(path)
        if path in self.files or path in self.directories:
            raise NF2Error(EXIST, "is given twice", path)
        if posixpath.dirname(path) != "/":
            self.add_directory(posixpath.dirname(path))
        self.files[path] = file

    def add_host_file(self, path: str, source: str) -> None:
        status = os.stat(source)
        if not stat.S_ISREG(status.st_mode):
            raise NF2Error(INVAL, f"is a {kind_name(status.st_mode)}", source)
        self.add_file(path, File(status.st_size, pieces_of_file(source), source))

    def add_host_tree(self, top: str, into: str = "/", exclude: tuple[str, ...] = ()) -> None:
        """All below a directory of the host; symbolic links and what else is no file or directory
        is left out, and listed.
        """
        if not os.path.isdir(top):
            raise NF2Error(NOENT, "no such directory", top)
        pending = [(top, "/" + into.strip("/"))]
        while pending:
            place, inside = pending.pop()
            if inside != "/":
                self.add_directory(inside)
            self.sources.add(place)
            with os.scandir(place) as entries:
                found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
            for entry in found:
                path = posixpath.join(
                    inside, os.fsencode(entry.name).decode("utf-8", "surrogateescape")
                )
                if any(fnmatch.fnmatchcase(entry.name, pattern) for pattern in exclude):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, path))
                elif entry.is_file(follow_symlinks=False):
                    self.add_host_file(path, entry.path)
                else:
                    self.skipped.append(
                        (entry.path, kind_name(entry.stat(follow_symlinks=False).st_mode))
                    )

    def order(self) -> list[tuple[str, File | None]]:
        """Directories (None) and files, each directory followed by what is in it."""
        every = [(path, None) for path in self.directories] + list(self.files.items())
        return sorted(every, key=lambda entry: [encode_path(name) for name in entry[0].split("/")])
