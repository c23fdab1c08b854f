# SPDX-License-Identifier: BSD-2-Clause
"""`norbench wake`, `phase` and `age`: devices that sleep without power, applications that change what they do, and a long life."""

from __future__ import annotations

import itertools
from typing import Annotated, Optional

import typer

from . import bench, bench_choose, bench_energy, bench_sweep
from .bench_campaign import Bar, numbers
from .bench_run import CellOption, names
from .bench_studies import print_table
from .bench_table import number

PHASES = ("phase", "phasemany", "phaseempty")
RowsOption = Annotated[Optional[str], typer.Option("--rows", metavar="FILE", help="Keep rows here; what is there is not run again.")]
TimeoutOption = Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell.")]
TIMEOUT_S = 4 * bench.TIMEOUT_S


def measure(cells: list[bench.Cell], program, rows_path: str | None, jobs: int, timeout: int) -> dict[bench.Cell, bench.Row]:
    """The rows of the cells, in their order; those that the file has are not run again."""
    bench.check_chips(program, [one.chip for one in cells])
    tasks = bench_sweep.tasks_of(bench_sweep.Sweep([], []), cells, program)
    rows = {row["cell_key"]: row for row in bench_choose.rows_for(tasks, rows_path, jobs, timeout, Bar)}
    return {task.cell: rows[task.key()] for task in tasks}


def status_of(row: bench.Row) -> str:
    return "ok" if bench.is_good(row) else str(row.get("error") or row.get("status"))


def years(row: bench.Row, every_s: float) -> float | None:
    """Until the most worn block has borne all that it bears, with a wake each `every_s` seconds."""
    if not row.get("wear_max") or not row.get("operations"):
        return None
    return bench_energy.ENDURANCE / (row["wear_max"] / row["operations"]) * every_s / bench_energy.YEAR_S


# Blocks at fixed places that a file system writes anew for itself: so many, from the first block on.
SUPER_BLOCKS = {"nf2fs": 3, "littlefs": 2}


def wakes_a_super_erase(row: bench.Row) -> str:
    """How many wakes there are for one erase of that super block which was erased most; the format's erase does not count."""
    first = row.get("wear_first", [])[:SUPER_BLOCKS.get(bench.base_name(row["fs"]).split("-")[0], 0)]
    if not first or not row.get("operations"):
        return "-"
    erased = max(first) - 1
    return f"{row['operations'] / erased:,.0f}" if erased > 0 else f"above {row['operations']:,}"


def wake_line(row: bench.Row, every_s: float) -> list[str]:
    step, count = row.get("steps", {}).get("wake", {}), row.get("operations") or 0

    def each(key: str, digits: int) -> str:
        return number(row[key] / count, digits) if count and key in row else "-"

    life = years(row, every_s)
    options = dict(one.split("=", 1) for one in row["workload"].partition(":")[2].split(",") if "=" in one)
    return [row["fs"], row["chip"], options.get("end", "cut"), options.get("logs", "1"), number(count), each("read_pages", 0), each("program_pages", 2), each("erases", 3),
            number(row["time_us"] / count / 1000, 2) if count and "time_us" in row else "-",
            number(bench_energy.each_mj(row), 3), number(step["us_p99"] / 1000, 1) if step else "-", number(step["us_max"] / 1000, 1) if step else "-",
            number(1000 * row["wear_max"] / count, 1) if count and "wear_max" in row else "-", number(row.get("wear_max_block")), wakes_a_super_erase(row), number(life, 1), status_of(row)]


WAKE_HEADINGS = ["fs", "chip", "end", "logs", "wakes", "pages read", "programs", "erases", "ms a wake", "mJ a wake", "p99 ms", "longest ms", "worst block in 1,000", "which", "wakes a super erase", "years",
                 "status"]


def wake(
    fs: Annotated[str, typer.Option("--fs", "-f", help="File systems. Names with commas between.")] = "nf2fs,littlefs",
    chip: Annotated[str, typer.Option("--chip", "-c", help="Chips, sizes as in w25q256/128K, or files. Names with commas between.")] = "w25q256/1M,w25q256/16M",
    count: Annotated[int, typer.Option("--count", min=1, help="Wakes.")] = 20_000,
    size: Annotated[int, typer.Option("--size", min=1, help="Bytes that a wake appends.")] = 32,
    logs: Annotated[str, typer.Option("--logs", help="Files that are appended to in turn. Numbers with commas between.")] = "1",
    fill: Annotated[int, typer.Option("--fill", min=1, max=100, help="Percent of the chip that the logs and their predecessors may hold.")] = 12,
    end: Annotated[str, typer.Option("--end", help="cut, unmount, or both.")] = "cut,unmount",
    every: Annotated[float, typer.Option("--every", min=0.001, metavar="SECONDS", help="Seconds between two wakes, for the years.")] = 60,
    rows_path: RowsOption = None, jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = 1, timeout: TimeoutOption = TIMEOUT_S,
    seed: Annotated[int, typer.Option("--seed", min=0)] = bench.SEED,
    cell: CellOption = None,
) -> None:
    """A device that wakes, mounts, appends, closes, and loses power (or unmounts): what a wake costs."""
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    for one in names(end):
        if one not in ("cut", "unmount"):
            raise typer.BadParameter(f"a wake ends in cut or unmount, not in '{one}'")
    cells = [bench.Cell(system, place, f"wake:count={count},size={size},logs={files},fill={fill},end={ending}", seed=seed)
             for place, files, ending, system in itertools.product(names(chip), numbers(logs, "logs"), names(end), bench.check_file_systems(names(fs), catalogue))]
    rows = list(measure(cells, program, rows_path, jobs, timeout).values())
    print_table(f"Wakes; years: a wake each {every:g} s, {bench_energy.ENDURANCE:,} erases a block", (WAKE_HEADINGS, [wake_line(row, every) for row in rows]))
    if not all(bench.is_good(row) for row in rows):
        raise typer.Exit(1)


