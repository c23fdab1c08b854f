# SPDX-License-Identifier: BSD-2-Clause
"""What tests must know of the format of the volumes that the compiled library makes."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from nf2fs import native

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Format:
    log_head: bytes  # first byte of a part of the log that a mount reads; empty: `state` is there
    state: str  # the record in that log that says all that a mount must know
    frame_head: int  # bytes in front of a frame's data
    mounted: str  # a record in a block without which nothing mounts
    records: frozenset[str]  # in the logs of each volume that was written to
    notdir: str  # where a part of a path is no directory

    def supers(self, blocks: int) -> range:
        """The super blocks of a volume of so many blocks."""
        raise NotImplementedError


class Format1(Format):
    def supers(self, blocks: int) -> range:
        return range(2)


class Format2(Format):
    def supers(self, blocks: int) -> range:
        return range(3)


FORMATS = {
    1: Format1(
        b"M", "STATE", 2, "PUT", frozenset({"ANCHOR", "HEAD", "STATE", "CLAIM", "PUT"}),
        "a part of the path is not a directory",
    ),
    2: Format2(
        b"", "CHECKPOINT", 4, "CHECKPOINT", frozenset({"ANCHOR", "HEAD", "CHECKPOINT", "PUT"}),
        "not a directory",
    ),
}
CHECKPOINT_HEADER = 2 << 13 | 126  # of format 2
VERSION = native.Library().format_version() if native.find_library() else None
FORMAT = FORMATS[VERSION or 2]


def core_folder() -> Path:
    """Where the sources of the core lie that the library has."""
    text = (ROOT / "cmake" / "Nf2Core.cmake").read_text()
    version = VERSION or re.search(r"nf2fs_core_default (\d)", text)[1]
    return ROOT / re.search(rf"nf2fs_core_folder_{version} ([^)\s]+)", text)[1]


def core_include() -> list[Path]:
    """Where its headers are looked for, in that order."""
    core = core_folder()
    return [one for one in (core / "include", core, ROOT / "include") if one.is_dir()]


def heads(data: bytes, block_size: int, kind: bytes, level: int | None = None) -> list[int]:
    """Blocks that begin with the head of a node (b"N") or of a part of the log."""
    first = len(FORMAT.supers(len(data) // block_size))
    found = []
    for at in range(first * block_size, len(data), block_size):
        header = int.from_bytes(data[at + 2 : at + 4], "little")
        head = header >> 13 == 1 and header & 0xFFF < 22 and data[at + 4 : at + 5] == kind
        head = head if kind else header == CHECKPOINT_HEADER
        if head and (level is None or data[at + 5] == level):
            found.append(at // block_size)
    return found


def record(epoch: int, kind: int, payload: bytes, more: bool = False) -> bytes:
    """A record of a log, with its check."""
    head = (kind << 13 | more << 12 | len(payload) + 6).to_bytes(2, "little")
    check = zlib.crc32(epoch.to_bytes(2, "little") + head + payload)
    return head + payload + check.to_bytes(4, "little")
