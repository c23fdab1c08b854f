# SPDX-License-Identifier: BSD-2-Clause
"""Rows of LittleFS 3 that were measured elsewhere behind this benchmark: its sources are in no package registry yet."""

from __future__ import annotations

import csv
from pathlib import Path

from . import bench

FILE = "norbench/data/littlefs3.csv"
NAME = "littlefs3"
VERSION = "alpha of 2025-07-22"
MARK = "measured elsewhere"
NOTE = f"{NAME}: LittleFS 3, {VERSION}, {MARK} behind this benchmark; not run here, so without power cuts, energy and instructions."
SETTINGS = {"": "caches of 256 B, read and prog 1 B", "p16": "read and prog 16 B", "small": "caches of 16 B", "c4k": "cache of 4 KiB", "ec": "erases of blank blocks skipped", "64k": "blocks of 64 KiB",
            "64kec": "blocks of 64 KiB, erases of blank ones skipped", "frag": "files in fragments alone"}
BLOCKS = {"w25q256": 8192, "w25q128": 4096, "is25-16m": 4096, "is25le01g": 32768}
NUMBERS = ("time_us", "program_pages", "read_pages", "erases", "program_bytes", "read_bytes", "consumed_bytes", "worst_call_us", "most_read_pages_in_call", "most_erases_in_call", "ram_bytes", "seed")


def read(root: Path | None = None) -> list[bench.Row]:
    """The rows, with the keys of this benchmark's own; none without the source tree."""
    path = (root or Path(__file__).resolve().parents[2]) / FILE
    if not path.is_file():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        lines = csv.DictReader(line for line in file if not line.startswith("#"))
        return [row_of(line) for line in lines]


def row_of(line: dict[str, str]) -> bench.Row:
    row: bench.Row = {"fs": line["fs"].replace("lfs3", NAME, 1), "version": VERSION, "elsewhere": True, "chip": line["chip"], "state": line["state"], "workload": line["workload"],
                      "mode": line["mode"], "status": line["status"], "verified": line["verified"] == "True", "worst_call_name": "call", "maintain_budget_us": 0}
    row |= {key: int(line[key]) for key in NUMBERS if line[key]}
    if line["chip"].split("/")[0] in BLOCKS and "/" not in line["chip"]:
        row["chip_blocks"] = BLOCKS[line["chip"]]
    return row


def is_elsewhere(row: bench.Row) -> bool:
    return bool(row.get("elsewhere"))


def beside(rows: list[bench.Row], found: list[bench.Row] | None = None) -> list[bench.Row]:
    """Of each setting that has a row for every cell of these: its rows for them."""
    cells = {(row["chip"], row["workload"], row.get("state", "fresh")) for row in rows if row.get("maintain_budget_us", 0) == 0 and row.get("seed", bench.SEED) == bench.SEED}
    systems: dict[str, dict] = {}
    for row in read() if found is None else found:
        key = (row["chip"], row["workload"], row["state"])
        if key in cells:
            systems.setdefault(row["fs"], {})[key] = row
    return [row for there in systems.values() if len(there) == len(cells) for row in there.values()]
