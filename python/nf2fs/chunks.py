# SPDX-License-Identifier: BSD-2-Clause
"""Files that are compressed in chunks, as packed/nf2_chunks.h reads them on a device. The codecs
come from libraries: `pip install "nf2fs[compress]"`."""

from __future__ import annotations

import importlib
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from .errors import INVAL, IO, VERSION, NF2Error

MAGIC = b"NF2CHUNK"
FORMAT = 1
HEADER = struct.Struct("<8sBBBBIIII")  # and the CRC of it
HEADER_SIZE = HEADER.size
ENTRY = struct.Struct("<II")  # where the chunk ends, and its CRC
CHUNK_MIN, CHUNK_MAX = 256, 32768
DEFAULT_CHUNK = 4096
HEATSHRINK_WINDOW, HEATSHRINK_LOOKAHEAD = 8, 4
HEATSHRINK_PARAMETER = HEATSHRINK_WINDOW * 16 + HEATSHRINK_LOOKAHEAD


@dataclass(frozen=True)
class Codec:
    """`pack` makes bytes smaller, or not; `unpack` takes them back, with the size that they had."""

    name: str
    number: int
    parameter: int
    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes, int], bytes]


def _library(name: str, codec: str):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NF2Error(
            INVAL,
            f"the codec {codec} needs the Python package {name.partition('.')[0]}: "
            'pip install "nf2fs[compress]"',
        ) from None


def _lz4() -> Codec:
    block = _library("lz4.block", "lz4")
    return Codec(
        "lz4",
        1,
        0,
        lambda data: block.compress(
            data, mode="high_compression", compression=12, store_size=False
        ),
        lambda data, size: block.decompress(data, uncompressed_size=size),
    )


def _heatshrink() -> Codec:
    library = _library("heatshrink2", "heatshrink")
    sizes = {"window_sz2": HEATSHRINK_WINDOW, "lookahead_sz2": HEATSHRINK_LOOKAHEAD}
    return Codec(
        "heatshrink",
        2,
        HEATSHRINK_PARAMETER,
        lambda data: library.compress(data, **sizes),
        lambda data, size: library.decompress(data, **sizes),
    )


CODECS: dict[str, Callable[[], Codec]] = {"lz4": _lz4, "heatshrink": _heatshrink}


def codec_of(name: str) -> Codec:
    if name not in CODECS:
        raise NF2Error(INVAL, f"no codec {name!r} (known: {', '.join(CODECS)})")
    return CODECS[name]()


def _codec_of_number(number: int, parameter: int) -> Codec:
    numbers = {1: "lz4", 2: "heatshrink"}
    if number not in numbers or parameter != (HEATSHRINK_PARAMETER if number == 2 else 0):
        raise NF2Error(
            VERSION, f"is compressed with codec {number}, parameter {parameter}: not known here"
        )
    return codec_of(numbers[number])


def check_chunk_size(size: int) -> int:
    if size < CHUNK_MIN or size > CHUNK_MAX or size & (size - 1):
        raise NF2Error(
            INVAL, f"a chunk has {CHUNK_MIN} to {CHUNK_MAX} bytes, a power of two; not {size}"
        )
    return size


# ---- writing ----


def compress(data: bytes, codec: Codec, chunk_size: int = DEFAULT_CHUNK) -> bytes:
    """The whole file; a chunk that does not become smaller is stored as it is."""
    check_chunk_size(chunk_size)
    pieces = []
    for start in range(0, len(data), chunk_size):
        plain = data[start : start + chunk_size]
        small = codec.pack(plain)
        if len(small) < len(plain) and codec.unpack(small, len(plain)) != plain:
            raise NF2Error(IO, f"the library of {codec.name} did not give back what it was given")
        pieces.append(small if len(small) < len(plain) else plain)
    end = HEADER_SIZE + 4 + len(pieces) * ENTRY.size
    table = bytearray()
    for piece in pieces:
        end += len(piece)
        table += ENTRY.pack(end, zlib.crc32(piece))
    if end > 0x7FFFFFFF:
        raise NF2Error(INVAL, "is too large")
    header = HEADER.pack(
        MAGIC,
        FORMAT,
        codec.number,
        chunk_size.bit_length() - 1,
        codec.parameter,
        len(data),
        end,
        0,
        0,
    )
    return header + struct.pack("<I", zlib.crc32(header)) + bytes(table) + b"".join(pieces)


def smaller(data: bytes, codec: Codec, chunk_size: int = DEFAULT_CHUNK) -> bytes | None:
    """The compressed file where it takes less room. A file that begins as a compressed one does
    is always compressed, so that nobody takes its own content for such a header."""
    packed = compress(data, codec, chunk_size)
    return packed if len(packed) < len(data) or is_compressed(data) else None


# ---- reading ----


def is_compressed(head: bytes) -> bool:
    """Of the first bytes of a file."""
    whole = HEADER_SIZE + 4
    return (
        len(head) >= whole
        and head.startswith(MAGIC)
        and struct.unpack_from("<I", head, HEADER_SIZE)[0] == zlib.crc32(head[:HEADER_SIZE])
    )


def decompress(data: bytes) -> bytes:
    """Raises NF2Error: VERSION (a later format, an unknown codec), IO (damage)."""
    if not is_compressed(data):
        raise NF2Error(INVAL, "is not compressed")
    _, version, number, bits, parameter, size, stored, _, _ = HEADER.unpack_from(data)
    if version != FORMAT:
        raise NF2Error(VERSION, f"has the format {version} of compressed files: not known here")
    count = -(-size // (1 << bits)) if 8 <= bits <= 15 else -1
    begin = HEADER_SIZE + 4 + count * ENTRY.size
    if count < 0 or stored != len(data) or begin > stored:
        raise NF2Error(IO, "its header says what cannot be")
    codec, plain = _codec_of_number(number, parameter), bytearray()
    for at in range(count):
        end, crc = ENTRY.unpack_from(data, HEADER_SIZE + 4 + at * ENTRY.size)
        wanted = min(1 << bits, size - len(plain))
        piece = data[begin:end]
        if not begin < end <= stored or len(piece) > wanted or zlib.crc32(piece) != crc:
            raise NF2Error(IO, f"chunk {at} is damaged")
        plain += piece if len(piece) == wanted else _unpack(codec, piece, wanted, at)
        begin = end
    return bytes(plain)


def _unpack(codec: Codec, piece: bytes, size: int, number: int) -> bytes:
    try:
        found = codec.unpack(piece, size)
    except Exception as error:  # each library has its own
        raise NF2Error(IO, f"chunk {number} cannot be unpacked: {error}") from None
    if len(found) != size:
        raise NF2Error(IO, f"chunk {number} has {len(found)} bytes, not {size}")
    return found
