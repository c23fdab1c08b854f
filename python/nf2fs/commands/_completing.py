# SPDX-License-Identifier: BSD-2-Clause
"""What a shell is offered for names of chips and for paths of a volume. What goes wrong there is no
news to who presses a key: nothing is offered then.
"""

from __future__ import annotations

import posixpath

import typer

from .. import native
from ..errors import LibraryMissing
from ..images import open_image

MOST = 500  # names of a directory


def chips(incomplete: str) -> list[str]:
    try:
        return [one.name for one in native.load().chips() if one.name.startswith(incomplete.lower())]
    except (OSError, LibraryMissing):
        return []


def paths(ctx: typer.Context, incomplete: str) -> list[str]:
    """Paths of the image that was named before, a directory with a '/' behind it."""
    image = ctx.params.get("image")
    above, begun = posixpath.split(incomplete)
    if not image:
        return []
    found: list[str] = []
    try:
        with open_image(image, ctx.params.get("chip"), read_only=True) as volume:
            for entry in volume.iterdir(above or "/"):
                if entry.name.startswith(begun) and len(found) < MOST:
                    found.append(posixpath.join(above, entry.name) + "/" * entry.is_dir())
    except (OSError, ValueError, LibraryMissing):
        pass
    return found
