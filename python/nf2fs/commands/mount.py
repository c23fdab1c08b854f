# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 mount`."""

from __future__ import annotations

import os
from typing import Annotated, Optional

import typer

from ..errors import INVAL, NOENT, NOTDIR, NOTEMPTY, NF2Error
from .app import ChipOption, ImageArg, app, note, say, say_now


@app.command()
def mount(
    image: ImageArg,
    directory: Annotated[
        str, typer.Argument(metavar="DIRECTORY", help="An empty directory of the host.")
    ],
    read_only: Annotated[bool, typer.Option("--read-only", "-r", help="Change nothing.")] = False,
    background: Annotated[
        bool, typer.Option("--background", "-b", help="Return as soon as the volume is mounted.")
    ] = False,
    allow_other: Annotated[
        bool,
        typer.Option(
            "--allow-other",
            help="Let other users use it too (needs user_allow_other in "
            "/etc/fuse.conf, unless you are root).",
        ),
    ] = False,
    ignore_modes: Annotated[
        bool,
        typer.Option(
            "--ignore-modes",
            help="chmod and chown succeed and change nothing; without this they "
            "fail, since a volume keeps no modes and owners.",
        ),
    ] = False,
    preserve: Annotated[
        bool,
        typer.Option(
            "--preserve",
            help="Keep times of modification and permissions on the volume, as attributes. Each file that was "
            "written costs one more change when it is closed.",
        ),
    ] = False,
    trace: Annotated[
        Optional[str],
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Append each operation of the chip to a file, for `nf2 top`.",
        ),
    ] = None,
    chip: ChipOption = None,
) -> None:
    """Mount the volume on a directory (Linux, FUSE).

    Ctrl-C, SIGTERM or `nf2 unmount DIRECTORY` unmounts it. Whatever a program has synced or closed
    is in the image, even if this command is killed. Without --preserve times are kept only while the volume is
    mounted, and modes not at all; links and owners never are. Needs libfuse 3 and the Python package
    pyfuse3 (in a copy of the repository `make extras`, or `pip install '.[mount]'`).
    """
    if not os.path.isdir(directory):
        code, text = (
            (NOTDIR, "not a directory")
            if os.path.exists(directory)
            else (NOENT, "no such directory")
        )
        raise NF2Error(code, text, directory)
    if os.path.ismount(directory):
        raise NF2Error(INVAL, "something is mounted there already", directory)
    _refuse_full(directory)
    from .. import fuse_run

    arguments = fuse_run.Arguments(
        image, directory, chip, read_only, allow_other, ignore_modes, trace, preserve
    )
    if background:
        fuse_run.start_in_background(arguments)
        say(f"{image} is mounted on {directory}; unmount it with: nf2 unmount {directory}")
        return
    ended_by, lost = fuse_run.run(
        arguments,
        lambda: say_now(
            f"{image} is mounted on {directory}; unmount it with Ctrl-C or: nf2 unmount {directory}"
        ),
    )
    for path, error in lost:
        note(f"{path}: the last writes are lost: {error.strerror}")
    say(f"{image} is unmounted" + (f" ({ended_by})" if ended_by else ""))
    if lost:
        raise typer.Exit(1)


def _refuse_full(directory: str) -> None:
    """A mount would hide what is in it."""
    with os.scandir(directory) as entries:
        if next(entries, None) is not None:
            text = "the directory is not empty; name one that is, or make one with mkdir"
            raise NF2Error(NOTEMPTY, text, directory)
