# SPDX-License-Identifier: BSD-2-Clause
"""The Python package as docs/PYTHON.md shows it: volumes in memory, on a device, paths, errors,
fsspec, types."""

import errno
import importlib.util
import pickle
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from conftest import NATIVE

import nf2fs
from nf2fs.errors import BLANK, CORRUPT, IO, ISDIR, NOENT, NOTDIR, NOTEMPTY, NF2Error

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not NATIVE, reason="the library is not built")
CHIP = "w25q80"


def has(module):
    return importlib.util.find_spec(module) is not None


def test_the_manual_runs(tmp_path, monkeypatch):
    if not has("fsspec"):
        pytest.skip("fsspec is not installed")
    monkeypatch.chdir(tmp_path)
    register()
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "PYTHON.md").read_text(), re.S)
    assert len(blocks) > 8
    names = {}
    for block in blocks:
        exec(compile(block, "docs/PYTHON.md", "exec"), names)


def register():
    """As the entry point of an installed package does."""
    import fsspec

    fsspec.register_implementation("nf2fs", "nf2fs.filesystem.NF2FileSystem", clobber=True)


@pytest.fixture
def volume():
    with nf2fs.open_memory(CHIP) as mounted:
        yield mounted


def code_of(call, *arguments, **options):
    with pytest.raises(NF2Error) as caught:
        call(*arguments, **options)
    return caught.value.code


# ---- names ----


def test_names_of_files_and_directories(volume):
    volume.makedirs("/a/b")
    volume.write_bytes("/a/file", b"0123456789")
    assert code_of(volume.unlink, "/a") == ISDIR and code_of(volume.rmdir, "/a/file") == NOTDIR
    assert code_of(volume.rmdir, "/a") == NOTEMPTY and code_of(volume.unlink, "/none") == NOENT
    volume.truncate("/a/file", 4)
    assert volume.read_bytes("/a/file") == b"0123" and volume.getsize("/a/file") == 4
    volume.truncate("/a/file", 6)
    assert volume.read_bytes("/a/file") == b"0123\0\0"
    assert (
        code_of(volume.truncate, "/none", 0) == NOENT and code_of(volume.truncate, "/a", 0) == ISDIR
    )
    assert not volume.exists("/a/file/below") and not volume.isdir("/a/file/below")
    volume.write_bytes("/new", b"new")
    volume.replace("/new", "/a/file")
    assert volume.read_bytes("/a/file") == b"new"
    volume.rmdir("/a/b")
    volume.unlink(Path("/a/file"))
    volume.rmtree("/")
    assert volume.listdir() == []


def test_paths_of_any_kind(volume):
    volume.mkdir(b"/caf\xc3\xa9")
    assert volume.isdir("/caf\u00e9") and volume.listdir(Path("/")) == ["caf\u00e9"]
    volume.write_bytes(b"/\xff", b"not UTF-8")
    assert volume.read_bytes("/\udcff") == b"not UTF-8" and volume.stat(b"/\xff").name == "\udcff"


def test_volume_paths(volume):
    root = volume.root
    path = root / "a" / "b.txt"
    assert str(path) == "/a/b.txt" and (path.name, path.stem, path.suffix) == ("b.txt", "b", ".txt")
    assert path.parent == root / "a" and path.parent != root and len({path, root / "a/b.txt"}) == 1
    with pytest.raises(FileNotFoundError):
        path.write_text("no directory")
    path.parent.mkdir()
    path.parent.mkdir(exist_ok=True)
    with pytest.raises(FileExistsError):
        path.parent.mkdir()
    assert path.write_text("caf\u00e9\n") == 5 and path.read_bytes() == "caf\u00e9\n".encode()
    path.touch()
    assert path.read_text() == "caf\u00e9\n"
    (root / "a" / "empty").touch()
    assert sorted(one.name for one in (root / "a").iterdir()) == ["b.txt", "empty"]
    assert [str(one) for one in root.rglob("*.txt")] == ["/a/b.txt"]
    assert [str(one) for one in (root / "a").glob("e*")] == ["/a/empty"]
    moved = path.rename("/moved")
    assert moved == root / "moved" and moved.is_file() and not path.exists()
    assert moved.with_suffix(".bin").name == "moved.bin" and str(moved.relative_to(root)) == "moved"
    moved.unlink()
    moved.unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        moved.unlink()
    with pytest.raises(NotADirectoryError):
        (root / "a" / "empty").rmdir()


