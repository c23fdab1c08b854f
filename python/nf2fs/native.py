# SPDX-License-Identifier: BSD-2-Clause
"""The compiled library: finds it, declares it from host.h, and turns its calls into Python calls.
 Everything above this module uses only the methods below, so that a test can put another backend in
its place.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from .errors import CORRUPT, GEOMETRY, INVAL, IO, NOENT, LibraryMissing, NF2Error

NAME_SIZE = 256
MESSAGE_SIZE = 256
ATTR_MOST = 256  # ids that an entry may have, and bytes of one attribute
STATFS = ("block_size", "blocks", "free", "erased", "available", "bad")
HEALTH = ("erases_min", "erases_max", "erases_mean", "erases_total", "mounts_unclean", "blocks_bad")
COUNTS = (
    "read_calls",
    "read_bytes",
    "read_pages",
    "program_calls",
    "program_bytes",
    "program_pages",
    "erases_small",
    "erases_middle",
    "erases_large",
    "time_us",
)


# In the order of nf2_finding_kind (nf2fs.h) and repair_state (repair.h).
FINDINGS = (
    "super",
    "meta",
    "batch",
    "node",
    "tree",
    "range",
    "twice",
    "entry",
    "name",
    "size",
    "data",
    "outside",
    "owners",
    "free",
    "erased",
    "count",
    "id",
    "lost",
    "shared",
    "removed",
    "cycle",
)
ITEM_STATES = ("complete", "unsure", "doubtful", "found", "copy", "damaged", "lost")
NOWHERE = 0xFFFFFFFF  # in the place of a block
WORD_MAX = 0xFFFFFFFF

# The sizes that NF2FS takes: see nf2fs/flash.h.
PAGES = (256, 512)
BLOCKS = tuple(1 << shift for shift in range(12, 17))
UNITS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. If names may be lost with it they lie between `first` and `last`."""

    kind: str
    text: str
    block: int | None = None
    id: int | None = None
    number: int = 0
    name: str | None = None
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True)
class Item:
    """A file or directory that was found in a damaged image."""

    path: str
    is_dir: bool
    state: str
    size: int
    lost: int
    end_lost: bool
    left_out: bool
    unchecked: int = 0  # bytes that no check covers


@dataclass(frozen=True)
class Chip:
    source: str  # what it is asked for with: its name in the catalogue, or the path of its file
    name: str
    description: str
    size: int
    page_size: int
    block_size: int
    program_unit: int
    endurance: int
    erase_largest: int
    erase_us: int
    volume_offset: int = 0  # bytes: where the volume begins on the chip
    volume_size: int = 0  # bytes; 0: to the chip's end

    @property
    def geometry(self) -> tuple[int, int, int, int]:
        return self.size, self.page_size, self.block_size, self.program_unit

    @property
    def unfit(self) -> str | None:
        """Why NF2FS does not run on the chip; None: it does, as far as its pages and blocks go."""
        for what, is_right, needed in (
            ("pages", self.page_size in PAGES, "256 or 512"),
            ("blocks", self.block_size in BLOCKS, "4096 to 65536"),
            ("program units", self.program_unit in UNITS, "1 to 32"),
        ):
            if not is_right:
                kind = "it is NAND, and " if self.program_unit == self.page_size > 512 else ""
                return f"{kind}NF2FS needs NOR flash with {what} of {needed} bytes"
        return None


PLACE = re.compile(r"(?P<chip>.+)@(?P<offset>\d+[KM]?)\+(?P<size>\d+[KM]?)", re.S)


def split_place(chip: str) -> tuple[str, int, int]:
    """A chip, and the part of it that a volume takes: "w25q256@1M+4M"; without that the whole
    chip."""
    found = PLACE.fullmatch(chip)
    if not found:
        return chip, 0, 0
    return found["chip"], parse_size(found["offset"]), parse_size(found["size"])


def parse_size(text: str) -> int:
    """A number of bytes; a K or M behind it: KiB, MiB."""
    unit = {"K": 1024, "M": 1024 * 1024}.get(text[-1:], 1)
    return int(text.rstrip("KM")) * unit


def check_place(chip: Chip) -> Chip:
    """Refuses a part that is none of the chip."""
    offset, size = chip.volume_offset, chip.volume_size
    if offset % chip.block_size or size % chip.block_size:
        raise NF2Error(
            INVAL,
            f"the volume's place must be in whole blocks of {chip.block_size} bytes",
            chip.source,
        )
    if (offset or size) and (
        size == 0 or offset + size > chip.size or max(offset, size) > WORD_MAX
    ):
        raise NF2Error(
            INVAL, f"the volume's place is not within the chip's {chip.size} bytes", chip.source
        )
    return chip


