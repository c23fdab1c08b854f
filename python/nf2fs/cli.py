# SPDX-License-Identifier: BSD-2-Clause
"""`nf2`: image files of NF2FS volumes. Exit codes: 0 done, 1 an error, 2 wrong usage (nf2 check has its own)."""

from __future__ import annotations

import json
import os
import posixpath
import shutil
import sys
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from . import __version__, check_report, checking, native, show, trees
from .errors import INVAL, ISDIR, NF2Error, LibraryMissing
from .images import format_image, open_image
from .volume import COPY_SIZE

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
                  rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]},
                  help="Works on image files that hold an NF2FS volume of a NOR flash chip. The image comes first: "
                       "nf2 format flash.img --chip w25q256; nf2 put flash.img DIR /; nf2 get flash.img / OUT. "
                       "Exit codes: 0 done, 1 an error, 2 wrong usage; for check see its help.")

ImageArg = Annotated[str, typer.Argument(metavar="IMAGE", help="The image file.")]
PathArg = Annotated[str, typer.Argument(metavar="PATH", help="A path on the volume.")]
ChipOption = Annotated[Optional[str], typer.Option(
    "--chip", metavar="CHIP", help="The chip: a name of the catalogue (`nf2 chips`) or the path of a chip file. "
                                   "Else found from the image's size and the volume's own geometry.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def version_option(given: bool) -> None:
    if given:
        say(__version__)
        raise typer.Exit


VersionOption = Annotated[bool, typer.Option("--version", is_eager=True, callback=version_option, help="Print the version.")]


@app.callback()
def every_command(version: VersionOption = False) -> None:
    pass


def console() -> Console:
    return Console(highlight=False, markup=False, soft_wrap=True)


def say(text: str) -> None:
    """One line of plain text, never wrapped."""
    print(text)


def note(text: str) -> None:
    print(f"nf2: {text}", file=sys.stderr)


def print_json(value) -> None:
    say(json.dumps(value, indent=2))


@app.command()
def chips(as_json: JsonOption = False) -> None:
    """List the chips of the catalogue."""
    found = native.load().chips()
    if as_json:
        print_json([vars(chip) for chip in found])
        return
    for chip in found:
        say(f"{chip.name:<14} {show.size_text(chip.size):>10}  page {chip.page_size}, block {chip.block_size}, "
            f"program unit {chip.program_unit}  {chip.description}")


@app.command("format")
def format_command(
    image: ImageArg,
    chip: Annotated[str, typer.Option("--chip", metavar="CHIP", help="A name of the catalogue, or the path of a chip file.")],
    quick: Annotated[bool, typer.Option("--quick", help="Erase blocks later, when they are first used.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that has not the chip's size.")] = False,
) -> None:
    """Make an empty volume on an image file.

    What an image of that size held is lost.
    """
    format_image(image, chip, erase=not quick, force=force)
    with open_image(image, chip, read_only=True) as volume:
        figures = volume.statfs()
        say(f"{image}: {volume.chip.name}, {figures['blocks']} blocks of {figures['block_size']} bytes, "
            f"{figures['available']} for file data")


@app.command()
def info(image: ImageArg, chip: ChipOption = None, as_json: JsonOption = False) -> None:
    """Show chip, volume, space and wear."""
    with open_image(image, chip, read_only=True) as volume:
        space, health = volume.statfs(), volume.health()
        if as_json:
            print_json({"image": image, "version": native.load().version(), "chip": vars(volume.chip),
                        "space": space, "health": health})
            return
        facts = volume.chip
        rows = [("image", image), ("chip", f"{facts.name}: {facts.description}" if facts.description else facts.name),
                *([("chip file", facts.source)] if facts.source.lower() != facts.name else []),
                ("chip size", f"{show.size_text(facts.size)} ({facts.size} bytes)"),
                ("page, block", f"{facts.page_size}, {facts.block_size} bytes; program unit {facts.program_unit}"),
                ("blocks", f"{space['blocks']}: {space['free']} free, {space['erased']} of them erased, {space['bad']} bad"),
                ("for file data", f"{space['available']} blocks, {show.size_text(space['available'] * space['block_size'])}"),
                ("erases of a block", f"min {health['erases_min']}, mean {health['erases_mean']}, max {health['erases_max']}"
                                      f" (good for {facts.endurance})"),
                ("unclean mounts", str(health["mounts_unclean"])), ("library", native.load().version())]
        console().print(show.pairs("", rows))


@app.command()
def ls(
    image: ImageArg,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A folder or file on the volume.")] = "/",
    long: Annotated[bool, typer.Option("-l", "--long", help="Sizes too.")] = False,
    chip: ChipOption = None, as_json: JsonOption = False,
) -> None:
    """List a folder."""
    with open_image(image, chip, read_only=True) as volume:
        entry = volume.stat(path)
        entries = volume.scandir(path) if entry.is_dir() else [entry]
    if as_json:
        print_json([{"name": one.name, "type": show.type_name(one), "size": one.size} for one in entries])
        return
    for one in entries:
        name = show.printable(one.name) + ("/" if one.is_dir() else "")
        say(f"{'d' if one.is_dir() else 'f'} {one.size:>10}  {name}" if long else name)


@app.command()
def tree(
    image: ImageArg,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A folder on the volume.")] = "/",
    limit: Annotated[Optional[int], typer.Option("--limit", min=1, help="Entries shown of one folder.")] = None,
    chip: ChipOption = None, as_json: JsonOption = False,
) -> None:
    """Draw a folder and all below it."""
    with open_image(image, chip, read_only=True) as volume:
        if as_json:
            print_json(show.tree_json(volume, path))
            return
        lines, folders, files = show.tree_lines(volume, path, limit)
    for line in lines:
        say(line)
    say(f"{folders} folders, {files} files")


@app.command()
def cat(image: ImageArg, paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Paths on the volume.")], chip: ChipOption = None) -> None:
    """Write files to the standard output."""
    with open_image(image, chip, read_only=True) as volume:
        for path in paths:
            if volume.stat(path).is_dir():
                raise NF2Error(ISDIR, "is a directory", path)
            with volume.open(path, "rb", buffering=0) as file:
                while piece := file.read(COPY_SIZE):
                    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def progress() -> Progress:
    """A bar on a terminal, nothing elsewhere."""
    bars = Console(stderr=True)
    return Progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
                    console=bars, transient=True, disable=not bars.is_terminal)


def report_skipped(plan: trees.Plan) -> None:
    for path, reason in plan.skipped:
        note(f"skipped {show.printable(path)}: {reason}")


def summary(plan: trees.Plan) -> str:
    return f"{len(plan.files)} file{'s' * (len(plan.files) != 1)}, {show.size_text(plan.bytes)}"


@app.command()
def put(
    image: ImageArg,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A file or folder of the host.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A path on the volume.")] = "/",
    chip: ChipOption = None,
) -> None:
    """Copy files into the volume.

    A folder's contents go into the folder TARGET, a file to TARGET (or into it, where that is a folder). Each file is replaced as a whole or not at all. Symbolic links, devices and the like are
    skipped and reported. Times and permissions are not kept.
    """
    if not os.path.exists(source):
        raise FileNotFoundError(2, "No such file or directory", source)
    with open_image(image, chip) as volume:
        if not os.path.isdir(source) and (target.endswith("/") or volume.isdir(target)):
            target = posixpath.join(target, os.path.basename(source))
        plan = trees.plan_put(source, target, image)
        with progress() as bars:
            task = bars.add_task("put", total=plan.bytes)
            try:
                trees.run_put(volume, plan, lambda size: bars.advance(task, size))
            except NF2Error:
                note(f"{plan.done} of {len(plan.files)} files were put into {image} before this:")
                raise
    report_skipped(plan)
    say(f"{summary(plan)} put into {image}")


@app.command()
def get(
    image: ImageArg,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A path on the volume.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A folder or file of the host.")],
    chip: ChipOption = None,
) -> None:
    """Copy files out of the volume.

    A folder's contents go into the folder TARGET, a file to TARGET (or into it, where that is a folder). Names that would lead out of TARGET are refused and make the exit code 1.
    """
    with open_image(image, chip, read_only=True) as volume:
        entry = volume.stat(source)
        if entry.is_file() and (os.path.isdir(target) or target.endswith(os.sep)):
            os.makedirs(target, exist_ok=True)
            reason = trees.refuse_name(entry.name)
            if reason:
                raise NF2Error(INVAL, f"refused: {reason}", source)
            target = os.path.join(target, entry.name)
        plan = trees.plan_get(volume, source, target)
        with progress() as bars:
            task = bars.add_task("get", total=plan.bytes)
            trees.run_get(volume, plan, target, lambda size: bars.advance(task, size))
    report_skipped(plan)
    say(f"{summary(plan)} got from {image}")
    if plan.skipped:
        raise typer.Exit(1)


@app.command()
def rm(
    image: ImageArg,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Paths on the volume.")],
    recursive: Annotated[bool, typer.Option("-r", "--recursive", help="Folders too, with all in them.")] = False,
    chip: ChipOption = None,
) -> None:
    """Remove files and folders.

    A folder that is not empty only with -r.
    """
    with open_image(image, chip) as volume:
        for path in paths:
            volume.remove(path, recursive=recursive)


@app.command()
def mv(
    image: ImageArg, source: PathArg,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The new path, or a folder to move into.")],
    chip: ChipOption = None,
) -> None:
    """Move or rename.

    A file at the new path is replaced in the same instant.
    """
    with open_image(image, chip) as volume:
        if volume.isdir(target) and target.strip("/") != source.strip("/"):
            target = posixpath.join(target, posixpath.basename(source.rstrip("/")))
        volume.rename(source, target)


@app.command()
def mkdir(
    image: ImageArg,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Paths on the volume.")],
    parents: Annotated[bool, typer.Option("-p", "--parents", help="Make the folders above too; no error if it exists.")] = False,
    chip: ChipOption = None,
) -> None:
    """Make folders."""
    with open_image(image, chip) as volume:
        for path in paths:
            if parents:
                volume.makedirs(path, exist_ok=True)
            else:
                volume.mkdir(path)


@app.command()
def df(image: ImageArg, chip: ChipOption = None, as_json: JsonOption = False) -> None:
    """Show the space, exact in whole blocks."""
    with open_image(image, chip, read_only=True) as volume:
        if as_json:
            print_json(volume.statfs())
        else:
            console().print(show.df_table(volume))


@app.command()
def check(
    image: ImageArg,
    repair: Annotated[bool, typer.Option("--repair", help="Make a consistent volume of what is left in a damaged one. It takes the place of "
                                                          "IMAGE, which is kept as IMAGE.damaged; see --output.")] = False,
    output: Annotated[Optional[str], typer.Option("-o", "--output", metavar="OUT", help="With --repair: write the new volume to this file, "
                                                                                       "which must not exist, and leave IMAGE alone.")] = None,
    chip: ChipOption = None, as_json: JsonOption = False,
) -> None:
    """Check the volume, or repair a damaged one.

    Every structure is checked, and all data read. Without --repair nothing is written. All that is wrong is listed, and for a damaged volume also what can still be read of it:
    files that are older than they were, of which parts are lost, or whose names are lost. A volume that a power cut left, and that
    the next mount for writing completes, is not damaged.

    --repair keeps all that can be kept: what is older than it was, or damaged in part, gets ".damaged" behind its name; what has no
    name any more is in /lost+found. The new volume is checked and compared before it gets its name; IMAGE is never written over. Erase
    counts begin anew.

    Exit codes: 0 nothing wrong (--repair: nothing lost); 1 something is wrong (--repair: repaired, and something is lost or in
    doubt); 2 trouble: there is nothing to check, or no volume could be made, and nothing was changed.
    """
    if output is not None and not repair:
        raise typer.BadParameter("is for --repair", param_hint="--output")
    try:
        report = checking.repair_image(image, output, chip) if repair else checking.examine(image, chip)
        if report.hopeless:
            raise NF2Error(INVAL, f"{report.error}, and {report.nothing_left}", image)
    except (NF2Error, LibraryMissing, OSError) as error:
        note(error_line(error))
        raise typer.Exit(2) from None
    if as_json:
        print_json(check_report.as_json(report))
    else:
        for line in check_report.as_lines(report):
            say(line)
    if report.lossy if repair else not report.sound:
        raise typer.Exit(1)


@app.command("map")
def map_command(image: ImageArg, chip: ChipOption = None, as_json: JsonOption = False) -> None:
    """Draw the chip's blocks and their wear."""
    with open_image(image, chip, read_only=True) as volume:
        states, erases = volume.blocks()
        if as_json:
            print_json({"image": image, "chip": volume.chip.name, "block_size": volume.statfs()["block_size"],
                        "states": [show.STATES[state] for state in states], "erases": erases,
                        "totals": {name: states.count(state) for state, name in enumerate(show.STATES)},
                        "wear": show.wear_summary(erases)})
            return
        screen = Console(highlight=False, markup=False)
        if not screen.is_terminal:
            screen = Console(highlight=False, markup=False, width=shutil.get_terminal_size((140, 24)).columns)
        show.print_map(screen, volume, states, erases)


def error_line(error: Exception) -> str:
    if isinstance(error, NF2Error):
        return show.printable(str(error))
    if isinstance(error, OSError):
        return (f"{error.filename}: " if error.filename else "") + (error.strerror or str(error))
    return str(error)


def run(application: typer.Typer, name: str, arguments: list[str] | None) -> None:
    """Runs a command line and turns errors into one line and exit code 1."""
    sys.stdout.reconfigure(errors="surrogateescape")
    try:
        application(arguments, prog_name=name)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (NF2Error, LibraryMissing, OSError) as error:
        print(f"{name}: {error_line(error)}", file=sys.stderr)
    sys.exit(1)


def main(arguments: list[str] | None = None) -> None:
    run(app, "nf2", arguments)


if __name__ == "__main__":
    main()
