# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 import`: images of what LittleFS images hold."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import nf2fs
from nf2fs import importing, native

littlefs = pytest.importorskip("littlefs", reason="littlefs-python is not installed (make extras)")
pytestmark = pytest.mark.skipif(
    native.find_library() is None, reason="the compiled library is not built"
)


def make(path, contents, block_size=4096, blocks=64, before=b"", attributes=()):
    """Writes a LittleFS image; `before` stands in front of the volume."""
    cache = next(size for size in range(256, 0, -8) if block_size % size == 0)
    system = littlefs.LittleFS(
        block_size=block_size,
        block_count=blocks,
        prog_size=math.gcd(16, cache),
        read_size=math.gcd(16, cache),
        cache_size=cache,
        name_max=1022,
    )
    for name, data in contents.items():
        if data is None:
            system.makedirs(name, exist_ok=True)
            continue
        system.makedirs(name.rpartition("/")[0] or "/", exist_ok=True)
        with system.open(name, "wb") as file:
            file.write(data)
    for name in attributes:
        system.setattr(name, 0x74, b"value")
    path.write_bytes(before + bytes(system.context.buffer))


def stored(image):
    found = {}
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.check() == (0, [])
        for place, below, names in volume.walk("/"):
            at = place.rstrip("/") + "/"
            found |= {at + name: None for name in below}
            found |= {at + name: volume.read_bytes(at + name) for name in names}
    return found


@pytest.fixture
def contents():
    source = random.Random(5)
    found = {
        f"/d{index % 3}/e{index % 2}/file {index}": source.randbytes(
            source.choice((0, 5, 300, 9000))
        )
        for index in range(20)
    }
    for index in range(3):
        found[f"/d{index}"] = None
        for below in range(2):
            found[f"/d{index}/e{below}"] = None
    return found | {"/empty": None, "/große Datei": source.randbytes(50000)}


@pytest.mark.parametrize("block_size, blocks", ((4096, 64),))
def test_a_block_size_beyond_the_image(tmp_path, nf2, contents, block_size, blocks):
    make(tmp_path / "old.img", contents, block_size, blocks)
    for size in (block_size * blocks + 1, 99_999_999_999):
        code, _, err = nf2(
            "import", tmp_path / "old.img", tmp_path / "new.img", "--block-size", size
        )
        assert code == 1 and err.endswith(
            f"it has no block of {size} bytes, only {block_size * blocks} bytes from there on\n"
        )


@pytest.mark.parametrize("block_size, blocks", ((4096, 64), (512, 512), (256, 2048), (65536, 64), (128, 4096), (1536, 200), (3000, 100), (24576, 40)))
def test_everything_is_taken_over(tmp_path, nf2, contents, block_size, blocks):
    make(tmp_path / "old.img", contents, block_size, blocks)
    before = (tmp_path / "old.img").read_bytes()
    code, out, err = nf2("import", "--json", tmp_path / "old.img", tmp_path / "new.img")
    assert (code, err) == (0, "")
    assert json.loads(out)["littlefs"] == {"block_size": block_size, "blocks": blocks}
    assert stored(tmp_path / "new.img") == contents
    assert (tmp_path / "old.img").read_bytes() == before


def test_a_volume_inside_of_a_dump(tmp_path, nf2, contents):
    make(tmp_path / "dump", contents, before=bytes(65536))
    code, _, err = nf2("import", tmp_path / "dump", tmp_path / "new.img")
    assert code == 1 and "no LittleFS volume" in err
    assert (
        nf2(
            "import",
            "--offset",
            "64K",
            tmp_path / "dump",
            tmp_path / "new.img",
            "--chip",
            "w25q80",
            "--smallest",
        )[0]
        == 0
    )


