# SPDX-License-Identifier: BSD-2-Clause
"""What the commands refuse, and in which words: errors name what the user gave."""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import formats
import pytest

import nf2fs
from nf2fs import bench, chips, files, fuse_run, native, owners
from nf2fs.errors import NF2Error

PACKAGE = str(Path(nf2fs.__file__).resolve().parent.parent)
compiled = pytest.mark.skipif(native.find_library() is None, reason="needs the compiled library")


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "nf2fs", *map(str, arguments)],
        capture_output="stdout" not in options,
        stderr=subprocess.PIPE if "stdout" in options else None,
        text=True,
        env=os.environ | {"PYTHONPATH": PACKAGE},
        **options,
    )


@pytest.fixture
def flash(tmp_path):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "tiny256k")
    with nf2fs.open_image(path) as volume:
        volume.write_bytes("/log", b"lines")
        volume.mkdir("/d")
        volume.write_bytes("/d/file", b"x" * 3000)
    return path


# ---- special files are not replaced ----


def test_a_pipe_is_not_replaced(image, nf2, tmp_path):
    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/log", b"lines")
    pipe, tree = tmp_path / "pipe", tmp_path / "tree"
    os.mkfifo(pipe)
    tree.mkdir()
    code, _, err = nf2("get", image, "/log", pipe)
    assert code == 3 and f"{pipe}: is a pipe on the host: not replaced" in err
    assert "nf2 salvage" not in err and "1 file or directory is listed" in err and pipe.is_fifo()
    code, _, err = nf2("pack", "--force", tree, pipe)
    assert code == 1 and f"{pipe}: is a pipe on the host" in err and pipe.is_fifo()
    with pytest.raises(NF2Error, match="is a pipe on the host"):
        files.publish_over(str(image), str(pipe))
    assert pipe.is_fifo() and image.exists()


# ---- wrong usage ----


