# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 salvage`."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import check_report, interrupts, salvaging
from ._copying import INCOMPLETE, count_text, plan_json, report_skipped, report_unread
from .app import ChipOption, ImageArg, JsonOption, app, print_json, progress, say


@app.command()
def salvage(
    image: ImageArg,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A directory of the host: an empty one, or one to be made.")],
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy what is left in a damaged image to a directory.

    Everything that can be read is copied, even if the volume no longer mounts; the image is only read.
    The name of a file that is older than it was, or that has lost parts, gets ".damaged" at its end;
    lost bytes become zeros; what has lost its name goes into lost+found.

    Exit codes: 0 no damage found; 1 error, or no trace of a volume was found; 2 wrong usage; 3 something
    is damaged, lost or in doubt, and is listed.
    """
    with progress() as bars:
        task = bars.add_task("salvage", total=None)
        try:
            report, plan = salvaging.salvage(image, target, chip, lambda size: bars.update(task, total=size),
                                             lambda size: bars.advance(task, size))
        except interrupts.Interrupted as stop:
            stop.done = f"only some of the files are in {target}"
            raise
    interrupts.ignore()
    if as_json:
        print_json(check_report.as_json(report) | {"target": target, "copied": plan_json(plan)})
    else:
        for line in check_report.damage_lines(report):
            say(line)
        report_skipped(plan)
        report_unread(plan)
        say(f"{count_text(plan.done, plan.done_bytes)} copied to {target}; {check_report.data_text(report)}")
    if not report.sound or plan.skipped or plan.unread:
        raise typer.Exit(INCOMPLETE)