# ---- errors ----


def test_errors_are_those_of_python(volume):
    volume.write_bytes("/file", b"")
    for kind, call, arguments in (
        (FileNotFoundError, volume.stat, ["/none"]),
        (FileExistsError, volume.mkdir, ["/file"]),
        (NotADirectoryError, volume.listdir, ["/file"]),
        (IsADirectoryError, volume.open, ["/"]),
    ):
        with pytest.raises(kind) as caught:
            call(*arguments)
        error = caught.value
        assert (
            isinstance(error, NF2Error)
            and isinstance(error, OSError)
            and error.errno == -error.code
        )
        copy = pickle.loads(pickle.dumps(error))
        assert (copy.code, str(copy), type(copy)) == (error.code, str(error), type(error))
    assert (
        NF2Error(CORRUPT, "text").errno == errno.EIO
        and NF2Error(BLANK, "text").errno == errno.EINVAL
    )


def test_errors_speak_to_python(tmp_path):
    (tmp_path / "odd").write_bytes(b"x" * 1000)
    nf2fs.format_image(tmp_path / "whole", CHIP)
    for call in (
        lambda: nf2fs.open_image(tmp_path / "odd"),
        lambda: nf2fs.format_image(tmp_path / "odd", CHIP),
        lambda: nf2fs.open_image(tmp_path / "none"),
        lambda: nf2fs.open_memory("none"),
        lambda: nf2fs.open_image(tmp_path / "whole", "w25q64"),
        lambda: nf2fs.open_memory(CHIP, b"short"),
    ):
        with pytest.raises(NF2Error) as caught:
            call()
        assert " --" not in str(caught.value) and "nf2 " not in str(caught.value)


# ---- in memory ----


def test_an_image_in_memory(tmp_path):
    with nf2fs.open_memory(CHIP) as volume:
        volume.write_bytes("/file", bytes(range(256)) * 100)
        while_open = volume.image_bytes()
    data = volume.image_bytes()
    assert len(data) == len(while_open) == 1 << 20
    for image in (data, bytearray(while_open)):  # the second one is as a power cut leaves it
        with nf2fs.open_memory(CHIP, image) as volume:
            assert volume.read_bytes("/file") == bytes(range(256)) * 100
    (tmp_path / "flash.img").write_bytes(data)
    with nf2fs.open_image(tmp_path / "flash.img") as volume:
        assert volume.check() == (0, []) and volume.listdir() == ["file"]
        with pytest.raises(ValueError):
            volume.image_bytes()
    with nf2fs.open_memory(CHIP, data, read_only=True) as volume:
        assert code_of(volume.mkdir, "/x") == -30
    assert volume.image_bytes() == data
    assert code_of(nf2fs.open_memory, CHIP, b"\xff" * (1 << 20)) == BLANK


# ---- devices ----


class Device:
    size, block_size, page_size = 1 << 20, 4096, 256

    def __init__(self):
        self.cells = bytearray(b"\xff" * self.size)
        self.calls = []
        self.fault = None

    def _called(self, kind, address):
        self.calls.append(kind)
        if self.fault and self.fault[0] == kind:
            raise self.fault[1]

    def read(self, address, length):
        self._called("read", address)
        return self.cells[address : address + length]

    def program(self, address, data):
        self._called("program", address)
        assert (
            len(data) <= self.page_size
            and address // self.page_size == (address + len(data) - 1) // self.page_size
        )
        for index, byte in enumerate(data):
            self.cells[address + index] &= byte

    def erase(self, address, length):
        self._called("erase", address)
        assert length == self.block_size and address % length == 0
        self.cells[address : address + length] = b"\xff" * length


def test_a_device():
    device = Device()
    assert code_of(nf2fs.open_device, device) == BLANK
    nf2fs.format_device(device, erase=False)
    with nf2fs.open_device(device) as volume:
        for index in range(50):
            volume.write_bytes(f"/file{index}", bytes([index]) * index * 30)
        volume.unlink("/file3")
    assert set(device.calls) == {"read", "program", "erase"}
    with nf2fs.open_memory(CHIP, device.cells) as volume:  # the same bytes as an image
        assert volume.check() == (0, [])
        assert volume.read_bytes("/file49") == bytes([49]) * 49 * 30 and len(volume.listdir()) == 49
    with nf2fs.open_device(device, read_only=True) as volume:
        device.calls.clear()
        assert volume.isfile("/file1")
    assert set(device.calls) <= {"read"}


