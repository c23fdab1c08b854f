# SPDX-License-Identifier: BSD-2-Clause
"""Copies what is left in a damaged image to a directory of the host. The image is only read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from . import checking, interrupts, native, trees
from .errors import EXIST, NF2Error
from .images import clearer
from .locks import ImageLock

PIECE = 1 << 20


def salvage(
    path: str | os.PathLike,
    target: str | os.PathLike,
    chip: str | None = None,
    begin: Callable[[int], None] = lambda size: None,
    advance: Callable[[int], None] = lambda size: None,
) -> tuple[checking.Report, trees.Plan]:
    """Copies every file and directory that can be read to `target`, which must be empty or not
    there yet.

    What is older than it was, or damaged in part, gets ".damaged" behind its name, zeros stand in
    for bytes that are lost, and what has no name any more is in lost+found. Returns what was found,
    and what was copied. Raises NF2Error where nothing of a volume is left.
    """
    path, target = os.fspath(path), os.fspath(target)
    if os.path.lexists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise NF2Error(EXIST, "exists and is not an empty directory", target)
    with ImageLock(path, exclusive=False), checking.readable(path, chip) as (source, facts, misfit):
        report = checking.examine_readable(path, source, facts, misfit)
        try:
            repair = native.load().open_repair(facts.source, source)
        except NF2Error as error:
            raise clearer(NF2Error(error.code, error.text, path), path, chip) from None
        try:
            items = repair.items()
            begin(sum(item.size for item in items))
            with interrupts.safe_places():
                return report, _copy(repair, items, target, advance)
        finally:
            repair.close()


def _copy(
    repair: native.Repair, items: list[native.Item], target: str, advance: Callable[[int], None]
) -> trees.Plan:
    plan = trees.Plan()
    os.makedirs(target, exist_ok=True)
    for number, item in enumerate(items):
        place = host_path(target, item.path)
        if place is None:
            plan.skipped.append((item.path, "refused: a name that the host cannot have"))
            continue
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if item.is_dir:
                os.makedirs(place, exist_ok=True)
            elif item.state != "lost":
                plan.done_bytes += trees.write_host_file(
                    place, pieces(repair, number, item.size, advance)
                )
                plan.done += 1
        except NF2Error as error:
            plan.unread.append((item.path, error.text))
    return plan


def host_path(target: str, path: str) -> str | None:
    """Where a path of the volume goes on the host; None: no name of the host can be that."""
    names = [name for name in path.split("/") if name]
    if any(trees.refuse_name(name) for name in names):
        return None
    return os.path.join(target, *(trees.host_name(name) for name in names))


def pieces(
    repair: native.Repair, number: int, size: int, advance: Callable[[int], None]
) -> Iterator[bytes]:
    """A file's bytes, zeros for those that are lost."""
    at = 0
    while at < size and (piece := repair.read(number, at, min(PIECE, size - at))):
        yield piece
        at += len(piece)
        advance(len(piece))
        interrupts.check()
