# SPDX-License-Identifier: BSD-2-Clause
"""examples/boards on emulated boards: a Cortex-M0 with the volume in its own flash, a 32-bit RISC-V with a serial NOR chip.

Accesses that are not aligned trap on both: by itself on the Cortex-M0, by a plugin of the emulator on the RISC-V.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BOARDS = ROOT / "examples/boards"
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-Os"]
QEMU = ["-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native"]
CMAKE = shutil.which("cmake", path=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
TOOLS = subprocess.run([ROOT / "ports/firmware/tools.sh", "--check"], capture_output=True, check=False).returncode == 0
pytestmark = pytest.mark.skipif(not TOOLS, reason="a cross compiler or an emulator is not installed "
                                                  "(ports/firmware/tools.sh as root installs them)")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """Sources and include directories of the core, as CMake finds them, and of ports/spinor."""
    build = tmp_path_factory.mktemp("core")
    run(CMAKE, "-S", ROOT, "-B", build, "-DNF2FS_HOST=OFF")
    lists = [(build / f"nf2fs-{kind}.txt").read_text().split() for kind in ("sources", "includes")]
    sources = [*lists[0], *(ROOT / "ports/spinor").glob("*.c"), BOARDS / "main.c"]
    return sources, [f"-I{place}" for place in (*lists[1], ROOT / "ports/spinor")]


def board(name, core, tmp_path, compiler, emulator):
    """Exit code and console, of the program as it is and of one that makes an unaligned access on purpose."""
    sources, places = core
    run(*compiler, *FLAGS, *places, "-ffunction-sections", "-c", *sources, cwd=tmp_path)
    found = []
    for more in ([], ["-DMISALIGN"]):
        run(*compiler, *FLAGS, *places, *more, BOARDS / f"{name}.c", *tmp_path.glob("*.o"), "-nostartfiles", "-Wl,--gc-sections",
            "-T", BOARDS / f"{name}.ld", "-o", tmp_path / "elf")
        done = subprocess.run([*emulator, *QEMU, "-kernel", str(tmp_path / "elf")], capture_output=True, text=True, check=False, timeout=300)
        found.append((done.returncode, done.stdout + done.stderr))
    return found


def test_the_commands_of_the_page(tmp_path):
    """Those of docs/PORTING.md build both boards' programs, which end well."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/PORTING.md").read_text(), re.DOTALL)
    (block,) = [one for one in blocks if "examples/boards" in one]
    for folder in ("include", "src", "ports", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    done = run("sh", "-e", "-c", f"{{ {block}}} 2>&1", cwd=tmp_path, timeout=300)      # the boards' consoles are stderr
    assert done == "the driver does what it should\nno error\nno error\nthe driver does what it should\nno error\n"


def test_cortex_m0(core, tmp_path):
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"]
    good, trap = board("microbit", core, tmp_path, compiler, ["qemu-system-arm", "-M", "microbit"])
    assert good == (0, "the driver does what it should\nno error\n")
    assert trap == (3, "fault\n")


def test_risc_v(core, tmp_path):
    plugin = tmp_path / "aligned.so"
    version = int(re.search(r"version (\d+)", run("qemu-system-riscv32", "--version"))[1])
    run("cc", "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-DPLUGIN_VERSION={1 if version < 9 else 2}",
        ROOT / "tests/ports/aligned.c", "-o", plugin)
    compiler = ["riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32", "-mstrict-align", "-mcmodel=medany", "--specs=picolibc.specs"]
    emulator = ["qemu-system-riscv32", "-M", "sifive_u", "-bios", "none", "-plugin", str(plugin)]
    good, trap = board("sifive_u", core, tmp_path, compiler, emulator)
    assert good == (0, "no error\nthe driver does what it should\nno error\n")
    assert trap[0] == 9 and trap[1].startswith("unaligned access of 4 bytes")