def library_names() -> list[str]:
    return {"darwin": ["libnf2host.dylib"], "win32": ["nf2host.dll", "libnf2host.dll"]}.get(
        sys.platform, ["libnf2host.so"]
    )


def find_library() -> Path | None:
    """$NF2FS_LIBRARY, the package's own directory (installed), or a build directory of the source
    tree."""
    given = os.environ.get("NF2FS_LIBRARY")
    if given:
        return Path(given)
    package = Path(__file__).resolve().parent
    root = package.parent.parent
    directories = [
        package,
        root / "build",
        root / "build" / "python",
        root / "build" / "host" / "python",
    ]
    for directory in directories:
        for name in library_names():
            if (directory / name).is_file():
                return directory / name
    found = [path for name in library_names() for path in (root / "build").glob(f"*/**/{name}")]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)  # the newest build


def declarations() -> str:
    """The part of host.h between its two marks."""
    package = Path(__file__).resolve().parent
    for header in (package / "host.h", package.parent / "native" / "host.h"):
        if header.is_file():
            text = header.read_text()
            return text.split("/* cdef begin */", 1)[1].split("/* cdef end */", 1)[0]
    raise LibraryMissing("host.h is missing beside the package")


def encode_path(path: str | os.PathLike | bytes) -> bytes:
    """A path as the C library takes it: names are bytes; text that is not UTF-8 passes as
    surrogates."""
    raw = path if isinstance(path, bytes) else os.fspath(path)
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogateescape")
    if b"\0" in raw:
        raise NF2Error(INVAL, "a path holds a NUL byte", decode(raw))
    return raw


def decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


