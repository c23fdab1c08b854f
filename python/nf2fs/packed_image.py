# SPDX-License-Identifier: BSD-2-Clause
"""Read-only images, as packed/nf2_packed.h reads them on a device: made from a tree, and read back.

The same input makes the same bytes. packed/README.md has the format.
"""

from __future__ import annotations

import posixpath
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from . import chunks
from .errors import BLANK, CORRUPT, FOREIGN, INVAL, ISDIR, NAMETOOLONG, NOENT, VERSION, NF2Error
from .native import decode, encode_path
from .pack_tree import Tree

MAGIC = b"NF2PACKD"
FORMAT = 1
PAGE = 256
HEADER = struct.Struct("<8sHHIIIIIIIII")  # zeros and a CRC follow, to HEADER_SIZE
HEADER_SIZE = 64
RECORD = struct.Struct("<HBBIIIBBH")  # the path and a CRC follow
SLOT = struct.Struct("<II")
SLOTS = 31  # of a page of the index
SLOTS_WANTED = 20  # in the mean, so that hardly any page overflows
SEEDS = 200  # tries for hashes that all differ, and for pages that do not overflow
PATH_MAX = 255
IMAGE_MAX = 0x7FFFFFFF
FILE, DIRECTORY = 1, 2


def hash_of(seed: int, path: bytes) -> int:
    found = 0x811C9DC5 ^ seed
    for byte in path:
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    found = (found ^ found >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    found = (found ^ found >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return found ^ found >> 16


# ---- making ----


@dataclass
class _Node:
    path: bytes  # without a '/' in front
    kind: int
    data: bytes = b""
    size: int = 0
    codec: int = 0
    parameter: int = 0
    at: int = 0  # of the record, then of the data
    place: int = 0

    @property
    def record_size(self) -> int:
        return RECORD.size + len(self.path) + 4

    def record(self, children: int) -> bytes:
        name_at = self.path.rfind(b"/") + 1
        size = children if self.kind == DIRECTORY else self.size
        whole = RECORD.pack(
            self.record_size,
            self.kind,
            len(self.path),
            size,
            self.place,
            len(self.data),
            self.codec,
            name_at,
            0,
        )
        return whole + self.path + struct.pack("<I", zlib.crc32(whole + self.path))


@dataclass
class Made:
    """An image, and what is in it."""

    data: bytes
    files: int
    bytes: int  # of the files, as they are outside
    stored: int  # of the files, in the image
    compressed: int  # how many files are


def _nodes(tree: Tree, codec: chunks.Codec | None, chunk_size: int) -> dict[bytes, list[_Node]]:
    """The names of each directory by its path, in their order."""
    below: dict[bytes, list[_Node]] = {b"": []}
    for path, file in tree.order():
        name = encode_path(path).lstrip(b"/")
        if len(name) > PATH_MAX:
            raise NF2Error(
                NAMETOOLONG, f"a path of more than {PATH_MAX} bytes has no place in an image", path
            )
        parent = name.rpartition(b"/")[0]
        if file is None:
            below[name] = []
            below[parent].append(_Node(name, DIRECTORY))
            continue
        data = b"".join(file.pieces())
        if len(data) != file.size:
            raise NF2Error(INVAL, "changed while it was read", file.source or path)
        node = _Node(name, FILE, data, len(data))
        small = chunks.smaller(data, codec, chunk_size) if codec else None
        if codec and small is not None:
            node.data, node.codec = small, codec.number
        below[parent].append(node)
    return below


def _in_order(below: dict[bytes, list[_Node]]) -> list[list[_Node]]:
    """What is in each directory: those further up first, so that a record's place is known when
    the directory's own is written."""
    waiting, found = [b""], []
    while waiting:
        directory = waiting.pop(0)
        found.append(below[directory])
        waiting += [node.path for node in below[directory] if node.kind == DIRECTORY]
    return found


def _place(size: int, at: int) -> int:
    """Where the next record goes: none lies in two pages that has room in one, and a longer one
    begins with a page."""
    return at if size <= PAGE - at % PAGE else -(-at // PAGE) * PAGE


def _index(nodes: list[_Node]) -> tuple[int, list[list[tuple[int, int]]]]:
    """(seed, slots of each page): all hashes differ, and no page overflows."""
    pages = max(1, -(-len(nodes) // SLOTS_WANTED))
    for seed in range(SEEDS):
        slots: list[list[tuple[int, int]]] = [[] for _ in range(pages)]
        hashes = [hash_of(seed, node.path) for node in nodes]
        for hash_, node in zip(hashes, nodes, strict=True):
            slots[hash_ * pages >> 32].append((hash_, node.at))
        if len(set(hashes)) == len(hashes) and max(map(len, slots)) <= SLOTS:
            return seed, [sorted(page) for page in slots]
        pages += seed % 2
    raise NF2Error(INVAL, f"{len(nodes)} files are too many for one image")


def _index_page(slots: list[tuple[int, int]]) -> bytes:
    page = struct.pack("<HH", len(slots), 0) + b"".join(SLOT.pack(*slot) for slot in slots)
    page += bytes(PAGE - 4 - len(page))
    return page + struct.pack("<I", zlib.crc32(page))


def make(
    tree: Tree, codec: chunks.Codec | None = None, chunk_size: int = chunks.DEFAULT_CHUNK
) -> Made:
    """An image of a tree. Where a codec is given, files that become smaller are compressed."""
    chunks.check_chunk_size(chunk_size)
    below = _nodes(tree, codec, chunk_size)
    root, groups = _Node(b"", DIRECTORY), _in_order(below)
    nodes = [node for group in groups for node in group]
    _, pages = _index(nodes)  # for their count, which does not depend on where records lie
    records_at = PAGE * (1 + len(pages))
    root.at, at = records_at, records_at + root.record_size
    for node in nodes:
        node.at = _place(node.record_size, at)
        at = node.at + node.record_size
    records_end = at
    for directory in (root, *(node for node in nodes if node.kind == DIRECTORY)):
        first = below[directory.path]
        directory.place = first[0].at if first else directory.at
    for node in nodes:
        if node.kind == FILE:
            node.place = at
            at += len(node.data)
    if at > IMAGE_MAX:
        raise NF2Error(INVAL, f"the image would have {at} bytes: at most {IMAGE_MAX} are possible")
    seed, pages = _index(nodes)
    image = bytearray(at)
    for number, page in enumerate(pages):
        image[PAGE * (1 + number) : PAGE * (2 + number)] = _index_page(page)
    for node in (root, *nodes):
        record = node.record(len(below.get(node.path, ())))
        image[node.at : node.at + len(record)] = record
        if node.kind == FILE:
            image[node.place : node.place + len(node.data)] = node.data
    header = HEADER.pack(
        MAGIC, FORMAT, 0, at, len(nodes), len(pages), PAGE, records_at, records_end, seed,
        root.at, zlib.crc32(bytes(image[HEADER_SIZE:])),
    )  # fmt: skip
    header += bytes(HEADER_SIZE - 4 - len(header))
    image[:HEADER_SIZE] = header + struct.pack("<I", zlib.crc32(header))
    files = [node for node in nodes if node.kind == FILE]
    return Made(
        bytes(image),
        len(files),
        sum(node.size for node in files),
        sum(len(node.data) for node in files),
        sum(node.codec != 0 for node in files),
    )


# ---- reading ----


@dataclass(frozen=True)
class Entry:
    path: str
    kind: int
    size: int
    stored: int
    place: int
    codec: int

    def is_dir(self) -> bool:
        return self.kind == DIRECTORY


class PackedImage:
    """An image that is read on a host. Raises NF2Error: FOREIGN, BLANK, CORRUPT, VERSION."""

    def __init__(self, data: bytes):
        if not data.startswith(MAGIC):
            if data[:PAGE].strip(b"\xff"):
                raise NF2Error(FOREIGN, "is no read-only image of NF2FS")
            raise NF2Error(BLANK, "holds no read-only image: it is blank")
        head = data[: HEADER_SIZE - 4]
        if len(data) < PAGE or _crc_at(data, HEADER_SIZE - 4) != zlib.crc32(head):
            raise NF2Error(CORRUPT, "its header is damaged")
        (_, version, _, size, entries, _, _, self.first, self.end, _, self.root, crc) = (
            HEADER.unpack_from(data)
        )
        if version != FORMAT:
            raise NF2Error(VERSION, f"is a read-only image of format {version}: not known here")
        if size > len(data):
            raise NF2Error(CORRUPT, f"has {len(data)} bytes of {size}")
        if self.end > size:
            raise NF2Error(CORRUPT, "its header says what cannot be")
        self.data, self.size, self.entries = data[:size], size, entries
        self.sound = zlib.crc32(self.data[HEADER_SIZE:]) == crc

    def _record(self, at: int) -> tuple[Entry, int]:
        if not self.first <= at <= self.end - RECORD.size:
            raise NF2Error(CORRUPT, "a record lies outside of its place")
        length, kind, path_length, size, place, stored, codec, _, _ = RECORD.unpack_from(
            self.data, at
        )
        end = at + RECORD.size + path_length
        if (
            length != RECORD.size + path_length + 4
            or end + 4 > self.end
            or _crc_at(self.data, end) != zlib.crc32(self.data[at:end])
            or kind not in (FILE, DIRECTORY)
            or place + stored > self.size
        ):
            raise NF2Error(CORRUPT, f"the record at {at} is damaged")
        path = "/" + decode(self.data[at + RECORD.size : end])
        return Entry(path, kind, size, stored, place, codec), end + 4

    def _children(self, directory: Entry) -> Iterator[Entry]:
        at = directory.place
        for _ in range(directory.size):
            inside = at % PAGE
            if inside > PAGE - RECORD.size or self.data[at : at + 2] in (b"\0\0", b""):
                at += PAGE - inside
            entry, at = self._record(at)
            if posixpath.dirname(entry.path) != directory.path:
                raise NF2Error(CORRUPT, f"{directory.path} lists what is not in it")
            yield entry

    def walk(self) -> Iterator[Entry]:
        """Each directory and file, directories before what is in them. A path that comes twice is
        an error, so that it ends on any image."""
        waiting, seen = [self._record(self.root)[0]], {"/"}
        while waiting:
            for entry in self._children(waiting.pop()):
                if entry.path in seen:
                    raise NF2Error(CORRUPT, "is there twice", entry.path)
                seen.add(entry.path)
                yield entry
                if entry.is_dir():
                    waiting.append(entry)

    def find(self, path: str) -> Entry:
        wanted = "/" + "/".join(part for part in path.split("/") if part)
        if wanted == "/":
            return self._record(self.root)[0]
        for entry in self.walk():
            if entry.path == wanted:
                return entry
        raise NF2Error(NOENT, "no such file or directory", path)

    def read(self, entry: Entry) -> bytes:
        """A file's content, unpacked."""
        if entry.is_dir():
            raise NF2Error(ISDIR, "is a directory", entry.path)
        stored = self.data[entry.place : entry.place + entry.stored]
        if entry.codec == 0:
            return stored
        try:
            found = chunks.decompress(stored)
        except NF2Error as error:
            raise NF2Error(error.code, error.text, entry.path) from None
        if len(found) != entry.size:
            raise NF2Error(CORRUPT, "has another size than its record says", entry.path)
        return found


def _crc_at(data: bytes, at: int) -> int:
    return struct.unpack_from("<I", data, at)[0]


def is_packed(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
