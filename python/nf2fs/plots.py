# SPDX-License-Identifier: BSD-2-Clause
"""Plots of the studies, as SVG by matplotlib: directories, overwrites, latency, wear. NF2FS beside its peers, from benchmark rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from .bench import BenchError, Row, is_good

NAMES = {"nf2fs": "NF2FS", "littlefs": "LittleFS", "native": "raw flash"}
COLOURS = {"nf2fs": "#1f6f8b", "littlefs": "#c8553d", "native": "#888888"}
OTHERS = ("#588157", "#7b2d8b", "#8d6b00", "#333333")
IDLE_COLOUR = "#6fb7cc"         # NF2FS with idle time
RANKS = (("median", "o"), ("p99", "|"), ("p999", "+"), ("max", "x"))
LEAST_MS = 0.001                # on a logarithmic axis what took no time lies here


def name_of(fs: str) -> str:
    return NAMES.get(fs, fs)


def colour_of(fs: str, index: int = 0) -> str:
    return COLOURS.get(fs, OTHERS[index % len(OTHERS)])


def new_figure(rows: int, columns: int, width: float, height: float):
    """A figure and its axes, drawn without a screen, the same bytes each time."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise BenchError("plots need matplotlib: python3 -m pip install matplotlib") from None
    matplotlib.rcParams.update({"svg.hashsalt": "nf2fs", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.color": "#dddddd",
                                "axes.axisbelow": True, "legend.frameon": False})
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path


def systems_of(rows: list[Row], but: tuple[str, ...] = ()) -> list[str]:
    found = list(dict.fromkeys(row["fs"] for row in rows if row["fs"] not in but))
    return sorted(found, key=lambda fs: (list(NAMES).index(fs) if fs in NAMES else len(NAMES), fs))


# ---- directories ----

OPERATIONS = {"read_pages": ("look-up cold", "create", "list", "rename", "remove"), "program_pages": ("create", "rename", "remove")}
MEASURES = {"read_pages": "pages read", "program_pages": "pages programmed"}


def entries_of(row: Row) -> int | None:
    """Of the rows that differ in the number of entries alone: how many were asked for."""
    size = row["workload"].removeprefix("dir")
    return int(size) if row["workload"].startswith("dir") and size.isdigit() and is_good(row) else None


def directory(path: Path, rows: list[Row], measure: str) -> Path | None:
    """One panel an operation: what one of them costs in a directory of so many entries (a listing: each entry)."""
    operations = [one for one in OPERATIONS[measure] if any(entries_of(row) and one in (row.get("steps") or {}) for row in rows)]
    if not operations:
        return None
    figure, axes = new_figure(1, len(operations), 2.6 * len(operations), 3.2)
    for panel, operation in zip(axes[0], operations):
        every = [0.0]
        for index, fs in enumerate(systems_of(rows, ("native",))):
            points = []
            for row in rows:
                step = (row.get("steps") or {}).get(operation)
                if row["fs"] == fs and entries_of(row) and step and step["count"]:
                    each = step["count"] * (row["entries"] if operation == "list" else 1)
                    points.append((entries_of(row), step[measure] / each))
            points = sorted(points)
            every += [y for _, y in points]
            panel.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, color=colour_of(fs, index), label=name_of(fs))
        panel.set_xscale("log")
        if measure == "read_pages" and max(every) > 0:
            panel.set_yscale("log")
        else:
            panel.set_ylim(bottom=0)
        panel.set_title("list, each entry" if operation == "list" else operation.replace("look-up cold", "look-up, nothing cached"), fontsize=9)
        panel.set_xlabel("entries")
    axes[0][0].set_ylabel(f"{MEASURES[measure]} by one operation (mean)")
    axes[0][0].legend()
    return save(figure, path)


# ---- overwrites ----

ACCESSES = {"4k": "4 KiB", "16k": "16 KiB", "1k": "1 KiB", "256": "256 B", "256u": "256 B at any byte"}


def overwrite_place(row: Row) -> tuple[str, int] | None:
    """Access and fill of a row, as in ow4k-50."""
    access, dash, fill = row["workload"].removeprefix("ow").partition("-")
    return (access, int(fill)) if row["workload"].startswith("ow") and dash and fill.isdigit() else None


def overwrite(path: Path, rows: list[Row], chip: str) -> Path | None:
    """One panel an access size: speed by fill, under the bound."""
    rows = [row for row in rows if is_good(row) and row.get("chip") == chip and overwrite_place(row) and row.get("speed_kib_s") is not None]
    accesses = [access for access in ACCESSES if any(overwrite_place(row)[0] == access for row in rows)]
    if not accesses:
        return None
    figure, axes = new_figure(1, len(accesses), 2.6 * len(accesses), 3.2)
    for panel, access in zip(axes[0], accesses):
        here = [row for row in rows if overwrite_place(row)[0] == access]
        bounds = sorted({(overwrite_place(row)[1], row["bound_kib_s"]) for row in here if row["fs"] == "nf2fs"})
        panel.plot([x for x, _ in bounds], [y for _, y in bounds], color="#000000", linestyle=":", label="bound of the chip")
        for index, fs in enumerate(systems_of(here)):
            points = sorted((overwrite_place(row)[1], row["speed_kib_s"]) for row in here if row["fs"] == fs)
            panel.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, color=colour_of(fs, index), label=name_of(fs))
        panel.set_yscale("log")
        panel.set_ylim(0.001, 1000)
        panel.set_title(ACCESSES[access], fontsize=9)
        panel.set_xlabel("% of the chip")
    axes[0][0].set_ylabel("KiB/s, each access synced")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return save(figure, path)


