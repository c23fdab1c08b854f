# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 pack --layout`: tables of ESP-IDF and Zephyr say where a volume lies and how large it is."""

import json
from pathlib import Path

import pytest

import nf2fs
from nf2fs import native, partition_tables
from nf2fs.errors import NF2Error

ROOT = Path(__file__).resolve().parents[2]

ESP = """# Name, Type, SubType, Offset, Size, Flags
nvs,      data, nvs,      ,        0x4000,
otadata,  data, ota,      ,        0x2000,
factory,  app,  factory,  ,        1M,
files,    data, littlefs, ,        512K, readonly
last,     0x40, 0x00,     0x200000, -3M
"""

DTS = """/* a comment with partition@0 { reg = <0 1>; }; in it */
#include <mem.h>
/ {
    soc { flash-controller@4001e000 { flash0: flash@0 {
        compatible = "soc-nv-flash";
        erase-block-size = <4096>;
        write-block-size = <4>;
        reg = <0x0 DT_SIZE_K(1024)>;
        partitions {
            boot_partition: partition@0 { label = "mcuboot"; reg = <0x0 0xc000>; };
            outer: partition@c000 {
                reg = <0x0000c000 0xf0000>;
                ranges = <0x0 0xc000 0xf0000>;
                storage_partition: partition@20000 { label = "storage; {really}"; reg = <0x20000 DT_SIZE_K(256)>; };
            };
        };
    }; }; };
};
&mx25r64 { partitions { other: partition@0 { reg = <0 0x100000>; }; }; };
"""


@pytest.fixture
def table(tmp_path):
    def write(text, name="table"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def found(path):
    return [(one.names[0], one.offset, one.size) for one in partition_tables.read(str(path))]


def test_a_table_of_esp_idf(table):
    assert found(table(ESP)) == [
        ("nvs", 0x9000, 0x4000),
        ("otadata", 0xD000, 0x2000),
        ("factory", 0x10000, 0x100000),
        ("files", 0x110000, 0x80000),
        ("last", 0x200000, 0x100000),
    ]
    places = partition_tables.read(str(table(ESP)))
    assert partition_tables.find(places, None, "t").names == ("files",)
    assert found(ROOT / "ports/esp-idf/nf2fs/examples/counter/partitions.csv")[-1] == (
        "files",
        0x110000,
        1 << 20,
    )


def test_a_devicetree(table):
    places = {one.names[-1]: one for one in partition_tables.read(str(table(DTS)))}
    inner = partition_tables.find(list(places.values()), "storage_partition", "t")
    assert (inner.offset, inner.size, inner.block, inner.unit) == (0x2C000, 256 << 10, 4096, 4)
    assert partition_tables.find(list(places.values()), "storage; {really}", "t") == inner
    assert partition_tables.find(list(places.values()), "other", "t").block == 4096
    assert found(ROOT / "ports/zephyr/sample/app.overlay") == [("files", 1 << 20, 1 << 20)]


@pytest.mark.parametrize(
    "text, told",
    [
        ("", "has no partitions"),
        ("a,data,fat,,x\n", "line 1, size: not a number: 'x'"),
        ("a,data\n", "line 1: not a partition"),
        ("a,data,fat,0x20000,-64K\n", "partition a has no room"),
        ("/ { p: partition@0 { reg = <A_MACRO 5>; }; };", "has no partitions"),
        ("}}}{ reg = <", "has no partitions"),
    ],
)
def test_what_is_no_table_is_said(table, text, told):
    with pytest.raises(NF2Error, match=told.replace("(", r"\(")):
        partition_tables.read(str(table(text)))


def test_which_partition_must_be_clear(table):
    places = partition_tables.read(str(table("a,data,fat,,1M\nb,data,spiffs,,1M\nb,data,fat,,1M\n")))
    for name, told in ((None, "--partition; .*: a, b"), ("c", "has no partition 'c'"), ("b", "more than one")):
        with pytest.raises(NF2Error, match=told):
            partition_tables.find(places, name, "t")


@pytest.mark.skipif(native.find_library() is None, reason="the compiled library is not built")
def test_an_image_is_made_for_a_partition(table, tmp_path, nf2):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "page").write_bytes(b"<p>" * 5000)
    image, layout = tmp_path / "out.img", table(ESP, "partitions.csv")
    code, out, err = nf2("pack", tmp_path / "files", image, "--layout", layout)
    assert (code, err) == (0, "") and f"files begins at 0x110000: write {image} there" in out
    assert image.stat().st_size == 512 << 10
    with nf2fs.open_image(image) as volume:
        assert volume.read_bytes("/page") == b"<p>" * 5000
    depfile = tmp_path / "d"
    done = nf2("pack", tmp_path / "files", image, "--layout", layout, "--force", "--json", "--depfile", depfile)
    assert json.loads(done[1])["flash_at"] == 0x110000
    assert "partitions.csv" in depfile.read_text()
    # the geometry of the port for ESP-IDF, as its CMake function writes it: with erases of 64 KiB
    (tmp_path / "own.chip").write_text(
        "name = p\nsize = 4M\npage_size = 256\nerase_sizes = 4096, 65536\nerase_us = 50000, 200000\n"
        "read_page_us = 20\nprogram_page_us = 500\n"
    )
    assert nf2("pack", tmp_path / "files", tmp_path / "own.img", "--chip", tmp_path / "own.chip")[0] == 0
    for offset, is_same in (("0x110000", True), ("0x111000", False)):
        large = table(f"files,data,fat,{offset},4M\n", "large.csv")
        options = ("--layout", large, "--force")
        assert nf2("pack", tmp_path / "files", tmp_path / "large.img", *options)[0] == 0
        made = (tmp_path / "large.img").read_bytes() == (tmp_path / "own.img").read_bytes()
        assert made == is_same
    # the whole chip, by a manifest
    manifest = tmp_path / "m.toml"
    manifest.write_text('chip = "w25q32"\n[[partition]]\nname = "files"\ntree = "files"\n')
    assert nf2("pack", manifest, tmp_path / "chip.img", "--layout", layout)[0] == 0
    whole = (tmp_path / "chip.img").read_bytes()
    with nf2fs.open_image(tmp_path / "chip.img") as volume:
        assert volume.read_bytes("/page") == b"<p>" * 5000
    assert len(whole) == 4 << 20 and not whole[: 0x110000].strip(b"\xff")


@pytest.mark.skipif(native.find_library() is None, reason="the compiled library is not built")
def test_mistakes_are_said(table, tmp_path, nf2):
    (tmp_path / "files").mkdir()
    layout = table("small,data,fat,,64K\nodd,data,fat,0x19001,1M\n", "t.csv")

    def told(*options):
        code, _, err = nf2("pack", tmp_path / "files", tmp_path / "o.img", *options)
        assert code != 0 and not (tmp_path / "o.img").exists()
        return " ".join(err.split())

    assert "16 blocks, and it takes 32" in told("--layout", layout, "--partition", "small")
    assert "not a multiple of the erase block" in told("--layout", layout, "--partition", "odd")
    assert "for --layout only" in told("--partition", "odd")
    assert "the table says how large it is" in told("--layout", layout, "--smallest")
    assert "No such file" in told("--layout", tmp_path / "nope")
    manifest = tmp_path / "m.toml"
    manifest.write_text('chip = "w25q32"\n[[partition]]\nname = "small"\nsize = "1M"\n')
    code, _, err = nf2("pack", manifest, tmp_path / "o.img", "--layout", layout)
    assert code == 1 and "take away offset and size" in err
