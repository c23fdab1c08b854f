# SPDX-License-Identifier: BSD-2-Clause
"""`nf2 chips`."""

from __future__ import annotations

from .. import native, show
from .app import JsonOption, app, print_json, say


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
