# SPDX-License-Identifier: BSD-2-Clause
"""Unmounts a volume, and waits until its image is closed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time

from .errors import BUSY, INVAL, IO, NF2Error
from .locks import refuse_held

WAIT_S, STEP_S = 30.0, 0.02


def _plain(text: str) -> str:
    """A name as the kernel lists it: blanks and the like stand as octal numbers."""
    raw = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), os.fsencode(text))
    return os.fsdecode(raw)


def image_of(directory: str) -> str:
    """The image that is mounted on a directory. Raises NF2Error (INVAL) where none is."""
    wanted, found = os.path.realpath(directory), None
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            source, place, kind = line.split()[:3]
            if kind == "fuse.nf2" and _plain(place) == wanted:
                found = _plain(source)
    if found is None:
        raise NF2Error(INVAL, "no NF2FS volume is mounted there", directory)
    return found


def unmount(directory: str) -> str:
    """Returns the image when it is closed.

    Raises NF2Error: INVAL, IO (as where a program still uses the directory), BUSY (still open).
    """
    image, by_hand = image_of(directory), shutil.which("fusermount3")
    command = [by_hand, "-u", directory] if by_hand else ["umount", directory]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()
        raise NF2Error(IO, reason[-1] if reason else "was not unmounted", directory)
    end = time.monotonic() + WAIT_S
    while os.path.exists(image):
        try:
            refuse_held(image)
            break
        except NF2Error as error:
            if error.code != BUSY or time.monotonic() > end:
                raise
            time.sleep(STEP_S)
    return image
