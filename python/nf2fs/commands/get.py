# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 get`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from .. import check_report, getting, interrupts, show, trees
from ..errors import INVAL, NOTDIR, NF2Error
from ..images import open_image
from ..volume import Volume
from . import _completing
from ._copying import INCOMPLETE, LINES_MAX, DecompressOption, PreserveOption, count_text, plan_json, report_skipped, report_unread
from .app import ChipOption, ImageArg, JsonOption, app, note, print_json, progress, say


@app.command()
def get(
    image: ImageArg,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A path on the volume.", autocompletion=_completing.paths)],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A directory or file of the host.")],
    decompress: DecompressOption = False,
    preserve: PreserveOption = False,
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy files out of the volume.

    The contents of a directory go into the directory TARGET; a file goes to TARGET, or into it if it is
    a directory. Names that would lead out of TARGET are refused. The volume is checked, and the last
    line says how many bytes carry no check: nobody can tell whether these are as they were written.

    From a damaged volume every file is copied that is whole, and the rest is listed (nf2 salvage copies
    what is left of it). Files that were copied and carry no check are listed, too: they may be damaged.

    With --preserve files get the times, permissions and attributes that the volume has of them.

    Exit codes: 0 everything was copied; 1 error; 2 wrong usage; 3 something was not copied, or the volume
    is damaged: what is missing or in doubt is listed.
    """
    with open_image(image, chip, read_only=True) as volume:
        target = _place(volume, source, target)
        got = getting.plan(volume, source, target)
        plan = got.plan
        plan.decompress = decompress
        with progress() as bars:
            task = bars.add_task("get", total=plan.bytes)
            try:
                getting.run(got, volume, lambda size: bars.advance(task, size), preserve)
            except interrupts.Interrupted as stop:
                stop.done = f"{plan.done} of {len(plan.files)} files were copied to {target}, the others were not"
                raise
    interrupts.ignore()
    if as_json:
        print_json({"image": image, "target": target} | plan_json(plan) | _known_json(got))
    else:
        report_skipped(plan)
        report_unread(plan)
        _report_doubts(got)
        say(f"{count_text(plan.done, plan.done_bytes)} copied from {image}{_known_text(got)}")
        _report_missing(got)
    if plan.skipped or plan.unread or got.damaged:
        raise typer.Exit(INCOMPLETE)


def _known_json(got: getting.Got) -> dict:
    return {
        "damaged": None if got.report is None else got.damaged,
        "not_checked": got.not_checked,
        "not_verifiable": [{"path": path, "bytes": size} for path, size in got.unchecked.items()],
        "doubts": [] if got.report is None else [vars(item) | {"text": got.report.texts[item.state]} for item in got.doubts],
    }


def _known_text(got: getting.Got) -> str:
    if got.not_checked:
        return f"; the volume was not checked: {got.not_checked}"
    if not got.unchecked:
        return ", all of it verified by checks" if got.plan.done and not got.damaged else ""
    return f"; {show.size_text(sum(got.unchecked.values()))} of it carry no check and were not verified"


def _report_doubts(got: getting.Got) -> None:
    """Of a damaged volume: what is not as it was, and what nobody can tell of."""
    if not got.damaged or got.report is None:
        return
    lines = [check_report.item_text(got.report, item) for item in got.doubts]
    lines += [f"NOT VERIFIABLE {path}: {show.size_text(size)} carry no check" for path, size in got.unchecked.items()]
    for line in lines[:LINES_MAX]:
        note(show.printable(line))
    if len(lines) > LINES_MAX:
        note(f"and {len(lines) - LINES_MAX} more")


def _report_missing(got: getting.Got) -> None:
    plan, missing = got.plan, len(got.plan.skipped) + len(got.plan.unread)
    if got.damaged:
        found = f"; {got.found} files were copied that a mount cannot reach" if got.found else ""
        note(f"the volume is damaged (nf2 check says how){found}")
    if missing:
        which = "1 file or directory is" if missing == 1 else f"{missing} files or directories are"
        more = f"; nf2 salvage may read more of {'it' if missing == 1 else 'them'}" if plan.damaged else ""
        note(f"not everything was copied: {which} listed above{more}")


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
