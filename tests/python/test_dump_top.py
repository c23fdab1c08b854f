# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 dump`, `nf2 top` and the traces that it reads."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nf2fs
from nf2fs import dump, native, top, tracing

pytestmark = pytest.mark.skipif(
    native.find_library() is None, reason="the compiled library is not built"
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        volume.write_bytes("/file", random.Random(1).randbytes(20000))
        volume.write_bytes("/text", b"only letters " * 400)
    return path


# ---- dump ----


def test_every_block_is_told(image, nf2):
    lines = [json.loads(line) for line in nf2("dump", "--json", image)[1].splitlines()]
    blocks = [one for one in lines if one["kind"] == "block"]
    assert [one["block"] for one in blocks] == list(range(256))
    picture = json.loads(nf2("map", "--json", image)[1])
    assert [one["state"] for one in blocks] == picture["states"]
    assert [one["erases"] for one in blocks] == picture["erases"]
    mine = [one["block"] for one in blocks if one["owner"] == {"kind": "file", "path": "/file"}]
    assert 4 <= len(mine) <= 6
    ends = {(one["block"], one["offset"]) for one in lines if one["kind"] == "programmed"}
    assert {(block, 0) for block in mine} <= ends


def blocks_in(out):
    return sum(line.startswith("block ") for line in out.splitlines())


def test_the_bytes(image, nf2):
    data = image.read_bytes()
    at = data.index(b"only letters only letters")
    code, out, _ = nf2("dump", "--hex", "--block", at // 4096, image)
    assert code == 0 and "only letters on" in out and f"{at:#010x}"[:6] in out
    assert blocks_in(out) == 1
    assert blocks_in(nf2("dump", "--block", 3, "--count", 4, image)[1]) == 4
    code, _, err = nf2("dump", "--block", 256, image)
    assert code == 1 and "no block 256: the volume has blocks 0 to 255" in err


def test_runs_of_programmed_pages():
    blank, page = b"\xff" * 256, b"\xff" * 255 + b"x"
    assert dump.programmed(blank * 4, 256) == []
    assert dump.programmed(page * 2 + blank + page, 256) == [(0, 512), (768, 256)]
    assert list(dump.hex_lines(b"\0" * 64 + b"end", 0x100)) == [
        "  00000100  " + "00 " * 7 + "00  " + "00 " * 7 + "00  |................|",
        "  *",
        "  00000140  65 6e 64    |end|",
    ]


# ---- traces ----


def test_a_trace_tells_what_was_done(image, tmp_path):
    with nf2fs.open_image(image) as volume:
        before = volume.counts()
        with tracing.traced(volume, tmp_path / "trace"):
            volume.write_bytes("/new", bytes(9000))
        after = volume.counts()
        volume.write_bytes("/later", bytes(9000))
    found = [tracing.parse(line) for line in (tmp_path / "trace").read_text().splitlines()]
    assert None not in found
    programs = [one for one in found if one.kind == "program"]
    assert len(programs) == after["program_calls"] - before["program_calls"] > 30
    assert sum(one.length for one in programs) == after["program_bytes"] - before["program_bytes"]


@pytest.mark.parametrize("line", ("", "read", "read x 5", "read 0x0 y", "think 0x0 1", "\0\xff"))
def test_what_is_no_operation(line):
    assert tracing.parse(line) is None


# ---- top ----

TRACE = (
    "read 0x00000000 256\nprogram 0x00001000 256\n"
    "program 0x00001100 16\nerase 0x00010000 65536\nnonsense\n"
)


def test_what_a_trace_holds(tmp_path, nf2):
    (tmp_path / "trace").write_text(TRACE)
    found = json.loads(nf2("top", "--json", "--blocks", 3, tmp_path / "trace")[1])
    assert found["calls"] == {"read": 1, "program": 2, "erase": 1}
    assert found["bytes"] == {"read": 256, "program": 272, "erase": 65536}
    assert found["lines_not_understood"] == 1
    assert [one["block"] for one in found["busiest"]] == [16, 17, 18]
    code, out, _ = nf2("top", "--once", tmp_path / "trace")
    assert code == 0 and "65,536" in out and "0x00010000" in out
    code, _, err = nf2("top", "--block-size", "0", tmp_path / "trace")
    assert code == 2 and "0 is less than 1" in err
    assert nf2("top", tmp_path / "none")[0] == 1


@pytest.mark.parametrize("content", [None, b"\xff" * 100_000, b"\0" * 3000 + b"\n", b"a text\nof lines\n"])
@pytest.mark.parametrize("options", [(), ("--once",)])
def test_what_is_no_trace_is_refused(tmp_path, nf2, content, options):
    """Following an image showed zeros for ever."""
    path = tmp_path / "flash.img"
    if content is None:
        nf2fs.format_image(path, "tiny256k")
    else:
        path.write_bytes(content)
    code, _, err = nf2("top", *options, path)
    assert code == 1 and "is not a trace of a chip" in err


def test_rates_are_of_the_last_seconds():
    activity = top.Activity(4096)
    assert activity.tick(100.0) == {"read": 0.0, "program": 0.0, "erase": 0.0}
    for _ in range(10):
        activity.feed("read 0x0 1")
    assert activity.tick(101.0)["read"] == 10
    assert activity.tick(104.0)["read"] == 0


def test_it_follows_a_trace(tmp_path):
    (tmp_path / "trace").write_text("")
    running = subprocess.Popen(
        [sys.executable, "-m", "nf2fs.cli", "top", str(tmp_path / "trace")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
    )
    try:
        time.sleep(1.5)
        with open(tmp_path / "trace", "a") as file:
            for part in (
                "erase 0x000",
                "02000 4096\n",
                "read 0x00005000 77\n",
            ):  # a line in two pieces
                file.write(part)
                file.flush()
                time.sleep(0.6)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 0 and err == ""
    assert "0x00002000" in out and "4,096" in out and "77" in out
