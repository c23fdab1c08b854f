# SPDX-License-Identifier: BSD-2-Clause
"""`norbench validate`: what papers print and what was measured elsewhere, beside what is measured here."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from . import bench, core_digest
from .bench_table import markdown_row, markdown_rule

PUBLISHED = "norbench/data/published.toml"
ELSEWHERE = "norbench/data/measured_elsewhere.csv"
CLOSE = 0.02
PROGRAM_PAGE_US, READ_PAGE_US = 300, 4     # of is25le01g
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
DIFFERENCES = "norbench/data/differences.toml"
PAPERS = "norbench/data/papers.toml"
STATES = {"yes": "yes", "part": "in part", "no": "no"}
NO_REASON = "**not explained**: nothing in norbench/data/differences.toml fits"
# Overwrites of a file on a chip of 16 MiB, twice its size overwritten before: compared for each MiB, as the lengths of the runs differ.
STEADY = {"P004r16K": "ow16k-50", "P004r4K": "ow4k-50", "P004r1K": "ow1k-50", "P004r256": "ow256-50", "P004ws25": "ow4k-25", "P004ws75": "ow4k-75", "P004ws90": "ow4k-90"}
STEADY_MODE = "durable+warm2"
# What was found by trying: a newer YAFFS2, imitated in a copy of the sources.
YAFFS_CACHE = """YAFFS2's reads. U-Boot's YAFFS2 of 2023.01 empties an entry of its cache when it writes it to the chip, and writes whole chunks past the cache. So each synced append but the
first one of a chunk reads its chunk again: in `log32d` 2 x (16,384 - 512) = 31,744 reads more than there. A newer YAFFS2 keeps the entry, drops a file's entries when a file that was changed
since its last sync is closed, and takes whole chunks through the cache, which reads them first: in `ota2mal` 2 x 80 = 160 reads more there. That was tried: with these three changes in a copy of
the sources (not in this project) each row of `yaffs2` on a fresh chip has exactly the calls and bytes of reads that were measured there, but those whose names differ (`bb*`), the mounts, and `ota2m`
(2 chunks). With them the rows of `yaffs1` differ by calls of 16 bytes alone (but `rwrite200`, `ota2m`, `bb*` and the mounts): its driver there reads the spare bytes of a chunk before
it marks it as deleted."""


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
        return list({(row["fs"], row["workload"], row["mode"].partition("+")[2]): row for row in csv.DictReader(file)}.values())


def cell_of(entry: dict, catalogue: bench.Catalogue) -> bench.Cell | None:
    fs, workload, *chip = entry["row"]
    if fs not in catalogue.file_systems or "absent" in entry:
        return None
    return bench.Cell(fs, chip[0] if chip else catalogue.chip_of(workload), workload)


def cell_of_plain(entry: dict, catalogue: bench.Catalogue) -> bench.Cell | None:
    return cell_of({"row": entry["plain"]}, catalogue) if "plain" in entry else None


def cells_of(root: Path, catalogue: bench.Catalogue) -> list[bench.Cell]:
    """Every cell that the page needs and this build can run."""
    found = [cell for entry in entries(root) for cell in (cell_of(entry, catalogue), cell_of_plain(entry, catalogue)) if cell]
    for row in elsewhere(root):
        fs, workload = SYSTEMS.get(row["fs"]), STEADY.get(row["workload"])
        if fs in catalogue.file_systems and workload and (row["mode"], row["status"]) == (STEADY_MODE, "OK"):
            found.append(bench.Cell(fs, catalogue.chip_of(workload), workload))
    for row in elsewhere(root):
        fs, workload = SYSTEMS.get(row["fs"]), WORKLOADS.get(row["workload"])
        if fs in catalogue.file_systems and workload and row["status"] == "OK":
            found.append(bench.Cell(fs, catalogue.chip_of(workload), workload, "aged" if row["mode"].endswith("+aged") else "fresh"))
    return list(dict.fromkeys(found))


def noted(row: dict, name: str) -> float | None:
    """A figure in the note of a row that was measured elsewhere."""
    note = dict(word.split("=", 1) for word in row["note"].split() if "=" in word)
    return float(note[name]) if note.get(name, "").isdigit() else None


def check_gain(plain: bench.Row, checked: bench.Row) -> float:
    """How many times the check of a block is as quick as the erase that it avoids."""
    avoided = plain["erases"] - checked["erases"]
    check_us = (checked["read_pages"] - plain["read_pages"]) / avoided * READ_PAGE_US
    return (plain["time_us"] - plain["program_pages"] * PROGRAM_PAGE_US - plain["read_pages"] * READ_PAGE_US) / plain["erases"] / check_us


def derived(row: bench.Row, key: str) -> float | None:
    """A figure of a row, or one that is made of several."""
    if key == "erase_share":
        erase_us = row["time_us"] - row["program_pages"] * PROGRAM_PAGE_US - row["read_pages"] * READ_PAGE_US
        return 100 * erase_us / row["time_us"]
    ratios = {"read_per_byte": ("read_bytes", "user_bytes"), "program_per_byte": ("program_bytes", "user_bytes"), "program_per_read": ("program_bytes", "user_bytes_read")}
    if key in ratios:
        over, under = ratios[key]
        return row[over] / row[under] if row.get(under) else None
    if key == "us_per_operation":
        return row["time_us"] / row["operations"]
    if key in ("payload_mib", "ram", "program_per_payload"):
        payload, ram = noted(row, "payload"), noted(row, "ram")
        return {"payload_mib": payload and payload / 1048576, "ram": ram, "program_per_payload": payload and int(row["pg_bytes"]) / payload}[key]
    value = row.get(key)
    return float(value) if value not in (None, "") else None


def row_of_cell(cell: bench.Cell, rows: list[bench.Row]) -> bench.Row | None:
    return next((row for row in rows if bench.is_good(row) and (row["fs"], row["workload"], row["chip"], row["state"]) == (cell.fs, cell.workload, cell.chip, cell.state)), None)


def find_value(entry: dict, rows: list[bench.Row], others: list[dict], catalogue: bench.Catalogue) -> Value:
    cell = cell_of(entry, catalogue)
    fs, workload = entry["row"][:2]
    if cell is not None:
        found = row_of_cell(cell, rows)
        text = f"{fs}, {workload}"
    else:
        found = next((row for row in others if row["fs"] == fs and row["workload"] == workload and "+" not in row["mode"]), None)
        text = f"measured elsewhere: {fs}, {workload}" if found else "-"
    plain = cell_of_plain(entry, catalogue)
    if plain is not None:
        before = row_of_cell(plain, rows)
        value = check_gain(before, found) if before and found else None
    else:
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
                                   entry.get("why", "") if one.here is not None else "not measured: " + entry.get("absent", "the peer or the row is missing")]))
    return lines


def close(measured: float, reference: float) -> bool:
    return abs(measured - reference) <= max(1, CLOSE * reference)


def pairs(rows: list[bench.Row], others: list[dict]) -> list[tuple[bench.Row, dict]]:
    """Rows of here and there of the same cell."""
    mine = {(row["fs"], row["workload"], row["state"]): row for row in rows if bench.is_good(row)}
    found = []
    for other in others:
        key = (SYSTEMS.get(other["fs"]), WORKLOADS.get(other["workload"]), "aged" if other["mode"].endswith("+aged") else "fresh")
        if other["status"] == "OK" and key in mine and other["mode"] != STEADY_MODE:
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


def fits(patterns: list[str] | None, name: str) -> bool:
    return patterns is None or any(fnmatch(name, pattern) for pattern in patterns)


def reason(known: list[dict], row: bench.Row, figure: str) -> str:
    """The first entry of differences.toml that fits."""
    return next((one["why"] for one in known if fits(one.get("fs"), row["fs"]) and fits(one.get("workloads"), row["workload"]) and fits(one.get("states"), row["state"])
                 and fits(one.get("figures"), figure)), NO_REASON)


def differences(found: list[tuple[bench.Row, dict]], known: list[dict]) -> list[list[str]]:
    """A line a row that differs, for all its figures with the same reason."""
    lines: dict[tuple, list[str]] = {}
    for row, other in found:
        for text, column, key in FIGURES:
            if not close(row[key], int(other[column])):
                why = reason(known, row, text)
                lines.setdefault((row["fs"], row["workload"], row["state"], why), []).append(f"{text} {row[key]:,} / {int(other[column]):,}")
    return [[fs, workload, state, "; ".join(figures), why] for (fs, workload, state, why), figures in lines.items()]


def differing_table(lines: list[list[str]]) -> list[str]:
    headings = ["file system", "workload", "state", "here / elsewhere", "why"]
    words = [[*line[:-1], line[-1].partition(":")[0]] for line in lines]
    reasons = dict.fromkeys(line[-1] for line in lines)
    return [markdown_row(headings), markdown_rule(headings, set(headings)), *map(markdown_row, words), "", *(f"- {one}." for one in reasons)]


def steady_table(rows: list[bench.Row], others: list[dict]) -> list[str]:
    """For each MiB that was overwritten: pages and erases, here and there."""
    headings = ["workload", "there", "file system", "steady", "pages programmed a MiB", "elsewhere", "erases of 4 KiB a MiB", "elsewhere", "pages read a MiB", "elsewhere"]
    lines = [markdown_row(headings), markdown_rule(headings, {"workload", "there", "file system", "steady"})]
    for other in others:
        workload = STEADY.get(other["workload"])
        row = next((row for row in rows if bench.is_good(row) and (row["fs"], row["workload"]) == (SYSTEMS.get(other["fs"]), workload)), None)
        payload = noted(other, "payload")
        if row is None or (other["mode"], other["status"]) != (STEADY_MODE, "OK") or not payload:
            continue
        figures = [f"{value:,.1f}" for column, key in (("pg_pages", "program_pages"), ("erases", "erases"), ("rd_pages", "read_pages"))
                   for value in (row[key] / row["user_bytes"] * 1048576, int(other[column]) / payload * 1048576)]
        lines.append(markdown_row([workload, other["workload"], row["fs"], "yes" if row.get("steady") else "no, stopped by its limit", *figures]))
    return lines


def known_differences(root: Path) -> list[dict]:
    with open(root / DIFFERENCES, "rb") as file:
        return tomllib.load(file)["difference"]


def papers_section(root: Path) -> list[str]:
    """Every figure and table of the papers: what makes its like here."""
    with open(root / PAPERS, "rb") as file:
        items = tomllib.load(file)["item"]
    count = {state: sum(item["state"] == state for item in items) for state in STATES}
    commands = lambda item: "; ".join(f"`{one.strip()}`" for one in item.get("how", "").split(";") if one.strip()) or "-"
    head = ["paper", "what", "here", "command", "what is missing"]
    return ["## Every figure and table", "",
            f"Of {len(items)} entries {count['yes']} are reproduced, {count['part']} in part, and {count['no']} not (norbench/data/papers.toml).", "",
            markdown_row(head), markdown_rule(head, set(head)),
            *(markdown_row([item["paper"], item["what"], STATES[item["state"]], commands(item), item.get("missing", "")]) for item in items), ""]


def page(root: Path, rows: list[bench.Row], catalogue: bench.Catalogue) -> str:
    others = elsewhere(root)
    values = [find_value(entry, rows, others, catalogue) for entry in entries(root)]
    found = pairs(rows, others)
    lines = ["# Validation", "", "Made by `norbench validate`; do not edit. What is measured here beside what others printed or measured.", "",
             *core_digest.lines_of(rows, root), "",
             *papers_section(root),
             "## What papers print", "", *published_table(values), "",
             "Times of the NF2FS paper were taken on a board and contain its processor and bus; here the flash alone is charged.", "",
             "## What was measured elsewhere", "",
             "The same workloads at the same seed with an independent harness (norbench/data/measured_elsewhere.csv). Of each file system the rows that were run here too, and in how many of them "
             f"each figure is within {CLOSE:.0%} (or one operation).", "", *agreement_table(found), "",
             "Each row of which a figure differs by more, and why (norbench/data/differences.toml):", "", *differing_table(differences(found, known_differences(root))), "",
             *YAFFS_CACHE.split("\n"), "",
             "## Steady overwrites", "",
             "The random overwrites of \"Comparing 4 Popular Embedded File Systems\", whose figures are printed as plots alone, on a chip of 16 MiB, beside the rows of the independent harness. Both overwrote "
             "twice the chip's size before; the measured stretches differ in length, and so in how the last collection falls; reads differ for YAFFS2's cache, as above. A run that was stopped by its limit "
             "has seen a part of its fill alone.", "", *steady_table(rows, others), ""]
    return "\n".join(lines)