class Library:
    """The compiled library, loaded."""

    def __init__(self, path: str | os.PathLike | None = None):
        from cffi import FFI

        found = Path(path) if path else find_library()
        if found is None or not found.is_file():
            raise LibraryMissing(
                "the compiled library (libnf2host) was not found: build it (`make tools`), install the "
                "package, or name it in NF2FS_LIBRARY"
            )
        self.ffi = FFI()
        self.ffi.cdef(declarations())
        self.c = self.ffi.dlopen(str(found))
        self.path = found

    def version(self) -> str:
        return self._text(self.c.nf2h_version())

    def format_version(self) -> int:
        """The format of volumes that it reads and writes."""
        return self.c.nf2h_format_version()

    def error_text(self, code: int) -> str:
        return self._text(self.c.nf2h_error_text(code))

    def chips(self) -> list[Chip]:
        found, index = [], 0
        while (name := self.c.nf2h_chip_name(index)) != self.ffi.NULL:
            found.append(self._chip(self._text(name)))
            index += 1
        return found

    def chip(self, wanted: str) -> Chip:
        """A chip of the catalogue by name, one from a chip file by its path, or
        "generic-SIZE-PAGE-BLOCK-UNIT".

        "@OFFSET+SIZE" behind it names the part of the chip that holds the volume.
        """
        name, offset, size = split_place(wanted)
        known = next((one for one in self.chips() if one.name == name.lower()), None)
        return check_place(
            replace(
                known or self._chip(name), source=wanted, volume_offset=offset, volume_size=size
            )
        )

    def open_image(self, chip: str, path: str, read_only: bool) -> "Image":
        """An image file of a chip, made blank where it does not exist and is to be written."""
        return self._open_image(chip, encode_path(path), read_only, path)

    def open_memory(self, chip: str) -> "Image":
        """A blank chip in memory."""
        return self._open_image(chip, self.ffi.NULL, False, None)

    def _open_image(self, chip: str, path, read_only: bool, shown: str | None) -> "Image":
        name, offset, size = self._place(chip)
        message = self.ffi.new("char[]", MESSAGE_SIZE)
        handle = self.c.nf2h_image_open(
            name, path, int(read_only), offset, size, message, MESSAGE_SIZE
        )
        if handle == self.ffi.NULL:
            raise NF2Error(INVAL, self._message(message, shown), shown)
        return Image(self, handle)

    def open_device(
        self, geometry: tuple[int, ...], read, program, erase, offset: int, size: int
    ) -> "Image":
        """A chip that Python functions drive: read(address, buffer), program(address, data),
        erase(address, length).

        They return 0 or a negative number; `geometry` as for nf2h_image_over.
        """
        buffer = self.ffi.buffer
        callbacks = (
            self.ffi.callback(
                "int(void *, uint32_t, void *, uint32_t)",
                lambda _, address, data, length: read(address, buffer(data, length)),
                error=IO,
            ),
            self.ffi.callback(
                "int(void *, uint32_t, const void *, uint32_t)",
                lambda _, address, data, length: program(address, bytes(buffer(data, length))),
                error=IO,
            ),
            self.ffi.callback(
                "int(void *, uint32_t, uint32_t)",
                lambda _, address, length: erase(address, length),
                error=IO,
            ),
        )
        handle = self.c.nf2h_image_over(list(geometry), *callbacks, self.ffi.NULL, offset, size)
        if handle == self.ffi.NULL:
            raise NF2Error(GEOMETRY, self.error_text(GEOMETRY), None)
        return Image(self, handle, callbacks)

    def probe(self, data, geometry: tuple[int, int, int, int]) -> int:
        """How a read-only mount answers of `data`, taken for a chip of (size, page, block, unit):
        0, or a code."""
        return self.c.nf2h_probe(self.ffi.from_buffer("uint8_t[]", data), len(data), list(geometry))

    def open_repair(self, chip: str, path: str) -> "Repair":
        """Reads all that can be read of a damaged image."""
        name, offset, size = self._place(chip)
        message = self.ffi.new("char[]", MESSAGE_SIZE)
        handle = self.c.nf2h_repair_open(
            name, encode_path(path), offset, size, message, MESSAGE_SIZE
        )
        if handle == self.ffi.NULL:
            raise NF2Error(INVAL, self._message(message, path), path)
        return Repair(self, handle)

    def _place(self, chip: str) -> tuple[bytes, int, int]:
        name, offset, size = split_place(chip)
        return encode_path(name if os.path.exists(name) else name.lower()), offset, size

    def _message(self, message, path: str | None) -> str:
        """A message of the library; the path in front of it belongs to the error, which names it
        already."""
        return self._text(message).removeprefix(f"{path}: ")

    def raise_on_error(self, result: int, path: str | None = None) -> int:
        if result < 0:
            raise NF2Error(result, self.error_text(result), path)
        return result

    def _chip(self, wanted: str) -> Chip:
        out = self.ffi.new("uint64_t[7]")
        name, description = (self.ffi.new("char[]", MESSAGE_SIZE) for _ in range(2))
        message = self.ffi.new("char[]", MESSAGE_SIZE)
        if (
            self.c.nf2h_chip_info(
                encode_path(wanted), out, name, description, message, MESSAGE_SIZE
            )
            < 0
        ):
            unknown = not wanted.startswith("generic-") and not os.path.exists(wanted)
            remedy = "catalogue" if unknown else None
            text = self._text(message) or "no such chip"
            raise NF2Error(NOENT, text + (self._guess(wanted) if unknown else ""), None, remedy)
        return Chip(
            wanted, self._text(name), self._text(description), *(int(value) for value in out)
        )

    def _guess(self, wanted: str) -> str:
        """What may be meant by a name that is none: a part number has more behind the name."""
        if "@" in wanted:
            chip = wanted.split("@")[0]
            return f"; a part of a chip is named with its size, too: {chip}@OFFSET+SIZE"
        names = [one.name for one in self.chips()]
        longer = [name for name in names if wanted.lower().startswith(name)]
        if longer:
            return f"; is it {max(longer, key=len)}?"
        near = difflib.get_close_matches(wanted.lower(), names, 3)
        return f"; is it {' or '.join(near)}?" if near else ""

    def _text(self, pointer) -> str:
        return decode(self.ffi.string(pointer))


