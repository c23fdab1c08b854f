# SPDX-License-Identifier: BSD-2-Clause
"""`norbench curves`: time by size of a file, by amount, by file written, by fill; blocks that fail, by what was written. Tables, and plots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Optional

import typer

from . import bench, plots
from .bench_run import CellOption, names
from .bench_studies import FOLDER, FolderOption, print_table
from .bench_table import number
from .bench_wake import RowsOption, TimeoutOption, TIMEOUT_S, measure

FILLS = (0, 20, 40, 60, 70, 75, 80, 85, 90)
TOTALS_KIB = (1, 4, 16, 64, 128, 256, 512, 1024)
SHARES = (0, 1, 2, 5, 10)           # percent of the blocks that failed; 0: the first one
RETIRE_LIMIT = 100
Points = dict[str, dict[str, str]]  # of each point what each file system has there
Value = dict[str, list[tuple[float, float]]]


@dataclass
class Curve:
    """A table of points by file systems, and the same as numbers for the plot."""
    title: str
    point: str
    cells: Points = field(default_factory=dict)
    series: Value = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    axis: str = "ms"

    def add(self, point: str, fs: str, text: str, x: float | None = None, y: float | None = None) -> None:
        self.cells.setdefault(point, {})[fs] = text
        if x is not None and y is not None:
            self.series.setdefault(fs, []).append((x, y))

    def table(self) -> tuple[list[str], list[list[str]]]:
        systems = list(dict.fromkeys(fs for line in self.cells.values() for fs in line))
        return [self.point, *systems], [[point, *(line.get(fs, "-") for fs in systems)] for point, line in self.cells.items()]


def digits(text: str) -> float | None:
    found = "".join(letter for letter in text if letter.isdigit() or letter == ".")
    return float(found) if found else None


def failures(rows: list[bench.Row]) -> list[str]:
    return [f"{row['fs']}, {row['workload']}: {row.get('error') or row.get('status')}" for row in rows if not bench.is_good(row)]


# ---- what can be drawn ----

def by_steps(rows: list[bench.Row]) -> list[Curve]:
    """A curve for each kind of step; amounts that are called "up to" add up."""
    found: dict[tuple[str, str], Curve] = {}
    for row in rows:
        sums: dict[str, float] = {}
        for name, step in row.get("steps", {}).items():
            kind, _, point = name.partition(": ")
            title, heading = (f"{row['workload']}: ms, added up", "amount") if kind == "up to" else (f"{row['workload']}, {kind}: ms", kind)
            curve = found.setdefault((row["workload"], kind), Curve(title, heading))
            sums[kind] = (sums.get(kind, 0) if kind == "up to" else 0) + step["us"] / 1000
            curve.add(point, row["fs"], number(sums[kind], 2), digits(point), sums[kind])
    return list(found.values())


def by_files(rows: list[bench.Row]) -> list[Curve]:
    """Each stretch of files: the median file and the longest."""
    found: dict[str, Curve] = {}
    for row in rows:
        for name, step in row.get("steps", {}).items():
            curve = found.setdefault(row["workload"], Curve(f"{row['workload']}: ms of a file, median / longest; the plot has the longest", name.partition(": ")[0]))
            point = name.partition(": ")[2]
            curve.add(point, row["fs"], f"{number(step['us_median'] / 1000, 1)} / {number(step['us_max'] / 1000, 1)}", digits(point), step["us_max"] / 1000)
    return list(found.values())


def line_through(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Least squares: the value at 0, and what each unit adds."""
    mean_x, mean_y = (sum(point[place] for point in points) / len(points) for place in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
    return mean_y - slope * mean_x, slope


def by_total(rows: list[bench.Row]) -> list[Curve]:
    found: dict[str, Curve] = {}
    for row in rows:
        workload, _, total = row["workload"].partition(":total=")
        curve = found.setdefault(workload, Curve(f"{workload.removesuffix('1k')}: ms", "KiB"))
        if bench.is_good(row):
            kib = int(total) / 1024
            curve.add(number(kib), row["fs"], number(row["time_us"] / 1000, 2), kib, row["time_us"] / 1000)
    for curve in found.values():
        for fs, points in curve.series.items():
            if len(points) > 2:
                start, each = line_through(points)
                curve.notes.append(f"{fs}: {number(start, 2)} ms and {number(each, 3)} ms for each KiB (least squares)")
    return list(found.values())


def by_fill(rows: list[bench.Row]) -> list[Curve]:
    curve = Curve("Mount after a cut inside an operation: ms, median / longest; the plot has the longest", "fill")
    for row in rows:
        fill, step = row["workload"].rpartition("fill=")[2], row.get("steps", {}).get("mount")
        text = f"{number(step['us_median'] / 1000, 1)} / {number(step['us_max'] / 1000, 1)}" if step and bench.is_good(row) else "failed"
        curve.add(f"{fill}%", row["fs"], text, *((float(fill), step["us_max"] / 1000) if step and bench.is_good(row) else ()))
    return [curve]


def by_failed_blocks(rows: list[bench.Row]) -> list[Curve]:
    """What had been written when so many blocks had failed."""
    curve = Curve(f"retire: KiB written when so many of the blocks had failed; a block bears {RETIRE_LIMIT} erases", "blocks failed", axis="KiB written")
    for row in rows:
        for share in SHARES:
            wanted = max(1, -(-row.get("chip_blocks", 0) * share // 100))
            reached = next((written for written, blocks in row.get("retired", []) if blocks >= wanted), None)
            curve.add(f"{share}%" if share else "the first", row["fs"], "not reached" if reached is None else number(reached / 1024), *(() if reached is None else (float(share), reached / 1024)))
    return [curve]


@dataclass(frozen=True)
class Family:
    text: str
    workloads: tuple[str, ...]
    curves: Callable[[list[bench.Row]], list[Curve]]
    limit: int = 0
    chip: str | None = None             # the workload's own, where it is None


FAMILIES = {
    "small": Family("small files by size", ("smallio",), by_steps),
    "files": Family("files in order, by size", ("seqio", "seqread"), by_steps),
    "random": Family("random reads and updates, by amount", ("rread", "rwrite20"), by_steps),
    "streams": Family("streams by size, with the line through them", tuple(f"{kind}1k:total={kib * 1024}" for kind in ("streamin", "condense", "streamout") for kib in TOTALS_KIB), by_total),
    "collect": Family("each file while space is won back", ("gcfill", "gc55"), by_files),
    "mount": Family("mount after a cut inside an operation, by fill", tuple(f"firstwrite:count=50,fill={fill}" for fill in FILLS), by_fill, chip="w25q256/4M"),
    "retire": Family("blocks that fail, by what was written", ("retire",), by_failed_blocks, RETIRE_LIMIT),
}


def curves(
    which: Annotated[Optional[str], typer.Argument(metavar="FAMILIES", help=f"Names with commas between; all without. {'; '.join(f'{name}: {one.text}' for name, one in FAMILIES.items())}.")] = None,
    fs: Annotated[str, typer.Option("--fs", "-f", help="File systems. Names with commas between.")] = "nf2fs,littlefs",
    chip: Annotated[Optional[str], typer.Option("--chip", "-c", help="Another chip: w25q256/4M.")] = None,
    folder: FolderOption = FOLDER,
    rows_path: RowsOption = None, jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = 1, timeout: TimeoutOption = TIMEOUT_S,
    seed: Annotated[int, typer.Option("--seed", min=0)] = bench.SEED,
    cell: CellOption = None,
) -> None:
    """Curves of papers: time by size, by amount, by file, by fill; blocks that fail."""
    wanted = names(which) if which else list(FAMILIES)
    for one in wanted:
        if one not in FAMILIES:
            raise typer.BadParameter(f"families are {', '.join(FAMILIES)}, not '{one}'")
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    systems = bench.check_file_systems(names(fs), catalogue)
    failed = False
    for name in wanted:
        family = FAMILIES[name]
        cells = [bench.Cell(system, chip or family.chip or catalogue.chip_of(workload), workload, seed=seed, limit=family.limit) for workload in family.workloads for system in systems]
        rows = list(measure(cells, program, rows_path, jobs, timeout).values())
        for index, curve in enumerate(family.curves(rows)):
            print_table(curve.title, curve.table())
            for note in curve.notes:
                print(note)
            drawn = plots.curve(Path(folder) / f"curve-{name}{f'-{index + 1}' if index else ''}.svg", curve.title, curve.point, curve.axis, curve.series)
            print(drawn if drawn else "no plot: fewer than two points")
        for text in failures(rows):
            failed = True
            print(f"failed: {text}")
    if failed:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command("curves")(curves)
