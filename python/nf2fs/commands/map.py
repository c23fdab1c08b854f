# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 map`."""

from __future__ import annotations

import os
import shutil
from typing import Annotated, Optional

import typer
from rich.console import Console

from .. import browser, chips, files, native, show
from ..errors import INVAL, NF2Error
from ..images import open_image
from ..locks import ImageLock
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
    viewer: Annotated[
        Optional[str],
        typer.Option(
            "--viewer",
            metavar="FILE",
            help="Write a page instead that has the image inside, and shows its files, records, wear "
            "and damage. It also opens other images that are dropped on it.",
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
    if viewer is not None:
        if html is not None or as_json:
            raise typer.BadParameter("it makes a page of its own", param_hint="--viewer")
        write_viewer(image, viewer, chip)
        return
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


def write_viewer(image: str, page: str, chip: str | None) -> None:
    """The image need not be one that mounts: the page shows what is left in it."""
    library = native.load()
    module = browser.find_module()
    if module is None:
        raise NF2Error(INVAL, browser.NO_MODULE)
    known = chip or chips.remembered(image)
    with ImageLock(image, exclusive=False):
        with open(image, "rb") as file:
            data = file.read()
    text = browser.chip_text(library.chip(known), library) if known else ""
    inside = browser.Inside(os.path.basename(image), data, text)
    with files.beside(page) as temporary:
        with open(temporary, "w", encoding="utf-8") as made:
            made.write(browser.page("image", module.read_bytes(), inside))
        files.publish_over(temporary, page)
    say(f"{page}: the image {image}, to be looked into with a browser")


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
