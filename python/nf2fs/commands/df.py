# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 df`."""

from __future__ import annotations

from .. import show
from ..images import open_image
from .app import ChipOption, ImageArg, JsonOption, app, console, print_json, say


@app.command()
def df(image: ImageArg, chip: ChipOption = None, as_json: JsonOption = False) -> None:
    """Show used and free space in whole blocks.

    There may be more free space than it says, never less: blocks of removed and overwritten files
    count as used until they are reclaimed. Writing reclaims them where it needs blocks.
    """
    with open_image(image, chip, read_only=True) as volume:
        if as_json:
            print_json(volume.statfs())
        else:
            console().print(show.df_table(volume))
            say(
                "There may be more free blocks: those of removed and overwritten files "
                "count as used until they are reclaimed."
            )