class Image:
    """An open image file: a chip, and on it a volume that may be mounted.

    The library takes one call at a time: `lock` is held over each, and by callers over calls that
    belong together. Any number of threads may use an image.
    """

    def __init__(self, library: Library, handle, callbacks=()):
        self.library, self.handle = library, handle
        self.ffi, self.c = library.ffi, library.c
        self.lock = threading.RLock()
        self._inside = False  # is a call running? The chip's functions may be Python's
        self._left: list = []  # listings that were given up while a call was running
        self._callbacks = callbacks  # kept as long as the image
        self.fault: BaseException | None = None  # what a function of the caller's chip raised last
        self._reason: BaseException | None = None  # of the last error, where that was one

    def memory(self, size: int):
        """The chip's contents, as a writable buffer."""
        with self.lock:
            return self.ffi.buffer(self.c.nf2h_image_memory(self._open_handle()), size)

    def close(self) -> None:
        with self.lock:
            if self.handle is not None:
                self._open_handle()
                self._close_left()
                self.c.nf2h_image_close(self.handle)
                self.handle = None

    def flush(self) -> None:
        self._call(self.c.nf2h_image_flush)

    def format(self, erase: bool) -> None:
        self._call(self.c.nf2h_format, int(erase))

    def mount(self, read_only: bool) -> None:
        self._call(self.c.nf2h_mount, int(read_only))

    def unmount(self) -> None:
        self._call(self.c.nf2h_unmount)

    def maintain(self, budget_us: int) -> bool:
        return bool(self._call(self.c.nf2h_maintain, budget_us))

    def statfs(self) -> dict[str, int]:
        return self._numbers(self.c.nf2h_statfs, STATFS)

    def health(self) -> dict[str, int]:
        return self._numbers(self.c.nf2h_health, HEALTH)

    def counts(self) -> dict[str, int]:
        return self._numbers(self.c.nf2h_image_counts, COUNTS)

    def blocks(self, count: int) -> tuple[bytes, list[int]]:
        """The states and erase counts of the first `count` blocks."""
        states = self.ffi.new("uint8_t[]", count)
        erases = self.ffi.new("uint32_t[]", count)
        self._call(self.c.nf2h_blocks, states, erases, count)
        return bytes(self.ffi.buffer(states)), list(erases)

    def start_trace(self, path: str | os.PathLike):
        """From now on each operation of the chip is appended to a file. None: it cannot be made."""
        with self.lock:
            trace = self.c.nf2h_trace_start(self._open_handle(), encode_path(path))
        return None if trace == self.ffi.NULL else trace

    def stop_trace(self, trace) -> None:
        with self.lock:
            if self.handle is not None:
                self.c.nf2h_trace_stop(self._open_handle(), trace)

    def left_cleanly(self) -> bool:
        """Was the volume left cleanly, as the read-only mount found it?"""
        return bool(self._call(self.c.nf2h_left_cleanly))

    def check(self) -> tuple[int, list[Finding]]:
        with self.lock:  # the findings are those of the last check
            return self._call(self.c.nf2h_check), list(self._findings())

    def _findings(self) -> Iterator[Finding]:
        out, name = self.ffi.new("uint64_t[5]"), self.ffi.new("uint8_t[256]")
        text, index = self.ffi.new("const char *[1]"), 0
        while self._call(self.c.nf2h_finding, index, out, name, text):
            kind, block, number_of, number, length = (int(value) for value in out)
            yield Finding(
                FINDINGS[kind],
                self.library._text(text[0]),
                None if block == NOWHERE else block,
                number_of or None,
                number,
                decode(bytes(self.ffi.buffer(name, length))) if length else None,
            )
            index += 1

    def stat(self, path: str) -> tuple[int, int]:
        out = self.ffi.new("uint64_t[2]")
        self._call(self.c.nf2h_stat, encode_path(path), out, path=path)
        return int(out[0]), int(out[1])

    def mkdir(self, path: str) -> None:
        self._call(self.c.nf2h_mkdir, encode_path(path), path=path)

    def remove(self, path: str) -> None:
        self._call(self.c.nf2h_remove, encode_path(path), path=path)

    def rename(self, source: str, target: str) -> None:
        names = encode_path(source), encode_path(target)
        self._call(self.c.nf2h_rename, *names, path=source)

    def attributes(self, path: str) -> dict[int, bytes]:
        """By their ids, the lowest first."""
        ids, data = self.ffi.new("uint8_t[]", ATTR_MOST), self.ffi.new("uint8_t[]", ATTR_MOST)
        name, found = encode_path(path), {}
        with self.lock:
            count = self._call(self.c.nf2h_listattr, name, ids, ATTR_MOST, path=path)
            for number in sorted(ids[0:count]):
                size = self._call(self.c.nf2h_getattr, name, number, data, ATTR_MOST, path=path)
                found[number] = bytes(self.ffi.buffer(data, size))
        return found

    def set_attributes(self, path: str, values: Mapping[int, bytes | None]) -> None:
        """All with one change; None removes one."""
        kept = [None if value is None else self.ffi.from_buffer(value) for value in values.values()]
        lengths = [0 if value is None else len(value) for value in values.values()]
        pointers = [self.ffi.NULL if value is None else value for value in kept]
        data = self.ffi.new("void *[]", [self.ffi.cast("void *", value) for value in pointers])
        arrays = (bytes(values), bytes(lengths), data, len(values))
        self._call(self.c.nf2h_setattr, encode_path(path), *arrays, path=path)

    def entries(self, path: str) -> Iterator[tuple[str, int, int]]:
        """(name, type, size) of each entry, up to the first that cannot be read."""
        slot = self.ffi.new("nf2h_dir **")
        self._call(self.c.nf2h_dir_open, encode_path(path), slot, path=path)
        name, out = self.ffi.new("char[]", NAME_SIZE), self.ffi.new("uint64_t[2]")
        try:
            while self._run(self.c.nf2h_dir_read, slot[0], name, out, path=path):
                yield decode(self.ffi.string(name)), int(out[0]), int(out[1])
        finally:
            with self.lock:
                self._left.append(slot[0])
                self._close_left()

    def open_file(self, path: str, flags: int) -> "FileHandle":
        slot = self.ffi.new("nf2h_file **")
        self._call(self.c.nf2h_file_open, encode_path(path), flags, slot, path=path)
        return FileHandle(self, slot[0], path)

    def _call(self, function, *arguments, path: str | None = None) -> int:
        """A call of the library about this image; raises what it fails with."""
        with self.lock:
            return self._run(function, self._open_handle(), *arguments, path=path)

    def _run(self, function, *arguments, path: str | None = None) -> int:
        """As `_call`, for a function whose first argument is a file or a listing of this image."""
        with self.lock:
            self._open_handle()
            self._close_left()
            self._inside = True
            try:
                result = function(*arguments)
            finally:
                self._inside = False
            return self._ok(result, path)

    def _close_left(self) -> None:
        """A listing may be given up anywhere, also by the garbage collector in a chip's function."""
        while self._left and not self._inside:
            listing = self._left.pop()
            (self.c.nf2h_dir_close if self.handle is not None else self.c.nf2h_dir_drop)(listing)

    def _open_handle(self):
        """For a call; the lock is held."""
        if self.handle is None:
            raise ValueError("the volume is closed")
        if self._inside:
            raise RuntimeError("a function of the chip has called the volume that is on the chip")
        return self.handle

    def _ok(self, result: int, path: str | None = None) -> int:
        fault, self.fault = self.fault, None
        if fault is not None and not isinstance(fault, Exception):
            raise fault  # such as KeyboardInterrupt
        if result >= 0:
            return result
        if result == IO and fault is None:
            fault = self._reason  # a failure that the volume was left with
        self._reason = fault
        try:
            return self.library.raise_on_error(result, path)
        except NF2Error as error:
            if result in (CORRUPT, IO) and not self._callbacks:
                error.remedy = "damaged"
            raise error from fault

    def _numbers(self, function, names: tuple[str, ...]) -> dict[str, int]:
        out = self.ffi.new("uint64_t[]", len(names))
        self._call(function, out)
        return {name: int(value) for name, value in zip(names, out)}


