# SPDX-License-Identifier: BSD-2-Clause
"""A slice of `make firmware-test`: the emulated board, the exchange of images, and a few power losses."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = os.environ.get("NF2FS_LIBRARY")
BUILD = pathlib.Path(LIBRARY).parents[2] if LIBRARY else ROOT / "build"
KERNEL = BUILD / "freertos"
JUDGE = BUILD / "release" / "ports" / "firmware_judge"


def missing_compiler():
    if subprocess.run([ROOT / "ports/firmware/tools.sh", "--check"], capture_output=True, check=False).returncode:
        return "the emulator or a cross compiler is not installed (ports/firmware/tools.sh as root installs them)"
    if not (KERNEL / "tasks.c").exists():
        return "FreeRTOS is not there (ports/freertos/fetch.sh)"
    return None


def missing():
    if not JUDGE.exists() or not LIBRARY or not pathlib.Path(LIBRARY).exists():
        return "the host's tools are not built (make release)"
    return missing_compiler()


def build_firmware(target):
    cmake = shutil.which("cmake", path=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    build = BUILD / "firmware"
    subprocess.run([cmake, "-S", ROOT / "ports/firmware", "-B", build, "-DCMAKE_BUILD_TYPE=MinSizeRel",
                    f"-DNF2FS_FREERTOS_DIR={KERNEL}",
                    f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'ports/firmware/arm-none-eabi.cmake'}"], check=True)
    subprocess.run([cmake, "--build", build, "--parallel", "2", "--target", *target], check=True)
    return build


@pytest.mark.skipif(missing_compiler() is not None, reason=str(missing_compiler()))
def test_tasks():
    """Tasks of several priorities on a chip that takes its time, and a fault that one of the runs must find."""
    build = build_firmware(["tasks_100", "tasks_1000"])
    script = [sys.executable, ROOT / "ports/firmware/firmware_tasks.py", "--build", build]
    for rate, runs, faults in ((1000, ["reads 1", "programs 0", "background 1", "yields", "sleep"], 1), (100, ["reads 0", "below", "clock"], 0)):
        done = subprocess.run([*script, "--rates", str(rate), "--only", *runs, "--faults", str(faults)],
                              capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("ticks a second") == len(runs)
        assert done.stdout.count("found: ") == faults


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_slice(tmp_path):
    build = build_firmware(["firmware"])
    done = subprocess.run([sys.executable, ROOT / "ports/firmware/firmware_test.py", "--firmware", build / "firmware.elf",
                           "--judge", JUDGE, "--nf2", pathlib.Path(sys.executable).parent / "nf2", "--folder", tmp_path,
                           "--kills", "8", "--steps", "40"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for said in ("selftest on the board: passed", "the image on a slow disk", "board to host: 2 files", "host to board and back: 25 files",
                 "a volume of 1048576 bytes took", "norbench's workloads and the model", "4 tasks at once", "8 power losses"):
        assert said in done.stdout
