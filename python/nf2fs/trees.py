# SPDX-License-Identifier: BSD-2-Clause
"""Trees, copied both ways between the host and a volume.

A volume keeps no times, owners or permissions, so none are invented: files that `get` writes have the
host's defaults. The names on a volume are not trusted: none may lead out of the target folder.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable
from dataclasses import dataclass, field

from .errors import INVAL, IO, NAMETOOLONG, NOTDIR, NF2Error
from .native import decode, encode_path
from .volume import COPY_SIZE, DEPTH_MAX, Volume

NAME_MAX = 255

Advance = Callable[[int], None]


@dataclass
class Plan:
    """What a copy will do: folders in order, files as (source, target, size), and what is left out, with why."""
    folders: list[str] = field(default_factory=list)
    files: list[tuple[str, str, int]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    done: int = 0               # files copied so far

    @property
    def bytes(self) -> int:
        return sum(size for _, _, size in self.files)


# ---- from the host to the volume ----

def kind_name(mode: int) -> str:
    for test, name in ((stat.S_ISLNK, "symbolic link"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"),
                       (stat.S_ISBLK, "device"), (stat.S_ISCHR, "device")):
        if test(mode):
            return name
    return "special file"


def _volume_name(entry_name: str) -> str:
    return decode(os.fsencode(entry_name))


def plan_put(source: str, target: str, image: str | None = None) -> Plan:
    """The contents of a host folder to become those of the folder `target`; or one file to become `target`.

    `image` is left out: it changes while it is being copied.
    """
    plan = Plan()
    if not os.path.isdir(source):
        status = os.stat(source)
        if not stat.S_ISREG(status.st_mode):
            raise NF2Error(INVAL, f"is a {kind_name(status.st_mode)}", source)
        plan.files.append((source, target, status.st_size))
        return plan
    kept = os.stat(image) if image else None
    pending = [(source, "/" + target.strip("/"))]
    while pending:
        folder, inside = pending.pop()
        plan.folders.append(inside)
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        below = []
        for entry in found:
            destination = posixpath.join(inside, _volume_name(entry.name))
            status = entry.stat(follow_symlinks=False)
            mode = status.st_mode
            if kept and (status.st_dev, status.st_ino) == (kept.st_dev, kept.st_ino):
                plan.skipped.append((entry.path, "the image itself"))
            elif len(os.fsencode(entry.name)) > NAME_MAX:
                plan.skipped.append((entry.path, f"a name of more than {NAME_MAX} bytes"))
            elif stat.S_ISDIR(mode):
                below.append((entry.path, destination))
            elif stat.S_ISREG(mode):
                plan.files.append((entry.path, destination, status.st_size))
            else:
                plan.skipped.append((entry.path, kind_name(mode)))
        pending.extend(reversed(below))
    return plan


def put_file(volume: Volume, source: str, target: str, advance: Advance) -> None:
    """Copies one file, all or nothing: when this fails, leave the volume by the exception and the old file stays."""
    with open(source, "rb") as data:
        file = volume.open(target, "wb", buffering=0)
        while piece := data.read(COPY_SIZE):
            file.write(piece)
            advance(len(piece))
        file.close()


def run_put(volume: Volume, plan: Plan, advance: Advance = lambda size: None) -> None:
    for folder in plan.folders:
        if folder.strip("/"):
            volume.makedirs(folder, exist_ok=True)
    for source, target, _ in plan.files:
        put_file(volume, source, target, advance)
        plan.done += 1


# ---- from the volume to the host ----

def refuse_name(name: str) -> str | None:
    """Why a name from a volume must not become a name on the host; None if it may."""
    if name in ("", ".", ".."):
        return "a name that stands for another folder"
    if "\0" in name or "/" in name or (os.sep != "/" and os.sep in name) or (os.altsep and os.altsep in name):
        return "a name that holds a separator or NUL"
    if os.name == "nt" and (":" in name or name.rstrip(" .") != name):
        return "a name that this host takes for something else"
    return None


def _host_name(name: str) -> str:
    return os.fsdecode(encode_path(name))


def plan_get(volume: Volume, source: str, target: str) -> Plan:
    """The contents of a folder of the volume to become those of the host folder `target`; or one file."""
    plan = Plan()
    entry = volume.stat(source)
    if entry.is_file():
        plan.files.append((source, target, entry.size))
        return plan
    pending = [(source, target, 0)]
    while pending:
        folder, outside, depth = pending.pop()
        if depth > DEPTH_MAX:
            raise NF2Error(IO, f"folders are nested more than {DEPTH_MAX} deep", folder)
        plan.folders.append(outside)
        below = []
        for entry in volume.scandir(folder):
            path, reason = posixpath.join(folder, entry.name), refuse_name(entry.name)
            if reason:
                plan.skipped.append((path, f"refused: {reason}"))
            elif entry.is_dir():
                below.append((path, os.path.join(outside, _host_name(entry.name)), depth + 1))
            else:
                plan.files.append((path, os.path.join(outside, _host_name(entry.name)), entry.size))
        pending.extend(reversed(below))
    return plan


def make_host_folder(path: str, top: str) -> None:
    """Makes a folder under (or at) `top`; a symbolic link below `top` is refused: it could lead out of it."""
    if path == top:
        os.makedirs(path, exist_ok=True)
        return
    if os.path.islink(path):
        raise NF2Error(NOTDIR, "is a symbolic link: not followed", path)
    if not os.path.isdir(path):
        os.mkdir(path)


def get_file(volume: Volume, source: str, target: str, advance: Advance) -> None:
    """Copies one file; what stood at `target` is replaced when the copy is whole."""
    if os.path.islink(target):
        raise NF2Error(INVAL, "is a symbolic link: not followed", target)
    if os.path.isdir(target):
        raise NF2Error(INVAL, "is a folder on the host", target)
    part = _part_name(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(part, flags, 0o666), "wb") as out:
        try:
            with volume.open(source, "rb", buffering=0) as file:
                while piece := file.read(COPY_SIZE):
                    out.write(piece)
                    advance(len(piece))
            out.close()
            os.replace(part, target)
        except BaseException:
            os.unlink(part)
            raise


def _part_name(target: str) -> str:
    folder, name = os.path.split(target)
    if len(os.fsencode(name)) > NAME_MAX:
        raise NF2Error(NAMETOOLONG, "the name is too long for the host", target)
    return os.path.join(folder, f".nf2-part-{os.getpid()}")


def run_get(volume: Volume, plan: Plan, target: str, advance: Advance = lambda size: None) -> None:
    for folder in plan.folders:
        make_host_folder(folder, target)
    for source, destination, _ in plan.files:
        get_file(volume, source, destination, advance)
