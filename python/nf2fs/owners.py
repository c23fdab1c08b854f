# SPDX-License-Identifier: BSD-2-Clause
"""Who owns each block of a volume.

Found without knowing the format: all directories are listed and all files read, and what the chip
is asked for meanwhile tells whose a block is. So small files that lie among the names count as
names, and a block that is used but not read for any name or content is the volume's own (its logs,
and what they keep).

Whoever knows the format can put a better `owners` in this one's place: same argument, same result.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from dataclasses import dataclass

from .tracing import Watch
from .volume import COPY_SIZE

USED = 2
NAMES, FILE, SHARED, VOLUME = "names", "file", "shared", "volume"
TEXTS = {
    NAMES: "directories and small files",
    FILE: "a file",
    SHARED: "several files",
    VOLUME: "the volume itself, and what waits to be reclaimed",
}


@dataclass(frozen=True)
class Owner:
    kind: str  # NAMES, FILE, SHARED or VOLUME
    path: str | None = None  # of a FILE

    @property
    def text(self) -> str:
        return self.path if self.path is not None else TEXTS[self.kind]


def owners(volume, states: bytes) -> list[Owner | None]:
    """The owner of each block, None where it holds nothing; `states` as of volume.blocks()."""
    with Watch(volume) as watch:
        paths = _files(volume)
        names = set(watch.blocks())
        readers: dict[int, set[str]] = defaultdict(set)
        for path in paths:
            _read(volume, path)
            for block in watch.blocks():
                readers[block].add(path)
    return [
        _owner(block, names, readers) if state == USED else None
        for block, state in enumerate(states)
    ]


def _files(volume) -> list[str]:
    """The paths of all files; each was looked up."""
    found = []
    for place, _, files in volume.walk("/"):
        for name in files:
            found.append(posixpath.join(place, name))
            volume.stat(found[-1])
    return found


def _read(volume, path: str) -> None:
    with volume.open(path, "rb", buffering=0) as file:
        while file.read(COPY_SIZE):
            pass


def _owner(block: int, names: set[int], readers: dict[int, set[str]]) -> Owner:
    if block in names:
        return Owner(NAMES)
    who = readers.get(block, set())
    if len(who) == 1:
        return Owner(FILE, next(iter(who)))
    return Owner(SHARED if who else VOLUME)
