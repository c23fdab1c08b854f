# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 pack`: an image from a directory, or from a manifest with partitions. The same input makes
the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import tomllib
from dataclasses import dataclass, field

from . import native
from .errors import EXIST, GEOMETRY, INVAL, NOENT, NOSPC, NF2Error
from .native import Chip
from .pack_build import Built, build, resized, smallest_chip, smallest_volume
from .pack_tree import File, Tree, pieces_of_bytes, zeros

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
IMAGE_KEYS = {"chip", "partition"}
PARTITION_KEYS = {
    "name",
    "offset",
    "size",
    "tree",
    "into",
    "exclude",
    "free",
    "file",
    "directories",
    "raw",
}
FILE_KEYS = {"path", "from", "text", "size"}
BLANK = b"\xff"


def parse_size(value: object, what: str) -> int:
    """A number of bytes: 4096, "64K", "8M" (also "8MiB")."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
    if not match:
        raise NF2Error(INVAL, f'{what}: not a size: {value!r} (write 4096, "64K" or "8M")')
    return int(match[1]) * UNITS[match[2].upper()]


@dataclass
class Partition:
    name: str
    tree: Tree | None = None  # None: raw bytes
    raw: str | None = None
    offset: int | None = None  # None: behind the one before
    size: int | None = None  # None: to the end of the chip
    smallest: bool = False
    free: int = 0


@dataclass
class Manifest:
    chip: str | None
    partitions: list[Partition]
    sources: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Placed:
    """A partition as it came to lie in the image."""

    name: str
    offset: int
    size: int
    files: int
    bytes: int
    free: int | None


@dataclass(frozen=True)
class Packed:
    image: str
    chip: str | None  # None: not a chip's size
    size: int
    sha256: str
    partitions: list[Placed]
    skipped: list[tuple[str, str]]
    sources: list[str]  # of the host: the image is to be made anew when one of them changes


# ---- manifests ----


def _known(table: dict, keys: set[str], what: str) -> dict:
    if not isinstance(table, dict):
        raise NF2Error(INVAL, f"{what}: not a table")
    for key in table:
        if key not in keys:
            hint = "; this version of NF2FS keeps no attributes" if key.startswith("attr") else ""
            raise NF2Error(
                INVAL, f"{what}: unknown key {key!r} (known: {', '.join(sorted(keys))}){hint}"
            )
    return table


def _file(table: dict, base: str, what: str) -> tuple[str, File | str]:
    _known(table, FILE_KEYS, what)
    if not isinstance(table.get("path"), str):
        raise NF2Error(INVAL, f"{what}: `path` is missing")
    given = [key for key in ("from", "text", "size") if key in table]
    if len(given) != 1:
        raise NF2Error(
            INVAL,
            f"{what}: {table['path']} needs one of `from` (a file), `text` and `size` (of zeros)",
        )
    if given[0] == "from":
        return table["path"], os.path.join(base, table["from"])
    if given[0] == "text":
        data = table["text"].encode()
        return table["path"], File(len(data), pieces_of_bytes(data))
    size = parse_size(table["size"], what)
    return table["path"], File(size, zeros(size))


def _tree(table: dict, base: str, what: str) -> Tree:
    tree = Tree()
    if "tree" in table:
        tree.add_host_tree(
            os.path.join(base, table["tree"]),
            table.get("into", "/"),
            tuple(table.get("exclude", ())),
        )
    for path in table.get("directories", ()):
        tree.add_directory(path)
    for number, one in enumerate(table.get("file", ()), 1):
        path, file = _file(one, base, f"{what}, file {number}")
        if isinstance(file, str):
            tree.add_host_file(path, file)
        else:
            tree.add_file(path, file)
    return tree


def _partition(table: dict, base: str, number: int) -> Partition:
    what = f"partition {number}"
    _known(table, PARTITION_KEYS, what)
    found = Partition(str(table.get("name", what)))
    if "raw" in table:
        extra = sorted(set(table) & {"tree", "into", "exclude", "free", "file", "directories"})
        if extra:
            raise NF2Error(INVAL, f"{what}: `raw` holds no files: take away {', '.join(extra)}")
        found.raw = os.path.join(base, table["raw"])
    else:
        found.tree = _tree(table, base, what)
    if "offset" in table:
        found.offset = parse_size(table["offset"], f"{what}, offset")
    found.smallest = table.get("size") == "smallest"
    if "size" in table and not found.smallest:
        found.size = parse_size(table["size"], f"{what}, size")
    found.free = parse_size(table.get("free", 0), f"{what}, free")
    return found


def read_manifest(path: str) -> Manifest:
    """Paths in it are relative to the manifest's directory."""
    base = os.path.dirname(os.path.abspath(path))
    with open(path, "rb") as file:
        try:
            table = tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise NF2Error(INVAL, f"not a manifest: {error}", path) from None
    _known(table, IMAGE_KEYS, path)
    partitions = [
        _partition(one, base, number) for number, one in enumerate(table.get("partition", ()), 1)
    ]
    if not partitions:
        raise NF2Error(INVAL, "no [[partition]] in it", path)
    chip = table.get("chip")
    if chip is not None and os.path.exists(os.path.join(base, chip)):
        chip = os.path.join(base, chip)
    return Manifest(chip, partitions, {path})


