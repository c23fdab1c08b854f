# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 shell`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..images import open_image
from ..shell import Shell, use_readline
from .app import ChipOption, ImageArg, app


@app.command()
def shell(
    image: ImageArg,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Change nothing; others may read the image meanwhile.")
    ] = False,
    chip: ChipOption = None,
) -> None:
    """Work on the volume at a prompt.

    The volume stays mounted, and nobody else may use the image, until `exit` or Ctrl-D. `help` lists the commands, which
    are like those of a shell: ls, cd, cat, put, get, rm and others. Tab completes commands and paths. Each command
    that changes something is on the volume when the next prompt comes. `rm -r` does not ask.

    Where standard input is no terminal its lines are run, and the first one that fails ends the command; a line that begins with # is
    a comment.

    Exit codes: 0 done; 1 error; 2 wrong usage.
    """
    with open_image(image, chip, read_only=read_only) as volume:
        session = Shell(volume, image)
        if not sys.stdin.isatty():
            session.obey(sys.stdin)
            return
        undo = use_readline(session)
        try:
            session.converse()
        finally:
            undo()
