# SPDX-License-Identifier: BSD-2-Clause
"""Pages for a browser that have the file system inside, as WebAssembly: each is one file, and needs
neither a network nor a server."""

from __future__ import annotations

import base64
import gzip
import html
from dataclasses import dataclass
from pathlib import Path

from .. import native
from ..show import printable

HERE = Path(__file__).parent
MODULE = "nf2.wasm"
PAGES = ("image", "chip")
NO_MODULE = (
    "this installation has no pages for a browser: it was built without clang, lld and wasi-libc "
    "(Debian: clang lld wasi-libc libclang-rt-dev-wasm32)"
)


def find_module() -> Path | None:
    """The module: it lies beside the compiled library."""
    library = native.find_library()
    module = Path(library).with_name(MODULE) if library is not None else None
    return module if module is not None and module.is_file() else None


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


@dataclass(frozen=True)
class Inside:
    """An image that a page shows at once; `chip`: its chip and the place of the volume on it, empty
    where the page is to find out."""

    name: str
    data: bytes
    chip: str = ""


def chip_text(chip: native.Chip, library: native.Library) -> str:
    """As the page reads it, which knows the catalogue, but no chip files."""
    known = any(one.name == chip.name and one.geometry == chip.geometry for one in library.chips())
    name = chip.name if known else "-".join(map(str, ("generic", *chip.geometry)))
    return f"{name} {chip.volume_offset} {chip.volume_size}"


def page(name: str, module: bytes, image: Inside | None = None) -> str:
    text = (HERE / f"{name}.html").read_text(encoding="utf-8")
    scripts = [(HERE / file).read_text(encoding="utf-8") for file in ("volume.js", f"{name}.js")]
    image = image or Inside("", b"")
    parts = {
        "@STYLE@": (HERE / "page.css").read_text(encoding="utf-8"),
        "@MODULE@": _packed(module),
        "@IMAGE_NAME@": html.escape(printable(image.name)),
        "@IMAGE_CHIP@": html.escape(image.chip),
        "@IMAGE@": _packed(image.data) if image.data else "",
        "@SCRIPT@": "\n".join(scripts),
    }
    for spot, part in parts.items():
        before, found, after = text.partition(spot)
        text = before + part + after if found else text
    return text
