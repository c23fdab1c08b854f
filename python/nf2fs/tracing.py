# SPDX-License-Identifier: BSD-2-Clause
"""What a volume asks of its chip: operations, written to a file one line each, and read back."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from . import files
from .errors import IO, NF2Error

KINDS = ("read", "program", "erase")


@dataclass(frozen=True)
class Operation:
    kind: str
    address: int
    length: int


def parse(line: str) -> Operation | None:
    """A line of a trace; None for one that is none."""
    part = line.split()
    if len(part) < 3 or part[0] not in KINDS:
        return None
    try:
        return Operation(part[0], int(part[1], 0), int(part[2]))
    except ValueError:
        return None


@contextmanager
def traced(volume, path: str | os.PathLike) -> Iterator[None]:
    """Meanwhile the operations of the volume's chip are appended to the file `path`."""
    image = volume.image
    trace = image.start_trace(path)
    if trace is None:
        raise NF2Error(IO, "no trace can be written there", os.fspath(path))
    try:
        yield
    finally:
        image.stop_trace(trace)


class Watch:
    """Tells which blocks of a volume were read, from one question to the next."""

    def __init__(self, volume):
        self._volume = volume
        self._block_size = volume.statfs()["block_size"]

    def __enter__(self) -> Watch:
        self._directory = files.unfinished("nf2-watch-")
        path = os.path.join(self._directory.__enter__(), "trace")
        self._tracing = traced(self._volume, path)
        self._tracing.__enter__()
        self._file = open(path, encoding="ascii", errors="replace")
        return self

    def __exit__(self, *_) -> None:
        self._file.close()
        self._tracing.__exit__(None, None, None)
        self._directory.__exit__(None, None, None)

    def blocks(self) -> Counter[int]:
        """Bytes read of each block since the last call."""
        found: Counter[int] = Counter()
        first = self._volume.chip.volume_offset
        for line in self._file:
            operation = parse(line)
            if operation is not None and operation.kind == "read":
                found[(operation.address - first) // self._block_size] += operation.length
        return found
