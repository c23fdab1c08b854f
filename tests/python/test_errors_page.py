# SPDX-License-Identifier: BSD-2-Clause
"""docs/ERRORS.md has each error of the header, with its number and the library's text."""

import re
from pathlib import Path

import pytest

from nf2fs import native

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/ERRORS.md").read_text()
HEADER = (ROOT / "include/nf2fs/nf2fs.h").read_text()
CODES = dict(re.findall(r"^    (NF2_ERR_\w+) = (-\d+)", HEADER, re.M))


@pytest.mark.parametrize("name", CODES)
def test_each_error_has_a_row(name):
    rows = re.findall(rf'^\| `{name}` \| (-\d+), "(.*?)" \|(.*)\|$', PAGE, re.M)
    assert len(rows) == 1, f"{name}: one row, not {len(rows)}"
    ((number, text, rest),) = rows
    assert number == CODES[name] and text == native.load().error_text(int(number))
    assert all(len(cell.strip()) > 4 for cell in rest.split("|")), f"{name}: an empty cell"


def test_no_other_name():
    assert len(CODES) > 15 and set(re.findall(r"\bNF2_ERR_\w+", PAGE)) == set(CODES)
