# SPDX-License-Identifier: BSD-2-Clause
"""Each test of the host tools runs over a stand-in library, and over the compiled one where it is built."""

import signal

import pytest
from fake import FakeLibrary

from nf2fs import bench_cli, cli, images, interrupts, native

# A shell's background jobs ignore it, and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

NATIVE = native.find_library()
CHIP_NAMES = {"fake": "tiny", "native": "w25q256"}


def pytest_report_header(config):
    return f"nf2fs library: {NATIVE or 'not built: only the stand-in is tested'}"


def handlers():
    return {number: signal.getsignal(number) for number in interrupts.SIGNALS}


def restore(before):
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def signals_as_they_were():
    """A command leaves signals ignored at its end, which here is not that of the process."""
    before = handlers()
    yield
    restore(before)


@pytest.fixture
def norbench(capsys):
    """Runs norbench's command line: its exit code, what it printed, and its messages."""
    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            bench_cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err
    return run


@pytest.fixture(params=["fake", "native"] if NATIVE else ["fake"])
def library(request, monkeypatch):
    """The library in use everywhere; its `test_chip` names a chip to format."""
    found = FakeLibrary() if request.param == "fake" else native.Library(NATIVE)
    monkeypatch.setattr(native, "load", lambda: found)
    found.test_chip = CHIP_NAMES[request.param]
    return found


@pytest.fixture
def fake(monkeypatch):
    found = FakeLibrary()
    monkeypatch.setattr(native, "load", lambda: found)
    return found


@pytest.fixture
def image(library, tmp_path):
    """The path of a formatted image."""
    path = tmp_path / "flash.img"
    images.format_image(path, library.test_chip)
    return path


@pytest.fixture
def nf2(capsysbinary):
    """Runs an nf2 command line; returns (exit code, output, errors)."""
    before = handlers()

    def run(*arguments):
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main([str(argument) for argument in arguments])
        restore(before)
        out, err = capsysbinary.readouterr()
        return stop.value.code or 0, out.decode(), err.decode()
    return run
