# SPDX-License-Identifier: BSD-2-Clause
"""Copies files out of a volume, and says what is known of them: the image is checked, and from a
damaged one also those files are copied whole that a mount can no longer reach.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from . import checking, interrupts, native, salvaging, trees
from .errors import INVAL, NF2Error
from .locks import ImageLock
from .show import error_line
from .volume import Volume


@dataclass
class Got:
    """What was copied, and what is known of it."""

    plan: trees.Plan
    source: str  # as the volume's names are compared: one '/' in front of each
    target: str
    report: checking.Report | None = None
    not_checked: str | None = None  # why the image could not be checked
    found: int = 0  # files that were copied although the mount cannot read or list them
    doubts: list[native.Item] = field(default_factory=list)  # among what was asked for
    unchecked: dict[str, int] = field(default_factory=dict)  # bytes that no check covers, by path

    @property
    def damaged(self) -> bool:
        return self.report is not None and not self.report.sound


def plan(volume: Volume, source: str, target: str) -> Got:
    return Got(trees.plan_get(volume, source, target), _plain(source), target)


def run(
    got: Got,
    volume: Volume,
    advance: trees.Advance = lambda size: None,
    preserve: bool = False,
) -> None:
    """Copies what was planned, and what else a damaged image still holds of it; what cannot be read
    is in the plan's `unread`. Errors of the host (a full disk) are raised."""
    trees.run_get(volume, got.plan, got.target, advance, preserve)
    path, chip = volume.path, volume.chip.source
    try:
        with (
            ImageLock(path, exclusive=False),
            checking.readable(path, chip) as (fitted, facts, misfit),
        ):
            got.report = checking.examine_readable(path, fitted, facts, misfit)
            repair = native.load().open_repair(chip, fitted) if got.damaged else None
    except OSError as error:
        got.not_checked = error_line(error)
        return
    if repair is not None:
        try:
            _copy_more(got, repair, advance)
        finally:
            repair.close()
    not_copied = {_plain(name) for name, _ in got.plan.unread}
    copied = {_plain(name) for name, _, _ in got.plan.files} - not_copied
    unchecked = got.report.unchecked.items()
    got.unchecked = {name: size for name, size in unchecked if _plain(name) in copied}
    got.doubts = [item for item in got.report.affected() if _inside(got, item.path) is not None]


def _plain(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)


def _inside(got: Got, path: str) -> str | None:
    """A path from the one on that was asked for; None: it is not in there."""
    top, path = got.source.rstrip("/"), _plain(path)
    return path[len(top) :] if path == top or path.startswith(top + "/") else None


def _copy_more(got: Got, repair: native.Repair, advance: trees.Advance) -> None:
    """Files that are whole, and that the mount could not read or list."""
    places = {_plain(name): place for name, place, _ in got.plan.files}
    passed = {_plain(name) for name, _ in got.plan.skipped}
    unread = {_plain(name) for name, _ in got.plan.unread}
    with interrupts.safe_places():
        for number, item in enumerate(repair.items()):
            path, below = _plain(item.path), _inside(got, item.path)
            if below is None or item.state not in checking.KEPT or path in passed:
                continue
            if not item.is_dir and (path in unread or path not in places):
                place = places.get(path) or salvaging.host_path(got.target, below)
                pieces = salvaging.pieces(repair, number, item.size, advance)
                _copy_one(got, item, place, pieces)
                interrupts.check()


def _copy_one(got: Got, item: native.Item, place: str | None, pieces) -> None:
    plan = got.plan
    try:
        if place is None:
            raise NF2Error(INVAL, "refused: a name that the host cannot have", item.path)
        _make_above(place, got.target)
        size = trees.write_host_file(place, pieces)
    except NF2Error as error:
        plan.unread = _without(plan.unread, item) + [(item.path, error.text)]
        return
    plan.unread = _without(plan.unread, item)
    plan.files = [one for one in plan.files if one[1] != place] + [(item.path, place, size)]
    plan.done, plan.done_bytes, got.found = plan.done + 1, plan.done_bytes + size, got.found + 1


def _without(unread: list[tuple[str, str]], item: native.Item) -> list[tuple[str, str]]:
    return [one for one in unread if _plain(one[0]) != _plain(item.path)]


def _make_above(place: str, target: str) -> None:
    """The directories above a file, none of which may be a symbolic link."""
    above = os.path.dirname(place)
    if place == target or above == target:
        os.makedirs(above or ".", exist_ok=True)
    else:
        _make_above(above, target)
        trees.make_host_directory(above, target)
