# SPDX-License-Identifier: BSD-2-Clause
"""Tables of the studies: random overwrites, wear, latency, directories, space. A table is headings and rows of text."""

from __future__ import annotations

from .bench import Row, is_good
from .bench_table import number, status_text

Table = tuple[list[str], list[list[str]]]


def _idle(row: Row) -> str:
    budget = row.get("maintain_budget_us", 0)
    return f"{budget / 1000:g} ms" if budget else "-"


def _each(row: Row, key: str, digits: int = 2) -> str:
    return number(row[key] / row["operations"], digits) if is_good(row) and row.get("operations") else "-"


def _erases(row: Row, size: str) -> str:
    count = (row.get("erases_by_size") or {}).get(size)
    return number(count / row["operations"], 4) if is_good(row) and count is not None and row.get("operations") else "-"


def overwrite(rows: list[Row]) -> Table:
    """Speed against the bound, and what an access costs."""
    headings = ["workload", "fs", "idle", "KiB/s", "bound", "of it", "programs", "pages read", "erases 4K", "erases 64K", "worst ms",
                "reads in a call", "erases in a call", "beside data, pages a 4 KiB", "steady", "status"]
    found = []
    for row in rows:
        speed, bound = row.get("speed_kib_s"), row.get("bound_kib_s")
        share = f"{100 * speed / bound:.1f}%" if speed is not None and bound else "-"
        steady = {1: "yes", 0: "stopped"}.get(row.get("steady"), "-")
        found.append([row["workload"], row["fs"], _idle(row), number(speed, 2), number(bound, 1), share, _each(row, "program_pages"),
                      _each(row, "read_pages", 0), _erases(row, "4096"), _erases(row, "65536"),
                      number(row.get("worst_call_us", 0) / 1000, 1), number(row.get("most_read_pages_in_call")),
                      number(row.get("most_erases_in_call")), number(row.get("extra_pages_per_4k")), steady, status_text(row)])
    return headings, found


def lifespan(rows: list[Row]) -> Table:
    """Erases of the blocks."""
    headings = ["workload", "fs", "chip", "idle", "mean", "min", "max", "max / mean", "sd", "user MB", "erases", "minimum", "ratio",
                "consumed / payload", "status"]
    found = []
    for row in rows:
        mean, least = row.get("wear_mean"), row.get("erases_minimum")
        found.append([row["workload"], row["fs"], row.get("chip", ""), _idle(row), number(mean, 1), number(row.get("wear_min")),
                      number(row.get("wear_max")), number(row["wear_max"] / mean, 2) if mean else "-", number(row.get("wear_sd"), 1),
                      number(row.get("user_bytes", 0) / 1e6, 1), number(row.get("erases")), number(least),
                      number(row["erases"] / least, 3) if least else "-",
                      number(row["consumed_bytes"] / row["user_bytes"], 2) if row.get("user_bytes") else "-", status_text(row)])
    return headings, found


def _series(row: Row, key: str) -> list[tuple[str, Row]]:
    return sorted((row.get(key) or {}).items())


def latency(rows: list[Row]) -> Table:
    """One line for each kind of call of each row."""
    headings = ["workload", "fs", "idle", "call", "count", "min us", "median us", "p99 us", "p99.9 us", "max us", "most read pages",
                "most programs", "most erases"]
    found = []
    for row in rows:
        if not is_good(row):
            found.append([row["workload"], row["fs"], _idle(row), status_text(row), *["-"] * 9])
        for name, call in _series(row, "calls"):
            if call["us_max"] > 0:
                keys = ("count", "us_min", "us_median", "us_p99", "us_p999", "us_max", "read_pages_max", "program_pages_max", "erases_max")
                found.append([row["workload"], row["fs"], _idle(row), name, *(number(call[key]) for key in keys)])
    return headings, found


def directory(rows: list[Row]) -> Table:
    """One line for each kind of operation of each row; means of one operation, and the dearest."""
    headings = ["workload", "fs", "entries", "operation", "count", "pages read", "most", "bytes read", "programs", "most",
                "bytes programmed", "erases", "max us"]
    found = []
    for row in rows:
        if not is_good(row):
            found.append([row["workload"], row["fs"], "-", status_text(row), *["-"] * 9])
        for name, step in _series(row, "steps"):
            count = step["count"]
            found.append([row["workload"], row["fs"], number(row.get("entries")), name, number(count),
                          number(step["read_pages"] / count, 1), number(step["read_pages_max"]), number(step["read_bytes"] / count),
                          number(step["program_pages"] / count, 3), number(step["program_pages_max"]),
                          number(step["program_bytes"] / count, 1), number(step["erases"] / count, 3), number(step["us_max"])])
    return headings, found


def space(rows: list[Row]) -> Table:
    headings = ["workload", "chip", "fs", "files", "share of the chip", "after idle time", "worst ms", "reads in a call", "status"]

    def percent(value) -> str:
        return "-" if value is None else f"{100 * value:.1f}%"

    return headings, [[row["workload"], row.get("chip", ""), row["fs"], number(row.get("files")), percent(row.get("share")),
                       percent(row.get("share_maintained")), number(row.get("worst_call_us", 0) / 1000, 1),
                       number(row.get("most_read_pages_in_call")), status_text(row)] for row in rows]
