# SPDX-License-Identifier: BSD-2-Clause
"""Which file system for a chip and a workload: a table of candidates, and what is worst about each."""

from __future__ import annotations

from pathlib import Path

from . import bench, bench_elsewhere, bench_energy, bench_processor, bench_store, bench_sweep
from .bench_cuts import PROMISES

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

    def __init__(self, fs: str, rows: list[bench.Row], cuts: list[bench.Row], mhz: float, rates: tuple[bench_energy.Rate, ...] = ()):
        self.fs = fs
        self.elsewhere = any(bench_elsewhere.is_elsewhere(row) for row in rows)
        self.good = [row for row in rows if bench.is_good(row)]
        self.failed = [row for row in rows if not bench.is_good(row)]
        self.time_us = sum(row["time_us"] for row in self.good)
        self.time_max_us = sum(row["time_us_max"] for row in self.good) if all("time_us_max" in row for row in self.good) else None
        worst = max(self.good, key=lambda row: row["worst_call_us"], default=None)
        self.worst_us = worst["worst_call_us"] if worst else 0
        self.worst_text = f"{worst.get('worst_call_name', 'call')} in {worst['workload']} ({worst['state']})" if worst else ""
        self.used = sum(row.get("consumed_bytes", 0) for row in self.good)
        self.erases = sum(row.get("erases", 0) for row in self.good)
        self.ram = max((row.get("ram_bytes", 0) for row in self.good), default=0)
        counted = [row["instructions"] for row in self.good if row.get("instructions") is not None]
        self.processor_us = bench_processor.processor_us(sum(counted), mhz) if counted and len(counted) == len(self.good) else None
        self.code = max((row.get("code_bytes") or 0 for row in self.good), default=0)
        self.cuts = sum(row["cuts"] for row in cuts)
        energies = [bench_energy.energy_mj(row) for row in self.good]
        self.energy_mj = sum(energies) if energies and None not in energies else None
        self.rate(rates)
        self.lost = sum(row["any"] for row in cuts)
        self.waived = sum(row.get("any_waived", 0) for row in cuts)
        self.promises_nothing = any(len(row.get("waives", [])) == len(row.get("broken", PROMISES)) for row in cuts)


    def rate(self, rates: tuple[bench_energy.Rate, ...]) -> None:
        """What the rates come to: years, power, and the share of time that the flash is busy. Of several states the dearest row counts."""
        rated = []
        for one in rates:
            rows = [row for row in self.good if row["workload"] == one.workload and row.get("operations")]
            if rows:
                rated.append((max(rows, key=lambda row: row["time_us"] / row["operations"]), one))
        complete = bool(rates) and len(rated) == len(rates)
        chip = rated[0][0] if rated else {}
        self.years = bench_energy.life_years(rated, chip.get("chip_blocks", 0), chip.get("chip_endurance") or bench_energy.ENDURANCE) if complete else None
        self.power_mw = bench_energy.power_mw(rated, chip.get("chip", "")) if complete else None
        self.busy = bench_energy.busy_share(rated) if complete else None

    def beyond(self, limits: dict[str, float]) -> list[str]:
        """The limits that it does not keep, in words; a rate that is more than the flash can do is one."""
        values = {"ram": self.ram, "code": self.code or None, "longest": self.worst_us / 1000, "years": self.years, "mw": self.power_mw}
        slow = [f"the flash would be busy {bench_energy.plain(100 * self.busy)}% of the time"] if self.busy is not None and self.busy > 1 else []
        return slow + bench_energy.broken_limits(limits, values)

    @property
    def unsafe(self) -> bool:
        """Power cuts lost something, promised or not."""
        return self.lost > 0 or (self.promises_nothing and self.waived > 0)


def candidates(rows: list[bench.Row], cuts: list[bench.Row], mhz: float, rates: tuple[bench_energy.Rate, ...] = ()) -> list[Candidate]:
    systems = list(dict.fromkeys(row["fs"] for row in rows))
    return [Candidate(fs, [row for row in rows if row["fs"] == fs], [row for row in cuts if row["fs"] == fs], mhz, rates) for fs in systems]


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


def ranked(found: list[Candidate], limits: dict[str, float] | None = None) -> list[Candidate]:
    return sorted(found, key=lambda one: (bool(one.failed), one.unsafe, bool(one.beyond(limits or {})), one.time_us))


def rated_columns(one: Candidate) -> tuple[str, str, str]:
    return ("-" if one.busy is None else f"{bench_energy.plain(100 * one.busy)}%" + (" !" if one.busy > 1 else ""), "-" if one.power_mw is None else f"{bench_energy.plain(one.power_mw)} mW",
            "-" if one.years is None else bench_energy.plain(one.years))


