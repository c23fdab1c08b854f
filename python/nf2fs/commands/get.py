# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 get`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from .. import interrupts, show, trees
from ..errors import INVAL, NOTDIR, NF2Error
from ..images import open_image
from ..volume import Volume
from ._copying import INCOMPLETE, count_text, plan_json, report_skipped, report_unread
from .app import ChipOption, ImageArg, JsonOption, app, note, print_json, progress, say


@app.command()
def get(
    image: ImageArg,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A path on the volume.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A directory or file of the host.")],
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy files out of the volume.

    The contents of a directory go into the directory TARGET; a file goes to TARGET, or into it if it is
    a directory. From a damaged volume everything that can be read is copied, and the rest is listed at
    the end (nf2 salvage may read more of it). Names that would lead out of TARGET are refused.

    Exit codes: 0 everything was copied; 1 error; 2 wrong usage; 3 something was not copied, and is listed.
    """
    with open_image(image, chip, read_only=True) as volume:
        target = _place(volume, source, target)
        plan = trees.plan_get(volume, source, target)
        with progress() as bars:
            task = bars.add_task("get", total=plan.bytes)
            try:
                trees.run_get(volume, plan, target, lambda size: bars.advance(task, size))
            except interrupts.Interrupted as stop:
                stop.done = f"{plan.done} of {len(plan.files)} files were copied to {target}, the others were not"
                raise
    interrupts.ignore()
    incomplete = bool(plan.skipped or plan.unread)
    if as_json:
        print_json({"image": image, "target": target} | plan_json(plan))
        raise typer.Exit(INCOMPLETE if incomplete else 0)
    report_skipped(plan)
    report_unread(plan)
    say(f"{count_text(plan.done, plan.done_bytes)} copied from {image}")
    if incomplete:
        missing = len(plan.skipped) + len(plan.unread)
        which = "1 file or directory is" if missing == 1 else f"{missing} files or directories are"
        more = f"; nf2 salvage may read more of {'it' if missing == 1 else 'them'}" if plan.damaged else ""
        note(f"not everything was copied: {which} listed above{more}")
        raise typer.Exit(INCOMPLETE)


def _place(volume: Volume, source: str, target: str) -> str:
    """Where a file goes that is copied into a directory."""
    entry = volume.stat(source)
    if entry.is_dir() and os.path.lexists(target) and not os.path.isdir(target):
        raise NF2Error(NOTDIR, f"is no directory on the host, and {show.printable(source)} is one of the volume", target)
    if entry.is_dir() or not (os.path.isdir(target) or target.endswith(os.sep)):
        return target
    os.makedirs(target, exist_ok=True)
    reason = trees.refuse_name(entry.name)
    if reason:
        raise NF2Error(INVAL, f"refused: {reason}", source)
    return os.path.join(target, entry.name)
