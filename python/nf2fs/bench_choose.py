# SPDX-License-Identifier: BSD-2-Clause
"""Which file system for a chip and a workload: a table of candidates, and what is worst about each."""

from __future__ import annotations

from pathlib import Path

from . import bench, bench_processor, bench_store, bench_sweep

YARDSTICK = "native"            # no file system: it forgets everything at a reset
NOTABLE = 1.5                   # times the best candidate's, below which a point is not worth a word


def rows_for(tasks: list[bench_sweep.Task], rows_path: str | None, jobs: int, seconds: int, bar) -> list[bench.Row]:
    """Rows of the tasks, from the file where they are there."""
    import tempfile
    with tempfile.TemporaryDirectory() as directory:
        path = Path(rows_path) if rows_path else Path(directory) / "rows.jsonl"
        done = bench_sweep.read_done(path)
        left = [task for task in tasks if task.key() not in done]
        with bar(len(left)) as shown:
            bench_sweep.run(left, path, jobs, seconds, None, shown.done)
        keys = {task.key() for task in tasks}
        return [row for row in bench_store.read_any(path) if row["cell_key"] in keys]


def seconds(us: float) -> str:
    return f"{us / 1e6:,.1f} s" if us >= 1e6 else f"{us / 1e3:,.1f} ms" if us >= 1e3 else f"{us:,.0f} us"


def size(count: float) -> str:
    return f"{count / 1048576:,.1f} MiB" if count >= 1048576 else f"{count / 1024:,.1f} KiB" if count >= 1024 else f"{count:,.0f} B"


def times(value: float) -> str:
    return f"{value:,.0f} times" if value >= 10 else f"{value:.1f} times"


class Candidate:
    """One file system over all rows that were asked for."""

    def __init__(self, fs: str, rows: list[bench.Row], cuts: list[bench.Row], mhz: float):
        self.fs = fs
        self.good = [row for row in rows if bench.is_good(row)]
        self.failed = [row for row in rows if not bench.is_good(row)]
        self.time_us = sum(row["time_us"] for row in self.good)
        self.time_max_us = sum(row.get("time_us_max", row["time_us"]) for row in self.good)
        worst = max(self.good, key=lambda row: row["worst_call_us"], default=None)
        self.worst_us = worst["worst_call_us"] if worst else 0
        self.worst_text = f"{worst['worst_call_name']} in {worst['workload']} ({worst['state']})" if worst else ""
        self.used = sum(row.get("consumed_bytes", 0) for row in self.good)
        self.erases = sum(row.get("erases", 0) for row in self.good)
        self.ram = max((row.get("ram_bytes", 0) for row in self.good), default=0)
        counted = [row["instructions"] for row in self.good if row.get("instructions") is not None]
        self.processor_us = bench_processor.processor_us(sum(counted), mhz) if counted and len(counted) == len(self.good) else None
        self.code = max((row.get("code_bytes") or 0 for row in self.good), default=0)
        self.cuts = sum(row["cuts"] for row in cuts)
        self.lost = sum(row["any"] for row in cuts)
        self.waived = sum(row.get("any_waived", 0) for row in cuts)
        self.promises_nothing = any(len(row.get("waives", [])) == len(row["broken"]) for row in cuts)


    @property
    def unsafe(self) -> bool:
        """Power cuts lost something, promised or not."""
        return self.lost > 0 or (self.promises_nothing and self.waived > 0)


def candidates(rows: list[bench.Row], cuts: list[bench.Row], mhz: float) -> list[Candidate]:
    systems = list(dict.fromkeys(row["fs"] for row in rows))
    return [Candidate(fs, [row for row in rows if row["fs"] == fs], [row for row in cuts if row["fs"] == fs], mhz) for fs in systems]


