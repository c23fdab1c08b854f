# SPDX-License-Identifier: BSD-2-Clause
"""Makes images of what a manifest asks for. The same input makes the same bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from . import chips, chunks, files, native, packed_image
from .errors import EXIST, GEOMETRY, INVAL, NOENT, NOSPC, NF2Error
from .native import Chip
from .pack_build import Built, build, resized, smallest_chip, smallest_volume
from .pack_manifest import Manifest, Partition

PIECE = 1 << 20
BLANK = b"\xff"
PREFIX = ".nf2-pack-"


@dataclass(frozen=True)
class Placed:
    """A partition as it came to lie in the image."""

    name: str
    offset: int
    size: int
    files: int
    bytes: int
    free: int | None  # for file data; None: raw bytes, or a read-only image
    chip: str | None  # what the commands take as --chip for a volume that is a part of the chip
    read_only: bool = False
    compressed: int = 0  # files that are
    stored: int | None = None  # bytes that the files take where some are compressed


@dataclass(frozen=True)
class Packed:
    image: str
    chip: str | None  # None: not a chip's size
    size: int
    sha256: str
    partitions: list[Placed]
    skipped: list[tuple[str, str]]
    sources: list[str]  # of the host: the image is to be made anew when one of them changes


def pack(manifest: Manifest, output: str, *, force: bool = False) -> Packed:
    """Writes the image, as a whole or not at all."""
    if os.path.lexists(output) and not force:
        raise NF2Error(EXIST, "exists already", output, "force")
    files.refuse_special(output)
    above = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(above):
        raise NF2Error(NOENT, "no such directory", above)
    with (
        files.about(output, os.path.join(above, PREFIX)),
        files.unfinished(PREFIX, above) as place,
    ):
        chip, placed, path = _assemble(manifest, place)
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        os.replace(path, output)
    _remember(chip, placed, output)
    skipped = [pair for one in manifest.partitions for pair in one.tree.skipped]
    named = None if chip is None or chip.name.startswith("generic") else chip.name
    size = os.path.getsize(output)
    return Packed(output, named, size, digest, placed, skipped, manifest.sources())


def _remember(chip: Chip | None, placed: list[Placed], output: str) -> None:
    """The commands find the chip of an image that holds one volume, wherever in it."""
    volumes, library = [one for one in placed if one.free is not None], native.load()
    if chip is not None and len(volumes) == 1:
        chips.remember(output, library.chip(volumes[0].chip or chip.source), library)
    else:
        chips.forget(output)


def _assemble(manifest: Manifest, place: str) -> tuple[Chip | None, list[Placed], str]:
    """(chip, partitions, path of the image in `place`); no chip: a read-only image by itself."""
    only = manifest.one_volume
    if only is not None and only.read_only and (manifest.chip is None or only.smallest):
        made = _read_only(only, os.path.join(place, "read-only"))
        if manifest.chip is not None and made.size > native.load().chip(manifest.chip).size:
            raise NF2Error(NOSPC, f"the image has {made.size} bytes: more than the chip")
        return None, [made], os.path.join(place, "read-only")
    if only is not None and not only.read_only:
        _compress(only)
        return _one_volume(manifest, only, place)
    if manifest.chip is None:
        raise NF2Error(INVAL, "name the chip: its geometry is needed for the partitions")
    chip = native.load().chip(manifest.chip)
    path, placed, end = os.path.join(place, "whole"), [], 0
    with open(path, "wb") as image:
        for start in range(0, chip.size, PIECE):
            image.write(BLANK * min(PIECE, chip.size - start))
        for partition in manifest.partitions:
            with _naming(partition):
                placed.append(_add(partition, chip, end, image, place))
            end = placed[-1].offset + placed[-1].size
    return chip, placed, path


def _one_volume(manifest: Manifest, only: Partition, place: str) -> tuple[Chip, list[Placed], str]:
    if manifest.chip is None and not only.smallest:
        chip, built = smallest_chip(only.tree, only.free, place)
        return chip, [_placed(only, 0, built, None)], built.path
    if manifest.chip is None:
        raise NF2Error(INVAL, "name the chip: its geometry is needed for the smallest volume")
    chip = native.load().chip(manifest.chip)
    if not only.smallest:
        built = build(only.tree, chip, only.free, place)
        return chip, [_placed(only, 0, built, None)], built.path
    built = smallest_volume(only.tree, chip, only.free, place)
    return resized(chip, built.size), [_placed(only, 0, built, None)], built.path


def _codec(partition: Partition) -> chunks.Codec | None:
    return chunks.codec_of(partition.compress) if partition.compress else None


def _read_only(partition: Partition, path: str, offset: int = 0) -> Placed:
    """Makes the read-only image of a partition, in a new file."""
    made = packed_image.make(partition.tree, _codec(partition), partition.chunk)
    with open(path, "wb") as file:
        file.write(made.data)
    return Placed(
        partition.name,
        offset,
        len(made.data),
        made.files,
        made.bytes,
        None,
        None,
        True,
        made.compressed,
        made.stored,
    )


def _compress(partition: Partition) -> None:
    """Of a volume's files those that become smaller are compressed from now on."""
    codec = _codec(partition)
    if codec is not None:
        partition.tree.compress(lambda data: chunks.smaller(data, codec, partition.chunk))


