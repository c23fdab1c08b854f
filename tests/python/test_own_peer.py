# SPDX-License-Identifier: BSD-2-Clause
"""A file system of the user's own, added as peers/README.md says, without a change to this tree."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nf2fs import bench, bench_cli, bench_elsewhere, bench_worker

ROOT = Path(__file__).resolve().parents[2]
CMAKE = Path(sys.executable).with_name("cmake") if Path(sys.executable).with_name("cmake").exists() else shutil.which("cmake")

LISTS = """
add_library(peers_own STATIC my_peers.c)
target_include_directories(peers_own PUBLIC ${NF2FS_PEERS_INCLUDE})
target_link_libraries(peers_own PUBLIC vfs)
"""
# Raw flash under a name of its own, whose deletes fail: what the user's adapter would be.
PEERS = """
#include <stddef.h>
#include "peers.h"
static struct vfs_ops ops;
static int refuse(void *context, const char *path) { (void)context; (void)path; return VFS_ERR_INVAL; }
static int make(const struct nf2_flash *flash, struct vfs *out)
{
    int result = vfs_native_entry.make(flash, out);
    if (result == 0) { ops = *out->ops; ops.remove = refuse; out->ops = &ops; }
    return result;
}
static const struct vfs_entry mine = {"example", "7", "an example, which removes nothing", make};
static struct vfs_ops lazy;
static int nothing(void *context, void *file) { (void)context; (void)file; return 0; }
static int make_lazy(const struct nf2_flash *flash, struct vfs *out)
{
    int result = vfs_nf2fs_entry.make(flash, out);
    if (result == 0) { lazy = *out->ops; lazy.sync = nothing; out->ops = &lazy; }
    return result;
}
static const struct vfs_entry forgetful = {"forgetful", "1", "an example, whose sync does nothing", make_lazy};
const struct vfs_entry *peers_at(unsigned index) { return index == 0 ? &mine : index == 1 ? &forgetful : NULL; }
"""


def cheat(program, tmp_path):
    """A sync that does nothing passes neither a row that syncs nor the cuts."""
    row = bench.run_cell(program, bench.Cell("forgetful", "w25q80", "log32d"))
    assert "sync /log" in row["status"] and "nothing was programmed" in row["status"]
    assert bench.is_good(bench.run_cell(program, bench.Cell("forgetful", "w25q80", "create32")))
    with pytest.raises(SystemExit) as stop:
        bench_cli.main(["cuts", "--cell", str(program), "-o", str(tmp_path / "cuts.jsonl"), "--fs", "forgetful", "--slice", "--cuts", "20", "--jobs", "1"])
    assert not stop.value.code
    rows = [json.loads(line) for line in (tmp_path / "cuts.jsonl").read_text().splitlines()]
    assert {one["fs"] for one in rows} == {"forgetful"} and sum(one["broken"]["durable"] + one["broken"]["whole"] for one in rows) > 0 and sum(one["any"] for one in rows) > 0


@pytest.mark.skipif(not CMAKE or not shutil.which("cc"), reason="no cmake or no C compiler")
def test_a_file_system_of_ones_own(tmp_path, capsys):
    own, build = tmp_path / "own", tmp_path / "build"
    own.mkdir()
    (own / "CMakeLists.txt").write_text(LISTS)
    (own / "my_peers.c").write_text(PEERS)
    run = lambda *words: subprocess.run([str(CMAKE), *map(str, words)], check=True, capture_output=True, text=True, timeout=600)
    run("-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DNF2FS_PYTHON=OFF", f"-DNF2FS_OWN_PEERS={own}")
    run("--build", build, "--target", "norbench-cell", "norbench-cell-own", "peer_cuts", "peer_cuts_own")
    program = build / "norbench" / bench.PROGRAM
    assert "an example" in bench.read_catalogue(program).descriptions["example"]
    out = tmp_path / "rows.jsonl"
    with pytest.raises(SystemExit) as stop:
        bench_cli.main(["sweep", "--cell", str(program), "-o", str(out), "-w", "create32,delete32", "-f", "native,example"])
    assert not stop.value.code and "1 failed" in capsys.readouterr().err
    rows = {(row["fs"], row["workload"]): row for row in map(json.loads, out.read_text().splitlines())}
    assert rows["example", "create32"]["time_us"] == rows["native", "create32"]["time_us"] > 0
    cheat(program, tmp_path)
    assert "remove /f" in rows["example", "delete32"]["status"] and "failed with -22" in rows["example", "delete32"]["status"]


def test_a_program_that_is_still_open_for_writing(tmp_path):
    """Whoever writes it is done soon: the run waits."""
    program = tmp_path / "program"
    shutil.copy("/bin/echo", program)
    program.chmod(0o700)
    results = []
    busy = threading.Thread(target=lambda: results.append(bench_worker.start([str(program), "done"], 20)))
    with open(program, "ab"):
        busy.start()
        time.sleep(0.3)
        assert not results
    busy.join()
    assert results[0].stdout == "done\n"


# ---- LittleFS 3, from the user's own sources ----

LITTLEFS3 = os.environ.get("NF2FS_LITTLEFS3_DIR", "")
SAME = ("time_us", "program_pages", "read_pages", "erases", "consumed_bytes", "worst_call_us", "ram_bytes")


@pytest.mark.skipif(not Path(LITTLEFS3, "lfs3.c").is_file() or not CMAKE, reason="not possible here: LittleFS 3 is in no package registry (NF2FS_LITTLEFS3_DIR names its sources)")
def test_littlefs3_has_the_figures_that_were_measured_elsewhere(tmp_path):
    run = lambda *words: subprocess.run([str(CMAKE), *map(str, words)], check=True, capture_output=True, text=True, timeout=600)
    run("-S", ROOT, "-B", tmp_path, "-DCMAKE_BUILD_TYPE=Release", "-DNF2FS_PYTHON=OFF", f"-DNF2FS_OWN_PEERS={ROOT / 'peers' / 'littlefs3'}", f"-DNF2FS_LITTLEFS3_DIR={LITTLEFS3}")
    run("--build", tmp_path, "--target", "norbench-cell-own")
    program = tmp_path / "norbench" / "norbench-cell-own"
    names = {"littlefs3": "littlefs3", "littlefs3-p16": "littlefs3:read=16,prog=16", "littlefs3-ec": "littlefs3:erasecheck=1"}
    compared = 0
    for other in bench_elsewhere.read(ROOT):
        if other["fs"] in names and (other["chip"], other["state"]) == ("w25q256", "fresh") and other["workload"] in ("create", "create32s", "read32", "delete32", "rwrite20"):
            row = bench.run_cell(program, bench.Cell(names[other["fs"]], other["chip"], other["workload"]))
            assert bench.is_good(row) and {key: row[key] for key in SAME} == {key: other[key] for key in SAME}, other["workload"]
            compared += 1
    assert compared >= 12
    assert not bench.is_good(bench.run_cell(program, bench.Cell("littlefs3:cache=300", "w25q256", "create")))
