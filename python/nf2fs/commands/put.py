# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 put`."""

from __future__ import annotations

import os
import posixpath
import shutil
import sys
import tempfile
from typing import Annotated

import typer

from .. import chunks, interrupts, trees
from ..errors import INVAL, ISDIR, NOENT, NOTDIR, NF2Error
from ..images import open_image
from ..volume import COPY_SIZE, Volume
from . import _completing
from ._copying import INCOMPLETE, PreserveOption, count_text, missing, plan_json, report_skipped
from ._packing import ChunkOption, CodecOption, CompressOption, compressing
from .app import ChipOption, ImageArg, JsonOption, app, note, print_json, progress, say


@app.command()
def put(
    image: ImageArg,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A file or directory of the host; - is standard input.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A path on the volume.", autocompletion=_completing.paths)] = "/",
    follow_symlinks: Annotated[bool, typer.Option("--follow-symlinks", "-L", help=(
        "Copy what symbolic links lead to, in their places."))] = False,
    compress: CompressOption = False,
    codec: CodecOption = "lz4",
    chunk: ChunkOption = "4096",
    preserve: PreserveOption = False,
    chip: ChipOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy files into the volume.

    The contents of a directory go into the directory TARGET; a file goes to TARGET, or into it if it is
    a directory. Each file is replaced as a whole or not at all. Symbolic links (without
    --follow-symlinks), devices and the like are skipped and reported. With --preserve each file keeps its time of
    modification, its permissions and its attributes; without it none of them.
    If the volume has no room for the new files the command says so before it changes anything.

    With --compress the files that become smaller by it are compressed: packed/nf2_chunks.h reads them on
    a device, nf2 get --decompress and nf2 cat --decompress on a host.

    Exit codes: 0 everything was copied; 1 error; 2 wrong usage; 3 something was skipped, and is listed.
    """
    packing, chunk_size = compressing(compress, codec, chunk)
    if source == "-":
        if compress:
            raise typer.BadParameter("standard input cannot be compressed: put a file", param_hint="--compress")
        _put_input(image, target, chip, as_json)
        return
    if not os.path.exists(source):
        raise FileNotFoundError(2, "No such file or directory", source)
    with open_image(image, chip) as volume:
        if not os.path.isdir(source) and (target.endswith("/") or volume.isdir(target)):
            target = posixpath.join(target, os.path.basename(source))
        plan = trees.plan_put(source, target, image, follow_symlinks)
        if packing is not None:
            found = chunks.codec_of(packing)
            plan.packed = lambda data: chunks.smaller(data, found, chunk_size)
        trees.refuse_too_large(volume, plan)
        with progress() as bars:
            task = bars.add_task("put", total=plan.bytes)
            try:
                trees.run_put(volume, plan, lambda size: bars.advance(task, size), preserve)
            except (NF2Error, OSError) as error:
                error = _clearer(volume, error)
                if len(plan.files) > 1:
                    note(f"{_came(plan, image)} before this:")
                raise error from None
            except interrupts.Interrupted as stop:
                stop.done = _came(plan, image) + ("" if plan.done == len(plan.files) else ", the others were not")
                raise
    interrupts.ignore()
    if as_json:
        print_json({"image": image, "target": target} | plan_json(plan) | {"bytes": plan.bytes, "compressed": plan.compressed})
    else:
        report_skipped(plan)
        compressed = f", {plan.compressed} of them compressed" if compress else ""
        say(f"{count_text(len(plan.files), plan.bytes)} put into {image}{compressed}")
    if any(reason != trees.IMAGE_ITSELF for _, reason in plan.skipped):
        raise typer.Exit(INCOMPLETE)


def _put_input(image: str, target: str, chip: str | None, as_json: bool) -> None:
    """What comes by standard input becomes one file, when all of it has come."""
    if target.endswith("/"):
        raise NF2Error(INVAL, "standard input has no name; name the file that it is to become", target)
    with tempfile.TemporaryFile() as data:
        shutil.copyfileobj(sys.stdin.buffer, data)
        size = data.tell()
        data.seek(0)
        with open_image(image, chip) as volume:
            if volume.isdir(target):
                raise NF2Error(ISDIR, "is a directory; name the file that standard input is to become", target)
            try:
                file = volume.open(target, "wb", buffering=0)  # left open by an error: it stays as it was
                while piece := data.read(COPY_SIZE):
                    file.write(piece)
                file.close()
            except NF2Error as error:
                raise _clearer(volume, error) from None
    interrupts.ignore()
    if as_json:
        print_json({"image": image, "target": target, "files": 1, "bytes": size, "skipped": [], "not_copied": []})
    else:
        say(f"{count_text(1, size)} put into {image}")


def _clearer(volume: Volume, error: OSError) -> OSError:
    """What was wrong with a new file may be the directory that it was to be in."""
    if isinstance(error, NF2Error) and error.code in (NOENT, NOTDIR) and error.path:
        text = missing(volume, error.path, "make it with nf2 mkdir -p")
        if text is not None:
            return NF2Error(error.code, text, error.path)
    return error


def _came(plan: trees.Plan, image: str) -> str:
    return f"{plan.done} of {len(plan.files)} files were put into {image}"
