# SPDX-License-Identifier: BSD-2-Clause
"""The processor's column: counted over the same cell, or a reason in its place."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import formats
import pytest

from nf2fs import bench, bench_choose, bench_page, bench_processor, bench_sweep, bench_table

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("arm-none-eabi-gcc", "qemu-arm")
MISSING_TOOLS = [name for name in TOOLS if shutil.which(name) is None]
FAKE = str(Path(__file__).with_name("fake_cell.py"))

try:
    CELL = bench.find_program()
except bench.BenchError:
    CELL = None
needs_tools = pytest.mark.skipif(CELL is None or bool(MISSING_TOOLS), reason=f"norbench-cell or {', '.join(MISSING_TOOLS)} is not there (make release; Debian: gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-user)")


def row(fs="nf2fs", **keys):
    return {"fs": fs, "workload": "swrite", "state": "fresh", "chip": "w25q256", "status": "ok", "verified": True, "time_us": 1000, "worst_call_us": 400, "worst_call_name": "sync", **keys}


# ---- figures out of counts ----

def test_sums_and_the_dearest_calls():
    calls = [("write", 0), ("sync", 400), ("sync", 50_000), ("maintain", 10), ("read", 4), ("sync", 300)]
    found = bench_processor.summary([100, 5_000, 1_000, 7, 90_000, 4_000], calls)
    assert found["instructions"] == 100_107 and found["instructions_idle"] == 7
    assert (found["instructions_most"], found["instructions_most_name"]) == (90_000, "read")
    assert found["instructions_of"]["sync"] == {"count": 3, "sum": 10_000, "max": 5_000}
    assert found["dearest_calls"] == [[50_000, 1_000, "sync"], [4, 90_000, "read"]]
    assert bench_processor.worst(found, 100)[1] == "sync" and bench_processor.worst(found, 1) == (4 + 135_000, "read")


@pytest.mark.parametrize("mhz", [1, 3, 16, 64, 100, 480])
def test_the_kept_calls_hold_the_longest_at_any_clock(mhz):
    calls = [(f"c{i}", (i * 7919) % 1000, (i * 104729) % 100_000) for i in range(2000)]
    kept = bench_processor.summary([cost for _, _, cost in calls], [(name, us) for name, us, _ in calls])["dearest_calls"]
    longest = max(us + bench_processor.processor_us(cost, mhz) for _, us, cost in calls)
    assert bench_processor.worst({"dearest_calls": kept}, mhz)[0] == longest and len(kept) < 30


def test_counts_that_cannot_be_trusted_are_refused(tmp_path):
    path = tmp_path / "counts"
    for text in ("", "O 1999 0 -1\nO 5 0 -1\n"):
        path.write_text(text)
        with pytest.raises(bench_processor.Missing, match="the plugin counts"):
            bench_processor.read_counts(path)
    with pytest.raises(bench_processor.Missing, match="saw 2 calls, the cell made 1"):
        bench_processor.summary([1, 2], [("read", 4)])


# ---- tables ----

def test_columns_come_only_where_they_were_asked_for():
    rows = [row("native", processor_missing="no code"), row(instructions=2_000_000, code_bytes=2048, dearest_calls=[[400, 9, "sync"]])]
    text = bench_table.markdown(rows)
    assert "| M instr. | flash + 100 MHz ms | KiB code |" in text and "| 2.00 | 31.0 | 2.0 | ok |" in text and "| - | - | - | ok |" in text
    assert "No instructions of native: no code." in text and "1.5 cycles an instruction" in text
    assert "| 2.00 | 61.0 |" in bench_table.markdown(rows, 50)
    assert "instr" not in bench_table.markdown([row("native"), row()])


def test_the_page_and_the_choice_have_them():
    rows = [row(instructions=2_000_000, code_bytes=2048, dearest_calls=[[400, 9, "sync"]]), row("littlefs", instructions=40_000_000, dearest_calls=[[400, 9, "sync"]]),
            row("fatfs", processor_missing="<no> emulator")]
    titles = {one.title: one for one in bench_page.sections_of(rows, {}, ROOT)}
    assert [one.title for one in titles["Processor"].figures][:2] == ["Instructions", "Flash and processor"]
    assert "fatfs: &lt;no&gt; emulator" in titles["Processor"].body and any(one.title == "Code" for one in titles["Memory"].figures)
    assert "Processor" not in {one.title for one in bench_page.sections_of([row()], {}, ROOT)}
    text = bench_choose.answer(rows, [], "w25q256")
    assert "littlefs: worst point: the processor works 600.0 ms, 20 times as long as with the best." in text
    assert "No instructions of fatfs: <no> emulator." in text and "Least time of flash and processor: nf2fs." in text
    rows[0] |= {"code_bytes": 80_000}
    rows[1] |= {"code_bytes": 1_000}
    assert "nf2fs: worst point: its code takes 78.1 KiB on a Cortex-M4, 80 times the least." in bench_choose.answer(rows, [], "w25q256")


# ---- what is missing is said, never invented ----

def test_without_the_tools_rows_say_so(norbench, tmp_path, monkeypatch):
    out = tmp_path / "rows.jsonl"
    code, text, _ = norbench("run", "--cell", FAKE, "-w", "swrite", "-f", "nf2fs", "--processor", "--json", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert code == 0 and all("instructions" not in one for one in rows)
    reasons = {one["fs"]: one["processor_missing"] for one in rows}
    assert "no code of a file system" in reasons["native"] and "make processor" in reasons["nf2fs"]
    assert "No instructions of nf2fs" in text
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(bench_processor.Missing, match="no qemu-arm"):
        bench_processor.check(Path(FAKE), "nf2fs")


def test_a_program_that_is_older_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/true")
    cell = tmp_path / "cell"
    for name in ("cell", "cell-m4", "cell-m4.table", bench_processor.PLUGIN):
        (tmp_path / name).write_text("")
    bench_processor.check(cell, "nf2fs")
    os.utime(tmp_path / "cell-m4", (1, 1))
    with pytest.raises(bench_processor.Missing, match="older"):
        bench_processor.check(cell, "nf2fs")


def test_a_cluster_is_refused(norbench, tmp_path):
    code, _, errors = norbench("sweep", "--cell", FAKE, "-o", tmp_path / "r", "-w", "swrite", "--processor", "--scheduler", "tcp://localhost:1")
    assert code == 2 and "--scheduler" in errors


# ---- the real thing ----

@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The program for the emulator beside a copy of norbench-cell."""
    folder = tmp_path_factory.mktemp("m4")
    cell = folder / bench.PROGRAM
    shutil.copy(CELL, cell)
    build = Path(CELL).resolve().parents[2]
    core = sorted(str(path) for path in formats.core_folder().glob("*.c"))
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "target_cell.py"), "--out", str(folder / "build"), "--sources", *core, "--include", *map(str, formats.core_include()),
                           "--littlefs", str(build / "littlefs"), "--beside", str(folder)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return cell


