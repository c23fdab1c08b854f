# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 cat`."""

from __future__ import annotations

import sys

from .. import trees
from ..errors import ISDIR, NF2Error
from ..images import open_image
from ._copying import DecompressOption
from .app import ChipOption, ImageArg, PathsArg, app


@app.command()
def cat(
    image: ImageArg,
    paths: PathsArg,
    decompress: DecompressOption = False,
    chip: ChipOption = None,
) -> None:
    """Write files to standard output."""
    with open_image(image, chip, read_only=True) as volume:
        for path in paths:
            if volume.stat(path).is_dir():
                raise NF2Error(ISDIR, "is a directory", path)
            for piece in trees.file_pieces(volume, path, decompress):
                sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
