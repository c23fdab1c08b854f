# SPDX-License-Identifier: BSD-2-Clause
"""The frames of appended files: docs/FORMAT.md, section 5."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from ..logs import BLANK, OVERHEAD, Frame, Piece, Unreadable, aligned, log_pages, u16, u32, written

FRAME_MORE = 1 << 15


def frames(block: bytes, page: int, unit: int, file: int, base: int) -> Iterator[Piece]:
    """The frames of a block of the file with this id; `base` is where in it the block begins."""
    end = 0  # of the data so far, from the base
    for start in log_pages(block, page):
        if u16(block, start) == BLANK:
            continue
        at = start + 4
        offset = end + (u16(block, start + 2) - end + 0x8000) % 0x10000 - 0x8000
        while start + page - at >= OVERHEAD and u16(block, at) != BLANK:
            header = u16(block, at)
            size = header & (FRAME_MORE - 1)
            behind = at + OVERHEAD + size
            fits = size > 0 and behind <= start + page
            if not fits or not _right(block, start, at, offset, file, base):
                yield Unreadable(at, max(written(block[at : start + page]), 1))
                break
            more = bool(header & FRAME_MORE)
            yield Frame(at, behind - at, u16(block, start), more, base + offset, size)
            offset += size
            end = offset
            at = min(aligned(behind, unit), start + page)


def _right(block: bytes, start: int, at: int, offset: int, file: int, base: int) -> bool:
    size = u16(block, at) & (FRAME_MORE - 1)
    seed = block[start : start + 2] + (offset % 0x10000).to_bytes(2, "little")
    seed += base.to_bytes(4, "little") + file.to_bytes(4, "little")
    text = block[at : at + 2 + size]
    return u32(block, at + 2 + size) == zlib.crc32(seed + text)
