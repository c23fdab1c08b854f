# SPDX-License-Identifier: BSD-2-Clause
"""The README's code is the example that is compiled and run."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

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


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_help_names_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = set(" ".join(re.findall(r"^\.PHONY: (.*)$", text, re.M)).split())
    shown = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True, timeout=60, check=True).stdout
    helped = set(re.findall(r"^  make ([a-z-]+)", shown, re.M))
    # Those are steps of others.
    assert targets - helped == {"asan", "freertos", "fatfs", "littlefs", "python", "test-needs", "yaffs2"} and helped <= targets


PAGES = sorted(
    page
    for page in ROOT.rglob("*.md")
    if not re.match(r"build/|\..*?/", str(page.relative_to(ROOT))) and page.name != "CHANGELOG.md"
)


def broken_tables(text):
    """Rows of tables that a blank line parts from their head."""
    lines = ["", *re.sub(r"```.*?```", "", text, flags=re.S).splitlines(), ""]
    begins = [at for at in range(1, len(lines) - 1) if lines[at][:1] == "|" != lines[at - 1][:1]]
    return [lines[at] for at in begins if not re.fullmatch(r"[|:\- ]+", lines[at + 1])]


def test_tables_are_whole():
    found = {str(page): broken_tables(page.read_text(encoding="utf-8")) for page in PAGES}
    assert len(PAGES) > 25 and {name: rows for name, rows in found.items() if rows} == {}
    assert broken_tables("|a|b|\n|---|---:|\n|c|d|\n\n|e|f|\n") == ["|e|f|"]


def unknown_sources(text, known):
    named = re.findall(
        r"(?<![\w/.-])([a-z]\w*\.[ch])\b", re.sub(r"```c.*?```", "", text, flags=re.S)
    )
    return sorted(set(named) - known)


def test_sources_that_are_named_exist():
    """But for the guide's own."""
    folders = (
        "src",
        "include",
        "inspect",
        "repair",
        "vflash",
        "vfs",
        "peers",
        "norbench",
        "python",
        "ports",
        "tests",
    )
    known = {path.name for name in (*folders, "examples") for path in (ROOT / name).rglob("*.[ch]")}
    pages = [page for page in PAGES if page.parent.name != "guide"]
    found = {page.name: unknown_sources(page.read_text(encoding="utf-8"), known) for page in pages}
    assert {name: sources for name, sources in found.items() if sources} == {}
    assert unknown_sources("`run` in `split.c`, alloc.c", known) == ["split.c"]
