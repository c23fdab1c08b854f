# SPDX-License-Identifier: BSD-2-Clause
"""The operations of a mount without the kernel: random calls against a model, and the rules of a
host's file system.
"""

import errno
import os
import random

import pytest

import nf2fs
from nf2fs import native
from nf2fs.fuse_ops import ROOT, FileSystem

pytestmark = pytest.mark.skipif(
    native.find_library() is None, reason="the compiled library is not built"
)

COUNT = 12


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80", erase=False)
    return path


@pytest.fixture
def files(image):
    with nf2fs.open_image(image) as volume:
        found = FileSystem(volume)
        yield found
        assert found.close() == []


def fails(code, call, *arguments):
    with pytest.raises(OSError) as caught:
        call(*arguments)
    assert caught.value.errno == code


def make(files, name, data=b"", parent=ROOT):
    number = files.create(parent, name, os.O_RDWR | os.O_EXCL).number
    if data:
        assert files.write(number, 0, data) == len(data)
    return number


def stored(files, name, data, parent=ROOT):
    files.release(make(files, name, data, parent))


def content(files, name, parent=ROOT):
    number = files.lookup(parent, name).number
    files.open(number, os.O_RDONLY)
    try:
        return files.read(number, 0, files.getattr(number).size)
    finally:
        files.release(number)
        files.forget(number, 1)


# ---- the rules ----


def test_many_files_are_written_at_once(files):
    numbers = [make(files, b"file %d" % index) for index in range(COUNT)]
    for turn in range(5):
        for index, number in enumerate(numbers):
            files.write(number, 10 * turn, b"%02d in %02d. " % (turn, index))
    for number in numbers:
        files.release(number)
    for index in range(COUNT):
        assert content(files, b"file %d" % index) == b"".join(
            b"%02d in %02d. " % (turn, index) for turn in range(5)
        )


def test_a_removed_file_lives_until_it_is_closed(files):
    number = make(files, b"a", b"first")
    files.sync(number)
    files.write(number, 5, b" second")
    files.unlink(ROOT, b"a")
    fails(errno.ENOENT, files.lookup, ROOT, b"a")
    assert files.read(number, 0, 100) == b"first second"
    files.write(number, 20, b"x")
    files.truncate(number, 30)
    assert files.read(number, 0, 100) == b"first second" + bytes(8) + b"x" + bytes(9)
    assert files.getattr(number).size == 30
    stored(files, b"a", b"another")
    files.release(number)
    assert content(files, b"a") == b"another"


def test_a_replaced_file_lives_until_it_is_closed(files):
    old = make(files, b"target", b"old")
    new = make(files, b"source", b"new")
    files.rename(ROOT, b"source", ROOT, b"target")
    assert files.read(old, 0, 10) == b"old"
    assert files.read(new, 0, 10) == b"new"
    files.write(new, 3, b"er")
    files.release(old)
    files.release(new)
    assert content(files, b"target") == b"newer"
    fails(errno.ENOENT, files.lookup, ROOT, b"source")


def test_a_refused_removal_leaves_the_file(files):
    sub = files.mkdir(ROOT, b"sub").number
    number = make(files, b"file", b"data")
    fails(errno.ENOTDIR, files.rename, ROOT, b"sub", ROOT, b"file")
    files.write(number, 4, b" more")
    files.release(number)
    assert content(files, b"file") == b"data more"
    fails(errno.EISDIR, files.rename, ROOT, b"file", ROOT, b"sub")
    fails(errno.EISDIR, files.unlink, ROOT, b"sub")
    fails(errno.ENOTDIR, files.rmdir, ROOT, b"file")
    stored(files, b"in it", b"", sub)
    fails(errno.ENOTEMPTY, files.rmdir, ROOT, b"sub")
    fails(errno.EINVAL, files.rename, ROOT, b"sub", sub, b"below")
    fails(errno.EEXIST, files.rename, ROOT, b"file", sub, b"in it", False)
    fails(errno.EEXIST, files.create, ROOT, b"file", os.O_RDWR | os.O_EXCL)
    fails(errno.ENAMETOOLONG, files.create, ROOT, b"n" * 256, os.O_RDWR)


