# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 diff`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nf2fs
from nf2fs import diff, native

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    native.find_library() is None, reason="the compiled library is not built"
)

ONE = {
    "/same": b"same",
    "/grown": b"a" * 100,
    "/other": b"b" * 70000,
    "/gone/x": b"",
    "/gone/y/z": b"1",
    "/kind": b"file",
}
TWO = {
    "/same": b"same",
    "/grown": b"a" * 130,
    "/other": b"b" * 66000 + b"c" + b"b" * 3999,
    "/new": b"12345",
    "/kind/below": b"",
}


def fill(image, contents):
    nf2fs.format_image(image, "w25q80")
    with nf2fs.open_image(image) as volume:
        for path, data in contents.items():
            volume.makedirs(path.rpartition("/")[0] or "/", exist_ok=True)
            volume.write_bytes(path, data)


@pytest.fixture
def images(tmp_path):
    for name, contents in (("one", ONE), ("two", TWO)):
        fill(tmp_path / f"{name}.img", contents)
        for path, data in contents.items():
            target = tmp_path / name / path[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    return tmp_path / "one.img", tmp_path / "two.img"


EXPECTED = """- /gone/
~ /grown  (100 and 130 bytes, from byte 100 on)
! /kind
+ /new  (5 bytes)
~ /other  (70000 bytes, from byte 66000 on)
"""


def test_what_differs(images, tmp_path, nf2):
    one, two = images
    assert nf2("diff", one, two)[:2] == (1, EXPECTED)
    assert nf2("diff", one, tmp_path / "two")[:2] == (1, EXPECTED)
    assert nf2("diff", tmp_path / "one", two)[:2] == (1, EXPECTED)
    assert nf2("diff", tmp_path / "one", tmp_path / "two") == (1, EXPECTED, "")
    assert nf2("diff", one, one) == (0, "", "")
    assert nf2("diff", one, tmp_path / "one") == (0, "", "")
    code, out, _ = nf2("diff", "--json", one, two)
    found = json.loads(out)
    assert code == 1 and not found["same"] and len(found["changes"]) == 5
    assert found["changes"][1] == {
        "kind": "changed",
        "path": "/grown",
        "is_dir": False,
        "sizes": [100, 130],
        "first": 100,
        "unverifiable": False,
    }


def test_a_directory_alone(images, nf2):
    one, two = images
    assert nf2("diff", one, one, "/gone") == (0, "", "")
    code, out, err = nf2("diff", one, two, "/gone")
    assert code == 2 and "/gone" in err


def test_trouble_is_not_a_difference(images, tmp_path, nf2):
    one, _ = images
    assert nf2("diff", one, tmp_path / "none.img")[0] == 2
    (tmp_path / "blank.img").write_bytes(b"\xff" * (1 << 20))
    assert nf2("diff", one, tmp_path / "blank.img")[0] == 2
    assert nf2("diff", "--blocks", one, tmp_path)[0] == 2


def test_blocks(images, tmp_path, nf2):
    one, _ = images
    data = bytearray(one.read_bytes())
    for at in (3 * 4096, 4 * 4096 + 100, 200 * 4096):
        data[at] ^= 1
    (tmp_path / "x.img").write_bytes(data)
    code, out, err = nf2("diff", "--blocks", one, tmp_path / "x.img")
    assert (code, err) == (1, "")
    assert (
        out == "0x00003000  2 blocks\n0x000c8000  1 block\n3 of 256 blocks of 4096 bytes differ\n"
    )
    assert nf2("diff", "--blocks", one, one)[0] == 0
    (tmp_path / "x.img").write_bytes(data[:-1])
    assert nf2("diff", "--blocks", one, tmp_path / "x.img")[0] == 2


def test_pieces_of_other_sizes_are_the_same():
    data = bytes(range(256)) * 2000
    one = (data[at : at + 7777] for at in range(0, len(data), 7777))
    assert diff.first_difference(one, iter((data,))) is None
    assert diff.first_difference(iter((data,)), iter((data[:300000], b"x"))) == 300000
    assert diff.first_difference(iter(()), iter(())) is None


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    image, tree = tmp_path / "flash.img", tmp_path / "tree"
    nf2fs.format_image(image, "w25q80")
    tree.mkdir()
    for index in range(2000):
        (tree / f"{index} {'long' * 40}").write_bytes(b"")
    done = subprocess.run(
        f"{sys.executable} -m nf2fs.cli diff {image} {tree} | head -1",
        shell=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
        timeout=60,
    )
    assert done.stdout.startswith("+ /0 long") and done.stderr == ""


def test_a_change_that_may_be_damage_is_said(images, nf2):
    """/other has no check; what says so is not among the lines that programs read."""
    code, out, err = nf2("diff", *images)
    assert code == 1 and out == EXPECTED
    assert "1 file of those that differ carries no check in parts" in err
    told = {one["path"]: one["unverifiable"] for one in json.loads(nf2("diff", "--json", *images)[1])["changes"]}
    assert told["/other"] and not told["/grown"]
