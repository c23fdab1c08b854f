# SPDX-License-Identifier: BSD-2-Clause
"""Benchmark cells: one cell is one run of the norbench-cell program, which prints one JSON line.

The measuring is all in that program; this module only arranges cells, compares them with native and
keeps the rows.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

PROGRAM = "norbench-cell"
MORE_PROGRAMS = ("norbench-cell-gpl", "norbench-cell-own")     # the same with other peers: see peers/README.md
NATIVE = "native"
WITHOUT_IDLE = (NATIVE, "fatfs")                  # they do nothing in idle time
JOBS_MAX = 2
TIMEOUT_S = 1800
SEED = 42
STATES = ("fresh", "aged", "aged75")
DEFAULT_CHIP = "w25q256"
# What a first look wants, minutes not hours: every kind of load, once.
CORE = ("mountclean", "uncleanwrite", "create", "create32", "read32", "delete32", "config", "swrite", "swrited", "rread",
        "rwrite20", "rwrite200", "log32", "log32d", "ota2m", "bbburn", "bbtraverse")

Row = dict


class BenchError(Exception):
    """Something about the benchmark that the user can mend."""


@dataclass(frozen=True)
class Cell:
    fs: str
    chip: str
    workload: str
    state: str = "fresh"
    seed: int = SEED
    maintain_us: int = 0
    mean: int = 0               # mean of a block's erases at which a lifespan row ends; 0: the workload's own
    limit: int = 0              # it ends when a block was erased so often; 0: at the mean

    def native(self) -> "Cell":
        return replace(self, fs=NATIVE)

    def arguments(self) -> list[str]:
        idle = ["--maintain", str(self.maintain_us)] if self.maintain_us else []
        end = ["--limit", str(self.limit)] if self.limit else ["--mean", str(self.mean)] if self.mean else []
        return ["--fs", self.fs, "--chip", self.chip, "--workload", self.workload, "--state", self.state,
                "--seed", str(self.seed), *idle, *end]

    def __str__(self) -> str:
        idle = f", {self.maintain_us / 1000:g} ms idle" if self.maintain_us else ""
        return f"{self.workload} on {self.fs} ({self.chip}, {self.state}{idle})"


@dataclass
class Catalogue:
    """What the program can run."""
    workloads: list[str] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    file_systems: list[str] = field(default_factory=list)
    descriptions: dict[str, str] = field(default_factory=dict)
    chips: list[str] = field(default_factory=list)
    workload_chips: dict[str, str] = field(default_factory=dict)    # the chip that a workload is defined on
    long: list[str] = field(default_factory=list)                   # workloads of minutes: run only where they are named

    options: dict[str, list[str]] = field(default_factory=dict)     # what may stand behind a workload's name
    settings: dict[str, list[str]] = field(default_factory=dict)    # and behind a file system's
    cores: dict[str, str] = field(default_factory=dict)             # the digest of a file system's sources, where it says one

    def chip_of(self, workload: str) -> str:
        return self.workload_chips.get(base_name(workload), DEFAULT_CHIP)


def base_name(text: str) -> str:
    """The name without its options: `wake` of `wake:count=1000`."""
    return text.split(":")[0]


def find_program(given: str | None = None) -> Path:
    """The program named on the command line or in $NORBENCH_CELL, of a build folder, or on the PATH."""
    named = given or os.environ.get("NORBENCH_CELL")
    if named:
        if not Path(named).is_file():
            raise BenchError(f"{named}: no such program")
        return Path(named)
    package = Path(__file__).resolve().parent
    root = package.parent.parent
    for folder in (package, root / "build", root / "build" / "norbench", root / "build" / "bin"):
        if (folder / PROGRAM).is_file():
            return folder / PROGRAM
    built = [path for path in (root / "build").glob(f"*/**/{PROGRAM}") if path.is_file()]
    if built:
        return max(built, key=lambda path: path.stat().st_mtime)    # the newest
    on_path = shutil.which(PROGRAM)
    if on_path:
        return Path(on_path)
    raise BenchError(f"the program {PROGRAM} was not found: build it (`make release` in a clone of the repository), or name it with --cell or in NORBENCH_CELL")


# ---- what there is ----

def read_catalogue(program: Path) -> Catalogue:
    """What the program and those beside it can run."""
    found = parse_catalogue(read_list(program))
    for name, (_, text, settings) in beside(program).items():
        found.file_systems.append(name)
        found.descriptions[name] = text
        found.settings[name] = settings
    return found


def read_list(program: Path) -> dict:
    done = subprocess.run([str(program), "--list"], capture_output=True, text=True, timeout=60)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise BenchError(f"{program} --list printed no JSON: {done.stderr.strip()}") from None


@lru_cache
def beside(program: Path) -> dict[str, tuple[Path, str, list[str]]]:
    """The file systems that only a program beside this one has: that program, what they are, and their settings."""
    known = set(parse_catalogue(read_list(program)).file_systems)
    found = {}
    for name in MORE_PROGRAMS:
        other = Path(program).with_name(name)
        if other.is_file():
            theirs = parse_catalogue(read_list(other))
            found |= {fs: (other, theirs.descriptions.get(fs, ""), theirs.settings.get(fs, [])) for fs in theirs.file_systems if fs not in known and fs not in found}
    return found


def program_for(program: Path, fs: str) -> Path:
    """The program that runs this file system."""
    return beside(Path(program)).get(base_name(fs), (program,))[0]


def parse_catalogue(value: dict) -> Catalogue:
    """Names may come alone or as objects with `name`, and groups as an object or inside the workloads."""
    found = Catalogue()
    for item in value.get("workloads", []):
        name = _name(item)
        found.workloads.append(name)
        if isinstance(item, dict):
            found.descriptions[name] = str(item.get("description", ""))
            if item.get("long"):
                found.long.append(name)
            if item.get("options"):
                found.options[name] = item["options"].split(",")
            if item.get("chip"):
                found.workload_chips[name] = item["chip"]
            groups = item.get("groups", item.get("group", []))
            for group in [groups] if isinstance(groups, str) else groups:
                found.groups.setdefault(group, []).append(name)
    groups = value.get("groups", {})
    if isinstance(groups, dict):
        found.groups.update({name: list(members) for name, members in groups.items()})
    else:
        for item in groups:
            if isinstance(item, dict):
                found.groups[_name(item)] = [_name(member) for member in item.get("workloads", item.get("members", []))]
    found.chips = [_name(item) for item in value.get("chips", [])]
    core = [name for name in CORE if name in found.workloads]
    if core:
        found.groups.setdefault("core", core)
    for item in value.get("file_systems", value.get("fs", [])):
        found.file_systems.append(_name(item))
        if isinstance(item, dict):
            found.settings[_name(item)] = [key for key in item.get("settings", "").split(",") if key]
            if item.get("core"):
                found.cores[_name(item)] = item["core"]
            found.descriptions[_name(item)] = " ".join(str(item[key]) for key in ("version", "description") if key in item)
    return found


def _name(item) -> str:
    return item["name"] if isinstance(item, dict) else str(item)


def expand(names: Iterable[str], catalogue: Catalogue) -> list[str]:
    """Workload names, groups replaced by their members, each once, in order."""
    found: list[str] = []
    for name in names:
        if name == "all":
            members = [one for one in catalogue.workloads if one not in catalogue.long]
        elif name in catalogue.groups:
            members = catalogue.groups[name]
        elif base_name(name) in catalogue.workloads:
            check_options(name, catalogue.options, "option")
            members = [name]
        else:
            raise BenchError(f"no workload or group is named '{name}' (see `norbench list`)")
        found.extend(member for member in members if member not in found)
    return found


def check_options(name: str, options: dict[str, list[str]], what: str) -> None:
    """That the workload, or file system, has what stands behind its name; values are checked by the program."""
    base, colon, rest = name.partition(":")
    known = options.get(base, [])
    for word in rest.split(",") if colon else []:
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise BenchError(f"'{name}': {what}s are written NAME:KEY=VALUE,KEY=VALUE")
        if key not in known:
            raise BenchError(f"{base} has no {what} '{key}'" + (f": it has {', '.join(known)}" if known else ""))


def check_file_systems(names: Iterable[str], catalogue: Catalogue) -> list[str]:
    for name in names:
        if base_name(name) not in catalogue.file_systems:
            raise BenchError(f"no file system is named '{base_name(name)}': there are {', '.join(catalogue.file_systems)}")
        check_options(name, catalogue.settings, "setting")
    return list(dict.fromkeys(names))


def check_chips(program: Path, chips: Iterable[str]) -> None:
    """That each is a chip for the program: a wrong name or file is one error, not one of every cell."""
    for chip in dict.fromkeys(chips):
        done = subprocess.run([str(program), "--list", "--chip", chip], capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise BenchError(done.stderr.strip().removeprefix(f"{PROGRAM}: ") or f"no chip is named '{chip}'")


def check_states(states: Iterable[str]) -> list[str]:
    states = list(dict.fromkeys(states))
    for state in states:
        if state not in STATES:
            raise BenchError(f"no state is named '{state}': there are {', '.join(STATES)}")
    return states


# ---- running ----

def run_cell(program: Path, cell: Cell, timeout_s: int = TIMEOUT_S) -> Row:
    """The row of one cell; a cell that fails gives a row with a status that says so."""
    return run_arguments(program, cell, [], timeout_s)


def run_arguments(program: Path, cell: Cell, more: list[str], timeout_s: int) -> Row:
    try:
        done = subprocess.run([str(program_for(program, cell.fs)), *cell.arguments(), *more], capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return failed_row(cell, "timeout", f"took longer than {timeout_s} s")
    return row_of_output(cell, done.returncode, done.stdout, done.stderr)


def run_watched(program: Path, cell: Cell, more: list[str], progress: Callable[[str], None]) -> Row:
    """A cell that may take hours: its lines of progress as they come, no time limit."""
    running = subprocess.Popen([str(program_for(program, cell.fs)), *cell.arguments(), *more, "--progress"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    last = ""
    try:
        for line in running.stderr:
            last = line.strip()
            progress(last)
        output = running.stdout.read()
    finally:
        if running.poll() is None and not running.stdout.closed:
            try:
                running.wait(5)
            except subprocess.TimeoutExpired:
                running.kill()
    return row_of_output(cell, running.wait(), output, last)


def row_of_output(cell: Cell, code: int, output: str, errors: str) -> Row:
    lines = [line for line in output.splitlines() if line.strip()]
    try:
        row = json.loads(lines[-1])
    except (IndexError, ValueError):
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return failed_row(cell, "failed", f"{how}: {errors.strip()[-200:]}")
    row.setdefault("status", "ok" if code == 0 else "failed")
    for key in ("fs", "workload", "state", "chip", "seed", "mean", "limit"):
        row.setdefault(key, getattr(cell, key))
    row.setdefault("maintain_budget_us", cell.maintain_us)
    return row


def failed_row(cell: Cell, status: str, error: str) -> Row:
    return {"fs": cell.fs, "workload": cell.workload, "state": cell.state, "chip": cell.chip, "seed": cell.seed,
            "maintain_budget_us": cell.maintain_us, "mean": cell.mean, "limit": cell.limit, "status": status, "verified": False, "error": error}


def is_good(row: Row | None) -> bool:
    return row is not None and row.get("status") == "ok" and row.get("verified") is not False


def with_ratio(row: Row, native: Row | None) -> Row:
    """The row with ratio_native: its time in native's times; None where either failed."""
    ratio = None
    if is_good(row) and is_good(native) and native.get("time_us"):
        ratio = round(row["time_us"] / native["time_us"], 4)
    return {**row, "ratio_native": ratio}


