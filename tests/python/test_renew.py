# SPDX-License-Identifier: BSD-2-Clause
"""Rows say of which core they are, pages say which are old, and `norbench renew` measures those anew."""

import subprocess
import sys
from pathlib import Path

import pytest

from nf2fs import bench, core_digest, figures, gates, study_page

CELL = str(Path(__file__).with_name("fake_cell.py"))
ROOT = Path(__file__).resolve().parents[2]


def row(fs="nf2fs", workload="create", **keys):
    return {"fs": fs, "workload": workload, "state": "fresh", "chip": "w25q256", "seed": 42, "status": "ok", "verified": True, "maintain_budget_us": 0, "mean": 0, "limit": 0,
            "time_us": 7, **keys}


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_CELL_CORE", "new")
    monkeypatch.setenv("FAKE_CELL_LOG", str(tmp_path / "log"))
    path = tmp_path / "rows.jsonl"
    for one in (row("native", time_us=500), row(core="new"), row(workload="swrite", core="old"), row("littlefs", "swrite"), row(workload="dir10"),
                row(workload="lifelog", mean=4, wear=[[9, 1]], core="old"), row(workload="swrite", state="aged", maintain_budget_us=5)):
        bench.append_row(path, one)
    return path


def runs(path):
    log = path.with_name("log")
    return log.read_text().split().count("begin") if log.exists() else 0


def test_only_rows_of_another_core_are_measured_anew(norbench, rows, tmp_path):
    before = bench.read_rows(rows)
    assert norbench("renew", rows, "--cell", CELL, "--list")[1].splitlines() == [
        "swrite on nf2fs (w25q256, fresh): core old", "dir10 on nf2fs (w25q256, fresh): core not named", "lifelog on nf2fs (w25q256, fresh): core old",
        "swrite on nf2fs (w25q256, aged, 0.005 ms idle): core not named"]
    assert bench.read_rows(rows) == before and runs(rows) == 0
    assert norbench("renew", rows, "--cell", CELL, "--directory", tmp_path / "lives")[0] == 0
    after = bench.read_rows(rows)
    assert [bench.row_key(one) for one in after] == [bench.row_key(one) for one in before] and runs(rows) == 4
    assert [one for one in after if one["fs"] != "nf2fs"] == [one for one in before if one["fs"] != "nf2fs"] and after[1] == before[1]
    assert all(one["core"] == "new" and one["time_us"] != 7 for one in after[2:] if one["fs"] == "nf2fs")
    assert next(one for one in after if one["workload"] == "lifelog")["wear"] == [[1, 1], [2, 1], [3, 1]]
    code, _, err = norbench("renew", rows, "--cell", CELL)
    assert code == 0 and "no such row" in err and runs(rows) == 4


def test_a_part_of_the_rows(norbench, rows):
    assert norbench("renew", rows, "--cell", CELL, "--workload", "dir*,create")[0] == 0
    assert runs(rows) == 1 and [one.get("core") for one in bench.read_rows(rows) if one["fs"] == "nf2fs"] == ["new", "old", "new", "old", None]
    assert "no such row" in norbench("renew", rows, "--cell", CELL, "--chip", "w25q80")[2]
    assert norbench("renew", rows, "--cell", CELL, "--workload", "create", "--chip", "w25q80,w25q256", "--all")[0] == 0
    anew = next(one for one in bench.read_rows(rows) if one["fs"] == "nf2fs" and one["workload"] == "create")
    assert runs(rows) == 2 and anew["ratio_native"] == 2.2         # native's row of the file, which was not measured anew


def test_a_run_that_was_stopped_leaves_the_old_row(norbench, rows, monkeypatch):
    monkeypatch.setenv("FAKE_CELL_KILLED", "dir10")
    code, _, err = norbench("renew", rows, "--cell", CELL, "--workload", "dir10,swrite")
    assert code == 1 and "the old row stays" in err
    kept = {(one["workload"], one["state"]): one for one in bench.read_rows(rows) if one["fs"] == "nf2fs"}
    assert kept["dir10", "fresh"]["time_us"] == 7 and kept["swrite", "fresh"]["core"] == "new"


def test_a_file_system_without_a_digest_is_never_old(norbench, rows):
    code, _, err = norbench("renew", rows, "--cell", CELL, "--fs", "littlefs")
    assert code == 1 and "--all" in err and runs(rows) == 0
    assert norbench("renew", rows, "--cell", CELL, "--fs", "littlefs", "--all")[0] == 0 and runs(rows) == 1
    assert norbench("renew", rows.with_name("none"), "--cell", CELL)[0] == 1


