# SPDX-License-Identifier: BSD-2-Clause
"""What `nf2 check` says: lines for people, JSON for programs."""

from __future__ import annotations

from .checking import KEPT, Report
from .native import ITEM_STATES, Finding, Item
from .show import printable, size_text

LINES_MAX = 200  # of one kind, for people; JSON has all


def as_json(report: Report) -> dict:
    counts = {state: sum(item.state == state for item in report.items) for state in ITEM_STATES}
    unchecked = [{"path": path, "bytes": size} for path, size in report.unchecked.items()]
    done = report.repaired
    return {
        "image": report.image,
        "chip": report.chip.name,
        "sound": report.sound,
        "mounts": report.error is None,
        "error": report.error,
        "left_cleanly": report.left_cleanly,
        "wrong": report.wrong,
        "findings": [
            vars(one) | {"path": report.paths.get(one.id or 0)} for one in report.findings
        ],
        "lossy": report.lossy,
        "nothing_left": report.nothing_left,
        "found": counts,
        "size_misfit": report.misfit,
        "names_lost": report.names_lost,
        "data": {
            "files": report.files,
            "files_not_verifiable": len(unchecked),
            "bytes_not_verifiable": sum(report.unchecked.values()),
            "not_verifiable": unchecked,
        },
        "affected": [
            vars(one)
            | {"text": report.texts[one.state], "lost_ranges": report.ranges.get(one.path, [])}
            for one in report.affected()
        ],
        "space": report.space,
        "health": report.health,
        "repair": None
        if done is None
        else {"method": done.method, "output": done.output, "backup": done.backup},
    }


def damage_lines(report: Report) -> list[str]:
    """What is wrong, line by line, and what that leaves; nothing for a sound volume."""
    lines = []
    if report.misfit is not None:
        lines.append(f"SIZE   {report.misfit}")
    if report.error is not None:
        lines.append(f"WRONG  the volume does not mount: {report.error}")
    lines += _some(
        [f"WRONG  {printable(finding_text(report, one))}" for one in report.findings], report.wrong
    )
    lines += _some([printable(item_text(report, one)) for one in report.affected()])
    if not report.sound and report.nothing_left is None:
        lines.append(f"{report.image}: {_found(report)}")
    return lines


def as_lines(report: Report) -> list[str]:
    lines = damage_lines(report)
    lines.append(f"{report.image}: {_verdict(report)}")
    if report.nothing_left is None:
        lines.append(f"data: {data_text(report)}")
    if report.space is not None and report.health is not None:
        used = report.space["blocks"] - report.space["free"] - report.space["bad"]
        lines.append(
            f"blocks: {used} used, {report.space['free']} free, {report.space['bad']} bad; "
            f"unclean mounts since format: {report.health['mounts_unclean']}"
        )
    return lines


def count_text(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def data_text(report: Report) -> str:
    """What is known of the files' contents: only what a check covers is."""
    if not report.files:
        return "no files"
    open_files = len(report.unchecked)
    if not open_files:
        return f"all data of {count_text(report.files, 'file')} verified by checks"
    size = size_text(sum(report.unchecked.values()))
    verified = report.files - open_files
    return (
        f"data of {count_text(open_files, 'file')} not verifiable ({size} carry no check), "
        f"data of {count_text(verified, 'file')} verified by checks"
    )


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
    names = ""
    if finding.first is not None and finding.kind in ("name", "shared"):
        names = f" It is {finding.first}."
    elif finding.first is not None:  # an end may be that of all names
        names = f" The names from {finding.first} to {finding.last or 'the end'} belong there."
    return ", ".join(where) + (": " if where else "") + finding.text + names


def item_text(report: Report, item: Item) -> str:
    if item.left_out:
        return f"LOST   {item.path}: no room for it in the new volume"
    word = {"lost": "LOST", "damaged": "PARTS", "copy": "OLD"}.get(item.state, "DOUBT")
    ranges = report.ranges.get(item.path, [])
    parts = [f"{first} to {behind - 1}" for first, behind in ranges[:5]] + (
        ["..."] if len(ranges) > 5 else []
    )
    lost = f" (zeros for bytes {', '.join(parts)})" if parts else ""
    end = ", and its end" if item.end_lost else ""
    return f"{word:<6} {item.path}: {report.texts[item.state]}{lost}{end}"


def _found(report: Report) -> str:
    """How much of the files and directories there is."""
    kept = sum(item.state in KEPT and not item.left_out for item in report.items)
    left_out = sum(item.left_out for item in report.items)
    lost = sum(item.state == "lost" and not item.left_out for item in report.items)
    sure = all(item.state != "unsure" for item in report.items)
    doubt = "" if sure else ", as far as can be told"
    partly = len(report.items) - kept - lost - left_out
    text = f"{len(report.items)} files and directories found: {kept} complete{doubt}"
    if partly:
        text += f", {partly} in doubt, older than they were, or with lost parts"
    if lost:
        text += f", {lost} of which only the name is left"
    if left_out:
        text += f", {left_out} with no room in the new volume: they are in the damaged image alone"
    if report.names_lost:
        text += ". What else was in the damaged parts is not known: there may have been more files"
    if report.cut_short:
        text += ". What was in the missing bytes is not known"
    return text


def _verdict(report: Report) -> str:
    done = report.repaired
    if done is None:
        return _state(report)
    kept = f"; the image as it was is kept as {done.backup}" if done.backup else ""
    if done.method == "none":
        return f"{_whole(report)}, nothing to repair" + (
            f"; copied to {done.output}" if done.output else ""
        )
    if done.method == "resize":
        return f"the volume's structure was whole; {done.output} has the chip's size" + kept
    if done.method == "recovery":
        return f"{_whole(report)}: what a power cut left open is settled in {done.output}" + kept
    what = (
        "with losses or doubts: see above"
        if report.lossy or report.cut_short
        else "every structure that was damaged could be restored"
    )
    return f"repaired, {what}. The new volume is {done.output}" + kept


def _whole(report: Report) -> str:
    """Of a volume without a fault: no more than was verified."""
    if not report.unchecked:
        return "no damage found: structure and data are whole"
    return "no damage found, but not all data could be verified (see below)"


def _state(report: Report) -> str:
    if report.sound:
        return _whole(report) + (
            ""
            if report.left_cleanly
            else " (power was cut; the first change after a mount settles that)"
        )
    offer = (
        ""
        if report.nothing_left
        else (
            "; nf2 salvage copies out what can be read, "
            "nf2 check --repair makes a new volume from it"
        )
    )
    if report.error is None and not (report.wrong or report.findings or report.lossy):
        return "the structure in it is whole, but the image does not have the chip's size" + offer
    number = max(len(report.findings), report.wrong) + (report.error is not None)
    return f"damaged: {count_text(number, 'fault')} found" + offer
