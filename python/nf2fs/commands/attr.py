# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 attr`."""

from __future__ import annotations

import time
from typing import Annotated, Optional

import typer

from .. import attributes, show
from ..images import open_image
from .app import ChipOption, ImageArg, JsonOption, PathArg, app, print_json, say

NAMES = {attributes.MODE: "mode", attributes.TIME: "time"}


@app.command()
def attr(
    image: ImageArg,
    path: PathArg,
    put: Annotated[Optional[list[str]], typer.Option("--set", metavar="ID=VALUE", help=(
        "Set an attribute: its number (0x20 to 0x3F, or 32 to 63), and its value as text, or as bytes: hex:0102."))] = None,
    remove: Annotated[Optional[list[str]], typer.Option("--remove", metavar="ID", help="Remove an attribute.")] = None,
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show or change the attributes of a file or directory.

    An attribute is a number and up to 253 bytes; all of one name share 255 bytes, in which each takes two
    more than its value. The time of modification and the mode are attributes, too: `nf2 put --preserve`
    sets them. All that one call sets and removes is one change.
    """
    changes: dict[int, bytes | None] = {}
    for one in put or []:
        identity, equals, value = one.partition("=")
        if not equals:
            raise typer.BadParameter(f"{one!r} is not ID=VALUE", param_hint="--set")
        changes[number_of(identity, "--set")] = value_of(value)
    for one in remove or []:
        changes[number_of(one, "--remove")] = None
    with open_image(image, chip, read_only=not changes) as volume:
        if changes:
            volume.set_attributes(path, changes)
        found = volume.attributes(path)
    if as_json:
        print_json([{"id": number, "bytes": data.hex()} | meaning(number, found) for number, data in found.items()])
    elif not changes:
        for number, data in found.items():
            say(f"{NAMES.get(number, f'{number:#04x}'):<5} {len(data):>4}  {text_of(number, found)}")


def number_of(text: str, option: str) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if not 0 <= number <= 0xFF:
        raise typer.BadParameter(f"{text!r} is no id of an attribute", param_hint=option)
    return number


def value_of(text: str) -> bytes:
    if not text.startswith("hex:"):
        return text.encode("utf-8", "surrogateescape")
    try:
        return bytes.fromhex(text.removeprefix("hex:"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} are no bytes", param_hint="--set") from None


def meaning(number: int, found: dict[int, bytes]) -> dict:
    if number == attributes.TIME:
        return {"time": attributes.time_of(found)}
    if number == attributes.MODE:
        return {"mode": attributes.mode_of(found)}
    return {}


def text_of(number: int, found: dict[int, bytes]) -> str:
    mode, seconds = attributes.mode_of(found), attributes.time_of(found)
    if number == attributes.TIME and seconds is not None:
        return time_text(seconds)
    if number == attributes.MODE and mode is not None:
        return f"{mode:04o}"
    try:
        text = found[number].decode()
    except UnicodeDecodeError:
        text = ""
    return show.printable(text) if text.isprintable() and text else f"hex:{found[number].hex()}"


def time_text(seconds: int) -> str:
    """In UTC: an image says the same everywhere."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s since 1970"
