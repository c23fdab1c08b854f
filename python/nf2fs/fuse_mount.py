# SPDX-License-Identifier: BSD-2-Clause
"""Mounts a volume as a file system of the host: the kernel's requests, through pyfuse3, become
calls of FileSystem.
"""

from __future__ import annotations

import errno
import functools
import os
import secrets
import signal
import stat
import sys
from dataclasses import dataclass, field

import pyfuse3
import trio
from pyfuse3 import FUSEError

from .fuse_ops import ROOT, Attributes, FileSystem, as_errno

CACHED_S = 300.0  # all changes come through the kernel, so what it has cached stays right
FLUSH_S = 60.0  # for the case that the mark never comes
QUIET_S, IDLE_US = 0.1, 250_000  # idle work begins after so long, and is done in such pieces
MARK_SIZE = 4096
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Options:
    read_only: bool = False
    allow_other: bool = False
    ignore_modes: bool = False  # chmod and chown succeed, and change nothing
    preserve: bool = False  # times of modification and permissions are kept on the volume
    umask: int = 0o022
    owner: int = 0
    group: int = 0


def answered(method):
    """Counts a call, and turns its errors into those of pyfuse3."""

    @functools.wraps(method)
    async def call(self, *arguments):
        self.count += 1
        try:
            return await method(self, *arguments)
        except OSError as error:
            raise FUSEError(as_errno(error)) from None

    return call


@dataclass
class Mark:
    """A file that is not on the volume. The kernel hands over the changed pages of mapped files in
    the order in which they were queued: when this one's page comes, those before it have come."""

    name: bytes
    number: int = (1 << 63) - 1  # no node has it
    came: trio.Event = field(default_factory=trio.Event)

    def entry(self, owner: int, group: int) -> pyfuse3.EntryAttributes:
        entry = pyfuse3.EntryAttributes()
        entry.st_ino, entry.st_mode, entry.st_nlink = self.number, stat.S_IFREG | 0o600, 1
        entry.st_uid, entry.st_gid, entry.st_size = owner, group, MARK_SIZE
        entry.entry_timeout = entry.attr_timeout = CACHED_S
        return entry


