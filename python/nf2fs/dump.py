# SPDX-License-Identifier: BSD-2-Clause
"""What is on a chip, block by block, as a stream of records for people and for programs.

`records` yields one record a block, and under a block that is used one for each run of pages that
were programmed. It knows the public interface alone. Whoever knows the format puts a better reader
in the place of `inside`: same arguments, and records of kinds of its own (the entries of a log, the
keys of a node), in the order of their addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from . import owners as owning
from . import show
from .errors import INVAL, NF2Error

LINE = 16
BLANK = 0xFF


@dataclass(frozen=True)
class Record:
    kind: str  # "block", or what a reader found inside of one
    block: int
    offset: int  # bytes from the block's start
    length: int
    text: str  # for people
    fields: dict = field(default_factory=dict)  # for programs


class Bytes:
    """The chip's contents under a volume."""

    def __init__(self, volume):
        self._first = volume.chip.volume_offset
        self._memory = volume.image.memory(volume.chip.size)

    def read(self, at: int, length: int) -> bytes:
        return bytes(self._memory[self._first + at : self._first + at + length])


def programmed(data: bytes, page: int) -> list[tuple[int, int]]:
    """Runs of pages that are not blank: (offset, length)."""
    runs: list[tuple[int, int]] = []
    for start in range(0, len(data), page):
        piece = data[start : start + page]
        if piece.count(BLANK) == len(piece):
            continue
        if runs and sum(runs[-1]) == start:
            runs[-1] = (runs[-1][0], runs[-1][1] + len(piece))
        else:
            runs.append((start, len(piece)))
    return runs


def inside(block: int, data: bytes, page: int) -> Iterator[Record]:
    """The records of a used block."""
    for offset, length in programmed(data, page):
        blank = length - len(data[offset : offset + length].rstrip(bytes([BLANK])))
        text = f"programmed: {length} bytes, the last {blank} blank"
        yield Record("programmed", block, offset, length, text)


def records(
    volume, first: int = 0, count: int | None = None, unread: list | None = None
) -> Iterator[Record]:
    """Blocks from `first` on, each with what is in it; to `unread` is added what could not be
    read."""
    states, erases = volume.blocks()
    size, page = volume.statfs()["block_size"], volume.chip.page_size
    last = len(states) if count is None else min(first + count, len(states))
    if not 0 <= first < len(states):
        raise NF2Error(INVAL, f"no block {first}: the volume has {len(states)}", volume.path)
    found, chip = owning.find(volume, states), Bytes(volume)
    if unread is not None:
        unread += found.unread
    for block in range(first, last):
        owner = found.owners[block]
        fields = {
            "state": show.STATES[states[block]],
            "erases": erases[block],
            "owner": None if owner is None else {"kind": owner.kind, "path": owner.path},
        }
        what = "" if owner is None else f", {show.printable(owner.text)}"
        text = f"{show.MEANINGS[states[block]]}{what}; erased {erases[block]} times"
        yield Record("block", block, 0, size, text, fields)
        if owner is not None:
            yield from inside(block, chip.read(block * size, size), page)


def hex_lines(data: bytes, address: int) -> Iterator[str]:
    """As hexdump -C shows bytes: a row that repeats the one before is left out, with a * once."""
    before, starred = None, False
    for start in range(0, len(data), LINE):
        row = data[start : start + LINE]
        if row == before and start + LINE < len(data):
            if not starred:
                yield "  *"
            starred = True
            continue
        before, starred = row, False
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"  {address + start:08x}  {row[:8].hex(' ')}  {row[8:].hex(' ')}  |{text}|"


def as_json(record: Record) -> dict:
    found = asdict(record)
    return {key: value for key, value in found.items() if key != "fields"} | record.fields