class Repair:
    """What is left of the volume in a damaged image."""

    def __init__(self, library: Library, handle):
        self.library, self.handle = library, handle
        self.ffi, self.c = library.ffi, library.c

    def close(self) -> None:
        if self.handle is not None:
            self.c.nf2h_repair_close(self.handle)
            self.handle = None

    def lossy(self) -> bool:
        """Is anything lost, or in doubt?"""
        return bool(self.c.nf2h_repair_lossy(self.handle))

    def names_lost(self) -> bool:
        """May there have been files that nothing tells of any more?"""
        return bool(self.c.nf2h_repair_names_lost(self.handle))

    def clean(self) -> bool:
        """Was the volume left cleanly, and is its root log whole? Then nothing is a guess."""
        return bool(self.c.nf2h_repair_clean(self.handle))

    def items(self) -> list[Item]:
        out, found = self.ffi.new("uint64_t[7]"), []
        while (path := self.c.nf2h_repair_item(self.handle, len(found), out)) != self.ffi.NULL:
            kind, state, size, lost, end_lost, left_out, unchecked = (int(value) for value in out)
            found.append(
                Item(
                    self.library._text(path),
                    kind == 2,
                    ITEM_STATES[state],
                    size,
                    lost,
                    bool(end_lost),
                    bool(left_out),
                    unchecked,
                )
            )
        return found

    def read(self, item: int, at: int, length: int) -> bytes:
        """Bytes of a file, zeros for those that are lost."""
        data = self.ffi.new("uint8_t[]", length)
        done = self.c.nf2h_repair_read(self.handle, item, at, data, length)
        return bytes(self.ffi.buffer(data, done))

    def lost_ranges(self, item: int, most: int) -> list[tuple[int, int]]:
        """The first of the ranges of a file's bytes that are lost."""
        out, found = self.ffi.new("uint64_t[2]"), []
        while len(found) < most and self.c.nf2h_repair_lost(self.handle, item, len(found), out):
            found.append((int(out[0]), int(out[1])))
        return found

    def findings(self) -> list[Finding]:
        """What tells of damage, also such as a mount passes over."""
        out, text, found = self.ffi.new("uint64_t[5]"), self.ffi.new("const char *[3]"), []
        index = 0
        while self.c.nf2h_repair_finding(self.handle, index, out, text):
            kind, block, number_of, number, damage = (int(value) for value in out)
            words = [None if one == self.ffi.NULL else self.library._text(one) for one in text]
            if damage:
                where = None if block == NOWHERE else block
                found.append(
                    Finding(
                        FINDINGS[kind],
                        words[0],
                        where,
                        number_of or None,
                        number,
                        first=words[1],
                        last=words[2],
                    )
                )
            index += 1
        return found

    def state_text(self, state: str) -> str:
        return self.library._text(self.c.nf2h_repair_state_text(ITEM_STATES.index(state)))

    def path_of(self, number: int) -> str | None:
        """The path of a directory's or file's id."""
        path = self.c.nf2h_repair_path(self.handle, number)
        return None if path == self.ffi.NULL else self.library._text(path) or "/"

    def write(self, image: Image) -> None:
        """Writes all into an empty volume that is mounted for writing."""
        self._over(self.c.nf2h_repair_write, image)

    def verify(self, image: Image) -> None:
        """Compares a mounted volume with what was written into it."""
        self._over(self.c.nf2h_repair_verify, image)

    def _over(self, function, image: Image) -> None:
        message = self.ffi.new("char[]", MESSAGE_SIZE)
        self.library.raise_on_error(
            function(self.handle, image.handle, message, MESSAGE_SIZE),
            self.library._text(message) or None,
        )


