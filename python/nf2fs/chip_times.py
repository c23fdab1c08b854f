# SPDX-License-Identifier: BSD-2-Clause
"""Where the times of a chip in the catalogue come from.

Geometry is that of the part's data sheet for all parts. Times count only where something is
measured or estimated: what an image holds does not depend on them.
"""

from __future__ import annotations

from .native import Chip

DATA_SHEET = "data sheet"
PARTLY = "partly assumed"
PAPER = "a paper"
ASSUMED = "assumed"
TESTS = "for tests"
MEANINGS = {
    DATA_SHEET: "typical and maximum times of the part's own data sheet",
    PARTLY: "some of the part's own, the others as the description says",
    PAPER: "as a paper states them that measured with this part",
    ASSUMED: "not the part's own: put the data sheet's into a chip file before you rely on them",
    TESTS: "no part that is sold",
}

# A part that is not listed has assumed times.
LISTED = {
    "w25q256": DATA_SHEET,
    "is25le01g": PARTLY,
    "mt25ql128": PARTLY,
    "mt25ql256": PARTLY,
    "mt25ql512": PARTLY,
    "mt25ql01g": PARTLY,
    "3dfs256m04": PAPER,
    "hffs-nor": PAPER,
    "hffs-nand": PAPER,
}
NO_PARTS = ("tiny", "ecc")


def source(chip: Chip) -> str:
    """One of the words above, for a chip of the catalogue."""
    if chip.name.startswith(NO_PARTS):
        return TESTS
    return LISTED.get(chip.name, ASSUMED)
