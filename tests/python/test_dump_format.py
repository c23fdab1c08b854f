# SPDX-License-Identifier: BSD-2-Clause
"""What the records of each log say."""

import json
import random
import re

import formats
import pytest
from test_dump_records import dumped, said

import nf2fs
from nf2fs import logs
from nf2fs.format import records

pytestmark = pytest.mark.skipif(
    formats.VERSION is None, reason="the compiled library is not built"
)


def test_what_a_record_says(tmp_path, nf2):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        volume.mkdir("/etc")
        volume.write_text("/etc/name", "one")
        volume.rename("/etc/name", "/etc/other")
        volume.unlink("/etc/other")
    put = [one for one in said(path, "ADD") if '"name"' in one.text][0]
    assert put.text == 'ADD  "name" in directory 2: a file of 3 bytes: "one"'
    assert put.fields["body"] == "INLINE" and bytes.fromhex(put.fields["key"]["bytes"]) == b"name"
    (renamed,) = said(path, "REN")
    assert (renamed.fields["source"], renamed.fields["body"]) == (put.offset, put.offset)
    assert renamed.text == f'REN  {put.offset:#x} is now "other" in directory 2'
    (gone,) = said(path, "DEL")
    assert gone.fields["kill"] == renamed.offset
    last = said(path, "CHECKPOINT")[-1].fields
    with nf2fs.open_image(path, read_only=True) as volume:
        space, health = volume.statfs(), volume.health()
    # what is free: regions of one block, and what writers have claimed
    free = sum(last["regions"].count(state) for state in "fe")
    assert free + sum(count for _, count, _ in last["claims"]) == space["free"]
    assert (last["erases"], last["unclean_mounts"]) == (health["erases_total"], 0)
    assert "clean" in last["flags"] and last["root"] == put.block
    code, out, _ = nf2("dump", "--block", put.block, path)
    assert code == 0 and put.text in out
    found = [json.loads(line) for line in nf2("dump", "--json", path)[1].splitlines()]
    assert put.fields["key"] in [one.get("key") for one in found]


def test_long_names_and_changes_of_several_leaves(tmp_path):
    """A long name is said in full; a rename from one leaf to another is one change."""
    path, source, name = tmp_path / "flash.img", random.Random(6), "a long name " * 12
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        for index in range(150):  # more than one leaf
            volume.write_bytes(f"/small {index}", source.randbytes(60))
        volume.write_bytes(f"/{name}", source.randbytes(60000))
        for at in range(0, 60000, 12000):
            with volume.open(f"/{name}", "r+b", buffering=0) as file:
                file.seek(at)
                file.write(source.randbytes(300))
        volume.rename(f"/{name}", "/zz")
    assert any(name in one.text for one in said(path, "ADD"))
    groups = said(path, "GROUP")
    puts = [one for group in groups for one in group.fields["operations"] if one["type"] == "PUT"]
    assert [one["body"] for one in puts] == ["MAP"] and "DEL" in groups[0].text
    assert len(groups) == 1
    entries = [one for one in dumped(path) if one.fields.get("body") == "DATA"]
    assert entries and all("bytes in block" in one.text for one in entries)


def test_whose_frames_are(tmp_path):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        with volume.open("/log", "ab", buffering=0) as log:
            for index in range(20):
                log.write(f"line {index} ".encode() * 6)
                log.sync()
    frames = [one for one in dumped(path) if one.kind == "frame"]
    assert frames and {one.fields["file"] for one in frames} == {'"log" in directory 1'}


def test_wear_is_said():
    key = bytes([0, 5]) + b"W\0\0\0\x20"
    body = bytes([4]) + b"".join(number.to_bytes(3, "little") for number in range(7, 39))
    one = records.read(records.NODE, logs.Entry(2, 0, 2, 0, False, key + body))
    assert one.text == "wear of regions 32 to 63: 16 blocks each, erased 7 to 38 times"
    assert one.fields["counts"] == list(range(7, 39))


