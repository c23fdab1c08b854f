# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 format`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from .. import show
from ..images import format_image, in_the_way, open_image
from . import _completing
from .app import ForceOption, ImageArg, JsonOption, app, ask, print_json, say


@app.command("format")
def format_command(
    image: ImageArg,
    chip: Annotated[Optional[str], typer.Option("--chip", metavar="CHIP", autocompletion=_completing.chips, help=(
        "Needed: a name from the catalogue, or the path of a chip file. With @OFFSET+SIZE behind it "
        "(w25q256@1M+4M) the volume takes only that part of the chip."))] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Do not erase now; each block is erased before its first use.")] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make an empty volume in an image file.

    The erases of each block are counted from 0 after the format. Those that the format makes are in the
    total of `nf2 map` alone.

    If the file holds something that would be lost, the command asks first. A chip file, or a part of a
    chip, is remembered in a file beside the image, IMAGE.chip, where the other commands find it.
    """
    if chip is None:
        raise typer.BadParameter("name the chip, for example w25q64; `nf2 chips` lists the names, and a text file can "
                                 "describe another one (see norbench/README.md)", param_hint="--chip")
    found = in_the_way(image, chip)
    if found:
        ask(f"{show.printable(image)} {found}. Formatting destroys its contents", "Format it?", force)
    format_image(image, chip, erase=not quick, force=found is not None)
    with open_image(image, chip, read_only=True) as volume:
        figures = volume.statfs()
        if as_json:
            print_json({"image": image, "chip": volume.chip.name, "space": figures})
            return
        say(f"{image}: {volume.chip.name}, {figures['blocks']} blocks of {figures['block_size']} bytes, "
            f"{figures['available']} for file data")
