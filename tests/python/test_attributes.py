# SPDX-License-Identifier: BSD-2-Clause
"""Attributes in Python and in the commands: set, listed, removed, and carried by put, get and pack."""

import json
import os
import stat

import pytest

import nf2fs
from conftest import NATIVE
from nf2fs import attributes, checking

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs the compiled library")

LONG = "a name of more than 24 bytes, in a directory"


@pytest.fixture
def do(nf2):
    """Runs a command that ends with this code; what it says."""
    def run(*arguments, code=0):
        status, out, err = nf2(*arguments)
        assert status == code, err
        return out if code == 0 else err
    return run


@pytest.fixture
def image(tmp_path):
    path = str(tmp_path / "flash.img")
    nf2fs.format_image(path, "w25q80")
    return path


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "d").mkdir(parents=True)
    for name, data, mode in (("a", b"hello", 0o640), (f"d/{LONG}", bytes(9000), 0o755)):
        (folder / name).write_bytes(data)
        os.chmod(folder / name, mode)
        os.utime(folder / name, (1580702706, 1580702706.9))
    return folder


def xattrs(path):
    """Sets one, where the host has any: its value as the volume is to have it."""
    try:
        os.setxattr(path, "user.nf2.33", b"value")
        os.setxattr(path, "user.nf2.99", b"no id of a user's")
        os.setxattr(path, "user.other", b"not ours")
    except (AttributeError, OSError):
        return {}
    return {33: b"value"}


def test_a_mapping_of_a_file_or_directory(image):
    with nf2fs.open_image(image) as volume:
        volume.mkdir("/d")
        for path in ("/f", "/d/" + LONG):
            volume.write_bytes(path, b"content")
        for path in ("/f", "/d/" + LONG, "/d"):
            assert volume.attributes(path) == {}
            volume.set_attributes(path, {0x20: b"one", 0x3F: b"", attributes.MODE: b"\xa4\x01"})
            volume.set_attributes(path, {0x20: None, 0x21: bytes(100), 0x22: None})
            assert volume.attributes(path) == {attributes.MODE: b"\xa4\x01", 0x21: bytes(100), 0x3F: b""}
        volume.rename("/f", "/g")
    with nf2fs.open_image(image, read_only=True) as volume:
        assert list(volume.attributes("/g")) == [attributes.MODE, 0x21, 0x3F]
        assert volume.read_bytes("/g") == b"content"
        assert volume.check()[0] == 0


def test_what_cannot_be_kept_says_why(image):
    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/f", b"content")
        volume.set_attributes("/f", {0x20: bytes(100)})
        for values, text in (({0x40: b""}, "reserved"), ({0x11: None}, "reserved"), ({0x20: bytes(254)}, "at most 253"),
                             ({0x21: bytes(152)}, "255 bytes together")):
            with pytest.raises(nf2fs.NF2Error, match=text):
                volume.set_attributes("/f", values)
        for path in ("/", "", "/d/.."):
            with pytest.raises(nf2fs.NF2Error, match="root"):
                volume.attributes(path)
        with pytest.raises(nf2fs.NF2Error, match="not found"):
            volume.attributes("/g")
        with volume.open("/f", "r+b", buffering=0), pytest.raises(nf2fs.NF2Error, match="in use"):
            volume.set_attributes("/f", {0x20: b""})
        assert volume.attributes("/f") == {0x20: bytes(100)}


def test_put_and_get_carry_them_if_asked(image, source, tmp_path, do):
    given = xattrs(source / "a")
    do("put", "--preserve", image, source, "/")
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.attributes("/a") == {1: (0o640).to_bytes(2, "little"), 16: attributes.time_bytes(1580702706)} | given
        assert volume.attributes("/d/" + LONG)[1] == (0o755).to_bytes(2, "little")
    do("get", "-p", image, "/", tmp_path / "out")
    for name in ("a", f"d/{LONG}"):
        found = (tmp_path / "out" / name).stat()
        assert stat.S_IMODE(found.st_mode) == stat.S_IMODE((source / name).stat().st_mode)
        assert found.st_mtime == 1580702706
    if given:
        assert os.getxattr(tmp_path / "out" / "a", "user.nf2.33") == b"value"
    do("get", image, "/", tmp_path / "plain")
    assert (tmp_path / "plain" / "a").stat().st_mtime > 1580702706
    do("put", image, source, "/")
    with nf2fs.open_image(image, read_only=True) as volume:
        assert attributes.time_of(volume.attributes("/a")) is None      # of an older content
        assert attributes.mode_of(volume.attributes("/a")) == 0o640


