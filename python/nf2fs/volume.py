# SPDX-License-Identifier: BSD-2-Clause
"""A mounted volume and its files, shaped like littlefs-python's LittleFS object."""

from __future__ import annotations

import io
import os
import posixpath
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal, overload

from . import attributes, interrupts
from . import errors as codes
from .errors import (
    EXIST,
    INVAL,
    ISDIR,
    NAMETOOLONG,
    NOENT,
    NOSPC,
    NOTDIR,
    NF2Error,
    OutOfRange,
)
from .native import Finding, decode

if TYPE_CHECKING:
    from .paths import VolumePath

AnyPath = str | bytes | os.PathLike[str]

# Modes of `open`, by the kind of file that it returns.
TextMode = Literal[
    "r", "w", "x", "a", "r+", "w+", "x+", "a+", "rt", "wt", "xt", "at", "r+t", "w+t", "a+t"
]
ReadMode = Literal["rb", "br"]
WriteMode = Literal["wb", "xb", "ab", "bw", "bx", "ba"]
UpdateMode = Literal["r+b", "w+b", "x+b", "a+b", "rb+", "wb+", "xb+", "ab+"]

TYPE_FILE, TYPE_DIR = 1, 2
O_RDONLY, O_WRONLY, O_RDWR = 1, 2, 3
O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_SYNC = 0x10, 0x20, 0x40, 0x80, 0x100
OFFSET_MAX = 0x7FFFFFFF
BUDGET_MAX = 0xFFFFFFFF
DEPTH_MAX = 512  # directories inside directories, while walking: a damaged volume may hold a loop
COPY_SIZE = 64 * 1024


@dataclass(frozen=True)
class Stat:
    """One entry: `type` is TYPE_FILE or TYPE_DIR."""

    name: str
    type: int
    size: int

    def is_dir(self) -> bool:
        return self.type == TYPE_DIR

    def is_file(self) -> bool:
        return self.type == TYPE_FILE


IN_THE_WAY = (
    "is a file, so no directory can be made there; choose another name, or remove the file first"
)


def text_of(path: AnyPath) -> str:
    """A path as text; bytes that are not UTF-8 pass as surrogates."""
    raw = path if isinstance(path, bytes) else os.fspath(path)
    return decode(raw) if isinstance(raw, bytes) else raw


def refuse_depth(path: str) -> None:
    """What no walk reaches is not made: it could not be listed, copied or removed."""
    levels = posixpath.normpath("/" + path.strip("/")).count("/")
    if levels > DEPTH_MAX:
        text = (
            f"the path has {levels} levels of directories, and {DEPTH_MAX} is the most; "
            "choose a shorter path"
        )
        raise NF2Error(NAMETOOLONG, text, path)


def open_flags(mode: str) -> int:
    """nf2_open flags for a Python mode ('t' and 'b' are ignored)."""
    if not isinstance(mode, str):
        raise TypeError(f"a mode is a str, not {type(mode).__name__}")
    kind = mode.replace("t", "").replace("b", "")
    plain = kind.replace("+", "")
    flags = {"r": 0, "w": O_CREAT | O_TRUNC, "x": O_CREAT | O_EXCL, "a": O_CREAT | O_APPEND}.get(
        plain
    )
    if flags is None or kind.count("+") > 1 or ("t" in mode and "b" in mode):
        raise ValueError(f"invalid mode: {mode!r}")
    if "+" in kind:
        return flags | O_RDWR
    return flags | (O_RDONLY if plain == "r" else O_WRONLY)


