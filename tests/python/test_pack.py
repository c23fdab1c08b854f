# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 pack`: images from directories and manifests."""

import hashlib
import json
import os
import random

import pytest

import nf2fs
from nf2fs import native, pack_build, pack_manifest, pack_tree
from nf2fs.errors import NF2Error

pytestmark = pytest.mark.skipif(
    native.find_library() is None, reason="the compiled library is not built"
)


@pytest.fixture
def tree(tmp_path):
    top, source = tmp_path / "tree", random.Random(3)
    for index in range(60):
        place = top / f"d{index % 4}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"file {index}").write_bytes(
            source.randbytes(source.choice((0, 10, 300, 5000, 20000)))
        )
    (top / "empty").mkdir()
    return top


def contents(top):
    return {
        "/" + str(path.relative_to(top)): None if path.is_dir() else path.read_bytes()
        for path in top.rglob("*")
    }


def stored(image, chip=None):
    found = {}
    with nf2fs.open_image(image, chip, read_only=True) as volume:
        assert volume.check() == (0, []) and volume.left_cleanly()
        for place, below, names in volume.walk("/"):
            found |= {os.path.join(place, name): None for name in below}
            found |= {
                os.path.join(place, name): volume.read_bytes(os.path.join(place, name))
                for name in names
            }
    return found


def test_the_smallest_chip_that_holds_it(tree, tmp_path, nf2):
    code, out, err = nf2("pack", "--json", tree, tmp_path / "flash.img")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (
        found["chip"]
        and found["sha256"] == hashlib.sha256((tmp_path / "flash.img").read_bytes()).hexdigest()
    )
    assert stored(tmp_path / "flash.img") == contents(tree)
    large = sum(len(data or b"") for data in contents(tree).values()) + (1 << 20)
    (tree / "large").write_bytes(random.Random(1).randbytes(1 << 20))
    code, out, _ = nf2("pack", "--json", tree, tmp_path / "next.img")
    assert code == 0 and json.loads(out)["size"] > max(found["size"], large)
    assert stored(tmp_path / "next.img") == contents(tree)


def test_the_same_input_makes_the_same_bytes(tree, tmp_path, nf2):
    assert nf2("pack", tree, tmp_path / "one.img", "--chip", "w25q80")[0] == 0
    for path in sorted(tree.rglob("*"), reverse=True):
        os.utime(path, (1000, 2000))
    copy = tmp_path / "copy"
    for path in sorted(
        tree.rglob("*"), key=lambda path: path.name, reverse=True
    ):  # another order on the disk
        if path.is_file():
            target = copy / path.relative_to(tree)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    (copy / "empty").mkdir()
    assert nf2("pack", copy, tmp_path / "two.img", "--chip", "w25q80")[0] == 0
    assert (tmp_path / "one.img").read_bytes() == (tmp_path / "two.img").read_bytes()


