# SPDX-License-Identifier: BSD-2-Clause
"""Reads the volumes of other file systems, to make NF2FS images of what they hold. LittleFS 2 is
read by littlefs-python.
"""

from __future__ import annotations

import math
import os
import posixpath
import signal
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import interrupts
from .errors import CORRUPT, FOREIGN, INVAL, IO, NOENT, NF2Error
from .native import decode
from .pack_manifest import Manifest, Partition
from .pack_tree import File, Tree
from .trees import NAME_MAX
from .volume import COPY_SIZE, DEPTH_MAX

BLOCK_MIN, BLOCK_MAX = 128, 1 << 20  # LittleFS has no smaller ones; larger ones are not tried
# Tried where no superblock says which it is.
BLOCK_SIZES = tuple(1 << shift for shift in range(12, 6, -1)) + tuple(
    1 << shift for shift in range(13, 21)
)
TRY_S = 120.0
BEYOND, FAILED = 3, 4  # exit codes of the process that tries
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
    missing: int = 0  # bytes at the image's end, none of which is in use


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
        self.beyond = False  # was anything asked for that lies behind the data's end?

    def read(self, config, block: int, offset: int, size: int) -> bytearray:
        start = block * config.block_size + offset
        piece = bytearray(self.data[start : start + size])
        self.beyond = self.beyond or len(piece) < size
        return piece + b"\xff" * (size - len(piece))

    def prog(self, config, block: int, offset: int, data: bytes) -> int:
        return READ_ONLY

    def erase(self, config, block: int) -> int:
        return READ_ONLY

    def sync(self, config) -> int:
        return 0


def read_littlefs(path: str, offset: int = 0, block_size: int | None = None) -> Imported:
    """All that a LittleFS image holds. Without a block size it is the one that the volume states,
    else one that is found by trying."""
    if not os.path.exists(path):
        raise NF2Error(NOENT, "no such image file", path)
    if not os.path.isfile(path):
        raise NF2Error(INVAL, "not a regular file", path)
    with open(path, "rb") as file:
        data = memoryview(file.read())[offset:]
    if block_size is not None and block_size > len(data):
        text = f"it has no block of {block_size} bytes, only {len(data)} bytes from there on"
        raise NF2Error(INVAL, text, path)
    if block_size is not None and block_size < BLOCK_MIN:
        raise NF2Error(INVAL, f"LittleFS has no blocks of less than {BLOCK_MIN} bytes", path)
    # LittleFS's own code calls ours to read, and swallows what a signal's handler raises there.
    with interrupts.safe_places():
        beyond = _try(data, path, block_size)
        return _read(data, path, block_size, beyond)


def _read(data: memoryview, path: str, block_size: int | None, beyond: bool) -> Imported:
    chip = _Bytes(data)
    system, size, count = _mount(chip, path, block_size)
    missing = max(0, size * count - len(data))
    if missing and beyond:
        raise NF2Error(
            CORRUPT,
            f"the LittleFS volume has {size * count} bytes, the image only {len(data)} from its "
            "start on, and some of what is missing is in use: it was cut off",
            path,
        )
    found = Imported(Tree(), size, count, missing=missing)
    try:
        _walk(system, found, path)
    except _littlefs().LittleFSError as error:
        raise NF2Error(CORRUPT, f"a directory cannot be read: {error}", path) from None
    return found


def _try(data: memoryview, path: str, block_size: int | None) -> bool:
    """Reads everything once in a process of its own, since an assertion of LittleFS's own code ends
    the process, and a loop in what is damaged none. Was anything asked for behind the image's end?
    """
    if not hasattr(os, "fork"):
        return _read_all(data, path, block_size)
    child = os.fork()
    if child == 0:
        code = FAILED
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(nothing, stream)
            code = BEYOND if _read_all(data, path, block_size) else 0
        except NF2Error:
            pass  # the same error comes again, in the process that can tell of it
        finally:
            os._exit(code)
    ended = _wait(child)
    if ended is None:
        raise NF2Error(CORRUPT, f"reading it took more than {TRY_S} s: it is damaged", path)
    if ended < 0:
        text = "LittleFS's own code gave up on it: it is damaged, or has another block size"
        raise NF2Error(CORRUPT, text, path)
    return ended == BEYOND


