# SPDX-License-Identifier: BSD-2-Clause
"""The processor's share of a cell: instructions of the file system on a Cortex-M4.

The same cell is run a second time as a program for an emulated ARM processor, whose file systems are compiled for a Cortex-M4; a
plugin counts (`make processor`, tools/target_cell.py). Where something for that is missing, or the two runs do not agree, the row
says so in `processor_missing`, and has no figure.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from . import bench, bench_store

EMULATOR = "qemu-arm"
SUFFIX = "-m4"
PLUGIN = "libnorbench-count.so"
KNOWN_INSTRUCTIONS = 2001       # of known_loop(1000), which each run counts first
CYCLES = 1.5                    # an instruction, about: loads, branches and the wait states of the code's flash
MHZ = 100
HINT = "run `make processor`"
# What must be the same in both runs: all of it is counted, none depends on the computer.
SAME = ("status", "read_calls", "read_bytes", "program_pages", "program_bytes", "erases", "time_us", "operations", "user_bytes")


class Missing(Exception):
    """Why there is no figure."""


# ---- what is needed ----

def program_of(cell: Path) -> Path:
    return Path(cell).with_name(Path(cell).name + SUFFIX)


def check(cell: Path, fs: str) -> None:
    """Raises Missing where instructions of this file system cannot be counted."""
    if fs == bench.NATIVE:
        raise Missing("raw flash has no code of a file system; its map lies in this computer's memory")
    if shutil.which(EMULATOR) is None:
        raise Missing(f"no {EMULATOR} (Debian: qemu-user), then {HINT}")
    program = program_of(cell)
    for path in (program, program.with_name(program.name + ".table"), program.with_name(PLUGIN)):
        if not path.is_file():
            raise Missing(f"{path.name} is not built: {HINT}")
    if program.stat().st_mtime < Path(cell).stat().st_mtime:
        raise Missing(f"{program.name} is older than {Path(cell).name}: {HINT}")


def state_of(cell: Path, fs: str) -> str:
    """Names what would count: a row made with something else is made again."""
    try:
        check(cell, fs)
    except Missing as missing:
        return str(missing)
    program = program_of(cell)
    return ".".join(bench_store.digest(path) for path in (program, program.with_name(PLUGIN)))


@lru_cache
def emulator_version() -> str:
    done = subprocess.run([EMULATOR, "--version"], capture_output=True, text=True, timeout=60)
    return done.stdout.split("(")[0].strip().replace(" version", "")


@lru_cache
def facts_of(table: Path) -> dict[str, str]:
    """What the table's head says: the compiler, and bytes of code of each file system."""
    found = {}
    for line in table.read_text().splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(" ")
            found[key] = value
    return found


def code_of(facts: dict[str, str], fs: str) -> int | None:
    """Configurations of one file system have one code: `littlefs-p256` is littlefs."""
    value = facts.get("code-" + ("yaffs2" if fs.startswith("yaffs") else fs.split("-")[0]))
    return int(value) if value else None


# ---- one cell ----

def measure(cell: Path, fs: str, arguments: list[str], row: bench.Row, seconds: int) -> dict:
    """What the row gets: the figures, or why there are none."""
    try:
        check(cell, fs)
        if not bench.is_good(row):
            raise Missing("the cell failed")
        with tempfile.TemporaryDirectory() as directory:
            return counted(Path(cell), fs, arguments, row, seconds, Path(directory))
    except Missing as missing:
        return {"processor_missing": str(missing)}


