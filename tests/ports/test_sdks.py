# SPDX-License-Identifier: BSD-2-Clause
"""The ports inside the frameworks themselves, whose sources are in no package registry: where ZEPHYR_BASE or IDF_PATH leads to them.

    ZEPHYR_BASE=~/zephyrproject/zephyr IDF_PATH=~/esp-idf python -m pytest tests/ports/test_sdks.py

In the Python environment must be what the framework's own build asks for (pyelftools and its like; esp-idf-kconfig, esptool and theirs).
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
zephyr = pytest.mark.skipif(
    "ZEPHYR_BASE" not in os.environ, reason="not possible here: ZEPHYR_BASE names no sources of Zephyr"
)
idf = pytest.mark.skipif(
    "IDF_PATH" not in os.environ, reason="not possible here: IDF_PATH names no sources of ESP-IDF"
)


def run(*command, cwd=None, seconds=60):
    environment = {
        "ZEPHYR_TOOLCHAIN_VARIANT": "host",
        "IDF_COMPONENT_MANAGER": "0",
        **os.environ,
        "PATH": TOOLS,
    }
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=environment,
        timeout=seconds,
    )
    assert done.returncode == 0, f"{command}:\n{(done.stdout + done.stderr)[-5000:]}"
    return done.stdout + done.stderr


def built(source, build, *options):
    """No warning in our own files."""
    run(
        "cmake",
        "-GNinja",
        "-S",
        source,
        "-B",
        build,
        f"-DPYTHON={sys.executable}",
        *options,
        seconds=600,
    )
    told = run("cmake", "--build", build, "--parallel", "2", seconds=1200)
    assert [line for line in told.splitlines() if re.match(rf"{ROOT}.*warning", line)] == []
    return build


def native_sim(source, folder):
    return (
        built(
            source,
            folder / "build",
            "-DBOARD=native_sim/native/64",
            f"-DZEPHYR_MODULES={ROOT}",
            f"-DUSER_CACHE_DIR={folder / 'cache'}",
        )
        / "zephyr/zephyr.exe"
    )


@zephyr
def test_zephyr_sample(tmp_path):
    program = native_sim(ROOT / "ports/zephyr/sample", tmp_path)
    for start in (1, 2, 3):
        told = run(program, f"-flash={tmp_path / 'flash'}", "-stop_at=20", cwd=tmp_path)
        assert f"/nf2: start {start}\n" in told and "/nf2: unmounted: 0\n" in told


@zephyr
def test_zephyr_file_systems(tmp_path):
    program = native_sim(ROOT / "tests/ports/zephyr_fs", tmp_path)
    told = run(program, f"-flash={tmp_path / 'flash'}", "-flash_erase", cwd=tmp_path)
    assert re.search(r"SUITE PASS - 100.00% \[nf2fs\]: pass = 6, fail = 0, skip = 0", told)


def linux(source, folder):
    return built(
        source,
        folder / "build",
        "-DIDF_TARGET=linux",
        "-DPYTHON_DEPS_CHECKED=1",
        "-DCCACHE_ENABLE=0",
        "-DCOMPONENTS=main",
        f"-DSDKCONFIG={folder / 'sdkconfig'}",
        f"-DNF2_COMMAND={shutil.which('nf2', path=TOOLS)}",
    )


@idf
def test_esp_idf(tmp_path):
    build = linux(ROOT / "tests/ports/esp_linux", tmp_path)
    assert "all is well\n" in run(build / "esp_linux.elf", cwd=tmp_path)


@idf
def test_esp_idf_component(tmp_path):
    """The example inside of the component that can be published, with its image."""
    run(sys.executable, ROOT / "ports/esp-idf/make_component.py", tmp_path / "nf2fs")
    build = linux(tmp_path / "nf2fs/examples/counter", tmp_path)
    assert "hello.txt" in run("nf2", "ls", build / "files.bin", "--chip", build / "files.chip")
