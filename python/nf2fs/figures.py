# SPDX-License-Identifier: BSD-2-Clause
"""The page of figures: each gate with its bound, what was measured, and LittleFS measured beside it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from . import core_digest, target
from .bench import NATIVE, Catalogue, Cell, Row, base_name, is_good, row_key
from .bench_table import erases, markdown_row, markdown_rule, milliseconds, number
from .gates import OURS, PEER, Gate, GateError, Outcome, check_gates, find_row, judge, load_gates, load_unmeasured

__all__ = ["GateError", "check_gates", "load_gates"]

ROOT = Path(__file__).resolve().parents[2]
STRONG = "yaffs2"                # the peer that is strong, with the RAM that it takes
BEGIN, END = "<!-- figures:begin -->", "<!-- figures:end -->"
MACHINE_OPTIONS = ("--json", "--cell", "--jobs", "-j", "--output", "--readme", "--timeout", "--with")
# Microseconds to erase one consumed byte with the smallest erase of a chip.
ERASE_US_PER_BYTE = {"w25q256": 12.2, "is25le01g": 24.4, "is25-16m": 24.4}
# What the README's table shows of them, in its words.
README_WORKLOADS = {"create": "100 new empty files, each durable", "create32": "100 new files of 32 B", "swrite": "a file of 2 MiB, written once",
                    "rwrite20": "20 synced updates of 1 KiB in it", "rwrite2000": "2,000 of them", "log32d": "16,384 synced appends of 32 B to a log",
                    "health1": "100,000 synced samples of 12 B", "ota2m": "an update of a 2 MiB binary: 20 pieces of 4 KiB",
                    "config": "2,000 atomic replacements of settings files", "bbburn": "a tree of 400 files, 2.7 MB", "mountclean": "mount"}
# Measured on used chips too.
USED_WORKLOADS = ("create", "create32", "swrite", "rwrite20", "rwrite200", "rwrite2000", "log32d", "health1", "ota2m", "config", "bbburn",
                  "mountclean")
USED_STATES = ("aged", "aged75")
HEADINGS = ("gate", "measured is", "bound", "NF2FS", "verdict", "LittleFS", "NF2FS ms", "consumed x erase, ms",
            "LittleFS ms", "consumed x erase, ms")
TEXT = {"gate", "measured is", "verdict", "workload"}


def command_line() -> str:
    """The command that was given, less what depends on the machine: folders and the number of jobs."""
    arguments, kept = sys.argv[1:], []
    while arguments:
        argument = arguments.pop(0)
        if argument in MACHINE_OPTIONS:
            del arguments[:1]
        elif argument.split("=")[0] not in MACHINE_OPTIONS:
            kept.append(argument)
    return shlex.join([os.path.basename(sys.argv[0]), *kept])


# ---- measuring ----

SYSTEMS = (NATIVE, OURS, PEER)


def cells_for(gates: list[Gate], catalogue: Catalogue, long: bool = False, wanted: Sequence[str] = SYSTEMS) -> tuple[list[Cell], list[str]]:
    """The cells that the gates need (long ones where they are asked for), and the workloads that the program does not have."""
    cells: list[Cell] = []
    absent: list[str] = []
    systems = [name for name in wanted if name in catalogue.file_systems]
    for gate in gates:
        if gate.workload == target.WORKLOAD or (gate.long and not long):
            continue
        if base_name(gate.workload) not in catalogue.workloads:
            if gate.workload not in absent:
                absent.append(gate.workload)
            continue
        for system in systems:
            cell = Cell(system, gate.chip, gate.workload, gate.state, maintain_us=gate.maintain_us, mean=gate.mean)
            if cell not in cells:
                cells.append(cell)
    return cells, absent


def without(cells: list[Cell], rows: list[Row]) -> list[Cell]:
    """The cells that have no row yet."""
    known = {row_key(row) for row in rows}
    return [cell for cell in cells if (cell.fs, cell.workload, cell.state, cell.chip, cell.seed, cell.maintain_us, cell.mean, cell.limit) not in known]


def used_cells(catalogue: Catalogue) -> list[Cell]:
    """The cells of the table of used chips."""
    systems = [name for name in SYSTEMS if name in catalogue.file_systems]
    used = [Cell(system, catalogue.chip_of(workload), workload, state) for state in USED_STATES
            for workload in USED_WORKLOADS if workload in catalogue.workloads for system in systems]
    return used + [Cell(STRONG, catalogue.chip_of(workload), workload) for workload in README_WORKLOADS if workload in catalogue.workloads and STRONG in catalogue.file_systems]


def target_rows(gates: list[Gate], root: Path | None = None) -> list[Row]:
    """Code size, RAM and stack of both, where a gate asks for them and a cross compiler is there."""
    if not any(gate.workload == target.WORKLOAD for gate in gates):
        return []
    measured = (target.measure(root or ROOT, fs) for fs in (OURS, PEER))
    return [row for row in measured if row]


def measure(gate: Gate, rows: list[Row]) -> Outcome:
    return judge(gate, rows)


# ---- the page ----

def erase_debt(row: Row | None) -> str:
    """Milliseconds that erasing what the row consumed costs one day."""
    rate = ERASE_US_PER_BYTE.get((row or {}).get("chip", ""))
    if not is_good(row) or rate is None or row.get("consumed_bytes") is None:
        return "-"
    return milliseconds(row["consumed_bytes"] * rate)


def row_time(row: Row | None) -> str:
    return milliseconds(row.get("time_us")) if is_good(row) else "-"


def verdict_text(outcome: Outcome) -> str:
    if outcome.verdict == "NOT met" and outcome.excess is not None:
        return f"**NOT met** (by {100 * outcome.excess:.1f}%)"
    if outcome.verdict == "met":
        return "met"
    return f"**{outcome.verdict}**" + (f" ({outcome.why})" if outcome.why else "")


def outcome_cells(outcome: Outcome, rows: list[Row]) -> list[str]:
    gate = outcome.gate
    ours, peer = find_row(rows, gate, OURS), find_row(rows, gate, PEER)
    title = gate.title if gate.state == "fresh" else f"{gate.title} ({gate.state})"
    bound = f"{gate.relation} {number(outcome.bound, gate.digits)}" if outcome.bound is not None else f"{gate.relation} {gate.bound}"
    peer_text = number(outcome.peer, gate.digits) if outcome.peer is not None else gate.peer_stated or "-"
    return [title, gate.unit, bound, number(outcome.ours, gate.digits), verdict_text(outcome), peer_text,
            row_time(ours), erase_debt(ours), row_time(peer), erase_debt(peer)]


def page(outcomes: list[Outcome], rows: list[Row], command: str, root: Path = ROOT) -> str:
    met = sum(outcome.verdict == "met" for outcome in outcomes)
    unmeasured = sum(outcome.verdict == "not measured" for outcome in outcomes)
    versions = sorted({f"{row['fs']} {row['version']}" for row in rows if row.get("version") and row["fs"] in (OURS, PEER)})
    lines = ["# Figures", "", f"Made by `{command}`; do not edit. " + (f"Versions: {', '.join(versions)}." if versions else ""), "",
             "Counted operations of a virtual chip times its typical times (page convention, fast reads): exact, the same on",
             "every run. Consumed bytes are those used up on the chip, gaps included; beside each time stands what erasing",
             "them costs with the smallest erase (12.2 us a byte on W25Q256). Where a file system erases inside the run, its",
             "time holds those erases already. A figure of LittleFS marked 'stated' was not measured here.", "",
             f"{met} of {len(outcomes)} gates met, {len(outcomes) - met - unmeasured} not met, {unmeasured} not measured.", "",
             *core_digest.lines_of(rows, root), "",
             markdown_row(list(HEADINGS)), markdown_rule(HEADINGS, TEXT)]
    lines += [markdown_row(outcome_cells(outcome, rows)) for outcome in outcomes]
    lines += ["", *used_section(rows)]
    missed = [outcome for outcome in outcomes if outcome.verdict != "met"]
    if missed:
        lines += ["", "## Not met", ""]
        lines += [f"- {outcome.gate.title}: {_missed_text(outcome)}" for outcome in missed]
    unmeasured_yet = load_unmeasured()
    if unmeasured_yet:
        lines += ["", "## Not measured yet", "", *(f"- {text}" for text in unmeasured_yet)]
    failed = [row for row in rows if not is_good(row)]
    if failed:
        lines += ["", "## Cells that failed", ""]
        lines += [f"- {row['workload']} on {row['fs']} ({row.get('chip')}, {row.get('state')}): "
                  f"{row.get('error') or row.get('status')}" for row in failed]
    return "\n".join(lines) + "\n"


def _missed_text(outcome: Outcome) -> str:
    if outcome.ours is None:
        return f"{outcome.verdict}: {outcome.why}"
    digits = outcome.gate.digits
    return (f"{number(outcome.ours, digits)} against {outcome.gate.relation} {number(outcome.bound, digits)} "
            f"{outcome.gate.unit} ({100 * outcome.excess:.1f}% past)")


def write_page(path: str, text: str) -> None:
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


# ---- tables of workloads ----

def row_of(rows: list[Row], fs: str, workload: str, state: str = "fresh") -> Row | None:
    return find_row(rows, Gate(workload, "", workload, "0", "0", state=state), fs)


def triple(row: Row | None) -> str:
    """ms / programs / erases."""
    if row is not None and not is_good(row):
        return "failed"
    return f"{row_time(row)} / {number(row.get('program_pages'))} / {number(erases(row))}" if row else "-"


def used_section(rows: list[Row]) -> list[str]:
    """What the same workloads cost on used chips."""
    headings = ["workload", "chip", "NF2FS", "consumed x erase, ms", "LittleFS", "consumed x erase, ms", "native"]
    lines = ["## On used chips", "",
             "`aged`: three times the chip's capacity was written and removed first. `aged75`: then cold files fill 75% of it.",
             "Milliseconds / page programs / erased blocks of 4 KiB; without idle time.", "",
             markdown_row(headings), markdown_rule(headings, TEXT | {"chip"})]
    for workload in USED_WORKLOADS:
        for state in ("fresh", *USED_STATES):
            ours, peer, native = (row_of(rows, system, workload, state) for system in (OURS, PEER, NATIVE))
            if ours or peer:
                lines.append(markdown_row([workload, state, triple(ours), erase_debt(ours), triple(peer), erase_debt(peer),
                                           triple(native)]))
    return lines


def human_time(us: float | None) -> str:
    """As one would say it: 0.3 ms, 40 ms, 5.5 s, 4.6 min, 8.0 h."""
    if not us:
        return "-" if us is None else "0"
    for unit, size, least in (("h", 3.6e9, 1), ("min", 6e7, 1), ("s", 1e6, 1), ("ms", 1e3, 0)):
        if us >= least * size:
            return f"{number(us / size, 0 if us >= 10 * size else 1)} {unit}"
    return "-"


def time_text(row: Row | None, key: str = "time_us") -> str:
    return "-" if row is None else human_time(row.get(key)) if is_good(row) else "failed"


def target_lines(rows: list[Row]) -> list[list[str]]:
    """What each costs on the microcontroller; LittleFS's as published where it was not measured."""
    row, peer = (next((row for row in rows if row["workload"] == target.WORKLOAD and row["fs"] == fs), None) for fs in (OURS, PEER))
    stated = {gate.measure: gate.peer_stated for gate in load_gates() if gate.workload == target.WORKLOAD}
    if row is None:
        return []
    values = (("RAM with one open file", "ram_bytes", "ram_bytes"), ("stack", "stack_bytes", "stack_bytes"),
              ("code, Cortex-M4, -Os", "code_bytes_all / 1024", "code_bytes_all"))
    return [[name, size_text(row, key), size_text(peer, key) if is_good(peer) else number_of(stated.get(measure, "")), "-", "-", "-", "", ""]
            for name, measure, key in values]


