# SPDX-License-Identifier: BSD-2-Clause
import io
import json
import os
import random
import re
from pathlib import Path

import pytest
from conftest import NATIVE
from fake import plant

import nf2fs
from nf2fs import chip_times, native, show, trees
from nf2fs.errors import NF2Error


@pytest.fixture
def host_tree(tmp_path):
    top = tmp_path / "tree"
    source = random.Random(1)
    for index in range(30):
        folder = top / f"d{index % 3}" / f"e{index % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file {index}").write_bytes(source.randbytes(source.choice((0, 1, 255, 256, 5000))))
    (top / "empty").mkdir()
    return top


def contents(top):
    return {os.path.relpath(os.path.join(folder, name), top): open(os.path.join(folder, name), "rb").read()
            for folder, _, names in os.walk(top) for name in names}


def test_trees_go_both_ways(image, host_tree, tmp_path, nf2):
    code, out, err = nf2("put", image, host_tree, "/")
    assert (code, err) == (0, "") and out.startswith("30 files")
    assert nf2("get", image, "/", tmp_path / "out")[0] == 0
    assert contents(tmp_path / "out") == contents(host_tree)
    assert (tmp_path / "out" / "empty").is_dir()
    assert nf2("get", image, "/d1", tmp_path / "part")[0] == 0
    assert contents(tmp_path / "part") == contents(host_tree / "d1")


def test_single_files(image, tmp_path, nf2):
    (tmp_path / "one").write_bytes(b"1")
    assert nf2("put", image, tmp_path / "one")[0] == 0
    assert nf2("mkdir", "-p", image, "/x/y")[0] == 0
    assert nf2("put", image, tmp_path / "one", "/x/y")[0] == 0
    assert nf2("put", image, tmp_path / "one", "/x/two")[0] == 0
    assert nf2("cat", image, "/one", "/x/y/one", "/x/two")[:2] == (0, "111")
    (tmp_path / "into").mkdir()
    assert nf2("get", image, "/x/two", tmp_path / "into")[0] == 0
    assert (tmp_path / "into" / "two").read_bytes() == b"1"
    assert nf2("get", image, "/x/two", tmp_path / "as")[0] == 0
    assert (tmp_path / "as").read_bytes() == b"1"


def test_ls_tree_mv_rm(image, host_tree, nf2):
    nf2("put", image, host_tree, "/etc")
    listed = json.loads(nf2("ls", "--json", image, "/etc")[1])
    assert [entry["name"] for entry in listed] == ["d0", "d1", "d2", "empty"]
    assert {entry["type"] for entry in listed} == {"dir"}
    assert nf2("ls", image, "/etc")[1].split() == ["d0/", "d1/", "d2/", "empty/"]
    flat = json.loads(nf2("tree", "--json", image, "/etc")[1])
    assert sum(entry["type"] == "file" for entry in flat) == 30
    assert "30 files" in nf2("tree", image)[1]
    assert "... " in nf2("tree", "--limit", "2", image)[1]
    assert nf2("mv", image, "/etc/d0", "/zero")[0] == 0
    assert nf2("mv", image, "/zero", "/etc/empty")[0] == 0
    assert nf2("ls", image, "/etc/empty")[1] == "zero/\n"
    code, _, err = nf2("rm", image, "/etc")
    assert code == 1 and "/etc" in err
    assert nf2("rm", "-r", "--force", image, "/etc")[0] == 0
    assert nf2("ls", image)[1] == ""


def test_df_map_check_info(image, nf2, library):
    space = json.loads(nf2("df", "--json", image)[1])
    assert space["blocks"] * space["block_size"] <= library.chip(library.test_chip).size
    picture = json.loads(nf2("map", "--json", image)[1])
    assert len(picture["states"]) == space["blocks"] == sum(picture["totals"].values())
    assert "free and erased" in nf2("map", image)[1]
    assert json.loads(nf2("check", "--json", image)[1])["wrong"] == 0
    assert "no damage found" in nf2("check", image)[1]
    assert library.test_chip in nf2("info", image)[1]
    assert json.loads(nf2("info", "--json", image)[1])["chip"]["name"] == library.test_chip
    assert "of these erased" in nf2("df", image)[1]
    assert library.test_chip in nf2("chips")[1]


def test_usage_and_errors(image, nf2, tmp_path):
    assert nf2("ls")[0] == 2
    assert nf2("format", image)[0] == 2
    assert nf2("nonsense")[0] == 2
    assert nf2("--help")[0] == 0
    code, out, err = nf2("ls", tmp_path / "none.img")
    assert (code, out) == (1, "") and "none.img" in err and err.count("\n") == 1
    code, _, err = nf2("cat", image, "/none")
    assert code == 1 and "/none: " in err
    assert nf2("put", image, tmp_path / "none")[0] == 1
    odd = tmp_path / "odd.img"
    odd.write_bytes(b"x" * 1000)
    code, _, err = nf2("ls", odd)
    assert code == 1 and "--chip" in err
    assert nf2("format", odd, "--chip", "no-such-chip")[0] == 1


