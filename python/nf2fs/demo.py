# SPDX-License-Identifier: BSD-2-Clause
"""The demo: a volume on a virtual 32 MiB chip is filled, grown, checked byte by byte, drawn, and measured."""

from __future__ import annotations

import argparse
import posixpath
import random
import sys
import time
from pathlib import Path

try:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from . import bench, bench_table, show, trees
    from .bench_cli import run_with_progress
    from .demo_tree import make_tree
    from .errors import LibraryMissing, NF2Error
    from .images import format_image, open_image
    from .native import decode, load
    from .volume import Volume
except ImportError as missing:
    sys.exit(f"demo: the Python package '{missing.name}' is missing: python3 -m pip install cffi rich typer")

CHIP = "w25q256"
APPENDS, LOGS = 10_000, 4
SYSTEMS = ("native", "nf2fs", "littlefs")
CELL_TIMEOUT_S = 150
STEPS = 6


class DemoError(Exception):
    """The demo cannot go on, or found something wrong."""


class Demo:
    def __init__(self, directory: Path):
        self.directory, self.image, self.tree = directory, directory / "flash.img", directory / "tree"
        self.results, self.report = directory / "results.jsonl", directory / "report.md"
        self.screen = Console(highlight=False, markup=False)
        self.logs: dict[str, bytes] = {}
        self.notes: list[str] = []
        self.workloads: dict[str, str] = {}
        self.number, self.began = 0, time.monotonic()

    def step(self, text: str) -> None:
        self.number += 1
        self.screen.print(f"\n[{self.number}/{STEPS}] {text}", style="bold")

    def say(self, text: str) -> None:
        self.screen.print(f"  {text}", soft_wrap=True)
        self.notes.append(text)

    # ---- steps ----

    def copy_tree(self) -> None:
        self.step("a tree of files, copied to an empty volume")
        files, size = make_tree(self.tree, self.say)
        self.image.unlink(missing_ok=True)
        format_image(self.image, CHIP)
        with open_image(self.image, CHIP) as volume:
            plan = trees.plan_put(str(self.tree), "/")
            bars = Progress(TextColumn("  {task.description}"), BarColumn(), DownloadColumn(), console=self.screen,
                            transient=True, disable=not self.screen.is_terminal)
            with bars:
                task = bars.add_task("copy", total=plan.bytes)
                trees.run_put(volume, plan, lambda size: bars.advance(task, size))
            counts = volume.counts()
        self.say(f"{files} files, {size} bytes; {counts['program_pages']} page programs, "
                 f"{counts['time_us'] / 1e6:.1f} s of the chip's time")

    def grow_logs(self) -> None:
        self.step(f"{APPENDS} small appends to {LOGS} log files, each durable when it returns")
        source = random.Random(APPENDS)
        with open_image(self.image, CHIP) as volume:
            volume.makedirs("/var/log", exist_ok=True)
            names = [f"/var/log/sensor{index}.log" for index in range(LOGS)]
            grown = {name: bytearray() for name in names}
            files = [volume.open(name, "ab", buffering=0, sync=True) for name in names]
            before = volume.counts()
            for index in range(APPENDS):
                name = names[index % LOGS]
                entry = f"{index:06} {source.randint(0, 10 ** 9):x}".ljust(source.randint(15, 47)).encode() + b"\n"
                files[index % LOGS].write(entry)
                grown[name] += entry
            after = volume.counts()
            for file in files:
                file.close()
        self.logs = {name: bytes(data) for name, data in grown.items()}
        programs = after["program_pages"] - before["program_pages"]
        self.say(f"{sum(map(len, self.logs.values()))} bytes; {programs / APPENDS:.3f} page programs an append, "
                 f"{(after['time_us'] - before['time_us']) / APPENDS:.0f} us each")

    def verify(self) -> None:
        self.step("mounted again, every byte compared")
        with open_image(self.image, read_only=True) as volume:
            compared = self._compare(volume)
            wrong, findings = volume.check()
        if wrong:
            raise DemoError(f"the checker found {wrong} things wrong: {'; '.join(finding.text for finding in findings[:5])}")
        self.say(f"{compared[0]} files, {compared[1]} bytes: all as written; the structure is whole")

    def _compare(self, volume: Volume) -> tuple[int, int]:
        expected = {"/" + decode(bytes(path.relative_to(self.tree))): path for path in self.tree.rglob("*") if path.is_file()}
        found = [posixpath.join(directory, name) for directory, _, names in volume.walk() for name in names]
        if set(found) != set(expected) | set(self.logs):
            raise DemoError(f"the volume lists {len(found)} files, {len(expected) + len(self.logs)} were written")
        size = 0
        for name in found:
            data = volume.read_bytes(name)
            if data != (self.logs[name] if name in self.logs else expected[name].read_bytes()):
                raise DemoError(f"{name}: not what was written")
            size += len(data)
        return len(found), size

    def draw(self) -> None:
        self.step("the volume")
        with open_image(self.image, read_only=True) as volume:
            lines, directories, files = show.tree_lines(volume, "/", limit=4)
            for line in [*lines[:60], *(["..."] if len(lines) > 60 else [])]:
                self.screen.print(line, soft_wrap=True)
            self.screen.print(show.df_table(volume))
            show.print_map(self.screen, volume, *volume.blocks())

    def measure(self) -> list[bench.Row]:
        self.step("the same loads on raw flash, NF2FS and LittleFS")
        program = bench.find_program()
        catalogue = bench.read_catalogue(program)
        systems = [name for name in SYSTEMS if name in catalogue.file_systems]
        for name in SYSTEMS:
            if name not in systems:
                self.say(f"{name} was not built into {program.name}: measured without it")
        self.workloads = {name: catalogue.descriptions.get(name, "") for name in bench.expand(["core"], catalogue)}
        cells = [bench.Cell(system, CHIP, workload) for workload in self.workloads for system in systems]
        self.results.unlink(missing_ok=True)
        rows = run_with_progress(cells, program, bench.JOBS_MAX, CELL_TIMEOUT_S, str(self.results))
        for table in bench_table.rich_tables(rows):
            (self.screen if self.screen.is_terminal else Console(width=160)).print(table)
        return rows

    def write_report(self, rows: list[bench.Row]) -> None:
        self.step("the report")
        lines = ["# NF2FS demo", "", *(f"- {note}" for note in self.notes), "", "## Workloads", "",
                 "Counted operations of a virtual chip times its typical times: exact, the same on every run.", "",
                 bench_table.markdown(rows), *(f"- `{name}`: {text}" for name, text in self.workloads.items()), ""]
        self.report.write_text("\n".join(lines), encoding="utf-8")
        self.say(f"image {self.image}, rows {self.results}, report {self.report}; {time.monotonic() - self.began:.0f} s in all")

    def run(self) -> None:
        load()
        self.directory.mkdir(parents=True, exist_ok=True)
        self.copy_tree()
        self.grow_logs()
        self.verify()
        self.draw()
        rows = self.measure()
        self.write_report(rows)
        failed = [row for row in rows if not bench.is_good(row)]
        if failed:
            raise DemoError(f"{len(failed)} cells failed: " + ", ".join(f"{row['workload']} on {row['fs']}" for row in failed))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("build/demo"), help="where the demo leaves its files")
    options = parser.parse_args(arguments)
    try:
        Demo(options.directory).run()
    except (DemoError, LibraryMissing, bench.BenchError, NF2Error, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
