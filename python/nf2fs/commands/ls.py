# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 ls`."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import show
from ..images import open_image
from . import _completing
from .app import ChipOption, ImageArg, JsonOption, app, print_json, say


@app.command()
def ls(
    image: ImageArg,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A directory or file on the volume.", autocompletion=_completing.paths)] = "/",
    long: Annotated[bool, typer.Option("-l", "--long", help="Show sizes too.")] = False,
    chip: ChipOption = None, as_json: JsonOption = False,
) -> None:
    """List a directory."""
    with open_image(image, chip, read_only=True) as volume:
        entry = volume.stat(path)
        entries = volume.scandir(path) if entry.is_dir() else [entry]
    if as_json:
        print_json([{"name": one.name, "type": show.type_name(one), "size": one.size} for one in entries])
        return
    for one in entries:
        name = show.printable(one.name) + ("/" if one.is_dir() else "")
        say(f"{'d' if one.is_dir() else 'f'} {one.size:>10}  {name}" if long else name)
