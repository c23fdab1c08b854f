# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 pack`: an image from a directory, or from a manifest with partitions. The same input makes
the same bytes.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, field

from .chunks import CODECS, DEFAULT_CHUNK, check_chunk_size
from .errors import INVAL, NF2Error
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
    "read-only",
    "compress",
    "chunk",
}
FILE_KEYS = {"path", "from", "text", "size"}


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
    tree: Tree = field(default_factory=Tree)
    raw: str | None = None  # the file with the bytes of one that holds no volume
    offset: int | None = None  # None: behind the one before
    size: int | None = None  # None: to the end of the chip
    smallest: bool = False
    free: int = 0
    read_only: bool = False  # an image for packed/nf2_packed.h, not a volume
    compress: str | None = None  # the codec
    chunk: int = DEFAULT_CHUNK


@dataclass
class Manifest:
    chip: str | None
    partitions: list[Partition]
    made_of: set[str] = field(default_factory=set)

    @property
    def one_volume(self) -> Partition | None:
        """The volume that takes the whole image."""
        first = self.partitions[0]
        alone = len(self.partitions) == 1 and first.raw is None
        return first if alone and not first.offset and first.size is None else None

    def sources(self) -> list[str]:
        """Files and directories of the host that the image is made of."""
        found = set(self.made_of)
        for partition in self.partitions:
            if partition.raw is not None:
                found.add(partition.raw)
            found |= partition.tree.sources
            found |= {one.source for one in partition.tree.files.values() if one.source}
        return sorted(found)


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
        extra = sorted(set(table) & (PARTITION_KEYS - {"name", "raw", "offset", "size"}))
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
    _packing(found, table, what)
    return found


def _packing(found: Partition, table: dict, what: str) -> None:
    """Whether the partition is read-only, and how its files are compressed."""
    read_only, compress = table.get("read-only", False), table.get("compress")
    if not isinstance(read_only, bool):
        raise NF2Error(INVAL, f"{what}, read-only: not true or false: {read_only!r}")
    if compress is not None and compress not in CODECS:
        raise NF2Error(INVAL, f"{what}, compress: no codec {compress!r} (known: {', '.join(CODECS)})")
    if read_only and "free" in table:
        raise NF2Error(INVAL, f"{what}: a read-only image has no room to leave free")
    if "chunk" in table and compress is None:
        raise NF2Error(INVAL, f"{what}: `chunk` needs `compress`")
    found.read_only, found.compress = read_only, compress
    found.chunk = check_chunk_size(parse_size(table.get("chunk", DEFAULT_CHUNK), f"{what}, chunk"))


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
        raise NF2Error(INVAL, "has no [[partition]]", path)
    chip = table.get("chip")
    if chip is not None and os.path.exists(os.path.join(base, chip)):
        chip = os.path.join(base, chip)
    return Manifest(chip, partitions, {path})


def manifest_of(directory: str, chip: str | None, smallest: bool, free: int) -> Manifest:
    """One volume with what a directory of the host holds."""
    tree = Tree()
    tree.add_host_tree(directory)
    return Manifest(chip, [Partition("volume", tree, size=None, smallest=smallest, free=free)])
