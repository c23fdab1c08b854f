# SPDX-License-Identifier: BSD-2-Clause
"""Runs benchmark cells in the virtual machine of linux_machine.py: one start of it for a list of
them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import bench, linux_machine

BOOT_SECONDS = 180
MEMORY_MIB = 640  # beside the flash, which is there twice: in the kernel and in the virtual chip
KERNEL_OPTIONS = "console=ttyS0 loglevel=4 panic=-1 mitigations=off"
MARK = "norbench-linux:"
MOUNTS_OF_IMAGE = (
    2  # of a read-only volume: before what is measured, and for the comparison at the end
)


def chip_mib(machine: linux_machine.Machine, chip: str) -> int:
    """The size of a chip: of a file by its line, else as the program names it."""
    if Path(chip).is_file():
        found = re.search(r"^\s*size\s*=\s*(\d+)M", Path(chip).read_text(), re.MULTILINE)
    else:
        found = re.search(r"/(\d+)M$", chip) or re.search(
            r"\b(\d+) MiB", machine_chips(machine).get(chip, "")
        )
    return int(found.group(1)) if found else 1


def file_systems(machine: linux_machine.Machine) -> list[dict]:
    """What only the machine has."""
    return [
        item
        for item in bench.read_list(machine.cell)["file_systems"]
        if item["name"] not in ("native", "nf2fs")
    ]


def machine_chips(machine: linux_machine.Machine) -> dict[str, str]:
    return {chip["name"]: chip["description"] for chip in bench.read_list(machine.cell)["chips"]}


@dataclass(frozen=True)
class Job:
    """A program of the machine, whose row is that of the cell. Arguments that name files or
    directories of this computer go along."""

    cell: bench.Cell
    words: tuple[str, ...]

    def paths(self) -> list[Path]:
        return [Path(word) for word in self.words if "/" in word and Path(word).exists()]


def cell_job(cell: bench.Cell, *more: str) -> Job:
    return Job(cell, (linux_machine.COMMAND, *cell.arguments(), *more))


def copy_job(fs: str, chip: str, name: str, tree: Path) -> Job:
    return Job(
        bench.Cell(fs, chip, f"copy-{name}"),
        (linux_machine.COPY, "--fs", fs, "--chip", chip, "--tree", str(tree)),
    )


def packed_job(fs: str, chip: str, name: str, image: Path, tree: Path) -> Job:
    return Job(
        bench.Cell(fs, chip, f"copy-{name}"),
        (linux_machine.PACKED, "--fs", fs, "--chip", chip, "--image", str(image), "--tree", str(tree)),
    )


def script(jobs: list[Job], places: dict[Path, str], seconds: int) -> str:
    """The jobs: each prints a mark, its program's output, what the program said of errors, and a
    mark with the exit code."""
    lines = []
    for number, job in enumerate(jobs):
        command = " ".join(
            shlex.quote("/" + places[Path(word)] if Path(word) in places else word)
            for word in job.words
        )
        lines += [
            f"echo; echo {MARK} start {number}",
            f"busybox timeout {seconds} {command} 2>/tmp/errors",
            f"echo; echo {MARK} end {number} $?",
            "busybox tail -n 5 /tmp/errors",
            f"echo {MARK} done {number}",
        ]
    return "\n".join(lines) + "\n"


def second_archive(jobs: str, places: dict[Path, str]) -> bytes:
    archive = linux_machine.Archive()
    archive.file("jobs/run", jobs.encode())
    for path, place in places.items():
        if path.is_dir():
            archive.folder(place)
            for one in sorted(path.rglob("*")):
                if one.is_file():
                    archive.file(f"{place}/{one.relative_to(path)}", one.read_bytes())
        else:
            archive.file(place, path.read_bytes(), 0o100644)
    return archive.whole()


def row_of(
    cell: bench.Cell, machine: linux_machine.Machine, code: int, output: str, errors: str
) -> bench.Row:
    """The row, with what the line behind it says about the kernel."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    kernel = {}
    if lines and '"linux"' in lines[-1][:12]:
        kernel = json.loads(lines.pop())
    row = bench.row_of_output(cell, code, "\n".join(lines), errors)
    row["workload"] = cell.workload
    if "version" in row and row["version"] == "Linux":
        row["version"] = (
            "Linux " + machine.facts["packages"]["linux-image-" + machine.facts["release"]]
        )
    if row.get("status") != "ok" and errors.strip():
        row.setdefault("error", errors.strip().splitlines()[-1])
    if row.get("status") == "ok" and kernel.get("same") is False:
        row |= {
            "status": "failed",
            "verified": False,
            "error": "the virtual chip does not hold what the kernel's flash holds",
        }
    if (
        row.get("status") == "ok"
        and "operations" in row
        and kernel.get("image_bytes")
        and kernel["mounts"] < MOUNTS_OF_IMAGE
    ):
        row |= {
            "status": "failed",
            "error": "the file system is read-only, and this workload writes in what is measured",
        }
    return row | {f"kernel_{key}": value for key, value in kernel.items() if key != "linux"}


