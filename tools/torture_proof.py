# SPDX-License-Identifier: BSD-2-Clause
"""Shows that the power-cut tests find faults: runs the torture program over a core with each fault of its broken.h.

Each fault must be found, and the core without one must pass the same run. Where that one fails already, only failures of other
kinds count for the faults, and the proof as a whole does not hold.

The core is built once, and the program names the fault.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAULT = re.compile(r"^\s+NF2_FAULT_(\w+) = (\d+),?\s*/\* (.*?) \*/$", re.MULTILINE | re.DOTALL)
BROKEN = ROOT / "src" / "broken.h"


def build(arguments):
    """The torture program over a core with all faults, of which it is told one by its number."""
    folder = arguments.build / "proof"
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DNF2FS_PYTHON=OFF"]
    jobs = ["--parallel", str(arguments.jobs)]
    for command in (
        [arguments.cmake, "-S", ROOT, "-B", folder, *options],
        [arguments.cmake, "--build", folder, "--target", "torture_broken", *jobs],
    ):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(result.stdout + result.stderr)
    return folder / "tests" / "torture_broken"


def run(arguments, program, number, more):
    """Runs it; its report."""
    out = arguments.build / "proof" / f"fault_{number}"
    out.mkdir(parents=True, exist_ok=True)
    fault = ["--fault", str(number)]
    command = [program, "--plain", "--jobs", str(arguments.jobs), "--seed", str(arguments.seed), "--seconds", str(arguments.seconds),
               "--out", out, *fault, *arguments.torture.split(), *more]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return json.loads((out / "report.json").read_text(encoding="utf-8"))


def line_of(name, text, report):
    """What the proof says of a fault."""
    found = report["failures"][:1]
    how = (f"{found[0]['cuts_before']:>7} cuts {report['seconds']:>6.1f} s  {found[0]['campaign']:<10} {found[0]['text'][:90]}"
           if found else f"NOT FOUND in {report['cuts']} cuts")
    return f"{name:<12} {how}    # {' '.join(text.split())}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60, help="for each fault, at most")
    parser.add_argument("--torture", default="", help="further options of the torture program")
    parser.add_argument("--fault", type=int, action="append", help="only these numbers")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    program = build(arguments)
    sound = run(arguments, program, 0, [])
    known = arguments.build / "proof" / "known.txt"
    known.write_text("".join(failure["text"] + "\n" for failure in sound["failures"]), encoding="utf-8")
    lines = [f"without a fault: {sound['cuts']} cuts, {len(sound['failures'])} kinds of failures"]
    lines += [f"    {failure['text']}" for failure in sound["failures"]]
    lines.append(f"{'fault':<12} {'found after':>12}  {'by':<10} {'as'}")
    print("\n".join(lines), flush=True)
    missed = 0
    for name, number, text in FAULT.findall(BROKEN.read_text(encoding="utf-8")):
        if int(number) == 0 or (arguments.fault and int(number) not in arguments.fault):
            continue
        report = run(arguments, program, int(number), ["--first", "--ignore", str(known)])
        missed += not report["failures"]
        lines.append(line_of(name, text, report))
        print(lines[-1], flush=True)
    lines.append(f"{missed} faults were not found" + (", and the core fails without a fault" if sound["failures"] else ""))
    print(lines[-1])
    (arguments.build / "proof" / "proof.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if missed or sound["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