class RawFile(io.RawIOBase):
    """An unbuffered file. `sync` makes what was written durable; closing does too."""

    def __init__(self, volume: "Volume", handle, flags: int, name: str):
        super().__init__()
        self._volume, self._handle, self._flags, self.name = volume, handle, flags, name
        self._guard = volume._guard  # the image's lock: see Volume

    @property
    def mode(self) -> str:
        """As that of a file of Python (io.FileIO), which gzip and others ask for."""
        kind = "x" if self._flags & O_EXCL else "a" if self._flags & O_APPEND else ""
        if self._flags & O_RDWR == O_RDWR:
            return (kind or "r") + "b+"
        return (kind or ("w" if self._flags & O_WRONLY else "r")) + "b"

    def readable(self) -> bool:
        return bool(self._flags & O_RDONLY)

    def writable(self) -> bool:
        return bool(self._flags & O_WRONLY)

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        self._check_open()
        if not self.readable():
            raise io.UnsupportedOperation("not readable")
        return self._handle.readinto(memoryview(buffer).cast("B"))

    def write(self, data) -> int:
        self._check_writable()
        return self._handle.write(memoryview(data).cast("B"))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._check_open()
        if abs(offset) > OFFSET_MAX:
            raise OutOfRange("position out of range", self.name)
        return self._handle.seek(offset, whence)

    def readall(self) -> bytes:
        with self._guard:
            return super().readall()

    def truncate(self, size: int | None = None) -> int:
        self._check_writable()
        with self._guard:
            size = self.tell() if size is None else size
            self._check_size(size)
            self._handle.truncate(size)
        return size

    def preallocate(self, size: int) -> None:
        self._check_writable()
        self._check_size(size)
        self._handle.preallocate(size)

    def sync(self) -> None:
        self._check_open()
        self._handle.sync()

    def close(self) -> None:
        with self._guard:
            if self.closed:
                return
            try:
                super().close()
            finally:
                self._volume._files.discard(self)
                if self._handle.handle is not None:
                    self._handle.close()

    def discard(self) -> None:
        """Closes the file and gives up what was not synced: it is as it was at its last sync."""
        with self._guard:
            if self.closed:
                return
            try:
                super().close()
            finally:
                self._volume._files.discard(self)
                if self._handle.handle is not None:
                    self._handle.discard()

    def __del__(self) -> None:
        """Nothing: the volume closes its files. A file that a signal kept from being used must not
        be synced."""

    def _drop(self) -> None:
        """After the volume was unmounted: frees the handle; what was not synced is gone."""
        self._handle.drop()
        super().close()

    def _check_open(self) -> None:
        if self.closed or self._handle.handle is None:
            raise ValueError("I/O operation on closed file")

    def _check_writable(self) -> None:
        self._check_open()
        if not self.writable():
            raise io.UnsupportedOperation("not writable")

    def _check_size(self, size: int) -> None:
        if not 0 <= size <= OFFSET_MAX:
            raise OutOfRange("size out of range", self.name)


