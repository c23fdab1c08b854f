# SPDX-License-Identifier: BSD-2-Clause
"""Which blocks of a volume hold its logs and its tree, as its own records say.

Read from the chip's bytes alone. What cannot be read is left out: the sets are then smaller than
they should be, never wrong.
"""

from __future__ import annotations

from . import logs, native
from .log_records import Said
from .logs import Entry, Piece


class Chip:
    """The chip's contents under a volume."""

    def __init__(self, facts: native.Chip, memory):
        self.block_size = facts.block_size
        self.page_size, self.program_unit = facts.page_size, facts.program_unit
        self._first, self._memory = facts.volume_offset, memory
        self.blocks = (facts.volume_size or facts.size - self._first) // self.block_size

    @classmethod
    def under(cls, volume) -> Chip:
        return cls(volume.chip, volume.image.memory(volume.chip.size))

    def read(self, at: int, length: int) -> bytes:
        return bytes(self._memory[self._first + at : self._first + at + length])

    def block(self, number: int) -> bytes:
        return self.read(number * self.block_size, self.block_size)


class Layout:
    """What the logs of a volume say of its blocks; `layout_of` makes it."""

    def __init__(self, chip: Chip):
        self.chip = chip
        self.volume: int | None = None  # id
        self.log: set[int] = set()  # super blocks, and the log that a mount reads
        self.set_aside: set[int] = set()  # for what is written next
        self.nodes: set[int] = set()  # of the tree
        self._read()

    def pieces(self, block: int) -> list[Piece]:
        """The records in a block, if it is a log."""
        chip = self.chip
        return list(logs.entries(chip.block(block), chip.program_unit))

    def entries(self, block: int) -> list[Entry]:
        """Those of them with a right check."""
        return [piece for piece in self.pieces(block) if isinstance(piece, Entry)]

    def kind(self, block: int, pieces: list[Piece]) -> str | None:
        """Which log of this volume a block is; None: it is none."""
        raise NotImplementedError

    def say(self, log: str, entry: Entry) -> Said:
        """What a record says in a log of this kind."""
        raise NotImplementedError

    def frame_pieces(self, block: int) -> tuple[str, dict, list[Piece]] | None:
        """The frames in a block, and whose they are, in words and fields; None: it holds none."""
        raise NotImplementedError

    def _read(self) -> None:
        raise NotImplementedError

    def _is_head(self, entry: Entry, letter: bytes, length: int, volume_at: int) -> bool:
        """Is it the first record of a log of this volume?"""
        text = entry.payload
        return (
            entry.type == 1
            and len(text) == length
            and text[:1] == letter
            and logs.u32(text, volume_at) == self.volume
        )


def layout_of(chip: Chip) -> Layout:
    """Of the format that the library knows."""
    from .format import Layout as Known  # it stands on this module

    return Known(chip)
