# SPDX-License-Identifier: BSD-2-Clause
"""Commands over many cells: sweep, compare, choose; and those that record traces and cut the power."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from . import bench, bench_choose, bench_compare, bench_cuts, bench_elsewhere, bench_energy, bench_processor, bench_store, bench_sweep, bench_table, bench_validate
from .bench_run import CellOption, MhzOption, names

LIST_HELP = "Names with commas between."
TRACE_LIBRARY = "libnorbench-trace.so"
EMPTY_TRACE = b"NBTR\x01\0\0"      # its head, and the end of no entries


def register(app: typer.Typer) -> None:
    app.command("sweep")(sweep_command)
    app.command("compare")(compare_command)
    app.command("choose")(choose_command)
    app.command("record", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(record_command)
    app.command("cuts")(cuts_command)
    app.command("validate")(validate_command)


def numbers(text: str, what: str) -> list[int]:
    try:
        return [int(word) for word in names(text)]
    except ValueError:
        raise typer.BadParameter(f"{what} are numbers with commas between, not '{text}'") from None


def more_arguments(maps: bool, conditions: str, trace: str | None) -> list[str]:
    found = ["--maps"] if maps else []
    found += ["--conditions", conditions] if conditions else []
    if trace:
        if not Path(trace).is_file():
            raise bench.BenchError(f"{trace}: no such trace")
        found += ["--trace", str(Path(trace).resolve())]
    return found


class Bar:
    """Progress: a bar on a terminal, a line a cell elsewhere."""

    def __init__(self, total: int):
        self.screen = Console(stderr=True, highlight=False, markup=False)
        self.total, self.count = total, 0
        self.bars = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
                             console=self.screen, transient=True, disable=not self.screen.is_terminal)

    def __enter__(self):
        self.bars.__enter__()
        self.task = self.bars.add_task("", total=self.total)
        return self

    def __exit__(self, *error):
        self.bars.__exit__(*error)

    def done(self, task: bench_sweep.Task, row: bench.Row) -> None:
        self.count += 1
        self.bars.update(self.task, advance=1, description=str(task.cell))
        if not self.screen.is_terminal:
            took = f"{bench_table.milliseconds(row.get('time_us'))} ms" if bench.is_good(row) else bench_table.status_text(row)
            self.screen.print(f"[{self.count}/{self.total}] {task.cell}: {took}", soft_wrap=True)


def sweep_command(
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="JSON lines. What it has already is not made again.")],
    workload: Annotated[str, typer.Option("--workload", "-w", help=f"Workloads or groups. {LIST_HELP}")] = "core",
    fs: Annotated[str, typer.Option("--fs", "-f", help=f"File systems; all: each that is built. {LIST_HELP}")] = "all",
    chip: Annotated[Optional[str], typer.Option("--chip", "-c", help=f"Chips, sizes as in w25q256/4M, or files. {LIST_HELP} Default: the workload's own.")] = None,
    state: Annotated[str, typer.Option("--state", "-s", help=f"fresh, aged, aged75. {LIST_HELP}")] = "fresh",
    seed: Annotated[str, typer.Option("--seed", help="Seeds with commas between.")] = str(bench.SEED),
    maintain: Annotated[str, typer.Option("--maintain", metavar="US", help="Idle microseconds after each operation; several with commas between.")] = "0",
    maps: Annotated[bool, typer.Option("--maps", help="Keep where on the chip the work lay.")] = False,
    conditions: Annotated[str, typer.Option("--conditions", help="wear, content, hot: time_us_model is the time under them.")] = "",
    trace: Annotated[Optional[str], typer.Option("--trace", metavar="FILE", help="For the workload `trace`.")] = None,
    processor: Annotated[bool, typer.Option("--processor", help="Count the file system's instructions on a Cortex-M4 too (make processor).")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Cells at a time.")] = os.cpu_count() or 1,
    timeout: Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell.")] = bench.TIMEOUT_S,
    scheduler: Annotated[Optional[str], typer.Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler, as tcp://host:8786: its workers run the cells.")] = None,
    checkpoints: Annotated[Optional[str], typer.Option("--checkpoints", metavar="DIRECTORY", help="Keep the state of cells that run long: a cell that was stopped goes on in its middle.")] = None,
    parquet: Annotated[Optional[str], typer.Option("--parquet", metavar="FILE", help="At the end, write all rows as Parquet too.")] = None,
    cell: CellOption = None,
) -> None:
    """Run every combination, on all cores or on a cluster.

    Stop it at any time; the same command goes on where it was stopped. A row counts as done where program, arguments and files are the same.
    """
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    systems = catalogue.file_systems if fs == "all" else bench.check_file_systems(names(fs), catalogue)
    chips = names(chip) if chip else []
    bench.check_chips(program, chips)
    sweep = bench_sweep.Sweep(names(workload), systems, chips, bench.check_states(names(state)), numbers(seed, "seeds"), numbers(maintain, "idle times"),
                              more_arguments(maps, conditions, trace), processor)
    if processor and scheduler:
        raise typer.BadParameter("instructions are counted on this computer: leave out --scheduler or --processor")
    if checkpoints and scheduler:
        raise typer.BadParameter("checkpoints lie on this computer: leave out --scheduler or --checkpoints")
    folder = Path(checkpoints).resolve() if checkpoints else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    tasks = bench_sweep.tasks_of(sweep, sweep.cells(catalogue), program)
    path = Path(out)
    done = bench_sweep.read_done(path)
    left = [task for task in tasks if task.key() not in done]
    if len(left) < len(tasks):
        print(f"norbench: {len(tasks) - len(left)} of {len(tasks)} cells are done already", file=sys.stderr)
    failed = 0
    try:
        with Bar(len(left)) as bar:
            for row in bench_sweep.run(left, path, jobs, timeout, scheduler, bar.done, folder):
                failed += not bench.is_good(row)
    except KeyboardInterrupt:
        print(f"norbench: stopped; the same command goes on from {path}", file=sys.stderr)
        raise typer.Exit(130) from None
    if parquet:
        bench_store.write_parquet(parquet, bench.read_rows(path))
    print(f"norbench: {len(left)} cells run, {failed} failed (each with its reason), all in {path}", file=sys.stderr)


def compare_command(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A file of JSON lines or Parquet.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="Another one.")],
    limit: Annotated[float, typer.Option("--limit", min=0, help="Percent: smaller differences are not shown.")] = 2.0,
    fs: Annotated[Optional[str], typer.Option("--fs", help=f"Only these file systems. {LIST_HELP}")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 if a cell became worse by more than the limit, or fails now.")] = False,
) -> None:
    """Show which cells of two files differ, and by how much."""
    found = bench_compare.compare(bench_store.read_any(before), bench_store.read_any(after), limit, set(names(fs)) if fs else None)
    print(bench_compare.text(found))
    if strict and found.worse:
        raise typer.Exit(1)


def choose_command(
    workload: Annotated[Optional[str], typer.Option("--workload", "-w", help=f"Workloads or groups that are like yours. {LIST_HELP}")] = None,
    trace: Annotated[Optional[str], typer.Option("--trace", metavar="FILE", help="Your own application's calls (norbench record).")] = None,
    rate: Annotated[Optional[list[str]], typer.Option("--rate", metavar="WORKLOAD=RATE", help="How often an operation of a workload is made: log32d=100/s, config='each 1 min'. Gives power and years; may be repeated, and names the workloads, too.")] = None,
    limit: Annotated[str, typer.Option("--limit", help="What must be kept: ram=4096,code=40000,longest=20,years=5,mw=1 (bytes, ms).")] = "",
    chip: Annotated[str, typer.Option("--chip", "-c", help="Your chip: a name, a size as in w25q256/4M, or a file.")] = bench.DEFAULT_CHIP,
    fs: Annotated[str, typer.Option("--fs", "-f", help=f"Candidates; all: each that is built. {LIST_HELP}")] = "all",
    state: Annotated[str, typer.Option("--state", "-s", help=f"fresh, aged, aged75. {LIST_HELP}")] = "fresh,aged",
    processor: Annotated[bool, typer.Option("--processor", help="Count the file system's instructions on a Cortex-M4 too (make processor).")] = False,
    mhz: MhzOption = bench_processor.MHZ,
    elsewhere: Annotated[bool, typer.Option("--elsewhere/--no-elsewhere", help="Put rows of LittleFS 3 that were measured elsewhere beside, where there are some.")] = True,
    rows_path: Annotated[Optional[str], typer.Option("--rows", metavar="FILE", help="Keep the rows here, and take from it what is there.")] = None,
    cuts_path: Annotated[Optional[str], typer.Option("--cuts", metavar="FILE", help="Rows of `norbench cuts`: what each candidate lost at power cuts.")] = None,
    linux: Annotated[Optional[int], typer.Option("--linux", min=1, metavar="MIB", help="The target runs Linux and has so much memory: its own file systems are candidates, too (norbench linux).")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = os.cpu_count() or 1,
    timeout: Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell.")] = 600,
    cell: CellOption = None,
) -> None:
    """Which file system for my chip and my workload? A table, and a sentence on each candidate's worst point."""
    rates = tuple(bench_energy.parse_rate(one) for one in rate or [])
    limits = bench_energy.parse_limits(limit)
    workload = workload or ",".join(one.workload for one in rates) or None
    if bool(workload) == bool(trace):
        raise typer.BadParameter("name either workloads (--workload, --rate) or a trace of your application (--trace)")
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    systems = catalogue.file_systems if fs == "all" else bench.check_file_systems(names(fs), catalogue)
    bench.check_chips(program, [chip])
    wanted = bench.expand(names(workload), catalogue) if workload else []
    for one in rates:
        if one.workload not in wanted:
            raise typer.BadParameter(f"a rate is given for '{one.workload}', which is not among the workloads")
    sweep = bench_sweep.Sweep(names(workload) if workload else ["trace"], systems, [chip], bench.check_states(names(state)), more=more_arguments(False, "", trace), processor=processor)
    tasks = bench_sweep.tasks_of(sweep, sweep.cells(catalogue), program)
    rows = bench_choose.rows_for(tasks, rows_path, jobs, timeout, Bar)
    if elsewhere and not trace:
        rows += bench_elsewhere.beside(rows)
    cuts = bench.read_rows(cuts_path) if cuts_path else []
    advice = None
    if linux:
        from . import linux_choose
        theirs = linux_choose.measure(Path(linux_choose.DIRECTORY), [task.cell for task in tasks], more_arguments(False, "", trace), timeout, lambda text: print(f"norbench: {text}", file=sys.stderr))
        fitting, too_large = linux_choose.split_by_memory(theirs, linux)
        rows, advice = rows + fitting, linux_choose.advice(fitting, too_large, linux)
    print(bench_choose.answer(rows, cuts, chip, mhz, rates, limits))
    if advice:
        print("\n" + advice)


