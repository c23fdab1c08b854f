# SPDX-License-Identifier: BSD-2-Clause
"""`norbench`: runs, compares and reports benchmark cells. Exit codes: 0 done, 1 an error or a failed cell, 2 wrong usage."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Optional

import typer

from . import bench, bench_best, bench_bounds, bench_campaign, bench_cuts, bench_curves, bench_flame, bench_peers, bench_processor, bench_renew, bench_store, bench_studies, bench_table, bench_wake, bench_wear, core_digest, figures, linux_cli
from .bench_run import CellOption, MhzOption, names, print_tables, run_with_progress
from .cli import run as run_application
from .commands.app import every_command

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
                  rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]},
                  help="Runs workloads over file systems on a virtual NOR chip that counts and charges every operation. "
                       "Each cell (file system, workload, state) is one run of the program norbench-cell.")

LIST_HELP = "Names with commas between."

app.callback()(every_command)
bench_studies.register(app)
bench_bounds.register(app)
bench_campaign.register(app)
bench_wear.register(app)
bench_wake.register(app)
bench_best.register(app)
bench_curves.register(app)
bench_renew.register(app)
app.add_typer(linux_cli.app, name="linux")


@app.command("run")
def run_command(
    workload: Annotated[Optional[str], typer.Option("--workload", "-w", help=f"Workloads or groups. {LIST_HELP} Default: core, or trace with --trace.")] = None,
    fs: Annotated[str, typer.Option("--fs", "-f", help=f"File systems. {LIST_HELP}")] = "native,nf2fs,littlefs",
    chip: Annotated[Optional[str], typer.Option("--chip", "-c", help=f"Chips. {LIST_HELP} Default: the workload's own, else {bench.DEFAULT_CHIP}.")] = None,
    state: Annotated[str, typer.Option("--state", "-s", help=f"fresh, aged, aged75. {LIST_HELP}")] = "fresh",
    seed: Annotated[str, typer.Option("--seed", help="Seeds of contents, names and offsets. Of several, with commas between, the median is printed, with the spread where it is above 1%.")] = str(bench.SEED),
    maintain: Annotated[int, typer.Option("--maintain", min=0, metavar="US", help="Idle microseconds after each operation.")] = 0,
    trace: Annotated[Optional[str], typer.Option("--trace", metavar="FILE", help="The recorded calls of an application (norbench record).")] = None,
    processor: Annotated[bool, typer.Option("--processor", help="Count the file system's instructions on a Cortex-M4 too (make processor).")] = False,
    mhz: MhzOption = bench_processor.MHZ,
    json_path: Annotated[Optional[str], typer.Option("--json", metavar="FILE", help="Append rows to this file, as JSON lines.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=bench.JOBS_MAX, help="Cells at a time.")] = bench.JOBS_MAX,
    timeout: Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell.")] = bench.TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """Run workloads and print a table.

    Native is run too where it was not asked for: times are compared with it.
    """
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    systems = bench.check_file_systems(names(fs), catalogue)
    states = bench.check_states(names(state))
    bench.check_chips(program, names(chip) if chip else [])
    cells = [bench.Cell(system, one_chip, one, one_state, one_seed, maintain) for one_state in states for one_seed in bench_campaign.numbers(seed, "seeds")
             for one in bench.expand(names(workload or ("trace" if trace else "core")), catalogue)
             for one_chip in (names(chip) if chip else [catalogue.chip_of(one)]) for system in systems]
    if not cells:
        raise typer.BadParameter("nothing to run")
    rows = run_with_progress(cells, program, jobs, timeout, json_path, processor, bench_campaign.more_arguments(False, "", trace))
    print_tables(rows, mhz)
    if not all(bench.is_good(row) for row in rows):
        raise typer.Exit(1)


@app.command("list")
def list_command(cell: CellOption = None,
                 as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List workloads, file systems and chips."""
    found = bench.read_catalogue(bench.find_program(cell))
    if as_json:
        print(json.dumps(vars(found), indent=2))
        return
    print("file systems:")
    for name in found.file_systems:
        print(f"  {name:<26} {found.descriptions.get(name, '')}".rstrip())
    print("workloads (* takes minutes; only run where it is named):")
    for name in found.workloads:
        print(f"  {name + ('*' if name in found.long else ''):<26} {found.descriptions.get(name, '')}".rstrip())
    print("chips:")
    print("  " + ", ".join(found.chips))
    print("groups:")
    for name, members in found.groups.items():
        print(f"  {name:<26} {', '.join(members)}")