@pytest.mark.parametrize(
    "arguments",
    [
        ("dump", "IMAGE", "--count", "2"),
        ("map", "IMAGE", "--html", "page", "--json"),
        ("map", "IMAGE", "--owners"),
        ("pack", "TREE", "new", "--free", "-1"),
        ("pack", "TREE", "new", "--free", "much"),
        ("pack", "TREE", "new", "--smallest"),
        ("pack", "a.toml", "new", "--smallest"),
        ("import", "IMAGE", "new", "--block-size", "0"),
        ("import", "IMAGE", "new", "--smallest"),
        ("top", "IMAGE", "--block-size", "0"),
    ],
)
def test_arguments_that_would_be_ignored(image, nf2, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree").mkdir()
    given = [{"IMAGE": image, "TREE": "tree"}.get(one, one) for one in arguments]
    code, out, err = nf2(*given)
    assert code == 2 and out == "" and "Invalid value for" in err and "--" in err
    assert not (tmp_path / "new").exists() and not (tmp_path / "page").exists()


# ---- words ----


def test_what_cannot_be_removed_or_made(image, nf2):
    nf2("mkdir", image, "/kept")
    code, _, err = nf2("rm", image, "/")
    assert code == 1 and "/: the root cannot be removed" in err
    for recursive in ((), ("-r", "--force")):
        code, _, err = nf2("rm", *recursive, image, "")
        assert code == 1 and "is empty" in err
    code, _, err = nf2("mkdir", image, "/x/y/z")
    assert code == 1 and err == "nf2: /x/y/z: there is no directory /x/y; -p makes it, too\n"
    assert nf2("ls", image, "/")[1].split()[-1].strip("/") == "kept"


def test_a_file_in_the_way_of_a_directory(image, nf2, tmp_path):
    (tmp_path / "tree" / "f").mkdir(parents=True)
    (tmp_path / "file").write_text("new")
    nf2("put", image, tmp_path / "file", "/f")
    there = "nf2: /f: is a file, so no directory can be made there; choose another name, or remove"
    for command in (
        ("mkdir", "-p", image, "/f"),
        ("mkdir", "-p", image, "/f/g"),
        ("put", image, tmp_path / "tree", "/"),
    ):
        code, _, err = nf2(*command)
        assert code == 1 and err == f"{there} the file first\n"
    for command in (("mkdir", image, "/f/g/h"), ("put", image, tmp_path / "file", "/f/g")):
        code, _, err = nf2(*command)
        assert code == 1 and f"{command[-1]}: /f is a file, not a directory" in err
    nf2("mkdir", image, "/d")
    for taken in ("/f", "/d"):
        kind = "file" if taken == "/f" else "directory"
        code, _, err = nf2("mkdir", image, taken)
        assert code == 1 and err.startswith(f"nf2: {taken}: a {kind} of this name exists")


def test_put_to_a_directory_that_is_not_there(image, nf2, tmp_path):
    (tmp_path / "file").write_text("new")
    for target, above in (("/x/y", "/x"), ("x/", "/x"), ("/x/y/z/", "/x/y/z")):
        code, _, err = nf2("put", image, tmp_path / "file", target)
        assert code == 1 and f": there is no directory {above}; make it with nf2 mkdir -p" in err
    assert nf2("ls", image) == (0, "", "")
    assert nf2("put", image, tmp_path / "file", "/x")[0] == 0


@pytest.mark.parametrize(
    "code, behind, arguments",
    [
        (1, "ls", ("ls", "")),
        (1, "IMAGE", ("ls", "IMAGE", "")),
        (1, "IMAGE", ("mkdir", "-p", "IMAGE", "")),
        (1, "IMAGE", ("put", "IMAGE", "", "/")),
        (1, "file", ("put", "IMAGE", "file", "")),
        (1, "/log", ("get", "IMAGE", "/log", "")),
        (1, "IMAGE", ("get", "IMAGE", "", "out")),
        (1, "format", ("format", "", "--chip", "tiny")),
        (1, "--chip", ("ls", "--chip", "", "IMAGE")),
        (2, "check", ("check", "")),
        (2, "-o", ("check", "--repair", "-o", "", "IMAGE")),
        (2, "IMAGE", ("diff", "IMAGE", "")),
    ],
)
def test_an_empty_argument(image, nf2, tmp_path, monkeypatch, code, behind, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("new")
    before = image.read_bytes()
    given = [str(image) if one == "IMAGE" else one for one in arguments]
    text = f"the argument behind {image if behind == 'IMAGE' else behind} is empty"
    assert nf2(*given) == (code, "", f"nf2: {text}; a name or a path is needed there\n")
    assert image.read_bytes() == before and sorted(os.listdir()) == ["file", image.name]


def test_a_directory_is_not_copied_to_a_file(image, nf2, tmp_path):
    (tmp_path / "hello.txt").write_text("hello")
    code, _, err = nf2("get", image, "/", tmp_path / "hello.txt")
    assert code == 1 and "hello.txt: is no directory on the host" in err
    assert (tmp_path / "hello.txt").read_text() == "hello"


def test_get_speaks_of_salvage_only_where_it_may_help(image, nf2, tmp_path):
    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/log", b"lines")
    (tmp_path / "link").symlink_to("nowhere")
    code, _, err = nf2("get", image, "/log", tmp_path / "link")
    assert code == 3 and "nf2 salvage" not in err and "1 file or directory is listed above" in err


@compiled
def test_pack_to_a_directory(tmp_path, nf2):
    (tmp_path / "tree").mkdir()
    (tmp_path / "out").mkdir()
    code, _, err = nf2("pack", "--force", tmp_path / "tree", tmp_path / "out")
    assert (
        code == 1 and err == f"nf2: {tmp_path / 'out'}: is a directory on the host: not replaced\n"
    )


@compiled
def test_a_full_disk_is_that_of_the_output(flash, tmp_path):
    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    (tmp_path / "tree").mkdir()
    for arguments in (
        ("check", "--repair", "-o", tmp_path / "new", flash),
        ("pack", tmp_path / "tree", tmp_path / "new", "--chip", "tiny256k"),
    ):
        done = command(*arguments, preexec_fn=little_room)
        assert done.returncode in (1, 2) and f"{tmp_path / 'new'}: " in done.stderr
        assert str(flash) not in done.stderr and ".nf2-" not in done.stderr
        assert not (tmp_path / "new").exists()


@compiled
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_output_that_is_full(flash, unbuffered, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    for code, *arguments in (
        (1, "ls", flash),
        (1, "cat", flash, "/d/file"),
        (1, "chips"),
        (2, "check", flash),
        (2, "diff", flash, flash.parent),
    ):
        with open("/dev/full", "w") as full:
            done = command(*arguments, stdout=full)
        assert done.returncode == code
        assert done.stderr == "nf2: standard output: No space left on device\n"


@compiled
def test_a_mount_in_the_background_says_what_a_command_says(tmp_path, capfd, monkeypatch):
    (tmp_path / "hello.txt").write_text("hello")
    monkeypatch.setattr(fuse_run, "check_available", lambda: None)
    monkeypatch.setitem(sys.modules, "nf2fs.fuse_mount", None)
    monkeypatch.setattr(
        nf2fs, "fuse_mount", type("Stub", (), {"Options": lambda *_: None}), raising=False
    )
    with pytest.raises(SystemExit):
        fuse_run._background(f'{{"image": "{tmp_path / "hello.txt"}", "directory": "{tmp_path}"}}')
    assert "--chip" in capfd.readouterr().err


def test_a_mount_point_is_empty(image, nf2, tmp_path, monkeypatch):
    """It is looked at before anything of FUSE is."""
    monkeypatch.setattr(fuse_run, "run", lambda *_: pytest.fail("the mount begins"))
    monkeypatch.setattr(fuse_run, "start_in_background", lambda *_: pytest.fail("it begins"))
    full = tmp_path / "full"
    full.mkdir()
    (full / ".hidden").write_text("")
    for options in ((), ("--background",)):
        code, _, err = nf2("mount", *options, image, full)
        assert code == 1 and err.startswith(f"nf2: {full}: the directory is not empty; ")


@compiled
def test_a_volume_behind_the_first_byte(flash, nf2, tmp_path):
    parts = tmp_path / "parts.img"
    parts.write_bytes(b"\xff" * (256 << 10) + flash.read_bytes() + b"\xff" * (512 << 10))
    code, _, err = nf2("cat", parts, "/log")
    assert code == 1 and "at 262144+262144" in err and "--chip NAME@OFFSET+SIZE" in err
    assert chips.parts(str(parts)) == [(256 << 10, 256 << 10)]
    parts.write_bytes(b"\0\0\0\0NF2F\3" + bytes((1 << 20) - 9))  # an anchor that says nothing
    assert chips.parts(str(parts)) == []


@compiled
def test_a_chip_that_there_is_not(flash, nf2, tmp_path):
    for command in (("ls", flash), ("check", flash), ("format", tmp_path / "new")):
        code, _, err = nf2(*command, "--chip", "w25q65")
        assert code == (2 if command[0] == "check" else 1)
        assert "named 'w25q65', nor is there such a chip file; is it w25q64" in err
        assert err.endswith("; `nf2 chips` lists the names\n")


@compiled
def test_an_image_of_another_chip(flash, nf2, tmp_path):
    """A check or a repair as that chip would find nothing but damage."""
    before = flash.read_bytes()
    for chip in ("w25q64", "generic-262144-256-8192-1", "generic-262144-256-4096-16"):
        for command in (
            ("check", flash),
            ("check", "--repair", flash),
            ("ls", flash),
            ("salvage", flash, tmp_path / "out"),
        ):
            code, out, err = nf2(*command, "--chip", chip)
            assert (code, out) == (2 if command[0] == "check" else 1, "")
            assert f"{flash}: the volume is for tiny256k" in err
            assert err.endswith(f"not for chip {chip}; leave --chip out, or name the right one\n")
    assert flash.read_bytes() == before and sorted(os.listdir(tmp_path)) == [flash.name]


@compiled
def test_the_front_of_the_tree_has_a_name(tmp_path, nf2):
    """What is lost there is said to begin at the root directory."""
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "tiny256k")
    with nf2fs.open_image(path) as volume:
        volume.mkdir("/d")
        for index in range(120):
            volume.write_bytes(f"/d/file {index}", bytes([index]) * (index * 7 % 90))
    whole, lines = path.read_bytes(), []
    for leaf in formats.heads(whole, 4096, b"N", 0):
        path.write_bytes(whole[: leaf * 4096] + bytes(4096) + whole[(leaf + 1) * 4096 :])
        lines += [one for one in nf2("check", path)[1].splitlines() if "names from" in one]
    assert any("names from / to " in one for one in lines) and "id 0" not in "".join(lines)


@compiled
def test_dump_says_nothing_of_no_bytes(tmp_path, nf2):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "tiny256k")
    with nf2fs.open_image(path) as volume:
        volume.write_bytes("/data", b"x" * 8192)
    out = nf2("dump", path)[1]
    assert "programmed: " in out and "last 0 blank" not in out


def test_erases_in_all_are_those_on_record(image, nf2):
    with nf2fs.open_image(image, read_only=True) as volume:
        total = volume.health()["erases_total"]
    assert total > 0 and f"in all {total} with" in unwrapped(nf2("map", image)[1])


# ---- what is kept ----


@compiled
def test_the_damaged_image_keeps_its_chip(tmp_path, nf2):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q64@1M+256K")
    data = bytearray(path.read_bytes())
    data[1 << 20 : (1 << 20) + 4096] = bytes(4096)
    path.write_bytes(data)
    assert nf2("check", "--repair", path)[0] == 0
    kept = tmp_path / "flash.img.damaged"
    assert chips.remembered(str(kept)) == "w25q64@1048576+262144"
    assert nf2("check", kept)[0] == 1


# ---- space, wear, chips that do not fit, damage ----


@compiled
def test_space_is_the_least_that_there_is(tmp_path, nf2):
    """Removed files count as used until they are reclaimed."""
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        volume.write_bytes("/large", bytes(700_000))
        volume.remove("/large")
        promised = volume.statfs()
        promised = promised["available"] * promised["block_size"]
    assert promised < 300_000
    assert f"at least {promised // 4096} blocks" in nf2("info", path)[1]
    assert "There may be more free blocks" in nf2("df", path)[1]
    with nf2fs.open_image(path) as volume:
        volume.write_bytes("/large", bytes(700_000))
    for name in ("df", "info"):
        assert "until they are reclaimed" in " ".join(nf2(name, "--help")[1].split())


def unwrapped(text):
    """A long path wraps the lines behind it."""
    return " ".join(text.split())


@compiled
def test_erases_are_those_since_the_format(flash, nf2):
    total = r"in all \d+ with those of the format, "
    assert re.search(rf"since the format: min 0, .* max \d+; {total}", unwrapped(nf2("map", flash)[1]))
    assert re.search(r"erases of a block since the format: min 0, ", unwrapped(nf2("info", flash)[1]))
    assert "erased 0 times since the format" in nf2("dump", flash)[1]
    for name in ("map", "dump", "info", "format"):
        assert "from 0 after" in " ".join(nf2(name, "--help")[1].split())


@compiled
def test_nand_is_told(tmp_path, nf2):
    (tmp_path / "tree").mkdir()
    why = "it is NAND, and NF2FS needs NOR flash with pages of 256 or 512 bytes"
    text = f"no volume can be made on chip hffs-nand: {why}"
    code, _, err = nf2("format", tmp_path / "new", "--chip", "hffs-nand")
    assert code == 1 and err == f"nf2: {tmp_path / 'new'}: {text}\n"
    code, _, err = nf2("pack", tmp_path / "tree", tmp_path / "new", "--chip", "hffs-nand")
    assert code == 1 and text in err and not (tmp_path / "new").exists()
    marked = [line for line in nf2("chips")[1].splitlines() if "not for NF2FS" in line]
    nand = {"hffs-nand", "w25n01gv", "mt29f2g01", "tinynand"}
    assert {line.split()[0] for line in marked} == nand and all(line.endswith(why) for line in marked)
    listed = {one["name"]: one["unfit"] for one in json.loads(nf2("chips", "--json")[1])}
    assert all(listed.pop(name) == why for name in nand) and not any(listed.values())


@compiled
def test_damage_leads_to_check_and_salvage(tmp_path, nf2):
    path, whole = tmp_path / "flash.img", tmp_path / "whole"
    nf2fs.format_image(path, "w25q80")
    with nf2fs.open_image(path) as volume:
        volume.write_bytes("/large", bytes(range(256)) * 200)
        for index in range(40):
            volume.write_bytes(f"/small {index:02}", b"x" * 900)
    content = path.read_bytes()
    help_of = "nf2 check says what is damaged, nf2 salvage copies out what is left"
    path.write_bytes(bytes(3 * 4096) + content[3 * 4096 :])  # the super blocks
    whole.write_bytes(b"x")
    for arguments in (("ls", path), ("put", path, whole, "/x"), ("ls", "--chip", "w25q80", path)):
        code, _, err = nf2(*arguments)
        assert code == 1 and "not NF2FS" in err
        assert err.endswith(f"; if a volume was there, {help_of}\n")
    assert nf2("salvage", path, tmp_path / "out")[0] == 3
    assert len(list((tmp_path / "out").rglob("small*"))) == 40

    path.write_bytes(content)
    with nf2fs.open_image(path, read_only=True) as volume:
        found = owners.find(volume, volume.blocks()[0]).owners
    names = [index for index, one in enumerate(found) if one and one.kind == "names"]
    damaged = bytearray(content)
    for block in names:
        damaged[block * 4096 + 8 : block * 4096 + 2048] = bytes(2040)
    path.write_bytes(damaged)
    for arguments in (("ls", path), ("put", path, whole, "/x"), ("cat", path, "/small 01")):
        code, _, err = nf2(*arguments)
        assert code == 1 and "I/O error" in err and err.endswith(f"; {help_of}\n"), err
    code, out, _ = nf2("check", path)
    assert code == 1 and "The names from / to the end belong there." in out and "It has" not in out


def test_who_has_no_clone_is_told_where_norbench_is_built(tmp_path, monkeypatch):
    monkeypatch.delenv("NORBENCH_CELL", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "python" / "nf2fs" / "bench.py"))
    with pytest.raises(bench.BenchError, match="`make release` in a clone of the repository"):
        bench.find_program()


