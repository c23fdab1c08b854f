# SPDX-License-Identifier: BSD-2-Clause
"""`norbench linux`: the file systems of the Linux kernel, measured in a virtual machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.table import Table

from . import (
    bench,
    bench_table,
    figures,
    linux_choose,
    linux_machine,
    linux_page,
    linux_plan,
    linux_run,
)
from .bench_campaign import more_arguments
from .bench_run import names, table_console

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The file systems of the Linux kernel (JFFS2, UBIFS, cramfs, squashfs), in a virtual "
    "machine under Debian's kernel; each operation of its flash is done again on the virtual "
    "chip, which counts it.",
)
DIRECTORY = linux_choose.DIRECTORY
DirectoryOption = Annotated[
    str,
    typer.Option("--directory", metavar="DIRECTORY", help="Where the machine is made and kept."),
]
LIST_HELP = "Names with commas between."


def say(text: str) -> None:
    print(f"norbench: {text}", file=sys.stderr, flush=True)


def report(row: bench.Row) -> None:
    took = (
        bench_table.status_text(row)
        if not bench.is_good(row)
        else f"{bench_table.milliseconds(row['time_us'])} ms"
        if "time_us" in row
        else "ok"
    )
    say(f"{row['workload']} on {row['fs']} ({row['chip']}): {took}")


@app.command("build")
def build_command(directory: DirectoryOption = DIRECTORY) -> None:
    """Make the machine from packages of the Debian registry, or say what is missing for that."""
    machine = linux_machine.build(Path(directory), say)
    for name, version in sorted(machine.facts["packages"].items()):
        print(f"{name} {version}")


@app.command("list")
def list_command(directory: DirectoryOption = DIRECTORY) -> None:
    """List the file systems that the machine has."""
    machine = linux_machine.build(Path(directory), say)
    for item in linux_run.file_systems(machine):
        print(f"{item['name']:<18} {item['description']}")


def kernel_table(rows: list[bench.Row]) -> Table:
    table = Table(title="in the kernel, with its caches dropped", title_justify="left")
    for heading in (
        "workload",
        "fs",
        "memory KiB",
        "modules KiB",
        "mount ms",
        "threads after it ms",
        "done by threads %",
    ):
        table.add_column(heading, justify="left" if heading in ("workload", "fs") else "right")
    for row in rows:
        if "kernel_module_bytes" in row:
            all_us = row["kernel_background_us"] + row["kernel_foreground_us"]
            table.add_row(
                row["workload"],
                row["fs"],
                f"{row['ram_bytes'] / 1024:,.0f}",
                f"{row['kernel_module_bytes'] / 1024:,.0f}",
                bench_table.milliseconds(row["kernel_attach_us"] + row["kernel_mount_us"]),
                bench_table.milliseconds(row["kernel_after_mount_us"]),
                f"{100 * row['kernel_background_us'] / max(all_us, 1):.0f}",
            )
    return table


@app.command("run")
def run_command(
    workload: Annotated[
        str, typer.Option("--workload", "-w", help=f"Workloads or groups. {LIST_HELP}")
    ],
    fs: Annotated[
        str, typer.Option("--fs", "-f", help=f"File systems of `norbench linux list`. {LIST_HELP}")
    ] = "jffs2,ubifs",
    chip: Annotated[
        str,
        typer.Option(
            "--chip",
            "-c",
            help="Chips, or files that describe one; NAND only in the sizes that the kernel "
            f"simulates. {LIST_HELP}",
        ),
    ] = bench.DEFAULT_CHIP,
    state: Annotated[
        str, typer.Option("--state", "-s", help=f"fresh, aged, aged75. {LIST_HELP}")
    ] = "fresh",
    maps: Annotated[
        bool,
        typer.Option("--maps", help="Keep of each block its erases, programs and reads."),
    ] = False,
    trace: Annotated[
        Optional[str], typer.Option("--trace", metavar="FILE", help="For the workload `trace`.")
    ] = None,
    json_path: Annotated[
        Optional[str],
        typer.Option("--json", metavar="FILE", help="Append rows to this file, as JSON lines."),
    ] = None,
    timeout: Annotated[
        int, typer.Option("--timeout", min=1, help="Seconds for one cell.")
    ] = bench.TIMEOUT_S,
    directory: DirectoryOption = DIRECTORY,
) -> None:
    """Run workloads over file systems of the Linux kernel and print a table."""
    more = more_arguments(maps, "", trace)
    machine = linux_machine.build(Path(directory), say)
    catalogue = bench.parse_catalogue(bench.read_list(machine.cell))
    systems = bench.check_file_systems(names(fs), catalogue)
    bench.check_chips(machine.cell, names(chip))
    cells = [
        bench.Cell(system, one_chip, one, one_state)
        for one_chip in names(chip)
        for one_state in bench.check_states(names(state))
        for one in bench.expand(names(workload), catalogue)
        for system in systems
    ]

    def keep(row: bench.Row) -> None:
        report(row)
        if json_path:
            bench.append_row(json_path, row)

    rows = linux_run.run(
        machine, [linux_run.cell_job(cell, *more) for cell in cells], timeout, keep
    )
    for table in [*bench_table.rich_tables(rows), kernel_table(rows)]:
        table_console().print(table)
    if not all(bench.is_good(row) for row in rows):
        raise typer.Exit(1)


@app.command("page")
def page_command(
    rows_path: Annotated[
        str,
        typer.Option(
            "--rows",
            metavar="FILE",
            help="Rows are kept here; what is there is not measured again.",
        ),
    ] = "norbench/data/rows/linux.jsonl",
    output: Annotated[
        str,
        typer.Option("--output", metavar="FILE", help="Where the page goes; - to print it only."),
    ] = "docs/LINUX.md",
    measure: Annotated[
        bool,
        typer.Option(
            "--measure/--no-measure",
            help="Measure the rows that are missing (an hour), or make the page of those that "
            "are there.",
        ),
    ] = True,
    timeout: Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one row.")] = 900,
    directory: DirectoryOption = DIRECTORY,
) -> None:
    """Put the tables of Sharif's comparison, and workloads, on a page: docs/LINUX.md."""
    known = bench.read_rows(rows_path) if Path(rows_path).is_file() else []
    if measure:
        machine = linux_machine.build(Path(directory), say)

        def keep(row: bench.Row) -> None:
            report(row)
            bench.append_row(rows_path, row)

        known = linux_plan.measure(
            machine, Path(directory), linux_plan.rows_of_page(), known, timeout, keep
        )
    text = linux_page.page(known, figures.command_line())
    if output == "-":
        print(text)
    else:
        Path(output).write_text(text, encoding="utf-8")
