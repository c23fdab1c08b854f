# SPDX-License-Identifier: BSD-2-Clause
"""Two files of rows beside each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import bench

MEASURES = ("time_us", "worst_call_us", "program_pages", "erases", "read_pages", "consumed_bytes", "ram_bytes")


@dataclass
class Difference:
    cell: str
    measure: str
    before: float
    after: float

    @property
    def percent(self) -> float | None:
        return (self.after - self.before) / self.before * 100 if self.before else None


@dataclass
class Comparison:
    cells: int = 0
    better: list[Difference] = field(default_factory=list)
    worse: list[Difference] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)        # cells that fail now, or did
    only_before: list[str] = field(default_factory=list)
    only_after: list[str] = field(default_factory=list)


def name_of(row: bench.Row) -> str:
    idle = row.get("maintain_budget_us")
    return f"{row['fs']} {row['workload']} {row.get('state', 'fresh')} {row.get('chip', '')} seed {row.get('seed', bench.SEED)}" + (f" idle {idle} us" if idle else "")


def compare(before: list[bench.Row], after: list[bench.Row], limit: float, systems: set[str] | None = None) -> Comparison:
    found = Comparison()
    olds, news = ({bench.row_key(row): row for row in rows if systems is None or row["fs"] in systems} for rows in (before, after))
    found.only_before = [name_of(row) for key, row in olds.items() if key not in news]
    found.only_after = [name_of(row) for key, row in news.items() if key not in olds]
    for key in (key for key in olds if key in news):
        found.cells += 1
        old, new = olds[key], news[key]
        if bench.is_good(old) != bench.is_good(new):
            found.changed.append(f"{name_of(new)}: {old.get('status')} -> {new.get('status')}")
            if not bench.is_good(new):
                found.worse.append(Difference(name_of(new), "status", 0, 1))
            continue
        for measure in MEASURES:
            one = Difference(name_of(new), measure, old.get(measure) or 0, new.get(measure) or 0)
            if one.before != one.after and (one.percent is None or abs(one.percent) > limit):
                (found.worse if one.after > one.before else found.better).append(one)
    return found


def line(one: Difference) -> str:
    change = "new" if one.percent is None else f"{one.percent:+.1f}%"
    return f"  {one.cell}: {one.measure} {one.before:,.0f} -> {one.after:,.0f} ({change})"


def text(found: Comparison) -> str:
    lines = [f"{found.cells} cells in both files, {len(found.worse)} figures worse, {len(found.better)} better"]
    for title, ones in (("worse", found.worse), ("better", found.better)):
        shown = [line(one) for one in sorted(ones, key=lambda one: -abs(one.percent or 1e9)) if one.measure != "status"]
        lines += [f"{title}:", *shown] if shown else []
    for title, cells in (("verified in one file alone", found.changed), ("only before", found.only_before), ("only after", found.only_after)):
        lines += [f"{title}:", *(f"  {cell}" for cell in cells)] if cells else []
    return "\n".join(lines)