class FileHandle:
    """An open file of a mounted volume."""

    def __init__(self, image: Image, handle, path: str):
        self.image, self.handle, self.path = image, handle, path
        self.ffi, self.c = image.ffi, image.c

    def close(self) -> None:
        with self.image.lock:
            self.image._open_handle()
            handle, self.handle = self.handle, None
            if handle is not None:
                self.image._run(self.c.nf2h_file_close, handle, path=self.path)

    def discard(self) -> None:
        """Closes without a sync: what was not synced is given up."""
        with self.image.lock:
            self.image._open_handle()
            handle, self.handle = self.handle, None
            if handle is not None:
                self.image._run(self.c.nf2h_file_discard, handle, path=self.path)

    def drop(self) -> None:
        with self.image.lock:
            handle, self.handle = self.handle, None
            if handle is not None:
                self.c.nf2h_file_drop(handle)

    def readinto(self, buffer) -> int:
        data = self.ffi.from_buffer(buffer, require_writable=True)
        return self._call(self.c.nf2h_file_read, data, len(buffer))

    def write(self, data) -> int:
        return self._call(self.c.nf2h_file_write, self.ffi.from_buffer(data), len(data))

    def seek(self, offset: int, whence: int) -> int:
        return self._call(self.c.nf2h_file_seek, offset, whence)

    def size(self) -> int:
        return self._call(self.c.nf2h_file_size)

    def truncate(self, size: int) -> None:
        self._call(self.c.nf2h_file_truncate, size)

    def preallocate(self, size: int) -> None:
        self._call(self.c.nf2h_file_preallocate, size)

    def sync(self) -> None:
        self._call(self.c.nf2h_file_sync)

    def _call(self, function, *arguments) -> int:
        with self.image.lock:
            if self.handle is None:
                raise ValueError("I/O operation on closed file")
            return self.image._run(function, self.handle, *arguments, path=self.path)


@lru_cache(maxsize=1)
def load() -> Library:
    """The library, loaded once."""
    return Library()
