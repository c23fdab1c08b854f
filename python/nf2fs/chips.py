# SPDX-License-Identifier: BSD-2-Clause
"""Which chip an image is of: what is remembered beside it, and what the volume itself says."""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from . import files, native
from .errors import CORRUPT, EXIST, NF2Error

PAGE = 256
ANCHOR = b"NF2F\x03"  # as an anchor begins, behind the page's epoch and the record's header
SLOT = 32  # bytes of a super block for each of them
SIZES = (1 << 17) - 1  # bits of the geometry in an anchor that are sizes
SIZE_MIN, SIZE_MAX = 128 * 1024, 256 * 1024 * 1024

MARK = ", kept beside it by nf2: each command reads it from here."
REMEMBERED = "# The chip of {image}" + MARK + "\n"
DIRECTIVE = re.compile(r"^#: (chip|volume) = (.+)$", re.M)


# ---- beside the image ----


def memory_path(path: str) -> str:
    return f"{path}.chip"


def remember(path: str, chip: native.Chip, library: native.Library) -> None:
    """Keeps the chip of an image in a file beside it, unless the image and the catalogue say as
    much."""
    keep(path, text_to_keep(path, chip, library))


def text_to_keep(path: str, chip: native.Chip, library: native.Library) -> str | None:
    """What `keep` is to keep; raises NF2Error (EXIST) where a file of the user's own has that
    name."""
    name, offset, size = native.split_place(chip.source)
    known = name.startswith("generic-") or any(one.name == name.lower() for one in library.chips())
    first = next((one for one in library.chips() if one.geometry == chip.geometry), chip)
    if known and not size and first.name in (chip.name, name):
        return None
    if not _is_ours(memory_path(path)) and os.path.abspath(name) != os.path.abspath(
        memory_path(path)
    ):
        raise NF2Error(
            EXIST,
            "is in the way: the chip of the image is to be kept in a file of this name",
            memory_path(path),
        )
    text = REMEMBERED.format(image=os.path.basename(path))
    if size:
        text += f"#: volume = {offset}+{size}\n"
    if known:
        return text + f"#: chip = {name.lower()}\n"
    with open(name, encoding="utf-8", errors="surrogateescape") as chip_file:
        lines = chip_file.read().splitlines(keepends=True)
    return text + "".join(line for line in lines if MARK not in line and not DIRECTIVE.match(line))


def keep(path: str, text: str | None) -> None:
    """Puts the text beside the image; None: removes what is kept there."""
    if text is None:
        forget(path)
        return
    with files.beside(memory_path(path)) as temporary:
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        files.publish_over(temporary, memory_path(path))


def forget(path: str) -> None:
    """Removes what is kept beside an image; a file of the user's own is left alone."""
    if os.path.lexists(memory_path(path)) and _is_ours(memory_path(path)):
        os.unlink(memory_path(path))


def _is_ours(path: str) -> bool:
    """Is the file one of `remember`, or is there none?"""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return MARK in file.readline()
    except FileNotFoundError:
        return True


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
    block_size: int
    program_unit: int

    @property
    def generic(self) -> str:
        return "-".join(map(str, ("generic", *self.geometry)))

    def text(self, library: native.Library) -> str:
        """The chip by name, where the catalogue has one."""
        mine = (self.size, self.block_size, self.program_unit)
        chips = library.chips()
        names = [
            one.name for one in chips if (one.size, one.block_size, one.program_unit) == mine
        ]
        named = f"{' or '.join(names[:3])}, " if names else ""
        return f"{named}{self.size} bytes, blocks of {self.block_size}"

    @property
    def geometry(self) -> tuple[int, int, int, int]:
        """With a page of the chip, which a volume says nothing of."""
        return self.size, PAGE, self.block_size, self.program_unit


def recognise(path: str, library: native.Library) -> Recognised | None:
    """The chip that an image begins as, found by trying: of the file's size, else a larger, else a
    smaller one."""
    length = os.path.getsize(path)
    if length == 0:
        return None
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as data:
        return next(
            (one for one in _candidates(length, library) if _answers(data, one, library)), None
        )


def other(path: str, chip: native.Chip, library: native.Library) -> str | None:
    """What to say where the volume of an image, at its first byte, is for another chip than this
    one."""
    found = recognise(path, library) if chip.volume_offset == 0 else None
    if found is None or found.size != os.path.getsize(path):
        return None
    if (found.size, found.block_size, found.program_unit) == (
        chip.size,
        chip.block_size,
        chip.program_unit,
    ):
        return None
    return f"the volume is for {found.text(library)}, not for chip {chip.name}"


def _answers(data, candidate: Recognised, library: native.Library) -> bool:
    return library.probe(data, candidate.geometry) in (0, CORRUPT)


def _candidates(length: int, library: native.Library) -> Iterator[Recognised]:
    powers = {1 << shift for shift in range(SIZE_MIN.bit_length() - 1, SIZE_MAX.bit_length())}
    sizes = sorted(powers | {chip.size for chip in library.chips()})
    larger = [size for size in sizes if size > length]
    smaller = [size for size in reversed(sizes) if size < length]
    for size in [length, *larger, *smaller]:
        for block in native.BLOCKS:
            for unit in native.UNITS:
                if size % block == 0:
                    yield Recognised(size, block, unit)


def parts(path: str) -> list[tuple[int, int]]:
    """Where in an image volumes begin that have anchors, and how many bytes they say to have."""
    found: list[tuple[int, int]] = []
    length, step = os.path.getsize(path), native.BLOCKS[0]
    if length == 0:
        return found
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for at in range(0, length - step + 1, step):
            place = data.find(ANCHOR, at, at + step)
            if (place - at) % SLOT != 4 or (found and at < sum(found[-1])):
                continue
            geometry, last = struct.unpack("<IH", data[place + 8 : place + 14])
            blocks = last + 1
            block = next((one for one in reversed(native.BLOCKS) if one <= geometry & SIZES), 0)
            if block > 0 and 0 < block * blocks <= length - at:
                found.append((at, block * blocks))
    return found


def misfit(length: int, size: int) -> str:
    """What is wrong with an image of `length` bytes of a chip of `size`."""
    if length < size:
        return (
            f"the image is cut short: it has {length} bytes of the chip's {size}, "
            f"the last {size - length} are missing"
        )
    return f"the image is too long: {length - size} bytes follow the chip's {size}"
