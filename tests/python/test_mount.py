# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 mount` through the kernel: what it promises of POSIX, random runs, programs, and its end by
signals and by kill -9.
"""

import errno
import fcntl
import mmap
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mount_fsx import Fsx

import nf2fs
from nf2fs import fuse_run, native

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "python")}
ENVIRONMENT.pop("PYTHONUNBUFFERED", None)  # as most users have it
UNMOUNT = ["umount"] if os.getuid() == 0 else ["fusermount3", "-u", "-q"]


def may_mount():
    """Has this process the capability (CAP_SYS_ADMIN)? Containers take it from root."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return bool(int(status.split("CapEff:")[1].split()[0], 16) >> 21 & 1)


def unavailable():
    """Why the kernel cannot be used here; None if it can."""
    if native.find_library() is None:
        return "the compiled library is not built"
    if not os.path.exists(fuse_run.DEVICE):
        return f"not possible here: {fuse_run.DEVICE} is missing, this kernel or container has no FUSE"
    if os.getuid() == 0 and not may_mount():
        return "not possible here: root may not mount in this container"
    try:
        fuse_run.check_available()
    except fuse_run.NotAvailable as error:
        return str(error)
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "not possible here: /dev/fuse may not be opened by this user"
    if os.getuid() != 0 and not shutil.which("fusermount3"):
        return "fusermount3 is missing (Debian: fuse3)"
    return None


pytestmark = pytest.mark.skipif(unavailable() is not None, reason=unavailable() or "")


class Mounted:
    """An `nf2 mount` that runs."""

    def __init__(self, image, directory, *options):
        self.image, self.top = image, directory
        command = [sys.executable, "-m", "nf2fs.cli", "mount", str(image), str(directory), *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
        )
        self.first_line = self.process.stdout.readline()

    def stop(self, number=signal.SIGTERM):
        """Ends it; returns (exit code, output, errors)."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=90)
        return self.process.returncode, out, err

    def clean_up(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        lazily = "-l" if os.getuid() == 0 else "-z"
        subprocess.run([*UNMOUNT, lazily, self.top], stderr=subprocess.DEVNULL)


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q256", erase=False)
    return path


@pytest.fixture
def mounting(image, tmp_path):
    """Mounts the image; all mounts are gone after the test."""
    directory, running = tmp_path / "mnt", []
    directory.mkdir()

    def mount(*options):
        running.append(Mounted(image, directory, *options))
        assert "is mounted on" in running[-1].first_line, running[-1].process.communicate()
        return running[-1]

    yield mount
    for one in running:
        one.clean_up()


@pytest.fixture
def mounted(mounting):
    return mounting()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One mount for all that only look at names and files."""
    place = tmp_path_factory.mktemp("shared")
    nf2fs.format_image(place / "flash.img", "w25q256", erase=False)
    (place / "mnt").mkdir()
    one = Mounted(place / "flash.img", place / "mnt")
    yield one
    if one.process.poll() is None:
        one.stop()
    one.clean_up()
    assert whole(one.image)


@pytest.fixture
def top(shared, request):
    """An empty directory of a mounted volume."""
    directory = shared.top / request.node.name
    directory.mkdir()
    return directory


def fails(code, call, *arguments, **more):
    with pytest.raises(OSError) as caught:
        call(*arguments, **more)
    assert caught.value.errno == code


def whole(image):
    with nf2fs.open_image(image, read_only=True) as volume:
        return volume.check() == (0, [])


# ---- what is promised ----


def test_files_and_directories(top):
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "file").write_bytes(b"content")
    assert (top / "a" / "file").read_bytes() == b"content"
    facts = (top / "a" / "file").stat()
    assert (facts.st_size, facts.st_mode & 0o170777, facts.st_uid) == (7, 0o100644, os.getuid())
    assert sorted(os.listdir(top / "a")) == ["b", "file"]
    assert [
        (entry.name, entry.is_dir())
        for entry in sorted(os.scandir(top / "a"), key=lambda entry: entry.name)
    ] == [("b", True), ("file", False)]
    fails(errno.EEXIST, os.mkdir, top / "a")
    fails(errno.ENOTEMPTY, os.rmdir, top / "a")
    fails(errno.ENOENT, os.stat, top / "none")
    fails(errno.ENOTDIR, os.stat, top / "a" / "file" / "x")
    fails(errno.EISDIR, os.unlink, top / "a")
    fails(errno.ENOTDIR, os.rmdir, top / "a" / "file")
    fails(errno.EISDIR, os.open, top / "a", os.O_WRONLY)
    fails(errno.ENAMETOOLONG, os.mkdir, top / ("n" * 256))
    os.mkdir(top / ("n" * 255))
    os.mkdir(os.fsencode(top) + b"/not \xff\xfe text")
    assert b"not \xff\xfe text" in os.listdir(os.fsencode(top))


