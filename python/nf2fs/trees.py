# SPDX-License-Identifier: BSD-2-Clause
"""Trees, copied both ways between the host and a volume.
 Times, permissions and attributes go along where `preserve` asks for it; else files that `get` writes
have the host's defaults. The names on a volume are not trusted: none may lead out of the target
directory.
"""

from __future__ import annotations

import io
import os
import posixpath
import secrets
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace

from . import attributes, chunks, interrupts
from .devices import open_memory
from .errors import CORRUPT, INVAL, IO, NAMETOOLONG, NOSPC, NOTDIR, NF2Error
from .files import hold, kind_name, refuse_special, sweep_parts
from .native import decode, encode_path
from .volume import COPY_SIZE, DEPTH_MAX, RawFile, Volume

NAME_MAX = 255
PART = ".nf2-part-"  # begins the name of a file that is being written
IMAGE_ITSELF = "the image itself"

Advance = Callable[[int], None]


@dataclass
class Plan:
    """What a copy will do: directories in order, files as (source, target, size), and what is left
    out, with why."""

    directories: list[str] = field(default_factory=list)
    files: list[tuple[str, str, int]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)  # what failed on the way, with why
    damaged: bool = False  # did some of that fail in the volume?
    done: int = 0  # files copied so far
    done_bytes: int = 0
    # Of a put: compressed bytes for a file's content, or None where they would not be fewer.
    packed: Callable[[bytes], bytes | None] | None = None
    compressed: int = 0  # of a put: files that were
    decompress: bool = False  # of a get

    @property
    def bytes(self) -> int:
        return sum(size for _, _, size in self.files)


# ---- from the host to the volume ----


def _volume_name(entry_name: str) -> str:
    return decode(os.fsencode(entry_name))


def plan_put(
    source: str, target: str, image: str | None = None, follow_symlinks: bool = False
) -> Plan:
    """The contents of a host directory to become those of the directory `target`; or one file to
    become `target`.

    `image` is left out: it changes while it is being copied. With `follow_symlinks` what a symbolic
    link leads to is copied in its place, but no directory that the link lies in.
    """
    plan = Plan()
    if not os.path.isdir(source):
        status = os.stat(source)
        if not stat.S_ISREG(status.st_mode):
            raise NF2Error(INVAL, f"is a {kind_name(status.st_mode)}", source)
        plan.files.append((source, target, status.st_size))
        return plan
    kept = os.stat(image) if image else None
    pending = [(source, "/" + target.strip("/"), frozenset([_identity(os.stat(source))]))]
    while pending:
        directory, inside, above = pending.pop()
        plan.directories.append(inside)
        with os.scandir(directory) as entries:
            found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        below = []
        for entry in found:
            destination = posixpath.join(inside, _volume_name(entry.name))
            try:
                status = entry.stat(follow_symlinks=follow_symlinks)
            except OSError as error:
                plan.skipped.append((entry.path, f"leads nowhere: {error.strerror}"))
                continue
            mode = status.st_mode
            if kept and (status.st_dev, status.st_ino) == (kept.st_dev, kept.st_ino):
                plan.skipped.append((entry.path, IMAGE_ITSELF))
            elif len(os.fsencode(entry.name)) > NAME_MAX:
                plan.skipped.append((entry.path, f"a name of more than {NAME_MAX} bytes"))
            elif stat.S_ISDIR(mode) and _identity(status) in above:
                plan.skipped.append((entry.path, "leads to a directory that it lies in"))
            elif stat.S_ISDIR(mode):
                below.append((entry.path, destination, above | {_identity(status)}))
            elif stat.S_ISREG(mode):
                plan.files.append((entry.path, destination, status.st_size))
            else:
                plan.skipped.append((entry.path, kind_name(mode)))
        pending.extend(reversed(below))
    return plan


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def refuse_too_large(volume: Volume, plan: Plan) -> None:
    """Raises NF2Error (NOSPC) where not all files of the plan fit, before the first one is copied.

    What `statfs` says may be too little, so where the files are more than that they are put into a
    copy of the volume in memory first.
    """
    figures = volume.statfs()
    if plan.bytes <= figures["available"] * figures["block_size"]:
        return
    trial = replace(plan, done=0, compressed=0)
    with open(volume.path, "rb") as file:
        data = file.read()
    try:
        with open_memory(volume.chip.source, data) as copy:
            run_put(copy, trial)
    except NF2Error as error:
        if error.code != NOSPC:
            raise
        count = f"; {trial.done} of {len(plan.files)} files would fit" if plan.files[1:] else ""
        raise NF2Error(NOSPC, f"no space for it{count}; nothing was changed", error.path) from None