class Volume:
    """A mounted volume; a context manager. Leaving it by an exception drops what open files had not
    synced.

    Any number of threads may use it. Each method is done whole before one of another thread begins.
    Not so `walk` and `iterdir`: others may go on, and remove what is listed, between two steps.
    """

    def __init__(self, image, path: str, chip, read_only: bool, lock=None):
        self._image, self.path, self.chip, self.read_only = image, path, chip, read_only
        self._lock = lock
        # Who holds the lock of a buffered file waits for this one, so nothing that holds this one
        # may call a buffered file.
        self._guard = image.lock
        self._final: bytes | None = None  # of a chip in memory, when the volume is closed
        self._files: set[RawFile] = set()
        self._wrappers: weakref.WeakSet[io.IOBase] = (
            weakref.WeakSet()
        )  # buffers over those files: they may hold unwritten data

    # ---- the volume ----

    def __enter__(self) -> "Volume":
        return self

    def __exit__(self, kind, value, trace) -> None:
        if kind is None:
            self.close()
            return
        try:
            self.close(discard=True)
        except NF2Error:
            pass  # the first error is the one to show

    def close(self, discard: bool = False) -> None:
        """Closes the files (or, with `discard`, drops what they had not synced), unmounts and
        writes the image."""
        with interrupts.shield():
            self._close(discard)

    def _close(self, discard: bool) -> None:
        first_error = None if discard or self._image is None else self._close_files()
        with self._guard:
            self._end()
        if first_error:
            raise first_error

    def _end(self) -> None:
        if self._image is None:
            return
        image = self._image
        try:
            image.unmount()
        finally:
            for file in list(self._files):
                file._drop()
            self._files.clear()
            if self._in_memory:
                self._final = self._memory_bytes()
            self._image = None
            try:
                if not self.read_only:
                    image.flush()
            finally:
                image.close()
                if self._lock is not None:
                    self._lock.release()

    @property
    def _in_memory(self) -> bool:
        return not self.path and self.chip.source != ""

    def _close_files(self) -> NF2Error | None:
        first = None
        with self._guard:
            files = list(self._wrappers) + list(self._files)
        for file in files:
            try:
                file.close()
            except NF2Error as error:
                first = first or error
        return first

    @property
    def image(self):
        if self._image is None:
            raise ValueError("the volume is closed")
        return self._image

    def statfs(self) -> dict[str, int]:
        return self.image.statfs()

    def health(self) -> dict[str, int]:
        return self.image.health()

    def counts(self) -> dict[str, int]:
        """Operations of the virtual chip since the image was opened."""
        return self.image.counts()

    def blocks(self) -> tuple[bytes, list[int]]:
        with self._guard:
            return self.image.blocks(self.statfs()["blocks"])

    def left_cleanly(self) -> bool:
        """Was the volume left cleanly, as a read-only mount found it?"""
        return self.image.left_cleanly()

    def check(self) -> tuple[int, list[Finding]]:
        return self.image.check()

    def maintain(self, budget_us: int) -> bool:
        """Idle work; True if some is left."""
        if not 0 <= budget_us <= BUDGET_MAX:
            raise OutOfRange(f"idle work takes 0 to {BUDGET_MAX} microseconds, not {budget_us}")
        return self.image.maintain(budget_us)

    def flush(self) -> None:
        """Writes the image file through to its medium, without unmounting."""
        self.image.flush()

    def image_bytes(self) -> bytes:
        """The contents of a chip in memory (see open_memory): now, or as the volume was closed."""
        with self._guard:
            return self._final if self._final is not None else self._memory_bytes()

    def _memory_bytes(self) -> bytes:
        if self.path:
            raise ValueError("the volume is in a file: read that")
        if not self._in_memory:
            raise ValueError("the volume is on a device: read that")
        return bytes(self.image.memory(self.chip.size))

    # ---- names: a path is text, bytes or a path object; a '/' in front of it is optional ----

    @property
    def root(self) -> "VolumePath":
        """The root directory as a path that works like one of pathlib: volume.root / "etc" /
        "name"."""
        from .paths import VolumePath

        return VolumePath(self)

    def stat(self, path: AnyPath) -> Stat:
        """Type and size. Raises NF2Error: NOENT, NOTDIR."""
        path = text_of(path)
        kind, size = self.image.stat(path)
        return Stat(posixpath.basename(path.rstrip("/")), kind, size)

    def attributes(self, path: AnyPath) -> dict[int, bytes]:
        """Attributes of a file or directory, by their ids: see nf2fs.attributes. The root has
        none."""
        path = text_of(path)
        self._refuse_root(path)
        return self.image.attributes(path)

    def set_attributes(self, path: AnyPath, values: Mapping[int, bytes | None]) -> None:
        """Sets attributes, and removes those that are None, all with one change. Durable on return.
        The others stay. Raises NF2Error: FBIG where all together pass attributes.ROOM."""
        path = text_of(path)
        attributes.check(path, values)
        self._refuse_root(path)
        try:
            self.image.set_attributes(path, values)
        except NF2Error as error:
            if error.code == codes.FBIG:
                raise NF2Error(codes.FBIG, attributes.TOO_MANY, path) from None
            raise

    def _refuse_root(self, path: str) -> None:
        if posixpath.normpath("/" + path.strip("/")) == "/":
            raise NF2Error(INVAL, "the root directory has no attributes", path)

    def exists(self, path: AnyPath) -> bool:
        return self._stat_or_none(path) is not None

    def isdir(self, path: AnyPath) -> bool:
        found = self._stat_or_none(path)
        return found is not None and found.is_dir()

    def isfile(self, path: AnyPath) -> bool:
        found = self._stat_or_none(path)
        return found is not None and found.is_file()

    def getsize(self, path: AnyPath) -> int:
        return self.stat(path).size

    def _stat_or_none(self, path: AnyPath) -> Stat | None:
        try:
            return self.stat(path)
        except NF2Error as error:
            if error.code in (NOENT, NOTDIR):
                return None
            raise

    def iterdir(self, path: AnyPath = "/") -> Iterator[Stat]:
        """The entries of a directory, up to the first that cannot be read."""
        return self._listed(self.image.entries(text_of(path)))

    def _listed(self, entries: Iterator[tuple[str, int, int]]) -> Iterator[Stat]:
        _ = self.image  # raises where the volume was closed meanwhile
        for entry in entries:
            yield Stat(*entry)
            _ = self.image

    def scandir(self, path: AnyPath = "/") -> list[Stat]:
        """The entries of a directory, in the order of their names' bytes."""
        with self._guard:
            return list(self.iterdir(path))

    def listdir(self, path: AnyPath = "/") -> list[str]:
        return [entry.name for entry in self.scandir(path)]

    def walk(self, top: AnyPath = "/") -> Iterator[tuple[str, list[str], list[str]]]:
        """(directory, names of directories, names of files), top down; names may be taken out of
        the first list."""
        pending = [(text_of(top), 0)]
        while pending:
            directory, depth = pending.pop()
            if depth > DEPTH_MAX:
                raise NF2Error(
                    codes.IO, f"directories are nested more than {DEPTH_MAX} deep", directory
                )
            entries = self.scandir(directory)
            directories = [entry.name for entry in entries if entry.is_dir()]
            yield directory, directories, [entry.name for entry in entries if not entry.is_dir()]
            pending.extend(
                (posixpath.join(directory, name), depth + 1) for name in reversed(directories)
            )

    def mkdir(self, path: AnyPath) -> None:
        """Makes a directory; the one above it must exist. Durable on return."""
        path = text_of(path)
        refuse_depth(path)
        self.image.mkdir(path)

    def makedirs(self, path: AnyPath, exist_ok: bool = False) -> None:
        """Makes a directory and those above it; nothing where there would be more than DEPTH_MAX."""
        parts = [part for part in text_of(path).split("/") if part]
        refuse_depth(text_of(path))
        with self._guard:
            self._make_each(parts, exist_ok)

    def _make_each(self, parts: list[str], exist_ok: bool) -> None:
        for index in range(1, len(parts) + 1):
            directory = "/" + "/".join(parts[:index])
            try:
                self.image.mkdir(directory)
            except NF2Error as error:
                if error.code != EXIST:
                    raise
                if not self.isdir(directory):
                    raise NF2Error(EXIST, IN_THE_WAY, directory) from None
                if index == len(parts) and not exist_ok:
                    raise

    def remove(self, path: AnyPath, recursive: bool = False) -> None:
        """Removes a file or an empty directory; with `recursive` a directory and all in it. Durable
        on return."""
        path = text_of(path)
        with self._guard:
            if recursive and self.stat(path).is_dir():
                self.rmtree(path)
            else:
                self.image.remove(path)

    def unlink(self, path: AnyPath) -> None:
        """Removes a file. Raises NF2Error: NOENT, ISDIR."""
        path = text_of(path)
        with self._guard:
            if self.stat(path).is_dir():
                raise NF2Error(ISDIR, "is a directory", path)
            self.image.remove(path)

    def rmdir(self, path: AnyPath) -> None:
        """Removes an empty directory. Raises NF2Error: NOENT, NOTDIR, NOTEMPTY."""
        path = text_of(path)
        with self._guard:
            if not self.stat(path).is_dir():
                raise NF2Error(NOTDIR, "is not a directory", path)
            self.image.remove(path)

    def rmtree(self, path: AnyPath) -> None:
        """Removes a directory and all in it, name by name; of the root only what is in it."""
        with self._guard:
            for directory, _, files in reversed(list(self.walk(path))):
                for name in files:
                    self.image.remove(posixpath.join(directory, name))
                if posixpath.normpath("/" + directory.strip("/")) != "/":
                    self.image.remove(directory)

    def rename(self, source: AnyPath, target: AnyPath) -> None:
        """Renames a file or directory; a file, or an empty directory, of that name is replaced in
        the same instant."""
        with self._guard:
            self._rename(text_of(source), text_of(target))

    def _rename(self, source: str, target: str) -> None:
        inside = posixpath.normpath("/" + target).startswith(
            posixpath.normpath("/" + source).rstrip("/") + "/"
        )
        if inside and self.isdir(source):
            raise NF2Error(INVAL, "a directory cannot be moved into itself", source)
        try:
            self.image.rename(source, target)
        except NF2Error as error:
            if error.code == NOTDIR and self.isdir(source) and self.isfile(target):
                raise NF2Error(NOTDIR, "is a file: no directory can replace it", target) from None
            if error.code in (NOENT, NOTDIR) and self.exists(source):  # it is about the other path
                raise NF2Error(error.code, error.text, target) from None
            raise

    replace = rename

    def truncate(self, path: AnyPath, size: int) -> None:
        """Sets a file's size; new bytes are zeros. Durable on return."""
        with self._guard, self.open(path, "r+b", buffering=0) as file:
            file.truncate(size)

    # ---- files ----

    @overload
    def open(  # type: ignore[overload-overlap]
        self,
        path: AnyPath,
        mode: str,
        buffering: Literal[0],
        *,
        sync: bool = False,
    ) -> RawFile: ...

    @overload
    def open(  # type: ignore[overload-overlap]
        self,
        path: AnyPath,
        mode: str = "r",
        *,
        buffering: Literal[0],
        sync: bool = False,
    ) -> RawFile: ...

    @overload
    def open(
        self,
        path: AnyPath,
        mode: TextMode = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *,
        sync: bool = False,
    ) -> io.TextIOWrapper: ...

    @overload
    def open(
        self,
        path: AnyPath,
        mode: ReadMode,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *,
        sync: bool = False,
    ) -> io.BufferedReader: ...

    @overload
    def open(
        self,
        path: AnyPath,
        mode: WriteMode,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *,
        sync: bool = False,
    ) -> io.BufferedWriter: ...

    @overload
    def open(
        self,
        path: AnyPath,
        mode: UpdateMode,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *,
        sync: bool = False,
    ) -> io.BufferedRandom: ...

    @overload
    def open(
        self,
        path: AnyPath,
        mode: str,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *,
        sync: bool = False,
    ) -> IO[Any]: ...

    def open(
        self,
        path: AnyPath,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *,
        sync: bool = False,
    ) -> Any:
        """As the built-in open. `sync`: each write is durable when it returns (use buffering=0 with
        it)."""
        path = text_of(path)
        flags = open_flags(mode) | (O_SYNC if sync else 0)
        binary = "b" in mode
        if binary and (encoding or errors or newline):
            raise ValueError("binary mode takes no encoding, errors or newline")
        if buffering == 0 and not binary:
            raise ValueError("can't have unbuffered text I/O")
        if buffering < -1:
            raise ValueError(f"invalid buffering: {buffering}")
        if not binary:  # refused before the file is opened, and emptied
            io.TextIOWrapper(io.BytesIO(), encoding or "utf-8", errors, newline)
        with self._guard:
            raw = RawFile(self, self.image.open_file(path, flags), flags, path)
            self._files.add(raw)
        try:
            if flags & O_APPEND:  # as with a file of Python, `tell` says where the next write goes
                raw.seek(0, os.SEEK_END)
            if buffering == 0:
                return raw
            return self._buffered(raw, mode, buffering, encoding, errors, newline)
        except BaseException:
            raw.close()
            raise

    def _buffered(
        self,
        raw: RawFile,
        mode: str,
        buffering: int,
        encoding: str | None,
        errors: str | None,
        newline: str | None,
    ) -> Any:
        flags, size = raw._flags, COPY_SIZE if buffering in (-1, 1) else buffering
        buffered: io.BufferedRandom | io.BufferedWriter | io.BufferedReader
        file: io.BufferedIOBase | io.TextIOWrapper
        if flags & O_RDWR == O_RDWR:
            buffered = io.BufferedRandom(raw, size)
        else:
            buffered = (io.BufferedWriter if flags & O_WRONLY else io.BufferedReader)(raw, size)
        file = buffered
        if "b" not in mode:
            lines = buffering == 1
            file = io.TextIOWrapper(buffered, encoding or "utf-8", errors, newline, lines)
            file.mode = mode  # type: ignore[misc]
        with self._guard:
            self._wrappers.add(file)
        return file

    def read_bytes(self, path: AnyPath) -> bytes:
        with self._guard, self.open(path, "rb", buffering=0) as file:
            return file.readall()

    def write_bytes(self, path: AnyPath, data: bytes) -> int:
        """Replaces the file's contents, all or nothing. Durable on return."""
        whole = memoryview(data).cast("B")
        with self._guard, interrupts.shield():
            before = self._stat_or_none(path)
            try:
                with self.open(path, "wb", buffering=0, sync=True) as file:
                    return file.write(whole) if whole else 0
            except NF2Error as error:
                if error.code == NOSPC and before is None and self.exists(path):
                    self.image.remove(text_of(path))  # it is there without a byte
                raise

    def read_text(self, path: AnyPath, encoding: str = "utf-8", errors: str | None = None) -> str:
        with io.TextIOWrapper(io.BytesIO(self.read_bytes(path)), encoding, errors) as lines:
            return lines.read()

    def write_text(
        self, path: AnyPath, text: str, encoding: str = "utf-8", errors: str | None = None
    ) -> int:
        """Replaces the file's contents, all or nothing. Durable on return."""
        encoded = io.BytesIO()
        with io.TextIOWrapper(encoded, encoding or "utf-8", errors) as lines:
            count = lines.write(text)
            lines.flush()
            self.write_bytes(path, encoded.getvalue())
        return count