# ---- what is meant instead ----

OTHER_KINDS = {
    "LittleFS": bytes(8) + b"littlefs" + bytes(16),
    "gzip": b"\x1f\x8b\x08\0",
    "zip": b"PK\3\4",
    "ELF": b"\x7fELF\2",
    "UF2": b"UF2\nWQ]",
    "Intel HEX": b":020000040800F2\r\n",
    "S-records": b"S00600004844521B\r\n",
    "SquashFS": b"hsqs",
    "FAT": bytes(54) + b"FAT16   ",
}


@compiled
@pytest.mark.parametrize("kind", OTHER_KINDS)
@pytest.mark.parametrize("size", [1 << 20, 12345])
def test_a_file_of_another_kind(tmp_path, nf2, kind, size):
    path = tmp_path / "other.img"
    path.write_bytes(OTHER_KINDS[kind].ljust(size, b"\xff"))
    for command in (["ls"], ["info"], ["check"], ["map"], ["dump"], ["diff", path], ["salvage", tmp_path / "out"]):
        first, *more = command
        code, _, err = nf2(first, path, *more)
        assert code in (1, 2) and err.startswith(f"nf2: {path}: ") and kind in err and err.count("\n") == 1
        assert "nf2 salvage" not in err
    assert not (tmp_path / "out").exists()


