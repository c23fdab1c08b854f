# SPDX-License-Identifier: BSD-2-Clause
"""Call stacks of flash operations: addresses of norbench-cell's --stacks get names, and become trees for flame graphs."""

from __future__ import annotations

import bisect
import subprocess
from pathlib import Path

from . import bench

OPERATIONS = ("read", "program", "erase")
ROOT = "flash"
# Where a stack leaves the benchmark and enters a file system: what is above is the same everywhere.
OUTSIDE = ("_start", "__libc_start", "main", "run_cell", "run", "run_recorded")


def symbols(program: Path) -> tuple[list[int], list[str]]:
    """Addresses of the program's functions, ascending, and their names."""
    try:
        done = subprocess.run(["nm", "--defined-only", str(program)], capture_output=True, text=True)
    except FileNotFoundError:
        raise bench.BenchError("nm was not found (Debian: binutils): flame graphs need it") from None
    pairs = sorted((int(words[0], 16), words[2]) for words in (line.split() for line in done.stdout.splitlines()) if len(words) == 3 and words[1] in "tTwW")
    if not pairs:
        raise bench.BenchError(f"{program} has no symbols: flame graphs need them")
    return [address for address, _ in pairs], [name for _, name in pairs]


def name_at(table: tuple[list[int], list[str]], address: int) -> str:
    addresses, found = table
    place = bisect.bisect_right(addresses, address) - 1
    last = addresses[-1] + 0x10000
    return found[place].split(".")[0] if 0 <= place and address < last else ""


def read(path: Path, program: Path) -> list[tuple[list[str], list[int], list[int]]]:
    """Of each stack the names from the outside in, counts and microseconds by operation."""
    table = symbols(program)
    found = []
    for line in path.read_text().splitlines():
        addresses, *figures = line.split(" ")
        numbers = [int(figure) for figure in figures]
        stack = [name for name in (name_at(table, int(address, 16)) for address in addresses.split(";")) if name and not name.startswith(OUTSIDE)]
        found.append((stack, numbers[0::2], numbers[1::2]))
    return found


def folded(stacks) -> dict[str, list[int]]:
    """Stacks with the same names together: `a;b;read` -> count, microseconds."""
    found: dict[str, list[int]] = {}
    for names, counts, times in stacks:
        for operation, count, time_us in zip(OPERATIONS, counts, times):
            if count:
                sums = found.setdefault(";".join([*names, operation]), [0, 0])
                sums[0] += count
                sums[1] += time_us
    return found


def tree(folds: dict[str, list[int]], measure: int) -> dict:
    """ids, labels, parents and values of the nodes, the root first: what an icicle plot takes. `measure`: 0 count, 1 time."""
    values: dict[str, int] = {ROOT: 0}
    for stack, figures in folds.items():
        if not figures[measure]:
            continue
        path = ROOT
        values[ROOT] += figures[measure]
        for name in stack.split(";"):
            path = f"{path};{name}"
            values[path] = values.get(path, 0) + figures[measure]
    ids = list(values)
    return {"ids": ids, "labels": [one.rsplit(";", 1)[-1] for one in ids], "parents": [one.rpartition(";")[0] for one in ids], "values": [values[one] for one in ids]}


def measure(program: Path, cell: bench.Cell, directory: Path, seconds: int) -> dict[str, list[int]]:
    """The folded stacks of one cell."""
    path = directory / "stacks.txt"
    own = bench.program_for(program, cell.fs)
    row = bench.run_arguments(program, cell, ["--stacks", str(path)], seconds)
    if not bench.is_good(row):
        raise bench.BenchError(f"{cell}: {row.get('error') or row.get('status')}")
    return folded(read(path, Path(own)))
