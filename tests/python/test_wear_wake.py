# SPDX-License-Identifier: BSD-2-Clause
"""`norbench wear`, `wake` and `phase`, and options behind a workload's name."""

import json

import pytest

from nf2fs import bench, bench_wake, bench_wear, figures, gates, target
from nf2fs.bench_run import names

try:
    CELL = bench.find_program()
except bench.BenchError:
    CELL = None
needs_program = pytest.mark.skipif(CELL is None, reason="norbench-cell is not built (make release)")


# ---- options of a name ----

@pytest.mark.parametrize("text, found", [
    ("create,wake:count=9,end=cut,config", ["create", "wake:count=9,end=cut", "config"]), ("wake:count=9", ["wake:count=9"]), ("a, b,,c", ["a", "b", "c"]),
    ("wake:end=cut,wear:fill=9", ["wake:end=cut", "wear:fill=9"]), ("a,b=3", ["a", "b=3"])])
def test_names_keep_their_options(text, found):
    assert names(text) == found


CATALOGUE = bench.Catalogue(workloads=["wake", "create"], groups={"g": ["wake"]}, workload_chips={"wake": "w25q80"}, options={"wake": ["count", "end"]})


def test_a_workload_with_options_is_known_by_its_name():
    assert bench.expand(["wake:count=9,end=cut"], CATALOGUE) == ["wake:count=9,end=cut"]
    assert CATALOGUE.chip_of("wake:count=9") == "w25q80"


@pytest.mark.parametrize("text, complaint", [("wake:size=9", "no option 'size': it has count, end"), ("create:count=9", "create has no option 'count'"), ("wake:count", "NAME:KEY=VALUE"),
                                             ("wake:", "NAME:KEY=VALUE"), ("nope:count=9", "no workload")])
def test_wrong_options_are_named(text, complaint):
    with pytest.raises(bench.BenchError, match=complaint):
        bench.expand([text], CATALOGUE)


@needs_program
@pytest.mark.parametrize("text, complaint", [("wake:count=0", 'count cannot be "0"'), ("wake:count=x", 'count cannot be "x"'), ("wake:count=9Q", 'count cannot be "9Q"'), ("wake:end=later", "end cannot be"),
                                             ("wake:count=99999999999", "count cannot be"), ("log32:count=1", "it has none"), ("wake:count=1,,end=cut", "NAME:KEY=VALUE"), ("wake:=1", "NAME:KEY=VALUE"), ("nope", "no workload")])
def test_the_program_names_what_is_wrong(text, complaint):
    row = bench.run_cell(CELL, bench.Cell("nf2fs", "w25q80", text))
    assert row["status"] == "failed" and complaint in row["error"]


@needs_program
def test_options_change_what_is_run():
    rows = [bench.run_cell(CELL, bench.Cell("nf2fs", "w25q80", f"wake:count={count},size={size}")) for count, size in ((20, 32), (40, 64))]
    assert [row["operations"] for row in rows] == [20, 40] and [row["user_bytes"] for row in rows] == [640, 2560]
    assert [row["workload"] for row in rows] == ["wake:count=20,size=32", "wake:count=40,size=64"]


@needs_program
def test_a_chip_of_few_blocks():
    row = bench.run_cell(CELL, bench.Cell("native", "w25q256/128K", "wear:fill=50,cold=0,load=overwrite", mean=3))
    assert row["wear_total"] == pytest.approx(32 * row["wear_mean"]) and row["wear_mean"] >= 3


# ---- wear ----

def wear_row(most, least, mean=100, **keys):
    return {"status": "ok", "verified": True, "wear_mean": mean, "wear_max": most, "wear_min": least[0], "wear_least": least, **keys}


@pytest.mark.parametrize("fill, most, least, level", [(80, 120, 80, True), (80, 121, 80, False), (85, 121, 80, True), (90, 150, 80, True), (90, 151, 80, False), (95, 200, 80, True),
                                                      (95, 201, 80, False), (50, 110, 79, False)])
