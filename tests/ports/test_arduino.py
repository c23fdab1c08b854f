# SPDX-License-Identifier: BSD-2-Clause
"""The library for Arduino, compiled as the IDE compiles one, against declarations of our own (stubs/arduino)."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
STUBS = ROOT / "tests/ports/stubs"
CHIP = """name = files
size = 512K
page_size = 256
block_size = 4K
erase_us = 50000
read_page_us = 10
program_page_us = 500
"""
WARNINGS = ["-Wall", "-Wextra", "-Werror"]

pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None, reason="no C++ compiler is installed (Debian: g++)"
)


def run(*command):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    out = tmp_path_factory.mktemp("arduino") / "NF2FS"
    run(
        sys.executable,
        ROOT / "ports/amalgamate.py",
        "--arduino",
        out,
        *sorted((ROOT / "src").glob("*.c")),
    )
    return out


class Board:
    """Objects of the library for a board, and how its programs are linked."""

    def __init__(self, library, folder, defines, includes, link=()):
        self.folder, self.link = folder, link
        places = [library / "src", *includes, STUBS / "arduino", ROOT / "tests/harness"]
        self.options = [
            *(f"-D{name}" for name in defines),
            *(f"-I{place}" for place in places),
            *WARNINGS,
            "-O1",
        ]
        self.objects = [self.compiled(source) for source in sorted((library / "src").glob("*.c*"))]

    def compiled(self, source, *extra):
        out = self.folder / f"{source.stem}.o"
        compiler = (
            ["cc", "-std=gnu11"]
            if source.suffix == ".c"
            else ["c++", "-std=gnu++17", "-Wno-pedantic"]
        )
        run(*compiler, *self.options, *extra, "-c", source, "-o", out)
        return out

    def linked(self, *sources):
        out = self.folder / sources[0].stem
        run(
            "c++",
            *self.objects,
            *(self.compiled(source) for source in sources),
            *self.link,
            "-o",
            out,
        )
        return out


@pytest.fixture(scope="module")
def rp2040(library, tmp_path_factory):
    return Board(
        library,
        tmp_path_factory.mktemp("rp2040"),
        ["ARDUINO_ARCH_RP2040"],
        [STUBS / "arduino/rp2040"],
        ["-Wl,--defsym=_FS_start=xip+0x80000", "-Wl,--defsym=_FS_end=xip+0x100000"],
    )


@pytest.fixture(scope="module")
def esp32(library, tmp_path_factory):
    return Board(
        library,
        tmp_path_factory.mktemp("esp32"),
        ["ARDUINO_ARCH_ESP32", "ESP_PLATFORM"],
        [STUBS / "arduino/esp32", STUBS],
    )


def test_names(library):
    """Of no two files in a folder that Windows or macOS would take for one."""
    for folder in (library, library / "src", library / "src/nf2fs"):
        names = [path.name.lower() for path in folder.iterdir()]
        assert len(names) == len(set(names))
    properties = (library / "library.properties").read_text()
    assert (
        "includes=NF2FS.h\n" in properties and (library / "examples/Counter/Counter.ino").is_file()
    )


def test_rp2040(rp2040, tmp_path):
    test = rp2040.linked(
        ROOT / "tests/ports/arduino/test_rp2040.cpp", STUBS / "arduino/rp2040/FS.cpp"
    )
    assert run(test) == "4 passed, 0 failed\n"

    nf2 = shutil.which("nf2", path=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    if nf2 is not None:
        (tmp_path / "data/web").mkdir(parents=True)
        (tmp_path / "data/web/page").write_text("hello\n")
        (tmp_path / "files.chip").write_text(CHIP)
        run(
            nf2,
            "pack",
            "--chip",
            tmp_path / "files.chip",
            tmp_path / "data",
            tmp_path / "files.img",
        )
        assert run(test, tmp_path / "files.img") == "1 passed, 0 failed\n"


def test_esp32(esp32):
    assert run(esp32.linked(ROOT / "tests/ports/arduino/test_esp32.cpp")) == "1 passed, 0 failed\n"


SKETCH = """
#include <Arduino.h>
#include "SKETCH"
#include <hardware/flash.h>
uint8_t xip[1024 * 1024];
RP2040 rp2040;
void noInterrupts() { }
void interrupts() { }
void RP2040::idleOtherCore() { }
void RP2040::resumeOtherCore() { }
void flash_range_program(uint32_t offset, const uint8_t *data, size_t length)
{ for (size_t i = 0; i < length; i++) { xip[offset + i] &= data[i]; } }
void flash_range_erase(uint32_t offset, size_t length) { memset(xip + offset, 0xFF, length); }
int main()
{
    memset(xip, 0xFF, sizeof(xip));
    setup();
    setup();
    loop();
}
"""


def test_example(rp2040, library):
    main = rp2040.folder / "sketch.cpp"
    main.write_text(SKETCH.replace("SKETCH", str(library / "examples/Counter/Counter.ino")))
    assert run(rp2040.linked(main, STUBS / "arduino/rp2040/FS.cpp")).split("\n") == [
        "start 1",
        "start 2",
        "",
    ]


def test_example_on_esp32(esp32, library):
    """It compiles; test_esp32.cpp calls what it calls."""
    source = esp32.folder / "counter.cpp"
    source.write_text(f'#include <Arduino.h>\n#include "{library}/examples/Counter/Counter.ino"\n')
    esp32.compiled(source)


def test_other_boards(library, tmp_path):
    """What is for two families must be empty on all others, where headers such as FS.h are missing."""
    board = Board(library, tmp_path, [], [])
    source = tmp_path / "sketch.cpp"
    source.write_text(
        "#include <Arduino.h>\n#include <NF2FS.h>\nint main() { return sizeof(nf2_t) == 0; }\n"
    )
    run(board.linked(source))
