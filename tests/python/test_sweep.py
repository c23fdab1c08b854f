# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps: resumed where they were stopped, on cores and on a local Dask cluster whose workers are killed on the way."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from nf2fs import bench, bench_store, bench_sweep

CELL = str(Path(__file__).with_name("fake_cell.py"))
WORKLOADS = "create,swrite,gcfill"


def sweep(norbench, out, *more):
    return norbench("sweep", "--cell", CELL, "-o", out, "-w", WORKLOADS, "--seed", "1,2", *more)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_combination_once(norbench, tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_CELL_LOG", str(log))
    out = tmp_path / "rows.jsonl"
    code, _, errors = sweep(norbench, out, "--parquet", tmp_path / "rows.parquet")
    rows = lines(out)
    assert code == 0 and len(rows) == 3 * 3 * 2 and len({row["cell_key"] for row in rows}) == len(rows)
    assert rows[0]["made_with"]["program_sha256"] == bench_store.digest(Path(CELL))
    assert "--seed" in rows[0]["made_with"]["arguments"]
    assert log.read_text().count("begin") == 18
    code, _, errors = sweep(norbench, out)
    assert code == 0 and "18 of 18 cells are done already" in errors and log.read_text().count("begin") == 18
    again = bench_store.read_any(tmp_path / "rows.parquet")
    assert sorted(again, key=bench.row_key) == sorted(bench.read_rows(out), key=bench.row_key)


def test_goes_on_after_a_kill(norbench, tmp_path):
    """A line that was cut short is taken away, and its cell is made again."""
    out = tmp_path / "rows.jsonl"
    sweep(norbench, out)
    whole = lines(out)
    text = out.read_text().splitlines(keepends=True)
    out.write_text("".join(text[:7]) + text[7][:40])
    code, _, errors = sweep(norbench, out)
    assert code == 0 and "7 of 18" in errors
    assert {row["cell_key"] for row in lines(out)} == {row["cell_key"] for row in whole} and len(lines(out)) == 18


def test_a_foreign_file_is_left_alone(norbench, tmp_path):
    out = tmp_path / "rows.jsonl"
    out.write_text('{"fs": "x"}\n')
    code, _, errors = sweep(norbench, out)
    assert code == 1 and "line 1 is no row of a sweep" in errors and out.read_text() == '{"fs": "x"}\n'


def test_a_failed_cell_is_a_row_with_its_reason(norbench, tmp_path):
    out = tmp_path / "rows.jsonl"
    code, _, errors = norbench("sweep", "--cell", CELL, "-o", out, "-w", "broken", "-f", "nf2fs,native")
    rows = {row["fs"]: row for row in lines(out)}
    assert code == 0 and "1 failed" in errors
    assert "it broke" in rows["nf2fs"]["error"] and rows["native"]["status"] == "ok"


def test_no_scheduler_is_one_error(norbench, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    monkeypatch.setattr(bench_sweep, "CONNECT_S", 1)
    code, _, errors = sweep(norbench, tmp_path / "rows.jsonl", "--scheduler", "tcp://127.0.0.1:1")
    assert code == 1 and "no scheduler answers at tcp://127.0.0.1:1" in errors


def kill_workers(cluster, out, killed):
    """Kills a worker each time a few more rows are there."""
    for wanted in (3, 8):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not out.exists() or out.read_text().count("\n") < wanted):
            time.sleep(0.02)
        pids = [worker.pid for worker in cluster.workers.values() if worker.status.name == "running"]
        if pids:
            os.kill(pids[0], signal.SIGKILL)
            killed.append(pids[0])


def test_workers_that_are_killed_lose_nothing(norbench, tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    out, here = tmp_path / "rows.jsonl", tmp_path / "here.jsonl"
    killed = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        killer = threading.Thread(target=kill_workers, args=(cluster, out, killed))
        killer.start()
        code, _, errors = sweep(norbench, out, "--scheduler", cluster.scheduler_address)
        killer.join()
    assert code == 0 and killed
    sweep(norbench, here)
    strip = lambda row: {key: value for key, value in row.items() if key != "made_with"}
    assert sorted(map(json.dumps, map(strip, lines(out)))) == sorted(map(json.dumps, map(strip, lines(here))))


def test_a_sweep_hands_checkpoints_to_its_cells(norbench, tmp_path):
    """The row and its key are those of a sweep without them."""
    try:
        real = bench.find_program()
    except bench.BenchError:
        pytest.skip("norbench-cell is not built")
    arguments = ("sweep", "--cell", real, "-w", "create32", "-f", "nf2fs", "-c", "w25q80")
    assert norbench(*arguments, "-o", tmp_path / "a")[0] == 0
    assert norbench(*arguments, "-o", tmp_path / "b", "--checkpoints", tmp_path / "states")[0] == 0
    assert lines(tmp_path / "a") == lines(tmp_path / "b") and list((tmp_path / "states").iterdir()) == []
    assert norbench(*arguments, "-o", tmp_path / "c", "--checkpoints", tmp_path / "states", "--scheduler", "tcp://localhost:1")[0] == 2
