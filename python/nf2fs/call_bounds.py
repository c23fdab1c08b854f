# SPDX-License-Identifier: BSD-2-Clause
"""Each public call beside its bound: runs every workload over NF2FS, and writes docs/BOUNDS.md of the table in norbench/call_table.c,
and of the most that the calls came to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import core_digest
from .bench import TIMEOUT_S, BenchError, Catalogue, Cell, Row, is_good, run_arguments
from .bench_table import markdown_row, markdown_rule, number

ROOT = Path(__file__).resolve().parents[2]
FS = "nf2fs"
MEASURES = ("read_pages", "program_pages", "erases", "erases_ahead")
HEADINGS = ("call", "room", "pages read", "seen", "pages programmed", "seen", "erases", "seen", "erases while erased blocks last", "seen")
CHIPS = ("w25q80", "w25q128", "w25q256", "is25le01g")
IDLE_US = 200_000
# Some workloads are made for a chip that they fill to a share: on a smaller one they may find no space.
NO_SPACE = "no space"


@dataclass(frozen=True)
class Run:
    cell: Cell
    more: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([str(self.cell), *self.more])


# ---- what is run ----

def short_runs(catalogue: Catalogue, workload: str) -> list[Run]:
    """About half a minute in all: small chips, a share of what is long. A workload of a group that is not named here runs as it is."""
    group = group_of(catalogue, workload)
    own = catalogue.chip_of(workload)

    def run(chip: str, *more: str, **keys) -> Run:
        return Run(Cell(FS, chip, workload, **keys), more)

    if group in ("trace", "retire"):
        return []               # it is what its file says; and where blocks fail calls have no bounds
    if group in ("mountfill", "reads"):
        return [run("w25q80")]
    if group == "sensing":
        return [run("w25q64")]
    if group == "overwrite":
        return [run("w25q80", "--part", "8")]
    if group == "lifespan":
        return [run("w25q80", mean=3)]
    if group == "wake":
        return [Run(Cell(FS, "w25q80", f"{workload}:count=500,end={end}")) for end in ("cut", "unmount")]
    if group == "wear":
        return [Run(Cell(FS, "w25q256/512K", f"{workload}:end={end}", mean=5)) for end in ("none", "cut")]
    if group == "phase":
        return [run("w25q80")]
    if group == "age":
        return [Run(Cell(FS, "w25q80", f"{workload}:count=3000,fill={fill}")) for fill in (40, 70)]
    if group == "firstwrite":
        return [Run(Cell(FS, "w25q80", f"{workload}:count=100,fill={fill}")) for fill in (20, 60)]
    if group == "space":
        return [run("w25q80" if workload in catalogue.long else "w25q256/4M")]
    if group == "latency":
        return [run(own, "--part", "5", state="aged"), run(own, "--part", "10", maintain_us=IDLE_US)]
    if group == "calls":
        return [run(own, "--part", "5")]
    return [run(own), run("w25q256/8M" if own == "w25q256" else own, state="aged")]


def long_runs(catalogue: Catalogue, workload: str) -> list[Run]:
    """Ten minutes: more of each, on other chips and in other states."""
    group = group_of(catalogue, workload)
    own = catalogue.chip_of(workload)
    if group in ("trace", "retire"):
        return []
    if group == "overwrite":
        return [Run(Cell(FS, chip, workload), ("--part", part)) for chip, part in ((own, "8"), ("w25q80", "8"))]
    if group == "lifespan":
        return [Run(Cell(FS, chip, workload, maintain_us=idle)) for chip, idle in (("w25q80", 0), ("w25q80", IDLE_US), ("w25q256/4M", 0))]
    if group == "wake":
        return [Run(Cell(FS, chip, f"{workload}:end={end}")) for chip in ("w25q80", "w25q256") for end in ("cut", "unmount")]
    if group == "wear":
        return [Run(Cell(FS, "w25q80", f"{workload}:end={end}", maintain_us=idle), ()) for end in ("none", "cut") for idle in (0, IDLE_US)]
    if group == "age":
        return [Run(Cell(FS, "w25q80", f"{workload}:count=50000,fill={fill}")) for fill in (40, 75)]
    if group == "firstwrite":
        return [Run(Cell(FS, "w25q256/4M", f"{workload}:fill={fill}")) for fill in (20, 50, 85)]
    if group == "phase":
        return [Run(Cell(FS, "w25q256/4M", workload, maintain_us=idle)) for idle in (0, IDLE_US)]
    if group == "space":
        return [Run(Cell(FS, chip, workload)) for chip in ("w25q256/4M", "w25q80")]
    if group == "latency":
        return [Run(Cell(FS, chip, workload, state, maintain_us=idle), ("--part", "3")) for chip, state in ((own, "aged"), ("w25q256", "aged"))
                for idle in (0, IDLE_US)]
    if group == "calls":
        return [Run(Cell(FS, chip, workload, state)) for chip, state in ((own, "fresh"), (own, "aged"))]
    return [Run(Cell(FS, own, workload, state)) for state in ("fresh", "aged", "aged75") if (workload, state) != ("gc55", "aged75")] + \
        [Run(Cell(FS, "is25le01g", workload))]


def group_of(catalogue: Catalogue, workload: str) -> str:
    return next(group for group, members in catalogue.groups.items() if workload in members and group != "core")


def run_one(program: Path, run: Run, timeout_s: int = TIMEOUT_S) -> Row:
    return run_arguments(program, run.cell, ["--bounds", *run.more], timeout_s)


def read_table(program: Path, chip: str) -> dict:
    """The bounds, and what their units come to on a chip."""
    done = subprocess.run([str(program), "--list-bounds", "--chip", chip], capture_output=True, text=True, timeout=60)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise BenchError(f"{program} --list-bounds printed no JSON: {done.stderr.strip()}") from None


# ---- what was seen ----

def faults(row: Row) -> list[str]:
    """Why a row does not show that the bounds hold."""
    found = []
    if not is_good(row) and NO_SPACE not in str(row.get("status")):
        found.append(f"{row.get('status')} {row.get('error', '')}".strip())
    if not row.get("calls_judged"):
        found.append("no call was judged")
    if row.get("calls_past_bound"):
        found.append(f"{row['calls_past_bound']} calls past their bounds, the first: {row['past_bound']}")
    return found


def most_seen(rows: Iterable[Row]) -> dict[tuple[str, str], dict]:
    """Of each kind of call in each room: how many, how many without bound, and of each measure the largest count and the largest share."""
    seen: dict[tuple[str, str], dict] = {}
    for row in rows:
        for one in row.get("call_costs", []):
            place = (one["call"], one["fill"])
            costs = {measure: (one[measure]["most"], one[measure]["permille"]) for measure in MEASURES}
            seen[place] = add(seen.get(place), {"count": one["count"], "unbounded": one["unbounded"], **costs})
    return seen


def add(total: dict | None, more: dict | None) -> dict | None:
    if total is None or more is None:
        return total or more
    return {"count": total["count"] + more["count"], "unbounded": total["unbounded"] + more["unbounded"],
            **{measure: tuple(max(pair) for pair in zip(total[measure], more[measure])) for measure in MEASURES}}


# ---- the page ----

def seen_text(total: dict | None, measure: str) -> str:
    if total is None or total["count"] == total["unbounded"]:
        return "-"
    most, permille = total[measure]
    return f"{number(most)} ({permille / 10:.0f}%)" if most else "0"


def bound_cells(bound: dict) -> list[str]:
    """What of a line comes from the table alone."""
    if "unbounded" in bound:
        return [bound["call"], bound["fill"], *["not bounded"] * 4]
    return [bound["call"], bound["fill"], *(bound[measure] for measure in MEASURES)]


def line_of(bound: dict, seen: dict) -> list[str]:
    call, fill, *formulas = bound_cells(bound)
    total = None
    for one in ("roomy",) if fill == "any" else fill.split(", "):
        total = add(total, seen.get((call, one)))
    cells = [call, fill]
    for measure, formula in zip(MEASURES, formulas):
        cells += [formula, seen_text(total, measure)]
    return cells


def page(tables: list[dict], rows: list[Row], command: str) -> str:
    table, seen = tables[0], most_seen(rows)
    calls = sum(total["count"] for total in seen.values())
    without = sum(total["unbounded"] for total in seen.values())
    past = sum(row.get("calls_past_bound", 0) for row in rows)
    lines = ["# Bounds", "", f"Made by `{command}`; do not edit.", "", *table["about"], "",
             f"{number(calls)} calls of {number(len({row['workload'] for row in rows}))} workloads in {number(len(rows))} runs: {number(past)} past their bounds; "
             f"{number(without)} were of those that have none.", "",
             *core_digest.lines_of(rows, ROOT), "",
             markdown_row(list(HEADINGS)), markdown_rule(HEADINGS, {"call", "room"})]
    lines += [markdown_row(line_of(bound, seen)) for bound in table["bounds"]]
    lines += ["", "`seen`: the most that a call came to, and in brackets the largest share of its own bound that one came to (not always the same call).", "",
              "## Units", ""]
    headings = ["", "stands for", *(one["chip"] for one in tables)]
    lines += [markdown_row(headings), markdown_rule(headings, {"", "stands for"})]
    for index, unit in enumerate(table["units"]):
        values = [number(one["units"][index]["value"]) if unit["fixed"] else "" for one in tables]
        lines.append(markdown_row([unit["letter"], unit["meaning"], *values]))
    lines += ["", "P: for a path of one name.", "", "## Not bounded", "", *(f"- {text}" for text in table["unbounded"]), "",
              "## Why some are much wider than what was seen", "", *(f"- {text}" for text in table["notes"])]
    return "\n".join(lines) + "\n"


def stale_lines(text: str, table: dict) -> list[str]:
    """Bounds of the table that the page does not state so."""
    stated = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    stated = [[line[0], line[1], *line[2:10:2]] for line in stated if len(line) == len(HEADINGS)]
    return [" | ".join(bound_cells(bound)) for bound in table["bounds"] if bound_cells(bound) not in stated]


def measure(program: Path, catalogue: Catalogue, runs_of: Callable[[Catalogue, str], list[Run]], timeout_s: int = TIMEOUT_S,
            known: Iterable[Row] = ()) -> Iterator[tuple[str, Row]]:
    """Each run's row, with a line that says what came of it; rows that are known are not measured again."""
    done = {row.get("run"): row for row in known}
    runs = [run for workload in catalogue.workloads for run in runs_of(catalogue, workload)]
    for index, run in enumerate(runs, 1):
        row = done.get(str(run)) or {**run_one(program, run, timeout_s), "run": str(run)}
        yield f"[{index}/{len(runs)}] {run}: " + ("; ".join(faults(row)) or f"{row['calls_judged']} calls"), row
