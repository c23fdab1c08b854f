# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 chips`."""

from __future__ import annotations

from .. import chip_times, native, show
from .app import JsonOption, app, print_json, say


@app.command()
def chips(as_json: JsonOption = False) -> None:
    """List the chips of the catalogue.

    Geometry is that of the data sheets. The line of a chip also says where its times come from;
    they count only where time is measured or estimated, and an image does not depend on them.
    NF2FS does not run on a chip whose line says so: such chips are there for norbench.
    """
    found = native.load().chips()
    if as_json:
        print_json(
            [vars(chip) | {"times": chip_times.source(chip), "unfit": chip.unfit} for chip in found]
        )
        return
    for chip in found:
        say(
            f"{chip.name:<14} {show.size_text(chip.size):>10}  page {chip.page_size}, "
            f"block {chip.block_size}, program unit {chip.program_unit}; "
            f"times: {chip_times.source(chip)}; {chip.description}"
            + (f"; not for NF2FS: {chip.unfit}" if chip.unfit else "")
        )
    used = {chip_times.source(chip) for chip in found}
    for word, meaning in chip_times.MEANINGS.items():
        if word in used:
            say(f"times {word}: {meaning}")
