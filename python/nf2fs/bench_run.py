# SPDX-License-Identifier: BSD-2-Clause
"""Running cells from the command line: a bar on a terminal, lines elsewhere, rows into a file."""

from __future__ import annotations

from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import bench, bench_processor, bench_table

CellOption = Annotated[Optional[str], typer.Option("--cell", metavar="PROGRAM", help="The norbench-cell program.")]
MhzOption = Annotated[float, typer.Option("--mhz", min=1, help="Clock of the processor, for the time of flash and processor together.")]
TABLE_WIDTH = 160


def names(text: str) -> list[str]:
    """The names of a list with commas between. Options of a name have commas, too: "wake:count=9,end=cut,config" are two names."""
    found: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        is_option = bool(found) and ":" in found[-1] and "=" in word and ":" not in word.split("=")[0]
        if is_option:
            found[-1] += f",{word}"
        elif word:
            found.append(word)
    return found


def table_console() -> Console:
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=TABLE_WIDTH)


def print_tables(rows: list[bench.Row], mhz: float = bench_processor.MHZ) -> None:
    for table in bench_table.rich_tables(rows, mhz):
        table_console().print(table)
    for line in bench_table.processor_notes(rows, mhz):
        print(line)


def run_both(program, cell: bench.Cell, more: list[str], timeout_s: int) -> bench.Row:
    """The cell's row with the instructions of its file system."""
    row = bench.run_arguments(program, cell, more, timeout_s)
    return row | bench_processor.measure(bench.program_for(program, cell.fs), cell.fs, [*cell.arguments(), *more], row, timeout_s)


def run_with_progress(cells: list[bench.Cell], program, jobs: int, timeout_s: int, json_path: str | None, processor: bool = False,
                      more: list[str] | None = None, known: list[bench.Row] | None = None) -> list[bench.Row]:
    """Runs cells with a bar on a terminal (lines elsewhere) and appends each row to `json_path`. Native's `known` rows are not made again."""
    screen = Console(stderr=True, highlight=False, markup=False)
    rows: list[bench.Row] = []
    there = {bench.cell_of(row) for row in known or [] if row["fs"] == bench.NATIVE}
    total = len([cell for cell in bench.with_natives(cells) if cell not in there])
    bars = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                    console=screen, transient=True, disable=not screen.is_terminal)
    with bars:
        task = bars.add_task("", total=total)
        for cell, row in bench.run_cells(cells, lambda one: (run_both if processor else bench.run_arguments)(program, one, more or [], timeout_s), jobs,
                                         lambda one: bars.update(task, description=str(one)), known or []):
            rows.append(row)
            bars.advance(task)
            if json_path:
                bench.append_row(json_path, row)
            if not screen.is_terminal:
                ratio = row.get("ratio_native")
                took = f"{bench_table.milliseconds(row.get('time_us'))} ms" if bench.is_good(row) else bench_table.status_text(row)
                screen.print(f"[{len(rows)}/{total}] {cell}: {took}" + (f", {ratio:.2f} x native" if ratio else ""), soft_wrap=True)
    return rows