@pytest.mark.parametrize("chip", ("w25q80", "tiny8k", "tinyecc1m"))
def test_the_smallest_volume(tree, tmp_path, nf2, chip):
    code, out, err = nf2(
        "pack",
        "--json",
        tree,
        tmp_path / "small.img",
        "--chip",
        chip,
        "--smallest",
        "--free",
        "16K",
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    known = native.load().chip(chip)
    assert found["partitions"][0]["free"] >= 16384
    own = pack_build.resized(known, found["size"])
    assert stored(tmp_path / "small.img", own.source) == contents(tree)
    built = pack_manifest.manifest_of(str(tree), None, True, 0).partitions[0].tree
    less = pack_build.resized(known, found["size"] - known.block_size)
    assert pack_build.fits(built, less, 16384, str(tmp_path)) is None


def test_partitions(tree, tmp_path, nf2):
    (tmp_path / "boot.bin").write_bytes(b"\x01\x02" * 3000)
    (tmp_path / "flash.toml").write_text("""
        chip = "w25q80"
        [[partition]]
        name = "boot"
        size = "64K"
        raw = "boot.bin"
        [[partition]]
        name = "system"
        tree = "tree"
        into = "/usr"
        exclude = ["file 1*"]
        size = "smallest"
        free = "8K"
        directories = ["/var/log"]
        [[partition.file]]
        path = "/etc/version"
        text = "1.2.3\\n"
        [[partition.file]]
        path = "/etc/zeros"
        size = "3K"
        [[partition.file]]
        path = "/etc/boot"
        from = "boot.bin"
        [[partition]]
        name = "data"
        offset = 851968
        """)
    code, out, err = nf2("pack", "--json", tmp_path / "flash.toml", tmp_path / "flash.img")
    assert (code, err) == (0, "")
    boot, system, data = json.loads(out)["partitions"]
    whole = (tmp_path / "flash.img").read_bytes()
    assert (
        len(whole) == 1 << 20
        and whole[:6000] == b"\x01\x02" * 3000
        and set(whole[6000:65536]) == {0xFF}
    )
    assert (system["offset"], data["offset"], data["size"]) == (65536, 851968, (1 << 20) - 851968)
    assert system["free"] >= 8192
    expected = {
        "/usr" + path: data for path, data in contents(tree).items() if "/file 1" not in path
    }
    expected |= {
        "/usr": None,
        "/var": None,
        "/var/log": None,
        "/etc": None,
        "/etc/version": b"1.2.3\n",
        "/etc/zeros": bytes(3072),
        "/etc/boot": b"\x01\x02" * 3000,
    }
    assert stored(tmp_path / "flash.img", system["chip"]) == expected
    assert stored(tmp_path / "flash.img", data["chip"]) == {}


@pytest.mark.parametrize(
    "text, word",
    [
        ("", "no [[partition]]"),
        ("chip = 3 =", "not a manifest"),
        ("chips = 'w25q80'\n[[partition]]", "unknown key 'chips'"),
        ("chip = 'w25q80'\n[[partition]]\nattributes = 1", "keeps no attributes"),
        ("chip = 'none'\n[[partition]]", "no chip is named"),
        ("chip = 'w25q80'\n[[partition]]\nsize = 'large'", "not a size"),
        ("chip = 'w25q80'\n[[partition]]\nsize = '5000'", "not a multiple of the erase block"),
        ("chip = 'w25q80'\n[[partition]]\noffset = 100", "not a multiple of the erase block"),
        ("chip = 'w25q80'\n[[partition]]\nsize = '2M'", "ends at"),
        (
            "chip = 'w25q80'\n[[partition]]\nsize='512K'\n[[partition]]\noffset='64K'",
            "inside the one before it",
        ),
        ("chip = 'w25q80'\n[[partition]]\nfree = '2M'", "are asked for"),
        ("chip = 'w25q80'\n[[partition]]\ntree = 'none'", "no such directory"),
        ("chip = 'w25q80'\n[[partition]]\n[[partition.file]]\npath = '/a'", "needs one of"),
        (
            "chip = 'w25q80'\n[[partition]]\n[[partition.file]]\npath = '/../a'\ntext=''",
            "not the path of",
        ),
        ("chip = 'w25q80'\n[[partition]]\n[[partition.file]]\npath = '/a'\nfrom='none'", "none"),
        ("chip = 'w25q80'\n[[partition]]\nraw = 'x.toml'\ntree = '.'", "holds no files"),
        (
            "chip = 'w25q80'\n[[partition]]\n[[partition.file]]\npath='/a'\ntext=''"
            "\n[[partition.file]]\npath='/a/b'\ntext=''",
            "a file and a directory",
        ),
        ("[[partition]]\nsize = '64K'", "name the chip"),
    ],
)
def test_a_wrong_manifest_is_refused(tmp_path, nf2, text, word):
    (tmp_path / "x.toml").write_text(text)
    code, out, err = nf2("pack", tmp_path / "x.toml", tmp_path / "x.img")
    assert (code, out) == (1, "") and word in err, err
    assert sorted(os.listdir(tmp_path)) == ["x.toml"]


def test_what_does_not_fit_is_said(tmp_path, nf2):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "large").write_bytes(bytes(2 << 20))
    code, _, err = nf2(
        "pack", tmp_path / "tree", tmp_path / "x.img", "--chip", "w25q80", "--smallest"
    )
    assert code == 1 and "do not fit into" in err
    code, _, err = nf2("pack", tmp_path / "tree", tmp_path / "x.img", "--chip", "w25q80")
    assert code == 1 and "no space" in err
    assert sorted(os.listdir(tmp_path)) == ["tree"]


def test_an_image_is_not_replaced_unasked(tree, tmp_path, nf2):
    (tmp_path / "x.img").write_bytes(b"precious")
    code, _, err = nf2("pack", tree, tmp_path / "x.img", "--chip", "w25q80")
    assert code == 1 and "--force" in err and (tmp_path / "x.img").read_bytes() == b"precious"
    assert nf2("pack", "--force", tree, tmp_path / "x.img", "--chip", "w25q80")[0] == 0
    assert stored(tmp_path / "x.img") == contents(tree)


def test_links_are_skipped_and_said(tree, tmp_path, nf2):
    (tree / "link").symlink_to("d0")
    code, _, err = nf2("pack", tree, tmp_path / "x.img", "--chip", "w25q80")
    assert code == 0 and "link: symbolic link" in err


def test_a_rule_names_what_it_was_made_of(tree, tmp_path, nf2):
    assert (
        nf2("pack", tree, tmp_path / "x.img", "--chip", "w25q80", "--depfile", tmp_path / "x.d")[0]
        == 0
    )
    text = (tmp_path / "x.d").read_text()
    assert text.startswith(f"{tmp_path}/x.img: \\\n")
    named = {line.strip(" \\") for line in text.replace("\\ ", "\0").splitlines()[1:]}
    expected = {str(tree), *map(str, tree.rglob("*"))}
    assert named == {path.replace(" ", "\0") for path in expected}


def test_a_file_that_changes_meanwhile(tmp_path):
    tree = pack_tree.Tree()
    tree.add_file("/a", pack_tree.File(10, pack_tree.pieces_of_bytes(b"shorter"), "the source"))
    with pytest.raises(NF2Error, match="changed while it was read"):
        pack_build.build(tree, native.load().chip("w25q80"), 0, str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_the_chip_is_found_again(tree, tmp_path, nf2):
    assert nf2("pack", tree, tmp_path / "s.img", "--chip", "w25q80", "--smallest")[0] == 0
    assert stored(tmp_path / "s.img") == contents(tree)
    (tmp_path / "x.toml").write_text(
        "chip = 'w25q80'\n[[partition]]\nraw = 'x.toml'\n[[partition]]\ntree = 'tree'"
    )
    assert nf2("pack", tmp_path / "x.toml", tmp_path / "x.img")[0] == 0
    assert stored(tmp_path / "x.img") == contents(tree)
