# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 check` and `nf2 check --repair` over the compiled library."""

import json
import os
import random

import formats
import pytest
from conftest import NATIVE

import nf2fs
from nf2fs import checking, images, native
from nf2fs.errors import NF2Error

pytestmark = pytest.mark.skipif(not NATIVE, reason="the library is not built")
CHIP, SIZE, BLOCK = "w25q80", 1 << 20, 4096
CONTENTS = {f"/{folder}/file {index}": random.Random(index).randbytes((index * 37) % 700 if index % 7 else 5000)
            for index, folder in ((index, ("docs", "docs/old", "src")[index % 3]) for index in range(120))}


@pytest.fixture
def flash(tmp_path):
    path = tmp_path / "flash.img"
    images.format_image(path, CHIP)
    with nf2fs.open_image(path, CHIP) as volume:
        for name, data in CONTENTS.items():
            volume.makedirs(os.path.dirname(name), exist_ok=True)
            volume.write_bytes(name, data)
    return path


def heads(path, kind=b"", level=None):
    return formats.heads(path.read_bytes(), BLOCK, kind, level)


def overwrite(path, blocks, byte=0):
    data = bytearray(path.read_bytes())
    for block in blocks:
        data[block * BLOCK:(block + 1) * BLOCK] = bytes([byte]) * BLOCK
    path.write_bytes(data)


def contents(path):
    with nf2fs.open_image(path, CHIP, read_only=True) as volume:
        return {os.path.join(folder, name): volume.read_bytes(os.path.join(folder, name)) for folder, _, names in volume.walk() for name in names}


def test_strict_asks_for_more_than_no_damage(flash, nf2, tmp_path):
    """215 bytes of a file carry a check, 216 do not. An append that passes that edge takes the check from the beginning."""
    assert nf2("check", flash)[0] == 0 and nf2("check", "--strict", flash)[0] == 3
    assert nf2("check", "--strict", "--repair", "-o", tmp_path / "o.img", flash)[0] == 3
    small = tmp_path / "small.img"
    images.format_image(small, CHIP)
    with nf2fs.open_image(small, CHIP) as volume:
        volume.write_bytes("/edge", b"x" * 215)
        for _ in range(10):
            with volume.open("/log", "ab") as log:
                log.write(b"20 bytes of a line.\n")
    assert nf2("check", "--strict", small)[0] == 0
    with nf2fs.open_image(small, CHIP) as volume:
        for _ in range(30):
            with volume.open("/log", "ab") as log:
                log.write(b"20 bytes of a line.\n")
    told = json.loads(nf2("check", "--json", "--strict", small)[1])["data"]
    assert told["not_verifiable"] == [{"path": "/log", "bytes": 220}]
    with nf2fs.open_image(small, CHIP) as volume:
        volume.remove("/log")
    assert nf2("check", "--strict", small)[0] == 0
    with nf2fs.open_image(small, CHIP) as volume:
        volume.write_bytes("/edge", b"x" * 216)
    assert nf2("check", "--strict", small)[0] == 3
    data = bytearray(small.read_bytes())
    data[3 * BLOCK + 40] ^= 0xFF
    small.write_bytes(data)
    assert nf2("check", "--strict", small)[0] == 1  # damage comes first


def test_a_sound_image_is_left_alone(flash, nf2, tmp_path):
    before = flash.read_bytes()
    code, out, err = nf2("check", flash)
    assert (code, err) == (0, "") and "no damage found" in out
    found = json.loads(nf2("check", "--json", flash)[1])
    assert found["sound"] and found["mounts"] and found["left_cleanly"] and found["repair"] is None
    assert (found["wrong"], found["findings"], found["affected"], found["error"]) == (0, [], [], None)
    assert found["found"]["complete"] == len(CONTENTS) + 3
    code, out, _ = nf2("check", "--repair", flash)
    assert code == 0 and "nothing to repair" in out
    assert nf2("check", "--repair", "-o", tmp_path / "copy.img", flash)[0] == 0
    assert flash.read_bytes() == before == (tmp_path / "copy.img").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["copy.img", "flash.img"]


