# SPDX-License-Identifier: BSD-2-Clause
"""`norbench record --fuse`: a FUSE mount over a directory of the host that passes calls on to the directory below and writes them down
as a trace (norbench/trace.h). It sees every process, whatever it is written in."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from . import bench

OPEN, CLOSE, READ, WRITE, SEEK, SYNC, TRUNCATE, MKDIR, REMOVE, RENAME = range(1, 11)
LIST, IDLE, FILE_BEFORE, DIR_BEFORE = 12, 13, 14, 15
PATH_MAX = 512
IDLE_MIN_US = 1000
VFS_READ, VFS_WRITE, VFS_CREATE, VFS_TRUNC = 1, 2, 4, 16
ROOT_INODE = 1


# ---- the trace ----

def number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def text(path: str) -> bytes:
    data = os.fsencode(path)
    if len(data) >= PATH_MAX:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    return number(len(data)) + data


class Recorder:
    """Entries into a file. Each open file has its place, as the system names one with every access."""

    def __init__(self, path: str | os.PathLike):
        self.file = open(path, "xb")
        self.file.write(b"NBTR\x01")
        self.entries = self.opened = self.calls = 0
        self.places: dict[int, int] = {}        # of each handle
        self.last = 0.0

    def put(self, kind: int, *parts: bytes) -> None:
        now = time.monotonic()
        if self.last and now - self.last >= IDLE_MIN_US / 1e6:
            self._put(IDLE, number(int((now - self.last) * 1e6)))
        self._put(kind, *parts)
        self.calls += 1
        self.last = time.monotonic()

    def _put(self, kind: int, *parts: bytes) -> None:
        self.file.write(bytes([kind]) + b"".join(parts))
        self.entries += 1

    def before(self, path: str, is_directory: bool, size: int) -> None:
        self._put(DIR_BEFORE, text(path)) if is_directory else self._put(FILE_BEFORE, number(size), text(path))

    def open(self, path: str, flags: int) -> int:
        access = flags & os.O_ACCMODE
        mine = VFS_READ if access == os.O_RDONLY else VFS_WRITE if access == os.O_WRONLY else VFS_READ | VFS_WRITE
        mine |= VFS_CREATE if flags & os.O_CREAT else 0
        mine |= VFS_TRUNC if flags & os.O_TRUNC and access != os.O_RDONLY else 0
        self.put(OPEN, number(mine), text(path))
        self.places[self.opened] = 0
        self.opened += 1
        return self.opened - 1

    def access(self, kind: int, handle: int, offset: int, length: int, moved: int) -> None:
        """`length` bytes that were asked for, of which there were `moved`."""
        if self.places[handle] != offset:
            self.put(SEEK, number(handle), number(offset))
        self.put(kind, number(handle), number(length))
        self.places[handle] = offset + moved

    def close_file(self, handle: int) -> None:
        self.put(CLOSE, number(handle))
        del self.places[handle]

    def end(self) -> None:
        self.file.write(b"\0" + number(self.entries))
        self.file.close()


# ---- the directory below ----

class Below:
    """The directory as it was before the mount lay over it: all calls go by its descriptor."""

    def __init__(self, directory: str, recorder: Recorder):
        self.fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        self.recorder = recorder
        self.paths = {ROOT_INODE: "/"}
        self.inodes = {"/": ROOT_INODE}
        self.next_inode = ROOT_INODE + 1
        self.handles: dict[int, tuple[int, int, str]] = {}     # descriptor -> handle in the trace, kind of access, path
        self._note("/")

    def _note(self, path: str) -> None:
        with os.scandir(self.host(path)) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                child = self.child(path, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    self.recorder.before(child, True, 0)
                    self._note(child)
                elif entry.is_file(follow_symlinks=False):
                    self.recorder.before(child, False, entry.stat().st_size)

    def host(self, path: str) -> str:
        return f"/proc/self/fd/{self.fd}{path}"

    @staticmethod
    def child(path: str, name: str) -> str:
        return ("" if path == "/" else path) + "/" + name

    def inode(self, path: str) -> int:
        if path not in self.inodes:
            self.inodes[path] = self.next_inode
            self.paths[self.next_inode] = path
            self.next_inode += 1
        return self.inodes[path]

    def gone(self, path: str) -> None:
        inode = self.inodes.pop(path, None)
        if inode is not None:
            self.paths[inode] = ""              # known to the kernel, but without a name

    def moved(self, old: str, new: str) -> None:
        self.gone(new)
        for path in [one for one in self.inodes if one == old or one.startswith(old + "/")]:
            inode = self.inodes.pop(path)
            self.paths[inode] = new + path[len(old):]
            self.inodes[self.paths[inode]] = inode

    def path(self, inode: int) -> str:
        found = self.paths.get(inode)
        if not found:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        return found

    def stat(self, inode: int) -> os.stat_result:
        try:
            return os.lstat(self.host(self.path(inode)))
        except OSError:
            for fd, (_, _, opened) in self.handles.items():     # removed, and still open
                if self.inodes.get(opened) in (None, inode) and not self.paths.get(inode):
                    return os.fstat(fd)
            raise

    def open(self, path: str, flags: int, mode: int = 0) -> int:
        flags &= ~(os.O_APPEND | os.O_NOFOLLOW)
        fd = os.open(self.host(path), flags | os.O_CLOEXEC, mode)
        self.handles[fd] = (self.recorder.open(path, flags), flags & os.O_ACCMODE, path)
        return fd

    def read(self, fd: int, offset: int, size: int) -> bytes:
        data = os.pread(fd, size, offset)
        self.recorder.access(READ, self.handles[fd][0], offset, size, len(data))
        return data

    def write(self, fd: int, offset: int, data: bytes) -> int:
        done = os.pwrite(fd, data, offset)
        self.recorder.access(WRITE, self.handles[fd][0], offset, done, done)
        return done

    def sync(self, fd: int) -> None:
        os.fsync(fd)
        self.recorder.put(SYNC, number(self.handles[fd][0]))

    def truncate(self, path: str, size: int, fd: int | None) -> None:
        """By an open file; a volume truncates no other ones."""
        writable = fd is not None and self.handles[fd][1] != os.O_RDONLY
        used = fd if writable else self.open(path, os.O_WRONLY)
        os.ftruncate(used, size)
        self.recorder.put(TRUNCATE, number(self.handles[used][0]), number(size))
        if not writable:
            self.close(used)

    def close(self, fd: int) -> None:
        self.recorder.close_file(self.handles.pop(fd)[0])
        os.close(fd)

    def mkdir(self, path: str, mode: int) -> None:
        os.mkdir(self.host(path), mode)
        self.recorder.put(MKDIR, text(path))

    def remove(self, path: str, is_directory: bool) -> None:
        os.rmdir(self.host(path)) if is_directory else os.unlink(self.host(path))
        self.recorder.put(REMOVE, text(path))
        self.gone(path)

    def rename(self, old: str, new: str) -> None:
        os.rename(self.host(old), self.host(new))
        self.recorder.put(RENAME, text(old), text(new))
        self.moved(old, new)

    def listing(self, path: str) -> list[str]:
        self.recorder.put(LIST, text(path))
        return sorted(os.listdir(self.host(path)))


# ---- FUSE ----

def operations(below: Below, cached: bool):
    """pyfuse3's view of it."""
    import pyfuse3

    def guarded(function):
        async def call(*arguments):
            try:
                return function(*arguments)
            except OSError as error:
                raise pyfuse3.FUSEError(error.errno or errno.EIO) from None
        return call

    def attributes(inode: int):
        facts, entry = below.stat(inode), pyfuse3.EntryAttributes()
        entry.st_ino, entry.st_mode, entry.st_nlink, entry.st_size = inode, facts.st_mode, facts.st_nlink, facts.st_size
        entry.st_uid, entry.st_gid, entry.st_blksize, entry.st_blocks = facts.st_uid, facts.st_gid, 4096, facts.st_blocks
        entry.st_atime_ns, entry.st_mtime_ns, entry.st_ctime_ns = facts.st_atime_ns, facts.st_mtime_ns, facts.st_ctime_ns
        entry.attr_timeout = entry.entry_timeout = 0
        return entry

    def child(parent: int, name: bytes) -> str:
        return below.child(below.path(parent), os.fsdecode(name))

    def found(path: str):
        os.lstat(below.host(path))
        return attributes(below.inode(path))

    def opened(fd: int):
        return pyfuse3.FileInfo(fh=fd, direct_io=not cached, keep_cache=False)

    def create(parent, name, mode, flags, context):
        path = child(parent, name)
        fd = below.open(path, flags | os.O_CREAT, mode)
        return opened(fd), attributes(below.inode(path))

    def mkdir(parent, name, mode, context):
        path = child(parent, name)
        below.mkdir(path, mode)
        return attributes(below.inode(path))

    def setattr(inode, attr, fields, fh, context):
        if fields.update_size:
            below.truncate(below.path(inode), attr.st_size, fh)
        host = below.host(below.path(inode))
        if fields.update_mode:
            os.chmod(host, stat.S_IMODE(attr.st_mode))
        if fields.update_atime or fields.update_mtime:
            facts = os.lstat(host)
            os.utime(host, ns=(attr.st_atime_ns if fields.update_atime else facts.st_atime_ns, attr.st_mtime_ns if fields.update_mtime else facts.st_mtime_ns))
        return attributes(inode)

    def rename(old_parent, old_name, new_parent, new_name, flags, context):
        new = child(new_parent, new_name)
        if flags & ~1 or (flags & 1 and os.path.lexists(below.host(new))):
            raise OSError(errno.EEXIST if flags & 1 else errno.EINVAL, "rename")
        below.rename(child(old_parent, old_name), new)

    listings: dict[int, tuple[str, list[str]]] = {}

    def opendir(inode, context):
        path, handle = below.path(inode), len(listings) + 1
        while handle in listings:
            handle += 1
        listings[handle] = (path, below.listing(path))
        return handle

    def readdir(handle, start, token):
        path, names = listings[handle]
        for at, name in enumerate(names[start:], start):
            try:
                entry = found(below.child(path, name))
            except OSError:
                continue
            if not pyfuse3.readdir_reply(token, os.fsencode(name), entry, at + 1):
                break

    def statfs(context):
        facts, reply = os.statvfs(below.host("/")), pyfuse3.StatvfsData()
        for name in ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail", "f_namemax"):
            setattr_of(reply, name, getattr(facts, name))
        return reply

    setattr_of = object.__setattr__
    calls = {"lookup": lambda parent, name, context: found(child(parent, name)), "getattr": lambda inode, context: attributes(inode), "setattr": setattr, "mkdir": mkdir,
             "rmdir": lambda parent, name, context: below.remove(child(parent, name), True), "unlink": lambda parent, name, context: below.remove(child(parent, name), False),
             "rename": rename, "create": create, "open": lambda inode, flags, context: opened(below.open(below.path(inode), flags)), "read": below.read, "write": below.write,
             "fsync": lambda fd, data_only: below.sync(fd), "fsyncdir": lambda fd, data_only: None, "flush": lambda fd: None, "release": below.close, "opendir": opendir,
             "readdir": readdir, "releasedir": lambda handle: listings.pop(handle) and None, "statfs": statfs, "access": lambda inode, mode, context: True}
    members = {name: staticmethod(guarded(function)) for name, function in calls.items()}
    return type("Recording", (pyfuse3.Operations,), members)()