def worst_point(one: Candidate, best: dict[str, float]) -> str:
    """The measure in which it is furthest behind the best candidate."""
    if one.failed:
        row = one.failed[0]
        more = f" (and {len(one.failed) - 1} further cells)" if len(one.failed) > 1 else ""
        return f"fails {row['workload']} ({row.get('state', 'fresh')}){more}: {row.get('error') or row.get('status')}"
    if one.promises_nothing:
        return f"it is not made for power cuts: after {one.waived} of {one.cuts} something was lost or damaged"
    if one.lost:
        return f"breaks a promise after {one.lost} of {one.cuts} power cuts"
    points = [(one.time_us, best["time"], "the flash works {x} as long as with the best, {v}", seconds),
              (one.worst_us, best["worst"], "a single call takes {v} ({t}), {x} the best's longest", seconds),
              (one.used + one.erases * 1e-9, best["used"], "it uses up {v} of flash, {x} the best's: so much sooner is the chip worn", size),
              (one.ram, best["ram"], "it takes {v} of RAM, {x} the least", size)]
    if one.processor_us and best.get("processor"):
        points.append((one.processor_us, best["processor"], "the processor works {v}, {x} as long as with the best", seconds))
    if one.code and best.get("code"):
        points.append((one.code, best["code"], "its code takes {v} on a Cortex-M4, {x} the least", size))
    value, least, text, unit = max(points, key=lambda point: point[0] / max(point[1], 1))
    factor = value / max(least, 1)
    if factor < NOTABLE:
        return f"no point in which it is {times(NOTABLE)} as bad as the best"
    return text.format(v=unit(value), x=times(factor), t=one.worst_text)


def both(one: Candidate) -> tuple[str, str, str]:
    return ("-", "-", "-") if one.processor_us is None else (seconds(one.processor_us), seconds(one.time_us + one.processor_us), size(one.code) if one.code else "-")


def ranked(found: list[Candidate]) -> list[Candidate]:
    return sorted(found, key=lambda one: (bool(one.failed), one.unsafe, one.time_us))


def table(found: list[Candidate]) -> list[str]:
    asked = any(one.processor_us is not None for one in found)
    headings = ("file system", "flash time", *(("processor", "both", "code") if asked else ()), "at maximum times", "longest call", "flash used up", "erases", "RAM", "failed", "cuts broken")
    rows = [(one.fs, seconds(one.time_us), *(both(one) if asked else ()), seconds(one.time_max_us), seconds(one.worst_us), size(one.used), f"{one.erases:,}", size(one.ram),
             str(len(one.failed)), f"{one.lost} of {one.cuts}" + (f" ({one.waived} not promised)" if one.waived else "") if one.cuts else "-") for one in found]
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    return ["  ".join(word.ljust(width) if i == 0 else word.rjust(width) for i, (word, width) in enumerate(zip(row, widths))).rstrip()
            for row in [headings, *rows]]


def answer(rows: list[bench.Row], cuts: list[bench.Row], chip: str, mhz: float = bench_processor.MHZ) -> str:
    everyone = candidates(rows, cuts, mhz)
    real = ranked([one for one in everyone if one.fs != YARDSTICK])
    whole = [one for one in real if one.good and not one.failed] or [one for one in real if one.good]
    if not whole:
        return "\n".join([f"Nothing ran on {chip}:", *(f"  {one.fs}: {worst_point(one, {})}" for one in real)])
    best = {"time": min(one.time_us for one in whole), "worst": min(one.worst_us for one in whole), "used": min(one.used for one in whole),
            "ram": min(one.ram for one in whole), "processor": min((one.processor_us for one in whole if one.processor_us), default=0),
            "code": min((one.code for one in whole if one.code), default=0)}
    cells = len({(row["workload"], row.get("state")) for row in rows})
    yardstick = [one for one in everyone if one.fs == YARDSTICK]
    lines = [f"{chip}, {cells} cells a candidate, sums of them; typical times of the data sheet, each byte compared:", "", *table(real + yardstick), ""]
    lines += [f"{one.fs}: worst point: {worst_point(one, best)}." for one in real]
    lines += [f"{one.fs}: raw flash without a file system, for comparison: what it wrote cannot be found again after a reset." for one in yardstick]
    if bench_processor.is_asked(rows):
        lines += ["", f"Processor: a Cortex-M4, {bench_processor.text_of_clock(mhz)}.", *(f"No instructions of {one}." for one in bench_processor.reasons(rows))]
    first = next((one for one in whole if not one.unsafe), whole[0])
    lines += ["", f"Least flash time without a failure{' or a broken promise' if first.cuts else ''}: {first.fs}." +
              ("" if first.cuts else " Whether it survives power cuts: `norbench cuts`, and --cuts here.")]
    counted = [one for one in whole if one.processor_us is not None and not one.unsafe]
    if counted:
        lines.append(f"Least time of flash and processor: {min(counted, key=lambda one: one.time_us + one.processor_us).fs}.")
    return "\n".join(lines)
