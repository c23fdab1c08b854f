# SPDX-License-Identifier: BSD-2-Clause
"""The report: one HTML page with tables and interactive plots that needs nothing but itself."""

from __future__ import annotations

import base64
import csv
import html
import json
import math
import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from . import bench, bench_cuts, bench_elsewhere, bench_flame, bench_processor

TEMPLATE = Path(__file__).with_name("bench_page.html")
ELSEWHERE = "norbench/data/measured_elsewhere.csv"
# Configurations of one file system are shades of one colour.
COLOURS = {"nf2fs": "#e8590c", "native": "#868e96", "littlefs": "#1971c2", "littlefs-p256": "#4dabf7", "littlefs-erasecheck": "#5f3dc4", "littlefs-p256-erasecheck": "#9775fa",
           "yaffs2": "#2b8a3e", "yaffs1": "#69db7c", "fatfs": "#a61e4d"}
PALETTE = ("#0b7285", "#e67700", "#c2255c", "#5c940d", "#862e9c", "#364fc7", "#087f5b", "#d9480f")
KINDS = ("#1c7ed6", "#f08c00", "#37b24d", "#e03131", "#ae3ec9")          # of what is no file system
SYMBOLS = ("circle", "diamond-open", "triangle-up", "square", "x", "star")
TIMES_MS = ((0.001, "1 us"), (0.01, "10 us"), (0.1, "100 us"), (1, "1 ms"), (10, "10 ms"), (100, "100 ms"), (1000, "1 s"), (1e4, "10 s"), (6e4, "1 min"), (6e5, "10 min"), (3.6e6, "1 h"), (3.6e7, "10 h"),
            (3.6e8, "100 h"))
MAPS_MAX = 6                    # rows whose maps are shown
WEAR_WIDTH = 64                 # columns of a wear map
ACCESS = {"256": 256, "512": 512, "1k": 1024, "4k": 4096, "16k": 16384, "16": 16, "64": 64}
FILLS = (25, 50, 75, 90)


@dataclass
class Figure:
    """A plot as plotly takes it, with the text beside it."""
    title: str
    text: str
    traces: list[dict]
    layout: dict = field(default_factory=dict)
    height: int = 420


@dataclass
class Section:
    title: str
    text: str
    figures: list[Figure] = field(default_factory=list)
    body: str = ""              # HTML
    lines: list[list] = field(default_factory=list)     # of a long table in it, which is packed with the plots


def good(rows: list[bench.Row]) -> list[bench.Row]:
    """Rows for plots: of those that differ in the seed alone the last one."""
    found = {(row["fs"], row.get("chip"), place(row), row.get("maintain_budget_us")): row for row in rows if bench.is_good(row) and not bench_cuts.is_cuts(row)}
    return list(found.values())


def systems_of(rows: list[bench.Row]) -> list[str]:
    first = {"native": 0, "nf2fs": 1}
    return sorted({row["fs"] for row in rows}, key=lambda fs: (first.get(fs, 2), fs))


def of(rows: list[bench.Row], **keys) -> list[bench.Row]:
    return [row for row in rows if all(row.get(key) == value for key, value in keys.items())]


def place(row: bench.Row) -> str:
    state = row.get("state", "fresh")
    return row["workload"] + ("" if state == "fresh" else f" ({state})")


# ---- rows of dots ----

def time_axis(values: list[float]) -> dict:
    """A logarithmic axis of milliseconds, in units that fit."""
    least, most = min(values, default=1), max(values, default=1)
    ticks = [(at, text) for at, text in TIMES_MS if least / 10 <= at <= most * 10]
    return {"type": "log", "title": {"text": "logarithmic"}, "tickvals": [at for at, _ in ticks], "ticktext": [text for _, text in ticks]}


def factor_axis(title: str) -> dict:
    ticks = [10.0 ** power for power in range(-4, 7)]
    return {"type": "log", "title": {"text": f"{title} (logarithmic)"}, "tickvals": ticks, "ticktext": [f"{tick:,g}" for tick in ticks]}


