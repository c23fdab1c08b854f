# SPDX-License-Identifier: BSD-2-Clause
"""`norbench bounds`: every workload over NF2FS, each call beside its bound; docs/BOUNDS.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from . import bench, call_bounds, figures
from .bench_run import CellOption


def bounds(
    long: Annotated[bool, typer.Option("--long/--short", help="More chips, states and operations: ten minutes.")] = True,
    output: Annotated[str, typer.Option("--output", metavar="FILE", help="Where the page goes; - to print it only.")] = "docs/BOUNDS.md",
    json_path: Annotated[Optional[str], typer.Option("--json", metavar="FILE", help="Append the rows to this file.")] = None,
    measured: Annotated[Optional[str], typer.Option("--with", metavar="FILE", help="Rows of such a file that were measured with the same program before.")] = None,
    timeout: Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell.")] = bench.TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """Hold each call of every workload to its bound: docs/BOUNDS.md.

    Exit code 1 if one passes it.
    """
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    tables = [call_bounds.read_table(program, chip) for chip in call_bounds.CHIPS]
    known = [json.loads(line) for line in Path(measured).read_text(encoding="utf-8").splitlines()] if measured else []
    rows = []
    for text, row in call_bounds.measure(program, catalogue, call_bounds.long_runs if long else call_bounds.short_runs, timeout, known):
        print(text, file=sys.stderr, flush=True)
        rows.append(row)
        if json_path:
            bench.append_row(json_path, row)
    page = call_bounds.page(tables, rows, figures.command_line())
    if output == "-":
        print(page)
    else:
        Path(output).write_text(page, encoding="utf-8")
    if any(call_bounds.faults(row) for row in rows):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command("bounds")(bounds)
