# SPDX-License-Identifier: BSD-2-Clause
"""Read-only images, and files that are compressed in chunks: what the host writes is what the
device's readers (packed/) give back, from whole images and from damaged ones."""

import json
import os
import random
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from nf2fs import chunks, native, pack_tree, packed_image
from nf2fs.errors import NF2Error

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = native.find_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the compiled library is not built")
BUILD = Path(LIBRARY).parents[2] if LIBRARY else ROOT / "build"
CODECS = BUILD / "codecs"
EXAMPLE = BUILD / "release" / "examples" / "example_compressed"
COMPILER = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
needs_sources = pytest.mark.skipif(
    COMPILER is None or not (CODECS / "fetched").is_file(),
    reason="needs a C compiler, and the sources of LZ4 and heatshrink (make codecs)",
)
KINDS = {"stored": None, "lz4": "lz4", "heatshrink": "heatshrink"}
SECONDS = 300  # for a hang


def codec_of(kind):
    if KINDS[kind] is None:
        return None
    pytest.importorskip("lz4" if kind == "lz4" else "heatshrink2", reason="make extras")
    return chunks.codec_of(kind)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Sizes at the edges of pages and chunks, bytes that compress and bytes that do not, records
    that fill a page."""
    top, source = tmp_path_factory.mktemp("packed") / "tree", random.Random(5)
    for index in range(60):
        place = top / source.choice(("", "a", "a/b", "a/b/c"))
        place.mkdir(parents=True, exist_ok=True)
        size = source.choice((0, 1, 255, 256, 257, 1024, 4096, 9000))
        data = source.choice((b"line of a text %d\n" % index * 600, source.randbytes(9000)))
        (place / (f"f{index}" + "x" * 200 * (index % 9 == 0))).write_bytes(data[:size])
    (top / "empty").mkdir()
    return top


def make(tree, kind, chunk=1024):
    found = pack_tree.Tree()
    found.add_host_tree(str(tree))
    return packed_image.make(found, codec_of(kind), chunk)


# ---- the device's reader ----


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    """packed/test/probe.c with the readers, and with sanitizers."""
    program = tmp_path_factory.mktemp("probe") / "probe"
    sources = [
        ROOT / "packed/test/probe.c",
        *(ROOT / "packed" / f"nf2_{name}.c" for name in ("chunks", "packed", "packed_chunks")),
        *(ROOT / "examples/compressed" / f"unpack_{name}.c" for name in ("lz4", "heatshrink")),
        ROOT / "src/crc.c",
        CODECS / "lz4.c",
        CODECS / "heatshrink_decoder.c",
    ]
    subprocess.run(
        [
            COMPILER,
            "-std=c11",
            "-g",
            "-O1",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            "-D_DEFAULT_SOURCE",
            "-DHEATSHRINK_DYNAMIC_ALLOC=0",
            *(f"-I{ROOT / name}" for name in ("include", "src", "packed")),
            f"-I{CODECS}",
            *sources,
            "-o",
            program,
        ],
        check=True,
        timeout=SECONDS,
    )
    return program


@needs_sources
@pytest.mark.parametrize("kind", KINDS)
def test_the_device_reads_what_was_packed_and_refuses_what_is_damaged(kind, tree, probe, tmp_path):
    made = make(tree, kind)
    assert (made.compressed > 5) == (kind != "stored")
    (tmp_path / "image").write_bytes(made.data)
    for unit in (1, 32):
        arguments = [str(tmp_path / "image"), str(tree), str(unit), "20", "7"]
        done = subprocess.run(
            [probe, *arguments], capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stderr[-2000:]


@needs_sources
def test_a_device_whose_bytes_are_not_those_of_the_tree_is_seen(tree, probe, tmp_path):
    """The probe itself can fail."""
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    longest = max((path for path in other.rglob("f*") if path.is_file()), key=lambda p: p.stat().st_size)
    longest.write_bytes(b"?" * longest.stat().st_size)
    (tmp_path / "image").write_bytes(make(tree, "stored").data)
    done = subprocess.run(
        [probe, tmp_path / "image", other, "1"], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 1 and longest.name in done.stderr


@needs_sources
def test_the_reader_of_images_links_nothing_of_a_volume(tmp_path):
    subprocess.run(
        [COMPILER, "-std=c11", "-O1", f"-I{ROOT / 'include'}", "-c", ROOT / "packed/nf2_packed.c",
         "-o", tmp_path / "packed.o"], check=True, timeout=SECONDS,
    )  # fmt: skip
    symbols = subprocess.run(
        ["nm", "-u", tmp_path / "packed.o"], check=True, capture_output=True, text=True
    ).stdout
    assert [line.split()[-1] for line in symbols.splitlines() if "nf2_" in line] == ["nf2_crc"]


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="needs the example (make codecs release)")
@pytest.mark.parametrize("kind", ("lz4", "heatshrink"))
def test_the_example_reads_volumes_and_images(kind, tree, tmp_path, nf2):
    codec_of(kind)
    packed = ("--compress", "--codec", kind, "--chip", "w25q80")
    assert nf2("pack", tree, tmp_path / "volume", *packed)[0] == 0
    assert nf2("pack", tree, tmp_path / "image", "--read-only", *packed)[0] == 0
    files = sorted((path for path in tree.rglob("f*") if path.is_file()), key=lambda p: p.stat().st_size)
    for image in ("volume", "image"):
        for file in (files[0], files[len(files) // 2], *files[-3:]):
            done = subprocess.run(
                [EXAMPLE, "w25q80", tmp_path / image, str(file.relative_to(tree))],
                capture_output=True,
                timeout=SECONDS,
            )
            assert (done.returncode, done.stderr) == (0, b"") and done.stdout == file.read_bytes()
        done = subprocess.run(
            [EXAMPLE, "w25q80", tmp_path / image, "none"], capture_output=True, timeout=SECONDS
        )
        assert done.returncode == 1 and b"none: not found" in done.stderr


# ---- the host ----


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_gives_back_what_was_packed(kind, tree):
    made = make(tree, kind)
    assert made.data == make(tree, kind).data
    image = packed_image.PackedImage(made.data)
    found = {entry.path: None if entry.is_dir() else image.read(entry) for entry in image.walk()}
    assert image.sound and found == {
        "/" + str(path.relative_to(tree)): None if path.is_dir() else path.read_bytes()
        for path in tree.rglob("*")
    }


def test_headers_of_hostile_images_are_errors(tree):
    """Each field in turn, with a CRC that is right."""
    good = make(tree, "stored").data
    for at in range(8, 48, 4):
        for value in (0, 1, len(good) - 1, len(good) + 1, 0x7FFFFFFF, 0xFFFFFFFF):
            data = bytearray(good)
            struct.pack_into("<I", data, at, value)
            struct.pack_into("<I", data, 60, zlib.crc32(data[:60]))
            try:
                image = packed_image.PackedImage(bytes(data))
                assert len(list(image.walk())) == len(list(tree.rglob("*")))
            except NF2Error:
                pass


def test_an_image_of_nothing_and_paths_that_are_too_long(tmp_path):
    (tmp_path / "empty").mkdir()
    assert list(packed_image.PackedImage(make(tmp_path / "empty", "stored").data).walk()) == []
    long = pack_tree.Tree()
    long.add_file("/" + "a" * 100 + "/" + "b" * 154, pack_tree.File(0, lambda: iter(())))
    packed_image.make(long)
    long.add_file("/" + "a" * 100 + "/" + "b" * 155, pack_tree.File(0, lambda: iter(())))
    with pytest.raises(NF2Error, match="more than 255 bytes"):
        packed_image.make(long)


def test_no_page_of_the_index_overflows_and_no_hashes_are_equal(tmp_path):
    many = pack_tree.Tree()
    for index in range(3000):
        many.add_file(f"/{index % 7}/{index}", pack_tree.File(0, lambda: iter(())))
    assert len(list(packed_image.PackedImage(packed_image.make(many).data).walk())) == 3007


@pytest.mark.parametrize("kind", ("lz4", "heatshrink"))
@pytest.mark.parametrize("size", (0, 1, 255, 256, 257, 5000))
def test_compressed_bytes_come_back_and_damage_is_seen(kind, size):
    codec, data = codec_of(kind), (b"abcabcabc" * 600)[:size]
    packed = chunks.compress(data, codec, 256)
    assert chunks.is_compressed(packed) and chunks.decompress(packed) == data
    for at in range(0, len(packed), 7):
        damaged = bytearray(packed)
        damaged[at] ^= 4
        try:
            assert chunks.decompress(bytes(damaged)) == data  # pragma: no cover
        except NF2Error:
            continue
        raise AssertionError(f"nobody saw that byte {at} differs")


def test_files_that_look_like_compressed_ones_are_wrapped():
    """So that --decompress never takes a user's own bytes for a header."""
    codec = codec_of("lz4")
    inner = chunks.compress(os.urandom(300), codec, 256)
    outer = chunks.smaller(inner, codec, 256)
    assert outer is not None and chunks.decompress(outer) == inner
    assert chunks.smaller(os.urandom(300), codec) is None


