# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 mv`."""

from __future__ import annotations

import posixpath
from typing import Annotated

import typer

from ..errors import NOENT, NOTDIR, NF2Error
from ..images import open_image
from . import _completing
from ._copying import missing
from .app import ChipOption, ImageArg, JsonOption, PathArg, app, print_json


@app.command()
def mv(
    image: ImageArg, source: PathArg,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The new path, or a directory to move into.", autocompletion=_completing.paths)],
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move or rename a file or directory.

    If there is a file at the new path, it is replaced in the same instant.
    """
    with open_image(image, chip) as volume:
        if volume.isdir(target) and target.strip("/") != source.strip("/"):
            target = posixpath.join(target, posixpath.basename(source.rstrip("/")))
        try:
            volume.rename(source, target)
        except NF2Error as error:
            text = missing(volume, target, "make it with nf2 mkdir -p") if error.code in (NOENT, NOTDIR) and volume.exists(source) else None
            if text is None:
                raise
            raise NF2Error(error.code, text, target) from None
    if as_json:
        print_json({"image": image, "from": source, "to": target})
