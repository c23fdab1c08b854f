# SPDX-License-Identifier: BSD-2-Clause
"""Image files: making them, and finding out which chip an image belongs to."""

from __future__ import annotations

import os
from pathlib import Path

from . import native
from .errors import BLANK, CORRUPT, FOREIGN, GEOMETRY, INVAL, NOENT, NF2Error
from .volume import Volume


def format_image(path: str | os.PathLike, chip: str, *, erase: bool = True, force: bool = False, library=None) -> None:
    """Makes an empty volume on an image file of the chip's size; what an image of that size held is lost.

    A file of another size is replaced only with `force`.
    """
    library = library or native.load()
    path, facts = os.fspath(path), library.chip(chip)
    if os.path.exists(path):
        if not os.path.isfile(path):
            raise NF2Error(INVAL, "not a regular file", path)
        size = os.path.getsize(path)
        if size != facts.size:
            if not force:
                raise NF2Error(INVAL, f"exists with {size} bytes, chip {facts.name} has {facts.size}: "
                                      "use --force to replace it", path)
            os.unlink(path)
    image = library.open_image(chip, path, False)
    try:
        image.format(erase)
        image.flush()
    except NF2Error as error:
        raise NF2Error(error.code, error.text, path) from None
    finally:
        image.close()


def open_image(path: str | os.PathLike, chip: str | None = None, *, read_only: bool = False, library=None) -> Volume:
    """Mounts the volume of an image file.

    Without `chip` each chip of the catalogue with the file's size is tried until the volume's own
    geometry agrees with one.
    """
    library = library or native.load()
    path = os.fspath(path)
    if not os.path.exists(path):
        raise NF2Error(NOENT, "no such image file", path)
    if not os.path.isfile(path):
        raise NF2Error(INVAL, "not a regular file", path)
    if chip is not None:
        return _open_as(library, path, chip, read_only)
    return _open_as_any(library, path, read_only)


def _open_as(library, path: str, chip: str, read_only: bool) -> Volume:
    facts = library.chip(chip)
    size = os.path.getsize(path)
    if size != facts.size:
        raise NF2Error(GEOMETRY, f"the image has {size} bytes, chip {facts.name} has {facts.size}", path)
    image = library.open_image(chip, path, read_only)
    try:
        image.mount(read_only)
    except NF2Error as error:
        image.close()
        raise NF2Error(error.code, error.text, path) from None
    return Volume(image, path, facts, read_only)


# What says most about an image on which no chip mounts: the first of these that any chip answered.
_TELLING = (CORRUPT, FOREIGN, BLANK, GEOMETRY)


def _open_as_any(library, path: str, read_only: bool) -> Volume:
    size = Path(path).stat().st_size
    chips = [chip for chip in library.chips() if chip.size == size]
    if not chips:
        raise NF2Error(GEOMETRY, f"no chip of the catalogue has {size} bytes: name the chip with --chip", path)
    errors: list[NF2Error] = []
    for chip in chips:
        try:
            return _open_as(library, path, chip.name, read_only)
        except NF2Error as error:
            errors.append(error)
    errors.sort(key=lambda error: _TELLING.index(error.code) if error.code in _TELLING else -1)
    tried = ", ".join(chip.name for chip in chips)
    raise NF2Error(errors[0].code, f"{errors[0].text} (tried as {tried})", path)