def test_a_dump_that_was_cut_behind_its_last_used_block(tmp_path, nf2, contents):
    """Tools that read a chip leave its erased end out. All that is in use is there; cut one block
    further, a file is not."""
    make(tmp_path / "old.img", contents, blocks=200)
    whole = (tmp_path / "old.img").read_bytes()
    used = -(-len(whole.rstrip(b"\xff")) // 4096) * 4096
    assert used < len(whole)
    (tmp_path / "old.img").write_bytes(whole[:used])
    code, _, err = nf2("import", tmp_path / "old.img", tmp_path / "new.img")
    assert code == 0 and err == f"nf2: the last {len(whole) - used} bytes of the volume are not in the image; none of them is in use\n"
    assert stored(tmp_path / "new.img") == contents
    (tmp_path / "old.img").write_bytes(whole[: used - 4096])
    code, _, err = nf2("import", tmp_path / "old.img", tmp_path / "other.img")
    assert code == 1 and "it was cut off" in err and not (tmp_path / "other.img").exists()


@pytest.mark.parametrize("size", ["3000", "129", "100", "1", "4093", "7", "8192"])
def test_a_wrong_block_size(tmp_path, nf2, contents, size):
    """An assertion of LittleFS ended the whole command."""
    make(tmp_path / "old.img", contents)
    code, _, err = nf2(
        "import", tmp_path / "old.img", tmp_path / "new.img", "--block-size", size
    )
    assert code == 1 and err.count("\n") == 1 and err.startswith("nf2: ")
    assert not (tmp_path / "new.img").exists()


def test_what_ends_the_process_or_never_ends(tmp_path, nf2, contents, monkeypatch):
    make(tmp_path / "old.img", contents)
    for spoil, word in ((lambda: os.kill(os.getpid(), signal.SIGKILL), "gave up"), (lambda: time.sleep(1000), "took more than 0.5 s")):
        monkeypatch.setattr(importing, "_read_all", lambda *_, spoil=spoil: spoil())
        monkeypatch.setattr(importing, "TRY_S", 0.5 if "took" in word else 60)
        code, _, err = nf2("import", tmp_path / "old.img", tmp_path / "new.img")
        assert code == 1 and word in err


def test_what_cannot_be_taken_over_is_said(tmp_path, nf2):
    long = "/" + "n" * 300
    make(tmp_path / "old.img", {"/file": b"data", long: b"long"}, attributes=("/file",))
    code, out, err = nf2("import", tmp_path / "old.img", tmp_path / "new.img")
    assert (
        code == 3 and "more than 255 bytes" in err and "custom attributes" in err and "/file" in err
    )
    assert stored(tmp_path / "new.img") == {"/file": b"data"}


def test_names_are_bytes(tmp_path, nf2):
    system = littlefs.LittleFS(block_size=4096, block_count=64, filename_encoding="latin-1")
    with system.open("/\xff\xfe", "wb") as file:
        file.write(b"data")
    (tmp_path / "old.img").write_bytes(bytes(system.context.buffer))
    assert nf2("import", tmp_path / "old.img", tmp_path / "new.img")[0] == 0
    with nf2fs.open_image(tmp_path / "new.img", read_only=True) as volume:
        assert [name.encode("utf-8", "surrogateescape") for name in volume.listdir("/")] == [
            b"\xff\xfe"
        ]


@pytest.mark.parametrize(
    "spoil, word",
    [
        (lambda data: b"", "no LittleFS volume"),
        (lambda data: b"\xff" * len(data), "no LittleFS volume"),
        (lambda data: random.Random(1).randbytes(len(data)), "no LittleFS volume"),
        (lambda data: data[: len(data) // 2], "damaged or cut off"),
    ],
)
def test_what_is_no_whole_volume_is_refused(tmp_path, nf2, contents, spoil, word):
    make(tmp_path / "old.img", contents)
    (tmp_path / "old.img").write_bytes(spoil((tmp_path / "old.img").read_bytes()))
    code, out, err = nf2("import", tmp_path / "old.img", tmp_path / "new.img")
    assert (code, out) == (1, "") and word in err
    assert not (tmp_path / "new.img").exists()


def test_a_damaged_image_never_ends_in_more_than_an_error(tmp_path, nf2, contents):
    make(tmp_path / "old.img", contents)
    whole = (tmp_path / "old.img").read_bytes()
    used = [at for at in range(0, len(whole), 16) if whole[at : at + 16] != b"\xff" * 16]
    source, failed = random.Random(2), 0
    for _ in range(15):
        data = bytearray(whole)
        count, places = source.choice(((1, used[:400]), (4, used[:400]), (60, used[:20])))
        for _ in range(count):
            data[source.choice(places) + source.randrange(16)] ^= 1 << source.randrange(8)
        (tmp_path / "bad.img").write_bytes(data)
        code, out, err = nf2(
            "import", "--force", tmp_path / "bad.img", tmp_path / "new.img", "--chip", "w25q80"
        )
        assert code in (0, 1) and (code == 0) == (out != "") and "Traceback" not in err
        failed += code
    assert failed > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_time(tmp_path, contents, number):
    """One line and no image, or the whole image; never a traceback."""
    more = {f"/more/{index}": bytes([index % 256]) * 2000 for index in range(40)}
    make(tmp_path / "old.img", contents | {"/more": None} | more, blocks=512)
    environment = os.environ | {"PYTHONPATH": str(Path(nf2fs.__file__).parents[1])}
    command = [sys.executable, "-m", "nf2fs.cli", "import", "old.img", "new.img"]
    ended, whole_s = [], None
    for turn in range(6):
        begun = time.monotonic()
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler), start_new_session=True,
        )  # fmt: skip
        if whole_s is not None:
            time.sleep(0.15 + (whole_s - 0.1) * turn / 6)  # Python itself has begun
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        out, err = process.communicate(timeout=60)
        if whole_s is None:
            whole_s = time.monotonic() - begun
        ended.append(process.returncode)
        assert "Traceback" not in err and "Exception ignored" not in err
        if process.returncode == 128 + number:
            assert err.startswith("nf2: interrupted") and not (tmp_path / "new.img").exists()
            continue
        assert process.returncode == 0, (process.returncode, err)
        assert stored(tmp_path / "new.img").keys() >= more.keys()
        for path in tmp_path.glob("new.img*"):
            path.unlink()
    assert 128 + number in ended
    assert not [path for path in tmp_path.iterdir() if "nf2-" in path.name]
