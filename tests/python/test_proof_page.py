# SPDX-License-Identifier: BSD-2-Clause
"""The records of long runs go between the marks of docs/PROOF.md, and nowhere else."""

import json
import subprocess
import sys
from pathlib import Path

import formats
import pytest

ROOT = Path(__file__).resolve().parents[2]
MARKS = ("torture", "peers", "fuzz", "coverage")


def page_of(folder):
    page = folder / "PROOF.md"
    page.write_text("".join(f"# {name}\n<!-- {name}:begin -->\nold {name}\n<!-- {name}:end -->\nbehind {name}\n" for name in MARKS), encoding="utf-8")
    return page


def record(folder, section, content, *more):
    path = folder / "record.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    page = page_of(folder)
    subprocess.run([sys.executable, ROOT / "tools" / "proof_page.py", section, path, "--page", page, *more], check=True, capture_output=True)
    return page.read_text(encoding="utf-8")


def others_kept(text, section):
    return all(f"behind {name}" in text and (f"old {name}" in text) == (name != section) for name in MARKS)


def test_fuzz(tmp_path):
    targets = [{"name": "calls", "what": "lists", "executions": 3_000_000, "calls": 5, "cuts": 7, "seconds": 1500, "corpus": 9, "found": 1}]
    text = record(tmp_path, "fuzz", {"targets": targets}, "--version", "1.2.3")
    assert others_kept(text, "fuzz")
    assert "NF2FS 1.2.3: 3,000,000 executions, 1 inputs that failed." in text
    assert "| calls | lists | 3,000,000 | 5 | 7 | 2,000 | 9 | 1 |" in text
    text = record(tmp_path, "fuzz", {"targets": targets, "versions": {"1.2.2": 1_000_000, "1.2.3": 2_000_000}}, "--version", "1.2.3")
    assert "3,000,000 executions (1,000,000 with 1.2.2, all others with this version), 1 inputs that failed." in text


def test_torture(tmp_path):
    report = {"cuts": 1234, "histories": 5, "calls": 6, "failed": 1, "seed": 7, "seconds": 8.0, "jobs": 1, "read_only_mounts": 2, "emptied": 3,
              "campaigns": [{"name": "scripts", "cells": 1, "histories": 5, "calls": 6, "cuts": 1234, "failures": 1}],
              "cuts_by_what_they_left": {"program, done": 1234}, "mounts_by_what_they_found": {"as before the call": 4}, "cuts_in_a_row": [1000, 234, 0],
              "chips": [{"name": "tiny256k", "cuts": 1234, "mounts": 9, "mount_us_max": 1500, "mounts_above_10_ms": 0, "mounts_with_an_erase": 0,
                         "first_writes": 0, "first_write_us_max": 0, "first_writes_above_10_ms": 0}],
              "failures": [{"campaign": "scripts", "chip": "tiny256k", "times": 1, "text": "something is lost"}]}
    version = tmp_path / "version.txt"
    version.write_text("0.9\n", encoding="utf-8")
    text = record(tmp_path, "torture", report, "--version", f"@{version}")
    assert others_kept(text, "torture")
    assert "NF2FS 0.9: 1,234 cuts in 5 histories of 6 calls, 1 failure." in text
    assert "- scripts, tiny256k, 1 times: something is lost" in text


def test_coverage(tmp_path):
    file = formats.core_folder() / "crc.c"
    source = file.read_text(encoding="utf-8").splitlines()
    place = next(i for i, line in enumerate(source, 1) if line.startswith("    "))
    lines = [{"line_number": place, "count": 0, "branches": []}, {"line_number": place + 1, "count": 3, "branches": [{"count": 1}, {"count": 0}]}]
    text = record(tmp_path, "coverage", {"files": [{"file": str(file.relative_to(ROOT)), "lines": lines}]})
    assert others_kept(text, "coverage")
    assert "50.0% of 2 lines, 50.0% of 2 branches. 1 lines are never reached, 1 of them not explained." in text
    assert "**not explained**" in text


@pytest.mark.parametrize("name", MARKS)
def test_marks_of_the_page(name):
    text = (ROOT / "docs" / "PROOF.md").read_text(encoding="utf-8")
    assert text.count(f"<!-- {name}:begin -->") == text.count(f"<!-- {name}:end -->") == 1
