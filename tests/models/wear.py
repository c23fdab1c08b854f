# SPDX-License-Identifier: BSD-2-Clause
"""Compiles wear.c and prints how evenly each set of rules wears a chip."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

RULES = ((0, 8, "none"), (1, 8, "laggards"), (3, 8, "laggards to worn groups"),
         (5, 8, "laggards, worn groups rest"), (7, 8, "all three"), (7, 4, "all three"),
         (7, 2, "all three"), (15, 4, "all three, laggards of the next window"))
MIXES = ((0.5, 0.25), (0.5, 0.02), (0.75, 0.10), (0.75, 0.15))


def build(folder):
    """Compiles the model into a folder. Returns the program."""
    program = Path(folder) / "wear"
    source = Path(__file__).with_name("wear.c")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, "-o", program, source], check=True)
    return program


def run(program, blocks, cold, hot, rules, lag, mean=300):
    """Maximum / mean of the erases, and copies for wear a write."""
    words = [str(word) for word in (blocks, cold, hot, rules, lag, mean)]
    result = subprocess.run([program, *words], check=True, capture_output=True, text=True)
    fields = result.stdout.split()
    return float(fields[8]), float(fields[10])


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        print("MiB  cold  hot   lag  max/mean  copies a write  rules")
        for blocks in (4096, 8192):
            for cold, hot in MIXES:
                for rules, lag, name in RULES:
                    ratio, copies = run(program, blocks, cold, hot, rules, lag)
                    print(f"{blocks // 256:3}  {cold:.2f}  {hot:.2f}  {lag:3}  {ratio:8.2f}"
                          f"  {copies:14.3f}  {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