def record_command(
    context: typer.Context,
    root: Annotated[str, typer.Option("--root", metavar="DIRECTORY", help="The directory whose files are those of the volume.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The trace; without --fuse, further processes write FILE.NUMBER.")],
    fuse: Annotated[bool, typer.Option("--fuse", help="Lay a FUSE mount over the directory: all programs that use it are seen, in one trace. Without a program: until Ctrl-C.")] = False,
    cached: Annotated[bool, typer.Option("--cached", help="With --fuse: through the system's cache, as programs that map files need it; reads come in its pages then.")] = False,
    cell: CellOption = None,
) -> None:
    """Run a program of this computer and record its file calls below a directory: norbench record --root DIR --out FILE -- PROGRAM ARGUMENTS."""
    library = None if fuse else bench.find_program(cell).resolve().with_name(TRACE_LIBRARY)
    if library and not library.is_file():
        raise bench.BenchError(f"{library}: not built (it is for Linux)")
    if not context.args and not fuse:
        raise typer.BadParameter("name the program after --")
    if not Path(root).is_dir():
        raise bench.BenchError(f"{root}: no such directory")
    if Path(out).exists():
        raise bench.BenchError(f"{out} is there already")
    if library is None:
        from . import bench_fuse
        code = bench_fuse.record(root, out, context.args, cached)
    else:
        code = record_preloaded(library, root, out, context.args)
    report_traces(out)
    if code:
        raise typer.Exit(code if code > 0 else 1)


