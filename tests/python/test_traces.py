# SPDX-License-Identifier: BSD-2-Clause
"""Traces: recorded through vfs and over a program of this computer, replayed over every file system that is built."""

import json
import subprocess
import sys

import pytest
from test_mount import unavailable

from nf2fs import bench, bench_cli

try:
    CELL = bench.find_program()
except bench.BenchError:
    CELL = None
pytestmark = pytest.mark.skipif(CELL is None, reason="norbench-cell is not built (make release)")

APPLICATION = """
import os, sys
root = sys.argv[1]
with open(root + "/notes.txt", "w") as file:
    file.write("x" * 5000)
os.mkdir(root + "/old")
with open(root + "/there.txt") as file:
    file.read()
with open(root + "/notes.txt", "ab") as file:
    file.write(b"y" * 100)
    file.flush()
    os.fsync(file.fileno())
os.rename(root + "/notes.txt", root + "/old/notes.txt")
assert os.listdir(root + "/old") == ["notes.txt"] and not os.path.exists(root + "/none")
fd = os.open(root + "/table.db", os.O_RDWR | os.O_CREAT)
for page in range(8):
    os.pwrite(fd, b"p" * 1024, page * 1024)
os.pread(fd, 1024, 2048)
os.ftruncate(fd, 4096)
os.close(fd)
os.remove(root + "/there.txt")
"""
MORE_CALLS = """
import mmap, os, sys
root = sys.argv[1]
fd = os.open(root + "/a.db", os.O_RDWR | os.O_CREAT)
assert os.writev(fd, [b"a" * 3000, b"b" * 5000]) == 8000
other = os.dup(fd)
os.close(fd)                                        # the file stays open
os.pwritev(other, [b"c" * 100], 200)
os.lseek(other, 0, os.SEEK_SET)
os.readv(other, [bytearray(500), bytearray(500)])
os.ftruncate(other, 20000)
with mmap.mmap(other, 0) as map:
    map[9000:9010] = b"d" * 10                      # the third page of five
    map.flush()
    map[0:1] = b"e"
    map[19999:20000] = b"f"                         # the first one and the last one
os.close(other)
source, target = os.open(root + "/a.db", os.O_RDONLY), os.open(root + "/b.db", os.O_WRONLY | os.O_CREAT)
assert os.sendfile(target, source, 0, 4000) == 4000
assert os.copy_file_range(source, target, 1000, 50) == 1000
os.dup2(source, target)                             # closes b.db
os.close(target)
os.close(source)
"""
STREAMS = """
#include <stdio.h>
#include <unistd.h>
int main(int count, char **values)
{
    char path[500], line[100];
    snprintf(path, sizeof(path), "%s/lines.txt", values[count - 1]);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 1000; i++) { fprintf(file, "line %d\\n", i); }
    if (fflush(file) != 0 || fsync(fileno(file)) != 0 || fclose(file) != 0) { return 1; }
    file = fopen(path, "r");
    if (fseek(file, 500, SEEK_SET) != 0 || fgets(line, sizeof(line), file) == NULL) { return 2; }
    fclose(file);
    return 0;
}
"""


