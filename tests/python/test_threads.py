# SPDX-License-Identifier: BSD-2-Clause
"""One volume, used by several threads at once: what is read is what was written, no call fails, and
the image is whole."""

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest

import nf2fs
from nf2fs import checking, native
from nf2fs.errors import NF2Error

pytestmark = pytest.mark.skipif(native.find_library() is None, reason="the library is not built")
THREADS = 4


def together(jobs, *arguments):
    """Runs one job for each thread; raises what the first one to fail raised."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        return [one.result() for one in [pool.submit(job, *arguments) for job in jobs]]


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "flash.img"
    nf2fs.format_image(path, "w25q16")
    return path


def of_thread(number):
    """Each thread writes whole files in a directory of its own, and reads each one back."""

    def job(volume):
        volume.makedirs(f"/shared/d{number}")
        last = {}
        for turn in range(150):
            path = f"/shared/d{number}/f{turn % 12}"
            last[path] = b"%d %d " % (number, turn) * (turn % 150 + 1)
            volume.write_bytes(path, last[path])
            assert volume.read_bytes(path) == last[path]
        return last

    return job


def test_each_in_its_own_directory(image):
    with nf2fs.open_image(image) as volume:
        expected = {}
        for part in together([of_thread(number) for number in range(THREADS)], volume):
            expected |= part
    report = checking.examine(image)
    assert report.sound and report.left_cleanly
    with nf2fs.open_image(image, read_only=True) as volume:
        assert {path: volume.read_bytes(path) for path in expected} == expected


def test_all_over_the_same_names(image):
    """Whole methods take turns: a file is always one that somebody wrote as a whole."""
    stop = threading.Event()

    def writer(number):
        def job(volume):
            for turn in range(120):
                volume.write_bytes("/one", bytes([number]) * (1 + turn * 37 % 3000))
                volume.write_text("/two", str(number) * (1 + turn % 400))
                (volume.root / f"name {number}").touch()
                volume.rename(f"/name {number}", f"/other {number}")
                volume.unlink(f"/other {number}")
                volume.makedirs(f"/deep/{turn % 3}/x", exist_ok=True)

        return job

    def reader(volume):
        while not stop.is_set():
            assert len(set(volume.read_bytes("/one"))) <= 1
            assert len(set(volume.read_text("/two"))) <= 1
            assert set(volume.listdir("/")) <= {"one", "two", "deep"} | {
                f"{kind} {number}" for kind in ("name", "other") for number in range(THREADS)
            }
            volume.statfs()
            with suppress(FileNotFoundError):  # a walk is of many steps
                for directory, _, _ in volume.walk("/deep"):
                    assert directory.startswith("/deep")

    def remover(volume):
        for _ in range(40):
            volume.rmtree("/deep")
            volume.makedirs("/deep/0", exist_ok=True)

    with nf2fs.open_image(image) as volume:
        volume.write_bytes("/one", b"")
        volume.write_text("/two", "")
        volume.makedirs("/deep")
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(reader, volume)
            try:
                together([*map(writer, range(THREADS)), remover], volume)
            finally:
                stop.set()
            reading.result()
        assert volume.check() == (0, [])


def test_each_with_an_open_file(image):
    """Buffered, unbuffered and text files of several threads beside each other."""

    def job_of(number, mode, buffering):
        def job(volume):
            with volume.open(f"/log {number}", mode, buffering) as log:
                for turn in range(400):
                    line = f"{number}:{turn}\n"
                    log.write(line if mode == "a" else line.encode())
                    if turn % 50 == 0:
                        log.flush()
            expected = "".join(f"{number}:{turn}\n" for turn in range(400)).encode()
            assert volume.read_bytes(f"/log {number}") == expected

        return job

    ways = [("a", -1), ("ab", 0), ("ab", 700), ("wb", 64)]
    with nf2fs.open_image(image) as volume:
        together([job_of(number, *way) for number, way in enumerate(ways)], volume)
    assert checking.examine(image).sound


def test_one_file_of_all(image):
    """Each write to a buffered file is whole, as with the files of Python."""
    with nf2fs.open_image(image) as volume:
        with volume.open("/log", "wb", 4096) as log:
            together([lambda: [log.write(b"0123456789") for _ in range(500)]] * THREADS)
        assert volume.read_bytes("/log") == b"0123456789" * 500 * THREADS


@pytest.mark.parametrize("discard", [False, True])
def test_closing_beneath_the_others(image, discard):
    """They get the error of a closed volume or file, at whatever place they are; the image is
    whole."""
    for turn in range(20):
        volume = nf2fs.open_image(image)
        begun = threading.Barrier(THREADS + 1)

        def use(number, volume=volume, begun=begun):
            begun.wait()
            with pytest.raises(ValueError, match="closed"):
                while True:
                    volume.write_bytes(f"/a{number}", b"a" * 1000)
                    with volume.open(f"/b{number}", "ab", 100) as file:
                        file.write(b"b" * 80)
                        file.write(b"b" * 80)
                    for _ in volume.iterdir("/"):
                        pass

        with ThreadPoolExecutor(THREADS) as pool:
            ending = [pool.submit(use, number) for number in range(THREADS)]
            begun.wait()
            time.sleep(0.002 * turn)
            try:
                volume.close(discard)
            except ValueError:
                pytest.fail("it is the one that closes it")
            for one in ending:
                one.result()
    assert checking.examine(image).sound


def test_a_listing_that_is_given_up(image):
    """By one thread, while another one has a call running."""
    with nf2fs.open_image(image) as volume:
        for index in range(50):
            volume.write_bytes(f"/file {index}", b"")
        done = threading.Event()

        def give_up():
            while not done.is_set():
                next(volume.iterdir("/"))

        def write():
            for index in range(200):
                volume.write_bytes(f"/file {index % 50}", b"x" * index)
            done.set()

        together([give_up, give_up, write])
        assert volume.check() == (0, [])


class Ram:
    """A chip in Python, whose functions call the volume that is on it."""

    size, block_size, page_size = 1 << 20, 4096, 256

    def __init__(self):
        self.cells, self.call = bytearray(b"\xff" * self.size), None

    def read(self, address, length):
        if self.call:
            self.call()
        return self.cells[address : address + length]

    def program(self, address, data):
        for index, byte in enumerate(data):
            self.cells[address + index] &= byte

    def erase(self, address, length):
        self.cells[address : address + length] = b"\xff" * length


def test_a_chip_that_calls_its_volume():
    """That is refused, and harms nothing; a listing that is given up there is closed later."""
    chip = Ram()
    nf2fs.format_device(chip)
    with nf2fs.open_device(chip) as volume:
        volume.write_bytes("/file", b"content" * 2000)
        chip.call = lambda: volume.listdir("/")
        with pytest.raises(NF2Error) as caught:
            volume.read_bytes("/file")
        assert isinstance(caught.value.__cause__, RuntimeError)
        listings = [volume.iterdir("/")]
        chip.call = None
        next(listings[0])
        chip.call = lambda: (listings.clear(), gc.collect())
        assert volume.listdir("/") == ["file"]
        chip.call = None
        assert volume.read_bytes("/file") == b"content" * 2000 and volume.check() == (0, [])


def test_fsspec(image):
    """A file system is shared by the threads of those who use it, such as dask and pandas."""
    filesystem = pytest.importorskip("nf2fs.filesystem", reason="fsspec is not installed")
    with filesystem.NF2FileSystem(str(image), mode="r+") as files:

        def job_of(number):
            def job():
                for turn in range(60):
                    files.pipe(f"/t{number}/{turn % 5}", b"%d" % number * (turn * 40))
                    assert files.cat(f"/t{number}/{turn % 5}") == b"%d" % number * (turn * 40)
                    assert f"/t{number}" in files.ls("/", detail=False)
                    files.find("/")

            return job

        together([job_of(number) for number in range(THREADS)])
    assert checking.examine(image).sound


def test_tables_in_a_thread_pool(image):
    """pyarrow reads and writes columns of several files at once."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    dataset, parquet = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("pyarrow.parquet")
    filesystem = pytest.importorskip("nf2fs.filesystem", reason="fsspec is not installed")
    table = arrow.table({"n": list(range(3000)), "text": [f"row {n}" for n in range(3000)]})
    with filesystem.NF2FileSystem(str(image), mode="r+") as files:
        paths = [f"/tables/{number}.parquet" for number in range(6)]
        together([partial(parquet.write_table, table, path, filesystem=files) for path in paths])
        found = dataset.dataset("/tables", filesystem=files).to_table(use_threads=True)
        assert found.num_rows == 18000 and sum(found["n"].to_pylist()) == 6 * sum(range(3000))
    assert checking.examine(image).sound
