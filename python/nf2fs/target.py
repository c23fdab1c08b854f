# SPDX-License-Identifier: BSD-2-Clause
"""Code size, RAM and stack of the core on a Cortex-M4, from the cross compiler's own output. Nothing is run.

The stack is the deepest chain of calls from any function, by the compiler's call graph. Calls through pointers
lead to the callbacks that CORES names; what the application gives (driver, locks, reports) is not counted.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

COMPILER = "arm-none-eabi-gcc"
SIZE = "arm-none-eabi-size"
NM = "arm-none-eabi-nm"
MACHINE = ["-std=c11", "-Os", "-mcpu=cortex-m4", "-mthumb"]
FLAGS = [*MACHINE, "-DNDEBUG", "-ffunction-sections", "-fcallgraph-info=su"]
WORKLOAD = "target"
EXTRA_FILES = ("check", "finding", "repair", "transaction")    # not part of the smaller build

INDIRECT = "__indirect_call"
ANY = ""  # in the place of a name: all others


@dataclass(frozen=True)
class Core:
    """The core's sources. `callbacks`: which functions call through a pointer, and the names of
    those that they may call; `application`: which call what the application gives."""

    folders: tuple[str, ...]  # of its sources, and others where it finds headers
    callbacks: dict[str, re.Pattern]
    application: re.Pattern


CORE = Core(
    ("src",),
    # src/writing.h, by who calls it; static functions may have become a part of their caller
    {"walk_until": re.compile(r"_enough$"),
     "nf2_enter": re.compile(r"^nf2_group_look$"),
     "do_open": re.compile(r"^nf2_file_begin$"), "nf2_open": re.compile(r"^nf2_file_begin$"),
     "read_some": re.compile(r"^nf2_data_find$"), "do_read": re.compile(r"^nf2_data_find$"), "nf2_read": re.compile(r"^nf2_data_find$"),
     "sync_file": re.compile(r"^nf2_file_sync$"), "nf2_sync": re.compile(r"^nf2_file_sync$"),
     "nf2_close": re.compile(r"^nf2_file_(sync|end)$"),
     "do_unmount": re.compile(r"^leave$"), "nf2_unmount": re.compile(r"^leave$")},
    re.compile(r"^(drive_\w+|nf2_flash_\w+|nf2_leave|found|now_us)$"),
)


# Arrays as long as what is asked for: nm prints their sizes.
SIZES = """#include "nf2fs/nf2fs.h"
char size_fs[sizeof(nf2_t)], size_file[sizeof(nf2_file_t)], size_dir[sizeof(nf2_dir_t)];
char size_buffer_256[NF2_BUFFER_SIZE(256u)], size_buffer_512[NF2_BUFFER_SIZE(512u)];
"""

NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \((\w+)[^)]*\)')
EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


class Unbounded(Exception):
    """The call graph gives no bound."""


class Recursion(Unbounded):
    """The call graph has a loop."""


def own_name(title: str) -> str:
    """A static function's name without its file, and without what the compiler adds to that of a changed copy."""
    return title.rsplit(":", 1)[-1].split(".")[0]


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


def resolve_callbacks(core: Core, frames: dict[str, int], calls: dict[str, set[str]]) -> None:
    """Puts the callbacks in the place of the calls through pointers. A pointer that nothing is known of gives no bound."""
    called = {name for callees in calls.values() for name in callees}
    taken = [name for name in frames if ":" in name and name not in called]     # static, and never called by its name
    public = [name for name in frames if ":" not in name and any(one.fullmatch(name) for one in core.callbacks.values())]
    for name, callees in calls.items():
        if INDIRECT not in callees or core.application.match(own_name(name)):
            continue
        may = core.callbacks.get(own_name(name), core.callbacks.get(ANY))
        if may is None:
            raise Unbounded(f"{name} calls through a pointer")
        callees.remove(INDIRECT)
        callees.update(one for one in (*taken, *public) if may.search(own_name(one)))
    lost = [one for one in taken if not any(one in callees for callees in calls.values())]
    if lost:
        raise Unbounded(f"nothing is known to call {', '.join(lost)}")


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
    """A row with code, RAM and stack bytes (see the keys); None without a compiler."""
    sources = sorted((root / CORE.folders[0]).glob("*.c"))
    if not sources or not all(shutil.which(tool) for tool in (COMPILER, SIZE, NM)):
        return None
    row = {"fs": "nf2fs", "workload": WORKLOAD, "state": "fresh", "chip": "cortex-m4", "seed": 42, "status": "ok", "verified": True}
    try:
        with tempfile.TemporaryDirectory() as folder:
            return {**row, **_ram(root, CORE, Path(folder)), **_code_and_stack(root, CORE, sources, Path(folder))}
    except subprocess.CalledProcessError as failure:
        return {**row, "status": "failed", "verified": False, "error": (failure.stderr.strip().splitlines() or ["?"])[0][:200]}


def _run(*command: str, root: Path, text: str | None = None) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=root, input=text).stdout


def _includes(core: Core) -> list[str]:
    """A core's own headers come first."""
    return [f"-I{folder}" for folder in (*reversed(core.folders), "include")]


def _ram(root: Path, core: Core, folder: Path) -> dict[str, int]:
    """What an application gives for a volume and one open file, buffers included, at both page sizes."""
    probe = str(folder / "sizes.o")
    _run(COMPILER, *MACHINE, *_includes(core), "-x", "c", "-c", "-", "-o", probe, root=root, text=SIZES)
    sizes = {line.split()[3]: int(line.split()[1], 16) for line in _run(NM, "--print-size", probe, root=root).splitlines()}
    fs, file = sizes["size_fs"], sizes["size_file"]
    return {"fs_bytes": fs, "file_bytes": file, "dir_bytes": sizes["size_dir"],
            "ram_bytes": fs + file + sizes["size_buffer_256"] + 256, "ram_bytes_512": fs + file + sizes["size_buffer_512"] + 512}


def _code_and_stack(root: Path, core: Core, sources: list[Path], folder: Path) -> dict:
    found = {"code_bytes": 0, "code_bytes_all": 0}
    graphs = []
    for source in sources:
        object_path = folder / (source.stem + ".o")
        _run(COMPILER, *FLAGS, *_includes(core), "-c", f"{core.folders[0]}/{source.name}", "-o", str(object_path), root=root)
        size = int(_run(SIZE, str(object_path), root=root).splitlines()[1].split()[0])
        found["code_bytes_all"] += size
        if not source.stem.startswith(EXTRA_FILES):
            found["code_bytes"] += size
        graphs.append(object_path.with_suffix(".ci").read_text())
    frames, calls = parse_call_graph(graphs)
    try:
        resolve_callbacks(core, frames, calls)
        found["stack_bytes"], found["stack_chain"] = deepest(frames, calls, list(frames))
    except Unbounded as why:
        kind = "a loop in the calls" if isinstance(why, Recursion) else "not known"
        found["unbounded"] = {"stack_bytes": f"no bound, {kind}: {why}"}
    return found
