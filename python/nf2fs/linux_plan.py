# SPDX-License-Identifier: BSD-2-Clause
"""Which rows docs/LINUX.md needs, and the measuring of those that are not there yet."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import bench, chunks, linux_machine, linux_run, linux_trees, pack_tree, packed_image

OURS = "nf2fs"  # on the virtual chip alone
OURS_FUSE = "nf2fs-fuse"
WRITTEN = ("jffs2", "jffs2-4k", "jffs2-ubi", "ubifs", "ubifs-sync", "ubifs-writeback")
READ_ONLY = ("romfs", "cramfs", "squashfs-gzip", "squashfs-lzo", "squashfs-xz", "squashfs-zstd")
SMALLEST_READ_ONLY = ("romfs", "cramfs", "squashfs-xz")  # of code, of memory, of the image
IMAGE_TREES = ("busybox", "web")  # those of the table of read-only images
# Ours: the codec, and the bytes of a chunk.
IMAGES: dict[str, tuple[str | None, int]] = {
    "nf2-image": (None, 4096),
    "nf2-image-heatshrink": ("heatshrink", 1024),
    "nf2-image-lz4": ("lz4", 4096),
    "nf2-image-lz4-32k": ("lz4", 32768),
}
NAND = "nand64"
NOR = "w25q256"
LARGE_NOR = "w25q01"
CHIP_FILES = {NAND: linux_machine.SOURCES / "nand64.chip"}
BATCH = 4  # jobs in one start of the machine
READING = ("bbreadall",)
SMALL_BLOCKS = ("create32", "log32d")  # workloads that JFFS2 on erase blocks of 4 KiB runs, too
WORKLOADS = ("create32", "log32d", "config", "rwrite20", "swrite", "bbburn", *READING, "unclean")


@dataclass(frozen=True)
class Row:
    """What a row is about; `tree`: the steps of Sharif's comparison, else a workload."""

    fs: str
    chip: str
    workload: str
    tree: bool = False

    @property
    def name(self) -> str:
        return f"copy-{self.workload}" if self.tree else self.workload


def rows_of_page() -> list[Row]:
    """All rows, in the order of the page."""
    found = []
    for chip, trees in (
        (NAND, ("big", "small")),
        (NOR, ("big", "small", "random")),
        (LARGE_NOR, ("big",)),
    ):
        ours = [OURS_FUSE, OURS] if chip != NAND else []
        over_ubi = [] if chip == LARGE_NOR else ["jffs2-ubi"]
        through = [] if chip == LARGE_NOR else ["ubifs-sync"]
        read_only = {NAND: READ_ONLY, NOR: SMALLEST_READ_ONLY}.get(chip, ())
        roots = ["jffs2", *over_ubi, "ubifs-writeback", *read_only, *ours]
        written = ["jffs2", *over_ubi, *through, "ubifs-writeback", *ours]
        found += [Row(fs, chip, "root", True) for fs in roots]
        found += [Row(fs, chip, tree, True) for tree in trees for fs in written]
    found += [
        Row(fs, NOR, tree, True) for tree in IMAGE_TREES for fs in (*SMALLEST_READ_ONLY, *IMAGES, OURS)
    ]
    for workload in WORKLOADS:
        systems = [
            "jffs2",
            *(["jffs2-4k"] if workload in SMALL_BLOCKS else []),
            "ubifs",
            "ubifs-writeback",
            *(SMALLEST_READ_ONLY if workload in READING else ()),
            OURS_FUSE,
            OURS,
        ]
        found += [Row(fs, NOR, workload) for fs in systems]
    return found


def key(row: bench.Row) -> tuple[str, str, str]:
    return row["fs"], row["chip"], row["workload"]


def run_on_host(job: linux_run.Job, machine: linux_machine.Machine, seconds: int) -> bench.Row:
    """NF2FS on the virtual chip alone; the programs are the machine's own."""
    program = machine.copy if job.words[0] == linux_machine.COPY else machine.cell
    try:
        done = subprocess.run(
            [str(program), *job.words[1:]], capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return bench.failed_row(job.cell, "timeout", f"took longer than {seconds} s")
    return bench.row_of_output(job.cell, done.returncode, done.stdout, done.stderr) | {
        "workload": job.cell.workload
    }


def make_image(fs: str, tree: Path) -> Path:
    """The read-only image of a tree, beside it."""
    codec, chunk = IMAGES[fs]
    found = pack_tree.Tree()
    found.add_host_tree(str(tree))
    made = packed_image.make(found, chunks.codec_of(codec) if codec else None, chunk)
    path = tree.with_name(f"{tree.name}.{fs}")
    path.write_bytes(made.data)
    return path


def job_of(row: Row, trees: dict[str, Path]) -> linux_run.Job:
    if row.fs in IMAGES:
        tree = trees[row.workload]
        return linux_run.packed_job(row.fs, row.chip, row.workload, make_image(row.fs, tree), tree)
    chip = str(CHIP_FILES.get(row.chip, row.chip))
    if row.tree:
        return linux_run.copy_job(row.fs, chip, row.workload, trees[row.workload])
    return linux_run.cell_job(bench.Cell(row.fs, chip, row.workload))


def measure(
    machine: linux_machine.Machine,
    directory: Path,
    wanted: list[Row],
    known: list[bench.Row],
    seconds: int,
    done: Callable[[bench.Row], None],
) -> list[bench.Row]:
    """The known rows that are good, and those that are measured now."""
    trees = linux_trees.make(directory)
    rows = [row for row in known if bench.is_good(row)]
    there = {key(row) for row in rows}
    left = [row for row in wanted if (row.fs, row.chip, row.name) not in there]

    def keep(row: bench.Row) -> None:
        row["chip"] = Path(row["chip"]).stem
        rows.append(row)
        done(row)

    for row in [one for one in left if one.fs == OURS]:
        keep(run_on_host(job_of(row, trees), machine, seconds))
    for chip in dict.fromkeys(row.chip for row in left):
        jobs = [job_of(row, trees) for row in left if row.chip == chip and row.fs != OURS]
        for first in range(0, len(jobs), BATCH):
            linux_run.run(machine, jobs[first : first + BATCH], seconds, keep)
    return rows