@compiled
@pytest.mark.parametrize(
    "chip, said",
    [
        ("w25q64@1M", "w25q64@OFFSET+SIZE"),
        ("W25Q64JV", "is it w25q64?"),
        ("w25q128jvsiq", "is it w25q128?"),
        ("w25q46", "w25q64"),
        ("nothing-like-it", "lists the names"),
    ],
)
def test_a_chip_that_is_meant(tmp_path, nf2, chip, said):
    code, _, err = nf2("format", tmp_path / "new.img", "--chip", chip)
    assert code == 1 and said in err and "`nf2 chips` lists the names" in err


@compiled
@pytest.mark.parametrize(
    "words, code, said",
    [
        (("format", "new.img"), 2, "for example w25q64"),
        (("completion", "csh"), 2, "only for bash, zsh and fish"),
        (("pack", "tree", "new.img", "--smallest"), 2, "--chip NAME"),
        (("mv", "flash.img", "/log", "/nope/b"), 1, "there is no directory /nope; make it with nf2 mkdir -p"),
        (("mv", "flash.img", "/log", "/d/file/b"), 1, "/d/file is a file, not a directory"),
        (("mv", "flash.img", "/nope", "/b"), 1, "/nope: not found"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_what_to_do_instead(flash, tmp_path, nf2, monkeypatch, words, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree").mkdir()
    found, _, err = nf2(*words)
    assert (found, said in " ".join(err.split())) == (code, True), err