def dots(title: str, text: str, series: dict[str, list[tuple[str, float, str]]], axis: dict, hidden: tuple[str, ...] = ()) -> Figure:
    """A line for each label, a dot for each name of the legend: label, value, what the dot says. A value that is not above 0 has no place on such an axis."""
    labels = list(dict.fromkeys(label for points in series.values() for label, _, _ in points))
    traces = []
    for name, points in series.items():
        shown = [point for point in points if point[1] > 0]
        traces.append({"type": "scatter", "mode": "markers", "name": name, "y": [label for label, _, _ in shown], "x": [value for _, value, _ in shown], "text": [f"{name}: {said}" for _, _, said in shown],
                       "hoverinfo": "text+y", "marker": {"size": 10}, **({"visible": "legendonly"} if name in hidden else {})})
    layout = {"xaxis": {**axis, "automargin": True}, "yaxis": {"categoryorder": "array", "categoryarray": labels[::-1], "automargin": True, "gridcolor": "rgba(128,128,128,.25)"}}
    return Figure(title, text, traces, layout, 150 + 22 * len(labels))


def time_dots(title: str, text: str, series: dict[str, list[tuple[str, float]]], hidden: tuple[str, ...] = ()) -> Figure:
    """The same of milliseconds."""
    values = [ms for points in series.values() for _, ms in points if ms > 0]
    return dots(title, text, {name: [(label, ms, time_text(1000 * ms)) for label, ms in points] for name, points in series.items()}, time_axis(values), hidden)


def by_system(rows: list[bench.Row], value) -> dict[str, list[tuple[str, float]]]:
    return {fs: [(place(row), value(row)) for row in of(rows, fs=fs)] for fs in systems_of(rows)}


# ---- sections ----

YARDSTICK = bench.NATIVE        # no file system: its time is shown, and nobody is measured against it


def time_text(us: float) -> str:
    """In a unit that fits: 640 us, 42.7 ms, 5.5 s, 4.6 min."""
    for unit, size in (("h", 3600e6), ("min", 60e6), ("s", 1e6), ("ms", 1e3)):
        if us >= size * (2 if unit in ("h", "min") else 1):
            return f"{us / size:,.1f} {unit}"
    return f"{us:,.0f} us"


