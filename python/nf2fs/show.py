# SPDX-License-Identifier: BSD-2-Clause
"""What the commands print: names, tables, trees and the picture of a chip."""

from __future__ import annotations

import posixpath

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .errors import IO, NF2Error
from .volume import DEPTH_MAX, Volume

STATES = ("dirty", "erased", "used", "bad")
SIGNS = "o.#X"
STYLES = ("yellow", "grey35", "green", "bold red")
MEANINGS = ("free, to be erased before use", "free and erased", "used", "bad")
MAP_COLUMNS_MAX, MAP_ROWS_MAX = 128, 48


def printable(name: str) -> str:
    """A name from a volume, safe for a terminal: what cannot be printed is shown as \\x..
    escapes."""
    return "".join(char if char.isprintable() else _escape(char) for char in name)


def _escape(char: str) -> str:
    raw = char.encode("utf-8", "surrogateescape")
    return "".join(f"\\x{byte:02x}" for byte in raw)


def error_line(error: Exception) -> str:
    """An error as one line for people."""
    if isinstance(error, NF2Error):
        return printable(error.line(command=True))
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return where + (error.strerror or str(error))
    return str(error)


def size_text(size: int) -> str:
    """A size in the largest unit that leaves a number of at least 1."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("not reached")


def pairs(title: str, rows: list[tuple[str, str]]) -> Table:
    table = Table(
        title=title or None, title_justify="left", show_header=False, box=None, pad_edge=False
    )
    table.add_column(style="cyan")
    table.add_column()
    for key, value in rows:
        table.add_row(key, Text(value))
    return table


# ---- trees ----


def tree_lines(
    volume: Volume, path: str = "/", limit: int | None = None
) -> tuple[list[str], int, int]:
    """The lines of a drawn tree, with the numbers of directories and files. `limit`: entries shown
    of one directory."""
    lines, directories, files = [printable(path)], 0, 0
    pending = [iter(_entries(volume, path, limit))]
    bars: list[str] = []
    places = [path]
    while pending:
        entry, last = next(pending[-1], (None, False))
        if entry is None:
            pending.pop()
            places.pop()
            if bars:
                bars.pop()
            continue
        lines.append("".join(bars) + ("└── " if last else "├── ") + _label(entry))
        if isinstance(entry, str):
            continue
        if entry.is_dir():
            directories += 1
            if len(pending) > DEPTH_MAX:
                raise NF2Error(IO, f"directories are nested more than {DEPTH_MAX} deep", places[-1])
            bars.append("    " if last else "│   ")
            places.append(posixpath.join(places[-1], entry.name))
            pending.append(iter(_entries(volume, places[-1], limit)))
        else:
            files += 1
    return lines, directories, files


def _entries(volume: Volume, path: str, limit: int | None) -> list:
    found: list = volume.scandir(path)
    if limit is not None and len(found) > limit:
        found = found[:limit] + [f"... {len(found) - limit} more"]
    return [(entry, index == len(found) - 1) for index, entry in enumerate(found)]


def _label(entry) -> str:
    if isinstance(entry, str):
        return entry
    return printable(entry.name) + ("/" if entry.is_dir() else f"  [{entry.size}]")


def tree_json(volume: Volume, path: str) -> list[dict]:
    """Every entry below `path`, flat, with its full path."""
    found = []
    for directory, _, _ in volume.walk(path):
        for entry in volume.scandir(directory):
            found.append(
                {
                    "path": posixpath.join(directory, entry.name),
                    "type": type_name(entry),
                    "size": entry.size,
                }
            )
    return found


def type_name(entry) -> str:
    return "dir" if entry.is_dir() else "file"


# ---- space ----


def df_rows(volume: Volume) -> list[tuple[str, int, int]]:
    """(kind, blocks, bytes)."""
    figures = volume.statfs()
    used = figures["blocks"] - figures["free"] - figures["bad"]
    rows = [
        ("all", figures["blocks"]),
        ("used", used),
        ("free", figures["free"]),
        ("  of these erased", figures["erased"]),
        ("  of these for file data", figures["available"]),
        ("bad", figures["bad"]),
    ]
    return [(kind, blocks, blocks * figures["block_size"]) for kind, blocks in rows]


def df_table(volume: Volume) -> Table:
    figures = volume.statfs()
    table = Table(
        title=f"{volume.path}: blocks of {figures['block_size']} bytes", title_justify="left"
    )
    table.add_column("")
    table.add_column("blocks", justify="right")
    table.add_column("bytes", justify="right")
    table.add_column("", justify="right")
    table.add_column("%", justify="right")
    for kind, blocks, size in df_rows(volume):
        share = 100 * blocks / figures["blocks"] if figures["blocks"] else 0
        table.add_row(kind, str(blocks), str(size), size_text(size), f"{share:.1f}")
    return table


# ---- the picture of the chip ----


def group_states(states: bytes, per_sign: int) -> list[int]:
    """One state for each `per_sign` blocks: bad if any is, else used if any is, else dirty if any
    is, else erased."""
    order = (3, 2, 0, 1)
    groups = []
    for start in range(0, len(states), per_sign):
        present = set(states[start : start + per_sign])
        groups.append(next((state for state in order if state in present), 0))
    return groups


def map_layout(blocks: int, width: int) -> tuple[int, int]:
    """(columns, blocks a sign): powers of two, so that rows end at round addresses."""
    columns = 16
    while columns * 2 <= min(width, MAP_COLUMNS_MAX):
        columns *= 2
    per_sign = 1
    while blocks > columns * MAP_ROWS_MAX * per_sign:
        per_sign *= 2
    return columns, per_sign


def print_map(console: Console, volume: Volume, states: bytes, erases: list[int]) -> None:
    block_size = volume.statfs()["block_size"]
    columns, per_sign = map_layout(len(states), max(console.width - 12, 16))
    groups = group_states(states, per_sign)
    what = (
        "a block" if per_sign == 1 else f"{per_sign} blocks (bad, used or dirty if any of them is)"
    )
    console.print(
        Text(
            f"{volume.path}: {volume.chip.name}, {len(states)} blocks of {block_size} bytes; "
            f"one sign is {what}"
        )
    )
    for start in range(0, len(groups), columns):
        line = Text(f"{start * per_sign * block_size:>10x}  ", style="dim")
        for state in groups[start : start + columns]:
            line.append(SIGNS[state], STYLES[state])
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    for state, meaning in enumerate(MEANINGS):
        line = Text("  ")
        line.append(SIGNS[state], STYLES[state])
        line.append(f"  {states.count(state):>6}  {meaning}")
        console.print(line)
    console.print(Text("wear: " + wear_text(erases, volume.health()["erases_total"])))
    for bar in wear_bars(erases):
        console.print(Text(bar))


def wear_summary(erases: list[int], total: int) -> dict:
    """`erases` are the means of regions, without fractions; `total` is on record."""
    ordered = sorted(erases) or [0]
    return {
        "min": ordered[0],
        "median": ordered[len(ordered) // 2],
        "mean": total / len(ordered),
        "max": ordered[-1],
        "total": total,
    }


def wear_text(erases: list[int], total: int) -> str:
    wear = wear_summary(erases, total)
    return (
        f"erases of a block since the format: min {wear['min']}, median {wear['median']}, "
        f"max {wear['max']}; in all {wear['total']} with those of the format, "
        f"{wear['mean']:.2f} a block"
    )


def wear_bars(erases: list[int], steps: int = 8, width: int = 40) -> list[str]:
    """How many blocks were erased how often; nothing where all are alike."""
    low, high = min(erases, default=0), max(erases, default=0)
    if low == high:
        return []
    step = max(1, -(-(high - low + 1) // steps))
    lines: list[str] = []
    counts: dict[int, int] = {}
    for value in erases:
        counts[(value - low) // step] = counts.get((value - low) // step, 0) + 1
    most = max(counts.values())
    for index in range((high - low) // step + 1):
        count, first = counts.get(index, 0), low + index * step
        span = str(first) if step == 1 else f"{first}..{min(first + step - 1, high)}"
        lines.append(f"  {span:>15} {count:>7}  " + "█" * -(-count * width // most))
    return lines