def counted(cell: Path, fs: str, arguments: list[str], row: bench.Row, seconds: int, folder: Path) -> dict:
    program = program_of(cell)
    table = program.with_name(program.name + ".table")
    counts, calls = folder / "counts", folder / "calls"
    plugin = f"{program.with_name(PLUGIN).resolve()},table={table},out={counts}"
    command = [EMULATOR, "-plugin", plugin, str(program), *arguments, "--calls", str(calls)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Missing(f"its emulation took longer than {seconds} s") from None
    except OSError as error:
        raise Missing(f"{EMULATOR}: {error.strerror}") from None
    theirs = bench.row_of_output(bench.Cell(fs, row["chip"], row["workload"]), done.returncode, done.stdout, done.stderr)
    if not bench.is_good(theirs):
        raise Missing(f"the emulated cell: {theirs.get('error') or theirs.get('status')}")
    unlike = [key for key in SAME if theirs.get(key) != row.get(key)]
    if unlike:
        raise Missing(f"on the 32-bit processor the cell differs in {', '.join(unlike)}: what lies on the chip depends on the processor's words there, or {program.name} is of other sources ({HINT})")
    facts = facts_of(table)
    return summary(read_counts(counts), read_calls(calls)) | {
        "code_bytes": code_of(facts, fs),
        "processor": f"Cortex-M4, -Os, {facts.get('compiler', 'unknown compiler')}, {emulator_version()}"}


def read_counts(path: Path) -> list[int]:
    """Instructions of each call. The first count is that of known_loop, and shows whether the rest can be trusted."""
    found = [int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("O ")]
    if not found or found[0] != KNOWN_INSTRUCTIONS:
        raise Missing(f"the plugin counts {found[0] if found else 'no'} instructions where there are {KNOWN_INSTRUCTIONS}")
    return found[1:]


def read_calls(path: Path) -> list[tuple[str, int]]:
    """Name and flash time of each call."""
    return [(name, int(us)) for name, us in (line.split() for line in path.read_text().splitlines())]


def summary(counts: list[int], calls: list[tuple[str, int]]) -> dict:
    if len(counts) != len(calls):
        raise Missing(f"the plugin saw {len(counts)} calls, the cell made {len(calls)}")
    of_kind: dict[str, dict] = {}
    for (name, _), cost in zip(calls, counts):
        one = of_kind.setdefault(name, {"count": 0, "sum": 0, "max": 0})
        one["count"] += 1
        one["sum"] += cost
        one["max"] = max(one["max"], cost)
    ours = [(us, cost, name) for (name, us), cost in zip(calls, counts) if name != "maintain"]
    most = max(ours, key=lambda one: one[1], default=(0, 0, ""))
    return {"instructions": sum(counts), "instructions_idle": of_kind.get("maintain", {}).get("sum", 0), "instructions_most": most[1],
            "instructions_most_name": most[2], "instructions_of": of_kind, "dearest_calls": dearest(ours)}


def dearest(calls: list[tuple[int, int, str]]) -> list[list]:
    """The calls of which one is the longest at some clock: flash time, instructions, name."""
    found: list[tuple[int, int, str]] = []
    for us, cost, name in sorted(set(calls), key=lambda one: (-one[0], -one[1])):
        if found and cost <= found[-1][1]:
            continue
        while len(found) > 1 and not above(found[-2], found[-1], (us, cost)):
            found.pop()
        found.append((us, cost, name))
    return [list(one) for one in found]


def above(before: tuple, middle: tuple, after: tuple) -> bool:
    """Whether the middle point lies outside the line between the other two."""
    return (middle[1] - before[1]) * (before[0] - after[0]) > (after[1] - before[1]) * (before[0] - middle[0])


# ---- time of both ----

def processor_us(instructions: float, mhz: float = MHZ) -> float:
    return instructions * CYCLES / mhz


def total_us(row: bench.Row, mhz: float = MHZ) -> float | None:
    """Flash and processor; None where nothing was counted."""
    return None if row.get("instructions") is None else row["time_us"] + processor_us(row["instructions"], mhz)


def worst(row: bench.Row, mhz: float = MHZ) -> tuple[float, str] | None:
    """The longest call of flash and processor, and its name."""
    return max(((us + processor_us(cost, mhz), name) for us, cost, name in row.get("dearest_calls") or ()), default=None)


def text_of_clock(mhz: float) -> str:
    return f"{mhz:g} MHz, {CYCLES} cycles an instruction"


def reasons(rows: list[bench.Row]) -> list[str]:
    """Each reason for a missing figure, with the file systems."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.get("processor_missing"):
            systems = found.setdefault(row["processor_missing"], [])
            if row["fs"] not in systems:
                systems.append(row["fs"])
    return [f"{', '.join(systems)}: {reason}" for reason, systems in found.items()]


def is_asked(rows: list[bench.Row]) -> bool:
    return any(row.get("instructions") is not None or row.get("processor_missing") for row in rows)
