# SPDX-License-Identifier: BSD-2-Clause
"""The library as a part of another CMake project, for firmware and for this computer: the core alone, under that project's own flags."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import formats
import pytest

ROOT = Path(__file__).resolve().parents[2]
CMAKE = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
CROSS = "arm-none-eabi-gcc"
# What a freestanding compiler may ask for by itself, and its own arithmetic.
GIVEN = re.compile(r"mem(cpy|move|set|cmp)|strlen|__aeabi_\w+|__gnu_thumb1_\w+")

PROJECT = """
cmake_minimum_required(VERSION 3.21)
project(firmware C CXX)
include(FetchContent)
FetchContent_Declare(nf2fs SOURCE_DIR "{root}")
FetchContent_MakeAvailable(nf2fs)
add_library(app STATIC main.c main.cpp)
target_compile_options(app PRIVATE -Wall -Wextra -pedantic-errors -Werror)
target_link_libraries(app PRIVATE nf2fs::nf2fs)
"""
MAIN = """
#include "nf2fs/nf2fs.h"
static nf2_t fs;
static nf2_file_t file;
int NAME(const struct nf2_config *config);
int NAME(const struct nf2_config *config)
{
    int result = nf2_mount(&fs, config, NF2_MOUNT_RDWR);
    return result == NF2_OK ? nf2_open(&fs, &file, "/a", NF2_O_RDONLY, 0) : result;
}
"""
BARE = """
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu={cpu} -mthumb -ffreestanding")
set(CMAKE_CXX_FLAGS_INIT "-mcpu={cpu} -mthumb -ffreestanding")
"""


def run(*arguments):
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder, *options):
    (folder / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT))
    (folder / "main.c").write_text(MAIN.replace("NAME", "start_in_c"))
    (folder / "main.cpp").write_text(MAIN.replace("NAME", "start_in_cpp"))
    run(CMAKE, "-S", folder, "-B", folder / "b", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options)
    run(CMAKE, "--build", folder / "b")
    return (folder / "b" / "compile_commands.json").read_text()


@pytest.mark.skipif(CMAKE is None or not shutil.which("c++"), reason="no CMake or C++ compiler")
def test_another_project_gets_the_core_alone(tmp_path):
    commands = build(tmp_path)
    assert "vflash" not in commands and "tests/" not in commands
    assert "nf2fs-build" in " ".join(str(path) for path in (tmp_path / "b").rglob("libnf2fs.a"))
    core = [line for line in commands.splitlines() if '"command"' in line and re.search(rf"{formats.core_folder()}/\w+\.c", line)]
    assert core and not any(flag in line for line in core for flag in ("-Werror", "-fPIC", " -O2"))


@pytest.mark.skipif(CMAKE is None or not shutil.which(CROSS), reason="no CMake or cross compiler")
@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m4"])
def test_firmware_links_nothing_but_memory_functions(tmp_path, cpu):
    toolchain = tmp_path / "bare.cmake"
    toolchain.write_text(BARE.format(cpu=cpu))
    build(tmp_path, f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", "-DCMAKE_BUILD_TYPE=MinSizeRel")
    library = next((tmp_path / "b").rglob("libnf2fs.a"))
    names = run("arm-none-eabi-nm", library).splitlines()
    own = {line.split()[-1] for line in names if re.search(r" [TDBRVWC] ", line)}
    asked = {line.split()[-1] for line in names if re.search(r" U ", line)} - own
    assert sorted(name for name in asked if not GIVEN.fullmatch(name)) == []
    assert [line for line in names if re.search(r" [bBdDC] ", line)] == []     # no variables
