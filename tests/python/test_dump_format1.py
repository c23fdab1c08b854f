# SPDX-License-Identifier: BSD-2-Clause
"""What the records of format 1 say."""

import json
import random

import formats
import pytest
from test_dump_records import said

import nf2fs
from nf2fs import logs, owners
from nf2fs.format1 import records

pytestmark = pytest.mark.skipif(
    formats.VERSION != 1, reason="the compiled library is not built, or is of another format"
)


def test_replaced_data_is_told_apart(tmp_path):
    path, source = tmp_path / "flash.img", random.Random(5)
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        volume.write_bytes("/file", source.randbytes(80000))
        with volume.open("/file", "r+b", buffering=0) as file:
            for _ in range(3):  # the same place each time: two of the new copies are of no use
                file.seek(4096)
                file.write(source.randbytes(40000))
                file.sync()
    with nf2fs.open_image(path, read_only=True) as volume:
        states, _ = volume.blocks()
        seen = owners.find(volume, states).owners
    kinds = [one.kind for one in seen if one]
    assert 18 <= kinds.count("stale") <= 36 and kinds.count("volume") == 0
    assert 20 <= sum(one.path == "/file" for one in seen if one) <= 24


def test_what_a_record_says(tmp_path, nf2):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        volume.mkdir("/etc")
        volume.write_text("/etc/name", "one")
        volume.rename("/etc/name", "/etc/other")
        volume.unlink("/etc/other")
    put = [one for one in said(path, "PUT") if '"name"' in one.text][0]
    assert put.text == 'PUT  "name" in directory 2: a file of 3 bytes: "one"'
    assert put.fields["body"] == "INLINE" and bytes.fromhex(put.fields["key"]["bytes"]) == b"name"
    (renamed,) = said(path, "REN")
    assert renamed.fields["source"] == put.offset
    assert renamed.text == f'REN  {put.offset:#x} is now "other" in directory 2'
    (gone,) = said(path, "DEL")
    assert gone.fields["kill"] == renamed.offset
    last = said(path, "STATE")[-1].fields
    with nf2fs.open_image(path, read_only=True) as volume:
        space, health = volume.statfs(), volume.health()
    claimed = len(last["stock"]) + sum(count for slot in last["slots"] for _, count in slot)
    assert last["free"] + claimed == space["free"]
    assert (last["erases"], last["unclean_mounts"]) == (health["erases_total"], 0)
    assert last["flags"] & 1 and last["root"] == put.block
    code, out, _ = nf2("dump", "--block", put.block, path)
    assert code == 0 and put.text in out
    found = [json.loads(line) for line in nf2("dump", "--json", path)[1].splitlines()]
    assert put.fields["key"] in [one.get("key") for one in found]


@pytest.mark.parametrize("log", records.READERS)
def test_a_record_that_is_too_short_is_not_read(log):
    for kind in range(1, 8):
        for length in range(60):
            entry = logs.Entry(2, length + 6, kind, 0, False, bytes([0xFF]) * length)
            assert records.read(log, entry).name
