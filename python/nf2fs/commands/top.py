# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 top`."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from .. import interrupts
from .. import top as watching
from ..errors import INVAL, NF2Error
from .app import JsonOption, app, print_json, size_option

REFRESH_S = 0.25
LINE_MAX = 1000  # characters; a line of a trace has some thirty, an image perhaps no line at all


@app.command()
def top(
    trace: Annotated[
        str, typer.Argument(metavar="TRACE", help="A trace that `nf2 mount --trace` writes.")
    ],
    once: Annotated[
        bool,
        typer.Option(
            "--once", help="Show what is in the trace and end. Without it: follow it until Ctrl-C."
        ),
    ] = False,
    most: Annotated[
        int,
        typer.Option("--blocks", metavar="N", min=1, help="Show this many of the busiest blocks."),
    ] = 10,
    block_size: Annotated[
        str, typer.Option("--block-size", metavar="SIZE", help="Size of a block.")
    ] = "4K",
    as_json: JsonOption = False,
) -> None:
    """Watch what a chip is doing.

    Shows how many reads, programs and erases there were, how many a second, and which blocks had
    the most of them. --json implies --once.
    """
    size = size_option(block_size, "--block-size", 1)
    activity = watching.Activity(size)
    with open(trace, encoding="ascii", errors="replace") as file:
        if once or as_json:
            for line in file:
                activity.feed(line)
            _refuse_other(activity, trace)
            if as_json:
                print_json(watching.as_json(activity, most))
            else:
                Console(highlight=False).print(watching.screen(activity, None, most))
            return
        try:
            _follow(file, activity, most, trace)
        except interrupts.Interrupted:
            pass  # the ordinary end


def _refuse_other(activity: watching.Activity, trace: str) -> None:
    """Something was read, and none of it was an operation."""
    if activity.unread and not activity.calls:
        text = "is not a trace of a chip: name the file that nf2 mount --trace writes"
        raise NF2Error(INVAL, text, trace)


def _follow(file, activity: watching.Activity, most: int, trace: str) -> None:
    rest = ""
    with Live(refresh_per_second=1 / REFRESH_S, screen=Console().is_terminal) as live:
        while True:
            while text := file.readline(LINE_MAX):
                rest += text
                if rest.endswith("\n") or len(rest) >= LINE_MAX:  # else its end is being written
                    activity.feed(rest)
                    rest = ""
            _refuse_other(activity, trace)
            live.update(watching.screen(activity, activity.tick(time.monotonic()), most))
            time.sleep(REFRESH_S)
