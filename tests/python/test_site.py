# SPDX-License-Identifier: BSD-2-Clause
"""The documentation site: it builds, its links lead somewhere, and all commands and code in its
guide do what it says.
"""

import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from site_blocks import Block, blocks, commands, matches, run_page
from test_mount import unavailable

from nf2fs import browser, native

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
MKDOCS = importlib.util.find_spec("material") and importlib.util.find_spec("mkdocs")


@pytest.fixture
def place(tmp_path):
    """A directory with the sources beside it, and the environment in which `nf2` is this tree's."""
    (tmp_path / "bin").mkdir()
    for name, arguments in (("nf2", "-m nf2fs.cli"), ("python", "")):
        (tmp_path / "bin" / name).write_text(
            f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n'
        )
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "nf2fs").symlink_to(ROOT)
    beside = Path(sys.executable).parent
    path = os.pathsep.join((str(tmp_path / "bin"), str(beside), os.environ["PATH"]))
    environment = os.environ | {
        "PATH": path,
        "PYTHONPATH": str(ROOT / "python"),
        "TERM": "dumb",
        "COLUMNS": "120",
        "NF2FS_LIBRARY": str(native.find_library()),
    }
    return tmp_path / "work", environment


def present():
    """What this machine has, of what some blocks need."""
    found = {
        "fuse": unavailable() is None,
        "littlefs": importlib.util.find_spec("littlefs") is not None,
        "wasm": browser.find_module() is not None,
    }
    return {name for name, is_there in found.items() if is_there}


@pytest.mark.skipif(native.find_library() is None, reason="the compiled library is not built")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_says_is_so(page, place):
    text = page.read_text()
    there = present()
    ran = run_page(text, *place, there)
    needs = {block.attributes.get("requires") for block in blocks(text)}
    if blocks(text) and not needs & (there | {None}):
        pytest.skip(f"this machine has not what all blocks of the page need: {', '.join(needs)}")
    assert ran or not blocks(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_readable(page):
    text = page.read_text()
    assert text.startswith("# ")
    assert not re.search(r"\bfolders?\b(?!\")", text) or page.stem == "glossary"
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert "://" in target or (page.parent / target).is_file(), target
    assert max(map(len, text.splitlines())) <= 160  # a row of a table is one line


@pytest.mark.skipif(not MKDOCS, reason="mkdocs-material is not installed (make extras)")
def test_the_site_is_built_and_needs_no_network(tmp_path):
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--strict",
        "-f",
        str(ROOT / "mkdocs.yml"),
        "-d",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    for page in PAGES:
        name = page.relative_to(ROOT / "docs").with_suffix("")
        built = tmp_path / "site" / ("index.html" if name.name == "index" else f"{name}/index.html")
        text = built.read_text()
        assert not re.search(
            r'<(?:script|img|link)[^>]+(?:src|href)="https?://(?!squidfunk)', text
        ), name
        assert not re.search(r"requires=|```", html.unescape(text)), name  # a block that is none
    if CHROMIUM is None:
        pytest.skip("built; Chromium is missing (Debian: chromium) to look at the calculator")
    page = tmp_path / "site" / "guide" / "lifetime" / "index.html"
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
        "--dump-dom",
        f"file://{page}",
    ]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    days = (16 - 4) * 100000 / (64 * 2)
    assert f"The blocks last {days / 365.25:.3g} years" in shown


# ---- the means by which pages are run ----


def test_blocks_are_found():
    text = 'x\n```console\n$ a\n```\n```c title="x.c" requires="y"\nint x;\n```\n'
    assert blocks(text) == [
        Block("console", "$ a\n", 2, {}),
        Block("c", "int x;\n", 5, {"title": "x.c", "requires": "y"}),
    ]
    assert commands("$ a\nb\n...\n$ c\n[exit code 3]\n") == [("a", "b\n...", 0), ("c", "", 3)]


@pytest.mark.parametrize(
    "expected, printed, same",
    [
        ("", "", True),
        ("a", "a\n", True),
        ("a", "b\n", False),
        ("a", "", False),
        ("", "a\n", False),
        ("a ... c", "a b b c\n", True),
        ("...", "a\nb\n", True),
        ("...", "", True),
        ("a\n...\nz", "a\nb\nc\nz\n", True),
        ("a\n...", "b\n", False),
        ("a.c", "abc\n", False),
    ],
)
def test_what_is_printed_is_compared(expected, printed, same):
    assert matches(expected, printed) == same


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ false\n```\n",
        "```python\nassert False\n```\n",
        "```c\nint x;\n```\n",
        "```console\n$ make -C nf2fs no-such-target\n```\n",
    ],
)
def test_a_page_that_is_wrong_fails(text, place):
    with pytest.raises(AssertionError):
        run_page(text, *place, set())
