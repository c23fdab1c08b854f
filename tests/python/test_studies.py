# SPDX-License-Identifier: BSD-2-Clause
"""The commands of the long workloads, over the stand-in for norbench-cell."""

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from nf2fs import bench, bench_studies, figures, gates, plots, study_page, study_tables

CELL = str(Path(__file__).with_name("fake_cell.py"))


def row(fs="nf2fs", workload="w", **keys):
    return {"fs": fs, "workload": workload, "state": "fresh", "chip": "w25q256", "status": "ok", "verified": True, **keys}


def texts(path):
    """What a plot says: it is XML, and its text is text."""
    return "".join(ElementTree.fromstring(path.read_text()).itertext())


def test_lifespan_wears_plots_and_keeps_rows(norbench, tmp_path):
    out = tmp_path / "r.jsonl"
    code, text, err = norbench("lifespan", "--cell", CELL, "-w", "lifelog", "--fs", "nf2fs,littlefs", "--mean", 4, "--directory", tmp_path, "--json", out)
    assert code == 0 and "1.50" in text and "progress 1.00 of 4.00" in err
    rows = bench.read_rows(out)
    assert [(one["fs"], one["mean"], one["maintain_budget_us"]) for one in rows] == [("nf2fs", 4, 2_000_000), ("littlefs", 4, 2_000_000)]
    assert all(one["wear"] == [[1, 1], [2, 1], [3, 1]] for one in rows)
    for name in ("wear-lifelog-w25q256-4.svg", "wear-lifelog-address.svg"):
        assert "LittleFS" in texts(tmp_path / name)
    assert norbench("lifespan", "--results", out, "--fs", "nf2fs,littlefs", "--directory", tmp_path / "again")[0] == 0
    assert "LittleFS" in texts(tmp_path / "again" / "wear-lifelog-w25q256-4.svg")


def test_a_life_ends_with_the_first_worn_out_block(norbench, tmp_path):
    out = tmp_path / "r.jsonl"
    assert norbench("lifespan", "--cell", CELL, "-w", "lifelog", "--limit", 7, "--chip", "w25q256/4M", "--directory", tmp_path, "--json", out)[0] == 0
    assert [(one["limit"], one["mean"]) for one in bench.read_rows(out)] == [(7, 0)]
    page = study_page.page(bench.read_rows(out), set(), "plots")
    assert "| a log of 512 KiB, batched | w25q256/4M | a block: 7 | NF2FS | 1 | 2.0 | 3 | 1.50 | 1.0 | 0.000 | 0.9 |" in page
    assert gates.find_row(bench.read_rows(out), gates.Gate("wear", "Wear", "lifelog", "wear_max", "1", chip="w25q256/4M"), "nf2fs") is None


def test_directory_prints_and_plots(norbench, tmp_path):
    code, text, _ = norbench("directory", "--cell", CELL, "-w", "dir10", "--directory", tmp_path)
    assert code == 0 and "look-up cold" in text and "native" not in text
    assert "LittleFS" in texts(tmp_path / "directory-read.svg") and "create" in texts(tmp_path / "directory-program.svg")


def test_the_page_of_studies(norbench, tmp_path):
    out, page = tmp_path / "r.jsonl", tmp_path / "docs" / "STUDIES.md"
    page.parent.mkdir()
    for arguments in (("overwrite", "-w", "ow4k-50"), ("latency", "-w", "mixed25"), ("directory", "-w", "dir10"),
                      ("lifespan", "-w", "lifelog", "--mean", 4, "--fs", "nf2fs,littlefs")):
        assert norbench(*arguments, "--cell", CELL, "--directory", tmp_path / "live", "--json", out)[0] == 0
    assert norbench("studies", out, "--output", page)[0] == 0
    text = page.read_text()
    assert "| 4 KiB, 50% | 202.0 | 100.00 | 50% | 50.00 |" in text
    assert "| sync | NF2FS, 200 ms idle | 9 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 0 / 1 / 2 / 3 / 4 |" in text
    shown = re.findall(r"]\((plots/[^)]+)\)", text)
    assert len(shown) == 5 and all("LittleFS" in texts(page.parent / name) for name in shown)
    first = (page.parent / shown[0]).read_bytes()
    assert norbench("studies", out, "--output", page)[0] == 0 and (page.parent / shown[0]).read_bytes() == first


def test_a_wrong_chip_or_state_is_said_once(norbench):
    for command, wrong in (("run", ("--chip", "w25q257")), ("overwrite", ("--chip", "w25q257")), ("lifespan", ("--chip", "w25q257")),
                           ("run", ("--state", "old")), ("latency", ("--state", "old"))):
        code, out, err = norbench(command, "--cell", CELL, "--workload", {"run": "create"}.get(command, "lifelog"), *wrong)
        assert code == 1 and out == "" and err.count(wrong[1]) == 1 and len(err.splitlines()) == 1, err


def test_rows_of_another_mean_are_other_rows(tmp_path):
    path = tmp_path / "r.jsonl"
    for mean in (0, 300):
        bench.append_row(path, row(mean=mean, wear_max=mean + 1, wear_mean=mean + 1))
    rows = bench.read_rows(path)
    gate = gates.Gate("wear", "Wear", "w", "wear_max", "301", mean=300)
    assert len(rows) == 2 and gates.judge(gate, rows).ours == 301


