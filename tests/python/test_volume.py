# SPDX-License-Identifier: BSD-2-Clause
import io

import pytest

import nf2fs
from nf2fs.errors import NOENT, NOSPC, NOTEMPTY, NF2Error
from nf2fs.volume import DEPTH_MAX, O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY, open_flags


def test_flags_of_modes():
    assert open_flags("r") == O_RDONLY
    assert open_flags("r+b") == O_RDWR
    assert open_flags("wb") == O_WRONLY | O_CREAT | O_TRUNC
    assert open_flags("w+") == O_RDWR | O_CREAT | O_TRUNC
    assert open_flags("xb") == O_WRONLY | O_CREAT | O_EXCL
    assert open_flags("a") == O_WRONLY | O_CREAT | O_APPEND
    for mode in ("", "rw", "q", "r++", "rbt"):
        with pytest.raises(ValueError):
            open_flags(mode)


def test_text_and_bytes_survive_a_remount(image):
    with nf2fs.open_image(image) as volume:
        volume.makedirs("/etc/app")
        with volume.open("/etc/app/name", "w") as file:
            file.write("caf\u00e9\n")
        with volume.open("/blob", "wb") as file:
            file.write(bytes(range(256)) * 40)
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.open("/etc/app/name").read() == "caf\u00e9\n"
        assert volume.read_bytes("/blob") == bytes(range(256)) * 40
        assert volume.listdir("/") == ["blob", "etc"]
        assert volume.stat("/blob").size == 10240


def test_unclosed_buffered_file_is_written_by_the_volume(image):
    with nf2fs.open_image(image) as volume:
        file = volume.open("/late", "w")
        file.write("kept")
    with nf2fs.open_image(image) as volume:
        assert volume.read_bytes("/late") == b"kept"


def test_leaving_by_an_exception_drops_unsynced_data(image):
    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/file", b"old")
    with pytest.raises(RuntimeError):
        with nf2fs.open_image(image) as volume:
            file = volume.open("/file", "wb", buffering=0)
            file.write(b"new, not synced")
            raise RuntimeError
    with nf2fs.open_image(image) as volume:
        assert volume.read_bytes("/file") == b"old"


def test_append_seek_truncate(image):
    with nf2fs.open_image(image) as volume:
        with volume.open("/log", "ab", buffering=0) as file:
            file.write(b"one ")
            file.sync()
            file.write(b"two")
        with volume.open("/log", "r+b") as file:
            file.seek(-3, io.SEEK_END)
            assert file.read() == b"two"
            file.seek(0)
            file.write(b"ONE")
        with volume.open("/log", "r+b", buffering=0) as file:
            file.truncate(5)
            assert file.seek(0, io.SEEK_END) == 5
        assert volume.read_bytes("/log") == b"ONE t"


def test_walk_rename_remove(image):
    with nf2fs.open_image(image) as volume:
        volume.makedirs("/a/b/c")
        volume.makedirs("/a/b/c", exist_ok=True)
        with pytest.raises(NF2Error):
            volume.makedirs("/a/b/c")
        volume.write_bytes("/a/b/one", b"1")
        volume.write_bytes("/a/two", b"2")
        assert list(volume.walk("/")) == [("/", ["a"], []), ("/a", ["b"], ["two"]), ("/a/b", ["c"], ["one"]),
                                          ("/a/b/c", [], [])]
        volume.rename("/a/b/one", "/a/b/c/uno")
        assert volume.isfile("/a/b/c/uno") and not volume.exists("/a/b/one")
        with pytest.raises(NF2Error) as caught:
            volume.remove("/a")
        assert caught.value.code == NOTEMPTY and "/a" in str(caught.value)
        volume.remove("/a", recursive=True)
        assert volume.listdir() == []


def test_errors_name_the_path(image):
    with nf2fs.open_image(image) as volume:
        with pytest.raises(NF2Error) as caught:
            volume.open("/nowhere/file", "rb")
        assert caught.value.code == NOENT and str(caught.value).startswith("/nowhere/file: ")
        with pytest.raises(NF2Error):
            volume.mkdir("/a\0b")


def test_space_and_wear(image):
    with nf2fs.open_image(image) as volume:
        space = volume.statfs()
        states, erases = volume.blocks()
        assert len(states) == len(erases) == space["blocks"]
        assert space["erased"] <= space["free"] <= space["blocks"]
        assert states.count(0) + states.count(1) == space["free"] or volume.chip.name == "tiny"
        assert volume.check() == (0, [])
        assert volume.health()["erases_max"] >= volume.health()["erases_min"]


