# SPDX-License-Identifier: BSD-2-Clause
"""Runs days of a product over NF2FS and LittleFS, and writes the page about them.

    product_page.py --program PRODUCT --days 7 --jobs 2 --rows ROWS.jsonl --page PAGE.md

What the product does: tests/product/product.c. Each run reads and compares all that it wrote. A
run that fails has its reason in the page, and makes the exit code 1.
"""

import argparse
import concurrent.futures
import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

PERIOD_MS = 10
PEER_PERIOD_MS = 200  # LittleFS keeps up with five records a second, and not with ten
IDLE_MS = (0, 100, 200)
RANKS = (
    ("p50", "median"),
    ("p99", "99%"),
    ("p999", "99.9%"),
    ("p9999", "99.99%"),
    ("max", "longest"),
)
ENDURANCE = 100_000
CALLS = {
    "log_write": "log: write 32 B",
    "log_sync": "log: sync",
    "log_close": "log, a new file: close",
    "log_remove": "log, a new file: remove the oldest one (256 KiB)",
    "log_open": "log, a new file: open",
    "setting_open": "setting: open a new file",
    "setting_write": "setting: write 20 to 400 B",
    "setting_close": "setting: close",
    "setting_rename": "setting: rename over the old one",
    "read_open": "read a setting: open",
    "read_read": "read a setting: read",
    "read_close": "read a setting: close",
    "update_open": "update: open",
    "update_write": "update: write 4 KiB",
    "update_close": "update: close",
    "update_rename": "update: rename over the last one",
    "idle": "idle slice",
}


@dataclass(frozen=True)
class Run:
    fs: str
    period_ms: int
    idle_ms: int

    @property
    def name(self):
        system = {"nf2fs": "NF2FS", "littlefs": "LittleFS"}[self.fs]
        idle = f"{self.idle_ms} ms idle" if self.idle_ms else "no idle time"
        return system if self.fs != "nf2fs" else f"{system}, {idle}"


FULL_LOAD = [Run("nf2fs", PERIOD_MS, idle) for idle in IDLE_MS]
PEER_LOAD = [
    Run("nf2fs", PEER_PERIOD_MS, 0),
    Run("nf2fs", PEER_PERIOD_MS, 200),
    Run("littlefs", PEER_PERIOD_MS, 0),
]


def measure(program, days, run):
    """The row of a run; one with `error` where it failed."""
    command = [program, "--fs", run.fs, "--days", days]
    command += ["--period-ms", run.period_ms, "--idle-ms", run.idle_ms]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        return {"error": reason.removeprefix("product: ")}
    return json.loads(done.stdout)


def milliseconds(us):
    return f"{us / 1000:,.0f}" if us >= 99_950 else f"{us / 1000:.1f}" if us >= 50 else "0"


def table(headings, lines):
    yield "| " + " | ".join(headings) + " |"
    yield "|---|" + "---:|" * (len(headings) - 1)
    for line in lines:
        yield "| " + " | ".join(line) + " |"
    yield ""


def ranks(call):
    return [milliseconds(call[key]) for key, _ in RANKS]


def years(row):
    worn = row["wear"]["most"] - 1  # the format erases each block once
    return f"{ENDURANCE / worn * row['days'] / 365:,.0f}" if worn > 0 else "-"


