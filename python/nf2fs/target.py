# SPDX-License-Identifier: BSD-2-Clause
"""Code size and stack of the core on a Cortex-M4, from the cross compiler's own output. Nothing is run.

The stack is the deepest chain of calls from a public function, by the compiler's call graph; calls
through pointers (the driver, hooks) are counted as their caller's frame only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

COMPILER = "arm-none-eabi-gcc"
SIZE = "arm-none-eabi-size"
FLAGS = ["-std=c11", "-Os", "-mcpu=cortex-m4", "-mthumb", "-DNDEBUG", "-ffunction-sections", "-fcallgraph-info=su"]
WORKLOAD = "target"
EXTRA_FILES = ("check", "repair", "transaction")    # not part of the smaller build
PUBLIC = re.compile(r"^nf2_[a-z_]+$")

NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \((\w+)[^)]*\)')
EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


class Recursion(Exception):
    """The call graph has a loop: there is no bound."""


def parse_call_graph(texts: list[str]) -> tuple[dict[str, int], dict[str, set[str]]]:
    """(stack bytes of each function, the functions that each one calls)."""
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for text in texts:
        for title, size, _ in NODE.findall(text):
            frames[title] = max(frames.get(title, 0), int(size))
        for source, target in EDGE.findall(text):
            calls.setdefault(source, set()).add(target)
    return frames, calls


def deepest(frames: dict[str, int], calls: dict[str, set[str]], roots: list[str]) -> tuple[int, list[str]]:
    """The deepest chain of calls from any of `roots`: its bytes and its functions."""
    known: dict[str, tuple[int, list[str]]] = {}

    def depth(name: str, chain: tuple[str, ...]) -> tuple[int, list[str]]:
        if name in chain:
            raise Recursion(" -> ".join([*chain[chain.index(name):], name]))
        if name not in known:
            below = max((depth(callee, (*chain, name)) for callee in sorted(calls.get(name, ()))),
                        key=lambda found: found[0], default=(0, []))
            known[name] = frames.get(name, 0) + below[0], [name, *below[1]]
        return known[name]

    return max((depth(root, ()) for root in roots), key=lambda found: found[0], default=(0, []))


def measure(root: Path) -> dict | None:
    """A row with code_bytes (without the checker and the like), code_bytes_all and stack_bytes; None without a compiler."""
    try:
        return _measure(root)
    except subprocess.CalledProcessError as failure:
        return {"fs": "nf2fs", "workload": WORKLOAD, "state": "fresh", "chip": "cortex-m4", "seed": 42,
                "status": "failed", "verified": False, "error": failure.stderr.strip().splitlines()[0][:200]}


def _measure(root: Path) -> dict | None:
    sources = sorted((root / "src").glob("*.c"))
    if not sources or not shutil.which(COMPILER) or not shutil.which(SIZE):
        return None
    row = {"fs": "nf2fs", "workload": WORKLOAD, "state": "fresh", "chip": "cortex-m4", "seed": 42, "status": "ok",
           "verified": True, "code_bytes": 0, "code_bytes_all": 0}
    with tempfile.TemporaryDirectory() as folder:
        graphs = []
        for source in sources:
            object_path = Path(folder) / (source.stem + ".o")
            subprocess.run([COMPILER, *FLAGS, "-Iinclude", "-Isrc", "-c", f"src/{source.name}", "-o", str(object_path)],
                           check=True, capture_output=True, text=True, cwd=root)
            size = int(subprocess.run([SIZE, str(object_path)], check=True, capture_output=True,
                                      text=True).stdout.splitlines()[1].split()[0])
            row["code_bytes_all"] += size
            if not source.stem.startswith(EXTRA_FILES):
                row["code_bytes"] += size
            graphs.append(object_path.with_suffix(".ci").read_text())
    frames, calls = parse_call_graph(graphs)
    try:
        row["stack_bytes"], row["stack_chain"] = deepest(frames, calls, [name for name in frames if PUBLIC.match(name)])
    except Recursion as loop:
        row["missing"] = {"stack_bytes": f"no bound, recursion: {loop}"}
    return row