def test_gates_of_one_file_system_alone(norbench, rows, tmp_path):
    out = tmp_path / "new.jsonl"
    arguments = ("figures", "--cell", CELL, "--gate", "create", "--fs", "nf2fs", "--json", out, "--output", "-")
    assert norbench(*arguments)[0] == 0
    assert {one["fs"] for one in bench.read_rows(out) if one["workload"] == "create"} == {"native", "nf2fs"}
    out.unlink()
    known = tmp_path / "native.jsonl"
    bench.append_row(known, row("native", time_us=500))
    assert norbench(*arguments, "--with", known)[0] == 0
    assert [(one["fs"], one["ratio_native"]) for one in bench.read_rows(out) if one["workload"] == "create"] == [("nf2fs", 2.2)]


# ---- the digest ----

def tree(folder, code, header="int f(void);\n", other="int h(void);\n"):
    files = (("src/a.c", '#include "nf2fs/nf2fs.h"\n' + code), ("include/nf2fs/nf2fs.h", header), ("include/nf2fs/other.h", other), ("src/notes.txt", other))
    for name, text in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return core_digest.of_tree(folder)


def test_comments_and_blank_space_are_no_part_of_the_digest(tmp_path):
    one = tree(tmp_path / "1", 'int f(void) { return 1; } /* one */\nconst char *s = "/* not */ a // comment";\n')
    assert one == tree(tmp_path / "2", '// a remark\nint f(void)\n{\n    return 1;\n}\nconst char *s = "/* not */ a // comment"; /* "two" */\n'.replace("{\n", "{ ").replace("\n}", " }"))
    others = {tree(tmp_path / "3", 'int f(void) { return 2; }\nconst char *s = "/* not */ a // comment";\n'),
              tree(tmp_path / "4", 'int f(void) { return 1; }\nconst char *s = "/* but */ a // comment";\n'),
              tree(tmp_path / "5", 'int f(void) { return 1; }\nconst char *s = "/* not */ a // comment";\n', "int g(void);\n")}
    assert len(others) == 3 and one not in others
    assert core_digest.of_tree(tmp_path) is None


def test_a_header_counts_where_the_core_includes_it(tmp_path):
    code, includes = "int f(void) { return 1; }\n", '#include "nf2fs/other.h"\n'
    alone = [tree(tmp_path / f"a{index}", code, other=other) for index, other in enumerate(("int h(void);\n", "int h(int);\n"))]
    used = [tree(tmp_path / f"u{index}", code, includes, other) for index, other in enumerate(("int h(void);\n", "int h(int);\n"))]
    assert alone[0] == alone[1] and len({*alone, *used}) == 3


def test_the_build_makes_the_same_digest(tmp_path):
    header = tmp_path / "core_digest.h"
    command = [sys.executable, ROOT / "python/nf2fs/core_digest.py", ROOT / "src", ROOT / "include", header]
    subprocess.run(command, check=True, timeout=60)
    assert header.read_text() == f'#define NF2_CORE_DIGEST "{core_digest.of_tree(ROOT)}"\n'
    made = header.stat().st_mtime_ns
    subprocess.run(command, check=True, timeout=60)
    assert header.stat().st_mtime_ns == made


def test_the_program_names_its_core():
    try:
        program = bench.find_program()
    except bench.BenchError:
        pytest.skip("norbench-cell is not built")
    here = core_digest.of_tree(ROOT)
    assert bench.read_catalogue(program).cores == {"nf2fs": here}
    ours, peer = (bench.run_cell(program, bench.Cell(fs, "w25q256", "create")) for fs in ("nf2fs", "native"))
    assert ours["core"] == here and "core" not in peer


# ---- on pages ----

def test_pages_say_which_rows_are_old(tmp_path):
    here = tree(tmp_path, "int f(void) { return 1; }\n")
    same, others = [row(core=here)], [row(workload="dir10", core="old"), row(workload="swrite"), row("littlefs", "ow4k-50")]
    assert core_digest.lines_of(same, tmp_path) == [f"All rows of NF2FS are of the core that was in the tree when this page was made, `{here}` (a digest of its code)."]
    lines = core_digest.lines_of(same + others, tmp_path)
    assert lines[0].startswith("Of the 3 rows of NF2FS 1 are of the core") and lines[2:] == ["- of the core `old`, 1: dir10", "- of a core that they do not name, 1: swrite"]
    assert "- of the core `old`, 1: dir10" in figures.page([gates.judge(gates.load_gates(only=["create"])[0], same)], same + others, "x", tmp_path)
    studied = [one | {"group": "directory", "entries": 1, "steps": {}} for one in others]
    assert "- of the core `old`, 1: dir10" in study_page.page(studied, set(), "plots", tmp_path)
    assert core_digest.lines_of(same, tmp_path / "elsewhere") == []
