# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 rm`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..images import open_image
from .app import ChipOption, ImageArg, PathsArg, app


@app.command()
def rm(
    image: ImageArg,
    paths: PathsArg,
    recursive: Annotated[bool, typer.Option("-r", "--recursive", help="Folders too, with all in them.")] = False,
    chip: ChipOption = None,
) -> None:
    """Remove files and folders.

    A folder that is not empty only with -r.
    """
    with open_image(image, chip) as volume:
        for path in paths:
            volume.remove(path, recursive=recursive)
