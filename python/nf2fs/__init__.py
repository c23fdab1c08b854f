# SPDX-License-Identifier: BSD-2-Clause
"""NF2FS on the host: volumes in image files of virtual NOR chips.

    import nf2fs
    nf2fs.format_image("flash.img", chip="w25q256")
    with nf2fs.open_image("flash.img") as volume:
        volume.makedirs("/etc/app")
        with volume.open("/etc/app/name", "w") as file:
            file.write("one\\n")
        print(volume.listdir("/etc/app"))
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes long to import: see nf2fs.cli

if TYPE_CHECKING:
    from .devices import BadBlock, BlockDevice, format_device, open_device, open_memory
    from .errors import LibraryMissing, NF2Error
    from .images import format_image, open_image
    from .paths import VolumePath
    from .volume import RawFile, Stat, Volume

__all__ = ["BadBlock", "BlockDevice", "LibraryMissing", "NF2Error", "RawFile", "Stat", "Volume", "VolumePath",
           "format_device", "format_image", "open_device", "open_image", "open_memory"]
_HOMES = {"BadBlock": "devices", "BlockDevice": "devices", "LibraryMissing": "errors", "NF2Error": "errors",
          "RawFile": "volume", "Stat": "volume", "Volume": "volume", "VolumePath": "paths", "format_device": "devices",
          "format_image": "images", "open_device": "devices", "open_image": "images", "open_memory": "devices"}
__version__ = "0.1.0"


def __getattr__(name: str):
    """Imports what is asked for when it is asked for: the commands start faster."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOMES))