def test_open_files_follow_their_directory(files):
    one, two = files.mkdir(ROOT, b"one").number, files.mkdir(ROOT, b"two").number
    inner = files.mkdir(one, b"inner").number
    number = make(files, b"file", b"data", inner)
    files.rename(ROOT, b"one", two, b"moved")
    files.write(number, 4, b" more")
    files.release(number)
    assert content(files, b"file", inner) == b"data more"
    assert files.listing(one) == [(b"inner", True)]
    assert files.volume.read_bytes("/two/moved/inner/file") == b"data more"


def test_a_removed_directory_is_empty_and_takes_no_names(files):
    number = files.mkdir(ROOT, b"gone").number
    files.rmdir(ROOT, b"gone")
    fails(errno.ENOENT, files.create, number, b"file", os.O_RDWR)
    fails(errno.ENOENT, files.listing, number)
    fails(errno.ENOENT, files.lookup, number, b"file")


def test_truncation_at_open_is_part_of_the_next_sync(image):
    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/settings", b"old settings")
        files = FileSystem(volume)
        number = files.lookup(ROOT, b"settings").number
        files.open(number, os.O_WRONLY | os.O_TRUNC)
        files.write(number, 0, b"new")
        cut = image.with_name("cut.img")
        cut.write_bytes(image.read_bytes())  # as after kill -9
        files.release(number)
        assert volume.read_bytes("/settings") == b"new"
        assert files.close() == []
    with nf2fs.open_image(cut) as volume:
        assert volume.read_bytes("/settings") == b"old settings"


def test_a_full_volume_refuses_and_keeps_what_it_took(files):
    number, size = make(files, b"large"), 0
    with pytest.raises(OSError) as caught:
        while True:
            size += files.write(number, size, b"x" * 65536)
    assert caught.value.errno == errno.ENOSPC
    files.sync(number)
    assert files.getattr(number).size == size > 512 * 1024
    files.release(number)
    files.unlink(ROOT, b"large")
    stored(files, b"next", b"y" * 100000)
    assert content(files, b"next") == b"y" * 100000


def test_sizes_beyond_the_limit(files):
    number = make(files, b"file")
    fails(errno.EFBIG, files.write, number, 0x7FFFFFFF, b"x")
    fails(errno.EFBIG, files.truncate, number, 0x80000000)
    assert files.read(number, 0x90000000, 10) == b""
    files.release(number)


def test_a_failed_sync_is_told_once(files, monkeypatch):
    number = make(files, b"victim", b"data")
    kind = type(files.nodes.get(number).handle)
    closing = kind.close

    def close_and_fail(handle):
        closing(handle)
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(kind, "close", close_and_fail)
    files.unlink(ROOT, b"victim")  # its content goes to a file of the host, and its handle is closed
    monkeypatch.undo()
    fails(errno.ENOSPC, files.sync, number)
    files.sync(number)
    files.release(number)


def test_numbers_are_forgotten(files):
    for index in range(50):
        number = files.mkdir(ROOT, b"d%d" % index).number
        stored(files, b"file", b"data", number)
    for index in range(50):
        number = files.lookup(ROOT, b"d%d" % index).number
        inner = files.lookup(number, b"file").number
        files.unlink(number, b"file")
        files.forget(inner, 9)
        files.rmdir(ROOT, b"d%d" % index)
        files.forget(number, 9)
    assert len(files.nodes) == 1


# ---- random calls against a model ----


class Model:
    """Names in one dictionary a directory; files are bytearrays, shared with those who have them
    open.
    """

    def __init__(self):
        self.root = {}
        self.open = []  # (number, bytearray)

    def places(self):
        """(path of names, dictionary) of each directory."""
        found, pending = [], [((), self.root)]
        while pending:
            path, here = pending.pop()
            found.append((path, here))
            pending += [
                (path + (name,), below)
                for name, below in sorted(here.items())
                if isinstance(below, dict)
            ]
        return found


