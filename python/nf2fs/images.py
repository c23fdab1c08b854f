# SPDX-License-Identifier: BSD-2-Clause
"""Image files: making them, and opening them as volumes."""

from __future__ import annotations

import os

from . import chips, files, native, other_kinds
from .errors import BLANK, CORRUPT, EXIST, FOREIGN, GEOMETRY, INVAL, NOSPC, VERSION, NF2Error
from .locks import ImageLock
from .volume import Volume

PIECE = 1 << 20
BLOCKS_MIN = 32  # NF2_BLOCKS_MIN of nf2fs.h

Path = str | os.PathLike


# ---- making ----


def format_image(
    path: Path, chip: str, *, erase: bool = True, force: bool = False, library=None
) -> None:
    """Makes an empty volume on an image file of the chip's size.

    A file that holds anything is replaced only with `force`. `chip` is a name of the catalogue or
    the path of a chip file; "@OFFSET+SIZE" behind it names the part of the chip that the volume
    takes, and the rest of an existing image stays as it is. Raises NF2Error: EXIST (without
    `force`), BUSY (another program uses the image), and those of the chip.
    """
    library = library or native.load()
    path, facts = files.followed(path), library.chip(chip)
    if not os.path.exists(path):
        _make_new(path, facts, erase, library)
        return
    with ImageLock(path, exclusive=True):
        found = _in_the_way(path, facts)
        if found and not force:
            raise NF2Error(EXIST, found, path, "force")
        kept = chips.text_to_keep(path, facts, library)
        if os.path.getsize(path) == facts.size:
            _format(path, facts, path, erase, library)
        else:
            with files.beside(path) as temporary:
                _format(temporary, facts, path, erase, library)
                files.publish_over(temporary, path)
        chips.keep(path, kept)


def in_the_way(path: Path, chip: str, library=None) -> str | None:
    """What a format of this image would destroy; None: nothing."""
    library = library or native.load()
    path, facts = files.followed(path), library.chip(chip)
    if not os.path.exists(path):
        return None
    with ImageLock(path, exclusive=True):
        return _in_the_way(path, facts)


def _in_the_way(path: str, facts: native.Chip) -> str | None:
    size = os.path.getsize(path)
    if size != facts.size:
        text = f"has {size} bytes, not the {facts.size} of chip {facts.name}, and would be replaced"
        return text if size else None
    first = facts.volume_offset
    if _is_blank(path, first, facts.volume_size or facts.size - first):
        return None
    return "exists and is not empty"


def _is_blank(path: str, first: int, length: int) -> bool:
    with open(path, "rb") as file:
        file.seek(first)
        while length > 0:
            piece = file.read(min(PIECE, length))
            if not piece or piece.strip(b"\xff"):
                return False
            length -= len(piece)
    return True


def _make_new(path: str, facts: native.Chip, erase: bool, library) -> None:
    with files.beside(path) as temporary:
        _format(temporary, facts, path, erase, library)
        chips.remember(path, facts, library)
        files.publish_new(temporary, path)


def _format(place: str, facts: native.Chip, path: str, erase: bool, library) -> None:
    """Formats the image at `place`; errors are about `path`."""
    try:
        image = library.open_image(facts.source, place, False)
        try:
            image.format(erase)
            image.flush()
        finally:
            image.close()
    except NF2Error as error:
        raise NF2Error(error.code, _format_error(error, facts), path) from None


def _format_error(error: NF2Error, facts: native.Chip) -> str:
    blocks = (facts.volume_size or facts.size - facts.volume_offset) // facts.block_size
    if error.code == NOSPC and blocks < BLOCKS_MIN:
        return (
            f"too small for a volume: {blocks} blocks, and it takes {BLOCKS_MIN} at least; "
            "choose a larger chip, or a larger part of it"
        )
    if error.code == GEOMETRY and facts.unfit is not None:
        return f"no volume can be made on chip {facts.name}: {facts.unfit}"
    return error.text


# ---- opening ----


def open_image(
    path: Path, chip: str | None = None, *, read_only: bool = False, library=None
) -> Volume:
    """Mounts the volume of an image file, which nobody else may use meanwhile (readers: nobody may
    write).

    Without `chip` it is what is remembered beside the image, else the chip of the catalogue that
    agrees with the file's size and the volume's own geometry. Raises NF2Error: NOENT, BUSY (in use
    by another program, or by another volume of this one), GEOMETRY (no chip fits), and those of a
    mount.
    """
    library = library or native.load()
    path = os.fspath(path)
    lock = ImageLock(path, exclusive=not read_only)
    try:
        try:
            return open_locked(path, chip, lock, read_only=read_only, library=library)
        except NF2Error as error:
            if chip is not None:
                refuse_other(error, path, chip, library)
            raise clearer(error, path, chip) from None
    except BaseException:
        lock.release()
        raise