def size_text(row: Row, key: str) -> str:
    """Code in KB, all else in bytes."""
    value = row.get(key)
    return f"{value / 1000:.1f} KB" if key.startswith("code") and value is not None else number(value) + " B"


def number_of(stated: str) -> str:
    """"1,288 (stated)" as "1,288 B, stated"."""
    value = stated.removesuffix(" (stated)")
    return f"{value}{'' if value.endswith('B') else ' B'}, stated" if value else "-"


def best_row(rows: list[Row], workload: str, peer: str = PEER) -> Row | None:
    """The row of the peer's settings with the least time (`norbench best` made them); nothing where no settings were tried."""
    found = [row for row in rows if base_name(row["fs"]) == peer and row["workload"] == workload and row.get("state", "fresh") == "fresh" and is_good(row)
             and row.get("chip") == "w25q256" and not row.get("maintain_budget_us")]
    return min(found, key=lambda row: row["time_us"]) if any(":" in row["fs"] for row in found) else None


def best_settings(rows: list[Row], workloads: dict[str, str]) -> list[str]:
    """Which settings those are, and what RAM they take."""
    found = [(name, best_row(rows, workload)) for workload, name in workloads.items()]
    words = [f"{name}: `{row['fs']}` ({number(row['ram_bytes'])} B)" for name, row in found if row is not None]
    return ["", f"LittleFS at its best: of the settings that `norbench best littlefs` tries, for each row alone, and the RAM that they take: {'; '.join(words)}. "
            "LittleFS, defaults: read and prog 16 B, cache and lookahead 256 B, blocks of 4 KiB. YAFFS2 takes tens of kilobytes of RAM."] if words else []


