# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 format`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..images import format_image, open_image
from .app import ImageArg, app, say


@app.command("format")
def format_command(
    image: ImageArg,
    chip: Annotated[str, typer.Option("--chip", metavar="CHIP", help="A name of the catalogue, or the path of a chip file.")],
    quick: Annotated[bool, typer.Option("--quick", help="Erase blocks later, when they are first used.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that has not the chip's size.")] = False,
) -> None:
    """Make an empty volume on an image file.

    What an image of that size held is lost.
    """
    format_image(image, chip, erase=not quick, force=force)
    with open_image(image, chip, read_only=True) as volume:
        figures = volume.statfs()
        say(f"{image}: {volume.chip.name}, {figures['blocks']} blocks of {figures['block_size']} bytes, "
            f"{figures['available']} for file data")
