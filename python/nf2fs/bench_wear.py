# SPDX-License-Identifier: BSD-2-Clause
"""`norbench wear`: how level is wear? The most and the least worn block, beside cold files, by size, fill and kind of session."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated, Optional

import typer

from . import bench
from .bench_campaign import numbers
from .bench_run import CellOption, names
from .bench_studies import print_table
from .bench_wake import measure

BLOCK_KIB = 4
CHIP = "w25q256"
IDLE_US = 20_000
MEAN = 120
# What a session is: a write of a volume that stays mounted, without idle time or with; or mount, write, and an end.
SESSIONS = {"busy": "no idle time", "idle": "idle time after each write", "unmount": "mount, write, unmount", "cut": "mount, write, loss of power"}
LOADS = ("mixed", "files", "log", "overwrite")
# How much the most worn block may pass the mean, up to which fill; and how far the least worn one may stay behind it.
MOST_ALLOWED = ((80, 1.2), (90, 1.5), (100, 2.0))
LEAST_ALLOWED = 0.8


@dataclass(frozen=True)
class Place:
    """Where a cell stands in the table."""
    fs: str
    load: str
    blocks: int
    session: str
    fill: int
    cold: int

    def cell(self, mean: int, seed: int, idle_us: int) -> bench.Cell:
        end = self.session if self.session in ("unmount", "cut") else "none"
        workload = f"wear:fill={self.fill},cold={self.cold},load={self.load},end={end}"
        return bench.Cell(self.fs, f"{CHIP}/{self.blocks * BLOCK_KIB}K", workload, seed=seed, mean=mean, maintain_us=idle_us if self.session == "idle" else 0)


def most_allowed(fill: int) -> float:
    return next(most for upto, most in MOST_ALLOWED if fill <= upto)


def ratios(row: bench.Row, apart: int) -> tuple[float, float] | None:
    """The most worn block, and the least worn one (but `apart`), in means; nothing where the cell did not come to its end."""
    if not bench.is_good(row) or not row.get("wear_mean"):
        return None
    least = row["wear_least"][min(apart, len(row["wear_least"]) - 1)]
    return row["wear_max"] / row["wear_mean"], least / row["wear_mean"]


def is_level(row: bench.Row, fill: int, apart: int) -> bool:
    found = ratios(row, apart)
    return found is not None and found[0] <= most_allowed(fill) and found[1] >= LEAST_ALLOWED


def text_of(row: bench.Row | None, fill: int, apart: int) -> str:
    """`1.15 / 0.83`, with a `!` where that is past what is allowed."""
    if row is None:
        return "-"
    found = ratios(row, apart)
    if found is None:
        return "no space" if "no space" in str(row.get("status")) else "failed"
    return f"{found[0]:.2f} / {found[1]:.2f}" + ("" if is_level(row, fill, apart) else " !")


def table(found: dict[Place, bench.Row], fs: str, load: str, blocks: int, apart: int) -> tuple[list[str], list[list[str]]]:
    """One line for each session and fill, one column for each share of cold data."""
    here = {place: row for place, row in found.items() if (place.fs, place.load, place.blocks) == (fs, load, blocks)}
    colds = sorted({place.cold for place in here})
    lines = []
    for session, fill in dict.fromkeys((place.session, place.fill) for place in here):
        row_of = {place.cold: row for place, row in here.items() if (place.session, place.fill) == (session, fill)}
        lines.append([SESSIONS[session], f"{fill}%", *(text_of(row_of.get(cold), fill, apart) for cold in colds)])
    return ["session", "fill", *(f"{cold}% cold" for cold in colds)], lines


def chosen(text: str, known: list[str], what: str) -> list[str]:
    found = names(text)
    for one in found:
        if one not in known:
            raise typer.BadParameter(f"{what} are {', '.join(known)}, not '{one}'")
    return found


def within(text: str, what: str, least: int, most: int) -> list[int]:
    found = numbers(text, what)
    if not found or any(not least <= one <= most for one in found):
        raise typer.BadParameter(f"{what} are numbers from {least} to {most:,}")
    return found


def wear(
    fs: Annotated[str, typer.Option("--fs", "-f", help="File systems. Names with commas between.")] = "nf2fs",
    blocks: Annotated[str, typer.Option("--blocks", help="Sizes of the volume, in blocks of 4 KiB.")] = "32,256",
    fill: Annotated[str, typer.Option("--fill", help="Percent of the space offered that are used.")] = "50,75,90",
    cold: Annotated[str, typer.Option("--cold", help="Percent of what is used that never change.")] = "0,50,75,95",
    load: Annotated[str, typer.Option("--load", help=f"The traffic: {', '.join(LOADS)}.")] = "mixed",
    session: Annotated[str, typer.Option("--session", help=f"{'; '.join(f'{name}: {text}' for name, text in SESSIONS.items())}.")] = "busy,idle,unmount,cut",
    every: Annotated[bool, typer.Option("--all", help="32 to 32,768 blocks, 50 to 95% full, 0 to 95% cold: days.")] = False,
    mean: Annotated[int, typer.Option("--mean", min=2, help="Until blocks were erased so often in the mean.")] = MEAN,
    idle: Annotated[int, typer.Option("--idle", min=1, metavar="US", help="Idle microseconds after a write, in sessions of that kind.")] = IDLE_US,
    apart: Annotated[int, typer.Option("--apart", min=0, max=7, help="Leave out so many of the least worn blocks, as those at fixed places.")] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0)] = bench.SEED,
    rows_path: Annotated[Optional[str], typer.Option("--rows", metavar="FILE", help="Keep rows here; what is there is not run again.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 where wear is not level: a block above "
                                         f"{', '.join(f'{most} (to {upto}% full)' for upto, most in MOST_ALLOWED)} or below {LEAST_ALLOWED} means.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = 1,
    timeout: Annotated[int, typer.Option("--timeout", min=1, help="Seconds for one cell.")] = 4 * bench.TIMEOUT_S,
    cell: CellOption = None,
) -> None:
    """Wear beside cold files: the most and the least worn block, in means of all blocks.

    `!` marks what is not level. Everything counts that the file system erases, super blocks included.
    """
    if every:
        blocks, fill, cold = "32,64,256,1024,4096,32768", "50,75,80,85,90,95", "0,25,50,75,90,95"
    program = bench.find_program(cell)
    catalogue = bench.read_catalogue(program)
    systems = bench.check_file_systems(names(fs), catalogue)
    places = [Place(*one) for one in itertools.product(
        systems, chosen(load, list(LOADS), "loads"), within(blocks, "blocks", 1, 262_144), chosen(session, list(SESSIONS), "sessions"),
        within(fill, "fills", 1, 100), within(cold, "shares of cold data", 0, 100))]
    cells = {place: place.cell(mean, seed, idle) for place in places}
    rows = measure(list(cells.values()), program, rows_path, jobs, timeout)
    found = {place: rows[one] for place, one in cells.items()}
    for one in dict.fromkeys((place.fs, place.load, place.blocks) for place in places):
        least = f"least (but {apart})" if apart else "least"
        print_table(f"{one[0]}, {one[1]}, {one[2]:,} blocks: most / mean, {least} / mean", table(found, *one, apart))
    if strict and not all(is_level(row, place.fill, apart) for place, row in found.items()):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command("wear")(wear)