# ---- latency ----

def latency_series(rows: list[Row]) -> list[tuple[str, str, Row]]:
    """Rows of one workload as (label, colour, row): NF2FS without and with idle time, then its peers."""
    found = []
    for index, row in enumerate(sorted(rows, key=lambda row: (row["fs"] != "nf2fs", row.get("maintain_budget_us", 0), row["fs"]))):
        idle = row.get("maintain_budget_us", 0)
        found.append((name_of(row["fs"]) + (f", {idle / 1000:g} ms idle" if idle else ""), IDLE_COLOUR if idle else colour_of(row["fs"], index), row))
    return found


def latency(path: Path, rows: list[Row]) -> Path | None:
    """One panel a fill: each kind of call from its median to its maximum."""
    rows = [row for row in rows if is_good(row) and row.get("calls") and row["fs"] != "native" and row["workload"][5:].isdigit()]
    workloads = sorted({row["workload"] for row in rows}, key=lambda name: int(name[5:]))
    if not workloads:
        return None
    kinds = sorted({kind for row in rows for kind, call in row["calls"].items() if call["us_max"]}, reverse=True)
    columns = min(3, len(workloads))
    lines = -(-len(workloads) // columns)
    figure, axes = new_figure(lines, columns, 4.3 * columns, (0.42 * len(kinds) + 0.8) * lines)
    panels = [panel for line in axes for panel in line]
    for panel, workload in zip(panels, workloads):
        series = latency_series([row for row in rows if row["workload"] == workload])
        for index, (label, colour, row) in enumerate(series):
            calls = [(place + 0.25 * ((len(series) - 1) / 2 - index), row["calls"][kind]) for place, kind in enumerate(kinds) if kind in row["calls"]]
            heights = [height for height, _ in calls]
            values = {rank: [max(call[f"us_{rank}"] / 1000, LEAST_MS) for _, call in calls] for rank, _ in RANKS}
            panel.hlines(heights, values["median"], values["max"], color=colour, linewidth=1, label=label)
            for rank, mark in RANKS:
                panel.plot(values[rank], heights, marker=mark, markersize=4, color=colour, linestyle="")
        panel.set_xscale("log")
        panel.set_yticks(range(len(kinds)), kinds)
        panel.set_title(f"chip {workload[5:]}% full", fontsize=9)
        panel.set_xlabel("ms: median o, p99 |, p99.9 +, maximum x")
    for panel in panels[len(workloads):]:
        panel.set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return save(figure, path)


# ---- any curve ----

def curve(path: Path, title: str, x_text: str, y_text: str, series: dict[str, list[tuple[float, float]]]) -> Path | None:
    """A line for each file system; the axis of values is logarithmic where they differ a hundredfold, and else begins at zero."""
    values = [y for points in series.values() for _, y in points if y > 0]
    if not values or max(map(len, series.values())) < 2:
        return None
    figure, axes = new_figure(1, 1, 6, 3.4)
    panel = axes[0][0]
    for index, (fs, points) in enumerate(series.items()):
        panel.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, color=colour_of(fs, index), label=name_of(fs))
    if max(values) > 100 * min(values):
        panel.set_yscale("log")
        y_text += " (logarithmic)"
    else:
        panel.set_ylim(bottom=0)
    panel.set_title(title, fontsize=9)
    panel.set_xlabel(x_text)
    panel.set_ylabel(y_text)
    panel.legend()
    return save(figure, path)


# ---- wear ----

Histogram = list[list[int]]     # [erases, how many blocks were erased so often], fewest erases first


def histogram(counts: list[int]) -> Histogram:
    return [[value, count] for value, count in sorted(Counter(counts).items())]


def wear(path: Path, title: str, curves: dict[str, Histogram]) -> Path:
    """Erases of the blocks, least worn first, as a share of the chip."""
    figure, axes = new_figure(1, 1, 6, 3.4)
    panel = axes[0][0]
    for index, (fs, bins) in enumerate(curves.items()):
        blocks, x, y = sum(count for _, count in bins), [], []
        before = 0
        for erases, count in bins:
            x += [100 * before / blocks, 100 * (before + count) / blocks]
            y += [erases, erases]
            before += count
        panel.plot(x, y, color=colour_of(fs, index), label=name_of(fs))
    panel.set_title(title, fontsize=9)
    panel.set_xlabel("% of the blocks, least worn first")
    panel.set_ylabel("erases of a block")
    panel.set_ylim(bottom=0)
    panel.legend()
    return save(figure, path)


def wear_by_address(path: Path, title: str, lines: dict[str, list[int]]) -> Path:
    """Erases of the blocks in the order of their addresses."""
    figure, axes = new_figure(len(lines), 1, 7, 2.2 * len(lines) + 0.4)
    for index, (fs, counts) in enumerate(lines.items()):
        panel = axes[index][0]
        panel.vlines(range(len(counts)), 0, counts, color=colour_of(fs, index), linewidth=0.4, rasterized=True)
        panel.set_title(f"{title}: {name_of(fs)}", fontsize=9)
        panel.set_ylabel("erases")
        panel.set_ylim(bottom=0)
    axes[-1][0].set_xlabel("block")
    return save(figure, path)