def test_format_keeps_files_that_are_no_image(library, tmp_path, nf2):
    path = tmp_path / "letter"
    path.write_bytes(b"dear")
    code, _, err = nf2("format", path, "--chip", library.test_chip)
    assert code == 1 and "--force" in err and path.read_bytes() == b"dear"
    assert nf2("format", path, "--chip", library.test_chip, "--force")[0] == 0
    assert nf2("ls", path)[0] == 0


def test_put_skips_links_and_pipes(image, tmp_path, nf2):
    top = tmp_path / "odd"
    top.mkdir()
    (top / "plain").write_text("x")
    (top / "link").symlink_to("/etc/passwd")
    os.mkfifo(top / "pipe")
    code, _, err = nf2("put", image, top, "/")
    assert code == 3 and "symbolic link" in err and "pipe" in err
    assert nf2("ls", image)[1] == "plain\n"


# ---- with the stand-in only: what a sound volume never shows ----

HOSTILE = {"..": {"evil": b"1"}, ".": b"2", "a\0b": b"4", "good": {"file": b"5"}, "": b"6"}


def test_hostile_names_never_leave_the_target(fake, tmp_path, nf2, monkeypatch):
    plant(tmp_path / "x.img", HOSTILE)
    entries = fake.open_image("tiny", str(tmp_path / "x.img"), True)
    entries.mount(True)
    listing = entries.list("/") + [("../evil", 1, 3), ("/etc/evil", 1, 3)]
    monkeypatch.setattr("fake.FakeImage.list", lambda image, path: listing if path == "/" else [("file", 1, 1)])
    code, _, err = nf2("get", tmp_path / "x.img", "/", tmp_path / "deep" / "out")
    assert code == 3 and err.count("refused") == 6
    assert contents(tmp_path / "deep") == {"out/good/file": b"5"}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "x\0"])
def test_refused_names(name):
    assert trees.refuse_name(name)


@pytest.mark.parametrize("name", ["...", " ", "a b", "-rf", "\u00e9", "\udcff"])
def test_allowed_names(name):
    assert trees.refuse_name(name) is None