def test_fields_are_said():
    """Of a short name, and of a long one whose content changed since."""
    fields = b"\x31\2ab\x10\0"
    body = bytes([5, len(fields)]) + fields
    said_of = [
        (b"name", body + b"\2hi", '"name" in directory 1: a file of 2 bytes: "hi"; fields 0x31, 0x10'),
        (
            b"n" * 20 + bytes(4),
            b"\4rest" + body + b"\5\0\4\7\0\0\0",
            f'"{"n" * 20}rest" in directory 1: file 7; fields none since the content changed; '
            "fields 0x31, 0x10",
        ),
    ]
    for name, data, text in said_of:
        payload = bytes([1, len(name)]) + name + data
        one = records.read(records.NODE, logs.Entry(2, 0, 2, 0, False, payload))
        assert one.text == text
        assert [0x31, "6162"] in one.fields["fields"]
    short = b"\1\1n\5\3\x31\2ab"  # runs over the entry
    assert records.read(records.NODE, logs.Entry(2, 0, 2, 0, False, short)).name == "type 2"


def test_fields_of_a_volume_are_said():
    one = records.read(records.ROOT, logs.Entry(2, 0, 3, 0, False, b"\x31\2ab\1\0"))
    assert (one.name, one.text) == ("VOLUME", "fields 0x31: 2 bytes, 0x01: 0 bytes")
    assert one.fields["fields"] == [[0x31, "6162"], [1, ""]]
    assert records.read(records.ROOT, logs.Entry(2, 0, 3, 0, False, b"")).text == "no fields"
    assert records.read(records.ROOT, logs.Entry(2, 0, 3, 0, False, b"\1\2a")).name == "type 3"


@pytest.mark.parametrize("log", records.READERS)
def test_a_record_that_is_too_short_is_not_read(log):
    source = random.Random(1)
    for kind in range(1, 8):
        for length in range(120):
            for payload in (b"\xff" * length, bytes(length), source.randbytes(length)):
                entry = logs.Entry(2, length + 6, kind, 0, False, payload)
                assert records.read(log, entry).name


def test_wear_and_checkpoints_of_a_volume(tmp_path):
    """Wear is on record for 32 regions together; each CHECKPOINT is decoded to its end."""
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        for turn in range(12):
            volume.write_bytes("/file", random.Random(turn).randbytes(200_000))
            formats.settle(volume)
    states = said(path, "CHECKPOINT")
    assert all(re.fullmatch("[uvfe]{256}", one.fields["regions"]) for one in states)
    assert {(one.fields["region_blocks"], one.fields["region_shift"]) for one in states} == {(1, 0)}
    assert len({one.fields["volume"] for one in states}) == 1
    wear = [one.fields for one in said(path, "PUT") + said(path, "PUTK") + said(path, "ADD") if "counts" in one.fields]
    assert wear and all(len(one["counts"]) == 32 for one in wear)
    assert 0 < sum(wear[-1]["counts"]) <= states[-1].fields["erases"]


def test_what_a_checkpoint_says():
    numbers = [7, 66, 9, 5, 300, 260, 2, 11, 12, 0, 0, 2 << 4 | 1, 2 | 8, 1000, 400]
    sizes = [4, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 4, 4]
    body = b"".join(n.to_bytes(size, "little") for n, size in zip(numbers, sizes))
    body += bytes([0b11100100]) + bytes(62) + bytes([0b10000000])  # used, victim, free, erased; the last one is free
    body += bytes([20, 0, 3, 1]) + bytes([30, 1, 0, 0]) + bytes([40, 0, 1, 2])
    body += bytes([3, 9, 0, 0, 2]) + bytes([4 | 2 << 4]) + bytes(2)
    found = records.read(records.ROOT, logs.Entry(2, 126, 2, 0, False, body))
    assert found.text == (
        "in use, next suspect, bad keys; goes on in block 9; root 5 of level 1; "
        "regions of 16 blocks: 2 free, 1 erased; 400 erases; 2 unclean mounts; ids from 66 on unused; "
        "group at 0x104; claimed blocks 20 to 22, 40; bad blocks 11, 12"
    )
    assert found.fields["claims"] == [[20, 3, 1], [286, 0, 0], [40, 1, 2]]
    assert found.fields["regions"] == "uvfe" + 251 * "u" + "f"
    assert (found.fields["taken"], found.fields["serial"], found.fields["region_shift"]) == ([3, 9], 1000, 2)
