# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 check`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from .. import check_report, checking
from ..errors import INVAL, NF2Error
from ..images import clearer
from .app import ChipOption, ImageArg, JsonOption, app, print_json, say

NOT_VERIFIED = 3


@app.command()
def check(
    image: ImageArg,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Make a consistent volume from what is left of a damaged one. It takes the place "
            "of IMAGE, which is kept as IMAGE.damaged; see --output.",
        ),
    ] = False,
    output: Annotated[
        Optional[str],
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="With --repair: write the new volume to this file, "
            "which must not exist, and leave IMAGE alone.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="End with exit code 3 where no damage was found, but not all data could be verified.",
        ),
    ] = False,
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the volume, or repair a damaged one.

    Checks every structure and reads all data. Data that carries a check is compared with it. Data
    of files of 216 bytes and more carries none, but for what was appended to them in small pieces after that, so damage
    there cannot be seen; the last lines say how many files and bytes that concerns. Without --repair nothing is written. For a damaged volume the command
    lists the files that are older than they were, that have lost parts, or that have lost their
    names. A volume is not damaged if power was cut and the first change after a mount settles that.

    --repair keeps everything that can be kept. The name of a file that is older than it was, or
    that has lost parts, gets ".damaged" at its end; what has lost its name goes into /lost+found.
    The new volume is checked and compared before it takes the place of IMAGE; the damaged image is
    never written to. Erase counts start from zero again.

    Exit codes: 0 no damage found (--repair: everything that was damaged could be restored); 1
    damage (--repair: something is lost or in doubt); 2 trouble: there is nothing to check, or no
    volume could be made, and nothing was changed; 3 with --strict: no damage was found (--repair: nothing is lost), but some data carries
    no check.
    """
    if output is not None and not repair:
        raise typer.BadParameter("it is for --repair only", param_hint="--output")
    try:
        report = (
            checking.repair_image(image, output, chip) if repair else checking.examine(image, chip)
        )
        if report.hopeless:
            raise NF2Error(INVAL, f"{report.error}, and {report.nothing_left}", image)
    except NF2Error as error:
        raise clearer(error, image, chip) from None
    if as_json:
        print_json(check_report.as_json(report))
    else:
        for line in check_report.as_lines(report):
            say(line)
    if report.lossy or report.cut_short if repair else not report.sound:
        raise typer.Exit(1)
    if strict and report.unchecked:
        raise typer.Exit(NOT_VERIFIED)