def test_opening(top):
    path = top / "file"
    fails(errno.ENOENT, os.open, path, os.O_RDWR)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    fails(errno.EEXIST, os.open, path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    path.write_bytes(b"0123456789")
    reader = os.open(path, os.O_RDONLY)
    fails(errno.EBADF, os.write, reader, b"x")
    with open(path, "ab", buffering=0) as one, open(path, "ab", buffering=0) as two:
        one.write(b"a")
        two.write(b"b")
        one.write(b"c")
    assert os.pread(reader, 100, 0) == b"0123456789abc"
    os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))
    assert os.fstat(reader).st_size == 0
    os.close(reader)


def test_holes_and_truncation(top):
    with open(top / "file", "w+b", buffering=0) as file:
        file.seek(5000)
        file.write(b"end")
        assert os.pread(file.fileno(), 6000, 0) == bytes(5000) + b"end"
        os.ftruncate(file.fileno(), 3)
        os.ftruncate(file.fileno(), 10)
        assert os.pread(file.fileno(), 100, 0) == bytes(10)
    os.truncate(top / "file", 4)
    assert (top / "file").read_bytes() == bytes(4)


def test_renaming(top):
    (top / "one").write_bytes(b"1")
    (top / "two").write_bytes(b"2")
    with open(top / "two", "rb") as held:
        os.rename(top / "one", top / "two")
        assert held.read() == b"2"
    assert os.listdir(top) == ["two"] and (top / "two").read_bytes() == b"1"
    (top / "d" / "e").mkdir(parents=True)
    os.rename(top / "two", top / "d" / "e" / "three")
    fails(errno.EINVAL, os.rename, top / "d", top / "d" / "e" / "d")
    (top / "file").write_bytes(b"")
    fails(errno.ENOTDIR, os.rename, top / "d", top / "file")
    (top / "empty").mkdir()
    fails(errno.EISDIR, os.rename, top / "d" / "e" / "three", top / "empty")
    os.rename(top / "d" / "e", top / "empty")
    assert (top / "empty" / "three").read_bytes() == b"1"
    fails(errno.ENOTEMPTY, os.rename, top / "d", top / "empty")


def test_removed_files_go_on(top):
    with open(top / "file", "w+b", buffering=0) as file:
        file.write(b"content")
        os.unlink(top / "file")
        assert os.listdir(top) == []
        assert os.pread(file.fileno(), 100, 0) == b"content"
        os.pwrite(file.fileno(), b"more", 7)
        os.ftruncate(file.fileno(), 9)
        assert os.fstat(file.fileno()).st_size == 9
        assert os.pread(file.fileno(), 100, 0) == b"contentmo"


def test_many_open_files(top):
    held = [open(top / f"file {index}", "w+b", buffering=0) for index in range(40)]
    for turn in range(3):
        for index, file in enumerate(held):
            file.write(b"%d:%d " % (turn, index))
    for index, file in enumerate(held):
        assert os.pread(file.fileno(), 100, 0) == b"".join(
            b"%d:%d " % (turn, index) for turn in range(3)
        )
        file.close()


