# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 map`."""

from __future__ import annotations

import shutil
from typing import Annotated, Optional

import typer
from rich.console import Console

from .. import files, show
from ..images import open_image
from .app import ChipOption, ImageArg, JsonOption, app, print_json, say


@app.command("map")
def map_command(
    image: ImageArg,
    html: Annotated[
        Optional[str],
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write a page for a browser instead, which also shows the owner of each block.",
        ),
    ] = None,
    owners: Annotated[
        bool, typer.Option("--owners", help="With --json: show the owner of each block too.")
    ] = False,
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw the chip's blocks and their wear.

    The erases of a block are counted from 0 after a format, as the mean of a region of blocks. Those of
    the format itself are in the total alone.

    Owners are found by listing all directories and reading all files. The page is one file, and a
    browser needs no network to show it.
    """
    if html is not None and as_json:
        raise typer.BadParameter("it makes a page, --json prints", param_hint="--html")
    if owners and not as_json:
        raise typer.BadParameter("it is for --json only", param_hint="--owners")
    from .. import map_html

    with open_image(image, chip, read_only=True) as volume:
        if html is not None:
            with files.beside(html) as temporary:
                with open(temporary, "w", encoding="utf-8") as page:
                    page.write(map_html.page(volume))
                files.publish_over(temporary, html)
            say(f"{html}: the blocks of {image}")
        elif as_json:
            print_json(facts(volume) | (map_html.owner_facts(volume) if owners else {}))
        else:
            draw(volume)


def facts(volume) -> dict:
    states, erases = volume.blocks()
    return {
        "image": volume.path,
        "chip": volume.chip.name,
        "block_size": volume.statfs()["block_size"],
        "states": [show.STATES[state] for state in states],
        "erases": erases,
        "totals": {name: states.count(state) for state, name in enumerate(show.STATES)},
        "wear": show.wear_summary(erases, volume.health()["erases_total"]),
    }


def draw(volume) -> None:
    screen = Console(highlight=False, markup=False)
    if not screen.is_terminal:
        width = shutil.get_terminal_size((140, 24)).columns
        screen = Console(highlight=False, markup=False, width=width)
    show.print_map(screen, volume, *volume.blocks())
