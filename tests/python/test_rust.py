# SPDX-License-Identifier: BSD-2-Clause
"""The crate of rust/: its own tests, as cargo runs them. `make rust` checks more."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "rust"
LIBRARY = os.environ.get("NF2FS_LIBRARY")  # BUILD/release/python/libnf2host.so
BUILD = Path(LIBRARY).parents[2] if LIBRARY else ROOT / "build"
LIMIT_S = 900  # the first run fetches and compiles what the crate needs


def cargo(*words):
    environment = os.environ | {"CARGO_TARGET_DIR": str(BUILD / "rust")}
    return subprocess.run(
        ["cargo", *words],
        cwd=CRATE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )


@pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is missing: the crate was not tested")
def test_the_crate():
    fetched = cargo("fetch")
    if fetched.returncode != 0:
        last = fetched.stderr.strip().splitlines()[-1:]
        pytest.skip(f"cargo could not fetch what the crate needs, so it was not tested: {last}")
    run = cargo("test", "--workspace")
    assert run.returncode == 0, run.stdout + run.stderr
    passed = [int(count) for count in re.findall(r"(\d+) passed; 0 failed", run.stdout)]
    assert len(passed) >= 5 and sum(passed) > 30, run.stdout  # API, power cuts, examples, guide


@pytest.mark.parametrize("path", sorted(CRATE.rglob("Cargo.toml")), ids=lambda path: path.parent.name)
def test_what_the_crates_take_is_pinned(path):
    """There are no lock files: the same versions are built everywhere, as far as the crates say."""
    manifest = tomllib.loads(path.read_text())
    tables = ("dependencies", "dev-dependencies", "build-dependencies")
    taken = [item for table in tables for item in manifest.get(table, {}).items()]
    assert taken
    for name, what in taken:
        if isinstance(what, dict) and "path" in what:
            assert (path.parent / what["path"] / "Cargo.toml").is_file(), name
        else:
            version = what["version"] if isinstance(what, dict) else what
            assert re.fullmatch(r"=\d+\.\d+\.\d+", version), f"{name} = {version}"


def test_the_package_names_what_it_needs():
    """A file that the build needs and the package lacks shows only where somebody uses it."""
    package = tomllib.loads((CRATE / "Cargo.toml").read_text())["package"]
    for needed in ("/src", "/core", "/build.rs", "/layout.c", "/LICENSE"):
        assert needed in package["include"]
    script = (CRATE / "package.sh").read_text()
    for name in package["include"]:
        first = name.strip("/").split("/")[0]
        assert f"/{first}" in script, f"package.sh does not copy {first}"


def test_pages_with_rust_are_tested():
    """Cargo runs the blocks of the pages that the crate of the virtual chip includes."""
    included = (CRATE / "chip" / "src" / "lib.rs").read_text()
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    with_rust = [page for page in pages if "```rust" in page.read_text()]
    assert with_rust
    for page in with_rust:
        assert f'include_str!("../../../{page.relative_to(ROOT)}")' in included
