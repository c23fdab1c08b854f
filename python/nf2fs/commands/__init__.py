# SPDX-License-Identifier: BSD-2-Clause
"""The commands of `nf2`, one module each. A module registers its command by itself:

    from .app import ChipOption, ImageArg, app

    @app.command()
    def size(image: ImageArg, chip: ChipOption = None) -> None:
        \"\"\"Show the size.\"\"\"
 A new command is a new file in this directory; names with a leading underscore and `app` are no
commands.
"""

from __future__ import annotations

import importlib
import pkgutil

from .app import app


def load() -> None:
    """Imports every command."""
    for module in pkgutil.iter_modules(__path__):
        if module.name != "app" and not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")


__all__ = ["app", "load"]