def factors(rows: list[bench.Row]) -> dict[str, dict[str, float]]:
    """For each workload (and state) the time of each file system, in times that of the fastest one; workloads that only one ran are left out."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        found.setdefault(place(row), {})[row["fs"]] = row["time_us"]
    kept = {}
    for name, times_of in found.items():
        real = {fs: us for fs, us in times_of.items() if fs != YARDSTICK and us > 0}
        if len(real) > 1:
            least = min(real.values())
            kept[name] = {fs: us / least for fs, us in times_of.items() if us > 0}
    return kept


def times(rows: list[bench.Row]) -> Section:
    """For each chip a row of dots for each workload: how many times as long as the fastest file system, sorted."""
    figures = []
    for chip in dict.fromkeys(row["chip"] for row in rows):
        mine = [row for row in of(rows, chip=chip) if not row.get("maintain_budget_us")]
        found = factors(mine)
        if not found:
            continue
        least = {name: min((row for row in mine if place(row) == name and row["fs"] != YARDSTICK and row["time_us"] > 0), key=lambda row: row["time_us"]) for name in found}
        order = sorted(found, key=lambda name: max(factor for fs, factor in found[name].items() if fs != YARDSTICK))
        label = {name: f"{name}: {least[name]['fs']} {time_text(least[name]['time_us'])}" for name in order}
        traces = []
        for fs in systems_of(mine):
            here = [name for name in order if fs in found[name]]
            traces.append({"type": "scatter", "mode": "markers", "name": fs, "y": [label[name] for name in here], "x": [found[name][fs] for name in here],
                           "text": [f"{fs}: {found[name][fs]:.2f} times" for name in here], "hoverinfo": "text+y",
                           "marker": {"size": 11, "symbol": "line-ns-open" if fs == YARDSTICK else "circle", "line": {"width": 1}}})
        most = max(factor for one in found.values() for factor in one.values())
        ticks = [tick for tick in (0.01, 0.1, 1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000) if tick <= 2 * most]
        layout = {"xaxis": {"type": "log", "title": {"text": "times the fastest file system (logarithmic)"}, "tickvals": ticks, "ticktext": [f"{tick:,g} x" for tick in ticks], "automargin": True},
                  "yaxis": {"categoryorder": "array", "categoryarray": [label[name] for name in order], "automargin": True, "gridcolor": "rgba(128,128,128,.25)"}}
        figures.append(Figure(chip, "Each line names the fastest file system and its flash time; the further to the right a dot lies, the longer. A tick mark is raw flash, which is no file system.",
                              traces, layout, 150 + 22 * len(order)))
    return Section("Time", "Times the fastest: page convention, typical times, fast reads.", figures)


def mean_factor(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


def verdict_lines(rows: list[bench.Row], cuts: list[bench.Row]) -> list[tuple[bool, str]]:
    """What passed and what failed, in a line each."""
    bad = [row for row in rows if not bench.is_good(row)]
    lines = [(not bad, f"{len(rows) - len(bad)} of {len(rows)} rows ran to their end and were compared byte by byte")]
    lines += [(False, f"{row['fs']}, {place(row)}, {row.get('chip', '')}: {row.get('error') or row.get('status')}") for row in bad[:8]]
    if len(bad) > 8:
        lines.append((False, f"and {len(bad) - 8} rows more"))
    for fs in dict.fromkeys(row["fs"] for row in cuts):
        mine = [row for row in cuts if row["fs"] == fs]
        lost, made = sum(row["any"] for row in mine), sum(row["cuts"] for row in mine)
        waived = sum(row.get("any_waived", 0) for row in mine)
        if all(len(row.get("waives", [])) == len(row["broken"]) for row in mine):
            lines.append((False, f"{fs}: it is not made for power cuts: {waived} of {made} lost or damaged something"))
            continue
        lines.append((lost == 0, f"{fs}: {lost} of {made} power cuts broke a promise" + (f"; {waived} more broke what it does not promise" if waived else "")))
    return lines


def loses_at_cuts(cuts: list[bench.Row]) -> set[str]:
    """The file systems that power cuts took something from that they promise, or that promise nothing."""
    return {row["fs"] for row in cuts if row["any"] or len(row.get("waives", [])) == len(row["broken"]) and row.get("any_waived")}


def chip_answer(rows: list[bench.Row], chip: str, unsafe: set[str] = frozenset()) -> tuple[str, list[list]]:
    """A sentence, and a line for each file system. What lost something at power cuts comes last, and is no answer while there is another."""
    mine = [row for row in of(rows, chip=chip) if not row.get("maintain_budget_us")]
    found = factors(mine)
    systems = [fs for fs in systems_of(mine) if fs != YARDSTICK and any(fs in one for one in found.values())]
    if not systems:
        return "", []
    shared = [one for one in found.values() if all(fs in one for fs in systems)]
    mean = {fs: mean_factor([one[fs] for one in shared]) if shared else float("nan") for fs in systems}
    wins = {fs: sum(one[fs] <= 1 for one in found.values() if fs in one) for fs in systems}
    order = sorted(systems, key=lambda fs: (fs in unsafe, mean[fs] if shared else 0, -wins[fs]))
    lines = []
    for fs in order:
        here = {name: one[fs] for name, one in found.items() if fs in one}
        worst = max(here, key=here.get)
        longest = max(of(mine, fs=fs), key=lambda row: row.get("worst_call_us", 0))
        lines.append([fs, f"{wins[fs]} of {len(here)}", f"{mean[fs]:,.2f}" if shared else "-", f"{here[worst]:,.1f} ({worst})", f"{time_text(longest.get('worst_call_us', 0))} ({place(longest)})",
                      f"{max(row.get('ram_bytes', 0) for row in of(mine, fs=fs)):,}"])
    first, text = order[0], f"{chip}: of {len(found)} workloads {order[0]} is the fastest in {wins[order[0]]}"
    if unsafe & set(order[1:]) and first not in unsafe:
        text += f" (not counted as an answer: {', '.join(fs for fs in order if fs in unsafe)}, which lost something at power cuts)"
    if shared and len(order) > 1 and order[1] not in unsafe:
        text += f"; over the {len(shared)} that all ran, {order[1]} takes {mean[order[1]] / mean[first]:,.1f} times as long in the geometric mean"
    return text + ".", lines


def answers(rows: list[bench.Row], mine: list[bench.Row], cuts: list[bench.Row]) -> Section:
    """On top: which one, and what passed."""
    head = ["file system", "fastest in", "times the fastest, mean", "at worst", "longest call", "RAM, bytes"]
    parts = []
    for number, chip in enumerate(dict.fromkeys(row["chip"] for row in mine)):
        text, lines = chip_answer(mine, chip, loses_at_cuts(cuts))
        if lines:
            parts.append(f"<p><strong>{html.escape(text)}</strong></p>" + table(head, lines, f"answer{number}"))
    checks = "".join(f'<li>{"&#10003;" if passed else "&#10007;"} {html.escape(text)}</li>' for passed, text in verdict_lines(rows, cuts))
    return Section("The answer", "Which file system for this chip and these workloads. What matters more than the sum, such as the longest call or RAM, stands beside it; `norbench choose` weighs rates and limits.",
                   body="".join(parts) + f'<ul class="checks">{checks}</ul>')


def conventions(rows: list[bench.Row]) -> Section:
    figures = []
    kinds = (("time_us", "page convention, fast reads"), ("time_us_slow", "slow reads"), ("time_us_byte", "byte convention"), ("time_us_max", "maximum times of the data sheet"),
             ("time_us_model", "under the row's conditions"))
    for fs in systems_of(rows):
        mine = [row for row in of(rows, fs=fs) if row.get("time_us_byte") is not None]
        if mine:
            figures.append(time_dots(fs, "", {text: [(place(row), row.get(key, 0) / 1000) for row in mine] for key, text in kinds
                                              if any(row.get(key) for row in mine) and (key != "time_us_model" or any(row.get("conditions") for row in mine))}))
    return Section("Time under each convention", "The same operations, charged in each way.", figures)


def access_of(workload: str, prefix: str) -> int | None:
    return ACCESS.get(workload.removeprefix(prefix).split("-")[0]) if workload.startswith(prefix) else None


def speed_lines(rows: list[bench.Row], prefix: str, fill: str = "") -> list[dict]:
    traces = []
    for fs in systems_of(rows):
        points = sorted((access_of(row["workload"], prefix), row["speed_kib_s"], row.get("steady", 1)) for row in of(rows, fs=fs)
                        if row.get("speed_kib_s") and access_of(row["workload"], prefix) and row["workload"].endswith(fill))
        if points:
            traces.append({"type": "scatter", "mode": "lines+markers", "name": fs, "x": [one[0] for one in points], "y": [one[1] for one in points],
                           "text": ["steady" if one[2] else "stopped before the steady state" for one in points]})
    return traces


def throughputs(rows: list[bench.Row]) -> Section:
    sizes = sorted(set(ACCESS.values()))
    axes = {"xaxis": {"type": "log", "title": {"text": "bytes an access"}, "tickvals": sizes, "ticktext": [f"{size:,}" for size in sizes]}, "yaxis": {"type": "log", "title": {"text": "KiB/s (logarithmic)"}}}
    figures = []
    for prefix, fill, title in (("owseq", "", "Synced overwrites from front to back, file of half the chip"), ("ow", "-50", "Synced overwrites at random, file of half the chip"),
                                ("rdseq", "", "Reads from front to back"), ("rdrand", "", "Reads at random")):
        traces = speed_lines([row for row in rows if not (prefix == "ow" and row["workload"].startswith("owseq"))], prefix, fill)
        if traces:
            figures.append(Figure(title, "", traces, axes))
    traces = []
    for fs in systems_of(rows):
        points = [(fill, row["speed_kib_s"]) for fill in FILLS for row in of(rows, fs=fs, workload=f"ow4k-{fill}") if row.get("speed_kib_s")]
        if points:
            traces.append({"type": "scatter", "mode": "lines+markers", "name": fs, "x": [one[0] for one in points], "y": [one[1] for one in points]})
    bound = {fill: row["bound_kib_s"] for fill in FILLS for row in of(rows, workload=f"ow4k-{fill}") if row.get("bound_kib_s")}
    if traces:
        traces.append({"type": "scatter", "mode": "lines", "name": "bound", "line": {"dash": "dash"}, "x": list(bound), "y": list(bound.values())})
        figures.append(Figure("Synced overwrites of 4 KiB at random, by fill", "The bound is the chip's: what an ideal log can reach at that fill.", traces,
                              {"xaxis": {"title": {"text": "file, percent of the chip"}}, "yaxis": {"type": "log", "title": {"text": "KiB/s (logarithmic)"}}}))
    mounts = []
    for fs in systems_of(rows):
        for prefix, text in (("mountfill", "after an unmount"), ("mountfillu", "without one")):
            points = sorted((int(row["workload"].removeprefix(prefix)), row["time_us"] / 1000) for row in of(rows, fs=fs)
                            if row["workload"].removeprefix(prefix).isdigit() and row["workload"].startswith(prefix))
            if points:
                mounts.append({"type": "scatter", "mode": "lines+markers", "name": f"{fs}, {text}", "x": [one[0] for one in points], "y": [one[1] for one in points]})
    if mounts:
        figures.append(Figure("Mount, by fill", "", mounts, {"xaxis": {"title": {"text": "percent of the chip"}}, "yaxis": time_axis([y for one in mounts for y in one["y"] if y > 0])}))
    return Section("Throughput by access size and fill", "Rows that were stopped before a steady state show less than the truth; the text at a point says so.", figures)


def latencies(rows: list[bench.Row]) -> Section:
    ranks = (("median", "50%"), ("p99", "99%"), ("p999", "99.9%"), ("max", "longest"))
    figures = []
    for workload in dict.fromkeys(row["workload"] for row in rows if row.get("calls")):
        mine = [row for row in of(rows, workload=workload) if row.get("calls")]
        kinds = list(dict.fromkeys(kind for row in mine for kind in row["calls"]))
        series = {f"{row['fs']}{', with idle time' if row.get('maintain_budget_us') else ''}, {text}": [(kind, row["calls"].get(kind, {}).get(f"us_{rank}", 0) / 1000) for kind in kinds]
                  for row in mine for rank, text in ranks}
        hidden = tuple(name for name in series if not name.endswith((", 50%", ", longest")) or not name.startswith(("nf2fs,", "littlefs,")))
        figures.append(time_dots(workload, "Median and longest of each kind of call; a click in the legend shows other ranks and other file systems.", series, hidden))
    worst = [{"type": "scatter", "mode": "markers", "name": fs, "x": [row["time_us"] / 1000 / max(row.get("operations", 1), 1) for row in of(rows, fs=fs)],
              "y": [row["worst_call_us"] / 1000 for row in of(rows, fs=fs)], "text": [f"{place(row)}: {row.get('worst_call_name', '')}" for row in of(rows, fs=fs)]}
             for fs in systems_of(rows)]
    figures.append(Figure("Longest call beside the mean operation", "A point a row; what lies high waits long now and then.", worst,
                          {"xaxis": {**time_axis([x for one in worst for x in one["x"] if x > 0]), "title": {"text": "mean (logarithmic)"}},
                           "yaxis": {**time_axis([y for one in worst for y in one["y"] if y > 0]), "title": {"text": "longest call (logarithmic)"}}}))
    return Section("Latency", "Flash time of single calls.", figures)


def amplification(rows: list[bench.Row]) -> Section:
    figures = []
    for title, key, base in (("Bytes programmed for each byte written", "program_bytes", "user_bytes"), ("Bytes read for each byte read", "read_bytes", "user_bytes_read"),
                             ("Bytes of flash used up for each byte written", "consumed_bytes", "user_bytes")):
        writes = [row for row in rows if row.get(base) and row.get(key) and (base != "user_bytes" or row.get("program_bytes"))]
        if writes:
            series = {fs: [(label, value, f"{value:,.2f}") for label, value in points] for fs, points in by_system(writes, lambda row: row[key] / row[base]).items()}
            figures.append(dots(title, "", series, factor_axis("times")))
    return Section("Amplification", "1 is the least that there can be.", figures)


def memory(rows: list[bench.Row]) -> Section:
    systems = systems_of(rows)
    most = lambda key: [max((row.get(key) or 0 for row in of(rows, fs=fs)), default=0) for fs in systems]
    series = {text: [(fs, value, f"{value:,} B") for fs, value in zip(systems, most(key))] for key, text in (("ram_bytes", "structures and buffers, as stated by the adapter"),
                                                                                                          ("heap_bytes", "taken from the heap in calls, on this computer"))}
    figures = [dots("RAM", "The most of all rows. Pointers of this computer are larger than a microcontroller's; handles of the adapters are in the second figure, and raw flash keeps its whole map there.", series,
                    factor_axis("bytes"))]
    codes = {row["fs"]: row["code_bytes"] for row in rows if row.get("code_bytes")}
    if codes:
        figures.append(Figure("Code", "For a Cortex-M4, -Os: all that the adapter calls, with what that calls of libc. Configurations of one file system have the same code.",
                              [{"type": "bar", "name": "code and tables", "x": list(codes), "y": list(codes.values())}], {"yaxis": {"title": {"text": "bytes"}}}))
    return Section("Memory", "", figures)


def processors(rows: list[bench.Row], mhz: float) -> Section:
    """Instructions, the time of flash and processor together, and the longest call of both."""
    counted = [row for row in rows if row.get("instructions") is not None]
    systems = systems_of(counted)
    bars = lambda value: [{"type": "bar", "name": fs, "x": [place(row) for row in of(counted, fs=fs)], "y": [value(row) for row in of(counted, fs=fs)]} for fs in systems]
    instructions = {fs: [(label, value, f"{value:,.0f}") for label, value in points] for fs, points in by_system(counted, lambda row: row["instructions"]).items()}
    figures = [dots("Instructions", "Of the measured stretch, idle time included.", instructions, factor_axis("instructions")),
               time_dots("Flash and processor", f"At {bench_processor.text_of_clock(mhz)}.", by_system(counted, lambda row: bench_processor.total_us(row, mhz) / 1000)),
               Figure("The processor's share", "Of that time.", bars(lambda row: 100 * (1 - row["time_us"] / max(bench_processor.total_us(row, mhz), 1e-9))), {"yaxis": {"title": {"text": "percent"}, "rangemode": "tozero"}, "barmode": "group"}),
               time_dots("Longest call, flash and processor", "", by_system(counted, lambda row: (bench_processor.worst(row, mhz) or (0, ""))[0] / 1000))] if counted else []
    why = "".join(f"<li>No instructions of {html.escape(one)}.</li>" for one in bench_processor.reasons(rows))
    return Section("Processor", "Instructions of the file system on a Cortex-M4, counted in an emulator over the same cell; those of the driver are left out.", figures,
                   f"<ul>{why}</ul>" if why else "")


def as_map(values: list[int]) -> list[list[int | None]]:
    lines = [values[at:at + WEAR_WIDTH] for at in range(0, len(values), WEAR_WIDTH)]
    lines[-1] = lines[-1] + [None] * (WEAR_WIDTH - len(lines[-1]))
    return lines


def unevenness(row: bench.Row) -> float:
    """How many times the mean the most used block was erased."""
    values = row["block_erases"]
    return max(values) * len(values) / sum(values) if any(values) else 0


def maps(rows: list[bench.Row]) -> Section:
    """Of the rows that have maps those whose wear is the most uneven: a map takes as many bytes as the chip has blocks."""
    mapped = sorted((row for row in rows if row.get("block_erases")), key=unevenness, reverse=True)
    figures = []
    for row in mapped[:MAPS_MAX]:
        for key, text in (("block_erases", "erases"), ("block_programs", "programs"), ("block_reads", "reads")):
            if any(row.get(key) or ()):
                figures.append(Figure(f"{row['fs']}, {place(row)}: {text}", f"A field a block of {row['chip']}, {WEAR_WIDTH} in a line; the whole run with format and preparation.",
                                      [{"type": "heatmap", "z": as_map(row[key]), "colorscale": "Viridis", "hovertemplate": f"block %{{y}} x {WEAR_WIDTH} + %{{x}}: %{{z}} {text}<extra></extra>"}],
                                      {"yaxis": {"autorange": "reversed", "visible": False}, "xaxis": {"visible": False}}, 340))
    return Section("Where the work lay", f"Of {len(mapped)} rows with maps the {min(len(mapped), MAPS_MAX)} whose erases are the most uneven.", figures)


def flames(stacks: dict[str, dict]) -> Section:
    figures = []
    for name, folds in stacks.items():
        for measure, text in ((0, "count of operations"), (1, "flash time")):
            tree = bench_flame.tree(folds, measure)
            figures.append(Figure(f"{name}: by {text}", "Outer calls above, the chip's operations below; a click goes into a call, one on the top goes back.",
                                  [{"type": "icicle", "branchvalues": "total", "tiling": {"orientation": "v"}, "maxdepth": 14, **tree}], {}, 520))
    return Section("Flame graphs", "From which calls the operations of the flash come.", figures)


def cuts_section(rows: list[bench.Row]) -> Section:
    head = ["file system", "chip", "cuts", "any", *bench_cuts.PROMISES.values(), "slowest mount, ms"]
    lines = [[row["fs"], row["chip"], row["cuts"], row["any"], *(row["broken"][one] if row["checked"][one] else "-" for one in bench_cuts.PROMISES), f"{row['mount_us_max'] / 1000:.1f}"]
             for row in rows if row["cuts"]]
    return Section("Power cuts", "After how many of the cuts each promise was broken: 0 is what it should be.", body=table(head, lines, "cuts"))


def elsewhere(root: Path) -> Section:
    """Figures of file systems that cannot be built here. They are not mixed with what was run."""
    path = root / ELSEWHERE
    if not path.is_file():
        return Section("Measured elsewhere", "")
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["fs"].startswith(("spiffs", "jesfs", "filex"))]
    head = ["file system", "workload", "mode", "status", "pages programmed", "erases of 4 KiB", "pages read", "time, ms", "longest call, ms"]
    thousand = lambda text: f"{int(text) / 1000:.1f}" if text.isdigit() else "-"
    lines = [[row["fs"], row["workload"], row["mode"], row["status"], row["pg_pages"], row["erases"], row["rd_pages"], thousand(row["total_us_fast"]), thousand(row["worst_call_us_fast"])] for row in rows]
    number = lambda row, key, scale=1: f"{row[key] / scale:.{1 if scale > 1 else 0}f}" if key in row else "-"
    lines += [[row["fs"], row["workload"], f"{row['mode']}, {row['state']}", row["status"], number(row, "program_pages"), number(row, "erases"), number(row, "read_pages"), number(row, "time_us", 1000),
               number(row, "worst_call_us", 1000)] for row in bench_elsewhere.read(root)]
    return Section("Measured elsewhere, not run here", f"SPIFFS, JesFS, FileX with LevelX, and LittleFS 3 ({bench_elsewhere.VERSION}; behind this benchmark) are in no package registry. The rows of the first three were measured once on another counting chip, apart from "
                   "this project; 64 KiB blocks were charged as 16 erases of 4 KiB. They stand for themselves and are in no plot.", body=table(head, [], "elsewhere"), lines=lines)


# ---- HTML ----

def in_words(text: str) -> str:
    """Escaped; what stands between backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))


