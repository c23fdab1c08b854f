# SPDX-License-Identifier: BSD-2-Clause
"""Volumes without an image file: on a chip in memory, or on one that the caller drives."""

from __future__ import annotations

from typing import Protocol

from . import native
from .errors import GEOMETRY, IO, NF2Error, OutOfRange
from .volume import Volume

FLASH_BAD = -300  # NF2_FLASH_BAD of nf2fs/flash.h


class BadBlock(Exception):
    """Raised by a device's `program` or `erase`: this block has failed for good."""


class BlockDevice(Protocol):
    """A NOR flash chip as nf2fs/flash.h asks for it.

    Optional attributes: `program_unit` and `read_unit` (bytes, 1), `large_erase_size` (bytes, 0:
    none), and the typical times in microseconds `read_page_us`, `program_page_us`,
    `erase_block_us`, `large_erase_us`. A method that fails raises any exception; it becomes the
    cause of the NF2Error (IO) that the caller gets.
    """

    size: int  # bytes
    block_size: int  # bytes: the smallest erase
    page_size: int  # bytes: the most that one program takes

    def read(self, address: int, length: int) -> bytes:
        """Returns `length` bytes."""

    def program(self, address: int, data: bytes) -> None:
        """Clears bits of one page: what is there becomes old & data. Returns when that is
        durable."""

    def erase(self, address: int, length: int) -> None:
        """Sets all bits of one block, or of `large_erase_size` bytes."""


# ---- a chip in memory ----


def open_memory(
    chip: str,
    data: bytes | bytearray | memoryview | None = None,
    *,
    read_only: bool = False,
    library: native.Library | None = None,
) -> Volume:
    """Mounts a volume in memory: that of the image `data`, else an empty one. `data` is copied.

    `chip` is a name of the catalogue, or the path of a chip file. Volume.image_bytes() gives the
    image back. Raises NF2Error: GEOMETRY (`data` has another size than the chip), and those of a
    mount.
    """
    library = library or native.load()
    facts = library.chip(chip)
    if data is not None and len(data) != facts.size:
        raise NF2Error(
            GEOMETRY, f"the data has {len(data)} bytes, chip {facts.name} has {facts.size}"
        )
    image = library.open_memory(chip)
    try:
        if data is None:
            image.format(True)
        else:
            image.memory(facts.size)[:] = bytes(data)
        image.mount(read_only)
    except BaseException:
        image.close()
        raise
    return Volume(image, "", facts, read_only)


# ---- a chip that the caller drives ----


def open_device(
    device: BlockDevice,
    *,
    read_only: bool = False,
    offset: int = 0,
    size: int = 0,
    library: native.Library | None = None,
) -> Volume:
    """Mounts the volume on a device, in `size` bytes from `offset` on (0, 0: all of it).

    The device is used by this volume alone until that is closed; no call of it may use the volume.
    Raises NF2Error: BLANK (format it first), and those of a mount.
    """
    library = library or native.load()
    image = _image_over(device, offset, size, library)
    try:
        image.mount(read_only)
    except BaseException:
        image.close()
        raise
    return Volume(image, "", _facts(device), read_only)


def format_device(
    device: BlockDevice,
    *,
    erase: bool = True,
    offset: int = 0,
    size: int = 0,
    library: native.Library | None = None,
) -> None:
    """Makes an empty volume on a device; what that part of it held is lost. `erase`: all of it
    now."""
    image = _image_over(device, offset, size, library or native.load())
    try:
        image.format(erase)
    finally:
        image.close()


def _image_over(
    device: BlockDevice, offset: int, size: int, library: native.Library
) -> native.Image:
    def guarded(function):
        def call(*arguments) -> int:
            try:
                function(*arguments)
                return 0
            except BadBlock as fault:
                image.fault = fault
                return FLASH_BAD
            except BaseException as fault:
                image.fault = fault
                return IO

        return call

    def read(address: int, buffer) -> None:
        data = device.read(address, len(buffer))
        if len(data) != len(buffer):
            raise ValueError(f"read({address}, {len(buffer)}) returned {len(data)} bytes")
        buffer[:] = bytes(data)

    geometry = _geometry(device)
    _check_numbers({"offset": offset, "size": size})
    image = library.open_device(
        geometry,
        guarded(read),
        guarded(device.program),
        guarded(device.erase),
        offset,
        size,
    )
    return image


def _geometry(device: BlockDevice) -> tuple[int, ...]:
    """As nf2h_image_over wants it."""
    large = getattr(device, "large_erase_size", 0)
    facts = {
        "size": device.size,
        "block_size": device.block_size,
        "large_erase_size": large,
        "page_size": device.page_size,
        "program_unit": getattr(device, "program_unit", 1),
        "read_unit": getattr(device, "read_unit", 1),
        "read_page_us": getattr(device, "read_page_us", 4),
        "program_page_us": getattr(device, "program_page_us", 400),
        "erase_block_us": getattr(device, "erase_block_us", 50000),
        "large_erase_us": getattr(device, "large_erase_us", 150000 if large else 0),
    }
    _check_numbers(facts)
    return tuple(facts.values())


def _check_numbers(facts: dict[str, int]) -> None:
    for name, value in facts.items():
        if not 0 <= value <= native.WORD_MAX:
            raise OutOfRange(f"{name} is out of range: {value}")


def _facts(device: BlockDevice) -> native.Chip:
    geometry = _geometry(device)
    return native.Chip(
        "",
        "device",
        type(device).__name__,
        device.size,
        device.page_size,
        device.block_size,
        geometry[4],
        0,
        geometry[2] or device.block_size,
        geometry[8],
    )
