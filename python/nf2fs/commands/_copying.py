# SPDX-License-Identifier: BSD-2-Clause
"""What the commands that copy share."""

from __future__ import annotations

import posixpath
from typing import Annotated

import typer

from .. import show, trees
from ..volume import Volume
from .app import note

PreserveOption = Annotated[bool, typer.Option("--preserve", "-p", help=(
    "Keep times of modification, permissions, and attributes (on the host: user.nf2.NUMBER)."))]
INCOMPLETE = 3      # exit code: something could not be copied
LINES_MAX = 200

DecompressOption = Annotated[
    bool,
    typer.Option(
        "--decompress",
        help="Files that put or pack has compressed come out as they were before; others as they are.",
    ),
]


def report_skipped(plan: trees.Plan) -> None:
    for path, reason in plan.skipped:
        note(f"skipped {show.printable(path)}: {reason}")


def report_unread(plan: trees.Plan) -> None:
    for path, reason in plan.unread[:LINES_MAX]:
        note(f"not copied {show.printable(path)}: {reason}")
    if len(plan.unread) > LINES_MAX:
        note(f"and {len(plan.unread) - LINES_MAX} more")


def plan_json(plan: trees.Plan) -> dict:
    """What was copied, and what was not."""
    return {"files": plan.done, "bytes": plan.done_bytes,
            "skipped": [{"path": path, "reason": reason} for path, reason in plan.skipped],
            "not_copied": [{"path": path, "reason": reason} for path, reason in plan.unread]}


def report_unread_owners(unread: list[tuple[str, str]]) -> None:
    for path, reason in unread[:LINES_MAX]:
        note(f"{show.printable(path)}: {reason}: some blocks have no known owner therefore")


def count_text(number: int, size: int) -> str:
    return f"{number} file{'s' * (number != 1)}, {show.size_text(size)}"


def missing(volume: Volume, path: str, remedy: str) -> str | None:
    """Why nothing can be made at `path`: what is above it is not there, or is a file; None: it is
    a directory."""
    above = posixpath.dirname("/" + path.strip("/"))
    place = above
    while place != "/":
        if volume.isfile(place):
            return f"{show.printable(place)} is a file, not a directory; choose another place"
        place = posixpath.dirname(place)
    if volume.exists(above):
        return None
    return f"there is no directory {show.printable(above)}; {remedy}"