def run_put(
    volume: Volume, plan: Plan, advance: Advance = lambda size: None, preserve: bool = False
) -> None:
    """Copies each file, all or nothing: when this fails, leave the volume by the exception, and the
    old file stays."""
    with interrupts.safe_places():
        for directory in plan.directories:
            if directory.strip("/"):
                volume.makedirs(directory, exist_ok=True)
            interrupts.check()
        for source, target, _ in plan.files:
            _put_file(volume, source, target, plan, advance)
            if preserve:
                volume.set_attributes(target, attributes.of_host(source))
            plan.done += 1
            interrupts.check()


def _put_file(
    volume: Volume, source: str, target: str, plan: Plan, advance: Advance
) -> None:
    with open(source, "rb") as data:
        small = plan.packed(data.read()) if plan.packed else None
        data.seek(0)
        content = data if small is None else io.BytesIO(small)
        with replacing(volume, target) as file:
            while piece := content.read(COPY_SIZE):
                file.write(piece)
                advance(len(piece))
                interrupts.check()
        plan.compressed += small is not None


@contextmanager
def replacing(volume: Volume, path: str) -> Iterator[RawFile]:
    """A file that is written from its beginning; an exception leaves what was there."""
    file = volume.open(path, "wb", buffering=0)
    try:
        yield file
        file.close()
    except BaseException:
        with suppress(NF2Error):
            file.discard()
        raise


# ---- from the volume to the host ----


def refuse_name(name: str) -> str | None:
    """Why a name from a volume must not become a name on the host; None if it may."""
    if name in ("", ".", ".."):
        return "a name that stands for another directory"
    if (
        "\0" in name
        or "/" in name
        or (os.sep != "/" and os.sep in name)
        or (os.altsep and os.altsep in name)
    ):
        return "a name that holds a separator or NUL"
    if os.name == "nt" and (":" in name or name.rstrip(" .") != name):
        return "a name that this host takes for something else"
    return None


def host_name(name: str) -> str:
    return os.fsdecode(encode_path(name))


def plan_get(volume: Volume, source: str, target: str) -> Plan:
    """The contents of a directory of the volume to become those of the host directory `target`; or
    one file.

    Directories that cannot be read to their end are noted in `unread`, and the plan goes on with
    the rest.
    """
    plan = Plan()
    entry = volume.stat(source)
    if entry.is_file():
        plan.files.append((source, target, entry.size))
        return plan
    pending = [(source, target, 0)]
    while pending:
        directory, outside, depth = pending.pop()
        if depth > DEPTH_MAX:
            plan.unread.append((directory, f"directories are nested more than {DEPTH_MAX} deep"))
            plan.damaged = True
            continue
        plan.directories.append(outside)
        pending.extend(reversed(_plan_directory(volume, plan, directory, outside, depth)))
    return plan


def _plan_directory(
    volume: Volume, plan: Plan, directory: str, outside: str, depth: int
) -> list[tuple[str, str, int]]:
    """Plans the files of a directory; returns the directories in it."""
    below = []
    try:
        for entry in volume.iterdir(directory):
            path, reason = posixpath.join(directory, entry.name), refuse_name(entry.name)
            place = os.path.join(outside, host_name(entry.name)) if not reason else ""
            if reason:
                plan.skipped.append((path, f"refused: {reason}"))
            elif entry.is_dir():
                below.append((path, place, depth + 1))
            else:
                plan.files.append((path, place, entry.size))
    except NF2Error as error:
        plan.unread.append((directory, f"not all of its names could be read: {error.text}"))
        plan.damaged = True
    return below