def record_preloaded(library: Path, root: str, out: str, command: list[str]) -> int:
    environment = os.environ | {"LD_PRELOAD": str(library), "NORBENCH_TRACE_ROOT": str(Path(root).resolve()), "NORBENCH_TRACE_FILE": str(Path(out).resolve())}
    try:
        return subprocess.run(command, env=environment).returncode
    except OSError as error:
        raise bench.BenchError(f"{command[0]}: {error.strerror}") from None


def report_traces(out: str) -> None:
    found = [Path(out), *sorted(Path(out).parent.glob(Path(out).name + ".*"))]
    found = [path for path in found if path.exists()]
    for path in [one for one in found if one.read_bytes() == EMPTY_TRACE]:     # of calls that all failed
        path.unlink()
        found.remove(path)
    if not found:
        raise bench.BenchError("the program made no call below that directory")
    for path in found:
        print(f"norbench: {path}: {path.stat().st_size} bytes", file=sys.stderr)
    if len(found) > 1:
        print("norbench: several processes took part, each with a trace of its own; where one uses what another made, its trace alone "
              "cannot be made again: --fuse records all of them in one", file=sys.stderr)


def cuts_command(
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="JSON lines; rows are appended.")],
    cuts: Annotated[int, typer.Option("--cuts", min=1, help="Cuts of each script, file system and chip.")] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 1,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = os.cpu_count() or 1,
    slice_: Annotated[bool, typer.Option("--slice", help="Few scripts.")] = False,
    fs: Annotated[str, typer.Option("--fs", "-f", help=f"File systems; all: each that is built. {LIST_HELP}")] = "all",
    script: Annotated[Optional[str], typer.Option("--script", metavar="NAME", help="Only this list of calls: append, replace, archive ..; a wrong name lists them.")] = None,
    cell: CellOption = None,
) -> None:
    """Cut the power in calls of every file system that is built, and say which promises were broken."""
    rows = bench_cuts.run(bench_cuts.programs(bench.find_program(cell)), cuts, seed, jobs, slice_, [] if fs == "all" else names(fs), script)
    for row in rows:
        bench.append_row(out, row)
    print(bench_cuts.markdown(rows))


def validate_command(
    rows_path: Annotated[str, typer.Option("--rows", metavar="FILE", help="Rows are kept here; what is there is not run again.")] = "build/validation.jsonl",
    output: Annotated[str, typer.Option("--output", metavar="FILE", help="Where the page goes.")] = "docs/VALIDATION.md",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = os.cpu_count() or 1,
    timeout: Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell.")] = 600,
    fresh: Annotated[bool, typer.Option("--fresh", help="Leave out the rows on aged chips.")] = False,
    cell: CellOption = None,
) -> None:
    """Put what papers print, and what was measured elsewhere, beside what is measured here: docs/VALIDATION.md."""
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    root = Path(__file__).resolve().parents[2]
    if not (root / bench_validate.PUBLISHED).is_file():
        raise bench.BenchError("validate needs the source tree")
    cells = [one for one in bench_validate.cells_of(root, catalogue) if not fresh or one.state == "fresh"]
    tasks = bench_sweep.tasks_of(bench_sweep.Sweep([], []), cells, program)
    rows = bench_choose.rows_for(tasks, rows_path, jobs, timeout, Bar)
    Path(output).write_text(bench_validate.page(root, rows, catalogue), encoding="utf-8")
