# SPDX-License-Identifier: BSD-2-Clause
"""Settings of file systems, their best ones, seeds, energy, rates and limits."""

import pytest

from nf2fs import bench, bench_best, bench_choose, bench_elsewhere, bench_energy, bench_table, figures

try:
    CELL = bench.find_program()
except bench.BenchError:
    CELL = None
SYSTEMS = bench.read_catalogue(CELL).file_systems if CELL else []
needs_program = pytest.mark.skipif(CELL is None, reason="norbench-cell is not built (make release)")
needs_littlefs = pytest.mark.skipif("littlefs" not in SYSTEMS, reason="LittleFS is not in this build")


def cell(fs, workload="create32", chip="w25q80", **keys):
    return bench.run_cell(CELL, bench.Cell(fs, chip, workload, **keys))


# ---- settings ----

@needs_littlefs
def test_settings_change_what_runs_and_stand_in_the_row():
    plain, large = cell("littlefs", chip="w25q256"), cell("littlefs:block=64K,cache=512", chip="w25q256")
    assert large["fs"] == "littlefs:block=64K,cache=512" and bench.is_good(large)
    assert large["ram_bytes"] == plain["ram_bytes"] + 3 * 256 and large["time_us"] < plain["time_us"]
    erasing = cell("littlefs:block=64K", "gcfill", chip="is25-16m")
    assert erasing["erases_by_size"]["65536"] > 0 and erasing["erases_by_size"]["4096"] == 0
    assert cell("littlefs:erasecheck=1")["time_us"] == cell("littlefs-erasecheck")["time_us"] and cell("littlefs:prog=256")["time_us"] == cell("littlefs-p256")["time_us"]


@needs_littlefs
@pytest.mark.parametrize("settings, complaint", [("cache=100", "cache is a multiple"), ("foo=1", "no setting"), ("block=12K", "block is a multiple"), ("cache=x", "cache is from"), ("cache", "KEY=VALUE"),
                                                 ("inline=4096", "inline is at most"), ("lookahead=9", "lookahead is a multiple"), ("block=1M", "two blocks")])
def test_settings_that_cannot_be(settings, complaint):
    row = cell(f"littlefs:{settings}")
    assert row["status"] == "failed" and complaint in row["error"]


@needs_program
def test_settings_of_others(norbench):
    assert cell("nf2fs:buffer=8192")["ram_bytes"] > cell("nf2fs")["ram_bytes"] and bench.is_good(cell("nf2fs:buffer=8192,wear_age=4", "config"))
    assert "it has no settings" in cell("native:x=1")["error"]
    code, _, err = norbench("run", "--fs", "nf2fs:bufer=1")
    assert code == 1 and "no setting 'bufer': it has buffer" in err


@pytest.mark.skipif("yaffs2" not in SYSTEMS, reason="YAFFS2 is not in this build")
def test_caches_of_yaffs2():
    assert cell("yaffs2:caches=0")["ram_bytes"] < cell("yaffs2")["ram_bytes"] == cell("yaffs2:caches=10")["ram_bytes"]


@pytest.mark.parametrize("fs", [fs for fs in SYSTEMS if fs in ("littlefs", "yaffs2", "nf2fs")])
def test_idle_time_is_used(fs):
    """What is done in it is in the totals, and is no foreground call."""
    busy, idle = (cell(fs, "config", chip="w25q80", maintain_us=us) for us in (0, 200_000))
    assert busy["worst_maintain_us"] == 0 < idle["worst_maintain_us"] and bench.is_good(idle)


# ---- best ----

def row(fs="littlefs", us=100, ram=1000, **keys):
    return {"fs": fs, "workload": "w", "status": "ok", "verified": True, "time_us": us, "worst_call_us": 5, "ram_bytes": ram, "erases": 1, **keys}


def test_every_combination_is_tried_once_and_defaults_come_first():
    found = bench_best.candidates("littlefs")
    assert found[0] == "littlefs" and len(found) == len(set(found)) == 3 * 4 * 2 * 2 and "littlefs:prog=1,cache=4096,block=64K,erasecheck=1" in found


def test_the_best_fits_into_the_ram_and_does_not_fail():
    sums = [bench_best.Sum("a", [row(us=100)]), bench_best.Sum("b", [row(us=10, ram=5000)]), bench_best.Sum("c", [row(us=1, status="failed: x")]), bench_best.Sum("d", [row(us=50), row(us=20)])]
    assert [one.fs for one in bench_best.ranked(sums, 2000)] == ["d", "a", "b", "c"] and [one.fs for one in bench_best.ranked(sums, 0)] == ["b", "d", "a", "c"]
    assert bench_best.answer(sums, 2000) == "Best of 4: d (1.4 times as fast as its defaults), 1,000 B of RAM."
    assert "None of 4" in bench_best.answer(sums, 10)


