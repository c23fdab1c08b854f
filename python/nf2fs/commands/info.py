# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 info`."""

from __future__ import annotations

from .. import native, show
from ..images import open_image
from .app import ChipOption, ImageArg, JsonOption, app, console, print_json


@app.command()
def info(image: ImageArg, chip: ChipOption = None, as_json: JsonOption = False) -> None:
    """Show chip, volume, space and wear.

    There may be more free space than it says: blocks of removed and overwritten files count as used
    until they are reclaimed. The erases of a block are counted from 0 after a format.
    """
    with open_image(image, chip, read_only=True) as volume:
        space, health = volume.statfs(), volume.health()
        if as_json:
            print_json({"image": image, "version": native.load().version(), "chip": vars(volume.chip),
                        "space": space, "health": health})
            return
        facts = volume.chip
        rows = [("image", image), ("chip", f"{facts.name}: {facts.description}" if facts.description else facts.name),
                *([("chip file", facts.source)] if facts.source.lower() != facts.name else []),
                ("chip size", f"{show.size_text(facts.size)} ({facts.size} bytes)"),
                ("page, block", f"{facts.page_size}, {facts.block_size} bytes; program unit {facts.program_unit}"),
                ("blocks", f"{space['blocks']}: at least {space['free']} free, {space['erased']} of them erased, {space['bad']} bad"),
                ("for file data", f"at least {space['available']} blocks, {show.size_text(space['available'] * space['block_size'])}"),
                ("erases of a block", f"since the format: min {health['erases_min']}, mean {health['erases_mean']}, max {health['erases_max']}"
                                      f" (good for {facts.endurance})"),
                ("unclean mounts", str(health["mounts_unclean"])), ("library", native.load().version())]
        console().print(show.pairs("", rows))