def manifest_of(directory: str, chip: str | None, smallest: bool, free: int) -> Manifest:
    """One volume with what a directory of the host holds."""
    tree = Tree()
    tree.add_host_tree(directory)
    return Manifest(chip, [Partition("volume", tree, size=None, smallest=smallest, free=free)])


# ---- making the image ----


def pack(manifest: Manifest, output: str, *, force: bool = False) -> Packed:
    """Writes the image, as a whole or not at all."""
    if os.path.lexists(output) and not force:
        raise NF2Error(EXIST, "exists already: use --force to replace it", output)
    above = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(above):
        raise NF2Error(NOENT, "no such directory", above)
    with tempfile.TemporaryDirectory(prefix=".nf2-pack-", dir=above) as place:
        chip, placed, path = _assemble(manifest, place)
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        size = os.path.getsize(path)
        os.replace(path, output)
    trees = [one.tree for one in manifest.partitions if one.tree is not None]
    return Packed(
        output,
        chip,
        size,
        digest,
        placed,
        [pair for tree in trees for pair in tree.skipped],
        _sources(manifest),
    )


def _sources(manifest: Manifest) -> list[str]:
    found = set(manifest.sources)
    for partition in manifest.partitions:
        if partition.raw is not None:
            found.add(partition.raw)
        if partition.tree is not None:
            found |= partition.tree.sources | {
                one.source for one in partition.tree.files.values() if one.source
            }
    return sorted(found)


def _assemble(manifest: Manifest, place: str) -> tuple[str | None, list[Placed], str]:
    """(chip, partitions, path of the image in `place`)."""
    first = manifest.partitions[0]
    whole = (
        len(manifest.partitions) == 1
        and first.tree is not None
        and first.offset in (None, 0)
        and first.size is None
    )
    if manifest.chip is None:
        if not whole or first.smallest:
            raise NF2Error(
                INVAL, "name the chip: partitions and the smallest volume need its geometry"
            )
        chip, built = smallest_chip(first.tree, first.free, place)
        return chip.name, [_placed(first, 0, built)], built.path
    chip = native.load().chip(manifest.chip)
    if whole and first.smallest:
        built = smallest_volume(first.tree, chip, first.free, place)
        return None, [_placed(first, 0, built)], built.path
    path, placed, end = os.path.join(place, "whole"), [], 0
    with open(path, "wb") as image:
        _blank(image, chip.size)
        for partition in manifest.partitions:
            placed.append(_add(partition, chip, end, image, place))
            end = placed[-1].offset + placed[-1].size
    return chip.name, placed, path


def _blank(image, size: int) -> None:
    for start in range(0, size, 1 << 20):
        image.write(BLANK * min(1 << 20, size - start))


def _placed(partition: Partition, offset: int, built: Built) -> Placed:
    return Placed(
        partition.name,
        offset,
        built.size,
        len(partition.tree.files),
        partition.tree.bytes,
        built.free,
    )


def _add(partition: Partition, chip: Chip, end: int, image, place: str) -> Placed:
    """Puts a partition behind the one that ends at `end`, or at its own offset."""
    offset = (
        -(-end // chip.block_size) * chip.block_size
        if partition.offset is None
        else partition.offset
    )
    if offset % chip.block_size:
        raise NF2Error(
            GEOMETRY,
            f"partition {partition.name} begins at {offset}: "
            f"not a multiple of the erase block, {chip.block_size}",
        )
    if offset < end:
        raise NF2Error(
            INVAL,
            f"partition {partition.name} begins at {offset}, "
            f"inside the one before it, which ends at {end}",
        )
    room = chip.size - offset
    if partition.size is not None and partition.size > room:
        raise NF2Error(
            NOSPC,
            f"partition {partition.name} ends at {offset + partition.size}, "
            f"the chip at {chip.size}",
        )
    if partition.raw is not None:
        return _add_raw(partition, chip, offset, room, image)
    if partition.smallest:
        built = _named(
            partition, smallest_volume, partition.tree, chip, partition.free, place, room
        )
    else:
        size = room if partition.size is None else partition.size
        if size % chip.block_size or size <= 0:
            raise NF2Error(
                GEOMETRY,
                f"partition {partition.name} has {size} bytes: "
                f"not a multiple of the erase block, {chip.block_size}",
            )
        built = _named(
            partition, build, partition.tree, resized(chip, size, place), partition.free, place
        )
    image.seek(offset)
    with open(built.path, "rb") as volume:
        shutil.copyfileobj(volume, image, 1 << 20)
    os.unlink(built.path)
    return _placed(partition, offset, built)


def _named(partition: Partition, function, *arguments):
    """Errors say which partition."""
    try:
        return function(*arguments)
    except NF2Error as error:
        raise NF2Error(
            error.code,
            f"partition {partition.name}: {error.text}",
            error.path if os.path.exists(error.path or "") else None,
        ) from None


def _add_raw(partition: Partition, chip: Chip, offset: int, room: int, image) -> Placed:
    size = os.path.getsize(partition.raw)
    space = (
        partition.size
        if partition.size is not None
        else -(-size // chip.block_size) * chip.block_size
    )
    if size > min(space, room):
        raise NF2Error(
            NOSPC,
            f"partition {partition.name} has room for {min(space, room)} bytes, "
            f"the file has {size}",
            partition.raw,
        )
    image.seek(offset)
    with open(partition.raw, "rb") as raw:
        shutil.copyfileobj(raw, image, 1 << 20)
    return Placed(partition.name, offset, space, 1, size, None)
