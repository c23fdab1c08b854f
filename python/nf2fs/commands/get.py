# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 get`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from .. import trees
from ..errors import INVAL, NF2Error
from ..images import open_image
from ._copying import report_skipped, summary
from .app import ChipOption, ImageArg, app, progress, say


@app.command()
def get(
    image: ImageArg,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A path on the volume.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A folder or file of the host.")],
    chip: ChipOption = None,
) -> None:
    """Copy files out of the volume.

    A folder's contents go into the folder TARGET, a file to TARGET (or into it, where that is a folder). Names that would lead out of TARGET are refused and make the exit code 1.
    """
    with open_image(image, chip, read_only=True) as volume:
        entry = volume.stat(source)
        if entry.is_file() and (os.path.isdir(target) or target.endswith(os.sep)):
            os.makedirs(target, exist_ok=True)
            reason = trees.refuse_name(entry.name)
            if reason:
                raise NF2Error(INVAL, f"refused: {reason}", source)
            target = os.path.join(target, entry.name)
        plan = trees.plan_get(volume, source, target)
        with progress() as bars:
            task = bars.add_task("get", total=plan.bytes)
            trees.run_get(volume, plan, target, lambda size: bars.advance(task, size))
    report_skipped(plan)
    say(f"{summary(plan)} got from {image}")
    if plan.skipped:
        raise typer.Exit(1)
