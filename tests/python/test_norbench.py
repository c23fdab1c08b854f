# SPDX-License-Identifier: BSD-2-Clause
import json
import shutil
import threading
from pathlib import Path

import pytest

from nf2fs import bench, bench_table, figures, gates, target

CELL = str(Path(__file__).with_name("fake_cell.py"))


def row(fs="nf2fs", workload="w", **keys):
    return {"fs": fs, "workload": workload, "state": "fresh", "chip": "w25q256", "status": "ok", "verified": True, **keys}


def test_run_adds_native_and_ratios(norbench, tmp_path):
    out = tmp_path / "r.jsonl"
    code, text, _ = norbench("run", "--cell", CELL, "--fs", "nf2fs,littlefs", "--workload", "swrite,small", "--json", out)
    assert code == 0 and "swrite" in text
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 6
    assert {one["fs"]: one["ratio_native"] for one in rows} == {"native": 1.0, "nf2fs": 1.1, "littlefs": 2.5}
    code, text, _ = norbench("report", out)
    assert code == 0 and "littlefs" in text
    assert "| swrite | fresh | nf2fs | 1.1 | 1.10 |" in norbench("report", "--markdown", out)[1]


def test_never_more_than_two_at_a_time(norbench, tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_CELL_LOG", str(log))
    assert norbench("run", "--cell", CELL, "--workload", "create,swrite,gcfill")[0] == 0
    alive = most = 0
    for line in log.read_text().split():
        alive += 1 if line == "begin" else -1
        most = max(most, alive)
    assert most <= 2 and alive == 0
    assert norbench("run", "--cell", CELL, "--workload", "create", "--jobs", "3")[0] == 2


def test_two_at_a_time_even_if_more_are_asked_for():
    together, lock, alive, most = threading.Barrier(2, timeout=30), threading.Lock(), 0, 0

    def run(cell):
        nonlocal alive, most
        with lock:
            alive += 1
            most = max(most, alive)
        together.wait()
        with lock:
            alive -= 1
        return row(cell.fs, cell.workload, time_us=5)

    cells = [bench.Cell("nf2fs", "w25q256", f"w{index}") for index in range(4)]
    rows = [one for _, one in bench.run_cells(cells, run, jobs=9)]
    assert most == 2 and len(rows) == 8 and all(one["ratio_native"] == 1 for one in rows)


def test_a_workload_runs_on_its_own_chip(norbench, tmp_path):
    out = tmp_path / "r.jsonl"
    norbench("run", "--cell", CELL, "--fs", "nf2fs", "--workload", "gcfill,create", "--json", out)
    assert {(one["workload"], one["chip"]) for one in bench.read_rows(out)} == {("gcfill", "is25-16m"), ("create", "w25q256")}


def test_a_failed_cell_is_a_row_and_an_exit_code(norbench, tmp_path):
    out = tmp_path / "r.jsonl"
    assert norbench("run", "--cell", CELL, "--fs", "nf2fs", "--workload", "broken", "--json", out)[0] == 1
    failed = [one for one in bench.read_rows(out) if one["fs"] == "nf2fs"][0]
    assert failed["status"] == "failed" and "it broke" in failed["error"] and failed["ratio_native"] is None


def test_messages(norbench, tmp_path):
    assert norbench()[0] == 2 and norbench("--help")[0] == 0
    code, _, err = norbench("run", "--cell", CELL, "--workload", "nonsense")
    assert code == 1 and "nonsense" in err
    code, _, err = norbench("run", "--cell", CELL, "--fs", "nonsense", "--workload", "create")
    assert code == 1 and "littlefs" in err
    code, _, err = norbench("run", "--cell", tmp_path / "none")
    assert code == 1 and "no such program" in err
    (tmp_path / "bad").write_text("{\n")
    assert norbench("report", tmp_path / "bad")[0] == 1
    code, out, _ = norbench("list", "--cell", CELL)
    assert code == 0 and "core" in out and "gcfill" in out


def test_rows_of_a_cell_the_last_counts(tmp_path):
    path = tmp_path / "r.jsonl"
    for time_us in (1, 2):
        bench.append_row(path, row(time_us=time_us))
    bench.append_row(path, row(time_us=3, state="aged"))
    assert [one["time_us"] for one in bench.read_rows(path)] == [2, 3]


def test_table_marks_what_failed():
    assert bench_table.status_text(row()) == "ok"
    assert bench_table.status_text(row(verified=False)) == "NOT VERIFIED"
    assert bench_table.erases({"erases": [1, 2, 0]}) == 3


# ---- gates ----

def test_expressions():
    one, native = {"a": 6, "b": [1, 9, 4], "c": {"4096": 2}}, {**row("native"), "a": 3}
    assert gates.evaluate("1.02 * native.a + 4", one, native) == pytest.approx(7.06)
    assert gates.evaluate("max(b[1:]) / 100", one, native) == pytest.approx(0.09)
    assert gates.evaluate("c['4096'] - -a", one, native) == 8
    for text in ("__import__('os')", "a.b", "[1]", "a if a else 1", "open", "a ** 9"):
        with pytest.raises((gates.GateError, gates.NotMeasured)):
            gates.evaluate(text, one, native)
    for text in ("none", "a / 0", "max(b[9:])", "c['1']"):
        with pytest.raises(gates.NotMeasured):
            gates.evaluate(text, one, native)


def test_check_gates_returns_those_not_met():
    wanted = [gates.Gate("few", "Few", "w", "program_pages", "10"),
              gates.Gate("ratio", "Ratio", "w", "program_pages", "2 * native.program_pages"),
              gates.Gate("much", "Much", "w", "user_bytes", "100", relation=">="),
              gates.Gate("other", "Other", "elsewhere", "user_bytes", "1"),
              gates.Gate("idle", "Idle", "w", "program_pages", "1", maintain_us=5)]
    rows = [row("native", program_pages=6), row(program_pages=11, user_bytes=100),
            row("littlefs", program_pages=40), row(program_pages=1, maintain_budget_us=5)]
    missed = {one.gate.id: one for one in gates.check_gates(rows, wanted)}
    assert set(missed) == {"few", "other"}
    assert missed["few"].excess == pytest.approx(0.1) and missed["few"].peer == 40
    assert missed["other"].verdict == "not measured"
    wrong = [row("native", program_pages=6), row(program_pages=1, user_bytes=200, verified=False)]
    assert {one.gate.id for one in gates.check_gates(wrong, wanted[:3])} == {"few", "ratio", "much"}


def test_the_gates_file_is_sound():
    found = gates.load_gates()
    assert len(found) > 40 and all(gate.unit and gate.title for gate in found)
    every = {key: 1 for key in ("program_pages", "program_bytes", "read_pages", "read_bytes", "erases", "consumed_bytes",
                                "user_bytes", "operations", "time_us", "worst_call_us", "ram_bytes", "code_bytes",
                                "code_bytes_all", "code_bytes_read", "stack_bytes", "ram_bytes_512",
                                "most_read_pages_in_call", "most_erases_in_call", "marked_operations", "marked_program_pages",
                                "marked_program_bytes", "marked_user_bytes")}
    every |= {"windows_program_pages": [1, 1], "erases_by_size": {"4096": 1, "65536": 1}}
    every |= {key: 1 for key in ("speed_kib_s", "bound_kib_s", "erases_past_allowance", "extra_pages_per_4k", "erases_minimum",
                                 "wear_max", "wear_min", "wear_mean", "share", "share_maintained", "age_ratio", "offer_kept")}
    step = {"count": 1, "us_max": 1, "read_pages": 1, "read_pages_max": 1, "program_pages": 1, "program_bytes": 1}
    every |= {"steps": {name: step for name in ("create", "look-up cold", "random read", "sequential read", "wake", "both")}}
    for gate in found:
        rows = [row(fs, gate.workload, **every) | {"chip": gate.chip, "state": gate.state, "maintain_budget_us": gate.maintain_us, "mean": gate.mean}
                for fs in ("native", "nf2fs")]
        assert gates.judge(gate, rows).verdict in ("met", "NOT met"), gate.id
    with pytest.raises(gates.GateError):
        gates.load_gates(only=["nonsense"])
    assert {gate.id for gate in gates.load_gates(only=["code", "wake-1m-*"])} == {"code", *(f"wake-1m-{what}" for what in ("longest", "reads", "programs", "erases", "wear"))}


def test_figures_page_and_readme(norbench, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"# A\n{figures.BEGIN}\nold\n{figures.END}\nrest\n")
    page = tmp_path / "docs" / "FIGURES.md"
    arguments = ("figures", "--cell", CELL, "--output", page, "--readme", readme)
    code, _, err = norbench(*arguments)
    assert code == 0 and "no workload is named 'rread'" in err
    text = page.read_text()
    assert "Made by `" in text and "not measured" in text
    assert "| Create, 100 empty files, durable | programs | <= 102 | 110 | **NOT met** (by 7.8%) | 250 | 1.1 | 122.0 |" in text
    assert "old" not in readme.read_text() and "| 100 new empty files, each durable | 1.1 ms | 2.5 ms | - | - | 1.0 ms | 1.1 ms | 2.5 ms |" in readme.read_text()
    assert [figures.human_time(us) for us in (0, 40_500, 999_999, 5_451_200, 277_848_000, 28_942_333_000)] == \
        ["0", "40 ms", "1,000 ms", "5.5 s", "4.6 min", "8.0 h"]
    assert readme.read_text().endswith(f"{figures.END}\nrest\n")
    assert norbench(*arguments, "--strict", "--gate", "create")[0] == 1
    assert figures.replace_block(str(tmp_path / "none.md"), "x") is False


def test_a_circle_of_calls_leaves_no_bound_of_the_stack():
    deep = {"calls": [{"call": "nf2_open", "bytes": 140, "path": ["nf2_open 40", "walk 100"]}], "circles": [], "frames_not_fixed": []}
    assert target.stack_of(deep)["stack_bytes"] == 140
    for loose in ("circles", "frames_not_fixed"):
        found = target.stack_of(deep | {loose: ["walk nf2_open"]})
        assert found == {"unbounded": {"stack_bytes": "no bound: walk nf2_open"}}


@pytest.mark.skipif(shutil.which(target.COMPILER) is None, reason="no cross compiler")
def test_the_stack_of_the_core_has_a_bound():
    """All its calls through pointers are known."""
    row = target.measure(Path(__file__).resolve().parents[2])
    assert row["status"] == "ok" and 500 < row["stack_bytes"] < 4000 and "unbounded" not in row


def test_sizes_of_littlefs_are_as_published_only_where_they_were_not_measured():
    ours = row(workload="target") | {"ram_bytes": 2000, "stack_bytes": 1200, "code_bytes_all": 37_000}
    peer = ours | {"fs": "littlefs", "ram_bytes": 1000, "stack_bytes": 1300, "code_bytes_all": 15_000}
    assert [line[1:3] for line in figures.target_lines([ours, peer])] == [["2,000 B", "1,000 B"], ["1,200 B", "1,300 B"], ["37.0 KB", "15.0 KB"]]
    assert [line[2] for line in figures.target_lines([ours])] == ["1,288 B, stated", "1,384 B, stated", "15.4 KB, stated"]


def test_what_has_no_bound_meets_no_gate():
    gate = gates.Gate("stack", "Stack", "target", "stack_bytes", "1024", chip="cortex-m4")
    found = gates.judge(gate, [row(workload="target", unbounded={"stack_bytes": "a loop"}) | {"chip": "cortex-m4"}])
    assert found.verdict == "NOT met" and found.why == "a loop"
