# SPDX-License-Identifier: BSD-2-Clause
"""tools/step.py: the lines of `make demo`."""

import os
import pty
import subprocess
import sys
from pathlib import Path

STEP = Path(__file__).resolve().parents[2] / "tools" / "step.py"


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
