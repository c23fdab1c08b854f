# SPDX-License-Identifier: BSD-2-Clause
"""What a mount does with a volume, without the kernel: nodes by number in, plain values out, errors
as OSError.

A volume lets one handle write a file, a few files be written at a time, and no open file be
removed. Programs on a host expect none of that. So all who open a file share one handle; when the
volume allows no further file to be written, the one that was written longest ago is closed, which
syncs it, and opened again when it is needed; and a file that is removed while it is open moves to a
temporary file of the host.
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from dataclasses import dataclass

from . import attributes
from .errors import NOSPC, NF2Error
from .fuse_nodes import ROOT, Node, Nodes, failure
from .native import encode_path
from .volume import COPY_SIZE, O_CREAT, O_RDONLY, O_RDWR, OFFSET_MAX, TYPE_DIR

NAME_MAX = 255
SECOND = 1_000_000_000  # ns
FIRST_OWN_CODE = 200  # codes from here on are no errno


@dataclass(frozen=True)
class Attributes:
    number: int
    is_dir: bool
    size: int
    times: tuple[int, int, int]  # ns: access, modification, change
    mode: int | None = None  # permissions; None: the volume keeps none of it


def as_errno(error: OSError) -> int:
    """What a program on the host is told."""
    if isinstance(error, NF2Error):
        return -error.code if -error.code < FIRST_OWN_CODE else errno.EIO
    return error.errno or errno.EIO


class FileSystem:
    """A mounted volume as a file system of the host. One call at a time."""

    def __init__(self, volume, now=time.time_ns, preserve: bool = False) -> None:
        """`preserve`: times of modification and permissions go into attributes of the volume: when
        they are set, and when a file that was written is closed."""
        self.volume, self.image, self.now, self.preserve = volume, volume.image, now, preserve
        self.nodes = Nodes()
        self._started = (now(),) * 3

    # ---- names ----

    def lookup(self, parent: int, name: bytes) -> Attributes:
        """An entry by its name; the kernel knows its number from now on."""
        node = self._find(self.nodes.directory(parent), name)
        try:
            found = self._attributes(node)
        except OSError:
            self.nodes.drop(node)
            raise
        node.lookups += 1
        return found

    def forget(self, number: int, count: int) -> None:
        node = self.nodes.get(number)
        node.lookups = max(0, node.lookups - count)
        self.nodes.drop(node)

    def getattr(self, number: int) -> Attributes:
        return self._attributes(self.nodes.get(number))

    def listing(self, number: int) -> list[tuple[bytes, bool]]:
        """Names and whether they are directories."""
        path = self.nodes.path(self.nodes.directory(number))
        return [(encode_path(name), kind == TYPE_DIR) for name, kind, _ in self.image.entries(path)]

    def mkdir(self, parent: int, name: bytes) -> Attributes:
        above = self.nodes.directory(parent)
        self.image.mkdir(self._path(above, name))
        self._touch(above)
        node = self.nodes.add(above, name, True)
        node.times = (self.now(),) * 3
        return self.lookup(parent, name)

    def unlink(self, parent: int, name: bytes) -> None:
        node = self._find(self.nodes.directory(parent), name)
        if node.is_dir:
            self.nodes.drop(node)
            raise failure(errno.EISDIR)
        self._remove(node)

    def rmdir(self, parent: int, name: bytes) -> None:
        node = self._find(self.nodes.directory(parent), name)
        if not node.is_dir:
            self.nodes.drop(node)
            raise failure(errno.ENOTDIR)
        self._remove(node)

    def rename(
        self, parent: int, name: bytes, new_parent: int, new_name: bytes, replace: bool = True
    ) -> None:
        above, below = self.nodes.directory(parent), self.nodes.directory(new_parent)
        node = self._find(above, name)
        target = self._find_if_there(below, new_name)
        if target is node:
            return
        if target is not None and not replace:
            raise failure(errno.EEXIST)
        if node.unsynced:
            self._sync(node)
        if target is not None and not target.is_dir:
            self._to_scratch(target)
        try:
            self.image.rename(self._path(above, name), self._path(below, new_name))
        except OSError:
            self._from_scratch(target)
            raise
        if target is not None:
            self.nodes.detach(target)
        self.nodes.move(node, below, new_name)
        self._touch(above)
        self._touch(below)
        self.nodes.drop(node)

    # ---- files ----

    def create(self, parent: int, name: bytes, flags: int) -> Attributes:
        """Makes and opens a file; `flags` are those of open(2)."""
        above = self.nodes.directory(parent)
        node = self._find_if_there(above, name)
        if node is not None and flags & os.O_EXCL:
            raise failure(errno.EEXIST)
        if node is None:
            node = self._make(above, name)
        found = self.lookup(parent, name)
        self.open(node.number, flags)
        return found

    def open(self, number: int, flags: int) -> None:
        node = self.nodes.get(number)
        if node.is_dir:
            raise failure(errno.EISDIR)
        node.opens += 1
        try:
            if flags & os.O_TRUNC and flags & os.O_ACCMODE != os.O_RDONLY:
                self._set_size(node, 0)
            elif node.scratch is None:
                self._readable(node)
        except OSError:
            node.opens -= 1
            self.nodes.drop(node)
            raise

    def read(self, number: int, offset: int, size: int) -> bytes:
        node = self.nodes.get(number)
        if node.scratch is not None:
            return os.pread(node.scratch.fileno(), size, offset)
        if offset > OFFSET_MAX:
            return b""
        handle = self._readable(node)
        handle.seek(offset, os.SEEK_SET)
        data = bytearray(size)
        return bytes(memoryview(data)[: handle.readinto(memoryview(data))]) if size else b""

    def write(self, number: int, offset: int, data: bytes) -> int:
        node = self.nodes.get(number)
        if offset + len(data) > OFFSET_MAX:
            raise failure(errno.EFBIG)
        if node.scratch is not None:
            os.pwrite(node.scratch.fileno(), data, offset)
        elif data:
            handle = self._writable(node)
            handle.seek(offset, os.SEEK_SET)
            self._change(handle, handle.write, data)
            node.unsynced = True
        self._touch(node)
        return len(data)

    def truncate(self, number: int, size: int) -> None:
        node = self.nodes.get(number)
        if node.is_dir:
            raise failure(errno.EISDIR)
        self._set_size(node, size)

    def sync(self, number: int) -> None:
        """What was written is durable in the volume; raises what closing the file for others has
        failed with.
        """
        node = self.nodes.get(number)
        failed, node.failed = node.failed, None
        if failed is not None:
            raise failed
        if node.unsynced:
            self._sync(node)

    def fsync(self, number: int) -> None:
        """As sync, and on the medium of the image file."""
        self.sync(number)
        self.volume.flush()

    def release(self, number: int) -> None:
        """One of those who opened it closed it."""
        node = self.nodes.get(number)
        node.opens -= 1
        if node.opens > 0:
            return
        try:
            self._close_handle(node)
            self._keep(node)
        finally:
            if node.scratch is not None:
                node.scratch.close()
                node.scratch = None
            self.nodes.drop(node)

    # ---- times and modes ----

    def set_mode(self, number: int, mode: int) -> None:
        node = self.nodes.get(number)
        self._know(node)
        node.mode, node.stale = mode, True
        self._keep(node)

    def _know(self, node: Node) -> None:
        """Reads once what the volume has kept."""
        if not self.preserve or node.known or node.removed or node.number == ROOT:
            return
        try:
            kept = self.volume.attributes(self.nodes.path(node))
        except NF2Error as error:
            if as_errno(error) != errno.ENOENT:  # a new file has none before it is synced
                raise
            kept = {}
        node.known = True
        node.mode, seconds = attributes.mode_of(kept), attributes.time_of(kept)
        if seconds is not None and node.times is None:
            node.times = (seconds * SECOND,) * 3

    def _keep(self, node: Node) -> None:
        """Writes what has changed, unless the file is being written: then its last closing does."""
        if not (self.preserve and node.stale) or node.writing or node.removed or node.number == ROOT:
            return
        values: dict[int, bytes | None] = {}
        if node.mode is not None:
            values[attributes.MODE] = node.mode.to_bytes(2, "little")
        seconds = (node.times or self._started)[1] // SECOND
        if 0 <= seconds < 1 << 8 * attributes.TIME_BYTES:
            values[attributes.TIME] = attributes.time_bytes(seconds)
        self.volume.set_attributes(self.nodes.path(node), values)
        node.stale = False

    # ---- all of it ----

    def set_times(self, number: int, access: int | None, modification: int | None) -> None:
        """Times are kept while the volume is mounted, and that of modification on it where it
        preserves them."""
        node = self.nodes.get(number)
        self._know(node)
        before = node.times or self._started
        node.times = (
            before[0] if access is None else access,
            before[1] if modification is None else modification,
            self.now(),
        )
        if modification is not None:
            node.stale = True
            self._keep(node)

    def statfs(self) -> dict[str, int]:
        return self.volume.statfs()

    def close(self) -> list[tuple[bytes, OSError]]:
        """Closes all files; returns those whose last writes could not be kept. The volume stays
        open.
        """
        lost = []
        for node in self.nodes:
            path = b"a removed file" if node.removed else self.nodes.path(node)
            try:
                self._close_handle(node)
                self._keep(node)
            except OSError as error:
                node.failed = error
            if node.failed is not None and not node.removed:
                lost.append((path, node.failed))
            if node.scratch is not None:
                node.scratch.close()
        return lost

    # ---- inside ----

    def _path(self, parent: Node, name: bytes) -> bytes:
        if len(name) > NAME_MAX:
            raise failure(errno.ENAMETOOLONG)
        above = self.nodes.path(parent)
        return (b"/" if above == b"/" else above + b"/") + name

    def _find(self, parent: Node, name: bytes) -> Node:
        node = parent.children.get(name)
        if node is None:
            kind, _ = self.image.stat(self._path(parent, name))
            node = self.nodes.add(parent, name, kind == TYPE_DIR)
        return node

    def _find_if_there(self, parent: Node, name: bytes) -> Node | None:
        try:
            return self._find(parent, name)
        except OSError as error:
            if as_errno(error) != errno.ENOENT:
                raise
            return None

    def _attributes(self, node: Node) -> Attributes:
        self._know(node)
        size = 0
        if node.scratch is not None:
            size = os.fstat(node.scratch.fileno()).st_size
        elif node.handle is not None:
            size = node.handle.size()
        elif not node.removed:
            size = self.image.stat(self.nodes.path(node))[1]
        return Attributes(node.number, node.is_dir, size, node.times or self._started, node.mode)

    def _touch(self, node: Node) -> None:
        now = self.now()
        node.times = ((node.times or self._started)[0], now, now)
        node.stale = node.stale or not node.is_dir

    def _make(self, above: Node, name: bytes) -> Node:
        path = self._path(above, name)
        handle = self.image.open_file(path, O_RDWR | O_CREAT)
        node = self.nodes.add(above, name, False)
        node.handle, node.writing, node.unsynced = handle, True, True
        self._touch(above)
        node.times = (self.now(),) * 3
        node.known = node.stale = True
        return node

    def _set_size(self, node: Node, size: int) -> None:
        if size > OFFSET_MAX:
            raise failure(errno.EFBIG)
        if node.scratch is not None:
            os.ftruncate(node.scratch.fileno(), size)
        else:
            handle = self._writable(node)
            self._change(handle, handle.truncate, size)
            node.unsynced = True
            if not node.opens:
                self._close_handle(node)
        self._touch(node)
        self._keep(node)

    def _remove(self, node: Node) -> None:
        parent, path = node.parent, self.nodes.path(node)
        if not node.is_dir:
            self._to_scratch(node)
        try:
            self.image.remove(path)
        except OSError:
            self._from_scratch(node)
            raise
        if parent is not None:
            self._touch(parent)
        self.nodes.detach(node)

    # ---- handles ----

    def _open_handle(self, node: Node, flags: int):
        return self.image.open_file(self.nodes.path(node), flags)

    def _readable(self, node: Node):
        if node.handle is None:
            node.handle = self._open_handle(node, O_RDONLY)
        return node.handle

    def _writable(self, node: Node):
        if not node.writing:
            if node.handle is not None:
                self._close_handle(node)
            node.handle = self._open_handle(node, O_RDWR)
            node.writing = True
        return node.handle

    @staticmethod
    def _change(handle, change, argument) -> None:
        """A change of an open file. Where it is refused, what was written before still counts."""
        try:
            change(argument)
        except NF2Error as error:
            if error.code == NOSPC:
                handle.write(b"")  # else the volume would sync nothing of it
            raise

    def _close_handle(self, node: Node) -> None:
        """Closes the volume's file, which syncs it; what was not synced is lost if that fails."""
        handle, node.handle = node.handle, None
        node.writing = node.unsynced = False
        if handle is not None:
            handle.close()

    def _sync(self, node: Node) -> None:
        node.handle.sync()
        node.unsynced = False

    # ---- files that are open and have no name ----

    def _to_scratch(self, node: Node) -> None:
        """What an open file holds moves to a temporary file, so that its name may go."""
        if not node.opens:
            self._close_handle(node)
            return
        scratch, size, offset = tempfile.TemporaryFile(buffering=0), self._attributes(node).size, 0
        while offset < size:
            piece = self.read(node.number, offset, min(COPY_SIZE, size - offset))
            if not piece:
                raise failure(errno.EIO)
            scratch.write(piece)
            offset += len(piece)
        try:
            self._close_handle(node)
        except OSError as error:
            node.failed = error
        node.scratch = scratch

    def _from_scratch(self, node: Node | None) -> None:
        """The name stayed: the file holds the same, since its handle was closed."""
        if node is not None and node.scratch is not None:
            node.scratch.close()
            node.scratch = None


__all__ = ["Attributes", "FileSystem", "ROOT", "as_errno"]
