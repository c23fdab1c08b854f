# SPDX-License-Identifier: BSD-2-Clause
"""Compares norbench-cell with figures that an independent harness measured: programs and erases within 2%.

Usage: check_reference.py NORBENCH_CELL REFERENCE_CSV [FILE_SYSTEM ...]
File systems that this build lacks are left out, and said so.
"""
import csv
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TOLERANCE = 0.02
SLACK = 1  # one page or erase, for rows of a few operations


def run_cell(cell, row):
    command = [cell, "--fs", row["fs"], "--workload", row["workload"], "--state", row["state"]]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(result.stdout) if result.stdout else {"status": result.stderr.strip()}


def differences(row, record):
    if record["status"] != "ok" or not record["verified"]:
        return [record["status"]]
    found = []
    for key in ("program_pages", "erases"):
        expected, measured = int(row[key]), record[key]
        if abs(measured - expected) > max(SLACK, TOLERANCE * expected):
            found.append(f"{key} {measured}, reference {expected}")
    return found


def main():
    cell, reference, *wanted = sys.argv[1:]
    listing = json.loads(subprocess.run([cell, "--list"], capture_output=True, text=True, check=True).stdout)
    present = {entry["name"] for entry in listing["file_systems"]}
    with open(reference, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if not wanted or row["fs"] in wanted]
    for name in sorted({row["fs"] for row in rows} - present):
        print(f"{name}: not in this build")
    rows = [row for row in rows if row["fs"] in present]
    with ThreadPoolExecutor(2) as pool:
        records = list(pool.map(lambda row: run_cell(cell, row), rows))
    failures = 0
    for row, record in zip(rows, records):
        for difference in differences(row, record):
            failures += 1
            print(f"{row['fs']} {row['workload']} {row['state']}: {difference}")
    print(f"{len(rows)} rows compared, {failures} differences")
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
