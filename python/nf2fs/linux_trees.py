# SPDX-License-Identifier: BSD-2-Clause
"""The files that Sharif's comparison copies and loads, made from what the machine's packages
hold: real programs, which can be compressed."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

MB = 1000 * 1000
BIG_BYTES = 10 * MB
SMALL_FILES, SMALL_BYTES = 35, 5400 * 1000
ROOT_BYTES = 12 * MB
# Where programs and libraries for a small root lie in the packages.
ROOT_FOLDERS = ("bin", "lib/x86_64-linux-gnu", "sbin", "usr/lib/x86_64-linux-gnu", "usr/bin")
SEED = 42


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


def make(directory: Path) -> dict[str, Path]:
    """The trees by name; made once."""
    root, trees = directory / "root", directory / "trees"
    found = {name: trees / name for name in ("big", "small", "random", "root")}
    if (trees / "whole").is_file():
        return found
    shutil.rmtree(trees, ignore_errors=True)
    for path in found.values():
        path.mkdir(parents=True)
    data = stream(root, BIG_BYTES + SMALL_BYTES)
    (found["big"] / "file").write_bytes(data[:BIG_BYTES])
    at = BIG_BYTES
    for number, size in enumerate(small_sizes()):
        (found["small"] / f"file{number:02}").write_bytes(data[at : at + size])
        at += size
    (found["random"] / "file").write_bytes(random.Random(SEED).randbytes(BIG_BYTES))
    make_root(root, found["root"])
    (trees / "whole").touch()
    return found
