# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps: many cells on all cores or on a Dask cluster, stopped and resumed at will. Each row is on disk as soon as its cell is done."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from . import bench, bench_processor, bench_store, bench_worker

WAITING_A_WORKER = 4            # tasks that are handed to the scheduler at a time, for each of its threads
CONNECT_S = 20
CHECKPOINT_S = 30               # between two states of a cell in its file
DEATHS_ALLOWED = 10             # times that a cell is begun anew because its worker died (the scheduler has a limit of its own, too)


@dataclass
class Sweep:
    """Lists that are combined with each other."""
    workloads: list[str]
    systems: list[str]
    chips: list[str] = field(default_factory=list)      # empty: each workload's own
    states: list[str] = field(default_factory=lambda: ["fresh"])
    seeds: list[int] = field(default_factory=lambda: [bench.SEED])
    idles: list[int] = field(default_factory=lambda: [0])       # microseconds after each operation
    more: list[str] = field(default_factory=list)       # further arguments for every cell, such as --maps
    processor: bool = False                             # count the file system's instructions, too

    def cells(self, catalogue: bench.Catalogue) -> list[bench.Cell]:
        return [bench.Cell(system, chip, workload, state, seed, idle)
                for workload in bench.expand(self.workloads, catalogue)
                for chip in self.chips or [catalogue.chip_of(workload)]
                for state, seed, idle, system in itertools.product(self.states, self.seeds, self.idles, self.systems)]


@dataclass(frozen=True)
class Task:
    """A cell as a worker gets it."""
    cell: bench.Cell
    program: Path
    arguments: tuple[str, ...]
    files: tuple[str, ...]      # those of the arguments that are files
    processor: bool = False

    def key(self) -> str:
        """Names the cell, the program and the files by what they hold: a row with this key need not be made again."""
        facts = [self.arguments, bench_store.digest(self.program), [bench_store.digest(Path(path)) for path in self.files]]
        if self.processor:
            facts.append(bench_processor.state_of(self.program, self.cell.fs))
        return bench_worker.digest(json.dumps(facts).encode())[:24]

    def as_message(self, seconds: int) -> dict:
        return {"program": self.program.name, "arguments": list(self.arguments), "seconds": seconds}

    def payload(self) -> dict:
        """What it needs on the worker's machine."""
        found = {self.program.name: (self.program.read_bytes(), True)}
        return found | {path: (Path(path).read_bytes(), False) for path in self.files}


def tasks_of(sweep: Sweep, cells: list[bench.Cell], program: Path) -> list[Task]:
    found = []
    for cell in cells:
        arguments = (*cell.arguments(), *sweep.more)
        files = tuple(word for word in arguments if "/" in word and Path(word).is_file())
        found.append(Task(cell, bench.program_for(program, cell.fs), arguments, files, sweep.processor))
    return found


def row_of(task: Task, result: dict, seconds: int) -> bench.Row:
    if result.get("timeout"):
        row = bench.failed_row(task.cell, "timeout", f"took longer than {seconds} s")
    else:
        row = bench.row_of_output(task.cell, result["code"], result["output"], result["errors"])
    row["made_with"] = bench_store.made_with(task.program, list(task.arguments), {path: Path(path) for path in task.files})
    row["cell_key"] = task.key()
    return row | result.get("processor", {})


# ---- what is done already ----

def read_done(path: Path) -> set[str]:
    """The keys of the rows in the file. A last line that was cut short by a kill is taken out of it."""
    if not path.exists():
        return set()
    data = path.read_bytes()
    whole = data[:data.rfind(b"\n") + 1]
    if len(whole) != len(data):
        unfinished = path.with_name(path.name + ".unfinished")
        unfinished.write_bytes(whole)
        os.replace(unfinished, path)
    keys = set()
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            keys.add(json.loads(line)["cell_key"])
        except (ValueError, KeyError, TypeError):
            raise bench.BenchError(f"{path}: line {number} is no row of a sweep; choose another file") from None
    return keys


def append(path: Path, row: bench.Row) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())


# ---- running ----

def run_here(task: Task, seconds: int, checkpoints: Path | None = None) -> dict:
    """The cell on this machine; its instructions too, where they are asked for. With a folder of checkpoints it goes on where it was stopped."""
    message = task.as_message(seconds)
    if checkpoints and "--trace" not in task.arguments:
        message["arguments"] += ["--checkpoint", str(checkpoints / f"{task.key()}.run"), "--checkpoint-every", str(CHECKPOINT_S)]
    result = bench_worker.run(message, task.payload())
    if task.processor and not result.get("timeout"):
        row = bench.row_of_output(task.cell, result["code"], result["output"], result["errors"])
        result["processor"] = bench_processor.measure(task.program, task.cell.fs, list(task.arguments), row, seconds)
    return result


def on_cores(tasks: list[Task], jobs: int, seconds: int, checkpoints: Path | None = None) -> Iterator[tuple[Task, dict]]:
    """On this machine, `jobs` at a time."""
    waiting = list(tasks)
    with ThreadPoolExecutor(jobs) as pool:
        running = {}
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    task = waiting.pop(0)
                    running[pool.submit(run_here, task, seconds, checkpoints)] = task
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            for future in running:
                future.cancel()


def on_cluster(tasks: list[Task], address: str, seconds: int) -> Iterator[tuple[Task, dict]]:
    """On the workers of a Dask scheduler. A cell whose worker dies is made again by another."""
    try:
        import cloudpickle
        from distributed import Client, as_completed
    except ImportError:
        raise bench.BenchError("a scheduler needs dask (pip install 'dask[distributed]')") from None
    cloudpickle.register_pickle_by_value(bench_worker)      # the workers need not have this package
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise bench.BenchError(f"no scheduler answers at {address}: {error}") from None
    with client:
        threads = max(1, sum(client.nthreads().values()))
        waiting, running, payloads = list(tasks), {}, {}
        completed = as_completed([], loop=client.loop)
        while waiting or running:
            while waiting and len(running) < WAITING_A_WORKER * threads:
                task = waiting.pop(0)
                needs = (task.program, task.files)
                if needs not in payloads:       # a task of its own, not data that is lost with the worker that holds it
                    payloads[needs] = client.submit(bench_worker.same, task.payload(), retries=DEATHS_ALLOWED)
                future = client.submit(bench_worker.run, task.as_message(seconds), payloads[needs], key=f"norbench-{task.key()}",
                                       retries=DEATHS_ALLOWED)
                running[future.key] = (task, future)
                completed.add(future)
            future = next(completed)
            task, _ = running.pop(future.key)
            if future.status == "finished":
                yield task, future.result()
            else:
                yield task, {"code": -1, "output": "", "errors": f"its workers died: {future.exception()!r}"}


def run(tasks: list[Task], path: Path, jobs: int, seconds: int, address: str | None,
        report: Callable[[Task, bench.Row], None], checkpoints: Path | None = None) -> list[bench.Row]:
    """Makes what the file does not have yet."""
    results = on_cluster(tasks, address, seconds) if address else on_cores(tasks, jobs, seconds, checkpoints)
    rows = []
    for task, result in results:
        row = row_of(task, result, seconds)
        append(path, row)
        rows.append(row)
        report(task, row)
    return rows