def test_mapped_files(top):
    (top / "file").write_bytes(bytes(10000))
    with open(top / "file", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[5000:5005] = b"hello"
    assert (top / "file").read_bytes()[4990:5010] == bytes(10) + b"hello" + bytes(5)


def test_locks(top):
    with open(top / "file", "w") as one, open(top / "file", "r+") as two:
        fcntl.flock(one, fcntl.LOCK_EX)
        fails(errno.EAGAIN, fcntl.flock, two, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_times_are_kept_while_it_is_mounted(top):
    (top / "file").write_bytes(b"")
    assert abs((top / "file").stat().st_mtime - time.time()) < 60
    os.utime(top / "file", (1000, 2000))
    assert ((top / "file").stat().st_atime, (top / "file").stat().st_mtime) == (1000, 2000)


def test_what_a_volume_does_not_keep_is_refused(top):
    (top / "file").write_bytes(b"")
    fails(errno.EPERM, os.chmod, top / "file", 0o600)
    fails(errno.EPERM, os.chown, top / "file", 12345, 12345)
    fails(errno.EPERM, os.symlink, "file", top / "link")
    fails(errno.EPERM, os.link, top / "file", top / "link")
    fails(errno.EPERM, os.mkfifo, top / "pipe")
    os.chmod(top / "file", 0o644)
    os.chown(top / "file", os.getuid(), os.getgid())


def test_modes_can_be_ignored(mounting):
    top = mounting("--ignore-modes").top
    (top / "file").write_bytes(b"")
    os.chmod(top / "file", 0o600)
    assert (top / "file").stat().st_mode & 0o777 == 0o644


def test_times_and_modes_are_preserved(mounting, image):
    for turn in range(2):
        one = mounting("--preserve")
        place = one.top / "directory"
        if turn == 0:
            place.mkdir(mode=0o700)
            (place / "file").write_bytes(b"x" * 500)
            os.chmod(place / "file", 0o640)
            os.utime(place / "file", (1_600_000_000, 1_600_000_000))
            os.close(os.open(place / "new", os.O_WRONLY | os.O_CREAT, 0o444))
        assert os.stat(place).st_mode & 0o777 == 0o700
        assert os.stat(place / "file").st_mode & 0o777 == 0o640
        assert os.stat(place / "file").st_mtime == 1_600_000_000
        assert os.stat(place / "new").st_mode & 0o777 == 0o444
        assert one.stop()[0] == 0
    assert whole(image)


def test_space(mounted, image):
    facts = os.statvfs(mounted.top)
    assert facts.f_frsize * facts.f_blocks <= 32 << 20 and facts.f_namemax == 255
    with open(mounted.top / "large", "wb", buffering=0) as file:
        with pytest.raises(OSError) as caught:
            while True:
                file.write(bytes(1 << 20))
        assert caught.value.errno == errno.ENOSPC
    assert (mounted.top / "large").stat().st_size > 28 << 20
    os.unlink(mounted.top / "large")
    (mounted.top / "small").write_bytes(b"fits")
    mounted.stop()
    assert whole(image)


def test_space_comes_back_while_nothing_is_asked_for(image, mounting):
    """Removed files are free again without another call that changes anything."""
    nf2fs.format_image(image, "w25q80", force=True)
    mounted = mounting()
    before = os.statvfs(mounted.top).f_bfree
    for index in range(20):
        (mounted.top / f"file {index}").write_bytes(os.urandom(35_000))
    full = os.statvfs(mounted.top).f_bfree
    for index in range(20):
        os.unlink(mounted.top / f"file {index}")
    end = time.monotonic() + 60
    while os.statvfs(mounted.top).f_bfree < before - (before - full) // 20:
        assert time.monotonic() < end, (before, full, os.statvfs(mounted.top).f_bfree)
        time.sleep(0.5)
    assert mounted.stop()[0] == 0 and whole(image)


def test_idle_work_on_a_full_volume(mounting, tmp_path, nf2):
    """It harms nothing, and ends when there is none."""
    mounted = mounting()
    with open(mounted.top / "large", "wb", buffering=0) as file:
        with pytest.raises(OSError):
            while True:
                file.write(bytes(1 << 20))
    end, before = time.monotonic() + 60, -1.0
    while (now := cpu_s(mounted.process.pid)) - before > 0.1:
        assert time.monotonic() < end
        before = now
        time.sleep(1)
    os.truncate(mounted.top / "large", 100)
    (mounted.top / "small").write_bytes(b"fits")
    mounted.stop()
    assert whole(mounted.image)


def cpu_s(process):
    part = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(part[11]) + int(part[12])) / os.sysconf("SC_CLK_TCK")


def test_read_only(mounting, image):
    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/file", b"content")
    before = image.read_bytes()
    mounted = mounting("--read-only")
    assert (mounted.top / "file").read_bytes() == b"content"
    fails(errno.EROFS, os.open, mounted.top / "file", os.O_RDWR)
    fails(errno.EROFS, os.mkdir, mounted.top / "d")
    fails(errno.EROFS, os.unlink, mounted.top / "file")
    assert mounted.stop()[0] == 0
    assert image.read_bytes() == before


# ---- random runs ----


@pytest.mark.parametrize("seed", (1, 2))
def test_random_runs(mounted, image, seed):
    run = Fsx(mounted.top, seed)
    for _ in range(1500):
        run.step()
    expected = run.close()
    assert mounted.stop()[0] == 0
    with nf2fs.open_image(image, read_only=True) as volume:
        assert {name: volume.read_bytes("/" + name) for name in volume.listdir("/")} == expected
        assert volume.check() == (0, [])


# ---- programs ----


def test_git_clones_onto_it(mounted, image, tmp_path):
    def git(*arguments, where=tmp_path):
        command = [
            "git",
            "-c",
            "user.name=n",
            "-c",
            "user.email=e@example.org",
            "-c",
            "commit.gpgsign=false",
            *arguments,
        ]
        return subprocess.run(command, cwd=where, check=True, capture_output=True, text=True).stdout

    source, clone = tmp_path / "source", mounted.top / "clone"
    source.mkdir()
    git("init", "-q", "-b", "main", where=source)
    for index in range(200):
        (source / f"d{index % 7}").mkdir(exist_ok=True)
        (source / f"d{index % 7}" / f"file {index}").write_bytes(os.urandom(index * 20))
    git("add", ".", where=source)
    git("commit", "-q", "-m", "one", where=source)
    git("clone", "-q", "--no-hardlinks", str(source), str(clone))
    assert git("status", "--porcelain", where=clone) == ""
    (clone / "d1" / "file 1").write_text("changed")
    git("commit", "-q", "-a", "-m", "two", where=clone)
    git("gc", "-q", where=clone)
    git("checkout", "-q", "HEAD~1", where=clone)
    git("fsck", "--strict", where=clone)
    mounted.stop()
    assert whole(image)


@pytest.mark.parametrize("journal", ("delete", "wal", "truncate"))
def test_sqlite_works_on_it(top, journal):
    base = sqlite3.connect(top / "base.db", isolation_level=None)
    assert base.execute(f"PRAGMA journal_mode={journal}").fetchone() == (journal,)
    base.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, v BLOB)")
    for turn in range(20):
        base.execute("BEGIN")
        rows = [(turn * 20 + index, bytes([turn]) * 200) for index in range(20)]
        base.executemany("INSERT INTO t VALUES (?, ?)", rows)
        base.execute("ROLLBACK" if turn % 5 == 4 else "COMMIT")
    other = sqlite3.connect(top / "base.db")
    assert other.execute("SELECT count(*), sum(length(v)) FROM t").fetchone() == (320, 64000)
    base.execute("DELETE FROM t WHERE n % 2")
    base.execute("VACUUM")
    assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert other.execute("SELECT count(*) FROM t").fetchone() == (160,)


