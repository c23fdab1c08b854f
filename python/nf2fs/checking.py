# SPDX-License-Identifier: BSD-2-Clause
"""Checking an image, and making a consistent one of a damaged one. The image itself is only read, or replaced as a whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field

from . import native
from .errors import EXIST, GEOMETRY, INVAL, NOENT, CORRUPT, NF2Error
from .images import open_image
from .native import Finding, Item, Note

RANGES_MAX = 100        # lost ranges of one file that a report holds
KEPT = ("whole", "unsure")


@dataclass
class Repaired:
    """What became of a repair."""
    method: str                 # "none": there was nothing to repair; "recovery": the power cut's; "rebuild": a new volume
    output: str | None
    backup: str | None = None   # where the damaged image is kept


@dataclass
class Report:
    """What is wrong with an image, what is left in it, and what became of it."""
    image: str
    chip: native.Chip
    error: str | None = None            # why it does not mount
    left_cleanly: bool | None = None    # None: it does not mount
    wrong: int = 0
    findings: list[Finding] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)         # of damage, also such as a mount passes over
    items: list[Item] = field(default_factory=list)
    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)      # of lost bytes, by path
    texts: dict[str, str] = field(default_factory=dict)     # of states of items
    paths: dict[int, str] = field(default_factory=dict)     # of ids in findings
    nothing_left: str | None = None     # why no repair is possible
    lossy: bool = False                 # is something lost, or in doubt?
    space: dict[str, int] | None = None
    health: dict[str, int] | None = None
    repaired: Repaired | None = None

    @property
    def hopeless(self) -> bool:
        """There is no volume, and nothing that one could be made of."""
        return self.error is not None and self.nothing_left is not None

    @property
    def sound(self) -> bool:
        return self.error is None and self.wrong == 0 and not self.notes and not self.lossy

    def affected(self) -> list[Item]:
        """Files and directories that are not as they were, or may not be."""
        return [item for item in self.items if item.left_out or item.state not in KEPT]


# ---- examining ----


def examine(path: str | os.PathLike, chip: str | None = None) -> Report:
    """Checks a volume; where something is wrong, says also what can be read of it."""
    path = os.fspath(path)
    report = Report(path, find_chip(path, chip))
    _check_mounted(report, path)
    if report.error is None and report.wrong == 0 and not report.left_cleanly:
        _check_recovered(report)
    _read_what_is_left(report)
    return report


def find_chip(path: str, chip: str | None) -> native.Chip:
    """The chip of an image, which may be damaged: the one that mounts it, else the one as which most can be read of it."""
    library = native.load()
    if not os.path.exists(path):
        raise NF2Error(NOENT, "no such image file", path)
    if not os.path.isfile(path):
        raise NF2Error(INVAL, "not a regular file", path)
    size = os.path.getsize(path)
    if chip is not None:
        facts = library.chip(chip)
        if size != facts.size:
            raise NF2Error(GEOMETRY, f"the image has {size} bytes, chip {facts.name} has {facts.size}", path)
        return facts
    candidates = [one for one in library.chips() if one.size == size]
    if not candidates:
        raise NF2Error(GEOMETRY, f"no chip of the catalogue has {size} bytes: name the chip with --chip", path)
    possible = {}   # by geometry: of what does not mount, but may be
    for one in candidates:
        try:
            with open_image(path, one.name, read_only=True, library=library):
                return one
        except NF2Error as error:
            if error.code != GEOMETRY:
                possible.setdefault((one.page_size, one.block_size, one.program_unit), one)
    choice = list(possible.values()) or candidates[:1]
    return choice[0] if len(choice) == 1 else max(choice, key=lambda one: _promise(path, one))


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


def _check_mounted(report: Report, path: str) -> None:
    try:
        with open_image(path, report.chip.source, read_only=True) as volume:
            if report.left_cleanly is None:
                report.left_cleanly = volume.left_cleanly()
            report.wrong, report.findings = volume.check()
            report.space, report.health = volume.statfs(), volume.health()
    except NF2Error as error:
        report.error = error.text


def _check_recovered(report: Report) -> None:
    """What a power cut left is settled by the next mount for writing: the check is of a copy that was mounted so."""
    with tempfile.TemporaryDirectory(prefix="nf2-check-") as folder:
        copy = os.path.join(folder, "image")
        shutil.copyfile(report.image, copy)
        try:
            with open_image(copy, report.chip.source):
                pass
        except NF2Error as error:
            report.error = f"cannot be mounted for writing: {error.text}"
            return
        _check_mounted(report, copy)


def _read_what_is_left(report: Report) -> None:
    """
    A mount takes damage at the end of a log for what a power cut left. Where the volume was left cleanly it is known to be damage; where
    power was cut, the mount's view counts if nothing is wrong with it.
    """
    try:
        repair = native.load().open_repair(report.chip.source, report.image)
    except NF2Error as error:
        report.nothing_left = error.text
        return
    try:
        _take_over(report, repair)
        if report.error is None and report.wrong == 0 and not (report.left_cleanly and repair.clean()):
            report.notes, report.lossy = [], False
            report.items = []
    finally:
        repair.close()


def _take_over(report: Report, repair: native.Repair) -> None:
    report.items, report.lossy = repair.items(), repair.lossy()
    report.notes = [note for note in repair.notes() if note.kind != "unfinished"]   # such as power cuts leave, also old ones
    report.texts = {state: repair.state_text(state) for state in native.ITEM_STATES}
    for number, item in enumerate(report.items):
        if item.lost:
            report.ranges[item.path] = repair.lost_ranges(number, RANGES_MAX)
    for finding in report.findings:
        if finding.id is not None and finding.id not in report.paths and (path := repair.path_of(finding.id)) is not None:
            report.paths[finding.id] = path


# ---- repairing ----


def repair_image(path: str | os.PathLike, output: str | os.PathLike | None = None, chip: str | None = None) -> Report:
    """
    Makes a consistent image: in a new file `output`, else in the place of the image, which is kept beside it. A file that is there already
    is never written over. Raises NF2Error where no volume can be made; nothing has changed then.
    """
    path = os.path.realpath(path)
    output = os.fspath(output) if output is not None else None
    if output is not None and os.path.lexists(output):
        raise NF2Error(EXIST, "exists already: name a new file", output)
    report = examine(path, chip)
    if report.sound and report.left_cleanly:
        if output is not None:
            with _beside(output) as temporary:
                shutil.copyfile(path, temporary)
                _publish_new(temporary, output)
        report.repaired = Repaired("none", output)
        return report
    with _beside(output or path) as temporary:
        method = "recovery" if report.sound else "rebuild"
        if report.sound:
            shutil.copyfile(path, temporary)
            with open_image(temporary, report.chip.source):
                pass
        else:
            _rebuild(report, temporary)
        _prove(report, temporary)
        shutil.copymode(path, temporary)
        backup = None
        if output is not None:
            _publish_new(temporary, output)
        else:
            _sync(temporary)
            backup = _keep(path)
            os.replace(temporary, path)
            _settle(os.path.dirname(path))
    report.repaired = Repaired(method, output or path, backup)
    return report


def _rebuild(report: Report, target: str) -> None:
    library = native.load()
    repair = library.open_repair(report.chip.source, report.image)
    try:
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
    with open_image(path, report.chip.source):
        pass
    with open_image(path, report.chip.source, read_only=True) as volume:
        wrong, _ = volume.check()
        report.space, report.health = volume.statfs(), volume.health()
    if wrong:
        raise NF2Error(CORRUPT, f"the repaired volume is wrong in {wrong} ways: it was not kept", report.image)


# ---- files ----


@contextmanager
def _beside(path: str):
    """The name of a file that is not there yet, in the same folder; it is removed where it was left."""
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.TemporaryDirectory(prefix=f".{os.path.basename(path)}.", dir=folder) as temporary:
        yield os.path.join(temporary, "image")


def _settle(folder: str) -> None:
    """What was renamed in a folder is on the medium."""
    handle = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync(path: str) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _publish_new(temporary: str, output: str) -> None:
    """Gives a finished file its name, unless there is a file of that name by now."""
    _sync(temporary)
    try:
        os.link(temporary, output)
    except FileExistsError:
        raise NF2Error(EXIST, "exists already: name a new file", output) from None
    except OSError:     # no links here
        if os.path.lexists(output):
            raise NF2Error(EXIST, "exists already: name a new file", output) from None
        os.rename(temporary, output)
    _settle(os.path.dirname(os.path.abspath(output)))


def _keep(path: str) -> str:
    """A second name for a file: path.damaged, with a number where that is taken."""
    number = 0
    while True:
        backup = f"{path}.damaged{'' if number == 0 else f'.{number}'}"
        number += 1
        try:
            os.link(path, backup)
        except FileExistsError:
            continue
        except OSError:     # no links here: a copy
            if os.path.lexists(backup):
                continue
            with _beside(backup) as copy:
                shutil.copy2(path, copy)
                _sync(copy)
                os.rename(copy, backup)
        _settle(os.path.dirname(path))
        return backup
