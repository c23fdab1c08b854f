# SPDX-License-Identifier: BSD-2-Clause
"""Makes volumes that hold a given tree: of a given size, or of the smallest that holds it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from . import attributes, native
from .errors import CORRUPT, INVAL, NOSPC, NF2Error
from .images import format_image, open_image
from .native import Chip
from .pack_tree import Tree
from .volume import Volume

IDLE_US = 1_000_000  # a step of idle work: longer than any erase
IDLE_STEPS_MAX = 100_000
BLOCKS_MIN, BLOCKS_MAX = 32, 65536

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Built:
    """A volume that was made: its bytes, and what they hold."""

    path: str
    size: int
    space: dict[str, int]

    @property
    def free(self) -> int:
        """Bytes that are left for file data."""
        return self.space["available"] * self.space["block_size"]


def resized(chip: Chip, size: int) -> Chip:
    """A chip of another size with the same geometry."""
    if size == chip.size:
        return chip
    geometry = (size, chip.page_size, chip.block_size, chip.program_unit)
    return native.load().chip("-".join(map(str, ("generic", *geometry))))


def fill(volume: Volume, tree: Tree, advance: Advance = lambda size: None) -> None:
    """Writes a tree into an empty volume, and does the idle work that it leaves."""
    for path, file in tree.order():
        if file is None:
            volume.mkdir(path)
            continue
        written = 0
        with volume.open(path, "wb", buffering=0) as target:
            for piece in file.pieces():
                target.write(piece)
                written += len(piece)
                advance(len(piece))
        if written != file.size:
            raise NF2Error(INVAL, "changed while it was read", file.source or path)
        if tree.preserve and file.source is not None:
            volume.set_attributes(path, attributes.of_host(file.source))
    for _ in range(IDLE_STEPS_MAX):
        if not volume.maintain(IDLE_US):
            break


def build(
    tree: Tree, chip: Chip, free: int, place: str, advance: Advance = lambda size: None
) -> Built:
    """A volume of the chip's size, in a new file of the directory `place`. Raises NOSPC where it
    does not fit.
    """
    handle, path = tempfile.mkstemp(suffix=".img", dir=place)
    os.close(handle)
    os.unlink(path)
    try:
        format_image(path, chip.source)
        with open_image(path, chip.source) as volume:
            fill(volume, tree, advance)
        with open_image(path, chip.source, read_only=True) as volume:
            if volume.check()[0]:
                raise NF2Error(CORRUPT, "the new volume has faults: it was not kept", path)
            built = Built(path, chip.size, volume.statfs())
    except BaseException:
        if os.path.exists(path):
            os.unlink(path)
        raise
    if built.free < free:
        os.unlink(path)
        raise NF2Error(NOSPC, f"{built.free} bytes are left for file data, {free} are asked for")
    return built


def fits(tree: Tree, chip: Chip, free: int, place: str) -> Built | None:
    """The volume, or None where it does not fit."""
    if tree.bytes + free > chip.size:
        return None
    try:
        return build(tree, chip, free, place)
    except NF2Error as error:
        if error.code != NOSPC:
            raise
        return None


def smallest_volume(
    tree: Tree, chip: Chip, free: int, place: str, largest: int | None = None
) -> Built:
    """The smallest volume with a chip's geometry that holds a tree, of whole blocks."""
    block = chip.block_size
    most = min((largest or chip.size) // block, BLOCKS_MAX)
    low, high, best = max(BLOCKS_MIN, (tree.bytes + free) // block) - 1, BLOCKS_MIN, None
    high = low + 1
    while True:
        high = min(max(high, BLOCKS_MIN), most)
        best = fits(tree, resized(chip, high * block), free, place)
        if best is not None:
            break
        if high == most:
            raise NF2Error(
                NOSPC,
                f"{tree.bytes} bytes of files do not fit into {most * block}"
                + (f" with {free} bytes free" if free else ""),
            )
        low, high = high, high + max(1, high // 8)
    while high - low > 1:
        middle = (low + high) // 2
        found = fits(tree, resized(chip, middle * block), free, place)
        if found is None:
            low = middle
        else:
            os.unlink(best.path)
            best, high = found, middle
    return best


def smallest_chip(tree: Tree, free: int, place: str) -> tuple[Chip, Built]:
    """The smallest chip of the catalogue that holds a tree, and its volume; not those that are for
    tests.
    """
    chips = [chip for chip in native.load().chips() if "tests" not in chip.description]
    for chip in sorted(chips, key=lambda one: (one.size, one.program_unit)):
        if (built := fits(tree, chip, free, place)) is not None:
            return chip, built
    raise NF2Error(
        NOSPC,
        f"{tree.bytes} bytes of files fit on no chip of the catalogue"
        + (f" with {free} bytes free" if free else ""),
    )


__all__ = ["Built", "build", "fill", "resized", "smallest_chip", "smallest_volume"]
