# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 dump`."""

from __future__ import annotations

import json
from typing import Annotated, Optional

import typer

from .. import dump as dumping
from ..images import open_image
from ..layout import Chip
from ._copying import report_unread_owners
from .app import ChipOption, ImageArg, app, say


@app.command()
def dump(
    image: ImageArg,
    first: Annotated[
        Optional[int],
        typer.Option(
            "--block", metavar="N", min=0, help="Show this block of the volume; without this option, all blocks."
        ),
    ] = None,
    count: Annotated[
        int, typer.Option("--count", metavar="N", min=1, help="With --block: show this many blocks.")
    ] = 1,
    used: Annotated[bool, typer.Option("--used", help="Show only blocks that hold something.")] = False,
    bytes_too: Annotated[bool, typer.Option("--hex", help="Show the bytes too.")] = False,
    chip: ChipOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
) -> None:
    """Show what is in each block.

    State, wear and owner of each block, and every record in it: of the volume's logs, of the tree,
    and of files that were appended to. Other data is shown as ranges of bytes. Owners are found by
    listing all directories and reading all files.
    """
    unread: list[tuple[str, str]] = []
    with open_image(image, chip, read_only=True) as volume:
        chip_bytes, size = Chip(volume), volume.statfs()["block_size"]
        for record in dumping.records(volume, first or 0, None if first is None else count, unread):
            if used and record.kind == "block" and record.fields["state"] != "used":
                continue
            if as_json:
                say(json.dumps(dumping.as_json(record)))
                continue
            at = record.block * size + record.offset
            if record.kind == "block":
                say(f"block {record.block:<6} {at:#010x}  {record.text}")
                continue
            say(f"  {at:#010x}  {record.text}")
            if bytes_too:
                for line in dumping.hex_lines(chip_bytes.read(at, record.length), at):
                    say("  " + line)
    report_unread_owners(unread)