def test_what_is_level(fill, most, least, level):
    assert bench_wear.is_level(wear_row(most, [1, 1, 1, least, 99]), fill, 3) is level
    assert bench_wear.text_of(wear_row(most, [1, 1, 1, least, 99]), fill, 3).endswith("!") is not level
    assert not bench_wear.is_level(wear_row(most, [1, 1, 1, least, 99]), fill, 2)


def test_what_did_not_end_is_not_level():
    refused = {"status": "failed: write /hot failed with -28: no space at operation 0", "verified": False, "wear_mean": 1, "wear_max": 1, "wear_least": [1]}
    assert bench_wear.text_of(refused, 50, 3) == "no space" and not bench_wear.is_level(refused, 50, 3)
    assert bench_wear.text_of({"status": "timeout", "verified": False}, 50, 3) == "failed"


@needs_program
def test_wear_prints_a_table_and_keeps_rows(norbench, tmp_path):
    rows = tmp_path / "rows.jsonl"
    arguments = ("wear", "--fs", "native", "--blocks", "32", "--fill", "40,75", "--cold", "0,50", "--load", "overwrite", "--session", "busy,cut", "--mean", 5, "--rows", rows)
    code, text, _ = norbench(*arguments)
    assert code == 0 and "0% cold" in text and "50% cold" in text and "mount, write, loss of power" in text and "75%" in text
    kept = [json.loads(line) for line in rows.read_text().splitlines()]
    assert len(kept) == 8 and all(row["wear_mean"] >= 5 for row in kept)
    assert norbench(*arguments)[:2] == (0, text) and len(rows.read_text().splitlines()) == 8
    assert norbench(*arguments, "--strict")[0] == 1        # raw flash levels nothing


@needs_program
@pytest.mark.parametrize("session", bench_wear.SESSIONS)
def test_wear_counts_every_block_of_each_kind_of_session(norbench, tmp_path, session):
    rows = tmp_path / "rows.jsonl"
    code, text, _ = norbench("wear", "--blocks", "32,64", "--fill", 75, "--cold", "25,75", "--session", session, "--mean", 12, "--rows", rows)
    assert code == 0 and "least / mean" in text and bench_wear.SESSIONS[session] in text
    for row in map(json.loads, rows.read_text().splitlines()):
        assert row["wear_least"][0] == row["wear_min"] <= min(row["wear_first"]) and max(row["wear_first"]) <= row["wear_max"]
        if bench.is_good(row):
            found = f"{row['wear_max'] / row['wear_mean']:.2f} / {row['wear_min'] / row['wear_mean']:.2f}"
            assert row["wear_mean"] >= 12 and found in text


def test_a_super_block_is_among_the_least():
    assert bench_wear.ratios(wear_row(120, [10, 90, 90, 90]), 0) == (1.2, 0.1)
    assert not bench_wear.is_level(wear_row(110, [10, 90, 90, 90]), 50, 0)


@needs_program
def test_a_volume_of_the_most_blocks():
    row = bench.run_cell(CELL, bench.Cell("nf2fs", "w25q256/128M", "wear:fill=50,cold=75", mean=2))
    assert bench.is_good(row) and row["wear_total"] == pytest.approx(32768 * row["wear_mean"])


def test_wear_says_what_it_does_not_know(norbench):
    for arguments, complaint in ((("--load", "foo"), "mixed, files, log, overwrite"), (("--fill", "0"), "from 1 to 100"), (("--session", "nap"), "busy, idle"), (("--blocks", "x"), "numbers")):
        code, _, err = norbench("wear", *arguments)
        assert code == 2 and complaint in err


# ---- wakes and phases ----