@app.command("peers")
def peers_command(cell: CellOption = None,
                  as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say which file systems are built, and how to get the others."""
    found = bench.read_catalogue(bench.find_program(cell))
    if as_json:
        print(json.dumps(bench_peers.facts(set(found.file_systems)), indent=2))
    else:
        bench_peers.print_facts(found)


def stacks_of(flame: str | None, cell: str | None) -> dict[str, dict]:
    """The folded call stacks of the cells that were named."""
    found = {}
    program = bench.find_program(cell) if flame else None
    catalogue = bench.read_catalogue(program) if flame else None
    with tempfile.TemporaryDirectory() as directory:
        for name in names(flame or ""):
            fs, _, workload = name.partition(":")
            bench.check_file_systems([fs], catalogue)
            for one in bench.expand([workload], catalogue):
                asked = bench.Cell(fs, catalogue.chip_of(one), one)
                found[f"{fs}, {one}"] = bench_flame.measure(program, asked, Path(directory), bench.TIMEOUT_S)
    return found


@app.command()
def report(
    results: Annotated[list[str], typer.Argument(metavar="RESULTS...", help="Files of JSON lines or Parquet.")],
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    html: Annotated[Optional[str], typer.Option("--html", metavar="FILE", help="Write one page with plots, readable without a network.")] = None,
    parquet: Annotated[Optional[str], typer.Option("--parquet", metavar="FILE", help="Write the rows as Parquet.")] = None,
    title: Annotated[str, typer.Option("--title", help="Of the page.")] = "NOR flash file systems",
    flame: Annotated[Optional[str], typer.Option("--flame", metavar="FS:WORKLOAD", help="Flame graphs of these cells on the page; they are run for it. Several with commas between.")] = None,
    mhz: MhzOption = bench_processor.MHZ,
    cell: CellOption = None,
) -> None:
    """Print the tables of result files, or write them as a page.

    Of several rows of one cell the last counts.
    """
    rows = [row for path in results for row in bench_store.read_any(path)]
    if not rows:
        raise bench.BenchError("no results in " + ", ".join(results))
    if html:
        from . import bench_page
        bench_page.write(html, rows, title, stacks_of(flame, cell), mhz)
    if parquet:
        bench_store.write_parquet(parquet, rows)
    natives = {bench.row_key(row)[1:]: row for row in rows if row["fs"] == bench.NATIVE}
    rows = [bench.with_ratio(row, natives.get(bench.row_key(row)[1:])) for row in rows]
    cells, cuts = [row for row in rows if not bench_cuts.is_cuts(row)], [row for row in rows if bench_cuts.is_cuts(row)]
    if as_markdown:
        print("\n".join([*core_digest.lines_of(cells, figures.ROOT), "", *([bench_table.markdown(cells, mhz)] if cells else []), *(["### Power cuts", "", bench_cuts.markdown(cuts)] if cuts else [])]))
    elif not (html or parquet):
        print_tables(cells, mhz)
        if cuts:
            print(bench_cuts.markdown(cuts))


@app.command("figures")
def figures_command(
    results: Annotated[Optional[str], typer.Option("--results", metavar="FILE", help="Take the rows from this file and run nothing.")] = None,
    json_path: Annotated[Optional[str], typer.Option("--json", metavar="FILE", help="Append the rows to this file.")] = None,
    measured: Annotated[Optional[list[str]], typer.Option("--with", metavar="FILE", help="Rows of long cells that were measured before; those cells are not run.")] = None,
    long: Annotated[bool, typer.Option("--long", help="Run the long cells too (hours).")] = False,
    output: Annotated[str, typer.Option("--output", metavar="FILE", help="Where the page goes; - to print it only.")] = "docs/FIGURES.md",
    readme: Annotated[str, typer.Option("--readme", metavar="FILE", help="Its block between the figures marks is replaced.")] = "README.md",
    fs: Annotated[Optional[str], typer.Option("--fs", "-f", help=f"Run only the cells of these file systems, of native, nf2fs, littlefs. {LIST_HELP}")] = None,
    gate: Annotated[Optional[str], typer.Option("--gate", help=f"Only these gates; wear-*: all that begin so. {LIST_HELP}")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=bench.JOBS_MAX)] = bench.JOBS_MAX,
    timeout: Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell.")] = bench.TIMEOUT_S,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 if a gate is not met.")] = False,
    cell: CellOption = None,
) -> None:
    """Measure every gate: docs/FIGURES.md.

    The README's table is made anew too.
    """
    gates = figures.load_gates(only=names(gate) if gate else None)
    if results:
        rows = bench.read_rows(results)
    else:
        program = bench.find_program(cell)
        catalogue = bench.read_catalogue(program)
        known = [row for path in measured or [] for row in bench.read_rows(path)]
        wanted = bench.check_file_systems(names(fs), catalogue) if fs else list(figures.SYSTEMS)
        cells, absent = figures.cells_for(gates, catalogue, long, wanted)
        cells = figures.without(cells, known)
        for workload in absent:
            print(f"norbench: no workload is named '{workload}': its gates are not measured", file=sys.stderr)
        if not gate:
            used = figures.without(figures.used_cells(catalogue), known)
            cells += [one for one in used if one not in cells and (not fs or one.fs in wanted)]
        rows = known + run_with_progress(cells, program, jobs, timeout, json_path, known=known)
    if not any(row["workload"] == figures.target.WORKLOAD for row in rows):
        for row in figures.target_rows(gates):
            rows.append(row)
            if json_path:
                bench.append_row(json_path, row)
    outcomes = [figures.measure(one, rows) for one in gates]
    page = figures.page(outcomes, rows, figures.command_line())
    if output == "-":
        print(page)
    else:
        figures.write_page(output, page)
        if not gate and figures.replace_block(readme, figures.readme_table(rows)) is False:
            print(f"norbench: {readme} has no figures marks: left as it is", file=sys.stderr)
    missed = [one for one in outcomes if one.verdict != "met"]
    for one in missed:
        print(f"{one.gate.id}: {one.verdict}", file=sys.stderr)
    print(f"{len(outcomes) - len(missed)} of {len(outcomes)} gates met", file=sys.stderr)
    if strict and missed:
        raise typer.Exit(1)


def main(arguments: list[str] | None = None) -> None:
    try:
        run_application(app, "norbench", arguments)
    except (bench.BenchError, figures.GateError) as error:
        print(f"norbench: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
