# SPDX-License-Identifier: BSD-2-Clause
"""What norbench-cell watches beside its counts: aged runs from files, maps, pages, call stacks, conditions; and its peers."""

import json
import signal
import subprocess
import time

import pytest

from nf2fs import bench, bench_flame, bench_peers

try:
    CELL = bench.find_program()
except bench.BenchError:
    CELL = None
pytestmark = pytest.mark.skipif(CELL is None, reason="norbench-cell is not built (make release)")
SYSTEMS = [fs for fs in (bench.read_catalogue(CELL).file_systems if CELL else []) if fs in ("nf2fs", "littlefs", "yaffs2")]
# What counts from the format on, or from the start of the process: a run that begins in the middle has less of it.
WHOLE_RUN = {"calls_judged", "calls_without_bound", "heap_bytes", "ram_bytes"}


def cell(fs, workload, *more):
    command = [str(bench.program_for(CELL, fs)), "--fs", fs, "--workload", workload, "--chip", "w25q80", *map(str, more)]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout else {"status": done.stderr.strip(), "code": done.returncode}


def without(row):
    return {key: value for key, value in row.items() if key not in WHOLE_RUN}


@pytest.mark.parametrize("fs", SYSTEMS)
@pytest.mark.parametrize("state", ["aged", "aged75"])
def test_a_run_from_a_file_is_the_same(tmp_path, fs, state):
    path = tmp_path / "aged.run"
    plain = cell(fs, "create32", "--state", state)
    stored = cell(fs, "create32", "--state", state, "--aged-run", path)
    first = path.read_bytes()
    loaded = cell(fs, "create32", "--state", state, "--aged-run", path)
    full = (fs, state) == ("yaffs2", "aged75")      # a reserve of 5 blocks is most of what is left of 1 MiB
    assert full or plain["verified"], plain["status"]
    assert without(stored) == without(plain) and without(loaded) == without(plain) and path.read_bytes() == first
    other = cell(fs, "config", "--state", state, "--aged-run", path)
    assert without(other) == without(cell(fs, "config", "--state", state))