class Run:
    def __init__(self, files, seed):
        self.files, self.random, self.model = files, random.Random(seed), Model()

    def number(self, path):
        """Looks a path up from the root, as a kernel without a cache would."""
        number = ROOT
        for name in path:
            number = self.files.lookup(number, name).number
        return number

    def pick(self, want=None):
        """A directory, and a name in it of the wanted kind, or any name."""
        path, here = self.random.choice(self.model.places())
        names = [
            name for name, node in sorted(here.items()) if want is None or isinstance(node, want)
        ]
        return path, here, (self.random.choice(names) if names else None)

    def step(self):
        kind = self.random.choice(
            [
                "create",
                "create",
                "open",
                "open",
                "write",
                "write",
                "write",
                "write",
                "read",
                "read",
                "truncate",
                "sync",
                "release",
                "release",
                "unlink",
                "rename",
                "rename",
                "mkdir",
                "rmdir",
                "list",
                "forget",
            ]
        )
        getattr(self, kind)()

    def create(self):
        path, here, _ = self.pick()
        name = b"f%d" % self.random.randrange(12)
        number = self.number(path)
        if name in here or len(self.model.open) > 10:
            return
        here[name] = bytearray()
        self.model.open.append(
            (self.files.create(number, name, os.O_RDWR | os.O_EXCL).number, here[name])
        )

    def open(self):
        path, here, name = self.pick(bytearray)
        if name is None or len(self.model.open) > 12:
            return
        number = self.number(path + (name,))
        truncate = self.random.random() < 0.1
        self.files.open(number, os.O_RDWR | (os.O_TRUNC if truncate else 0))
        if truncate:
            del here[name][:]
        self.model.open.append((number, here[name]))

    def write(self):
        if not self.model.open:
            return
        number, data = self.random.choice(self.model.open)
        offset = self.random.choice((0, len(data), self.random.randrange(len(data) + 300)))
        piece = self.random.randbytes(self.random.choice((1, 32, 100, 256, 1000, 3000)))
        if offset + len(piece) > 20000:
            return
        assert self.files.write(number, offset, piece) == len(piece)
        data.extend(bytes(max(0, offset - len(data))))
        data[offset : offset + len(piece)] = piece

    def read(self):
        if not self.model.open:
            return
        number, data = self.random.choice(self.model.open)
        offset, size = self.random.randrange(len(data) + 10), self.random.randrange(5000)
        assert self.files.read(number, offset, size) == data[offset : offset + size]
        assert self.files.getattr(number).size == len(data)

    def truncate(self):
        if self.model.open:
            number, data = self.random.choice(self.model.open)
            size = self.random.randrange(len(data) + 500)
            self.files.truncate(number, size)
            data[size:] = bytes(max(0, size - len(data)))

    def sync(self):
        if self.model.open:
            self.files.sync(self.random.choice(self.model.open)[0])

    def release(self):
        if self.model.open:
            self.files.release(self.model.open.pop(self.random.randrange(len(self.model.open)))[0])

    def unlink(self):
        path, here, name = self.pick(bytearray)
        if name is not None:
            self.files.unlink(self.number(path), name)
            del here[name]

    def mkdir(self):
        path, here, _ = self.pick()
        name = b"d%d" % self.random.randrange(4)
        if name not in here and len(path) < 4:
            self.files.mkdir(self.number(path), name)
            here[name] = {}

    def rmdir(self):
        path, here, name = self.pick(dict)
        if name is None:
            return
        if here[name]:
            fails(errno.ENOTEMPTY, self.files.rmdir, self.number(path), name)
        else:
            self.files.rmdir(self.number(path), name)
            del here[name]

    def rename(self):
        path, here, name = self.pick()
        to_path, there, _ = self.pick()
        if name is None:
            return
        node, new = (
            here[name],
            self.random.choice((name, b"f%d" % self.random.randrange(12), b"d1")),
        )
        target = there.get(new)
        arguments = (self.number(path), name, self.number(to_path), new)
        if isinstance(node, dict) and to_path[: len(path) + 1] == path + (name,):
            with pytest.raises(OSError):
                self.files.rename(*arguments)
        elif target is node:
            self.files.rename(*arguments)
        elif target is not None and isinstance(node, dict) != isinstance(target, dict):
            fails(
                errno.ENOTDIR if isinstance(node, dict) else errno.EISDIR,
                self.files.rename,
                *arguments,
            )
        elif target:
            if isinstance(target, dict):
                fails(errno.ENOTEMPTY, self.files.rename, *arguments)
            else:
                self.moved(here, name, there, new, arguments)
        else:
            self.moved(here, name, there, new, arguments)

    def moved(self, here, name, there, new, arguments):
        self.files.rename(*arguments)
        there[new] = here.pop(name)

    def list(self):
        path, here, _ = self.pick()
        expected = sorted((name, isinstance(node, dict)) for name, node in here.items())
        assert sorted(self.files.listing(self.number(path))) == expected

    def forget(self):
        path, _, name = self.pick()
        if name is not None:
            self.files.forget(self.number(path + (name,)), self.random.randrange(1, 4))

    def tree(self):
        return {
            "/" + "/".join(map(bytes.decode, path + (name,))): None
            if isinstance(node, dict)
            else bytes(node)
            for path, here in self.model.places()
            for name, node in here.items()
        }


