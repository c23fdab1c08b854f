# SPDX-License-Identifier: BSD-2-Clause
"""Reads the volumes of other file systems, to make NF2FS images of what they hold. LittleFS 2 is
read by littlefs-python.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from .errors import CORRUPT, FOREIGN, INVAL, IO, NOENT, NF2Error
from .native import decode
from .pack_manifest import Manifest, Partition
from .pack_tree import File, Tree
from .trees import NAME_MAX
from .volume import COPY_SIZE, DEPTH_MAX

BLOCK_SIZES = tuple(1 << shift for shift in range(12, 7, -1)) + tuple(
    1 << shift for shift in range(13, 21)
)
CACHE_MAX = 4096
RAW_NAMES = "latin-1"  # names are bytes: each becomes one character, and a byte again
TYPE_DIR = 2
LONGEST_NAME = 1022  # that LittleFS allows: a volume may say so, also where none is so long
READ_ONLY = -30
MAGIC, MAGIC_AT = b"littlefs", 8  # in the first block, unless that one is damaged


class NotInstalled(NF2Error):
    """littlefs-python is missing."""


@dataclass
class Imported:
    tree: Tree
    block_size: int
    block_count: int
    attributes: list[str] = field(
        default_factory=list
    )  # files that have some, which are not taken over


def _littlefs():
    try:
        import littlefs
    except ImportError as error:
        raise NotInstalled(
            IO,
            "the Python package littlefs-python is missing: in a copy of the repository "
            f"`make extras`, or `pip install '.[littlefs]'`, installs it ({error})",
        ) from None
    return littlefs


class _Bytes:
    """A chip of which LittleFS may read alone."""

    def __init__(self, data: memoryview):
        self.data = data
        self.in_size = len(data)

    def read(self, config, block: int, offset: int, size: int) -> bytearray:
        start = block * config.block_size + offset
        piece = bytearray(self.data[start : start + size])
        return piece + b"\xff" * (size - len(piece))

    def prog(self, config, block: int, offset: int, data: bytes) -> int:
        return READ_ONLY

    def erase(self, config, block: int) -> int:
        return READ_ONLY

    def sync(self, config) -> int:
        return 0


def read_littlefs(path: str, offset: int = 0, block_size: int | None = None) -> Imported:
    """All that a LittleFS image holds. The block size is found by trying, unless it is given."""
    if not os.path.exists(path):
        raise NF2Error(NOENT, "no such image file", path)
    if not os.path.isfile(path):
        raise NF2Error(INVAL, "not a regular file", path)
    with open(path, "rb") as file:
        data = memoryview(file.read())[offset:]
    if block_size is not None and block_size > len(data):
        text = f"it has no block of {block_size} bytes, only {len(data)} bytes from there on"
        raise NF2Error(INVAL, text, path)
    system, size, count = _mount(data, path, block_size)
    if size * count > len(data):
        raise NF2Error(
            CORRUPT,
            f"the LittleFS volume has {size * count} bytes, "
            f"the image only {len(data)} from its start on: it was cut off",
            path,
        )
    found = Imported(Tree(), size, count)
    try:
        _walk(system, found, path)
    except _littlefs().LittleFSError as error:
        raise NF2Error(CORRUPT, f"a directory cannot be read: {error}", path) from None
    return found


def _mount(data: memoryview, path: str, block_size: int | None):
    """(file system, block size, blocks) of the first block size as which it can be mounted."""
    littlefs = _littlefs()
    for size in BLOCK_SIZES if block_size is None else (block_size,):
        try:
            system = littlefs.LittleFS(
                context=_Bytes(data),
                mount=False,
                filename_encoding=RAW_NAMES,
                block_size=size,
                block_count=0,
                read_size=16,
                prog_size=16,
                cache_size=min(size, CACHE_MAX),
                lookahead_size=16,
                name_max=LONGEST_NAME,
            )
            system.mount()
        except (littlefs.LittleFSError, ValueError, AssertionError):
            continue
        facts = system.fs_stat()
        return system, int(facts.block_size), int(facts.block_count)
    if bytes(data[MAGIC_AT : MAGIC_AT + len(MAGIC)]) == MAGIC:
        text = "a LittleFS volume begins there, but it is damaged or cut off, and cannot be mounted"
        raise NF2Error(CORRUPT, text, path)
    what = "with any block size" if block_size is None else f"with blocks of {block_size} bytes"
    text = f"no LittleFS volume begins there that can be mounted {what}"
    raise NF2Error(FOREIGN, text, path)


def _file(system, size: int, path: str, target: str) -> File:
    return File(size, lambda: _pieces(system, path, target))


def _walk(system, found: Imported, image: str) -> None:
    pending = [("/", "/")]  # as LittleFS names it, and as the new volume does
    while pending:
        place, inside = pending.pop()
        if place.count("/") > DEPTH_MAX:
            raise NF2Error(CORRUPT, f"directories are nested more than {DEPTH_MAX} deep", image)
        for entry in sorted(system.scandir(place), key=lambda one: one.name):
            raw = entry.name.encode(RAW_NAMES)
            path, target = posixpath.join(place, entry.name), posixpath.join(inside, decode(raw))
            if len(raw) > NAME_MAX:
                found.tree.skipped.append((target, f"a name of more than {NAME_MAX} bytes"))
                continue
            if _has_attributes(system, path):
                found.attributes.append(target)
            if entry.type == TYPE_DIR:
                found.tree.add_directory(target)
                pending.append((path, target))
            else:
                found.tree.add_file(target, _file(system, entry.size, path, target))


def _has_attributes(system, path: str) -> bool:
    littlefs = _littlefs()
    for kind in range(256):
        try:
            system.getattr(path, kind)
            return True
        except littlefs.LittleFSError:
            continue
    return False


def _pieces(system, path: str, target: str) -> Iterator[bytes]:
    littlefs = _littlefs()
    try:
        with system.open(path, "rb") as file:
            while piece := file.read(COPY_SIZE):
                yield piece
    except littlefs.LittleFSError as error:
        raise NF2Error(CORRUPT, f"cannot be read in the LittleFS image: {error}", target) from None


def manifest_of(found: Imported, chip: str | None, smallest: bool, free: int) -> Manifest:
    return Manifest(chip, [Partition("volume", found.tree, smallest=smallest, free=free)])
