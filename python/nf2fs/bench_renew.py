# SPDX-License-Identifier: BSD-2-Clause
"""`norbench renew`: measures anew the rows of a file that are of another core than the program's."""

from __future__ import annotations

import json
import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Optional

import typer

from . import bench, bench_studies, bench_table
from .bench_run import CellOption, names


def is_outdated(row: bench.Row, catalogue: bench.Catalogue) -> bool:
    return row.get("core") != catalogue.cores.get(bench.base_name(row["fs"]))


def chosen(rows: list[bench.Row], catalogue: bench.Catalogue, fs: list[str], workloads: list[str], chips: list[str], every: bool) -> list[bench.Row]:
    """The rows to make anew, in their order in the file."""
    return [row for row in rows if bench.base_name(row["fs"]) in fs and (every or is_outdated(row, catalogue))
            and (not chips or row.get("chip") in chips) and (not workloads or any(fnmatchcase(name, pattern) for pattern in workloads for name in (row["workload"], bench.base_name(row["workload"]))))]


def run_anew(program: Path, row: bench.Row, folder: str, timeout_s: int) -> bench.Row:
    """The same cell; of a lifespan with what the plots of its wear are made of, and kept each minute, so that it goes on where it was stopped."""
    cell = bench.cell_of(row)
    if row["workload"].startswith("life") and (row.get("mean") or row.get("limit")):
        return bench_studies.run_lifespan(program, [cell], folder, None, True)[0]
    return bench.run_cell(program, cell, timeout_s)


def was_stopped(row: bench.Row) -> bool:
    return row.get("status") == "timeout" or str(row.get("error", "")).startswith("signal ")


def write_rows(path: Path, rows: list[bench.Row]) -> None:
    """All at once: a run that is stopped leaves the old file or the new one."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.replace(unfinished, path)


def put(path: Path, row: bench.Row) -> None:
    """The row in the place of the one of its cell, in the file as it is now; behind all others where there is none."""
    rows = bench.read_rows(path)
    native = next((one for one in rows if one["fs"] == bench.NATIVE and bench.row_key(one)[1:] == bench.row_key(row)[1:]), None)
    row = bench.with_ratio(row, native)
    key = bench.row_key(row)
    places = [index for index, one in enumerate(rows) if bench.row_key(one) == key]
    if places:
        rows[places[0]] = row
    else:
        rows.append(row)
    write_rows(path, rows)


def renew(
    path: Annotated[str, typer.Argument(metavar="FILE", help="Rows as JSON lines; each new one is written before the next begins.")],
    fs: Annotated[str, typer.Option("--fs", "-f", help="Only rows of these file systems. Names with commas between.")] = "nf2fs",
    workload: Annotated[Optional[str], typer.Option("--workload", "-w", help="Only these, as ow4k-* or wear. Names with commas between.")] = None,
    chip: Annotated[Optional[str], typer.Option("--chip", "-c", help="Only those on these chips. Names with commas between.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Rows of the program's own core, too.")] = False,
    show: Annotated[bool, typer.Option("--list", help="Say which rows they are, and run nothing.")] = False,
    folder: Annotated[str, typer.Option("--directory", metavar="DIRECTORY", help="Where runs of lifespans are kept.")] = bench_studies.FOLDER,
    timeout: Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell; a lifespan has as many as it needs.")] = bench_studies.TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """Measure rows anew that are of another core than the program's, and leave the others alone.

    Stop it at any time; the same command goes on where it was stopped.
    """
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    systems = bench.check_file_systems(names(fs), catalogue)
    for name in systems:
        if not every and bench.base_name(name) not in catalogue.cores:
            raise bench.BenchError(f"the program does not say of which sources {name} is, so no row of it can be told to be old; --all takes all")
    file = Path(path)
    if not file.is_file():
        raise bench.BenchError(f"{path}: no such file")
    found = chosen(bench.read_rows(file), catalogue, systems, names(workload or ""), names(chip or ""), every)
    if not found:
        print(f"norbench: {path} has no such row", file=sys.stderr)
        return
    stopped = failed = 0
    for index, row in enumerate(found, 1):
        text = f"[{index}/{len(found)}] {bench.cell_of(row)}"
        if show:
            print(f"{bench.cell_of(row)}: core {row.get('core') or 'not named'}")
            continue
        anew = run_anew(program, row, folder, timeout)
        if was_stopped(anew):
            stopped += 1
            print(f"{text}: {anew.get('error')}; the old row stays", file=sys.stderr, flush=True)
            continue
        put(file, anew)
        failed += not bench.is_good(anew)
        took = f"{bench_table.milliseconds(anew.get('time_us'))} ms" if bench.is_good(anew) else bench_table.status_text(anew)
        print(f"{text}: {took}", file=sys.stderr, flush=True)
    if failed:
        print(f"norbench: {failed} of these rows failed: each says why", file=sys.stderr)
    if stopped:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command("renew")(renew)
