# SPDX-License-Identifier: BSD-2-Clause
"""What differs between two volumes, or a volume and a directory of the host."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property

from . import native
from .errors import GEOMETRY, INVAL, NF2Error
from .images import open_image
from .pack_tree import Tree
from .volume import COPY_SIZE, DEPTH_MAX, Volume


@dataclass(frozen=True)
class Change:
    """`kind`: "added" and "removed" (as seen from the first side), "changed" content, or "type":
    file against directory.
    """

    kind: str
    path: str
    is_dir: bool
    sizes: tuple[int | None, int | None]
    first: int | None = None  # offset of the first byte that differs
    unverifiable: bool = False  # a part of it carries no check: damage would look the same


@dataclass
class Side:
    """Where one side's entries and bytes come from."""

    entries: dict[str, int | None] = field(default_factory=dict)  # sizes; None: a directory

    def is_unverifiable(self, path: str) -> bool:
        return False

    def read(self, path: str) -> Iterator[bytes]:
        raise NotImplementedError


class VolumeSide(Side):
    def __init__(self, volume: Volume, top: str = "/"):
        super().__init__()
        self.volume, self.top = volume, "/" + top.strip("/")
        if volume.stat(self.top).is_file():
            raise NF2Error(INVAL, "not a directory", top)
        pending = [("/", self.top, 0)]
        while pending:
            path, place, depth = pending.pop()
            if depth > DEPTH_MAX:
                raise NF2Error(INVAL, f"directories are nested more than {DEPTH_MAX} deep", place)
            for entry in volume.scandir(place):
                below = posixpath.join(path, entry.name)
                self.entries[below] = None if entry.is_dir() else entry.size
                if entry.is_dir():
                    pending.append((below, posixpath.join(place, entry.name), depth + 1))

    @cached_property
    def _unchecked(self) -> set[str]:
        """Files of which a part carries no check."""
        try:
            repair = native.load().open_repair(self.volume.chip.source, str(self.volume.path))
        except NF2Error:
            return set()
        try:
            return {item.path for item in repair.items() if item.unchecked}
        finally:
            repair.close()

    def is_unverifiable(self, path: str) -> bool:
        return posixpath.join(self.top, path.lstrip("/")) in self._unchecked

    def read(self, path: str) -> Iterator[bytes]:
        with self.volume.open(
            posixpath.join(self.top, path.lstrip("/")), "rb", buffering=0
        ) as file:
            while piece := file.read(COPY_SIZE):
                yield piece


class HostSide(Side):
    def __init__(self, directory: str):
        super().__init__()
        self.tree = Tree()
        self.tree.add_host_tree(directory)
        self.entries = {path: None for path in self.tree.directories}
        self.entries |= {path: file.size for path, file in self.tree.files.items()}

    def read(self, path: str) -> Iterator[bytes]:
        return self.tree.files[path].pieces()


def _bytes_of(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of one size, whatever the source's are."""
    rest = bytearray()
    for piece in pieces:
        rest += piece
        while len(rest) >= size:
            yield bytes(rest[:size])
            del rest[:size]
    if rest:
        yield bytes(rest)


def first_difference(one: Iterator[bytes], two: Iterator[bytes]) -> int | None:
    """The offset of the first byte that differs, or at which one side ends; None: the same."""
    offset = 0
    left, right = _bytes_of(one, COPY_SIZE), _bytes_of(two, COPY_SIZE)
    while True:
        a, b = next(left, b""), next(right, b"")
        if a != b:
            common = os.path.commonprefix([a, b])
            return offset + len(common)
        if not a:
            return None
        offset += len(a)


def compare(one: Side, two: Side) -> list[Change]:
    """All changes, in the order of paths. Below a directory that only one side has, only the
    directory is named.
    """
    changes: list[Change] = []
    alone: list[str] = []
    for path in sorted(one.entries.keys() | two.entries.keys(), key=lambda path: path.split("/")):
        if any(path.startswith(above + "/") for above in alone[-1:]):
            continue
        sizes = (one.entries.get(path), two.entries.get(path))
        here, there = path in one.entries, path in two.entries
        if here and there and (sizes[0] is None) == (sizes[1] is None):
            if (
                sizes[0] is not None
                and (first := first_difference(one.read(path), two.read(path))) is not None
            ):
                doubt = one.is_unverifiable(path) or two.is_unverifiable(path)
                changes.append(Change("changed", path, False, sizes, first, doubt))
            continue
        kind = "type" if here and there else "removed" if here else "added"
        changes.append(Change(kind, path, sizes[0 if here else 1] is None, sizes))
        alone.append(path)
    return changes


def compare_paths(
    one: str, two: str, chips: tuple[str | None, str | None], top: str = "/"
) -> list[Change]:
    """Images, or directories of the host."""
    with ExitStack() as stack:
        sides: list[Side] = []
        for path, chip in zip((one, two), chips, strict=True):
            if os.path.isdir(path):
                sides.append(HostSide(os.path.join(path, top.strip("/"))))
            else:
                sides.append(
                    VolumeSide(stack.enter_context(open_image(path, chip, read_only=True)), top)
                )
        return compare(*sides)


def compare_blocks(one: str, two: str, block_size: int) -> tuple[list[tuple[int, int]], int]:
    """Ranges of erase blocks (first, count) whose bytes differ, and the number of all blocks."""
    sizes = os.path.getsize(one), os.path.getsize(two)
    if sizes[0] != sizes[1]:
        raise NF2Error(
            GEOMETRY,
            f"the images have {sizes[0]} and {sizes[1]} bytes: "
            "only blocks of images of one size can be compared",
            two,
        )
    ranges: list[tuple[int, int]] = []
    with open(one, "rb") as left, open(two, "rb") as right:
        number = 0
        while piece := left.read(block_size):
            if piece != right.read(block_size):
                if ranges and sum(ranges[-1]) == number:
                    ranges[-1] = (ranges[-1][0], ranges[-1][1] + 1)
                else:
                    ranges.append((number, 1))
            number += 1
    return ranges, number