@needs_littlefs
def test_best_prints_an_answer(norbench, tmp_path):
    code, text, _ = norbench("best", "littlefs", "--try", "littlefs:block=64K,littlefs:cache=512", "-w", "create32", "--rows", tmp_path / "r.jsonl")
    assert code == 0 and "Best of 3: littlefs:block=64K" in text
    code, text, _ = norbench("best", "littlefs", "--try", "littlefs:block=64K,littlefs:cache=512", "-w", "create32", "--rows", tmp_path / "r.jsonl", "--ram", 100)
    assert code == 1 and "within 100 B" in text
    assert norbench("best", "fatfs")[0] == 1


def test_the_readme_has_the_peer_at_its_best():
    rows = [row(fs, us, ram, workload="create32", chip="w25q256", state="fresh") for fs, us, ram in
            (("nf2fs", 40_000, 2000), ("littlefs", 900_000, 1288), ("littlefs:block=64K", 100_000, 1288), ("littlefs:cache=4096", 500_000, 9000), ("yaffs2", 600_000, 70_000))]
    text = figures.readme_table(rows)
    assert "| 100 new files of 32 B | 40 ms | 900 ms | 100 ms | 600 ms | - |" in text and "`littlefs:block=64K` (1,288 B)" in text
    assert "| 100 new files of 32 B | 40 ms | 900 ms | - | 600 ms | - |" in figures.readme_table([one for one in rows if ":" not in one["fs"]])


# ---- seeds ----

def test_of_several_seeds_the_median_is_shown_with_its_spread():
    rows = [row(us=us, seed=seed) for seed, us in enumerate((100, 130, 110))]
    merged = bench_table.merge_seeds(rows)
    assert len(merged) == 1 and merged[0]["time_us"] == 110 and merged[0]["seeds"] == 3 and bench_table.spread_text(merged[0]) == " ±14%"
    assert bench_table.spread_text(bench_table.merge_seeds([row(us=1000, seed=1), row(us=1001, seed=2)])[0]) == ""
    assert bench_table.merge_seeds([row(seed=1), row(seed=2, status="failed: x")])[0]["status"] == "failed: x"
    assert len(bench_table.merge_seeds([row(fs="a"), row(fs="b")])) == 2


@needs_program
def test_another_seed_has_other_names():
    assert len({cell("nf2fs", "create", seed=seed)["program_bytes"] for seed in (42, 1, 2, 3)}) > 1


# ---- energy and life ----

def test_energy_is_current_times_time():
    one = row(chip="w25q256/1M", time_us_program=40, time_us_erase=50, operations=2)
    assert bench_energy.energy_mj(one) == pytest.approx(3.3 * 20 * 100 / 1e6) and bench_energy.each_mj(one) == pytest.approx(3.3 * 20 * 50 / 1e6)
    assert bench_energy.energy_mj(one | {"chip": "mine.txt"}) is None and bench_energy.energy_mj(one | {"status": "failed"}) is None
    assert all(found.source for found in bench_energy.catalogue())


@needs_program
def test_the_times_of_a_row_add_up():
    one = cell("nf2fs", "config")
    assert one["time_us_program"] + one["time_us_erase"] + 4 * one["read_pages"] == one["time_us"] and one["chip_blocks"] == 256 and one["chip_endurance"] == 100_000


@pytest.mark.parametrize("text, rate", [("log32d=100/s", 100), ("config=1/min", 1 / 60), ("wake:count=9,end=cut=each 10 ms", 100), ("log32d=each10ms", 100), ("ota2m=1/month", 12 / (365.25 * 86400))])
def test_rates(text, rate):
    found = bench_energy.parse_rate(text)
    assert found.per_second == pytest.approx(rate) and text.startswith(found.workload)


@pytest.mark.parametrize("text", ["log32d", "log32d=5", "log32d=5/fortnight", "=5/s", "log32d=0/s", "log32d=each 0 ms", "log32d=1.2.3/s"])
def test_wrong_rates(text):
    with pytest.raises(bench.BenchError, match="rates are written"):
        bench_energy.parse_rate(text)


def test_life_and_power():
    one = row(chip="w25q256", us=1000, operations=10, erases=0, consumed_bytes=40960, erases_by_size={"4096": 0}, time_us_program=0, time_us_erase=0)
    rated = [(one, bench_energy.parse_rate("w=1/s"))]                  # a block each second
    assert bench_energy.life_years(rated, 256) == pytest.approx(100_000 * 256 / bench_energy.YEAR_S)
    assert bench_energy.life_years(rated, 256, unevenness=2) == pytest.approx(50_000 * 256 / bench_energy.YEAR_S)
    assert bench_energy.power_mw(rated, "w25q256") == pytest.approx(0.033 + 66 * 100e-6)
    assert bench_energy.busy_share(rated) == pytest.approx(100e-6)