def test_a_file_that_is_lost_on_its_way_is_not_synced(image):
    """As where a signal comes between the call that opens it and the name that it gets."""
    with pytest.raises(RuntimeError):
        with nf2fs.open_image(image) as volume:
            volume._files.discard(volume.open("/ghost", "wb", buffering=0))     # nothing holds it now
            raise RuntimeError
    with nf2fs.open_image(image) as volume:
        assert volume.listdir() == []


def test_a_listing_ends_with_its_volume(image):
    for begun in (True, False):
        volume = nf2fs.open_image(image)
        for name in "abc":
            volume.write_bytes(name, b"x")
        listing = volume.iterdir()
        if begun:
            assert next(listing).name == "a"
        volume.close()
        with pytest.raises(ValueError, match="the volume is closed"):
            next(listing)
        del listing


def test_contents_are_replaced_whole_or_not_at_all(image):
    with nf2fs.open_image(image) as volume:
        volume.write_text("/file", "old")
        large = bytes(volume.statfs()["blocks"] * volume.statfs()["block_size"])
        for path in ("/file", "/new"):
            with pytest.raises(NF2Error) as caught:
                volume.write_bytes(path, large)
            assert caught.value.code == NOSPC
        with pytest.raises(UnicodeEncodeError):
            volume.write_text("/file", "caf\u00e9", encoding="ascii")
        with pytest.raises(LookupError):
            volume.write_text("/file", "new", encoding="none")
        with pytest.raises(TypeError):
            volume.write_bytes("/file", "text")
        assert volume.read_text("/file") == "old" and volume.listdir() == ["file"]
        assert volume.write_text("/file", "caf\u00e9\n") == 5
        assert volume.read_bytes("/file") == "caf\u00e9\n".encode()
        assert volume.write_bytes("/file", b"") == 0 and volume.getsize("/file") == 0
    with nf2fs.open_image(image) as volume:
        assert volume.listdir() == ["file"]


def test_open_that_is_refused_leaves_the_file_alone(image):
    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/file", b"old")
        with pytest.raises(LookupError):
            volume.open("/file", "w", encoding="none")
        with pytest.raises(ValueError):
            volume.open("/file", "w", newline="x")
        with pytest.raises(ValueError):
            volume.open("/file", "wb", buffering=-5)
        with pytest.raises(TypeError, match="NoneType"):
            volume.open("/file", None)
        assert volume.read_bytes("/file") == b"old"
        with volume.open("/file", "r+b") as file:  # no writer is left open
            file.write(b"new")


def test_numbers_out_of_range(image):
    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/file", b"old")
        with volume.open("/file", "r+b", buffering=0) as file:
            for call in (file.truncate, file.preallocate):
                for number in (-1, 1 << 31, 1 << 40):
                    with pytest.raises(ValueError, match="out of range"):
                        call(number)
            with pytest.raises(ValueError, match="out of range"):
                file.seek(1 << 40)
        for number in (-1, 1 << 40):
            with pytest.raises(ValueError, match="microseconds"):
                volume.maintain(number)


def test_a_file_opened_for_one_thing_does_not_do_the_other(image):
    with nf2fs.open_image(image) as volume:
        with volume.open("/file", "wb", buffering=0) as file:
            with pytest.raises(io.UnsupportedOperation):
                file.read(1)
        with volume.open("/file", "rb", buffering=0) as file:
            for call in (lambda: file.write(b"x"), file.truncate, lambda: file.preallocate(9)):
                with pytest.raises(io.UnsupportedOperation):
                    call()


def test_what_is_too_deep_is_not_made(image, nf2):
    """What is made can be removed again: no walk goes deeper than mkdir does."""
    deepest = "/a" * DEPTH_MAX
    for options in ((), ("-p",)):
        code, _, err = nf2("mkdir", *options, image, deepest + "/a")
        assert code == 1 and "513 levels" in err and "512 is the most" in err
    assert nf2("ls", image) == (0, "", "")
    assert nf2("mkdir", "-p", image, deepest)[0] == 0
    assert nf2("mkdir", image, deepest + "/a")[0] == 1
    assert nf2("rm", "-r", "-f", image, "/a")[0] == 0
    assert nf2("ls", image) == (0, "", "")
