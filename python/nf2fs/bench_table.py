# SPDX-License-Identifier: BSD-2-Clause
"""Benchmark rows as tables, on a terminal and in Markdown."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from . import bench_energy, bench_processor
from .bench import Row, is_good, row_key

HEADINGS = ("workload", "state", "fs", "time ms", "x native", "mJ", "programs", "KB programmed", "pages read",
            "erases", "KB consumed", "worst call ms", "status")
TEXT_COLUMNS = {"workload", "state", "fs", "status"}


def number(value, digits: int = 0) -> str:
    if value is None or isinstance(value, (str, bool)):
        return "-" if value is None else str(value)
    return f"{value:,.{digits}f}"


def milliseconds(value) -> str:
    return number(None if value is None else value / 1000, 1)


def kilobytes(value) -> str:
    return number(None if value is None else value / 1000, 1)


def erases(row: Row):
    """Erases of all sizes, where the row has them in either form."""
    value = row.get("erases")
    return sum(value) if isinstance(value, list) else value


def status_text(row: Row) -> str:
    if is_good(row):
        return "ok"
    status = str(row.get("status", "failed"))
    if status == "ok":
        return "NOT VERIFIED"
    return f"{status}: {row['error']}" if row.get("error") else status


SPREAD_SHOWN = 0.01             # of the median; less is not worth a word


def merge_seeds(rows: list[Row]) -> list[Row]:
    """Of rows that differ in their seed alone the median one by time, with the spread of all; a row that failed comes before others."""
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        key = row_key(row)
        groups.setdefault((*key[:4], *key[5:]), []).append(row)
    return [_merged(group) for group in groups.values()]


def _merged(group: list[Row]) -> Row:
    failed = [row for row in group if not is_good(row)]
    if len(group) == 1 or failed:
        return failed[0] if failed else group[0]
    ordered = sorted(group, key=lambda row: row.get("time_us") or 0)
    middle = ordered[len(ordered) // 2]
    times = [row.get("time_us") or 0 for row in ordered]
    return {**middle, "seeds": len(group), "spread": (times[-1] - times[0]) / 2 / middle["time_us"] if middle.get("time_us") else 0}


def spread_text(row: Row) -> str:
    return f" ±{100 * row['spread']:.0f}%" if row.get("spread", 0) > SPREAD_SHOWN else ""


def energy_text(row: Row) -> str:
    value = bench_energy.energy_mj(row)
    return "-" if value is None else number(value, 2 if value < 10 else 1 if value < 1000 else 0)


def headings(rows: list[Row], mhz: float) -> tuple[str, ...]:
    """With the processor's columns where it was asked for."""
    return (*HEADINGS[:-1], "M instr.", f"flash + {mhz:g} MHz ms", "KiB code", HEADINGS[-1]) if bench_processor.is_asked(rows) else HEADINGS


def processor_cells(row: Row, mhz: float) -> list[str]:
    instructions, code = row.get("instructions"), row.get("code_bytes")
    return [number(None if instructions is None else instructions / 1e6, 2), milliseconds(bench_processor.total_us(row, mhz)),
            number(None if code is None else code / 1024, 1)]


def processor_notes(rows: list[Row], mhz: float) -> list[str]:
    """What the processor's columns mean, and why some have no figure."""
    if not bench_processor.is_asked(rows):
        return []
    return [f"Processor: a Cortex-M4, {bench_processor.text_of_clock(mhz)}; code with -Os.",
            *(f"No instructions of {one}." for one in bench_processor.reasons(rows))]


def cells_of(row: Row, asked: bool = False, mhz: float = bench_processor.MHZ) -> list[str]:
    ratio = row.get("ratio_native")
    return [row["workload"], row.get("state", "fresh"), row["fs"], milliseconds(row.get("time_us")) + spread_text(row),
            number(ratio, 2), energy_text(row), number(row.get("program_pages")), kilobytes(row.get("program_bytes")),
            number(row.get("read_pages")), number(erases(row)), kilobytes(row.get("consumed_bytes")),
            milliseconds(row.get("worst_call_us")), *(processor_cells(row, mhz) if asked else []), status_text(row)]


def sort_rows(rows: list[Row]) -> list[Row]:
    """By chip, then workload and state in the order they came, native first."""
    places: dict = {}
    for row in rows:
        places.setdefault((row["workload"], row.get("state")), len(places))
    order = {"native": 0, "nf2fs": 1}
    return sorted(rows, key=lambda row: (row.get("chip", ""), places[(row["workload"], row.get("state"))],
                                         order.get(row["fs"], 2), row["fs"]))


def by_chip(rows: list[Row]) -> dict[str, list[Row]]:
    chips: dict[str, list[Row]] = {}
    for row in sort_rows(merge_seeds(rows)):
        chips.setdefault(row.get("chip", ""), []).append(row)
    return chips


def rich_tables(rows: list[Row], mhz: float = bench_processor.MHZ) -> list[Table]:
    tables = []
    asked = bench_processor.is_asked(rows)
    for chip, group in by_chip(rows).items():
        table = Table(title=f"{chip}: page convention, typical times, fast reads", title_justify="left")
        for heading in headings(rows, mhz):
            table.add_column(heading, justify="left" if heading in TEXT_COLUMNS else "right")
        last = None
        for row in group:
            place = (row["workload"], row.get("state"))
            if last not in (None, place):
                table.add_section()
            last = place
            style = "" if is_good(row) else "red"
            table.add_row(*(Text(text) for text in cells_of(row, asked, mhz)), style=style)
        tables.append(table)
    return tables


def markdown_row(values: list[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in values) + " |"


def markdown_rule(headings, text_columns=TEXT_COLUMNS) -> str:
    return "|" + "|".join("---" if heading in text_columns else "---:" for heading in headings) + "|"


def markdown(rows: list[Row], mhz: float = bench_processor.MHZ) -> str:
    lines = []
    asked, head = bench_processor.is_asked(rows), headings(rows, mhz)
    for chip, group in by_chip(rows).items():
        lines += [f"### {chip}", "", markdown_row(list(head)), markdown_rule(head)]
        lines += [markdown_row(cells_of(row, asked, mhz)) for row in group]
        lines.append("")
    lines += [line + "\n" for line in processor_notes(rows, mhz)]
    return "\n".join(lines)