def test_get_follows_no_link_below_the_target(fake, tmp_path, nf2):
    plant(tmp_path / "x.img", {"etc": {"passwd": b"evil"}, "file": b"evil"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    for name, aim in (("etc", outside), ("file", outside / "kept")):
        out = tmp_path / f"out-{name}"
        out.mkdir()
        (out / name).symlink_to(aim)
        code, _, err = nf2("get", tmp_path / "x.img", "/", out)
        assert code == 3 and "symbolic link" in err
    assert contents(outside) == {"kept": b"kept"}


def test_loops_end(fake, tmp_path, nf2, monkeypatch):
    plant(tmp_path / "x.img", {"loop": {}})
    monkeypatch.setattr("fake.FakeImage.list", lambda image, path: [("loop", 2, 0)])
    for command in (("tree",), ("tree", "--json")):
        code, _, err = nf2(*command, tmp_path / "x.img")
        assert code == 1 and "nested" in err
    code, _, err = nf2("get", tmp_path / "x.img", "/", tmp_path / "out")
    assert code == 3 and "nested" in err


def test_full_volume_keeps_the_old_file(fake, tmp_path, nf2):
    plant(tmp_path / "x.img", {"big": b"old"})
    (tmp_path / "big").write_bytes(bytes(600_000))
    code, _, err = nf2("put", tmp_path / "x.img", tmp_path / "big", "/")
    assert code == 1 and "/big: no space" in err
    assert nf2("cat", tmp_path / "x.img", "/big")[1] == "old"


def test_chip_is_found_by_size_and_geometry(fake, tmp_path, nf2):
    plant(tmp_path / "twin.img", {}, "twin")
    with nf2fs.open_image(tmp_path / "twin.img") as volume:
        assert volume.chip.name == "twin"
    (tmp_path / "blank.img").write_bytes(b"\xff" * (1 << 20))
    code, _, err = nf2("ls", tmp_path / "blank.img")
    assert code == 1 and "erased" in err and "tiny, twin" in err
    with pytest.raises(NF2Error) as caught:
        nf2fs.open_image(tmp_path / "twin.img", "large")
    assert "2097152" in str(caught.value)


def test_broken_volume_fails_the_check(fake, tmp_path, nf2):
    plant(tmp_path / "x.img", {"broken": b""})
    code, out, _ = nf2("check", tmp_path / "x.img")
    assert code == 1 and "WRONG  block 7, /path of 3: a finding" in out
    code, out, _ = nf2("check", "--json", tmp_path / "x.img")
    found = json.loads(out)
    assert code == 1 and found["wrong"] == 1 and not found["sound"]
    assert found["findings"] == [{"kind": "node", "text": "a finding", "block": 7, "id": 3, "number": 0, "name": None, "first": None, "last": None,
                                   "path": "/path of 3"}]


def test_names_are_safe_to_print(fake, tmp_path, nf2):
    plant(tmp_path / "x.img", {"\x1b[31mred\n": b"", "caf\u00e9": b""})
    assert nf2("ls", tmp_path / "x.img")[1] == "\\x1b[31mred\\x0a\ncaf\u00e9\n"


def test_map_layout_and_groups():
    assert show.map_layout(8192, 200) == (128, 2)
    assert show.map_layout(256, 80) == (64, 1)
    assert show.group_states(bytes([1, 1, 0, 1, 2, 0, 3, 2]), 2) == [1, 0, 2, 3]
    assert show.wear_bars([5, 5]) == []
    assert len(show.wear_bars(list(range(100)))) == 8


def test_put_leaves_out_the_image_itself(image, tmp_path, nf2):
    (tmp_path / "plain").write_text("x")
    code, _, err = nf2("put", image, tmp_path, "/")
    assert code == 0 and "the image itself" in err
    assert nf2("ls", image)[1] == "plain\n"


def test_put_refuses_a_pipe(image, tmp_path, nf2):
    os.mkfifo(tmp_path / "pipe")
    code, _, err = nf2("put", image, tmp_path / "pipe", "/")
    assert code == 1 and "is a pipe" in err


def test_help_fits_and_the_version_is_known(nf2):
    code, out, _ = nf2("--help")
    assert code == 0 and "..." not in out.split("Commands:")[1]
    assert nf2("--version")[:2] == (0, nf2fs.__version__ + "\n")


def test_put_says_how_far_it_came(image, tmp_path, nf2):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_bytes(b"a")
    (tmp_path / "full" / "b").write_bytes(bytes(os.path.getsize(image)))
    before = image.read_bytes()
    code, out, err = nf2("put", image, tmp_path / "full", "/")
    assert (code, out, err) == (1, "", "nf2: /b: no space for it; 1 of 2 files would fit; nothing was changed\n")
    assert image.read_bytes() == before
    (tmp_path / "full" / "b").unlink()
    (tmp_path / "full" / "b").symlink_to("b")
    os.mkdir(tmp_path / "full" / "c")
    (tmp_path / "full" / "c" / "a").write_bytes(b"a")
    nf2("put", image, tmp_path / "full" / "a", "/c")
    code, out, err = nf2("put", image, tmp_path / "full", "/")
    assert (code, out) == (1, "") and "/c: " in err
    (tmp_path / "full" / "d").write_bytes(b"d")
    nf2("mkdir", image, "/d")
    nf2("rm", image, "/c")
    code, out, err = nf2("put", image, tmp_path / "full", "/")
    assert (code, out) == (1, "") and err.splitlines()[0].endswith(f"1 of 3 files were put into {image} before this:") and "/d: " in err
    assert nf2("cat", image, "/a")[:2] == (0, "a") and nf2("check", image)[0] == 0


@pytest.mark.parametrize("library", ["native"] if NATIVE else [], indirect=True)
def test_put_where_it_fits_after_all(image, tmp_path, nf2):
    """What is free by the figures may be less than what is: files that are replaced make room."""
    with nf2fs.open_image(image) as volume:
        figures = volume.statfs()
        size = figures["available"] * figures["block_size"] * 6 // 10
        volume.write_bytes("/large", bytes(size))
        volume.unlink("/large")
    (tmp_path / "large").write_bytes(b"x" * size)
    assert nf2("put", image, tmp_path / "large", "/")[0] == 0
    assert nf2("check", image)[0] == 0


def test_put_of_standard_input(image, tmp_path, nf2, monkeypatch):
    def put(data, *arguments):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return nf2("put", image, "-", *arguments)

    assert put(b"one\0two\xff", "/dir")[:2] == (0, f"1 file, 8 B put into {image}\n")
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.read_bytes("/dir") == b"one\0two\xff"
    assert put(b"", "--json", "/empty")[0] == 0
    for target, word in (("/", "has no name"), ("/x/", "has no name"), ("/none/x", "nf2 mkdir -p")):
        code, _, err = put(b"text", target)
        assert code == 1 and word in err
    nf2("mkdir", image, "/d")
    assert "is a directory" in put(b"text", "/d")[2]
    code, _, err = put(bytes(os.path.getsize(image)), "/dir")
    assert code == 1 and "no space" in err
    with nf2fs.open_image(image, read_only=True) as volume:
        assert volume.read_bytes("/dir") == b"one\0two\xff"  # it stays as it was
        assert sorted(volume.listdir("/")) == ["d", "dir", "empty"]


def test_put_follows_links_if_it_is_told_to(image, tmp_path, nf2):
    tree = tmp_path / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "d" / "file").write_bytes(b"content")
    (tmp_path / "outside").write_bytes(b"outside")
    (tree / "file").symlink_to(tmp_path / "outside")
    (tree / "again").symlink_to("d")
    (tree / "d" / "loop").symlink_to("..")
    (tree / "dangling").symlink_to("nowhere")
    code, _, err = nf2("put", image, tree, "/", "--follow-symlinks")
    assert code == 3 and err.count("skipped") == 3 and err.count("leads nowhere") == 1
    assert err.count("leads to a directory that it lies in") == 2
    assert nf2("get", image, "/", tmp_path / "out")[0] == 0
    assert contents(tmp_path / "out") == {"d/file": b"content", "again/file": b"content", "file": b"outside"}


def test_a_chip_from_a_file(tmp_path, nf2, monkeypatch):
    if native.find_library() is None:
        pytest.skip("the library is not built")
    monkeypatch.chdir(tmp_path)
    manual = (Path(__file__).resolve().parents[2] / "norbench" / "README.md").read_text()
    (tmp_path / "own").write_text(re.search(r"^    name = .*?\n\n", manual, re.S | re.M).group())
    assert nf2("format", "f.img", "--chip", "own")[0] == 0
    code, out, _ = nf2("info", "f.img", "--chip", "own")
    assert code == 0 and "w25q32: Winbond W25Q32JV, 4 MiB" in out
    assert nf2("check", "f.img", "--chip", "own")[0] == 0
    for name, what in (("none", "no chip is named"), ("f.img", "f.img:1")):
        code, _, err = nf2("info", "f.img", "--chip", name)
        assert code == 1 and what in err, err


@pytest.mark.skipif(native.find_library() is None, reason="the compiled library is not built")
def test_chips_say_where_their_times_come_from(nf2):
    listed = json.loads(nf2("chips", "--json")[1])
    by_name = {one["name"]: one for one in listed}
    assert by_name["w25q256"]["times"] == "data sheet"
    for one in listed:
        if "assumed" in one["description"] or "times of" in one["description"]:
            assert one["times"] in ("assumed", "partly assumed", "a paper"), one
        assert one["name"].startswith(("tiny", "ecc")) == (one["times"] == "for tests")
    assert set(chip_times.LISTED) <= set(by_name)
    out = nf2("chips")[1]
    assert f"times assumed: {chip_times.MEANINGS['assumed']}" in out
    assert re.search(r"^w25q128 .*; times: assumed; ", out, re.M)


@pytest.mark.skipif(native.find_library() is None, reason="the compiled library is not built")
def test_errors_name_what_is_wrong(tmp_path, nf2, monkeypatch):
    """The path at fault, as it was given, and no other."""
    monkeypatch.chdir(tmp_path)
    Path("name").write_text("text")
    assert nf2("format", "flash.img", "--chip", "w25q80")[0] == 0
    assert nf2("mkdir", "-p", "flash.img", "/d/e")[0] == 0
    assert nf2("put", "flash.img", "name", "/d/file")[0] == 0
    for arguments, expected in (
        (("mv", "flash.img", "/d/e", "/d/file"), "/d/file: is a file: no directory can replace it"),
        (("mv", "flash.img", "/d/file", "/none/x"), "/none/x: there is no directory /none; make it with nf2 mkdir -p"),
        (("mv", "flash.img", "/none", "/d/x"), "/none: not found"),
        (("mv", "flash.img", "/d/e", "/d/file/x"),
         "/d/file/x: /d/file is a file, not a directory; choose another place"),
        (("put", "flash.img", "name", "/none/x"), "/none/x: there is no directory /none; make it with nf2 mkdir -p"),
        (("format", "small.img", "--chip", "w25q80@0+64K"),
         "small.img: too small for a volume: 16 blocks, and it takes 32 at least; choose a larger chip, or a larger part of it"),
        (("top", "--once", "flash.img"), "flash.img: is not a trace of a chip: name the file that nf2 mount --trace writes"),
    ):  # fmt: skip
        assert nf2(*arguments) == (1, "", f"nf2: {expected}\n")
    assert not Path("small.img").exists()
    assert nf2("check", "--repair", "flash.img")[1].startswith("flash.img: no damage found")
