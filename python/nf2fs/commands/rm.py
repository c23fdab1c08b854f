# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 rm`."""

from __future__ import annotations

import posixpath
from typing import Annotated

import typer

from .. import interrupts, show
from ..errors import INVAL, NF2Error
from ..images import open_image
from ..volume import Volume
from .app import ChipOption, ForceOption, ImageArg, JsonOption, PathsArg, app, ask, note, print_json


@app.command()
def rm(
    image: ImageArg,
    paths: PathsArg,
    recursive: Annotated[bool, typer.Option("-r", "--recursive", help="Remove directories too, with everything in them.")] = False,
    force: ForceOption = False,
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove files and directories.

    A directory that is not empty is removed only with -r, which asks first.
    """
    with open_image(image, chip) as volume:
        for path in paths:
            _refuse(path, recursive)
        names = [name for path in paths for name in below(volume, path, recursive)]
        if len(names) > len(paths):
            what = " ".join(show.printable(path) for path in paths)
            ask(f"{what}: {len(names)} files and directories would be removed", "Remove them?", force)
        remove(volume, names)
    interrupts.ignore()
    if as_json:
        print_json({"image": image, "removed": names})


def _refuse(path: str, recursive: bool) -> None:
    if _is_root(path) and not recursive:
        raise NF2Error(INVAL, "the root cannot be removed; -r removes what is in it", path)


def below(volume: Volume, path: str, recursive: bool) -> list[str]:
    """What goes with a path, in the order in which it can be removed."""
    if not recursive or not volume.stat(path).is_dir():
        volume.stat(path)       # all paths are there before the first one goes
        return [path]
    found = []
    for directory, _, files in reversed(list(volume.walk(path))):
        found += [posixpath.join(directory, name) for name in files]
        if volume.stat(directory).is_dir() and not _is_root(directory):
            found.append(directory)
    return found


def _is_root(path: str) -> bool:
    return posixpath.normpath("/" + path.strip("/")) == "/"


def remove(volume: Volume, names: list[str]) -> None:
    done = 0
    try:
        with interrupts.safe_places():
            for name in names:
                volume.remove(name)
                done += 1
                interrupts.check()
    except (NF2Error, interrupts.Interrupted) as error:
        text = f"{done} of {len(names)} files and directories were removed"
        if isinstance(error, interrupts.Interrupted):
            error.done = f"{text}, the others are as they were"
        elif len(names) > 1:
            note(f"{text} before this:")
        raise
