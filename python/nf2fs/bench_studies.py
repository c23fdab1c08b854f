# SPDX-License-Identifier: BSD-2-Clause
"""The studies of `norbench`: random overwrites, lifespan, latency, directories, space. Minutes to hours each, so commands of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.table import Table as RichTable

from . import bench, plots, study_page, study_tables
from .bench_run import CellOption, names, run_with_progress

FOLDER = "build/studies"
IDLE_US = 200_000               # idle time after each operation, where there is any
LOG_IDLE_US = 2_000_000         # after each round of a log of 512 KiB
MEAN = 300
# Those that a gate asks for; the others with --all.
OVERWRITES = ("ow4k-25", "ow4k-50", "ow4k-75", "ow4k-90", "ow16k-50", "ow1k-50", "ow256-50", "ow256u-50")

FsOption = Annotated[str, typer.Option("--fs", "-f", help="File systems. Names with commas between.")]
JsonOption = Annotated[Optional[str], typer.Option("--json", metavar="FILE", help="Append rows to this file, as JSON lines.")]
ResultsOption = Annotated[Optional[str], typer.Option("--results", metavar="FILE", help="Take the rows from this file and run nothing.")]
TimeoutOption = Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell.")]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, max=bench.JOBS_MAX, help="Cells at a time.")]
FolderOption = Annotated[str, typer.Option("--directory", metavar="DIRECTORY", help="Where plots go.")]

TIMEOUT_S = 4 * bench.TIMEOUT_S


def print_table(title: str, table: study_tables.Table) -> None:
    headings, rows = table
    shown = RichTable(title=title, title_justify="left")
    for index, heading in enumerate(headings):
        numeric = bool(rows) and all(row[index][:1].isdigit() or row[index] == "-" for row in rows)
        shown.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    screen = Console(highlight=False, markup=False)
    (screen if screen.is_terminal else Console(highlight=False, markup=False, width=230)).print(shown)


def gather(cells: Callable[[bench.Catalogue], list[bench.Cell]], group: str, fs: str, cell: str | None, jobs: int, timeout: int,
           json_path: str | None, results: str | None, chip: str | None = None) -> list[bench.Row]:
    """The rows of a study: run now, or of a file."""
    if results:
        wanted = names(fs)
        rows = [row for row in bench.read_rows(results) if row.get("group") == group or "group" not in row]
        rows = [row for row in rows if row["fs"] in wanted]
    else:
        program = bench.find_program(cell)
        catalogue = bench.read_catalogue(program)
        bench.check_file_systems(names(fs), catalogue)
        bench.check_chips(program, [chip] if chip else [])
        wanted_cells = cells(catalogue)
        bench.expand([one.workload for one in wanted_cells], catalogue)
        rows = run_with_progress(wanted_cells, program, jobs, timeout, json_path)
        rows = [row for row in rows if row["fs"] in names(fs)]
    if not rows:
        raise bench.BenchError("nothing was measured")
    return sorted(rows, key=lambda row: (row["workload"], row.get("chip", ""), row.get("maintain_budget_us", 0), row["fs"]))


def show_plots(*paths: Path | None) -> None:
    for path in paths:
        if path is not None:
            print(path)


def finish(rows: list[bench.Row]) -> None:
    if not all(bench.is_good(row) for row in rows):
        raise typer.Exit(1)


def idle_for(fs: str, idle_us: int) -> int:
    """File systems without idle work of their own have one row."""
    return 0 if bench.base_name(fs) in bench.WITHOUT_IDLE else idle_us


# ---- commands ----

def overwrite(
    fs: FsOption = "nf2fs,littlefs",
    workload: Annotated[Optional[str], typer.Option("--workload", "-w", help="Only these. Names with commas between.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every access size and fill, skew, mixes, small ranges and files: an hour.")] = False,
    chip: Annotated[Optional[str], typer.Option("--chip", "-c", help="Another chip: w25q128/32M.")] = None,
    maintain: Annotated[int, typer.Option("--maintain", min=0, metavar="US", help="Idle microseconds after each access.")] = 0,
    folder: FolderOption = FOLDER,
    json_path: JsonOption = None, results: ResultsOption = None, jobs: JobsOption = 1, timeout: TimeoutOption = TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """Random overwrites beside the chip's bound."""
    def cells(catalogue: bench.Catalogue) -> list[bench.Cell]:
        wanted = names(workload) if workload else [name for name in catalogue.groups.get("overwrite", [])
                                                         if (every and name != "owread") or name in OVERWRITES]
        return [bench.Cell(system, chip or catalogue.chip_of(one), one, maintain_us=idle_for(system, maintain))
                for one in wanted for system in names(fs)]

    rows = gather(cells, "overwrite", fs, cell, jobs, timeout, json_path, results, chip)
    print_table("Steady random overwrite; programs, pages read and erases are those of one access", study_tables.overwrite(rows))
    show_plots(*(plots.overwrite(Path(folder) / f"overwrite-{one.replace('/', '-')}.svg", rows, one)
                 for one in dict.fromkeys(row.get("chip", "") for row in rows)))
    finish(rows)


