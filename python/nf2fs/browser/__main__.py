# SPDX-License-Identifier: BSD-2-Clause
"""python -m nf2fs.browser MODULE DIRECTORY: writes the pages."""

from __future__ import annotations

import sys
from pathlib import Path

from . import PAGES, page


def main(module: str, directory: str) -> None:
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        (place / f"{name}.html").write_text(page(name, Path(module).read_bytes()), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
