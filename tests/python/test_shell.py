# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 shell`: scripts, a terminal with completion and Ctrl-C, and what an error leaves."""

import io
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nf2fs
from nf2fs import native, shell

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(
    native.find_library() is None, reason="the compiled library is not built"
)


@pytest.fixture
def flash(tmp_path):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        volume.makedirs("/logs/old")
        volume.write_bytes("/logs/today", b"a line\n")
        volume.write_bytes("/a name", b"with a space")
    return path


@pytest.fixture
def obey(flash, nf2, monkeypatch):
    def run(*lines, options=()):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return nf2("shell", flash, *options)

    return run


def test_a_script_is_run(obey, flash, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("from the host\n")
    code, out, err = obey(
        "# what a comment says is not done",
        "",
        "cd logs",
        "put in",
        "cp in 'a copy'",
        "mv today old",
        "mkdir -p x/y",
        "ls -l",
        "cat 'a copy' old/today",
        "get old out",
        "rm -r x",
        "pwd",
        "df",
        "help mv",
    )
    assert (code, err) == (0, "")
    assert "f         14  a copy" in out and "d          0  x/" in out
    assert "from the host\na line\n" in out and "/logs\n" in out and "mv SOURCE TARGET" in out
    assert (tmp_path / "out" / "today").read_bytes() == b"a line\n"
    with nf2fs.open_image(flash) as volume:
        assert sorted(volume.listdir("/logs")) == ["a copy", "in", "old"]


@pytest.mark.parametrize(
    "line, told",
    [
        ("cat /nope", "/nope: not found"),
        ("cat /logs", "is a directory"),
        ("cd '/a name'", "is a file"),
        ("mv one", "usage: mv SOURCE TARGET"),
        ("ls -z", "no such option: -z; usage: ls"),
        ("put /no/such/file", "No such file or directory on the host"),
        ("rm /", "the root cannot be removed"),
        ("rm /logs", "not empty"),
        ("cp /logs /x", "cp copies files"),
        ("cp /logs/today /logs/today", "is the file itself"),
        ("cat 'open", "no closing quotation"),
        ("frobnicate", "no such command: frobnicate"),
        ("mkdir ''", "usage: mkdir"),
    ],
)
def test_the_first_error_of_a_script_ends_it(obey, line, told):
    code, out, err = obey("pwd", line, "ls /logs")
    assert code == 1 and out == "/\n"
    assert err.startswith("nf2: line 2: ") and told in err and err.count("\n") == 1


def test_an_error_leaves_what_was_there(obey, flash, tmp_path):
    """Also where the volume stays mounted, and the next command is about the same file."""
    (tmp_path / "large").write_bytes(os.urandom(900_000))
    with nf2fs.open_image(flash) as volume:
        session = shell.Shell(volume, str(flash))
        session.onecmd(f"put {tmp_path}/large /large")
        with pytest.raises(nf2fs.NF2Error, match="space"):
            session.onecmd("cp /large /logs/today")
        assert volume.read_bytes("/logs/today") == b"a line\n"
        session.onecmd("rm /large")
        session.onecmd("mv /logs/today /logs/yesterday")
    with nf2fs.open_image(flash) as volume:
        assert volume.read_bytes("/logs/yesterday") == b"a line\n"
        assert volume.check() == (0, [])


def test_a_file_is_discarded(flash):
    with nf2fs.open_image(flash) as volume:
        file = volume.open("/logs/today", "wb", buffering=0)
        file.write(b"half of it")
        file.discard()
        file.discard()
        assert file.closed and volume.read_bytes("/logs/today") == b"a line\n"
        new = volume.open("/new", "wb", buffering=0)
        new.discard()
        assert not volume.exists("/new")


def test_read_only(obey):
    code, out, err = obey("ls", "rm '/a name'", options=("--read-only",))
    assert code == 1 and "a name" in out and "line 2" in err and "read-only" in err


@pytest.mark.parametrize(
    "line, offered",
    [
        ("c", ["cd ", "cat ", "cp "]),
        ("cat /lo", ["/logs/"]),
        ("cat /logs/", ["/logs/old/", "/logs/today"]),
        ("cd /logs/", ["/logs/old/"]),
        ("cat a", ["a\\ name"]),
        ("cat a\\ n", ["name"]),
        ("cat 'a n", ["name"]),
        ("rm -r lo", ["logs/"]),
        ("help m", ["mv", "mkdir"]),
        ("cat /nope/x", []),
    ],
)
def test_completion(flash, line, offered):
    with nf2fs.open_image(flash, read_only=True) as volume:
        found = shell.Shell(volume, str(flash)).offers(line, line.rfind(" ") + 1)
    assert sorted(found) == sorted(offered)


def test_completion_of_the_host(flash, tmp_path):
    (tmp_path / "some file").touch()
    with nf2fs.open_image(flash, read_only=True) as volume:
        session = shell.Shell(volume, str(flash))
        line = f"put {tmp_path}/some"
        assert session.offers(line, 4) == [f"{tmp_path}/some\\ file"]
        line = f"get /logs/today {tmp_path}/fl"
        assert session.offers(line, line.rfind(" ") + 1) == [f"{tmp_path}/flash.img"]


class Terminal:
    def __init__(self, flash):
        self.top, below = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nf2fs", "shell", str(flash)],
            stdin=below,
            stdout=below,
            stderr=below,
            start_new_session=True,
            preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
            env=os.environ | {"PYTHONPATH": str(ROOT / "python"), "TERM": "dumb"},
        )
        os.close(below)
        self.seen = ""

    def expect(self, text):
        end = time.monotonic() + 30
        while text not in self.seen:
            assert select.select([self.top], [], [], max(0, end - time.monotonic()))[0], self.seen
            self.seen += os.read(self.top, 4096).decode()
        self.seen = self.seen.partition(text)[2]

    def send(self, text):
        os.write(self.top, text.encode())

    def interrupt(self):
        """Ctrl-C behind a part of a line; again where it came before the line was read, and nobody saw it."""
        for _ in range(10):
            self.send("ls \x03")
            end = time.monotonic() + 3
            while "interrupted" not in self.seen and select.select([self.top], [], [], max(0, end - time.monotonic()))[0]:
                self.seen += os.read(self.top, 4096).decode()
            if "interrupted" in self.seen:
                break


def test_a_terminal(flash):
    terminal = Terminal(flash)
    try:
        terminal.expect("flash.img:/> ")
        terminal.send("cat /logs/to\t\n")
        terminal.expect("a line")
        terminal.expect("flash.img:/> ")
        terminal.send("cd nowhere\n")
        terminal.expect("nf2: /nowhere: not found")
        terminal.expect("flash.img:/> ")
        terminal.interrupt()
        terminal.expect("interrupted")
        terminal.expect("flash.img:/> ")
        terminal.send("mkdir made\n")
        terminal.expect("flash.img:/> ")
        terminal.send("\x04")
        assert terminal.process.wait(30) == 0
    finally:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.top)
    with nf2fs.open_image(flash, read_only=True) as volume:
        assert volume.isdir("/made") and volume.left_cleanly()
