# SPDX-License-Identifier: BSD-2-Clause
"""What tests must know of the format of the volumes that the compiled library makes."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from nf2fs import native

ROOT = Path(__file__).resolve().parents[2]
CHECKPOINT_HEADER = 2 << 13 | 126
VERSION = native.Library().format_version() if native.find_library() else None


def supers(blocks: int) -> range:
    """The super blocks of a volume of so many blocks."""
    return range(2 if blocks < 64 else 3)


def core_folder() -> Path:
    """Where the sources of the core lie."""
    text = (ROOT / "cmake" / "Nf2Core.cmake").read_text()
    return ROOT / re.search(r"NF2FS_CORE_DIR .*/\.\./(\w+)\"", text)[1]


def core_include() -> list[Path]:
    """Where its headers are looked for, in that order."""
    core = core_folder()
    return [one for one in (core / "include", core, ROOT / "include") if one.is_dir()]


def heads(data: bytes, block_size: int, kind: bytes = b"", level: int | None = None) -> list[int]:
    """Blocks that begin with the head of a node (b"N"), or with the CHECKPOINT of the root log."""
    first = len(supers(len(data) // block_size))
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


def settle(volume, steps: int = 1000) -> None:
    """Idle work to its end: it has one, and needs a few steps for volumes as small as these."""
    for _ in range(steps):
        if not volume.maintain(1_000_000):
            return
    raise AssertionError(f"idle work has no end in {steps} steps: {volume.statfs()}")
