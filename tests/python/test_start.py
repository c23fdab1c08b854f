# SPDX-License-Identifier: BSD-2-Clause
"""Ctrl-C while a command starts, and where Python swallows what a handler raises."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nf2fs
from nf2fs import images
from nf2fs.errors import IO, NF2Error

PACKAGE = str(Path(nf2fs.__file__).resolve().parent.parent)

# A signal comes as a module is looked for; a finalizer is where an import may swallow it.
START = """
import os, signal, sys
place, swallowed = sys.argv.pop(1), sys.argv.pop(1) == "swallowed"

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(name, path=None, target=None):
        if name == place:
            sys.meta_path.remove(Finder)
            Dropped() if swallowed else os.kill(os.getpid(), signal.SIGINT)

from nf2fs.cli import main
sys.meta_path.insert(0, Finder)
main()
"""


def python(*arguments):
    return subprocess.run(
        [sys.executable, "-c", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": PACKAGE},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.parametrize("how", ["raised", "swallowed"])
@pytest.mark.parametrize("place", ["nf2fs.interrupts", "typer", "nf2fs.commands.tree"])
def test_a_signal_during_an_import(place, how):
    done = python(START, place, how, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "nf2: interrupted\n")


def test_little_is_imported_before_signals_are_met():
    """Until then Ctrl-C ends in a traceback of Python's own."""
    known = "import sys; known = set(sys.modules); import nf2fs.cli; "
    found = python(known + "print(*sorted(set(sys.modules) - known))").stdout.split()
    assert set(found) <= {"__future__", "nf2fs", "nf2fs.cli"}


def test_a_signal_that_a_finalizer_swallows_comes_again(image, nf2, monkeypatch):
    class Dropped:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)

    def slow(*_, **__):
        Dropped()
        end = time.monotonic() + 1
        while time.monotonic() < end:  # a command that has much to do
            pass
        raise NF2Error(IO, "went on")

    monkeypatch.setattr(images, "open_locked", slow)
    assert nf2("ls", image) == (130, "", "nf2: interrupted\n")
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


# A command that says something and goes on: what is waited for is not its end.
GOES_ON = """
import sys, time
from nf2fs import cli
from nf2fs.commands.app import say, say_now
cli._name_output()
{"say": say, "say_now": say_now, "cat": lambda text: sys.stdout.buffer.write(text.encode())}[sys.argv[1]]("ready\\n")
time.sleep(60)
"""


@pytest.mark.parametrize("how, options", [("say_now", []), ("say", ["-u"]), ("cat", ["-u"])])
def test_a_line_comes_at_once_through_a_pipe(how, options):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        [sys.executable, *options, "-c", GOES_ON, how],
        stdout=subprocess.PIPE,
        env=environment | {"PYTHONPATH": PACKAGE},
    )
    try:
        came, _, _ = select.select([process.stdout], [], [], 20)
        assert came and os.read(process.stdout.fileno(), 100).startswith(b"ready\n")
    finally:
        process.kill()
        process.communicate()
