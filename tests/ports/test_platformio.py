# SPDX-License-Identifier: BSD-2-Clause
"""PlatformIO itself builds a program with the library, as library.json exports it.

Its registry is not asked: PlatformIO and SCons are Python packages, and the platform is one of ours, which compiles for this computer.
What boards add, their frameworks and compilers, comes from that registry and is not tried.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = os.environ.get("NF2FS_LIBRARY")  # BUILD/release/python/libnf2host.so
BUILD = pathlib.Path(LIBRARY).parents[2] if LIBRARY else ROOT / "build"
PACKAGES = ["platformio==6.2.0", "scons==4.11.1"]
PLATFORM = {
    "host/platform.json": '{"name": "host", "version": "1.0.0", "title": "host", "description": "this computer", "license": "MIT",'
    ' "engines": {"platformio": "^6"}, "frameworks": {}, "packages": {}}',
    "host/platform.py": "from platformio.public import PlatformBase\n\nclass HostPlatform(PlatformBase):\n    pass\n",
    "host/builder/main.py": "from SCons.Script import Default, DefaultEnvironment\nDefault(DefaultEnvironment().BuildProgram())\n",
    # SCons as PlatformIO's registry would bring it
    "core/packages/tool-scons/package.json": '{"name": "tool-scons", "version": "4.41101.0"}',
    "core/packages/tool-scons/.piopm": '{"type": "tool", "name": "tool-scons", "version": "4.41101.0", "spec":'
    ' {"owner": "platformio", "id": null, "name": "tool-scons", "requirements": null, "uri": null}}',
    "core/packages/tool-scons/scons.py": "import SCons.Script\n\nSCons.Script.main()\n",
}
CONFIGURATION = """[env:host]
platform = symlink://{folder}/host
lib_deps = symlink://{folder}/nf2fs
build_flags = -Wall -Wextra -Werror
"""
PROGRAM = """
#include <stdio.h>
#include <string.h>

#include "nf2fs/nf2fs.h"
#include "selftest.h"
#include "spinor.h"

static uint8_t memory[512 * 1024];
static int chip_read(void *unused, uint32_t at, void *data, uint32_t size) { (void)unused; memcpy(data, memory + at, size); return 0; }
static int chip_erase(void *unused, uint32_t at, uint32_t size) { (void)unused; memset(memory + at, 0xFF, size); return 0; }
static int chip_program(void *unused, uint32_t at, const void *data, uint32_t size)
{
    (void)unused;
    for (uint32_t i = 0; i < size; i++) { memory[at + i] &= ((const uint8_t *)data)[i]; }
    return 0;
}

static nf2_t fs;
static nf2_file_t file;

int main(void)
{
    static const struct nf2_flash flash = {
        .read = chip_read, .program = chip_program, .erase = chip_erase, .chip_size = sizeof(memory), .block_size = 4096,
        .page_size = 256, .program_unit = 1, .read_unit = 1, .read_page_us = 20, .program_page_us = 400, .erase_block_us = 45000};
    static uint8_t buffer[NF2_SELFTEST_BUFFER_SIZE(256)], page[256];
    char text[6] = "";
    struct nf2_config config = {.flash = &flash, .buffer = buffer, .buffer_size = sizeof(buffer)};
    struct nf2_selftest_report report;
    if (nf2_selftest(&config, &report) != NF2_SELFTEST_GOOD || nf2_format(&fs, &config, NF2_FORMAT_QUICK) != NF2_OK
        || nf2_mount(&fs, &config, NF2_MOUNT_RDWR) != NF2_OK || nf2_open(&fs, &file, "/a", NF2_O_RDWR | NF2_O_CREAT, page) != NF2_OK
        || nf2_write(&fs, &file, "hello", 5) != 5 || nf2_seek(&fs, &file, 0, NF2_SEEK_SET) != 0
        || nf2_read(&fs, &file, text, 5) != 5 || nf2_close(&fs, &file) != NF2_OK || nf2_unmount(&fs) != NF2_OK) {
        return 1;
    }
    printf("%s %s, %s\\n", NF2_VERSION, text, spinor_error_text(SPINOR_ABSENT));
    return 0;
}
"""


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=240, **options
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-5000:]}{done.stderr[-5000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def pio():
    """The command, in an environment of its own."""
    folder = BUILD / "platformio"
    wanted = "\n".join(PACKAGES)
    if not (folder / "ready").exists() or (folder / "ready").read_text() != wanted:
        run(sys.executable, "-m", "venv", "--clear", folder)
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
        done = subprocess.run(pip, capture_output=True, text=True, check=False, timeout=240)
        if done.returncode != 0:
            pytest.skip(f"not possible here: PlatformIO cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
        (folder / "ready").write_text(wanted)
    return folder / "bin/pio"


@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler is installed (Debian: g++)")
def test_platformio_builds_the_library(pio, tmp_path):
    for name, text in PLATFORM.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    manifest = json.loads((ROOT / "library.json").read_text())
    for name in (*manifest["export"]["include"], "library.json"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (tmp_path / "nf2fs" / name).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / name, tmp_path / "nf2fs" / name)
    (tmp_path / "app/src").mkdir(parents=True)
    (tmp_path / "app/platformio.ini").write_text(CONFIGURATION.format(folder=tmp_path))
    (tmp_path / "app/src/main.c").write_text(PROGRAM)
    environment = {**os.environ, "PLATFORMIO_CORE_DIR": str(tmp_path / "core"), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no"}
    told = run(pio, "run", "--project-dir", tmp_path / "app", "--jobs", "2", env=environment)
    assert f"|-- nf2fs @ {manifest['version']}" in told
    program = next((tmp_path / "app/.pio/build/host").glob("program*"))
    assert run(program).startswith(f"{manifest['version']} hello, ")