def table(head: list[str], lines: list[list], name: str) -> str:
    cells = "".join(f"<th><button type=button>{html.escape(text)}</button></th>" for text in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(value))}" for value in line) for line in lines)     # ends of cells and rows may be left out
    return (f'<input class="filter" type="search" placeholder="filter rows" aria-label="filter rows of {name}">'
            f'<div class="scroll"><table id="table-{name}"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>')


def all_rows(rows: list[bench.Row], mhz: float = bench_processor.MHZ) -> Section:
    head = ["file system", "workload", "state", "chip", "time, ms", "byte convention, ms", "maximum times, ms", "pages programmed", "KiB programmed", "pages read", "erases", "longest call, ms", "RAM", *(["M instructions", f"flash + {mhz:g} MHz, ms", "code"] if bench_processor.is_asked(rows) else []), "status"]
    number = lambda value, scale=1.0, digits=0: "-" if value is None else f"{value / scale:.{digits}f}"
    lines = []
    for row in rows:
        lines.append([row["fs"], row["workload"], row.get("state", ""), row.get("chip", ""), number(row.get("time_us"), 1000, 1), number(row.get("time_us_byte"), 1000, 1),
                      number(row.get("time_us_max"), 1000, 1), number(row.get("program_pages")), number(row.get("program_bytes"), 1024, 1), number(row.get("read_pages")),
                      number(row.get("erases")), number(row.get("worst_call_us"), 1000, 1), number(row.get("ram_bytes")),
                      *([number(row.get("instructions"), 1e6, 2), number(bench_processor.total_us(row, mhz), 1000, 1), number(row.get("code_bytes"))] if bench_processor.is_asked(rows) else []),
                      "ok" if bench.is_good(row) else str(row.get("error") or row.get("status"))])
    return Section("All rows", "A click on a heading sorts. A row that failed says why.", body=table(head, [], "rows"), lines=lines)