def make_host_directory(path: str, top: str) -> None:
    """Makes a directory under (or at) `top`; a symbolic link below `top` is refused: it could lead
    out of it."""
    if path == top:
        os.makedirs(path, exist_ok=True)
        return
    if os.path.islink(path):
        raise NF2Error(NOTDIR, "is a symbolic link on the host: not followed", path)
    if not os.path.isdir(path):
        os.mkdir(path)


def write_host_file(target: str, pieces: Iterable[bytes]) -> int:
    """Writes a file; what stood at `target` is replaced when all is written. Returns its size."""
    if os.path.islink(target):
        raise NF2Error(INVAL, "is a symbolic link on the host: not followed", target)
    if os.path.isdir(target):
        raise NF2Error(INVAL, "is a directory on the host", target)
    refuse_special(target)
    part, size = _part_name(target), 0
    flags = (
        os.O_WRONLY
        | os.O_CREAT
        | os.O_EXCL
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_BINARY", 0)
    )
    try:
        with open(os.open(part, flags, 0o666), "wb") as out:
            hold(out.fileno())
            try:
                for piece in pieces:
                    size += out.write(piece)
                out.close()
                os.replace(part, target)
            except BaseException:
                os.unlink(part)
                raise
    except NF2Error:
        raise
    except OSError as error:  # about the file that is to be, not about its name for now
        raise OSError(error.errno, error.strerror, target) from None
    return size


def _part_name(target: str) -> str:
    directory, name = os.path.split(target)
    if len(os.fsencode(name)) > NAME_MAX:
        raise NF2Error(NAMETOOLONG, "the name is too long for the host", target)
    return os.path.join(directory, PART + secrets.token_hex(4))


def file_pieces(
    volume: Volume, source: str, decompress: bool = False
) -> Generator[bytes, None, None]:
    """What a file of the volume holds; with `decompress`, of a compressed one what it held before
    that. A damaged one is an error before the first piece."""
    with volume.open(source, "rb", buffering=0) as file:
        piece = file.read(COPY_SIZE)
        if decompress and chunks.is_compressed(piece):
            rest = iter(lambda: file.read(COPY_SIZE), b"")
            try:
                yield chunks.decompress(piece + b"".join(rest))
            except NF2Error as error:
                raise NF2Error(error.code, error.text, error.path or source) from None
            return
        while piece:
            yield piece
            piece = file.read(COPY_SIZE)


def _pieces(volume: Volume, source: str, plan: Plan, advance: Advance) -> Iterator[bytes]:
    with closing(file_pieces(volume, source, plan.decompress)) as pieces:
        for piece in pieces:
            yield piece
            advance(len(piece))
            interrupts.check()


def run_get(
    volume: Volume,
    plan: Plan,
    target: str,
    advance: Advance = lambda size: None,
    preserve: bool = False,
) -> None:
    """Copies what can be read; what cannot is noted in `plan.unread`. Errors of the host (a full
    disk) are raised."""
    with interrupts.safe_places():
        refused: set[str] = set()
        for directory in plan.directories:
            try:
                if os.path.dirname(directory) in refused:
                    raise NF2Error(NOTDIR, "is in a directory that is not followed", directory)
                make_host_directory(directory, target)
                sweep_parts(directory, PART)
            except NF2Error as error:
                refused.add(directory)
                plan.unread.append((directory, error.text))
        for source, destination, _ in plan.files:
            if os.path.dirname(destination) in refused:
                continue
            try:
                size = write_host_file(destination, _pieces(volume, source, plan, advance))
                if preserve:
                    attributes.to_host(destination, volume.attributes(source))
            except NF2Error as error:
                plan.unread.append((error.path or source, error.text))
                plan.damaged = plan.damaged or error.code in (IO, CORRUPT)
                continue
            plan.done += 1
            plan.done_bytes += size
            interrupts.check()
