# SPDX-License-Identifier: BSD-2-Clause
"""A page that shows owner, state and wear of each block; it needs no network and no other file."""

from __future__ import annotations

import json
from pathlib import Path

from . import owners as owning
from . import show

PAGE = Path(__file__).with_name("map_page.html")
SPOT = "@DATA@"


def facts(volume) -> dict:
    """What the page shows."""
    states, erases = volume.blocks()
    seen = owning.find(volume, states)
    found = seen.owners
    wear: dict[owning.Owner, list[int]] = {}
    for owner, count in zip(found, erases, strict=True):
        if owner is not None:
            wear.setdefault(owner, []).append(count)
    index = {owner: number for number, owner in enumerate(wear)}
    return {
        "image": volume.path,
        "chip": volume.chip.description or volume.chip.name,
        "offset": volume.chip.volume_offset,
        "block_size": volume.statfs()["block_size"],
        "state_names": list(show.MEANINGS),
        "kinds": owning.TEXTS,
        "states": list(states),
        "erases": erases,
        "owner": [None if owner is None else index[owner] for owner in found],
        "unread": [
            {"path": show.printable(path), "reason": reason} for path, reason in seen.unread
        ],
        "owners": [_row(owner, counts) for owner, counts in wear.items()],
    }


def _row(owner: owning.Owner, erases: list[int]) -> dict:
    return {
        "kind": owner.kind,
        "text": show.printable(owner.text),
        "blocks": len(erases),
        "erases_mean": sum(erases) / len(erases),
    }


def owner_facts(volume) -> dict:
    """The part of them that tells of owners, for JSON."""
    found = facts(volume)
    return {key: found[key] for key in ("owner", "owners", "unread")}


def page(volume) -> str:
    data = json.dumps(facts(volume)).replace("<", "\\u003c")  # no end of the script inside of it
    return PAGE.read_text(encoding="utf-8").replace(SPOT, data)