@contextmanager
def recorded(directory: str, out: str, cached: bool):
    """The directory with the mount over it; the trace is whole afterwards."""
    from . import fuse_run
    fuse_run.check_available()
    import pyfuse3
    import trio

    recorder = Recorder(out)
    ready, tokens = threading.Event(), []

    async def serve():
        tokens.append(trio.lowlevel.current_trio_token())
        ready.set()
        await pyfuse3.main()

    below = Below(directory, recorder)
    try:
        pyfuse3.init(operations(below, cached), directory, {"fsname=norbench-record", "default_permissions"})
    except RuntimeError as error:
        raise bench.BenchError(f"{directory}: cannot be mounted over: {error}") from None
    server = threading.Thread(target=trio.run, args=(serve,), daemon=True)
    server.start()
    ready.wait()
    try:
        yield
    finally:
        tokens[0].run_sync_soon(pyfuse3.terminate)
        server.join(10)
        pyfuse3.close(unmount=True)
        for fd in list(below.handles):
            below.close(fd)
        recorder.end()
        if recorder.calls == 0:                 # what was there before is no call
            os.unlink(out)


def record(directory: str, out: str, command: list[str], cached: bool) -> int:
    """Runs the program over the directory; without one, waits for Ctrl-C. Gives back its exit code."""
    with recorded(str(Path(directory).resolve()), out, cached):
        if command:
            return subprocess.run(command).returncode
        print(f"norbench: {directory} is recorded until Ctrl-C", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return 0
    return 0
