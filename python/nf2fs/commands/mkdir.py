# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 mkdir`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..images import open_image
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
                volume.mkdir(path)
    if as_json:
        print_json({"image": image, "directories": paths})
