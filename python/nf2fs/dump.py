# SPDX-License-Identifier: BSD-2-Clause
"""What is on a chip, block by block, as a stream of records for people and for programs.

`records` yields one record a block, and under a block that is used what is in it, in the order of
the addresses: each record of a log, each frame of an appended file, and elsewhere one for each run
of pages that were programmed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from . import show
from . import owners as owning
from .errors import INVAL, NF2Error
from .layout import Chip, Layout, layout_of
from .logs import Entry, Frame, Piece

LINE = 16
BLANK = 0xFF
MORE = " (counts with the next one only)"


@dataclass(frozen=True)
class Record:
    kind: str  # "block", or inside of one "record", "frame", "unreadable", "programmed"
    block: int
    offset: int  # bytes from the block's start
    length: int
    text: str  # for people
    fields: dict = field(default_factory=dict)  # for programs


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


def inside(layout: Layout, block: int) -> Iterator[Record]:
    """The records of a block that holds something: of a log, of frames, or runs of bytes."""
    pieces = layout.pieces(block)
    log = layout.kind(block, pieces)
    if log is not None:
        yield from (log_record(layout, log, block, piece) for piece in pieces)
        return
    framed = layout.frame_pieces(block)
    if framed is not None:
        whose, fields, found = framed
        for piece in found:
            if isinstance(piece, Entry):  # the head of the frames
                yield log_record(layout, "frames", block, piece)
            else:
                yield frame_record(whose, fields, block, piece)
        return
    data = layout.chip.block(block)
    for offset, length in programmed(data, layout.chip.page_size):
        blank = length - len(data[offset : offset + length].rstrip(bytes([BLANK])))
        text = f"programmed: {length} bytes" + (f", the last {blank} blank" if blank else "")
        yield Record("programmed", block, offset, length, text)


def log_record(layout: Layout, log: str, block: int, piece: Piece) -> Record:
    if not isinstance(piece, Entry):
        return unreadable(block, piece)
    said = layout.say(log, piece)
    facts = {"log": log, "type": said.name, "epoch": piece.epoch, "more": piece.more}
    text = f"{said.name}  {said.text}" + MORE * piece.more
    return Record("record", block, piece.offset, piece.length, text, facts | said.fields)


def frame_record(whose: str, fields: dict, block: int, piece: Piece) -> Record:
    if not isinstance(piece, Frame):
        return unreadable(block, piece)
    facts = fields | {"from": piece.at, "bytes": piece.size, "epoch": piece.epoch}
    text = f"frame  {piece.size} bytes of {whose} from {piece.at} on" + MORE * piece.more
    return Record("frame", block, piece.offset, piece.length, text, facts | {"more": piece.more})


def unreadable(block: int, piece: Piece) -> Record:
    text = f"{piece.length} bytes that are no whole record: cut off by a power cut, or damaged"
    return Record("unreadable", block, piece.offset, piece.length, text)


def records(
    volume, first: int = 0, count: int | None = None, unread: list | None = None
) -> Iterator[Record]:
    """Blocks from `first` on, each with what is in it; to `unread` is added what could not be
    read."""
    states, erases = volume.blocks()
    size = volume.statfs()["block_size"]
    last = len(states) if count is None else min(first + count, len(states))
    if not 0 <= first < len(states):
        text = f"there is no block {first}: the volume has blocks 0 to {len(states) - 1}"
        raise NF2Error(INVAL, text, volume.path)
    layout = layout_of(Chip.under(volume))
    found = owning.find(volume, states, layout)
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
        text = (
            f"{show.MEANINGS[states[block]]}{what}; erased {erases[block]} times since the format"
        )
        yield Record("block", block, 0, size, text, fields)
        if owner is not None:
            yield from inside(layout, block)


def records_unmounted(chip: Chip, first: int = 0, count: int | None = None) -> Iterator[Record]:
    """As `records`, where the volume does not mount: states and owners are not known then."""
    layout = layout_of(chip)
    last = chip.blocks if count is None else min(first + count, chip.blocks)
    for block in range(first, last):
        blank = not programmed(chip.block(block), chip.page_size)
        text = "all blank" if blank else "holds something"
        fields = {"state": "erased" if blank else "used", "erases": None, "owner": None}
        yield Record("block", block, 0, chip.block_size, text, fields)
        yield from inside(layout, block)


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
