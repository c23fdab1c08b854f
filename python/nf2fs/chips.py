# SPDX-License-Identifier: BSD-2-Clause
"""Which chip an image is of: what is remembered beside it, and what the volume itself says."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from . import files, native
from .errors import CORRUPT, GEOMETRY

PAGES = (256, 512)
BLOCKS = tuple(1 << shift for shift in range(12, 17))
UNITS = (1, 2, 4, 8, 16, 32)
SIZE_MIN, SIZE_MAX = 128 * 1024, 256 * 1024 * 1024

REMEMBERED = """\
# The chip of {image}, kept beside it by nf2: each command reads it from here.
"""
DIRECTIVE = re.compile(r"^#: (chip|volume) = (.+)$", re.M)


# ---- beside the image ----


def memory_path(path: str) -> str:
    return f"{path}.chip"


def remember(path: str, chip: native.Chip, library: native.Library) -> None:
    """Keeps the chip of an image in a file beside it, unless the image and the catalogue say as much."""
    name, offset, size = native.split_place(chip.source)
    known = name.startswith("generic-") or any(one.name == name.lower() for one in library.chips())
    first = next((one for one in library.chips() if one.geometry == chip.geometry), chip)
    if known and not size and first.name in (chip.name, name):
        forget(path)
        return
    text = REMEMBERED.format(image=os.path.basename(path))
    if size:
        text += f"#: volume = {offset}+{size}\n"
    if known:
        text += f"#: chip = {name.lower()}\n"
    else:
        with open(name, encoding="utf-8", errors="surrogateescape") as chip_file:
            text += DIRECTIVE.sub("", chip_file.read())
    with files.beside(memory_path(path)) as temporary:
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        files.publish_over(temporary, memory_path(path))


def forget(path: str) -> None:
    try:
        os.unlink(memory_path(path))
    except FileNotFoundError:
        pass


def remembered(path: str) -> str | None:
    """The chip that is kept beside an image, with the volume's place on it."""
    try:
        with open(memory_path(path), encoding="utf-8", errors="surrogateescape") as file:
            found = dict(DIRECTIVE.findall(file.read()))
    except FileNotFoundError:
        return None
    chip = found.get("chip", memory_path(path))
    return f"{chip}@{found['volume']}" if "volume" in found else chip


# ---- in the image ----


@dataclass(frozen=True)
class Recognised:
    """A volume's own geometry."""
    size: int
    page_size: int
    block_size: int
    program_unit: int

    @property
    def generic(self) -> str:
        return f"generic-{self.size}-{self.page_size}-{self.block_size}-{self.program_unit}"

    def text(self, library: native.Library) -> str:
        """The chip by name, where the catalogue has one."""
        names = [chip.name for chip in library.chips() if chip.geometry == self.geometry]
        named = f"{' or '.join(names[:3])}, " if names else ""
        return f"{named}{self.size} bytes, pages of {self.page_size}, blocks of {self.block_size}"

    @property
    def geometry(self) -> tuple[int, int, int, int]:
        return self.size, self.page_size, self.block_size, self.program_unit


def recognise(path: str, library: native.Library) -> Recognised | None:
    """The chip that an image begins as, found by trying: of the file's size, else a larger, else a smaller one."""
    length = os.path.getsize(path)
    if length == 0:
        return None
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as data:
        return next((one for one in _candidates(length, library) if _answers(data, one, library)), None)


def _answers(data, candidate: Recognised, library: native.Library) -> bool:
    return library.probe(data, candidate.geometry) in (0, CORRUPT)


def _candidates(length: int, library: native.Library) -> Iterator[Recognised]:
    powers = {1 << shift for shift in range(SIZE_MIN.bit_length() - 1, SIZE_MAX.bit_length())}
    sizes = sorted(powers | {chip.size for chip in library.chips()})
    larger = [size for size in sizes if size > length]
    smaller = [size for size in reversed(sizes) if size < length]
    for size in [length, *larger, *smaller]:
        for block in BLOCKS:
            for page in PAGES:
                for unit in UNITS:
                    if size % block == 0:
                        yield Recognised(size, page, block, unit)


def misfit(length: int, size: int) -> str:
    """What is wrong with an image of `length` bytes of a chip of `size`."""
    if length < size:
        return f"the image is cut short: it has {length} bytes of the chip's {size}, the last {size - length} are missing"
    return f"the image is too long: {length - size} bytes follow the chip's {size}"


__all__ = ["GEOMETRY", "Recognised", "forget", "memory_path", "misfit", "recognise", "remember", "remembered"]