@needs_program
def test_a_wake_counts_from_mount_to_end(norbench):
    code, text, _ = norbench("wake", "--fs", "nf2fs", "--chip", "w25q80", "--count", 50, "--end", "cut,unmount", "--every", 3600)
    assert code == 0 and " cut " in text and " unmount " in text
    row = bench.run_cell(CELL, bench.Cell("nf2fs", "w25q80", "wake:count=50"))
    step = row["steps"]["wake"]
    assert step["count"] == 50 and step["us"] == row["time_us"] and step["read_pages"] == row["read_pages"] and step["us_max"] >= row["worst_call_us"]


@pytest.mark.parametrize("fs, first, text", [("nf2fs", [1, 5, 3, 99], "250"), ("nf2fs:buffer=4096", [1, 1, 2, 9], "1,000"), ("nf2fs", [1, 1, 1, 9], "above 1,000"), ("littlefs", [1, 3, 9], "500"),
                                             ("littlefs-p256", [1, 3, 9], "500"), ("yaffs2", [7, 7, 7], "-"), ("native", [9], "-")])
def test_wakes_for_an_erase_of_a_super_block(fs, first, text):
    assert bench_wake.wakes_a_super_erase({"fs": fs, "operations": 1000, "wear_first": first}) == text


@needs_program
def test_a_wake_says_what_it_costs(norbench):
    code, text, _ = norbench("wake", "--chip", "w25q256/1M", "--count", 300, "--end", "cut", "--every", 60)
    assert code == 0
    for heading in ("pages", "programs", "erases", "mJ a", "super", "years"):
        assert heading in text


def test_years_are_those_of_the_most_worn_block():
    row = {"wear_max": 10, "operations": 1000}
    assert bench_wake.years(row, 60) == pytest.approx(100_000 / 0.01 * 60 / (365.25 * 86400))
    assert bench_wake.years({"wear_max": 0, "operations": 5}, 60) is None


@needs_program
def test_phases_tell_their_stages_apart(norbench):
    code, text, _ = norbench("phase", "--fs", "nf2fs", "--chip", "w25q80", "--fill", 50)
    assert code == 0
    for stage in ("second", "append", "fill", "refused", "again"):
        assert stage in text
    row = bench.run_cell(CELL, bench.Cell("nf2fs", "w25q80", "phaseempty"))
    assert row["steps"]["refused"]["count"] == 10 and row["steps"]["fill"]["count"] == row["files"] + 1 and row["steps"]["again"]["count"] == row["files"] // 4


# ---- a long life, and cuts ----

@needs_program
def test_a_long_life_is_compared_with_a_fresh_copy(norbench):
    code, text, _ = norbench("age", "--fs", "native", "--chip", "w25q80", "--count", 500, "--fill", 40)
    assert code == 0 and "ratio" in text
    row = bench.run_cell(CELL, bench.Cell("nf2fs", "w25q80", "age:count=500,fill=40"))
    assert row["operations"] == row["steps"]["operation"]["count"] == 4 * (int(row["offered_bytes"] * 0.4) // 1024) and row["content_bytes"] < 0.6 * row["offered_bytes"] < row["offer_kept"] * row["offered_bytes"]


@needs_program
@pytest.mark.parametrize("fs", [fs for fs in (bench.read_catalogue(CELL).file_systems if CELL else []) if fs in ("nf2fs", "littlefs", "yaffs2", "fatfs")])
def test_the_first_write_after_a_cut_is_measured_alone(fs):
    row = bench.run_cell(CELL, bench.Cell(fs, "w25q80", "firstwrite:count=20,fill=20"))
    assert bench.is_good(row) and row["operations"] == 20
    assert row["steps"]["both"]["us"] == row["time_us"] and row["user_bytes"] == 20 * 32 and row["worst_call_name"] in ("mount", "open", "write", "close")


@needs_program
def test_every_gate_has_its_workload():
    wanted = [gate for gate in gates.load_gates() if gate.workload != target.WORKLOAD]
    catalogue = bench.read_catalogue(CELL)
    assert figures.cells_for(wanted, catalogue, long=True)[1] == []
    bench.expand({gate.workload for gate in wanted}, catalogue)