def test_limits():
    assert bench_energy.parse_limits("ram=4096, years=5") == {"ram": 4096, "years": 5} and bench_energy.parse_limits("") == {}
    for text in ("ram", "foo=1", "ram=x", "ram=-1"):
        with pytest.raises(bench.BenchError, match="limits are"):
            bench_energy.parse_limits(text)
    assert bench_energy.broken_limits({"ram": 100, "years": 5, "mw": 1}, {"ram": 200, "years": 4, "mw": None}) == ["ram 200 against 100", "years 4 against 5", "milliwatts not known"]
    assert bench_energy.broken_limits({"ram": 100, "years": 5}, {"ram": 100, "years": 5}) == []


def test_choose_weighs_rates_and_limits():
    rate = bench_energy.parse_rate("w=1/s")
    rows = [row(fs, us, ram, chip="w25q256", operations=10, consumed_bytes=4096, erases_by_size={"4096": 1}, time_us_program=0, time_us_erase=0, chip_blocks=256, chip_endurance=100_000,
                worst_call_name="sync", state="fresh") for fs, us, ram in (("fast", 100, 9000), ("small", 300, 500))]
    free = bench_choose.answer(rows, [], "w25q256", rates=(rate,))
    assert "without a failure: fast." in free and "years" in free and "mW" in free and "Winbond" in free
    bound = bench_choose.answer(rows, [], "w25q256", rates=(rate,), limits={"ram": 1000})
    assert "within the limits, without a failure: small." in bound and "fast: beyond the limits: ram 9,000 against 1,000." in bound
    assert "No candidate keeps all limits." in bench_choose.answer(rows, [], "w25q256", rates=(rate,), limits={"ram": 1})


def test_a_rate_that_the_flash_cannot_keep_is_no_answer():
    rate = bench_energy.parse_rate("w=100/s")
    rows = [row(fs, us, chip="w25q256", operations=10, consumed_bytes=4096, erases_by_size={"4096": 1}, time_us_program=0, time_us_erase=0, chip_blocks=256, chip_endurance=100_000,
                worst_call_name="sync", state="fresh") for fs, us in (("slow", 200_000), ("quick", 50_000))]
    text = bench_choose.answer(rows, [], "w25q256", rates=(rate,))
    assert "slow: cannot keep the rates: the flash would be busy 200% of the time." in text and "without a failure: quick." in text
    assert "No candidate keeps all rates." in bench_choose.answer(rows[:1], [], "w25q256", rates=(rate,))
    assert "slow: beyond the limits: the flash would be busy 200% of the time." in bench_choose.answer(rows, [], "w25q256", rates=(rate,), limits={"ram": 100_000})


def test_what_promises_nothing_is_not_recommended():
    cuts = {"cuts": 10, "any": 0, "any_waived": 4, "waives": ["runs"], "broken": {"runs": 4}}
    rows = [row(fs, us, worst_call_name="sync", chip="x", state="fresh") for fs, us in (("naive", 1), ("safe", 9))]
    text = bench_choose.answer(rows, [{"fs": "naive", **cuts}, {"fs": "safe", **cuts, "any_waived": 0, "waives": []}], "x")
    assert "naive: worst point: it is not made for power cuts: after 4 of 10" in text and "or a broken promise: safe." in text


# ---- measured elsewhere ----

def test_littlefs3_stands_beside_where_it_has_every_cell():
    rows = [row("nf2fs", chip="w25q256", workload=name, state="fresh", seed=42) for name in ("create32", "log32d")]
    found = bench_elsewhere.beside(rows)
    assert {one["workload"] for one in found} == {"create32", "log32d"} and "littlefs3" in {one["fs"] for one in found} and all(bench_elsewhere.is_elsewhere(one) and bench.is_good(one) for one in found)
    assert bench_elsewhere.beside([*rows, row("nf2fs", chip="w25q256", workload="nothing has it", state="fresh", seed=42)]) == []
    assert bench_elsewhere.beside([row("nf2fs", chip="w25q80", workload="create32", state="fresh", seed=42)]) == []


def test_what_was_measured_elsewhere_is_marked_and_no_answer():
    rows = [row("nf2fs", 10**9, chip="w25q256", workload="create32", state="fresh", seed=42, worst_call_name="sync")]
    text = bench_choose.answer(rows + bench_elsewhere.beside(rows), [], "w25q256")
    assert "littlefs3 *" in text and "measured elsewhere" in text and text.endswith("and --cuts here.") and "without a failure: nf2fs." in text
