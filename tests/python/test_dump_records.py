# SPDX-License-Identifier: BSD-2-Clause
"""The records that `nf2 dump` reads out of logs and frames: all of them, and what they say."""

import json
import random

import pytest
from formats import record, settle

import nf2fs
from nf2fs import dump, layout, logs, native, owners

pytestmark = pytest.mark.skipif(
    native.find_library() is None, reason="the compiled library is not built"
)

FRAME_HEAD = 4  # bytes in front of a frame's data
CHIPS = ("w25q80", "tinyecc1m", "tiny512", "tiny8k", "w25q80@256K+512K")
USED = 2


def dumped(path):
    with nf2fs.open_image(path, read_only=True) as volume:
        return list(dump.records(volume))


def said(path, name):
    return [one for one in dumped(path) if one.fields.get("type") == name]


def append(volume, path, lines):
    with volume.open(path, "ab", buffering=0) as log:
        for line in lines:
            log.write(line)
            log.sync()


def fill(volume, source, rounds, sizes=(0, 20, 200, 3000)):
    """Files of all kinds, changed in all ways; returns what they hold."""
    held = {}
    for turn in range(rounds):
        path = f"/d{source.randrange(3)}/{'long ' * source.randrange(45)}{source.randrange(12)}"
        volume.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        action = source.randrange(5)
        if action == 0 or path not in held:
            held[path] = source.randbytes(source.choice(sizes))
            volume.write_bytes(path, held[path])
        elif action == 1:
            lines = [source.randbytes(source.randrange(1, 90)) for _ in range(20)]
            append(volume, path, lines)
            held[path] += b"".join(lines)
        elif action == 2:
            place = source.randrange(len(held[path]) + 1)
            piece = source.randbytes(700)
            with volume.open(path, "r+b", buffering=0) as file:
                file.seek(place)
                file.write(piece)
            held[path] = held[path][:place] + piece + held[path][place + 700 :]
        elif action == 3:
            volume.rename(path, f"{path} {turn}"[:250])
            held[f"{path} {turn}"[:250]] = held.pop(path)
        else:
            volume.unlink(path)
            del held[path]
    return held


@pytest.fixture(params=CHIPS)
def filled(request, tmp_path):
    path, source = tmp_path / "flash.img", random.Random(request.param)
    nf2fs.format_image(path, request.param)
    with nf2fs.open_image(path) as volume:
        large = volume.statfs()["blocks"] > 200
        held = fill(volume, source, 120 if large else 20, (0, 20, 200, 3000, *[30000] * large))
        settle(volume)
    return path, held


def test_all_that_a_log_holds_is_read(filled):
    path, _ = filled
    found = dumped(path)
    kinds = {one.kind for one in found}
    assert kinds <= {"block", "record", "frame", "programmed"}  # nothing is unreadable
    names = {one.fields["type"] for one in found if one.kind == "record"}
    assert {"ANCHOR", "HEAD", "CHECKPOINT", "ADD"} <= names
    assert not any(name.startswith("type ") for name in names)
    places = [(one.block, one.offset) for one in found if one.kind != "block"]
    assert places == sorted(places) and len(places) == len(set(places))


def test_every_block_has_an_owner(filled):
    """On a volume that idle time has tidied up nothing waits to be reclaimed."""
    path, _ = filled
    with nf2fs.open_image(path, read_only=True) as volume:
        states, _ = volume.blocks()
        seen = owners.find(volume, states)
    assert not seen.unread
    unknown = [
        block
        for block, owner in enumerate(seen.owners)
        if states[block] == USED and owner.kind == owners.VOLUME
    ]
    assert unknown == []


