# SPDX-License-Identifier: BSD-2-Clause
"""Partition tables of other systems: where a volume is to lie, and how large it may be. ESP-IDF's are
CSV files, Zephyr's are nodes of a devicetree.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .errors import INVAL, NOENT, NF2Error
from .native import BLOCKS, UNITS, Chip, Library

PAGE, LARGE = 256, 65536
BLOCK = 4096  # where the table says nothing: the smallest erase of serial NOR


@dataclass(frozen=True)
class Place:
    """A partition of a table."""

    names: tuple[str, ...]  # any of them names it
    offset: int
    size: int
    block: int = BLOCK
    unit: int = 1
    large: int = 0  # the larger erase that the system's port uses, 0: none
    may_hold_files: bool = True

    def chip_file(self, library: Library, like: str | None) -> str:
        """The text of a chip file for the partition: its geometry is that of the table, or of the chip
        `like`. A larger erase is used where the partition begins with one, as the ports do."""
        block, page, unit, large = self.block, PAGE, self.unit, self.large
        if like is not None:
            given: Chip = library.chip(like)
            block, page, unit = given.block_size, given.page_size, given.program_unit
            large = given.erase_largest
        if self.offset % block:
            raise NF2Error(
                INVAL,
                f"partition {self.names[0]} begins at {self.offset:#x}: not a multiple of the erase "
                f"block, {block}",
            )
        size = self.size // block * block
        is_large = block < large <= size and self.offset % large == 0
        erases = f"{block}, {large}\nerase_us = 50000, 200000" if is_large else f"{block}\nerase_us = 50000"
        return (
            f"name = partition\ndescription = {self.names[0]}\nsize = {size}\npage_size = {page}\n"
            f"erase_sizes = {erases}\nprogram_unit = {unit}\nread_page_us = 20\nprogram_page_us = 500\n"
        )


def read(path: str) -> list[Place]:
    """The partitions of a table, in its order."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    places = list((_devicetree if re.search(r"\breg\s*=\s*<", text) else _esp_idf)(text, path))
    if not places:
        raise NF2Error(
            INVAL, "has no partitions: a CSV table of ESP-IDF or a devicetree is needed", path
        )
    return places


def find(places: list[Place], name: str | None, path: str) -> Place:
    """The one with this name; without one, the only one that may hold files."""
    may = [one for one in places if one.may_hold_files]
    found = may if name is None else [one for one in places if name in one.names]
    if len(found) == 1:
        return found[0]
    known = ", ".join(one.names[0] for one in (may if name is None else places)) or "none"
    if name is None:
        raise NF2Error(
            INVAL, f"name the partition with --partition; those that may hold files: {known}", path
        )
    what = "has no partition" if not found else "has more than one partition"
    raise NF2Error(NOENT if not found else INVAL, f"{what} {name!r}; it has: {known}", path)


# ---- ESP-IDF ----

FIRST = 0x9000  # behind the table itself, which lies at 0x8000 unless the project says otherwise
APP_ALIGNMENT = 0x10000
SYSTEM = ("ota", "phy", "nvs", "nvs_keys", "efuse", "coredump", "tee_ota", "esphttpd")