def plotly_source() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise bench.BenchError("the page needs plotly (pip install plotly)") from None
    return get_plotlyjs()


def packed(text: str) -> str:
    """As the page unpacks it: deflated, in base 85, in lines. Nothing in it ends a script: it has no slash."""
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = squeezer.compress(text.encode()) + squeezer.flush()
    return base64.b85encode(data).decode().replace("<!--", "<\n!--")


def sections_of(rows: list[bench.Row], stacks: dict[str, dict], root: Path, mhz: float = bench_processor.MHZ) -> list[Section]:
    mine = good(rows)
    cuts = [row for row in rows if bench_cuts.is_cuts(row)]
    made = [answers([row for row in rows if not bench_cuts.is_cuts(row)], mine, cuts), times(mine), conventions(mine), throughputs(mine), latencies(mine), amplification(mine), memory(mine), processors(mine, mhz), maps(mine), flames(stacks),
            cuts_section([row for row in rows if bench_cuts.is_cuts(row)]), all_rows([row for row in rows if not bench_cuts.is_cuts(row)], mhz), elsewhere(root)]
    return [one for one in made if one.figures or one.lines or "<td>" in one.body or "<li>" in one.body]


def versions(rows: list[bench.Row]) -> str:
    return ", ".join(sorted({f"{row['fs']} {row['version']}" for row in rows if row.get("version")}))


