# SPDX-License-Identifier: BSD-2-Clause
"""Rows on disk: JSON lines as they come, Parquet for other tools; and what a row needs to be made again."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from functools import lru_cache
from pathlib import Path

from . import __version__, bench

SCHEMA = 1


@lru_cache
def digest(path: Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@lru_cache
def sources() -> str:
    """The commit of this source tree, and whether it was changed since; empty elsewhere."""
    root = Path(__file__).resolve().parents[2]
    try:
        done = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def made_with(program: Path, arguments: list[str], files: dict[str, Path] | None = None) -> dict:
    """What makes the row again: the program (by hash), its arguments, the files that they name (by hash), the sources."""
    return {"schema": SCHEMA, "norbench": __version__, "sources": sources(), "program": Path(program).name,
            "program_sha256": digest(Path(program)), "arguments": arguments,
            "files_sha256": {name: digest(path) for name, path in (files or {}).items()}}


# ---- Parquet ----

def flat(row: dict) -> dict:
    """Scalars as they are; lists and objects as JSON text, so that rows of any workload fit into one table."""
    return {key: value if isinstance(value, (str, int, float, bool, type(None))) else json.dumps(value) for key, value in row.items()}


def kind_of(values: list):
    """int, float, bool or str: the narrowest that holds all of them."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool}:
        return bool
    if kinds <= {int}:
        return int
    return float if kinds <= {int, float} else str


def columns(rows: list[dict]) -> dict[str, list]:
    flats = [flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in flats for name in row))
    found = {}
    for name in names:
        values = [row.get(name) for row in flats]
        kind = kind_of(values)
        found[name] = [None if value is None else kind(value) for value in values]
    return found


def write_parquet(path: str | os.PathLike, rows: list[dict]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise bench.BenchError("Parquet needs pyarrow (pip install pyarrow)") from None
    unfinished = f"{path}.unfinished"
    pyarrow.parquet.write_table(pyarrow.table(columns(rows)), unfinished)
    os.replace(unfinished, path)


def read_parquet(path: str | os.PathLike) -> list[dict]:
    """The rows, lists and objects as they were."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise bench.BenchError("Parquet needs pyarrow (pip install pyarrow)") from None
    return [{key: unflat(value) for key, value in row.items() if value is not None} for row in pyarrow.parquet.read_table(path).to_pylist()]


def unflat(value):
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def read_any(path: str | os.PathLike) -> list[dict]:
    return read_parquet(path) if str(path).endswith(".parquet") else bench.read_rows(path)
