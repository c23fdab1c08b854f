# SPDX-License-Identifier: BSD-2-Clause
"""Wheels for other systems, from the one of this machine: the library in it is compiled anew by Zig's C compiler, which knows their
C libraries, and all else stays. Usage: cross_wheels.py WHEEL DIRECTORY [SYSTEM...]

The code of the package runs on Linux and macOS. It does not on Windows: see docs/PYTHON.md, "Systems".
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Name: Zig's target, the wheel's tag, the library's name. glibc 2.17 and musl 1.2 are the oldest that PyPI's tags are about.
SYSTEMS = {
    "linux-x86_64": ("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64", "libnf2host.so"),
    "linux-aarch64": ("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64", "libnf2host.so"),
    "musl-x86_64": ("x86_64-linux-musl", "musllinux_1_2_x86_64", "libnf2host.so"),
    "musl-aarch64": ("aarch64-linux-musl", "musllinux_1_2_aarch64", "libnf2host.so"),
    "macos-x86_64": ("x86_64-macos.11.0", "macosx_11_0_x86_64", "libnf2host.dylib"),
    "macos-arm64": ("aarch64-macos.11.0", "macosx_11_0_arm64", "libnf2host.dylib"),
}
FOLDERS = ("python/native", "repair", ".", "include", "src", "vflash")


def sources():
    """As python/CMakeLists.txt has them."""
    for pattern in ("src/*.c", "repair/*.c", "inspect/inspect.c", "python/native/*.c", "vflash/*.c"):
        yield from (path for path in sorted(ROOT.glob(pattern)) if path.name != "browser.c")


def compile_library(target, out):
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-shared", "-fPIC", "-O2", "-DNDEBUG", "-std=c11"]
    command += ["-fvisibility=hidden", "-s", *(f"-I{ROOT / one}" for one in FOLDERS), "-o", str(out), *map(str, sources())]
    if "macos" in target:
        command.remove("-s")
    subprocess.run(command, check=True)


def make(wheel, directory, name):
    target, tag, library = SYSTEMS[name]
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", "-d", place, wheel], check=True, stdout=subprocess.DEVNULL)
        (inside,) = Path(place).iterdir()
        for old in (inside / "nf2fs").glob("libnf2host.*"):
            old.unlink()
        compile_library(target, inside / "nf2fs" / library)
        facts = next(inside.glob("*.dist-info")) / "WHEEL"
        lines = [line for line in facts.read_text().splitlines() if line and not line.startswith("Tag:")]
        facts.write_text("\n".join([*lines, *(f"Tag: py3-none-{one}" for one in tag.split("."))]) + "\n")
        shutil.rmtree(inside / "nf2fs.libs", ignore_errors=True)
        subprocess.run([sys.executable, "-m", "wheel", "pack", "-d", directory, inside], check=True)


def main(wheel, directory, *names):
    for name in names or SYSTEMS:
        make(wheel, directory, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