def table(found: list[Candidate]) -> list[str]:
    asked = any(one.processor_us is not None for one in found)
    rated = any(one.busy is not None for one in found)
    headings = ("file system", "flash time", *(("processor", "both", "code") if asked else ()), "energy", *(("busy", "power", "years") if rated else ()), "at maximum times", "longest call", "flash used up", "erases", "RAM", "failed", "cuts broken")
    rows = [(one.fs + (" *" if one.elsewhere else ""), seconds(one.time_us), *(both(one) if asked else ()), "-" if one.energy_mj is None else f"{bench_energy.plain(one.energy_mj)} mJ", *(rated_columns(one) if rated else ()), "-" if one.time_max_us is None else seconds(one.time_max_us), seconds(one.worst_us), size(one.used), f"{one.erases:,}", size(one.ram),
             str(len(one.failed)), f"{one.lost} of {one.cuts}" + (f" ({one.waived} not promised)" if one.waived else "") if one.cuts else "-") for one in found]
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    return ["  ".join(word.ljust(width) if i == 0 else word.rjust(width) for i, (word, width) in enumerate(zip(row, widths))).rstrip()
            for row in [headings, *rows]]


def verdict(one: Candidate, best: dict[str, float], limits: dict[str, float]) -> str:
    """One sentence on a candidate."""
    beyond = one.beyond(limits) if not one.failed else []
    return f"{one.fs}: " + (f"{'beyond the limits' if limits else 'cannot keep the rates'}: {'; '.join(beyond)}." if beyond else f"{'within the limits; ' if limits and not one.failed else ''}worst point: {worst_point(one, best)}.")


def energy_notes(rows: list[bench.Row], everyone: list[Candidate], rates: tuple[bench_energy.Rate, ...]) -> list[str]:
    sources = {found.source for row in rows if (found := bench_energy.currents_of(row.get("chip", "")))}
    lines = [f"Energy: the chip's while it works; {one}." for one in sorted(sources)] if any(one.energy_mj is not None for one in everyone) else []
    if rates:
        lines += [f"Rates: {', '.join(f'{rate.workload} {rate.text}' for rate in rates)}; each in the state in which it costs most. Power has standby in it. Years: until all blocks have "
                  "borne their erases, if wear is level; `norbench wear` says how level it is. Busy above 100%: the flash cannot keep that rate."]
    return lines


def answer(rows: list[bench.Row], cuts: list[bench.Row], chip: str, mhz: float = bench_processor.MHZ, rates: tuple[bench_energy.Rate, ...] = (),
           limits: dict[str, float] | None = None) -> str:
    limits = limits or {}
    everyone = candidates(rows, cuts, mhz, rates)
    real = ranked([one for one in everyone if one.fs != YARDSTICK], limits)
    whole = [one for one in real if one.good and not one.failed] or [one for one in real if one.good]
    if not whole:
        return "\n".join([f"Nothing ran on {chip}:", *(f"  {one.fs}: {worst_point(one, {})}" for one in real)])
    best = {"time": min(one.time_us for one in whole), "worst": min(one.worst_us for one in whole), "used": min(one.used for one in whole),
            "ram": min(one.ram for one in whole), "processor": min((one.processor_us for one in whole if one.processor_us), default=0),
            "code": min((one.code for one in whole if one.code), default=0)}
    cells = len({(row["workload"], row.get("state")) for row in rows})
    yardstick = [one for one in everyone if one.fs == YARDSTICK]
    lines = [f"{chip}, {cells} cells a candidate, sums of them; typical times of the data sheet, each byte compared:", "", *table(real + yardstick), ""]
    lines += [verdict(one, best, limits) for one in real]
    lines += [f"{one.fs}: raw flash without a file system, for comparison: what it wrote cannot be found again after a reset." for one in yardstick]
    lines += ["", f"* {bench_elsewhere.NOTE}"] if any(one.elsewhere for one in everyone) else []
    lines += ["", *notes] if (notes := energy_notes(rows, everyone, rates)) else []
    if bench_processor.is_asked(rows):
        lines += ["", f"Processor: a Cortex-M4, {bench_processor.text_of_clock(mhz)}.", *(f"No instructions of {one}." for one in bench_processor.reasons(rows))]
    inside = [one for one in whole if not one.beyond(limits)]
    if not inside:
        return "\n".join([*lines, "", f"No candidate keeps all {'limits' if limits else 'rates'}."])
    whole = inside
    whole = [one for one in whole if not one.elsewhere] or whole        # what was measured elsewhere is no answer: it can't be had from a registry
    first = next((one for one in whole if not one.unsafe), whole[0])
    lines += ["", f"Least flash time {'within the limits, ' if limits else ''}without a failure{' or a broken promise' if first.cuts else ''}: {first.fs}." +
              ("" if first.cuts else " Whether it survives power cuts: `norbench cuts`, and --cuts here.")]
    counted = [one for one in whole if one.processor_us is not None and not one.unsafe]
    if counted:
        lines.append(f"Least time of flash and processor: {min(counted, key=lambda one: one.time_us + one.processor_us).fs}.")
    return "\n".join(lines)
