# SPDX-License-Identifier: BSD-2-Clause
"""docs/FRAMEWORKS.md shows lines of files that other tests build: each block is in a file that the text in front of it links to."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/FRAMEWORKS.md").read_text()
PARTS = re.split(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.M | re.S)
BLOCKS = [(PARTS[i], PARTS[i + 1], "".join(PARTS[:i])) for i in range(1, len(PARTS), 3)]


@pytest.mark.parametrize(("kind", "block", "before"), [one for one in BLOCKS if one[0] != "sh"])
def test_block_is_in_a_file(kind, block, before):
    files = [ROOT / "docs" / link for link in re.findall(r"\]\((\.\./[^)#]+)\)", before)[-2:]]
    assert files and all(path.is_file() for path in files)
    lines = [line for line in block.splitlines() if line.strip()]
    texts = [path.read_text().splitlines() for path in files]
    assert any(all(line in text for line in lines) for text in texts), (
        f"not in {[path.name for path in files]}: {block}"
    )


def test_commands():
    scripts = re.findall(r"python3 (\S+\.py)", PAGE)
    assert len(BLOCKS) > 5 and scripts and all((ROOT / path).is_file() for path in scripts)