def open_locked(
    path: str, chip: str | None, lock: ImageLock | None, *, read_only: bool, library
) -> Volume:
    """As open_image, for callers that hold the image; closing the volume releases `lock`."""
    if chip is not None:
        return _open_as(library, path, library.chip(chip), lock, read_only)
    kept = chips.remembered(path)
    if kept is None:
        return _open_as_any(library, path, lock, read_only)
    try:
        return _open_as(library, path, library.chip(kept), lock, read_only)
    except NF2Error as error:
        if error.code != GEOMETRY:
            raise
        text = (
            f"{error.text}; {chips.memory_path(path)} says which chip it is from. "
            "Remove that file if it is wrong"
        )
        raise NF2Error(error.code, text, path) from None


def clearer(error: NF2Error, path: str, chip: str | None = None) -> NF2Error:
    """An error about a file that is no NF2FS image, with a word on what else it is."""
    behind = chip is not None and native.split_place(chip)[1] > 0
    if error.code in (FOREIGN, GEOMETRY, INVAL) and error.remedy != "part" and not behind:
        kind = other_kinds.name(path)
        if kind is not None:
            return NF2Error(FOREIGN, kind, path)
    return error


def refuse_other(error: NF2Error, path: str, chip: str, library) -> None:
    """Raises a clearer error than that of a mount, where the chip is not that of the image."""
    if error.code == GEOMETRY:
        text = chips.other(path, library.chip(chip), library)
        if text is not None:
            raise NF2Error(GEOMETRY, text, path, "other") from None


def _open_as(
    library, path: str, facts: native.Chip, lock: ImageLock | None, read_only: bool
) -> Volume:
    length = os.path.getsize(path)
    if length != facts.size:
        raise NF2Error(GEOMETRY, f"{chips.misfit(length, facts.size)} (chip {facts.name})", path)
    image = library.open_image(facts.source, path, read_only)
    try:
        image.mount(read_only)
    except NF2Error as error:
        image.close()
        text = _version_error(library, path, facts) if error.code == VERSION else error.text
        remedy = "lost" if error.code == FOREIGN else error.remedy
        raise NF2Error(error.code, text, path, remedy) from None
    except BaseException:
        image.close()
        raise
    return Volume(image, path, facts, read_only, lock)


def _version_error(library, path: str, facts: native.Chip) -> str:
    """Which format the volume has, as its anchors say: the first record of a super block."""
    known = library.format_version()
    found: set[int] = set()
    with open(path, "rb") as file:
        for block in range(3):
            file.seek(facts.volume_offset + block * facts.block_size)
            head = file.read(9)
            if head[4:8] == b"NF2F" and head[8] != known:
                found.add(head[8])
    which = f"format version {found.pop()}" if len(found) == 1 else "another format version"
    return f"the volume is of {which}, and this library reads version {known} alone"


# What says most about an image on which no chip mounts: the first of these that any chip answered.
_TELLING = (CORRUPT, FOREIGN, BLANK, GEOMETRY)


def _open_as_any(library, path: str, lock: ImageLock | None, read_only: bool) -> Volume:
    length = os.path.getsize(path)
    errors: list[NF2Error] = []
    tried = list(
        {chip.geometry: chip for chip in reversed(library.chips()) if chip.size == length}.values()
    )[::-1]
    for chip in tried:
        try:
            return _open_as(library, path, chip, lock, read_only)
        except NF2Error as error:
            errors.append(error)
    if all(error.code in (GEOMETRY, BLANK, FOREIGN) for error in errors):
        found = chips.recognise(path, library)
        if found and found.size == length:
            return _open_as(library, path, library.chip(found.generic), lock, read_only)
        if found:
            raise NF2Error(
                GEOMETRY,
                f"{chips.misfit(length, found.size)} (the volume is for {found.text(library)})",
                path,
            )
    if (other := next((one for one in errors if one.code == VERSION), None)) is not None:
        raise other
    begins = [place for place in chips.parts(path) if place[0] > 0]
    if begins and all(error.code in (GEOMETRY, BLANK, FOREIGN) for error in errors):
        places = ", ".join(f"{at}+{size}" for at, size in begins[:3])
        text = f"no volume begins at the image's first byte, but at {places}"
        raise NF2Error(errors[0].code if errors else GEOMETRY, text, path, "part")
    if not errors:
        raise NF2Error(
            GEOMETRY,
            f"no volume was found in it, and no chip of the catalogue has its size, {length} bytes",
            path,
            "chip",
        )
    errors.sort(key=lambda error: _TELLING.index(error.code) if error.code in _TELLING else -1)
    raise NF2Error(
        errors[0].code,
        f"{errors[0].text} (tried as {', '.join(chip.name for chip in tried)})",
        path,
        errors[0].remedy,
    )