def test_no_mode_of_a_volume_runs_as_somebody_else(image, tmp_path, do):
    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/f", b"content")
        volume.set_attributes("/f", {attributes.MODE: (0o6755).to_bytes(2, "little"), attributes.TIME: b"\xff" * 5})
    do("get", "-p", image, "/f", tmp_path / "f")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o755


def test_pack_carries_them_if_asked_and_gives_the_same_bytes(source, tmp_path, do):
    for options, name in (([], "one"), ([], "two"), (["--preserve"], "three"), (["--preserve"], "four")):
        do("pack", source, tmp_path / name, "--chip", "w25q80", *options)
    one, two, three, four = ((tmp_path / name).read_bytes() for name in ("one", "two", "three", "four"))
    assert one == two and three == four and one != three
    with nf2fs.open_image(tmp_path / "three", "w25q80", read_only=True) as volume:
        assert attributes.time_of(volume.attributes("/a")) == 1580702706
    with nf2fs.open_image(tmp_path / "one", "w25q80", read_only=True) as volume:
        assert volume.attributes("/a") == {}


def test_the_command(image, source, do):
    do("put", "-p", image, source / "a", "/a")
    do("attr", image, "/a", "--set", "0x20=text = more", "--set", "33=hex:00fF", "--remove", "0x3f")
    assert do("attr", image, "/a").splitlines() == [
        "mode     2  0640", "time     5  2020-02-03 04:05:06 UTC", "0x20    11  text = more", "0x21     2  hex:00ff"]
    assert json.loads(do("attr", image, "/a", "--json"))[:2] == [
        {"id": 1, "bytes": "a001", "mode": 0o640}, {"id": 16, "bytes": "f29b375e00", "time": 1580702706}]
    assert "reserved" in do("attr", image, "/a", "--set", "0x51=x", code=1)
    assert "ID=VALUE" in do("attr", image, "/a", "--set", "0x20", code=2)
    assert "no id" in do("attr", image, "/a", "--remove", "256", code=2)
    assert "no bytes" in do("attr", image, "/a", "--set", "0x20=hex:0", code=2)
    assert "root" in do("attr", image, "/", code=1)
    assert "fields 0x21" in do("dump", image)


def test_a_repair_keeps_them(image):
    with nf2fs.open_image(image) as volume:
        volume.mkdir("/d")
        volume.set_attributes("/d", {0x20: b"of a directory"})
        for path, size in (("/f", 100), ("/d/" + LONG, 9000)):
            volume.write_bytes(path, bytes(size))
            volume.set_attributes(path, {0x20: b"kept", 0x21: bytes(150), attributes.TIME: attributes.time_bytes(1000)})
        volume.write_bytes("/f", b"content that is newer")      # so its time is void
    with open(image, "r+b") as file:                            # a super block
        file.write(bytes(4096))
    assert not checking.examine(image, "w25q80").sound
    assert checking.repair_image(image, chip="w25q80").repaired.method == "rebuild"
    with nf2fs.open_image(image, "w25q80", read_only=True) as volume:
        assert volume.attributes("/d") == {0x20: b"of a directory"}
        assert volume.attributes("/f") == {0x20: b"kept", 0x21: bytes(150)}
        assert volume.attributes("/d/" + LONG) == {attributes.TIME: attributes.time_bytes(1000), 0x20: b"kept", 0x21: bytes(150)}
        assert volume.read_bytes("/f") == b"content that is newer"