def readme_table(rows: list[Row], workloads: dict[str, str] = README_WORKLOADS) -> str:
    """What makes someone choose: times of NF2FS, LittleFS and raw flash, on a fresh and on a used chip, and what each costs."""
    headings = ("W25Q256, 32 MiB", "NF2FS", "LittleFS, defaults", "LittleFS at its best", "YAFFS2", "raw flash", "NF2FS, used chip", "LittleFS, used chip")
    lines = [markdown_row(list(headings)), markdown_rule(headings, {headings[0]})]

    def add(name: str, workload: str, key: str) -> None:
        fresh = [row_of(rows, system, workload) for system in (OURS, PEER, STRONG, NATIVE)]
        fresh.insert(2, best_row(rows, workload))
        used = [row_of(rows, system, workload, USED_STATES[0]) for system in (OURS, PEER)]
        if any(row is not None for row in fresh):
            lines.append(markdown_row([name, *(time_text(row, key) for row in (*fresh, *used))]))

    for workload, name in workloads.items():
        add(name, workload, "time_us")
    add("longest single call of those 2,000 updates", "rwrite2000", "worst_call_us")
    add("longest single call of those appends", "log32d", "worst_call_us")
    return "\n".join([*lines, *(markdown_row(line) for line in target_lines(rows)), *best_settings(rows, workloads)])


def replace_block(path: str, table: str) -> bool:
    """Replaces what stands between the two marks of a file; False if there are none."""
    file = Path(path)
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    if BEGIN not in text or END not in text.split(BEGIN, 1)[1]:
        return False
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    file.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    return True