# ---- how it ends ----


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
def test_signals_unmount(mounted, image, number):
    written = os.open(mounted.top / "open", os.O_RDWR | os.O_CREAT)
    os.write(written, b"written, not synced")
    mapped = os.open(mounted.top / "mapped", os.O_RDWR | os.O_CREAT)
    os.ftruncate(mapped, 5000)
    with mmap.mmap(mapped, 5000) as memory:
        memory[:5] = b"hello"
        code, out, err = mounted.stop(number)
    for handle in (written, mapped):
        fails(errno.ENOTCONN, os.close, handle)  # there is nothing left to close it
    assert (code, err) == (0, "") and "is unmounted" in out
    assert not os.path.ismount(mounted.top)
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.left_cleanly() and volume.check() == (0, [])
        assert volume.read_bytes("/open") == b"written, not synced"
        assert volume.read_bytes("/mapped")[:5] == b"hello"


BUSY = """
import os, sys
with open(sys.argv[1] + "/busy", "wb", buffering=0) as file:
    print("writes", flush=True)
    while True:
        file.write(bytes(100))
        file.seek(0)
"""


def test_a_busy_writer_does_not_hold_a_signal_up(mounted, image):
    """And all that was changed in mapped files is in the image all the same."""
    size = 3 << 20
    with open(mounted.top / "mapped", "w+b") as file:
        file.truncate(size)
        memory = mmap.mmap(file.fileno(), size)
    writer = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(mounted.top)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        writer.stdout.readline()
        content = os.urandom(size)
        memory[:] = content
        begun = time.monotonic()
        code, _, err = mounted.stop()
        assert (code, err) == (0, "") and time.monotonic() - begun < 40
    finally:
        writer.kill()
        writer.communicate()
    memory.close()
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.left_cleanly() and volume.check() == (0, [])
        assert volume.read_bytes("/mapped") == content
        assert sorted(volume.listdir("/")) == ["busy", "mapped"]


