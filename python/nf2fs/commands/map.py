# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 map`."""

from __future__ import annotations

import shutil

from rich.console import Console

from .. import show
from ..images import open_image
from .app import ChipOption, ImageArg, JsonOption, app, print_json


@app.command("map")
def map_command(image: ImageArg, chip: ChipOption = None, as_json: JsonOption = False) -> None:
    """Draw the chip's blocks and their wear."""
    with open_image(image, chip, read_only=True) as volume:
        states, erases = volume.blocks()
        if as_json:
            print_json({"image": image, "chip": volume.chip.name, "block_size": volume.statfs()["block_size"],
                        "states": [show.STATES[state] for state in states], "erases": erases,
                        "totals": {name: states.count(state) for state, name in enumerate(show.STATES)},
                        "wear": show.wear_summary(erases)})
            return
        screen = Console(highlight=False, markup=False)
        if not screen.is_terminal:
            screen = Console(highlight=False, markup=False, width=shutil.get_terminal_size((140, 24)).columns)
        show.print_map(screen, volume, states, erases)
