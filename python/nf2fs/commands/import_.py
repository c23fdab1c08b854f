# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 import`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Optional

import typer

from .. import importing, show
from .. import pack as packing
from ._copying import INCOMPLETE
from ._packing import lines, smallest_needs_chip
from .app import JsonOption, app, note, print_json, say, size_option


@app.command("import")
def import_command(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="An image of a LittleFS 2 volume.")
    ],
    image: Annotated[str, typer.Argument(metavar="IMAGE", help="The NF2FS image to make.")],
    chip: Annotated[
        Optional[str],
        typer.Option(
            "--chip",
            metavar="CHIP",
            help="A name from the catalogue, or the path of a chip file. Without it: the smallest "
            "chip of the catalogue that holds everything.",
        ),
    ] = None,
    smallest: Annotated[
        bool,
        typer.Option(
            "--smallest",
            help="Do not fill the chip: make the smallest volume of its geometry that holds "
            "everything.",
        ),
    ] = False,
    free: Annotated[
        str,
        typer.Option(
            "--free", metavar="SIZE", help="Leave this much for more file data: 65536, 64K, 2M."
        ),
    ] = "0",
    offset: Annotated[
        str,
        typer.Option(
            "--offset", metavar="SIZE", help="Where in SOURCE the LittleFS volume begins."
        ),
    ] = "0",
    block_size: Annotated[
        Optional[str],
        typer.Option(
            "--block-size", metavar="SIZE", help="Its block size. Without it: what the volume states, else found by trying."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an image that exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make an image from a LittleFS image.

    SOURCE is only read. Directories, names and contents are taken over; custom attributes are not,
    but they are reported. If a file cannot be read the import stops, and no image is made. Needs
    the Python package littlefs-python (in a copy of the repository `make extras`, or `pip install
    '.[littlefs]'`).

    Exit codes: 0 everything but attributes was taken over; 1 error; 2 wrong usage; 3 something was
    left out, and is listed.
    """
    left_free = size_option(free, "--free")
    smallest_needs_chip(smallest, chip)
    found = importing.read_littlefs(
        source,
        size_option(offset, "--offset"),
        None if block_size is None else size_option(block_size, "--block-size", 1),
    )
    manifest = importing.manifest_of(found, chip, smallest, left_free)
    done = packing.pack(manifest, image, force=force)
    if as_json:
        print_json(
            asdict(done)
            | {
                "littlefs": {"block_size": found.block_size, "blocks": found.block_count},
                "attributes_left_out": found.attributes,
                "bytes_missing": found.missing,
            }
        )
    else:
        report(found, done)
    if done.skipped:
        raise typer.Exit(INCOMPLETE)


def report(found: importing.Imported, done: packing.Packed) -> None:
    for path, reason in done.skipped:
        note(f"left out {show.printable(path)}: {reason}")
    if found.attributes:
        some = ", ".join(show.printable(path) for path in found.attributes[:5])
        more = ", ..." if len(found.attributes) > 5 else ""
        note(
            f"{len(found.attributes)} files or directories have custom attributes, "
            f"which are not taken over: {some}{more}"
        )
    if found.missing:
        note(f"the last {found.missing} bytes of the volume are not in the image; none of them is in use")
    say(f"read a LittleFS volume of {found.block_count} blocks of {found.block_size} bytes")
    for line in lines(done):
        say(line)