def test_a_foreign_run_is_refused(tmp_path):
    path = tmp_path / "aged.run"
    cell("nf2fs", "create", "--state", "aged", "--aged-run", path)
    assert "another run" in cell("nf2fs", "create", "--state", "aged", "--seed", "7", "--aged-run", path)["status"]
    assert "not for native" in cell("native", "create", "--state", "aged", "--aged-run", path)["status"]
    data = path.read_bytes()
    path.write_bytes(data[:len(data) // 2])
    assert "ends early" in cell("nf2fs", "create", "--state", "aged", "--aged-run", path)["status"]
    path.write_bytes(b"x")
    assert "no stored run" in cell("nf2fs", "create", "--state", "aged", "--aged-run", path)["status"]


def test_maps_and_pages_add_up(tmp_path):
    pages = tmp_path / "pages.csv"
    row = cell("nf2fs", "config", "--maps", "--pages", pages)
    assert row["status"] == "ok" and len(row["block_erases"]) == len(row["block_programs"]) == 256
    lines = [tuple(map(int, line.split(","))) for line in pages.read_text().splitlines()[1:]]
    assert len(lines) == 4096
    assert sum(line[2] for line in lines) == sum(row["block_programs"]) >= row["program_pages"]
    assert sum(line[1] for line in lines) == sum(row["block_reads"]) >= row["read_pages"]
    assert sum(row["block_erases"]) >= row["erases"]


@pytest.mark.parametrize("fs", SYSTEMS)
def test_stacks_hold_every_operation(tmp_path, fs):
    """The stacks of a row come to its time and its operations, and have the names of calls."""
    path = tmp_path / "stacks.txt"
    row = cell(fs, "config", "--stacks", path)
    stacks = bench_flame.read(path, bench.program_for(CELL, fs))
    assert sum(sum(times) for _, _, times in stacks) == row["time_us"]
    assert [sum(counts[i] for _, counts, _ in stacks) for i in range(2)] == [row["read_calls"], row["program_calls"]]
    names = {name for stack, _, _ in stacks for name in stack}      # what the compiler inlined has none
    assert {"bench_write", "bench_rename"} & names and any(name.startswith({"nf2fs": "nf2_", "littlefs": "lfs_", "yaffs2": "yaffs"}[fs]) for name in names)


def test_conditions_change_the_model_alone():
    plain = cell("littlefs" if "littlefs" in SYSTEMS else "nf2fs", "config")
    hot = cell(plain["fs"], "config", "--conditions", "hot,wear")
    content = cell(plain["fs"], "config", "--conditions", "content")
    assert plain["time_us_model"] == plain["time_us"] == hot["time_us"] == content["time_us"]
    assert plain["time_us"] < hot["time_us_model"] < hot["time_us_max"]
    assert content["time_us_model"] < plain["time_us"]
    assert "not \"cold\"" in cell("nf2fs", "create", "--conditions", "cold")["status"]


def test_peers_say_what_is_missing():
    facts = {fact["peer"]: fact for fact in bench_peers.facts({"native", "nf2fs", "littlefs"})}
    assert facts["raw flash"]["state"] == "built" and facts["YAFFS2"]["state"] == "not built" and "peers/yaffs2/fetch.sh" in facts["YAFFS2"]["how"]
    assert facts["LittleFS 2.11"]["state"].startswith("in part: without littlefs-p256")
    assert facts["SPIFFS"]["state"] == "cannot be built" and "measured_elsewhere.csv" in facts["SPIFFS"]["source"]
    known = {name for peer in bench_peers.PEERS for name in peer.entries}
    assert set(bench.read_catalogue(CELL).file_systems) <= known


NAND = """
name = small-nand
size = 16M
page_size = 2K
block_size = 32K
erase_us = 2000
read_page_us = 125
program_page_us = 400
nand = 1
spare_size = 64
factory_bad = 40
"""


@pytest.mark.parametrize("fs", [fs for fs in SYSTEMS if fs != "nf2fs"])
def test_file_systems_on_nand_with_bad_blocks(tmp_path, fs):
    """Three times round the chip, whose factory bad blocks are never programmed; each byte is compared, and both counters agree."""
    chip = tmp_path / "chip.txt"
    chip.write_text(NAND)
    row = cell(fs, "config", "--state", "aged", "--chip", chip, "--maps")
    assert row["status"] == "ok" and row["verified"] and row["violations"] == 0
    assert len(row["block_programs"]) == 512 and 40 <= row["block_programs"].count(0) < 60
    assert row["program_pages"] > 2000 and row["read_pages"] > 0


def test_what_cannot_run_on_nand_says_so(tmp_path):
    chip = tmp_path / "chip.txt"
    chip.write_text(NAND)
    assert "cannot be set up on this chip" in cell("nf2fs", "config", "--chip", chip)["status"]


# ---- whole runs, stored in their middle -----------------------------------------------------------------

def can_store():
    done = subprocess.run([str(CELL), "--fs", "native", "--workload", "create", "--checkpoint", "/nowhere/run"], capture_output=True, text=True) if CELL else None
    return done is not None and "can be stored with" not in done.stderr


linux = pytest.mark.skipif(not can_store(), reason="runs are stored with Linux and glibc, and without sanitizers, only")


@linux
@pytest.mark.parametrize("fs", ["native", *SYSTEMS])
def test_a_run_goes_on_in_its_middle(tmp_path, fs):
    """Stopped in the ageing, and brought back twice, in other processes, whose libraries lie elsewhere: the row is the same in every figure."""
    path = tmp_path / "run"
    plain = cell(fs, "config", "--state", "aged", "--maps")
    assert plain["status"] == "ok"
    first = cell(fs, "config", "--state", "aged", "--maps", "--checkpoint", path, "--checkpoint-at", 40)
    assert first["code"] == 4 and path.stat().st_size > 1 << 20
    kept = path.read_bytes()
    assert cell(fs, "config", "--state", "aged", "--maps", "--checkpoint", path) == plain
    assert not path.exists()
    path.write_bytes(kept)              # and once more from the same point
    assert cell(fs, "config", "--state", "aged", "--maps", "--checkpoint", path) == plain


@linux
def test_a_killed_run_goes_on(tmp_path):
    path = tmp_path / "run"
    plain = cell("nf2fs", "ow256-50", "--part", 1)  # long enough to be killed
    command = [str(CELL), "--fs", "nf2fs", "--workload", "ow256-50", "--part", "1", "--chip", "w25q80", "--checkpoint", str(path)]
    running = subprocess.Popen([*command, "--checkpoint-every", "0"], stdout=subprocess.DEVNULL)
    while not path.exists() and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL and path.exists()
    assert json.loads(subprocess.run(command, capture_output=True, text=True).stdout) == plain


@linux
def test_runs_of_others_are_refused(tmp_path):
    path = tmp_path / "run"
    cell("nf2fs", "config", "--checkpoint", path, "--checkpoint-at", 100)
    assert "another run" in cell("nf2fs", "config", "--seed", 7, "--checkpoint", path)["status"]
    data = path.read_bytes()
    path.write_bytes(data[:len(data) // 2])
    assert "ends early" in cell("nf2fs", "config", "--checkpoint", path)["status"]
    path.write_bytes(data[:8] + b"x" + data[9:])
    assert "another executable" in cell("nf2fs", "config", "--checkpoint", path)["status"]
    path.write_bytes(b"x")
    assert "no stored run" in cell("nf2fs", "config", "--checkpoint", path)["status"]
    assert "have files open" in cell("nf2fs", "config", "--calls", tmp_path / "calls", "--checkpoint", path)["status"]


def test_listings_in_another_order_are_no_broken_promise(tmp_path):
    """Names that a cut script makes in one order, the model keeps in another, and file systems list in a third."""
    program = next((CELL.parent.parent / "tests").glob("peer_cuts"), None)
    if program is None:
        pytest.skip("peer_cuts is not built")
    done = subprocess.run([str(program), "--fs", "nf2fs", "--script", "many", "--chip", "w25q80", "--cuts", "4", "--jobs", "1", "--out", str(tmp_path)],
                          capture_output=True, text=True, timeout=300)
    row = json.loads((tmp_path / "peers.json").read_text())["rows"][0]
    assert done.returncode == 0 and row["cuts"] > 0 and row["broken"]["goes on"] == 0, done.stdout
