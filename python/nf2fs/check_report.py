# SPDX-License-Identifier: BSD-2-Clause
"""What `nf2 check` says: lines for people, JSON for programs."""

from __future__ import annotations

from .checking import KEPT, Report
from .native import ITEM_STATES, Finding, Item, Note
from .show import printable

LINES_MAX = 200         # of one kind, for people; JSON has all


def as_json(report: Report) -> dict:
    counts = {state: sum(item.state == state for item in report.items) for state in ITEM_STATES}
    done = report.repaired
    return {
        "image": report.image, "chip": report.chip.name, "sound": report.sound, "mounts": report.error is None, "error": report.error,
        "left_cleanly": report.left_cleanly, "wrong": report.wrong,
        "findings": [vars(one) | {"path": report.paths.get(one.id)} for one in report.findings],
        "damage": [vars(one) for one in report.notes],
        "lossy": report.lossy, "nothing_left": report.nothing_left, "found": counts,
        "affected": [vars(one) | {"text": report.texts[one.state], "lost_ranges": report.ranges.get(one.path, [])} for one in report.affected()],
        "space": report.space, "health": report.health,
        "repair": None if done is None else {"method": done.method, "output": done.output, "backup": done.backup},
    }


def as_lines(report: Report) -> list[str]:
    lines = []
    if report.error is not None:
        lines.append(f"WRONG  the volume does not mount: {report.error}")
    lines += _some([f"WRONG  {printable(finding_text(report, one))}" for one in report.findings], report.wrong)
    lines += _some([f"DAMAGE {printable(note_text(one))}" for one in report.notes])
    lines += _some([printable(item_text(report, one)) for one in report.affected()])
    if not report.sound and report.nothing_left is None:
        lines.append(f"{report.image}: {_found(report)}")
    lines.append(f"{report.image}: {_verdict(report)}")
    if report.space is not None and report.health is not None:
        used = report.space["blocks"] - report.space["free"] - report.space["bad"]
        lines.append(f"blocks: {used} used, {report.space['free']} free, {report.space['bad']} bad; "
                     f"unclean mounts since format: {report.health['mounts_unclean']}")
    return lines


def _some(lines: list[str], count: int = 0) -> list[str]:
    count = max(count, len(lines))
    shown = lines[:LINES_MAX]
    return shown + ([f"       and {count - len(shown)} more"] if count > len(shown) else [])


def finding_text(report: Report, finding: Finding) -> str:
    where = [] if finding.block is None else [f"block {finding.block}"]
    if finding.id is not None:
        where.append(report.paths.get(finding.id, f"id {finding.id}"))
    if finding.name is not None:
        where.append(f"name {finding.name}")
    return ", ".join(where) + (": " if where else "") + finding.text


def note_text(note: Note) -> str:
    where = "" if note.block is None else f"block {note.block}: "
    number = f" ({note.number})" if note.number and note.kind != "shared" else ""
    if note.kind == "node":     # a range of names; one end of it may be that of all names
        names = f": names from {note.first or '/'} to {note.last or 'the end'}"
    elif note.last is not None:
        names = f": among names from {note.first} to {note.last}"
    else:
        names = "" if note.first is None else f": {note.first}"
    return where + note.text + number + names


def item_text(report: Report, item: Item) -> str:
    if item.left_out:
        return f"LOST   {item.path}: no room for it in the new volume"
    word = {"lost": "LOST", "damaged": "PARTS", "outdated": "OLD", "copy": "OLD"}.get(item.state, "DOUBT")
    ranges = report.ranges.get(item.path, [])
    parts = [f"{first} to {behind - 1}" for first, behind in ranges[:5]] + (["..."] if len(ranges) > 5 else [])
    lost = f" (zeros for bytes {', '.join(parts)})" if parts else ""
    return f"{word:<6} {item.path}: {report.texts[item.state]}{lost}{', and its end' if item.end_lost else ''}"


def _found(report: Report) -> str:
    """How much of the files and directories there is."""
    kept = sum(item.state in KEPT and not item.left_out for item in report.items)
    rest = len(report.items) - kept
    sure = all(item.state != "unsure" for item in report.items)
    lost = sum(item.state == "lost" or item.left_out for item in report.items)
    return (f"{kept} of {len(report.items)} files and directories are whole{'' if sure else ', as far as can be told'}; "
            f"{rest - lost} are in doubt, older, or damaged in part, {lost} are lost")


def _verdict(report: Report) -> str:
    done = report.repaired
    if done is None:
        if report.sound:
            return "clean, nothing wrong" if report.left_cleanly else "nothing wrong (power was cut; the next mount for writing settles that)"
        return f"{report.wrong or 'some'} thing{'' if report.wrong == 1 else 's'} wrong" + ("" if report.nothing_left else "; nf2 check --repair makes a new volume of what is left")
    if done.method == "none":
        return "nothing wrong, nothing to repair" + (f"; copied to {done.output}" if done.output else "")
    kept = f"; the damaged image is kept as {done.backup}" if done.backup else ""
    if done.method == "recovery":
        return f"nothing was damaged: what a power cut left is settled in {done.output}" + kept
    return (f"repaired, {'with losses or doubts: see above' if report.lossy else 'nothing is lost'}: the new volume is {done.output}" + kept)