def counted(cell, fs, workload, *more):
    one = bench.Cell(fs, "w25q256", workload)
    row = bench.run_arguments(cell, one, list(more), 60)
    return row | bench_processor.measure(cell, fs, [*one.arguments(), *more], row, 120)


@needs_tools
def test_instructions_of_a_cell(built):
    """The same on every run, of every call, and of the same operations of the flash as on this computer."""
    first = counted(built, "nf2fs", "create32")
    assert "processor_missing" not in first, first["processor_missing"]
    assert first == counted(built, "nf2fs", "create32")
    kinds = first["instructions_of"]
    assert {name: one["count"] for name, one in kinds.items()} == {"open": 100, "write": 100, "close": 100}
    assert sum(one["sum"] for one in kinds.values()) == first["instructions"] > 100 * 1000
    assert first["code_bytes"] > 20_000 and first["processor"].startswith("Cortex-M4, -Os, arm-none-eabi-gcc")
    idle = counted(built, "nf2fs", "config", "--maintain", "20000")
    assert 0 < idle["instructions_idle"] < idle["instructions"]


@needs_tools
def test_a_sweep_makes_them_once(built, tmp_path):
    sweep = bench_sweep.Sweep(["create32"], ["nf2fs"], processor=True)
    tasks = bench_sweep.tasks_of(sweep, sweep.cells(bench.read_catalogue(built)), built)
    rows = bench_sweep.run(tasks, tmp_path / "rows", 1, 120, None, lambda task, row: None)
    assert rows[0]["instructions"] == counted(built, "nf2fs", "create32")["instructions"]
    assert bench_sweep.read_done(tmp_path / "rows") == {tasks[0].key()}
    plain = bench_sweep.Sweep(["create32"], ["nf2fs"])
    assert bench_sweep.tasks_of(plain, plain.cells(bench.read_catalogue(built)), built)[0].key() != tasks[0].key()


@needs_tools
def test_two_runs_that_differ_give_no_figure(built):
    one = bench.Cell("nf2fs", "w25q256", "create32")
    row = bench.run_cell(built, one, 60) | {"program_pages": 1}
    found = bench_processor.measure(built, "nf2fs", one.arguments(), row, 120)
    assert "instructions" not in found and "the cell differs in program_pages" in found["processor_missing"]
