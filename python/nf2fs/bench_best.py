# SPDX-License-Identifier: BSD-2-Clause
"""`norbench best`: the settings of a file system that serve a workload best, within a budget of RAM."""

from __future__ import annotations

import itertools
from typing import Annotated, Optional

import typer

from . import bench
from .bench_campaign import numbers
from .bench_run import CellOption, names
from .bench_studies import print_table
from .bench_table import milliseconds, number
from .bench_wake import RowsOption, TimeoutOption, measure

# What is tried: every combination. The first value of each is the default, which is left out of the name.
GRIDS: dict[str, dict[str, tuple[str, ...]]] = {
    "littlefs": {"prog": ("", "1", "256"), "cache": ("", "512", "1024", "4096"), "block": ("", "64K"), "erasecheck": ("", "1")},
    "nf2fs": {"buffer": ("", "2048", "4096", "8192", "16384")},
    "yaffs2": {"caches": ("", "0", "20", "40")},
}
HEADINGS = ["file system", "workloads", "time ms", "x best", "x its defaults", "longest call ms", "erases", "RAM", "status"]


def candidates(fs: str) -> list[str]:
    """Every combination of the settings that are tried; the defaults come first."""
    grid = GRIDS.get(fs)
    if grid is None:
        raise bench.BenchError(f"no settings of '{fs}' are known to try: there are grids for {', '.join(GRIDS)}; name settings with --try")
    found = []
    for values in itertools.product(*grid.values()):
        settings = ",".join(f"{key}={value}" for key, value in zip(grid, values) if value)
        found.append(f"{fs}:{settings}" if settings else fs)
    return found


class Sum:
    """All rows of one candidate."""

    def __init__(self, fs: str, rows: list[bench.Row]):
        self.fs, self.rows = fs, rows
        self.failed = next((str(row.get("error") or row.get("status")) for row in rows if not bench.is_good(row)), None)
        self.time_us = sum(row.get("time_us", 0) for row in rows)
        self.worst_us = max(row.get("worst_call_us", 0) for row in rows)
        self.erases = sum(row.get("erases", 0) for row in rows)
        self.ram = max(row.get("ram_bytes", 0) for row in rows)

    def fits(self, ram: int) -> bool:
        return self.failed is None and (not ram or self.ram <= ram)


def ranked(sums: list[Sum], ram: int) -> list[Sum]:
    """Those that run within the budget by time, then the others."""
    return sorted(sums, key=lambda one: (not one.fits(ram), one.failed is not None, one.time_us))


def line(one: Sum, best: Sum, default: Sum, ram: int, workloads: int) -> list[str]:
    status = one.failed or ("ok" if one.fits(ram) else "more RAM than allowed")

    def times(other: Sum) -> str:
        return number(one.time_us / other.time_us, 2) if one.failed is None and other.failed is None and other.time_us else "-"

    return [one.fs, number(workloads), milliseconds(one.time_us), times(best), times(default), milliseconds(one.worst_us), number(one.erases), number(one.ram), status]


def answer(sums: list[Sum], ram: int) -> str:
    best, default = ranked(sums, ram)[0], sums[0]
    if not best.fits(ram):
        return f"None of {len(sums)} settings of {default.fs} runs" + (f" within {ram:,} B of RAM." if ram else ".")
    gain = "its defaults" if best is default else (
        f"{default.time_us / best.time_us:,.1f} times as fast as its defaults" if default.failed is None and best.time_us else "where its defaults fail")
    return f"Best of {len(sums)}: {best.fs} ({gain}), {best.ram:,} B of RAM."


def best(
    fs: Annotated[str, typer.Argument(metavar="FS", help=f"The file system: {', '.join(GRIDS)}.")],
    workload: Annotated[str, typer.Option("--workload", "-w", help="Workloads or groups, whose times are added. Names with commas between.")] = "create32",
    chip: Annotated[Optional[str], typer.Option("--chip", "-c", help="The chip. Default: the workload's own.")] = None,
    state: Annotated[str, typer.Option("--state", "-s", help="fresh, aged or aged75.")] = "fresh",
    ram: Annotated[int, typer.Option("--ram", min=0, metavar="BYTES", help="RAM of a volume with one open file, at most; 0: any.")] = 0,
    maintain: Annotated[int, typer.Option("--maintain", min=0, metavar="US", help="Idle microseconds after each operation.")] = 0,
    seeds: Annotated[str, typer.Option("--seed", help="Seeds. Numbers with commas between.")] = str(bench.SEED),
    tried: Annotated[Optional[str], typer.Option("--try", help="Only these settings: littlefs:cache=512,littlefs:cache=1024,prog=1.")] = None,
    rows_path: RowsOption = None, jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = 1, timeout: TimeoutOption = bench.TIMEOUT_S,
    json_path: Annotated[Optional[str], typer.Option("--json", metavar="FILE", help="Append the rows of the best settings to this file.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Print all settings, not the twelve best.")] = False,
    cell: CellOption = None,
) -> None:
    """Find the settings of a file system that serve workloads best.

    So that a peer is compared at its best, and not with settings that someone happened to choose.
    """
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    base = bench.base_name(fs)
    systems = bench.check_file_systems([base, *names(tried)] if tried else candidates(base), catalogue)
    bench.check_states([state])
    cells = {system: [bench.Cell(system, chip or catalogue.chip_of(one), one, state, seed, maintain)
                      for one in bench.expand(names(workload), catalogue) for seed in numbers(seeds, "seeds")] for system in systems}
    rows = measure([one for group in cells.values() for one in group], program, rows_path, jobs, timeout)
    sums = [Sum(system, [rows[one] for one in group]) for system, group in cells.items()]
    order = ranked(sums, ram)
    shown = order if every else order[:12] + [one for one in sums[:1] if one not in order[:12]]
    print_table(f"Settings of {base}", (HEADINGS, [line(one, order[0], sums[0], ram, len(cells[one.fs])) for one in shown]))
    print(answer(sums, ram))
    for row in order[0].rows if json_path and order[0].fits(ram) else []:
        bench.append_row(json_path, row)
    if not order[0].fits(ram):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command("best")(best)