def _wait(child: int) -> int | None:
    """How the process ended, a signal as a negative number; None: not in time."""
    end = time.monotonic() + TRY_S
    try:
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                child = 0
                return os.waitstatus_to_exitcode(status)
            interrupts.check()
            time.sleep(0.002)
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return None


def _read_all(data: memoryview, path: str, block_size: int | None) -> bool:
    chip = _Bytes(data)
    system, size, count = _mount(chip, path, block_size)
    chip.beyond = False  # a mount with another block size may have asked for anything
    system.mount()
    found = Imported(Tree(), size, count)
    try:
        _walk(system, found, path, attributes=False)
        for file in found.tree.files.values():
            for _ in file.pieces():
                pass
    except (_littlefs().LittleFSError, NF2Error):
        pass  # as above
    return chip.beyond


def _stated(data: memoryview) -> list[int]:
    """The block sizes that superblocks at the start of the first or the second block state."""
    found, at = [], 0
    text = bytes(data[: 2 * BLOCK_MAX])
    while (at := text.find(MAGIC, at)) >= 0:
        version, size = struct.unpack_from("<II", text.ljust(at + 28, b"\0"), at + 12)
        if version >> 16 == 2 and BLOCK_MIN <= size and at - MAGIC_AT in (0, size):
            found.append(size)
        at += len(MAGIC)
    return found


def _cache_size(block_size: int) -> int:
    """LittleFS reads with any that divides a block."""
    sizes = range(min(block_size, CACHE_MAX), 15, -1)
    return next((size for size in sizes if block_size % size == 0), block_size)


def _mount(chip: _Bytes, path: str, block_size: int | None):
    """(file system, block size, blocks) of the first block size as which it can be mounted."""
    littlefs = _littlefs()
    sizes = dict.fromkeys([*_stated(chip.data), *BLOCK_SIZES] if block_size is None else [block_size])
    for size in sizes:
        cache = _cache_size(size)
        unit = math.gcd(16, cache)
        try:
            system = littlefs.LittleFS(
                context=chip,
                mount=False,
                filename_encoding=RAW_NAMES,
                block_size=size,
                block_count=0,
                read_size=unit,
                prog_size=unit,
                cache_size=cache,
                lookahead_size=16,
                name_max=LONGEST_NAME,
            )
            system.mount()
        except (littlefs.LittleFSError, ValueError, AssertionError):
            continue
        facts = system.fs_stat()
        return system, int(facts.block_size), int(facts.block_count)
    if bytes(chip.data[MAGIC_AT : MAGIC_AT + len(MAGIC)]) == MAGIC:
        text = "a LittleFS volume begins there, but it is damaged or cut off, and cannot be mounted"
        raise NF2Error(CORRUPT, text, path)
    what = "with any block size" if block_size is None else f"with blocks of {block_size} bytes"
    text = f"no LittleFS volume begins there that can be mounted {what}"
    raise NF2Error(FOREIGN, text, path)


def _file(system, size: int, path: str, target: str) -> File:
    return File(size, lambda: _pieces(system, path, target))


def _walk(system, found: Imported, image: str, attributes: bool = True) -> None:
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
            interrupts.check()
            if attributes and _has_attributes(system, path):
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
        with interrupts.safe_places():
            file = system.open(path, "rb")
        with file:
            while True:
                with interrupts.safe_places():
                    piece = file.read(COPY_SIZE)
                if not piece:
                    break
                yield piece
    except littlefs.LittleFSError as error:
        raise NF2Error(CORRUPT, f"cannot be read in the LittleFS image: {error}", target) from None


def manifest_of(found: Imported, chip: str | None, smallest: bool, free: int) -> Manifest:
    return Manifest(chip, [Partition("volume", found.tree, smallest=smallest, free=free)])
