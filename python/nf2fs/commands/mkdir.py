# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 mkdir`."""

from __future__ import annotations

import posixpath
from typing import Annotated

import typer

from .. import show
from ..errors import NOENT, NF2Error
from ..images import open_image
from ..volume import Volume
from .app import ChipOption, ImageArg, JsonOption, PathsArg, app, print_json


@app.command()
def mkdir(
    image: ImageArg,
    paths: PathsArg,
    parents: Annotated[bool, typer.Option("-p", "--parents", help="Make missing directories above it too; no error if it exists.")] = False,
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make directories."""
    with open_image(image, chip) as volume:
        for path in paths:
            if parents:
                volume.makedirs(path, exist_ok=True)
            else:
                _make(volume, path)
    if as_json:
        print_json({"image": image, "directories": paths})


def _make(volume: Volume, path: str) -> None:
    try:
        volume.mkdir(path)
    except NF2Error as error:
        above = posixpath.dirname(path.rstrip("/"))
        if error.code != NOENT or volume.exists(above):
            raise
        text = f"there is no directory {show.printable(above)}; -p makes it, too"
        raise NF2Error(NOENT, text, path) from None
