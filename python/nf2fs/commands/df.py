# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 df`."""

from __future__ import annotations

from .. import show
from ..images import open_image
from .app import ChipOption, ImageArg, JsonOption, app, console, print_json


@app.command()
def df(image: ImageArg, chip: ChipOption = None, as_json: JsonOption = False) -> None:
    """Show used and free space in whole blocks."""
    with open_image(image, chip, read_only=True) as volume:
        if as_json:
            print_json(volume.statfs())
        else:
            console().print(show.df_table(volume))
