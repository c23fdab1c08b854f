# SPDX-License-Identifier: BSD-2-Clause
"""The README's code is the example that is compiled and run."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_shows_the_example():
    example = (ROOT / "examples" / "hello.c").read_text()
    shown = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert shown
    for part in shown[0].split("\n\n"):
        assert part.strip() in example


def test_the_readme_names_what_exists():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (ROOT / target).is_file() or target == "docs/FIGURES.md", target
    for target in re.findall(r"\bmake (\w+)", text):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), target
