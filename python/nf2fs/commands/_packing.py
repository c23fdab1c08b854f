# SPDX-License-Identifier: BSD-2-Clause
"""What the commands that make images share."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import chunks, show
from .. import pack as packing
from ..errors import NF2Error
from .app import size_option

CompressOption = Annotated[
    bool,
    typer.Option(
        "--compress",
        help="Compress the files that become smaller by it, in chunks that a device unpacks one by one.",
    ),
]
CodecOption = Annotated[
    str, typer.Option("--codec", metavar="CODEC", help=f"How: {' or '.join(chunks.CODECS)}.")
]
ChunkOption = Annotated[
    str,
    typer.Option(
        "--chunk",
        metavar="SIZE",
        help="Bytes of a chunk, 256 to 32K: the device needs as much RAM; larger ones take less room.",
    ),
]


def compressing(compress: bool, codec: str, chunk: str) -> tuple[str | None, int]:
    """The codec's name (None: no file is compressed), and the size of a chunk."""
    if codec not in chunks.CODECS:
        raise typer.BadParameter(f"no codec {codec!r} (known: {', '.join(chunks.CODECS)})", param_hint="--codec")
    try:
        size = chunks.check_chunk_size(size_option(chunk, "--chunk"))
    except NF2Error as error:
        raise typer.BadParameter(error.text, param_hint="--chunk") from None
    return codec if compress else None, size


def smallest_needs_chip(smallest: bool, chip: str | None) -> None:
    if smallest and chip is None:
        raise typer.BadParameter("it needs --chip NAME, whose pages and blocks the small volume gets (`nf2 chips` lists the names)", param_hint="--smallest")


def rule(target: str, sources: list[str]) -> str:
    """A rule of make: target and what it depends on."""

    def quoted(path: str) -> str:
        return path.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")

    return f"{quoted(target)}: \\\n" + " \\\n".join(f"  {quoted(one)}" for one in sources) + "\n"


def lines(done: packing.Packed) -> list[str]:
    alone = done.partitions[0].read_only and len(done.partitions) == 1
    of = f"a {done.chip}" if done.chip else "a read-only image" if alone else "a volume of its own size"
    found = [f"{done.image}: {done.size} bytes, {of}, SHA-256 {done.sha256}"]
    for one in done.partitions:
        named = f" (--chip {one.chip})" if one.chip else ""
        left = "" if one.free is None else f"; {show.size_text(one.free)} free"
        if one.compressed and one.stored is not None:
            left = f", {one.compressed} of them compressed: {show.size_text(one.stored)}{left}"
        left += "; read-only" if one.read_only and not alone else ""
        found.append(
            f"  {one.offset:#010x}  {show.size_text(one.size):>10}  {one.name}: "
            f"{one.files} file{'s' * (one.files != 1)}, {show.size_text(one.bytes)}{left}{named}"
        )
    return found
