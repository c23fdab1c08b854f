# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 pack`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated, Optional

import typer

from .. import pack as packing
from .. import pack_manifest, show
from ._packing import (
    ChunkOption,
    CodecOption,
    CompressOption,
    compressing,
    lines,
    rule,
    smallest_needs_chip,
)
from .app import JsonOption, app, note, print_json, say, size_option


@app.command()
def pack(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A directory of the host, or a manifest (a file that ends in .toml).",
        ),
    ],
    image: Annotated[str, typer.Argument(metavar="IMAGE", help="The image file to make.")],
    chip: Annotated[
        Optional[str],
        typer.Option(
            "--chip",
            metavar="CHIP",
            help="A name from the catalogue, or the path of a chip file. Without it: the smallest "
            "chip of the catalogue that holds everything.",
        ),
    ] = None,
    smallest: Annotated[
        bool,
        typer.Option(
            "--smallest",
            help="Do not fill the chip: make the smallest volume of its geometry that holds "
            "everything.",
        ),
    ] = False,
    free: Annotated[
        str,
        typer.Option(
            "--free", metavar="SIZE", help="Leave this much for more file data: 65536, 64K, 2M."
        ),
    ] = "0",
    read_only: Annotated[
        bool,
        typer.Option(
            "--read-only",
            help="Make an image for packed/nf2_packed.h: files that never change, without room for "
            "more. It needs no chip, and is no volume.",
        ),
    ] = False,
    compress: CompressOption = False,
    codec: CodecOption = "lz4",
    chunk: ChunkOption = "4096",
    depfile: Annotated[
        Optional[str],
        typer.Option(
            "--depfile",
            metavar="FILE",
            help="Write the files that the image was made from, as a rule for make or Ninja.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an image that exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make an image from a directory.

    The same input gives the same bytes: no times, owners or random numbers go into the image. It is
    written as a whole or not at all. A manifest names the chip and one or more partitions, each
    with a directory, single files, the space to leave free, or raw bytes.

    With --compress a device needs packed/nf2_chunks.h to read the files that were compressed: all
    that became smaller. `nf2 unpack` reads a read-only image.
    """
    left_free = size_option(free, "--free")
    if source.endswith(".toml") and not os.path.isdir(source):
        if smallest or free != "0":
            raise typer.BadParameter(
                'with a manifest, write size = "smallest" and free = ... there',
                param_hint="--smallest" if smallest else "--free",
            )
        if read_only or compress:
            raise typer.BadParameter(
                'with a manifest, write read-only = true and compress = "lz4" there',
                param_hint="--read-only" if read_only else "--compress",
            )
        manifest = pack_manifest.read_manifest(source)
        manifest.chip = chip or manifest.chip
    else:
        smallest_needs_chip(smallest and not read_only, chip)
        if read_only and left_free:
            raise typer.BadParameter("a read-only image has none", param_hint="--free")
        manifest = pack_manifest.manifest_of(source, chip, smallest, left_free)
        (only,) = manifest.partitions
        only.read_only = read_only
        only.compress, only.chunk = compressing(compress, codec, chunk)
    done = packing.pack(manifest, image, force=force)
    if depfile is not None:
        with open(depfile, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(rule(image, done.sources))
    if as_json:
        print_json(asdict(done))
        return
    for path, reason in done.skipped:
        note(f"skipped {show.printable(path)}: {reason}")
    for line in lines(done):
        say(line)
