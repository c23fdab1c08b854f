# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 diff`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated

import typer

from .. import diff as differing
from .. import show
from ..check_report import count_text
from ..errors import INVAL, NF2Error
from ..images import open_image
from .app import ChipOption, JsonOption, app, note, print_json, say

LINES = {"added": "+", "removed": "-", "changed": "~", "type": "!"}


@app.command()
def diff(
    one: Annotated[
        str, typer.Argument(metavar="ONE", help="An image file, or a directory of the host.")
    ],
    two: Annotated[
        str, typer.Argument(metavar="TWO", help="The image or directory to compare it with.")
    ],
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="Compare only the contents of this directory.")
    ] = "/",
    blocks: Annotated[
        bool,
        typer.Option(
            "--blocks",
            help="Compare the erase blocks of two images byte by byte, instead of their files.",
        ),
    ] = False,
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two images, or an image and a directory.

    Compares the names and contents of files, not where they lie on the chip.

    '+' is only in TWO, '-' only in ONE, '~' has other contents, '!' is a file in one and a
    directory in the other. Where a file that has other contents carries no check in parts, a note says so:
    damage there would look the same as a change.

    Exit codes: 0 no differences; 1 differences; 2 trouble.
    """
    same = _blocks(one, two, chip, as_json) if blocks else _files(one, two, path, chip, as_json)
    if not same:
        raise typer.Exit(1)


def _files(one: str, two: str, path: str, chip: str | None, as_json: bool) -> bool:
    changes = differing.compare_paths(one, two, (chip, chip), path)
    if as_json:
        print_json({"same": not changes, "changes": [asdict(change) for change in changes]})
    for change in [] if as_json else changes:
        name = show.printable(change.path) + "/" * change.is_dir
        say(f"{LINES[change.kind]} {name}{_detail(change)}")
    doubts = sum(change.unverifiable for change in changes)
    if doubts and not as_json:
        note(
            f"{count_text(doubts, 'file')} of those that differ "
            f"{'carries' if doubts == 1 else 'carry'} no check in parts: damage would look the same"
        )
    return not changes


def _detail(change: differing.Change) -> str:
    if change.kind == "changed":
        before, after = change.sizes
        sizes = f"{before} bytes" if before == after else f"{before} and {after} bytes"
        return f"  ({sizes}, from byte {change.first} on)"
    size = change.sizes[0] if change.sizes[0] is not None else change.sizes[1]
    return "" if size is None or change.kind == "type" else f"  ({size} bytes)"


def _blocks(one: str, two: str, chip: str | None, as_json: bool) -> bool:
    for image in (one, two):
        if os.path.isdir(image):
            raise NF2Error(INVAL, "is a directory: it has no blocks", image)
    with open_image(one, chip, read_only=True) as volume:
        block_size = volume.statfs()["block_size"]
    ranges, number = differing.compare_blocks(one, two, block_size)
    count = sum(length for _, length in ranges)
    if as_json:
        print_json(
            {
                "same": not ranges,
                "block_size": block_size,
                "blocks": number,
                "different": count,
                "ranges": [{"first": first, "count": length} for first, length in ranges],
            }
        )
        return not ranges
    for first, length in ranges:
        say(f"{first * block_size:#010x}  {length} block{'s' * (length != 1)}")
    say(f"{count} of {number} blocks of {block_size} bytes differ")
    return not ranges