def cell(fs, workload, *more):
    done = subprocess.run([str(bench.program_for(CELL, fs)), "--fs", fs, "--workload", workload, *map(str, more)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout else {"status": done.stderr}


def kinds(trace):
    """The kind of each entry."""
    return [kind for kind, _ in entries(trace)]


def entries(trace):
    """Kind and numbers of each entry, read independently of the C code (norbench/trace.h)."""
    data, at, found = trace.read_bytes(), 5, []
    numbers = {0: 1, 1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 6: 1, 7: 2, 13: 1, 14: 1}
    paths = {1: 1, 8: 1, 9: 1, 10: 2, 11: 1, 12: 1, 14: 1, 15: 1, 16: 1}

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if not data[at - 1] & 0x80:
                return value

    assert data[:5] == b"NBTR\x01"
    while True:
        kind = data[at]
        at += 1
        values = [number() for _ in range(numbers.get(kind, 0))]
        for _ in range(paths.get(kind, 0)):
            length = number()
            at += length
        if kind == 0:
            assert values == [len(found)] and at == len(data)
            return found
        found.append((kind, values))


def record(capsys, root, out, *command):
    with pytest.raises(SystemExit) as stop:
        bench_cli.main(["record", "--root", str(root), "--out", str(out), "--", *map(str, command)])
    capsys.readouterr()
    return stop.value.code or 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the recorder is for Linux")
def test_a_program_is_recorded_and_replayed(capsys, tmp_path):
    root, out = tmp_path / "root", tmp_path / "app.trace"
    root.mkdir()
    (root / "there.txt").write_text("was there before")
    assert record(capsys, root, out, sys.executable, "-c", APPLICATION, root) == 0
    found = kinds(out)
    for kind in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16):
        assert kind in found, f"no entry of kind {kind}"
    systems = [fs for fs in bench.read_catalogue(CELL).file_systems if fs in ("nf2fs", "littlefs", "fatfs", "yaffs2")]     # native cannot shorten files
    for fs in systems:
        row = cell(fs, "trace", "--trace", out, "--chip", "w25q80")
        assert row["status"] == "ok" and row["verified"] and row["operations"] > 20, fs


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the recorder is for Linux")
@pytest.mark.parametrize("script", ["true", 'cat "$1/none"; echo x > "$1/../beside"'])
def test_a_program_that_does_nothing_there(capsys, tmp_path, script):
    root, out = tmp_path / "root", tmp_path / "app.trace"
    root.mkdir()
    with pytest.raises(SystemExit) as stop:
        bench_cli.main(["record", "--root", str(root), "--out", str(out), "--", "sh", "-c", script, "sh", str(root)])
    assert stop.value.code == 1 and "made no call below that directory" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the recorder is for Linux")
def test_streams_of_the_c_library_are_seen(capsys, tmp_path):
    root, out, program = tmp_path / "root", tmp_path / "c.trace", tmp_path / "streams"
    root.mkdir()
    subprocess.run(["cc", "-x", "c", "-o", program, "-"], input=STREAMS, text=True, check=True)
    assert record(capsys, root, out, program, root) == 0
    found = kinds(out)
    assert found.count(1) == found.count(2) == 2 and 4 in found and 6 in found and 3 in found
    assert (root / "lines.txt").stat().st_size == 8890
    assert cell("nf2fs", "trace", "--trace", out)["status"] == "ok"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the recorder is for Linux")
def test_pieces_mappings_and_shared_descriptors_are_seen(capsys, tmp_path):
    root, out = tmp_path / "root", tmp_path / "more.trace"
    root.mkdir()
    assert record(capsys, root, out, sys.executable, "-c", MORE_CALLS, root) == 0
    found = [(kind, values) for kind, values in entries(out) if kind in (1, 2, 3, 4, 6)]
    assert [values[0] for kind, values in found if kind == 2] == [0, 2, 1]          # a.db once, with its last descriptor; then b.db, then a.db again
    assert [values for kind, values in found if kind == 4] == [[0, 8000], [0, 100], [0, 4096], [0, 4096], [0, 20000 - 16384], [2, 4000], [2, 1000]]
    assert [values for kind, values in found if kind == 3] == [[0, 1000], [0, 20000], [1, 4000], [1, 1000]]
    assert [values for kind, values in found if kind == 6] == [[0]]
    for fs in ("nf2fs", "littlefs"):
        if fs in bench.read_catalogue(CELL).file_systems:
            row = cell(fs, "trace", "--trace", out, "--chip", "w25q80")
            assert row["status"] == "ok" and row["user_bytes"] == 8000 + 100 + 2 * 4096 + 3616 + 5000


REMOVED_OPEN = """
import os, sys
root = sys.argv[1]
one = os.open(root + "/t", os.O_RDWR | os.O_CREAT)
two = os.open(root + "/t", os.O_RDONLY)
os.write(one, b"x" * 300)
os.unlink(root + "/t")
assert not os.path.exists(root + "/t")
os.write(one, b"y" * 100)
os.close(one)
os.close(two)
if len(sys.argv) > 2:
    keep = os.open(root + "/u", os.O_RDWR | os.O_CREAT)
    os.unlink(root + "/u")
    os.open(root + "/u", os.O_RDWR | os.O_CREAT)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the recorder is for Linux")
def test_a_file_that_is_removed_while_it_is_open(capsys, tmp_path):
    """It goes when it is closed; a second file of its name in the meantime is refused, with the reason."""
    root = tmp_path / "root"
    root.mkdir()
    assert record(capsys, root, tmp_path / "a.trace", sys.executable, "-c", REMOVED_OPEN, root) == 0
    assert record(capsys, root, tmp_path / "b.trace", sys.executable, "-c", REMOVED_OPEN, root, "more") == 0
    for fs in (fs for fs in bench.read_catalogue(CELL).file_systems if fs in ("nf2fs", "littlefs")):
        row = cell(fs, "trace", "--trace", tmp_path / "a.trace", "--chip", "w25q80")
        assert row["status"] == "ok" and row["user_bytes"] == 400, fs
        assert "/u is opened again while it is open" in cell(fs, "trace", "--trace", tmp_path / "b.trace", "--chip", "w25q80")["status"]


@pytest.mark.parametrize("workload", ["dirs", "create32", "log32d"])
def test_a_workload_and_its_trace_cost_the_same(tmp_path, workload):
    """Where all offsets and sizes are the calls' own, the replay makes the same calls."""
    out = tmp_path / "w.trace"
    first = cell("nf2fs", workload, "--record", out)
    again = cell("nf2fs", "trace", "--trace", out)
    assert first["status"] == again["status"] == "ok"
    for key in ("program_calls", "program_bytes", "program_pages", "erases", "time_us", "user_bytes"):
        assert first[key] == again[key], key


def test_a_broken_trace_is_one_error(tmp_path):
    out = tmp_path / "w.trace"
    cell("nf2fs", "create32", "--record", out)
    data = out.read_bytes()
    for broken, message in ((data[:len(data) // 2], "the trace was cut short"), (b"hello", "not a trace"), (data[:5] + b"\x63", "an entry of an unknown kind"), (b"", "not a trace"),
                            (data[:5] + b"\x08\x05/../x", "a number or a path that cannot be"), (data[:5] + b"\x02\x07\x00\x01", "handle 7, which is not open")):
        out.write_bytes(broken)
        row = cell("nf2fs", "trace", "--trace", out)
        assert message in row["status"] and not row["verified"]
    assert "needs --trace" in cell("nf2fs", "trace")["status"]


# ---- a FUSE mount over a directory ------------------------------------------------------------------------

def can_mount(tmp_path):
    try:
        import pyfuse3  # noqa: F401
        import trio  # noqa: F401
    except ImportError:
        return False
    from nf2fs import bench_fuse
    try:
        (tmp_path / "probe").mkdir()
        with bench_fuse.recorded(str(tmp_path / "probe"), str(tmp_path / "probe.trace"), False):
            return True
    except (OSError, bench.BenchError):
        return False


SHELL = """
set -e
cd "$1"
cat there.txt sub/inner.txt > /dev/null
mkdir -p a/b
printf hello > a/b/one
cp a/b/one a/two
printf more >> a/two
mv a/two a/b/three
ls a/b > /dev/null
dd if=/dev/zero of=big bs=1000 count=5 conv=fsync 2> /dev/null
truncate -s 700 big
rm -r a/b/one sub
test "$(cat a/b/three)" = hellomore
"""


def record_fuse(capsys, root, out, *more):
    with pytest.raises(SystemExit) as stop:
        bench_cli.main(["record", "--fuse", "--root", str(root), "--out", str(out), *map(str, more)])
    capsys.readouterr()
    return stop.value.code or 0


@pytest.mark.parametrize("more", [(), ("--cached",)])
def test_all_processes_over_a_directory_in_one_trace(capsys, tmp_path, more):
    if not can_mount(tmp_path):
        pytest.skip(unavailable() or "nothing can be mounted here (make extras; /dev/fuse)")
    root, out = tmp_path / "root", tmp_path / "sh.trace"
    (root / "sub").mkdir(parents=True)
    (root / "there.txt").write_text("was there before")
    (root / "sub" / "inner.txt").write_text("x" * 300)
    assert record_fuse(capsys, root, out, *more, "--", "sh", "-c", SHELL, "sh", root) == 0
    assert sorted(path.name for path in root.rglob("*")) == ["a", "b", "big", "there.txt", "three"] and (root / "big").stat().st_size == 700
    found = entries(out)
    written = [values[1] for kind, values in found if kind == 4]
    assert sum(written) == 5 + 5 + 4 + 5000 and (1000 in written or more) and sum(values[0] for kind, values in found if kind == 14) == 16 + 300
    kinds_found = [kind for kind, _ in found]
    assert all(kind in kinds_found for kind in (1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 14, 15)) and kinds_found.count(1) == kinds_found.count(2)
    for fs in (fs for fs in bench.read_catalogue(CELL).file_systems if fs in ("nf2fs", "littlefs", "fatfs", "yaffs2")):
        row = cell(fs, "trace", "--trace", out, "--chip", "w25q80")
        assert row["status"] == "ok" and row["verified"] and row["user_bytes"] == 5014, fs


def test_a_failing_program_and_a_mount_that_is_gone(capsys, tmp_path):
    if not can_mount(tmp_path):
        pytest.skip(unavailable() or "nothing can be mounted here (make extras; /dev/fuse)")
    root = tmp_path / "root"
    root.mkdir()
    assert record_fuse(capsys, root, tmp_path / "x.trace", "--", "sh", "-c", 'echo x > "$1/f"; exit 7', "sh", root) == 7
    assert (root / "f").read_text() == "x\n" and not root.is_mount() and 4 in kinds(tmp_path / "x.trace")
    assert record_fuse(capsys, root, tmp_path / "x.trace", "--", "true") == 1      # the trace is there already
    assert record_fuse(capsys, root, tmp_path / "none.trace", "--", "true") == 1 and not (tmp_path / "none.trace").exists()


LOOKS_AT_UNSYNCED = """
import os, sys
root = sys.argv[1]
fd = os.open(root + "/new.db", os.O_RDWR | os.O_CREAT)
assert os.stat(root + "/new.db").st_size == 0
os.write(fd, b"x" * 3000)
assert os.stat(root + "/new.db").st_size == 3000 and os.listdir(root) == ["new.db"]
other = os.open(root + "/new.db", os.O_RDONLY)
assert len(os.read(other, 4000)) == 3000
os.fsync(fd)
assert os.stat(root + "/new.db").st_size == 3000
os.write(fd, b"y" * 2000)
assert os.stat(root + "/new.db").st_size == 5000
os.ftruncate(fd, 100)
assert os.stat(root + "/new.db").st_size == 100
os.close(other)
os.close(fd)
assert os.stat(root + "/new.db").st_size == 100
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the recorder is for Linux")
def test_a_program_may_look_at_what_it_has_not_synced(capsys, tmp_path):
    """No header but this library's says what stat and listings tell of it: a peer that says something else has not failed."""
    root, out = tmp_path / "root", tmp_path / "app.trace"
    root.mkdir()
    assert record(capsys, root, out, sys.executable, "-c", LOOKS_AT_UNSYNCED, root) == 0
    assert kinds(out).count(11) >= 5
    for fs in [fs for fs in bench.read_catalogue(CELL).file_systems if fs in ("nf2fs", "littlefs", "fatfs", "yaffs2")]:
        row = cell(fs, "trace", "--trace", out, "--chip", "w25q80")
        assert row["status"] == "ok" and row["verified"], f"{fs}: {row['status']}"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the recorder is for Linux")
def test_a_trace_is_run_beside_others(capsys, tmp_path):
    root, out = tmp_path / "root", tmp_path / "app.trace"
    root.mkdir()
    assert record(capsys, root, out, sys.executable, "-c", LOOKS_AT_UNSYNCED, root) == 0
    with pytest.raises(SystemExit) as stop:
        bench_cli.main(["run", "--trace", str(out), "--fs", "nf2fs", "--chip", "w25q80", "--cell", str(CELL)])
    text = capsys.readouterr().out
    assert stop.value.code == 1 and "trace" in text and "nf2fs" in text            # native cannot shorten a file
    with pytest.raises(SystemExit) as stop:
        bench_cli.main(["run", "--trace", str(tmp_path / "none"), "--cell", str(CELL)])
    assert stop.value.code == 1 and "no such trace" in capsys.readouterr().err
