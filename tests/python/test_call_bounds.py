# SPDX-License-Identifier: BSD-2-Clause
"""Every workload of the benchmark over NF2FS, small: no call costs more than docs/BOUNDS.md says. That a costly call is found:
tests/unit/test_call_bounds.c, and below."""

import re
from pathlib import Path

import pytest

from nf2fs import bench, call_bounds

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 120


def found_program():
    try:
        return bench.find_program()
    except bench.BenchError:
        return None


PROGRAM = found_program()
CATALOGUE = bench.read_catalogue(PROGRAM) if PROGRAM else bench.Catalogue()
needs_program = pytest.mark.skipif(PROGRAM is None, reason="norbench-cell is not built")


@needs_program
@pytest.mark.parametrize("workload", CATALOGUE.workloads)
def test_no_call_passes_its_bound(workload):
    for run in call_bounds.short_runs(CATALOGUE, workload):
        row = call_bounds.run_one(PROGRAM, run, TIMEOUT_S)
        assert call_bounds.faults(row) == [], str(run)


def good(**keys):
    return {"workload": "w", "status": "ok", "verified": True, "calls_judged": 5, "calls_past_bound": 0, **keys}


def test_what_is_a_fault():
    assert call_bounds.faults(good()) == []
    assert call_bounds.faults(good(status="failed: write /a failed with -28: no space at operation 3", verified=False)) == []
    for row in (good(calls_past_bound=1, past_bound={"call": "write"}), good(status="failed: x", verified=False), good(calls_judged=0),
                {"status": "timeout", "verified": False, "error": "took longer"}):
        assert call_bounds.faults(row), row


def test_a_workload_of_an_unknown_group_runs_too():
    catalogue = bench.Catalogue(workloads=["new"], groups={"other": ["new"]}, workload_chips={"new": "w25q80"})
    for runs in (call_bounds.short_runs, call_bounds.long_runs):
        assert runs(catalogue, "new")[0].cell == bench.Cell("nf2fs", "w25q80", "new")


TABLE = {"chip": "c", "about": ["About."], "unbounded": ["x"], "notes": ["y"], "units": [{"letter": "W", "meaning": "a walk", "fixed": True, "value": 170}],
         "bounds": [{"call": "sync", "fill": "roomy", "read_pages": "6 W", "program_pages": "20", "erases": "2", "erases_ahead": "1"},
                    {"call": "sync", "fill": "full", "unbounded": "reclaims"},
                    {"call": "stat", "fill": "any", "read_pages": "9", "program_pages": "0", "erases": "0", "erases_ahead": "0"}]}


def cost(call, fill, count, unbounded, most, permille):
    return {"call": call, "fill": fill, "count": count, "unbounded": unbounded,
            **{measure: {"most": most, "permille": permille} for measure in call_bounds.MEASURES}}


def test_page():
    rows = [good(call_costs=[cost("sync", "roomy", 3, 0, 12, 500), cost("sync", "full", 2, 2, 0, 0)]), good(call_costs=[cost("sync", "roomy", 1, 0, 7, 600)])]
    text = call_bounds.page([TABLE, TABLE], rows, "norbench bounds")
    assert "| sync | roomy | 6 W | 12 (60%) | 20 | 12 (60%) | 2 | 12 (60%) | 1 | 12 (60%) |" in text
    assert "| sync | full | not bounded | - |" in text and "| stat | any | 9 | - |" in text
    assert "6 calls of 1 workloads in 2 runs: 0 past their bounds; 2 were of those that have none." in text
    assert call_bounds.stale_lines(text, TABLE) == []
    changed = {**TABLE, "bounds": [{**TABLE["bounds"][0], "read_pages": "7 W"}, *TABLE["bounds"][1:]]}
    assert call_bounds.stale_lines(text, changed) == ["sync | roomy | 7 W | 20 | 2 | 1"]


@needs_program
def test_the_page_states_the_bounds_of_the_code():
    text = (ROOT / "docs" / "BOUNDS.md").read_text(encoding="utf-8")
    table = call_bounds.read_table(PROGRAM, call_bounds.CHIPS[0])
    assert call_bounds.stale_lines(text, table) == [], "make bounds"
    for line in [*table["about"], *table["unbounded"], *table["notes"]]:
        assert line in text, "make bounds"


@needs_program
def test_every_call_of_the_header_has_a_bound():
    header = (ROOT / "include" / "nf2fs" / "nf2fs.h").read_text(encoding="utf-8")
    calls = set(re.findall(r"^int(?:32_t)? nf2_(\w+)\(", header, re.M))
    stated = {bound["call"].split(",")[0].split()[0] for bound in call_bounds.read_table(PROGRAM, call_bounds.CHIPS[0])["bounds"]}
    calls.remove("mount_rdonly")  # it reads what nf2_mount reads, and no more
    assert calls == stated
