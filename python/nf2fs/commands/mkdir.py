# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 mkdir`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import EXIST, NOENT, NOTDIR, NF2Error
from ..images import open_image
from ..volume import Volume
from ._copying import missing
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
        if error.code == EXIST:
            kind = "directory" if volume.isdir(path) else "file"
            raise NF2Error(EXIST, f"a {kind} of this name exists already", path) from None
        text = missing(volume, path, "-p makes it, too")
        if error.code not in (NOENT, NOTDIR) or text is None:
            raise
        raise NF2Error(error.code, text, path) from None
