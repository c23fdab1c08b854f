# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 unpack`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated, Optional

import typer

from .. import interrupts, packed_image, show, trees
from ..errors import CORRUPT, IO, NF2Error
from ._copying import INCOMPLETE, count_text
from .app import ImageArg, JsonOption, app, note, print_json, say, size_option


@app.command()
def unpack(
    image: ImageArg,
    directory: Annotated[
        Optional[str],
        typer.Argument(metavar="DIRECTORY", help="Where the files go. Without it they are listed."),
    ] = None,
    offset: Annotated[
        str,
        typer.Option(
            "--offset", metavar="SIZE", help="Where the read-only image begins in the file."
        ),
    ] = "0",
    as_json: JsonOption = False,
) -> None:
    """List the files of a read-only image, or copy them out of it.

    The whole image is checked first. From a damaged one what can be read is copied, and the rest is
    listed. Compressed files come out as they were before. Names that would lead out of DIRECTORY
    are refused.

    Exit codes: 0 everything was read; 1 error; 2 wrong usage; 3 something was not copied, or the
    image is damaged.
    """
    start = size_option(offset, "--offset")
    packed = _open(image, start)
    entries, problems = [], []
    try:
        for entry in packed.walk():
            entries.append(entry)
    except NF2Error as error:
        problems.append((error.path or "", error.text))
    copied = [] if directory is None else list(_copy(packed, entries, directory, problems))
    interrupts.ignore()
    if as_json:
        print_json(
            {
                "image": image,
                "bytes": packed.size,
                "sound": packed.sound,
                "entries": [_facts(one) for one in entries],
                "copied": len(copied),
                "not_copied": [{"path": path, "reason": reason} for path, reason in problems],
            }
        )
    else:
        _report(packed, entries, copied, problems, directory, image)
    if problems or not packed.sound:
        raise typer.Exit(INCOMPLETE)


def _open(image: str, start: int) -> packed_image.PackedImage:
    with open(image, "rb") as file:
        file.seek(start)
        data = file.read()
    try:
        return packed_image.PackedImage(data)
    except NF2Error as error:
        raise NF2Error(error.code, error.text, image) from None


def _facts(entry: packed_image.Entry) -> dict:
    if entry.is_dir():
        return {"path": entry.path, "type": "directory"}
    return {
        "path": entry.path,
        "type": "file",
        "size": entry.size,
        "stored": entry.stored,
        "offset": entry.place,
        "codec": entry.codec,
    }


def _copy(
    packed: packed_image.PackedImage,
    entries: Iterable[packed_image.Entry],
    directory: str,
    problems: list[tuple[str, str]],
) -> Iterable[int]:
    """Yields the size of each file that was copied; what was not is added to `problems`."""
    trees.make_host_directory(directory, directory)
    for entry in entries:
        names = entry.path.strip("/").split("/")
        refused = next((why for name in names if (why := trees.refuse_name(name))), None)
        if refused:
            problems.append((entry.path, f"refused: {refused}"))
            continue
        place = os.path.join(directory, *map(trees.host_name, names))
        try:
            if entry.is_dir():
                trees.make_host_directory(place, directory)
            elif os.path.islink(os.path.dirname(place)) and os.path.dirname(place) != directory:
                problems.append((entry.path, "is in a directory that is not followed"))
            else:
                yield trees.write_host_file(place, [packed.read(entry)])
        except NF2Error as error:
            if error.code not in (CORRUPT, IO):
                raise
            problems.append((entry.path, error.text))


def _report(packed, entries, copied, problems, directory, image) -> None:
    found = [entry for entry in entries if not entry.is_dir()]
    if directory is None:
        for entry in entries:
            what = "" if entry.is_dir() else f"{entry.size:>12}"
            packed_text = f"  {entry.stored} compressed" if entry.codec else ""
            slash = "/" if entry.is_dir() else ""
            say(f"{what:>12}  {show.printable(entry.path)}{slash}{packed_text}")
        say(f"{count_text(len(found), sum(one.size for one in found))} in {packed.size} bytes")
    else:
        say(f"{count_text(len(copied), sum(copied))} copied from {image}")
    for path, reason in problems:
        note(f"{show.printable(path) or image}: {reason}")
    if not packed.sound:
        note(f"{image}: the image is damaged: its bytes are not those that it was made with")
