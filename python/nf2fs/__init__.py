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

from .errors import LibraryMissing, NF2Error
from .images import format_image, open_image
from .volume import RawFile, Stat, Volume

__all__ = ["LibraryMissing", "NF2Error", "RawFile", "Stat", "Volume", "format_image", "open_image"]
__version__ = "0.1.0"
