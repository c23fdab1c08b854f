# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 dump`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Optional

import typer

from .. import checking, show
from .. import dump as dumping
from ..errors import CORRUPT, IO, NF2Error
from ..images import open_image
from ..layout import Chip
from ..locks import ImageLock
from ._copying import report_unread_owners
from .app import ChipOption, ImageArg, app, note, say


@app.command()
def dump(
    image: ImageArg,
    first: Annotated[
        Optional[int],
        typer.Option(
            "--block",
            metavar="N",
            min=0,
            help="Show this block of the volume; without this option, all blocks.",
        ),
    ] = None,
    count: Annotated[
        Optional[int],
        typer.Option(
            "--count", metavar="N", min=1, help="With --block: show this many blocks, not 1."
        ),
    ] = None,
    used: Annotated[
        bool, typer.Option("--used", help="Show only blocks that hold something.")
    ] = False,
    bytes_too: Annotated[bool, typer.Option("--hex", help="Show the bytes too.")] = False,
    chip: ChipOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
) -> None:
    """Show what is in each block.

    State, wear and owner of each block, and every record in it: of the volume's logs, of the tree,
    and of files that were appended to. Other data is shown as ranges of bytes. Owners are found by
    listing all directories and reading all files. Erases are counted from 0 after a format, as the
    mean of a region of blocks. Of a volume that does not mount the blocks are
    shown without state, wear and owner.

    Exit codes: 0 done; 1 error, or the volume does not mount; 2 wrong usage.
    """
    if count is not None and first is None:
        raise typer.BadParameter("it is for --block only", param_hint="--count")
    shown = Shown(used, bytes_too, as_json)
    wanted = (first or 0, None if first is None else count or 1)
    try:
        volume = open_image(image, chip, read_only=True)
    except NF2Error as error:
        if error.code not in (CORRUPT, IO):
            raise
        note(f"{show.error_line(error)}; the blocks are shown without their owners and wear")
        _unmounted(image, chip, wanted, shown)
        raise typer.Exit(1) from None
    unread: list[tuple[str, str]] = []
    with volume:
        contents = Chip.under(volume)
        for record in dumping.records(volume, *wanted, unread):
            shown.show(record, contents)
    report_unread_owners(unread)


def _unmounted(
    image: str, chip: str | None, wanted: tuple[int, int | None], shown: Shown
) -> None:
    with (
        ImageLock(image, exclusive=False),
        checking.readable(image, chip) as (source, facts, _),
        open(source, "rb") as file,
    ):
        contents = Chip(facts, file.read())
        for record in dumping.records_unmounted(contents, *wanted):
            shown.show(record, contents)


@dataclass(frozen=True)
class Shown:
    """What is shown of the records, and how."""

    used: bool
    bytes_too: bool
    as_json: bool

    def show(self, record: dumping.Record, contents: Chip) -> None:
        if self.used and record.kind == "block" and record.fields["state"] != "used":
            return
        if self.as_json:
            say(json.dumps(dumping.as_json(record)))
            return
        at = record.block * contents.block_size + record.offset
        if record.kind == "block":
            say(f"block {record.block:<6} {at:#010x}  {record.text}")
            return
        say(f"  {at:#010x}  {record.text}")
        if self.bytes_too:
            for line in dumping.hex_lines(contents.read(at, record.length), at):
                say("  " + line)