def with_natives(cells: Iterable[Cell]) -> list[Cell]:
    """Each cell once, and the native cell before those that are compared with it."""
    ordered: list[Cell] = []
    for cell in cells:
        for one in (cell.native(), cell):
            if one not in ordered:
                ordered.append(one)
    return ordered


def cell_of(row: Row) -> Cell:
    """The cell that a row is of."""
    return Cell(row["fs"], row.get("chip", DEFAULT_CHIP), row["workload"], row.get("state", "fresh"), row.get("seed", SEED),
                row.get("maintain_budget_us", 0), row.get("mean", 0), row.get("limit", 0))


def run_cells(cells: Iterable[Cell], run: Callable[[Cell], Row], jobs: int = JOBS_MAX,
              started: Callable[[Cell], None] = lambda cell: None, known: Iterable[Row] = ()) -> Iterator[tuple[Cell, Row]]:
    """Runs cells, at most `jobs` at a time, and yields rows as soon as their native row is known too. Native's `known` rows are not made again."""
    natives: dict[Cell, Row] = {cell_of(row): row for row in known if row["fs"] == NATIVE}
    waiting = [cell for cell in with_natives(cells) if cell not in natives]
    held: dict[Cell, list[tuple[Cell, Row]]] = {}
    with ThreadPoolExecutor(min(jobs, JOBS_MAX)) as pool:
        running = {}
        try:
            while waiting or running:
                while waiting and len(running) < min(jobs, JOBS_MAX):
                    cell = waiting.pop(0)
                    started(cell)
                    running[pool.submit(run, cell)] = cell
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    cell, row = running.pop(future), future.result()
                    if cell.fs == NATIVE:
                        natives[cell] = row
                        ready = [(cell, row), *held.pop(cell, [])]
                    elif cell.native() in natives:
                        ready = [(cell, row)]
                    else:
                        held.setdefault(cell.native(), []).append((cell, row))
                        ready = []
                    for one, result in ready:
                        yield one, with_ratio(result, natives[one.native()])
        finally:
            for future in running:
                future.cancel()


# ---- rows on disk ----

def append_row(path: str | os.PathLike, row: Row) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def read_rows(path: str | os.PathLike) -> list[Row]:
    """The rows of a file of JSON lines, the last one of each cell."""
    latest: dict[tuple, Row] = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                raise BenchError(f"{path}: line {number} is not JSON") from None
            if not isinstance(row, dict) or "fs" not in row or "workload" not in row:
                raise BenchError(f"{path}: line {number} is not a result")
            latest[row_key(row)] = row
    return list(latest.values())


def row_key(row: Row) -> tuple:
    return (row["fs"], row["workload"], row.get("state", "fresh"), row.get("chip", ""), row.get("seed", SEED),
            row.get("maintain_budget_us", 0), row.get("mean", 0), row.get("limit", 0))
