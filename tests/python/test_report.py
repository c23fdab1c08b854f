# SPDX-License-Identifier: BSD-2-Clause
"""The report page: what is in it, and how a real browser takes it, without a network."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nf2fs import bench_choose, bench_compare, bench_flame, bench_page, bench_store

BROWSER = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
NO_BROWSER = "no Chromium was found (Debian: chromium)"
CUT = {"group": "cuts", "workload": "power cuts", "state": "fresh", "status": "ok", "chip": "tiny256k", "cuts": 9, "any": 1, "mount_us_max": 2000, "violations": 0, "stopped_text": ""}


def row(fs, workload, time_us, **keys):
    return {"fs": fs, "version": "1", "workload": workload, "state": "fresh", "chip": "w25q256", "seed": 42, "status": "ok", "verified": True, "time_us": time_us, "time_us_slow": time_us * 2,
            "time_us_byte": time_us - 1, "time_us_max": time_us * 8, "program_pages": 10, "program_bytes": 2560, "user_bytes": 2000, "consumed_bytes": 2560, "read_pages": 4, "read_bytes": 1000,
            "user_bytes_read": 500, "erases": 2, "worst_call_us": 400, "worst_call_name": "sync", "operations": 10, "ram_bytes": 1288, "heap_bytes": 1448, **keys}


def some_rows():
    promises = {name: 0 for name in ("runs", "mounts", "readable", "durable", "whole", "rename", "no ghost", "goes on", "space")}
    ranks = {f"us_{rank}": 100 for rank in ("median", "p99", "p999", "max")}
    return [row("native", "swrite", 1000), row("nf2fs", "swrite", 1100, block_erases=[1, 2, 0] * 100), row("littlefs", "swrite", 9000),
            row("nf2fs", "ow4k-50", 500, speed_kib_s=190.0, bound_kib_s=202.0, steady=1), row("nf2fs", "ow4k-75", 500, speed_kib_s=100.0, bound_kib_s=115.0, steady=1),
            row("nf2fs", "rdseq256", 500, speed_kib_s=60000.0), row("nf2fs", "mixed25", 700, calls={"sync": ranks}),
            row("fatfs", "swrite", 0, status="failed: </script><b>no space", verified=False),
            {**CUT, "fs": "nf2fs", "broken": promises, "checked": {name: 9 for name in promises}}]


def stacks():
    return {"nf2fs, swrite": {"a;b;program": [10, 4000], "a;erase": [1, 50000]}}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    bench_page.write(path, some_rows(), "A report", stacks())
    return path


def browse(page, *arguments, query=""):
    command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000", *arguments, f"file://{page}?{query}"]
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=120)


def data_of(dom):
    return dict(re.findall(r'data-([a-z]+)="([^"]*)"', dom[:dom.index("<head")]))


def test_nothing_is_fetched(page):
    text = page.read_text()
    ours = re.sub(r'<script type="text/plain" id="\w+">.*?</script>', "", text, flags=re.DOTALL)
    assert len(ours) < 60_000 < len(text)
    assert not re.search(r'(src|href)\s*=\s*"?(https?:)?//', ours) and "@import" not in ours
    assert "@@" not in ours and "failed: &lt;/script&gt;" in ours and "Measured elsewhere, not run here" in ours


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
def test_every_plot_is_drawn(page):
    done = browse(page, "--dump-dom", query="all")
    data = data_of(done.stdout)
    assert data.get("ready") == "1" and "faults" not in data
    assert int(data["figures"]) >= 12 and data["drawn"] == data["figures"]
    assert done.stdout.count('class="main-svg"') >= int(data["figures"])
    assert "<td>failed: &lt;/script&gt;" in done.stdout and done.stdout.count("<td>spiffs</td>") > 10       # long tables are filled


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
@pytest.mark.parametrize("theme, size", [("light", "1280,1400"), ("dark", "1280,1400"), ("light", "500,1400")])
def test_themes_and_a_narrow_screen(page, tmp_path, theme, size):
    picture = tmp_path / "picture.png"
    browse(page, f"--screenshot={picture}", f"--window-size={size}", "--hide-scrollbars", query=f"theme={theme}")
    image = pytest.importorskip("matplotlib.image", reason="matplotlib is not installed").imread(picture)[:, :, :3]
    corner = image[5, 5]
    assert (corner.mean() > 0.9) == (theme == "light")
    width = int(size.split(",")[0])
    assert image.shape[1] == width
    assert abs(image[:, 1] - corner).max() < 0.2 and abs(image[:, width - 2] - corner).max() < 0.2      # nothing runs out at the sides
    assert image.std() > 0.02


def test_a_file_system_has_one_colour():
    rows = some_rows() + [row("littlefs", "read32", 700), row("nf2fs", "read32", 600)]
    found = bench_page.sections_of(rows, {}, Path("/nowhere"))
    figures = [figure for section in found for figure in section.figures]
    bench_page.paint(figures, bench_page.systems_of(rows))
    colours = {}
    for trace in (trace for figure in figures for trace in figure.traces if trace.get("name") in ("native", "nf2fs", "littlefs", "fatfs")):
        colours.setdefault(trace["name"], set()).add(trace["marker"]["color"])
    assert all(len(found) == 1 for found in colours.values()) and len(set.union(*colours.values())) == len(colours) >= 3


def test_stacks_become_trees():
    folds = stacks()["nf2fs, swrite"]
    counts, times = bench_flame.tree(folds, 0), bench_flame.tree(folds, 1)
    assert counts["labels"] == ["flash", "a", "b", "program", "erase"] and counts["values"] == [11, 11, 10, 10, 1]
    assert times["values"] == [54000, 54000, 4000, 4000, 50000] and times["parents"][3] == "flash;a;b"


def test_compare_says_what_became_worse():
    before, after = some_rows(), some_rows()
    after[1] = row("nf2fs", "swrite", 1500)
    after[3]["status"] = "failed: no space"
    after.append(row("nf2fs", "new", 1))
    found = bench_compare.compare(before, after, 2.0)
    assert found.cells == 9 and [one.measure for one in found.worse] == ["time_us", "status"] and len(found.only_after) == 1
    text = bench_compare.text(found)
    assert "time_us 1,100 -> 1,500 (+36.4%)" in text and "failed: no space" in text
    assert not bench_compare.compare(before, before, 0).worse


def test_choose_says_each_worst_point():
    rows = [one for one in some_rows() if one["workload"] == "swrite"] + [row("nf2fs", "log", 10, worst_call_us=90000), row("littlefs", "log", 10)]
    text = bench_choose.answer(rows, [], "w25q256")
    assert "nf2fs: worst point: a single call takes 90.0 ms (sync in log (fresh)), 225 times the best's longest." in text
    assert "littlefs: worst point: the flash works 8.1 times as long as with the best" in text
    assert "fatfs: worst point: fails swrite (fresh): failed: </script><b>no space." in text
    assert text.index("\nnf2fs ") < text.index("\nlittlefs ") and "Least flash time without a failure: nf2fs" in text


def test_choose_counts_broken_promises():
    cuts = [{**CUT, "fs": "nf2fs", "any": 0}, {**CUT, "fs": "littlefs", "any": 3}]
    rows = [row("nf2fs", "swrite", 2000), row("littlefs", "swrite", 1000)]
    text = bench_choose.answer(rows, cuts, "w25q256")
    assert "littlefs: worst point: breaks a promise after 3 of 9 power cuts." in text
    assert "without a failure or a broken promise: nf2fs" in text


def test_parquet_keeps_rows(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    rows = [{**one, "made_with": {"schema": 1}} for one in some_rows()]
    bench_store.write_parquet(tmp_path / "r.parquet", rows)
    assert bench_store.read_any(tmp_path / "r.parquet") == json.loads(json.dumps(rows))


def test_what_lost_something_at_cuts_is_no_answer():
    rows = [row("fatfs", "read32", 100), row("littlefs", "read32", 900), row("nf2fs", "read32", 300)]
    assert bench_page.chip_answer(rows, "w25q256")[0].startswith("w25q256: of 1 workloads fatfs is the fastest in 1;")
    text, lines = bench_page.chip_answer(rows, "w25q256", {"fatfs"})
    assert [line[0] for line in lines] == ["nf2fs", "littlefs", "fatfs"] and "not counted as an answer: fatfs" in text and "nf2fs is the fastest in 0" in text
    promises = {name: 0 for name in ("runs", "mounts")}
    cuts = [{"fs": "a", "any": 0, "broken": promises}, {"fs": "b", "any": 2, "broken": promises}, {"fs": "c", "any": 0, "any_waived": 3, "waives": list(promises), "broken": promises},
            {"fs": "d", "any": 0, "any_waived": 3, "waives": ["runs"], "broken": promises}]
    assert bench_page.loses_at_cuts(cuts) == {"b", "c"}


def test_the_page_is_small(page):
    """Less than 2 MB, with a thousand rows, too."""
    rows = some_rows()
    more = bench_page.render(rows + [row("littlefs", f"w{number}", 700) for number in range(1000)], "A report", stacks())
    assert page.stat().st_size < len(more.encode()) < 2_000_000


def test_what_is_packed_ends_no_script():
    import base64
    import random
    import zlib
    for size in (0, 1, 2, 3, 4, 5, 3000):
        text = random.Random(size).randbytes(size).hex()
        packed = bench_page.packed(text)
        assert "</" not in packed and "<!--" not in packed
        assert zlib.decompress(base64.b85decode(packed.replace("\n", "")), -15).decode() == text


def test_times_have_units_that_fit():
    figure = bench_page.time_dots("T", "", {"a": [("x", 0.02), ("y", 7.2e6)], "b": [("x", 0)]})
    assert figure.layout["xaxis"]["ticktext"][0] == "10 us" and figure.layout["xaxis"]["ticktext"][-1] == "10 h"
    assert figure.traces[0]["text"] == ["a: 20 us", "a: 2.0 h"] and figure.traces[1]["x"] == []


def test_the_answer_stands_on_top():
    rows = [row(fs, workload, us) for fs, factor in (("nf2fs", 1), ("littlefs", 4), ("native", 0.5)) for workload, us in (("swrite", 1000 * factor), ("config", 500 * factor))]
    assert bench_page.factors(rows) == {name: {"nf2fs": 1, "littlefs": 4, "native": 0.5} for name in ("swrite", "config")}
    text, lines = bench_page.chip_answer(rows, rows[0]["chip"])
    assert "of 2 workloads nf2fs is the fastest in 2" in text and "littlefs takes 4.0 times as long" in text and [line[0] for line in lines] == ["nf2fs", "littlefs"]
    cut = {"workload": "power cuts", "cuts": 10, "any": 0, "any_waived": 3, "waives": ["runs"], "broken": {"runs": 3}}
    checks = bench_page.verdict_lines([*rows, rows[0] | {"status": "failed: x"}], [{**cut, "fs": "naive"}, {**cut, "fs": "nf2fs", "any_waived": 0, "waives": []}])
    assert [passed for passed, _ in checks] == [False, False, False, True] and "not made for power cuts: 3 of 10" in checks[2][1]
    assert bench_page.sections_of(rows, {}, Path("/nowhere"))[0].title == "The answer"


@pytest.mark.parametrize("us, text", [(640, "640 us"), (42_700, "42.7 ms"), (5_500_000, "5.5 s"), (276_000_000, "4.6 min")])
def test_times_are_said_in_a_unit_that_fits(us, text):
    assert bench_page.time_text(us) == text