@pytest.fixture
def read_only_place(tmp_path):
    """A directory of the host in which, once `seal` was called, nothing can be written."""
    place = tmp_path / "sealed"
    place.mkdir()
    if os.getuid() != 0:
        yield place, lambda: [path.chmod(0o444 if path.is_file() else 0o555) for path in (*place.iterdir(), place)]
        return
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    yield place, lambda: subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    subprocess.run(["umount", "-l", place], check=True)


def test_an_image_where_nothing_can_be_written(read_only_place, tmp_path, nf2, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    (place, seal), top = read_only_place, tmp_path / "mnt"
    top.mkdir()
    nf2fs.format_image(place / "flash.img", "tiny256k")
    seal()
    assert nf2("mount", "--read-only", "--background", place / "flash.img", top)[0] == 0
    code, out, err = nf2("unmount", top)
    assert (code, err) == (0, "") and "is unmounted" in out


def test_fusermount_unmounts(mounted, image):
    (mounted.top / "file").write_bytes(b"content")
    subprocess.run([*UNMOUNT, mounted.top], check=True)
    assert mounted.process.wait(timeout=30) == 0
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.left_cleanly() and volume.read_bytes("/file") == b"content"


WRITER = """
import os, sys
for turn in range(100000):
    name = f"{sys.argv[1]}/file {turn % 7}"
    with open(name + ".new", "wb") as file:
        file.write(b"%08d" % turn * 300)
        file.flush()
        os.fsync(file.fileno())
    os.rename(name + ".new", name)
    with open(f"{sys.argv[1]}/log", "ab", buffering=0) as log:
        log.write(b"%08d" % turn)
        os.fsync(log.fileno())
    print(turn, flush=True)
"""


@pytest.mark.parametrize("turns", (5, 60, 150))
def test_kill_in_the_middle(mounted, image, turns):
    """What was synced before a kill -9 is there; each file is whole; nothing is wrong."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(mounted.top)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    done = -1
    for line in writer.stdout:
        done = int(line)
        if done >= turns:
            mounted.process.kill()
            break
    done = max([done] + [int(line) for line in writer.stdout])
    writer.wait()
    mounted.process.wait()
    with nf2fs.open_image(image):
        pass
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.check() == (0, [])
        log = volume.read_bytes("/log")
        seen = [int(log[at : at + 8]) for at in range(0, len(log), 8)]
        assert seen in ([*range(done + 1)], [*range(done + 2)])
        for name in (f"/file {turn % 7}" for turn in range(min(done, 7))):
            content = volume.read_bytes(name)
            assert len(content) == 2400 and content == content[:8] * 300
            assert done - int(content[:8]) < 7


# ---- the command ----


def test_in_the_background(image, tmp_path, nf2, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    directory = tmp_path / "mnt"
    directory.mkdir()
    code, out, err = nf2("mount", "--background", image, directory)
    assert (code, err) == (0, "") and "is mounted on" in out
    (directory / "file").write_bytes(b"content")
    code, _, err = nf2("mount", image, directory)
    assert code == 1 and "mounted there already" in err
    with open(directory / "file", "rb"):
        code, _, err = nf2("unmount", directory)
        assert code == 1 and "busy" in err.lower()
    code, out, err = nf2("unmount", directory)
    assert (code, err) == (0, "") and f"{image} is unmounted" in out
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.left_cleanly() and volume.read_bytes("/file") == b"content"
    code, _, err = nf2("unmount", directory)
    assert code == 1 and "no NF2FS volume is mounted there" in err


def test_bad_arguments(image, tmp_path, nf2):
    code, _, err = nf2("mount", image, tmp_path / "none")
    assert code == 1 and "no such directory" in err
    code, _, err = nf2("mount", image, image)
    assert code == 1 and "not a directory" in err
    (tmp_path / "mnt").mkdir()
    for background in ((), ("--background",)):
        code, _, err = nf2("mount", *background, tmp_path / "none.img", tmp_path / "mnt")
        assert code == 1 and "no such image file" in err
