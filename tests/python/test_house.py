# SPDX-License-Identifier: BSD-2-Clause
"""The order of the core's sources: calls lead downwards, no file is reached from what it calls, and the map of docs/DESIGN.md
names each of them above what it calls."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").glob("*.c"))
COMPILER = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
pytestmark = pytest.mark.skipif(not COMPILER or not shutil.which("nm"), reason="needs a C compiler and nm")


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Of each source: those whose functions or tables it uses."""
    folder = tmp_path_factory.mktemp("objects")
    defined, used = {}, {}
    for source in SOURCES:
        target = folder / f"{source.stem}.o"
        includes = [f"-I{ROOT / name}" for name in ("include", "src")]
        subprocess.run([COMPILER, "-std=c11", "-O0", *includes, "-c", source, "-o", target], check=True)
        symbols = subprocess.run(["nm", target], check=True, capture_output=True, text=True).stdout
        for kind, name in re.findall(r"([A-Za-z]) (\w+)$", symbols, re.MULTILINE):
            if kind in "TRDB":
                defined[name] = source.name
            elif kind == "U":
                used.setdefault(source.name, set()).add(name)
    return {source.name: {defined[name] for name in used.get(source.name, ()) if name in defined} - {source.name} for source in SOURCES}


def circles(calls):
    """Lists of files that are reached from themselves."""
    known, open_now, found = set(), [], []

    def visit(name):
        if name in open_now:
            found.append(open_now[open_now.index(name):])
        elif name not in known:
            known.add(name)
            open_now.append(name)
            for below in sorted(calls[name]):
                visit(below)
            open_now.pop()

    for name in calls:
        visit(name)
    return found


def test_no_source_is_reached_from_what_it_calls(calls):
    assert len(calls) == len(SOURCES) > 30
    assert circles(calls) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]


def test_the_map_names_each_source_above_what_it_calls(calls):
    text = (ROOT / "docs" / "DESIGN.md").read_text(encoding="utf-8")
    rows = [re.findall(r"`(\w+\.c)`", line.split("|")[1]) for line in text.splitlines() if re.match(r"\| `\w+\.[ch]`", line)]
    place = {name: row for row, names in enumerate(rows) for name in names}
    assert set(place) == set(calls)
    upwards = [f"{name} -> {below}" for name in calls for below in calls[name] if place[below] < place[name]]
    assert upwards == []


def unknown_functions(text, sources):
    return sorted({name for name in re.findall(r"`(nf2_\w+)`", text) if not re.search(rf"\b{name}\b", sources)})


def test_the_pages_about_the_core_name_functions_that_exist():
    folders = ("src", "include", "inspect", "repair", "python", "norbench", "ports", "tests/harness")
    sources = "".join(path.read_text(encoding="utf-8") for folder in folders for path in (ROOT / folder).rglob("*.[ch]"))
    pages = [ROOT / "docs" / f"{name}.md" for name in ("DESIGN", "FORMAT", "REVIEW", "RELIABILITY", "PORTING", "CHECK")]
    assert {page.name: names for page in pages if (names := unknown_functions(page.read_text(encoding="utf-8"), sources))} == {}
    assert unknown_functions("`nf2_read`, `nf2_gone`", sources) == ["nf2_gone"]


def without_comments(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def fields_of_volume():
    """The fields that lie flat in nf2_t."""
    text = without_comments(ROOT / "include" / "nf2fs" / "private.h")
    body = text[text.index("typedef struct nf2 {"):text.index("} nf2_t")]
    declared = re.findall(r"(?:bool|uint(?:8|16|32)_t|const struct \w+|struct nf2_file) \*?([\w, ]+);", body)
    return [name.strip() for names in declared for name in names.split(",")]


def writers(fields, folder):
    """Of each field: the sources that assign to it. volume.c is left out: a mount sets all."""
    found = {name: set() for name in fields}
    for source in (path for path in sorted(folder.glob("*.[ch]")) if path.name != "volume.c"):
        text = without_comments(source)
        for name in re.findall(r"\bfs->(\w+)\s*(?:[-+|&]?=(?!=)|\+\+|--)", text) + re.findall(r"(?:\+\+|--)fs->(\w+)", text):
            if name in found:
                found[name].add(source.name)
    return found


def test_the_table_of_state_names_who_writes_each_field(tmp_path):
    text = (ROOT / "docs" / "DESIGN.md").read_text(encoding="utf-8")
    table = {}
    for line in text[text.index("| fields | owner |"):].split("\n\n")[0].splitlines()[2:]:
        names, owners, others = (re.findall(r"`([\w.]+)`", cell) for cell in line.split("|")[1:4])
        table.update((name, set(owners + others) - {"volume.c"}) for name in names)
    fields = fields_of_volume()
    assert len(fields) > 40
    assert table == writers(fields, ROOT / "src")
    (tmp_path / "x.c").write_text("fs->moves++; --fs->free; fs->cut |= 1; if (fs->erases == 1) { fs->broken = 0; }", encoding="utf-8")
    written = writers(["moves", "free", "cut", "erases", "broken"], tmp_path)
    assert [name for name, files in written.items() if files] == ["moves", "free", "cut", "broken"]


def too_large(path):
    """Lines of a file that are longer than 100 columns, or lie behind the 600th."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [f"{path.name}:{number}" for number, line in enumerate(lines, 1) if len(line) > 100 or number > 600]


def test_files_and_lines_of_the_core_are_short(tmp_path):
    files = [*SOURCES, *(ROOT / "src").glob("*.h"), *(ROOT / "include" / "nf2fs").glob("*.h")]
    assert [place for path in files for place in too_large(path)] == []
    long = tmp_path / "long.c"
    long.write_text("x" * 101 + "\n" + "y\n" * 600, encoding="utf-8")
    assert too_large(long) == ["long.c:1", "long.c:601"]