def about_runs(runs, rows):
    """How long a record waits, and what the chip did."""
    heads = ["ms from when a record is due until it is durable", *(text for _, text in RANKS)]
    heads += ["above 100 ms, of a million", "above 1 s"]
    lines = []
    for run in runs:
        row = rows[run]
        if "error" in row:
            lines.append([run.name, row["error"], *[""] * (len(heads) - 2)])
            continue
        record = row["calls"]["record"]
        millionth = record["count"] / 1e6
        share = [record["above_100ms"] / millionth, record["above_1s"] / millionth]
        lines.append([run.name, *ranks(record), *(f"{count:,.0f}" for count in share)])
    yield from table(heads, lines)
    heads = ["the chip", "busy", "pages programmed, of each record"]
    heads += ["erases of 4 KiB, 32 KiB, 64 KiB", "wear: least, mean, most"]
    heads.append(f"years until a block has {ENDURANCE:,} erases")
    lines = []
    for run in runs:
        row = rows[run]
        if "error" not in row:
            wear = row["wear"]
            lines.append(
                [
                    run.name,
                    f"{100 * row['busy']:.1f}%",
                    f"{row['program_pages'] / row['records']:.2f}",
                    ", ".join(f"{count:,}" for count in row["erases"]),
                    f"{wear['least']:,}, {wear['mean']:,.1f}, {wear['most']:,}",
                    years(row),
                ]
            )
    yield from table(heads, lines)


def about_calls(run, row):
    if "error" in row:
        return
    yield f"### {run.name}"
    yield ""
    lines = [
        [text, f"{row['calls'][key]['count']:,}", *ranks(row["calls"][key])]
        for key, text in CALLS.items()
        if row["calls"][key]["count"]
    ]
    yield from table(["ms of a call", "calls", *(text for _, text in RANKS)], lines)


INTRODUCTION = """
Made by `make product`; do not edit. {days:g} days in virtual time on a W25Q128 (16 MiB, erased as
a whole before the first day).

The product appends a record of 32 B to its log and syncs it, keeps eight log files of 256 KiB,
replaces one of 40 files of settings each minute by a new file and a rename, reads one each ten
seconds, and takes an update of 1 MiB a day, 4 KiB each 100 ms beside the rest. Files that never
change fill the chip to 70%. In each second the file system gets one slice of idle time. Each day,
and after a remount at the end, everything is read and compared.

The clock goes on by the typical times of the data sheet, by the page; the processor takes no time.
What is due while a call runs waits for its end, and is made up for. So the first table shows what
a task of the product sees: the idle slices, too, make records wait. The program is
`tests/product/product.c`.
"""

BESIDE_LITTLEFS = """
LittleFS copies the end of the last block with each synced append. It keeps up with a record each
{period} ms, and with one each 100 ms it falls behind (`product --fs littlefs --period-ms 100` shows
it). It gets no idle time. Its configuration is in [norbench/README.md](../norbench/README.md).
"""


def paragraphs(text):
    for paragraph in text.strip().split("\n\n"):
        yield from textwrap.wrap(" ".join(paragraph.split()), 140, break_on_hyphens=False)
        yield ""


def load(runs, rows):
    yield from about_runs(runs, rows)
    for run in runs:
        yield from about_calls(run, rows[run])


def page(days, rows):
    yield "# A week of a product"
    yield ""
    yield from paragraphs(INTRODUCTION.format(days=days))
    yield f"## A record each {PERIOD_MS} ms"
    yield ""
    yield from load(FULL_LOAD, rows)
    yield f"## A record each {PEER_PERIOD_MS} ms, beside LittleFS"
    yield ""
    yield from paragraphs(BESIDE_LITTLEFS.format(period=PEER_PERIOD_MS))
    yield from load(PEER_LOAD, rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--days", type=float, default=7)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--page", type=Path, required=True)
    arguments = parser.parse_args()
    runs = FULL_LOAD + PEER_LOAD
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        found = pool.map(lambda run: measure(arguments.program, arguments.days, run), runs)
        rows = dict(zip(runs, found, strict=True))
    with arguments.rows.open("w") as out:
        for run, row in rows.items():
            out.write(json.dumps({"run": run.name, "period_ms": run.period_ms} | row) + "\n")
    arguments.page.write_text("\n".join(page(arguments.days, rows)).rstrip("\n") + "\n")
    failed = [f"{run.name}: {row['error']}" for run, row in rows.items() if "error" in row]
    print(f"{arguments.page}: {len(runs)} runs of {arguments.days:g} days, {len(failed)} failed")
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