def latency(
    fs: FsOption = "nf2fs,littlefs",
    workload: Annotated[Optional[str], typer.Option("--workload", "-w", help="Only these. Names with commas between.")] = None,
    state: Annotated[str, typer.Option("--state", "-s", help="fresh or aged.")] = "aged",
    folder: FolderOption = FOLDER,
    json_path: JsonOption = None, results: ResultsOption = None, jobs: JobsOption = 1, timeout: TimeoutOption = TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """Each kind of call at 25 to 95% fill, plotted."""
    bench.check_states([state])

    def cells(catalogue: bench.Catalogue) -> list[bench.Cell]:
        wanted = names(workload) if workload else catalogue.groups.get("latency", [])
        found = [bench.Cell(system, catalogue.chip_of(one), one, state, maintain_us=idle) for one in wanted for system in names(fs)
                 for idle in ((0, IDLE_US) if idle_for(system, IDLE_US) else (0,))]
        return list(dict.fromkeys(found))

    rows = gather(cells, "latency", fs, cell, jobs, timeout, json_path, results)
    print_table("Calls by kind (page convention, fast reads)", study_tables.latency(rows))
    show_plots(plots.latency(Path(folder) / "latency.svg", rows))
    finish(rows)


def directory_plots(folder: Path, rows: list[bench.Row]) -> list[Path | None]:
    return [plots.directory(folder / f"directory-{measure.split('_')[0]}.svg", rows, measure) for measure in plots.OPERATIONS]


def directory(
    fs: FsOption = "nf2fs,littlefs",
    workload: Annotated[Optional[str], typer.Option("--workload", "-w", help="Only these. Names with commas between.")] = None,
    folder: FolderOption = FOLDER,
    json_path: JsonOption = None, results: ResultsOption = None, jobs: JobsOption = 1, timeout: TimeoutOption = TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """Directories of 10 to 10,000 entries, plotted."""
    def cells(catalogue: bench.Catalogue) -> list[bench.Cell]:
        wanted = names(workload) if workload else catalogue.groups.get("directory", [])
        return [bench.Cell(system, catalogue.chip_of(one), one) for one in wanted for system in names(fs)]

    rows = gather(cells, "directory", fs, cell, jobs, timeout, json_path, results)
    print_table("A directory; means of one operation", study_tables.directory(rows))
    show_plots(*directory_plots(Path(folder), rows))
    finish(rows)


def space(
    fs: FsOption = "nf2fs,littlefs",
    json_path: JsonOption = None, results: ResultsOption = None, jobs: JobsOption = 1, timeout: TimeoutOption = TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """How much of a chip files can fill."""
    def cells(catalogue: bench.Catalogue) -> list[bench.Cell]:
        places = [("spacelarge", chip) for chip in ("w25q256/4M", "w25q256/16M", "w25q256", "is25le01g")]
        return [bench.Cell(system, chip, one) for one, chip in [*places, ("space100", catalogue.chip_of("space100"))] for system in names(fs)]

    rows = gather(cells, "space", fs, cell, jobs, timeout, json_path, results)
    print_table("Space until a write is refused", study_tables.space(rows))
    finish(rows)


# ---- lifespan ----

def wear_file(folder: str, cell: bench.Cell) -> Path:
    end = f"limit{cell.limit}" if cell.limit else f"{cell.mean}"
    return Path(folder) / f"wear-{cell.workload}-{cell.fs}-{cell.chip.replace('/', '-')}-{end}.txt"


def wear_counts(folder: str, cell: bench.Cell) -> list[int]:
    """The erases of each block in the order of their addresses; none where the cell failed."""
    path = wear_file(folder, cell)
    return [int(line) for line in path.read_text().split()] if path.is_file() else []


def wear_plots(folder: Path, rows: list[bench.Row]) -> list[Path]:
    """Erases of the blocks in the order of their erases, one plot for each chip, workload and end of the run."""
    made = []
    for key in dict.fromkeys(study_page.life_key(row) for row in rows if row.get("wear")):
        curves = {row["fs"]: row["wear"] for row in rows if row.get("wear") and study_page.life_key(row) == key}
        made.append(plots.wear(folder / study_page.wear_name(key), study_page.life_title(key), curves))
    return made


def wear_address_plots(folder: str, cells: list[bench.Cell]) -> list[Path]:
    made = []
    for workload in dict.fromkeys(cell.workload for cell in cells):
        lines = {cell.fs: wear_counts(folder, cell) for cell in cells if cell.workload == workload}
        lines = {fs: counts for fs, counts in lines.items() if counts}
        if lines:
            made.append(plots.wear_by_address(Path(folder) / f"wear-{workload}-address.svg", workload, lines))
    return made


def run_lifespan(program: Path, cells: list[bench.Cell], folder: str, json_path: str | None, stored: bool) -> list[bench.Row]:
    screen = Console(stderr=True, highlight=False, markup=False)
    Path(folder).mkdir(parents=True, exist_ok=True)
    rows = []
    for index, cell in enumerate(cells, 1):
        with screen.status(str(cell)) as status:
            def show(line: str, index: int = index, cell: bench.Cell = cell) -> None:
                status.update(f"[{index}/{len(cells)}] {cell}: {line}")
                if not screen.is_terminal:
                    screen.print(f"[{index}/{len(cells)}] {cell}: {line}", soft_wrap=True)
            wear_file(folder, cell).unlink(missing_ok=True)
            more = ["--checkpoint", str(wear_file(folder, cell).with_suffix(".run").resolve())] if stored else []
            row = bench.run_watched(program, cell, ["--wear", str(wear_file(folder, cell)), *more], every_percent(show))
        if bench.is_good(row):
            row["wear"] = plots.histogram(wear_counts(folder, cell))
        rows.append(row)
        if json_path:
            bench.append_row(json_path, row)
    return rows


def every_percent(show: Callable[[str], None]) -> Callable[[str], None]:
    """Passes on a line of progress where a whole percent more is done, and what is no progress always."""
    last = -1

    def pass_on(line: str) -> None:
        nonlocal last
        words = line.split()
        try:
            percent = int(100 * float(words[1]) / float(words[3].rstrip(",")))
        except (IndexError, ValueError, ZeroDivisionError):
            show(line)
            return
        if percent > last:
            last = percent
            show(line)
    return pass_on


def lifespan(
    fs: FsOption = "nf2fs",
    workload: Annotated[str, typer.Option("--workload", "-w", help="Names with commas between.")] = "lifelog,lifelogd,lifesmall,lifesmalls",
    mean: Annotated[int, typer.Option("--mean", min=2, help="Until a block was erased so often in the mean.")] = MEAN,
    limit: Annotated[int, typer.Option("--limit", min=0, metavar="N", help="Until the first block was erased so often: what a chip bears.")] = 0,
    chip: Annotated[Optional[str], typer.Option("--chip", "-c", help="A smaller chip wears sooner: w25q256/4M.")] = None,
    idle: Annotated[bool, typer.Option("--idle/--no-idle", help="Idle time after each round, for file systems that use it.")] = True,
    stored: Annotated[bool, typer.Option("--checkpoint", help="Keep the run in the folder, each minute: the same command goes on where it was stopped.")] = False,
    folder: FolderOption = FOLDER, json_path: JsonOption = None, results: ResultsOption = None, cell: CellOption = None,
) -> None:
    """Wear a chip out: erases of each block, plotted.

    Half of it holds cold files. To a mean of erases, or until the first block is worn out; hours on a large chip.
    """
    cells = []
    if results:
        rows = gather(lambda catalogue: [], "lifespan", fs, cell, 1, 1, None, results)
    else:
        program = bench.find_program(cell)
        catalogue = bench.read_catalogue(program)
        bench.check_file_systems(names(fs), catalogue)
        bench.check_chips(program, [chip] if chip else [])
        cells = [bench.Cell(system, chip or catalogue.chip_of(one), one, mean=0 if limit else mean, limit=limit,
                            maintain_us=idle_for(system, LOG_IDLE_US if one.startswith("lifelog") else IDLE_US) if idle else 0)
                 for one in bench.expand(names(workload), catalogue) for system in names(fs)]
        rows = run_lifespan(program, cells, folder, json_path, stored)
    show_plots(*wear_plots(Path(folder), rows), *wear_address_plots(folder, cells))
    print_table("Erases of the blocks; `minimum`: payload / block size, in the measured stretch", study_tables.lifespan(rows))
    finish(rows)


# ---- the page ----

def studies(
    results: Annotated[list[str], typer.Argument(metavar="RESULTS...", help="Files of rows that were measured before.")],
    output: Annotated[str, typer.Option("--output", metavar="FILE", help="Where the page goes; its plots lie in a directory beside it.")] = "docs/STUDIES.md",
    plots_folder: Annotated[str, typer.Option("--plots", metavar="DIR", help="That directory, relative to the page.")] = "plots",
) -> None:
    """Write docs/STUDIES.md of rows measured before."""
    rows = [row for path in results for row in bench.read_rows(path)]
    folder = Path(output).parent / plots_folder
    drawn = [plots.overwrite(folder / "overwrite.svg", rows, study_page.CHIP), plots.latency(folder / "latency.svg", rows),
             *directory_plots(folder, rows), *wear_plots(folder, rows)]
    page = study_page.page(rows, {path.name for path in drawn if path is not None}, plots_folder)
    Path(output).write_text(page, encoding="utf-8")
    print(output)


def register(app: typer.Typer) -> None:
    for command in (overwrite, lifespan, latency, directory, space, studies):
        app.command(command.__name__)(command)
