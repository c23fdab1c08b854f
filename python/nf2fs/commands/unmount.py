# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 unmount`."""

from __future__ import annotations

from typing import Annotated

import typer

from .app import app, say


@app.command()
def unmount(
    directory: Annotated[
        str, typer.Argument(metavar="DIRECTORY", help="Where the volume is mounted.")
    ],
) -> None:
    """Unmount a volume, and wait until its image is closed."""
    from .. import fuse_unmount

    say(f"{fuse_unmount.unmount(directory)} is unmounted")