def test_numbers_of_a_device():
    device = Device()
    nf2fs.format_device(device)
    with nf2fs.open_device(device) as volume, pytest.raises(ValueError, match="on a device"):
        volume.image_bytes()
    for arguments in ({"offset": -1}, {"size": 1 << 40}):
        with pytest.raises(ValueError, match="out of range"):
            nf2fs.open_device(device, **arguments)
    device.size = 1 << 40
    with pytest.raises(ValueError, match="size is out of range"):
        nf2fs.open_device(device)


def test_a_part_of_a_device():
    device = Device()
    nf2fs.format_device(device, offset=512 << 10, size=256 << 10)
    with nf2fs.open_device(device, offset=512 << 10, size=256 << 10) as volume:
        volume.write_bytes("/x", b"x" * 5000)
        assert volume.statfs()["blocks"] == 64
    assert device.cells[: 512 << 10] == b"\xff" * (512 << 10) and device.cells[
        768 << 10 :
    ] == b"\xff" * (256 << 10)
    assert code_of(nf2fs.format_device, device, offset=100, size=256 << 10) < 0


def test_a_device_that_fails():
    device = Device()
    nf2fs.format_device(device)
    reason = RuntimeError("the cable is out")
    volume = nf2fs.open_device(device)
    device.fault = ("program", reason)
    with pytest.raises(NF2Error) as caught:
        volume.write_bytes("/file", b"data" * 1000)
    assert caught.value.code == IO and caught.value.__cause__ is reason
    device.fault = None
    assert (
        code_of(volume.close) == IO
    )  # nothing is written after a failure; closed it is all the same
    with nf2fs.open_device(device) as volume:
        assert volume.listdir() == []
    with nf2fs.open_device(device) as volume:
        device.fault = ("read", KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            volume.read_bytes("/none" * 20)
        device.fault = None
    device.read = lambda address, length: b"short"
    with pytest.raises(NF2Error) as caught:
        nf2fs.open_device(device)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_block_of_a_device_that_has_failed():
    device = Device()
    nf2fs.format_device(device, erase=False)
    plain = device.program
    bad = []

    def program(address, data):
        if address // 4096 in bad:
            raise nf2fs.BadBlock
        plain(address, data)

    with nf2fs.open_device(device) as volume:
        volume.write_bytes("/before", b"b" * 3000)
    device.program = program
    with nf2fs.open_device(device) as volume:
        with volume.open("/file", "wb", buffering=0) as file:
            before = bytes(device.cells)
            file.write(b"x" * 4096)
            file.sync()
            changed = next(at for at in range(8192, device.size) if before[at] != device.cells[at])
            bad.append(changed // 4096)
            file.write(b"y" * 9000)
        assert volume.read_bytes("/file") == b"x" * 4096 + b"y" * 9000


# ---- fsspec ----


@pytest.fixture
def files(tmp_path):
    if not has("fsspec"):
        pytest.skip("fsspec is not installed")
    import fsspec

    register()
    nf2fs.format_image(tmp_path / "flash.img", CHIP)
    with fsspec.filesystem("nf2fs", image=str(tmp_path / "flash.img"), mode="r+") as opened:
        yield opened


def test_fsspec(files):
    files.pipe({"/a/one": b"1", "/a/b/two": b"22"})
    assert files.ls("/", detail=False) == ["/a"] and files.find("/") == ["/a/b/two", "/a/one"]
    assert files.info("/a/b/two") == {"name": "/a/b/two", "size": 2, "type": "file"}
    assert (
        files.isdir("/a") and not files.exists("/none") and files.glob("/a/*") == ["/a/b", "/a/one"]
    )
    files.cp("/a", "/copy", recursive=True)
    files.mv("/a/one", "/moved")
    assert files.cat("/moved") == b"1" and files.cat_file("/copy/b/two", start=1) == b"2"
    with files.open("/moved", "ab") as file:
        file.write(b"+")
    assert files.cat("/moved") == b"1+"
    with pytest.raises(FileNotFoundError):
        files.cat("/none")
    with pytest.raises(FileExistsError):
        files.mkdir("/copy")
    with pytest.raises(OSError):
        files.rmdir("/copy")
    files.rm("/copy", recursive=True)
    assert files.find("/") == ["/a/b/two", "/moved"]


def test_fsspec_copies_both_ways(files, tmp_path):
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "file").write_bytes(b"x" * 100_000)
    files.put(str(tmp_path / "tree"), "/", recursive=True)
    files.get("/tree", str(tmp_path / "out"), recursive=True)
    assert (tmp_path / "out" / "deep" / "file").read_bytes() == b"x" * 100_000


def test_fsspec_over_a_mounted_volume(volume):
    if not has("fsspec"):
        pytest.skip("fsspec is not installed")
    from nf2fs.filesystem import NF2FileSystem

    with NF2FileSystem(volume=volume) as files:
        files.pipe("/x", b"1")
    assert volume.read_bytes("/x") == b"1"
    for wrong in (
        {},
        {"volume": volume, "image": "x"},
        {"image": "x", "mode": "w"},
        {"fo": "x", "target_protocol": "http"},
    ):
        with pytest.raises(ValueError):
            NF2FileSystem(**wrong)


# ---- types ----


def test_types():
    if not has("mypy"):
        pytest.skip("mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert (ROOT / "python" / "nf2fs" / "py.typed").exists()


TYPED = """
import io
from typing import IO, Any, assert_type
import nf2fs
from nf2fs.volume import RawFile

def look(volume: nf2fs.Volume, mode: str) -> None:
    assert_type(volume.open("/f"), io.TextIOWrapper)
    assert_type(volume.open("/f", "w", encoding="ascii"), io.TextIOWrapper)
    assert_type(volume.open("/f", "rb"), io.BufferedReader)
    assert_type(volume.open("/f", "ab"), io.BufferedWriter)
    assert_type(volume.open("/f", "r+b"), io.BufferedRandom)
    assert_type(volume.open("/f", "rb", 0), RawFile)
    assert_type(volume.open("/f", "wb", buffering=0, sync=True), RawFile)
    assert_type(volume.open("/f", mode), IO[Any])
"""


def test_the_type_of_an_open_file(tmp_path):
    if not has("mypy"):
        pytest.skip("mypy is not installed")
    (tmp_path / "typed.py").write_text(TYPED)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", tmp_path / "typed.py"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


PATTERNS = ("*", "*.txt", "d/*", "*/*.txt", "**/*.txt", "**/e/*", "d/**/*", "**/d/**/*.txt", "x*", "?.txt", "d/e/f/g.txt", "[ab].txt")


def test_paths_are_those_of_pathlib(volume, tmp_path):
    top = Path(tmp_path / "tree")
    for name in ("a.txt", "b.txt", ".hidden", "d/c.txt", "d/e/x.txt", "d/e/f/g.txt", "d/e/d/y.txt", "z/d/e/w.bin"):
        for place in (top / name, volume.root / "tree" / name):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"")
    ours = volume.root / "tree"
    for pattern in PATTERNS:
        for ask in ("glob", "rglob"):
            found = [str(path.relative_to(ours)) for path in getattr(ours, ask)(pattern)]
            assert sorted(found) == sorted(str(path.relative_to(top)) for path in getattr(top, ask)(pattern)), (ask, pattern)
    for pattern in ("", "/a.txt"):
        with pytest.raises(nf2fs.NF2Error):
            list(ours.glob(pattern))
    path, pure = ours / "d" / "c.tar.gz", PurePosixPath("/tree/d/c.tar.gz")
    for ask in ("suffixes", "suffix", "stem", "name", "parts", "anchor"):
        assert getattr(path, ask) == getattr(pure, ask)
    assert path.as_posix() == pure.as_posix() and path.is_absolute()
    assert path.match("*.gz") and path.match("d/*.gz") and not path.match("*.txt")
    assert path.is_relative_to(ours) and path.is_relative_to("/tree/d") and not path.is_relative_to("/d")
    assert str(path.with_stem("x")) == "/tree/d/x.gz"