def test_codecs_and_formats_that_are_not_known():
    packed = bytearray(chunks.compress(b"a" * 500, codec_of("lz4"), 256))
    for at, value, text in ((8, 2, "format 2"), (9, 200, "codec 200"), (11, 1, "parameter 1")):
        other = bytearray(packed)
        other[at] = value
        struct.pack_into("<I", other, 28, zlib.crc32(other[:28]))
        with pytest.raises(NF2Error, match=text):
            chunks.decompress(bytes(other))


# ---- the commands ----


def same(first, second):
    return subprocess.run(["diff", "-r", first, second], capture_output=True).returncode == 0


def test_pack_and_unpack(tree, tmp_path, nf2):
    codec_of("lz4")
    image = tmp_path / "image"
    code, out, _ = nf2("pack", "--read-only", "--compress", "--json", tree, image)
    facts = json.loads(out)
    (part,) = facts["partitions"]
    assert code == 0 and facts["chip"] is None and facts["size"] == image.stat().st_size
    assert part["read_only"] and part["compressed"] > 5 and part["stored"] < part["bytes"]
    code, out, _ = nf2("unpack", image)
    assert code == 0 and "/a/b/c/" in out and "compressed" in out
    assert nf2("unpack", image, tmp_path / "out")[0] == 0 and same(tree, tmp_path / "out")
    code, _, err = nf2("ls", image, "/")
    assert code == 1 and "nf2 unpack reads it" in err

    damaged = bytearray(image.read_bytes())
    damaged[-1] ^= 1
    image.write_bytes(damaged)
    code, _, err = nf2("unpack", image, tmp_path / "partly")
    assert code == 3 and "the image is damaged" in err
    image.write_bytes(damaged[:3000])
    code, _, err = nf2("unpack", image)
    assert code == 1 and "has 3000 bytes of" in err
    code, _, err = nf2("unpack", tree / "a" / "b" / "c")
    assert code == 1