def _esp_idf(text: str, path: str) -> Iterator[Place]:
    end = FIRST
    for number, row in enumerate(csv.reader(text.splitlines(), skipinitialspace=True), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        what = f"line {number}"
        if len(cells) < 5 or not cells[0]:
            raise NF2Error(
                INVAL, f"{what}: not a partition (name, type, subtype, offset, size, flags)", path
            )
        name, kind, subtype, offset_text, size_text = cells[:5]
        is_app = kind.lower() in ("app", "0", "0x0", "0x00")
        alignment = APP_ALIGNMENT if is_app else BLOCK
        size = _number(size_text, f"{what}, size", path)
        offset = -(-end // alignment) * alignment
        if offset_text:
            offset = _number(offset_text, f"{what}, offset", path)
        if size < 0:  # where it ends
            size = -size - offset
        if size <= 0 or offset < end and offset_text == "":
            raise NF2Error(INVAL, f"{what}: partition {name} has no room", path)
        end = offset + size
        is_data = kind.lower() in ("data", "1", "0x1", "0x01")
        yield Place(
            (name,),
            offset,
            size,
            large=LARGE,
            may_hold_files=is_data and subtype.lower() not in SYSTEM,
        )


def _number(text: str, what: str, path: str) -> int:
    """As ESP-IDF reads it: decimal, hexadecimal, with K or M; below 0 it is an end."""
    found = re.fullmatch(r"(-?)(0x[0-9a-f]+|\d+)\s*([km]?)", text.strip(), re.IGNORECASE)
    if not found:
        raise NF2Error(INVAL, f"{what}: not a number: {text!r}", path)
    value = int(found[2], 0) * {"": 1, "k": 1 << 10, "m": 1 << 20}[found[3].lower()]
    return -value if found[1] else value


# ---- devicetrees ----


@dataclass
class _Node:
    names: tuple[str, ...]  # labels, then the node's own name
    properties: dict[str, str] = field(default_factory=dict)
    parent: _Node | None = None

    def numbers(self, key: str) -> list[int]:
        """The cells of a property; those that this reader does not understand end them."""
        found: list[int] = []
        text = re.sub(r"DT_SIZE_([KM])\s*\(\s*(\w+)\s*\)", _size_macro, self.properties.get(key, ""))
        for word in text.strip("<> \t\n").split():
            if not re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", word):
                break
            found.append(int(word, 0))
        return found

    def inherited(self, key: str, known: tuple[int, ...], default: int) -> int:
        node: _Node | None = self
        while node is not None:
            values = node.numbers(key)
            if values and values[0] in known:
                return values[0]
            node = node.parent
        return default


def _size_macro(found: re.Match) -> str:
    return str(int(found[2], 0) * (1 << (10 if found[1] == "K" else 20)))


def _nodes(text: str) -> Iterator[_Node]:
    """Each node of a devicetree, its properties read."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = re.sub(r"^\s*#(?:include|define|if|ifdef|ifndef|else|elif|endif|undef)\b[^\n]*", "", text, flags=re.M)
    node: _Node | None = None
    begun = ""
    for piece in re.findall(r'"(?:\\.|[^"\\])*"|[{};]|[^{};"]+', text):
        if piece == "{":
            words = begun.strip().replace("/delete-node/", " ").split()
            labels = [word.rstrip(":") for word in words if word.endswith(":")]
            own = [word for word in words if not word.endswith(":")]
            node = _Node((*labels, *own[-1:]), parent=node)
            begun = ""
        elif piece == "}":
            if node is not None:
                yield node
                node = node.parent
            begun = ""
        elif piece == ";":
            key, is_set, value = begun.partition("=")
            if node is not None and is_set:
                node.properties[key.strip()] = value.strip()
            begun = ""
        else:
            begun += piece


def _devicetree(text: str, path: str) -> Iterator[Place]:
    for node in _nodes(text):
        own = node.names[-1] if node.names else ""
        reg = node.numbers("reg")
        if not own.startswith("partition@") or len(reg) < 2 or reg[1] == 0:
            continue
        label = node.properties.get("label", "").strip('"')
        offset = reg[0]
        above = node.parent
        while above is not None and above.names[-1:] and above.names[-1].startswith("partition@"):
            offset += above.numbers("reg")[0]  # a partition of a partition
            above = above.parent
        names = tuple(dict.fromkeys(filter(None, (label, *node.names[:-1], own))))
        yield Place(
            names,
            offset,
            reg[1],
            node.inherited("erase-block-size", BLOCKS, BLOCK),
            node.inherited("write-block-size", UNITS, 1),
            may_hold_files=re.search(r"storage|lfs|littlefs|nf2|files|data", " ".join(names)) is not None,
        )