def test_frames_are_the_bytes_of_their_file(tmp_path):
    path, source = tmp_path / "flash.img", random.Random(3)
    nf2fs.format_image(path, "w25q80")
    lines = [source.randbytes(source.randrange(1, 200)) for _ in range(300)]
    with nf2fs.open_image(path) as volume:
        append(volume, "/log", lines)
    text, image = b"".join(lines), path.read_bytes()
    frames = [one for one in dumped(path) if one.kind == "frame"]
    covered = 0
    for one in frames:
        at, size = one.block * 4096 + one.offset + FRAME_HEAD, one.fields["bytes"]
        assert image[at : at + size] == text[one.fields["from"] :][:size]
        covered += size
    assert covered > len(text) * 3 // 4


def test_a_damaged_record_is_said_to_be_unreadable(tmp_path):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        for index in range(4):
            volume.write_text(f"/file {index}", "a text that is looked for")
    data = bytearray(path.read_bytes())
    at = data.index(b"a text that is looked for")
    data[at] ^= 0x55
    path.write_bytes(data)
    bad = [one for one in dumped(path) if one.kind == "unreadable"]
    assert len(bad) == 1 and bad[0].block * 4096 + bad[0].offset < at
    assert "no whole record" in bad[0].text


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_no_error(tmp_path, seed, nf2):
    """Whatever bits are flipped, the dump goes through and never claims what it cannot read."""
    path, source = tmp_path / "flash.img", random.Random(seed)
    nf2fs.format_image(path, "tiny256k")
    with nf2fs.open_image(path) as volume:
        fill(volume, source, 12)
    data = bytearray(path.read_bytes())
    used = [at for at in range(len(data)) if data[at] != 0xFF]
    for _ in range(8):
        data[source.choice(used)] ^= 1 << source.randrange(8)
    path.write_bytes(data)
    code, out, err = nf2("dump", path)
    assert "Traceback" not in err and (out or err)
    seen = layout.layout_of(layout.Chip(native.load().chip("tiny256k"), bytes(data)))
    for block in range(64):
        for piece in seen.pieces(block):
            assert 0 < piece.length and piece.offset + piece.length <= 4096


def test_a_volume_that_does_not_mount(tmp_path, nf2):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        volume.write_text("/settings", "interval")
    needed = said(path, "CHECKPOINT")[-1].block
    data = bytearray(path.read_bytes())
    data[needed * 4096] ^= 0x3C  # the epoch of its first page
    path.write_bytes(data)
    assert nf2("ls", path)[0] == 1
    code, out, err = nf2("dump", "--used", path)
    assert code == 1 and "without their owners" in err and err.count("\n") == 1
    assert "ANCHOR" in out and "CHECKPOINT" in out
    found = [json.loads(line) for line in nf2("dump", "--json", path)[1].splitlines()]
    assert len([one for one in found if one["kind"] == "block"]) == 256
    assert nf2("dump", "--block", 300, path)[:2] == (1, "")


# ---- pages and records by hand ----


def test_records_are_found_as_the_format_says():
    epoch = 0xB001
    start = epoch.to_bytes(2, "little")
    long = record(epoch, 3, bytes(range(200)) * 2)
    first = start + record(epoch, 1, b"one", more=True) + record(epoch, 2, b"two")
    page = first.ljust(64 - 8, b"\xff") + record(epoch, 2, b"")
    page = page.ljust(256, b"\xff")
    second = (start + long)[:256]
    third = start + b"\x04\x00" + long[254:]
    block = (page + second + third.ljust(256, b"\xff")).ljust(4096, b"\xff")
    found = list(logs.entries(block, 8))
    assert [one.payload for one in found if isinstance(one, logs.Entry)] == [
        b"one", b"two", bytes(range(200)) * 2,
    ]  # fmt: skip
    assert [one.more for one in found] == [True, False, False]
    torn = bytearray(block)
    torn[300] ^= 1
    found = list(logs.entries(bytes(torn), 8))
    assert isinstance(found[2], logs.Unreadable) and found[2].offset == 258
    assert list(logs.entries(b"\xff" * 4096, 1)) == []
    no_epoch = b"\xff\xff" + b"x" * 30 + b"\xff" * 4064
    assert list(logs.entries(no_epoch, 1)) == [logs.Unreadable(0, 32)]