def test_a_lost_root_costs_nothing(flash, nf2, tmp_path):
    with_root = [block for level in (1, 2) for block in heads(flash, b"N", level)]
    assert with_root
    overwrite(flash, with_root)
    before = flash.read_bytes()
    code, out, _ = nf2("check", flash)
    assert code == 1 and ("does not mount" in out or "There is no node" in out)
    assert flash.read_bytes() == before
    code, out, err = nf2("check", "--repair", flash)
    assert err == "" and f"{flash}.damaged" in out
    assert (tmp_path / "flash.img.damaged").read_bytes() == before
    assert {name: data for name, data in contents(flash).items() if not name.startswith("/lost+found")} == CONTENTS
    assert nf2("check", flash)[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["flash.img", "flash.img.damaged"]


def test_a_lost_node_is_told_once(flash, nf2):
    """With the names that it may have had."""
    leaf = heads(flash, b"N", 0)[-1]
    overwrite(flash, [leaf])
    code, out, _ = nf2("check", flash)
    (line,) = [one for one in out.splitlines() if f"block {leaf}:" in one]
    assert code == 1 and line.startswith("WRONG") and "names from" in line


def test_what_is_lost_is_listed(flash, nf2, tmp_path):
    leaf = heads(flash, b"N", 0)[-1]
    overwrite(flash, [leaf])
    before = flash.read_bytes()
    out_path = tmp_path / "new.img"
    code, out, err = nf2("check", "--repair", "--json", "-o", out_path, flash)
    assert code == 1 and err == "" and flash.read_bytes() == before
    found = json.loads(out)
    assert found["lossy"] and found["repair"] == {"method": "rebuild", "output": str(out_path), "backup": None}
    ranges = [(one["first"], one["last"]) for one in found["findings"] if one["first"] is not None]
    kept = contents(out_path)
    for name, data in CONTENTS.items():
        moved = name.replace("/old/", "/old.damaged/")  # where the name of the directory was lost
        if data not in (kept.get(name), kept.get(moved)):
            assert any(low[:4] <= one and (high is None or one <= high) for low, high in ranges for one in (name, moved)), name
    assert sum(kept.get(name) == data for name, data in CONTENTS.items()) > len(CONTENTS) // 3
    assert nf2("check", out_path)[0] == 0


@pytest.mark.parametrize("seed", (0, 10))
def test_a_bad_page_of_an_inner_node_costs_no_file(tmp_path, nf2, seed):
    """In a page that was never written: nothing of an older leaf may come into a file."""
    path, rng = tmp_path / "flash.img", random.Random(seed)
    images.format_image(path, "tiny256k")
    with nf2fs.open_image(path) as volume:
        for name in range(6):
            volume.write_bytes(f"/f{name}", rng.randbytes(6000))
        for _ in range(150):
            with volume.open(f"/f{rng.randrange(6)}", "r+b", buffering=0) as file:
                file.seek(rng.randrange(5500))
                file.write(rng.randbytes(rng.randint(1, 300)))
        want = {f"/f{name}": volume.read_bytes(f"/f{name}") for name in range(6)}
    overwritten, inner = bytearray(path.read_bytes()), heads(path, b"N", 1)[0]
    overwritten[(inner + 1) * BLOCK - 256 : (inner + 1) * BLOCK] = bytes(256)
    path.write_bytes(overwritten)
    assert nf2("check", "--repair", path)[0] == 1
    with nf2fs.open_image(path, read_only=True) as volume:
        assert {name: volume.read_bytes(name) for name in want} == want


def oldest_super(path, nf2):
    """The super block whose last anchor is the oldest: the root log is found without it."""
    lines = map(json.loads, nf2("dump", "--json", path)[1].splitlines())
    anchors = [(one["block"], one["sequence"]) for one in lines if one.get("type") == "ANCHOR"]
    last = dict(sorted(anchors, key=lambda anchor: anchor[1]))
    return min(last, key=last.get)


def test_a_volume_that_is_nearly_full_is_repaired_without_a_loss(tmp_path, nf2):
    path, rng = tmp_path / "flash.img", random.Random(1)
    images.format_image(path, "tiny256k")
    with nf2fs.open_image(path) as volume:
        for number in range(40):
            volume.mkdir(f"/d{number}")
        for number in range(625):
            name = f"/d{rng.randrange(40)}/{rng.randrange(10**6):060}"
            volume.write_bytes(name, rng.randbytes(rng.randrange(300)))
            while number % 50 == 49 and volume.maintain(10**6):
                pass
    overwrite(path, (oldest_super(path, nf2),))
    code, out, err = nf2("check", "--repair", path)
    assert code == 0 and "no room" not in out, out + err


def test_lost_logs(flash, nf2, tmp_path):
    overwrite(flash, formats.supers(SIZE // BLOCK), 0xFF)
    overwrite(flash, heads(flash))
    code, out, _ = nf2("check", "--chip", CHIP, flash)
    assert code == 1 and "does not mount" in out and "as far as can be told" in out
    assert nf2("check", "--repair", "-o", tmp_path / "new.img", "--chip", CHIP, flash)[0] == 1
    assert contents(tmp_path / "new.img") == CONTENTS
    assert nf2("check", "--chip", CHIP, tmp_path / "new.img")[0] == 0


def test_a_flipped_bit_is_mended(flash, nf2, tmp_path):
    data = bytearray(flash.read_bytes())
    for leaf in heads(flash, b"N"):
        data[leaf * BLOCK + 20] ^= 4
    flash.write_bytes(data)
    code, out, _ = nf2("check", flash)
    assert code == 1 and "flipped bits are mended" in out
    code, out, _ = nf2("check", "--repair", flash)
    assert code == 0 and "could be restored" in out
    assert contents(flash) == CONTENTS


def test_what_a_power_cut_left_is_settled(flash, nf2):
    library = native.load()
    image = library.open_image(CHIP, str(flash), False)
    image.mount(False)
    image.mkdir("/made before the cut")
    image.close()       # as by a power cut: not unmounted
    code, out, _ = nf2("check", flash)
    assert code == 0 and "power was cut" in out
    found = json.loads(nf2("check", "--json", flash)[1])
    assert found["sound"] and not found["left_cleanly"]
    code, out, _ = nf2("check", "--repair", flash)
    assert code == 0 and "settled" in out
    assert contents(flash) == CONTENTS
    out = nf2("check", flash)[1]
    assert "no damage found" in out and "power was cut" not in out


def test_trouble(flash, nf2, tmp_path):
    assert nf2("check", tmp_path / "none.img")[0] == 2
    assert nf2("check", tmp_path)[0] == 2
    assert nf2("check", "-o", tmp_path / "x", flash)[0] == 2        # without --repair
    (tmp_path / "there").write_bytes(b"precious")
    code, _, err = nf2("check", "--repair", "-o", tmp_path / "there", flash)
    assert code == 2 and "exists already" in err and (tmp_path / "there").read_bytes() == b"precious"
    for data in (b"\xff" * SIZE, random.Random(1).randbytes(SIZE), b"short"):
        (tmp_path / "nothing.img").write_bytes(data)
        code, out, err = nf2("check", "--repair", tmp_path / "nothing.img")
        assert code == 2 and out == "" and err.startswith("nf2: ")
        assert (tmp_path / "nothing.img").read_bytes() == data
    assert sorted(os.listdir(tmp_path)) == ["flash.img", "nothing.img", "there"]


def test_backups_are_numbered_and_nothing_is_left_of_a_failed_repair(flash, nf2, tmp_path, monkeypatch):
    (tmp_path / "flash.img.damaged").write_bytes(b"an older one")
    overwrite(flash, heads(flash, b"N")[-1:])
    before = flash.read_bytes()
    monkeypatch.setattr(checking, "_prove", lambda report, path: (_ for _ in ()).throw(NF2Error(-202, "wrong", path)))
    assert nf2("check", "--repair", flash)[0] == 2
    assert sorted(os.listdir(tmp_path)) == ["flash.img", "flash.img.damaged"] and flash.read_bytes() == before
    monkeypatch.undo()
    report = checking.repair_image(flash)
    assert report.repaired.backup == f"{flash}.damaged.1"
    assert (tmp_path / "flash.img.damaged.1").read_bytes() == before
    assert (tmp_path / "flash.img.damaged").read_bytes() == b"an older one"


def test_names_of_kinds_are_those_of_the_library():
    library = native.load()
    for names, text in ((native.FINDINGS, library.c.nf2h_finding_text), (native.ITEM_STATES, library.c.nf2h_repair_state_text)):
        assert all(text(number) != library.ffi.NULL for number in range(len(names)))
        assert text(len(names)) == library.ffi.NULL


def test_random_damage(flash, nf2, tmp_path):
    source = random.Random(5)
    for round_number in range(15):
        damaged = tmp_path / f"{round_number}.img"
        data = bytearray(flash.read_bytes())
        for _ in range(source.randrange(1, 30)):
            at = source.choice(heads(flash, b"N") + heads(flash)) * BLOCK + source.randrange(BLOCK)
            data[at:at + 8] = source.randbytes(8)
        damaged.write_bytes(bytes(data[:SIZE]))
        code, out, _ = nf2("check", "--repair", "--json", "--chip", CHIP, damaged)
        assert code in (0, 1)
        affected = {one["path"] for one in json.loads(out)["affected"]}
        kept = contents(damaged)
        assert nf2("check", "--chip", CHIP, damaged)[0] == 0
        for name, expected in CONTENTS.items():     # silence means that nothing was lost
            assert code == 1 or kept[name] == expected
            assert kept.get(name) in (None, expected) or name in affected


@pytest.mark.parametrize("other", [1, 2])
def test_another_format_is_no_damage(nf2, tmp_path, other):
    """A volume of a format that the library does not know is refused by all commands, and left as it is."""
    path = tmp_path / "flash.img"
    anchor = b"NF2F" + bytes([other, 12, 0, 1, 1, 0, 0, 1, 0]) + bytes.fromhex("78563412 01000000 090000")
    data = formats.record(0xC000, 1, anchor.ljust(26, b"\0"))
    before = (b"\x00\xc0" + data).ljust(BLOCK, b"\xff").ljust(SIZE, b"\xff")
    path.write_bytes(before)
    said = f"format version {other}, and this library reads version {formats.VERSION}"
    for code, command in ((1, ["ls"]), (2, ["check"]), (2, ["check", "--repair"]), (1, ["dump"]), (1, ["map"])):
        assert nf2(*command, path)[0::2] == (code, f"nf2: {path}: the volume is of {said} alone\n")
    code, _, err = nf2("salvage", path, tmp_path / "out")
    assert code == 1 and said in err
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["flash.img"]
