# SPDX-License-Identifier: BSD-2-Clause
"""What a file is that is no NF2FS image, and what to do about it: by its first bytes."""

from __future__ import annotations

HEAD = 520
LITTLEFS = "holds a LittleFS volume, not one of NF2FS; nf2 import makes an image of what is in it"
PACKED = "is a read-only image, which holds no volume; nf2 unpack reads it"
HEX = "; turn it into plain bytes first, for example with objcopy -O binary"
UNPACK = "; unpack it first"

# What the bytes begin with at which place, and what is said then.
SIGNS = (
    (8, b"littlefs", LITTLEFS),
    (0, b"NF2PACKD", PACKED),
    (0, b"\x1f\x8b", "is compressed (gzip)" + UNPACK),
    (0, b"PK\3\4", "is an archive (zip)" + UNPACK),
    (0, b"\xfd7zXZ\0", "is compressed (xz)" + UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "is compressed (zstd)" + UNPACK),
    (0, b"BZh", "is compressed (bzip2)" + UNPACK),
    (0, b"\x7fELF", "is an ELF program" + HEX),
    (0, b"UF2\n", "is a UF2 file" + HEX),
    (0, b":0", "is an Intel HEX file" + HEX),
    (0, b":1", "is an Intel HEX file" + HEX),
    (0, b"S0", "is a file of S-records" + HEX),
    (0, b"\x85\x19", "holds a JFFS2 volume, not one of NF2FS"),
    (0, b"hsqs", "holds a SquashFS volume, not one of NF2FS"),
    (54, b"FAT", "holds a FAT volume, not one of NF2FS"),
    (82, b"FAT32", "holds a FAT volume, not one of NF2FS"),
)


def name(path: str) -> str | None:
    """None: it may be an image of NF2FS, or is of no kind that is known here."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return None
    return next((text for at, sign, text in SIGNS if head[at:].startswith(sign)), None)
