# SPDX-License-Identifier: BSD-2-Clause
"""What `make test` says at the end: how many tests there were, and the names of those that failed."""

import importlib.util
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run_tests():
    spec = importlib.util.spec_from_file_location("run_tests", ROOT / "tools" / "run_tests.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["run_tests"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["run_tests"]


def a_step(run_tests, folder, name, cases, code=0, **more):
    """A step that writes these results (none where `cases` is None), and ends with this code."""
    results, source = folder / f"{name}.xml", folder / f"{name}.source"
    source.write_text(f"<testsuite>{cases}</testsuite>", encoding="utf-8")
    copy = f"cp '{source}' '{results}'; " if cases is not None else ""
    return run_tests.Step(
        name, ["sh", "-c", f"echo '{name} runs'; {copy}exit {code}"], folder, results, **more
    )


GOOD, BAD = (
    '<testcase name="good" status="run"/>',
    '<testcase name="bad.one" status="fail"><failure/></testcase>',
)


def test_all_passed(run_tests, tmp_path, capfd):
    skipped = '<testcase name="no peer"><skipped/></testcase>'
    assert (
        run_tests.run(
            [
                a_step(run_tests, tmp_path, "first", GOOD),
                a_step(run_tests, tmp_path, "second", GOOD + skipped),
            ]
        )
        == 0
    )
    out = capfd.readouterr().out
    assert (
        "1 of 2: first" in out
        and "first runs" in out
        and "3 tests in" in out
        and "1 of them skipped" in out
    )
    assert out.splitlines()[-1] == "all passed"


SKIPS = (
    '<testcase name="one"><skipped message="no compiler (Debian: gcc)"/></testcase>',
    '<testcase name="two"><skipped message="not possible here: no /dev/fuse"/></testcase>',
)


@pytest.mark.parametrize("skips, code", [(SKIPS, 1), (SKIPS[:1], 1), (SKIPS[1:], 0), ((), 0)])
def test_what_is_left_out_is_a_failure_where_all_is_asked_for(run_tests, tmp_path, capfd, skips, code):
    steps = [a_step(run_tests, tmp_path, "first", GOOD + "".join(skips))]
    assert run_tests.run(steps) == 0
    assert run_tests.run(steps, complete=True) == code
    out = capfd.readouterr().out
    assert out.count("LEFT OUT  1 tests: no compiler (Debian: gcc)\n") == 2 * (SKIPS[0] in skips)
    assert out.count("LEFT OUT  1 tests: not possible here: ") == 2 * (SKIPS[1] in skips)


def test_sources_that_could_not_be_fetched(run_tests, tmp_path, capfd):
    steps = [a_step(run_tests, tmp_path, "first", GOOD)]
    for name in run_tests.FETCHED:
        assert run_tests.run(steps, tmp_path, complete=True) == 1
        assert f"LEFT OUT  all that needs {name}: " in capfd.readouterr().out
        (tmp_path / name).mkdir()
        (tmp_path / name / "fetched").touch()
    assert run_tests.run(steps, tmp_path, complete=True) == 0


def test_what_hangs_is_ended_with_all_that_it_started(run_tests, tmp_path, capfd):
    alive = tmp_path / "alive"
    command = ["sh", "-c", f"sleep 1000 & echo $! > {alive}; wait"]
    assert run_tests.run([run_tests.Step("hangs", command, limit_s=0.5)]) == 1
    assert "FAILED  hangs: exit code 124" in capfd.readouterr().out
    end = time.monotonic() + 20
    while is_running(int(alive.read_text())):
        assert time.monotonic() < end
        time.sleep(0.01)


def is_running(process):
    """A zombie is not: it only waits for somebody to ask how it ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_each_python_test_has_a_time_limit(tmp_path):
    """One that hangs is named, and the others run; where even a signal cannot end it, the run ends."""
    (tmp_path / "test_hangs.py").write_text(
        "import time\n\n\ndef test_hangs():\n    time.sleep(1000)\n\n\ndef test_other():\n    pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-q", "-o", "timeout=1", tmp_path / "test_hangs.py"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout
    assert "::test_hangs - Failed: Timeout" in done.stdout
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert 0 < settings["timeout"] < settings["faulthandler_timeout"]
    assert settings["faulthandler_exit_on_timeout"]


def test_failures_are_named_at_the_end(run_tests, tmp_path, capfd):
    steps = [
        a_step(run_tests, tmp_path, "first", GOOD + BAD, 8, again="ctest -R '^{pattern}$'"),
        a_step(run_tests, tmp_path, "second", GOOD),
    ]
    assert run_tests.run(steps) == 1
    lines = capfd.readouterr().out.splitlines()
    assert "second runs" in lines
    assert lines[-2:] == ["FAILED  first: bad.one    (again: ctest -R '^bad\\.one$')", "1 failures"]


def test_a_python_test_is_named_as_pytest_takes_it(run_tests, tmp_path, capfd):
    case = '<testcase classname="tests.python.test_nf2" name="test_put[fake]"><error/></testcase>'
    assert (
        run_tests.run([a_step(run_tests, tmp_path, "python", case, 1, again="pytest '{name}'")])
        == 1
    )
    assert "(again: pytest 'tests/python/test_nf2.py::test_put[fake]')" in capfd.readouterr().out


def test_a_build_that_fails(run_tests, tmp_path, capfd):
    steps = [
        run_tests.Step("build", ["sh", "-c", "exit 2"]),
        a_step(run_tests, tmp_path, "first", GOOD, needs="build"),
        a_step(run_tests, tmp_path, "other", GOOD),
    ]
    assert run_tests.run(steps) == 1
    out = capfd.readouterr().out
    assert "first runs" not in out and "other runs" in out
    assert (
        "FAILED  build: exit code 2" in out
        and "FAILED  first: not run, since this failed: build" in out
    )


@pytest.mark.parametrize("cases, code", [(None, 0), (None, 3), ("", 0), (GOOD, 1)])
def test_no_results_are_no_success(run_tests, tmp_path, capfd, cases, code):
    (tmp_path / "first.xml").write_text(
        "<testsuite>" + GOOD + "</testsuite>", encoding="utf-8"
    )  # of a run before
    assert run_tests.run([a_step(run_tests, tmp_path, "first", cases, code)]) == 1
    assert "FAILED  first: exit code" in capfd.readouterr().out


def test_a_command_that_is_not_there(run_tests, capfd):
    assert run_tests.run([run_tests.Step("first", ["/no/such/command"])]) == 1
    assert "FAILED  first: exit code 127" in capfd.readouterr().out


def test_an_unknown_part_is_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "run_tests.py", "--build", tmp_path, "some"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "some" in done.stderr


# ---- what the tests need of a machine ----

# An apt-get that makes programs of its packages, as far as the tests look for them.
APT = """#!/bin/sh
echo "$*" >> "$LOG"
case "$*" in
*gcc-arm*) tools="qemu-system-arm qemu-system-riscv32 arm-none-eabi-gcc riscv64-unknown-elf-gcc" ;;
*install*) tools="fusermount3 pkg-config chromium groff c++ ninja bash cargo nm cpio qemu-arm qemu-system-x86_64 gcc-12 xz clang" ;;
esac
for tool in $tools; do
    printf '#!/bin/sh\\nexit 0\\n' > "$BIN/$tool"
    chmod +x "$BIN/$tool"