def test_long_gates_are_run_only_where_asked_for():
    catalogue = bench.parse_catalogue({"workloads": [{"name": "w", "group": "g", "long": True}, {"name": "v", "group": "g"}],
                                       "file_systems": ["native", "nf2fs", "littlefs"]})
    wanted = [gates.Gate("one", "One", "w", "time_us", "1", long=True, maintain_us=7), gates.Gate("two", "Two", "v", "time_us", "1")]
    assert {cell.workload for cell in figures.cells_for(wanted, catalogue)[0]} == {"v"}
    cells = figures.cells_for(wanted, catalogue, long=True)[0]
    assert {(cell.workload, cell.fs, cell.maintain_us) for cell in cells if cell.workload == "w"} == \
        {("w", "native", 7), ("w", "nf2fs", 7), ("w", "littlefs", 7)}
    assert figures.without(cells, [row(workload="w", maintain_budget_us=7)]) == [cell for cell in cells if (cell.fs, cell.workload) != ("nf2fs", "w")]
    assert bench.expand(["all"], catalogue) == ["v"] and bench.expand(["w"], catalogue) == ["w"]
    assert "long" in gates.judge(wanted[0], []).why


def test_a_gate_may_name_options_of_its_workload():
    catalogue = bench.parse_catalogue({"workloads": [{"name": "w", "group": "g", "options": "count,end"}], "file_systems": ["nf2fs"]})
    cells, absent = figures.cells_for([gates.Gate("one", "One", "w:count=9,end=cut", "time_us", "1"), gates.Gate("two", "Two", "v:count=9", "time_us", "1")], catalogue)
    assert [cell.workload for cell in cells] == ["w:count=9,end=cut"] and absent == ["v:count=9"]


def test_a_stopped_row_shows_a_miss_but_no_success():
    gate = gates.Gate("fast", "Fast", "w", "speed", "10", relation=">=")
    assert gates.judge(gate, [row(speed=20, steady=0)]).verdict == "not measured"
    assert gates.judge(gate, [row(speed=5, steady=0)]).verdict == "NOT met"
    assert gates.judge(gate, [row(speed=20, steady=1)]).verdict == "met"


def test_a_peer_without_idle_work_has_one_row():
    gate = gates.Gate("idle", "Idle", "w", "time_us", "1", maintain_us=5)
    rows = [row("littlefs", time_us=9), row(time_us=1)]
    assert gates.find_row(rows, gate, "littlefs")["time_us"] == 9 and gates.find_row(rows, gate, "nf2fs") is None


def test_a_watched_cell_that_fails(tmp_path):
    seen = []
    found = bench.run_watched(Path(CELL), bench.Cell("nf2fs", "w25q256", "broken"), [], seen.append)
    assert found["status"] == "failed" and "it broke" in found["error"] and seen == ["it broke"]


def test_progress_is_thinned():
    seen = []
    show = bench_studies.every_percent(seen.append)
    for line in ("progress 1.00 of 400.00, flash time 1 s", "progress 2.00 of 400.00, x", "progress 4.00 of 400.00, x", "a warning"):
        show(line)
    assert len(seen) == 3 and seen[-1] == "a warning"


def test_wear_is_kept_by_how_many_blocks():
    assert plots.histogram([5, 1, 1, 1]) == [[1, 3], [5, 1]]


def test_tables_of_good_and_of_failed_rows():
    call = {"count": 2, "us_min": 1, "us_median": 1, "us_p99": 2, "us_p999": 2, "us_max": 2, "read_pages_max": 1, "program_pages_max": 0, "erases_max": 0}
    failed = {"fs": "littlefs", "workload": "w", "status": "failed: no space", "verified": False}
    good = row(speed_kib_s=50.5, bound_kib_s=202, steady=1, operations=4, program_pages=8, read_pages=4, erases_by_size={"4096": 2},
               calls={"sync": call, "seek": {**call, "us_max": 0}})
    assert study_tables.overwrite([good, failed])[1][0][5] == "25.0%"
    assert [line[3] for line in study_tables.latency([good, failed])[1]] == ["sync", "failed: no space"]
    for table in (study_tables.overwrite, study_tables.lifespan, study_tables.latency, study_tables.directory, study_tables.space):
        headings, lines = table([good, failed])
        assert all(len(line) == len(headings) for line in lines)


def test_a_lifespan_goes_on_where_it_was_stopped(norbench, tmp_path):
    """What another process stored in its middle is taken up by the command, and gives the same row."""
    try:
        real = bench.find_program()
    except bench.BenchError:
        pytest.skip("norbench-cell is not built")
    arguments = ("lifespan", "--cell", real, "-w", "lifesmall", "--fs", "nf2fs", "--chip", "w25q256/1M", "--mean", 12, "--no-idle", "--directory", tmp_path)
    assert norbench(*arguments, "--json", tmp_path / "plain")[0] == 0
    one = bench.Cell("nf2fs", "w25q256/1M", "lifesmall", mean=12)
    wear = bench_studies.wear_file(str(tmp_path), one)
    wear.unlink()
    run = wear.with_suffix(".run")
    stopped = subprocess.run([str(real), *one.arguments(), "--wear", str(wear), "--checkpoint", str(run), "--checkpoint-at", "2000", "--progress"], capture_output=True, text=True)
    if "can be stored with" in stopped.stderr:
        pytest.skip(stopped.stderr.strip())
    assert stopped.returncode == 4 and run.exists() and not wear.exists()
    assert norbench(*arguments, "--json", tmp_path / "again", "--checkpoint")[0] == 0
    assert not run.exists() and json.loads((tmp_path / "again").read_text()) == json.loads((tmp_path / "plain").read_text())
