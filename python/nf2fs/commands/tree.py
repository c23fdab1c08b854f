# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 tree`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from .. import show
from ..images import open_image
from . import _completing
from .app import ChipOption, ImageArg, JsonOption, app, print_json, say


@app.command()
def tree(
    image: ImageArg,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A directory on the volume.", autocompletion=_completing.paths)] = "/",
    limit: Annotated[Optional[int], typer.Option("--limit", metavar="N", min=1, help="Show at most this many entries of a directory.")] = None,
    chip: ChipOption = None, as_json: JsonOption = False,
) -> None:
    """Draw a directory and everything below it."""
    with open_image(image, chip, read_only=True) as volume:
        if as_json:
            print_json(show.tree_json(volume, path))
            return
        lines, directories, files = show.tree_lines(volume, path, limit)
    for line in lines:
        say(line)
    say(f"{directories} director{'y' if directories == 1 else 'ies'}, {files} file{'s' * (files != 1)}")
