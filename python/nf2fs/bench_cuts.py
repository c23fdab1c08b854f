# SPDX-License-Identifier: BSD-2-Clause
"""Power cuts over every peer as rows, and their table."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from . import bench
from .bench_table import markdown_row, markdown_rule

WORKLOAD = "power cuts"
PROGRAMS = ("peer_cuts", "peer_cuts_gpl", "peer_cuts_own")
PROMISES = {"runs": "goes on running", "mounts": "mounts", "readable": "can be read", "durable": "synced data is there", "whole": "the file is old or new",
            "rename": "a rename is whole", "no ghost": "no file before its sync", "goes on": "can be used on", "space": "all space comes back"}


def programs(cell: Path) -> list[Path]:
    """The programs of the build that the cell is of."""
    build = cell.resolve().parent.parent
    found = [path for name in PROGRAMS for path in sorted(build.rglob(name)) if path.is_file()]
    if not found:
        raise bench.BenchError(f"no {PROGRAMS[0]} in {build}: build the tests (make release)")
    return found


def systems_of(program: Path) -> list[str]:
    done = subprocess.run([str(program), "--list"], capture_output=True, encoding="utf-8", errors="replace", timeout=60)
    return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]


def wanted(found: list[Path], systems: list[str]) -> list[tuple[Path, list[str]]]:
    """Programs with the options that make them run what is asked for: each file system once, or all that each has."""
    if not systems:
        return [(program, []) for program in found]
    known = {fs: program for program in reversed(found) for fs in systems_of(program)}
    for fs in systems:
        if fs not in known:
            raise bench.BenchError(f"no power cuts can be made in '{fs}': there are {', '.join(sorted(known))}")
    return [(known[fs], ["--fs", fs]) for fs in systems]


def run(found: list[Path], cuts: int, seed: int, jobs: int, few: bool, systems: list[str] | None = None, script: str | None = None) -> list[bench.Row]:
    rows: dict[tuple, bench.Row] = {}
    few = few and not script            # a script that is named runs, whether it is one of the few or not
    for program, chosen in wanted(found, systems or []):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([str(program), "--jobs", str(jobs), "--seed", str(seed), "--cuts", str(cuts), "--out", directory, *chosen, *(["--slice"] if few else []), *(["--script", script] if script else [])],
                                  capture_output=True, encoding="utf-8", errors="replace")
            result = Path(directory) / "peers.json"
            if not result.is_file():
                raise bench.BenchError(f"{program.name} wrote no result: {done.stderr.strip()[-300:]}")
            for one in json.loads(result.read_text(encoding="utf-8", errors="replace"))["rows"]:
                rows.setdefault((one["fs"], one["chip"]), as_row(one, seed))
    return list(rows.values())


def as_row(one: dict, seed: int) -> bench.Row:
    return {"group": "cuts", "workload": WORKLOAD, "state": "fresh", "seed": seed, "status": "ok", **one}


def share(row: bench.Row, promise: str) -> str:
    broken, checked = row["broken"][promise], row["checked"][promise]
    if not checked:
        return "-"
    if promise in row.get("waives", []):
        return f"({broken})"
    return f"{broken}" if not broken else f"**{broken}**"


def is_cuts(row: bench.Row) -> bool:
    return row["workload"] == WORKLOAD


def markdown(rows: list[bench.Row]) -> str:
    headings = ["file system", "chip", "cuts", "any", *PROMISES.values(), "slowest mount ms", "programs over programmed bits"]
    lines = [markdown_row(headings), markdown_rule(headings, {"file system", "chip"})]
    for row in rows:
        lines.append(markdown_row([row["fs"], row["chip"], str(row["cuts"]), str(row["any"]), *(share(row, promise) for promise in PROMISES),
                                   f"{row['mount_us_max'] / 1000:.1f}", str(row["violations"])]))
    lines += ["", "Each number: after how many of the cuts the promise was broken. In parentheses: a promise that the file system does not make; `any` leaves it out."]
    lines += [f"{row['fs']} on {row['chip']}: not run: {row['stopped_text'] or 'it cannot be formatted there'}" for row in rows if not row["cuts"]]
    return "\n".join(lines)
