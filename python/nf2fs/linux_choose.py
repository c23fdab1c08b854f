# SPDX-License-Identifier: BSD-2-Clause
"""`norbench choose --linux`: the kernel's file systems as candidates, and where they are the
better choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import bench, bench_choose, linux_machine, linux_plan, linux_run

CANDIDATES = (*linux_plan.WRITTEN, linux_plan.OURS_FUSE)
PROMISE_LESS = ("ubifs-writeback",)
DIRECTORY = "build/linux"  # where the machine is
MIB = 1024 * 1024


def measure(
    directory: Path,
    cells: list[bench.Cell],
    more: list[str],
    seconds: int,
    say: Callable[[str], None],
) -> list[bench.Row]:
    """Each cell over each candidate; a cell of the machine for each workload, chip and state that
    is asked for."""
    machine = linux_machine.build(directory, say)
    wanted = list(
        dict.fromkeys((cell.chip, cell.workload, cell.state, cell.seed) for cell in cells)
    )
    jobs = [
        linux_run.cell_job(bench.Cell(fs, chip, workload, state, seed), *more)
        for chip, workload, state, seed in wanted
        for fs in CANDIDATES
    ]
    found: list[bench.Row] = []
    for first in range(0, len(jobs), linux_plan.BATCH):
        found += linux_run.run(
            machine,
            jobs[first : first + linux_plan.BATCH],
            seconds,
            lambda row: say(f"{row['workload']} on {row['fs']}: {row['status']}"),
        )
    return found


def needed_bytes(rows: list[bench.Row]) -> int:
    """Of the kernel for one file system: what it keeps for the volume, its code, and of FUSE the
    server."""
    return max(
        row.get("ram_bytes", 0)
        + row.get("kernel_module_bytes", 0)
        + row.get("kernel_server_bytes", 0)
        for row in rows
    )


def split_by_memory(
    rows: list[bench.Row], memory_mib: int
) -> tuple[list[bench.Row], dict[str, int]]:
    """The rows of what fits into the memory, and what does not, with the bytes that it needs."""
    groups: dict[str, list[bench.Row]] = {}
    for row in rows:
        groups.setdefault(row["fs"], []).append(row)
    too_large = {
        fs: needed_bytes(group)
        for fs, group in groups.items()
        if needed_bytes(group) > memory_mib * MIB
    }
    return [row for row in rows if row["fs"] not in too_large], too_large


def advice(rows: list[bench.Row], too_large: dict[str, int], memory_mib: int) -> str:
    """Plainly: which of the kernel's file systems is better here, and for what no row speaks."""
    totals = {}
    for fs in CANDIDATES:
        group = [row for row in rows if row["fs"] == fs]
        if group and all(bench.is_good(row) for row in group):
            totals[fs] = sum(row["time_us"] for row in group)
    lines = [f"For a target with Linux and {memory_mib} MiB of memory:"]
    lines += [
        f"  {fs} does not fit: it needs {needed / MIB:.1f} MiB."
        for fs, needed in sorted(too_large.items())
    ]
    ours = totals.pop(linux_plan.OURS_FUSE, None)
    if ours is None:
        lines.append(
            "  NF2FS through FUSE did not run all of it; the kernel's file systems are the choice."
        )
    for fs, total in sorted(totals.items(), key=lambda item: item[1]) if ours is not None else []:
        promise = " (but what was not synced is lost at a power cut)" if fs in PROMISE_LESS else ""
        verdict = "the better choice" if total < ours else "not the better choice"
        lines.append(
            f"  {fs}: {verdict}{promise}: the flash works {bench_choose.seconds(total)} with it, "
            f"{bench_choose.seconds(ours)} with NF2FS through FUSE."
        )
    lines += [
        "  Whatever the rows say: UBIFS is the choice on NAND, squashfs for a root that does not",
        "  change, and the kernel's file systems where modes, links or mapped files are needed.",
        "  Files that a microcontroller reads and nobody writes: nf2 pack --read-only.",
        "  UBIFS and JFFS2 compress; the rows write random bytes. All figures: docs/LINUX.md.",
    ]
    return "\n".join(lines)
