# SPDX-License-Identifier: BSD-2-Clause
"""The records in the logs of a volume.

Section 1 of docs/FORMAT.md. Nothing is mended here: a record counts if its check is right as it stands.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

PAGE = 256  # of a log
BYTES_MAX = 8192  # of a block, that a log uses
BLANK = 0xFFFF  # an epoch or a header of erased cells
CONTINUED = 0x0004  # a page that goes on with the record of the one before it
OVERHEAD = 6  # header and check
SLOT = 32  # bytes of a super block for each anchor
MORE = 1 << 12


@dataclass(frozen=True)
class Piece:
    """What was found in a log: a record, a frame, or bytes that are none."""

    offset: int  # in the block
    length: int  # up to its end in the block


@dataclass(frozen=True)
class Entry(Piece):
    """A record with a right check."""

    type: int
    epoch: int
    more: bool  # it counts only together with the next record
    payload: bytes


@dataclass(frozen=True)
class Frame(Piece):
    epoch: int
    more: bool
    at: int  # of its first byte in the file
    size: int  # bytes of data


@dataclass(frozen=True)
class Unreadable(Piece):
    """A place that was programmed and holds no record with a right check."""


def u16(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def u24(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 3], "little")


def u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to five bytes, and the place behind it."""
    number, shift = 0, 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80 or shift == 35:
            return number, at


def log_pages(block: bytes) -> range:
    """Where the pages begin that a log uses."""
    return range(0, min(BYTES_MAX, len(block)), PAGE)


def aligned(at: int, unit: int) -> int:
    return -(-at // unit) * unit


def written(data: bytes) -> int:
    """Bytes up to the last one that is not erased."""
    return len(data.rstrip(b"\xff"))


# ---- records ----


def entries(block: bytes, unit: int) -> Iterator[Piece]:
    """The records of a log in the order of their places, with what is unreadable between them."""
    at, end = 0, log_pages(block).stop
    while at < end:
        page_end = (at // PAGE + 1) * PAGE
        if at % PAGE == 0:
            if u16(block, at) == BLANK or u16(block, at + 2) == CONTINUED:
                if u16(block, at) == BLANK and written(block[at:page_end]):
                    yield Unreadable(at, written(block[at:page_end]))
                at = page_end
                continue
            at += 2
        if page_end - at < OVERHEAD or u16(block, at) == BLANK:
            at = page_end
            continue
        found = _entry(block, at)
        if found is None:
            yield Unreadable(at, max(written(block[at:page_end]), 1))
            at = page_end
            continue
        yield found
        behind = found.offset + found.length
        at = behind if found.more else min(aligned(behind, unit), aligned(behind, PAGE))


def slots(block: bytes) -> Iterator[Piece]:
    """The records of a super block: each slot begins as a page does, and has one."""
    for at in range(0, log_pages(block).stop, SLOT):
        length = written(block[at : at + SLOT])
        if length:
            yield _entry(block, at + 2, at) or Unreadable(at, length)


def _entry(block: bytes, at: int, start: int | None = None) -> Entry | None:
    start = at // PAGE * PAGE if start is None else start
    epoch, header = u16(block, start), u16(block, at)
    length = header & (MORE - 1)
    if header >> 13 == 0 or length < OVERHEAD:
        return None
    text, end = _text(block, at, length)
    if len(text) < length or u32(text, length - 4) != zlib.crc32(
        block[start : start + 2] + text[: length - 4]
    ):
        return None
    return Entry(at, end - at, header >> 13, epoch, bool(header & MORE), text[2 : length - 4])


def _text(block: bytes, at: int, length: int) -> tuple[bytes, int]:
    """The bytes of a record without the heads of the pages that it goes on in, and its end."""
    start = at // PAGE * PAGE
    room = start + PAGE - at
    if length <= room or at != start + 2:
        return (block[at : at + length] if length <= room else b""), at + length
    text, head = block[at : at + room], block[start : start + 2] + CONTINUED.to_bytes(2, "little")
    for following in range(start + PAGE, log_pages(block).stop, PAGE):
        if block[following : following + 4] != head:
            break
        part = min(length - len(text), PAGE - 4)
        text += block[following + 4 : following + 4 + part]
        if len(text) == length:
            return text, following + 4 + part
    return b"", at
