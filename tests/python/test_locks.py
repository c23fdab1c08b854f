# SPDX-License-Identifier: BSD-2-Clause
"""One writer to an image at a time, whatever becomes of it."""

import gc
import os
import signal
import subprocess
import sys

import pytest
from conftest import NATIVE

import nf2fs
from nf2fs import checking, images, native
from nf2fs.errors import BUSY, NF2Error

HOLD = """
import sys, nf2fs
volume = nf2fs.open_image(sys.argv[1], read_only=sys.argv[2] == "r")
print("open", flush=True)
sys.stdin.read()
"""


# The stand-in lives in this process alone.
in_processes = pytest.mark.parametrize("library", ["native"] if NATIVE else [], indirect=True)


@pytest.fixture
def holder(image, library):
    """Starts a process that holds the image: holder("w") or holder("r")."""
    started = []

    def start(mode):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, image, mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | {
                "PYTHONPATH": os.path.dirname(os.path.dirname(nf2fs.__file__)),
                "NF2FS_LIBRARY": str(native.find_library()),
            },
        )
        started.append(process)
        assert process.stdout.readline() == "open\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def refused(image, **options):
    with pytest.raises(NF2Error) as caught:
        nf2fs.open_image(image, **options)
    assert caught.value.code == BUSY and caught.value.path == str(image)
    return str(caught.value)


def test_two_volumes_of_one_process(image):
    with nf2fs.open_image(image):
        refused(image)
        refused(image, read_only=True)
    with nf2fs.open_image(image, read_only=True), nf2fs.open_image(image, read_only=True):
        refused(image)
    with nf2fs.open_image(image):
        pass


def test_a_volume_that_is_given_up_releases_the_image(image):
    volume = nf2fs.open_image(image)
    volume.mkdir("/made")
    with pytest.warns(ResourceWarning, match="not closed"):
        del volume
        gc.collect()
    with nf2fs.open_image(image) as volume:
        assert volume.isdir("/made") or volume.chip.name == "tiny"


def test_a_volume_that_failed_to_open_holds_nothing(image, library):
    with pytest.raises(NF2Error):
        nf2fs.open_image(image, "no-such-chip")
    with nf2fs.open_image(image):
        pass


@in_processes
def test_a_writer_in_another_process_is_named(image, holder, nf2):
    process = holder("w")
    assert f"process {process.pid} is writing" in refused(image)
    assert f"process {process.pid} is writing" in refused(image, read_only=True)
    for command in (
        ["ls", image],
        ["mkdir", image, "/x"],
        ["format", image, "--chip", "w25q256", "--force"],
        ["rm", "-r", "--force", image, "/"],
    ):
        code, _, err = nf2(*command)
        assert code == 1 and "is in use" in err and err.count("\n") == 1
    code, _, err = nf2("check", "--repair", image)
    assert code == 2 and "is in use" in err


@in_processes
def test_a_reader_keeps_writers_out(image, holder, nf2):
    process = holder("r")
    assert f"process {process.pid} is reading" in refused(image)
    assert nf2("ls", image)[0] == 0
    assert nf2("check", image)[0] == 0


@in_processes
def test_a_killed_writer_releases_the_image(image, holder):
    process = holder("w")
    process.send_signal(signal.SIGKILL)
    process.wait()
    with nf2fs.open_image(image) as volume:
        volume.mkdir("/after")


def test_the_lock_is_of_the_file_that_has_the_name(image, tmp_path):
    with nf2fs.open_image(image):
        os.rename(image, tmp_path / "moved.img")
        images.format_image(image, "tiny" if native.load().version() == "fake" else "w25q256")
        with nf2fs.open_image(image):
            refused(tmp_path / "moved.img")


@pytest.mark.skipif(not NATIVE, reason="the library is not built")
def test_puts_at_the_same_time(tmp_path):
    """What two of them at once did to an image: now each is done whole, or refused."""
    image = tmp_path / "flash.img"
    images.format_image(image, "tiny2m")
    trees = []
    for number in range(4):
        tree = tmp_path / f"tree{number}"
        tree.mkdir()
        for index in range(150):
            (tree / f"file{number}-{index}").write_bytes(bytes([number]) * (index * 7))
        trees.append(tree)
    environment = os.environ | {
        "PYTHONPATH": os.path.dirname(os.path.dirname(nf2fs.__file__)),
        "NF2FS_LIBRARY": str(NATIVE),
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "nf2fs.cli", "put", image, tree, "/"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for tree in trees
    ]
    done = [process.communicate() for process in running]
    assert [process.returncode for process in running].count(0) >= 1
    for process, (_, err) in zip(running, done):
        assert process.returncode == 0 or "is in use" in err
    assert checking.examine(image).sound
    with nf2fs.open_image(image, read_only=True) as volume:
        for number, process in enumerate(running):
            if process.returncode == 0:
                for index in range(150):
                    assert volume.read_bytes(f"/file{number}-{index}") == bytes([number]) * (
                        index * 7
                    )
