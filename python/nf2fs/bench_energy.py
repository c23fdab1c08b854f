# SPDX-License-Identifier: BSD-2-Clause
"""Energy and life: what a row's operations draw, and how long a chip lasts at a rate that the user gives."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from . import bench

FILE = Path(__file__).with_name("energy.toml")
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86400.0, "week": 7 * 86400.0, "month": 365.25 / 12 * 86400, "year": 365.25 * 86400}
YEAR_S = SECONDS["year"]
ENDURANCE = 100_000             # erases that a block bears, where nothing else is said
BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Currents:
    match: tuple[str, ...]
    source: str
    volts: float
    read_ma: float
    program_ma: float
    erase_ma: float
    standby_ua: float
    power_down_ua: float

    @property
    def standby_mw(self) -> float:
        return self.standby_ua * self.volts / 1000


@lru_cache
def catalogue() -> list[Currents]:
    with open(FILE, "rb") as file:
        return [Currents(**{**entry, "match": tuple(entry["match"])}) for entry in tomllib.load(file)["chip"]]


def currents_of(chip: str) -> Currents | None:
    """What the chip draws; nothing where it is not known, as of a chip from a file."""
    name = chip.split("/")[0]
    return next((one for one in catalogue() if any(fnmatch.fnmatchcase(name, pattern) for pattern in one.match)), None)


def energy_mj(row: bench.Row) -> float | None:
    """Millijoules of the chip in the row's time; standby is not in it."""
    found = currents_of(row.get("chip", ""))
    if found is None or not bench.is_good(row) or "time_us_erase" not in row:
        return None
    reading = row["time_us"] - row["time_us_program"] - row["time_us_erase"]
    return found.volts * (found.read_ma * reading + found.program_ma * row["time_us_program"] + found.erase_ma * row["time_us_erase"]) / 1e6


def each_mj(row: bench.Row) -> float | None:
    whole = energy_mj(row)
    return whole / row["operations"] if whole is not None and row.get("operations") else None


# ---- rates ----

@dataclass(frozen=True)
class Rate:
    """How often an operation of a workload is made."""
    workload: str
    text: str
    per_second: float


def parse_rate(text: str) -> Rate:
    """`log32d=100/s`, `config=1/min`, `log32d=each 10ms`."""
    workload, equals, rate = text.rpartition("=")
    often = re.fullmatch(r"([\d.]+)/(\w+)", rate.strip())
    each = re.fullmatch(r"each ?([\d.]+) ?(ms|\w+)", rate.strip())
    try:
        if often and often[2] in SECONDS:
            value = float(often[1]) / SECONDS[often[2]]
        elif each and (each[2] == "ms" or each[2] in SECONDS):
            value = 1 / (float(each[1]) * (0.001 if each[2] == "ms" else SECONDS[each[2]]))
        else:
            value = 0.0
    except (ValueError, ZeroDivisionError):
        value = 0.0
    if not (equals and workload and value > 0):
        raise bench.BenchError(f"'{text}': rates are written WORKLOAD=NUMBER/UNIT or WORKLOAD=each NUMBER UNIT, with ms, {', '.join(SECONDS)}: log32d=100/s, config=each 1 min")
    return Rate(workload, rate.strip(), value)


def blocks_erased(row: bench.Row) -> float:
    """Blocks of flash that an operation uses up: those that it erased, or those that must be erased for it one day, whichever is more."""
    block = BLOCK_BYTES
    sizes = [int(size) for size in row.get("erases_by_size", {})]
    if sizes:
        block = min(sizes)
    return max(row.get("erases", 0), row.get("consumed_bytes", 0) / block) / row["operations"]


def life_years(rows: list[tuple[bench.Row, Rate]], blocks: int, endurance: int = ENDURANCE, unevenness: float = 1.0) -> float | None:
    """Years until the most worn block has borne all that it bears, where that takes `unevenness` times the mean."""
    per_second = sum(blocks_erased(row) * rate.per_second for row, rate in rows)
    return endurance * blocks / unevenness / per_second / YEAR_S if per_second > 0 else None


def power_mw(rows: list[tuple[bench.Row, Rate]], chip: str) -> float | None:
    """Milliwatts in the mean, standby included."""
    found, each = currents_of(chip), [each_mj(row) for row, _ in rows]
    if found is None or any(one is None for one in each):
        return None
    return found.standby_mw + sum(one * rate.per_second for one, (_, rate) in zip(each, rows))


def busy_share(rows: list[tuple[bench.Row, Rate]]) -> float:
    """The share of time in which the flash works: above 1 the rates cannot be kept."""
    return sum(row["time_us"] / row["operations"] / 1e6 * rate.per_second for row, rate in rows)


# ---- limits ----

LIMITS = {"ram": "bytes of RAM", "code": "bytes of code", "longest": "ms of the longest call", "years": "years of life, at least", "mw": "milliwatts"}


def parse_limits(text: str) -> dict[str, float]:
    """`ram=4096,longest=20,years=5`."""
    found = {}
    for word in (part.strip() for part in text.split(",") if part.strip()):
        key, _, value = word.partition("=")
        try:
            found[key] = float(value)
        except ValueError:
            found[key] = -1.0
        if key not in LIMITS or found[key] < 0:
            raise bench.BenchError(f"'{word}': limits are {', '.join(f'{name} ({what})' for name, what in LIMITS.items())}: ram=4096,longest=20")
    return found


def broken_limits(limits: dict[str, float], values: dict[str, float | None]) -> list[str]:
    """In words, each limit that a candidate does not keep; what was not measured keeps none."""
    found = []
    for key, limit in limits.items():
        value = values.get(key)
        if value is None:
            found.append(f"{LIMITS[key]} not known")
        elif value < limit if key == "years" else value > limit:
            found.append(f"{key} {plain(value)} against {plain(limit)}")
    return found


def plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