def paint(figures: list[Figure], systems: list[str]) -> None:
    """Each file system has one colour in all plots."""
    others = [fs for fs in systems if fs not in COLOURS]
    colours = COLOURS | {fs: PALETTE[number % len(PALETTE)] for number, fs in enumerate(others)}
    for figure in figures:
        kinds: list[str] = []       # "littlefs, longest" has the colour of its file system, and a symbol of its own
        for trace in figure.traces:
            fs, _, kind = str(trace.get("name", "")).partition(", ")
            if fs in colours:
                if kind and kind not in kinds:
                    kinds.append(kind)
                for part in ("marker", "line") if trace["type"] == "scatter" else ("marker",):
                    trace.setdefault(part, {}).setdefault("color", colours[fs])
                if kind:
                    trace["marker"].setdefault("symbol", SYMBOLS[kinds.index(kind) % len(SYMBOLS)])
        nameless = [trace for trace in figure.traces if str(trace.get("name", "")).partition(", ")[0] not in colours and trace.get("mode") == "markers"]
        for number, trace in enumerate(nameless):
            trace.setdefault("marker", {}).setdefault("color", KINDS[number % len(KINDS)])


def render(rows: list[bench.Row], title: str, stacks: dict[str, dict] | None = None, root: Path | None = None,
           mhz: float = bench_processor.MHZ) -> str:
    found = sections_of(rows, stacks or {}, root or Path(__file__).resolve().parents[2], mhz)
    paint([figure for section in found for figure in section.figures], systems_of(rows))
    figures, parts, tables = [], [], []
    for number, section in enumerate(found):
        parts.append(f'<section id="s{number}"><h2>{html.escape(section.title)}</h2><p>{in_words(section.text)}</p>')
        for figure in section.figures:
            parts.append(f'<figure><figcaption><h3>{html.escape(figure.title)}</h3><p>{html.escape(figure.text)}</p></figcaption>'
                         f'<div class="plot" id="p{len(figures)}" style="height:{figure.height}px"></div></figure>')
            figures.append({"traces": figure.traces, "layout": figure.layout})
        if section.lines:
            tables.append(section.lines)
        parts.append(section.body.replace("<table ", f'<table data-lines="{len(tables) - 1}" ') + "</section>" if section.lines else section.body + "</section>")
    links = "".join(f'<a href="#s{number}">{html.escape(section.title)}</a>' for number, section in enumerate(found))
    values = {"TITLE": html.escape(title), "VERSIONS": html.escape(versions(rows)), "LINKS": links, "BODY": "".join(parts), "DATA": packed(json.dumps({"figures": figures, "tables": tables})), "PLOTLY": packed(plotly_source())}
    page = TEMPLATE.read_text(encoding="utf-8")
    for key, value in values.items():       # plotly comes last: its letters may spell any of the marks
        page = page.replace(f"@@{key}@@", value)
    return page


def write(path: str | os.PathLike, rows: list[bench.Row], title: str, stacks: dict[str, dict] | None = None, mhz: float = bench_processor.MHZ) -> None:
    unfinished = f"{path}.unfinished"
    Path(unfinished).write_text(render(rows, title, stacks, mhz=mhz), encoding="utf-8")
    os.replace(unfinished, path)