def tree_of(volume):
    found = {}
    for directory, below, names in volume.walk("/"):
        found |= {os.path.join(directory, name): None for name in below}
        found |= {
            os.path.join(directory, name): volume.read_bytes(os.path.join(directory, name))
            for name in names
        }
    return found


@pytest.mark.parametrize("seed", range(1, 7))
def test_random_calls(image, seed):
    with nf2fs.open_image(image) as volume:
        run = Run(FileSystem(volume), seed)
        for _ in range(1500):
            run.step()
        assert run.files.close() == []
        assert tree_of(volume) == run.tree()
    with nf2fs.open_image(image, read_only=True) as volume:
        assert tree_of(volume) == run.tree()
        assert volume.check() == (0, [])


# ---- times and modes that are kept ----


def test_times_and_modes_are_preserved(image):
    """Those of files that were written, and those that were set, also while a file is open."""
    clock = [1_700_000_000 * 10**9]
    with nf2fs.open_image(image) as volume:
        files = FileSystem(volume, now=lambda: clock[0], preserve=True)
        stored(files, b"written", b"x" * 3000)
        files.set_mode(make(files, b"open", b"small"), 0o600)
        files.set_times(files.lookup(ROOT, b"open").number, None, 5 * 10**9)
        above = files.mkdir(ROOT, b"directory").number
        files.set_mode(above, 0o700)
        stored(files, b"below", b"", above)
        clock[0] += 10**9
        files.truncate(files.lookup(ROOT, b"written").number, 10)
        assert files.close() == []
    with nf2fs.open_image(image, read_only=True) as volume:
        files = FileSystem(volume, preserve=True)
        found = {name: files.lookup(ROOT, name) for name in (b"written", b"open", b"directory")}
        assert found[b"written"].times[1] == 1_700_000_001 * 10**9 and found[b"written"].mode is None
        assert (found[b"open"].times[1], found[b"open"].mode) == (5 * 10**9, 0o600)
        assert found[b"directory"].mode == 0o700
        assert content(files, b"open") == b"small" and content(files, b"written") == b"x" * 10
        assert FileSystem(volume).lookup(ROOT, b"open").mode is None


def test_a_removed_file_keeps_nothing(image):
    with nf2fs.open_image(image) as volume:
        files = FileSystem(volume, preserve=True)
        number = make(files, b"gone", b"data")
        files.unlink(ROOT, b"gone")
        files.set_mode(number, 0o600)
        files.write(number, 0, b"more")
        files.release(number)
        assert files.close() == [] and volume.listdir("/") == []