def parse(text: str) -> Iterator[tuple[int, int | None, str, str]]:
    """Of each job in the output: its number, exit code (None: it never ended), output and
    errors."""
    for part in re.split(rf"^{MARK} start ", text.replace("\r", ""), flags=re.MULTILINE)[1:]:
        number, _, rest = part.partition("\n")
        found = re.search(
            rf"^{MARK} end \d+ (\d+)\n(.*?)^{MARK} done", rest, re.MULTILINE | re.DOTALL
        )
        yield (
            int(number),
            int(found.group(1)) if found else None,
            rest[: found.start()] if found else rest,
            found.group(2) if found else "",
        )


def console_end(console: Path) -> str:
    lines = (
        console.read_text(errors="replace").replace("\r", "").splitlines()
        if console.is_file()
        else []
    )
    return " / ".join(line.strip() for line in lines[-4:]) or "it printed nothing"


def emulator(
    machine: linux_machine.Machine, memory_mib: int, initrd: Path, folder: Path
) -> list[str]:
    return [
        linux_machine.EMULATOR,
        "-accel",
        "tcg",
        "-icount",
        "shift=0,sleep=off",
        "-cpu",
        "max",
        "-machine",
        "pc",
        "-m",
        f"{memory_mib}M",
        "-smp",
        "1",
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-kernel",
        str(machine.kernel),
        "-initrd",
        str(initrd),
        "-append",
        KERNEL_OPTIONS,
        "-serial",
        f"file:{folder / 'console'}",
        "-serial",
        f"file:{folder / 'output'}",
    ]


def run(
    machine: linux_machine.Machine,
    jobs: list[Job],
    seconds: int = bench.TIMEOUT_S,
    done: Callable[[bench.Row], None] = lambda row: None,
) -> list[bench.Row]:
    """The rows of the jobs, in their order, each with what the kernel said."""
    paths = sorted({path for job in jobs for path in job.paths()})
    places = {path: f"jobs/given{number}" for number, path in enumerate(paths)}
    largest = max(chip_mib(machine, job.cell.chip) for job in jobs)
    rows: dict[int, bench.Row] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "initrd").write_bytes(
            machine.initramfs.read_bytes() + second_archive(script(jobs, places, seconds), places)
        )
        command = emulator(machine, MEMORY_MIB + 3 * largest, folder / "initrd", folder)
        running = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + BOOT_SECONDS + seconds * len(jobs)

        def take() -> None:
            output = folder / "output"
            for number, code, text, errors in parse(
                output.read_text(errors="replace") if output.is_file() else ""
            ):
                if number not in rows and code is not None:
                    rows[number] = row_of(jobs[number].cell, machine, code, text, errors)
                    done(rows[number])

        try:
            while running.poll() is None and time.monotonic() < end:
                time.sleep(0.2)
                take()
        finally:
            if running.poll() is None:
                running.kill()
            said = running.stderr.read().strip()
            running.wait()
        take()
        for number, job in enumerate(jobs):
            if number not in rows:
                rows[number] = bench.failed_row(
                    job.cell,
                    "failed",
                    "the virtual machine ended before this cell did: "
                    + (said or console_end(folder / "console")),
                )
                done(rows[number])
    return [rows[number] for number in range(len(jobs))]
