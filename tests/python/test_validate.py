# SPDX-License-Identifier: BSD-2-Clause
"""`norbench validate`: each printed value has its counterpart or a reason why there is none, each difference its reason."""

import tomllib
from pathlib import Path

import pytest

from nf2fs import bench, bench_cli, bench_validate
from nf2fs.bench_run import names

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = bench.Catalogue(workloads=["create", "log32d", "ow4k-50"], file_systems=["native", "littlefs", "littlefs-p256", "yaffs2", "yaffs1"], workload_chips={"ow4k-50": "w25q128"})


def other(fs, workload, **keys):
    found = {"fs": fs, "workload": workload, "mode": "durable", "status": "OK", "pg_pages": "100", "pg_bytes": "1000", "erases": "10", "rd_bytes": "5000", "rd_pages": "50", "note": "payload=1048576 ram=77"}
    return found | keys


def row(fs, workload, **keys):
    return {"fs": fs, "workload": workload, "state": "fresh", "chip": "w25q256", "status": "ok", "verified": True, "program_pages": 100, "program_bytes": 1000, "erases": 10, "read_bytes": 5000,
            "read_pages": 50, "user_bytes": 2097152, "steady": 1, "time_us": 1000, "operations": 20, **keys}


def test_each_printed_value_has_a_counterpart_or_a_reason():
    others = bench_validate.elsewhere(ROOT)
    known = {(one["fs"], one["workload"]) for one in others}
    real = {"littlefs", "littlefs-p256", "littlefs-p256-erasecheck", "yaffs2"}
    entries = bench_validate.entries(ROOT)
    assert len(entries) > 60 and {one["paper"] for one in entries} == {"NF2FS", "vFLASHSIM", "Comparing 4"}
    for one in entries:
        assert one.get("absent") or one["row"][0] in real or tuple(one["row"]) in known, one
        assert not (one.get("absent") and one.get("why")), one


def test_derived_figures():
    assert bench_validate.derived(row("littlefs", "create"), "us_per_operation") == 50
    assert bench_validate.derived(other("spiffs", "SeqIO", pg_bytes="2097152"), "program_per_payload") == 2
    assert bench_validate.derived(other("spiffs", "SeqIO"), "ram") == 77
    plain = row("littlefs-p256", "streamin64k", erases=17, program_pages=260, read_pages=300, time_us=17 * 100_000 + 260 * 300 + 300 * 4)
    checked = row("littlefs-p256-erasecheck", "streamin64k", erases=0, read_pages=300 + 17 * 16)
    assert bench_validate.check_gain(plain, checked) == 100_000 / 64


def test_a_difference_has_its_reason_or_says_that_there_is_none():
    known = bench_validate.known_differences(ROOT)
    found = [(row("yaffs2", "log32d", read_bytes=9000, read_pages=90), other("yaffs2", "Log32D")), (row("littlefs", "create"), other("lfs16", "Create100")),
             (row("native", "create", program_pages=300), other("native", "Create100"))]
    lines = bench_validate.differences(found, known)
    assert [line[:2] for line in lines] == [["yaffs2", "log32d"], ["native", "create"]]
    assert lines[0][3] == "bytes read 9,000 / 5,000; pages read 90 / 50" and lines[0][4].startswith("cache: ") and lines[1][4] == bench_validate.NO_REASON
    text = "\n".join(bench_validate.differing_table(lines))
    assert "**not explained**" in text and "- cache: a newer YAFFS2" in text


def test_steady_rows_are_compared_by_the_mib():
    others = [other("yaffs2", "P004r4K", mode="durable+warm2"), other("yaffs2", "P004r4K", pg_pages="9"), other("lfs16", "P004r4K", mode="durable+warm2", status="TIMEOUT")]
    lines = bench_validate.steady_table([row("yaffs2", "ow4k-50"), row("littlefs", "ow4k-50")], others)
    assert len(lines) == 3 and lines[2] == "| ow4k-50 | P004r4K | yaffs2 | yes | 50.0 | 100.0 | 5.0 | 10.0 | 25.0 | 50.0 |"
    assert bench_validate.pairs([row("yaffs2", "ow4k-50")], others) == []


def test_the_page_in_the_tree_leaves_nothing_open():
    text = (ROOT / "docs" / "VALIDATION.md").read_text()
    assert "not explained" not in text and "the peer or the row is missing" not in text and text.count("\n| ") > 250


def test_cells_are_those_of_the_build():
    cells = bench_validate.cells_of(ROOT, CATALOGUE)
    assert bench.Cell("yaffs2", "w25q128", "ow4k-50") in cells and bench.Cell("native", "w25q256", "log32d") in cells
    assert not [cell for cell in cells if cell.fs not in CATALOGUE.file_systems]


@pytest.mark.parametrize("patterns, name, fits", [(None, "x", True), (["log*d"], "log32d", True), (["log*d"], "log32", False), (["a", "b"], "b", True)])
def test_patterns(patterns, name, fits):
    assert bench_validate.fits(patterns, name) == fits


def test_every_command_for_the_papers_is_one():
    """Each names a command or a workload that there is, or says what is missing; and the page has the table."""
    root = Path(__file__).resolve().parents[2]
    section = bench_validate.papers_section(root)
    assert "\n".join(section) in (root / "docs" / "VALIDATION.md").read_text()
    known = {command.name or command.callback.__name__ for command in bench_cli.app.registered_commands} | {group.name for group in bench_cli.app.registered_groups}
    try:
        catalogue = bench.read_catalogue(bench.find_program())
    except bench.BenchError:
        catalogue = None
    for item in tomllib.loads((root / bench_validate.PAPERS).read_text())["item"]:
        assert item["state"] in bench_validate.STATES and (item["state"] == "yes" or item["missing"]) and (item["state"] == "no" or item["how"])
        for command in filter(None, item.get("how", "").split("; ")):
            words = command.split()
            assert words[0] == "norbench-cell" or words[1] in known, command
            for flag, name in zip(words, words[1:]):
                if flag in ("-w", "--workload") and catalogue:
                    bench.expand(names(name), catalogue)
