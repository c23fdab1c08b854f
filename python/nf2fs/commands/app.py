# SPDX-License-Identifier: BSD-2-Clause
"""The `nf2` application: what its commands share."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from .. import __version__
from ..errors import NF2Error
from ..pack_manifest import parse_size
from . import _completing

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Works with image files: the contents of a NOR flash chip, with an NF2FS volume in them. "
    "The image is the first argument: nf2 format flash.img --chip w25q256; "
    "nf2 put flash.img DIR /; nf2 get flash.img / OUT. Exit codes: 0 done; 1 error; 2 wrong usage. "
    "Where a command has other ones its help says so.",
)

ImageArg = Annotated[str, typer.Argument(metavar="IMAGE", help="The image file.")]
PathArg = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="A path on the volume.", autocompletion=_completing.paths
    ),
]
PathsArg = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...", help="Paths on the volume.", autocompletion=_completing.paths
    ),
]
ChipOption = Annotated[
    Optional[str],
    typer.Option(
        "--chip",
        metavar="CHIP",
        autocompletion=_completing.chips,
        help="The chip: a name from the catalogue (`nf2 chips`) or the path of a chip file. "
        "Without it: the chip that is remembered beside the image, or the one that fits the size "
        "of the image and the geometry that its volume states.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def version_option(given: bool) -> None:
    if given:
        say(__version__)
        raise typer.Exit


VersionOption = Annotated[
    bool,
    typer.Option("--version", is_eager=True, callback=version_option, help="Print the version."),
]


@app.callback()
def every_command(version: VersionOption = False) -> None:
    pass


ForceOption = Annotated[bool, typer.Option("-f", "--force", help="Do not ask.")]


def ask(what: str, question: str, forced: bool) -> None:
    """Says what would be lost, and asks; where there is no terminal, only --force goes on."""
    if forced:
        return
    if not sys.stdin.isatty():
        note(f"{what}. Use --force to do it without being asked; nothing was changed")
        raise typer.Exit(1)
    if not typer.confirm(f"{what}. {question}", err=True):
        note("nothing was changed")
        raise typer.Exit(1)


def size_option(text: str, option: str, least: int = 0) -> int:
    """A number of bytes that an option has."""
    try:
        size = parse_size(text, option)
    except NF2Error as error:
        raise typer.BadParameter(
            error.text.removeprefix(f"{option}: "), param_hint=option
        ) from None
    if size < least:
        raise typer.BadParameter(f"{size} is less than {least}", param_hint=option)
    return size


def console() -> Console:
    return Console(highlight=False, markup=False, soft_wrap=True)


def say(text: str) -> None:
    """One line of plain text, never wrapped."""
    print(text)


def say_now(text: str) -> None:
    """A line that somebody waits for: it comes at once, also through a pipe."""
    print(text, flush=True)


def note(text: str) -> None:
    print(f"nf2: {text}", file=sys.stderr)


def print_json(value) -> None:
    say(json.dumps(value, indent=2))


def progress() -> Progress:
    """A bar on a terminal, nothing elsewhere."""
    bars = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=bars,
        transient=True,
        disable=not bars.is_terminal,
    )
