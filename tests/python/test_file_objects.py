# SPDX-License-Identifier: BSD-2-Clause
"""Open files of a volume, given to what expects those of Python: compressors, archives, tables."""

import bz2
import csv
import gzip
import io
import json
import lzma
import pickle
import tarfile
import zipfile

import pytest

import nf2fs
from nf2fs import native

pytestmark = pytest.mark.skipif(native.find_library() is None, reason="the library is not built")
DATA = b"a line of text\n" * 3000


@pytest.fixture
def volume(tmp_path):
    nf2fs.format_image(tmp_path / "flash.img", "w25q16")
    with nf2fs.open_image(tmp_path / "flash.img") as opened:
        yield opened


@pytest.mark.parametrize("buffering", [-1, 0])
@pytest.mark.parametrize("mode", ["rb", "r+b", "wb", "w+b", "xb", "x+b", "ab", "a+b"])
def test_modes_are_those_of_python(volume, tmp_path, mode, buffering):
    if "x" not in mode:
        volume.write_bytes("file", b"content")
        (tmp_path / "file").write_bytes(b"content")
    with volume.open("file", mode, buffering) as ours, open(tmp_path / "file", mode, buffering) as its:
        assert ours.mode == its.mode
        for ask in ("readable", "writable", "seekable", "isatty", "tell"):
            assert getattr(ours, ask)() == getattr(its, ask)(), ask
        assert ours.name == "file" and isinstance(ours, type(its) if buffering else io.RawIOBase)


@pytest.mark.parametrize("mode", ["r", "r+", "w", "w+", "x", "a", "rt"])
def test_modes_of_text(volume, tmp_path, mode):
    if mode[0] in "ra":
        volume.write_text("file", "text\n")
        (tmp_path / "file").write_text("text\n")
    with volume.open("file", mode) as ours, open(tmp_path / "file", mode) as its:
        assert (ours.mode, ours.encoding, ours.newlines) == (its.mode, "utf-8", its.newlines)


@pytest.mark.parametrize("module", [gzip, bz2, lzma], ids=lambda module: module.__name__)
@pytest.mark.parametrize("buffering", [-1, 0])
def test_compressors(volume, module, buffering):
    with volume.open("/packed", "wb", buffering) as file, module.open(file, "wb") as packed:
        packed.write(DATA)
    with volume.open("/packed", "rb", buffering) as file, module.open(file) as packed:
        assert packed.read() == DATA
    assert module.decompress(volume.read_bytes("/packed")) == DATA


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_gzip_asks_for_the_mode(volume):
    with volume.open("/packed", "wb") as file, gzip.GzipFile(fileobj=file) as packed:
        packed.write(DATA)
    with volume.open("/packed", "rb") as file, gzip.GzipFile(fileobj=file) as packed:
        assert packed.read() == DATA


def test_archives(volume):
    with volume.open("/a.zip", "w+b") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("one", DATA, zipfile.ZIP_DEFLATED)
        archive.writestr("two", b"2")
    with volume.open("/a.zip", "r+b") as file, zipfile.ZipFile(file, "a") as archive:
        archive.writestr("three", b"3")
    with volume.open("/a.zip", "rb") as file, zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None and archive.namelist() == ["one", "two", "three"]
        assert archive.read("one") == DATA
    with volume.open("/a.tar.gz", "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        facts = tarfile.TarInfo("one")
        facts.size = len(DATA)
        archive.addfile(facts, io.BytesIO(DATA))
    with volume.open("/a.tar.gz", "rb") as file, tarfile.open(fileobj=file) as archive:
        assert archive.extractfile("one").read() == DATA


def test_texts_and_objects(volume):
    rows = [["a", "b"], ["1", "x\ny"]]
    with volume.open("/t.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    with volume.open("/t.csv", newline="") as file:
        assert list(csv.reader(file)) == rows
    with volume.open("/t.json", "w") as file:
        json.dump({"rows": rows}, file)
    with volume.open("/t.json") as file:
        assert json.load(file) == {"rows": rows}
    with volume.open("/t.pickle", "wb") as file:
        pickle.dump(rows, file, protocol=5)
    with volume.open("/t.pickle", "rb") as file:
        assert pickle.load(file) == rows


def test_arrays_and_pictures(volume):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    picture = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    array = numpy.arange(3000, dtype="u1").reshape(30, 100)
    with volume.open("/a.npy", "wb") as file:
        numpy.save(file, array)
    with volume.open("/a.npy", "rb") as file:
        assert (numpy.load(file) == array).all()
    with volume.open("/a.npz", "wb") as file:
        numpy.savez_compressed(file, array=array)
    with volume.open("/a.npz", "rb") as file:
        assert (numpy.load(file)["array"] == array).all()
    for kind in ("png", "bmp", "tiff"):
        with volume.open(f"/a.{kind}", "w+b") as file:
            picture.fromarray(array).save(file, kind)
        with volume.open(f"/a.{kind}", "rb") as file:
            assert (numpy.asarray(picture.open(file)) == array).all()


def test_pandas(tmp_path):
    """All that pandas writes by a URL, each call of it with the image for itself."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    fsspec.register_implementation("nf2fs", "nf2fs.filesystem.NF2FileSystem", clobber=True)
    image = str(tmp_path / "flash.img")
    nf2fs.format_image(image, "w25q16")
    table = pandas.DataFrame({"n": range(50), "text": [f"row {n}" for n in range(50)]})
    to_write, to_read = {"image": image, "write": True}, {"image": image}
    for name, write, read in (
        ("t.csv", table.to_csv, pandas.read_csv),
        ("t.csv.gz", table.to_csv, pandas.read_csv),
        ("t.csv.zip", table.to_csv, pandas.read_csv),
        ("t.json", table.to_json, pandas.read_json),
        ("t.parquet", table.to_parquet, pandas.read_parquet),
        ("t.pickle", table.to_pickle, pandas.read_pickle),
    ):
        more = {"index": False} if "csv" in name else {}
        write(f"nf2fs://d/{name}", storage_options=to_write, **more)
        assert read(f"nf2fs://d/{name}", storage_options=to_read).equals(table), name
    with pytest.raises(OSError, match="read-only"):
        table.to_csv("nf2fs://d/t.csv", storage_options=to_read)
    with nf2fs.open_image(image, read_only=True) as volume:
        assert len(volume.listdir("/d")) == 6 and volume.check() == (0, [])


@pytest.mark.parametrize("wrong", [{"write": "yes"}, {"write": True, "mode": "r"}, {"write": False, "mode": "r+"}])
def test_options_that_are_refused(tmp_path, wrong):
    filesystem = pytest.importorskip("nf2fs.filesystem", reason="fsspec is not installed")
    with pytest.raises(ValueError):
        filesystem.NF2FileSystem(str(tmp_path / "flash.img"), **wrong)