done
"""


@pytest.fixture
def machine(tmp_path):
    """Runs test_needs.sh where nothing of what it looks for is installed: (done, what was asked of apt-get)."""
    folder, log = tmp_path / "bin", tmp_path / "log"
    folder.mkdir()
    log.touch()
    for tool in ("sh", "cat", "tr", "dirname", "printf", "chmod"):
        (folder / tool).symlink_to(shutil.which(tool))
    (folder / "apt-get").write_text(APT)
    (folder / "apt-get").chmod(0o755)

    def run(user, *options):
        (folder / "id").write_text(f"#!/bin/sh\necho {user}\n")
        (folder / "id").chmod(0o755)
        environment = {"PATH": str(folder), "LOG": str(log), "BIN": str(folder)}
        done = subprocess.run(
            [ROOT / "tools" / "test_needs.sh", *options], env=environment, capture_output=True, text=True, timeout=60
        )
        asked = log.read_text().splitlines()
        log.write_text("")
        return done, asked

    return run


def test_what_is_missing_is_installed_by_root(machine):
    done, asked = machine(0)
    assert done.returncode == 0, done.stderr
    (own, of_firmware) = [line for line in asked if " install " in f" {line} "]
    for package in ("fuse3", "libfuse3-dev", "pkg-config", "chromium", "groff-base", "ninja-build", "qemu-user", "qemu-system-x86",
                    "clang", "lld", "wasi-libc", "libclang-rt-dev-wasm32"):
        assert package in own.split()
    assert "gcc-arm-none-eabi" in of_firmware.split()
    assert machine(0)[1] == [] and machine(1000)[0].returncode == 0  # all is there


def test_what_is_missing_is_said_to_others(machine):
    for user, options in ((1000, ()), (1000, ("--check",)), (0, ("--check",))):
        done, asked = machine(user, *options)
        assert done.returncode == 1 and asked == []
        assert "as root: apt-get install fuse3 libfuse3-dev pkg-config chromium" in done.stderr
        assert "gcc-arm-none-eabi" in done.stderr
