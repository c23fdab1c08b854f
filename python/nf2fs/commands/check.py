# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 check`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from .. import check_report, checking, show
from ..errors import INVAL, NF2Error, LibraryMissing
from .app import ChipOption, ImageArg, JsonOption, app, note, print_json, say


@app.command()
def check(
    image: ImageArg,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Make a consistent volume of what is left in a damaged one. It takes the place of "
            "IMAGE, which is kept as IMAGE.damaged; see --output.",
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
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the volume, or repair a damaged one.

    Every structure is checked, and all data read. Data that carries a check is compared with it;
    the data of large files carries none yet, so damage in it cannot be seen: the last lines say of
    how many files that is so. Without --repair nothing is written. For a damaged volume it is
    listed what can still be read of it: files that are older than they were, of which parts are
    lost, or whose names are lost. A volume that a power cut left, and that the next mount for
    writing completes, is not damaged.

    --repair keeps all that can be kept: what is older than it was, or damaged in part, gets
    ".damaged" behind its name; what has no name any more is in /lost+found. The new volume is
    checked and compared before it gets its name; IMAGE is never written over. Erase counts begin
    anew.

    Exit codes: 0 no damage found (--repair: all that was damaged could be restored); 1 damage
    (--repair: something is lost or in doubt); 2 trouble: there is nothing to check, or no volume
    could be made, and nothing was changed.
    """
    if output is not None and not repair:
        raise typer.BadParameter("is for --repair", param_hint="--output")
    try:
        report = (
            checking.repair_image(image, output, chip) if repair else checking.examine(image, chip)
        )
        if report.hopeless:
            raise NF2Error(INVAL, f"{report.error}, and {report.nothing_left}", image)
    except (NF2Error, LibraryMissing, OSError) as error:
        note(show.error_line(error))
        raise typer.Exit(2) from None
    if as_json:
        print_json(check_report.as_json(report))
    else:
        for line in check_report.as_lines(report):
            say(line)
    if report.lossy or report.cut_short if repair else not report.sound:
        raise typer.Exit(1)