@contextmanager
def _naming(partition: Partition) -> Iterator[None]:
    """Errors say which partition."""
    try:
        yield
    except NF2Error as error:
        path = error.path if error.path and os.path.exists(error.path) else None
        text = f"partition {partition.name}: {error.text}"
        raise NF2Error(error.code, text, path) from None


def _placed(partition: Partition, offset: int, built: Built, chip: str | None) -> Placed:
    tree = partition.tree
    stored = tree.bytes if partition.compress else None
    compressed = sum(file.plain_size is not None for file in tree.files.values())
    return Placed(
        partition.name,
        offset,
        built.size,
        len(tree.files),
        tree.plain_bytes,
        built.free,
        chip,
        False,
        compressed,
        stored,
    )


def _offset(partition: Partition, block: int, end: int) -> int:
    if partition.offset is None:
        return -(-end // block) * block
    if partition.offset % block:
        text = f"begins at {partition.offset}: not a multiple of the erase block, {block}"
        raise NF2Error(GEOMETRY, text)
    if partition.offset < end:
        text = f"begins at {partition.offset}, inside the one before it, which ends at {end}"
        raise NF2Error(INVAL, text)
    return partition.offset


def _add(partition: Partition, chip: Chip, end: int, image, place: str) -> Placed:
    """Puts a partition behind the one that ends at `end`, or at its own offset."""
    offset = _offset(partition, chip.block_size, end)
    room = chip.size - offset
    if partition.size is not None and partition.size > room:
        raise NF2Error(NOSPC, f"ends at {offset + partition.size}, the chip at {chip.size}")
    if partition.raw is not None:
        return _add_raw(partition, partition.raw, chip, offset, room, image)
    if partition.read_only:
        path = os.path.join(place, "read-only")
        made = _read_only(partition, path, offset)
        raw = _add_raw(partition, path, chip, offset, room, image)
        os.unlink(path)
        return replace(made, size=raw.size)
    _compress(partition)
    if partition.smallest:
        built = smallest_volume(partition.tree, chip, partition.free, place, room)
    else:
        size = room if partition.size is None else partition.size
        if size % chip.block_size or size <= 0:
            text = f"has {size} bytes: not a multiple of the erase block, {chip.block_size}"
            raise NF2Error(GEOMETRY, text)
        built = build(partition.tree, resized(chip, size), partition.free, place)
    image.seek(offset)
    with open(built.path, "rb") as volume:
        shutil.copyfileobj(volume, image, PIECE)
    os.unlink(built.path)
    return _placed(partition, offset, built, f"{chip.source}@{offset}+{built.size}")


def _add_raw(partition: Partition, path: str, chip: Chip, offset: int, room: int, image) -> Placed:
    size, block = os.path.getsize(path), chip.block_size
    space = -(-size // block) * block if partition.size is None else partition.size
    if size > min(space, room):
        text = f"has room for {min(space, room)} bytes, the file has {size}"
        raise NF2Error(NOSPC, text, path)
    image.seek(offset)
    with open(path, "rb") as raw:
        shutil.copyfileobj(raw, image, PIECE)
    return Placed(partition.name, offset, space, 1, size, None, None)
