# SPDX-License-Identifier: BSD-2-Clause
"""The demo's tree on the host: what a small device carries, made from a seed (but for one real binary)."""

from __future__ import annotations

import os
import random
import shutil
import sys
import sysconfig
from pathlib import Path

CONFIG_FILES = 400
ASSETS = 112
BYTES_MIN = 8_500_000
BINARY_MIN, BINARY_MAX = 2_000_000, 8_000_000
BINARY_CUT = 4 * 1024 * 1024
SEED = 20_26


def find_binary() -> tuple[Path | None, int]:
    """A program or library of this machine of at least BINARY_MIN bytes, and how many of its bytes to take."""
    library = Path(sysconfig.get_config_var("LIBDIR") or "/") / (sysconfig.get_config_var("LDLIBRARY") or "none")
    programs = [shutil.which(name) for name in ("gcc", "cmake", "gdb", "git", "perl", "openssl", "bash")]
    larger = None
    for candidate in [sys.executable, library, *programs]:
        path = Path(os.path.realpath(candidate)) if candidate else None
        if path is None or not path.is_file() or not os.access(path, os.R_OK):
            continue
        size = path.stat().st_size
        if BINARY_MIN <= size <= BINARY_MAX:
            return path, size
        if size > BINARY_MAX and larger is None:
            larger = path
    return larger, BINARY_CUT


def write_binary(target: Path, source: random.Random, say) -> None:
    found, size = find_binary()
    if found is None:
        say(f"no program of {BINARY_MIN} bytes was found on this machine: random bytes take its place")
        target.write_bytes(source.randbytes(BINARY_CUT))
        return
    with open(found, "rb") as file:
        target.write_bytes(file.read(size))
    part = "" if size == found.stat().st_size else f" (its first {size} bytes)"
    say(f"the binary is this machine's {found.name}{part}")


def config_text(source: random.Random, index: int) -> bytes:
    size = source.randint(20, 400)
    lines = [f"# setting {index}"]
    while sum(map(len, lines)) < size:
        lines.append(f"{source.choice(('rate', 'gain', 'limit', 'mode', 'host'))}{source.randint(0, 9)} = {source.randint(0, 99999)}")
    return ("\n".join(lines) + "\n").encode()[:size]


def write_configs(top: Path, source: random.Random) -> None:
    for index in range(CONFIG_FILES):
        directory = top / "etc" / f"unit{index % 5}" / f"part{index % 8}"
        if index % 3 == 0:
            directory /= "deep"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"setting{index:03}.conf").write_bytes(config_text(source, index))


def write_odd_ones(top: Path) -> None:
    """Names and sizes at the edges."""
    directory = top / "odd"
    directory.mkdir()
    (directory / "empty").write_bytes(b"")
    (directory / "with a space").write_bytes(b"x")
    (directory / "gr\u00fc\u00dfe").write_bytes(b"two-byte letters\n")
    (directory / ("n" * 255)).write_bytes(b"the longest name\n")
    for size in (255, 256, 257, 4095, 4096, 4097):
        (directory / f"size{size}").write_bytes(bytes(index % 251 for index in range(size)))


def write_assets(top: Path, source: random.Random) -> None:
    """Pictures, sounds and fonts, so to speak: sizes that bring the tree to BYTES_MIN."""
    directory = top / "assets"
    directory.mkdir()
    have = sum(path.stat().st_size for path in top.rglob("*") if path.is_file())
    each = max(20_000, (BYTES_MIN - have) // ASSETS + 1)
    for index in range(ASSETS):
        size = each + (index % 2 * 2 - 1) * source.randint(0, each // 2)
        (directory / f"asset{index:03}.bin").write_bytes(source.randbytes(size))
    have = sum(path.stat().st_size for path in top.rglob("*") if path.is_file())
    if have < BYTES_MIN:
        (directory / "last.bin").write_bytes(source.randbytes(BYTES_MIN - have))


def make_tree(top: Path, say) -> tuple[int, int]:
    """Writes the tree anew; returns its numbers of files and bytes."""
    shutil.rmtree(top, ignore_errors=True)
    (top / "bin").mkdir(parents=True)
    source = random.Random(SEED)
    write_binary(top / "bin" / "application", source, say)
    write_configs(top, source)
    write_odd_ones(top)
    write_assets(top, source)
    sizes = [path.stat().st_size for path in top.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)
