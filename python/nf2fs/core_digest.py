# SPDX-License-Identifier: BSD-2-Clause
"""Which core a figure is of: a digest of the code in src/ and of the headers that it includes, without comments and blank space.

CMake runs this file by itself for the program that measures, so that each row says what it was compiled of:

    core_digest.py SOURCES INCLUDE HEADER

It imports nothing of the package. `lines_of` says on a page of which cores its rows are.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

LENGTH = 12                     # hexadecimal digits
# Strings and characters stay as they are; what is a comment becomes a blank.
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)

_INCLUDED = re.compile(r'#\s*include\s*["<]([^">]+)[">]')


def code_of(text: str) -> str:
    """The code without its comments; all blank space counts as one blank."""
    bare = _TOKEN.sub(lambda found: " " if found[0][0] == "/" else found[0], text)
    return " ".join(bare.split())


def digest_of(sources: Path, include: Path) -> str | None:
    """The digest of the C files and headers in a folder, and of those headers beside it that they include; None where there are none."""
    waiting = sorted(path for path in sources.rglob("*") if path.suffix in (".c", ".h")) if sources.is_dir() else []
    codes: dict[str, str] = {}
    while waiting:
        path = waiting.pop()
        code = code_of(path.read_text(encoding="utf-8"))
        codes[path.relative_to(include if path.is_relative_to(include) else sources).as_posix()] = code
        waiting += [header for name in _INCLUDED.findall(code) if name not in codes and (header := include / name).is_file()]
    whole = "".join(f"{name}\n{code}\n" for name, code in sorted(codes.items()))
    return hashlib.sha256(whole.encode()).hexdigest()[:LENGTH] if codes else None


def of_tree(root: Path) -> str | None:
    """The digest of the core of a source tree; None outside of one."""
    return digest_of(root / "src", root / "include")


# ---- on pages ----

def lines_of(rows: list[dict], root: Path, fs: str = "nf2fs") -> list[str]:
    """Of which cores the rows of a page are: one line where all are of the core in this tree; else one more for each other core."""
    ours = [row for row in rows if row.get("fs", fs).split(":")[0] == fs and row.get("workload") != "target"]
    here = of_tree(root)
    if not ours or here is None:
        return []
    others: dict[str | None, list[str]] = {}
    for row in ours:
        if row.get("core") != here:
            others.setdefault(row.get("core"), []).append(row.get("workload", ""))
    of_here = f"the core that was in the tree when this page was made, `{here}` (a digest of its code)"
    if not others:
        return [f"All rows of NF2FS are of {of_here}."]
    lines = [f"Of the {len(ours)} rows of NF2FS {len(ours) - sum(map(len, others.values()))} are of {of_here}. The others are older:", ""]
    return lines + [f"- {'of the core `' + core + '`' if core else 'of a core that they do not name'}, {len(workloads)}: {', '.join(dict.fromkeys(workloads))}"
                    for core, workloads in others.items()]


def write_header(path: Path, digest: str) -> None:
    """The header for the compiler; a file that says the same already is left alone, so that nothing is compiled again."""
    text = f'#define NF2_CORE_DIGEST "{digest}"\n'
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_header(Path(sys.argv[3]), digest_of(Path(sys.argv[1]), Path(sys.argv[2])) or "")
