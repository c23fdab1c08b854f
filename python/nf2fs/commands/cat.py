# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 cat`."""

from __future__ import annotations

import sys

from ..errors import ISDIR, NF2Error
from ..images import open_image
from ..volume import COPY_SIZE
from .app import ChipOption, ImageArg, PathsArg, app


@app.command()
def cat(image: ImageArg, paths: PathsArg, chip: ChipOption = None) -> None:
    """Write files to standard output."""
    with open_image(image, chip, read_only=True) as volume:
        for path in paths:
            if volume.stat(path).is_dir():
                raise NF2Error(ISDIR, "is a directory", path)
            with volume.open(path, "rb", buffering=0) as file:
                while piece := file.read(COPY_SIZE):
                    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