class Requests(pyfuse3.Operations):
    """The requests of the kernel."""

    supports_dot_lookup = False
    enable_writeback_cache = False

    def __init__(self, files: FileSystem, options: Options):
        super().__init__()
        self.files, self.options, self.count = files, options, 0
        self.mark: Mark | None = None
        self._listings: dict[int, tuple[int, list]] = {}
        self._next_listing = 1

    # ---- attributes ----

    def _mode(self, is_dir: bool) -> int:
        kind, bits = (stat.S_IFDIR, 0o777) if is_dir else (stat.S_IFREG, 0o666)
        return kind | (bits & ~self.options.umask)

    def _mode_of(self, found: Attributes) -> int:
        mode = self._mode(found.is_dir)
        return mode if found.mode is None else stat.S_IFMT(mode) | found.mode

    def _made(self, found: Attributes, mode: int, ctx) -> Attributes:
        """The permissions that a new file or directory was asked for."""
        mode = stat.S_IMODE(mode) & 0o777 & ~ctx.umask
        if not self.options.preserve or mode == stat.S_IMODE(self._mode_of(found)):
            return found
        self.files.set_mode(found.number, mode)
        return self.files.getattr(found.number)

    def _entry(self, found: Attributes) -> pyfuse3.EntryAttributes:
        entry = pyfuse3.EntryAttributes()
        entry.st_ino, entry.st_mode, entry.st_nlink = found.number, self._mode_of(found), 1
        entry.st_uid, entry.st_gid = self.options.owner, self.options.group
        entry.st_size, entry.st_blocks, entry.st_blksize = found.size, -(-found.size // 512), 4096
        entry.st_atime_ns, entry.st_mtime_ns, entry.st_ctime_ns = found.times
        entry.entry_timeout = entry.attr_timeout = CACHED_S
        return entry

    def _is_mark(self, number: int) -> bool:
        return self.mark is not None and number == self.mark.number

    @answered
    async def getattr(self, inode, ctx):
        if self._is_mark(inode):
            return self.mark.entry(self.options.owner, self.options.group)
        return self._entry(self.files.getattr(inode))

    @answered
    async def setattr(self, inode, attr, fields, fh, ctx):
        found = self.files.getattr(inode)
        if not self.options.ignore_modes:
            self._refuse_modes(found, attr, fields)
        if fields.update_mode and self.options.preserve:
            self.files.set_mode(inode, stat.S_IMODE(attr.st_mode) & 0o777)
        if fields.update_size:
            self.files.truncate(inode, attr.st_size)
        if fields.update_atime or fields.update_mtime:
            self.files.set_times(
                inode,
                attr.st_atime_ns if fields.update_atime else None,
                attr.st_mtime_ns if fields.update_mtime else None,
            )
        return self._entry(self.files.getattr(inode))

    def _refuse_modes(self, found: Attributes, attr, fields) -> None:
        """A volume keeps no owners, and no modes unless it is asked to: those that it shows may be
        set, and no others."""
        if fields.update_mode and not self.options.preserve and stat.S_IMODE(attr.st_mode) != stat.S_IMODE(
            self._mode(found.is_dir)
        ):
            raise FUSEError(errno.EPERM)
        if fields.update_uid and attr.st_uid != self.options.owner:
            raise FUSEError(errno.EPERM)
        if fields.update_gid and attr.st_gid != self.options.group:
            raise FUSEError(errno.EPERM)

    # ---- names ----

    @answered
    async def lookup(self, parent_inode, name, ctx):
        if self.mark is not None and (parent_inode, name) == (ROOT, self.mark.name):
            return self.mark.entry(self.options.owner, self.options.group)
        return self._entry(self.files.lookup(parent_inode, name))

    async def forget(self, inode_list):
        for inode, count in inode_list:
            try:
                self.files.forget(inode, count)
            except OSError:
                pass  # known no more: nothing to forget

    @answered
    async def mkdir(self, parent_inode, name, mode, ctx):
        return self._entry(self._made(self.files.mkdir(parent_inode, name), mode, ctx))

    @answered
    async def mknod(self, parent_inode, name, mode, rdev, ctx):
        if not stat.S_ISREG(mode):
            raise FUSEError(errno.EPERM)
        found = self.files.create(parent_inode, name, os.O_EXCL | os.O_WRONLY)
        self.files.release(found.number)
        return self._entry(found)

    @answered
    async def symlink(self, parent_inode, name, target, ctx):
        raise FUSEError(errno.EPERM)

    @answered
    async def link(self, inode, new_parent_inode, new_name, ctx):
        raise FUSEError(errno.EPERM)

    @answered
    async def unlink(self, parent_inode, name, ctx):
        self.files.unlink(parent_inode, name)

    @answered
    async def rmdir(self, parent_inode, name, ctx):
        self.files.rmdir(parent_inode, name)

    @answered
    async def rename(self, parent_inode_old, name_old, parent_inode_new, name_new, flags, ctx):
        if flags & ~pyfuse3.RENAME_NOREPLACE:
            raise FUSEError(errno.EINVAL)
        self.files.rename(parent_inode_old, name_old, parent_inode_new, name_new, not flags)

    # ---- listings: as they were at the start, or when they were rewound ----

    @answered
    async def opendir(self, inode, ctx):
        self.files.nodes.directory(inode)
        number = self._next_listing
        self._next_listing += 1
        self._listings[number] = (inode, [])
        return number

    @answered
    async def readdir(self, fh, start_id, token):
        inode, names = self._listings[fh]
        if start_id == 0:
            names = self.files.listing(inode)
            self._listings[fh] = (inode, names)
        for index in range(start_id, len(names)):
            name, _ = names[index]
            try:
                found = self.files.lookup(inode, name)
            except OSError:
                continue  # removed meanwhile
            if not pyfuse3.readdir_reply(token, name, self._entry(found), index + 1):
                self.files.forget(found.number, 1)
                break

    async def releasedir(self, fh):
        del self._listings[fh]

    @answered
    async def fsyncdir(self, fh, datasync):
        self.files.volume.flush()

    # ---- files ----

    @answered
    async def create(self, parent_inode, name, mode, flags, ctx):
        found = self._made(self.files.create(parent_inode, name, flags), mode, ctx)
        return pyfuse3.FileInfo(fh=found.number, keep_cache=True), self._entry(found)

    @answered
    async def open(self, inode, flags, ctx):
        if self._is_mark(inode):
            return pyfuse3.FileInfo(fh=inode)
        self.files.open(inode, flags)
        return pyfuse3.FileInfo(fh=inode, keep_cache=not flags & os.O_TRUNC)

    @answered
    async def read(self, fh, off, size):
        if self._is_mark(fh):
            return bytes(size)
        return self.files.read(fh, off, size)

    @answered
    async def write(self, fh, off, buf):
        if self._is_mark(fh):
            self.mark.came.set()
            return len(buf)
        return self.files.write(fh, off, buf)

    @answered
    async def flush(self, fh):
        if self._is_mark(fh):
            return
        self.files.sync(fh)

    @answered
    async def fsync(self, fh, datasync):
        if self._is_mark(fh):
            return
        self.files.fsync(fh)

    @answered
    async def release(self, fh):
        if self._is_mark(fh):
            return
        self.files.release(fh)

    # ---- the volume ----

    @answered
    async def statfs(self, ctx):
        figures, out = self.files.statfs(), pyfuse3.StatvfsData()
        out.f_bsize = out.f_frsize = figures["block_size"]
        out.f_blocks, out.f_bfree, out.f_bavail = (
            figures["blocks"],
            figures["free"],
            figures["available"],
        )
        out.f_files = out.f_ffree = out.f_favail = 0
        out.f_namemax = 255
        return out


# In a process of its own: who waits for a page of a mount must not be who answers for it.
START_WRITING = f"""
import ctypes, mmap, os, sys
top = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
ctypes.CDLL(None).syncfs(top)
mark = os.open(sys.argv[2], os.O_RDWR, dir_fd=top)
page = mmap.mmap(mark, {MARK_SIZE})
page[0] = 1
page.flush()
"""


async def _write_mapped(directory: str, requests: Requests) -> None:
    """Takes what programs have changed in mapped files, whatever else they write meanwhile: the
    kernel begins to hand over the changed pages, and behind them the page of the mark."""
    mark = requests.mark = Mark(b".nf2-mark-" + secrets.token_hex(8).encode())
    command = [sys.executable, "-ESc", START_WRITING, directory, mark.name]
    with trio.move_on_after(FLUSH_S):
        done = await trio.run_process(
            command, check=False, capture_stderr=True, start_new_session=True
        )
        if done.returncode == 0:  # else it is mounted read-only, or no more
            await mark.came.wait()


async def _work_when_idle(files: FileSystem, requests: Requests) -> None:
    """Wins space back while nothing is asked for, so that `df` shows what was removed. What this
    fails with, such as a full volume, the call that meets it next says, too."""
    served = -1
    while True:
        await trio.sleep(QUIET_S)
        if requests.count == served:
            continue  # no change since all was done
        before = requests.count
        await trio.sleep(QUIET_S)
        while requests.count == before:
            try:
                more = files.volume.maintain(IDLE_US)
            except OSError:
                more = False
            if not more:
                served = before
                break
            await trio.sleep(0)


async def _until_ended(directory: str, requests: Requests, ready) -> str | None:
    """Answers requests until it is unmounted; returns the name of the signal that ended it."""
    ended_by: list[str] = []

    async def watch(task_status=trio.TASK_STATUS_IGNORED):
        with trio.open_signal_receiver(*SIGNALS) as arriving:
            task_status.started()
            async for number in arriving:
                ended_by.append(signal.Signals(number).name)
                await _write_mapped(directory, requests)
                pyfuse3.terminate()
                return

    async with trio.open_nursery() as nursery:
        await nursery.start(watch)
        if not requests.options.read_only:
            nursery.start_soon(_work_when_idle, requests.files, requests)
        ready()
        await pyfuse3.main()
        nursery.cancel_scope.cancel()
    return ended_by[0] if ended_by else None


def serve(volume, directory: str, options: Options, ready=lambda: None) -> tuple[str | None, list]:
    """Mounts `volume` on a directory and answers until it is unmounted, from outside or by a
    signal.

    Returns the signal's name (None: unmounted from outside) and the files whose last writes were
    lost. Calls `ready` when it is mounted. The volume is left open.
    """
    files = FileSystem(volume, preserve=options.preserve)
    flags = set(pyfuse3.default_options) | {
        f"fsname={os.path.realpath(volume.path)}".replace(",", "_"),
        "subtype=nf2",
    }
    flags |= {
        name
        for name, given in (("ro", options.read_only), ("allow_other", options.allow_other))
        if given
    }
    requests = Requests(files, options)
    pyfuse3.init(requests, directory, flags)
    lost, done = [], False
    try:
        ended_by = trio.run(_until_ended, directory, requests, ready)
        done = True
    finally:
        pyfuse3.close(unmount=True)
        lost = files.close() if done else []
    return ended_by, lost
