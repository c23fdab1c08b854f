# SPDX-License-Identifier: BSD-2-Clause
"""What the commands that make images share."""

from __future__ import annotations

import typer

from .. import pack as packing
from .. import show


def smallest_needs_chip(smallest: bool, chip: str | None) -> None:
    if smallest and chip is None:
        raise typer.BadParameter("it needs --chip NAME, whose pages and blocks the small volume gets (`nf2 chips` lists the names)", param_hint="--smallest")


def rule(target: str, sources: list[str]) -> str:
    """A rule of make: target and what it depends on."""

    def quoted(path: str) -> str:
        return path.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")

    return f"{quoted(target)}: \\\n" + " \\\n".join(f"  {quoted(one)}" for one in sources) + "\n"


def lines(done: packing.Packed) -> list[str]:
    of = f"a {done.chip}" if done.chip else "a volume of its own size"
    found = [f"{done.image}: {done.size} bytes, {of}, SHA-256 {done.sha256}"]
    for one in done.partitions:
        named = f" (--chip {one.chip})" if one.chip else ""
        left = "" if one.free is None else f"; {show.size_text(one.free)} free"
        found.append(
            f"  {one.offset:#010x}  {show.size_text(one.size):>10}  {one.name}: "
            f"{one.files} file{'s' * (one.files != 1)}, {show.size_text(one.bytes)}{left}{named}"
        )
    return found
