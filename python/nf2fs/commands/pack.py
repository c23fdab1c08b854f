# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 pack`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import asdict
from typing import Annotated, Optional

import typer

from .. import files, native, pack_manifest, partition_tables, show
from .. import pack as packing
from ..errors import INVAL, NF2Error
from ._copying import PreserveOption
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
    layout: Annotated[
        Optional[str],
        typer.Option(
            "--layout",
            metavar="TABLE",
            help="Make the volume for a partition of this table: a CSV file of ESP-IDF, or a devicetree "
            "of Zephyr (an overlay, or build/zephyr/zephyr.dts). A manifest then names partitions of it.",
        ),
    ] = None,
    partition: Annotated[
        Optional[str],
        typer.Option(
            "--partition",
            metavar="NAME",
            help="With --layout: the partition. Without it: the only one that may hold files.",
        ),
    ] = None,
    preserve: PreserveOption = False,
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

    The same input gives the same bytes: no owners or random numbers go into the image, and times and
    permissions only with --preserve. It is written as a whole or not at all. A manifest names the chip and one or more partitions, each
    with a directory, single files, the space to leave free, or raw bytes.

    With --compress a device needs packed/nf2_chunks.h to read the files that were compressed: all
    that became smaller. `nf2 unpack` reads a read-only image.

    With --layout the place and the size come from a partition table. The image of a directory is then that of the
    partition alone, to be written at the partition's offset, which the last line states. The erase block is
    that of the table, 4096 bytes where it says nothing; --chip names a chip with another one.
    """
    left_free, place = size_option(free, "--free"), None
    if partition is not None and layout is None:
        raise typer.BadParameter("it is for --layout only", param_hint="--partition")
    with ExitStack() as stack:
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
            if partition is not None:
                raise typer.BadParameter("a manifest names the partitions", param_hint="--partition")
            manifest = pack_manifest.read_manifest(source)
            manifest.chip = chip or manifest.chip
            if layout is not None:
                place_all(manifest, layout)
        else:
            if layout is not None:
                if smallest:
                    raise typer.BadParameter("the table says how large it is", param_hint="--smallest")
                place = partition_tables.find(partition_tables.read(layout), partition, layout)
                chip = own_chip(place, chip, stack)
            smallest_needs_chip(smallest and not read_only, chip)
            if read_only and (left_free or preserve):
                what = "--free" if left_free else "--preserve"
                raise typer.BadParameter("a read-only image has no place for it", param_hint=what)
            manifest = pack_manifest.manifest_of(source, chip, smallest, left_free)
            (only,) = manifest.partitions
            only.read_only = read_only
            only.compress, only.chunk = compressing(compress, codec, chunk)
        if layout is not None:
            manifest.made_of.add(layout)
        for part in manifest.partitions:
            part.tree.preserve = preserve
        done = packing.pack(manifest, image, force=force)
    if depfile is not None:
        with open(depfile, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(rule(image, done.sources))
    if as_json:
        print_json(asdict(done) | ({"flash_at": place.offset} if place is not None else {}))
        return
    for path, reason in done.skipped:
        note(f"skipped {show.printable(path)}: {reason}")
    for line in lines(done):
        say(line)
    if place is not None:
        say(f"{place.names[0]} begins at {place.offset:#x}: write {image} there")


def own_chip(place: partition_tables.Place, like: str | None, stack: ExitStack) -> str:
    """A chip file for the partition; it lies in a directory that is removed with the stack."""
    directory = stack.enter_context(files.unfinished("nf2-layout-"))
    path = os.path.join(directory, "partition.chip")
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(place.chip_file(native.load(), like))
    return path


def place_all(manifest: pack_manifest.Manifest, layout: str) -> None:
    """Partitions of a manifest lie where a table says."""
    places = partition_tables.read(layout)
    for one in manifest.partitions:
        if one.offset is not None or one.size is not None or one.smallest:
            text = f"partition {one.name}: {layout} says where it is: take away offset and size"
            raise NF2Error(INVAL, text)
        place = partition_tables.find(places, one.name, layout)
        one.offset, one.size = place.offset, place.size
    manifest.partitions.sort(key=lambda one: one.offset or 0)
