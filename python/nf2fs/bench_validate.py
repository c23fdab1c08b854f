# SPDX-License-Identifier: BSD-2-Clause
"""`norbench validate`: what papers print and what was measured elsewhere, beside what is measured here."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from pathlib import Path

from . import bench
from .bench_table import markdown_row, markdown_rule

PUBLISHED = "norbench/published.toml"
ELSEWHERE = "norbench/measured_elsewhere.csv"
CLOSE = 0.02
# The names of the file systems and workloads there and here.
SYSTEMS = {"native": "native", "lfs16": "littlefs", "lfs256": "littlefs-p256", "lfsfix16": "littlefs-erasecheck", "lfsfix256": "littlefs-p256-erasecheck", "yaffs2": "yaffs2", "yaffs1-nor": "yaffs1"}
WORKLOADS = {"Create100": "create", "Create32": "create32", "Read32": "read32", "Delete32": "delete32", "SmallIO": "smallio", "Config": "config", "Dirs": "dirs", "SWrite": "swrite",
             "SWriteD": "swrited", "SeqIO": "seqio", "RRead": "rread", "TinyML": "tinyml", "RWrite20": "rwrite20", "RWrite200": "rwrite200", "Log16": "log16", "Log32": "log32", "Log64": "log64",
             "LogMix": "logmix", "Log16D": "log16d", "Log32D": "log32d", "Log64D": "log64d", "OTA2M": "ota2m", "OTA2Mal": "ota2mal", "OTA4M": "ota4m", "OTA2Mrewrite": "ota2mrewrite",
             "BBburn": "bbburn", "BBtraverse": "bbtraverse", "BBreadall": "bbreadall", "MountClean": "mountclean", "MountUsedS": "mountused", "MountUmount10": "mountrepeat",
             "MountFirstWrite": "mountfirstwrite", "UncleanS": "unclean", "UncleanWriteS": "uncleanwrite", "GCfill": "gcfill", "GC55": "gc55", "GC32": "gc32", "Health10": "health10",
             "Health100": "health100"}
FIGURES = (("pages programmed", "pg_pages", "program_pages"), ("bytes programmed", "pg_bytes", "program_bytes"), ("erases of 4 KiB", "erases", "erases"), ("bytes read", "rd_bytes", "read_bytes"),
           ("pages read", "rd_pages", "read_pages"))
# Why a figure may differ in rows of a file system: the names of the files, the layout of the tags.
REASONS = {
    ("yaffs1", "bytes programmed"): "the marks of a chunk are single bytes here; there all 16 spare bytes were programmed again for each",
    ("yaffs1, yaffs2", "reads of synced appends and updates"): "not explained. Programs and erases agree, so what is written is the same; chunks that are in YAFFS2's cache are read "
                       "again in other calls (1.9 times as much here in synced appends, half as much in updates of 4 KiB). Another version of YAFFS2, or another setting of its cache, is likely",
    ("yaffs2", "reads of mounts"): "the state of a block is asked of one chunk here",
    ("littlefs and its variants", "bytes read"): "names, and so the layout of directories, differ (norbench/README.md)",
}


@dataclass
class Value:
    """A published value and its counterpart."""
    entry: dict
    here: float | None
    text: str                   # which row it is of


def entries(root: Path) -> list[dict]:
    with open(root / PUBLISHED, "rb") as file:
        return tomllib.load(file)["value"]


def elsewhere(root: Path) -> list[dict]:
    """The rows that were measured elsewhere, the last one of each cell."""
    with open(root / ELSEWHERE, newline="", encoding="utf-8") as file:
        return list({(row["fs"], row["workload"], row["mode"].endswith("+aged")): row for row in csv.DictReader(file)}.values())


def cell_of(entry: dict, catalogue: bench.Catalogue) -> bench.Cell | None:
    fs, workload, *chip = entry["row"]
    if fs not in catalogue.file_systems:
        return None
    return bench.Cell(fs, chip[0] if chip else catalogue.chip_of(workload), workload)


def cells_of(root: Path, catalogue: bench.Catalogue) -> list[bench.Cell]:
    """Every cell that the page needs and this build can run."""
    found = [cell for entry in entries(root) if (cell := cell_of(entry, catalogue))]
    for row in elsewhere(root):
        fs, workload = SYSTEMS.get(row["fs"]), WORKLOADS.get(row["workload"])
        if fs in catalogue.file_systems and workload and row["status"] == "OK":
            found.append(bench.Cell(fs, catalogue.chip_of(workload), workload, "aged" if row["mode"].endswith("+aged") else "fresh"))
    return list(dict.fromkeys(found))


def derived(row: bench.Row, key: str) -> float | None:
    """A figure of a row, or one that is made of several."""
    if key == "erase_share":
        erase_us = row["time_us"] - row["program_pages"] * 300 - row["read_pages"] * 4
        return 100 * erase_us / row["time_us"]
    ratios = {"read_per_byte": ("read_bytes", "user_bytes"), "program_per_byte": ("program_bytes", "user_bytes"), "program_per_read": ("program_bytes", "user_bytes_read")}
    if key in ratios:
        over, under = ratios[key]
        return row[over] / row[under] if row.get(under) else None
    if key == "payload_mib":
        note = dict(word.split("=", 1) for word in row["note"].split() if "=" in word)
        return float(note["payload"]) / 1048576 if note.get("payload", "").isdigit() else None
    value = row.get(key)
    return float(value) if value not in (None, "") else None


def find_value(entry: dict, rows: list[bench.Row], others: list[dict], catalogue: bench.Catalogue) -> Value:
    cell = cell_of(entry, catalogue)
    fs, workload = entry["row"][:2]
    if cell is not None:
        found = next((row for row in rows if bench.is_good(row) and (row["fs"], row["workload"], row["chip"], row["state"]) == (cell.fs, cell.workload, cell.chip, cell.state)), None)
        text = f"{fs}, {workload}"
    else:
        found = next((row for row in others if row["fs"] == fs and row["workload"] == workload and not row["mode"].endswith("+aged")), None)
        text = f"measured elsewhere: {fs}, {workload}"
    value = derived(found, entry["key"]) if found else None
    return Value(entry, value / entry.get("scale", 1) if value is not None else None, text)


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"


def published_table(values: list[Value]) -> list[str]:
    headings = ["paper", "system", "what", "unit", "printed", "here", "of", "why they differ"]
    lines = [markdown_row(headings), markdown_rule(headings, {"paper", "system", "what", "unit", "of", "why they differ"})]
    for one in values:
        entry = one.entry
        lines.append(markdown_row([f"{entry['paper']}, {entry['where']}", entry["system"], entry["what"], entry["unit"], shown(entry["value"]), shown(one.here), one.text,
                                   entry.get("why", "") if one.here is not None else "not measured: the peer or the row is missing"]))
    return lines


def close(measured: float, reference: float) -> bool:
    return abs(measured - reference) <= max(1, CLOSE * reference)


def pairs(rows: list[bench.Row], others: list[dict]) -> list[tuple[bench.Row, dict]]:
    """Rows of here and there of the same cell."""
    mine = {(row["fs"], row["workload"], row["state"]): row for row in rows if bench.is_good(row)}
    found = []
    for other in others:
        key = (SYSTEMS.get(other["fs"]), WORKLOADS.get(other["workload"]), "aged" if other["mode"].endswith("+aged") else "fresh")
        if other["status"] == "OK" and key in mine:
            found.append((mine[key], other))
    return found


def agreement_table(found: list[tuple[bench.Row, dict]]) -> list[str]:
    headings = ["file system", "rows", *(text for text, _, _ in FIGURES)]
    lines = [markdown_row(headings), markdown_rule(headings, {"file system"})]
    for fs in dict.fromkeys(row["fs"] for row, _ in found):
        mine = [(row, other) for row, other in found if row["fs"] == fs]
        counts = [sum(close(row[key], int(other[column])) for row, other in mine) for _, column, key in FIGURES]
        lines.append(markdown_row([fs, str(len(mine)), *map(str, counts)]))
    return lines


def differing_table(found: list[tuple[bench.Row, dict]]) -> list[str]:
    """Rows whose programs or erases differ: what time is made of."""
    headings = ["file system", "workload", "state", "figure", "here", "elsewhere"]
    lines = [markdown_row(headings), markdown_rule(headings, {"file system", "workload", "state", "figure"})]
    for row, other in found:
        for text, column, key in FIGURES:
            if key in ("program_pages", "erases") and not close(row[key], int(other[column])):
                lines.append(markdown_row([row["fs"], row["workload"], row["state"], text, f"{row[key]:,}", f"{int(other[column]):,}"]))
    return lines


def page(root: Path, rows: list[bench.Row], catalogue: bench.Catalogue) -> str:
    others = elsewhere(root)
    values = [find_value(entry, rows, others, catalogue) for entry in entries(root)]
    found = pairs(rows, others)
    lines = ["# Validation", "", "Made by `norbench validate`; do not edit. What is measured here beside what others printed or measured.", "",
             "## What papers print", "", *published_table(values), "",
             "Times of the NF2FS paper were taken on a board and contain its processor and bus; here the flash alone is charged.", "",
             "## What was measured elsewhere", "",
             "The same workloads at the same seed with an independent harness (norbench/measured_elsewhere.csv). Of each file system the rows that were run here too, and in how many of them "
             f"each figure is within {CLOSE:.0%} (or one operation).", "", *agreement_table(found), "",
             "Rows whose programs or erases differ by more; the reasons are in norbench/README.md, \"Checked against other measurements\":", "", *differing_table(found), "",
             "Reads differ where names, and so the layouts of directories, do. Further:", "",
             *(f"- {fs}, {figure}: {why}." for (fs, figure), why in REASONS.items()), ""]
    return "\n".join(lines)
