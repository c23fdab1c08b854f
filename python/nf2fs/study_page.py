# SPDX-License-Identifier: BSD-2-Clause
"""The page of the studies: what was measured beside the gates' figures, NF2FS beside its peers, with plots."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from . import core_digest
from .bench import Row, is_good
from .bench_table import markdown_row, markdown_rule, milliseconds, number
from .plots import ACCESSES, latency_series, name_of, overwrite_place, systems_of

ROOT = Path(__file__).resolve().parents[2]
GROUPS = ("overwrite", "latency", "directory", "lifespan", "space")
CHIP = "w25q128"                # of the overwrite and latency rows
OURS, PEER = "nf2fs", "littlefs"
SPECIAL = {"4ks": "4 KiB, four of five in a scattered fifth", "1ks": "1 KiB, four of five in a scattered fifth",
           "256s": "256 B, four of five in a scattered fifth", "256m": "256 B, every fifth 4 KiB", "1km": "1 KiB, every fifth 4 KiB",
           "1kr": "1 KiB, all in 128 KiB of the file", "256r": "256 B, all in 128 KiB of the file",
           "1kf": "1 KiB, files of 64 KiB, opened for each", "256f": "256 B, files of 64 KiB, opened for each"}
OPERATIONS = ("create", "look-up", "look-up cold", "look-up absent", "list", "rename", "remove")
RANKS = ("min", "median", "p99", "p999", "max")


def table(headings: list[str], lines: Iterable[list[str]], text: set[str]) -> list[str]:
    return [markdown_row(headings), markdown_rule(headings, text), *(markdown_row(line) for line in lines), ""]


def image(name: str, title: str, drawn: set[str], folder: str) -> list[str]:
    return [f"![{title}]({folder}/{name})", ""] if name in drawn else []


def why_not(row: Row) -> str:
    """A failed row in few words."""
    text = str(row.get("error") or row.get("status"))
    return "no space" if "no space" in text else text.removeprefix("failed: ")


def find(rows: list[Row], fs: str, **keys) -> Row | None:
    found = [row for row in rows if row["fs"] == fs and all(row.get(key, 0) == value for key, value in keys.items())]
    return found[-1] if found else None


# ---- overwrites ----

def speed(row: Row | None, slow: bool = False) -> str:
    """KiB/s; with slow reads where asked for. A row that a limit stopped before the steady state is marked."""
    if row is None:
        return "-"
    if not is_good(row) or row.get("speed_kib_s") is None:
        return why_not(row)
    value = row["user_bytes"] / 1024 / (row["time_us_slow"] / 1e6) if slow else row["speed_kib_s"]
    return number(value, 2) + ("" if row.get("steady") == 1 else " *")


def each(row: Row, key: str, digits: int) -> str:
    return number(row[key] / row["operations"], digits) if row.get("operations") else "-"


def overwrite_line(rows: list[Row], workload: str, chip: str, name: str) -> list[str] | None:
    ours = find(rows, OURS, workload=workload, chip=chip, maintain_budget_us=0)
    if ours is None:
        return None
    if not is_good(ours):
        return [name, "-", why_not(ours), *["-"] * 7]
    peer, native = (find(rows, fs, workload=workload, chip=chip, maintain_budget_us=0) for fs in (PEER, "native"))
    share = f"{100 * ours['speed_kib_s'] / ours['bound_kib_s']:.0f}%"
    return [name, number(ours["bound_kib_s"], 1), speed(ours), share, speed(ours, slow=True), each(ours, "program_pages", 2),
            each(ours, "read_pages", 0), milliseconds(ours["worst_call_us"]), speed(native), speed(peer),
            milliseconds(peer["worst_call_us"]) if is_good(peer) else "-"]


OVERWRITE = ["access", "bound", "NF2FS", "of it", "with slow reads", "programs", "pages read", "worst call, ms", "raw flash", "LittleFS",
             "worst call, ms"]


def overwrites(rows: list[Row], drawn: set[str], folder: str) -> list[str]:
    rows = [row for row in rows if overwrite_place(row)]
    if not rows:
        return []
    workloads = sorted({(*overwrite_place(row), row["workload"]) for row in rows},
                       key=lambda place: (list([*ACCESSES, *SPECIAL]).index(place[0]) if place[0] in ACCESSES or place[0] in SPECIAL else 99, place[1]))
    named = [(access, fill, workload, f"{(ACCESSES | SPECIAL).get(access, access)}, {fill}%") for access, fill, workload in workloads]
    lines = ["## Random overwrite", "",
             "Synced accesses at random places of a file that is so many percent of a 16 MiB chip (w25q128), in the steady state: twice the chip was",
             "overwritten before. Speeds in KiB/s; the bound is that of the chip for this fill and access; programs, pages read: of one access.",
             "`raw flash` reads, erases and programs the block. `*`: stopped by a limit of flash time or pages read before the steady state, which flatters.",
             "LittleFS writes the file anew from the place of the access on: where both do not fit on the chip, it finds no space.", "",
             *image("overwrite.svg", "speed by fill, for each access size", drawn, folder)]
    plain = [overwrite_line(rows, workload, CHIP, name) for access, _, workload, name in named if access in ACCESSES]
    lines += table(OVERWRITE, [line for line in plain if line], {"access"})
    special = [overwrite_line(rows, workload, CHIP, name) for access, _, workload, name in named if access in SPECIAL]
    if any(special):
        lines += ["### Skewed, mixed, in a small range, in small files", "", *table(OVERWRITE, [line for line in special if line], {"access"})]
    chips = list(dict.fromkeys(row["chip"] for row in rows if row["chip"] != CHIP))
    other = [overwrite_line(rows, workload, chip, f"{name}, {chip}") for chip in chips for _, _, workload, name in named]
    if any(other):
        lines += ["### Other chips", "", "`w25q128/32M`: 32 MiB with the times of w25q128.", "", *table(OVERWRITE, [line for line in other if line], {"access"})]
    return lines


# ---- latency ----

def ranks(call: Row, what: str) -> str:
    """Minimum / median / p99 / p99.9 / maximum of flash operations; one number where they agree."""
    if f"{what}_p99" not in call:
        return number(call[f"{what}_max"])
    values = [number(call[f"{what}_{rank}"]) for rank in RANKS]
    return values[0] if len(set(values)) == 1 else " / ".join(values)


def latencies(rows: list[Row], drawn: set[str], folder: str) -> list[str]:
    rows = [row for row in rows if is_good(row) and row.get("calls") and row["fs"] != "native" and row["workload"][5:].isdigit()]
    if not rows:
        return []
    lines = ["## Latency of each call", "",
             "5,000 operations of all kinds on an aged 16 MiB chip that is filled to so many percent, after 5,000 others. Milliseconds of the flash",
             "(page convention, fast reads); operations of the flash as minimum / median / p99 / p99.9 / maximum over all calls of the kind. With idle time:",
             "so much of it after each operation.", "",
             *image("latency.svg", "each kind of call from its median to its maximum", drawn, folder)]
    headings = ["call", "file system", "calls", "min ms", "median", "p99", "p99.9", "max", "pages read", "pages programmed", "erases"]
    for workload in sorted({row["workload"] for row in rows}, key=lambda name: int(name[5:])):
        here = latency_series([row for row in rows if row["workload"] == workload])
        kinds = sorted({kind for _, _, row in here for kind, call in row["calls"].items() if call["us_max"]})
        found = []
        for kind in kinds:
            for label, _, row in here:
                call = row["calls"].get(kind)
                if call:
                    found.append([kind, label, number(call["count"]), *(number(call[f"us_{rank}"] / 1000, 2) for rank in RANKS),
                                  *(ranks(call, what) for what in ("read_pages", "program_pages", "erases"))])
        lines += [f"### Chip {workload[5:]}% full", "", *table(headings, found, {"call", "file system"})]
    return lines


# ---- directories ----

def directories(rows: list[Row], drawn: set[str], folder: str) -> list[str]:
    rows = [row for row in rows if is_good(row) and row.get("steps") and row["workload"].startswith("dir")]
    if not rows:
        return []
    lines = ["## Directories", "",
             "One directory of so many entries: the mean of one operation, and the dearest. `look-up cold`: nothing cached. A listing is one operation.", "",
             *image("directory-read.svg", "pages read by one operation", drawn, folder),
             *image("directory-program.svg", "pages programmed by one operation", drawn, folder)]
    headings = ["operation", "entries", *(f"{name_of(fs)}, {what}" for what in ("pages read", "programs", "worst ms") for fs in (OURS, PEER))]
    found = []
    for operation in OPERATIONS:
        for workload in sorted({row["workload"] for row in rows}, key=lambda name: (len(name.rstrip("rn")), name)):
            cells = [(find(rows, fs, workload=workload) or {}).get("steps", {}).get(operation) for fs in (OURS, PEER)]
            if any(cells):
                shown = workload.removeprefix("dir")
                kind = {"r": ", random order", "n": ", names of 64 B"}.get(shown[-1], "")
                found.append([operation, number(int(shown.rstrip("rn"))) + kind,
                              *(f"{cell['read_pages'] / cell['count']:,.1f} ({number(cell['read_pages_max'])})" if cell else "-" for cell in cells),
                              *(f"{cell['program_pages'] / cell['count']:,.3f} ({number(cell['program_pages_max'])})" if cell else "-" for cell in cells),
                              *(milliseconds(cell["us_max"]) if cell else "-" for cell in cells)])
    return [*lines, *table(headings, found, {"operation", "entries"})]


# ---- wear ----

LIFE = {"lifelog": "a log of 512 KiB, batched", "lifelogd": "a log of 512 KiB, each append synced", "lifesmall": "files of 32 B",
        "lifesmalls": "files of 32 B, synced while empty"}


def life_key(row: Row) -> tuple:
    return row["workload"], row.get("chip", ""), row.get("mean", 0), row.get("limit", 0)


def life_title(key: tuple) -> str:
    workload, chip, mean, limit = key
    end = f"the first block reaches {limit:,} erases" if limit else f"a mean of {mean:,} erases"
    return f"{LIFE.get(workload, workload)}, {chip} half full of cold files, until {end}"


def wear_name(key: tuple) -> str:
    workload, chip, mean, limit = key
    return f"wear-{workload}-{chip.replace('/', '-')}-{f'limit{limit}' if limit else mean}.svg"


def lifespans(rows: list[Row], drawn: set[str], folder: str) -> list[str]:
    rows = [row for row in rows if row["workload"].startswith("life") and (row.get("mean") or row.get("limit"))]
    if not rows:
        return []
    keys = sorted({life_key(row) for row in rows}, key=lambda key: (key[3], list(LIFE).index(key[0]) if key[0] in LIFE else 9, key[1], key[2]))
    lines = ["## Wear and life", "",
             "Half of the chip holds files that never change; beside them a file is made, written and removed, again and again, with idle time after each round.",
             "Erases of its blocks, super blocks, root log and cold blocks included. `written`: bytes of the small traffic from the first round on;",
             "where a run ends with the first worn-out block, that is what the user may write over the life of such a chip.", ""]
    headings = ["traffic", "chip", "until", "file system", "min", "mean", "max", "max / mean", "sd", "erases / minimum", "written, MB"]
    found = []
    for key in keys:
        workload, chip, mean, limit = key
        end = f"a block: {limit:,}" if limit else f"mean {mean:,}"
        for fs in systems_of(rows):
            row = find(rows, fs, workload=workload, chip=chip, mean=mean, limit=limit)
            if row is None:
                continue
            if not is_good(row):
                found.append([LIFE.get(workload, workload), chip, end, name_of(fs), why_not(row), *["-"] * 6])
                continue
            wear_mean, least = row["wear_mean"], row.get("erases_minimum")
            found.append([LIFE.get(workload, workload), chip, end, name_of(fs), number(row["wear_min"]), number(wear_mean, 1), number(row["wear_max"]),
                          number(row["wear_max"] / wear_mean, 2) if wear_mean else "-", number(row["wear_sd"], 1),
                          number(row["erases"] / least, 3) if least else "-",
                          number((row.get("prepared_bytes", 0) + row.get("user_bytes", 0)) / 1e6, 1)])
    lines += table(headings, found, {"traffic", "chip", "until", "file system"})
    for key in keys:
        lines += image(wear_name(key), life_title(key), drawn, folder)
    return lines


# ---- space ----

def spaces(rows: list[Row], drawn: set[str], folder: str) -> list[str]:
    rows = [row for row in rows if row["workload"] in ("spacelarge", "space100")]
    if not rows:
        return []

    def share(row: Row | None, key: str) -> str:
        return "-" if row is None else f"{100 * row[key]:.1f}%" if is_good(row) and row.get(key) is not None else why_not(row)

    lines = ["## Space", "", "Payload by size of the chip when the first write was refused.", ""]
    headings = ["files", "chip", "NF2FS", "after idle time", "LittleFS", "raw flash"]
    found = []
    for workload, text in (("spacelarge", "one file"), ("space100", "100 B each, 1,000 in a directory")):
        for chip in dict.fromkeys(row["chip"] for row in rows if row["workload"] == workload):
            ours, peer, native = (find(rows, fs, workload=workload, chip=chip) for fs in (OURS, PEER, "native"))
            found.append([text, chip, share(ours, "share"), share(ours, "share_maintained") if workload == "space100" else "-",
                          share(peer, "share"), share(native, "share")])
    return [*lines, *table(headings, found, {"files", "chip"})]


def shown_rows(rows: list[Row]) -> list[Row]:
    """Those that this page shows; the files hold rows of gates, too."""
    return [row for row in rows if row.get("group") in GROUPS]


def page(rows: list[Row], drawn: set[str], folder: str, root: Path = ROOT) -> str:
    """The whole page; `drawn` are the names of the plots that there are in `folder`, relative to it."""
    versions = sorted({f"{name_of(row['fs'])} {row['version']}" for row in rows if row.get("version") and row["fs"] in (OURS, PEER)})
    lines = ["# Studies", "", f"Made by `make studies` of rows that were measured before; do not edit. Versions: {', '.join(versions)}.", "",
             "What takes too long for every run of the gates ([FIGURES.md](FIGURES.md)), NF2FS beside LittleFS and raw flash: exact counts of a virtual",
             "chip times its typical times. How the cells run: [norbench/README.md](../norbench/README.md).", "",
             *core_digest.lines_of(shown_rows(rows), root), ""]
    for section in (overwrites, latencies, directories, lifespans, spaces):
        lines += section(rows, drawn, folder)
    return "\n".join(lines).rstrip() + "\n"
