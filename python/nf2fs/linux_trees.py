# SPDX-License-Identifier: BSD-2-Clause
"""The files that Sharif's comparison copies and loads, made from what the machine's packages
hold: real programs, which can be compressed."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

MB = 1000 * 1000
BIG_BYTES = 10 * MB
SMALL_FILES, SMALL_BYTES = 35, 5400 * 1000
ROOT_BYTES = 12 * MB
# Where programs and libraries for a small root lie in the packages.
ROOT_FOLDERS = ("bin", "lib/x86_64-linux-gnu", "sbin", "usr/lib/x86_64-linux-gnu", "usr/bin")
SEED = 42
# Web assets as a device serves them: no maps for a debugger, nothing that is compressed already
# beside its plain form.
WEB_FOLDERS = ("bootstrap-html", "javascript/jquery", "fonts-font-awesome")
WEB_SUFFIXES = (".css", ".js", ".svg", ".woff", ".woff2", ".html")
APPLETS_SECONDS = 60


def stream(root: Path, bytes_: int) -> bytes:
    """The beginning of the kernel's modules, one behind the other."""
    found = bytearray()
    for path in sorted((root / "lib/modules").rglob("fs/**/*.ko")):
        found += path.read_bytes()
        if len(found) >= bytes_:
            return bytes(found[:bytes_])
    raise ValueError(f"the packages hold only {len(found)} bytes of modules")


def small_sizes() -> list[int]:
    """35 sizes with a sum of 5.4 MB: the largest is 35 times the smallest."""
    unit = SMALL_BYTES / (SMALL_FILES * (SMALL_FILES + 1) / 2)
    sizes = [int(unit * (number + 1)) for number in range(SMALL_FILES)]
    return [*sizes[:-1], SMALL_BYTES - sum(sizes[:-1])]


def make_root(root: Path, target: Path) -> None:
    """Regular files of the packages in their folders, until it is as large as a small system."""
    left = ROOT_BYTES
    for folder in ROOT_FOLDERS:
        for path in sorted((root / folder).glob("*")) if (root / folder).is_dir() else []:
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= left:
                (target / folder).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target / folder / path.name)
                left -= path.stat().st_size


def make_busybox(root: Path, target: Path) -> None:
    """BusyBox's program, and its applets as files of a few bytes that name it: what stands for
    their links where there are none."""
    program = root / "bin/busybox"
    applets = subprocess.run(
        [program, "--list-full"], capture_output=True, text=True, check=True, timeout=APPLETS_SECONDS
    ).stdout.split()
    (target / "bin").mkdir()
    shutil.copyfile(program, target / "bin/busybox")
    for applet in sorted(set(applets) - {"bin/busybox"}):
        place = target / applet
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("../" * applet.count("/") + "bin/busybox")


def make_web(root: Path, target: Path) -> None:
    share = root / "usr/share"
    for folder in WEB_FOLDERS:
        for path in sorted((share / folder).rglob("*")):
            if path.is_file() and not path.is_symlink() and path.suffix in WEB_SUFFIXES:
                place = target / path.relative_to(share)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
    if not any(target.iterdir()):
        raise ValueError("the packages hold no web assets")


def make_big(root: Path, target: Path) -> None:
    (target / "file").write_bytes(stream(root, BIG_BYTES))


def make_small(root: Path, target: Path) -> None:
    data, at = stream(root, BIG_BYTES + SMALL_BYTES), BIG_BYTES
    for number, size in enumerate(small_sizes()):
        (target / f"file{number:02}").write_bytes(data[at : at + size])
        at += size


def make_random(root: Path, target: Path) -> None:
    (target / "file").write_bytes(random.Random(SEED).randbytes(BIG_BYTES))


MAKERS = {
    "big": make_big,
    "small": make_small,
    "random": make_random,
    "root": make_root,
    "busybox": make_busybox,
    "web": make_web,
}


def make(directory: Path) -> dict[str, Path]:
    """The trees by name; each is made once."""
    root, trees = directory / "root", directory / "trees"
    for name, maker in MAKERS.items():
        if not (trees / name).is_dir():
            part = trees / f"{name}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            maker(root, part)
            part.rename(trees / name)
    return {name: trees / name for name in MAKERS}
