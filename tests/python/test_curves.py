# SPDX-License-Identifier: BSD-2-Clause
"""`norbench curves`, the steps of the rows that it is made of, blocks that fail, and sizes of accesses."""

import xml.etree.ElementTree as ElementTree

import pytest

from nf2fs import bench, bench_curves, plots

try:
    CELL = bench.find_program()
except bench.BenchError:
    CELL = None
needs_program = pytest.mark.skipif(CELL is None, reason="norbench-cell is not built (make release)")


def row(fs="nf2fs", workload="w", **keys):
    return {"fs": fs, "workload": workload, "state": "fresh", "chip": "w25q80", "status": "ok", "verified": True, **keys}


@needs_program
@pytest.mark.parametrize("workload, first, last, count", [("smallio", "written: 2 B", "read: 1024 B", 20), ("seqio", "file: 2 KB", "file: 20 KB", 10), ("seqread", "file: 2 KB", "file: 20 KB", 10),
                                                          ("rread", "up to: 2 KB", "up to: 20 KB", 10), ("rwrite20", "up to: 2 KB", "up to: 20 KB", 10)])
def test_steps_add_up_to_the_row(workload, first, last, count):
    found = bench.run_cell(CELL, bench.Cell("nf2fs", "w25q256/4M", workload))
    steps = found["steps"]
    assert bench.is_good(found) and list(steps)[0] == first and list(steps)[-1] == last and len(steps) == count
    for measure, key in (("us", "time_us"), ("program_pages", "program_pages")):
        assert 0 <= found[key] - sum(step[measure] for step in steps.values()) <= 0.1 * found[key]


@needs_program
def test_a_long_row_has_no_steps():
    assert "steps" not in bench.run_cell(CELL, bench.Cell("nf2fs", "w25q256/4M", "rwrite200"))


@needs_program
def test_a_stream_has_the_size_that_is_asked_for():
    found = bench.run_cell(CELL, bench.Cell("nf2fs", "w25q80", "streamin1k:total=3072"))
    assert bench.is_good(found) and found["user_bytes"] == 3072
    assert "total cannot be" in bench.run_cell(CELL, bench.Cell("nf2fs", "w25q80", "streamin1k:total=255"))["error"]


@needs_program
@pytest.mark.parametrize("fs", ["nf2fs", *(fs for fs in (bench.read_catalogue(CELL).file_systems if CELL else []) if fs in ("littlefs", "yaffs2"))])
def test_blocks_fail_one_after_the_other(fs):
    limit = 5 if fs == "nf2fs" else 50
    found = bench.run_cell(CELL, bench.Cell(fs, "w25q80", "retire", limit=limit))
    written, blocks = zip(*found["retired"])
    assert bench.is_good(found) and found["limit"] == limit < found["wear_max"]
    assert list(written) == sorted(written) and blocks[0] == 1 and list(blocks) == sorted(set(blocks)) and found["retired_blocks"] >= blocks[-1] >= 25


@needs_program
def test_a_file_system_without_bad_blocks_ends_with_the_first():
    found = bench.run_cell(CELL, bench.Cell("native", "w25q80", "retire", limit=3))
    assert not bench.is_good(found) and found["retired"][0][1] == 1 and len(found["retired"]) == 1


@needs_program
def test_sizes_of_accesses_are_counted():
    found = bench.run_arguments(CELL, bench.Cell("native", "w25q80", "log32"), ["--maps"], 60)
    assert sum(found["program_sizes"].values()) >= found["program_calls"] > 0 and set(found["program_sizes"]) == {"256"}
    assert all(size.isdigit() and int(size) & int(size) - 1 == 0 for size in (*found["read_sizes"], *found["program_sizes"]))
    assert "program_sizes" not in bench.run_cell(CELL, bench.Cell("native", "w25q80", "log32"))


@needs_program
def test_curves_print_and_plot(norbench, tmp_path):
    rows = tmp_path / "rows.jsonl"
    arguments = ("curves", "small,files", "--fs", "nf2fs,native", "--chip", "w25q256/4M", "--directory", tmp_path, "--rows", rows)
    code, text, _ = norbench(*arguments)
    assert "1024 B" in text and "20 KB" in text and code == 0
    kept = len(rows.read_text().splitlines())
    assert norbench(*arguments)[1] == text and len(rows.read_text().splitlines()) == kept == 6
    for name in ("curve-small.svg", "curve-small-2.svg", "curve-files.svg", "curve-files-2.svg"):
        assert "NF2FS" in "".join(ElementTree.fromstring((tmp_path / name).read_text()).itertext())


def test_an_unknown_family_is_named(norbench):
    code, _, err = norbench("curves", "nonsense")
    assert code == 2 and "small, files, random" in err


def test_amounts_add_up_and_sizes_do_not():
    steps = {name: {"us": 1000, "us_median": 1, "us_max": 2} for name in ("up to: 2 KB", "up to: 4 KB", "file: 6 KB", "file: 8 KB")}
    amount, size = bench_curves.by_steps([row(steps=steps)])
    assert amount.series["nf2fs"] == [(2.0, 1.0), (4.0, 2.0)] and size.series["nf2fs"] == [(6.0, 1.0), (8.0, 1.0)]


def test_the_line_is_that_of_least_squares():
    assert bench_curves.line_through([(1, 5), (2, 7), (3, 9)]) == pytest.approx((3, 2))
    rows = [row(workload=f"streamin1k:total={kib * 1024}", time_us=1000 * (3 + 2 * kib)) for kib in (1, 2, 3)]
    assert bench_curves.by_total(rows)[0].notes == ["nf2fs: 3.00 ms and 2.000 ms for each KiB (least squares)"]


def test_what_was_not_reached_is_said():
    curve = bench_curves.by_failed_blocks([row(chip_blocks=256, retired=[[1024, 1], [4096, 3], [5120, 9]])])[0]
    assert [line["nf2fs"] for line in curve.cells.values()] == ["1", "4", "5", "not reached", "not reached"]


def test_an_axis_begins_at_zero_or_says_that_it_is_logarithmic(tmp_path):
    for most, said in ((50, False), (5000, True)):
        path = plots.curve(tmp_path / f"{most}.svg", "T", "x", "ms", {"nf2fs": [(1, 1), (2, most)]})
        assert ("logarithmic" in path.read_text()) is said
    assert plots.curve(tmp_path / "none.svg", "T", "x", "ms", {"nf2fs": [(1, 1)]}) is None


# ---- power cuts in a script that is named ----

def needs_cuts():
    if CELL is None or not bench.find_program().parent.parent.joinpath("tests", "peer_cuts").is_file():
        pytest.skip("peer_cuts is not built")


def test_an_archive_of_logs_is_cut(norbench, tmp_path):
    needs_cuts()
    rows = tmp_path / "rows.jsonl"
    code, text, _ = norbench("cuts", "--out", rows, "--fs", "nf2fs", "--script", "archive", "--cuts", 10, "--jobs", 1)
    found = bench.read_rows(rows)
    assert code == 0 and "nf2fs" in text and found and all(row["scripts"] == 1 and row["cuts"] > 0 and row["any"] == 0 and not row["stopped"] for row in found)


def test_an_unknown_script_lists_the_others(norbench, tmp_path):
    needs_cuts()
    code, _, err = norbench("cuts", "--out", tmp_path / "rows.jsonl", "--script", "nonsense")
    assert code == 1 and "no script is named nonsense" in err and "archive" in err