PHASE_HEADINGS = ["workload", "chip", "fs", "idle ms", "stage", "operations", "median ms", "p99 ms", "longest ms", "pages read in one", "erases in one", "longest call", "status"]


def phase_lines(row: bench.Row) -> list[list[str]]:
    """A line for each stage; of a cell that failed what there was until then."""
    head = [row["workload"], row["chip"], row["fs"], number(row.get("maintain_budget_us", 0) / 1000)]
    worst = f"{row.get('worst_call_name', '')} {number(row.get('worst_call_us', 0) / 1000, 1)} ms"
    lines = [[*head, stage, number(one["count"]), number(one["us_median"] / 1000, 1), number(one["us_p99"] / 1000, 1), number(one["us_max"] / 1000, 1),
              number(one["read_pages_max"]), number(one["erases_max"]), worst, status_of(row)] for stage, one in row.get("steps", {}).items()]
    return lines or [[*head, *["-"] * 8, status_of(row)]]


def phase(
    fs: Annotated[str, typer.Option("--fs", "-f", help="File systems. Names with commas between.")] = "nf2fs",
    workload: Annotated[str, typer.Option("--workload", "-w", help=f"Of {', '.join(PHASES)}. Names with commas between.")] = ",".join(PHASES),
    chip: Annotated[Optional[str], typer.Option("--chip", "-c", help="Another chip: w25q256/4M.")] = None,
    fill: Annotated[str, typer.Option("--fill", help="Percent of the chip that the first phase uses. Numbers with commas between.")] = "50,60,75,85",
    maintain: Annotated[int, typer.Option("--maintain", min=0, metavar="US", help="Idle microseconds after each operation.")] = 0,
    rows_path: RowsOption = None, jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = 1, timeout: TimeoutOption = TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """The longest calls after an application changed what it does."""
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    cells = []
    for one, system in itertools.product(bench.expand(names(workload), catalogue), bench.check_file_systems(names(fs), catalogue)):
        filled = "fill" in catalogue.options.get(one, [])
        cells += [bench.Cell(system, chip or catalogue.chip_of(one), f"{one}:fill={percent}" if filled else one, maintain_us=maintain)
                  for percent in (numbers(fill, "fills") if filled else [0])]
    rows = list(measure(cells, program, rows_path, jobs, timeout).values())
    print_table("After a change of what the application does; operations of each stage", (PHASE_HEADINGS, [line for row in rows for line in phase_lines(row)]))
    if not all(bench.is_good(row) for row in rows):
        raise typer.Exit(1)


AGE_HEADINGS = ["workload", "chip", "fs", "idle ms", "us an operation", "on a fresh copy", "ratio", "content, % of the offer", "usable, % of the offer", "longest call ms", "status"]


def age_line(row: bench.Row) -> list[str]:
    def percent(part: str) -> str:
        return number(100 * row[part] / row["offered_bytes"], 1) if row.get("offered_bytes") and part in row else "-"

    good = bench.is_good(row)
    return [row["workload"], row["chip"], row["fs"], number(row.get("maintain_budget_us", 0) / 1000), number(row.get("aged_us") if good else None), number(row.get("copy_us") if good else None),
            number(row.get("age_ratio") if good else None, 2), percent("content_bytes"), number(100 * row["offer_kept"] if good else None, 1),
            number(row.get("worst_call_us", 0) / 1000, 1), status_of(row)]


def age(
    fs: Annotated[str, typer.Option("--fs", "-f", help="File systems. Names with commas between.")] = "nf2fs",
    chip: Annotated[str, typer.Option("--chip", "-c", help="Chips, sizes as in w25q256/4M, or files. Names with commas between.")] = "w25q256/1M",
    count: Annotated[int, typer.Option("--count", min=1, help="Operations before those that are measured.")] = 700_000,
    load: Annotated[str, typer.Option("--load", help="mixed, or overwrite: short pieces of files of 16 KiB.")] = "mixed",
    fill: Annotated[str, typer.Option("--fill", help="Percent of the space offered that are used. Numbers with commas between.")] = "75",
    maintain: Annotated[int, typer.Option("--maintain", min=0, metavar="US", help="Idle microseconds after each operation.")] = 0,
    rows_path: RowsOption = None, jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = 1, timeout: TimeoutOption = TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """What mixed operations cost after many others, beside the same on a fresh copy; and how much space is left to use."""
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    cells = [bench.Cell(system, place, f"age:count={count},fill={percent},load={load}", maintain_us=maintain)
             for place, percent, system in itertools.product(names(chip), numbers(fill, "fills"), bench.check_file_systems(names(fs), catalogue))]
    rows = list(measure(cells, program, rows_path, jobs, timeout).values())
    print_table("A long life", (AGE_HEADINGS, [age_line(row) for row in rows]))
    if not all(bench.is_good(row) for row in rows):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command("age")(age)
    app.command("wake")(wake)
    app.command("phase")(phase)
