# SPDX-License-Identifier: BSD-2-Clause
"""Who owns each block of a volume.

All directories are listed and all files read, and what the chip is asked for meanwhile tells whose
a block is; which blocks are the tree and the logs, their own records say (layout.py). Small files
that lie among the names count as names.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from dataclasses import dataclass

from .errors import IO, NF2Error
from .layout import Chip, Layout, layout_of
from .tracing import Watch
from .volume import COPY_SIZE, DEPTH_MAX

USED = 2
NAMES, FILE, SHARED = "names", "file", "shared"
LOG, ASIDE, VOLUME = "log", "aside", "volume"
TEXTS = {
    NAMES: "the tree: names, small files, places of large ones",
    FILE: "a file",
    SHARED: "several files",
    LOG: "the volume's logs",
    ASIDE: "set aside for what is written next",
    VOLUME: "waits to be reclaimed, or belongs to what cannot be read",
}


@dataclass(frozen=True)
class Owner:
    kind: str  # NAMES, FILE, ...
    path: str | None = None  # of a FILE

    @property
    def text(self) -> str:
        return self.path if self.path is not None else TEXTS[self.kind]


@dataclass
class Found:
    """The owner of each block, None where it holds nothing, and what could not be read on the
    way."""

    owners: list[Owner | None]
    unread: list[tuple[str, str]]  # path and reason: whose blocks these are is not known


def find(volume, states: bytes, layout: Layout | None = None) -> Found:
    """`states` are those of volume.blocks(). On a damaged volume as far as it can be read."""
    layout = layout or layout_of(Chip.under(volume))
    unread: list[tuple[str, str]] = []
    with Watch(volume) as watch:
        paths = _files(volume, unread)
        names = set(watch.blocks())
        readers: dict[int, set[str]] = defaultdict(set)
        for path in paths:
            _read(volume, path, unread)
            for block in watch.blocks():
                readers[block].add(path)
    found = [
        _owner(block, names, readers, layout) if state == USED else None
        for block, state in enumerate(states)
    ]
    return Found(found, unread)


def _files(volume, unread: list[tuple[str, str]]) -> list[str]:
    """The paths of all files; each was looked up."""
    found, pending = [], [("/", 0)]
    while pending:
        place, depth = pending.pop()
        try:
            if depth > DEPTH_MAX:
                raise NF2Error(IO, f"directories are nested more than {DEPTH_MAX} deep", place)
            for entry in volume.scandir(place):
                path = posixpath.join(place, entry.name)
                if entry.is_dir():
                    pending.append((path, depth + 1))
                else:
                    found.append(path)
                    volume.stat(path)
        except NF2Error as error:
            unread.append((place, error.text))
    return found


def _read(volume, path: str, unread: list[tuple[str, str]]) -> None:
    try:
        with volume.open(path, "rb", buffering=0) as file:
            while file.read(COPY_SIZE):
                pass
    except NF2Error as error:
        unread.append((path, error.text))


def _owner(
    block: int, names: set[int], readers: dict[int, set[str]], layout: Layout
) -> Owner:
    if block in layout.log:
        return Owner(LOG)
    if block in names or block in layout.nodes:
        return Owner(NAMES)
    who = readers.get(block, set())
    if len(who) == 1:
        return Owner(FILE, next(iter(who)))
    if who:
        return Owner(SHARED)
    return Owner(ASIDE if block in layout.set_aside else VOLUME)
