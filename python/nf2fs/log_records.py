# SPDX-License-Identifier: BSD-2-Clause
"""What the records of logs say, for people and programs: what the kinds of logs have in common."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from . import show
from .logs import Entry, varint

BYTES_SHOWN = 40


@dataclass(frozen=True)
class Said:
    name: str  # of the record's type
    text: str = ""  # for people
    fields: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Key:
    id: int
    bytes: bytes

    def as_json(self) -> dict:
        return {"id": self.id, "bytes": self.bytes.hex()}


# By the type of a record: the payload's least size, and what reads it.
Readers = dict[int, tuple[int, Callable[[bytes], Said]]]


def read(readers: Readers, entry: Entry) -> Said:
    """What a record says in a log with these readers."""
    least, reader = readers.get(entry.type, (0, None))
    try:
        if reader is not None and len(entry.payload) >= least:
            return reader(entry.payload)
    except (IndexError, KeyError, struct.error):
        pass
    return Said(f"type {entry.type}", "does not read as a record of this log")


def split_key(data: bytes) -> tuple[Key, bytes]:
    """A key, and what follows it."""
    number, at = varint(data, 0)
    end = at + 1 + data[at]
    if end > len(data):
        raise IndexError
    return Key(number, data[at + 1 : end]), data[end:]


class Cursor:
    """Reads fields one after the other."""

    def __init__(self, data: bytes, at: int = 0):
        self.data, self.at = data, at

    def take(self, size: int) -> int:
        if self.at + size > len(self.data):
            raise IndexError
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def items(self, *sizes: int) -> list[list[int]]:
        return [[self.take(size) for size in sizes] for _ in range(self.take(1))]


# ---- words ----


def quoted(data: bytes) -> str:
    return f'"{show.printable(data.decode("utf-8", "surrogateescape"))}"'


def inline_text(data: bytes) -> str:
    """A small file that lies in its entry."""
    shown = quoted(data[:BYTES_SHOWN]) + ("..." if len(data) > BYTES_SHOWN else "")
    return f"a file of {len(data)} bytes: {shown}"


def run_text(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start} to {start + count - 1}"


def blocks_text(runs: list[list[int]]) -> str:
    one = len(runs) == 1 and runs[0][1] == 1
    return f"block{'s' * (not one)} " + (", ".join(run_text(*run) for run in runs) or "none")
