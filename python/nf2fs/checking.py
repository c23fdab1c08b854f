# SPDX-License-Identifier: BSD-2-Clause
"""Checking an image, and making a consistent one of a damaged one. The image itself is only read,
or replaced as a whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from . import chips, files, interrupts, native
from .errors import CORRUPT, EXIST, GEOMETRY, VERSION, NF2Error
from .images import clearer, open_locked, refuse_other
from .locks import ImageLock
from .native import Finding, Item
from .volume import Volume

RANGES_MAX = 100  # lost ranges of one file that a report holds
KEPT = ("complete", "unsure")


@dataclass
class Repaired:
    """What became of a repair."""

    # "none": there was nothing to repair; "resize": to the chip's size; "recovery": what a power cut
    # left; "rebuild": a new volume
    method: str
    output: str | None
    backup: str | None = None  # where the damaged image is kept


@dataclass
class Report:
    """What is wrong with an image, what is left in it, and what became of it."""

    image: str
    chip: native.Chip
    source: str = ""  # what is read: the image, or a copy of the chip's size
    misfit: str | None = None  # the image has not the chip's size
    missing: int = 0  # bytes at its end
    error: str | None = None  # why it does not mount
    left_cleanly: bool | None = None  # None: it does not mount
    wrong: int = 0
    findings: list[Finding] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    unchecked: dict[str, int] = field(default_factory=dict)  # bytes that no check covers, by path
    files: int = 0
    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # of lost bytes, by path
    texts: dict[str, str] = field(default_factory=dict)  # of states of items
    paths: dict[int, str] = field(default_factory=dict)  # of ids in findings
    nothing_left: str | None = None  # why no repair is possible
    lossy: bool = False  # is something lost, or in doubt?
    names_lost: bool = False  # may there have been files that nothing tells of any more?
    space: dict[str, int] | None = None
    health: dict[str, int] | None = None
    repaired: Repaired | None = None

    @property
    def hopeless(self) -> bool:
        """There is no volume, and nothing that one could be made of."""
        return self.error is not None and self.nothing_left is not None

    @property
    def sound(self) -> bool:
        return not (self.error or self.wrong or self.findings or self.lossy or self.misfit)

    @property
    def cut_short(self) -> bool:
        """Is the end of the image missing? What it held is lost, and nothing tells what that
        was."""
        return self.missing > 0

    def affected(self) -> list[Item]:
        """Files and directories that are not as they were, or may not be."""
        return [item for item in self.items if item.left_out or item.state not in KEPT]


# ---- examining ----


def examine(path: str | os.PathLike, chip: str | None = None) -> Report:
    """Checks a volume; where something is wrong, says also what can be read of it."""
    path = os.fspath(path)
    with ImageLock(path, exclusive=False), readable(path, chip) as (source, facts, misfit):
        return examine_readable(path, source, facts, misfit)


def examine_readable(path: str, source: str, facts: native.Chip, misfit: str | None) -> Report:
    """As `examine`, for callers that hold the image and what `readable` gave them of it."""
    report = Report(path, facts, source, misfit, max(0, facts.size - os.path.getsize(path)))
    _check_mounted(report, source)
    if report.error is None and report.wrong == 0 and not report.left_cleanly:
        _check_recovered(report)
    _read_what_is_left(report)
    return report


@contextmanager
def readable(path: str, chip: str | None) -> Iterator[tuple[str, native.Chip, str | None]]:
    """A file of the chip's size to read an image from, the chip, and what is wrong with the image's
    own size.

    An image that is too short gets erased bytes at its end, of one that is too long the beginning
    counts.
    """
    facts = find_chip(path, chip)
    length = os.path.getsize(path)
    if length == facts.size:
        yield path, facts, None
        return
    with files.unfinished("nf2-check-") as directory:
        copy = os.path.join(directory, "image")
        with open(path, "rb") as image, open(copy, "wb") as fitted:
            left = facts.size
            while left > 0 and (piece := image.read(min(1 << 20, left))):
                fitted.write(piece)
                left -= len(piece)
            while left > 0:
                left -= fitted.write(b"\xff" * min(1 << 20, left))
        yield copy, facts, chips.misfit(length, facts.size)


def find_chip(path: str, chip: str | None) -> native.Chip:
    """The chip of an image, which may be damaged.

    The one that is named or remembered, else the one that mounts it, else the one as which most can
    be read of it, else the one that its beginning is of.
    """
    library = native.load()
    kept = chips.remembered(path)
    if chip is not None:
        _refuse_other(path, chip)
        return library.chip(chip)
    size = os.path.getsize(path)
    if kept is not None and not _is_of_another(path, size, kept):
        return library.chip(kept)
    candidates = list(
        {one.geometry: one for one in reversed(library.chips()) if one.size == size}.values()
    )[::-1]
    possible: dict[
        tuple[int, ...], native.Chip
    ] = {}  # by geometry: of what does not mount, but may be
    for one in candidates:
        try:
            with open_locked(path, one.name, None, read_only=True, library=library):
                return one
        except NF2Error as error:
            if error.code != GEOMETRY:
                possible.setdefault(one.geometry, one)
    found = chips.recognise(path, library)
    if found:
        return next(
            (one for one in library.chips() if one.geometry == found.geometry), None
        ) or library.chip(found.generic)
    if not candidates:
        text = f"no volume was found in it, and no chip of the catalogue has its size, {size} bytes"
        raise clearer(NF2Error(GEOMETRY, text, path, "chip"), path)
    choice = list(possible.values()) or candidates[:1]
    return choice[0] if len(choice) == 1 else max(choice, key=lambda one: _promise(path, one))


def _refuse_other(path: str, chip: str) -> None:
    """As another chip there is nothing but damage in a whole image."""
    library = native.load()
    try:
        open_locked(path, chip, None, read_only=True, library=library).close()
    except NF2Error as error:
        refuse_other(error, path, chip, library)


def _is_of_another(path: str, size: int, kept: str) -> bool:
    """Is what is remembered of another image, and this one that of a chip which it names itself?"""
    library = native.load()
    try:
        open_locked(path, kept, None, read_only=True, library=library).close()
        return False
    except NF2Error as error:
        found = chips.recognise(path, library) if error.code == GEOMETRY else None
        return found is not None and found.size == size


def _promise(path: str, chip: native.Chip) -> tuple[int, int]:
    """How much can be read of an image as that of a chip."""
    try:
        repair = native.load().open_repair(chip.source, path)
    except NF2Error:
        return 0, 0
    try:
        items = repair.items()
        return sum(item.state in KEPT for item in items), len(items)
    finally:
        repair.close()


def _mounted(report: Report, path: str, read_only: bool) -> Volume:
    return open_locked(path, report.chip.source, None, read_only=read_only, library=native.load())


def _check_mounted(report: Report, path: str) -> None:
    try:
        with _mounted(report, path, True) as volume:
            if report.left_cleanly is None:
                report.left_cleanly = volume.left_cleanly()
            report.wrong, report.findings = volume.check()
            report.space, report.health = volume.statfs(), _health(volume, report.wrong > 0)
    except NF2Error as error:
        if error.code == VERSION:
            raise NF2Error(VERSION, error.text, report.image) from None
        report.error = error.text


def _health(volume: Volume, damaged: bool) -> dict[str, int] | None:
    """What is on record of wear may itself be in what is damaged."""
    try:
        return volume.health()
    except NF2Error:
        if not damaged:
            raise
        return None


def _check_recovered(report: Report) -> None:
    """What a power cut left is settled by the first change after a mount, or by the unmount: the
    check is of a copy that was mounted for writing and unmounted."""
    with files.unfinished("nf2-check-") as directory:
        copy = os.path.join(directory, "image")
        shutil.copyfile(report.source, copy)
        try:
            with _mounted(report, copy, False):
                pass
        except NF2Error as error:
            report.error = f"cannot be mounted for writing: {error.text}"
            return
        _check_mounted(report, copy)


def _read_what_is_left(report: Report) -> None:
    """
    A mount takes damage at the end of a log for what a power cut left. Where the volume was left
    cleanly it is known to be damage; where power was cut, the mount's view counts if nothing is
    wrong with it.
    """
    try:
        repair = native.load().open_repair(report.chip.source, report.source)
    except NF2Error as error:
        report.nothing_left = error.text
        return
    try:
        _take_over(report, repair)
        if (
            report.error is None
            and report.wrong == 0
            and not (report.left_cleanly and repair.clean())
        ):
            report.findings, report.lossy, report.names_lost = [], False, False
            report.items = []
    finally:
        repair.close()


def _take_over(report: Report, repair: native.Repair) -> None:
    report.items, report.lossy = repair.items(), repair.lossy()
    report.files = sum(not item.is_dir for item in report.items)
    report.unchecked = {item.path: item.unchecked for item in report.items if item.unchecked}
    report.names_lost = repair.names_lost()
    report.findings = repair.findings() or report.findings
    report.texts = {state: repair.state_text(state) for state in native.ITEM_STATES}
    for number, item in enumerate(report.items):
        if item.lost:
            report.ranges[item.path] = repair.lost_ranges(number, RANGES_MAX)
    for finding in report.findings:
        if (
            finding.id is not None
            and finding.id not in report.paths
            and (path := repair.path_of(finding.id)) is not None
        ):
            report.paths[finding.id] = path


# ---- repairing ----


def repair_image(
    path: str | os.PathLike, output: str | os.PathLike | None = None, chip: str | None = None
) -> Report:
    """
    Makes a consistent image: in a new file `output`, else in the place of the image, which is kept
    beside it. A file that is there already is never written over. Raises NF2Error where no volume
    can be made; nothing has changed then.
    """
    path = files.followed(path)
    output = os.fspath(output) if output is not None else None
    if output is not None and os.path.lexists(output):
        raise NF2Error(EXIST, "exists already", output, "new")
    with ImageLock(path, exclusive=output is None), readable(path, chip) as (source, facts, misfit):
        report = examine_readable(path, source, facts, misfit)
        if report.sound and report.left_cleanly and output is None:
            report.repaired = Repaired("none", None)
            return report
        try:
            with files.beside(output or path) as temporary:
                method = _mend(report, temporary)
                shutil.copymode(path, temporary)
                with interrupts.shield():
                    report.repaired = _publish(report, temporary, method, output)
        except NF2Error as error:
            if error.path == output:
                raise
            raise NF2Error(error.code, f"no volume could be made: {error.text}", path) from None
        return report


def _mend(report: Report, temporary: str) -> str:
    """Writes the new image; says by which method."""
    if report.error is None and not (report.wrong or report.findings or report.lossy):
        shutil.copyfile(report.source, temporary)
        if report.left_cleanly:
            return "resize" if report.misfit else "none"
        with _mounted(report, temporary, False):
            pass
        method = "recovery"
    else:
        _rebuild(report, temporary)
        method = "rebuild"
    _prove(report, temporary)
    return method


def _publish(report: Report, temporary: str, method: str, output: str | None) -> Repaired:
    if output is not None:
        chips.remember(output, report.chip, native.load())
        files.publish_new(temporary, output)
        return Repaired(method, output)
    files.sync(temporary)
    backup = files.keep(report.image)
    try:
        chips.remember(backup, report.chip, native.load())
    except NF2Error:
        pass  # a file of the user's own is in the way: the image is kept all the same
    files.publish_over(temporary, report.image)
    return Repaired(method, report.image, backup)


def _rebuild(report: Report, target: str) -> None:
    library = native.load()
    repair = library.open_repair(report.chip.source, report.source)
    try:
        shutil.copyfile(report.source, target)  # what lies outside of the volume stays
        image = library.open_image(report.chip.source, target, False)
        try:
            image.format(True)
            image.mount(False)
            repair.write(image)
            image.unmount()
            image.flush()
            image.mount(True)
            repair.verify(image)
            image.unmount()
        finally:
            image.close()
        _take_over(report, repair)
    finally:
        repair.close()


def _prove(report: Report, path: str) -> None:
    """The new image mounts for writing, and nothing is wrong with it."""
    with _mounted(report, path, False):
        pass
    with _mounted(report, path, True) as volume:
        wrong, _ = volume.check()
        report.space, report.health = volume.statfs(), volume.health()
    if wrong:
        raise NF2Error(
            CORRUPT, f"the repaired volume has {wrong} faults: it was not kept", report.image
        )
