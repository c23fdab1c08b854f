# SPDX-License-Identifier: BSD-2-Clause
"""tools/step.py: the lines of `make demo`; and what `make extras` leaves out."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEP = ROOT / "tools" / "step.py"


def step(tmp_path, title, *command):
    return subprocess.run(
        [sys.executable, STEP, "--log", tmp_path / "logs", title, "--", *command],
        capture_output=True,
        text=True,
    )


def test_a_step_says_what_it_does_and_that_it_is_done(tmp_path):
    done = step(tmp_path, "Some work", "sh", "-c", "echo noise; echo more >&2")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "Some work ...\nSome work: done\n",
        "",
    )
    assert (tmp_path / "logs" / "some-work.log").read_text() == "noise\nmore\n"
    slow = step(tmp_path, "Slow work", "sleep", "1.2")
    assert slow.stdout.endswith("Slow work: done in 1 s\n")


def test_a_step_that_fails_shows_why(tmp_path):
    done = step(
        tmp_path, "Bad work", "sh", "-c", "for i in $(seq 100); do echo line $i; done; exit 7"
    )
    assert done.returncode == 7 and done.stdout.endswith("Bad work: failed\n")
    assert (
        "  line 100\n" in done.stderr
        and "  line 50\n" not in done.stderr
        and "bad-work.log" in done.stderr
    )
    done = step(tmp_path, "No work", "no-such-command")
    assert done.returncode == 127 and "no-such-command: No such file" in done.stderr


def test_a_terminal_shows_how_far_a_build_has_come(tmp_path):
    leader, follower = pty.openpty()
    script = "echo '[ 10%] one'; sleep 0.6; echo '[ 50%] two'; sleep 0.6; echo '[100%] three'"
    process = subprocess.Popen(
        [sys.executable, STEP, "--log", tmp_path, "Build", "--", "sh", "-c", script],
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 1000)
        except OSError:  # the end, on Linux
            piece = b""
        if not piece:
            break
        shown += piece
    assert process.wait() == 0
    text = shown.decode()
    assert "] 10%, about " in text and "] 50%, about " in text and "s left" in text
    assert text.rstrip().endswith("Build: done in 1 s")


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_extras_that_are_left_out_are_said_each_time(tmp_path):
    """`make extras` with a pip and a pkg-config that only say yes or no."""
    venv, programs = tmp_path / "build" / "venv", tmp_path / "bin"

    def program(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def make():
        return subprocess.run(
            ["make", "-C", ROOT, "extras", f"BUILD={tmp_path / 'build'}"],
            capture_output=True,
            text=True,
            env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
        )

    program(venv / "bin" / "python", f'echo "$@" >> {tmp_path}/installed')
    program(programs / "pkg-config", "exit 1")
    (venv / "ready").touch()
    for _ in range(2):
        done = make()
        assert done.returncode == 0 and "`nf2 mount' is left out" in done.stderr
        assert "libfuse3-dev" in done.stderr and not (venv / "extras").exists()
    program(programs / "pkg-config", "exit 0")
    done = make()
    assert (done.returncode, done.stderr) == (0, "") and (venv / "extras").exists()
    assert "pyfuse3" in (tmp_path / "installed").read_text()
