# SPDX-License-Identifier: BSD-2-Clause
"""Runs all tests (or parts of them) whatever the first ones find. Says at the end which failed.

    run_tests.py --build FOLDER [--jobs N] [--complete] [asan] [release] [python]

asan: the C tests with sanitizers. release: the benchmark against its reference, a slice of its
long rows, the examples, and the larger slice of power cuts, as they ship. python: the tests of the
host tools. --complete: what is left out counts as a failure, unless no package can bring it.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ONLY_SHIPPED = r"^norbench_(reference(_gpl)?|slice|speed)$"
SHIPPED = r"^(norbench_(reference(_gpl)?|slice|speed)|example_.*|torture|peer_cuts(_gpl)?)$"
PARTS = ("asan", "release", "python")
NOT_POSSIBLE = "not possible here: "  # how the reason of a skip begins that no package can mend
FETCHED = ("littlefs", "fatfs", "yaffs2", "freertos")
# Limits are for hangs. A test has one of its own; these are for what has none.
STEP_S = 3600
CTEST_S = 600


@dataclass
class Step:
    """A build, or tests (`results`: the file that they write, in JUnit's form)."""

    name: str
    command: list
    folder: Path = ROOT
    results: Path | None = None
    needs: str | None = None  # a step before, without which this one makes no sense
    again: str = ""  # the command that repeats one of the tests
    limit_s: float = STEP_S


@dataclass
class Outcome:
    tests: int = 0
    skipped: Counter = field(default_factory=Counter)  # by their reasons
    failed: list = field(default_factory=list)  # lines


def name_of(case):
    """A Python test is named with its file, so that pytest finds it by that."""
    group = case.get("classname", "")
    return (
        f"{group.replace('.', '/')}.py::{case.get('name')}"
        if group.startswith("tests.")
        else case.get("name")
    )


def read_results(step, outcome):
    """Adds what the results say. Whether there are any."""
    try:
        cases = list(ElementTree.parse(step.results).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return False
    for case in cases:
        bad = (
            case.find("failure") is not None
            or case.find("error") is not None
            or case.get("status") in ("fail", "notrun")
        )
        outcome.tests += 1
        skipped = case.find("skipped")
        if skipped is not None and not bad:
            outcome.skipped[skipped.get("message") or f"{name_of(case)} says no reason"] += 1
        if bad:
            again = step.again.format(name=name_of(case), pattern=re.escape(name_of(case)))
            outcome.failed.append(
                f"{step.name}: {name_of(case)}" + (f"    (again: {again})" if again else "")
            )
    return bool(cases)


def run_command(step):
    """Its exit code; what hangs is ended, with all that it started."""
    try:
        process = subprocess.Popen(
            [str(word) for word in step.command], cwd=step.folder, start_new_session=True
        )
    except OSError as error:
        print(error, flush=True)
        return 127
    try:
        return process.wait(timeout=step.limit_s)
    except BaseException as stop:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(stop, subprocess.TimeoutExpired):
            raise
        print(f"{step.name}: ended after {step.limit_s} s", flush=True)
        return 124


def run_step(step, outcome):
    """Whether it went well; what failed is in the outcome."""
    if step.results:
        step.results.unlink(missing_ok=True)
    failed_before = len(outcome.failed)
    code = run_command(step)
    told = read_results(step, outcome) if step.results else False
    if step.results and not told and code == 0:
        code = 1  # no test at all is no success
    if code != 0 and len(outcome.failed) == failed_before:
        outcome.failed.append(f"{step.name}: exit code {code}")
    return code == 0


def left_out(outcome, build):
    """Lines on what did not run: which can be mended, and which cannot."""
    reasons = [f"{count} tests: {why}" for why, count in sorted(outcome.skipped.items())]
    fixed = [line for line in reasons if f": {NOT_POSSIBLE}" in line]
    absent = [name for name in FETCHED if build and not (build / name / "fetched").exists()]
    mendable = [line for line in reasons if line not in fixed]
    return mendable + [f"all that needs {name}: it could not be fetched" for name in absent], fixed


def run(steps, build=None, complete=False):
    """All steps but those whose need failed. Prints the sum; the exit code."""
    begun, outcome, went_well = time.monotonic(), Outcome(), {}
    for number, step in enumerate(steps, 1):
        if step.needs and not went_well.get(step.needs, True):
            went_well[step.name] = False
            outcome.failed.append(f"{step.name}: not run, since this failed: {step.needs}")
            continue
        so_far = int(time.monotonic() - begun)
        print(f"\n==== {number} of {len(steps)}: {step.name}, {so_far} s so far", flush=True)
        went_well[step.name] = run_step(step, outcome)
    seconds = int(time.monotonic() - begun)
    count = outcome.skipped.total()
    skipped = f", {count} of them skipped" if count else ""
    print(f"\n==== {outcome.tests} tests in {seconds // 60} min {seconds % 60} s{skipped}")
    mendable, fixed = left_out(outcome, build)
    for line in mendable + fixed:
        print(f"LEFT OUT  {line}")
    if complete and mendable:
        outcome.failed.append(f"{len(mendable)} lines above begin with LEFT OUT: nothing may be")
    for line in outcome.failed:
        print(f"FAILED  {line}")
    print(f"{len(outcome.failed)} failures" if outcome.failed else "all passed", flush=True)
    return 1 if outcome.failed else 0


def steps_of(arguments):
    build, tools = arguments.build, arguments.build / "venv" / "bin"
    make = ["make", f"BUILD={build}", f"JOBS={arguments.jobs}"]
    results = build / "results"
    ctest = [tools / "ctest", "--output-on-failure", "--parallel", arguments.jobs]
    ctest += ["--timeout", CTEST_S, "--output-junit"]
    steps = []
    if "asan" in arguments.parts:
        steps += [
            Step("build with sanitizers", [*make, "asan"]),
            Step(
                "C tests with sanitizers",
                [*ctest, results / "asan.xml", "--exclude-regex", ONLY_SHIPPED],
                build / "asan",
                results / "asan.xml",
                "build with sanitizers",
                f"cd {build / 'asan'} && {tools / 'ctest'} -R '^{{pattern}}$'",
            ),
        ]
    if "release" in arguments.parts or "python" in arguments.parts:
        steps.append(Step("build as it ships", [*make, "release"]))
    if "release" in arguments.parts:
        steps.append(
            Step(
                "C tests as they ship",
                [*ctest, results / "release.xml", "--tests-regex", SHIPPED],
                build / "release",
                results / "release.xml",
                "build as it ships",
                f"cd {build / 'release'} && {tools / 'ctest'} -R '^{{pattern}}$'",
            )
        )
    if "python" in arguments.parts:
        steps.append(
            Step(
                "Python tests",
                [
                    tools / "python",
                    "-m",
                    "pytest",
                    "-q",
                    "-rs",
                    # The files with the longest tests first, so that no process is left with one.
                    *("--numprocesses", arguments.jobs, "--dist=loadfile"),
                    "--no-loadscope-reorder",
                    f"--junitxml={results / 'python.xml'}",
                    "tests/ports",
                    "tests/models",
                    "tests/python",
                ],
                ROOT,
                results / "python.xml",
                "build as it ships",
                f"{tools / 'python'} -m pytest '{{name}}'",
            )
        )
    return steps


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    arguments.parts = arguments.parts or list(PARTS)
    (arguments.build / "results").mkdir(parents=True, exist_ok=True)
    return run(steps_of(arguments), arguments.build, arguments.complete)


if __name__ == "__main__":
    sys.exit(main())