def test_put_and_get_compressed_files(tree, tmp_path, nf2):
    codec_of("lz4")
    image = tmp_path / "flash.img"
    assert nf2("format", image, "--chip", "w25q80")[0] == 0
    code, out, _ = nf2("put", "--compress", image, tree, "/")
    assert code == 0 and "of them compressed" in out
    assert nf2("get", "--decompress", image, "/", tmp_path / "out")[0] == 0
    assert same(tree, tmp_path / "out")
    assert nf2("get", image, "/", tmp_path / "stored")[0] == 0
    assert not same(tree, tmp_path / "stored")
    code, _, err = nf2("put", "--compress", image, "-", "/x")
    assert code == 2 and "standard input" in err


def test_a_manifest_with_a_read_only_partition(tree, tmp_path, nf2):
    codec_of("lz4")
    (tmp_path / "flash.toml").write_text(
        f'chip = "w25q80"\n[[partition]]\nname = "assets"\ntree = "{tree}"\nread-only = true\n'
        f'compress = "lz4"\nchunk = "2K"\n[[partition]]\nname = "data"\ntree = "{tree}"\n'
        'compress = "lz4"\n'
    )
    image = tmp_path / "flash.img"
    code, out, err = nf2("pack", tmp_path / "flash.toml", image)
    assert code == 0 and "read-only" in out, err
    assert nf2("unpack", image, tmp_path / "out")[0] == 0 and same(tree, tmp_path / "out")
    assert nf2("get", "--decompress", image, "/", tmp_path / "data")[0] == 0
    assert same(tree, tmp_path / "data")
    for text, said in (
        ("compress = \"zip\"", "no codec 'zip'"),
        ("chunk = 4096", "needs `compress`"),
        ("read-only = 1", "not true or false"),
        ("read-only = true\nfree = 5", "no room to leave free"),
    ):
        (tmp_path / "bad.toml").write_text(f'chip = "w25q80"\n[[partition]]\n{text}\n')
        code, _, err = nf2("pack", tmp_path / "bad.toml", tmp_path / "bad.img")
        assert code == 1 and said in err


def test_options_that_make_no_sense(tree, tmp_path, nf2):
    image = tmp_path / "image"
    for arguments, said in (
        (("--compress", "--chunk", "500"), "a power of two"),
        (("--compress", "--codec", "zip"), "no codec"),
        (("--read-only", "--free", "1"), "no place for it"),
    ):
        code, _, err = nf2("pack", tree, image, *arguments)
        assert code == 2 and said in err and not image.exists()


@needs_sources
def test_the_readmes_code_compiles(tmp_path):
    (block,) = re.findall(r"```c\n(.*?)```", (ROOT / "packed/README.md").read_text(), re.S)
    (tmp_path / "block.c").write_text(
        '#include "nf2_packed.h"\n#include "unpack.h"\nint run(const struct nf2_flash *chip);\n'
        "int run(const struct nf2_flash *chip) {\nconst struct nf2_flash flash = *chip;\n"
        f"{block}\nreturn result;\n}}\n"
    )
    includes = [f"-I{ROOT / name}" for name in ("include", "packed", "examples/compressed")]
    subprocess.run(
        [COMPILER, "-std=c11", "-Wall", "-Werror", *includes, "-fsyntax-only", tmp_path / "block.c"],
        check=True,
        timeout=SECONDS,
    )
